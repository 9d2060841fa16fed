"""Projection of velocities and positions on what the joints allow, in the metric of the mass.

``[[M, B^T], [B, 0]] (w, mu) = (0, B v + Phi_t)``: the smallest ``w`` without which the velocities obey the hidden
constraints (Arnold, Cardona, Bruels, *Order reduction in time integration caused by velocity projection*, 2015, eq. 7).
With ``Phi`` on the right-hand side it is a correction of Newton's method for the positions.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import State, checked
from fem_mbs.errors import MotionError
from fem_mbs.initial.singular import explain_singular
from fem_mbs.initial.state_point import (
    StatePoint,
    as_built,
    check_system,
    closed,
    largest_gap,
    largest_speed,
    place_of,
    without_accelerations,
)
from fem_mbs.linear.solvers import Factors
from fem_mbs.model.description import ModelDescription
from fem_mbs.system import matrices as tangent
from fem_mbs.system.matrices import leading_matrix, solve_with_constraints
from fem_mbs.system.system import Evaluation, System

CORRECTIONS = 10
CLOSED = 1e-13
"""Largest gap that is left, lengths against the extent of the model; of velocities, against the largest."""
ROUNDING = 1e-10
"""The same of gaps that do not fall any more."""
STUCK = 0.5


@checked
def project_velocities(model: ModelDescription) -> None:
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
        If the closest velocities are not unique, or joints repeat each other at this position alone; names the nodes
        or joints.
    """
    system = System(model)
    check_system(system, "project_velocities")
    evaluation = closed(system, as_built(system))
    explain_singular(system, evaluation, "at the start", of_reactions=False)
    change = system.nodes_of(_smallest(system, evaluation, -system.velocity_residual(evaluation))).copy()
    change[:, :3] = np.matvec(system.R0, change[:, :3])
    for node, w in zip(system.nodes, change, strict=True):
        node.velocity = node.velocity + w[:3]
        node.angular_velocity = node.angular_velocity + w[3:]


def velocity_defect(system: System, place: StatePoint) -> Array:
    """Smallest velocity ``w`` (N,), in the metric of the mass, without which ``B v + Phi_t = 0`` would hold."""
    evaluation = without_accelerations(system, place)
    w = _smallest(system, evaluation, system.velocity_residual(evaluation))
    return system.from_body(place.R, w)


def constraint_correction(system: System, state: State, w: Array) -> Array:
    """Smallest velocity ``M^-1 B^T (B M^-1 B^T)^-1 B w`` (N,), in the metric of the mass, with the same ``B w``.

    The projection in Arnold, Cardona, Bruels, *A Lie algebra approach* (2015), eq. 142.
    """
    evaluation = without_accelerations(system, place_of(state))
    rate = tangent.product(system, evaluation.gradients, system.to_body(state.R, w))
    return system.from_body(state.R, _smallest(system, evaluation, rate))


def with_joint_rate(system: System, state: State, w: Array, missed: bool) -> Array:
    """The velocity closest to ``w`` (N,), in the metric of the mass, with ``B w`` zero, or what the state's miss.

    That is ``B v + Phi_t`` of a method which closes joints on position level alone.
    """
    evaluation = without_accelerations(system, place_of(state))
    rate = -tangent.product(system, evaluation.gradients, system.to_body(state.R, w))
    if missed:
        rate += system.velocity_residual(evaluation)
    return w + system.from_body(state.R, _smallest(system, evaluation, rate))


def projected(system: System, place: StatePoint) -> StatePoint:
    """A place close by, in the metric of the mass, where joints are closed, and the closest velocities that they allow.

    Eqs. 6 and 7 of the paper on velocity projection (2015). The matrix is that of the first place, which is near.
    """
    evaluation, factors, before = without_accelerations(system, place), None, np.inf
    for _ in range(CORRECTIONS):
        gap = largest_gap(system, evaluation.constraint)
        if _settled(gap, before):
            return _with_projected_velocities(system, place, evaluation, factors)
        factors = factors or system.solver.factor(leading_matrix(system, evaluation))
        d = _moved_by(system, place, factors, -evaluation.constraint)
        x, R = system.kinematics.retract(place.x, place.R, system.nodes_of(d))
        place, before = place._replace(x=x, R=R, u=place.u + system.own_of(d)), gap
        evaluation = without_accelerations(system, place)
    raise MotionError(f"joints cannot be closed at t = {place.t:.6g} s: gaps of {gap:.1e} of the extent are left")


def _with_projected_velocities(
    system: System, place: StatePoint, evaluation: Evaluation, factors: Factors | None
) -> StatePoint:
    residual, before = system.velocity_residual(evaluation), np.inf
    speed = largest_speed(system, evaluation.motion) or 1.0
    for _ in range(CORRECTIONS):
        miss = largest_gap(system, residual) / speed
        if _settled(miss, before):
            return place
        factors = factors or system.solver.factor(leading_matrix(system, evaluation))
        w = _moved_by(system, place, factors, -residual)
        place, before = place._replace(v=place.v + system.nodes_of(w), udot=place.udot + system.own_of(w)), miss
        residual = residual + tangent.product(system, evaluation.gradients, system.to_body(place.R, w))
    raise MotionError(f"velocities at t = {place.t:.6g} s miss what joints allow by {miss:.1e} of the largest")


def _settled(size: float, before: float) -> bool:
    return size <= CLOSED or (size <= ROUNDING and size > STUCK * before)


def _moved_by(system: System, place: StatePoint, factors: Factors, rate: Array) -> Array:
    """Smallest increment or velocity (N,) with ``B d = rate``; states and algebraic variables do not move."""
    d = solve_with_constraints(system, factors, None, rate)[0]
    system.own_of(d)[system.order < 2] = 0.0
    return system.from_body(place.R, d)


def _smallest(system: System, evaluation: Evaluation, rate: Array) -> Array:
    """Smallest body velocities (N,) with ``B V = rate``, in the metric of the mass."""
    factors = system.solver.factor(leading_matrix(system, evaluation))
    return solve_with_constraints(system, factors, None, rate)[0]
