"""One step with constraints on positions, velocities and accelerations at once.

Of *Euler methods on Lie group for DAEs of multibody systems* (2018), eq. 6, the form ODAE.

The three levels are more equations than unknowns. Each of the lower two gets a correction in the metric of the mass,

    v_1 = v_0 + h a - M^-1 B^T(q_0) mu,    q_1 = q_0 exp(h (v_1 - M^-1 B^T(q_0) eta)),

so that the system is square and all levels hold: ``eta`` is of the size of ``h``, ``mu`` of its square. A least-squares
solution of the overdetermined equations would depend on units, and meet none of them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fem_mbs.alpha.newmark import Newmark
from fem_mbs.alpha.step import Correction, Linearization, MatrixEntries, StepEquations, StepResidual, Unknowns
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import RateSensitivities, State
from fem_mbs.linear.solvers import LinearSolver
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.constraints import AccelerationLevel
from fem_mbs.system.kinematics import Chart
from fem_mbs.system.matrices import leading_entries
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import System


class OverdeterminedEquations(StepEquations):
    """The equations of one step in the increment, the multipliers, and the corrections ``Z`` and ``Y`` (N,).

    ``Z = h M^-1 B^T eta`` and ``Y = h M^-1 B^T mu`` are increments in body components at the start of the step:
    ``v_1 = (D + Z)/h`` and ``a = (D + Z + Y - h v_0)/h^2``. Of equations of velocities, ``Z`` obeys ``B Z = 0``.
    """

    closes_velocities: ClassVar[bool] = True

    def __init__(
        self, system: System, state: State, h: float, formulas: Newmark, chart: Chart, matrix: MatrixEntries
    ) -> None:
        super().__init__(system, state, h, formulas, chart, matrix)
        self.start = system.evaluate(system.motion(state), state.multipliers, system.prescribe(state.t))
        """The equations at the start of the step."""
        self.follows = np.append(np.ones(6 * system.n), system.order == 2)
        """Zero where an internal variable has no velocity that could be corrected."""

    @staticmethod
    def solver(system: System) -> LinearSolver:
        """The solver of the iteration matrix."""
        return system.levels.solver

    def predict(self, D: Array, multipliers: Array) -> Unknowns:
        """That of index 3 without corrections."""
        return Unknowns(D, multipliers, Z=np.zeros(self.system.N), Y=np.zeros(self.system.N))

    def newmark_increment(self, unknown: Unknowns) -> Array:
        """``D + Z`` for velocities and ``D + Z + Y`` for accelerations."""
        Z, Y = (self.system.from_body(self.state.R, self.follows * part) for part in (unknown.Z, unknown.Y))
        return np.stack([unknown.D + Z, unknown.D + Z + Y, unknown.D])

    def evaluate(self, unknown: Unknowns) -> StepResidual:
        """Those of index 3, and the constraints on velocities and accelerations."""
        residual, system = super().evaluate(unknown), self.system
        Z = tangent.product(system, self.start.gradients, unknown.Z)
        acceleration = self.h**2 * constraints.acceleration(system, residual.evaluation)
        position = np.where(system.velocity_level, Z, residual.evaluation.constraint)
        return residual._replace(closing=position, hidden=np.concatenate([residual.hidden, acceleration]))

    def size(self, residual: StepResidual) -> tuple[float, float]:
        """Relative residuals of forces and of all levels, which weigh alike as increments."""
        levels = np.concatenate([residual.closing, residual.hidden]).reshape(3, -1)
        reaction = self.reaction(residual, levels[2], float(self.formulas.factors[1, 0]))
        largest = float(np.abs(levels * self.system.constraint_weight).max())
        return max(residual.evaluation.relative, reaction), largest

    def correction(self, unknown: Unknowns, residual: StepResidual, linearization: Linearization) -> Correction:
        """``(delta q, delta lambda, delta Z, delta Y)``; the equations of ``Z`` and ``Y`` are linear and always met."""
        system, squared = self.system, self.h * self.h
        n, m = system.n_free, system.m
        force = squared * system.at_free(residual.evaluation.force)
        rhs = np.concatenate([force, np.zeros(2 * n), residual.closing, residual.hidden])
        solution = linearization.factors.solve(rhs)
        d, Z, Y = (system.spread(part) for part in solution[: 3 * n].reshape(3, n))
        return Correction(d, solution[3 * n : 3 * n + m] / squared, Z, Y)

    def linearize(self, unknown: Unknowns, residual: StepResidual, first: Linearization | None = None) -> Linearization:
        """The matrix of all three levels."""
        system, evaluation, kinematics, squared = self.system, residual.evaluation, self.system.kinematics, self.h**2
        values, T_inv, _ = self.matrix(self, unknown, residual)
        _, dV, dA = self.derivatives(residual)
        nothing, own = np.zeros((system.n, 6, 6)), self.formulas.factors[:2, 6 * system.n :] * (system.order == 2)
        # against corrections, which come in body components of the start
        moved = self.chart.rate_derivatives(residual.place.D, residual.place.node_rates[:2], self.factors)
        turn = kinematics.body_transfer(self.state.R, evaluation.motion.R)
        held = kinematics.body_derivatives(residual.body, np.zeros_like(moved))
        accelerated = np.stack([nothing, moved[1]])
        by_Z, by_Y = ((kinematics.body_derivatives(residual.body, own) - held) @ turn for own in (moved, accelerated))
        Z = RateSensitivities(by_Z[0], own[0]), RateSensitivities(by_Z[1], own[1])
        Y = RateSensitivities(nothing, 0.0 * own[0]), RateSensitivities(by_Y[1], own[1])
        level = AccelerationLevel(system, evaluation, self.h)
        metric = leading_entries(system, self.start)
        entries = {
            (0, 0): values,
            (0, 1): self._with_rows(tangent.rate_entries(system, evaluation, *Z, squared), self._held_rows()),
            (0, 2): tangent.rate_entries(system, evaluation, *Y, squared),
            (1, 1): self._with_rows(metric, tangent.gradients_after(system, evaluation.gradients, Z[0]), self.h),
            (2, 2): self._with_rows(metric, level.by_rates(*Y), squared),
        }
        rows = [flat(tangent.velocity_derivatives(system, evaluation, dV, self.h))]
        rows += [squared * flat(part) for part in (level.gradients(dV, dA), level.by_rates(*Z))]
        return Linearization(system.levels.factor(entries, rows), T_inv)

    def constraint_rows(self, residual: StepResidual, dV: RateSensitivities, dA: RateSensitivities) -> list[Array]:
        """The rows of positions; equations of velocities have none."""
        return [~level[:, None] * B for B, level in self._with_level(residual.evaluation.gradients)]

    def _held_rows(self) -> list[Array]:
        """Rows of ``B Z = 0`` for equations of velocities."""
        return [level[:, None] * B for B, level in self._with_level(self.start.gradients)]

    def _with_level(self, gradients: list[Array]) -> list[tuple[Array, BoolArray]]:
        slices = self.system.constraint_slices
        return [(B, self.system.velocity_level[rows]) for B, rows in zip(gradients, slices, strict=True)]

    def _with_rows(self, entries: Array, rows: list[Array], factor: float = 1.0) -> Array:
        """Entries with other rows of the constraints."""
        first, gradients = self.system.pattern.force_entries, self.system.pattern.gradient_entries
        result = entries.copy()
        result[first : first + gradients] = factor * flat(rows)
        return result
