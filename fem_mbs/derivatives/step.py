"""The derivative of one accepted step of the generalised-alpha method, forwards and backwards.

A step solves ``F(u; s, p) = 0`` for ``u = (D, lambda, Z)``, from values ``s`` at its start: the configuration, and the
velocities, accelerations and algorithmic accelerations of Newmark's formulas. Of the solution,

    F_u u' = -(F_s s' + F_p),

with the matrix at the solution, not the one that Newton's method ended with. These equations, and the transposed ones,
are solved with the iteration matrix of index 3, in rounds for what is left, as those of the step itself
(``alpha/stabilized.py``).

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

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.memory import AlphaMemory
from fem_mbs.alpha.newmark import first_guess, newmark
from fem_mbs.alpha.stabilized import StabilizedEquations
from fem_mbs.alpha.step import StepEquations, Unknowns, exact_entries
from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.derivatives.beside import ParameterDerivatives
from fem_mbs.derivatives.residual import CellSums, Inputs, ResidualDerivative, Rows
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3, so3
from fem_mbs.linear.solvers import Factors
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import System

ROUNDS, LEFT, POOR = 40, 1e-11, 1e-7
"""Rounds of a solution at most, what they leave of its size, and what is not accepted where they end earlier."""
SMALL = 150
"""Equations, those of ``Z`` included, up to which the matrix is made and factored as a whole."""
OUTSIDE = 1e-6
"""Share of ``Z`` outside of its directions above which a step is not the one that was taken."""
ALONG = 1e-7
"""How far, over the extent or in rad, the equations are looked at along ``w``."""
DIFFERENCE = 1e-5
"""Of inverse tangent operators."""


class StartDerivatives(NamedTuple):
    """Derivatives of what a step begins with, ``(N, P)`` or ``(m, P)``."""

    q: Array
    v: Array
    lead: Array
    """What Newmark's formulas take for the highest time derivatives."""
    a: Array
    multipliers: Array
    guess: Array
    """What the first guess of the increment has beyond the plain one."""
    guess_multipliers: Array

    def plus(self, other: StartDerivatives) -> StartDerivatives:
        """The sum of both."""
        return StartDerivatives(*(a + b for a, b in zip(self, other, strict=True)))


class EndDerivatives(NamedTuple):
    """Derivatives at the end of a step."""

    q: Array
    rates: Array
    """``(3, N, P)``: velocities, accelerations, and algorithmic ones."""
    multipliers: Array
    D: Array
    """Of the increment of the configuration, in the coordinates of the step."""


class Weights(NamedTuple):
    """Newmark's formulas of one step, which are linear: ``rates = factors D + constants (v, lead, a)``."""

    factors: Array
    """``(3, N)``."""
    constants: Array
    """``(3, 3, N)``: of each rate, by what the step begins with."""
    guess: Array
    """``(3, N)``: of the plain guess."""

    @classmethod
    def of(cls, method: GeneralizedAlpha, system: System, h: float) -> Weights:
        """Of all components."""
        one, none = np.ones(system.N), np.zeros(system.N)
        units = (one, none, none), (none, one, none), (none, none, one)
        made = [newmark(method.coefficients, h, unit, system.order) for unit in units]
        factors = np.broadcast_to(made[0].factors, (3, system.N))
        return cls(factors, np.stack([own.constants for own in made], axis=1), np.stack([own.guess for own in made]))

    def rates(self, start: StartDerivatives, increment: Array) -> Array:
        """Rates ``(3, N, P)`` of an increment ``(N, P)`` of Newmark's formulas."""
        constants: Array = np.einsum("rjn,jnp->rnp", self.constants, np.stack(start[1:4]))
        return constants + self.factors[:, :, None] * increment

    def plain(self, start: StartDerivatives) -> Array:
        """The plain guess ``(N, P)``."""
        result: Array = np.einsum("jn,jnp->np", self.guess, np.stack(start[1:4]))
        return result

    def begun(self, rates: Array, plain: Array) -> tuple[Array, Array, Array]:
        """Backwards: velocities, accelerations and algorithmic ones of rates and of a guess."""
        v, lead, a = np.einsum("rjn,rnp->jnp", self.constants, rates) + self.guess[:, :, None] * plain
        return v, lead, a


class StepPoint:
    """The equations of a step at some unknowns, and their derivatives there."""

    def __init__(
        self, equations: StepEquations, unknown: Unknowns, weights: Weights, state: State, assembly: CellSums
    ) -> None:
        self.equations, self.unknown, self.weights = equations, unknown, weights
        self.system = system = equations.system
        self.residual = equations.evaluate(unknown)
        place = self.residual.place
        self.R = place.R
        self.motion = self.residual.evaluation.motion
        if len(unknown.Z):
            self.motion = equations.seen(unknown, place, self.motion)
        self.of_motion = ResidualDerivative(equations, unknown, self.residual, assembly)
        self._transport = transport(system, state.x, state.R, place.x, place.R)
        P = self.of_motion.maps.P
        self._to_body = system.kinematics.tangent(place.D) @ P
        self._from_body = P.mT @ system.kinematics.inverse_tangent(place.D)

    def factor(self) -> Factors:
        """The iteration matrix of index 3."""
        values, _, _ = exact_entries(self.equations, self.unknown, self.residual)
        return tangent.factorized(self.system, values)

    def rows(self, explicit: ParameterDerivatives, q: Array, look: bool = False) -> Rows:
        """Derivatives of the equations against the parameters; ``look`` for kinks.

        ``q`` (N, P) are the derivatives at the start, of which internal variables of kind "history" count.
        """
        return explicit.rows(self.motion, self.unknown.multipliers, self.equations.h, q[6 * self.system.n :], look)

    def body(self, D: Array) -> Array:
        """Body increments at the end with a change of the coordinates of the step, ``T P D``."""
        return self._nodes(self._to_body, D)

    def coordinates(self, d: Array) -> Array:
        """The other way."""
        return self._nodes(self._from_body, d)

    def moved(self, start: StartDerivatives, D: Array) -> Array:
        """Body increments at the end."""
        return self._nodes(self._transport, start.q) + self.body(D)

    def forward(self, start: StartDerivatives, D: Array, Z: Array, multipliers: Array) -> Rows:
        """Derivatives of the equations along start, increment and multipliers."""
        v, vdot, _ = self.weights.rates(start, D - Z)
        q = self.moved(start, D)
        if self.system.has_history:
            q[6 * self.system.n :][self.system.order < 0] = 0.0
        return self.of_motion.times(Inputs(q, v, vdot, Z, multipliers))

    def hidden(self, D: Array) -> Array:
        """Derivatives of ``h (B v + Phi_t)`` along a change of the coordinates."""
        return self.of_motion.hidden(self.body(D), self.weights.factors[0, :, None] * D)

    def backward(self, rows: Rows, end: EndDerivatives | None = None) -> tuple[StartDerivatives, Array, Array, Array]:
        """Products of rows, and of derivatives at the end, with those of start, ``D``, ``Z`` and multipliers."""
        q, v, vdot, Z, multipliers = self.of_motion.transposed(rows)
        rates = np.stack([v, vdot, np.zeros_like(v)])
        D = np.zeros_like(q)
        if end is not None:
            q, rates, multipliers, D = q + end.q, rates + end.rates, multipliers + end.multipliers, end.D
        of_increment = np.einsum("rn,rnp->np", self.weights.factors, rates)
        D = D + of_increment + self._nodes(self._to_body.mT, q)
        none = np.zeros_like(multipliers)
        start = StartDerivatives(
            self._nodes(self._transport.mT, q), *self.weights.begun(rates, 0.0 * D), none, np.zeros_like(q), none
        )
        return start, D, Z - of_increment, multipliers

    def carried(self, q: Array) -> tuple[Array, Array]:
        """Backwards: start and coordinates of body increments at the end."""
        return self._nodes(self._transport.mT, q), self._nodes(self._to_body.mT, q)

    def coordinates_transposed(self, D: Array) -> Array:
        """Backwards: body increments of coordinates."""
        return self._nodes(self._from_body.mT, D)

    def _nodes(self, maps: Array, values: Array) -> Array:
        n = 6 * self.system.n
        nodes = maps @ values[:n].reshape(self.system.n, 6, -1)
        return np.concatenate([nodes.reshape(n, -1), values[n:]])


class StepDerivative:
    """A step that was taken, and its derivatives.

    Parameters
    ----------
    method : GeneralizedAlpha
    state, memory, h
        What the step was taken from, and its length.
    after : State
        Where it led.
    """

    def __init__(
        self,
        method: GeneralizedAlpha,
        system: System,
        state: State,
        memory: AlphaMemory,
        h: float,
        after: State,
        assembly: CellSums,
    ) -> None:
        self.system, self.h = system, h
        equations = method.equations(system, state, h, memory)
        self.weights = Weights.of(method, system, h)
        unknown = taken(equations, state, after)
        self.directions: Directions | None = None
        if len(unknown.Z) and unknown.Z.any():
            guess = first_guess(equations.formulas.guess, state.multipliers, h, memory.predictor)

            def point(D: Array, multipliers: Array) -> StepPoint:
                return StepPoint(equations, equations.predict(D, multipliers), self.weights, state, assembly)

            self.directions = Directions(point, guess.D, guess.multipliers, unknown.Z)
        self.point = StepPoint(equations, unknown, self.weights, state, assembly)
        if len(unknown.Z) and self.directions is None:  # as of the matrix at the solution: Z stays zero
            self.directions = Directions(lambda D, own: self.point, unknown.D, unknown.multipliers, unknown.Z)
        self._per_rate = (~system.velocity_level / (h * equations.gamma))[:, None]
        self._whole = self._matrix() if system.size + system.m <= SMALL else None
        self.factors = self._whole or self.point.factor()

    def forward(self, start: StartDerivatives, explicit: ParameterDerivatives) -> EndDerivatives:
        """Derivatives at the end from those at the start."""
        system, h, point = self.system, self.h, self.point
        against = point.rows(explicit, start.q, look=True)
        Z = np.zeros_like(start.q)
        if self.directions is not None:
            Z = self.directions.forward(start, explicit, self.weights)
        D, multipliers, last = np.zeros_like(Z), np.zeros_like(against.closing), np.inf
        if self._whole is not None:
            values = self._values(point.forward(start, D, Z, multipliers).plus(against))
            D, more, multipliers = self._unknowns(-lu_solve(self._whole, values))
            return EndDerivatives(point.moved(start, D), self.weights.rates(start, D - Z - more), multipliers, D)
        for _ in range(ROUNDS):
            force, closing, hidden = point.forward(start, D, Z, multipliers).plus(against)
            change = -self.factors.solve(np.concatenate([h * h * force[system.free_index], closing]))
            more = point.coordinates(spread(system, change[: system.n_free]))
            D, multipliers = D + more, multipliers + change[system.n_free :] / h**2
            size = self._size(more, D)
            if self.directions is not None:
                hidden = hidden + point.hidden(more)
                beside = self.directions.along(self._per_rate * hidden)
                Z, size = Z + beside, max(size, self._size(beside, D))
            if size <= LEFT or (size > 0.5 * last and size <= POOR):
                return EndDerivatives(point.moved(start, D), self.weights.rates(start, D - Z), multipliers, D)
            last = size
        raise self._unsolved(size)

    def backward(self, end: EndDerivatives, explicit: ParameterDerivatives) -> tuple[StartDerivatives, Array]:
        """Derivatives of goals at the start, and against parameters (parameters, P), from those at the end."""
        system, h, point = self.system, self.h, self.point
        none = Rows(np.zeros_like(end.q), *np.zeros((2, system.m, end.q.shape[1])))
        rows, last = none, np.inf
        if self._whole is not None:
            rows = self._rows(-lu_solve(self._whole, self._products(*point.backward(none, end)[1:]), trans=1))
        for _ in range(0 if self._whole is not None else ROUNDS):
            start, D, Z, multipliers = point.backward(rows, end)
            hidden = np.zeros_like(multipliers)
            if self.directions is not None:
                # the share of Z in the constraints on velocities is as much as it takes
                hidden = self._per_rate * self.directions.across(Z)
                D = D + point.backward(none._replace(hidden=hidden))[1]
            d = point.coordinates_transposed(D)[system.free_index]
            change = -self.factors.solve_transposed(np.concatenate([d, multipliers / h**2]))
            force = spread(system, h * h * change[: system.n_free])
            more = Rows(force, change[system.n_free :], hidden)
            rows = rows.plus(more)
            size = max(_relative(a, b) for a, b in zip(more, rows, strict=True))
            if size <= LEFT or (size > 0.5 * last and size <= POOR):
                break
            last = size
        else:
            if self._whole is None:
                raise self._unsolved(size)
        start, _, Z, _ = point.backward(rows, end)
        against = point.rows(explicit, np.zeros((system.N, len(explicit.varied))))
        gradient: Array = against.force.T @ rows.force + against.closing.T @ rows.closing
        gradient = gradient + against.hidden.T @ rows.hidden
        if self.directions is not None:
            more_start, more_gradient = self.directions.backward(Z, explicit, self.weights)
            start, gradient = start.plus(more_start), gradient + more_gradient
        return start, gradient

    # the whole matrix of a small model, in body increments, ``h^2`` times multipliers, and ``zeta``

    def _matrix(self) -> Any:
        """Its factors."""
        system, n = self.system, self.system.n_free
        count = n + (1 if self.directions is None else 2) * system.m
        D, Z, multipliers = self._unknowns(np.eye(count))
        none = np.zeros_like(D)
        still = StartDerivatives(none, none, none, none, 0.0 * multipliers, none, 0.0 * multipliers)
        matrix = self._values(self.point.forward(still, D, Z, multipliers))
        held = (
            n + system.m + np.flatnonzero(system.velocity_level)
            if self.directions is not None
            else np.empty(0, np.intp)
        )
        matrix[held, held] = 1.0
        return lu_factor(matrix)

    def _unknowns(self, y: Array) -> tuple[Array, Array, Array]:
        """``D``, ``Z`` and multipliers."""
        n, m = self.system.n_free, self.system.m
        D, level = self.point.coordinates(spread(self.system, y[:n])), self.system.velocity_level[:, None]
        Z = np.zeros_like(D) if self.directions is None else self.directions.along(np.where(level, 0.0, y[n + m :]))
        return D, Z, y[n : n + m] / self.h**2

    def _values(self, rows: Rows) -> Array:
        """The equations."""
        own = [self.h**2 * rows.force[self.system.free_index], rows.closing]
        return np.concatenate(own if self.directions is None else [*own, self._per_rate * rows.hidden])

    def _products(self, D: Array, Z: Array, multipliers: Array) -> Array:
        """:meth:`_unknowns`, backwards."""
        own = [self.point.coordinates_transposed(D)[self.system.free_index], multipliers / self.h**2]
        if self.directions is not None:
            own.append(np.where(self.system.velocity_level[:, None], 0.0, self.directions.across(Z)))
        return np.concatenate(own)

    def _rows(self, y: Array) -> Rows:
        """:meth:`_values`, backwards."""
        n, m = self.system.n_free, self.system.m
        hidden = np.zeros((m, y.shape[1])) if self.directions is None else self._per_rate * y[n + m :]
        return Rows(spread(self.system, self.h**2 * y[:n]), y[n : n + m], hidden)

    def _size(self, change: Array, whole: Array) -> float:
        weight = self.system.weight[:, None]
        return _relative(change * weight, whole * weight)

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
        self.factors = self.point.factor()
        self.w = np.zeros(system.size)
        self.displaced: list[tuple[float, StepPoint]] = []
        moves = np.append(np.ones(6 * system.n, np.bool_), system.order == 2)
        self._moves = moves[:, None]
        if not Z.any():
            return
        none = np.zeros((system.N, 1))
        body = self._group(self.point.of_motion.maps.P, Z[:, None])
        B = self.point.of_motion.times(Inputs(body, none, none, none, np.zeros((system.m, 1)))).closing
        zeta = np.where(system.velocity_level[:, None], 0.0, B)
        self.w = self.factors.solve(np.concatenate([np.zeros((system.n_free, 1)), zeta]))[:, 0]
        missing = np.abs((self.along(zeta)[:, 0] - Z) * system.weight).max()
        if missing > OUTSIDE * np.abs(Z * system.weight).max() + 1e-12:
            raise ModelError(
                f"sensitivities: the step to t = {self.point.equations.t:g} s did not begin with its guess; "
                "how='copies' takes differences of whole runs"
            )
        whole = spread(system, self.w[: system.n_free, None])
        self._coordinates = self.point.coordinates(whole)
        size = ALONG / max(np.abs(whole[:, 0] * system.weight).max(), 1e-300)
        h = self.point.equations.h
        for share in (size, -size):
            there = point(D + share * self._coordinates[:, 0], multipliers + share * self.w[system.n_free :] / h**2)
            self.displaced.append((0.5 / share, there))
        self._turn_of_w = self._turning(whole)
        self._turn_of_coordinates = self._turning(self._group(self.point.of_motion.maps.P, self._coordinates))
        self._bend = self._bending(whole)

    def along(self, zeta: Array) -> Array:
        """``P zeta`` (N, P), in the coordinates of the step."""
        z = self.factors.solve(np.concatenate([np.zeros((self.system.n_free, zeta.shape[1])), zeta]))
        return self._coordinates_of(z)

    def across(self, Z: Array) -> Array:
        """``P^T Z`` (m, P)."""
        return self.factors.solve_transposed(self._free_of(Z))[self.system.n_free :]

    def _coordinates_of(self, z: Array) -> Array:
        whole = spread(self.system, z[: self.system.n_free])
        return np.where(self._moves, self._group(self.point.of_motion.maps.P.mT, whole), 0.0)

    def _free_of(self, Z: Array) -> Array:
        """:meth:`_coordinates_of`, backwards."""
        body = self._group(self.point.of_motion.maps.P, np.where(self._moves, Z, 0.0))
        return np.concatenate([body[self.system.free_index], np.zeros((self.system.m, Z.shape[1]))])

    def forward(self, start: StartDerivatives, explicit: ParameterDerivatives, weights: Weights) -> Array:
        """``P' zeta`` (N, P)."""
        if not self.displaced:
            return np.zeros_like(start.q)
        point, none = self.point, np.zeros_like(start.q)
        D, multipliers = weights.plain(start) + start.guess, start.multipliers + start.guess_multipliers
        change = Rows(none, *np.zeros((2, self.system.m, none.shape[1])))
        for weight, there in self.displaced:
            rows = there.forward(start, D, none, multipliers).plus(there.rows(explicit, start.q))
            change = change.plus(Rows(*(weight * part for part in rows)))
        q = point.moved(start, D)
        bent = self._nodes(self._turn_of_coordinates, q) + self._nodes(self._bend, D)
        change = change.plus(point.forward(_still(start), bent, none, 0.0 * multipliers))
        scaled = np.concatenate([point.equations.h**2 * change.force[self.system.free_index], change.closing])
        turned = self._nodes(self._turn_of_w, q)
        return turned - self._coordinates_of(self.factors.solve(scaled))

    def backward(self, Z: Array, explicit: ParameterDerivatives, weights: Weights) -> tuple[StartDerivatives, Array]:
        """The products of ``Z`` with it: of the start, and against the parameters."""
        system, point, h = self.system, self.point, self.point.equations.h
        count = Z.shape[1]
        none, no_multipliers = np.zeros((system.N, count)), np.zeros((system.m, count))
        start = StartDerivatives(none, none, none, none, no_multipliers, none, no_multipliers)
        gradient = np.zeros((len(explicit.varied), count))
        if not self.displaced:
            return start, gradient
        y = -self.factors.solve_transposed(self._free_of(Z))
        rows = Rows(spread(system, h * h * y[: system.n_free]), y[system.n_free :], no_multipliers)
        q = self._nodes(self._turn_of_w.mT, Z)
        _, bent, _, _ = point.backward(rows)
        q = q + self._nodes(self._turn_of_coordinates.mT, bent)
        D = self._nodes(self._bend.mT, bent)
        multipliers = no_multipliers
        for weight, there in self.displaced:
            weighted = Rows(*(weight * part for part in rows))
            more, of_D, _, of_multipliers = there.backward(weighted)
            against = there.rows(explicit, np.zeros((system.N, len(explicit.varied))))
            start, D, multipliers = start.plus(more), D + of_D, multipliers + of_multipliers
            gradient = gradient + against.force.T @ weighted.force + against.closing.T @ weighted.closing
        of_q, of_D = point.carried(q)
        D = D + of_D
        v, lead, a = weights.begun(np.zeros((3, *D.shape)), D)
        return start.plus(StartDerivatives(of_q, v, lead, a, multipliers, D, multipliers)), gradient

    def _group(self, maps: Array, values: Array) -> Array:
        """The maps of all nodes, and internal variables as they are."""
        n = 6 * self.system.n
        nodes = maps @ values[:n].reshape(self.system.n, 6, -1)
        return np.concatenate([nodes.reshape(n, -1), values[n:]])

    def _nodes(self, maps: Array, values: Array) -> Array:
        """The maps of all nodes, and nothing of internal variables."""
        result = self._group(maps, values)
        result[6 * self.system.n :] = 0.0
        return result

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
        return self.point.of_motion.maps.P.mT @ result


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


def spread(system: System, values: Array) -> Array:
    """All components ``(N, P)`` of values at the free ones."""
    result = np.zeros((system.N, values.shape[1]))
    result[system.free_index] = values
    return result


def displaced(system: System, other: System, state: State, q: Array, rates: Array, multipliers: Array) -> State:
    """A state in the arrays of another model, moved by body increments ``(N,)``, rates ``(3, N)`` and multipliers."""
    n, kinematics = 6 * system.n, system.kinematics
    x, R = kinematics.retract(state.x, state.R, kinematics.from_body(state.R, q[:n].reshape(-1, 6)))
    v, vdot = rates[:2, :n].reshape(2, -1, 6)
    return State(
        state.t,
        x + (system.origin - other.origin),
        R,
        state.v + v,
        state.vdot + vdot,
        state.multipliers + multipliers,
        state.u + q[n:],
        state.udot + rates[0, n:],
        state.uddot + rates[1, n:],
    )


def _still(start: StartDerivatives) -> StartDerivatives:
    return StartDerivatives(*(np.zeros_like(part) for part in start))


def _relative(change: Array, whole: Array) -> float:
    """Largest change against the largest number, of the worst column."""
    sizes = np.abs(whole).max(axis=0, initial=0.0)
    return float((np.abs(change).max(axis=0, initial=0.0) / np.maximum(sizes, 1e-300)).max(initial=0.0))
