"""Consistent start: velocities, accelerations and multipliers that satisfy the equations of motion and all constraints.

The user gives the velocities; :func:`project_velocities` makes them agree with the joints where the user asks for it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.model import Model, Motion, instance
from fem_mbs.solve.singular import explain_singular
from fem_mbs.system import Evaluation, State, System

GAP = 1e-8
"""Largest gap of a joint against the extent of the model."""
SPEED = 1e-7
"""Largest rate of a gap against the largest speed: velocities that are typed with eight digits pass."""
REST = 1e-10
"""Rate in 1/s that counts as rest: what differences make of a drive that starts smoothly."""
DIFFERENCE_TIME = 1e-5
"""Time in s by which differences may misjudge the rate of a drive that accelerates."""


def initial_state(system: System, given: State | None = None) -> State:
    """State with consistent ``vdot`` and multipliers (Arnold, Cardona, Bruels 2015, eq. 19).

    Parameters
    ----------
    given : State, optional
        Time, configuration and velocities to start from; by default t = 0 and what the model says. The velocities of a
        run obey the joints to its own accuracy, so these are projected.

    Raises
    ------
    ModelError
        If nothing can move, a joint is open, or the initial velocities violate it.
    SingularSystemError
        If accelerations or multipliers are not unique; names the nodes or joints.
    """
    v, motion, evaluation = _given(system, given)
    if given is not None:
        _regular_mass_matrix(system, evaluation)
        v, motion, evaluation = _given(system, replace(given, v=v - velocity_defect(system, given)))
    _check_velocities(system, evaluation, motion)
    matrix = _regular_mass_matrix(system, evaluation)
    vdot, multipliers = _accelerations(system, motion, evaluation, matrix)
    return State(motion.t, motion.x, motion.R, v, vdot, vdot, multipliers)


def project_velocities(model: Model) -> None:
    """Replace the initial velocities of all nodes by the closest ones that satisfy the joints, ``B v + Phi_t = 0``.

    Closest means the least kinetic energy ``w.M w/2`` of the change ``w`` (Arnold, Cardona, Bruels, *Order reduction in
    time integration caused by velocity projection*, 2015, eq. 7, here with drives). Driven joints get the rate of their
    drive; velocities that satisfy all joints stay as they are.

    Parameters
    ----------
    model : Model
        Its nodes get the new ``velocity`` (world frame) and ``angular_velocity`` (body frame).

    Raises
    ------
    ModelError
        If nothing can move or a joint is open.
    SingularSystemError
        If the closest velocities are not unique or joints repeat each other; names the nodes or joints.
    """
    system = System(instance(model, Model, "project_velocities: model"))
    _, motion, evaluation = _given(system)
    matrix = _regular_mass_matrix(system, evaluation)
    change = _smallest_velocity(system, matrix, -system.constraint_rate(evaluation, motion))
    change[:, :3] = np.matvec(system.R0, change[:, :3])
    for node, w in zip(system.nodes, change, strict=True):
        node.velocity = node.velocity + w[:3]
        node.angular_velocity = node.angular_velocity + w[3:]


def _given(system: System, state: State | None = None) -> tuple[Array, Motion, Evaluation]:
    """The velocities ``v`` (n, 6) that the user gave, and the equations there for vanishing body accelerations."""
    if system.n_free == 0:
        raise ModelError(
            f"nothing can move: the model has {system.n} nodes, and all are held. Add nodes with model.add_node and "
            "give them bodies or beams"
        )
    if state is None:
        body = system.velocities.copy()
        body[:, :3] = np.vecmat(body[:, :3], system.R0)
        t, x, R, v = 0.0, system.x0, system.R0, system.kinematics.from_body(system.R0, body)
    else:
        t, x, R, v = state.t, state.x, state.R, state.v
    motion, evaluation = _without_accelerations(system, t, x, R, v)
    if worst := _worst(system, evaluation.constraint, GAP):
        raise ModelError(f"{worst[0]} is open at t = {t:g}: its frames do not meet ({worst[1]})")
    return v, motion, evaluation


def _regular_mass_matrix(system: System, evaluation: Evaluation) -> Array:
    """Stored values of ``[[M, B^T], [B, 0]]``, which can be factored."""
    matrix = system.mass_matrix(evaluation)
    explain_singular(system, matrix, "at the start")
    return matrix


def accelerations(system: System, t: float, x: Array, R: Array, v: Array) -> tuple[Array, Array]:
    """``vdot`` (n, 6) and multipliers (m,) of a motion from ``[[M, B^T], [B, 0]]`` and the hidden constraints."""
    motion, evaluation = _without_accelerations(system, t, x, R, v)
    return _accelerations(system, motion, evaluation, system.mass_matrix(evaluation))


def _accelerations(system: System, motion: Motion, evaluation: Evaluation, matrix: Array) -> tuple[Array, Array]:
    right = -system.residual(evaluation, 1.0)
    right[system.n_free :] = -system.constraint_acceleration(evaluation, motion)
    A, multipliers = system.increments(system.factor(matrix)(right))
    vdot = system.kinematics.vdot(motion.R, motion.V, A)
    vdot[~system.free] = 0.0
    return vdot, multipliers


def constraint_correction(system: System, state: State, w: Array) -> Array:
    """Smallest velocity ``M^-1 B^T (B M^-1 B^T)^-1 B w``, in the metric of the mass, with the same ``B w`` (n, 6)."""
    _, evaluation = _without_accelerations(system, state.t, state.x, state.R, state.v)
    body, _ = system.kinematics.motion(state.R, w, np.zeros_like(w))
    rate = system.gradient_product(evaluation, body)
    correction = _smallest_velocity(system, system.mass_matrix(evaluation), rate)
    return system.kinematics.from_body(state.R, correction)


def velocity_defect(system: System, state: State) -> Array:
    """Smallest velocity ``w`` (n, 6), in the metric of the mass, without which ``B v + Phi_t = 0`` would hold."""
    motion, evaluation = _without_accelerations(system, state.t, state.x, state.R, state.v)
    rate = system.constraint_rate(evaluation, motion)
    return system.kinematics.from_body(state.R, _smallest_velocity(system, system.mass_matrix(evaluation), rate))


def _smallest_velocity(system: System, matrix: Array, rate: Array) -> Array:
    """Smallest body velocities ``V`` (n, 6) with ``B V = rate``, in the metric of the mass."""
    velocity, _ = system.increments(system.factor(matrix)(np.concatenate([np.zeros(system.n_free), rate])))
    return velocity


def _without_accelerations(system: System, t: float, x: Array, R: Array, v: Array) -> tuple[Motion, Evaluation]:
    """The equations for vanishing body accelerations and multipliers."""
    zero = np.zeros((system.n, 6))
    motion = system.motion(t, x, R, v, zero)
    motion.A = zero
    return motion, system.evaluate(motion, np.zeros(system.m), system.prescribe(t))


def _check_velocities(system: System, evaluation: Evaluation, motion: Motion) -> None:
    V = np.abs(motion.V)
    speed = max(V[:, :3].max() / system.length, V[:, 3:].max())
    zero = np.zeros_like(motion.V)
    rest = Motion(motion.t, motion.x, motion.R, zero, zero, system.gravity)
    driven = np.abs(system.constraint_acceleration(evaluation, rest) * system.constraint_weight).max(initial=0.0)
    limit = REST + SPEED * speed + DIFFERENCE_TIME * driven
    if worst := _worst(system, system.constraint_rate(evaluation, motion), limit):
        raise ModelError(
            f"{worst[0]} is violated by the initial velocities ({worst[1]}); give its nodes velocities that agree with "
            "the joint and with the rate of its drive, or let mbs.project_velocities(model) find the closest ones"
        )


def _worst(system: System, values: Array, limit: float) -> tuple[object, str] | None:
    """The joint with the largest of the values and what it says, if that is above a limit."""
    sizes = np.abs(values * system.constraint_weight)
    if sizes.max(initial=0.0) <= limit:
        return None
    row = int(np.argmax(sizes))
    owner, equation = system.constraint_owner[row]
    return owner, f"{equation}: {values[row]:.3g} where 0 is expected"
