"""What a step costs here against another revision, in turns on one core, and how many calls of our own it makes.

``python tests/performance/revisions.py fa3d1b2`` unpacks that revision beside this one and runs both on rigid and
flexible models, on modes and on the start of index 2. Each round gives one ratio, and the median over the rounds
counts: below 1 this revision is the faster one. ``--fast`` compiles the kernels of this one (docs/fast.md); in place of
a revision, ``here`` is this one with NumPy alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from measure import Result, Side, Worker, alternate, describe, ratios, span, table, typical, warm_up

ROOT = Path(__file__).parents[2]
CASES = (
    "heavy top",
    "heavy top on SE(3)",
    "double pendulum",
    "slider-crank",
    "chain of 10 bodies",
    "chain of 1000 bodies",
    "cantilever",
    "four-bar",
    "beam of 1000 elements",
    "1000 heavy tops",
    "heavy top, index 2",
    "four-bar, index 2",
    "modes of 400 elements",
    "first step of index 2",
)


def unpack(revision: str, folder: Path) -> Path:
    """The package of a revision as a folder that can be imported from."""
    archive = subprocess.run(
        ["git", "archive", revision, "fem_mbs", "elements"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    shutil.move(folder / "elements", folder / "fem_mbs" / "elements")
    return folder


class Revision:
    """A process that runs the cases with the package of a folder."""

    def __init__(self, folder: Path | None, fast: bool = False) -> None:
        before = dict(os.environ)
        os.environ["FEM_MBS_FAST"] = str(int(fast))
        if folder is not None:
            os.environ["PYTHONPATH"] = str(folder)
        self._worker = Worker("steps.py")
        os.environ.clear()
        os.environ.update(before)

    def side(self, case: str) -> Side:
        """A run of a case."""
        return partial(self._worker.ask, case=case)

    def close(self) -> None:
        """End the process."""
        self._worker.close()


def measure(revision: str, cases: list[str], repeats: int, fast: bool = False) -> dict[str, Result]:
    """Times and counts of both for each case."""
    results: dict[str, Result] = {}
    with tempfile.TemporaryDirectory() as folder:
        other = None if revision == "here" else unpack(revision, Path(folder))
        both = {"now": Revision(None, fast), "then": Revision(other)}
        for case in cases:
            sides = {name: side.side(case) for name, side in both.items()}
            failed = [str(result["message"]) for result in warm_up(sides).values() if not result["ok"]]
            if failed:
                sys.exit(f"{case}: {failed[0]}")
            rounds = alternate(sides, repeats)
            results[case] = {name: summary(own) for name, own in rounds.items()}
            results[case]["ratio"] = ratios(rounds["now"], rounds["then"])
        for side in both.values():
            side.close()
    return results


def summary(results: list[Result]) -> dict[str, Any]:
    """Time of a unit of work in us, and counts."""
    return {
        "us": 1e6 * typical(results),
        **{key: results[0].get(key) for key in ("calls", "iterations", "evaluations")},
    }


def row(case: str, result: Result) -> tuple[str, ...]:
    """Columns of a case."""
    now, then = result["now"], result["then"]
    counts = [
        f"{now[key]:.{digits}f} / {then[key]:.{digits}f}" if now[key] is not None else ""
        for key, digits in (("calls", 0), ("iterations", 2), ("evaluations", 2))
    ]
    return (case, f"{now['us']:.0f} / {then['us']:.0f}", span(result["ratio"]), *counts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("revision", help="what to compare with, as git knows it")
    parser.add_argument("--case", choices=CASES, action="append", help="only this one")
    parser.add_argument("--repeats", type=int, default=9, help="rounds, each with one run of both")
    parser.add_argument("--fast", action="store_true", help="compile the kernels of this revision")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    options = parser.parse_args()
    machine = describe()
    results = measure(options.revision, options.case or list(CASES), options.repeats, options.fast)
    if options.json:
        print(json.dumps({"machine": machine, "revision": options.revision, **results}))
        return
    print(machine + "\n")
    header = ("now / then", "us a step or call", "ratio", "our calls", "iterations", "evaluations")
    print(table(header, [row(case, result) for case, result in results.items()]))


if __name__ == "__main__":
    main()
