"""Work and precision of Radau IIA against the generalised-alpha method, on the benchmarks of 2012.

Errors are the largest over all nodes and 60 instants of a run: of positions over the extent of the model, of velocities
and of multipliers over their largest values; with variable steps of positions alone, at 200 of the run's own times. The
reference has Radau's equal steps, half as long as the shortest of its curve or shorter. All runs are made in one
process on one core, and seconds are CPU times. ``--case "four-bar"`` runs one benchmark alone, ``--plot FILE`` draws
the curves. Some four minutes.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fem_mbs as mbs
from fem_mbs.benchmarks.flexible import four_bar, right_angle_cantilever
from fem_mbs.benchmarks.tops import free_top, top_on_joint

INSTANTS, SAMPLES, AIM = 60, 200, 1e-6
ALPHA, RADAU = mbs.GeneralizedAlpha(), mbs.RadauIIA()
TOLERANCES = {ALPHA: (1e-1, 1e-2, 1e-3), RADAU: (1e-3, 1e-4, 1e-5, 1e-6)}
LOCAL_ERRORS = {ALPHA: lambda tolerance: 0.01 * tolerance**1.5, RADAU: lambda tolerance: 0.001 * tolerance**0.8}
NAMES = {ALPHA: "generalised-alpha", RADAU: "Radau IIA"}
QUANTITIES = ("x", "v", "multipliers_all")


class Case(NamedTuple):
    """A benchmark: how to build it, its length in s, numbers of equal steps of both methods and of the reference."""

    build: Callable[[], Any]
    t_end: float
    alpha: tuple[int, ...]
    radau: tuple[int, ...]
    reference: int


CASES = {
    "heavy top": Case(top_on_joint, 1.0, (600, 2400, 9600), (300, 420, 600), 1200),
    "heavy top, SE(3)": Case(lambda: top_on_joint("SE3"), 1.0, (600, 2400, 9600), (300, 600, 900), 1800),
    "heavy top, no joint": Case(free_top, 1.0, (600, 2400, 9600), (300, 420, 600), 1200),
    "cantilever": Case(lambda: right_angle_cantilever()[0], 30.0, (600, 2400, 9600), (240, 360, 480, 720), 1440),
    "four-bar": Case(lambda: four_bar()[0], 2.0, (120, 480, 1920), (120, 240, 480, 720), 1440),
}


class Run(NamedTuple):
    """What a run cost and how accurate it is."""

    what: str
    errors: tuple[float, ...]
    seconds: float
    steps: int
    iterations: float
    factorizations: int


def simulated(case: Case, step: float | mbs.VariableStep, method: mbs.Method, **options: Any):  # type: ignore[no-untyped-def]
    begun = time.process_time()
    solution = mbs.simulate(case.build(), case.t_end, step, method, **options)
    return solution, time.process_time() - begun


def measured(case: Case) -> dict[str, list[Run]]:
    """Runs of both methods, with equal and with variable steps."""
    reference, _ = simulated(case, case.t_end / case.reference, RADAU)
    at = {name: getattr(reference, name)[:: case.reference // INSTANTS] for name in QUANTITIES}
    curves = {}
    for method, counts in ((ALPHA, case.alpha), (RADAU, case.radau)):
        runs = []
        for count in counts:
            solution, seconds = simulated(case, case.t_end / count, method)
            every = np.searchsorted(solution.t, np.linspace(0, case.t_end, INSTANTS + 1) - 1e-9)
            errors = [_relative(getattr(solution, name)[every], at[name], solution, name) for name in QUANTITIES]
            runs.append(_run(f"{count} steps", errors, seconds, solution))
        curves[NAMES[method]] = runs
    variable = [
        (method, tolerance, *simulated(case, mbs.VariableStep(local_error=LOCAL_ERRORS[method](tolerance)), method))
        for method, tolerances in TOLERANCES.items()
        for tolerance in tolerances
    ]
    some = [np.unique(np.linspace(0, len(s.t) - 1, SAMPLES).astype(int)) for *_, s, _ in variable]
    times = np.unique(np.concatenate([s.t[k] for k, (*_, s, _) in zip(some, variable, strict=True)]))
    fine, _ = simulated(case, case.t_end / case.reference, RADAU, times=times)
    for k, (method, tolerance, solution, seconds) in zip(some, variable, strict=True):
        error = _relative(solution.x[k], fine.x[np.searchsorted(times, solution.t[k])], solution, "x")
        run = _run(f"tolerance {tolerance:.0e}", [error], seconds, solution)
        curves.setdefault(f"{NAMES[method]}, variable", []).append(run)
    return curves


def _relative(value: np.ndarray, exact: np.ndarray, solution: mbs.Solution, name: str) -> float:
    size = solution.system.length if name == "x" else np.abs(exact).max(initial=0.0)
    return float(np.abs(value - exact).max(initial=0.0) / (size or 1.0))


def _run(what: str, errors: list[float], seconds: float, solution: mbs.Solution) -> Run:
    stats = solution.stats
    steps = len(stats.step_sizes)
    return Run(what, tuple(errors), seconds, steps, stats.mean_newton_iterations, stats.factorizations)


def seconds_at(runs: list[Run], aim: float, which: int | None = 0) -> float:
    """Seconds for an error of one quantity, or of the worst, by the line through the two nearest runs."""
    points = {float(f"{max(run.errors) if which is None else run.errors[which]:.1e}"): run.seconds for run in runs}
    if len(points) < 2:  # steps that no tolerance makes shorter
        return float("nan")
    errors, seconds = np.log(sorted(points.items())).T
    k = int(np.clip(np.searchsorted(errors, np.log(aim)), 1, len(errors) - 1))
    slope = (seconds[k] - seconds[k - 1]) / (errors[k] - errors[k - 1])
    return float(np.exp(seconds[k] + slope * (np.log(aim) - errors[k])))


def report(name: str, curves: dict[str, list[Run]]) -> None:
    print(f"\n{name}")
    for label, runs in curves.items():
        for run in runs:
            errors = " ".join(f"{error:8.1e}" for error in run.errors)
            print(
                f"{label:28}{run.what:>18}  {errors:28}{run.seconds:8.2f} s {run.steps:6} steps"
                f"{run.iterations:6.2f} iterations {run.factorizations:6} factorisations"
            )
    alpha, radau = (curves[NAMES[method]] for method in (ALPHA, RADAU))
    for what, which in (("positions", 0), ("positions, velocities and multipliers", None)):
        own, other = seconds_at(radau, AIM, which), seconds_at(alpha, AIM, which)
        print(f"error of {what} {AIM:g}: {own:.2f} s against {other:.2f} s, ratio {own / other:.2f}")
    own, other = (seconds_at(curves[f"{NAMES[method]}, variable"], AIM) for method in (RADAU, ALPHA))
    print(f"variable steps, error {AIM:g}: {own:.2f} s against {other:.2f} s, ratio {own / other:.2f}", flush=True)


def draw(study: dict[str, dict[str, list[Run]]], file: Path) -> None:
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(2, len(study), figsize=(3.6 * len(study), 7), layout="constrained", squeeze=False)
    styles = {"generalised-alpha": "C0", "Radau IIA": "C1"}
    for column, (name, curves) in zip(panels.T, study.items(), strict=True):
        for label, runs in curves.items():
            color = styles[label.split(",")[0]]
            errors, seconds = [run.errors[0] for run in runs], [run.seconds for run in runs]
            column[0].loglog(errors, seconds, "o--" if "variable" in label else "s-", color=color, label=label)
            if "variable" not in label:
                worst = [max(run.errors) for run in runs]
                column[1].loglog(worst, seconds, "s-", color=color, label=label)
        column[0].set(title=name, xlabel="error of positions")
        column[1].set(xlabel="worst of positions, velocities, multipliers")
        for panel in column:
            panel.axvline(AIM, color="0.6", lw=1)
            panel.invert_xaxis()
            panel.grid(alpha=0.3)
    for row in panels:
        row[0].set_ylabel("CPU seconds")
    panels[0, 0].legend(fontsize=8)
    fig.savefig(file, dpi=80)
    plt.close(fig)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    logging.getLogger("fem_mbs").setLevel(logging.ERROR)
    study = {}
    for name in options.case or CASES:
        study[name] = measured(CASES[name])
        report(name, study[name])
    if options.plot:
        draw(study, options.plot)


if __name__ == "__main__":
    main()
