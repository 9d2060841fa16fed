"""One step of the generalised-alpha method for the index-3 equations.

Bruels, Cardona, Arnold (2012), eqs. 27-32 and Table 1 on the group, eqs. 71-79 in local coordinates, with Newton's
method in the scaled unknowns of Arnold, Cardona, Bruels (2015), eqs. 57-60. Equations of velocities that cannot be
integrated stand beside those of positions.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.chart import Chart
from fem_mbs.integrate.newmark import Newmark
from fem_mbs.model import Follow, Motion
from fem_mbs.solve import Found
from fem_mbs.system import Evaluation, Factors, State, System, constraints, tangent


class Trial(NamedTuple):
    """A trial of the new state and the equations there."""

    rates: Array
    """First and second time derivative of the increment at the end of the step, ``(2, N)``."""
    body: Array
    """Body velocities and accelerations of the nodes, ``(2, n, 6)``."""
    evaluation: Evaluation
    closing: Array
    """Right-hand side of the constraint rows: ``Phi``, or ``h (B v - b)`` of equations of velocities, ``(m,)``."""
    hidden: Array
    """``h (B v + Phi_t)``, where the formulation imposes it."""


class Linearization(NamedTuple):
    """The factorised iteration matrix and the inverse tangent operators it was built with."""

    factors: Factors
    T_inv: Array


Unknown: TypeAlias = tuple[Array, ...]
_NONE = np.empty(0)


class Index3Problem:
    """The equations of one step in the increment ``D = h Delta q`` (N,) and the multipliers (m,)."""

    def __init__(self, system: System, state: State, h: float, formulas: Newmark, chart: Chart, matrix: str) -> None:
        self.system, self.state, self.h = system, state, h
        self.formulas, self.chart, self.matrix = formulas, chart, matrix
        self.t = state.t + h
        self.prescribed = system.prescribe(self.t)
        self.factors = formulas.rates[:, 0]
        """``gamma'`` and ``beta'``."""

    def guess(self, D: Array, multipliers: Array) -> Unknown:
        """All unknowns from a guess of the increment and the multipliers."""
        return D, multipliers

    def newmark_increment(self, unknown: Unknown) -> Array:
        """The increment that the Newmark formulas take: that of the configuration."""
        return unknown[0]

    def place(self, unknown: Unknown) -> tuple[Array, Array, Array, Array]:
        """Positions, rotations, rates of the increment, and group rates ``(2, n, 6)`` at the end of the step."""
        system, formulas = self.system, self.formulas
        rates = formulas.rates * (self.newmark_increment(unknown) - formulas.D0)
        rates[0] += formulas.v0
        D = system.nodes_of(unknown[0])
        x, R = self.chart.retract(self.state.x, self.state.R, D)
        return x, R, rates, self.chart.lift(D, self._of_nodes(rates))

    def evaluate(self, unknown: Unknown) -> Trial:
        """Equations at the end of the step."""
        system = self.system
        x, R, rates, lifted = self.place(unknown)
        body = system.kinematics.motion(R, lifted)
        own = self.state.u + system.own_of(unknown[0]), *rates[:, 6 * system.n :]
        motion = Motion(self.t, x, R, body[0], body[1], system.gravity, *own)
        evaluation = system.evaluate(motion, unknown[1], self.prescribed)
        closing = evaluation.constraint
        if system.has_velocity_level:
            velocity = constraints.velocity_residual(system, evaluation)
            closing = np.where(system.velocity_level, self.h * velocity, closing)
        return Trial(rates, body, evaluation, closing, _NONE)

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals."""
        force, constraint = self.system.relative_residual(trial.evaluation)
        if self.system.has_velocity_level:
            constraint = float(np.abs(trial.closing * self.system.constraint_weight).max())
        return force, constraint

    def linearize(self, unknown: Unknown, trial: Trial) -> Linearization:
        """Scaled iteration matrix ``[[h^2 (K + gamma' C + beta' M), B^T], [B, 0]]`` in body increments."""
        values, T_inv = self.entries(unknown, trial)
        return Linearization(self.system.solver.factor(tangent.assemble(self.system, values)), T_inv)

    def entries(self, unknown: Unknown, trial: Trial) -> tuple[Array, Array]:
        """Entries of the matrix, and the derivative of the increment against the configuration."""
        system, evaluation = self.system, trial.evaluation
        T_inv, lifted = self._derivatives(unknown, trial)
        own = self.formulas.rates[:, 6 * system.n :]
        if self.matrix == "simplified":
            return tangent.rate_entries(system, evaluation, None, Follow(lifted[1], own[1]), self.h**2), T_inv
        dV, dA = self.follow(trial, lifted)
        rows = self._velocity_rows(trial, dV) if system.has_velocity_level else None
        return tangent.entries(system, evaluation, dV, dA, self.h**2, rows), T_inv

    def follow(self, trial: Trial, lifted: Array) -> tuple[Follow, Follow]:
        """How velocities and accelerations follow, from the derivatives ``lifted`` of the group rates."""
        dV, dA = self.system.kinematics.derivatives(trial.body, lifted)
        own = self.formulas.rates[:, 6 * self.system.n :]
        return Follow(dV, own[0]), Follow(dA, own[1])

    def velocity_gradients(self, trial: Trial, dV: Follow) -> list[Array]:
        """Derivatives ``h d(B v + Phi_t)/d(increment)`` (m, b) of all batches."""
        evaluation = trial.evaluation
        held = constraints.velocity_gradients(self.system, evaluation)
        moved = constraints.gradients_after(self.system, evaluation.gradients, dV)
        return [self.h * (a + b) for a, b in zip(held, moved, strict=True)]

    def correct(
        self, unknown: Unknown, trial: Trial, linearization: Linearization, share: float
    ) -> tuple[Unknown, float]:
        """One correction; ``(delta q, h^2 delta lambda)`` with ``(h^2 r, Phi)`` is the scaling of eqs. 57-60."""
        system, h = self.system, self.h
        right = np.concatenate([(h * h) * trial.evaluation.force[system.free_rows], trial.closing, trial.hidden])
        solution = linearization.factors.solve(right)
        d = system.spread(solution[: system.n_free])
        D = d.copy()
        nodes = system.nodes_of(D)
        nodes[:] = system.kinematics.from_body(
            trial.evaluation.motion.R, np.matvec(linearization.T_inv, system.nodes_of(d))
        )
        changes = D, solution[system.n_free : system.size] / (h * h), solution[system.size :]
        corrected = tuple(part - share * change for part, change in zip(unknown, changes, strict=False))
        return corrected, float(np.maximum.reduce(np.abs(d * system.weight)))

    def result(self, found: Found[Unknown, Trial, Linearization]) -> tuple[State, Array]:
        """The state at the end of the step, and the algorithmic accelerations ``(N,)``."""
        system, formulas, unknown = self.system, self.formulas, found.unknown
        if found.corrected:
            x, R, rates, lifted = self.place(unknown)
        else:
            motion, rates = found.value.evaluation.motion, found.value.rates
            x, R, lifted = motion.x, motion.R, self.chart.lift(system.nodes_of(unknown[0]), self._of_nodes(rates))
        own = self.state.u + system.own_of(unknown[0]), *rates[:, 6 * system.n :]
        a = formulas.a0 + formulas.a_rate * (self.newmark_increment(unknown) - formulas.D0)
        nodes = system.nodes_of(a)
        nodes[:] = self.chart.lift(system.nodes_of(unknown[0]), np.stack([system.nodes_of(rates[0]), nodes]))[1]
        return State(self.t, x, R, lifted[0], lifted[1], unknown[1], *own), a

    def _of_nodes(self, rates: Array) -> Array:
        return rates[:, : 6 * self.system.n].reshape(2, self.system.n, 6)

    def _derivatives(self, unknown: Unknown, trial: Trial) -> tuple[Array, Array]:
        if self.matrix == "without_tangent_operator":
            one = np.broadcast_to(np.eye(6), (self.system.n, 6, 6))
            return one, self.factors[:, None, None, None] * one
        D = self.system.nodes_of(unknown[0])
        return self.chart.derivatives(D, self._of_nodes(trial.rates), self.factors)

    def _velocity_rows(self, trial: Trial, dV: Follow) -> list[Array]:
        """The rows of the constraints in the matrix: ``B``, or the derivative of ``h (B v - b)``."""
        moving = zip(
            self.velocity_gradients(trial, dV), trial.evaluation.gradients, self.system.constraint_slices, strict=True
        )
        level = self.system.velocity_level
        return [np.where(level[rows, None], gradient, B) for gradient, B, rows in moving]
