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


@pytest.mark.ci
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_drive_moment_is_that_of_the_equations_of_motion(group: str) -> None:
    """``axis . moment`` on the disc is ``J theta''`` about the joint's axis, to order 2 once the start is forgotten."""
    c = START @ np.array([0.1, 0.2, 0.0]) - np.array([0.4, 0.1, 0.3])
    axis = START.T @ AXIS
    J = axis @ np.diag(INERTIA) @ axis + 2.0 * (c @ c - (c @ AXIS) ** 2)
    steps, errors = np.array([0.02, 0.01]), []
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
    expected = np.array([SpinUp(turn / 0.05, 0.05)(t) for t in solution.t])
    miss = solution.coordinate(model.constraints[0]) - expected
    np.testing.assert_allclose(np.sin(miss / 2), 0.0, atol=1e-9)


@pytest.mark.ci
def test_turns_are_counted_where_a_step_has_several() -> None:
    """The angle alone tells turns only below half a turn a step; the angular velocities tell them always."""
    model = driven("SE3", SpinUp(900.0, 0.1), 0.0)
    solution = mbs.simulate(model, 0.3, 0.001)
    hinge = model.constraints[0]
    assert solution.angle(hinge)[-1] == pytest.approx(SpinUp(900.0, 0.1)(0.3), abs=1e-6)
    free = mbs.Model()
    disc = free.add_node((0, 0, 0), angular_velocity=(0, 0, 400))
    free.add(RigidBody(disc, 1.0, (1, 1, 1)))
    axle = free.add(RevoluteJoint(free.ground, disc, (0, 0, 1)))
    assert mbs.simulate(free, 1.0, 0.01).angle(axle)[-1] == pytest.approx(400.0, rel=1e-9)


def test_a_state_on_the_way_has_the_turns_of_that_time() -> None:
    """Of a hinge that speeds up, and turns back."""
    model = mbs.Model()
    disc = model.add_node((0, 0, 0))
    model.add(RigidBody(disc, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, disc, (0, 0, 1), drive=lambda t: 40.0 * t**2 * (1.5 - t)), name="hinge")
    solution = mbs.simulate(model, 1.5, 0.02)
    for t in np.linspace(0.05, 1.45, 8):
        assert solution(t).turns()["hinge"] == np.round(40.0 * t**2 * (1.5 - t) / (2 * np.pi))


@pytest.mark.parametrize("law", [lambda t: 5 * t**3 - 2 * t**4, lambda t: t - np.sin(2 * np.pi * t) / (2 * np.pi)])
def test_a_smooth_drive_from_rest_needs_no_derivatives(law: object) -> None:
    """Differences make rounding of its zero rate at the start, which is not a violated joint."""
    model = mbs.Model()
    disc = model.add_node((0, 0, 0))
    model.add(RigidBody(disc, 1.0, (1, 1, 1)))
    hinge = model.add(RevoluteJoint(model.ground, disc, (0, 0, 1), drive=law))  # type: ignore[arg-type]
    solution = mbs.simulate(model, 0.2, 0.02)
    np.testing.assert_allclose(solution.angle(hinge), [law(t) for t in solution.t], atol=1e-10)  # type: ignore[operator]
