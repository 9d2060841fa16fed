"""One step of the generalised-alpha method for the index-3 equations.

Bruels, Cardona, Arnold (2012), eqs. 27-32 and Table 1, with Newton's method in the scaled unknowns of Arnold, Cardona,
Bruels (2015), eqs. 57-60.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.parameters import Parameters
from fem_mbs.model import Motion
from fem_mbs.system import Evaluation, Solve, State, System


class Trial(NamedTuple):
    """A trial of the new state and the equations there."""

    state: tuple[Array, Array, Array, Array]
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

    def __init__(self, system: System, state: State, h: float, parameters: Parameters) -> None:
        alpha_m, alpha_f, beta, gamma = parameters
        self.system, self.state, self.h = system, state, h
        self.t = state.t + h
        self.prescribed = system.prescribe(self.t)
        self.beta = (1.0 - alpha_m) / (h * h * beta * (1.0 - alpha_f))
        self.gamma = gamma / (h * beta)
        self.a = (alpha_f * state.vdot - alpha_m * state.a) / (1.0 - alpha_m)
        self.v = state.v + h * ((1.0 - gamma) * state.a + gamma * self.a)
        self.D = h * state.v + h * h * ((0.5 - beta) * state.a + beta * self.a)

    def guess(self) -> Unknown:
        """First guess ``(v + h a/2, lambda)`` of the last state (Arnold, Cardona, Bruels 2015, section 3.5)."""
        state, h = self.state, self.h
        return h * state.v + (0.5 * h * h) * state.a, state.multipliers

    def newmark_increment(self, unknown: Unknown) -> Array:
        """The increment that the Newmark formulas take: that of the configuration."""
        return unknown[0]

    def state_at(self, unknown: Unknown) -> tuple[Array, Array, Array, Array]:
        """Positions, rotations, velocities and their derivatives at the end of the step."""
        step = self.newmark_increment(unknown) - self.D
        x, R = self.system.kinematics.retract(self.state.x, self.state.R, unknown[0])
        return x, R, self.v + self.gamma * step, self.beta * step

    def evaluate(self, unknown: Unknown) -> Trial:
        """Equations at the end of the step."""
        state = self.state_at(unknown)
        motion = self.system.motion(self.t, *state)
        return Trial(state, motion, self.system.evaluate(motion, unknown[1], self.prescribed))

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals."""
        return self.system.relative_residual(trial.evaluation)

    def linearize(self, unknown: Unknown, trial: Trial) -> Linearization:
        """Scaled iteration matrix ``[[h^2 (K + gamma C + beta M), B^T], [B, 0]]`` in body increments."""
        motion = trial.motion
        T = self.system.kinematics.inverse_tangent(unknown[0])
        dV, dA = self.system.kinematics.derivatives(motion.V, motion.A, T, self.gamma, self.beta)
        matrix = self.system.iteration_matrix(trial.evaluation, dV, dA, self.h**2)
        return Linearization(self.system.factor(matrix), T)

    def correct(self, unknown: Unknown, trial: Trial, linearization: Linearization) -> tuple[Unknown, float]:
        """One correction; ``(delta q, h^2 delta lambda)`` with ``(h^2 r, Phi)`` is the scaling of eqs. 57-60."""
        system, h = self.system, self.h
        right = np.concatenate([system.residual(trial.evaluation, h * h), trial.hidden])
        solution = linearization.solve(-right)
        increments, multipliers = system.increments(solution[: system.size])
        D = system.kinematics.from_body(trial.motion.R, np.matvec(linearization.T, increments))
        correction = float(np.abs(increments * system.increment_weight).max())
        more = [part + solution[system.size :] for part in unknown[2:]]
        return (unknown[0] + D, unknown[1] + multipliers / (h * h), *more), correction
