"""The default formulation: constraints on positions and on velocities, at the cost of index 3. It is in no paper.

*What is asked.* As in the stabilisation of Gear, Gupta and Leimkuhler (Arnold, Cardona, Bruels 2015, eq. 55), the
increment of the configuration leaves that of Newmark's formulas, ``D = N + Z``, so that both levels hold,

    M vdot + g(q, v) + f(q, q') + B^T lambda = 0,    Phi(q) = 0,    B v + Phi_t = 0,
    v = v* + gamma' N,    vdot = beta' N,    q' = v + Z/h.

*Which velocities.* Newmark's formulas err by ``h^3 tau`` in a step, and ``Z`` takes that part of it away which the
constraints do not allow: the configuration moves at ``v + Z/h``. Inertia forces ``M vdot + g`` and the constraints are
about ``v``; all other forces ``f``, dampers and controllers, are given the rate at which the configuration really
moves. With ``v`` they would err by ``C Z/h``, of order ``h^2`` too, but multiplied by the damping over the mass.

There ``Z = B^T(q_n) eta`` needs a larger matrix, and goes where light parts are. Here ``Z`` is what a force along the
constraints does to the structure within the step,

    S (Z, .) = (0, zeta),    S = [[h^2 (K + gamma' C + beta' M), B^T], [B, 0]],

with the iteration matrix ``S`` of index 3: mass and stiffness of the structure decide which way it goes, no new matrix
is factorised, and ``m`` numbers ``zeta`` are as many as the new equations.

*How it is solved.* With ``d`` the correction of index 3 for the residuals ``(h^2 r, Phi)``, where ``r`` is that of the
equations of motion, and ``G`` the derivative of ``h (B v + Phi_t)`` against increments of the configuration, velocities
still miss ``G d - h (B v + Phi_t)``. As ``v`` follows ``N = D - Z`` by ``gamma'``, a change of ``Z`` changes
``h (B v + Phi_t)`` by ``-h gamma' B delta Z``: one more solution with ``S`` and
``zeta = (G d - h (B v + Phi_t))/(h gamma')`` gives ``delta Z``. It takes ``N`` back and adds to ``q'``, so that
``(h^2 (gamma' C + beta' M) - h C_f) delta Z``, with the share ``C_f`` of ``f`` in ``C``, is missing in the equations of
motion: a second round with this force corrects ``d``, ``lambda`` and ``Z``. What is left is of second order in the
ratio of inertia and damping within a step to stiffness; damping is worth a third round. Directions of ``Z`` are those
of the first matrix of a step: they stay, so that ``Z`` is unique. The first trial has a guess of ``Z`` which does not
go along them: the first correction takes it back and finds it anew, so that only the difference sets inertia free.

docs/theory.md, "Constraints on velocities", has orders and stability.

:class:`Index2Equations` is the stabilisation of Gear, Gupta and Leimkuhler itself, with the larger matrix.
"""

from __future__ import annotations

from dataclasses import replace
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
from fem_mbs.contracts import Motion, RateSensitivities, State
from fem_mbs.linear.solvers import LinearSolver
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.kinematics import Chart
from fem_mbs.system.matrices import gradient_product, rate_product, solve_with_constraints
from fem_mbs.system.pattern import TINY, flat
from fem_mbs.system.system import System

ROUNDS = 1, 2
"""Further rounds, and where forces depend on velocities."""


class StabilizedEquations(StepEquations):
    """The equations of one step in the increment, the multipliers and ``Z`` (N,)."""

    closes_velocities: ClassVar[bool] = True
    further: ClassVar[tuple[str, ...]] = ("Z",)

    def motion_of_forces(self, unknown: Unknowns, place: StepKinematics, motion: Motion) -> Motion:
        """Inertia forces go by ``v``, all others by the rates of the configuration, ``v + T(D) Z/h``."""
        system = self.system
        if not np.count_nonzero(unknown.Z):
            return motion
        V = motion.V + self.chart.kinematics.to_body(place.R, self._per_step(place, unknown.Z))
        udot = motion.udot + system.own_of(unknown.Z) / self.h if system.k else motion.udot
        return replace(motion, V=V, udot=udot, momentum=motion)

    def linearize(self, unknown: Unknowns, residual: StepResidual, first: Linearization | None = None) -> Linearization:
        """The matrix of index 3, how the constraints on velocities change, and the directions of ``Z``."""
        values, T_inv, dV = self.matrix(self, unknown, residual)
        factors = self.system.solver.factorized(values)
        if first is None:
            directions = factors, T_inv, residual.evaluation.motion.R
        else:
            assert first.directions is not None
            directions = first.directions
        G = tangent.velocity_derivatives(self.system, residual.evaluation, dV, self.h)
        return Linearization(factors, T_inv, G, directions)

    def correction(self, unknown: Unknowns, residual: StepResidual, linearization: Linearization) -> Correction:
        """``(delta q, delta lambda, delta Z)``.

        What a last ``delta Z`` leaves of inertia is taken to act along the constraints, by its share in the resistance.
        """
        system, squared, factors = self.system, self.h**2, linearization.factors
        G = linearization.velocity_gradients
        if G is None:  # of a matrix that was kept over steps
            G = tangent.velocity_derivatives(system, residual.evaluation, self.derivatives(residual)[1], self.h)
        per_rate = 1.0 / (self.h * self.gamma_prime)
        if system.has_velocity_level:
            per_rate = per_rate * ~system.velocity_level
        hidden, place, back = residual.hidden, residual.place, None
        if len(unknown.guessed):
            guess = unknown.guessed * unknown.Z
            nodes = self.chart.kinematics.to_body(place.R, guess[: 6 * system.n].reshape(-1, 6))
            rates = self.chart.rate_changes(place.D, place.node_rates[:2], self.factors, nodes)[0].reshape(-1)
            back = nodes.reshape(-1)
            if system.k:
                own = system.own_of(guess)
                back, rates = np.append(back, own), np.append(rates, self.own_factors[0] * own)
            hidden = hidden + self.h * gradient_product(system, residual.evaluation.gradients, rates)
        d, multipliers = solve_with_constraints(system, factors, squared * residual.evaluation.force, residual.closing)
        missed = per_rate * (gradient_product(system, G, d) - hidden)
        Z, push = self.along_constraints(linearization, missed)
        work, resistance = -np.dot(missed, push), squared * self.beta_prime * np.dot(system.diagonal_mass * Z, Z)
        share, change = resistance / max(resistance, abs(work), TINY), Z
        if back is not None:
            change, push = Z + back, (1.0 - unknown.guessed) * push
        for _ in range(ROUNDS[system.damps]):
            force = squared * self._missing(residual, change)
            d_more, more = solve_with_constraints(system, factors, force, None)
            d, multipliers = d + d_more, multipliers + more
            change, push = self.along_constraints(linearization, per_rate * gradient_product(system, G, d_more))
            Z = Z + change
        assert linearization.directions is not None
        R = linearization.directions[2]
        moved = self.chart.kinematics.from_body(R, Z[: 6 * system.n].reshape(-1, 6)).reshape(-1)
        Z = np.append(moved, Z[6 * system.n :]) if system.k else moved
        Z = Z if back is None else guess + Z
        return Correction(d, (multipliers - share * push) / squared, Z)

    def along_constraints(self, linearization: Linearization, gaps: Array) -> tuple[Array, Array]:
        """``delta Z`` (N,) that closes gaps ``(m,)``, in coordinates of the chart, and the multipliers that push it.

        Variables without velocities stay on their formulas.
        """
        assert linearization.directions is not None
        system, (factors, T_inv, _) = self.system, linearization.directions
        z, push = solve_with_constraints(system, factors, None, gaps)
        Z = self.chart.from_velocities(T_inv, z[: 6 * system.n].reshape(-1, 6)).reshape(-1)
        if system.k:
            Z = np.append(Z, np.where(system.order < 2, 0.0, z[6 * system.n :]))
        return Z, push

    def _missing(self, residual: StepResidual, z: Array) -> Array:
        """``(gamma' C + beta' M) z`` (N,) of a change of Newmark's increment, less ``C z/h`` of what is not inertia."""
        system, place = self.system, residual.place
        lifted = self.chart.rate_changes(place.D, place.node_rates[:2], self.factors, z[: 6 * system.n].reshape(-1, 6))
        changes = system.kinematics.change(residual.body, lifted).reshape(2, -1)
        if system.k:
            own = self.formulas.factors[:2, 6 * system.n :] * system.own_of(z)
            changes = np.concatenate([changes, own], axis=1)
        velocities, accelerations = changes
        rates = velocities
        if system.damps:
            rates = velocities - system.with_own(self._per_step(place, z), z / self.h)
        return rate_product(system, residual.evaluation, rates, accelerations, velocities)

    def _per_step(self, place: StepKinematics, Z: Array) -> Array:
        """``T(D) Z/h`` (n, 6): velocities of the nodes of coordinates of the chart that change by ``Z`` in a step."""
        nodes, once = Z[: 6 * self.system.n].reshape(-1, 6), np.array([1.0 / self.h, 0.0]).reshape(2, 1, 1, 1)
        return self.chart.rate_changes(place.D, place.node_rates[:2], once, nodes)[0]


class Index2Equations(StepEquations):
    """The equations of one step in the increment, the multipliers and ``h eta``: the stabilised form of index 2.

    Gear, Gupta and Leimkuhler; Arnold, Cardona, Bruels (2015), eqs. 55, 56, 61, 62: the velocity obeys its own
    constraint ``B v + Phi_t = 0``, at the price of a second set of multipliers, ``Delta q = Delta q_Newmark - B^T(q_n)
    eta``.
    """

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
        return force, float(np.maximum(constraint, hidden))

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
