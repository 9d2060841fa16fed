"""Newton's method for a residual and an iteration matrix; it knows no time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.model import number, shown

Unknown = TypeVar("Unknown")
Value = TypeVar("Value")
Linearization = TypeVar("Linearization")

SAFETY = 100.0


@dataclass(frozen=True)
class Newton:
    """Options of Newton's method.

    Parameters
    ----------
    force_tolerance : float
        Largest residual force and moment, each against the largest force and moment that made up the residual. A system
        at rest therefore needs no first residual to compare with.
    constraint_tolerance : float
        Largest ``Phi``; equations with the unit of length are divided by the extent of the model.
    correction_tolerance : float
        A correction below this (lengths divided by the extent, angles in rad) is rounding, and ends the iteration.
    max_iterations : int
        Iterations before the step counts as failed.
    """

    force_tolerance: float = 1e-8
    constraint_tolerance: float = 1e-11
    correction_tolerance: float = 1e-13
    max_iterations: int = 12

    def __post_init__(self) -> None:
        for name in ("force_tolerance", "constraint_tolerance", "correction_tolerance"):
            number(getattr(self, name), f"Newton: {name}", positive=True)
        if not isinstance(self.max_iterations, int) or self.max_iterations < 1:
            raise ModelError(
                f"Newton: max_iterations must be a whole number of at least 1, received {shown(self.max_iterations)}"
            )


class Problem(Protocol[Unknown, Value, Linearization]):
    """What Newton's method asks of a problem."""

    def evaluate(self, unknown: Unknown) -> Value:
        """The equations at ``unknown``."""
        ...

    def size(self, value: Value) -> tuple[float, float]:
        """Relative residual of the forces and of the constraints."""
        ...

    def linearize(self, unknown: Unknown, value: Value) -> Linearization:
        """The factorised iteration matrix."""
        ...

    def correct(self, unknown: Unknown, value: Value, linearization: Linearization) -> tuple[Unknown, float]:
        """The unknown after one linear solve, and the relative size of the correction."""
        ...


@dataclass
class Report(Generic[Value]):
    """How an iteration went."""

    value: Value
    iterations: int = 0
    evaluations: int = 0
    factorizations: int = 0
    history: list[float] = field(default_factory=list)

    def add(self, value: Value, residual: float) -> None:
        """Count an evaluation."""
        self.value = value
        self.evaluations += 1
        self.history.append(residual)


class NotConvergedError(FemMbsError):
    """Newton's iteration stopped without a solution; the stepper decides what to try next."""

    def __init__(self, message: str, report: Report | None = None) -> None:  # type: ignore[type-arg]
        super().__init__(message)
        self.report = report


def solve(
    problem: Problem[Unknown, Value, Linearization], unknown: Unknown, options: Newton
) -> tuple[Unknown, Report[Value]]:
    """Solve a problem from a first guess.

    The iteration matrix is new in every iteration but the last: once the residual falls so fast that the same
    contraction brings it ``SAFETY`` times below the tolerance, one more correction with the kept factorisation ends
    the iteration. With a kept factorisation the contraction is that of the iteration before, so the prediction is
    ``r^2/r_before``.

    Raises
    ------
    NotConvergedError
        If the tolerances are not met within ``options.max_iterations``, or the residual stops being finite.
    """
    tolerances = (options.force_tolerance, options.constraint_tolerance)
    before = (0.0, 0.0)
    linearization: Linearization | None = None
    report: Report[Value] | None = None
    while True:
        value = problem.evaluate(unknown)
        size = problem.size(value)
        if report is None:
            report = Report(value)
        report.add(value, max(size))
        if _below(size, tolerances):
            return unknown, report
        if not sum(size) < float("inf"):
            raise NotConvergedError("the residual is not finite", report)
        if report.iterations == options.max_iterations:
            raise NotConvergedError(f"no convergence in {report.iterations} iterations", report)
        predicted = tuple(SAFETY * r * r / b if b > r else r for r, b in zip(size, before, strict=True))
        last = linearization is not None and _below(predicted, tolerances)
        if linearization is None or not last:
            linearization = problem.linearize(unknown, value)
            report.factorizations += 1
        unknown, correction = problem.correct(unknown, value, linearization)
        report.iterations += 1
        if last or correction <= options.correction_tolerance:
            return unknown, report
        before = size


def _below(size: Sequence[float], tolerances: Sequence[float]) -> bool:
    return size[0] <= tolerances[0] and size[1] <= tolerances[1]
