"""The derivative of accepted steps of the generalised-alpha method: matrices, which are transposed to go back.

A step solves ``F(u; s, p) = 0`` for ``u = (D, lambda, Z)``, from values ``s`` at its start: the configuration, and the
velocities, accelerations and algorithmic accelerations of Newmark's formulas. Of the solution,

    F_u u' = -(F_s s' + F_p),

with the matrix at the solution, not the one that Newton's method ended with.

In the default formulation ``Z = T w`` lies in directions that follow from the *first* matrix ``S`` of the step,
``S (w, mu) = (0, zeta)``. They change with what the step begins with, and with the guess, which remembers what those
before have missed. ``w`` and ``mu`` are unknowns of their own, and the rows of forces of

    S (w', mu') + S' (w, mu) = (0, zeta')

stand below those of the step; the rows of gaps tell ``zeta'``, which nothing else needs. As ``S (w, mu)`` is the
derivative of the equations at the guess along ``(w, mu)``, ``S' (w, mu)`` is the difference along it of their
derivatives along everything else: two more points of the step serve all parameters.

Derivatives of the configuration are body increments at the instant they belong to. With ``D`` held, ``q_n+1 = q_n
exp(D)`` moves by ``Ad(exp(-D)) q_n'``. Steps of one length are linearised together, and taken one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import splu

from fem_mbs.alpha.newmark import PLAIN, AlphaMemory, first_guess, weights_of_missed
from fem_mbs.alpha.stabilized import StabilizedEquations
from fem_mbs.alpha.step import StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, State, Step
from fem_mbs.derivatives.matrices import RunDerivative, StepMatrices, StepPoint, Turn
from fem_mbs.derivatives.residual import Instants
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3, so3
from fem_mbs.linear.direct import Solve
from fem_mbs.solution.copies import NEVER
from fem_mbs.system.kinematics import Kinematics
from fem_mbs.system.system import System

PIVOT = 0.1
"""Share of its column down to which a pivot stays where it is, in the order of the matrix."""
OUTSIDE = 1e-6
"""Share of ``Z`` outside of its directions above which a step is not the one that was taken."""
ALONG, BY_REACTIONS = 1e-5, 1e-7
"""How far, over the extent or in rad, the equations are looked at along ``w``: nearer, stiffness rounds off how they
bend. Laws of reactions bend within a change of these, which is stiffness times the step."""
DIFFERENCE = 1e-5
"""Of inverse tangent operators."""


class NoDerivativeError(ModelError):
    """There are no derivatives in the way asked for."""


class Derivatives(NamedTuple):
    """Derivatives of what a step begins with, or of what it leads to, each ``(N, P)`` or ``(m, P)``."""

    q: Array
    v: Array
    highest: Array
    """Accelerations at the end; at the start what Newmark's formulas take for the highest time derivatives."""
    a: Array
    multipliers: Array
    missed: Array
    """What the last guess of the increment missed, and the one before."""
    missed_before: Array
    missed_multipliers: Array
    missed_multipliers_before: Array


class StepDerivative(NamedTuple):
    """One step: the linear map from what it began with to where it led, and its derivatives against the parameters.

    Of ``x``, the :class:`Derivatives` one below the other, ``i`` is what the step knows: the configuration, rates of
    Newmark's formulas where ``D = 0``, and the guess. With it, where unknowns are held, ``j`` moves: the configuration
    at the end, directions of ``Z``, and what stands at the guess. Unknowns ``y`` are ``D``, ``h^2`` times
    multipliers, ``w``, and ``h^2 mu``; with ``j`` they tell ``o``, what the step has led to.
    """

    inputs: Any
    """``i = inputs x``."""
    held: Any
    """``j = held i``."""
    F: Any
    of_parameters: Array
    """``E y + F j + F_p = 0``."""
    solve: Solve
    """With ``E``."""
    solve_transposed: Solve
    outputs: Any
    """``o = outputs y + j``, of which increments and ``Z`` stand first."""
    moved: Any
    """``x = moved o + kept x`` at the end."""
    kept: Any

    def times(self, start: Derivatives) -> Derivatives:
        """Derivatives at the end from those at the start, ``P`` columns."""
        x, first = np.concatenate(start), 2 * len(start.q)
        j = self.held @ (self.inputs @ x)
        o = -(self.outputs @ self.solve(self.F @ j + self.of_parameters))
        o[:first] += j[:first]
        return _apart(self.moved @ o + self.kept @ x, start)

    def transposed(self, end: Derivatives) -> tuple[Derivatives, Array]:
        """Derivatives of goals at the start, and against the parameters, from those at the end."""
        x, first = np.concatenate(end), 2 * len(end.q)
        o = self.moved.T @ x
        y = -self.solve_transposed(self.outputs.T @ o)
        j = self.F.T @ y
        j[:first] += o[:first]
        return _apart(self.inputs.T @ (self.held.T @ j) + self.kept.T @ x, end), self.of_parameters.T @ y


def _apart(x: Array, like: Derivatives) -> Derivatives:
    return Derivatives(*np.split(x, np.cumsum([len(own) for own in like[:-1]])))


class TakenStep(NamedTuple):
    """A step that was accepted, and what it began with."""

    state: State
    memory: AlphaMemory
    h: float
    result: Step


def linearised(run: RunDerivative, steps: Sequence[TakenStep]) -> list[StepDerivative]:
    """Steps of one length as they were taken."""
    system, h = run.system, steps[0].h
    made = [run.method.equations(system, own.state, own.h, own.memory) for own in steps]
    found = [taken(equations, own.state, own.result.state) for equations, own in zip(made, steps, strict=True)]
    points, guesses = _Points(run, made), list(map(_guess, made, steps))
    D, multipliers = (np.array([getattr(own, name) for own in found]) for name in ("D", "multipliers"))
    Z = np.array([own.Z for own in found]) if run.closes_velocities else None
    here, guess, turn = points.at(D, multipliers, Z, end=True), None, None
    if Z is not None:
        guess = here
        if Z.any():
            guess, turn = _turn(points, guesses, Z)
    matrices = StepMatrices(run, points.weights, len(steps), here, guess, turn)
    of_guess = np.array([_expected(own.memory.predictor, h) for own in steps])
    alone = np.array([[float(own.memory.predictor is None)] for own in steps])
    moves = np.array(
        [[float(own.D.any() or not plain.any())] for own, plain in zip(guesses, points.guess, strict=True)]
    )
    solvers = _solvers(matrices.unknowns(), points.times[0])
    inputs, moved, kept = matrices.formulas(of_guess, alone, moves)
    made_of = inputs, matrices.held(), matrices.rows(), matrices.of_parameters()
    parts = zip(*made_of, *zip(*solvers, strict=True), matrices.outputs(), moved, kept, strict=True)
    return [StepDerivative(*own) for own in parts]


def _solvers(E: Any, t: float) -> list[tuple[Solve, Solve]]:
    """Solutions with the matrices of steps from ``t`` on, and with their transposes."""
    try:
        if isinstance(E, np.ndarray):
            return [(own.__matmul__, own.T.__matmul__) for own in np.linalg.inv(E)]
        factors = [splu(own.T, permc_spec="NATURAL", diag_pivot_thresh=PIVOT) for own in E]
    except (np.linalg.LinAlgError, RuntimeError) as error:
        raise NoDerivativeError(
            f"sensitivities: the matrix of a step near t = {t:g} s is singular; try a smaller step, or how='copies'"
        ) from error
    return [(partial(own.solve, trans="T"), own.solve) for own in factors]


def _guess(equations: StepEquations, step: TakenStep) -> Unknowns:
    """What Newton's method began with."""
    state, memory = step.state, step.memory
    if not memory.steps:
        return Unknowns(equations.guess_after_start(state.multipliers), state.multipliers)
    guess = first_guess(equations.formulas.guess, state.multipliers, step.h, memory.predictor)
    return Unknowns(guess.D, guess.multipliers, guess.Z)


def _expected(predictor: Any, h: float) -> list[float]:
    """Weights of what was missed in the last step and before in the guess: of the increment, then of multipliers."""
    if predictor is None or predictor.best == PLAIN:
        return [0.0] * 4
    weights = weights_of_missed(h / predictor.h, h / predictor.h_before)
    return [float(share) for own in weights for share in own[predictor.best - 1]]


class _Points:
    """What some steps of one length begin with; makes points of all of them."""

    def __init__(self, run: RunDerivative, steps: list[StepEquations]) -> None:
        self.run, self.system, self.steps = run, run.system, steps
        self.kinematics: Kinematics = run.system.stacked(len(steps))
        self.weights, self.times = run.weights(steps[0].h), np.array([own.t for own in steps])
        states, N = [own.state for own in steps], run.system.N
        self.x, self.R = (np.concatenate([getattr(own, name) for own in states]) for name in ("x", "R"))
        self.u = np.array([own.u for own in steps])
        self.constants = np.stack([own.formulas.constants for own in steps], axis=1)
        # lengths of steps differ by the rounding of time
        self.factors = np.stack([np.broadcast_to(own.formulas.factors, (3, N)) for own in steps], axis=1)
        self.guess = np.array([own.formulas.guess for own in steps])

    def at(
        self, D: Array, multipliers: Array, Z: Array | None = None, *, end: bool = False, follows: bool = True
    ) -> StepPoint:
        """At unknowns ``(s, N)`` and ``(s, m)``, of the ``end`` or others.

        They follow the parameters, or are a guess as matrices of a step know it, which leave out how ``Z`` turns.
        """
        run, kinematics, nodes, h = self.run, self.kinematics, 6 * self.system.n, self.weights.h
        rates = self.factors * (D if Z is None else D - Z) + self.constants
        increments = D[:, :nodes].reshape(-1, 6)
        x, R = kinematics.retract(self.x, self.R, increments)
        body = kinematics.motion(R, rates[:2, :, :nodes].reshape(2, -1, 6))
        u = (self.u + D[:, nodes:]).ravel()
        udot, uddot = rates[:2, :, nodes:].reshape(2, -1)
        V, A = body
        motion = Motion(NEVER, x, R, V, A, self.system.gravity, u, udot, uddot, multipliers.ravel())
        one, none = np.broadcast_to(np.eye(6), (len(x), 6, 6)), np.zeros((len(x), 6, 6))
        P = kinematics.body_transfer(none[:, :3, :3] + np.eye(3), R)
        turn_V, turn_A = kinematics.body_derivatives(body, np.stack([none, none]))
        cross = kinematics.body_derivatives(body, np.stack([one, none]))[1] - turn_A
        turn_Z = None
        if Z is not None and Z.any():
            beside = kinematics.to_body(R, Z[:, :nodes].reshape(-1, 6) / h)
            if follows:
                turn_Z = kinematics.body_derivatives(np.stack([beside, 0.0 * beside]), np.stack([none, none]))[0]
            udot = udot + Z[:, nodes:].ravel() / h
            motion = replace(motion, V=motion.V + beside, udot=udot, momentum=motion)
        gamma_prime = float(self.weights.factors[0, 0])
        if end and self.system.has_history:
            leans = run.residual.depends_on_history(motion, self.times)
            if leans.any():
                owner, variable = self.system.internal_variables[int(np.argmax(leans))]
                raise NoDerivativeError(
                    f"sensitivities: '{variable.name}' of {owner} keeps its value during a step and is changed "
                    "afterwards, and forces depend on it: no equation of a step tells how; how='copies' takes "
                    "differences of runs"
                )
        instants = Instants(motion, self.times, multipliers, h, gamma_prime, P, turn_V, turn_A, cross, turn_Z)
        explicit = run.explicit.rows(instants, end)[:, : run.residual.rows] if follows else None
        tangent, transport = kinematics.tangent(increments), _transport(kinematics, self.x, self.R, x, R)
        return StepPoint(*run.residual.derivatives(instants), explicit, transport, tangent, tangent @ P)


def _turn(points: _Points, guesses: Sequence[Unknowns], Z: Array) -> tuple[StepPoint, Turn]:
    """The first guess, and how directions there turn that have led to ``Z`` (s, N)."""
    run, system, h, nodes, count = points.run, points.system, points.weights.h, 6 * points.system.n, len(guesses)
    n, size = system.n_free, system.size
    D, multipliers = (np.array([getattr(own, name) for own in guesses]) for name in ("D", "multipliers"))
    guessed = np.array([own.Z if len(own.Z) else 0.0 * own.D for own in guesses])
    guess = points.at(D, multipliers, guessed, follows=False)
    S = StepMatrices(run, points.weights, count, guess, None, None).directions()

    def by_nodes(maps: Array, values: Array) -> Array:
        """With ``maps`` for increments of nodes, while others stay."""
        own = np.matvec(maps, values[:, :nodes].reshape(-1, 6)).reshape(count, nodes)
        return np.concatenate([own, values[:, nodes:]], axis=1)

    back = points.kinematics.inverse_tangent(D[:, :nodes].reshape(-1, 6))
    of_D, of_push = run.place[:n], run.place[n:]
    right, coordinates = np.zeros((2, count, size))
    coordinates[:, of_D] = by_nodes(back, Z)[:, system.free_index]
    gaps = np.array([own @ along for own, along in zip(S, coordinates, strict=True)])[:, of_push]
    right[:, of_push] = np.where(system.velocity_level, 0.0, gaps)
    solution = np.array([solve(own) for (solve, _), own in zip(_solvers(S, points.times[0]), right, strict=True)])
    w = np.zeros_like(Z)
    w[:, system.free_index] = solution[:, of_D]
    along = by_nodes(guess.tangent, w)
    along[:, nodes:] *= system.order == 2
    limits = OUTSIDE * np.abs(Z * system.weight).max(axis=1) + 1e-12
    wrong = np.flatnonzero((np.abs(along - Z) * system.weight).max(axis=1) > limits)
    if len(wrong):
        raise NoDerivativeError(
            f"sensitivities: the step to t = {points.times[wrong[0]]:g} s did not begin with its guess, as where "
            "a body makes half a turn in a step, or more; take smaller steps, or how='copies'"
        )
    sizes = np.abs(w * system.weight).max(axis=1, keepdims=True)
    far = BY_REACTIONS if system.readers else ALONG
    share = np.divide(far, sizes, out=np.ones_like(sizes), where=sizes > 0.0)
    pushed = solution[:, of_push] / h**2
    sides = [(D + by * w, multipliers + by * pushed, guessed) for by in (share, -share)]
    beyond = _Points(run, 2 * points.steps).at(*map(np.concatenate, zip(*sides, strict=True)))
    bend = _bending(points.kinematics, *(own[:, :nodes].reshape(-1, 6) for own in (D, w)))
    return guess, Turn(beyond, 0.5 / share, bend)


def _bending(kinematics: Kinematics, D: Array, w: Array) -> Array:
    """How ``T(D) w`` (n, 6) follows ``D``, ``(n, 6, 6)``."""
    result = np.zeros((len(D), 6, 6))
    steps = DIFFERENCE * np.concatenate([np.eye(6), -np.eye(6)])[:, None]
    for group, rows in kinematics.parts:
        ahead = np.matvec(group.tangent(D[rows] + steps), w[rows])
        result[rows] = np.moveaxis(ahead[:6] - ahead[6:], 0, -1) / (2.0 * DIFFERENCE)
    return result


def taken(equations: StepEquations, state: State, after: State) -> Unknowns:
    """The unknowns of a step, from where it led."""
    system, D = equations.system, taken_increment(equations.system, state, after)
    formulas = equations.formulas
    rate = after.rates - formulas.constants[0]
    factor = np.broadcast_to(formulas.factors[0], (system.N,))
    Newmarks = np.divide(rate, factor, out=D.copy(), where=system.orders == 2)  # noqa: N806
    if not isinstance(equations, StabilizedEquations):  # bodies may have turned by more than half a turn
        return Unknowns(Newmarks, after.multipliers)
    Z = D - Newmarks
    moved, own = np.abs(system.weight * [D, Z]).max(axis=1, initial=0.0)
    return Unknowns(D, after.multipliers, Z=Z if own > 1e-14 * (moved + 1.0) else np.zeros(system.N))


def taken_increment(system: System, state: State, after: State) -> Array:
    """The increment ``D`` (N,) of a step."""
    nodes = system.kinematics.relative(state.x, state.R, after.x, after.R).ravel()
    return np.append(nodes, np.where(system.order >= 0, after.u - state.u, 0.0))


def _transport(kinematics: Kinematics, x: Array, R: Array, x_after: Array, R_after: Array) -> Array:
    """``Ad(exp(-D))`` (n, 6, 6): of body increments before a step to those after it, the step held."""
    turn, way = R_after.mT @ R, np.vecmat(x_after - x, R)
    for group, rows in kinematics.parts:
        if not group.coupled:
            way[rows] = 0.0
    return se3.adjoint(turn, -np.matvec(turn, way))


def displaced(system: System, other: System, arrays: Any, along: Sequence[Array]) -> dict[str, Array]:
    """Arrays of states, or of one, in another model, moved by body increments ``(..., N)``, rates, multipliers."""
    q, v, vdot, multipliers = along
    n = 6 * system.n
    shape = (*q.shape[:-1], system.n, 6)
    d = q[..., :n].reshape(shape)
    return {  # to first order the same on both groups
        "x": arrays.x + np.matvec(arrays.R, d[..., :3]) + (system.origin - other.origin),
        "R": arrays.R @ so3.exp(d[..., 3:]),
        "v": arrays.v + v[..., :n].reshape(shape),
        "vdot": arrays.vdot + vdot[..., :n].reshape(shape),
        "multipliers": arrays.multipliers + multipliers,
        "u": arrays.u + q[..., n:],
        "udot": arrays.udot + v[..., n:],
        "uddot": arrays.uddot + vdot[..., n:],
    }
