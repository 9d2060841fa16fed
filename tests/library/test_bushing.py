"""Bushings against minimal coordinates, their energy, and what they leave free."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue import COUPLED
from minimal import assert_second_order, complex_gradient, solved

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Bushing, Moment, RigidBody
from fem_mbs.lie import so3

GROUPS = ("R3xSO3", "SE3")
MASS, INERTIA, POINT, TURN = 2.0, 0.3, np.array([-0.3, 0.2]), 0.6
K, C = np.array([90.0, 40.0, 9.0]), np.array([2.0, 1.0, 0.3])
"""Along x and y, and about z."""
START = [0.0, 0.0, 0.0, 1.5, -1.0, 12.0]


def deformation(q: Array) -> Array:
    """Of a bush at POINT of a body, with axes turned by TURN, of its place and angle: the logarithm in the plane."""
    c, s = np.cos(q[2]), np.sin(q[2])
    moved = q[:2] + np.array([c * POINT[0] - s * POINT[1], s * POINT[0] + c * POINT[1]]) - POINT
    cos, sin = np.cos(TURN), np.sin(TURN)
    r = np.array([cos * moved[0] + sin * moved[1], -sin * moved[0] + cos * moved[1]])
    half = 0.5 * q[2]
    along = half / np.tan(half) if abs(half) > 1e-12 else 1.0 - half**2 / 3.0
    return np.array([along * r[0] + half * r[1], along * r[1] - half * r[0], q[2]])


def by_hand(t: float, y: Array) -> Array:
    q, rates = y[:3], y[3:]
    J = complex_gradient(deformation, q)
    force = -J.T @ (K * deformation(q) + C * (J @ rates))
    return np.concatenate([rates, force / [MASS, MASS, INERTIA]])


@pytest.mark.parametrize("group", GROUPS)
def test_body_moves_as_in_minimal_coordinates(group: str) -> None:
    """In the plane, turning by more than one radian."""
    along = so3.exp(np.array([0, 0, TURN]))
    stiffness, damping = (np.array([a, b, 50.0, 60.0, 70.0, c]) for a, b, c in (K, C))

    def error(h: float) -> float:
        model = mbs.Model(group)
        x, y, _, vx, vy, omega = START
        body = model.add_node((x, y, 0), so3.exp(np.array([0, 0, 0.9])), (vx, vy, 0), (0, 0, omega))
        model.add(RigidBody(body, MASS, (0.2, 0.4, INERTIA)))
        model.add(Bushing(model.ground, body, stiffness, np.diag(damping), point=(*POINT, 0), axes=along))
        solution = mbs.simulate(model, 0.5, h, mbs.GeneralizedAlpha(0.9))
        exact = solved(by_hand, START, solution.t)
        turn = so3.log(so3.exp(np.array([0, 0, -0.9])) @ solution.rotation(body))[:, 2]
        assert np.abs(exact[:, 2]).max() > 1.0
        place = np.abs(solution.position(body)[:, :2] - exact[:, :2]).max()
        return max(place, np.abs(turn - exact[:, 2]).max())

    assert_second_order(error, 0.01, 3e-3)


def floating(group: str, damping: Any) -> mbs.Model:
    """Two bodies in space, coupled in all directions."""
    model = mbs.Model(group)
    rng = np.random.default_rng(2)
    bodies = []
    for place in ((0.0, 0, 0), (0.5, 0.1, 0)):
        rotation = so3.exp(rng.normal(size=3))
        bodies.append(model.add_node(place, rotation, rng.normal(size=3), 2 * rng.normal(size=3)))
        model.add(RigidBody(bodies[-1], 1.5, (0.2, 0.3, 0.4)))
    model.add(Bushing(*bodies, 10 * COUPLED.stiffness, damping, point=(0.2, 0.3, 0.1)))
    return model


@pytest.mark.parametrize("group", GROUPS)
def test_energy_stays_without_damping_and_falls_with_it(group: str) -> None:
    changes = []
    for h in (0.01, 0.005):
        energy = mbs.simulate(floating(group, 0.0), 0.5, h, mbs.GeneralizedAlpha(1.0)).energy
        assert energy.strain.max() > 0.1 * energy.kinetic[0]
        changes.append(np.abs(energy.total / energy.total[0] - 1.0).max())
    assert changes[0] < 0.02
    assert changes[0] / changes[1] > 3.0
    energy = mbs.simulate(floating(group, 0.05), 0.5, 0.005).energy.total
    assert (np.diff(energy) < 0.0).all()


def test_order_of_the_nodes_does_not_matter() -> None:
    """Swapped, with the same point and axes."""
    turned = []
    for swap in (False, True):
        model = mbs.Model()
        rng = np.random.default_rng(4)
        nodes = [model.add_node(p, so3.exp(rng.normal(size=3)), rng.normal(size=3)) for p in ((0, 0, 0), (1, 0, 0.2))]
        for node in nodes:
            model.add(RigidBody(node, 1.0, (0.2, 0.3, 0.4)))
        a, b = nodes[::-1] if swap else nodes
        model.add(Bushing(a, b, COUPLED.stiffness, 0.1, point=(0.3, 0.2, 0.1), axes=np.eye(3)))
        turned.append(mbs.simulate(model, 0.5, 0.01).x)
    np.testing.assert_allclose(turned[1], turned[0], rtol=0, atol=1e-12)


def test_deformation_is_force_over_stiffness() -> None:
    """A moment about the third axis, alone."""
    model = mbs.Model()
    body = model.add_node((1, 2, 3))
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    model.add(Bushing(model.ground, body, (5.0, 6, 7, 8, 9, 10)))
    model.add(Moment(body, (0, 0, 4.0)))
    turned = mbs.statics(model).rotation_vector(body)[-1]
    np.testing.assert_allclose(turned, [0, 0, 0.4], rtol=0, atol=1e-10)


def test_too_far_is_refused() -> None:
    model = mbs.Model()
    body = model.add_node((1, 0, 0), angular_velocity=(0, 0, 5.0))
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    model.add(Bushing(model.ground, body, (1.0, 1, 1, 1, 1, 0)), name="mount")
    with pytest.raises(mbs.FemMbsError, match=r"Bushing 'mount': turns by 17\d degrees"):
        mbs.simulate(model, 2.0, 0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3.0,), "Bushing on node 'ground', node 'end': stiffness must be six numbers, translations first, or a"),
        (((1, 2, 3),), "stiffness must be six numbers"),
        (((1, 2, 3, 4, 5, -1.0),), "stiffness must not be negative in any direction"),
        ((np.eye(6) + np.eye(6, k=1),), "stiffness must be six numbers, translations first, or a symmetric 6x6 matrix"),
        ((np.eye(6) + 2 * (np.eye(6, k=1) + np.eye(6, k=-1)),), "stiffness must not be negative in any direction"),
        ((np.ones(6), -0.1), "damping must be at least 0, received -0.1"),
        ((np.ones(6), -np.ones(6)), "damping must not be negative in any direction"),
    ],
)
def test_bad_input_is_refused_by_name(arguments: tuple[Any, ...], message: str) -> None:
    model = mbs.Model()
    end = model.add_node((1, 0, 0), name="end")
    with pytest.raises(mbs.ModelError, match=message):
        Bushing(model.ground, end, *arguments)
    with pytest.raises(mbs.ModelError, match="axes must be a rotation matrix"):
        Bushing(model.ground, end, np.ones(6), 0.1, axes=np.ones((3, 3)))
    with pytest.raises(mbs.ModelError, match="Bushing: connects node 'end' with itself"):
        Bushing(end, end, np.ones(6))
