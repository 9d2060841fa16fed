"""A swinging beam of 1000 and of 10 000 elements, 20 steps: time per iteration, cost per element, and peak memory.

``python tests/performance/scaling.py --peer`` also runs the peer's beam of 1000 elements in alternation. Every row is a
process of its own, so that its peak memory is that of the problem. Times are those of the whole run divided by its
Newton iterations; ours includes freezing the model and the consistent start, the peer's is its solver alone. Promised
are at most half the peer's time per iteration of full Newton, a cost per element within 30 %, and less than 700 MB.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from measure import (
    Result,
    Side,
    Worker,
    alternate,
    arguments,
    describe,
    parsed,
    ratios,
    reasons,
    span,
    table,
    typical,
    warm_up,
)

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
    for build, words in BUILDS.items() if peer else ():
        for variant in VARIANTS:
            workers.append(Worker("peer.py", *words))
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
    per_iteration = {name: ratios(ours, r, PER_ITERATION) for name, r in rounds.items() if name.startswith("peer")}
    per_element = {key: value * SMALL / LARGE for key, value in ratios(large, ours, PER_ITERATION).items()}
    return {
        "rows": rows,
        "cost_per_element_10000_to_1000": per_element,
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
    if failed:
        print(reasons(failed))
    print(f"cost per element, {LARGE} to {SMALL} elements: {span(result['cost_per_element_10000_to_1000'])}")
    for name, value in result["time_per_iteration_ours_to_peer"].items():
        print(f"time per iteration, ours to {name}: {span(value)}")


def main() -> None:
    """Measure and print."""
    options = parsed(arguments(__doc__ or "", repeats=5))
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
