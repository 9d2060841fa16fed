"""One step of the generalised-alpha method with constraints on positions and on velocities, at the cost of index 3.

As in the stabilisation of Gear, Gupta and Leimkuhler (Arnold, Cardona, Bruels 2015, eq. 55), the increment ``D`` of the
configuration leaves that of the Newmark formulas, ``D = N + Z``, so that ``Phi(q) = 0`` and ``B v + Phi_t = 0`` both
hold. Here ``Z`` is what forces along the constraints do to the structure within the step, ``S (Z, .) = (0, zeta)`` with
the iteration matrix ``S`` of index 3: its mass and its stiffness decide which way the configuration goes, and one
factorisation serves all unknowns (docs/theory.md, "Constraints on velocities").
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from fem_mbs.alpha.chart import Chart
from fem_mbs.alpha.index3 import Index3Problem, Linearization, Trial, Unknown
from fem_mbs.alpha.newmark import Newmark
from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.initial.projection import from_body
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.matrices import rate_product, solve_with_constraints
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import System

INERT = 0.05
"""UnitInterval of inertia in the resistance against ``Z`` above which it is worth a solution of its own."""


class StabilizedProblem(Index3Problem):
    """The equations of one step in the increment, the multipliers and ``Z`` (N,)."""

    closes_velocities: ClassVar[bool] = True

    def __init__(self, system: System, state: State, h: float, formulas: Newmark, chart: Chart, matrix: str) -> None:
        super().__init__(system, state, h, formulas, chart, matrix)
        self._per_rate = ~system.velocity_level / (h * formulas.factors[0, 0])
        """``B delta Z`` per ``h (B v + Phi_t)``."""
        self._along: tuple[Linearization, Array] | None = None
        """The first matrix and the rotations there: within a step the directions of ``Z`` stay, and it is unique."""
        self._inert = 0.0

    def guess(self, D: Array, multipliers: Array) -> Unknown:
        """That of index 3, and ``Z = 0``."""
        return D, multipliers, np.zeros(self.system.N)

    def newmark_increment(self, unknown: Unknown) -> Array:
        """``D - Z``."""
        return unknown[0] - unknown[2]

    def evaluate(self, unknown: Unknown) -> Trial:
        """Those of index 3, and the constraint on velocities."""
        trial = super().evaluate(unknown)
        return trial._replace(hidden=self.h * constraints.velocity_residual(self.system, trial.evaluation))

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals; the constraint on velocities times the step is compared with that on positions."""
        force, constraint = super().size(trial)
        return force, max(constraint, float(np.abs(trial.hidden * self.system.constraint_weight).max()))

    def reaction(self, trial: Trial) -> float:
        """That of velocities off their constraints: accelerations follow velocities."""
        gamma, beta = self.formulas.factors[:2, 0].tolist()
        return self._reaction(trial, trial.hidden, beta / (gamma * self.h))

    def linearize(self, unknown: Unknown, trial: Trial) -> Linearization:
        """The matrix of index 3, and how the constraints on velocities change."""
        values, T_inv, dV = self.entries(unknown, trial)
        factors = self.system.solver.factor(tangent.assemble(self.system, values))
        G = self._velocity_gradients(unknown, trial) if dV is None else self.velocity_gradients(trial, dV)
        return Linearization(factors, T_inv, G)

    def correction(self, unknown: Unknown, trial: Trial, linearization: Linearization) -> Unknown:
        """``(delta q, delta lambda, delta Z)``.

        That of index 3, then the ``delta Z`` that velocities still miss, whose inertia acts back on the first. This
        goes round once, unless inertia is so small a share that the correction is ``rough``; of what is left, inertia
        is taken to act along the constraints by the share that it has had.
        """
        system, squared, factors = self.system, self.h * self.h, linearization.factors
        d, multipliers = solve_with_constraints(system, factors, squared * trial.evaluation.force, trial.closing)
        G = linearization.velocity_gradients or self._velocity_gradients(unknown, trial)
        missed = self._per_rate * (self._rates(G, d) - trial.hidden)
        self._along = self._along or (linearization, trial.evaluation.motion.R)
        along, R = self._along
        solve = partial(solve_with_constraints, system, along.factors, np.zeros(system.N))
        z, push = solve(missed)
        z = self._increment(along, z)
        self.rough = not self._resistance(z) > INERT * -(missed @ push)
        if not self.rough:
            inertia = squared * self._inertia(unknown, trial, z)
            d_more, more = solve_with_constraints(system, factors, inertia, np.zeros(system.m))
            d, multipliers = d + d_more, multipliers + more
            self._inert = -float(more @ push) / float(push @ push or 1.0)
            z_more, push = solve(self._per_rate * self._rates(G, d_more))
            z = z + self._increment(along, z_more)
        return d, (multipliers - self._inert * push) / squared, from_body(system, R, z)

    def length(self, correction: Unknown) -> float:
        """Largest increment of the configuration or of ``Z``, weighted."""
        return max(super().length(correction), super().length(correction[2:]))

    def _rates(self, gradients: list[Array], d: Array) -> Array:
        """Change (m,) of ``h (B v + Phi_t)`` with a correction ``d`` (N,) of the configuration and its increment."""
        pairs = zip(gradients, self.system.gradient_components, strict=True)
        return flat([np.vecdot(gradient, d[rows]) for gradient, rows in pairs])

    def _velocity_gradients(self, unknown: Unknown, trial: Trial) -> list[Array]:
        """The same as with a new matrix, for one that was kept."""
        dV, _ = self.follow(trial, self._derivatives(unknown, trial)[1])
        return self.velocity_gradients(trial, dV)

    def _increment(self, along: Linearization, z: Array) -> Array:
        """``delta Z`` (N,) in coordinates of the chart; own unknowns without velocities stay on their formulas."""
        system = self.system
        z = system.with_own(self.chart.from_velocities(along.T_inv, system.nodes_of(z)), z)
        if system.k:
            system.own_of(z)[system.order < 2] = 0.0
        return z

    def _resistance(self, z: Array) -> float:
        """Estimate of ``h^2 beta' z.M z``."""
        inert = float((self.system.diagonal_mass * z) @ z)
        return self.h**2 * float(self.formulas.factors[1, 0]) * inert

    def _inertia(self, unknown: Unknown, trial: Trial, z: Array) -> Array:
        """``(gamma' C + beta' M) z`` (N,) of a change of the Newmark increment."""
        system = self.system
        D, rates = system.nodes_of(unknown[0]), self.of_nodes(trial.rates[:2])
        lifted = self.chart.rate_changes(D, rates, self.factors, system.nodes_of(z))
        changes = system.kinematics.change(trial.body, lifted).reshape(2, -1)
        if system.k:
            own = self.formulas.factors[:2, 6 * system.n :] * system.own_of(z)
            changes = np.concatenate([changes, own], axis=1)
        return rate_product(system, trial.evaluation, *changes)
