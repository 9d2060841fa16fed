"""Motions to try laws on, their neighbours, and the derivatives that neighbours give."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from catalogue import HOME, Pose

from fem_mbs import System
from fem_mbs.arrays import Array
from fem_mbs.integrate.index3 import Index3Problem
from fem_mbs.lie import se3, so3
from fem_mbs.model import Motion

STEP = 1e-5
"""Central differences over this step of quantities of order one are exact to about 1e-10."""


def random_motion(system: System, seed: int, pose: Pose = HOME, t: float = 0.7) -> Motion:
    """Large random deformation, velocity and acceleration of a model, all of it turned at random.

    Neighbouring nodes turn against each other by about one radian. ``pose`` moves the result rigidly, for a model that
    was built there.
    """
    rng = np.random.default_rng(seed)
    turn = so3.exp(rng.normal(size=3))
    back = pose.Q.T @ system.R0, (system.x0 - pose.c) @ pose.Q
    x = (back[1] + 0.3 * rng.normal(size=(system.n, 3))) @ turn.T
    R = turn @ back[0] @ so3.exp(0.4 * rng.normal(size=(system.n, 3)))
    V, A = rng.normal(size=(2, system.n, 6))
    return Motion(t, x @ pose.Q.T + pose.c, pose.Q @ R, V, A, system.gravity)


def at_rest(motion: Motion) -> Motion:
    """The same configuration without velocity and acceleration."""
    zero = np.zeros_like(motion.V)
    return Motion(motion.t, motion.x, motion.R, zero, zero, motion.gravity)


def weightless(motion: Motion) -> Motion:
    """The same motion without gravity."""
    return Motion(motion.t, motion.x, motion.R, motion.V, motion.A, np.zeros(3))


def moved(motion: Motion, pose: Pose) -> Motion:
    """The whole motion moved rigidly, gravity with it; body components stay."""
    return Motion(
        motion.t,
        motion.x @ pose.Q.T + pose.c,
        pose.Q @ motion.R,
        motion.V,
        motion.A,
        pose.vector(motion.gravity),
    )


def neighbour(motion: Motion, d: Array, dV: Array | float = 0.0, dA: Array | float = 0.0) -> Motion:
    """Motion at body increments ``d`` (n, 6) away, with other velocities and accelerations."""
    R, y = se3.exp(d)
    x = motion.x + np.matvec(motion.R, y)
    return Motion(motion.t, x, motion.R @ R, motion.V + dV, motion.A + dA, motion.gravity)


def later(motion: Motion, s: float) -> Motion:
    """The motion a time ``s`` later: each node goes on along its own screw, accelerated by ``A`` to second order.

    Right to first order in ``s``, in configuration and velocity.
    """
    Vdot = motion.A.copy()
    Vdot[:, :3] -= np.cross(motion.V[:, 3:], motion.V[:, :3])
    return neighbour(motion, s * motion.V, dV=s * Vdot)


def residual(system: System, motion: Motion, multipliers: Array | None = None) -> Array:
    """Assembled residual of all nodes in body components, ``(n, 6)``."""
    own = np.zeros(system.m) if multipliers is None else multipliers
    return system.evaluate(motion, own, system.prescribe(motion.t)).force.reshape(-1, 6)


def iteration_matrix(system: System, motion: Motion, dV: Array, dA: Array) -> Array:
    """``K + C dV + M dA`` of the free components, dense; ``dV`` and ``dA`` (n, 6, 6)."""
    evaluation = system.evaluate(motion, np.zeros(system.m), system.prescribe(motion.t))
    matrix = system.solver.matrix(system.iteration_matrix(evaluation, dV, dA, 1.0)).toarray()
    return np.asarray(matrix[: system.n_free, : system.n_free])


def mass_matrix(system: System, motion: Motion) -> Array:
    """Mass matrix of the free body components, dense."""
    evaluation = system.evaluate(motion, np.zeros(system.m), system.prescribe(motion.t))
    return np.asarray(system.solver.matrix(system.mass_matrix(evaluation)).toarray()[: system.n_free, : system.n_free])


def stiffness_matrix(system: System, motion: Motion) -> Array:
    """Stiffness matrix of the free body components, dense."""
    none = np.zeros((system.n, 6, 6))
    return iteration_matrix(system, motion, none, none)


def momentum(system: System, motion: Motion) -> Array:
    """Linear and angular momentum about the origin, world frame, ``(6,)``."""
    P = np.zeros((system.n, 6))
    P[system.free] = mass_matrix(system, motion) @ motion.V[system.free]
    return resultant(motion, P)


def resultant(motion: Motion, wrenches: Array) -> Array:
    """Resultant force and moment about the origin ``(6,)``, world frame, of body wrenches ``(n, 6)``."""
    force, moment = (np.matvec(motion.R, part) for part in (wrenches[:, :3], wrenches[:, 3:]))
    return np.concatenate([force.sum(axis=0), (moment + np.cross(motion.x, force)).sum(axis=0)])


def derivative(function: Callable[[float], Array | float], step: float = STEP) -> Array:
    """Derivative at 0 by the central difference of fourth order."""
    f = [np.asarray(function(k * step)) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)


def jacobian(function: Callable[[Array], Array], free: Array, step: float = STEP) -> Array:
    """Columns ``derivative of function(d)`` against each free component of ``d`` (n, 6)."""
    columns = []
    for index in np.argwhere(free):
        d = np.zeros(free.shape)
        d[tuple(index)] = step
        columns.append((function(d) - function(-d)) / (2 * step))
    return np.stack(columns, axis=-1)


def increment_derivative(problem: Index3Problem, D: Array, step: float = 1e-5) -> Array:
    """Derivative ``(n, 6, 6)`` of the increment of a step against body increments of its end, by differences."""
    system, state = problem.system, problem.state
    R = problem.chart.retract(state.x, state.R, D)[1]
    columns = []
    for unit in step * np.eye(6):
        behind, ahead = (problem.chart.retract(state.x, state.R, D + s * unit) for s in (-1.0, 1.0))
        way = system.kinematics.relative(*behind, *ahead) / (2 * step)
        columns.append(system.kinematics.motion(R, way, np.zeros_like(way))[0])
    return np.linalg.inv(np.stack(columns, axis=-1))


def assert_columns_close(actual: Array, expected: Array, tolerance: float = 1e-6) -> None:
    """Every column right to ``tolerance`` of its own largest entry."""
    error, size = np.abs(actual - expected).max(axis=-2), np.abs(expected).max(axis=-2)
    assert actual.shape == expected.shape
    assert (error <= tolerance * size).all(), f"relative error {np.max(error / np.maximum(size, 1e-300)):.1e}"


def fitted_order(steps: Array, errors: Array) -> float:
    """Slope of the errors over the steps in a doubly logarithmic plot."""
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])
