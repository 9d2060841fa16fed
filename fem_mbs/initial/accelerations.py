"""What the equations of motion determine at an instant: accelerations, rates of states, multipliers.

``[[M, B^T], [B, 0]] (A, lambda) = -(r, B V' + Z(V, V) + 2 Phi_tq V + Phi_tt)`` (Arnold, Cardona, Bruels 2015, eq. 19).
Own unknowns join with the highest time derivative that their equations have, algebraic ones with themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion
from fem_mbs.errors import MotionError
from fem_mbs.initial.state_point import StatePoint, without_accelerations
from fem_mbs.system import constraints
from fem_mbs.system.matrices import leading_matrix, solve_with_constraints
from fem_mbs.system.sizes import least_norm
from fem_mbs.system.system import Evaluation, System

ITERATIONS = 20
ACCURATE = 1e-12
"""Largest correction, against 1 plus what is corrected, of unknowns that stand in the equations nonlinearly."""
ROUNDING = 1e-7
"""The same of corrections that do not fall any more."""


class Accelerations(NamedTuple):
    """What follows at a place."""

    vdot: Array
    multipliers: Array
    u: Array
    udot: Array
    uddot: Array


def accelerations(system: System, place: StatePoint, matrix: Array | None = None) -> Accelerations:
    """Accelerations and multipliers at a place; ``matrix`` has the stored values of the leading matrix, if known."""
    evaluation = without_accelerations(system, place)
    hidden = constraints.acceleration_residual(system, evaluation)
    factors = system.solver.factor(leading_matrix(system, evaluation) if matrix is None else matrix)
    highest, multipliers = solve_with_constraints(system, factors, -evaluation.force, -hidden)
    nonlinear = (system.order < 2).any() or bool(system.readers)
    size = np.inf
    for k in range(ITERATIONS if nonlinear else 0):
        evaluation = _evaluate(system, evaluation.motion, place.u, highest, multipliers)
        if k:  # what is linear is there
            factors = system.solver.factor(leading_matrix(system, evaluation))
        hidden = constraints.acceleration_residual(system, evaluation) + constraints.product(
            system, evaluation.gradients, np.where(_accelerated(system), highest, 0.0)
        )
        change, more = solve_with_constraints(system, factors, -evaluation.force, -hidden)
        highest, multipliers = highest + change, multipliers + more
        rest = np.abs(change) / (1.0 + np.abs(highest))
        last, size = size, float(rest.max(initial=0.0))
        # large accelerations, of what is light, leave their rounding in the other unknowns
        if size <= ACCURATE or (size <= ROUNDING and size > 0.5 * last):
            break
    else:
        if nonlinear:
            raise MotionError(_unsettled(system, place.t, system.own_of(rest)))
    multipliers = least_norm(system, evaluation._replace(multipliers=multipliers))
    return _sorted(system, place, evaluation.motion, highest, multipliers)


def _unsettled(system: System, t: float, rest: Array) -> str:
    if not len(rest):
        return (
            f"accelerations and reactions at t = {t:g} s have no solution near rest ({ITERATIONS} iterations): look at "
            "elements that depend on reactions, such as friction that locks what it acts on"
        )
    owner, unknown = system.unknowns[int(np.argmax(rest))]
    return (
        f"{owner}: the equation of its unknown '{unknown.name}' has no solution near the one given at t = {t:g} s "
        f"({ITERATIONS} iterations); look at its initial value and at the stiffness and damping of the element"
    )


def _accelerated(system: System) -> Array:
    """True for the components (N,) whose equations are of second order."""
    return np.append(np.ones(6 * system.n, np.bool_), system.order == 2)


def _evaluate(system: System, motion: Motion, u: Array, highest: Array, multipliers: Array) -> Evaluation:
    """The equations with accelerations and all else that they determine."""
    internal, order = system.own_of(highest), system.order
    moved = replace(
        motion,
        A=system.nodes_of(highest),
        u=np.where(order == 0, u + internal, u),
        udot=np.where(order == 1, internal, motion.udot),
        uddot=np.where(order == 2, internal, 0.0),
    )
    return system.evaluate(moved, multipliers, system.prescribe(motion.t))


def _sorted(system: System, place: StatePoint, motion: Motion, highest: Array, multipliers: Array) -> Accelerations:
    vdot = system.kinematics.vdot(place.R, motion.V, system.nodes_of(highest))
    vdot[~system.free] = 0.0
    internal, order = system.own_of(highest), system.order
    u = np.where(order == 0, place.u + internal, place.u)
    udot = np.where(order == 2, place.udot, np.where(order == 1, internal, 0.0))
    return Accelerations(vdot, multipliers, u, udot, np.where(order == 2, internal, 0.0))
