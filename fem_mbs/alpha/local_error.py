"""The local error of a step: what Newmark's formulas leave, what the equations of motion make of it, what follows.

How far Newton's method has to go in a step follows from it, too: well below what the step itself gets wrong
(docs/theory.md, "When Newton's method stops").

Where velocities leave the constraints that positions obey, index 3 is unstable (docs/theory.md, "Index 3 and its
limit").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from fem_mbs.alpha.newmark import (
    DIGITS,
    AccelerationHistory,
    AlphaMemory,
    CarriedErrors,
    Parameters,
    restarted,
    weights_of_third,
)
from fem_mbs.alpha.stabilized import Index2Equations
from fem_mbs.alpha.step import Scheme, StepEquations, StepSolution
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import State, StepErrorEstimate
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import Newton
from fem_mbs.system.matrices import gradient_product, rate_product, solve_with_constraints, velocity_residual
from fem_mbs.system.pattern import TINY
from fem_mbs.system.states import interpolate
from fem_mbs.system.system import Evaluation, System

FORCE_SHARE, CONSTRAINT_SHARE = 1e-5, 1e-3
"""Tolerances against a local error ``e``: of forces, which err by ``e^(2/3)``, and of constraints."""
LEAST_FORCE, LEAST_CONSTRAINT = 1e-12, 1e-15
"""Below these there is rounding."""
GOLDEN = 0.5 * (5.0**0.5 - 1.0)
SUDDEN = 8.0
"""A local error so many times that of the step before tells of a kink, and nothing of the steps around."""
FAR_SHORTER = 0.5
"""Share of the step before below which a step tells how accelerations change by itself: beside a long one it hardly
would."""
NOTHING = 1e-10
"""A local error, or a way in a step, of what rests, over the extent of the model or in rad."""
EARLY, UNSEEN = 0.25, 0.1
"""About where in a step forces over time are looked at, beside its ends and its middle, and how far from a parabola,
over how much they change, they are such that a step does not see."""
BLOCK, LEAST, MOST = 0.3, 8, 128
"""How long blocks of steps are over which errors are carried: in rad of an oscillation that changes velocities as much,
and in steps. Shorter ones cost more than single steps do."""
FASTER = 4.0
"""A local error so many times that of the step before a block ends it."""
IN_TIME = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]], float)
"""What a change of the state makes of errors of what is at another time.

Blocks are too coarse for what goes on for long: errors of a thing that swings would run out of phase with it, or grow
where they do not, and by single steps what is late would gain energy, to second order. But what the motion itself leads
along is known: where nothing depends on time alone, its velocity solves the linearised equations. The share of the
errors that lies along it, which is an error in time, goes with it.
"""
ROUNDS = 4.0 * np.pi
"""Angle of its oscillations, in rad, after which a motion has come round twice, and tells how late it is."""
FIRST = 3
"""Steps after a start that are all looked at: what a start sets off shows from the second one on."""


class StepErrors(NamedTuple):
    """What a step has got wrong."""

    local: float
    """Size of the local error."""
    defects: Array | None
    """Of increment and velocities ``(2, N)``, of all steps of a block that ends here."""
    accelerations: AccelerationHistory
    """Of the new state, and before."""
    branches: Array | None
    """On which side of their kinks laws are at the end, where there are such."""
    crossed: bool
    """Whether that has changed in the step."""


def errors_of_step(
    scheme: Scheme, equations: StepEquations, solution: StepSolution, new: State, memory: AlphaMemory
) -> StepErrors:
    """Errors of the step to a new state; its report gets what is looked at now and then."""
    system, state, h, report = scheme.system, equations.state, equations.h, solution.report
    before, now = memory.accelerations, highest_derivatives(system, new)
    branches = system.branches(solution.value.evaluation) if system.kinked else None
    crossed = False
    if branches is not None and memory.branches is not None:
        crossed = not np.array_equal(branches, memory.branches)  # those of a file are of another type
    recent = restarted(before.now, state.t) if crossed else before  # the change of accelerations is that of this step
    slope, curvature, weight = (now - recent.old) * (1.0 / (new.t - recent.t_old)), system.u0, system.weight
    if h < FAR_SHORTER * memory.h:
        slope = (now - before.now) * (1.0 / h)
    if system.k:
        weight = system.weight_at(state.u, new.u)
        curvature = _curvature(system, now, recent, new.t, h, memory.steps)
    left = h**3 * defect(scheme, new, slope, curvature)
    local = float(np.maximum.reduce(np.abs(left * weight)))
    last = before.error * (h / memory.h) ** 3
    sudden = crossed or SUDDEN * last < local and counts(system, memory, local)
    if sudden:
        left = h**3 * defect(scheme, new, (now - before.now) * (1.0 / h), curvature)
        local = float(np.maximum.reduce(np.abs(left * weight)))
    if system.watched:
        report.branches, report.local_error = branches, left
    if sudden or looked_at(memory.steps):
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = solution.linearization  # where Newton's method had nothing to solve, nothing is taken back
            led = left if matrix is None else response(scheme, solution.value.evaluation, left, matrix.factors)
            lasting = scheme.parameters.both_defects * worst(system, led)
            oscillating = unresolved(scheme, h, state, new, None if memory.steps else (left, led))
            missed = None
            if system.follows_time:
                missed = missed_velocities(scheme.parameters, equations, solution, new, memory.steps)
            report.error_estimate = StepErrorEstimate(lasting, oscillating, sudden, missed)
    defects = None
    if (errors := memory.errors) is not None and (new.t > errors.until or local > errors.expected):
        ratio, earlier = round(memory.h / h, DIGITS), before.old
        if recent.t_old == state.t:
            ratio, earlier = round((state.t - before.t_older) / h, DIGITS), before.older
        third = h * weights_of_third(scheme.parameters, ratio) @ np.array([now, before.now, earlier])
        if crossed or sudden and memory.steps and system.watched:  # else motions that stand still may look like this
            third = left / h
        defects = (1.0 if sudden else (new.t - errors.t) / h) * np.array([left, third])
    history = AccelerationHistory(now, state.t, recent.now, recent.t_old, recent.old, local)
    return StepErrors(local, defects, history, branches, crossed)


def counts(system: System, memory: AlphaMemory, local: float) -> bool:
    """Whether a local error that rises tells of a kink, or of what begins to move: not what rests since the start."""
    return len(system.watched) > 0 or memory.steps > 0 and local > NOTHING


def _curvature(system: System, now: Array, recent: AccelerationHistory, t: float, h: float, steps: int) -> Array:
    """Second derivative ``(k,)`` of the rates of internal variables."""
    latest = system.own_of(now - recent.now) / h
    earlier = system.own_of(recent.now - recent.old) / ((t - recent.t_old - h) or h)
    # before there are three values, that of a fast state which has not begun to settle
    return (latest - earlier) / (0.5 * (t - recent.t_old)) if steps else latest / h


def missed_velocities(
    parameters: Parameters, equations: StepEquations, solution: StepSolution, new: State, k: int
) -> Array | None:
    """Changes of velocities ``(n, 2, 3)`` by forces over time that the ends of step ``k`` do not tell; None for none.

    These are forces that are no parabola over the step. What they do inside it beyond its ends is an impulse.
    """
    system, h = equations.system, equations.h
    within = unseen_forces(system, equations.state, new, k)
    if within is None:
        return None
    matrix = solution.linearization
    if matrix is None:  # forces that are the same at the ends of all steps leave nothing to solve
        matrix = equations.linearize(solution.unknown, solution.value)
    rates = np.zeros(system.m + (np.count_nonzero(~system.velocity_level) if len(solution.unknown.eta) else 0))
    d, _ = solve_with_constraints(system, matrix.factors, h * within, rates)
    parts = d[: 6 * system.n].reshape(-1, 2, 3)
    return np.asarray(parameters.inertia * np.matvec(new.R[:, None], parts))


def looks_within(t: float, h: float, k: int) -> tuple[Sequence[float], float]:
    """Where step ``k``, of ``h`` from ``t``, is looked at: its ends, its middle, and early, at a share of it."""
    share = EARLY * (0.5 + k * GOLDEN % 1.0)
    return (t, t + share * h, t + 0.5 * h, t + h), share


def unlike_parabola(values: Array, share: float) -> BoolArray:
    """Whether values ``(4, ...)`` at these places are those of no parabola."""
    first, early, middle, last = values
    parabola = first + share * (4.0 * middle - 3.0 * first - last + 2.0 * share * (first - 2.0 * middle + last))
    return np.asarray(np.abs(early - parabola) > UNSEEN * np.ptp(values, axis=0))


def unseen_forces(system: System, state: State, new: State, k: int) -> Array | None:
    """Forces ``(N,)`` over step ``k``, between two states, beyond what its ends tell, where they are no parabola.

    They are asked at both ends, in the middle and early, and linear in between; early is elsewhere in each step, as
    forces whose periods fit into steps are the same at the same places of all. What a rope that is wound up does to a
    motion that stands still is not what it does to one that follows: forces that are no parabola on the one are asked
    again along the other.
    """
    times, share = looks_within(state.t, new.t - state.t, k)
    at_end = system.motion(new)
    if not unlike_parabola(system.forces_over_time([replace(at_end, t=t) for t in times]), share).any():
        return None
    if not system.k:  # what contacts carry passes through
        none = system.u0
        state, new = (replace(own, u=none, udot=none, uddot=none) for own in (state, new))
    inner = (interpolate(system, state, new, part) for part in (share, 0.5))
    forces = system.forces_over_time([*map(system.motion, (state, *inner)), at_end])
    unseen = unlike_parabola(forces, share)
    inside = np.array([0.5 * share - 0.5, 0.25, 0.5 - 0.5 * share, -0.25])
    return np.where(unseen, inside @ forces, 0.0) if unseen.any() else None


def tolerances(newton: Newton, error: float) -> tuple[float, float]:
    """Tolerances of forces and constraints of a step whose local error will be about ``error``, 0 if unknown."""
    force, constraint = FORCE_SHARE * error ** (2.0 / 3.0), CONSTRAINT_SHARE * error
    return (
        min(newton.force_tolerance, max(force, LEAST_FORCE)),
        min(newton.constraint_tolerance, max(constraint, LEAST_CONSTRAINT)),
    )


def highest_derivatives(system: System, state: State) -> Array:
    """Highest time derivatives ``(N,)``: accelerations of nodes and coordinates, rates of states."""
    if not system.k:
        return state.vdot.ravel()
    return np.append(state.vdot, np.where(system.order == 1, state.udot, state.uddot))


def defect(scheme: Scheme, state: State, slope: Array, curvature: Array) -> Array:
    """Defect ``C_q vddot + ...`` (N,), over ``h^3``, of the increment in the step of ``h`` that led to a state.

    Arnold, Cardona, Bruels (2015), eq. 69. ``slope`` (N,) is the derivative of the accelerations, over two steps
    where there are as many, because numerical damping makes the highest frequencies alternate from step to step;
    ``curvature`` (k,) is the second one, which states need.
    """
    system, parameters = scheme.system, scheme.parameters
    nodes = scheme.chart.local_error(parameters.C_q, state.v, state.vdot, slope[: 6 * system.n].reshape(-1, 6))
    if not system.k:
        return nodes.ravel()
    own = np.where(system.order == 2, parameters.C_q * system.own_of(slope), 0.0)
    own += np.where(system.order == 1, parameters.first_order.C_z * curvature, 0.0)
    return np.append(nodes, own)


def response(scheme: Scheme, evaluation: Evaluation, defect: Array, factors: Factors) -> Array:
    """Error ``(N,)`` of the configuration that the equations of the step make of a defect.

    The iteration matrix does so with the inertia forces of the defect on the right-hand side: what joints do not allow
    and what stiffness holds back drops out; equations of velocities leave it as it is. States are left out.
    """
    system, parameters = scheme.system, scheme.parameters
    R = evaluation.motion.R
    n = 6 * system.n
    body = system.kinematics.to_body(R, defect[:n].reshape(-1, 6)).reshape(-1)
    if system.k:
        body = np.append(body, np.where(system.order < 2, 0.0, defect[n:]))
    rest, rates = np.zeros(system.N), np.zeros(system.m)
    if system.has_velocity_level or scheme.kind is Index2Equations:
        slips = parameters.rate * gradient_product(system, evaluation.gradients, body)
        rates = np.where(system.velocity_level, slips, 0.0)
        if scheme.kind is Index2Equations:
            rates = np.append(rates, slips[~system.velocity_level])
    force = parameters.inertia * rate_product(system, evaluation, rest, body)
    error, _ = solve_with_constraints(system, factors, force, rates)
    nodes = system.kinematics.from_body(R, error[:n].reshape(-1, 6)).reshape(-1)
    return np.append(nodes, error[n:]) if system.k else nodes


def unresolved(
    scheme: Scheme, h: float, before: State, state: State, defects: tuple[Array, Array] | None = None
) -> Array:
    """Length in m and angle in rad ``(2,)`` by which a step of ``h`` errs in oscillations that are too fast for it.

    They show as velocities change by the integral of the accelerations, to third order by the trapezoidal rule. What
    alternates from step to step, or grows so, does not: the sum of the accelerations at both ends hardly knows of it.
    No more of it is there than velocities change: after a start accelerations may be those of vibrations that never
    come.

    Of a first step, with its ``defects``, it is what is beyond those that last: a velocity ``v`` that sets off an
    oscillation of frequency ``w`` leads to ``sin(w h) v/w``, a step by the trapezoidal rule to ``h v/(1 + z)`` with
    ``z = (w h)^2/4``. Of the first defect (N,), ``z/(1 + z) h v/3``, the equations of the step make as much over ``1 +
    z``, the second one. The geometric mean of the two has the size of ``v/w`` in fast oscillations, and is both in slow
    ones. Loads set off less, at most the step times the change of velocities.
    """
    size, change = scheme.parameters.both_defects, h * (state.v - before.v).reshape(-1, 2, 3)
    if defects is None:
        missing = change - 0.5 * h**2 * (state.vdot + before.vdot).reshape(-1, 2, 3)
        squares = np.vecdot(missing, missing)
    else:
        both = np.stack(defects)[:, : 6 * scheme.system.n].reshape(2, -1, 2, 3)
        squares = size**2 * np.sqrt(np.prod(np.vecdot(both, both), axis=0))
    beyond: Array = np.sqrt(np.maximum.reduce(np.minimum(squares, np.vecdot(change, change))))
    return beyond if defects is None else np.maximum(beyond - size * worst(scheme.system, defects[1]), 0.0)


def looked_at(k: int) -> bool:
    """Whether the lasting error of step ``k`` is looked at: the first, one in a block of 6, later of 12, then of 24.

    Squares times the golden ratio choose the step of a block, so that they do not keep in step with an oscillation.
    """
    size = 6 if k < 60 else 12 if k < 240 else 24
    block, place = divmod(k, size)
    return k < FIRST or place == int(block * block * GOLDEN % 1.0 * size)


def begun(system: System, state: State) -> CarriedErrors:
    """No errors yet, at a state."""
    values, t, now = np.zeros((5, system.N)), state.t, highest_derivatives(system, state)
    flow = np.stack([state.rates, now, np.zeros_like(now)])
    late = None if system.has_history or drives(system) else 0.0
    return CarriedErrors(values, t, flow, 0, t, 0.0, np.zeros((3, 2)), began=t, since=t, late=late)


Over: TypeAlias = "Array | Callable[[Array], Array]"
"""What a step has made of errors, or a function of what one large step in the place of a block of steps makes."""


def carried_on(
    scheme: Scheme, errors: CarriedErrors, new: State, accelerations: AccelerationHistory, over: Over
) -> CarriedErrors:
    """The errors at a new state, to which a single step or a block of steps has led, and how long the next block is.

    ``accelerations`` are those after the step of ``h`` that has led there. How long the next block may be tells its
    local error: in an oscillation it is ``C_q (w h)^2`` of the path ``h v``; what spins evenly, by none, turns with its
    errors. Their share along the motion is put aside, see :data:`IN_TIME`.
    """
    if errors.singles and not callable(over):
        return CarriedErrors(over, new.t, errors.flow, errors.singles - 1, *errors[4:])
    (now, t_old, old, t_older, older, local), weight = accelerations, scheme.system.weight
    system, h, H, since, v = scheme.system, new.t - t_old, new.t - errors.t, errors.since, new.v.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        third = (now - old) * (1.0 / h)
        if t_older < t_old:  # at the end, by a parabola
            third = third + (third - (old - older) * (1.0 / (t_old - t_older))) * (h / (new.t - t_older))
        if system.k:
            v, now = np.append(v, new.udot), np.where(system.orders == 1, third, now)
        fastest, path = worst(system, v), h * float(np.maximum.reduce(np.abs(weight * v)))
        bent = (local / (abs(scheme.parameters.C_q) * path)) ** 0.5 if path > 0.0 else BLOCK
        count = BLOCK / (max(bent, h * float(fastest[1])) + TINY)  # what jumps is told of its errors in each step
        singles = LEAST - 1 if count < LEAST or system.has_history or system.watched else 0
        until = new.t if singles else new.t + (min(count, MOST, 2.0 * H / h + 1.0) // 1.0 - 0.5) * h
        flow, late, turned, delay = np.array([v, now, third]), errors.late or 0.0, errors.turned, errors.delay
        steady = not system.follows_time or not forces_change(system, errors.t, new)
        if callable(over):
            back = 0.0 if steady else late
            over, late = over(errors.values + back * IN_TIME @ errors.flow), late - back
        ends = over + late * IN_TIME @ flow
        largest = np.maximum(errors.largest, [np.zeros(2), worst(system, ends[0]), np.zeros(2)])
        along = weight * flow[:2]
        (moved, sped), (ahead, faster) = np.vecdot(along, along).tolist(), np.vecdot(along, weight * ends[:2]).tolist()
        moves = path > NOTHING  # rounding of what rests is neither late nor turns
        if h**2 * float(np.maximum.reduce(np.abs(along[1]))) <= NOTHING * path:
            faster = 0.0  # nor that of accelerations of what coasts
        late = 0.5 * (ahead / (moved + TINY) + faster / (sped + TINY)) if moves else 0.0
        if abs(late) > new.t - errors.began:  # longer than the run has lasted: vibrations that no step resolves
            late = 0.0
        if moves and np.dot(along[0], weight * third) < 0.0:  # what falls from a summit goes away, and does not turn
            turned += bent / h * (new.t - min(errors.t, errors.until))
        if new.t - errors.began >= 2.0 * (since - errors.began):
            largest, since = np.array([largest[1], np.zeros(2), largest[2]]), new.t
            if turned > ROUNDS and steady and not (system.k or system.damps or drives(system)):
                delay = max(delay, abs(late) / (new.t - errors.began))
        if errors.late is None or not steady or singles and (system.follows_time or system.watched):
            late = 0.0
    aside = None if errors.late is None else late
    memory = largest, errors.began, since, turned, delay, np.maximum(errors.speeds, fastest), aside
    return CarriedErrors(ends - late * IN_TIME @ flow, new.t, flow, singles, until, FASTER * local, *memory)


def forces_change(system: System, t: float, state: State) -> bool:
    """Whether forces over time are others than at a time before."""
    motion = system.motion(state)
    before, after = system.forces_over_time([replace(motion, t=t), motion])
    return bool((before != after).any())


def drives(system: System) -> bool:
    """Whether a joint moves as time alone says."""
    return any(batch.driven for batch in system.constraint_batches)


def worst(system: System, values: Array) -> Array:
    """Length and angle ``(2,)`` of the node of which they are largest in increments ``(N,)``."""
    parts = values[: 6 * system.n].reshape(-1, 2, 3)
    return np.sqrt(np.maximum.reduce(np.vecdot(parts, parts)))


ASTRAY = 0.05
"""Share of the largest velocity by which velocities may miss the constraints of joints."""
NEAR = 0.5
"""Share of the limit of turns from which on velocities are looked at."""


def turn_of_a_step(state: State, h: float) -> float:
    """Largest turn of a node in a step, in rad."""
    return h * float(np.linalg.norm(state.v[:, 3:], axis=1).max())


def most_turn(rho_inf: float) -> float:
    """Turn of a step in rad above which index 3 may be unstable."""
    return 1.0 - rho_inf


def instability(system: System, state: State, h: float, rho_inf: float) -> str:
    """What is to be said of a state of index 3 whose velocities leave their constraints; empty if they do not."""
    turn = turn_of_a_step(state, h)
    if not system.m or turn < NEAR * most_turn(rho_inf):
        return ""
    evaluation = system.evaluate_at(state)
    gaps = np.abs(velocity_residual(system, evaluation) * system.constraint_weight)
    velocity, acceleration = (
        float(np.abs(v * system.weight).max()) for v in (state.rates, highest_derivatives(system, state))
    )
    # a mechanism that turns back is at rest for an instant
    speed = max(velocity, acceleration**0.5)
    if gaps.max() <= ASTRAY * speed:
        return ""
    owner, equation = system.constraint_owner[int(np.argmax(gaps))]
    return (
        f"{owner}: at t = {state.t:.4g} s velocities leave its constraint ({equation}) by "
        f"{100.0 * gaps.max() / speed:.0f} % of the largest: index 3 is unstable here. A node turned by {turn:.2g} rad "
        f"a step, and with rho_inf = {rho_inf:g} it becomes so above about {most_turn(rho_inf):.2g} rad; try the "
        "default formulation, a smaller step or a smaller rho_inf"
    )
