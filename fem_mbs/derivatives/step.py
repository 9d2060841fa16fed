"""The derivative of accepted steps of the generalised-alpha method, forwards and backwards.

A step solves ``F(u; s, p) = 0`` for ``u = (D, lambda, Z)``, from values ``s`` at its start: the configuration, and the
velocities, accelerations and algorithmic accelerations of Newmark's formulas. Of the solution,

    F_u u' = -(F_s s' + F_p),

with the matrix at the solution, not the one that Newton's method ended with. Larger models
solve these equations, and the transposed ones, with the iteration matrix of index 3, in rounds for what is left, as the
step does itself (``alpha/stabilized.py``). All that a step does is linear in derivatives: it is written forwards alone,
and :mod:`~fem_mbs.derivatives.linear` goes back.

In the default formulation ``Z = P zeta`` lies in directions that follow from the *first* matrix ``S`` of the step,
``S w = (0, zeta)``. They change with what the step begins with, and with the guess, which remembers what those before
have missed:

    P' zeta = -S^-1 (S' w).

As ``S w`` is the derivative of the equations at the guess along ``w``, ``S' w`` is the difference along ``w`` of their
derivatives along everything else: two more points of the step serve all parameters (:class:`Directions`).

Derivatives of the configuration are body increments at the instant they belong to; arrays have one column a parameter,
or, backwards, one a goal. With ``D`` held, ``q_n+1 = q_n exp(D)`` moves by ``Ad(exp(-D)) q_n'``. Steps of one length
are linearised together, and taken one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.memory import AlphaMemory
from fem_mbs.alpha.newmark import PLAIN, first_guess, newmark, weights_of_missed
from fem_mbs.alpha.stabilized import StabilizedEquations
from fem_mbs.alpha.step import StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, State, Step
from fem_mbs.derivatives.beside import ParameterDerivatives
from fem_mbs.derivatives.linear import (
    NodeMaps,
    Recorded,
    Refined,
    Rows,
    Solver,
    total,
    transposed,
)
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.derivatives.residual import Instants, Jacobian, Residual
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3, so3
from fem_mbs.solution.copies import NEVER
from fem_mbs.system.kinematics import Kinematics
from fem_mbs.system.system import System

SMALL = 150
"""Equations, those of ``Z`` included, up to which the matrix is made and inverted as a whole."""
OUTSIDE = 1e-6
"""Share of ``Z`` outside of its directions above which a step is not the one that was taken."""
ALONG = 1e-7
"""How far, over the extent or in rad, the equations are looked at along ``w``."""
DIFFERENCE = 1e-5
"""Of inverse tangent operators."""
CELLS, TOGETHER = 10_000, 32
"""Cells of elements and joints that are linearised together, and steps at most."""


class NoDerivativeError(ModelError):
    """There are no derivatives in the way asked for."""


class Derivatives(NamedTuple):
    """Derivatives of what a step begins with, or of what it leads to, each ``(N, P)`` or ``(m, P)``."""

    q: Any
    v: Any
    lead: Any
    """Accelerations at the end; at the start what Newmark's formulas take for the highest time derivatives."""
    a: Any
    multipliers: Any
    missed: Any
    """What the last guess of the increment missed, and the one before."""
    missed_before: Any
    missed_multipliers: Any
    missed_multipliers_before: Any


class Weights:
    """Newmark's formulas of steps of one length, which are linear: rates are ``factors D + constants (v, lead, a)``."""

    def __init__(self, method: GeneralizedAlpha, system: System, h: float) -> None:
        one, none = np.ones(system.N), np.zeros(system.N)
        units = (one, none, none), (none, one, none), (none, none, one)
        made = [newmark(method.coefficients, h, unit, system.order) for unit in units]
        self.h = h
        self.factors = np.broadcast_to(made[0].factors, (3, system.N))
        """``(3, N)``."""
        self._factors = self.factors[:, :, None]
        self._constants = np.array([own.constants for own in made]).swapaxes(0, 1)[..., None]
        self._guess = np.array([own.guess for own in made])[..., None]

    def rates(self, start: Derivatives | None, increment: Any, count: int = 3) -> list[Any]:
        """The first of velocities, accelerations and algorithmic ones of an increment of Newmark's formulas."""
        return [
            total(_of(self._constants[k], start), increment is not None and self._factors[k] * increment)
            for k in range(count)
        ]

    def plain(self, start: Derivatives) -> Any:
        """The plain guess of the increment."""
        return _of(self._guess, start)


def _of(weights: Array, start: Derivatives | None) -> Any:
    if start is None:
        return None
    return total(*(own * part for own, part in zip(weights, start[1:4], strict=True)))


class RunDerivative:
    """What the derivatives of all steps of a run have in common: where entries stand, and what the parameters do."""

    def __init__(self, method: GeneralizedAlpha, system: System, varied: Sequence[Variation]) -> None:
        self.method, self.system = method, system
        self.closes_velocities = method.scheme(system).kind is StabilizedEquations
        self.residual, self.explicit = Residual(system, self.closes_velocities), ParameterDerivatives(system, varied)
        self._weights: tuple[float, Weights] | None = None
        N, n, m, rows = system.N, system.n_free, system.m, self.residual.rows
        cells = sum(len(batch.nodes) for batch in system.all_batches) + self.explicit.cells
        self.together = 1 if system.has_history else min(TOGETHER, 1 + CELLS // cells)
        """So many steps are linearised together."""
        self.small = rows <= SMALL
        self.free = Rows(system.free_index, N)
        self.first, self.last = Rows(slice(0, n), n + m), Rows(slice(n, n + m), n + m)
        self.moves, self.closes, self.hides, self.index3 = (
            Rows(slice(*own), rows) for own in ((0, n), (n, n + m), (rows - m, rows), (0, n + m))
        )
        self.level, self.not_level = (1.0 * own[:, None] for own in (system.velocity_level, ~system.velocity_level))
        self.moving = 1.0 * (system.orders == 2)[:, None]
        """Zero where there are no velocities."""
        self.kept = 1.0 * (system.orders >= 0)[:, None] if system.has_history else None

    def weights(self, h: float) -> Weights:
        """Newmark's formulas of a step."""
        if self._weights is None or self._weights[0] != h:
            self._weights = h, Weights(self.method, self.system, h)
        return self._weights[1]


class StepPoint(NamedTuple):
    """The equations of steps at some unknowns, and their derivatives there; operators of one step or of several."""

    run: RunDerivative
    weights: Weights
    jacobian: Jacobian
    explicit: Array | None
    """Derivatives of the rows against the parameters, ``(R, P)``, where they are asked for."""
    transport: NodeMaps
    to_body: NodeMaps
    """``T P``: body increments at the end with a change of the coordinates of the step."""
    from_body: NodeMaps
    P: NodeMaps

    def moved(self, start: Derivatives | None, D: Any) -> Any:
        """Body increments at the end."""
        return total(start is not None and self.transport @ start.q, D is not None and self.to_body @ D)

    def rows(self, start: Derivatives | None, D: Any, Z: Any = None, multipliers: Any = None, p: Any = None) -> Any:
        """Derivatives of the equations along start, increment, multipliers and parameters, where they are given."""
        v, vdot = self.weights.rates(start, D if Z is None else D - Z if D is not None else -1.0 * Z, 2)
        q = self.moved(start, D)
        if q is not None and self.run.kept is not None:
            q = self.run.kept * q
        return total(self.jacobian.times(q, v, vdot, Z, multipliers), p is not None and self.explicit @ p)


class Directions(NamedTuple):
    """Those of ``Z`` in steps: the matrix at their first guess, and how they turn."""

    point: StepPoint
    """The guess, or the solution where ``Z`` is zero throughout and does not turn."""
    solver: Any
    beyond: tuple[tuple[Any, StepPoint], ...] = ()
    """Points on both sides of the guess along ``w``, with their weights."""
    turn_of_w: NodeMaps | None = None
    turn_of_coordinates: NodeMaps | None = None
    bend: NodeMaps | None = None

    def along(self, zeta: Any) -> Any:
        """``P zeta`` (N, P), in the coordinates of the step."""
        return self._coordinates_of(self.point.run.last @ zeta)

    def _coordinates_of(self, right: Any) -> Any:
        """What the solution with these right-hand sides moves."""
        run = self.point.run
        return run.moving * (self.point.P.T @ (run.free @ (run.first.T @ (self.solver @ right))))

    def turned(self, start: Derivatives, D: Any, multipliers: Any, p: Any) -> Any:
        """``P' zeta`` (N, P), where the guess follows these."""
        q = self.point.moved(start, D)
        bent = self.turn_of_coordinates @ q + self.bend @ D
        rows = self.point.rows(None, bent)
        for weight, there in self.beyond:
            rows = rows + weight * there.rows(start, D, None, multipliers, p)
        return self.turn_of_w @ q - self._coordinates_of(self.point.run.index3.T @ rows)


class StepDerivative(NamedTuple):
    """Steps that were taken: linear maps from what they began with, and from the parameters, to where they led."""

    point: StepPoint
    directions: Directions | None
    inverse: Any
    """Of the matrix of all unknowns; that of index 3 for larger models."""
    expected: Any
    """What the guess has of what the last two have missed, increment and multipliers: four numbers a step."""
    alone: Any
    """One where nothing was missed before, else zero."""
    moves: Any
    """One where the guess begins with that of constant acceleration, zero where it stays at the start."""
    end: Any
    """Instants of the ends of the steps."""

    def of(self, k: int) -> StepDerivative:
        """That of one step."""
        one = _of_step(self, k)
        return one if one.point.run.small else one._replace(inverse=one._refined())

    def times(self, start: Derivatives, p: Any) -> Derivatives:
        """Derivatives at the end; arrays, or columns that record."""
        weights = self.point.weights
        plain, Z = weights.plain(start), None
        if self.directions is not None and self.directions.beyond:
            of_D, of_D_before, of_multipliers, of_multipliers_before = self.expected
            D = self.moves * plain + of_D * start.missed + of_D_before * start.missed_before
            multipliers = start.multipliers + of_multipliers * start.missed_multipliers
            multipliers = multipliers + of_multipliers_before * start.missed_multipliers_before
            Z = self.directions.turned(start, D, multipliers, p)
        rows = self.point.rows(start, None, Z, None, p)
        D, more, multipliers = self._unknowns(-1.0 * (self.inverse @ rows))
        Z = total(Z, more)
        v, vdot, a = weights.rates(start, D if Z is None else D - Z)
        missed, missed_multipliers = D - plain, multipliers - start.multipliers
        before = start.missed + self.alone * (missed - start.missed)
        multipliers_before = start.missed_multipliers + self.alone * (missed_multipliers - start.missed_multipliers)
        q = self.point.moved(start, D)
        return Derivatives(q, v, vdot, a, multipliers, missed, before, missed_multipliers, multipliers_before)

    def transposed(self, end: Derivatives) -> tuple[Derivatives, Array]:
        """Derivatives of goals at the start, and against the parameters, from those at the end."""
        *start, p = transposed(lambda *given: self.times(Derivatives(*given[:-1]), given[-1]), 10)(end)
        return Derivatives(*(0.0 * like if own is None else own for own, like in zip(start, end, strict=True))), p

    # the unknowns: increments of the body, ``h^2`` times multipliers, and ``zeta``

    def _unknowns(self, y: Any) -> tuple[Any, Any, Any]:
        """``D``, ``Z`` and multipliers."""
        run = self.point.run
        D, Z = self.point.from_body @ (run.free @ (run.moves.T @ y)), None
        if self.directions is not None:
            Z = self.directions.along(run.not_level * (run.hides.T @ y))
        return D, Z, self.point.weights.h**-2 * (run.closes.T @ y)

    def matrix(self, y: Any) -> Any:
        """The equations along unknowns; those of ``zeta`` that are none leave it at zero."""
        run, rows = self.point.run, self.point.rows(None, *self._unknowns(y))
        return rows if self.directions is None else rows + run.hides @ (run.level * (run.hides.T @ y))

    def _refined(self) -> Refined:
        """The inverse, of one step, by the matrix of index 3 as in a step (``alpha/stabilized.py``)."""
        run, near = self.point.run, self.inverse

        def nearly(r: Any) -> Any:
            y = run.index3 @ (near @ (run.index3.T @ r))
            if self.directions is None:
                return y
            D = self.point.from_body @ (run.free @ (run.moves.T @ y))
            return y + run.hides @ (run.hides.T @ self.point.rows(None, D) - run.hides.T @ r)

        moves = np.ones(run.residual.rows, np.bool_)
        moves[run.system.n_free : run.system.size] = False

        def unsolved(size: float) -> ModelError:
            return NoDerivativeError(
                f"sensitivities: the derivatives of the step to t = {self.end:g} s do not converge "
                f"({size:.1e}); try a smaller step, or how='copies'"
            )

        return Refined(Recorded(self.matrix), Recorded(nearly), moves, unsolved)


def _of_step(own: Any, k: int) -> Any:
    """Of what belongs to several steps, what belongs to one of them."""
    if own is None or isinstance(own, RunDerivative | Weights):
        return own
    if isinstance(own, tuple):
        parts = [_of_step(part, k) for part in own]
        return tuple(parts) if type(own) is tuple else type(own)(*parts)
    return own[k]


class TakenStep(NamedTuple):
    """A step that was accepted, and what it began with."""

    state: State
    memory: AlphaMemory
    h: float
    result: Step


def linearised(run: RunDerivative, steps: Sequence[TakenStep], history: Array | None = None) -> StepDerivative:
    """Steps of one length as they were taken, together.

    ``history`` (k, P) are derivatives of internal variables at the start: those of kind "history" go with the
    parameters. None of a goal that goes back, where kinks are not looked for either.
    """
    system, h = run.system, steps[0].h
    made = [run.method.equations(system, own.state, own.h, own.memory) for own in steps]
    found = [taken(equations, own.state, own.result.state) for equations, own in zip(made, steps, strict=True)]
    points, guesses = _Points(run, made, history), list(map(_guess, made, steps))
    D, multipliers = (np.array([getattr(own, name) for own in found]) for name in ("D", "multipliers"))
    Z = np.array([own.Z for own in found]) if run.closes_velocities else None
    here, directions = points.at(D, multipliers, Z, look=history is not None), None
    if Z is not None:
        directions = Directions(here.point, here.solver()) if not Z.any() else _directions(points, guesses, Z)
    weights = np.array([_expected(own.memory.predictor, h) for own in steps])
    alone = [float(own.memory.predictor is None) for own in steps]
    moves = [float(own.D.any() or not plain.any()) for own, plain in zip(guesses, points.guess, strict=True)]
    result = StepDerivative(here.point, directions, None, tuple(weights.T), alone, moves, points.times)
    if not run.small:
        return result._replace(inverse=here.solver())
    return result._replace(inverse=np.linalg.inv(result.matrix(np.eye(run.residual.rows))))


def _guess(equations: StepEquations, step: TakenStep) -> Unknowns:
    """What Newton's method began with."""
    state, memory = step.state, step.memory
    if not memory.steps:
        return Unknowns(equations.calmer(state.multipliers), state.multipliers)
    guess = first_guess(equations.formulas.guess, state.multipliers, step.h, memory.predictor)
    return Unknowns(guess.D, guess.multipliers)


def _expected(predictor: Any, h: float) -> list[float]:
    """Weights of what was missed in the last step and before in the guess: of the increment, then of multipliers."""
    if predictor is None or predictor.best == PLAIN:
        return [0.0] * 4
    weights = weights_of_missed(h, predictor.h, predictor.h_before)
    return [float(share) for own in weights for share in own[predictor.best - 1]]


class _Linearised(NamedTuple):
    """A point, and what its matrix is made of."""

    point: StepPoint
    R: Array
    values: Any
    """Makes the entries of the matrix of index 3, one step after the other."""

    def solver(self) -> Any:
        """That of the matrix of index 3 ``(n + m, n + m)``, with ``h^2`` times multipliers."""
        run, point = self.point.run, self.point
        if not run.small:
            return [Solver(run.system.solver.factorized(values)) for values in self.values()]
        unit = np.eye(run.system.size)
        multipliers = point.weights.h**-2 * (run.last.T @ unit)
        rows = point.rows(None, point.from_body @ (run.free @ (run.first.T @ unit)), None, multipliers)
        return np.linalg.inv(run.index3.T @ rows)


class _Points:
    """What some steps of one length begin with; makes points of all of them."""

    def __init__(self, run: RunDerivative, steps: Sequence[StepEquations], history: Array | None) -> None:
        self.run, self.system, self.history = run, run.system, history
        self.kinematics: Kinematics = run.system.stacked(len(steps))
        self.weights, self.times = run.weights(steps[0].h), np.array([own.t for own in steps])
        states, N = [own.state for own in steps], run.system.N
        self.x, self.R = (np.concatenate([getattr(own, name) for own in states]) for name in ("x", "R"))
        self.u = np.array([own.u for own in states])
        self.constants = np.stack([own.formulas.constants for own in steps], axis=1)
        # lengths of steps differ by the rounding of time
        self.factors = np.stack([np.broadcast_to(own.formulas.factors, (3, N)) for own in steps], axis=1)
        self.guess = np.array([own.formulas.guess for own in steps])

    def at(
        self, D: Array, multipliers: Array, Z: Array | None = None, *, look: bool = False, follows: bool = True
    ) -> _Linearised:
        """At unknowns ``(s, N)`` and ``(s, m)``; ``follows`` the parameters or not."""
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
            turn_Z = kinematics.body_derivatives(np.stack([beside, 0.0 * beside]), np.stack([none, none]))[0]
            udot = udot + Z[:, nodes:].ravel() / h
            motion = replace(motion, V=motion.V + beside, udot=udot, momentum=motion)
        gamma = float(self.weights.factors[0, 0])
        instants = Instants(motion, self.times, multipliers, h, gamma, P, turn_V, turn_A, cross, turn_Z)
        jacobian, cells = run.residual.jacobian(instants)
        explicit = run.explicit.rows(instants, self.history, look)[:, : run.residual.rows] if follows else None
        to_body = kinematics.tangent(increments) @ P
        from_body = P.mT @ kinematics.inverse_tangent(increments)
        transport = _transport(kinematics, self.x, self.R, x, R)
        shape = len(D), -1, 6, 6
        maps_of = (NodeMaps(own.reshape(shape), 1.0) for own in (transport, to_body, from_body, P))
        point = StepPoint(run, self.weights, jacobian, explicit, *maps_of)
        return _Linearised(point, R, lambda: run.residual.entries(cells, from_body, self.weights.factors, len(D)))


def _directions(points: _Points, guesses: Sequence[Unknowns], Z: Array) -> Directions:
    """Directions at the first guess, which turn.

    Parameters
    ----------
    Z : (s, N)
        Of the solution.
    """
    run, system, h = points.run, points.system, points.weights.h
    D, multipliers = (np.array([getattr(own, name) for own in guesses]) for name in ("D", "multipliers"))
    guess = points.at(D, multipliers, follows=False)
    point, solver = guess.point, guess.solver()
    moved, body = Z[..., None], point.P @ Z[..., None]
    gaps = [own @ along for own, along in zip(point.jacobian.q, body, strict=True)]
    closing = np.array([run.closes.T @ own for own in gaps])
    zeta = np.where(system.velocity_level[:, None], 0.0, closing)
    result = Directions(point, solver)
    solved, along = [], []
    for k, own in enumerate(zeta):
        one = _of_step(result, k)
        solved.append(one.solver @ (run.last @ own))
        along.append(one.along(own))
    missing = np.abs(np.array(along) - moved)[..., 0]
    limits = OUTSIDE * np.abs(Z * system.weight).max(axis=1) + 1e-12
    wrong = np.flatnonzero((missing * system.weight).max(axis=1) > limits)
    if len(wrong):
        raise NoDerivativeError(
            f"sensitivities: the step to t = {points.times[wrong[0]]:g} s did not begin with its guess; "
            "how='copies' takes differences of whole runs"
        )
    solution = np.array(solved)
    whole = run.free @ solution[:, : system.n_free]
    w, of_multipliers = whole[..., 0], solution[:, system.n_free :, 0] / h**2
    coordinates = point.from_body @ whole
    sizes = np.abs(w * system.weight).max(axis=1, keepdims=True)
    share = np.divide(ALONG, sizes, out=np.ones_like(sizes), where=sizes > 0.0)
    beyond = tuple(
        (0.5 / by[..., None], points.at(D + by * coordinates[..., 0], multipliers + by * of_multipliers).point)
        for by in (share, -share)
    )
    back = point.P @ coordinates[:, : 6 * system.n]
    kinematics, R = points.kinematics, guess.R
    turns = (_turning(kinematics, R, own[:, : 6 * system.n].reshape(-1, 6)) for own in (whole, back))
    bend = _bending(kinematics, D[:, : 6 * system.n].reshape(-1, 6), w[:, : 6 * system.n].reshape(-1, 6))
    maps = (*turns, point.P.maps.mT.reshape(bend.shape) @ bend)
    return Directions(point, solver, beyond, *(NodeMaps(own.reshape(point.P.maps.shape)) for own in maps))


def _turning(kinematics: Kinematics, R: Array, body: Array) -> Array:
    """How ``P^-1`` times body components ``(n, 6)`` that stay follows body increments, ``(n, 6, 6)``."""
    result = np.zeros((len(R), 6, 6))
    for group, rows in kinematics.parts:
        if not group.coupled:
            result[rows, :3, 3:] = -R[rows] @ so3.skew(body[rows, :3])
    return result


def _bending(kinematics: Kinematics, D: Array, w: Array) -> Array:
    """How ``T^-1(D) w`` (n, 6) follows ``D``, ``(n, 6, 6)``."""
    result = np.zeros((len(D), 6, 6))
    steps = DIFFERENCE * np.concatenate([np.eye(6), -np.eye(6)])[:, None]
    for group, rows in kinematics.parts:
        ahead = np.matvec(group.inverse_tangent(D[rows] + steps), w[rows])
        result[rows] = np.moveaxis(ahead[:6] - ahead[6:], 0, -1) / (2.0 * DIFFERENCE)
    return result


def taken(equations: StepEquations, state: State, after: State) -> Unknowns:
    """The unknowns of a step, from where it led."""
    system, D = equations.system, taken_increment(equations.system, state, after)
    if not isinstance(equations, StabilizedEquations):
        return Unknowns(D, after.multipliers)
    formulas = equations.formulas
    rate = np.append(after.v, after.udot) - formulas.constants[0]
    factor = np.broadcast_to(formulas.factors[0], (system.N,))
    Newmarks = np.divide(rate, factor, out=D.copy(), where=system.orders == 2)  # noqa: N806
    Z = D - Newmarks
    rounding = 1e-14 * (np.abs(D).max(initial=0.0) + 1.0)
    return Unknowns(D, after.multipliers, Z=Z if np.abs(Z).max(initial=0.0) > rounding else np.zeros(system.N))


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
