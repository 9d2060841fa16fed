"""The derivative of one accepted step of the generalised-alpha method, forwards and backwards.

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
or, backwards, one a goal. With ``D`` held, ``q_n+1 = q_n exp(D)`` moves by ``Ad(exp(-D)) q_n'``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.memory import AlphaMemory
from fem_mbs.alpha.newmark import PLAIN, first_guess, newmark, weights_of_missed
from fem_mbs.alpha.stabilized import StabilizedEquations
from fem_mbs.alpha.step import StepEquations, Unknowns, exact_entries
from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.derivatives.beside import ParameterDerivatives
from fem_mbs.derivatives.linear import Diagonal, Inverse, NodeMaps, Recorded, Refined, Rows, total, transposed
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.derivatives.residual import CellSums, EquationDerivatives, ResidualDerivative
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3, so3
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import System

SMALL = 150
"""Equations, those of ``Z`` included, up to which the matrix is made and factored as a whole."""
OUTSIDE = 1e-6
"""Share of ``Z`` outside of its directions above which a step is not the one that was taken."""
ALONG = 1e-7
"""How far, over the extent or in rad, the equations are looked at along ``w``."""
DIFFERENCE = 1e-5
"""Of inverse tangent operators."""


class StartDerivatives(NamedTuple):
    """Derivatives of what a step begins with, each ``(N, P)`` or ``(m, P)``."""

    q: Any
    v: Any
    lead: Any
    """What Newmark's formulas take for the highest time derivatives."""
    a: Any
    multipliers: Any
    missed: Any
    """What the last two guesses of the increment missed, one after the other ``(2 N, P)``."""
    missed_multipliers: Any


class EndDerivatives(NamedTuple):
    """Derivatives at the end of a step."""

    q: Any
    v: Any
    vdot: Any
    a: Any
    multipliers: Any
    missed: Any
    missed_multipliers: Any


class Weights:
    """Newmark's formulas of one step, which are linear: rates are ``factors D + constants (v, lead, a)``."""

    def __init__(self, method: GeneralizedAlpha, system: System, h: float) -> None:
        one, none = np.ones(system.N), np.zeros(system.N)
        units = (one, none, none), (none, one, none), (none, none, one)
        made = [newmark(method.coefficients, h, unit, system.order) for unit in units]
        self.factors = np.broadcast_to(made[0].factors, (3, system.N))
        """``(3, N)``."""
        self._factors = [Diagonal(own) for own in self.factors]
        self._constants = [
            [Diagonal(own.constants[k]) if own.constants[k].any() else None for own in made] for k in range(3)
        ]
        self._guess = [Diagonal(own.guess) if own.guess.any() else None for own in made]

    def rates(self, start: StartDerivatives | None, increment: Any, count: int = 3) -> list[Any]:
        """The first of velocities, accelerations and algorithmic ones of an increment of Newmark's formulas."""
        return [
            total(self._of(self._constants[k], start), increment is not None and self._factors[k] @ increment)
            for k in range(count)
        ]

    def plain(self, start: StartDerivatives) -> Any:
        """The plain guess of the increment."""
        return self._of(self._guess, start)

    def _of(self, weights: list[Diagonal | None], start: StartDerivatives | None) -> Any:
        if start is None:
            return None
        return total(*(own is not None and own @ part for own, part in zip(weights, start[1:4], strict=True)))


class RunDerivative:
    """What the derivatives of all steps of a run have in common: where entries stand, and what the parameters do."""

    def __init__(self, method: GeneralizedAlpha, system: System, varied: Sequence[Variation]) -> None:
        self.method, self.system = method, system
        self.assembly, self.explicit = CellSums(system), ParameterDerivatives(system, varied)
        self._weights: tuple[float, Weights] | None = None
        N, n, m = system.N, system.n_free, system.m
        self.free = Rows(np.arange(N)[system.free_index], N)
        self.first, self.last = Rows(np.arange(n), n + m), Rows(np.arange(n, n + m), n + m)
        self.halves, self.halves_m = _halves(N), _halves(m)
        self.level, self.not_level = Diagonal(system.velocity_level * 1.0), Diagonal(~system.velocity_level * 1.0)
        self.moves = Diagonal(np.append(np.ones(6 * system.n), system.order == 2))
        """Zero where there are no velocities."""
        self.kept = Diagonal(np.append(np.ones(6 * system.n), system.order >= 0)) if system.has_history else None

    def weights(self, h: float) -> Weights:
        """Newmark's formulas of a step."""
        if self._weights is None or self._weights[0] != h:
            self._weights = h, Weights(self.method, self.system, h)
        return self._weights[1]


class StepPoint:
    """The equations of a step at some unknowns, and their derivatives there."""

    def __init__(
        self, run: RunDerivative, equations: StepEquations, unknown: Unknowns, history: Array, look: bool = False
    ) -> None:
        self.run, self.equations, self.unknown = run, equations, unknown
        self.weights, state = run.weights(equations.h), equations.state
        self.system = system = equations.system
        self.residual = equations.evaluate(unknown)
        place = self.residual.place
        self.R, motion = place.R, self.residual.evaluation.motion
        if len(unknown.Z):
            motion = equations.seen(unknown, place, motion)
        self.motion = motion
        self.of_motion = ResidualDerivative(equations, unknown, self.residual, run.assembly)
        self.explicit = run.explicit.rows(motion, unknown.multipliers, equations.h, history, look)
        """Derivatives of the equations against the parameters."""
        self._transport = NodeMaps(transport(system, state.x, state.R, place.x, place.R), 1.0)
        P = self.of_motion.P.maps
        self.to_body = NodeMaps(system.kinematics.tangent(place.D) @ P, 1.0)
        """``T P``: body increments at the end with a change of the coordinates of the step."""
        self.from_body = NodeMaps(P.mT @ system.kinematics.inverse_tangent(place.D), 1.0)

    def factor(self) -> Inverse:
        """The iteration matrix of index 3."""
        values, _, _ = exact_entries(self.equations, self.unknown, self.residual)
        return Inverse(tangent.factorized(self.system, values))

    def moved(self, start: StartDerivatives | None, D: Any) -> Any:
        """Body increments at the end."""
        return total(start is not None and self._transport @ start.q, D is not None and self.to_body @ D)

    def times(
        self, start: StartDerivatives | None, D: Any, Z: Any = None, multipliers: Any = None, p: Any = None
    ) -> EquationDerivatives:
        """Derivatives of the equations along start, increment, multipliers and parameters, where they are given."""
        v, vdot = self.weights.rates(start, D if Z is None else D - Z if D is not None else -1.0 * Z, 2)
        q = self.moved(start, D)
        if self.run.kept is not None:
            q = self.run.kept @ q
        along = self.of_motion.times(q, v, vdot, Z, multipliers)
        return (
            along
            if p is None
            else EquationDerivatives(*(a + own @ p for a, own in zip(along, self.explicit, strict=True)))
        )


class StepDerivative:
    """A step that was taken: a linear map from what it began with, and from the parameters, to where it led.

    Parameters
    ----------
    state, memory, h
        What the step was taken from, and its length.
    after : State
        Where it led.
    history : (k, P), optional
        Derivatives of internal variables at the start: those of kind "history" go with the parameters.
    """

    def __init__(
        self,
        run: RunDerivative,
        state: State,
        memory: AlphaMemory,
        h: float,
        after: State,
        history: Array | None = None,
    ) -> None:
        self.run, self.system, self.h, self._predictor = run, run.system, h, memory.predictor
        system, self.weights = run.system, run.weights(h)
        equations = run.method.equations(system, state, h, memory)
        own = np.zeros((system.k, len(run.explicit.varied))) if history is None else history
        unknown = taken(equations, state, after)
        self.point = StepPoint(run, equations, unknown, own, history is not None)
        self._directions: Directions | None = None
        if unknown.Z.any():
            guess = first_guess(equations.formulas.guess, state.multipliers, h, memory.predictor)

            def at(D: Array, multipliers: Array) -> StepPoint:
                return StepPoint(run, equations, equations.predict(D, multipliers), own)

            self._directions = Directions(at, guess.D, guess.multipliers, unknown.Z)
        elif len(unknown.Z):  # as of the matrix at the solution: Z stays zero
            self._directions = Directions(lambda D, own: self.point, unknown.D, unknown.multipliers, unknown.Z)
        n, m = system.n_free, system.m
        self._size = n + (1 if self._directions is None else 2) * m
        self._moves, self._closes, self._hides = (
            Rows(np.arange(first, last), self._size)
            for first, last in ((0, n), (n, n + m), (self._size - m, self._size))
        )
        self._per_rate = Diagonal(~system.velocity_level / (h * equations.gamma))
        matrix = Recorded(lambda y: self._values(self.point.times(None, *self._unknowns(y)), y))
        self._inverse: Inverse | Refined
        if self._size <= SMALL:
            self._inverse = Inverse.of(matrix @ np.eye(self._size))
        else:
            self._factors, moves = self.point.factor(), np.ones(self._size, np.bool_)
            moves[n : n + m] = False
            self._inverse = Refined(matrix, Recorded(self._nearly), moves, self._unsolved)

    def times(self, start: StartDerivatives, p: Any) -> EndDerivatives:
        """Derivatives at the end; arrays, or columns that record."""
        guess, guess_multipliers = self._expected(start)
        plain = self.weights.plain(start)
        Z = None
        if self._directions is not None and self._directions.turns:
            D, multipliers = total(plain, guess), total(start.multipliers, guess_multipliers)
            Z = self._directions.turned(start, D, multipliers, p)
        rows = self.point.times(start, None, Z, None, p)
        D, more, multipliers = self._unknowns(-1.0 * (self._inverse @ self._values(rows)))
        Z = total(Z, more)
        v, vdot, a = self.weights.rates(start, D if Z is None else D - Z)
        missed = self._both(D - plain, start.missed, self.run.halves)
        missed_multipliers = self._both(multipliers - start.multipliers, start.missed_multipliers, self.run.halves_m)
        return EndDerivatives(self.point.moved(start, D), v, vdot, a, multipliers, missed, missed_multipliers)

    def transposed(self, end: Sequence[Array]) -> tuple[StartDerivatives, Array]:
        """Derivatives of goals at the start, and against the parameters, from those at the end."""
        *start, p = transposed(lambda *given: self.times(StartDerivatives(*given[:-1]), given[-1]), 8)(end)
        N, m, count = self.system.N, self.system.m, end[0].shape[1]
        sizes = (N, N, N, N, m, 2 * N, 2 * m)
        none = (np.zeros((size, count)) for size in sizes)
        return StartDerivatives(*(zero if own is None else own for own, zero in zip(start, none, strict=True))), p

    def _expected(self, start: StartDerivatives) -> tuple[Any, Any]:
        """What the first guess has beyond the plain one."""
        predictor = self._predictor
        if predictor is None or predictor.best == PLAIN:
            return None, None
        weights = weights_of_missed(self.h, predictor.h, predictor.h_before)
        parts = (start.missed, self.run.halves), (start.missed_multipliers, self.run.halves_m)
        D, multipliers = (
            total(*(share * (half.T @ missed) for share, half in zip(own[predictor.best - 1], halves, strict=True)))
            for own, (missed, halves) in zip(weights, parts, strict=True)
        )
        return D, multipliers

    def _both(self, missed: Any, before: Any, halves: tuple[Rows, Rows]) -> Any:
        """What this guess has missed and that before, or twice the first."""
        first, second = halves
        return first @ missed + second @ (missed if self._predictor is None else first.T @ before)

    # the unknowns: increments of the body, ``h^2`` times multipliers, and ``zeta``

    def _unknowns(self, y: Any) -> tuple[Any, Any, Any]:
        """``D``, ``Z`` and multipliers."""
        D, Z = self.point.from_body @ (self.run.free @ (self._moves.T @ y)), None
        if self._directions is not None:
            Z = self._directions.along(self.run.not_level @ (self._hides.T @ y))
        return D, Z, self.h**-2 * (self._closes.T @ y)

    def _values(self, rows: EquationDerivatives, y: Any = None) -> Any:
        """The equations; those of ``zeta`` that are none leave it at zero."""
        values = self._moves @ (self.h**2 * (self.run.free.T @ rows.force)) + self._closes @ rows.closing
        if self._directions is None:
            return values
        values = values + self._hides @ (self._per_rate @ rows.hidden)
        return values if y is None else values + self._hides @ (self.run.level @ (self._hides.T @ y))

    def _nearly(self, r: Any) -> Any:
        """The unknowns of what is left, by the matrix of index 3 as in a step (``alpha/stabilized.py``)."""
        size = self.system.size
        first = Rows(np.arange(size), self._size)
        y = first @ (self._factors @ (first.T @ r))
        if self._directions is None:
            return y
        D = self.point.from_body @ (self.run.free @ (self._moves.T @ y))
        hidden = self._per_rate @ self.point.times(None, D).hidden
        return y + self._hides @ (hidden - self._hides.T @ r)

    def _unsolved(self, size: float) -> ModelError:
        return ModelError(
            f"sensitivities: the derivatives of the step to t = {self.point.equations.t:g} s do not converge "
            f"({size:.1e}); try a smaller step, or how='copies'"
        )


class Directions:
    """Those of ``Z`` in a step: the matrix at its first guess, and how they turn.

    Parameters
    ----------
    point : function
        Makes the point of the step at an increment and multipliers.
    D, multipliers : arrays
        The first guess.
    Z : (N,)
        Of the solution.
    """

    def __init__(self, point: Callable[[Array, Array], StepPoint], D: Array, multipliers: Array, Z: Array) -> None:
        self.point = point(D, multipliers)
        self.system = system = self.point.system
        self.factors, self.turns = self.point.factor(), bool(Z.any())
        self.run, n = self.point.run, system.n_free
        if not self.turns:
            return
        of_motion = self.point.of_motion
        zeta = np.where(system.velocity_level[:, None], 0.0, of_motion.B @ (of_motion.P @ Z[:, None]))
        w = (self.factors @ (self.run.last @ zeta))[:, 0]
        missing = np.abs((self.along(zeta)[:, 0] - Z) * system.weight).max()
        if missing > OUTSIDE * np.abs(Z * system.weight).max() + 1e-12:
            raise ModelError(
                f"sensitivities: the step to t = {self.point.equations.t:g} s did not begin with its guess; "
                "how='copies' takes differences of whole runs"
            )
        whole = self.run.free @ w[:n, None]
        coordinates = self.point.from_body @ whole
        share = ALONG / max(np.abs(whole[:, 0] * system.weight).max(), 1e-300)
        h = self.point.equations.h
        self._points = [
            (0.5 / by, point(D + by * coordinates[:, 0], multipliers + by * w[n:] / h**2)) for by in (share, -share)
        ]
        self._turn_of_w = NodeMaps(self._turning(whole))
        self._turn_of_coordinates = NodeMaps(self._turning(self.point.of_motion.P @ coordinates))
        self._bend = NodeMaps(self._bending(whole))

    def along(self, zeta: Any) -> Any:
        """``P zeta`` (N, P), in the coordinates of the step."""
        return self._coordinates_of(self.run.last @ zeta)

    def _coordinates_of(self, right: Any) -> Any:
        """What the solution with these right-hand sides moves."""
        moved = self.run.free @ (self.run.first.T @ (self.factors @ right))
        return self.run.moves @ (self.point.of_motion.P.T @ moved)

    def turned(self, start: StartDerivatives, D: Any, multipliers: Any, p: Any) -> Any:
        """``P' zeta`` (N, P), where the guess follows these."""
        point = self.point
        q = point.moved(start, D)
        bent = self._turn_of_coordinates @ q + self._bend @ D
        rows = [(1.0, point.times(None, bent))]
        rows += [(weight, there.times(start, D, None, multipliers, p)) for weight, there in self._points]
        force = total(*(weight * own.force for weight, own in rows))
        closing = total(*(weight * own.closing for weight, own in rows))
        right = self.run.first @ (point.equations.h**2 * (self.run.free.T @ force)) + self.run.last @ closing
        return self._turn_of_w @ q - self._coordinates_of(right)

    def _turning(self, body: Array) -> Array:
        """How ``P^-1`` times body components ``(N, 1)`` that stay follows body increments, ``(n, 6, 6)``."""
        result = np.zeros((self.system.n, 6, 6))
        for group, rows in self.system.kinematics.parts:
            if not group.coupled:
                ahead = self.system.nodes_of(body[:, 0])[rows, :3]
                result[rows, :3, 3:] = -self.point.R[rows] @ so3.skew(ahead)
        return result

    def _bending(self, body: Array) -> Array:
        """How ``P^-1 T^-1(D)`` times body components ``(N, 1)`` follows ``D``, ``(n, 6, 6)``."""
        D, w = self.point.residual.place.D, self.system.nodes_of(body[:, 0])
        result = np.zeros((self.system.n, 6, 6))
        steps = DIFFERENCE * np.concatenate([np.eye(6), -np.eye(6)])[:, None]
        for group, rows in self.system.kinematics.parts:
            ahead = np.matvec(group.inverse_tangent(D[rows] + steps), w[rows])
            result[rows] = np.moveaxis(ahead[:6] - ahead[6:], 0, -1) / (2.0 * DIFFERENCE)
        return self.point.of_motion.P.maps.mT @ result


def _halves(size: int) -> tuple[Rows, Rows]:
    """Places of two arrays one after the other."""
    return Rows(np.arange(size), 2 * size), Rows(np.arange(size, 2 * size), 2 * size)


def taken(equations: StepEquations, state: State, after: State) -> Unknowns:
    """The unknowns of a step, from where it led."""
    system, D = equations.system, taken_increment(equations.system, state, after)
    if not isinstance(equations, StabilizedEquations):
        return Unknowns(D, after.multipliers)
    formulas = equations.formulas
    rate = np.append(after.v, after.udot) - formulas.constants[0]
    moves = np.append(np.ones(6 * system.n, np.bool_), system.order == 2)
    factor = np.broadcast_to(formulas.factors[0], (system.N,))
    Newmarks = np.divide(rate, factor, out=D.copy(), where=moves)  # noqa: N806
    Z = D - Newmarks
    rounding = 1e-14 * (np.abs(D).max(initial=0.0) + 1.0)
    return Unknowns(D, after.multipliers, Z=Z if np.abs(Z).max(initial=0.0) > rounding else np.zeros(system.N))


def taken_increment(system: System, state: State, after: State) -> Array:
    """The increment ``D`` (N,) of a step."""
    nodes = system.kinematics.relative(state.x, state.R, after.x, after.R).ravel()
    return np.append(nodes, np.where(system.order >= 0, after.u - state.u, 0.0))


def transport(system: System, x: Array, R: Array, x_after: Array, R_after: Array) -> Array:
    """``Ad(exp(-D))`` (n, 6, 6): of body increments before a step to those after it, the step held."""
    turn, way = R_after.mT @ R, np.vecmat(x_after - x, R)
    for group, rows in system.kinematics.parts:
        if not group.coupled:
            way[rows] = 0.0
    return se3.adjoint(turn, -np.matvec(turn, way))


def displaced(
    system: System, other: System, arrays: Any, q: Array, rates: Array, multipliers: Array
) -> dict[str, Array]:
    """Arrays of states, or of one, in another model, moved by body increments ``(..., N)``, rates, multipliers."""
    n, (v, vdot) = 6 * system.n, rates[:2]
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
