"""The derivative of one accepted step of the generalised-alpha method.

A step solves ``F(u; s, p) = 0`` for ``u = (D, lambda, Z)``, from values ``s`` at its start: the configuration, and the
velocities, accelerations and algorithmic accelerations of Newmark's formulas. Of the solution,

    F_u u' = -(F_s s' + F_p),

with the matrix at the solution, not the one that Newton's method ended with. These equations are solved with the
iteration matrix of index 3, in rounds for what is left, as those of the step itself (``alpha/stabilized.py``).

In the default formulation ``Z = P zeta`` lies in directions that follow from the *first* matrix ``S`` of the step,
``S w = (0, zeta)``. They change with what the step begins with, and with the guess, which remembers what those before
have missed:

    P' zeta = -S^-1 (S' w),

where ``S' w`` is a difference of the matrices of two models at displaced guesses.

Derivatives of the configuration are body increments at the instant they belong to; arrays have one column a parameter.
With ``D`` held, ``q_n+1 = q_n exp(D)`` moves by ``Ad(exp(-D)) q_n'``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.memory import AlphaMemory
from fem_mbs.alpha.newmark import Newmark, first_guess, newmark
from fem_mbs.alpha.stabilized import StabilizedEquations
from fem_mbs.alpha.step import StepEquations, Unknowns, exact_entries
from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.derivatives.residual import Inputs, ModelDifference, ResidualDerivative, Rows, Scatter
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3
from fem_mbs.linear.solvers import Factors
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import System

ROUNDS, LEFT, POOR = 40, 1e-12, 1e-7
"""Rounds of a solution at most, what they leave of its size, and what is not accepted where they end earlier."""
OUTSIDE = 1e-6
"""Share of ``Z`` outside of its directions above which a step is not the one that was taken."""


class Start(NamedTuple):
    """What a step begins with, or its derivatives ``(N, P)``: configuration, and what Newmark's formulas take."""

    q: Array
    v: Array
    lead: Array
    a: Array
    multipliers: Array
    guess: Array
    """What the guess of the increment has beyond the plain one ``(N, P)``."""
    guess_multipliers: Array


class End(NamedTuple):
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
    """``(3, N)``."""

    @classmethod
    def of(cls, method: GeneralizedAlpha, system: System, h: float) -> Weights:
        """Of all components."""
        one, none = np.ones(system.N), np.zeros(system.N)
        made = [
            newmark(method.coefficients, h, *(one if k == j else none for k in range(3)), system.order)
            for j in range(3)
        ]
        factors = np.broadcast_to(made[0].factors, (3, system.N))
        return cls(factors, np.stack([own.constants for own in made], axis=1), np.stack([own.guess for own in made]))

    def start(self, start: Start) -> tuple[Array, Array]:
        """Constants ``(3, N, P)`` and the plain guess ``(N, P)`` of what a step begins with."""
        given = np.stack(start[1:4])
        return np.einsum("rjn,jnp->rnp", self.constants, given), np.einsum("jn,jnp->np", self.guess, given)


class StepDerivative:
    """A step that was taken, and its derivatives.

    Parameters
    ----------
    method : GeneralizedAlpha
    state, memory, h
        What the step was taken from, and its length.
    after : State
        Where it led, before what is accepted at its end.
    """

    def __init__(
        self,
        method: GeneralizedAlpha,
        system: System,
        state: State,
        memory: AlphaMemory,
        h: float,
        after: State,
        scatter: Scatter,
    ) -> None:
        self.method, self.system, self.h, self.state, self.memory = method, system, h, state, memory
        self.equations = equations = method.equations(system, state, h, memory)
        self.weights = Weights.of(method, system, h)
        self.transport = transport(system, state, after)
        D = taken_increment(system, state, after)
        rate = np.append(after.v, after.udot)
        factor, constant = self.weights.factors[0], equations.formulas.constants[0]
        N = np.divide(rate - constant, factor, out=D.copy(), where=factor > 0.0)
        stabilized = isinstance(equations, StabilizedEquations)
        if stabilized:
            moves = np.append(np.ones(6 * system.n, np.bool_), system.order == 2)
            self.unknown = Unknowns(D, after.multipliers, Z=np.where(moves, D - N, 0.0))
            self._directions()
        else:
            self.unknown = Unknowns(D, after.multipliers)
        self.stabilized = stabilized
        self.residual = equations.evaluate(self.unknown)
        self.motion = equations.seen(self.unknown, self.residual.place, self.residual.evaluation.motion)
        self.of_motion = ResidualDerivative(equations, self.unknown, self.residual, scatter)
        values, self.T_inv, _ = exact_entries(equations, self.unknown, self.residual)
        self.factors = system.solver.factor(tangent.assemble(system, values))

    # directions of Z

    def _directions(self) -> None:
        """The matrix at the first guess, and what ``Z`` is along its directions."""
        equations, system = self.equations, self.system
        plain = equations.formulas.guess
        self.guess = first_guess(plain, self.state.multipliers, self.h, self.memory.predictor)
        at = equations.predict(self.guess.D, self.guess.multipliers)
        residual = equations.evaluate(at)
        values, _, _ = equations.matrix(equations, at, residual)
        self.guess_R = residual.evaluation.motion.R
        self.guess_values = values.copy()
        self.first: Factors = system.solver.factor(tangent.assemble(system, values))
        Z = self.unknown.Z
        body = system.kinematics.to_body(self.guess_R, system.nodes_of(Z)).ravel()
        body = np.append(body, system.own_of(Z))
        B = residual.evaluation.gradients
        zeta = np.concatenate(
            [np.vecdot(own, body[rows]) for own, rows in zip(B, system.gradient_components, strict=True)]
        )
        self.zeta = np.where(system.velocity_level, 0.0, zeta)
        self.w = self.first.solve(np.append(np.zeros(system.n_free), self.zeta))
        again = self._coordinates(self.w[:, None], self.guess_R)[:, 0]
        if np.abs((again - Z) * system.weight).max() > OUTSIDE * np.abs(Z * system.weight).max() + 1e-13:
            raise ModelError(
                f"sensitivities: the step to t = {self.equations.t:g} s is not one that starts from its guess; "
                "how='copies' takes differences of whole runs"
            )

    def _coordinates(self, z: Array, R: Array) -> Array:
        """``Z`` (N, P) in the coordinates of the step, of solutions with the first matrix."""
        system = self.system
        whole = np.zeros((system.N, z.shape[1]))
        whole[system.free_index] = z[: system.n_free]
        n = 6 * system.n
        nodes = np.stack([system.kinematics.from_body(R, own.reshape(-1, 6)).ravel() for own in whole[:n].T], axis=1)
        return np.concatenate([nodes, np.where(system.order[:, None] < 2, 0.0, whole[n:])])

    def _along(self, zeta: Array) -> Array:
        """``P zeta`` (N, P)."""
        none = np.zeros((self.system.n_free, zeta.shape[1]))
        return self._coordinates(self.first.solve(np.concatenate([none, zeta])), self.guess_R)

    def turned_directions(self, start: Start, differences: Sequence[ModelDifference]) -> Array:
        """``P' zeta`` (N, P): what ``Z`` changes by where its directions do."""
        if not self.stabilized or not self.zeta.any():
            return np.zeros_like(start.q)
        return np.stack([self._turned(start, k, own) for k, own in enumerate(differences)], axis=1)

    def _turned(self, start: Start, k: int, difference: ModelDifference) -> Array:
        system, step, found = self.system, difference.variation.step, []
        constants, plain = (part[..., k] for part in self.weights.start(start))
        for other, shift in zip(difference.systems, difference.variation.shifts, strict=True):
            by = shift * step
            still = np.zeros((2, system.N))
            state = displaced(system, other, self.state, by * start.q[:, k], still, by * start.multipliers[:, k])
            formulas = self.equations.formulas
            formulas = Newmark(formulas.factors, formulas.constants + by * constants, formulas.guess)
            equations = type(self.equations)(
                other, state, self.h, formulas, self.method.chart(other), self.equations.matrix
            )
            D = self.guess.D + by * (plain + start.guess[:, k])
            multipliers = self.guess.multipliers + by * (start.multipliers[:, k] + start.guess_multipliers[:, k])
            at = equations.predict(D, multipliers)
            residual = equations.evaluate(at)
            values, _, _ = equations.matrix(equations, at, residual)
            change = _product(system, values - self.guess_values, self.w)
            w = self.w - self.first.solve(change)
            found.append(self._coordinates(w[:, None], residual.evaluation.motion.R)[:, 0])
        turned: Array = difference.variation.difference(found)
        return turned

    # the solution

    def forward(self, start: Start, differences: Sequence[ModelDifference]) -> End:
        """Derivatives at the end from those at the start."""
        multipliers, h = self.unknown.multipliers, self.h
        rows = [own.rows(self.motion, multipliers, h) for own in differences]
        explicit = Rows(*(np.stack(parts, axis=1) for parts in zip(*rows, strict=True)))
        return self.solved(start, explicit, self.turned_directions(start, differences))

    def solved(self, start: Start, explicit: Rows, Z: Array) -> End:
        """The solution in rounds, from ``P' zeta`` and the explicit derivatives."""
        system, h, factors = self.system, self.h, self.weights.factors[:, :, None]
        held, (constants, _) = self.carried(start.q), self.weights.start(start)
        d, multipliers, last = np.zeros_like(held), np.zeros((system.m, held.shape[1])), np.inf
        per_rate = (~system.velocity_level / (h * self.equations.gamma))[:, None]
        for _ in range(ROUNDS):
            D = self.coordinates(d)
            rates = constants + factors * (D - Z)
            moved = Inputs(held + d, rates[0], rates[1], Z, multipliers)
            force, closing, hidden = self.of_motion.times(moved).plus(explicit)
            right = np.concatenate([h * h * force[system.free_index], closing])
            change = -self.factors.solve(right)
            more = np.zeros_like(d)
            more[system.free_index] = change[: system.n_free]
            d, multipliers = d + more, multipliers + change[system.n_free :] / h**2
            size = self._size(more, d)
            if self.stabilized:
                moved_by = self.of_motion.times(self._increment(more))
                beside = self._along(per_rate * (hidden + moved_by.hidden))
                Z = Z + beside
                size = max(size, self._size(beside, d))
            if size <= LEFT or (size > 0.5 * last and size <= POOR):
                break
            last = size
        else:
            raise ModelError(
                f"sensitivities: the derivatives of the step to t = {self.equations.t:g} s do not converge "
                f"({size:.1e}); try a smaller step, or how='copies'"
            )
        D = self.coordinates(d)
        return End(held + d, constants + factors * (D - Z), multipliers, D)

    def _increment(self, d: Array) -> Inputs:
        """What the equations follow along an increment of the configuration."""
        D = self.coordinates(d)
        rates = self.weights.factors[:2, :, None] * D
        return Inputs(d, rates[0], rates[1], np.zeros_like(d), np.zeros((self.system.m, d.shape[1])))

    def _size(self, change: Array, whole: Array) -> float:
        weight = self.system.weight[:, None]
        sizes = np.abs(change * weight).max(axis=0, initial=0.0)
        return float((sizes / np.maximum(np.abs(whole * weight).max(axis=0, initial=0.0), 1e-300)).max(initial=0.0))

    def coordinates(self, d: Array) -> Array:
        """Changes ``(N, P)`` of the coordinates ``D`` of the step with body increments at its end."""
        system = self.system
        n = 6 * system.n
        nodes = self.of_motion.maps.P.mT @ (self.T_inv @ d[:n].reshape(system.n, 6, -1))
        return np.concatenate([nodes.reshape(n, -1), d[n:]])

    def carried(self, q: Array) -> Array:
        """Body increments at the end, where the step is held."""
        n = 6 * self.system.n
        nodes = self.transport @ q[:n].reshape(self.system.n, 6, -1)
        return np.concatenate([nodes.reshape(n, -1), q[n:]])


def transport(system: System, before: State, after: State) -> Array:
    """``Ad(exp(-D))`` (n, 6, 6): of body increments before a step to those after it, the step held."""
    turn, way = after.R.mT @ before.R, np.vecmat(after.x - before.x, before.R)
    for group, rows in system.kinematics.parts:
        if not group.coupled:
            way[rows] = 0.0
    return se3.adjoint(turn, -np.matvec(turn, way))


def taken_increment(system: System, before: State, after: State) -> Array:
    """The increment ``D`` (N,) of a step."""
    nodes = system.kinematics.relative(before.x, before.R, after.x, after.R).ravel()
    return np.append(nodes, np.where(system.order >= 0, after.u - before.u, 0.0))


def displaced(system: System, other: System, state: State, q: Array, rates: Array, multipliers: Array) -> State:
    """A state in the arrays of another model, moved by body increments ``(N,)``, rates ``(2, N)`` and multipliers."""
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


def _product(system: System, values: Array, x: Array) -> Array:
    """The matrix with these entries times ``x`` (size,)."""
    rows, columns = system.pattern.rows, system.pattern.columns
    inside = (rows >= 0) & (columns >= 0)
    return np.bincount(rows[inside], values[inside] * x[columns[inside]], system.size)
