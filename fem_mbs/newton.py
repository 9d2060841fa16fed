"""Newton's method and its variants for a residual and an iteration matrix; it knows no time.

What steps before tell of a first correction, so that its residual need not be looked at.

docs/theory.md, "When Newton's method stops".

What Newton's method asks of a problem, and how it answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar

from fem_mbs.contracts import Positive, PositiveInt, Public, Report, checked, choice
from fem_mbs.errors import FemMbsError, MotionError, SingularSystemError

MARGIN = 10.0
"""A prediction has to be so many times below the tolerance."""
UNSEEN = 8
"""So many first corrections in a row may be taken for granted."""
FADING = 0.5
"""UnitInterval of worse experience that is left with each new one."""
_TINY = 1e-300


class ConvergenceHistory(NamedTuple):
    """How the first correction, with a new matrix, has lately taken away residuals.

    What a correction of the length ``d`` leaves is of second order: ``d^2`` of the constraints, ``d`` times the larger
    of ``d`` and the residual, to which the multipliers belong, of the forces.
    """

    force: float
    constraint: float
    """Largest residual that was left, over these products."""
    length: float
    residual: float
    """Correction and first residual when this was seen last."""
    rough: int
    """1 if the problem called that correction so, 0 if not: one kind tells nothing of the other."""
    unseen: int
    """Corrections since then of which it was taken for granted."""

    def suffices(self, length: float, residual: float, rough: int, tolerances: Sequence[float]) -> bool:
        """Whether a first correction will leave less than the tolerances, so surely that it need not be seen."""
        if rough != self.rough or self.unseen >= UNSEEN or length > 2.0 * self.length or residual > 2.0 * self.residual:
            return False
        limit = MARGIN * length
        return (
            limit * max(length, residual) * self.force <= tolerances[0]
            and limit * length * self.constraint <= tolerances[1]
        )


def experienced(
    length: float, residual: float, rough: int, left: Sequence[float], before: ConvergenceHistory | None
) -> ConvergenceHistory:
    """From a first correction and what it has left; what was seen earlier fades slowly."""
    force = left[0] / max(length * max(length, residual), _TINY)
    constraint = left[1] / max(length * length, _TINY)
    if before is not None and before.rough == rough:
        force, constraint = max(force, FADING * before.force), max(constraint, FADING * before.constraint)
    return ConvergenceHistory(force, constraint, length, residual, rough, 0)


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
    experience: ConvergenceHistory | None = None


class NotConvergedError(FemMbsError):
    """Newton's iteration stopped without a solution; the stepper decides what to try next."""

    def __init__(self, message: str, report: Report | None = None, value: Any = None) -> None:
        super().__init__(message)
        self.report = report
        self.value = value


FAILURES = (NotConvergedError, MotionError, SingularSystemError)
"""Why there may be no solution a step away where a shorter step has one."""


MATRICES = ("exact", "without_tangent_operator", "applied_forces", "simplified")
SAFETY = 40.0
"""A kept factorisation leaves a few times the residual, times the ratio of the last two residuals or corrections."""
SLOW = 0.1
"""A kept factorisation is given up if a correction leaves more than this share of the residual."""
STUCK = 0.5
"""A residual that keeps more than this share of itself is rounding, if it is within the tolerances of the options."""
ARMIJO = 0.1
"""A damped correction has to take away this part of what it takes away in the linear model."""
_INFINITE = float("inf")
SHORTEST = 2.0**-10
"""Shortest share of a correction that the line search tries."""


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
        A correction below this (lengths divided by the extent, angles in rad, own unknowns divided by their size) is
        rounding, and ends the iteration.
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

    force_tolerance: Positive = 1e-8
    constraint_tolerance: Positive = 1e-11
    correction_tolerance: Positive = 1e-13
    max_iterations: PositiveInt = 12
    matrix: Annotated[str, choice(MATRICES)] = "exact"
    modified: bool = False
    line_search: bool = False


def solve(
    problem: Problem[Unknown, Value, Linearization],
    unknown: Unknown,
    options: Newton,
    kept: Linearization | None = None,
    experience: ConvergenceHistory | None = None,
    tolerances: tuple[float, float] | None = None,
) -> Found[Unknown, Value, Linearization]:
    """Solve a problem from a first guess.

    The iteration matrix is new in every iteration but the last: once residuals fall so fast that the same contraction
    would bring them ``SAFETY`` times below the tolerance, one more correction with the kept factorisation is tried. It
    ends the iteration if it is as much shorter than the one before, too. Of a first correction with a new matrix the
    prediction is what ``experience`` with problems just before tells. The modified method keeps the matrix as long as
    it contracts, and starts with ``kept``. ``tolerances`` of forces and constraints replace those of the options; near
    singular positions rounding may keep residuals above them, and what does not fall any more is taken if it meets the
    options.

    Raises
    ------
    NotConvergedError
        If the tolerances are not met within ``options.max_iterations``, or the residual stops being finite.
    """
    tolerances = tolerances or _demanded(options)
    plain = not options.modified and not options.line_search
    before, first = (0.0, 0.0), (0.0, 0.0, 0)
    length = 0.0
    report = Report(evaluations=1)
    at = Found(unknown, problem.evaluate(unknown), kept if options.modified else None, report, experience=experience)
    while True:
        size = problem.size(at.value)
        report.history.append(max(size))
        if plain and report.iterations == 1:
            at.experience = experienced(*first, size, experience)
        if size[0] <= tolerances[0] and size[1] <= tolerances[1]:
            return at
        if report.iterations > 1 and _below(size, _demanded(options)) and max(size) > STUCK * max(before):
            return at
        if report.iterations == options.max_iterations or not sum(size) < _INFINITE:
            _give_up(size, report, at.value)
        keep = options.modified and (not report.iterations or _fast(size, before, tolerances))
        correction, last = None, False
        if report.iterations and at.linearization is not None and _falls(size, before, tolerances):
            correction = problem.correction(at.unknown, at.value, at.linearization)
            left = SAFETY * problem.length(correction) / length
            last = _below([left * r for r in size], tolerances)
        fresh = at.linearization is None or not (keep or last)
        if at.linearization is None or fresh:
            at.linearization = _linearized(problem, at, report)
            report.factorizations += 1
        if correction is None or fresh:
            correction = problem.correction(at.unknown, at.value, at.linearization)
        corrected = problem.corrected(at.unknown, at.value, at.linearization, correction, 1.0)
        length = problem.length(correction)
        if not report.iterations:
            first = length, max(size), int(problem.rough)
            if plain and experience is not None and experience.suffices(*first, tolerances):
                last, at.experience = True, experience._replace(unseen=experience.unseen + 1)
        report.iterations += 1
        if last or length <= options.correction_tolerance:
            at.unknown, at.corrected = corrected, True
            return at
        if not options.line_search:
            at.unknown, at.value = corrected, problem.evaluate(corrected)
            report.evaluations += 1
        elif not _search(problem, at, corrected, correction, options, SHORTEST if fresh else 1.0):
            if fresh:
                raise NotConvergedError(
                    f"no part of a correction above {SHORTEST:.0e} of it brings the solution nearer", report, at.value
                )
            # a kept matrix may lead away
            at.linearization = None
            continue
        before = size


def _linearized(
    problem: Problem[Unknown, Value, Linearization], at: Found[Unknown, Value, Linearization], report: Report
) -> Linearization:
    try:
        return problem.linearize(at.unknown, at.value)
    except SingularSystemError as error:
        if not report.iterations:
            raise
        # of the first matrix it is the model, of a later one the way that corrections have gone
        raise NotConvergedError(f"the iteration leads away: {error}", report, at.value) from error


def _give_up(size: Sequence[float], report: Report, value: Any) -> NoReturn:
    if not sum(size) < _INFINITE:
        raise NotConvergedError("the residual is not finite", report, value)
    raise NotConvergedError(f"no convergence in {report.iterations} iterations", report, value)


def _search(
    problem: Problem[Unknown, Value, Linearization],
    at: Found[Unknown, Value, Linearization],
    corrected: Unknown,
    correction: Any,
    options: Newton,
    shortest: float,
) -> bool:
    """Go the longest of halved corrections after which the next one is shorter; whether there is one."""
    assert at.linearization is not None
    share, length = 1.0, problem.length(correction)
    while share >= shortest:
        try:
            trial = problem.evaluate(corrected)
            at.report.evaluations += 1
            rest = problem.length(problem.correction(corrected, trial, at.linearization))
            if rest <= max((1.0 - ARMIJO * share) * length, options.correction_tolerance):
                at.unknown, at.value = corrected, trial
                return True
        except MotionError:  # a body in an impossible place
            pass
        share *= 0.5
        corrected = problem.corrected(at.unknown, at.value, at.linearization, correction, share)
    return False


def _falls(size: Sequence[float], before: Sequence[float], tolerances: Sequence[float]) -> bool:
    """Whether the contraction of the last correction would surely do once more."""
    return _below([SAFETY * r * r / b if b > r else r for r, b in zip(size, before, strict=True)], tolerances)


def _fast(size: Sequence[float], before: Sequence[float], tolerances: Sequence[float]) -> bool:
    """Whether the last correction took enough of the residual away."""
    return _below(size, [max(SLOW * b, t) for b, t in zip(before, tolerances, strict=True)])


def _demanded(options: Newton) -> tuple[float, float]:
    return options.force_tolerance, options.constraint_tolerance


def _below(size: Sequence[float], tolerances: Sequence[float]) -> bool:
    return size[0] <= tolerances[0] and size[1] <= tolerances[1]
