"""The shape of a model that turns: near a given one, at the end of the path from rest, or where it sinks to.

docs/theory.md, "Steady rotation".
"""

from __future__ import annotations

import logging
import time

import numpy as np

from fem_mbs.contracts import Report
from fem_mbs.errors import ConvergenceError, FemMbsError, LawError, SingularSystemError
from fem_mbs.initial.singular import describe_mechanism
from fem_mbs.modal.linearize import linearize
from fem_mbs.modal.modes import growing, solve_modes
from fem_mbs.model.model import Model
from fem_mbs.newton import FAILURES, Newton, NotConvergedError
from fem_mbs.newton import solve as newton_solve
from fem_mbs.solution.outcome import Outcome, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.static.equations import Point
from fem_mbs.static.path import Path
from fem_mbs.static.start import settle, start
from fem_mbs.static.steadiness import refuse_unsteady
from fem_mbs.static.step import Direction, StepProblem, unstable_motions
from fem_mbs.static.turning import TurningEquations
from fem_mbs.system import matrices as tangent
from fem_mbs.system.states import to_user

LOG = logging.getLogger("fem_mbs")
STEPS = 200
"""Steps from rest to the speed."""


def shape(
    model: Model, equations: TurningEquations, first: Point, newton: Newton, begun: float
) -> tuple[Point, Report]:
    """The solution near a configuration by Newton's method, or else one found on other ways.

    Raises
    ------
    ModelError
        If there is none since the rotation cannot be steady.
    SingularSystemError
        If it is not unique.
    ConvergenceError
        If none is found.
    """
    try:
        found, report = _near(equations, first, newton)
    except LawError:
        raise
    except FAILURES as failure:
        refuse_unsteady(equations, first)
        return _otherwise(equations, first, newton, failure, begun)
    if report.iterations and (text := _mechanism(equations, found)):
        raise SingularSystemError(text)
    return _stable(model, equations, found, report, newton)


def _stable(
    model: Model, equations: TurningEquations, found: Point, report: Report, newton: Newton
) -> tuple[Point, Report]:
    """The shape that was found, or where it is unstable the one that the model comes to from rest, if that is not."""
    if not _runs_away(model, equations, found):
        return found, report
    try:
        other, way = _end(_from_rest(equations, newton))
        if not _runs_away(model, equations, other):
            return other, way
    except FemMbsError as failure:
        LOG.info("steady_rotation: from rest no stable shape was found: %s", failure)
    LOG.warning(
        "steady_rotation: the shape found at %g rad/s is unstable, which mbs.modes shows. For another one, give a "
        "position near it as initial, or a small load or imperfection towards it",
        np.linalg.norm(equations.omega),
    )
    return found, report


def _runs_away(model: Model, equations: TurningEquations, point: Point) -> bool:
    """Whether a motion runs away from a shape: no resistance is not enough, as gyroscopic forces may hold it."""
    if unstable_motions(equations, point) <= 0:
        return False
    try:
        linear = linearize(model, to_user(equations.system, equations.state(point)))
        return growing(solve_modes(linear)) > 0
    except FemMbsError as failure:
        LOG.info("steady_rotation: whether the shape is stable is not known: %s", failure)
        return False


def solution_of(equations: TurningEquations, point: Point, outcome: Outcome, report: Report, begun: float) -> Solution:
    """The solution with the one state."""
    iterations, seconds = np.array([report.iterations]), time.perf_counter() - begun
    stats = Stats(iterations, report.evaluations, report.factorizations, 0, 0, np.zeros(1), seconds)
    return Solution(equations.system, [equations.state(point)], outcome, stats)


def _near(equations: TurningEquations, first: Point, newton: Newton) -> tuple[Point, Report]:
    """Newton's method at the full speed."""
    problem = StepProblem(equations, first, None, not newton.line_search)
    still = Direction(np.zeros(equations.system.N), np.zeros(equations.system.m), 0.0)
    # a diverging iteration overflows before it is stopped
    with np.errstate(over="ignore", invalid="ignore"):
        found = newton_solve(problem, problem.guess(equations.evaluate(first), still), newton)
        trial = problem.evaluate(found.unknown) if found.corrected else found.value
    return equations.settled(*trial)[0], found.report


def _from_rest(equations: TurningEquations, newton: Newton) -> Path:
    """The path of equilibria from rest to the speed, at its start."""
    return Path(equations, start(equations, None, False, newton, "steady_rotation"), newton, False, None)


def _end(path: Path) -> tuple[Point, Report]:
    """The end of the path."""
    for _ in range(STEPS):
        step = path.advance(np.array([1.0]))
        if step.point.load == 1.0:
            return step.point, step.report
    raise NotConvergedError(f"no end in {STEPS} steps")


def _otherwise(
    equations: TurningEquations, first: Point, newton: Newton, near: FemMbsError, begun: float
) -> tuple[Point, Report]:
    """The solution where Newton's method has found none near a configuration."""
    path: Path | None = None
    try:
        return _end(path := _from_rest(equations, newton))
    except LawError:
        raise
    except FemMbsError as failure:
        from_rest = failure
    try:
        found = settle(equations, first, newton)
        if not _mechanism(equations, found):
            return found, Report()
    except ConvergenceError as failure:
        LOG.info("%s", failure)
    if text := _mechanism(equations, first):
        raise SingularSystemError(text) from near
    speed = float(np.linalg.norm(equations.omega))
    reached = 0.0 if path is None else np.sqrt(path.here.point.load) * speed
    ended = ConvergenceError(
        f"no steady rotation at {speed:g} rad/s was found near the position given: {near}\n  nor from rest beyond "
        f"{reached:.6g} rad/s: {from_rest}\n  near a critical speed the model gives way: go past it, and give a "
        "position near what you expect as initial, such as the result at a speed beyond"
    )
    if path is not None:
        ended.solution = solution_of(equations, path.here.point, Outcome.FAILED, Report(), begun)
    raise ended from near


def _mechanism(equations: TurningEquations, point: Point) -> str:
    """What makes the stiffness singular at a point; empty if it is regular."""
    values = tangent.assemble(equations.system, equations.entries(equations.evaluate(point), equations.force_factor))
    return describe_mechanism(equations.system, values, point.R, "in steady rotation")
