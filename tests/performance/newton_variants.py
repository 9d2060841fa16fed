"""What the variants of Newton's method cost on the benchmarks, at their step and at half of it.

All variants of a case run in turns on one core; ratios are those of the same round. A variant that does not converge in
the 12 iterations of the default, so that the step would have to be halved, has failed and is not timed.
``--case "heavy top"`` runs one benchmark alone, ``--formulation index2`` the stabilised equations.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from math import isclose
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
from measure import Result, alternate, describe, ratios, span, table, typical, warm_up
from modes import tower

import fem_mbs as mbs
from fem_mbs.benchmarks.flexible import four_bar, four_bar_2016, right_angle_cantilever
from fem_mbs.benchmarks.tops import top_on_joint
from fem_mbs.elements import Force

EXACT = "exact"
VARIANTS = {
    EXACT: mbs.Newton(),
    "exact, line search": mbs.Newton(line_search=True),
    "exact, modified": mbs.Newton(modified=True),
    "without T": mbs.Newton(matrix="without_tangent_operator"),
    "without T, modified": mbs.Newton(matrix="without_tangent_operator", modified=True),
    "simplified": mbs.Newton(matrix="simplified"),
    "simplified, modified": mbs.Newton(matrix="simplified", modified=True),
}


def pulled_tower(group: str) -> tuple[mbs.Model]:
    """A tower of 1000 elements and 100 hinges: a matrix that costs more than the equations."""
    model = tower(1000)
    model.add(Force(model.nodes[-1], (2e3, 1e3, 0)))
    return (model,)


class Benchmark(NamedTuple):
    """A model, the step and the method of its source, and a part of its run that is long enough to time."""

    build: Callable[..., tuple[Any, ...]]
    step: float
    t_end: float
    method: mbs.GeneralizedAlpha
    groups: tuple[str, ...] = ("R3xSO3", "SE3")


BENCHMARKS = {
    "heavy top": Benchmark(lambda group: (top_on_joint(group),), 2e-3, 0.4, mbs.GeneralizedAlpha(0.9)),
    "cantilever": Benchmark(right_angle_cantilever, 0.2, 20.0, mbs.GeneralizedAlpha.hht(0.05)),
    "four-bar 2012": Benchmark(four_bar, 0.02, 2.0, mbs.GeneralizedAlpha(0.9)),
    "four-bar 2016": Benchmark(four_bar_2016, 4e-3, 0.6, mbs.GeneralizedAlpha(0.0)),
    "tower": Benchmark(pulled_tower, 2e-3, 0.04, mbs.GeneralizedAlpha(0.8), ("R3xSO3",)),
}


def run(benchmark: Benchmark, group: str, h: float, formulation: str, newton: mbs.Newton) -> Result:
    """One run: its counts a step, its time and where it ended, or the time from which a step failed."""
    method = replace(benchmark.method, formulation=formulation, newton=newton)
    reached = [0.0]

    def halved(state: mbs.State) -> bool:
        whole = isclose(state.t / h, round(state.t / h), abs_tol=1e-6)
        reached.append(state.t if whole else reached[-1])
        return not whole

    try:
        solution = mbs.simulate(benchmark.build(group)[0], benchmark.t_end, h, method, callback=halved)
    except mbs.FemMbsError:
        return {"failed": reached[-1]}
    stats = solution.stats
    if stats.failed_steps:
        return {"failed": reached[-1]}
    steps = len(stats.newton_iterations)
    return {
        "seconds": stats.wall_time,
        "us": 1e6 * stats.wall_time / steps,
        "iterations": stats.mean_newton_iterations,
        "evaluations": stats.residual_evaluations / steps,
        "factorizations": stats.factorizations / steps,
        "end": solution.x[-1] / solution.system.length,
    }


def compare(benchmark: Benchmark, group: str, h: float, formulation: str, repeats: int) -> dict[str, Result]:
    """All variants of a case; those that fail run once."""
    sides = {name: partial(run, benchmark, group, h, formulation, newton) for name, newton in VARIANTS.items()}
    first = warm_up(sides)
    rounds = alternate({name: side for name, side in sides.items() if "failed" not in first[name]}, repeats)
    ends = {name: result.pop("end") for name, result in first.items() if name in rounds}
    for name, results in rounds.items():
        first[name] = {key: typical(results, key) for key in first[name]}
        first[name]["to_exact"] = ratios(results, rounds[EXACT])
        first[name]["difference"] = float(np.abs(ends[name] - ends[EXACT]).max())
    return first


def line(row: Result) -> tuple[str, ...]:
    """Columns of a variant."""
    if "failed" in row:
        return ("", "", "", "", f"failed at {row['failed']:.3g} s", "")
    counts = (f"{row[key]:.2f}" for key in ("iterations", "evaluations", "factorizations"))
    return (*counts, f"{row['us']:.0f}", span(row["to_exact"]), f"{row['difference']:.0e}")


def summary(results: dict[str, dict[str, Result]]) -> str:
    """Time of each variant over the cases where it did not fail."""
    lines: list[tuple[str, ...]] = []
    for name in VARIANTS:
        times = [rows[name]["to_exact"]["median"] for rows in results.values() if "failed" not in rows[name]]
        spread = (f"{geometric_mean(times):.2f}", f"{min(times):.2f}", f"{max(times):.2f}") if times else ("", "", "")
        lines.append((name, *spread, str(len(results) - len(times))))
    return table((f"{len(results)} cases", "time to exact, mean", "least", "largest", "failed"), lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7, help="rounds, each with one run of every row")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument("--case", choices=list(BENCHMARKS), action="append", help="only this one")
    parser.add_argument("--formulation", choices=("index3", "index2"), default="index3")
    options = parser.parse_args()
    machine = describe()
    # a step that fails is a result here
    logging.getLogger("fem_mbs").setLevel(logging.ERROR)
    results = {}
    for name, part in product(options.case or BENCHMARKS, (1, 2)):
        benchmark = BENCHMARKS[name]
        for group in benchmark.groups:
            h = benchmark.step / part
            case = f"{name}, {group}, h = {1e3 * h:g} ms"
            results[case] = compare(benchmark, group, h, options.formulation, options.repeats)
    if options.json:
        print(json.dumps({"machine": machine, **results}))
        return
    print(machine + "\n")
    header = ("iterations", "evaluations", "factorisations", "us a step", "time to exact", "difference")
    for case, rows in results.items():
        print(table((case, *header), [(name, *line(row)) for name, row in rows.items()]) + "\n")
    print(summary(results))


if __name__ == "__main__":
    main()
