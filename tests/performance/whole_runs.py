"""Wall time of whole runs: the right-angle cantilever and the four-bar, beside the peer if asked.

``python tests/performance/whole_runs.py --peer`` runs fem_mbs and the variants of both builds of the peer in alternation,
and prints the median of the ratio in each round. Ours includes freezing the model and the consistent start; the peer's is
its solver alone. Ours converges to 1e-8 of the largest force.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from itertools import product
from typing import Any

from measure import Result, Side, Worker, alternate, describe, ratio, table, typical, warm_up

# Relative and absolute tolerance of the peer's residual. The four-bar starts from rest, where a relative test says
# nothing and nodes on the Lie group do not reach a tight absolute one.
TOLERANCES = {"1e-6": (1e-6, 1e-6), "1e-6, absolute 0.1": (1e-6, 0.1)}
CASES = {"cantilever": ["1e-6"], "four_bar": ["1e-6", "1e-6, absolute 0.1"]}
VARIANTS = [" ".join(words) for words in product(("LG", "BC", "EP"), ("full", "modified"), ("dense", "sparse"))]
BUILDS: dict[str, list[str]] = {"peer": [], "peer without range checks": ["fast"]}
OURS = "fem_mbs"
SLOW = 1.6  # a variant that needs so many times the fastest of its build in the warm-up is not timed further


def variants(case: str, build: str, worker: Worker) -> dict[str, Side]:
    """Every variant of a build of the peer."""
    return {
        f"{build}: {variant}, {name}": partial(worker.ask, kind=case, variant=variant, tolerance=TOLERANCES[name])
        for variant, name in product(VARIANTS, CASES[case])
    }


def fastest(first: dict[str, Result]) -> set[str]:
    """The sides that are worth timing."""
    limit = SLOW * min(result.get("seconds", float("inf")) for result in first.values())
    return {name for name, result in first.items() if result["ok"] and result["seconds"] <= limit}


def compare(case: str, repeats: int, ours: Worker, builds: dict[str, Worker]) -> dict[str, Any]:
    """Times of all sides, what did not work, and the ratio to the best variant of each build."""
    sides: dict[str, Side] = {OURS: partial(ours.ask, kind=case)}
    warm_up(sides)
    failed, of_build = {}, {}
    for build, worker in builds.items():
        tried = variants(case, build, worker)
        first = warm_up(tried)
        failed.update({name: result["message"] for name, result in first.items() if not result["ok"]})
        of_build[build] = fastest(first)
        sides.update({name: tried[name] for name in of_build[build]})
    rounds = alternate(sides, repeats)
    rows = {name: summary(results, rounds[OURS]) for name, results in rounds.items()}
    best = {build: min(names, key=lambda name: rows[name]["seconds"]) for build, names in of_build.items() if names}
    return {"rows": rows, "failed": failed, "best": {name: rows[name]["ours_to_this"] for name in best.values()}}


def summary(results: list[Result], ours: list[Result]) -> Result:
    """Medians of a side."""
    steps = results[0]["steps"]
    return {
        "seconds": typical(results),
        "us_per_step": 1e6 * typical(results) / steps,
        "iterations_per_step": typical(results, "iterations") / steps,
        "matrices_per_step": typical(results, "matrices") / steps,
        "ours_to_this": ratio(ours, results),
        "displacement": results[0]["displacement"],
    }


def show(case: str, result: dict[str, Any]) -> None:
    """Print a case."""
    header = (case, "us a step", "iterations", "matrices", "ours/this", "displacement at the end")
    print(
        table(
            header,
            [
                (
                    name,
                    f"{row['us_per_step']:.0f}",
                    f"{row['iterations_per_step']:.2f}",
                    f"{row['matrices_per_step']:.2f}",
                    f"{row['ours_to_this']:.3f}",
                    " ".join(f"{u:8.5f}" for u in row["displacement"]),
                )
                for name, row in sorted(result["rows"].items(), key=lambda item: item[1]["seconds"])
            ],
        )
    )
    for message in sorted(set(result["failed"].values())):
        print(f"{message}: {'; '.join(name for name, why in result['failed'].items() if why == message)}")
    for name, value in result["best"].items():
        print(f"ratio to the best of {name}: {value:.3f}")
    print()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", action="store_true", help="run Exudyn beside it (pip install exudyn)")
    parser.add_argument("--repeats", type=int, default=7, help="rounds, each with one run of every side")
    parser.add_argument("--case", choices=list(CASES), action="append", help="only this one")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    options = parser.parse_args()

    machine = describe()
    ours = Worker("ours.py")
    builds = {name: Worker("peer.py", *arguments) for name, arguments in BUILDS.items()} if options.peer else {}
    results = {case: compare(case, options.repeats, ours, builds) for case in options.case or CASES}
    for worker in (ours, *builds.values()):
        worker.close()
    if options.json:
        print(json.dumps({"machine": machine, **results}))
        return
    print(machine + "\n")
    for case, result in results.items():
        show(case, result)


if __name__ == "__main__":
    main()
