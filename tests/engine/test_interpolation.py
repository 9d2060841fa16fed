"""A solution between its steps: exact at the steps, on the group, fourth order in configuration, third in velocity."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import GROUPS
from motions import fitted_order

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import FixedJoint, Force, RigidBody
from fem_mbs.lie import so3
from fem_mbs.system.states import interpolate


def exact(system: mbs.System, t: float) -> mbs.State:
    """States of a given motion of every node, position and rotation unrelated."""
    c = np.random.default_rng(0).normal(size=(5, system.n, 3))
    x, velocity = c[0] * np.sin(t + c[1]), c[0] * np.cos(t + c[1])
    w, rate = c[2] * t + 0.2 * np.sin(2 * t) * c[3], c[2] + 0.4 * np.cos(2 * t) * c[3]
    R = so3.exp(c[4]) @ so3.exp(w)
    V = np.concatenate([np.vecmat(velocity, R), np.matvec(so3.tangent_operator(w), rate)], axis=1)
    zero = np.zeros((system.n, 6))
    return mbs.State(t, x, R, system.kinematics.from_body(R, V), zero + t, np.array([2.0 * t]))


def make_system(group: str) -> mbs.System:
    model = mbs.Model("R3xSO3" if group == "mixed" else group)
    model.add_node((0, 0, 0))
    model.add_node((1, 0, 0), group="SE3" if group == "mixed" else None)
    return mbs.System(model)


@pytest.mark.parametrize("group", GROUPS)
def test_order_on_an_exact_motion(group: str) -> None:
    system = make_system(group)
    steps = 0.1 * 0.5 ** np.arange(4)

    def error(h: float) -> Array:
        first, second = exact(system, 1.0), exact(system, 1.0 + h)
        worst = np.zeros(3)
        for s in (0.2, 0.5, 0.7):
            state, true = interpolate(system, first, second, s), exact(system, 1.0 + s * h)
            np.testing.assert_allclose(
                np.swapaxes(state.R, -1, -2) @ state.R, np.tile(np.eye(3), (3, 1, 1)), atol=1e-14
            )
            worst = np.maximum(worst, [np.abs(getattr(state, a) - getattr(true, a)).max() for a in ("x", "R", "v")])
        return worst

    errors = np.array([error(h) for h in steps])
    orders = [fitted_order(steps, errors[:, k]) for k in range(3)]
    np.testing.assert_allclose(orders, [4.0, 4.0, 3.0], atol=0.1)


@pytest.mark.parametrize("group", GROUPS)
def test_exact_at_both_ends(group: str) -> None:
    system = make_system(group)
    first, second = exact(system, 1.0), exact(system, 1.3)
    for share, end in ((0.0, first), (1.0, second)):
        state = interpolate(system, first, second, share)
        for name in ("x", "R", "v", "vdot", "multipliers"):
            np.testing.assert_allclose(getattr(state, name), getattr(end, name), atol=1e-14)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("speed", [25.0, -33.0, 200.0])
def test_what_turns_several_times_within_a_step(group: str, speed: float) -> None:
    """Even turns about a fixed axis are exact in between: of nodes on it, on SE(3) of others, too."""
    system, axis = make_system(group), np.array([1.0, 2.0, 2.0]) / 3.0
    apart = np.array([node.group == "SE3" for node in system.nodes])[:, None] * [0.5, 0.2, 0.0]

    def turning(t: float) -> mbs.State:
        R = np.broadcast_to(so3.exp(speed * t * axis), (system.n, 3, 3))
        spin = np.broadcast_to(speed * axis, (system.n, 3))
        V = np.concatenate([np.cross(spin, apart), spin], axis=1)
        return mbs.State(t, np.matvec(R, apart), R, system.kinematics.from_body(R, V), 0.0 * V, np.zeros(1))

    first, second = turning(0.0), turning(0.2)
    for s in (0.1, 0.5, 0.7):
        state, true = interpolate(system, first, second, s), turning(0.2 * s)
        for name in ("x", "R", "v"):
            np.testing.assert_allclose(getattr(state, name), getattr(true, name), atol=1e-9)


def test_solution_is_asked_at_any_time_of_the_run() -> None:
    model = mbs.Model()
    node = model.add_node((0, 0, 0), velocity=(1, 0, 0), angular_velocity=(0.1, 0.2, 2.0))
    model.add(RigidBody(node, 1.0, (1, 2, 2.5)))
    solution = mbs.simulate(model, 1.0, 0.1)
    for k, t in enumerate(solution.t):
        np.testing.assert_allclose(solution(t).x, solution.x[k], atol=1e-14)
        np.testing.assert_allclose(solution(t).R, solution.R[k], atol=1e-14)
    middle = solution(0.55)
    np.testing.assert_allclose(middle.x[1], [0.55, 0, 0], atol=1e-14)
    assert middle.t == 0.55
    for t in (-0.1, 1.1):
        with pytest.raises(mbs.ModelError, match=f"t = {t} s is outside the run, which covers 0.0 s to 1.0 s"):
            solution(t)
    with pytest.raises(mbs.ModelError, match="t must be a finite number"):
        solution(np.nan)


def test_a_solution_of_one_state_is_that_state() -> None:
    """Of a run whose first step fails, and of an equilibrium without a path."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((0, 0, -1))
    model.add(RigidBody(node, 1.0, (1, 2, 2.5)))
    model.add(FixedJoint(model.ground, node))
    rests = mbs.statics(model, load_end=0, ramp=False)
    model.add(Force(node, lambda t: (0, 0, np.nan if t > 0.0 else 0.0)))
    with pytest.raises(mbs.FemMbsError) as failure:
        mbs.simulate(model, 10.0, 10.0)
    for solution in (failure.value.solution, rests):
        assert len(solution.t) == 1 and np.array_equal(solution(solution.t[0]).x, solution.x[0])
