"""Starting values that keep the multipliers of second order from the first step on, and where its length changes.

Arnold, Cardona, Bruels (2015), Tables 1 and 2. The second derivative of the velocity comes from accelerations after the
start only, because loads and drives need not exist before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fem_mbs.alpha.local_error import defect, highest_derivatives, response
from fem_mbs.alpha.newmark import AlphaMemory, Parameters, newmark
from fem_mbs.alpha.stabilized import StabilizedEquations
from fem_mbs.alpha.step import Linearization, Scheme
from fem_mbs.arrays import Array
from fem_mbs.contracts import RateSensitivities, State
from fem_mbs.initial.consistent_start import accelerations, constraint_correction
from fem_mbs.initial.state_point import StatePoint
from fem_mbs.linear.solvers import Factors, LinearSolver
from fem_mbs.system import matrices as tangent
from fem_mbs.system.matrices import gradient_product, rate_product, solve_with_constraints
from fem_mbs.system.system import Evaluation, System

SHARE = 0.1
GROWTH = 2.0
"""Of kinetic energies, by which no part of a jump is larger than the whole, but for what damping couples."""
LAGS = 100.0
"""Distance of algorithmic accelerations, over that of smooth motions, that a kink has left."""


def perturbed(scheme: Scheme, state: State, h: float) -> tuple[Array, Array]:
    """``a_0 = vdot(t_0 + Delta_alpha h)`` and, for index 3, by what ``O(h^2)`` velocities are perturbed, ``(N,)`` each.

    The perturbation (eqs. 141, 142) cancels the constraint part of the leading local error of the configuration, on the
    group ``h^3 (C_q vddot + bracket(v) vdot/12)``, which the index-3 method would turn into an oscillation of order one
    of the multipliers. The index-2 method has a velocity that obeys its constraint, and needs none.
    """
    system = scheme.system
    slope = _slope(system, state, SHARE * h)
    a = shifted(scheme, state, h, slope)
    if scheme.kind.closes_velocities or not system.m:
        return a, np.zeros(system.N)
    error = h**3 * defect(scheme, state, slope, np.zeros(system.k))
    return a, constraint_correction(system, state, error) / h


def shifted(scheme: Scheme, state: State, h: float, slope: Array) -> Array:
    """``vdot(t_0 + Delta_alpha h)`` (N,) from the derivative ``slope`` (N,) of the highest time derivatives."""
    system, parameters = scheme.system, scheme.parameters
    states = parameters.first_order.alpha_m - parameters.first_order.alpha_f
    shift = np.where(system.orders == 2, parameters.shift, np.where(system.orders == 1, states, 0.0))
    third = np.append(scheme.chart.third(state.v, state.vdot, system.nodes_of(slope)), system.own_of(slope))
    return highest_derivatives(system, state) + shift * h * third


def before_the_start(system: System, state: State) -> Array:
    """The highest time derivatives (N,) before a start: those of what moves, none of what was at rest without loads."""
    moves = np.append(state.v.ravel() != 0.0, (state.udot != 0.0) & (system.order == 2))
    if moves.any():
        moves = np.isin(system.islands, system.islands[moves])
    return np.where(moves, highest_derivatives(system, state), 0.0)


def resolved(
    system: System, state: State, h: float, parameters: Parameters, jump: Array, *, beside: ExtraTerms | None = None
) -> Array:
    """What steps of ``h`` can resolve of a ``jump`` (N,) of the highest time derivatives.

    A load that acts at once on what is stiff or light has large accelerations that last for less than a step; in
    Newmark's formulas they would move it far. With the share ``F = S^-1 L`` that the iteration matrix ``S`` leaves of
    inertia ``L``, this is ``I - (I - F)^3`` of them: in resolved motion the same to the sixth order of ``h`` for
    stiffness, to the third for damping; at most a multiple of the static displacement over ``h^2`` in stiff motion.
    Where forces on what is stiff make ``S`` indefinite, this may grow: then a step of ``h`` resolves nothing of
    accelerations.
    """
    if not jump.any():
        return jump
    states, matrix = system.orders == 1, step_matrix(system, state, h, parameters, beside)
    evaluation, increments = matrix.evaluation, matrix.increments
    if beside is not None:
        close = beside.close(matrix.factors)

    def share(rates: Array) -> Array:
        d = np.divide(rates, increments, out=np.zeros(system.N), where=increments > 0.0)
        right = h * h * rate_product(system, evaluation, np.where(states, rates, 0.0), np.where(states, 0.0, rates))
        gaps = gradient_product(system, evaluation.gradients, d)
        moved = solve_with_constraints(system, matrix.factors, right, gaps)[0]
        if beside is not None:
            moved += close(d - moved)
        return increments * moved

    def size(rates: Array) -> float:
        none = np.zeros(system.N)
        return float(rates @ rate_product(system, evaluation, none, np.where(states, 0.0, rates)))

    def filtered(rates: Array) -> Array:
        once = share(rates)
        twice = share(once)
        return 3.0 * (once - twice) + share(twice)

    jumped = system.to_body(state.R, jump)
    result, moving = filtered(jumped), np.where(states, 0.0, jumped)
    moved = filtered(moving) if states.any() else result
    if size(moved) > GROWTH * size(moving):
        result = result - moved
    return system.from_body(state.R, result)


class ExtraTerms(NamedTuple):
    """What acts beside the elements and joints of a system."""

    solver: LinearSolver
    """Of the matrix, with blocks behind its entries."""
    stiffness: Array
    """These entries."""
    close: Callable[[Factors], Callable[[Array], Array]]
    """With factors of the matrix: what closes further constraints after increments ``(N,)``."""


class StepMatrix(NamedTuple):
    """The iteration matrix at a state, ``h^2`` times its forces and the joints below."""

    evaluation: Evaluation
    factors: Factors
    increments: Array
    """What increments change of velocities, and of rates of states, ``(N,)``."""


def step_matrix(
    system: System, state: State, h: float, parameters: Parameters, beside: ExtraTerms | None = None
) -> StepMatrix:
    """The iteration matrix of a step of ``h`` from a state, with the stiffness of what acts beside the elements."""
    here = highest_derivatives(system, state)
    formulas = newmark(parameters, h, (state.rates, here, here), system.order)
    per_rate = formulas.factors[:2] + np.zeros((2, system.N))
    evaluation = system.evaluate_at(state)
    body = np.stack([evaluation.motion.V, evaluation.motion.A])
    lifted = np.stack([own * np.broadcast_to(np.eye(6), (system.n, 6, 6)) for own in per_rate[:, 0]])
    dV, dA = system.kinematics.body_derivatives(body, lifted)
    own = per_rate[:, 6 * system.n :]
    values = tangent.entries(system, evaluation, RateSensitivities(dV, own[0]), RateSensitivities(dA, own[1]), h * h)
    solver = system.solver
    if beside is not None:
        solver, values = beside.solver, np.concatenate([values, h * h * beside.stiffness])
    factors = solver.factorized(values)
    return StepMatrix(evaluation, factors, np.where(system.orders == 1, per_rate[0], per_rate[1]))


def _slope(system: System, state: State, h: float) -> Array:
    """Derivative of the highest time derivatives at the start, from those at 0, h and 2 h."""
    now, once, twice = highest_derivatives(system, state), ahead(system, state, h), ahead(system, state, 2.0 * h)
    return (4.0 * once - twice - 3.0 * now) / (2.0 * h)


def ahead(system: System, state: State, h: float) -> Array:
    """The highest time derivatives ``(N,)`` where a motion that goes on evenly leads in ``h``."""
    D = h * state.v + 0.5 * h * h * state.vdot
    x, R = system.kinematics.retract(state.x, state.R, D)
    u, udot = state.u + h * state.udot + 0.5 * h * h * state.uddot, state.udot + h * state.uddot
    place = StatePoint(state.t + h, x, R, state.v + h * state.vdot, u, udot)
    vdot, _, _, udot, uddot = accelerations(system, place)
    return np.append(vdot, np.where(system.order == 1, udot, uddot))


def kept_matrix(scheme: Scheme, state: State, memory: AlphaMemory) -> Linearization | None:
    """The last iteration matrix, which led to a state; None if there is none, or one of another solver."""
    if memory.matrix is None:
        return None
    T_inv, *factors = memory.matrix
    if not factors:  # of a step in which contacts touch
        return None
    restored = scheme.kind.solver(scheme.system).restore(factors)
    if restored is None:
        return None
    if scheme.kind is not StabilizedEquations:
        return Linearization(restored, T_inv)
    return Linearization(restored, T_inv, directions=(restored, T_inv, state.R))


def adapted(scheme: Scheme, state: State, h: float, memory: AlphaMemory) -> tuple[Array, Array]:
    """Velocities and algorithmic accelerations ``(N,)`` from which a step of another length ``h`` starts.

    Two parts of them depend on the step that led here to leading order. ``a`` stands for ``vdot(t + Delta_alpha h)``,
    so its distance from ``vdot`` grows with ``h``. And the velocity has a part that grows with ``h^2``: what joints and
    stiffness take away from the defect of each step, the velocity has to make up for, so that the configuration obeys
    them at the end of the step. For joints this is ``B v + Phi_t = O(h^2)`` of the index-3 method. A method that goes
    on without these changes has an error of first order in the multipliers, as after a start with ``a_0 = vdot_0`` and
    ``B v_0 = 0`` (Arnold, Cardona, Bruels 2015, eqs. 141, 142), and sets off the oscillations of stiff parts.

    After a kink of a law ``a`` lags behind as well, by what its recursion makes up for in velocities over several
    steps: of this it is the impulse, ``a`` times ``h``, that has to stay. Of kinks that are not told that is seen where
    ``a`` is far from where accelerations lead it, ``LAGS`` times as far as they do.
    """
    system = scheme.system
    ratio, before = h / memory.h, memory.accelerations
    now = before.now
    v, a = state.rates, now + ratio * (memory.a - now)
    if state.t > before.t_older:
        v = v + (ratio**2 - 1.0) * _growing_velocity(scheme, state, memory)
    if system.watched:
        slope = (now - before.old) / (state.t - before.t_old) if state.t > before.t_old else np.zeros(system.N)
        there, here = (shifted(scheme, state, step, slope) for step in (memory.h, h))
        lags = memory.branches is not None or np.abs(memory.a - there) > LAGS * np.abs(there - now)
        a = np.where(lags, here + (memory.a - there) / ratio, a)
    return v, a


def _growing_velocity(scheme: Scheme, state: State, memory: AlphaMemory) -> Array:
    """The part ``(N,)`` of the velocities that grows with ``h^2``.

    What stiffness has taken away from the last defect, over ``h``, is found with the last iteration matrix. What joints
    have taken away is seen: it is by how much the velocities miss ``B v + Phi_t = 0``. An estimate in place of it would
    feed errors of the multipliers back, and grow where the step changes often.
    """
    system, before = scheme.system, memory.accelerations
    slope = (highest_derivatives(system, state) - before.older) / (state.t - before.t_older)
    left = memory.h**3 * defect(scheme, state, slope, np.zeros(system.k))
    w = np.zeros(system.N)
    if (kept := kept_matrix(scheme, state, memory)) is not None:
        evaluation = system.evaluate_at(state)
        w = (left - response(scheme, evaluation, left, kept.factors)) / memory.h
    if system.m:
        w = w - constraint_correction(system, state, w, missed=not scheme.kind.closes_velocities)
    if system.k:
        system.own_of(w)[system.order < 2] = 0.0
    return w
