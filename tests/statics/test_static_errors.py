"""What statics refuses, and how: mechanisms, loads without an equilibrium, bad arguments."""

from __future__ import annotations

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.benchmarks.beams import bend, lee
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FixedJoint,
    Force,
    JointSpring,
    Moment,
    PointMass,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    TorqueMotor,
)
from fem_mbs.elements.joints.relative import RelativeJoint
from fem_mbs.lie import so3
from fem_mbs.static import start

SECTION = BeamSection.circle(0.01, 2e11, 0.3, 7800)


class Slider(RelativeJoint):
    """Frees the translation along the second axis."""

    closes = ("translation x", "translation z", "rotation x", "rotation y", "rotation z")

    def __init__(self, a: mbs.Node, b: mbs.Node, axes: np.ndarray) -> None:
        super().__init__(a, b, None, axes)


def refusal(model: mbs.Model, **options: object) -> str:
    with pytest.raises(mbs.SingularSystemError) as error:
        mbs.statics(model, **options)  # type: ignore[arg-type]
    return str(error.value)


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_free_motion_is_named_in_the_world_frame(scale: float, group: str) -> None:
    Q = so3.exp(np.array([0.0, 0.0, np.pi / 2]))
    for axes, way in ((np.eye(3), "(0, 1, 0)"), (Q, "(1, 0, 0)")):
        model = mbs.Model(group)
        tip = model.add_node((scale, 0, 0), rotation=so3.exp(np.array([0.3, -1.0, 2.0])), name="tip")
        model.add(PointMass(tip, 1.0))
        model.add(Slider(model.ground, tip, axes))
        model.add(Force(tip, (1, 1, 1)))
        assert f"node 'tip' can move along {way} without resistance" in refusal(model)


def test_free_beam_moves_and_turns() -> None:
    model = mbs.Model()
    Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 2, name="arm")
    message = refusal(model)
    assert "node 'arm[0]' can move and turn without resistance, and 2 more nodes with it. Hold a node with" in message


def test_beam_on_a_hinge_swings_and_hints_at_weight() -> None:
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 1, name="arm")
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 1, 0)))
    message = refusal(model)
    assert "node 'arm[0]' can turn about (0, 1, 0) without resistance, and 1 more node with it" in message
    assert "as gravity holds a pendulum, give ramp=False" in message


def test_mechanism_in_one_corner_is_found_beside_stiff_parts() -> None:
    """A thousand elements of steel, and a body on a ball joint."""
    model = mbs.Model()
    tower = Beam.line(model, (0, 0, 0), (0, 0, 100), SECTION, 1000)
    model.fix(tower.nodes[0])
    body = model.add_node((0, 0, 100), name="body")
    model.add(RigidBody(body, 1e-3, (1e-6, 1e-6, 1e-6)))
    model.add(SphericalJoint(tower.nodes[-1], body))
    assert "node 'body' can turn without resistance" in refusal(model)


@pytest.mark.parametrize("slenderness", [1e1, 1e3, 1e5])
@pytest.mark.parametrize("elements", [1, 10, 100])
def test_slender_beams_are_no_mechanisms(elements: int, slenderness: float) -> None:
    model = mbs.Model()
    section = BeamSection(slenderness**2, slenderness**2 / 2.6, 1, 1, mass=1, inertia=(1, 1, 1))
    beam = Beam.line(model, (5, 3, 1), (5.2, 3.3, 1.5), section, elements)
    model.fix(beam.nodes[0])
    model.add(Force(beam.nodes[-1], (0, 0, 1)))
    assert mbs.statics(model).success


def test_joints_that_repeat_each_other_are_named() -> None:
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 2)
    model.add(Force(beam.nodes[-1], (0, 0, 1)))
    for name in ("one", "two"):
        model.add(FixedJoint(model.ground, beam.nodes[0]), name=name)
    solution = mbs.statics(model)
    assert [str(joint) for joint in solution.redundant] == ["FixedJoint 'one'", "FixedJoint 'two'"]


@pytest.mark.slow
def test_load_beyond_its_limit_tells_how_far_it_came_and_keeps_the_path() -> None:
    model, _ = lee((10, 2, 8))
    with pytest.raises(mbs.ConvergenceError) as error:
        mbs.statics(model, load_end=25)
    message, solution = str(error.value), error.value.solution
    assert solution is not None and solution.status.name == "FAILED"
    assert solution.t[-1] == pytest.approx(18.6, abs=0.1)  # the limit of ten elements
    assert f"no equilibrium was found beyond load factor {solution.t[-1]:.6g} on the way to 25" in message
    assert "the model gives way" in message and "arc_length=True follows the path beyond a limit" in message
    assert error.value.t == 25.0
    assert solution.displacement(model.nodes[5]).shape == (len(solution.t), 3)


def test_path_that_takes_too_many_steps_keeps_them() -> None:
    with pytest.raises(mbs.ConvergenceError, match="has not reached load factor 1 in 2 steps: it is at 0.2") as error:
        mbs.statics(bend(4)[0], max_steps=2)
    assert error.value.solution is not None and len(error.value.solution.t) == 3


def test_free_fall_has_no_equilibrium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "ITERATIONS", 20)  # more are in vain
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = model.add_node((0, 0, 0), name="body")
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    with pytest.raises(mbs.ConvergenceError, match="no equilibrium was found at load factor 0") as error:
        mbs.statics(model, load_end=0, ramp=False)
    assert "node 'body' can" in str(error.value) and "a state nearer to it as initial" in str(error.value)


@pytest.mark.slow
def test_angles_beyond_half_a_turn_at_the_start_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a motor turns so far a moment may turn, step by step."""
    monkeypatch.setattr(start, "ITERATIONS", 20)  # more are in vain
    for load in ("torque", "moment"):
        model = mbs.Model()
        disc = model.add_node((0, 0, 0), name="disc")
        model.add(RigidBody(disc, 1.0, (1, 1, 1)))
        model.add(RevoluteJoint(model.ground, disc, (0, 0, 1)), name="hinge")
        model.add(JointSpring("hinge", 1.0), name="spring")
        model.add(TorqueMotor("hinge", 9.0) if load == "torque" else Moment(disc, (0, 0, 9.0)))
        if load == "torque":
            with pytest.raises(mbs.ConvergenceError, match="'spring'.*within half a turn of the start.* a Moment"):
                mbs.statics(model)
    assert mbs.statics(model).coordinate("hinge")[-1] == pytest.approx(9.0)


def test_law_that_fails_is_named_and_the_path_kept() -> None:
    model, beam = bend(4)
    model.add(Force(beam.nodes[-1], lambda t: (0, 0, [0.0][int(t > 0.45)])))
    with pytest.raises(
        mbs.LawError, match="Force 'Force 2': its function of time failed at t = 0.5 s: IndexError"
    ) as error:
        mbs.statics(model, step=0.1)
    assert error.value.solution is not None and error.value.solution.t[-1] == pytest.approx(0.4)


def test_callback_that_fails() -> None:
    def callback(state: mbs.State) -> bool:
        raise ValueError("mine")

    with pytest.raises(mbs.FemMbsError, match=r"the callback failed at load factor 0.1: ValueError\('mine'\)") as error:
        mbs.statics(bend(4)[0], callback=callback)
    assert error.value.solution is not None


BAD = {
    "model": (dict(model=3), "statics: model must be a Model, received 3"),
    "end": (dict(load_end="full"), "statics: load_end must be a number"),
    "no way": (dict(load_end=0), "statics: load_end must not be the load factor of the start, 0"),
    "step": (dict(step=0), "statics: step must be a positive number"),
    "tiny step": (dict(step=1e-9), "statics: step = 1e-09 makes 1.0e+09 steps"),
    "loads": (dict(loads=[0.5, 2]), "statics: loads must be between 0 and 1, received [0.5, 2]"),
    "no loads": (dict(loads=[]), "statics: loads must be a list of load factors"),
    "arc length": (dict(arc_length="yes"), "statics: arc_length must be True or False"),
    "ramp": (dict(ramp=1), "statics: ramp must be True or False"),
    "newton": (dict(newton=3), "statics: newton must be a Newton"),
    "initial": (dict(initial=3), "statics: initial must be a State"),
    "steps": (dict(max_steps=0), "statics: max_steps must be a whole number of at least 1"),
    "callback": (dict(callback=3), "statics: callback must be a function of a State"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused(name: str) -> None:
    options, message = BAD[name]
    with pytest.raises(mbs.ModelError) as error:
        mbs.statics(**{"model": bend(4)[0], **options})  # type: ignore[arg-type]
    assert message in str(error.value)


def test_state_of_another_model_is_refused() -> None:
    state = mbs.statics(bend(4)[0]).state(-1)
    with pytest.raises(mbs.ModelError, match="it has 6 nodes where this model has 10 nodes"):
        mbs.statics(bend(8)[0], load_end=2, initial=state)


def test_model_that_is_held_everywhere_is_refused() -> None:
    with pytest.raises(mbs.ModelError, match="statics: nothing can move"):
        mbs.statics(mbs.Model())
