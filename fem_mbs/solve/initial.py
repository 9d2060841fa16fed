"""Consistent start: accelerations and multipliers that satisfy the equations of motion and the hidden constraints."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.solve.singular import explain_singular
from fem_mbs.system import Evaluation, State, System

GAP_TOLERANCE = 1e-8


def initial_state(system: System) -> State:
    """State at t = 0 with consistent ``vdot`` and multipliers (Arnold, Cardona, Bruels 2015, eq. 19).

    Raises
    ------
    ModelError
        If a joint is open, or the initial velocities violate it.
    SingularSystemError
        If accelerations or multipliers are not unique; names the nodes or joints.
    """
    zero = np.zeros((system.n, 6))
    velocities = np.array([[*node.velocity, *node.angular_velocity] for node in system.nodes])
    body = velocities.copy()
    body[:, :3] = np.vecmat(velocities[:, :3], system.R0)
    v = system.kinematics.from_body(system.R0, body)
    motion = system.motion(0.0, system.x0, system.R0, v, zero)
    motion.A = zero
    evaluation = system.evaluate(motion, np.zeros(system.m), system.prescribe(0.0))
    _check_gaps(system, evaluation, system.constraint_rate(evaluation, motion), motion.V)
    matrix = system.mass_matrix(evaluation)
    explain_singular(system, matrix, "at the start")
    right = -system.residual(evaluation, 1.0)
    right[system.n_free :] = -system.constraint_acceleration(evaluation, motion)
    A, multipliers = system.increments(system.factor(matrix)(right))
    vdot = system.kinematics.vdot(system.R0, motion.V, A)
    vdot[~system.free] = 0.0
    return State(0.0, system.x0, system.R0, v, vdot, vdot, multipliers)


def _check_gaps(system: System, evaluation: Evaluation, rate: Array, V: Array) -> None:
    scale = max(float(np.abs(V[:, :3]).max()), float(np.abs(V[:, 3:]).max()) * system.length, 1e-300)
    for values, limit, what, remedy in (
        (
            evaluation.constraint,
            GAP_TOLERANCE * max(system.length, 1.0),
            "is open at t = 0: its frames do not meet",
            "give the nodes positions that meet, or a drive that is 0 at t = 0",
        ),
        (
            rate,
            GAP_TOLERANCE * scale,
            "is violated by the initial velocities",
            "give its nodes velocities that agree with the joint and with the rate of its drive",
        ),
    ):
        worst = int(np.argmax(np.abs(values))) if len(values) else 0
        if len(values) and abs(values[worst]) > limit:
            owner, equation = system.constraint_owner[worst]
            raise ModelError(f"{owner} {what} ({equation}: {values[worst]:.3g} where 0 is expected); {remedy}")
