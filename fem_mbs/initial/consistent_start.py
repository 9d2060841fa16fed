"""Consistent start: velocities, accelerations and multipliers that satisfy the equations of motion and all constraints.

The user gives the velocities; :func:`fem_mbs.project_velocities` makes them agree with the joints on demand. Nodes that
move in a state from before the model held them are stopped at once, as by a blow: the impulses act on the held
components and through the joints, so that ``M (v+ - v-)`` vanishes elsewhere (docs/theory.md, "Consistent start").

At an instant the equations of motion determine accelerations, rates of states and multipliers,
``[[M, B^T], [B, 0]] (A, lambda) = -(r, B V' + Z(V, V) + 2 Phi_tq V + Phi_tt)`` (Arnold, Cardona, Bruels 2015, eq. 19).
Internal variables join with the highest time derivative that their equations have, algebraic ones with themselves.

Where something jumps, as a load is switched or a controller takes its next sample, a step ends just before the instant
and the next one starts like this just after it (docs/theory.md, "Jumps"). Positions and velocities do not jump.

Velocities and positions are projected on what the joints allow in the metric of the mass: ``[[M, B^T], [B, 0]] (w, mu)
= (0, B v + Phi_t)``: the smallest ``w`` without which the velocities obey the hidden constraints (Arnold, Cardona,
Bruels, *Order reduction in time integration caused by velocity projection*, 2015, eq. 7). With ``Phi`` on the
right-hand side it is a correction of Newton's method for the positions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.errors import LOG, ModelError, MotionError
from fem_mbs.initial import state_point
from fem_mbs.initial.redundant import refuse_accelerations
from fem_mbs.initial.singular import explain_singular, jammed
from fem_mbs.initial.state_point import StatePoint
from fem_mbs.linear.solvers import Factors
from fem_mbs.system import constraints
from fem_mbs.system.matrices import (
    gradient_product,
    leading_matrix,
    mass_product,
    solve_with_constraints,
    velocity_residual,
)
from fem_mbs.system.system import GAP, Evaluation, System, least_norm

CORRECTIONS = 10
CLOSED = 1e-13
"""Largest gap that is left, lengths against the extent of the model; of velocities, against the largest."""
ROUNDING = 1e-10
"""The same of gaps that do not fall any more."""
STUCK = 0.5


def constraint_correction(system: System, state: State, w: Array, missed: bool = False) -> Array:
    """Smallest velocity ``M^-1 B^T (B M^-1 B^T)^-1 B w`` (N,), in the metric of the mass, with the same ``B w``.

    The projection in Arnold, Cardona, Bruels, *A Lie algebra approach* (2015), eq. 142. Where a
    method closes joints on position level alone, less what velocities of the state have ``missed``, ``B v + Phi_t``.
    """
    evaluation = state_point.without_accelerations(system, state_point.place_of(state))
    rate = gradient_product(system, evaluation.gradients, system.to_body(state.R, w))
    if missed:
        rate -= velocity_residual(system, evaluation)
    return system.from_body(state.R, _smallest(system, evaluation, rate))


def projected(system: System, place: StatePoint) -> StatePoint:
    """A place close by, in the metric of the mass, where joints are closed, and the closest velocities that they allow.

    Eqs. 6 and 7 of the paper on velocity projection (2015). The matrix is that of the first place, which is near.
    """
    evaluation, factors, before = state_point.without_accelerations(system, place), None, np.inf
    for _ in range(CORRECTIONS):
        gap = state_point.largest_gap(system, evaluation.constraint)
        if _settled(gap, before):
            return _with_projected_velocities(system, place, evaluation, factors)
        factors = factors or system.solver.factor(leading_matrix(system, evaluation))
        d = _moved_by(system, place, factors, -evaluation.constraint)
        x, R = system.kinematics.retract(place.x, place.R, system.nodes_of(d))
        place, before = place._replace(x=x, R=R, u=place.u + system.own_of(d)), gap
        evaluation = state_point.without_accelerations(system, place)
    raise MotionError(f"joints cannot be closed at t = {place.t:.6g} s: gaps of {gap:.1e} of the extent are left")


def _with_projected_velocities(
    system: System, place: StatePoint, evaluation: Evaluation, factors: Factors | None
) -> StatePoint:
    residual, before = velocity_residual(system, evaluation), np.inf
    speed = state_point.largest_speed(system, evaluation.motion) or 1.0
    for _ in range(CORRECTIONS):
        miss = state_point.largest_gap(system, residual) / speed
        if _settled(miss, before):
            return place
        factors = factors or system.solver.factor(leading_matrix(system, evaluation))
        w = _moved_by(system, place, factors, -residual)
        place, before = place._replace(v=place.v + system.nodes_of(w), udot=place.udot + system.own_of(w)), miss
        residual = residual + gradient_product(system, evaluation.gradients, system.to_body(place.R, w))
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


ROUNDED_RATE = 1e-12
"""Velocity of what the model holds, against the largest, that is none."""
BLOW = 0.05
"""Change of velocities against the largest, above what any run violates joints by."""
SPEED = 1e-7
"""Largest rate of a gap against the largest speed: velocities that are typed with eight digits pass."""
OF_STATICS = (
    ". An equilibrium has its load factor for time: drives may begin then, or give mbs.statics load_end=0, ramp=False"
)
REST = 1e-10
"""Rate against the pace of the model that counts as rest: what differences make of a drive that starts smoothly."""
DIFFERENCE = 1e-5
"""Rate against the root of its acceleration that differences may make of a drive that accelerates."""
ITERATIONS = 20
ACCURATE = 1e-12
"""Largest correction, against what is corrected and the pace, of unknowns that stand in the equations nonlinearly."""
SETTLED = 1e-7
"""The same of corrections that do not fall any more."""


def consistent_start(system: System, given: State | None = None, open_by: float = state_point.BETWEEN) -> State:
    """State with consistent accelerations and multipliers (Arnold, Cardona, Bruels 2015, eq. 19); fails as `mbs.start`.

    It has the time, configuration and velocities that are ``given``, by default t = 0 and what the model says. The
    velocities of a run obey the joints to its own accuracy, and so do its places between steps: these are projected.
    """
    state_point.check_system(system, "start")
    place = state_point.as_built(system) if given is None else state_point.place_of(given)
    evaluation = state_point.closed(system, place, *(() if given is None else (open_by, state_point.JOIN)))
    if state_point.largest_gap(system, evaluation.constraint) > GAP:
        place = projected(system, place)._replace(v=place.v, udot=place.udot)
        evaluation = state_point.closed(system, place)
    matrix = explain_singular(system, evaluation, "at the start")
    if given is None:
        state_point.refuse_deep(system, evaluation.motion)
    else:
        place = stopped(system, place)
        moving = state_point.without_accelerations(system, place)
        # the smallest velocity, in the metric of the mass, without which joints would hold
        defect = system.from_body(place.R, _smallest(system, moving, velocity_residual(system, moving)))
        before, change = evaluation, float(np.abs(system.weight * defect).max())
        place = place._replace(v=place.v - system.nodes_of(defect), udot=place.udot - system.own_of(defect))
        evaluation = state_point.closed(system, place)
        _say_blow(system, before, change, evaluation)
    if system.m:
        _check_velocities(system, evaluation)
    refuse_accelerations(system, evaluation, "at the start")
    vdot, multipliers, u, udot, uddot = accelerations(system, place, (evaluation, matrix))
    state = State(place.t, place.x, place.R, place.v, vdot, multipliers, u, udot, uddot)
    return replace(state, udot=system.with_history(state).udot) if system.has_history else state


def held_velocity(system: System, R: Array, v: Array) -> Array:
    """Body velocities ``(n, 6)`` of the components that the model holds; zero where they rest or are free."""
    V = np.where(system.free, 0.0, system.kinematics.to_body(R, v))
    return np.where(np.abs(V) > ROUNDED_RATE * np.abs(v).max(initial=0.0), V, 0.0)


def stopped(system: System, place: StatePoint) -> StatePoint:
    """A place with the velocities that are left when the model takes hold of its nodes."""
    V = held_velocity(system, place.R, place.v)
    if not V.any():
        return place
    for row in np.flatnonzero(V.any(axis=1)):
        LOG.warning("%s moves in the initial state, and the model holds it: it is stopped", system.nodes[row])
    evaluation = state_point.without_accelerations(system, place)
    stop = np.append(-V, np.zeros(system.k))
    factors = system.solver.factor(leading_matrix(system, evaluation))
    blow, parted = mass_product(system, evaluation, stop), gradient_product(system, evaluation.gradients, stop)
    w, _ = solve_with_constraints(system, factors, -blow, -parted)
    change = system.kinematics.from_body(place.R, system.nodes_of(w + stop))
    return place._replace(v=place.v + change, udot=place.udot + np.where(system.order == 2, system.own_of(w), 0.0))


def _say_blow(system: System, before: Evaluation, change: float, after: Evaluation) -> None:
    """Say that joints change velocities at once, by far more than rounding, and than a run leaves their violation."""
    fastest = max(state_point.largest_speed(system, state.motion) for state in (before, after))
    if system.blown or change <= max(REST * state_point.pace(system, after), BLOW * fastest):
        return
    if worst := state_point.worst_joint(system, velocity_residual(system, before), 0.0):
        system.blown = True
        LOG.warning(
            "t = %g s: %s changes the velocities of the initial state at once, as by a blow (%s); where that is not "
            "meant, give it a drive that begins at this time with the velocity that the state has%s",
            before.motion.t,
            *worst,
            "" if before.motion.V.any() else OF_STATICS,
        )


def _check_velocities(system: System, evaluation: Evaluation) -> None:
    motion = evaluation.motion
    still, none = np.zeros_like(motion.V), np.zeros_like(motion.u)
    rest = replace(motion, V=still, A=still, udot=none, uddot=none)
    resting = system.evaluate(rest, evaluation.multipliers, system.prescribe(motion.t))
    acceleration = state_point.largest_gap(system, constraints.acceleration_residual(system, resting))
    pace, speed = state_point.pace(system, evaluation), state_point.largest_speed(system, motion)
    limit = REST * pace + SPEED * speed + DIFFERENCE * acceleration**0.5
    if worst := state_point.worst_joint(system, velocity_residual(system, evaluation), limit):
        raise ModelError(
            f"{worst[0]} is violated by the initial velocities ({worst[1]}); give its nodes velocities that agree with "
            "the joint and with the rate of its drive, or let mbs.project_velocities(model) find the closest ones"
        )


class Accelerations(NamedTuple):
    """What follows at a place."""

    vdot: Array
    multipliers: Array
    u: Array
    udot: Array
    uddot: Array


def accelerations(
    system: System, place: StatePoint, known: tuple[Evaluation, Array] | None = None, beside: Array | float = 0.0
) -> Accelerations:
    """Accelerations and multipliers at a place; what is ``known`` are the equations and the leading matrix stored.

    Forces ``beside`` (N,), in body components, act beside those of the model.
    """
    evaluation, matrix = known or (state_point.without_accelerations(system, place), None)
    hidden = constraints.acceleration_residual(system, evaluation)
    factors = system.solver.factor(leading_matrix(system, evaluation) if matrix is None else matrix)
    highest, multipliers = solve_with_constraints(system, factors, beside - evaluation.force, -hidden)
    nonlinear = (system.order < 2).any() or bool(system.readers)
    rates = state_point.pace(system, evaluation) ** -system.orders.astype(float) if nonlinear else 1.0
    size, units = np.inf, system.weight * rates
    for k in range(ITERATIONS if nonlinear else 0):
        motion = evaluation.motion
        u, udot, uddot = _sorted(system, place.u, motion.udot, highest)
        motion = replace(motion, A=system.nodes_of(highest), u=u, udot=udot, uddot=uddot)
        evaluation = system.evaluate(motion, multipliers, system.prescribe(motion.t))
        if k:  # what is linear is there
            factors = system.solver.factor(leading_matrix(system, evaluation))
        hidden = constraints.acceleration_residual(system, evaluation) + gradient_product(
            system, evaluation.gradients, np.where(system.orders == 2, highest, 0.0)
        )
        change, more = solve_with_constraints(system, factors, beside - evaluation.force, -hidden)
        highest, multipliers = highest + change, multipliers + more
        rest = units * np.abs(change) / (1.0 + units * np.abs(highest))
        last, size = size, float(rest.max(initial=0.0))
        # large accelerations, of what is light, leave their rounding in the other unknowns
        if size <= ACCURATE or (size <= SETTLED and size > 0.5 * last):
            break
    else:
        if nonlinear:
            raise MotionError(_unsettled(system, place.t, system.own_of(rest), more))
    multipliers = least_norm(system, evaluation._replace(multipliers=multipliers))
    vdot = system.kinematics.vdot(place.R, evaluation.motion.V, system.nodes_of(highest))
    vdot[~system.free] = 0.0
    return Accelerations(vdot, multipliers, *_sorted(system, place.u, place.udot, highest))


def _unsettled(system: System, t: float, rest: Array, change: Array) -> str:
    if not rest.any():
        return f"accelerations and reactions at t = {t:g} s have no solution near rest ({ITERATIONS} iterations). " + (
            jammed(system, change) or "Look at elements that depend on reactions"
        )
    owner, variable = system.internal_variables[int(np.argmax(rest))]
    return (
        f"{owner}: the equation of its internal variable '{variable.name}' has no solution near the one given "
        f"at t = {t:g} s "
        f"({ITERATIONS} iterations); look at its initial value and at the stiffness and damping of the element"
    )


def _sorted(system: System, u: Array, udot: Array, highest: Array) -> tuple[Array, Array, Array]:
    """Internal variables and their rates, with those that accelerations ``highest`` (N,) determine."""
    internal, order = system.own_of(highest), system.order
    return (
        np.where(order == 0, u + internal, u),
        np.where(order == 1, internal, np.where(order == 0, 0.0, udot)),
        np.where(order == 2, internal, 0.0),
    )


SIDE = 4.0
"""How far before and after an instant its two sides are, in roundings of the time."""


def side(t: float) -> float:
    """A time that is nothing beside ``t``, in s."""
    return SIDE * math.ulp(t)


def next_jump(system: System, state: State, end: float) -> float:
    """The next instant at which something jumps, after a state; the end of the run, if it is that but for rounding."""
    instant = system.next_jump(state)
    if not instant > state.t:
        owner = next(own.owners[0] for own in system.batches if own.next_jump(state.t, state.u) == instant)
        raise ModelError(
            f"simulate: after a jump at t = {state.t:g} s {owner} or one of its kind says that the next one is at "
            f"{instant:g} s; next_jump of its batch must return a later instant"
        )
    return end if abs(instant - end) <= side(end) else instant


def jumped(system: System, state: State) -> State:
    """The state after a jump."""
    state = system.jump(state)
    after = accelerations(system, state_point.place_of(state)._replace(t=state.t + side(state.t)))
    return replace(state, **after._asdict())
