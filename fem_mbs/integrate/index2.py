"""One step of the generalised-alpha method for the stabilised index-2 equations.

Gear, Gupta and Leimkuhler; Arnold, Cardona, Bruels (2015), eqs. 55, 56, 61, 62: the velocity obeys its own constraint
``B v + Phi_t = 0``, at the price of a second set of multipliers, ``Delta q = Delta q_Newmark - B^T(q_n) eta``.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha
from fem_mbs.integrate.index3 import Index3Problem, Linearization, Trial, Unknown
from fem_mbs.solve import Report
from fem_mbs.system import State, System


class Index2Problem(Index3Problem):
    """The equations of one step in the increment, the multipliers and ``h eta``."""

    def __init__(self, system: System, state: State, h: float, method: GeneralizedAlpha) -> None:
        super().__init__(system, state, h, method)
        motion = system.motion(state.t, state.x, state.R, state.v, state.vdot)
        self.start = system.evaluate(motion, state.multipliers, system.prescribe(state.t))

    def guess(self, before: Report[Trial] | None = None) -> Unknown:
        """That of index 3, and ``eta = 0``."""
        return (*super().guess(before), np.zeros(self.system.m))

    def newmark_increment(self, unknown: Unknown) -> Array:
        """``D + h B^T(q_n) eta``."""
        push = self.system.gradient_transpose_product(self.start, unknown[2])
        return unknown[0] + self.system.kinematics.from_body(self.state.R, push)

    def evaluate(self, unknown: Unknown) -> Trial:
        """Those of index 3, and the constraint on velocities."""
        trial = super().evaluate(unknown)
        return trial._replace(hidden=self.h * self.system.constraint_rate(trial.evaluation, trial.motion))

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals; the constraint on velocities times the step is compared with that on positions."""
        force, constraint = super().size(trial)
        hidden = np.abs(trial.hidden * self.system.constraint_weight).max(initial=0.0)
        return force, max(constraint, float(hidden))

    def linearize(self, unknown: Unknown, trial: Trial) -> Linearization:
        """The matrix of eq. 62 in the unknowns ``(delta q, h^2 delta lambda, h delta eta)``."""
        system, motion, evaluation = self.system, trial.motion, trial.evaluation
        kinematics, h = system.kinematics, self.h
        index3, T = self.entries(unknown, trial)
        dV = kinematics.derivatives(motion.V, motion.A, *self._derivatives(unknown, trial)[1:])[0]
        # against the Newmark increment alone
        moved = self.chart.rate_derivatives(unknown[0], *trial.rates, self.gamma, self.beta)
        none = np.zeros_like(T)
        with_rates, without = (kinematics.derivatives(motion.V, motion.A, *d) for d in (moved, (none, none)))
        dV_w, dA_w = (own - held for own, held in zip(with_rates, without, strict=True))
        W = system.entries(evaluation, dV_w, dA_w, h * h) - system.entries(evaluation, none, none, h * h)
        turn = kinematics.body_transfer(self.state.R, motion.R)
        push = system.gradients_times(self.start.gradients, turn.mT)
        rates, velocities = system.rate_gradients(evaluation, motion), system.gradients_times(evaluation.gradients, dV)
        G = [h * (a + b) for a, b in zip(rates, velocities, strict=True)]
        H = [h * part for part in system.gradients_times(evaluation.gradients, dV_w)]
        return Linearization(system.stabilized.factor(index3, W, *map(_flat, (push, G, H))), T)


def _flat(gradients: list[Array]) -> Array:
    return np.concatenate([np.empty(0), *(part.ravel() for part in gradients)])
