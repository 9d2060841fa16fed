"""Bodies against the equations of Newton and Euler, and what no body can be."""

from __future__ import annotations

import numpy as np
import pytest
from motions import random_motion, residual

import fem_mbs as mbs
from fem_mbs.elements import Ball, Box, Cylinder, PointMass, RigidBody
from fem_mbs.lie import so3


def test_newton_and_euler_at_the_mass_centre() -> None:
    """Force ``m a_c - m g`` and moment ``J Omega' + Omega x J Omega`` about the mass centre, moved to the node."""
    model = mbs.Model(gravity=(0.3, 0.2, -9.0))
    m, J, c = 2.0, np.diag([1.0, 2.0, 2.5]) + 0.1, np.array([0.1, 0.2, 0.3])
    model.add(RigidBody(model.add_node((1, 2, 3)), m, J, c))
    system = mbs.System(model)
    motion = random_motion(system, 0)
    R, V, A = motion.R[1], motion.V[1], motion.A[1]
    acceleration = A[:3] + np.cross(A[3:], c) + np.cross(V[3:], np.cross(V[3:], c))
    force = m * (acceleration - R.T @ motion.gravity)
    moment = J @ A[3:] + np.cross(V[3:], J @ V[3:]) + np.cross(c, force)
    np.testing.assert_allclose(residual(system, motion)[1], [*force, *moment], rtol=1e-13)


def test_moving_the_node_within_the_body_changes_nothing() -> None:
    """Kinetic and gravity energy of the same motion, described at two points in two frames."""
    m, J, c = 2.0, np.diag([1.0, 2.0, 2.5]), np.array([0.1, 0.2, 0.3])
    p, S = np.array([0.4, -0.1, 0.2]), so3.exp(np.array([0.5, 1.0, -0.2]))
    one, two = mbs.Model(gravity=(0, 0, -9)), mbs.Model(gravity=(0, 0, -9))
    one.add(RigidBody(one.add_node((0, 0, 0)), m, J, c))
    two.add(RigidBody(two.add_node(p, S), m, S.T @ J @ S, S.T @ (c - p)))
    here = random_motion(mbs.System(one), 1)
    there = random_motion(mbs.System(two), 1)
    there.x[1], there.R[1] = here.x[1] + here.R[1] @ p, here.R[1] @ S
    there.V[1] = [*(S.T @ (here.V[1, :3] + np.cross(here.V[1, 3:], p))), *(S.T @ here.V[1, 3:])]
    np.testing.assert_allclose(mbs.System(two).energy(there), mbs.System(one).energy(here), rtol=1e-13)


def test_three_principal_values_are_a_diagonal_matrix() -> None:
    node = mbs.Model().add_node((0, 0, 0))
    np.testing.assert_array_equal(RigidBody(node, 1.0, (1, 2, 3)).inertia, np.diag([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("mass", "inertia", "message"),
    [
        (0.0, (1, 1, 1), "mass must be a positive number, received 0"),
        (np.nan, (1, 1, 1), "mass must be a positive number, received nan"),
        ("heavy", (1, 1, 1), "mass must be a number, received 'heavy'"),
        (1.0, (1, 1), "inertia must be 3 principal values or a symmetric 3x3 matrix"),
        (1.0, np.triu(np.ones((3, 3))), "symmetric 3x3 matrix"),
        (1.0, (1, 0, 1), "inertia must be positive, .* a PointMass has none"),
        (1.0, (1, 1, 2.1), "no body has the principal values"),
    ],
)
def test_impossible_bodies_are_refused_by_name(mass: float, inertia: object, message: str) -> None:
    node = mbs.Model().add_node((0, 0, 0), name="bob")
    with pytest.raises(mbs.ModelError, match=f"RigidBody on node 'bob'.*{message}"):
        RigidBody(node, mass, inertia)  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="PointMass on node 'bob': mass must be a positive number"):
        PointMass(node, -1.0)


@pytest.mark.parametrize(
    "shape",
    [
        Box((0.3, 0.5, 0.9), center=(1.1, 2.2, 2.7), rotation=so3.exp(np.array([0.3, -0.4, 1.0]))),
        Cylinder(0.2, 0.7, (1, 2, -1), center=(0.8, 2, 3)),
        Cylinder(0.2, 0.7),
        Ball(0.4, center=(1.2, 2.2, 3)),
    ],
)
def test_mass_and_inertia_of_what_is_filled(shape: Box | Cylinder | Ball) -> None:
    """Against the tetrahedra between the surface that is drawn, of very many sides, and the node."""
    model = mbs.Model()
    node = model.add_node((1, 2, 3), so3.exp(np.array([0.2, 0.1, -0.7])), name="node")
    body = RigidBody.solid(node, shape, density=3.0)
    points, cells = shape.on(node).faces(400)
    fans = [block[:, [0, k, k + 1]] for _, block in cells for k in range(1, block.shape[1] - 1)]
    corners = points[np.concatenate(fans)]
    parts = np.linalg.det(corners) / 6.0
    first = parts @ corners.sum(1) / 4.0
    sums = np.concatenate([corners, corners.sum(1, keepdims=True)], axis=1)
    second = np.einsum("t,tki,tkj->ij", parts, sums, sums) / 20.0
    m, c = 3.0 * parts.sum(), first / parts.sum()
    about = 3.0 * second - m * np.outer(c, c)
    np.testing.assert_allclose(body.mass, m, rtol=2e-4)
    np.testing.assert_allclose(body.center_of_mass, c, atol=1e-12)
    np.testing.assert_allclose(body.inertia, np.trace(about) * np.eye(3) - about, rtol=2e-4, atol=2e-4 * m)
    same = RigidBody.solid(node, shape, mass=body.mass)
    np.testing.assert_allclose(same.inertia, body.inertia, rtol=1e-14)


def test_what_is_filled_has_a_mass_or_a_density() -> None:
    node = mbs.Model().add_node((0, 0, 0), name="stone")
    for given in ({}, {"mass": 1.0, "density": 1.0}):
        with pytest.raises(mbs.ModelError, match=r"RigidBody.solid on node 'stone': give a mass or a density"):
            RigidBody.solid(node, Ball(1.0), **given)
    with pytest.raises(mbs.ModelError, match=r"RigidBody.solid\(...\) takes one"):
        RigidBody(node, 1.0, (1, 1, 1), density=1.0)  # type: ignore[call-arg]
