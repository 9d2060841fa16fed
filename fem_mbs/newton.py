"""Newton's method for a residual and an iteration matrix; it knows no time.

The loop is :func:`solve`; when it ends says :func:`_ends`: near singular positions rounding may keep residuals above
the tolerances of a problem, and what does not fall any more is taken if it meets those of the options. Whether the
residual after the first correction has to be looked at tells :class:`ConvergenceHistory`.

The matrix is new in every iteration but the last (:func:`_correction`): once residuals fall so fast that the same
contraction would bring them ``SAFETY`` times below the tolerance, one more correction with the kept factorisation is
tried. It ends the iteration if it is as much shorter than the one before, too; in time steps one with a new matrix does
if the square of that is enough. The modified method keeps the matrix as long as it contracts. How far along a
correction to go decides :func:`_line_search`, which takes over where full corrections go round, as at limits, stops and
in friction. Docs: docs/newton.md, and docs/theory.md, "When Newton's method stops".

Bruels, Cardona, Arnold (2012), Table 1; Arnold, Cardona, Bruels (2015), eq. 59 and, of the line search, section 3.5;
Holzinger, Arnold, Gerstmayr (2024), section 3.4, of the modified method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Generic, NamedTuple, Protocol, TypeVar

from fem_mbs.contracts import PositiveInt, Public, Report, checked, choice, number
from fem_mbs.errors import FemMbsError, MotionError, SingularSystemError

MATRICES = ("exact", "without_tangent_operator", "applied_forces", "simplified")
SAFETY = 40.0
"""A kept factorisation leaves a few times the residual, times the ratio of the last two residuals or corrections."""
SLOW = 0.1
"""A kept factorisation is given up if a correction leaves more than this share of the residual."""
STUCK = 0.5
"""A residual that keeps more than this share of itself is rounding, if it is within the tolerances of the options."""
ARMIJO = 0.1
"""A damped correction has to take away this part of what it takes away in the linear model."""
SHORTEST = 2.0**-10
"""Shortest step along a correction that the line search tries."""
CYCLE = 2
"""Residuals that have not fallen by ``STUCK`` in so many corrections go round: limits, friction, stops."""
CYCLED = 100.0
"""Corrections that go round are rounding up to so many times the tolerance of others."""
ROUNDED, CLOSE = 1e-11, 0.1
"""Corrections above this are none: of those that go round nothing is known, others leave little of small residuals."""
ROUNDING, NOTHING = 1e-4, 1e-15
"""Residual that rounding may leave, and corrections that leave no more, in however short a step."""
MARGIN = 10.0
"""A predicted residual has to be so many times below the tolerance."""
UNSEEN = 8
"""So many first corrections in a row may be taken for granted."""
FADING = 0.5
"""Share of a worse contraction that is remembered with each new one."""
_TINY = 1e-300
_INFINITE = float("inf")

Unknown = TypeVar("Unknown")
Value = TypeVar("Value")
Linearization = TypeVar("Linearization")
Sizes = Sequence[float]
"""Relative residuals of forces and of constraints, or their tolerances."""

LOOSEST = 0.1
"""Tolerances above it are none."""
Tolerance = Annotated[float, partial(number, positive=True, high=LOOSEST)]


@checked
@dataclass(frozen=True)
class Newton(Public):
    """Options of Newton's method.

    Parameters
    ----------
    force_tolerance : float
        Largest residual force and moment, each against the largest force and moment that made up the residual. A system
        at rest therefore needs no first residual to compare with.
    constraint_tolerance : float
        Largest ``Phi``; equations with the unit of length are divided by the extent of the model.
    correction_tolerance : float
        A correction below this (lengths divided by the extent, angles in rad, variables over their size) is
        rounding, and ends the iteration; above ``1e-11`` it does where the residual was small before it.
    max_iterations : int
        Iterations before the step counts as failed.
    matrix : {"exact", "without_tangent_operator", "applied_forces", "simplified"}
        Iteration matrix of a time step: the derivative of the equations; the same with ``T = I``; without the
        derivatives of inertia forces and reactions against coordinates (Holzinger, Arnold, Gerstmayr 2024, eqs. 37,
        42); or inertia and constraints alone, for systems that are not stiff (Arnold, Cardona, Bruels 2015, section
        3.5).
    modified : bool
        Keep the factorised matrix over iterations and steps until it converges too slowly.
    line_search : bool
        Shorten corrections that do not bring the solution nearer: Armijo's rule for the norm of the next correction
        with the same matrix, which no units or scalings of the equations affect.
    """

    force_tolerance: Tolerance = 1e-8
    constraint_tolerance: Tolerance = 1e-11
    correction_tolerance: Tolerance = 1e-13
    max_iterations: PositiveInt = 12
    matrix: Annotated[str, choice(MATRICES)] = "exact"
    modified: bool = False
    line_search: bool = False


class Problem(Protocol[Unknown, Value, Linearization]):
    """What Newton's method asks of a problem: pure functions."""

    by_reactions: bool
    """Whether laws read reactions. There may be no solution then, as of friction that jams: corrections, however short
    they are in short steps, above the last digit, are not taken for rounding while the residual is not small."""

    def evaluate(self, unknown: Unknown) -> Value:
        """The equations at ``unknown``."""

    def size(self, value: Value) -> tuple[float, float]:
        """Relative residual of the forces and of the constraints."""

    def linearize(self, unknown: Unknown, value: Value, first: Linearization | None = None) -> Linearization:
        """The factorised iteration matrix; ``first`` is the first one of this solution, if there was one."""

    def correction(self, unknown: Unknown, value: Value, linearization: Linearization) -> Any:
        """The solution of the linear equations."""

    def length(self, correction: Any) -> float:
        """Relative size of a correction."""

    def corrected(self, at: Iterate[Unknown, Value, Linearization], correction: Any, step_length: float) -> Unknown:
        """The unknown after a correction times a step length of at most 1, from where it was found."""


@dataclass
class Iterate(Generic[Unknown, Value, Linearization]):
    """Where an iteration stands, and in the end the solution."""

    unknown: Unknown
    value: Value
    """The equations there, unless ``corrected``."""
    linearization: Linearization | None
    """The last factorised matrix, None if the first guess was the solution."""
    report: Report = field(default_factory=Report)
    history: ConvergenceHistory | None = None
    """What first corrections have left of late, this one included."""
    corrected: bool = False
    """Whether ``value`` is that before the last correction, which nothing was left to check of."""


class NotConvergedError(FemMbsError):
    """Newton's iteration stopped without a solution; the stepper decides what to try next."""

    def __init__(self, message: str, report: Report | None = None, value: Any = None) -> None:
        super().__init__(message)
        self.report = report
        self.value = value
        """The equations at the last iterate."""


FAILURES = (NotConvergedError, MotionError, SingularSystemError)
"""What a step may fail with; another step length may do."""


class ConvergenceHistory(NamedTuple):
    """How the first correction, with a new matrix, has lately taken away residuals.

    What a correction of the length ``d`` leaves is of second order: ``d^2`` of the constraints, ``d`` times the larger
    of ``d`` and the residual, to which the multipliers belong, of the forces.
    """

    force: float = 0.0
    constraint: float = 0.0
    """Largest residual that was left, over these products."""
    length: float = 0.0
    residual: float = 0.0
    """Correction and first residual when this was seen last."""
    unseen: int = 0
    """Corrections since then of which it was taken for granted."""

    def suffices(self, length: float, residual: float, tolerances: Sizes) -> bool:
        """Whether a first correction will leave less than the tolerances, so surely that it need not be seen."""
        if self.unseen >= UNSEEN or length > 2.0 * self.length or residual > 2.0 * self.residual:
            return False
        limit = MARGIN * length
        return (
            limit * max(length, residual) * self.force <= tolerances[0]
            and limit * length * self.constraint <= tolerances[1]
        )

    def after(self, length: float, residual: float, left: Sizes) -> ConvergenceHistory:
        """With a first correction and what it has left; what was seen earlier fades slowly."""
        force = left[0] / max(length * max(length, residual), _TINY)
        constraint = left[1] / max(length * length, _TINY)
        force, constraint = max(force, FADING * self.force), max(constraint, FADING * self.constraint)
        return ConvergenceHistory(force, constraint, length, residual)


def solve(
    problem: Problem[Unknown, Value, Linearization],
    unknown: Unknown,
    options: Newton,
    *,
    kept: Linearization | None = None,
    history: ConvergenceHistory | None = None,
    tolerances: tuple[float, float] | None = None,
    crosses: Callable[[Value, Any, float], bool] | None = None,
) -> Iterate[Unknown, Value, Linearization]:
    """Solve a problem from a first guess.

    The modified method starts with ``kept``; ``tolerances`` of forces and constraints replace those of the options;
    ``history`` is that of a problem that is solved over and over. What a correction leaves is looked at if it
    ``crosses`` a kink, asked with the equations before it and the tolerance of forces. Raises
    :class:`NotConvergedError` if the tolerances are not met within ``options.max_iterations``, or the residual stops
    being finite.
    """
    tolerances = tolerances or (options.force_tolerance, options.constraint_tolerance)
    searches, goes_round, report = options.line_search, False, Report(evaluations=1)
    at = Iterate(unknown, problem.evaluate(unknown), kept if options.modified else None, report, history)
    if options.modified or options.line_search:
        history = None
    first, size, length = at.linearization, (0.0, 0.0), 0.0
    while True:
        before, size = size, problem.size(at.value)
        report.history.append(max(size))
        if report.iterations == 1 and history is not None:
            at.history = history.after(length, report.history[0], size)
        if _ends(at, size, before, tolerances, options):
            return at
        smallest = options.correction_tolerance
        if report.iterations >= CYCLE and not max(size) < STUCK * report.history[-1 - CYCLE]:
            searches, goes_round, smallest = True, True, min(CYCLED * smallest, ROUNDED)
        earlier = length
        correction, length, last, fresh = _correction(problem, at, first, size, before, length, tolerances, options)
        first = first or at.linearization
        assert at.linearization is not None
        if history is not None and not report.iterations:
            if history.suffices(length, report.history[0], tolerances):
                last, at.history = True, history._replace(unseen=history.unseen + 1)
        elif history is not None and fresh and not searches:
            # of forces what is left is of second order, of constraints something of first order may stay
            shorter = length / earlier
            last = SAFETY * shorter * shorter * size[0] <= tolerances[0]
            last = last and SAFETY * size[1] ** 2 <= tolerances[1] * before[1]
        last = last and (crosses is None or not crosses(at.value, correction, tolerances[0]))
        report.iterations += 1
        reads = problem.by_reactions and length > NOTHING
        largest = ROUNDING if reads else CLOSE if length > ROUNDED else _INFINITE
        at.corrected = last or length <= smallest and max(size) <= largest
        if at.corrected or not searches:
            at.unknown = problem.corrected(at, correction, 1.0)
            if at.corrected:
                return at
            at.value = problem.evaluate(at.unknown)
            report.evaluations += 1
        elif not _line_search(problem, at, correction, length, options, fresh, goes_round):
            at.linearization, size = None, before  # a kept matrix may lead away


def _ends(at: Iterate[Any, Any, Any], size: Sizes, before: Sizes, tolerances: Sizes, options: Newton) -> bool:
    """Whether a residual is small enough: within the tolerances, or of rounding and within those of the options."""
    report = at.report
    if size[0] <= tolerances[0] and size[1] <= tolerances[1]:
        return True
    if report.iterations > 1 and max(size) > STUCK * max(before):
        if size[0] <= options.force_tolerance and size[1] <= options.constraint_tolerance:
            return True
    if not sum(size) < _INFINITE:
        raise NotConvergedError("the residual is not finite", report, at.value)
    if report.iterations == options.max_iterations:
        raise NotConvergedError(f"no convergence in {report.iterations} iterations", report, at.value)
    return False


def _correction(
    problem: Problem[Unknown, Value, Linearization],
    at: Iterate[Unknown, Value, Linearization],
    first: Linearization | None,
    size: Sizes,
    before: Sizes,
    length: float,
    tolerances: Sizes,
    options: Newton,
) -> tuple[Any, float, bool, bool]:
    """The next correction, its length, whether it surely is the last one, and whether its matrix is new."""
    correction, shorter, last, report = None, 0.0, False, at.report
    if at.linearization is not None:
        if report.iterations:
            # whether the contraction of the last correction would surely do once more, or leave a length of rounding
            (force, constraint), (force_before, constraint_before) = size, before
            force *= SAFETY * force / force_before if force_before > force else 1.0
            constraint *= SAFETY * constraint / constraint_before if constraint_before > constraint else 1.0
            smallest = options.correction_tolerance
            fades = SAFETY * length * max(size) <= smallest * max(before)
            fades = fades and not (problem.by_reactions and max(size) > ROUNDING)
            if fades or force <= tolerances[0] and constraint <= tolerances[1]:
                correction = problem.correction(at.unknown, at.value, at.linearization)
                shorter = problem.length(correction)
                left = SAFETY * shorter / length
                last = left * size[0] <= tolerances[0] and left * size[1] <= tolerances[1]
                last = last or fades and shorter <= smallest
        if last or options.modified and _contracts(report, size, before, tolerances):
            if correction is None:
                correction = problem.correction(at.unknown, at.value, at.linearization)
                shorter = problem.length(correction)
            return correction, shorter, last, False
    try:
        at.linearization = problem.linearize(at.unknown, at.value, first)
    except SingularSystemError as error:
        if not report.iterations:
            raise
        # of the first matrix it is the model, of a later one the way that corrections have gone
        raise NotConvergedError(f"the iteration leads away: {error}", report, at.value) from error
    report.factorizations += 1
    correction = problem.correction(at.unknown, at.value, at.linearization)
    return correction, problem.length(correction), False, True


def _contracts(report: Report, size: Sizes, before: Sizes, tolerances: Sizes) -> bool:
    """Whether the last correction took enough of the residual away to keep its matrix.

    A first one, from a good guess, leaves more of it than those after it: it only has to take something away.
    """
    most = (1.0, SLOW)[report.iterations > 1]
    limits = [max(most * own, tolerance) for own, tolerance in zip(before, tolerances, strict=True)]
    return not report.iterations or size[0] <= limits[0] and size[1] <= limits[1]


def _line_search(
    problem: Problem[Unknown, Value, Linearization],
    at: Iterate[Unknown, Value, Linearization],
    correction: Any,
    length: float,
    options: Newton,
    fresh: bool,
    goes_round: bool,
) -> bool:
    """Go the longest of halved corrections after which the next one is shorter; False if a new matrix is wanted.

    If none is, all of the correction where iterations go round.
    """
    assert at.linearization is not None
    step_length = 1.0
    while step_length >= (SHORTEST if fresh else 1.0):
        trial = problem.corrected(at, correction, step_length)
        try:
            value = problem.evaluate(trial)
            at.report.evaluations += 1
            rest = problem.length(problem.correction(trial, value, at.linearization))
            if rest <= max((1.0 - ARMIJO * step_length) * length, options.correction_tolerance):
                at.unknown, at.value = trial, value
                return True
        except MotionError:  # a body in an impossible place
            pass
        step_length *= 0.5
    if not fresh:
        return False
    if not goes_round:
        text = (
            f"no convergence in {at.report.iterations} iterations: no part of a correction above "
            f"{SHORTEST:.0e} of it brings the solution nearer"
        )
        raise NotConvergedError(text, at.report, at.value)
    at.unknown = problem.corrected(at, correction, 1.0)
    at.value = problem.evaluate(at.unknown)
    at.report.evaluations += 1
    return True
