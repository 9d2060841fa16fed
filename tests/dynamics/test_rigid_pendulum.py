"""The plane pendulum against its exact motion in elliptic functions."""

from __future__ import annotations

import numpy as np
import pytest
from motions import fitted_order
from scipy.optimize import brentq
from scipy.special import ellipj, ellipk

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import RevoluteJoint, RigidBody, SphericalJoint
from fem_mbs.lie import so3

MASS, LENGTH, INERTIA, G = 2.0, 0.8, 0.3, 9.81
AMPLITUDE = np.radians(100.0)
FREQUENCY = np.sqrt(MASS * G * LENGTH / (INERTIA + MASS * LENGTH**2))
K2 = np.sin(AMPLITUDE / 2) ** 2
PERIOD = 4 * ellipk(K2) / FREQUENCY


def exact_angle(t: Array | float) -> Array:
    """Angle from the vertical, released at rest at ``AMPLITUDE``."""
    sn = ellipj(ellipk(K2) - FREQUENCY * np.asarray(t), K2)[0]
    return 2 * np.arcsin(np.sqrt(K2) * sn)


def place(angle: Array | float) -> Array:
    return LENGTH * np.stack([np.sin(angle), 0 * np.asarray(angle), -np.cos(angle)], axis=-1)


def pendulum(group: str, joint: str) -> tuple[mbs.Model, mbs.Node]:
    """The mass centre is off its node, and the node is turned."""
    model = mbs.Model(group, (0, 0, -G))
    R = so3.exp(np.array([0.0, 0.7, 0.0]))
    offset = np.array([0.1, 0.0, 0.2])
    node = model.add_node(place(AMPLITUDE) - R @ offset, R)
    model.add(RigidBody(node, MASS, (0.25, INERTIA, 0.2), offset))
    if joint == "spherical":
        model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)))
    else:
        model.add(RevoluteJoint(model.ground, node, (0, -1, 0), point=(0, 0, 0)), name="hinge")
    return model, node


def center(solution: mbs.Solution, node: mbs.Node) -> Array:
    return solution.position(node) + solution.rotation(node) @ np.array([0.1, 0.0, 0.2])


@pytest.mark.one
@pytest.mark.parametrize("joint", ["spherical", "revolute"])
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_order_two_over_one_swing(group: str, joint: str) -> None:
    model, node = pendulum(group, joint)
    steps, errors = PERIOD / np.array([50, 100, 200]), []
    for h in steps:
        solution = mbs.simulate(model, PERIOD, h)
        errors.append(np.abs(center(solution, node) - place(exact_angle(solution.t))).max())
        assert solution.constraint_residual.position.max() < 1e-10
    assert abs(fitted_order(steps, np.array(errors)) - 2.0) < 0.1 and errors[-1] < 4e-3


@pytest.mark.ci
def test_hinge_angle_is_that_of_the_pendulum() -> None:
    """Positive about the axis of the joint, from zero at the start."""
    model, _ = pendulum("SE3", "revolute")
    solution = mbs.simulate(model, PERIOD, PERIOD / 400)
    expected = exact_angle(solution.t) - AMPLITUDE
    np.testing.assert_allclose(solution.angle(model.constraints[0]), expected, atol=2e-3)


def test_period() -> None:
    """The lowest point is passed after a quarter, found on the interpolated solution; three runs extrapolate."""
    model, node = pendulum("SE3", "spherical")
    quarters = []
    for h in PERIOD / np.array([100, 200]):
        solution = mbs.simulate(model, 0.3 * PERIOD, h)

        def sideways(t: float, solution: mbs.Solution = solution) -> float:
            state, row = solution(t), solution.system.number(node)
            return float((state.x[row] + state.R[row] @ [0.1, 0.0, 0.2])[0])

        quarters.append(brentq(sideways, 0.2 * PERIOD, 0.3 * PERIOD, xtol=1e-12))
    extrapolated = (4 * quarters[1] - quarters[0]) / 3
    np.testing.assert_allclose(4 * np.array([quarters[1], extrapolated]), PERIOD, rtol=3e-4)
    np.testing.assert_allclose(4 * extrapolated, PERIOD, rtol=2e-6)


@pytest.mark.ci
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_acceleration_of_a_node(group: str) -> None:
    """In the world frame it is the derivative of the velocity."""
    model, node = pendulum(group, "revolute")
    solution = mbs.simulate(model, 0.5, 1e-3)
    v, a = solution.velocity(node), solution.acceleration(node)
    differences = (v[2:] - v[:-2]) / 2e-3
    np.testing.assert_allclose(a[1:-1], differences, atol=2e-4 * np.abs(a).max())
