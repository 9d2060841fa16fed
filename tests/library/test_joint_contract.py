"""The laws that every joint of the catalogue obeys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue import AWAY, JOINTS, build
from motions import assert_columns_close, derivative, jacobian, moved, neighbour, random_motion

from fem_mbs import System
from fem_mbs.arrays import Array
from fem_mbs.model import ConstraintBatch, Motion

joints = pytest.mark.parametrize("name", JOINTS)


def make(name: str) -> tuple[System, ConstraintBatch, Motion]:
    """The batch of one joint, and a motion that violates it at random."""
    system = System(build(JOINTS[name])[0])
    return system, system.constraint_batches[0], random_motion(system, 0)


def phi(batch: ConstraintBatch, motion: Motion, t: float | None = None) -> Array:
    return batch.evaluate(motion, batch.at(motion.t if t is None else t))[0]


def gradient(batch: ConstraintBatch, motion: Motion) -> Array:
    """``B`` against the increments of the joint's own nodes, ``(m, 12)``."""
    return batch.evaluate(motion, batch.at(motion.t))[1]


def context(batch: ConstraintBatch, motion: Motion) -> Any:
    return batch.evaluate(motion, batch.at(motion.t))[2]


def joined(system: System, batch: ConstraintBatch) -> Array:
    """Components of the joint's nodes, in the order of the columns of ``B``, as rows of ``np.eye(6 n)``."""
    columns = (6 * batch.nodes[0][:, None] + np.arange(6)).ravel()
    return np.eye(6 * system.n)[columns].reshape(-1, system.n, 6)


@joints
def test_joint_is_closed_as_built(name: str) -> None:
    for pose in (AWAY, None):
        system = System(build(JOINTS[name], **({"pose": pose} if pose else {}))[0])
        zero = np.zeros((system.n, 6))
        built = Motion(0.0, system.x0, system.R0, zero, zero, system.gravity)
        np.testing.assert_allclose(phi(system.constraint_batches[0], built), 0.0, atol=2e-15)


@joints
def test_gradient_is_the_derivative_of_phi(name: str) -> None:
    system, batch, motion = make(name)
    every = np.ones((system.n, 6), dtype=bool)
    full = jacobian(lambda d: phi(batch, neighbour(motion, d)), every)
    own = joined(system, batch).reshape(-1, full.shape[1])
    assert_columns_close(gradient(batch, motion), full @ own.T)
    others = np.abs(full).sum(axis=0)[own.sum(axis=0) == 0.0]
    assert not others.any()


@joints
def test_stiffness_is_the_derivative_of_the_joint_forces(name: str) -> None:
    system, batch, motion = make(name)
    own = joined(system, batch)
    multipliers = np.random.default_rng(1).normal(size=system.m)

    def forces(c: Array) -> Array:
        return multipliers @ gradient(batch, neighbour(motion, np.tensordot(c, own, 1)))

    expected = jacobian(forces, np.ones(12, dtype=bool))
    actual = batch.stiffness(context(batch, motion), multipliers)[0]
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@joints
def test_rate_is_the_time_derivative_at_rest(name: str) -> None:
    _, batch, motion = make(name)
    rate = batch.rate(context(batch, motion))
    expected = derivative(lambda s: phi(batch, motion, motion.t + s), 1e-3)
    np.testing.assert_allclose(rate, expected, rtol=0, atol=1e-10)


@joints
def test_rate_gradient_is_the_derivative_of_the_rate_at_constant_velocities(name: str) -> None:
    system, batch, motion = make(name)
    own = joined(system, batch)

    def rate(c: Array) -> Array:
        near = neighbour(motion, np.tensordot(c, own, 1))
        V = near.V[batch.nodes[0]].ravel()
        return gradient(batch, near) @ V + batch.rate(context(batch, near))

    expected = jacobian(rate, np.ones(12, dtype=bool))
    actual = batch.rate_gradient(context(batch, motion), motion)
    # central differences of quantities of order one, see motions.STEP
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@joints
@pytest.mark.parametrize("t", [0.0005, 0.7])
def test_curvature_is_the_second_time_derivative_at_constant_velocities(name: str, t: float) -> None:
    """Fourth-order second difference along screws of the nodes; 0.0005 s is next to where drives begin."""
    system, batch, motion = make(name)
    h, k = 1e-2, np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
    motion.t = t
    values = [phi(batch, neighbour(motion, s * motion.V), t + s) for s in (-2 * h, -h, 0.0, h, 2 * h)]
    if t < 2 * h:
        values = [phi(batch, neighbour(motion, s * motion.V), t + s) for s in h * np.arange(8)]
        k = np.array([938, -4014, 7911, -9490, 7380, -3618, 1019, -126]) / 180.0
    curvature = batch.curvature(context(batch, motion), motion)
    expected = k @ np.array(values) / h**2
    np.testing.assert_allclose(curvature, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))


@joints
def test_moving_the_whole_model_changes_no_equation(name: str) -> None:
    _, batch, motion = make(name)
    there = moved(motion, AWAY)
    np.testing.assert_allclose(phi(batch, there), phi(batch, motion), rtol=0, atol=1e-14)
    np.testing.assert_allclose(gradient(batch, there), gradient(batch, motion), rtol=0, atol=1e-14)


@joints
def test_joint_forces_balance(name: str) -> None:
    """Force and counterforce: what a joint does to its nodes has no resultant."""
    system, batch, motion = make(name)
    B = gradient(batch, motion).reshape(-1, 2, 6)
    for row in B:
        rows = batch.nodes[0]
        force = np.matvec(motion.R[rows], row[:, :3])
        moment = np.matvec(motion.R[rows], row[:, 3:]) + np.cross(motion.x[rows], force)
        np.testing.assert_allclose([force.sum(axis=0), moment.sum(axis=0)], 0.0, atol=1e-14)


@joints
def test_legal_motions_never_make_equations_redundant(name: str) -> None:
    """Node b goes the free way of the joint for several turns; the joint closes and keeps full row rank."""
    system, batch, _ = make(name)
    zero = np.zeros((system.n, 6))
    motion = Motion(0.0, system.x0, system.R0, zero, zero, system.gravity)
    b = batch.nodes[0, 1]
    way, dt = np.random.default_rng(4).normal(size=6), 0.1
    for _ in range(200):
        motion.t += dt
        for iteration in range(4):
            B = gradient(batch, motion)[:, 6:]
            d = np.zeros((system.n, 6))
            if iteration == 0:
                way = way - np.linalg.pinv(B) @ (B @ way)
                if np.linalg.norm(way) > 1e-6:
                    way /= np.linalg.norm(way)
                    d[b] = dt * way
            d[b] -= np.linalg.pinv(B) @ phi(batch, motion)
            motion = neighbour(motion, d)
        np.testing.assert_allclose(phi(batch, motion), 0.0, atol=1e-13)
        # equations of a direction cosine and of a length of order one have gradients of order one
        assert np.linalg.svd(gradient(batch, motion)[:, 6:], compute_uv=False)[-1] > 0.3


def test_many_joints_together_do_what_each_does_alone() -> None:
    model, parts = build(*JOINTS.values())
    system = System(model)
    motion = random_motion(system, 2)
    multipliers = np.random.default_rng(3).normal(size=system.m)
    whole = system.evaluate(motion, multipliers, system.prescribe(motion.t))
    rate, acceleration = system.constraint_rate(whole, motion), system.constraint_acceleration(whole, motion)
    force = np.zeros_like(whole.force)
    for joint, entry in zip(parts, JOINTS.values(), strict=True):
        rows = system.constraint_rows(joint).rows
        alone = System(build(entry)[0])
        part = alone.evaluate(motion, multipliers[rows], alone.prescribe(motion.t))
        force += part.force
        np.testing.assert_allclose(whole.constraint[rows], part.constraint, rtol=0, atol=1e-15)
        np.testing.assert_allclose(rate[rows], alone.constraint_rate(part, motion), rtol=0, atol=1e-13)
        np.testing.assert_allclose(acceleration[rows], alone.constraint_acceleration(part, motion), rtol=0, atol=1e-12)
    np.testing.assert_allclose(whole.force, force, rtol=0, atol=1e-13)
