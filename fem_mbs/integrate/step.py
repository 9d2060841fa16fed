"""The start of a run and one step."""

from __future__ import annotations

import numpy as np

from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha
from fem_mbs.integrate.index2 import Index2Problem
from fem_mbs.integrate.index3 import Index3Problem, Trial
from fem_mbs.integrate.starting_values import perturbed
from fem_mbs.model import number
from fem_mbs.solve import Report, initial_state, newton_solve
from fem_mbs.system import State, System

PROBLEMS: dict[str, type[Index3Problem]] = {"index3": Index3Problem, "index2": Index2Problem}


def start(system: System, method: GeneralizedAlpha, h: float | None = None) -> State:
    """State at t = 0 from which ``method`` can step; see :func:`fem_mbs.solve.initial_state` for the errors.

    Perturbed starting values depend on the first step ``h`` in s.
    """
    return prepare(system, initial_state(system), h, method)


def prepare(system: System, state: State, h: float | None, method: GeneralizedAlpha) -> State:
    """Starting values for a first step of ``h`` from a consistent state."""
    if method.start == "consistent":
        return state
    h = number(h, "start: h, the first step, which perturbed starting values depend on,", positive=True)
    return perturbed(system, state, h, method)


def step(
    system: System, state: State, h: float, method: GeneralizedAlpha, before: Report[Trial] | None = None
) -> tuple[State, Report[Trial]]:
    """State at ``state.t + h`` and how Newton's method found it.

    With the report of the step before, the first guess is better, and the modified Newton method goes on with its
    factorised matrix.

    Raises
    ------
    NotConvergedError, MotionError, SingularSystemError
        If the step cannot be solved; a shorter one may.
    """
    # without constraints the formulations are one
    problem = PROBLEMS[method.formulation if system.m else "index3"](system, state, h, method)
    # a diverging iteration overflows before it is stopped
    with np.errstate(over="ignore", invalid="ignore"):
        kept = None if before is None else before.linearization
        unknown, report = newton_solve(problem, problem.guess(before), method.newton, kept)
    return problem.result(unknown), report
