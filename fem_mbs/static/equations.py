"""The equations of rest ``r(q, lambda, load) = 0``, ``Phi(q, load) = 0`` under loads that grow with the load factor.

A step along a path of equilibria is solved by Newton's method. The unknowns are the increment ``D`` from the last
equilibrium, ``q = q_0 exp(D)``, the multipliers, the load factor and the stresses. Stresses are internal variables, as
multipliers are, with ``sigma = C epsilon(q)`` as their equation; they are eliminated, so that only the stiffness knows
of them: its geometric part has the stresses that the last correction extrapolates linearly, not those of the trial,
which in slender beams stretch far too much on the way (Magisano, Leonetti, Garcea, *Computer Methods in Applied
Mechanics and Engineering* 313, 2017).

Whether the equilibrium is stable follows from the signs of the pivots of its stiffness, by Sylvester's law of inertia
(docs/statics.md, "The method").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, Report, State
from fem_mbs.initial.singular import describe_mechanism, handle_repeated
from fem_mbs.lie import se3
from fem_mbs.linear.direct import Solve
from fem_mbs.newton import Iterate, Newton
from fem_mbs.newton import solve as newton_solve
from fem_mbs.solution.history import Instant
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import Evaluation, System, least_norm, refuse_gap

DIFFERENCE = 1e-3
"""Differences of loads are taken over this share of the range of the load factor."""


class Point(NamedTuple):
    """A configuration with its multipliers and load factor."""

    x: Array
    R: Array
    u: Array
    multipliers: Array
    load: float

    @classmethod
    def of(cls, state: State) -> Point:
        """That of a state, whose time is the load factor."""
        return cls(state.x, state.R, state.u, state.multipliers, state.t)

    @classmethod
    def as_built(cls, system: System, load: float) -> Point:
        """That of a system as built."""
        return cls(system.x0, system.R0, system.at_rest().u, np.zeros(system.m), load)

    def moved(self, change: Array) -> Point:
        """The point after a change ``(N + m + 1,)``: ``q exp(D)``, and sums of the multipliers and the load factor.

        ``D`` (N,) are body increments on SE(3), also for nodes that are on R3xSO3 in time: a node that moves along a
        screw stays closer to its neighbours than one that moves along a line. Internal variables follow.
        """
        n = len(self.x)
        D, u, multipliers, load = np.split(change, np.cumsum([6 * n, len(self.u), len(self.multipliers)]))
        R, x = se3.compose(self.R, self.x, *se3.exp(D.reshape(n, 6)))
        return Point(x, R, self.u + u, self.multipliers + multipliers, self.load + float(load[0]))

    def state(self) -> State:
        """The state of a system at rest there, at the time that the load factor is."""
        still, none = np.zeros((len(self.x), 6)), np.zeros_like(self.u)
        return State(self.load, self.x, self.R, still, still, self.multipliers, self.u, none, none)


class Loading(NamedTuple):
    """How loads depend on the load factor, and its range."""

    instant: Instant
    start: float
    end: float


class Equations:
    """The equations of rest of a system whose loads grow.

    They are solved near a point, where drives do not refuse; by default as built, at the start of the loading.
    """

    def __init__(self, system: System, loading: Loading, near: Point | None = None) -> None:
        self.system, self.loading = system, loading
        self.range = abs(loading.end - loading.start)
        self._still, self._none = np.zeros((system.n, 6)), np.zeros(system.k)
        first = self.as_built() if near is None else near._replace(multipliers=np.zeros(system.m))
        stiffest = np.abs(self.entries(self.evaluate(first))[: system.pattern.force_entries]).max(initial=0.0)
        self.force_factor = 1.0 / stiffest if stiffest > 0.0 else 1.0
        """Makes forces comparable with constraint equations in the matrix."""

    def as_built(self) -> Point:
        """The configuration as built, at the start of the loading."""
        return Point.as_built(self.system, self.loading.start)

    def evaluate(self, point: Point) -> Evaluation:
        """Inner forces minus loads, and the constraints; states and coordinates of elements rest."""
        return self.accelerated(point, self._still)

    def accelerated(self, point: Point, A: Array) -> Evaluation:
        """The same with the forces of inertia of accelerations ``A`` (n, 6)."""
        t, factor = self.loading.instant(point.load)
        gravity = factor * self.system.gravity
        motion = Motion(t, point.x, point.R, self._still, A, gravity, point.u, self._none, self._none)
        return self.system.evaluate(motion, point.multipliers, self.system.prescribe(t, factor))

    def settled(self, point: Point, evaluation: Evaluation) -> tuple[Point, Evaluation]:
        """An equilibrium with the multipliers of least norm, where joints repeat each other."""
        if self.system.redundant is None:
            return point, evaluation
        refuse_gap(self.system, evaluation)
        point = point._replace(multipliers=least_norm(self.system, evaluation))
        return point, self.evaluate(point)

    def entries(self, evaluation: Evaluation, force_factor: float = 1.0) -> Array:
        """Entries of ``[[force_factor K, B^T], [B, 0]]`` in body increments."""
        return self.following(tangent.stiffness_entries(self.system, evaluation, force_factor), evaluation)

    def following(self, values: Array, evaluation: Evaluation) -> Array:
        """Entries with the rates that states follow whose equations have no stiffness, as integrals of speeds.

        They are where the motion that led there has left them. Not so bristles, which would hold whatever acts.
        """
        system, at = self.system, 0
        for batch, context, rows in zip(system.batches, evaluation.contexts, system.components, strict=True):
            first, at = at, at + rows.size * rows.shape[1]
            states = system.orders[rows] == 1
            if states.any() and batch not in system.creeps and (C := batch.damping(context)) is not None:
                block = values[first:at].reshape(C.shape)
                block += np.where((states & ~block.any(axis=2))[:, :, None], C, 0.0)
        return values

    def stored(self, evaluation: Evaluation) -> Array:
        """What the solver stores of the matrix."""
        return self.system.solver.stored(self.entries(evaluation, self.force_factor))

    def matrix(self, evaluation: Evaluation) -> csc_array:
        """The matrix."""
        return self.system.solver.matrix(self.stored(evaluation))

    def factor(self, evaluation: Evaluation) -> Solve:
        """Factor the matrix."""
        return self.system.solver.factor(self.stored(evaluation)).solve

    def handle_repeated(self, point: Point, when: str) -> None:
        """Have joints that repeat each other handled, by compliances that are small beside this stiffness."""
        evaluation, system = self.evaluate(point), self.system
        handle_repeated(system, evaluation, self.stored(evaluation), when)
        if system.redundant is not None:
            loads = self.residual(evaluation)[: system.n_free]
            if self.range:
                loads += self.range * self.load_derivative(point)[: system.n_free]
            # the stiffness that joints have by them, which may be all that there is
            system.solver.bound(self.stored(evaluation), system.length * np.abs(loads).max(initial=0.0))

    def mechanism(self, point: Point, where: str) -> str:
        """What makes the stiffness singular at a point, in words; empty if it is regular."""
        return describe_mechanism(self.system, self.stored(self.evaluate(point)), point.R, where)

    def change(self, solution: Array, load: float = 0.0) -> Array:
        """The change ``(N + m + 1,)`` of a point of which solvers know free components and multipliers."""
        n = self.system.n_free
        return np.concatenate([self.system.spread(solution[:n]), solution[n:] / self.force_factor, [load]])

    def response(self, solve: Solve, right: Array, load: float = 0.0) -> Array:
        """The change under forces and gaps, those of ``residual`` and ``load_derivative``."""
        return self.change(-solve(right), load)

    def residual(self, evaluation: Evaluation) -> Array:
        """``(force_factor r, Phi)`` of the free equations."""
        return self.system.residual(evaluation, self.force_factor)

    def imbalance(self, evaluation: Evaluation) -> float:
        """Largest residual force, and moment over the extent, against the largest that made it up; or largest gap.

        Unlike the relative residual of Newton's method it is small where moments are nothing but rounding.
        """
        system = self.system
        as_force = np.array([1.0, 1.0 / system.length])
        free = np.where(system.free, np.abs(system.nodes_of(evaluation.force)), 0.0)
        residual = free.reshape(-1, 2, 3).max(axis=(0, 2)) * as_force
        largest = float(np.multiply(evaluation.scale, as_force).max())
        gap = float(np.abs(evaluation.constraint * system.constraint_weight).max(initial=0.0))
        internal = np.where(system.order >= 0, np.abs(system.own_of(evaluation.force)), 0.0)
        return max(float(residual.max()) / largest, gap, float((internal / evaluation.own_scale).max(initial=0.0)))

    def load_derivative(self, point: Point) -> Array:
        """Derivative of the residual against the load factor, exact for loads that are linear or quadratic in it.

        A central difference; at the start it looks ahead, as laws need not exist before.
        """
        h = DIFFERENCE * (self.loading.end - self.loading.start)
        early = (point.load - self.loading.start) / h < 1.0
        steps, weights = ((0.0, h, 2.0 * h), (-1.5, 2.0, -0.5)) if early else ((-h, h), (-0.5, 0.5))
        parts = [
            (weight / h) * self.residual(self.evaluate(point._replace(load=point.load + step)))
            for step, weight in zip(steps, weights, strict=True)
        ]
        return np.sum(parts, axis=0)

    def stresses_ahead(self, evaluation: Evaluation, d: Array) -> list[Any]:
        """Stresses of all batches after increments, the first ``(N,)`` of ``d``, extrapolated linearly."""
        triples = zip(self.system.batches, evaluation.contexts, self.system.components, strict=True)
        return [batch.stress_ahead(context, d[rows]) for batch, context, rows in triples]

    def with_stresses(self, evaluation: Evaluation, stresses: list[Any]) -> Evaluation:
        """The evaluation for a stiffness at other stresses."""
        triples = zip(self.system.batches, evaluation.contexts, stresses, strict=True)
        return evaluation._replace(contexts=[batch.with_stress(context, stress) for batch, context, stress in triples])


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
    """Number of independent motions along which the energy falls; -1 where there is none, as with loads that follow."""
    evaluation = equations.evaluate(point)
    return negative_pivots(equations, evaluation, equations.stored(evaluation))


def negative_pivots(equations: Equations, evaluation: Evaluation, stored: Array) -> int:
    """The same of an evaluation and what is stored of its matrix.

    By Sylvester's law of inertia that is the number of negative pivots of ``K + penalty B^T B``.
    """
    system = equations.system
    if (system.order == 1).any():  # rest of a state does not follow from an energy
        return UNKNOWN
    n = system.n_free
    units = diags_array(1.0 / system.weight[system.free_rows])
    matrix = system.solver.matrix(stored)
    K, B = matrix[:n, :n] @ units, diags_array(system.constraint_weight) @ matrix[n:, :n] @ units
    scale = np.append(np.tile(np.repeat(evaluation.scale, 3), system.n), evaluation.own_scale)
    forces = (scale * equations.force_factor)[system.free_rows]
    K = units @ K
    largest = abs(K).max()
    if largest == 0.0:
        return 0
    unsymmetric = abs(K - K.T).max(axis=1).toarray().ravel()
    if not (unsymmetric <= UNSYMMETRIC * units @ forces + UNSYMMETRIC_ROUNDING * largest).all():
        return UNKNOWN
    stiff = 0.5 * (K + K.T) + PENALTY * largest * (B.T @ B) + NEUTRAL * largest * eye_array(n)
    options = {"SymmetricMode": True}
    try:
        lu = splu(csc_array(stiff), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    except RuntimeError:  # exactly singular
        return UNKNOWN
    return UNKNOWN if (lu.perm_r != lu.perm_c).any() else int((lu.U.diagonal() < 0.0).sum())


class PathUnknown(NamedTuple):
    """A trial step."""

    change: Array
    """From the last equilibrium, ``(N + m + 1,)``, in contact with the forces there."""
    stresses: list[Any]


class PathResidual(NamedTuple):
    """Where a step leads, and the equations there."""

    point: Point
    evaluation: Evaluation


class PathLinearization(NamedTuple):
    """The factorised stiffness, tangent operators and the response to the load factor, if that is unknown."""

    solve: Solve
    T_inv: Array
    per_load: Array | None


class Arc(NamedTuple):
    """How far to go: a length along a tangent of length one, of which the square is ``sum(weight change^2)``."""

    weight: Array
    tangent: Array
    length: float


class StepProblem:
    """The equations of rest near the equilibrium ``base``: at a given load factor, or at a given length of the ``arc``.

    With ``mixed``, stresses are internal variables; without, the stiffness is the derivative of the equations, as
    the line search needs it.
    """

    by_reactions = False

    def __init__(self, equations: Equations, base: Point, arc: Arc | None, mixed: bool) -> None:
        self.equations, self.base, self.arc, self.mixed = equations, base, arc, mixed
        self.weight = equations.system.weight_at(base.u)

    def guess(self, evaluation: Evaluation, ahead: Array | None = None) -> PathUnknown:
        """A first guess a change ``ahead`` of the base, where the equations are ``evaluation``."""
        if ahead is None:
            ahead = np.zeros(self.equations.system.N + self.equations.system.m + 1)
        return PathUnknown(ahead, self.equations.stresses_ahead(evaluation, ahead))

    def solve(
        self, evaluation: Evaluation, newton: Newton, ahead: Array | None = None
    ) -> tuple[PathUnknown, PathResidual, Report]:
        """The equilibrium near a change ahead, with the equations there and how it was found."""
        unknown, reached, report = self.solved(self.guess(evaluation, ahead), newton)
        return unknown, PathResidual(*self.equations.settled(*reached)), report

    def solved(self, guess: PathUnknown, newton: Newton) -> tuple[PathUnknown, Any, Report]:
        """The solution from a guess, the equations there, and how it was found."""
        # a diverging iteration overflows before it is stopped
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            result = newton_solve(self, guess, newton)
            reached = self.evaluate(result.unknown) if result.corrected else result.value
        return result.unknown, reached, result.report

    def evaluate(self, unknown: PathUnknown) -> PathResidual:
        """The equations of rest."""
        point = self.base.moved(unknown.change)
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
            per_load = self.equations.response(solve, self.equations.load_derivative(trial.point), 1.0)
        return PathLinearization(solve, self.inverse_tangent(unknown), per_load)

    def correction(self, unknown: PathUnknown, trial: PathResidual, linearization: PathLinearization) -> Array:
        """The change, in body increments at the trial step, that solves the linear equations.

        With a length given, the change of the load factor is eliminated by it.
        """
        change = self.equations.response(linearization.solve, self.equations.residual(trial.evaluation))
        if self.arc is not None and linearization.per_load is not None:
            T_inv, along = linearization.T_inv, self.arc.weight * self.arc.tangent
            missing = self.arc.length - along @ (unknown.change + self._increment(T_inv, change))
            change += missing / (along @ self._increment(T_inv, linearization.per_load)) * linearization.per_load
        return change

    def length(self, correction: Array) -> float:
        """Largest increment of the configuration, weighted."""
        return float(np.abs(correction[: len(self.weight)] * self.weight).max(initial=0.0))

    def corrected(
        self, at: Iterate[PathUnknown, PathResidual, PathLinearization], correction: Array, step_length: float
    ) -> PathUnknown:
        assert at.linearization is not None
        moved = at.unknown.change + step_length * self._increment(at.linearization.T_inv, correction)
        return PathUnknown(moved, self.equations.stresses_ahead(at.value.evaluation, step_length * correction))

    def inverse_tangent(self, unknown: PathUnknown) -> Array:
        """Inverse tangent operators ``(n, 6, 6)`` at a trial step."""
        return se3.inverse_tangent_operator(self.equations.system.nodes_of(unknown.change))

    def _increment(self, T_inv: Array, change: Array) -> Array:
        """A change by body increments at the trial step as one of ``D``."""
        nodes = np.matvec(T_inv, self.equations.system.nodes_of(change)).ravel()
        return np.append(nodes, change[len(nodes) :])
