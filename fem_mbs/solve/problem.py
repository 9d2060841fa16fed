"""What Newton's method asks of a problem, and how it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from fem_mbs.arrays import Array
from fem_mbs.errors import FemMbsError, MotionError, SingularSystemError
from fem_mbs.solve.experience import Experience

Unknown = TypeVar("Unknown")
Value = TypeVar("Value")
Linearization = TypeVar("Linearization")


class Problem(Protocol[Unknown, Value, Linearization]):
    """What Newton's method asks of a problem."""

    rough: bool
    """Whether the last correction has left something out, and takes away less than Newton's."""

    def evaluate(self, unknown: Unknown) -> Value:
        """The equations at ``unknown``."""
        ...

    def size(self, value: Value) -> tuple[float, float]:
        """Relative residual of the forces and of the constraints."""
        ...

    def linearize(self, unknown: Unknown, value: Value) -> Linearization:
        """The factorised iteration matrix."""
        ...

    def correction(self, unknown: Unknown, value: Value, linearization: Linearization) -> Any:
        """The solution of the linear equations."""
        ...

    def length(self, correction: Any) -> float:
        """Relative size of a correction."""
        ...

    def corrected(
        self, unknown: Unknown, value: Value, linearization: Linearization, correction: Any, share: float
    ) -> Unknown:
        """The unknown after a share of a correction."""
        ...


class Astray(NamedTuple):
    """How far a step leads the nodes astray: lengths in m and angles in rad, each of the worst node.

    Attributes
    ----------
    lasting : (2,)
        What is left of the local error after joints and stiffness: adds up over the steps.
    unresolved : (2,)
        Size of oscillations that are too fast for the step.
    """

    lasting: Array
    unresolved: Array


@dataclass
class Report:
    """How a step went."""

    iterations: int = 0
    evaluations: int = 0
    factorizations: int = 0
    history: list[float] = field(default_factory=list)
    """Relative residual after each iteration."""
    astray: Astray | None = None
    """How far the step led the nodes astray; None where the method did not look: some steps suffice."""


@dataclass
class Found(Generic[Unknown, Value, Linearization]):
    """Where an iteration stands, and in the end the solution."""

    unknown: Unknown
    value: Value
    """The equations there, unless ``corrected``."""
    linearization: Linearization | None
    """The last factorised matrix, None if the first guess was the solution."""
    report: Report
    corrected: bool = False
    """Whether ``value`` is that before the last correction, which nothing was left to check of."""
    experience: Experience | None = None


class NotConvergedError(FemMbsError):
    """Newton's iteration stopped without a solution; the stepper decides what to try next."""

    def __init__(self, message: str, report: Report | None = None, value: Any = None) -> None:
        super().__init__(message)
        self.report = report
        self.value = value


FAILURES = (NotConvergedError, MotionError, SingularSystemError)
"""Why there may be no solution a step away where a shorter step has one."""
