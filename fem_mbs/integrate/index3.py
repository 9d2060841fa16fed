"""One step of the generalised-alpha method for the index-3 equations.

Bruels, Cardona, Arnold (2012), eqs. 27-32 and Table 1 on the group, eqs. 71-79 in local coordinates, with Newton's
method in the scaled unknowns of Arnold, Cardona, Bruels (2015), eqs. 57-60.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.chart import Derivatives, make_chart
from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha
from fem_mbs.model import Motion
from fem_mbs.solve import Report
from fem_mbs.system import Evaluation, Solve, State, System


class Trial(NamedTuple):
    """A trial of the new state and the equations there."""

    rates: tuple[Array, Array]
    """First and second time derivative of the increment at the end of the step."""
    motion: Motion
    evaluation: Evaluation
    hidden: Array = np.empty(0)
    """``h (B v + Phi_t)``, where the formulation imposes it."""


class Linearization(NamedTuple):
    """The factorised iteration matrix and the tangent operators it was built with."""

    solve: Solve
    T: Array


Unknown = tuple[Array, ...]


class Index3Problem:
    """The equations of one step in the increment ``D = h Delta q`` and the multipliers."""

    def __init__(self, system: System, state: State, h: float, method: GeneralizedAlpha) -> None:
        alpha_m, alpha_f, beta, gamma = method.coefficients
        self.system, self.state, self.h = system, state, h
        self.matrix = method.newton.matrix
        self.chart = make_chart(system.kinematics, method.chart)
        self.t = state.t + h
        self.prescribed = system.prescribe(self.t)
        self.beta = (1.0 - alpha_m) / (h * h * beta * (1.0 - alpha_f))
        self.gamma = gamma / (h * beta)
        self.a_share = (1.0 - alpha_f) / (1.0 - alpha_m)
        self.a = (alpha_f * state.vdot - alpha_m * state.a) / (1.0 - alpha_m)
        self.v = state.v + h * ((1.0 - gamma) * state.a + gamma * self.a)
        self.plain_guess = h * state.v + (0.5 * h * h) * state.a, state.multipliers
        self.expected = np.zeros_like(state.v)
        self.D = h * state.v + h * h * ((0.5 - beta) * state.a + beta * self.a)

    def guess(self, before: Report[Trial] | None = None) -> Unknown:
        """First guess ``(v + h a/2, lambda)`` of the last state (Arnold, Cardona, Bruels 2015, section 3.5).

        With the report of the step before, its error is expected again, if that would have been right in the step
        before: it grows with ``h^3`` for the increment, and with ``h`` for the multipliers.
        """
        if before is None:
            return self.plain_guess
        last: Index3Problem = before.problem
        ratio = self.h / last.h
        error, change = (new - old for new, old in zip(before.unknown[:2], last.plain_guess, strict=True))
        self.expected = ratio**3 * error
        if np.linalg.norm(last.expected - error) > np.linalg.norm(error):
            return self.plain_guess
        D, multipliers = self.plain_guess
        return D + self.expected, multipliers + ratio * change

    def newmark_increment(self, unknown: Unknown) -> Array:
        """The increment that the Newmark formulas take: that of the configuration."""
        return unknown[0]

    def rates(self, unknown: Unknown) -> tuple[Array, Array]:
        """First and second time derivative of the increment at the end of the step."""
        step = self.newmark_increment(unknown) - self.D
        return self.v + self.gamma * step, self.beta * step

    def state_at(self, unknown: Unknown, rates: tuple[Array, Array]) -> tuple[Array, Array, Array, Array]:
        """Positions, rotations, velocities and their derivatives at the end of the step."""
        x, R = self.chart.retract(self.state.x, self.state.R, unknown[0])
        return x, R, *self.chart.lift(unknown[0], *rates)

    def result(self, unknown: Unknown) -> State:
        """The state at the end of the step."""
        dD, ddD = self.rates(unknown)
        a = self.chart.lift(unknown[0], dD, self.a + self.a_share * ddD)[1]
        return State(self.t, *self.state_at(unknown, (dD, ddD)), a, unknown[1])

    def evaluate(self, unknown: Unknown) -> Trial:
        """Equations at the end of the step."""
        rates = self.rates(unknown)
        motion = self.system.motion(self.t, *self.state_at(unknown, rates))
        return Trial(rates, motion, self.system.evaluate(motion, unknown[1], self.prescribed))

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals."""
        return self.system.relative_residual(trial.evaluation)

    def linearize(self, unknown: Unknown, trial: Trial) -> Linearization:
        """Scaled iteration matrix ``[[h^2 (K + gamma C + beta M), B^T], [B, 0]]`` in body increments."""
        entries, T = self.entries(unknown, trial)
        return Linearization(self.system.factor(self.system.assemble(entries)), T)

    def entries(self, unknown: Unknown, trial: Trial) -> tuple[Array, Array]:
        """Entries of the matrix, and the derivative of the increment against the configuration."""
        system, V, A = self.system, trial.motion.V, trial.motion.A
        T, dv, dvdot = self._derivatives(unknown, trial)
        if self.matrix == "simplified":
            return system.inertia_entries(trial.evaluation, dvdot, self.h**2), T
        dV, dA = system.kinematics.derivatives(V, A, dv, dvdot)
        return system.entries(trial.evaluation, dV, dA, self.h**2), T

    def _derivatives(self, unknown: Unknown, trial: Trial) -> Derivatives:
        if self.matrix == "without_tangent_operator":
            unit = np.tile(np.eye(6), (self.system.n, 1, 1))
            return Derivatives(unit, self.gamma * unit, self.beta * unit)
        return self.chart.derivatives(unknown[0], *trial.rates, self.gamma, self.beta)

    def correct(
        self, unknown: Unknown, trial: Trial, linearization: Linearization, share: float
    ) -> tuple[Unknown, float]:
        """One correction; ``(delta q, h^2 delta lambda)`` with ``(h^2 r, Phi)`` is the scaling of eqs. 57-60."""
        system, h = self.system, self.h
        right = np.concatenate([system.residual(trial.evaluation, h * h), trial.hidden])
        solution = linearization.solve(-right)
        increments, multipliers = system.increments(solution[: system.size])
        D = system.kinematics.from_body(trial.motion.R, np.matvec(linearization.T, increments))
        correction = float(np.abs(increments * system.increment_weight).max())
        changes = (D, multipliers / (h * h), solution[system.size :])
        corrected = tuple(part + share * change for part, change in zip(unknown, changes, strict=False))
        return corrected, correction
