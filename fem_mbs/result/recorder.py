"""Collects the accepted states of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.result.interpolate import interpolate
from fem_mbs.result.solution import Outcome, Solution, Stats
from fem_mbs.solve import Report
from fem_mbs.system import State, System


class Recorder:
    """The states and counts of a run under way.

    With ``times`` it keeps the states at these times, interpolated along the group, in place of those of the steps.
    """

    def __init__(self, system: System, first: State, times: Array | None = None) -> None:
        self.system = system
        self.last = first
        self.failed = self.rejected = 0
        self.events: Sequence[list[State]] = ()
        self._times = times
        self._states = [first] if times is None or times[0] == first.t else []
        self._steps: list[float] = []
        self._reports: list[tuple[int, int, int]] = []

    def add(self, state: State, report: Report[Any]) -> None:
        """Keep an accepted state."""
        first, self.last = self.last, state
        self._steps.append(state.t - first.t)
        self._reports.append((report.iterations, report.evaluations, report.factorizations))
        if self._times is None:
            self._states.append(state)
            return
        while (done := len(self._states)) < len(self._times) and self._times[done] <= state.t:
            t = float(self._times[done])
            self._states.append(state if t == state.t else interpolate(self.system, first, state, t))

    def solution(self, outcome: Outcome, wall_time: float) -> Solution:
        """The solution so far."""
        counts = np.array(self._reports, dtype=np.intp).reshape(-1, 3)
        stats = Stats(
            counts[:, 0],
            int(counts[:, 1].sum()),
            int(counts[:, 2].sum()),
            self.failed,
            self.rejected,
            np.array(self._steps),
            wall_time,
        )
        return Solution(self.system, self._states or [self.last], outcome, stats, self.events)
