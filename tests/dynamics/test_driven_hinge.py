"""A driven hinge follows its drive, counts turns, and takes the moment that Newton and Euler ask for."""

from __future__ import annotations

import numpy as np
import pytest
from motions import fitted_order

import fem_mbs as mbs
from fem_mbs.elements import RevoluteJoint, RigidBody, SpinUp
from fem_mbs.lie import so3

AXIS = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0)
INERTIA = np.array([0.5, 0.6, 0.7])
START = so3.exp(np.array([0.3, 0.2, -0.5]))


class Wave:
    """A drive of several turns, with its derivatives."""

    def __call__(self, t: float) -> float:
        return 9.0 * t + 2.0 * (np.cos(3.0 * t) - 1.0)

    def velocity(self, t: float) -> float:
        return 9.0 - 6.0 * np.sin(3.0 * t)

    def acceleration(self, t: float) -> float:
        return -18.0 * np.cos(3.0 * t)


DRIVES = {
    "law": (Wave(), Wave()),
    "function": (lambda t: Wave()(t), Wave()),
    "spin-up": (SpinUp(-20.0, 0.5), SpinUp(-20.0, 0.5)),
}


def driven(group: str, drive: object, speed: float, gravity: tuple[float, float, float] = (0, 0, 0)) -> mbs.Model:
    model = mbs.Model(group, gravity)
    point = np.array([0.4, 0.1, 0.3])
    velocity = np.cross(speed * AXIS, -point)
    disc = model.add_node((0, 0, 0), START, velocity, START.T @ (speed * AXIS))
    model.add(RigidBody(disc, 2.0, INERTIA, (0.1, 0.2, 0.0)))
    model.add(RevoluteJoint(model.ground, disc, AXIS, point=point, drive=drive), name="motor")  # type: ignore[arg-type]
    return model


@pytest.mark.parametrize("name", DRIVES)
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_hinge_follows_its_drive_exactly_through_many_turns(group: str, name: str) -> None:
    drive, exact = DRIVES[name]
    model = driven(group, drive, exact.velocity(0.0), (0, 0, -9.81))
    solution = mbs.simulate(model, 3.0, 0.02)
    expected = [exact(t) for t in solution.t]
    assert np.abs(expected).max() > 4 * np.pi
    np.testing.assert_allclose(solution.angle(model.constraints[0]), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_drive_moment_is_that_of_the_equations_of_motion(group: str) -> None:
    """``axis . moment`` on the disc is ``J theta''`` about the joint's axis, to order 2 once the start is forgotten."""
    c = START @ np.array([0.1, 0.2, 0.0]) - np.array([0.4, 0.1, 0.3])
    axis = START.T @ AXIS
    J = axis @ np.diag(INERTIA) @ axis + 2.0 * (c @ c - (c @ AXIS) ** 2)
    steps, errors = np.array([0.02, 0.01, 0.005]), []
    for h in steps:
        model = driven(group, Wave(), 9.0)
        solution = mbs.simulate(model, 1.5, h, mbs.GeneralizedAlpha(rho_inf=0.6))
        _, moment = solution.reaction(model.constraints[0])
        expected = [J * Wave().acceleration(t) for t in solution.t]
        late = solution.t > 1.0
        errors.append(np.abs(moment @ AXIS - expected)[late].max())
    assert abs(fitted_order(steps, np.array(errors)) - 2.0) < 0.15 and errors[-1] < 0.02 * J * 18


@pytest.mark.parametrize("turn", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
def test_a_drive_too_fast_for_the_step_is_followed_or_refused(turn: float) -> None:
    """``sin(angle - drive) = 0`` also holds half a turn away from the drive, which must never be taken for it."""
    model = driven("R3xSO3", SpinUp(turn / 0.05, 0.05), 0.0)
    try:
        solution = mbs.simulate(model, 0.4, 0.1)
    except (mbs.MotionError, mbs.ConvergenceError):
        return
    a, b = (solution.rotation(node) for node in model.constraints[0].nodes)
    expected = np.array([SpinUp(turn / 0.05, 0.05)(t) for t in solution.t])
    miss = model.constraints[0].relative_angle(a, b) - expected
    np.testing.assert_allclose(np.sin(miss / 2), 0.0, atol=1e-9)
