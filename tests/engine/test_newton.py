"""Newton's method on small problems of its own: quadratic, honest about failure, frugal with matrices."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.solve import Newton, NotConvergedError, newton_solve


@dataclass
class Root:
    """``x^2 = 2`` as a force; ``noise`` is a residual that no correction removes."""

    noise: float = 0.0
    evaluated: list[float] = field(default_factory=list)
    linearized: list[float] = field(default_factory=list)

    def evaluate(self, x: float) -> float:
        self.evaluated.append(x)
        return x * x - 2.0

    def size(self, value: float) -> tuple[float, float]:
        return max(abs(value), self.noise), 0.0

    def linearize(self, x: float, value: float) -> float:
        self.linearized.append(x)
        return 2.0 * x

    def correct(self, x: float, value: float, slope: float) -> tuple[float, float]:
        return x - value / slope, abs(value / slope)


def test_residuals_fall_quadratically() -> None:
    root = Root()
    x, report = newton_solve(root, 2.0, Newton(force_tolerance=1e-14))
    assert abs(x - np.sqrt(2.0)) < 1e-15
    e = np.array(report.history)
    # (x - f/2x)^2 - 2 = f^2/(4 x^2), and x^2 is about 2
    np.testing.assert_allclose(e[1:], e[:-1] ** 2 / (4 * (2 + e[:-1])), rtol=1e-9, atol=1e-15)
    assert len(e) >= 5 and e[-1] < 1e-10


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-10, 1e-13])
def test_the_solution_meets_the_tolerance(tolerance: float) -> None:
    x, _ = newton_solve(Root(), 2.0, Newton(force_tolerance=tolerance))
    assert abs(x * x - 2.0) <= tolerance


def test_a_solved_problem_needs_no_iteration() -> None:
    root = Root()
    _, report = newton_solve(root, np.sqrt(2.0), Newton())
    assert (report.iterations, report.evaluations, report.factorizations) == (0, 1, 0)


def test_report_counts_what_was_done() -> None:
    root = Root()
    _, report = newton_solve(root, 3.0, Newton())
    assert report.evaluations == len(root.evaluated) == len(report.history)
    assert report.factorizations == len(root.linearized) <= report.iterations


def test_rounding_ends_the_iteration() -> None:
    """A residual that cannot fall further is accepted once corrections are rounding."""
    x, report = newton_solve(Root(noise=1e-6), 2.0, Newton())
    assert abs(x - np.sqrt(2.0)) < 1e-15 and report.iterations < 12


def test_failure_tells_its_history() -> None:
    class Flat(Root):
        def correct(self, x: float, value: float, slope: float) -> tuple[float, float]:
            return x + 1.0, 1.0

    with pytest.raises(NotConvergedError, match="no convergence in 3 iterations") as failure:
        newton_solve(Flat(), 2.0, Newton(max_iterations=3))
    assert failure.value.report is not None
    np.testing.assert_allclose(failure.value.report.history, [2.0, 7.0, 14.0, 23.0])

    class Broken(Root):
        def evaluate(self, x: float) -> float:
            return np.nan

    with pytest.raises(NotConvergedError, match="not finite"):
        newton_solve(Broken(), 2.0, Newton())


@pytest.mark.parametrize(
    "option", ["force_tolerance", "constraint_tolerance", "correction_tolerance", "max_iterations"]
)
def test_options_must_be_positive(option: str) -> None:
    with pytest.raises(mbs.ModelError, match=f"Newton: {option} must be .*received 0"):
        Newton(**{option: 0})
