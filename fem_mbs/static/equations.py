"""The equations of rest ``r(q, lambda, load) = 0``, ``Phi(q, load) = 0`` under loads that grow with the load factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import se3
from fem_mbs.model import Motion
from fem_mbs.system import Evaluation, Solve, State, System

DIFFERENCE = 1e-3
"""Differences of loads are taken over this share of the range of the load factor."""


class Point(NamedTuple):
    """A configuration with its multipliers and load factor."""

    x: Array
    R: Array
    multipliers: Array
    load: float

    def moved(self, D: Array, multipliers: Array, load: float) -> Point:
        """The configuration ``q exp(D)`` with new multipliers and load factor.

        ``D`` (n, 6) are body increments on SE(3), also for nodes that are on R3xSO3 in time: a node that moves along a
        screw stays closer to its neighbours than one that moves along a line.
        """
        R, x = se3.compose(self.R, self.x, *se3.exp(D))
        return Point(x, R, multipliers, load)

    def state(self) -> State:
        """The state of a system at rest there, at the time that the load factor is."""
        still = np.zeros((len(self.x), 6))
        return State(self.load, self.x, self.R, still, still, still, self.multipliers)


Instant = Callable[[float], tuple[float, float]]
"""What a load factor means: the time of loads and drives that are functions of time, and the factor of constant loads
and of gravity."""


class Loading(NamedTuple):
    """How loads depend on the load factor, and its range."""

    instant: Instant
    start: float
    end: float


def proportional(load: float) -> tuple[float, float]:
    """Constant loads and gravity grow with the load factor."""
    return load, load


def constant(load: float) -> tuple[float, float]:
    """Constant loads and gravity act in full."""
    return load, 1.0


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
        self._still = np.zeros((system.n, 6))
        self._none = np.zeros((system.n, 6, 6))
        built = self.evaluate(Point(system.x0, system.R0, np.zeros(system.m), loading.start))
        stiffest = np.abs(self.entries(built)[: system.force_entries]).max(initial=0.0)
        self.force_factor = 1.0 / stiffest if stiffest > 0.0 else 1.0
        """Makes forces comparable with constraint equations in the matrix."""

    def evaluate(self, point: Point) -> Evaluation:
        """Inner forces minus loads, and the constraints."""
        t, factor = self.loading.instant(point.load)
        motion = Motion(t, point.x, point.R, self._still, self._still, factor * self.system.gravity)
        return self.system.evaluate(motion, point.multipliers, self.system.prescribe(t, factor))

    def entries(self, evaluation: Evaluation, force_factor: float = 1.0) -> Array:
        """Entries of ``[[force_factor K, B^T], [B, 0]]`` in body increments."""
        return self.system.entries(evaluation, self._none, self._none, force_factor)

    def factor(self, evaluation: Evaluation) -> Solve:
        """Factor the matrix."""
        return self.system.factor(self.system.assemble(self.entries(evaluation, self.force_factor)))

    def response(self, solve: Solve, right: Array) -> tuple[Array, Array]:
        """Body increments and multipliers under forces and gaps, those of ``residual`` and ``load_derivative``."""
        increments, multipliers = self.system.increments(-solve(right))
        return increments, multipliers / self.force_factor

    def residual(self, evaluation: Evaluation) -> Array:
        """``(force_factor r, Phi)`` of the free equations."""
        return self.system.residual(evaluation, self.force_factor)

    def imbalance(self, evaluation: Evaluation) -> float:
        """Largest residual force, and moment over the extent, against the largest that made it up; or largest gap.

        Unlike the relative residual of Newton's method it is small where moments are nothing but rounding.
        """
        system = self.system
        as_force = np.array([1.0, 1.0 / system.length])
        free = np.where(system.free, np.abs(evaluation.force.reshape(-1, 6)), 0.0)
        residual = free.reshape(-1, 2, 3).max(axis=(0, 2)) * as_force
        largest = float((evaluation.scale * as_force).max())
        gap = float(np.abs(evaluation.constraint * system.constraint_weight).max(initial=0.0))
        return max(float(residual.max()) / largest if largest > 0.0 else 0.0, gap)

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
        """Stresses of all batches after body increments ``d`` (n, 6), extrapolated linearly."""
        return [
            batch.stress_ahead(context, d[batch.nodes].reshape(len(batch.nodes), -1))
            for batch, context in zip(self.system.batches, evaluation.contexts, strict=True)
        ]

    def with_stresses(self, evaluation: Evaluation, stresses: list[Any]) -> Evaluation:
        """The evaluation for a stiffness at other stresses."""
        triples = zip(self.system.batches, evaluation.contexts, stresses, strict=True)
        return evaluation._replace(contexts=[batch.with_stress(context, stress) for batch, context, stress in triples])
