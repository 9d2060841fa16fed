"""Steps that are cut into many parts: counted, with what cut them, and said at the end of a run.

A step across a kink of a law is taken in parts (``fixed_step.py``), and so are those after it while they follow the
vibrations that it has set off. That makes results right, and runs long: a user wants to know why.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.initial.redundant import listed
from fem_mbs.system.system import Evaluation, System

PART, MANY, TIMES = 0.75, 100, 3.0
"""Share of a step below which it is a part; so many parts, and so many times the whole steps, are said."""


class CutSteps:
    """Counts parts of steps of ``h`` s, and how often which law has changed to the other side of a kink in them."""

    def __init__(self, system: System, evaluation: Evaluation, h: float) -> None:
        self._h = h
        self._asked = [str(owner) for batch in system.batches if batch.asks for owner in batch.owners]
        self._owners = [
            str(owner)
            for k in system.kinked
            for owner in system.batches[k].owners
            for _ in range(system.batches[k].branches(evaluation.contexts[k])[0].size)
        ]
        self._before: Array | None = None
        self._parts, self._whole = 0, 0.0
        self._changes: Counter[str] = Counter()

    def after_step(self, share: float, branches: Array | None) -> None:
        """Count a step, or a share of one, and who has changed sides in it; between jumps steps are shorter."""
        self._parts += share < PART
        self._whole += share
        if self._before is not None and branches is not None and branches.tobytes() != self._before.tobytes():
            self._changes.update({self._owners[k] for k in np.flatnonzero(branches != self._before)})
        self._before = branches

    def warning(self) -> str:
        """How many parts there were, and because of what; empty if they are few."""
        if self._parts < max(MANY, TIMES * self._whole):
            return ""
        if self._changes:
            passed = [f"{owner} ({count})" for owner, count in self._changes.most_common()]
            why = f"laws have passed kinks, so many times: {listed(passed, '; ')}"
        else:
            why = "forces change suddenly, though no law has told of a kink"
            why += f"; functions that may jump: {listed(self._asked, '; ')}" if self._asked else ""
        return (
            f"{self._whole:.3g} steps of {self._h:.3g} s were taken in {self._parts} parts, whose lengths follow the "
            f"local error, because {why}. If that takes too long: let what stops, slips or switches do so over a wider "
            "range (creep of JointFriction, less stiffness, a limit that is not met), damp what it sets off, or take a "
            "smaller step that follows it"
        )
