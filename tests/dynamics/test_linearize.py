"""The linear equations are the derivative of the equations of motion, along any motion."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from catalogue import EVERYTHING, GROUPS, build
from motions import derivative

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, State
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Block,
    FirstOrderActuator,
    FunctionSensor,
    JointActuator,
    JointForce,
    JointSensor,
    JointSpring,
    PrismaticJoint,
    RigidBody,
    SpringDamper,
)
from fem_mbs.lie import so3
from fem_mbs.system.matrices import velocity_residual
from fem_mbs.system.system import System

PARTS = [
    EVERYTHING[name]
    for name in (
        "rigid body",
        "R3xSO3 beam, curved, coupled",
        "SE3 beam, straight, plain damped",
        "world force",
        "body moment",
        "Maxwell",
        "modal body",
        "actuator",
        "spherical",
        "hinge driven by a law",
        "fixed",
        "rolling disc",
        "bristles by reactions in a hinge",
    )
]
T = 0.7
Path = Callable[[float], tuple[Array, Array, Array]]


def moving_model(group: str, seed: int) -> tuple[mbs.Model, State]:
    """A model with parts of every kind, and a state that satisfies neither equations of motion nor joints."""
    model, _ = build(*PARTS, group=group)
    model.fix(model.nodes[3], translation=False, rotation=True)
    system = System(model)
    rng = np.random.default_rng(seed)
    x = system.x0 + 0.3 * rng.normal(size=(system.n, 3))
    R = system.R0 @ so3.exp(0.3 * rng.normal(size=(system.n, 3)))
    v, vdot = rng.normal(size=(2, system.n, 6)) * system.free
    u, udot, uddot = rng.normal(size=(3, system.k))
    own = u, udot, np.where(system.order == 2, uddot, 0.0)
    return model, State(T, x, R, v, vdot, rng.normal(size=system.m), *own)


def axis_of(S: Array) -> Array:
    """The vector of a skew matrix."""
    return 0.5 * np.stack([S[:, 2, 1] - S[:, 1, 2], S[:, 0, 2] - S[:, 2, 0], S[:, 1, 0] - S[:, 0, 1]], axis=-1)


def residual(system: System, state: State, path: Path, multipliers: Array) -> tuple[Array, Array]:
    """Residual and constraints along a motion ``path(s)``, which gives positions and rotations of all nodes, and own
    unknowns, around ``s = 0``; velocities and accelerations are differences of fourth order in time. Constraints of
    velocities as such."""
    h = 2e-3
    x, R, u = zip(*(path(k * h) for k in range(-2, 3)), strict=True)
    first, second = np.array([1, -8, 0, 8, -1]) / (12 * h), np.array([-1, 16, -30, 16, -1]) / (12 * h * h)
    (x1, x2), (R1, R2), (u1, u2) = (
        [np.tensordot(weights, part, 1) for weights in (first, second)] for part in (x, R, u)
    )
    back = R[2].mT
    W, W_dot = back @ R1, R1.mT @ R1 + back @ R2
    V = np.concatenate([np.matvec(back, x1), axis_of(W)], axis=1)
    A = np.concatenate([np.matvec(back, x2), axis_of(W_dot)], axis=1)
    motion = Motion(state.t, x[2], R[2], V, A, system.gravity, u[2], u1, np.where(system.order == 2, u2, 0.0))
    evaluation = system.evaluate(motion, multipliers, system.prescribe(state.t))
    velocity = velocity_residual(system, evaluation)
    gap = np.where(system.velocity_level, velocity, evaluation.constraint)
    return evaluation.force[system.free_rows], gap


@pytest.mark.parametrize("group", GROUPS)
def test_derivatives_along_a_motion(group: str) -> None:
    """``M d'' + C d' + K d + L mu`` is the change of the residual of a motion that is seen to deviate by ``d(t)``.

    Of the constraints, ``B d`` and, where they are of velocities, ``B d' + G d``.
    """
    model, state = moving_model(group, seed=3)
    linear = mbs.linearize(model, state)
    system = linear.system
    own = system.motion(state)
    acceleration = np.matvec(state.R, own.A[:, :3])
    velocity = np.matvec(state.R, own.V[:, :3])
    rng = np.random.default_rng(7)

    def deviated(d: list[Array], mu: Array, size: float) -> tuple[Array, Array]:
        def path(s: float) -> tuple[Array, Array, Array]:
            now = system.spread(size * (d[0] + s * d[1] + 0.5 * s * s * d[2]))
            moved = system.nodes_of(now)
            R = state.R @ so3.exp(s * own.V[:, 3:] + 0.5 * s * s * own.A[:, 3:])
            x = state.x + s * velocity + 0.5 * s * s * acceleration
            u = state.u + s * state.udot + 0.5 * s * s * state.uddot + system.own_of(now)
            return x + np.matvec(R, moved[:, :3]), R @ so3.exp(moved[:, 3:]), u

        return residual(system, state, path, state.multipliers + size * mu)

    force, gap = deviated([np.zeros(system.n_free)] * 3, np.zeros(system.m), 0.0)
    # differences in time are exact to h^4 times fifth derivatives of order one, 1e-11, and rounding over h^2, 1e-10
    np.testing.assert_allclose(linear.force, force, rtol=0, atol=1e-7)
    position = ~system.velocity_level
    np.testing.assert_allclose(linear.gap[position], gap[position], rtol=0, atol=1e-12)
    for which in range(3):
        d = [np.zeros(system.n_free) for _ in range(3)]
        d[which] = rng.normal(size=system.n_free)
        mu = rng.normal(size=system.m)
        closed = np.where(position, linear.B @ d[0], linear.B @ d[1] + linear.G @ d[0])
        expected = [linear.K @ d[0] + linear.C @ d[1] + linear.M @ d[2] + linear.L @ mu, closed]
        found = derivative(lambda s, d=d, mu=mu: np.concatenate(deviated(d, mu, s)), step=1e-3)
        np.testing.assert_allclose(found, np.concatenate(expected), rtol=0, atol=2e-6 * np.abs(expected[0]).max())


def test_node_motions() -> None:
    """Free body components as displacements and rotations of all nodes in the world."""
    model, state = moving_model("mixed", seed=4)
    linear = mbs.linearize(model, state)
    d = np.random.default_rng(1).normal(size=(2, linear.system.n_free))
    motions = linear.node_motions(d[0] + 1j * d[1])
    assert motions.shape == (linear.system.n, 6)
    assert not motions[0].any()  # the ground
    body = np.stack([linear.system.nodes_of(linear.system.spread(part)) for part in d])
    for k, node in enumerate(linear.system.nodes):
        R = state.R[k]
        np.testing.assert_allclose(motions[k, :3], R @ (body[0, k, :3] + 1j * body[1, k, :3]), err_msg=str(node))
        np.testing.assert_allclose(motions[k, 3:], R @ (body[0, k, 3:] + 1j * body[1, k, 3:]), err_msg=str(node))
    np.testing.assert_allclose(linear.node_motions(d), [motions.real, motions.imag])
    for wrong in (d[0, 1:], np.append(d[0], 0.0), np.full(linear.system.n_free, np.nan)):
        with pytest.raises(mbs.ModelError, match="d must be finite numbers"):
            linear.node_motions(wrong)


def test_mass_is_not_touched_by_stiffness() -> None:
    """A stiff beam at rest: no damping at all, and the mass is symmetric to the last digit."""
    model = mbs.Model()
    Beam.line(model, (0, 0, 0), (1, 2, 3), BeamSection.rectangle(0.1, 0.2, 210e9, 0.3, 7800), 5)
    linear = mbs.linearize(model)
    assert abs(linear.C).max() == 0.0
    assert abs(linear.M - linear.M.T).max() < 1e-15 * abs(linear.M).max()
    total = linear.M @ np.tile([0, 0, 1.0, 0, 0, 0], 6)
    assert total.reshape(-1, 6)[:, 2].sum() == pytest.approx(7800 * 0.02 * np.sqrt(14), rel=1e-12)


@pytest.mark.parametrize("gap", [1e3, 1e-2, 1e-5, 2e-6])
@pytest.mark.parametrize("by", ["joint", "spring", "block", "sensor"])
def test_functions_have_slopes_at_their_own_size(by: str, gap: float) -> None:
    """An electrode that a voltage pulls over its gap, which softens its spring; ``math`` takes no complex numbers."""
    model = mbs.Model()
    plate, frame = model.add_node((0, 0, 0)), model.add_node((-gap, 0, 0))
    model.fix(frame)
    model.add(RigidBody(plate, 1.0, [gap**2] * 3))
    rail = model.add(PrismaticJoint(model.ground, plate, (1, 0, 0)))
    model.add(JointSpring(rail, 1.0))

    def pull(q: float) -> float:
        return 0.1 * gap**3 / math.pow(gap - q, 2)

    if by == "joint":
        model.add(JointForce(rail, lambda t, q, rate: pull(q)))
    elif by == "spring":
        model.add(SpringDamper(frame, plate, 0.0, force=lambda t, length, speed: -pull(length - gap)))
    else:
        if by == "sensor":
            signal = model.add(FunctionSensor([plate], lambda motion: pull(motion.x[0, 0])))
        else:
            signal = model.add(Block([model.add(JointSensor(rail))], g=lambda t, x, u: pull(u[0])))
        model.add(JointActuator(rail, signal))
    frequency = mbs.modes(model).angular[0]
    assert frequency == pytest.approx(math.sqrt(0.8), rel=1e-6)


@pytest.mark.parametrize("hours", [1.0, 1.0 / 3600.0])
@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_damped_modes_of_an_actuator_in_hours(size: float, hours: float) -> None:
    """Its state, in N, is large beside what such units make of the mass: it was taken for rounding of frequencies."""
    newton = 1.0 / hours**2
    model = mbs.Model()
    body, far = model.add_node((0, 0, 0)), model.add_node((size, 0, 0))
    model.fix(far)
    model.add(RigidBody(body, 1.0, [size**2] * 3))
    rail = model.add(PrismaticJoint(model.ground, body, (1, 0, 0)))
    model.add(JointSpring(rail, 100.0 * newton, newton * hours))
    model.add(FirstOrderActuator(body, far, lambda t, length, speed: 50.0 * newton * (length - size), 0.05 * hours))
    pair, real = mbs.modes(model, damped=True).eigenvalues * hours
    roots = np.roots([0.05, 1.05, 6.0, 150.0])  # (s^2 + s + 100) (0.05 s + 1) + 50
    np.testing.assert_allclose([pair, real], [*roots[roots.imag > 0.0], *roots[roots.imag == 0.0]], rtol=1e-6)
