"""Rigid bodies in space against Euler's equations integrated to rounding: order 2 on both groups."""

from __future__ import annotations

import numpy as np
import pytest
from motions import fitted_order
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import RigidBody, SphericalJoint
from fem_mbs.lie import so3

M, J = 1.5, np.array([1.0, 2.0, 2.5])
C = np.array([0.3, -0.2, 0.4])
START, SPIN, DRIFT = so3.exp(np.array([0.4, 1.0, -0.3])), np.array([1.0, 3.0, 0.5]), np.array([0.2, -0.5, 1.0])
GRAVITY = np.array([0.0, 1.0, -9.0])
STEPS = np.array([0.02, 0.01, 0.005])


def reference(pivot: bool, t_end: float) -> tuple[Array, Array, Array]:
    """Rotation, position of the node and angular velocity at ``t_end``: free fall, or a top on the node."""
    inertia = np.diag(J) - M * so3.skew(C) @ so3.skew(C) * pivot

    def rates(t: float, y: Array) -> Array:
        R, Omega = y[:9].reshape(3, 3), y[9:]
        moment = np.cross(C, M * R.T @ GRAVITY) * pivot
        return np.concatenate(
            [
                (R @ so3.skew(Omega)).ravel(),
                np.linalg.solve(inertia, moment - np.cross(Omega, inertia @ Omega)),
            ]
        )

    y = solve_ivp(rates, (0, t_end), [*START.ravel(), *SPIN], "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    R = y[:9].reshape(3, 3)
    if pivot:
        return R, np.zeros(3), y[9:]
    center = START @ C + (DRIFT + START @ np.cross(SPIN, C)) * t_end + 0.5 * GRAVITY * t_end**2
    return R, center - R @ C, y[9:]


@pytest.mark.one
@pytest.mark.parametrize("pivot", [False, True], ids=["free", "top"])
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_order_two(group: str, pivot: bool) -> None:
    model = mbs.Model(group, GRAVITY)
    node = model.add_node((0, 0, 0), START, None if pivot else DRIFT, SPIN)
    model.add(RigidBody(node, M, J, C))
    if pivot:
        model.add(SphericalJoint(model.ground, node))
    R, x, Omega = reference(pivot, 1.0)
    errors = []
    for h in STEPS:
        solution = mbs.simulate(model, 1.0, h)
        position, rotation, spin = (
            getattr(solution, a)(node)[-1] for a in ("position", "rotation", "angular_velocity")
        )
        errors.append([np.abs(rotation - R).max(), np.abs(position - x).max(), np.abs(spin - Omega).max()])
    errors = np.array(errors)
    assert (errors[-1] < 2e-3).all()
    orders = [fitted_order(STEPS, e) for e in errors.T if e.max() > 1e-11]
    np.testing.assert_allclose(orders, 2.0, atol=0.1)
