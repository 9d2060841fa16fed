"""One step of the generalised-alpha method for the stabilised index-2 equations.

Gear, Gupta and Leimkuhler; Arnold, Cardona, Bruels (2015), eqs. 55, 56, 61, 62: the velocity obeys its own constraint
``B v + Phi_t = 0``, at the price of a second set of multipliers, ``Delta q = Delta q_Newmark - B^T(q_n) eta``.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fem_mbs.alpha.newmark import Newmark
from fem_mbs.alpha.step import (
    Correction,
    Linearization,
    MatrixEntries,
    StepEquations,
    StepKinematics,
    StepResidual,
    Unknowns,
)
from fem_mbs.arrays import Array
from fem_mbs.contracts import RateSensitivities, State
from fem_mbs.linear.solvers import LinearSolver
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.kinematics import Chart
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import System


class Index2Equations(StepEquations):
    """The equations of one step in the increment, the multipliers and ``h eta``."""

    closes_velocities: ClassVar[bool] = True

    def __init__(
        self, system: System, state: State, h: float, formulas: Newmark, chart: Chart, matrix: MatrixEntries
    ) -> None:
        super().__init__(system, state, h, formulas, chart, matrix)
        self.positions = np.flatnonzero(~system.velocity_level)
        self.start = constraints.gradients(system, system.motion(state))
        """Gradients at the start of the step."""

    @staticmethod
    def solver(system: System) -> LinearSolver:
        return system.ggl.solver

    def predict(self, D: Array, multipliers: Array) -> Unknowns:
        """That of index 3, and ``eta = 0``."""
        return Unknowns(D, multipliers, eta=np.zeros(len(self.positions)))

    def place(self, unknown: Unknowns) -> StepKinematics:
        """Newmark's increment is ``D + h B^T(q_n) eta``."""
        eta = np.zeros(self.system.m)
        eta[self.positions] = unknown.eta
        push = constraints.gradient_transpose_product(self.system, self.start, eta)
        return super().place(unknown._replace(Z=-self.system.from_body(self.state.R, push)))

    def evaluate(self, unknown: Unknowns) -> StepResidual:
        """Those of index 3, and the constraint on velocities."""
        residual = super().evaluate(unknown)
        return residual._replace(hidden=residual.hidden[self.positions])

    def size(self, residual: StepResidual) -> tuple[float, float]:
        """Relative residuals; the constraint on velocities times the step is compared with that on positions."""
        force, constraint = super().size(residual._replace(hidden=residual.hidden[:0]))
        hidden = np.abs(residual.hidden * self.system.constraint_weight[self.positions]).max(initial=0.0)
        return force, max(constraint, float(hidden))

    def correction(self, unknown: Unknowns, residual: StepResidual, linearization: Linearization) -> Correction:
        """``(delta q, delta lambda, h delta eta)`` with ``(h^2 r, Phi, h (B v + Phi_t))``, eq. 62."""
        system, squared = self.system, self.h * self.h
        force = squared * system.at_free(residual.evaluation.force)
        rhs = np.concatenate([force, residual.closing, residual.hidden])
        solution = linearization.factors.solve(rhs)
        d, multipliers, eta = np.split(solution, [system.n_free, system.size])
        return Correction(system.spread(d), multipliers / squared, eta=eta)

    def linearize(self, unknown: Unknowns, residual: StepResidual, first: Linearization | None = None) -> Linearization:
        """The matrix of eq. 62 in the unknowns ``(delta q, h^2 delta lambda, h delta eta)``."""
        system, evaluation, kinematics = self.system, residual.evaluation, self.system.kinematics
        index3, T_inv, _ = self.matrix(self, unknown, residual)
        _, dV, _ = self.derivatives(residual)
        # against the Newmark increment alone
        moved = self.chart.rate_derivatives(residual.place.D, residual.place.node_rates[:2], self.factors)
        with_rates = kinematics.body_derivatives(residual.body, moved) - kinematics.body_derivatives(
            residual.body, 0.0 * moved
        )
        own = self.formulas.factors[:2, 6 * system.n :]
        dV_w, dA_w = RateSensitivities(with_rates[0], own[0]), RateSensitivities(with_rates[1], own[1])
        W = tangent.rate_entries(system, evaluation, dV_w, dA_w, self.h**2)
        turn = kinematics.body_transfer(self.state.R, evaluation.motion.R)
        push = tangent.gradients_after(system, self.start, RateSensitivities(turn.mT, np.ones(system.k)))
        G = tangent.velocity_derivatives(system, evaluation, dV, self.h)
        H = [self.h * part for part in tangent.gradients_after(system, evaluation.gradients, dV_w)]
        return Linearization(system.ggl.factor(index3, W, *map(flat, (push, G, H))), T_inv)
