"""One step of the generalised-alpha method for the index-3 equations.

Bruels, Cardona, Arnold (2012), eqs. 27-32 and Table 1 on the group, eqs. 71-79 in local coordinates, with Newton's
method in the scaled unknowns of Arnold, Cardona, Bruels (2015), eqs. 57-60. Equations of velocities that cannot be
integrated stand beside those of positions.

What an iteration matrix of applied forces alone leaves out (Holzinger, Arnold, Gerstmayr 2024, eqs. 37 and 42).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.alpha.chart import Chart
from fem_mbs.alpha.newmark import Newmark
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, RateSensitivities, State
from fem_mbs.linear.solvers import Factors, LinearSolver
from fem_mbs.newton import Found
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.matrices import mass_product
from fem_mbs.system.system import Evaluation, System

if TYPE_CHECKING:
    from fem_mbs.system.kinematics import Kinematics


def not_applied(problem: Index3Problem, unknown: Unknown, trial: Trial, T_inv: Array) -> tuple[Array, Array]:
    """The derivative of ``W^T (M W q'' + B^T lambda)``, with ``V = W q'``, but for that of ``B``.

    Against body increments, at constant ``q''`` and ``lambda``: the derivatives (n, 6, 6) of ``W q''``, and ``W^-T``
    times those of ``W^T`` times the wrenches in the bracket.
    """
    system, chart, evaluation = problem.system, problem.chart, trial.evaluation
    kinematics, R = chart.kinematics, evaluation.motion.R
    D, second = problem.coordinates(unknown), problem.of_nodes(trial.rates[1])
    acceleration, by_position = chart.frozen(D, second)
    body = kinematics.to_body(R, acceleration)
    wrench = mass_product(system, evaluation, np.append(body, evaluation.motion.uddot))
    wrench += constraints.gradient_transpose_product(system, evaluation.gradients, evaluation.multipliers)
    f = system.nodes_of(wrench)
    of_inertia = _turned(kinematics, body, by_position @ T_inv)
    of_wrench = T_inv.mT @ chart.frozen_transposed(D, kinematics.from_body(R, f)) @ T_inv
    # P^T f turns the other way than P w
    return of_inertia, of_wrench - _turned(kinematics, f, np.zeros_like(of_wrench))


def _turned(kinematics: Kinematics, body: Array, derivative: Array) -> Array:
    """Derivative (n, 6, 6) of ``P w``, given that of ``w``, where body components are ``body``."""
    pair = np.stack([body, np.zeros_like(body)]), np.stack([derivative, np.zeros_like(derivative)])
    result: Array = kinematics.derivatives(*pair)[0]
    return result


class Trial(NamedTuple):
    """A trial of the new state and the equations there."""

    rates: Array
    """First and second time derivative of the increment, and its algorithmic accelerations, ``(3, N)``."""
    lifted: Array
    """Velocities and accelerations of the nodes on the group, ``(2, n, 6)``."""
    body: Array
    """The same in the body frames."""
    evaluation: Evaluation
    closing: Array
    """Right-hand side of the constraint rows: ``Phi``, or ``h (B v - b)`` of equations of velocities, ``(m,)``."""
    hidden: Array
    """``h (B v + Phi_t)``, where the formulation imposes it."""


class Linearization(NamedTuple):
    """The factorised iteration matrix and the inverse tangent operators it was built with."""

    factors: Factors
    T_inv: Array
    velocity_gradients: list[Array] | None = None
    """Derivatives of the constraints on velocities, where the formulation has asked for them."""


ROUNDING = 1e-8
"""Smaller changes of algebraic unknowns, over their size, are rounding: of velocities, or times a gain."""
Unknown: TypeAlias = tuple[Array, ...]
_NONE = np.empty(0)


class Index3Problem:
    """The equations of one step in the increment ``D = h Delta q`` (N,) and the multipliers (m,).

    The increment is one of the coordinates of the chart, the corrections of Newton's method are body increments.
    """

    closes_velocities: ClassVar[bool] = False
    """Whether velocities obey ``B v + Phi_t = 0`` at the end of a step."""
    rough = False
    """See :class:`fem_mbs.newton.Problem`."""

    def __init__(self, system: System, state: State, h: float, formulas: Newmark, chart: Chart, matrix: str) -> None:
        self.system, self.state, self.h = system, state, h
        self.formulas, self.chart, self.matrix = formulas, chart, matrix
        self.t = state.t + h
        self.prescribed = system.prescribe(self.t)
        self.factors = formulas.factors[:2, 0].reshape(2, 1, 1, 1)
        """``gamma'`` and ``beta'``."""
        self.first = chart.width * system.n
        """Number of the first own unknown in increments."""

    @staticmethod
    def solver(system: System) -> LinearSolver:
        """The solver of the iteration matrix."""
        return system.solver

    def eta(self, unknown: Unknown) -> Array | None:
        """Multipliers of the constraints on velocities, of a formulation that has any."""
        return None

    def guess(self, D: Array, multipliers: Array) -> Unknown:
        """All unknowns from a guess of the increment and the multipliers."""
        return D, multipliers

    def newmark_increment(self, unknown: Unknown) -> Array:
        """The increment that the Newmark formulas take: that of the configuration."""
        return unknown[0]

    def coordinates(self, unknown: Unknown) -> Array:
        """Those of the nodes, ``(n, 6)``, or as wide as the chart."""
        return self.of_nodes(unknown[0])

    def place(self, unknown: Unknown) -> tuple[Array, Array, Array, Array]:
        """Positions, rotations, rates of the increment, and group rates ``(2, n, 6)`` at the end of the step."""
        rates = self.formulas.factors * self.newmark_increment(unknown) + self.formulas.constants
        D = self.coordinates(unknown)
        x, R = self.chart.retract(self.state.x, self.state.R, D)
        return x, R, rates, self.chart.lift(D, self.of_nodes(rates[:2]))

    def evaluate(self, unknown: Unknown) -> Trial:
        """Equations at the end of the step."""
        system = self.system
        x, R, rates, lifted = self.place(unknown)
        body = self.chart.kinematics.motion(R, lifted)
        motion = Motion(self.t, x, R, body[0], body[1], system.gravity, *self.own(unknown, rates))
        evaluation = system.evaluate(motion, unknown[1], self.prescribed)
        closing = evaluation.constraint
        if system.has_velocity_level:
            velocity = constraints.velocity_residual(system, evaluation)
            closing = np.where(system.velocity_level, self.h * velocity, closing)
        return Trial(rates, lifted, body, evaluation, closing, _NONE)

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals: of forces, with those that close the constraints at once, and of the constraints."""
        force, constraint = self.system.relative_residual(trial.evaluation)
        if self.system.has_velocity_level:
            constraint = float(np.abs(trial.closing * self.system.constraint_weight).max())
        if self.system.m:
            force = max(force, self.reaction(trial))
        return force, constraint

    def reaction(self, trial: Trial) -> float:
        """Error of the reactions that open constraints stand for, relative to the largest force and moment."""
        return self._reaction(trial, trial.closing, float(self.formulas.factors[1, 0]))

    def _reaction(self, trial: Trial, gap: Array, rate: float) -> float:
        forces, moments = np.abs(self.system.constraint_mass * gap).max(axis=1).tolist()
        scale = trial.evaluation.scale
        return float(rate * max(forces / scale[0], moments / scale[1]))

    def linearize(self, unknown: Unknown, trial: Trial) -> Linearization:
        """Scaled iteration matrix ``[[h^2 (K + gamma' C + beta' M), B^T], [B, 0]]`` in body increments."""
        values, T_inv, _ = self.entries(unknown, trial)
        return Linearization(self.system.solver.factor(tangent.assemble(self.system, values)), T_inv)

    def entries(self, unknown: Unknown, trial: Trial) -> tuple[Array, Array, RateSensitivities | None]:
        """Entries of the matrix, and derivatives of the increment and body velocities against the configuration."""
        system, evaluation = self.system, trial.evaluation
        T_inv, lifted = self._derivatives(unknown, trial)
        own = self.formulas.factors[:2, self.first :]
        if self.matrix == "simplified":
            return (
                tangent.rate_entries(system, evaluation, None, RateSensitivities(lifted[1], own[1]), self.h**2),
                T_inv,
                None,
            )
        dV, dA = self.follow(trial, lifted)
        rows = self.rows(trial, dV, dA)
        if self.matrix == "applied_forces":
            of_inertia, turned = not_applied(self, unknown, trial, T_inv)
            dA = RateSensitivities(dA.nodes - of_inertia, dA.own)
            return tangent.applied_entries(system, evaluation, dV, dA, turned, self.h**2, rows), T_inv, dV
        return tangent.entries(system, evaluation, dV, dA, self.h**2, rows), T_inv, dV

    def follow(self, trial: Trial, lifted: Array) -> tuple[RateSensitivities, RateSensitivities]:
        """How velocities and accelerations follow, from the derivatives ``lifted`` of the group rates."""
        dV, dA = self.chart.kinematics.derivatives(trial.body, lifted)
        if not self.system.k:
            return RateSensitivities(dV), RateSensitivities(dA)
        own = self.formulas.factors[:2, self.first :]
        return RateSensitivities(dV, own[0]), RateSensitivities(dA, own[1])

    def velocity_gradients(self, trial: Trial, dV: RateSensitivities) -> list[Array]:
        """Derivatives ``h d(B v + Phi_t)/d(increment)`` (m, b) of all batches."""
        evaluation = trial.evaluation
        held = constraints.velocity_gradients(self.system, evaluation)
        moved = constraints.gradients_after(self.system, evaluation.gradients, dV)
        return [self.h * (a + b) for a, b in zip(held, moved, strict=True)]

    def correction(self, unknown: Unknown, trial: Trial, linearization: Linearization) -> Unknown:
        """``(delta q, delta lambda)``, scaled as ``(delta q, h^2 delta lambda)`` with ``(h^2 r, Phi)``, eqs. 57-60."""
        system, squared = self.system, self.h * self.h
        right = np.concatenate([squared * system.at_free(trial.evaluation.force), trial.closing])
        solution = linearization.factors.solve(right)
        return system.spread(solution[: system.n_free]), solution[system.n_free :] / squared

    def length(self, correction: Unknown) -> float:
        """Largest increment of the configuration, weighted; algebraic unknowns count like forces, where they matter."""
        sizes = np.abs(correction[0] * self.system.weight)
        if len(algebraic := self.system.algebraic):
            sizes[algebraic] = np.where(sizes[algebraic] > ROUNDING, sizes[algebraic], 0.0)
        return float(np.maximum.reduce(sizes))

    def corrected(
        self, unknown: Unknown, trial: Trial, linearization: Linearization, correction: Unknown, share: float
    ) -> Unknown:
        """The unknowns after a share of a correction."""
        system, d = self.system, correction[0]
        D = np.matvec(linearization.T_inv, system.nodes_of(d))
        D = system.with_own(self.chart.kinematics.from_body(trial.evaluation.motion.R, D), d)
        changes = (D, *correction[1:])
        if share != 1.0:
            changes = tuple(share * change for change in changes)
        return tuple(part - change for part, change in zip(unknown, changes, strict=True))

    def result(self, found: Found[Unknown, Trial, Linearization]) -> tuple[State, Array]:
        """The state at the end of the step, and the algorithmic accelerations ``(N,)``."""
        system, unknown = self.system, found.unknown
        if found.corrected:
            x, R, rates, lifted = self.place(unknown)
        else:
            motion, rates, lifted = found.value.evaluation.motion, found.value.rates, found.value.lifted
            x, R = motion.x, motion.R
        a = self.chart.lift_algorithmic(self.coordinates(unknown), self.of_nodes(rates[::2]))
        state = State(self.t, x, R, lifted[0], lifted[1], unknown[1], *self.own(unknown, rates))
        return state, system.with_own(a, rates[2])

    def own(self, unknown: Unknown, rates: Array) -> tuple[Array, Array, Array]:
        """Own unknowns and their rates."""
        system, state = self.system, self.state
        if not system.k:
            return state.u, state.udot, state.uddot
        first = self.first
        return state.u + unknown[0][first:], rates[0, first:], rates[1, first:]

    def of_nodes(self, values: Array) -> Array:
        """The part ``(..., n, 6)`` of increments or rates ``(..., N)`` that belongs to nodes, as wide as the chart."""
        return values[..., : self.first].reshape(*values.shape[:-1], self.system.n, self.chart.width)

    def _derivatives(self, unknown: Unknown, trial: Trial) -> tuple[Array, Array]:
        if self.matrix == "without_tangent_operator":
            one = np.broadcast_to(np.eye(6), (self.system.n, 6, 6))
            return one, self.factors * one
        return self.chart.derivatives(self.coordinates(unknown), self.of_nodes(trial.rates[:2]), self.factors)

    def rows(self, trial: Trial, dV: RateSensitivities, dA: RateSensitivities) -> list[Array] | None:
        """The rows of the constraints in the matrix if not ``B``: of velocities, the derivative of ``h (B v - b)``."""
        if not self.system.has_velocity_level:
            return None
        moving = zip(
            self.velocity_gradients(trial, dV), trial.evaluation.gradients, self.system.constraint_slices, strict=True
        )
        level = self.system.velocity_level
        return [np.where(level[rows, None], gradient, B) for gradient, B, rows in moving]
