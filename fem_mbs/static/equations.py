"""The equations of rest ``r(q, lambda, load) = 0``, ``Phi(q, load) = 0`` under loads that grow with the load factor.

docs/statics.md, "The method".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, State
from fem_mbs.initial.singular import describe_mechanism
from fem_mbs.lie import se3
from fem_mbs.linear.direct import Solve
from fem_mbs.solution.history import Instant
from fem_mbs.system import matrices as tangent
from fem_mbs.system.sizes import least_norm, refuse_gap
from fem_mbs.system.system import Evaluation, System

DIFFERENCE = 1e-3
"""Differences of loads are taken over this share of the range of the load factor."""


class Point(NamedTuple):
    """A configuration with its multipliers and load factor."""

    x: Array
    R: Array
    u: Array
    multipliers: Array
    load: float

    def moved(self, D: Array, multipliers: Array, load: float) -> Point:
        """The configuration ``q exp(D)`` with new multipliers and load factor.

        ``D`` (N,) are body increments on SE(3), also for nodes that are on R3xSO3 in time: a node that moves along a
        screw stays closer to its neighbours than one that moves along a line. Internal variables follow.
        """
        n = len(self.x)
        R, x = se3.compose(self.R, self.x, *se3.exp(D[: 6 * n].reshape(n, 6)))
        return Point(x, R, self.u + D[6 * n :], multipliers, load)

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
    """The equations of rest of a system.

    Parameters
    ----------
    system : System
        The frozen model.
    loading : Loading
        How its loads grow.
    """

    def __init__(self, system: System, loading: Loading) -> None:
        self.system, self.loading = system, loading
        self.range = abs(loading.end - loading.start)
        self._still, self._none = np.zeros((system.n, 6)), np.zeros(system.k)
        stiffest = np.abs(self.entries(self.evaluate(self.as_built()))[: system.pattern.force_entries]).max(initial=0.0)
        self.force_factor = 1.0 / stiffest if stiffest > 0.0 else 1.0
        """Makes forces comparable with constraint equations in the matrix."""

    def as_built(self) -> Point:
        """The configuration as built, at the start of the loading."""
        system = self.system
        return Point(system.x0, system.R0, system.u0, np.zeros(system.m), self.loading.start)

    def evaluate(self, point: Point) -> Evaluation:
        """Inner forces minus loads, and the constraints; states and coordinates of elements rest."""
        t, factor = self.loading.instant(point.load)
        gravity = factor * self.system.gravity
        motion = Motion(t, point.x, point.R, self._still, self._still, gravity, point.u, self._none, self._none)
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
        return tangent.stiffness_entries(self.system, evaluation, force_factor)

    def factor(self, evaluation: Evaluation) -> Solve:
        """Factor the matrix."""
        return tangent.factorized(self.system, self.entries(evaluation, self.force_factor)).solve

    def mechanism(self, point: Point, where: str) -> str:
        """What makes the stiffness singular at a point, in words; empty if it is regular."""
        entries = self.entries(self.evaluate(point), self.force_factor)
        return describe_mechanism(self.system, tangent.assemble(self.system, entries), point.R, where)

    def response(self, solve: Solve, right: Array) -> tuple[Array, Array]:
        """Increments ``(N,)`` and multipliers under forces and gaps, those of ``residual`` and ``load_derivative``."""
        solution, n = -solve(right), self.system.n_free
        return self.system.spread(solution[:n]), solution[n:] / self.force_factor

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
        total: Array = np.sum(parts, axis=0)
        return total

    def stresses_ahead(self, evaluation: Evaluation, d: Array) -> list[Any]:
        """Stresses of all batches after increments ``d`` (N,), extrapolated linearly."""
        triples = zip(self.system.batches, evaluation.contexts, self.system.components, strict=True)
        return [batch.stress_ahead(context, d[rows]) for batch, context, rows in triples]

    def with_stresses(self, evaluation: Evaluation, stresses: list[Any]) -> Evaluation:
        """The evaluation for a stiffness at other stresses."""
        triples = zip(self.system.batches, evaluation.contexts, stresses, strict=True)
        return evaluation._replace(contexts=[batch.with_stress(context, stress) for batch, context, stress in triples])
