"""One step along a path of equilibria, solved by Newton's method.

The unknowns are the increment ``D`` from the last equilibrium, ``q = q_0 exp(D)``, the multipliers, the load factor and
the stresses. Stresses are internal variables, as multipliers are, with ``sigma = C epsilon(q)`` as their equation;
they are eliminated, so that only the stiffness knows of them: its geometric part has the stresses that the last
correction extrapolates linearly, not those of the trial, which in slender beams stretch far too much on the way
(Magisano, Leonetti, Garcea, *Computer Methods in Applied Mechanics and Engineering* 313, 2017).

Whether the equilibrium is stable follows from the signs of the pivots of its stiffness, by Sylvester's law of inertia
(docs/statics.md, "The method").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array
from fem_mbs.contracts import Report
from fem_mbs.lie import se3
from fem_mbs.linear.direct import Solve
from fem_mbs.newton import Newton
from fem_mbs.newton import solve as newton_solve
from fem_mbs.static.equations import Equations, Point
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import Evaluation, System

UNSYMMETRIC = 1e-3
"""Unsymmetric part of the stiffness, against the largest force per rad, from which loads follow."""
UNSYMMETRIC_ROUNDING = 1e-12
"""The same against the largest stiffness."""
PENALTY = 1e2
"""Stiffness of the constraints against the largest of the model: of no weight for the motions that they allow."""
NEUTRAL = 1e-13
"""Stiffness, against the largest, that tells motions without any from unstable ones; rounding makes 1e-14 of it."""
UNKNOWN = -1


def unstable_motions(equations: Equations, point: Point) -> int:
    """Number of independent motions along which the energy falls; -1 where there is none, as with loads that follow.

    By Sylvester's law of inertia that is the number of negative pivots of ``K + penalty B^T B``.
    """
    system, evaluation = equations.system, equations.evaluate(point)
    if (system.order == 1).any():  # rest of a state does not follow from an energy
        return UNKNOWN
    n = system.n_free
    units = diags_array(1.0 / system.weight[system.free_rows])
    matrix = system.solver.matrix(tangent.assemble(system, equations.entries(evaluation, equations.force_factor)))
    K, B = matrix[:n, :n] @ units, matrix[n:, :n] @ units
    scale = np.append(np.tile(np.repeat(evaluation.scale, 3), system.n), evaluation.own_scale)
    forces = (scale * equations.force_factor)[system.free_rows]
    K = units @ K
    largest = abs(K).max()
    if not np.isfinite(largest):
        return UNKNOWN
    if largest == 0.0:
        return 0
    if (
        abs(K - K.T).max(axis=1).toarray().ravel() > UNSYMMETRIC * units @ forces + UNSYMMETRIC_ROUNDING * largest
    ).any():
        return UNKNOWN
    stiff = 0.5 * (K + K.T) + PENALTY * largest * (B.T @ B) + NEUTRAL * largest * eye_array(n)
    options = {"SymmetricMode": True}
    try:
        lu = splu(csc_array(stiff), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    except RuntimeError:  # exactly singular
        return UNKNOWN
    return UNKNOWN if (lu.perm_r != lu.perm_c).any() else int((lu.U.diagonal() < 0.0).sum())


class Direction(NamedTuple):
    """A direction of increments, multipliers and load factor."""

    D: Array
    multipliers: Array
    load: float

    @classmethod
    def none(cls, system: System) -> Direction:
        """No change."""
        return cls(np.zeros(system.N), np.zeros(system.m), 0.0)

    def times(self, factor: float) -> Direction:
        """The direction times a number."""
        return Direction(factor * self.D, factor * self.multipliers, factor * self.load)


@dataclass(frozen=True)
class Metric:
    """Length of a direction, of which the square is ``sum(weight D^2) + load_weight load^2``."""

    weight: Array
    """``(N,)`` weights of increments, or zeros: then the length is the change of the load factor."""
    load_weight: float

    def product(self, a: Direction, b: Direction) -> float:
        """Scalar product."""
        return float((self.weight * a.D * b.D).sum() + self.load_weight * a.load * b.load)

    def unit(self, a: Direction) -> Direction:
        """The direction of length one."""
        return a.times(1.0 / np.sqrt(self.product(a, a)))


class PathUnknown(NamedTuple):
    """A trial step."""

    increment: Direction
    """Increments from the last equilibrium; multipliers and load factor themselves."""
    stresses: list[Any]


class PathResidual(NamedTuple):
    """Where a step leads, and the equations there."""

    point: Point
    evaluation: Evaluation


class PathLinearization(NamedTuple):
    """The factorised stiffness, tangent operators and the response to the load factor, if that is unknown."""

    solve: Solve
    T_inv: Array
    per_load: tuple[Array, Array] | None


class Arc(NamedTuple):
    """How far to go: a length along a tangent of length one."""

    metric: Metric
    tangent: Direction
    length: float


class StepProblem:
    """The equations of rest near the equilibrium ``base``: at a given load factor, or at a given length of the ``arc``.

    With ``mixed``, stresses are internal variables; without, the stiffness is the derivative of the equations, as
    the line search needs it.
    """

    def __init__(self, equations: Equations, base: Point, arc: Arc | None, mixed: bool) -> None:
        self.equations, self.base, self.arc, self.mixed = equations, base, arc, mixed

    def guess(self, evaluation: Evaluation, ahead: Direction) -> PathUnknown:
        """A first guess a step ahead of the base, where the equations are ``evaluation``."""
        increment = Direction(ahead.D, self.base.multipliers + ahead.multipliers, self.base.load + ahead.load)
        return PathUnknown(increment, self.equations.stresses_ahead(evaluation, increment.D))

    def solve(
        self, evaluation: Evaluation, ahead: Direction, newton: Newton
    ) -> tuple[PathUnknown, PathResidual, Report]:
        """The equilibrium near a step ahead, with the equations there and how it was found."""
        # a diverging iteration overflows before it is stopped
        with np.errstate(over="ignore", invalid="ignore"):
            result = newton_solve(self, self.guess(evaluation, ahead), newton)
            reached = self.evaluate(result.unknown) if result.corrected else result.value
        return result.unknown, PathResidual(*self.equations.settled(*reached)), result.report

    def evaluate(self, unknown: PathUnknown) -> PathResidual:
        """The equations of rest."""
        point = self.base.moved(*unknown.increment)
        return PathResidual(point, self.equations.evaluate(point))

    def size(self, trial: PathResidual) -> tuple[float, float]:
        """Relative residuals."""
        return self.equations.system.relative_residual(trial.evaluation)

    def linearize(
        self, unknown: PathUnknown, trial: PathResidual, first: PathLinearization | None = None
    ) -> PathLinearization:
        """Stiffness in body increments, and the response to the load factor."""
        evaluation, per_load = trial.evaluation, None
        if self.mixed:
            evaluation = self.equations.with_stresses(evaluation, unknown.stresses)
        solve = self.equations.factor(evaluation)
        if self.arc is not None:
            per_load = self.equations.response(solve, self.equations.load_derivative(trial.point))
        return PathLinearization(solve, self.inverse_tangent(unknown), per_load)

    def correction(self, unknown: PathUnknown, trial: PathResidual, linearization: PathLinearization) -> Direction:
        """Increments, multipliers and load factor that solve the linear equations."""
        load_change = 0.0
        d, multipliers = self.equations.response(linearization.solve, self.equations.residual(trial.evaluation))
        if self.arc is not None and linearization.per_load is not None:
            load_change = self._load_change(self.arc, unknown.increment, linearization, d)
            d = d + load_change * linearization.per_load[0]
            multipliers = multipliers + load_change * linearization.per_load[1]
        return Direction(d, multipliers, load_change)

    def length(self, correction: Direction) -> float:
        """Largest increment of the configuration, weighted."""
        return float(np.abs(correction.D * self.equations.system.weight).max())

    def corrected(
        self,
        unknown: PathUnknown,
        trial: PathResidual,
        linearization: PathLinearization,
        correction: Direction,
        step_length: float,
    ) -> PathUnknown:
        """The unknowns after a correction times a step length."""
        increment, (d, multipliers, load_change) = unknown.increment, correction
        moved = Direction(
            increment.D + step_length * self._increment(linearization.T_inv, d),
            increment.multipliers + step_length * multipliers,
            increment.load + step_length * load_change,
        )
        return PathUnknown(moved, self.equations.stresses_ahead(trial.evaluation, step_length * d))

    def _load_change(self, arc: Arc, increment: Direction, linearization: PathLinearization, d: Array) -> float:
        """Change of the load factor with which the corrected step has its length: that equation is eliminated."""
        assert linearization.per_load is not None
        T_inv = linearization.T_inv
        rate = increment._replace(D=self._increment(T_inv, linearization.per_load[0]), load=1.0)
        reached = increment._replace(D=increment.D + self._increment(T_inv, d), load=increment.load - self.base.load)
        missing = arc.length - arc.metric.product(arc.tangent, reached)
        return missing / arc.metric.product(arc.tangent, rate)

    def inverse_tangent(self, unknown: PathUnknown) -> Array:
        """Inverse tangent operators ``(n, 6, 6)`` at a trial step."""
        return se3.inverse_tangent_operator(self.equations.system.nodes_of(unknown.increment.D))

    def _increment(self, T_inv: Array, d: Array) -> Array:
        """The change ``(N,)`` of ``D`` that moves the configuration by ``d`` (N,)."""
        system = self.equations.system
        return np.append(np.matvec(T_inv, system.nodes_of(d)), system.own_of(d))
