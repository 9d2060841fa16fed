"""Newton's method and its variants: quadratic, honest about failure, frugal with matrices, one solution for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest
from catalogue import GROUPS
from models import CHARTS, machine
from motions import fitted_order

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Report
from fem_mbs.newton import UNSEEN, ConvergenceHistory, Iterate, Newton, NotConvergedError
from fem_mbs.newton import solve as newton_solve


@dataclass
class Root:
    """``x^2 = 2`` as a force; ``noise`` is a residual that no correction removes."""

    by_reactions = False
    noise: float = 0.0
    evaluated: list[float] = field(default_factory=list)
    linearized: list[float] = field(default_factory=list)

    def evaluate(self, x: float) -> float:
        self.evaluated.append(x)
        return x * x - 2.0

    def size(self, value: float) -> tuple[float, float]:
        return max(abs(value), self.noise), 0.0

    def linearize(self, x: float, value: float, first: float | None = None) -> float:
        self.linearized.append(x)
        return 2.0 * x

    def correction(self, x: float, value: float, slope: float) -> float:
        return value / slope

    def length(self, correction: float) -> float:
        return abs(correction)

    def corrected(self, at: Iterate, correction: float, step_length: float) -> float:
        return at.unknown - step_length * correction


def solve(problem: object, start: float, options: Newton, kept: float | None = None) -> tuple[float, Report]:
    """The solution and how it was found."""
    found = newton_solve(problem, start, options, kept=kept)  # type: ignore[arg-type]
    return found.unknown, found.report


def test_residuals_fall_quadratically() -> None:
    root = Root()
    x, report = solve(root, 2.0, Newton(force_tolerance=1e-14))
    assert abs(x - np.sqrt(2.0)) < 1e-15
    e = np.array(report.history)
    # (x - f/2x)^2 - 2 = f^2/(4 x^2), and x^2 is about 2
    np.testing.assert_allclose(e[1:], e[:-1] ** 2 / (4 * (2 + e[:-1])), rtol=1e-9, atol=1e-15)
    assert len(e) >= 5 and e[-1] < 1e-10


def test_what_a_second_correction_leaves_is_foretold() -> None:
    """At most 40 times its residual, times the square of its ratio to the first, 2.4e-4: it is not evaluated."""
    for tolerance, evaluated in ((3e-4, 2), (2e-4, 3)):
        found = newton_solve(root := Root(), 1.5, Newton(force_tolerance=tolerance), history=ConvergenceHistory())
        assert len(root.evaluated) == evaluated and abs(found.unknown - np.sqrt(2.0)) < 1e-5


def test_rounding_above_wanted_tolerances_is_taken_if_the_options_allow_it() -> None:
    """A residual that keeps to 1e-9 whatever the correction: less is wanted of it, 1e-8 is asked for."""
    options = Newton(correction_tolerance=1e-30)
    found = newton_solve(Root(noise=1e-9), 2.0, options, tolerances=(1e-12, 1e-12))  # type: ignore[arg-type]
    assert abs(found.unknown - np.sqrt(2.0)) < 1e-15 and found.report.iterations < options.max_iterations
    with pytest.raises(NotConvergedError):
        newton_solve(Root(noise=1e-7), 2.0, options, tolerances=(1e-12, 1e-12))  # type: ignore[arg-type]


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-10, 1e-13])
def test_the_solution_meets_the_tolerance(tolerance: float) -> None:
    x, _ = solve(Root(), 2.0, Newton(force_tolerance=tolerance))
    assert abs(x * x - 2.0) <= tolerance


def test_a_solved_problem_needs_no_iteration() -> None:
    root = Root()
    _, report = solve(root, np.sqrt(2.0), Newton())
    assert (report.iterations, report.evaluations, report.factorizations) == (0, 1, 0)


def test_report_counts_what_was_done() -> None:
    root = Root()
    _, report = solve(root, 3.0, Newton())
    assert report.evaluations == len(root.evaluated) == len(report.history)
    assert report.factorizations == len(root.linearized) <= report.iterations


def test_rounding_ends_the_iteration() -> None:
    """A residual that cannot fall further is accepted once corrections are rounding."""
    x, report = solve(Root(noise=1e-6), 2.0, Newton())
    assert abs(x - np.sqrt(2.0)) < 1e-15 and report.iterations < 12


def test_a_short_correction_ends_the_iteration_where_the_residual_was_small() -> None:
    """Of a residual of 0.25 it may leave much; where corrections go round between two sides they leave all."""
    options = Newton(force_tolerance=1e-12, correction_tolerance=0.1)
    assert [solve(Root(), start, options)[1].iterations for start in (1.5, 1.43)] == [2, 1]

    class Jumps(Root):
        def evaluate(self, x: float) -> float:
            return 1.0 if x > 0.0 else -1.0

        def linearize(self, x: float, value: float, first: float | None = None) -> float:
            return 2.0

    with pytest.raises(NotConvergedError):
        solve(Jumps(), 0.2, options)


def test_a_last_correction_that_is_rounding_has_no_matrix_of_its_own() -> None:
    """Corrections of 8e-2, 2e-3, 2e-6, 2e-12, and what is left, which the contraction foretells."""
    x, report = solve(Root(), 1.5, Newton(force_tolerance=1e-30))
    assert abs(x - np.sqrt(2.0)) < 1e-15
    assert (report.iterations, report.factorizations) == (5, 4)


def test_what_is_taken_for_granted_is_looked_at_now_and_then() -> None:
    """Of equal problems one after the other, whose first correction suffices."""

    history, seen = ConvergenceHistory(), []
    for k in range(3 * (UNSEEN + 1)):
        found = newton_solve(Root(), 1.41422, Newton(force_tolerance=1e-8), history=history)  # type: ignore[arg-type]
        history = found.history
        seen += [k] if found.report.evaluations > 1 else []
    assert seen == [0, UNSEEN + 1, 2 * (UNSEEN + 1)]


def test_corrections_that_lead_far_away_are_no_error_of_numbers() -> None:
    """Lengths whose squares are no floating-point numbers fail as any other."""

    class Away(Root):
        def correction(self, x: float, value: float, slope: float) -> float:
            return 1e200 * (x - 1.0) + 1e-3

    with pytest.raises(NotConvergedError):
        newton_solve(Away(), 1.0, Newton(), history=ConvergenceHistory())  # type: ignore[arg-type]


def test_failure_tells_its_history() -> None:
    class Flat(Root):
        def correction(self, x: float, value: float, slope: float) -> float:
            return -1.0

    with pytest.raises(NotConvergedError, match="no convergence in 2 iterations") as failure:
        newton_solve(Flat(), 2.0, Newton(max_iterations=2))
    assert failure.value.report is not None
    np.testing.assert_allclose(failure.value.report.history, [2.0, 7.0, 14.0])

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


@dataclass
class Scalar:
    """Any equation of one unknown as a force, with a slope that need not be its derivative."""

    by_reactions = False
    equation: Callable[[float], float]
    slope: Callable[[float], float]

    def evaluate(self, x: float) -> float:
        return self.equation(x)

    def size(self, value: float) -> tuple[float, float]:
        return abs(value), 0.0

    def linearize(self, x: float, value: float, first: float | None = None) -> float:
        return self.slope(x)

    def correction(self, x: float, value: float, slope: float) -> float:
        return value / slope

    def length(self, correction: float) -> float:
        return abs(correction)

    def corrected(self, at: Iterate, correction: float, step_length: float) -> float:
        return at.unknown - step_length * correction


def arctan() -> Scalar:
    return Scalar(np.arctan, lambda x: 1.0 / (1.0 + x * x))


def test_line_search_makes_a_diverging_iteration_converge() -> None:
    """Full corrections of ``arctan(x) = 0`` grow from 1.4 on."""
    with np.errstate(all="ignore"), pytest.raises(NotConvergedError):
        newton_solve(arctan(), 50.0, Newton())
    x, report = solve(arctan(), 3.0, Newton(line_search=True))
    assert abs(x) < 1e-8
    assert report.evaluations > report.iterations + 1
    assert (np.diff(report.history) < 0.0).all()


def test_a_cycle_at_a_limit_is_damped() -> None:
    """What is asked for, cut at a limit: full corrections go from one side of the kink to the other, for ever."""
    kinked = Scalar(lambda x: x + 40.0 * np.clip(x - 0.3, -0.01, 0.01), lambda x: 41.0 if abs(x - 0.3) < 0.01 else 1.0)
    for start in (-1.0, 0.295, 0.2999, 0.305, 1.0):
        x, report = solve(kinked, start, Newton())
        assert abs(kinked.equation(x)) < 1e-8 and report.iterations < 12
    # the same at the end of a long way down
    bent = Scalar(
        lambda x: kinked.equation(x) + max(0.0, x - 1.0) ** 3, lambda x: kinked.slope(x) + 3.0 * max(0.0, x - 1.0) ** 2
    )
    x, report = solve(bent, 10.0, Newton(max_iterations=20))
    assert abs(bent.equation(x)) < 1e-8 and report.history[1] > 100.0
    # x + 20 max(0, x - 1) = 5 with the slope of the other side next to the kink
    steep = Scalar(lambda x: x + 20.0 * max(0.0, x - 1.0) - 1.4, lambda x: 21.0 if x > 1.1 else 1.0)
    x, report = solve(steep, 1.4, Newton())
    assert abs(steep.equation(x)) < 1e-8


class Soft:
    """``x = 1``, and in a soft direction ``y^2 + y = 2`` once ``x`` is there: long corrections, small residuals."""

    by_reactions = False

    def evaluate(self, at: Array) -> Array:
        x, y = at
        return np.array([x - 1.0, 1e-16 * (y * y + y - 2.0 * (x > 0.5))])

    def size(self, value: Array) -> tuple[float, float]:
        return float(np.abs(value).max()), 0.0

    def linearize(self, at: Array, value: Array, first: tuple[float, float] | None = None) -> tuple[float, float]:
        return 1.0, 1e-16 * (2.0 * at[1] + 1.0)

    def correction(self, at: Array, value: Array, slopes: tuple[float, float]) -> Array:
        return value / slopes

    def length(self, correction: Array) -> float:
        return float(np.abs(correction).max())

    def corrected(self, at: Iterate, correction: Array, share: float) -> Array:
        return at.unknown - share * correction


def test_a_residual_that_falls_is_no_correction_that_falls() -> None:
    """Where the residual falls by ``1e-16``, the next correction need not: it is looked at before it is the last."""
    found = newton_solve(Soft(), np.zeros(2), Newton(force_tolerance=1e-22))  # type: ignore[arg-type]
    np.testing.assert_allclose(found.unknown, [1.0, 1.0], atol=1e-7)


def test_line_search_leaves_full_corrections_alone() -> None:
    plain, searched = ((Root(), Newton(line_search=on)) for on in (False, True))
    reports = [solve(root, 3.0, options)[1] for root, options in (plain, searched)]
    assert plain[0].evaluated == searched[0].evaluated and plain[0].linearized == searched[0].linearized
    assert reports[0].history == reports[1].history and reports[0].evaluations == reports[1].evaluations


def test_line_search_comes_back_from_impossible_places() -> None:
    """``log(x) = 0`` from 3, where a full correction leads to a negative ``x``."""

    def logarithm(x: float) -> float:
        if x <= 0.0:
            raise mbs.MotionError("there is no logarithm")
        return float(np.log(x))

    problem = Scalar(logarithm, lambda x: 1.0 / x)
    with pytest.raises(mbs.MotionError, match="there is no logarithm"):
        newton_solve(problem, 3.0, Newton())
    x, _ = solve(problem, 3.0, Newton(line_search=True))
    assert x == pytest.approx(1.0, abs=1e-8)


def test_line_search_without_descent_tells_its_history() -> None:
    """A slope of the wrong sign leads away from the solution, however short the correction."""
    away = Scalar(lambda x: x, lambda x: -1.0)
    with pytest.raises(NotConvergedError, match="no part of a correction above 1e-03 .* nearer") as failure:
        newton_solve(away, 3.0, Newton(line_search=True))
    assert failure.value.report is not None
    assert failure.value.report.history == [3.0]
    assert failure.value.report.evaluations == 12  # at the start and for shares of 1, 1/2, ... 1/1024


def test_kept_matrix_serves_while_it_contracts() -> None:
    """From 1.5 the slope of 3 leaves 6 percent of an error, from 3 the slope of 6 leaves half of it."""
    near, far = Root(), Root()
    x, report = solve(near, 1.5, Newton(modified=True))
    assert x == pytest.approx(np.sqrt(2.0), abs=1e-8)
    assert near.linearized == [1.5] and report.factorizations == 1 < report.iterations
    _, report = solve(far, 3.0, Newton(modified=True))
    assert 1 < report.factorizations == len(far.linearized) < report.iterations


def test_matrix_of_the_last_problem_is_kept_and_replaced_if_it_is_bad() -> None:
    first = newton_solve(Root(), 1.45, Newton(modified=True))
    good, bad, full = Root(), Root(), Root()
    for line_search in (False, True):
        found = newton_solve(good, 1.4, Newton(modified=True, line_search=line_search), kept=first.linearization)
        assert found.report.factorizations == 0 and found.linearization == first.linearization
    found = newton_solve(bad, 1.4, Newton(modified=True), kept=100.0)
    assert found.unknown == pytest.approx(np.sqrt(2.0), abs=1e-8)
    assert found.report.factorizations == 1 and found.linearization == 2.0 * bad.linearized[0]
    for kept, corrections in ((1.27, 1), (5.6, 2)):  # a first correction makes it 1.2 times, or half, as large
        newton_solve(own := Root(), 1.4, Newton(modified=True), kept=kept)
        assert own.linearized[0] == own.evaluated[corrections]
    newton_solve(full, 1.4, Newton(), kept=100.0)
    assert full.linearized[0] == 1.4


@pytest.mark.ci
def test_modified_method_has_fewer_factorizations_than_steps() -> None:
    """A slow motion, whose matrix hardly changes."""
    runs = [mbs.simulate(machine("SE3"), 0.5, 0.005, method(Newton(modified=on))) for on in (False, True)]
    assert runs[0].stats.factorizations >= len(runs[0].stats.newton_iterations) == 100
    assert runs[1].stats.factorizations < 25
    assert runs[1].stats.failed_steps == 0


VARIANTS = {
    "without T": Newton(matrix="without_tangent_operator"),
    "simplified": Newton(matrix="simplified", max_iterations=30),
    "modified": Newton(modified=True),
    "line search": Newton(line_search=True),
    "all of them": Newton(matrix="without_tangent_operator", modified=True, line_search=True, max_iterations=30),
}


def method(newton: Newton, formulation: str = "stabilized", name: str = "Lie group") -> mbs.GeneralizedAlpha:
    return replace(CHARTS[name], formulation=formulation, newton=newton)


def turning(group: str) -> mbs.Model:
    return machine(group, drive=lambda t: 20.0 * t * t)


@cache
def turned(group: str, formulation: str, name: str, h: float) -> mbs.Solution:
    return mbs.simulate(turning(group), 0.2, h, method(Newton(), formulation, name))


def distances(variant: str, group: str, formulation: str, name: str, h: float) -> Array:
    """Of a variant from the full method, over the tolerances.

    1e-8 of 80 N or N m, kept up for 0.2 s, moves sections of 0.03 kg m^2 by about 1e-7 rad, and ``Phi`` = 2e-11 m
    weighs ``4 Phi/h^2`` = 2e-7 m/s^2 for bodies of 2 kg, several times over in the transient.
    """
    full = turned(group, formulation, name, h)
    run = mbs.simulate(turning(group), 0.2, h, method(VARIANTS[variant], formulation, name))
    assert run.stats.failed_steps == 0
    tolerances = {"x": 1e-7, "R": 1e-7, "v": 1e-5, "multipliers_all": 2e-5}
    return np.array([np.abs(getattr(run, p) - getattr(full, p)).max() / least for p, least in tolerances.items()])


LIE_GROUP_AND_OTHERS = [pytest.param(name, marks=[] if name == "Lie group" else pytest.mark.slow) for name in CHARTS]


@pytest.mark.parametrize("name", LIE_GROUP_AND_OTHERS)
@pytest.mark.parametrize("formulation", ["index3", "index2"])
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_have_the_same_solution(variant: str, group: str, formulation: str, name: str) -> None:
    assert distances(variant, group, formulation, name, 0.02).max() < 1.0


@pytest.mark.one
@pytest.mark.parametrize("name", LIE_GROUP_AND_OTHERS)
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_have_the_same_solution_but_for_the_third_order(variant: str, group: str, name: str) -> None:
    """The matrix decides which way the stabilised form brings velocities back; one that is kept, by its age, too."""
    coarse, fine = (distances(variant, group, "stabilized", name, h) for h in (0.02, 0.01))
    assert (fine < np.maximum(coarse / (3.0 if VARIANTS[variant].modified else 6.0), 1.0)).all()


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("variant", ["without_tangent_operator", "simplified"])
def test_matrices_differ_by_terms_that_vanish_with_the_step(variant: str, group: str, name: str) -> None:
    """``T = I + O(h)``; in local coordinates it goes with two derivatives that cancel it. To the mass are added damping
    times ``gamma h`` and stiffness times ``h^2`` (Arnold, Cardona, Bruels 2015, section 3.5)."""
    system = mbs.System(turning(group))
    state = mbs.simulate(turning(group), 0.1, 0.01).state(-1)

    def matrix(h: float, kind: str) -> Array:
        own = method(Newton(matrix=kind), "index3", name)
        problem = own.equations(system, state, h, own.init(system, state, h))
        unknown = problem.predict(problem.formulas.guess, state.multipliers)
        entries, *_ = problem.matrix(problem, unknown, problem.evaluate(unknown))
        return np.asarray(system.solver.matrix(system.solver.stored(entries)).toarray())

    steps = np.array([1e-3, 5e-4])
    differences = [np.abs(matrix(h, variant) - matrix(h, "exact")).max() for h in steps]
    order = 2 if variant == "without_tangent_operator" and name != "Lie group" else 1
    assert fitted_order(steps, differences) == pytest.approx(order, abs=0.1)


def test_line_search_gives_up_a_kept_matrix_that_leads_away() -> None:
    """The matrix, not the problem, is what has to go."""
    root = Root()
    x, _ = solve(root, 3.0, Newton(modified=True, line_search=True), kept=-1.0)
    assert x == pytest.approx(np.sqrt(2.0), abs=1e-8)
    assert root.linearized[0] == 3.0
