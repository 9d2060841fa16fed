"""Both groups describe one motion: what elements see of a state does not depend on the group of its nodes."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import EVERYTHING, GROUPS, build
from motions import derivative, random_motion

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.system.kinematics import Kinematics, make_kinematics

N = 4
KINDS = {
    "R3xSO3": ["R3xSO3"] * N,
    "SE3": ["SE3"] * N,
    "mixed": ["R3xSO3", "SE3", "SE3", "R3xSO3"],
}


def path(s: float) -> tuple[Array, Array]:
    """A smooth motion of all nodes, translation and rotation unrelated."""
    c = np.random.default_rng(0).normal(size=(6, N, 3))
    x = c[0] + c[1] * np.sin(s + c[2])
    return x, so3.exp(c[3]) @ so3.exp(c[4] * s + c[5] * np.cos(s))


def velocity(kinematics: Kinematics, s: float) -> Array:
    """Left-trivialised velocity of the path on the groups, by differences of its logarithm."""
    return derivative(lambda e: kinematics.relative(*path(s), *path(s + e)), 1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_motion_is_that_of_the_path(kind: str) -> None:
    """Body velocity ``(R^T x', Omega)`` and acceleration ``(R^T x'', Omega')`` from ``v`` and ``v'`` of any group."""
    kinematics, s = make_kinematics(KINDS[kind]), 0.3
    x, R = path(s)
    v, vdot = velocity(kinematics, s), derivative(lambda e: velocity(kinematics, s + e), 1e-2)
    V, A = kinematics.motion(R, np.stack([v, vdot]))

    def spin(s: float) -> Array:
        return so3.axial(np.swapaxes(path(s)[1], -1, -2) @ derivative(lambda e: path(s + e)[1], 1e-3))

    speed = derivative(lambda e: path(s + e)[0], 1e-3)
    acceleration = derivative(lambda e: derivative(lambda f: path(s + e + f)[0], 1e-3), 1e-2)
    np.testing.assert_allclose(V, np.concatenate([np.vecmat(speed, R), spin(s)], axis=1), atol=1e-9)
    turned = np.concatenate([np.vecmat(acceleration, R), derivative(lambda e: spin(s + e), 1e-2)], axis=1)
    np.testing.assert_allclose(A, turned, atol=1e-6)
    np.testing.assert_allclose(kinematics.from_body(R, V), v, atol=1e-14)
    np.testing.assert_allclose(kinematics.vdot(R, V, A), vdot, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_retraction_goes_the_relative_increment(kind: str) -> None:
    kinematics = make_kinematics(KINDS[kind])
    start, end = path(0.0), path(1.0)
    x, R = kinematics.retract(*start, kinematics.relative(*start, *end))
    np.testing.assert_allclose(x, end[0], atol=1e-14)
    np.testing.assert_allclose(R, end[1], atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_a_straight_increment_is_the_motion_of_constant_velocity(kind: str) -> None:
    """On R3xSO3 a straight line, on SE(3) a screw: ``q exp(s v)`` has the velocity ``v`` for all ``s``."""
    kinematics = make_kinematics(KINDS[kind])
    v, q = np.random.default_rng(1).normal(size=(N, 6)), path(0.0)

    def along(s: float) -> tuple[Array, Array]:
        return kinematics.retract(*q, s * v)

    for s in (0.0, 0.8):
        actual = derivative(lambda e, s=s: kinematics.relative(*along(s), *along(s + e)), 1e-3)
        np.testing.assert_allclose(actual, v, atol=1e-10)
    straight = np.array(KINDS[kind]) == "R3xSO3"
    np.testing.assert_allclose((along(1.0)[0] - q[0])[straight], v[straight, :3], atol=1e-14)


@pytest.mark.parametrize("name", EVERYTHING)
def test_all_groups_give_the_same_physics(name: str) -> None:
    """The residual of one physical state, accelerations and joint forces included."""
    forces = []
    for group in GROUPS:
        system = mbs.System(build(EVERYTHING[name], group=group)[0])
        motion = random_motion(system, 1)
        v = system.kinematics.from_body(motion.R, motion.V)
        vdot = system.kinematics.vdot(motion.R, motion.V, motion.A)
        own = motion.u, motion.udot, motion.uddot
        state = mbs.State(motion.t, motion.x, motion.R, v, vdot, np.ones(system.m), *own)
        evaluation = system.evaluate(system.motion(state), state.multipliers, system.prescribe(motion.t))
        forces.append(np.concatenate([evaluation.force, evaluation.constraint]))
    size = np.abs(forces[0]).max()
    np.testing.assert_allclose(forces[1], forces[0], rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(forces[2], forces[0], rtol=0, atol=1e-13 * size)
