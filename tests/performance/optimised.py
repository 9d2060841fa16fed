"""An optimisation and an identification from start to end, beside the same optimisers with differences of runs.

``python tests/performance/optimised.py``: evaluations and CPU time of two examples, the controller and the robot.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares, minimize

import fem_mbs as mbs

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

import identify_stiffness as robot
import tune_controller as controller


class Counted:
    """A function of parameters that counts its runs."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function, self.runs = function, 0

    def __call__(self, p: Any) -> Any:
        self.runs += 1
        return self.function(p)


def tuned(derivatives: bool) -> tuple[Any, int]:
    """The gains, and how many runs they took."""
    goal = mbs.Integral(controller.cost)
    if derivatives:
        gains, evaluations, _ = controller.best()
        return gains, evaluations

    def value(p: Any) -> float:
        solution = mbs.simulate(controller.build(*p), controller.T_END, controller.STEP)
        return goal.value(solution.t, goal.values(solution))

    f = Counted(value)
    return minimize(f, controller.GUESS, method="BFGS", options={"gtol": 1e-7}).x, f.runs


def identified(derivatives: bool) -> tuple[Any, int]:
    """The stiffnesses and dampings, and how many runs they took."""
    rng = np.random.default_rng(1)
    fine = mbs.simulate(robot.build(**robot.TRUE, elements=2), robot.T_END, robot.STEP / 4, times=robot.TIMES)
    exact = robot.heights(fine)
    data = mbs.Misfit(robot.heights, robot.TIMES, exact + robot.NOISE * rng.normal(size=exact.shape), robot.NOISE)
    if derivatives:
        found = mbs.fit(robot.build, robot.GUESS, data, robot.T_END, robot.STEP)
        return found.values, found.evaluations

    def residuals(p: Any) -> Any:
        model = robot.build(**dict(zip(robot.GUESS, p, strict=True)))
        solution = mbs.simulate(model, robot.T_END, robot.STEP)
        return data.residuals(solution.t, data.values(solution)).ravel()

    f, start = Counted(residuals), np.array([*robot.GUESS.values()])
    return least_squares(f, start, x_scale=start, ftol=1e-12, xtol=1e-12, gtol=1e-12).x, f.runs


def main() -> None:
    """The table."""
    for name, solve in (("controller", tuned), ("robot", identified)):
        for derivatives in (True, False):
            started = time.process_time()
            values, runs = solve(derivatives)
            spent, way = time.process_time() - started, "derivatives" if derivatives else "differences"
            print(f"{name:12}{way:12}{runs:5} runs {spent:8.1f} s   {np.array2string(values, precision=8)}", flush=True)


if __name__ == "__main__":
    main()
