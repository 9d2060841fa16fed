"""Collects the accepted states of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from fem_mbs.result.solution import Outcome, Solution, Stats
from fem_mbs.solve import Report
from fem_mbs.system import State, System


class Recorder:
    """The states and counts of a run under way."""

    def __init__(self, system: System, first: State) -> None:
        self.system = system
        self.states = [first]
        self.failures = 0
        self._reports: list[tuple[int, int, int]] = []

    @property
    def last(self) -> State:
        """The newest accepted state."""
        return self.states[-1]

    def add(self, state: State, report: Report[Any]) -> None:
        """Keep an accepted state."""
        self.states.append(state)
        self._reports.append((report.iterations, report.evaluations, report.factorizations))

    def solution(self, outcome: Outcome, wall_time: float) -> Solution:
        """The solution so far."""
        counts = np.array(self._reports, dtype=np.intp).reshape(-1, 3)
        stats = Stats(counts[:, 0], int(counts[:, 1].sum()), int(counts[:, 2].sum()), self.failures, wall_time)
        return Solution(self.system, self.states, outcome, stats)
