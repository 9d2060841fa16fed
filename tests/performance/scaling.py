"""A swinging beam of 1000 and of 10 000 elements, 20 steps: time per iteration, cost per element, and peak memory.

``python tests/performance/scaling.py --peer`` also runs the peer's beam of 1000 elements in alternation. Every row is a
process of its own, so that its peak memory is that of the problem. Times are those of the whole run divided by its
Newton iterations; ours includes freezing the model and the consistent start, the peer's is its solver alone.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import Any

from measure import Result, Side, Worker, alternate, describe, ratio, table, typical, warm_up

SMALL, LARGE = 1000, 10_000
TOLERANCE = (1e-6, 1e-2)  # below, the peer's residual stalls at rounding
VARIANTS = ("LG full sparse", "BC full sparse", "EP full sparse", "LG modified sparse")
BUILDS: dict[str, list[str]] = {"peer": [], "peer without range checks": ["fast"]}
PER_ITERATION = "seconds_per_iteration"


def name_of(elements: int) -> str:
    """Our row of a size."""
    return f"fem_mbs, {elements} elements"


def measure(peer: bool, repeats: int) -> tuple[dict[str, list[Result]], dict[str, str]]:
    """Rounds of all rows that work, and why others do not."""
    workers, sides = [], {}
    for elements in (SMALL, LARGE):
        workers.append(Worker("ours.py"))
        sides[name_of(elements)] = partial(workers[-1].ask, kind="swinging_beam", elements=elements)
    for build, arguments in BUILDS.items() if peer else ():
        for variant in VARIANTS:
            workers.append(Worker("peer.py", *arguments))
            question: dict[str, Any] = {"kind": "swinging_beam", "variant": variant, "tolerance": TOLERANCE}
            sides[f"{build}: {variant}"] = partial(workers[-1].ask, **question, elements=SMALL)
    first = warm_up(sides)
    working: dict[str, Side] = {name: side for name, side in sides.items() if first[name]["ok"]}
    rounds = alternate(working, repeats)
    for worker in workers:
        worker.close()
    return rounds, {name: result["message"] for name, result in first.items() if not result["ok"]}


def summary(results: list[Result], elements: int) -> Result:
    """Medians of a row."""
    return {
        "seconds": typical(results),
        "iterations_per_step": typical(results, "iterations") / results[0]["steps"],
        "us_per_iteration_and_element": 1e6 * typical(results, PER_ITERATION) / elements,
        "peak_MB": results[-1]["peak_MB"],
        "displacement": results[0]["displacement"],
    }


def evaluate(rounds: dict[str, list[Result]]) -> dict[str, Any]:
    """The numbers that are promised."""
    ours, large = rounds[name_of(SMALL)], rounds[name_of(LARGE)]
    rows = {name: summary(r, LARGE if name == name_of(LARGE) else SMALL) for name, r in rounds.items()}
    per_iteration = {name: ratio(ours, r, PER_ITERATION) for name, r in rounds.items() if name.startswith("peer")}
    return {
        "rows": rows,
        "cost_per_element_10000_to_1000": ratio(large, ours, PER_ITERATION) * SMALL / LARGE,
        "peak_MB_10000": rows[name_of(LARGE)]["peak_MB"],
        "time_per_iteration_ours_to_peer": per_iteration,
    }


def show(result: dict[str, Any], failed: dict[str, str]) -> None:
    """Print it."""
    header = ("swinging beam", "s a run", "iterations", "us/iter/elem", "peak MB", "displacement at the end")
    rows = [
        (
            name,
            f"{row['seconds']:.2f}",
            f"{row['iterations_per_step']:.2f}",
            f"{row['us_per_iteration_and_element']:.2f}",
            f"{row['peak_MB'] or 0:.0f}",
            " ".join(f"{u:8.5f}" for u in row["displacement"]),
        )
        for name, row in result["rows"].items()
    ]
    print(table(header, rows))
    for name, message in failed.items():
        print(f"{name}: {message}")
    print(f"cost per element, {LARGE} to {SMALL} elements: {result['cost_per_element_10000_to_1000']:.3f}")
    for name, value in result["time_per_iteration_ours_to_peer"].items():
        print(f"time per iteration, ours to {name}: {value:.3f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", action="store_true", help="run Exudyn beside it (pip install exudyn)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds, each with one run of every row")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    options = parser.parse_args()

    machine = describe()
    rounds, failed = measure(options.peer, options.repeats)
    result = evaluate(rounds)
    if options.json:
        print(json.dumps({"machine": machine, **result, "failed": failed}))
        return
    print(machine + "\n")
    show(result, failed)


if __name__ == "__main__":
    main()
