"""Models that are integrated together: each as it is alone."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from mechanisms import mechanism

import fem_mbs as mbs
from fem_mbs.benchmarks import tops
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    JointSpring,
    RevoluteJoint,
    RigidBody,
    SpeedMotor,
    SphericalJoint,
)
from fem_mbs.run.copies import _side_by_side
from fem_mbs.system.system import System

DOWN = (0, 0, -9.81)


def top(k: int = 0, group: str = "R3xSO3") -> mbs.Model:
    model = mbs.Model(group, gravity=DOWN)
    spin = (0, 150.0 + 10 * k, -4.61)
    body = model.add_node((0, 1, 0), velocity=(4.61, 0, 0), angular_velocity=spin, name="body")
    model.add(RigidBody(body, tops.MASS, tops.INERTIA))
    model.add(SphericalJoint(model.ground, body, point=(0, 0, 0)), name="joint")
    return model


def door(k: int = 0) -> mbs.Model:
    """Two hinges in line, and a motor with a state of its own, far from the origin."""
    model, far = mbs.Model(gravity=DOWN), np.array([0.0, 0.0, 0.0])
    body = model.add_node(far + (0.5, 0, 0), name="body")
    model.add(RigidBody(body, 2.0 + k, (0.1, 0.2, 0.3)))
    low, high = (RevoluteJoint(model.ground, body, axis=(0, 1, 0), point=far + (0, y, 0)) for y in (-0.5, 0.5))
    model.add(low, name="joint")
    model.add(high, name="other")
    model.add(SpeedMotor(low, 0.5, 1.0, 20.0), name="motor")
    return model


def beam(k: int = 0) -> mbs.Model:
    model = mbs.Model("SE3", gravity=DOWN)
    section = BeamSection.rectangle(0.02, 0.02, E=1e9, nu=0.3, rho=1000.0)
    line = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=4)
    joint = model.add(RevoluteJoint(model.ground, line.nodes[0], axis=(0, 1, 0)), name="joint")
    model.add(JointSpring(joint, 5.0 + k))
    model.add(RigidBody(line.nodes[-1], 0.1, (1e-4, 1e-4, 1e-4)))
    return model


BUILD: list[Callable[[int], mbs.Model]] = [top, lambda k: top(k, "SE3"), door, beam]


def mixed() -> list[mbs.Model]:
    return [build(k) for k in range(2) for build in BUILD]


def test_models_stand_on_one_ground() -> None:
    models = mixed()
    whole = System(_side_by_side(models))
    assert whole.n == 1 + sum(len(model.nodes) - 1 for model in models)
    assert all(whole.number(model.ground) == 0 and whole.number(model.nodes[1]) for model in models)


def largest(values: object) -> float:
    return float(np.abs(np.asarray(values)).max())


CLOSE = mbs.Newton(force_tolerance=1e-10)
METHODS = [mbs.GeneralizedAlpha(0.9, form, newton=CLOSE) for form in ("index2", "index3")] + [
    mbs.LieEuler(newton=CLOSE)
]


@pytest.mark.ci
@pytest.mark.parametrize("method", METHODS)
def test_each_is_as_it_is_alone(method: mbs.Method) -> None:
    """Same steps, same equations: what differs is when Newton's method stops."""
    models = mixed()
    for model, together in zip(models, mbs.simulate_many(models, 0.03, 2e-3, method), strict=True):
        alone = mbs.simulate(model, 0.03, 2e-3, method)
        assert np.array_equal(together.t, alone.t) and together.success
        assert largest(together.R - alone.R) < 1e-8
        assert largest(together.x - alone.x) < 1e-8
        assert largest(together.v - alone.v) < 1e-6 * largest(alone.v)
        assert largest(together.u - alone.u) < 1e-8 if alone.u.size else together.u.shape == alone.u.shape
        force, other = (np.concatenate(run.reaction("joint")) for run in (together, alone))
        assert largest(force - other) < 1e-5 * largest(other)
        assert largest(together.energy.total - alone.energy.total) < 1e-6 * np.ptp(alone.energy.kinetic)
        assert [joint.name for joint in together.redundant] == [joint.name for joint in alone.redundant]
        assert largest(together(0.0217).x - alone(0.0217).x) < 1e-8
        assert together.system.elements == model.elements


def test_instants_are_asked_in_parts_that_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen instants, of which two or three are asked at once."""
    solutions = mbs.simulate_many([door(k) for k in range(2)], 0.03, 2e-3)
    asked = [(one.reaction("joint"), one.energy.total) for one in solutions]
    monkeypatch.setattr("fem_mbs.solution.copies.FEW", 2)
    monkeypatch.setattr("fem_mbs.solution.copies.CELLS", 1)
    for one, before in zip(mbs.simulate_many([door(k) for k in range(2)], 0.03, 2e-3), asked, strict=True):
        np.testing.assert_equal((one.reaction("joint"), one.energy.total), before)


@pytest.mark.slow
def test_random_mechanisms_do_not_notice_each_other() -> None:
    """Whatever else moves in the run: what differs is a small share of the step's own error.

    Where another one makes the run begin in parts of steps, it is no more than that error.
    """
    method = mbs.GeneralizedAlpha(newton=CLOSE)
    for seed in range(0, 60, 2):
        made = [mechanism(seed + k) for k in range(2)]
        models = [own.model for own in made]
        for model in models:
            model.gravity = DOWN
        h = 0.02 / max(1.0, *(own.rate for own in made))
        together = mbs.simulate_many(models, 15 * h, h, method)
        for k, (model, found) in enumerate(zip(models, together, strict=True)):
            alone, finer = (mbs.simulate(model, 15 * h, step, method) for step in (h, h / 2))
            share = 0.2 if len(found.t) == len(alone.t) else 1.0
            for values in ("x", "R"):
                one, other, fine = (getattr(run, values)[-1] for run in (found, alone, finer))
                assert largest(one - other) < share * largest(other - fine) + 1e-9, (seed + k, values)


@pytest.mark.slow
def test_steps_of_variable_length_suffice_for_all() -> None:
    models = [top(k) for k in range(3)]
    together = mbs.simulate_many(models, 0.1, mbs.VariableStep(1e-2))
    alone = [mbs.simulate(model, 0.1, mbs.VariableStep(1e-2)) for model in models]
    assert len({len(solution.t) for solution in together}) == 1
    assert len(together[0].t) >= max(len(solution.t) for solution in alone)
    exact = mbs.simulate(models[2], 0.1, 5e-4)
    assert largest(together[2].position("body")[-1] - exact.position("body")[-1]) < 3e-2


def test_models_are_left_as_they_were() -> None:
    models = [top(0), top(1)]
    mbs.simulate_many(models, 0.01, 1e-3)
    assert [node.name for node in models[1].nodes] == ["ground", "body"]
    assert mbs.simulate(models[1], 0.01, 1e-3).success


def asked(solution: mbs.Solution) -> list[np.ndarray]:
    return [solution.position("body"), solution.x, *solution.reaction("joint"), solution.energy.total]


def test_each_is_as_it_was_when_it_ran() -> None:
    """Whatever was done to the models before it is first asked."""
    models = [door(k) for k in range(3)]
    first, later = (mbs.simulate_many(models, 0.02, 2e-3) for _ in range(2))
    expected = [asked(solution) for solution in first]
    models[0].elements[0].mass = 50.0
    models[1].gravity = (0, 0, 5.0)
    models[1].add_node((1, 1, 1), name="joint 2")
    models[2].remove("motor", "other")
    models[2].add(Force(models[2]["body"], (0, 0, 1)), name="other")
    for solution, values, model in zip(later, expected, models, strict=True):
        assert all(np.array_equal(one, other) for one, other in zip(asked(solution), values, strict=True))
        assert solution.model is model
    assert later[2].system.find("other", "other") is first[2].system.find("other", "other")
    assert largest(mbs.simulate(models[0], 0.02, 2e-3).energy.kinetic - expected[0][-1]) > 0.0


QUERIES = "position", "displacement", "velocity", "acceleration", "rotation", "angular_velocity"


@pytest.mark.parametrize("name", QUERIES)
def test_motions_of_nodes_are_those_of_each(name: str) -> None:
    """Before its system is made and after, by names and by nodes, and not of the nodes of another model."""
    models = mixed()
    for k, (model, solution) in enumerate(zip(models, mbs.simulate_many(models, 0.01, 2e-3), strict=True)):
        nodes = [own for node in model.nodes for own in (node, node.name)]
        early = [getattr(solution, name)(node) for node in nodes]
        with pytest.raises(mbs.ModelError, match="not part of this model"):
            getattr(solution, name)(models[k - 1].nodes[1])
        assert len(solution.x[0]) == len(model.nodes)
        for one, node in zip(early, nodes, strict=True):
            other = getattr(solution, name)(node)
            assert np.array_equal(one, other) and one.flags.writeable == other.flags.writeable
    for wrong in ("nobody", 3.0):
        with pytest.raises(mbs.ModelError):
            getattr(mbs.simulate_many([top()], 0.01, 1e-3)[0], name)(wrong)
    (solution,) = mbs.simulate_many([top()], 0.01, 1e-3)
    asked = getattr(solution, name)  # before its system is made, and called after
    assert np.array_equal(asked(solution.model.nodes[1]), getattr(solution, name)("body"))


def test_parts_that_are_built_on_others_follow_them_after_a_question() -> None:
    models = [beam(k) for k in range(2)]
    solution = mbs.simulate_many(models, 0.01, 2e-3)[0]
    other = beam(0)
    for model in (models[0], other):
        model["joint"].axis = (0, 0, 1)
    assert solution.energy.total[0] == pytest.approx(mbs.simulate(beam(0), 0.01, 2e-3).energy.total[0])
    assert np.array_equal(mbs.simulate(models[0], 0.01, 2e-3).x, mbs.simulate(other, 0.01, 2e-3).x)


ASK: list[Callable[[mbs.Solution], object]] = [
    repr,
    str,
    dir,
    lambda solution: solution.t,
    lambda solution: pickle.loads(pickle.dumps(solution)).x,
    lambda solution: copy.copy(solution).x,
    lambda solution: mbs.join([solution]).success,
    lambda solution: solution._repr_html_(),
]


@pytest.mark.parametrize("ask", ASK)
def test_whatever_is_asked_first(ask: Callable[[mbs.Solution], object]) -> None:
    solutions = mbs.simulate_many([top(k) for k in range(2)], 0.01, 1e-3)
    known = solutions[0]
    assert known.position("body").shape == (11, 3) == known.x[:, 1].shape
    answer, other = (ask(solution) for solution in (solutions[1], known))
    assert type(answer) is type(other) and np.shape(answer) == np.shape(other)
    if ask in (repr, dir):
        assert answer == other
    with pytest.raises(mbs.ModelError, match="t is a result, and stays as it is"):
        solutions[1].t = np.zeros(1)


class Push:
    """A force that sets in at once."""

    jumps = (0.055,)

    def __call__(self, t: float) -> tuple[float, float, float]:
        return 0.0, 0.0, 50.0 * (t >= 0.055)


def test_states_before_a_jump_are_those_of_each() -> None:
    """Between two steps a run goes on to where it stood just before the jump that ends the second."""
    models = [top(k) for k in range(2)]
    for model in models:
        model.add(Force(model["body"], Push()))
    for model, together in zip(models, mbs.simulate_many(models, 0.1, 0.01), strict=True):
        alone = mbs.simulate(model, 0.1, 0.01)
        assert alone.history.before and together.history.before.keys() == alone.history.before.keys()
        for t in np.linspace(0.05, 0.0549, 5):
            assert largest(together(t).vdot - alone(t).vdot) < 1e-6 * largest(alone.vdot)


def test_results_of_a_copy_cannot_be_set() -> None:
    solution = mbs.simulate_many([top()], 0.01, 1e-3)[0]
    with pytest.raises(mbs.ModelError, match="t is a result, and stays as it is"):
        solution.t = np.zeros(1)


def test_one_that_cannot_begin_is_named() -> None:
    models = [top(k) for k in range(3)]
    bad = models[1]
    bad.add(SphericalJoint(bad.ground, bad["body"], point=(0, 0.5, 0)), name="second")
    with pytest.raises(mbs.FemMbsError, match=r"simulate_many: models\[1\]: "):
        mbs.simulate_many(models, 0.1, 1e-3)


def test_one_that_fails_on_the_way_is_named_and_all_keep_their_steps() -> None:
    models = [top(k) for k in range(3)]
    models[2].add(Force(models[2]["body"], lambda t: (0, 0, 0) if t < 0.05 else (np.nan, 0, 0)), name="gust")
    with pytest.raises(mbs.LawError, match=r"simulate_many: models\[2\]: .*'gust'") as caught:
        mbs.simulate_many(models, 0.1, 1e-3)
    assert [solution.t[-1] for solution in caught.value.solutions] == pytest.approx([0.049] * 3)
    alone = mbs.simulate(models[0], 0.049, 1e-3)
    assert largest(caught.value.solutions[0].position("body") - alone.position("body")) < 1e-9


def test_what_cannot_run_together() -> None:
    one = top()
    with pytest.raises(mbs.ModelError, match=r"models\[2\] is models\[0\] once more; build each"):
        mbs.simulate_many([one, top(), one], 0.1, 1e-3)
    other = top()
    other.gravity = (0, 0, 0)
    with pytest.raises(mbs.ModelError, match=r"models\[1\] has the gravity .*one by one"):
        mbs.simulate_many([one, other], 0.1, 1e-3)
    with pytest.raises(mbs.ModelError, match="received none"):
        mbs.simulate_many([], 0.1, 1e-3)
    with pytest.raises(mbs.ModelError, match="models"):
        mbs.simulate_many([one, "top"], 0.1, 1e-3)  # type: ignore[list-item]


def test_joints_that_repeat_each_other_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    """However many models there are."""
    mbs.simulate_many([door(k) for k in range(3)], 0.02, 0.01)
    assert caplog.text.count("RevoluteJoint 'joint'") == caplog.text.count("translation x") == 1
