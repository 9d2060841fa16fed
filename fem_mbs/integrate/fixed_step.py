"""Steps of equal length, halved where one fails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from fem_mbs.errors import ModelError
from fem_mbs.integrate.method import Method
from fem_mbs.integrate.step_control import Plan

MAX_HALVINGS = 8
MAX_STEPS = 10_000_000
LEFT_OVER = 1e-6
"""A rest of this share of a step is rounding and goes to the step before."""


class Grid(NamedTuple):
    """Where a run with equal steps stands."""

    begin: float
    """Time in s at which it began, or started anew."""
    target: int
    """Number of the next step."""
    halvings: int
    h: float
    """Length of steps: the nominal one, or a little less so that a whole number of them leads to the next jump."""


@dataclass(frozen=True)
class FixedStep:
    """Steps of ``h`` s, the last one cut to end with the run; between jumps, equal steps of at most ``h``.

    A step that fails is tried again with half the length, at most ``MAX_HALVINGS`` times; the nominal length returns
    with the next nominal step.
    """

    Memory: ClassVar[type] = Grid

    h: float

    def begin(self, method: Method, t: float, t_end: float) -> tuple[Grid, float]:
        """At the start of a run, and the first step."""
        count = (t_end - t) / self.h
        if count > MAX_STEPS:
            raise ModelError(
                f"simulate: t_end = {t_end:g} s in steps of {self.h:g} s are {count:.1e} steps, more than can be kept "
                f"({MAX_STEPS:.0e}); look at the units"
            )
        return Grid(t, 1, 0, self.h), min(self.h, t_end - t)

    def stretch(self, memory: Grid, t: float, jump: float) -> tuple[Grid, float]:
        """Equal steps to the next jump."""
        h = self.h if jump == math.inf else (jump - t) / max(1, math.ceil((jump - t) / self.h - LEFT_OVER))
        return Grid(t, 1, 0, h), h

    def plan(self, memory: Grid, t: float, t_end: float) -> Plan | None:
        """The rest of the nominal step, or a part of it."""
        begin, target, halvings, h = memory
        last = max(1, math.ceil((t_end - begin) / h - LEFT_OVER))
        if target > last or t >= t_end:
            return None
        end = t_end if target == last else begin + target * h
        part = (end - begin - (target - 1) * h) * 0.5**halvings
        rest = end - t
        # what is left of a step by rounding is no step
        return Plan(rest, end) if rest <= (1.0 + LEFT_OVER) * part else Plan(part, None)

    def failed(self, memory: Grid, plan: Plan) -> Grid | None:
        """Halve the step."""
        return None if memory.halvings == MAX_HALVINGS else memory._replace(halvings=memory.halvings + 1)

    def judge(self, memory: Grid, plan: Plan, error: float | None) -> tuple[bool, Grid]:
        """Accept every step."""
        if plan.end is None:
            return True, memory
        return True, memory._replace(target=memory.target + 1, halvings=0)

    def tried(self, memory: Grid, h: float) -> str:
        """How a step was tried that failed for good."""
        return f"; the step was halved {memory.halvings} times, down to {h:.3g} s" if memory.halvings else ""

    def warning(self, memory: Grid) -> str:
        """What is to be said after a run."""
        return ""
