"""Consistent start: velocities, accelerations and multipliers that satisfy the equations of motion and all constraints.

The user gives the velocities; :func:`fem_mbs.project_velocities` makes them agree with the joints on demand.

Nodes that a model holds, in states from before it held them.

What moved is stopped at once, as by a blow: the impulses act on the held components and through the joints, so that
``M (v+ - v-)`` vanishes elsewhere (docs/theory.md, "Consistent start").
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.errors import ModelError
from fem_mbs.initial.accelerations import accelerations
from fem_mbs.initial.projection import velocity_defect
from fem_mbs.initial.redundant import refuse_accelerations
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
    worst_joint,
)
from fem_mbs.system import constraints
from fem_mbs.system.matrices import leading_matrix, mass_product, solve_with_constraints
from fem_mbs.system.system import Evaluation, System

LOG = logging.getLogger("fem_mbs")
ROUNDING = 1e-12


def held_velocity(system: System, R: Array, v: Array) -> Array:
    """Body velocities ``(n, 6)`` of the components that the model holds; zero where they rest or are free."""
    V = np.where(system.free, 0.0, system.kinematics.to_body(R, v))
    return np.where(np.abs(V) > ROUNDING * np.abs(v).max(initial=0.0), V, 0.0)


def stopped(system: System, place: StatePoint) -> StatePoint:
    """A place with the velocities that are left when the model takes hold of its nodes."""
    V = held_velocity(system, place.R, place.v)
    if not V.any():
        return place
    for row in np.flatnonzero(V.any(axis=1)):
        LOG.warning("%s moves in the initial state, and the model holds it: it is stopped", system.nodes[row])
    evaluation = without_accelerations(system, place)
    stop = np.append(-V, np.zeros(system.k))
    factors = system.solver.factor(leading_matrix(system, evaluation))
    blow, parted = mass_product(system, evaluation, stop), constraints.product(system, evaluation.gradients, stop)
    w, _ = solve_with_constraints(system, factors, -blow, -parted)
    change = system.kinematics.from_body(place.R, system.nodes_of(w + stop))
    return place._replace(v=place.v + change, udot=place.udot + np.where(system.order == 2, system.own_of(w), 0.0))


BLOW = 0.05
"""Change of velocities against the largest, above what any run violates joints by."""
SPEED = 1e-7
"""Largest rate of a gap against the largest speed: velocities that are typed with eight digits pass."""
REST = 1e-10
"""Rate in 1/s that counts as rest: what differences make of a drive that starts smoothly."""
DIFFERENCE_TIME = 1e-5
"""Time in s by which differences may misjudge the rate of a drive that accelerates."""


def consistent_start(system: System, given: State | None = None) -> State:
    """State with consistent accelerations and multipliers (Arnold, Cardona, Bruels 2015, eq. 19).

    Parameters
    ----------
    given : State, optional
        Time, configuration and velocities to start from; by default t = 0 and what the model says. The velocities of a
        run obey the joints to its own accuracy, so these are projected.

    Raises
    ------
    ModelError
        If nothing can move, a joint is open, the initial velocities violate it, or an element breaks its contract.
    SingularSystemError
        If accelerations or multipliers are not unique; names the nodes or joints.
    """
    check_system(system, "start")
    place = as_built(system) if given is None else place_of(given)
    evaluation = closed(system, place)
    explain_singular(system, evaluation, "at the start")
    matrix = leading_matrix(system, evaluation)
    if given is not None:
        place = stopped(system, place)
        defect = velocity_defect(system, place)
        before, change = evaluation, float(np.abs(system.weight * defect).max())
        place = place._replace(v=place.v - system.nodes_of(defect), udot=place.udot - system.own_of(defect))
        evaluation = closed(system, place)
        _say_blow(system, before, change, evaluation)
    _check_velocities(system, evaluation)
    refuse_accelerations(system, evaluation, "at the start")
    vdot, multipliers, u, udot, uddot = accelerations(system, place, matrix)
    return State(place.t, place.x, place.R, place.v, vdot, multipliers, u, udot, uddot)


def _say_blow(system: System, before: Evaluation, change: float, after: Evaluation) -> None:
    """Say that joints change velocities at once, by far more than a run leaves their violation."""
    if change <= BLOW * max(largest_speed(system, before.motion), largest_speed(system, after.motion)):
        return
    if worst := worst_joint(system, constraints.velocity_residual(system, before), 0.0):
        LOG.warning(
            "t = %g s: %s changes the velocities of the initial state at once, as by a blow (%s); where that is not "
            "meant, give it a drive that begins at this time with the velocity that the state has",
            before.motion.t,
            *worst,
        )


def _check_velocities(system: System, evaluation: Evaluation) -> None:
    motion = evaluation.motion
    still, none = np.zeros_like(motion.V), np.zeros_like(motion.u)
    rest = replace(motion, V=still, A=still, udot=none, uddot=none)
    resting = system.evaluate(rest, evaluation.multipliers, system.prescribe(motion.t))
    acceleration = largest_gap(system, constraints.acceleration_residual(system, resting))
    limit = REST + SPEED * largest_speed(system, motion) + DIFFERENCE_TIME * acceleration
    if worst := worst_joint(system, constraints.velocity_residual(system, evaluation), limit):
        raise ModelError(
            f"{worst[0]} is violated by the initial velocities ({worst[1]}); give its nodes velocities that agree with "
            "the joint and with the rate of its drive, or let mbs.project_velocities(model) find the closest ones"
        )
