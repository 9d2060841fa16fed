"""One step of the generalised-alpha method in classical coordinates, for the index-3 equations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.classical_chart import ClassicalChart, from_world
from fem_mbs.integrate.index3 import Index3Problem, Linearization, Trial, Unknown
from fem_mbs.integrate.local_error import lead
from fem_mbs.integrate.newmark import Newmark
from fem_mbs.solve import Found
from fem_mbs.system import State, System


class End(NamedTuple):
    """Where a step has led to; ``N`` counts classical coordinates and own unknowns."""

    state: State
    c: Array
    """Coordinates of the rotations ``(n, l)``."""
    rates: Array
    """First rates ``(N,)``."""
    lead: Array
    """Highest derivatives ``(N,)``."""
    a: Array
    """Algorithmic accelerations ``(N,)``."""


class ClassicalProblem(Index3Problem):
    """The equations of one step in the increment of classical coordinates and the multipliers."""

    chart: ClassicalChart

    def __init__(
        self, system: System, state: State, h: float, formulas: Newmark, chart: ClassicalChart, matrix: str
    ) -> None:
        super().__init__(system, state, h, formulas, chart, matrix)

    def guess(self, D: Array, multipliers: Array) -> Unknown:
        """All unknowns from a guess, with the constraint of the coordinates."""
        return self._closed(D), multipliers

    def corrected(
        self, unknown: Unknown, trial: Trial, linearization: Linearization, correction: Unknown, share: float
    ) -> Unknown:
        """The unknowns after a share of a correction, with the constraint of the coordinates."""
        D, *rest = super().corrected(unknown, trial, linearization, correction, share)
        return self._closed(D), *rest

    def _closed(self, D: Array) -> Array:
        closed = self.chart.closed(self.of_nodes(D))
        return np.append(closed, D[self.first :])

    def _derivatives(self, unknown: Unknown, trial: Trial) -> tuple[Array, Array]:
        if self.matrix != "without_tangent_operator":
            return super()._derivatives(unknown, trial)
        # H as if it were constant
        one = np.broadcast_to(np.eye(6), (self.system.n, 6, 6))
        return self.chart.inverse(self.coordinates(unknown)), self.factors * one

    def end(self, found: Found[Unknown, Trial, Linearization]) -> End:
        """The state at the end of the step, and its coordinates."""
        system, unknown = self.system, found.unknown
        x, R, rates, lifted = self.place(unknown)
        state = State(self.t, x, R, *from_world(system, R, lifted), unknown[1], *self.own(unknown, rates))
        highest = np.append(rates[1, : self.first], system.own_of(lead(system, state)))
        return End(state, self.chart.rotations(self.coordinates(unknown)), rates[0], highest, rates[2])
