"""States that are given to a run: of the model they come from, whole, and what they may not be used for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FixedJoint,
    Force,
    Maxwell,
    ModalBody,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpinUp,
)

SECTION = BeamSection.rectangle(0.03, 0.02, 2e8, 0.3, 1000)
GROUPS = ("R3xSO3", "SE3")


def pair(group: str = "R3xSO3", names: tuple[str, str] = ("a", "b")) -> mbs.Model:
    """Two bodies on a ball joint, thrown together."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    a, b = (model.add_node((x, 0, 0), velocity=(1, 0, 2), name=name) for x, name in zip((0, 1), names, strict=True))
    for node in (a, b):
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    model.add(SphericalJoint(a, b, point=(0.5, 0, 0)), name="ball")
    return model


def held_later(group: str) -> tuple[mbs.Model, mbs.State]:
    """A falling beam whose tip is caught after 0.1 s."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 4)
    model.fix(beam.nodes[0])
    state = mbs.simulate(model, 0.1, 0.01).state(-1)
    model.fix(beam.nodes[-1])
    return model, state


@pytest.mark.parametrize("group", GROUPS)
def test_a_node_that_is_fixed_later_stands_still(group: str, caplog: pytest.LogCaptureFixture) -> None:
    model, state = held_later(group)
    assert np.abs(state.v[-1]).max() > 0.1
    solution = mbs.simulate(model, 0.3, 0.01, initial=state)
    tip = solution.position(model.nodes[-1])
    np.testing.assert_allclose(tip, np.broadcast_to(state.x[-1], tip.shape), atol=1e-12)
    assert "it is stopped" in caplog.text
    assert 0.0 < solution.energy.kinetic[0] < np.inf
    with pytest.raises(mbs.ModelError, match="the model holds node .* which moves at the state"):
        mbs.modes(model, 1, state)


@pytest.mark.parametrize("group", GROUPS)
def test_what_a_blow_leaves_is_the_smallest_change(group: str, caplog: pytest.LogCaptureFixture) -> None:
    """No impulse acts but at the held node and in the joint: momentum about the joint stays, in closed form."""
    model, way = mbs.Model(group), np.array([0.0, np.sin(1.0), np.cos(1.0)])
    a, b = (model.add_node((x, 0, 0), velocity=2.0 * way) for x in (0.1, 1.1))
    for node in (a, b):
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    model.add(SphericalJoint(a, b, point=(0.6, 0, 0)))
    state = mbs.simulate(model, 0.1, 0.1).state(-1)
    model_2 = replace_velocities(model)
    model_2.fix(model_2.nodes[1])
    after = mbs.simulate(model_2, 0.2, 0.1, initial=state)
    # the blow J at the joint, half a metre from b: v = 2 - J, omega = J/2/0.1, v = omega/2 ... so J = 2/(1 + 2.5)
    J = 2.0 / (1.0 + 0.25 / 0.1)
    np.testing.assert_allclose(after.velocity(model_2.nodes[2])[0], (2.0 - J) * way, atol=1e-12)
    assert len(caplog.messages) == 1 and "it is stopped" in caplog.text


def test_amplitudes_go_on_with_the_momentum_that_they_had() -> None:
    """Where the node of their body is stopped, which they moved with."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), velocity=(2, 0, 0))
    model.add(ModalBody(node, 1.0, (1, 1, 1), [0.4], [15.0], translation=[[0.3], [0], [0]]))
    state = mbs.simulate(model, 0.1, 0.1).state(-1)
    held = replace_velocities(model)
    held.fix(held.nodes[1])
    after = mbs.simulate(held, 0.2, 0.1, initial=state).state(0)
    assert after.udot == pytest.approx([0.3 * 2.0 / 0.4], rel=1e-9) and not after.v[1].any()


def replace_velocities(model: mbs.Model) -> mbs.Model:
    """The same model at rest, so that its nodes may be fixed."""
    for node in model.nodes[1:]:
        node.velocity = np.zeros(3)
    return model


def test_a_checkpoint_with_other_fixings_is_refused() -> None:
    model = pair()
    kept = mbs.simulate(model, 0.1, 0.1).checkpoint
    model = replace_velocities(model)
    model.fix(model.nodes[1])
    with pytest.raises(mbs.ModelError, match="the checkpoint is one of another model.*node 'a' held in 0 ways"):
        mbs.simulate(model, 0.2, 0.1, initial=kept)


OTHERS: dict[str, Callable[[], mbs.Model]] = {
    "names": lambda: pair(names=("a", "c")),
    "groups": lambda: pair("SE3"),
    "more nodes": lambda: pair_and_one(),
    "internal variables": lambda: pair_and_spring(),
}


def pair_and_one() -> mbs.Model:
    model = pair()
    model.add(RigidBody(model.add_node((3, 0, 0)), 1.0, (1, 1, 1)))
    return model


def pair_and_spring() -> mbs.Model:
    model = pair()
    model.add(Maxwell(model.ground, model.nodes[2], 1.0, 1.0))
    return model


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("call", ["simulate", "modes", "method"])
def test_states_of_other_models_are_refused(name: str, call: str) -> None:
    state = mbs.simulate(OTHERS[name](), 0.1, 0.1).state(-1)
    with pytest.raises(mbs.ModelError, match="is not one of this model: it has"):
        if call == "simulate":
            mbs.simulate(pair(), 1.0, 0.1, initial=state)
        elif call == "modes":
            mbs.modes(pair(), 1, state)
        else:
            mbs.GeneralizedAlpha().init(mbs.System(pair()), state, 0.1)


def test_joints_may_change_between_runs_but_not_for_modes() -> None:
    state = mbs.simulate(pair(), 0.1, 0.1).state(-1)
    model = pair()
    model.add(Force(model.nodes[1], (0, 0, 1)))
    assert mbs.simulate(model, 0.2, 0.1, initial=state).success
    loose = mbs.Model(gravity=(0, 0, -9.81))
    for x, name in zip((0, 1), "ab", strict=True):
        loose.add(RigidBody(loose.add_node((x, 0, 0), name=name), 1.0, (0.1, 0.1, 0.1)))
    assert mbs.simulate(loose, 0.2, 0.1, initial=state).success
    with pytest.raises(mbs.ModelError, match="it has .*constraint|it has 3 equations|it has translation x"):
        mbs.linearize(loose, state)


TAMPERED: dict[str, Callable[[mbs.State], dict[str, Any]]] = {
    "x": lambda s: {"x": np.where(s.x == s.x[0], np.nan, s.x)},
    "v": lambda s: {"v": s.v + np.inf},
    "R": lambda s: {"R": 2.0 * s.R},
    "R mirrored": lambda s: {"R": -s.R},
    "vdot": lambda s: {"vdot": s.vdot[:-1]},
    "t": lambda s: {"t": np.nan},
    "u": lambda s: {"u": np.ones(3)},
    "udot": lambda s: {"udot": "fast"},
    "x none": lambda s: {"x": None},
}


@pytest.mark.parametrize("name", TAMPERED)
def test_states_that_are_none_are_refused(name: str) -> None:
    model = pair()
    solution = mbs.simulate(model, 0.1, 0.1)
    state = solution.state(-1)
    state = replace(state, **TAMPERED[name](state))
    for call in (
        lambda: mbs.simulate(model, 0.3, 0.1, initial=state),
        lambda: mbs.linearize(model, state),
        lambda: mbs.GeneralizedAlpha().init(solution.system, state, 0.1),
    ):
        with pytest.raises(mbs.ModelError, match=rf"state|initial.*{name[0]}"):
            call()


def test_queries_and_callbacks_give_read_only_views() -> None:
    model = pair()
    a, ball = model.nodes[1], model.constraints[0]
    solution = mbs.simulate(model, 0.3, 0.1, times=[0.1, 0.2], events=lambda state: state.t - 0.15)
    views = [
        solution.t,
        solution.x,
        solution.position(a),
        solution.rotation(a),
        solution.velocity(a),
        solution.angular_velocity(a),
        solution.multipliers(ball),
        solution.energy.kinetic,
        solution.constraint_residual.position,
        solution.stats.step_sizes,
        solution.state(0).x,
        solution(0.15).R,
        solution.event_states[0][0].x,
        solution.checkpoint.state.v,
        model.gravity,
    ]
    for view in views:
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 1.0

    def meddle(state: mbs.State) -> None:
        state.x[1] = 0.0

    for options in ({"callback": meddle}, {"events": meddle}):
        with pytest.raises(mbs.FemMbsError, match="read-only"):
            mbs.simulate(model, 0.3, 0.1, **options)  # type: ignore[arg-type]
    with pytest.raises(mbs.FemMbsError, match="cannot assign to field 't'"):
        mbs.simulate(model, 0.3, 0.1, callback=lambda state: setattr(state, "t", 99.0))


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("step", [0.01, mbs.VariableStep(0.1)])
def test_turns_are_counted_between_the_times_that_are_kept(group: str, step: Any) -> None:
    model = mbs.Model(group)
    arm = model.add_node((1, 0, 0))
    model.add(RigidBody(arm, 1.0, (1, 1, 1)))
    hinge = model.add(RevoluteJoint(model.ground, arm, (0, 0, 1), point=(0, 0, 0), drive=SpinUp(100, 2)))
    solution = mbs.simulate(model, 2.5, step, times=[1, 1.5, 2, 2.5])
    law = SpinUp(100, 2)
    np.testing.assert_allclose(solution.angle(hinge), [law(t) for t in (1, 1.5, 2, 2.5)], atol=1e-2)
    np.testing.assert_allclose(solution.angle(hinge)[2:], [100, 150], atol=1e-7)


def test_a_run_that_ends_early_has_its_last_state_last() -> None:
    def high(state: mbs.State) -> float:
        return float(state.x[1, 2] - 0.1)

    high.terminal = True  # type: ignore[attr-defined]
    solution = mbs.simulate(pair(), 1.0, 0.01, times=[0.02, 0.5], events=high)
    assert solution.t[-1] == solution.event_times[0][0] < 0.5 and solution.x[-1, 1, 2] == pytest.approx(0.1)
    stopped = mbs.simulate(pair(), 1.0, 0.01, times=[0.02, 0.5], callback=lambda state: state.t > 0.095)
    np.testing.assert_allclose(stopped.t, [0.02, 0.1])


def test_a_weld_between_runs_closes() -> None:
    """A joint may be added where its frames meet."""
    model = pair()
    state = mbs.simulate(model, 0.1, 0.1).state(0)
    model.add(FixedJoint(model.ground, model.nodes[1]))
    model.remove(model.constraints[0])
    assert mbs.simulate(model, 0.2, 0.1, initial=state).success
