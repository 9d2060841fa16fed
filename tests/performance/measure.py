"""Side-by-side measurement: a process for each program, all on one core, asked to run in alternation.

A shared machine drifts by tens of per cent within minutes, so two times taken one after the other say little. Here the
programs take turns, each round gives one ratio, and the median over the rounds is the result.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
Result = dict[str, Any]
REPLY = "reply: "
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def pin() -> str:
    """Bind this process and its children to one core and one thread; say what was done."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned to a core"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"pinned to core {core}"


def describe() -> str:
    """The machine in a line."""
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"Python {platform.python_version()}, {platform.machine()}, one thread, {pin()}, {load}"


def arguments(description: str, repeats: int) -> argparse.ArgumentParser:
    """The options of every script."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--peer", action="store_true", help="run Exudyn beside it (pip install exudyn)")
    parser.add_argument("--repeats", type=int, default=repeats, help="rounds, each with one run of every row")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options, with the peer at hand if it is asked for."""
    options = parser.parse_args()
    if options.peer and find_spec("exudyn") is None:
        parser.error("--peer needs Exudyn: pip install exudyn")
    return options


class Worker:
    """A program in a process of its own: ``script`` answers every question with :func:`serve`."""

    def __init__(self, script: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **question: Any) -> Result:
        """The answer to a question; ``ok`` is False, with a ``message``, if there is none."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return {"ok": False, "message": "the process has ended"}
        for line in self._process.stdout:
            if line.startswith(REPLY):
                return json.loads(line.removeprefix(REPLY))
        return {"ok": False, "message": "the process ended"}

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def serve(answer: Callable[..., Result]) -> None:
    """Answer lines of JSON on the standard input; the mark tells answers from what else the program prints."""
    for line in sys.stdin:
        print(REPLY + json.dumps({**answer(**json.loads(line)), "peak_MB": peak_memory()}), flush=True)


def peak_memory() -> float | None:
    """Largest resident memory of this process so far in MB, where the system tells."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


Side = Callable[[], Result]


def warm_up(sides: dict[str, Side]) -> dict[str, Result]:
    """One run of each side, not to be counted."""
    return {name: run() for name, run in sides.items()}


def alternate(sides: dict[str, Side], repeats: int) -> dict[str, list[Result]]:
    """Rounds of one run a side."""
    rounds: dict[str, list[Result]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, results in rounds.items():
            results.append(sides[name]())
    return rounds


def typical(results: list[Result], key: str = "seconds") -> float:
    """Median over the rounds."""
    return median(result[key] for result in results)


def ratios(ours: list[Result], theirs: list[Result], key: str = "seconds") -> Result:
    """Ours divided by theirs in each round: median, least and largest."""
    values = [a[key] / b[key] for a, b in zip(ours, theirs, strict=True)]
    return {"median": median(values), "least": min(values), "largest": max(values)}


def span(value: Result) -> str:
    """Words for :func:`ratios`."""
    return f"{value['median']:.3f} ({value['least']:.2f} to {value['largest']:.2f})"


def reasons(failed: dict[str, str]) -> str:
    """What did not work, ``build: variant``, in a line for each build and reason."""
    lines: dict[str, list[str]] = {}
    for name, message in failed.items():
        build, variant = name.split(": ")
        lines.setdefault(f"{build} {message}", []).append(variant)
    return "\n".join(f"{what}: {'; '.join(variants)}" for what, variants in lines.items())


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Columns of text, all but the first to the right."""
    text = [header, *rows]
    widths = [max(len(row[k]) for row in text) for k in range(len(header))]
    cells = [[c.rjust(w) for c, w in zip(row, widths, strict=True)] for row in text]
    lines = ["  ".join([row[0].strip().ljust(widths[0]), *row[1:]]) for row in cells]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])
