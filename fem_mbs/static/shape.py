"""The shape of a model that turns: near a given one, at the end of the path from rest, or where it sinks to.

docs/theory.md, "Steady rotation".
"""

from __future__ import annotations

import logging
import time

import numpy as np

from fem_mbs.errors import ConvergenceError, FemMbsError, LawError, SingularSystemError
from fem_mbs.result import Outcome, Solution, Stats
from fem_mbs.solve import FAILURES, Newton, NotConvergedError, Report, describe_mechanism, newton_solve
from fem_mbs.static.equations import Point
from fem_mbs.static.path import Path
from fem_mbs.static.stability import unstable_motions
from fem_mbs.static.start import settle, start
from fem_mbs.static.steadiness import refuse_unsteady
from fem_mbs.static.step import Direction, StepProblem
from fem_mbs.static.turning import TurningEquations
from fem_mbs.system import tangent

LOG = logging.getLogger("fem_mbs")
STEPS = 200
"""Steps from rest to the speed."""


def shape(equations: TurningEquations, first: Point, newton: Newton, begun: float) -> tuple[Point, Report]:
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
    if 0 <= unstable_motions(equations, first) < unstable_motions(equations, found):
        LOG.info("steady_rotation: Newton's method has passed over a barrier; the model is followed from rest")
        try:
            return _end(_from_rest(equations, newton))
        except FemMbsError as failure:
            LOG.warning("steady_rotation: the shape found is not one that the model comes to from rest: %s", failure)
    return found, report


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
    reached = 0.0 if path is None else path.here.point.load * speed
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
