"""The contract of a step control: how long steps are, and whether they pass."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from fem_mbs.integrate.method import Method
from fem_mbs.integrate.stability import Limit


class Plan(NamedTuple):
    """A step to try: its length, and the time at which it ends if that is given beforehand."""

    h: float
    end: float | None


class StepControl(Protocol):
    """What the driver asks of a step control; like a method it is data and pure functions, and has a memory."""

    def begin(self, method: Method, t: float, t_end: float) -> tuple[Any, float]:
        """The memory at the start of a run, and the first step."""
        ...

    def stretch(self, memory: Any, t: float, jump: float) -> tuple[Any, float]:
        """The memory where the method starts anew, up to the next jump or infinity, and the first step."""
        ...

    def plan(self, memory: Any, t: float, t_end: float) -> Plan | None:
        """The next step; None at the end of the run."""
        ...

    def failed(self, memory: Any, plan: Plan) -> Any | None:
        """The memory after a step that has no solution; None to give up."""
        ...

    def judge(self, memory: Any, plan: Plan, error: float | None) -> tuple[bool, Any]:
        """Whether a step with this local error passes, and the memory after it."""
        ...

    def limited(self, memory: Any, limit: Limit, h: float, rest: float) -> str:
        """What is to be said of a limit of stability, steps of ``h`` s and a rest of the run; empty for nothing."""
        ...

    def tried(self, memory: Any, h: float) -> str:
        """How a step was tried that failed for good, in words."""
        ...

    def warning(self, memory: Any) -> str:
        """What is to be said after a run; empty for nothing."""
        ...
