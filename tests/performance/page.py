"""Measures what docs/performance.md says, and writes the page and its figure.

``python tests/performance/page.py`` takes some minutes of one core; with ``--peer`` (``pip install exudyn``) ratios to
a compiled peer are measured too, ``--quick`` leaves the largest sizes out. All are CPU times of one thread: programs
take turns, so that each ratio is of one round, and the median over the rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from measure import HERE, Result, Side, Worker, alternate, pin, ratios, typical, warm_up

PAGE = HERE.parents[1] / "docs" / "performance.md"
FIGURE = PAGE.parent / "images" / "growth.png"
DATA = HERE / "page.json"
SIZES = {"line": (1000, 10_000, 100_000), "grid": (10, 30, 100)}
PEERS = {
    "cantilever": ("right-angle cantilever, 10 elements", "BC full dense", (1e-6, 1e-6)),
    "four_bar": ("four-bar, 30 elements", "EP modified sparse", (1e-6, 1e-6)),
    "swinging_beam": ("beam of 1000 elements", "LG modified sparse", (1e-6, 1e-2)),
}
"""Problems, and the fastest settings of the peer that work."""
SMALL = (
    "heavy top",
    "double pendulum",
    "slider-crank",
    "chain of 10 bodies",
    "chain of 1000 bodies",
    "1000 heavy tops",
)
PARTS = ("residual", "tangent", "assembly", "factorization", "solution")
FAST = {"NumPy": "0", "compiled": "1"}


def worker(script: str, fast: str, *words: str) -> Worker:
    """A process with compiled kernels or without."""
    os.environ["FEM_MBS_FAST"] = fast
    return Worker(script, *words)


def large(sizes: dict[str, tuple[int, ...]]) -> list[Result]:
    """Growth of lines and grids, each in a process of its own."""
    results = []
    for kind, counts in sizes.items():
        for count in counts:
            for name, fast in FAST.items():
                environment = os.environ | {"FEM_MBS_FAST": fast}
                command = [sys.executable, str(HERE / "large.py"), kind, str(count)]
                done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
                results.append({**json.loads(done.stdout.splitlines()[-1]), "kernels": name})
    return results


def in_turns(sides: dict[str, Side], repeats: int) -> dict[str, list[Result]]:
    """Rounds of the sides that work."""
    first = warm_up(sides)
    return alternate({name: side for name, side in sides.items() if first[name]["ok"]}, repeats)


def flexible(peer: bool, repeats: int) -> dict[str, Result]:
    """CPU time of a step of whole runs, and its ratio to the peer's builds."""
    ours = {name: worker("ours.py", fast) for name, fast in FAST.items()}
    theirs = {"peer": Worker("peer.py"), "peer, no checks": Worker("peer.py", "fast")} if peer else {}
    rows = {}
    for kind, (title, variant, tolerance) in PEERS.items():
        sides: dict[str, Side] = {name: partial(own.ask, kind=kind) for name, own in ours.items()}
        for name, own in theirs.items():
            sides[name] = partial(own.ask, kind=kind, variant=variant, tolerance=tolerance)
        rows[title] = told(in_turns(sides, repeats))
    for own in (*ours.values(), *theirs.values()):
        own.close()
    return rows


def small(repeats: int) -> dict[str, Result]:
    """CPU time of a step of mechanisms of rigid bodies."""
    workers = {name: worker("steps.py", fast) for name, fast in FAST.items()}
    sides = {case: {name: partial(own.ask, case=case) for name, own in workers.items()} for case in SMALL}
    rows = {case: told(in_turns(own, repeats)) for case, own in sides.items()}
    for own in workers.values():
        own.close()
    return rows


def told(rounds: dict[str, list[Result]]) -> Result:
    """Microseconds of CPU a step of each side, and ratios of ours to others in each round."""
    result: Result = {name: 1e6 * typical(own, "cpu_a_step") for name, own in rounds.items()}
    for name, own in rounds.items():
        for other in rounds:
            if name in FAST and (other not in FAST or (name, other) == ("compiled", "NumPy")):
                result[f"{name} to {other}"] = ratios(own, rounds[other], "cpu_a_step")["median"]
    return result


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of Markdown."""
    lines = [list(header), ["---"] * len(list(header)), *[[str(own) for own in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def digits(value: float | None) -> str:
    """Three digits, or two below ten."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 10 else f"{value:.2g}"


def growth(results: list[Result], kind: str) -> str:
    """The table of sizes."""
    rows = [
        (
            f"{own['elements']:,}".replace(",", " "),
            own["kernels"],
            own["solver"],
            *(digits(own[name]) for name in ("model", "system", "start", "iteration")),
            digits(1e6 * own["iteration"] / own["elements"]),
            digits(own["iteration"] / own["parts"]["factorization"]),
            digits(own["peak_MB"]),
        )
        for own in results
        if own["kind"] == kind
    ]
    names = "`Model`", "`System`", "start", "iteration", "µs an element", "to factorization", "MB"
    return table(("elements", "kernels", "matrix", *names), rows)


def shares(results: list[Result]) -> str:
    """The table of the parts of an iteration, per element."""
    rows = [
        (
            f"{own['kind']}, {own['elements']:,}".replace(",", " "),
            own["kernels"],
            *(digits(1e6 * own["parts"][name] / own["elements"]) for name in PARTS),
        )
        for own in results
        if own["size"] == SIZES[own["kind"]][1]
    ]
    return table(("µs an element", "kernels", *PARTS), rows)


def files(results: list[Result]) -> str:
    """The table of what is written."""
    rows = [
        (
            f"{own['kind']}, {own['elements']:,}".replace(",", " "),
            *(digits(own[name]) for name in ("store", "store_MB", "paraview", "paraview_MB")),
        )
        for own in results
        if own["kernels"] == "compiled" and "store" in own
    ]
    return table(("three steps", "stored: s", "MB", "ParaView: s", "MB"), rows)


def steps(rows: dict[str, Result]) -> str:
    """The table of a step, with ratios where there are any."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    header = ("CPU time of a step", *(name if " to " in name else f"{name}, µs" for name in names))
    return table(header, [(case, *(digits(row.get(name)) for name in names)) for case, row in rows.items()])


def draw(results: list[Result]) -> None:
    """Time of an iteration and memory over the number of elements."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for kind in SIZES:
        for kernels, style in (("NumPy", "o--"), ("compiled", "o-")):
            own = [row for row in results if (row["kind"], row["kernels"]) == (kind, kernels)]
            elements = [row["elements"] for row in own]
            color = "tab:blue" if kind == "line" else "tab:orange"
            axes[0].loglog(elements, [row["iteration"] for row in own], style, color=color, label=f"{kind}, {kernels}")
            axes[1].loglog(elements, [row["peak_MB"] for row in own], style, color=color)
    axes[0].set_ylabel("CPU time of an iteration (s)")
    axes[1].set_ylabel("peak memory (MB)")
    for place in axes:
        place.set_xlabel("elements")
        place.grid(alpha=0.3)
    axes[0].legend()
    figure.savefig(FIGURE, dpi=130)


def page(data: dict[str, Any]) -> str:
    """The page."""
    return TEXT.format(
        machine=data["machine"],
        flexible=steps(data["flexible"]),
        small=steps(data["small"]),
        line=growth(data["large"], "line"),
        grid=growth(data["large"], "grid"),
        shares=shares(data["large"]),
        files=files(data["large"]),
    )


TEXT = """# Performance

`python tests/performance/page.py --peer` measures this page and writes it. {machine}

All times are CPU times, in s unless told otherwise. *Compiled* is the extra [`fast`](fast.md), *NumPy* what runs
without it. On a machine that does other work at the same time all get longer: read the ratios, which are of programs
in turns, medians over the rounds.

## Whole runs of flexible systems

Of a step, in the default formulation; freezing the model and the consistent start are part of ours. The peer is Exudyn,
in the fastest of its settings that works, with range checks and in its build without. Ratios are ours to the other.
Those by NumPy differ from machine to machine: of one and the same revision 0.80 and 1.26 of the cantilever, 1.0 and 1.5
of the four-bar, 0.51 and 0.70 of the beam.

{flexible}

## Small mechanisms

{small}

A step of a small mechanism is some fifty microseconds compiled, four hundred with NumPy, whatever there is to
compute; beside the peer that is five times as much compiled, forty times with NumPy
(`tests/performance/small_mechanisms.py`).
`simulate_many` integrates copies of one model together: the last row is a step of all thousand tops, in a run
of 20 steps that begins with building a thousand models and ends with asking each where its top was. Of the chain of a
thousand bodies steps alone are timed, of the others whole runs.

## How it grows

A clamped beam that falls, one element after the other. A step is two iterations, with a new matrix in each: a third one
without, which would lower the mean, is not taken where the second correction tells that nothing is left:

{line}

A square grid of beams, one element each, clamped along one side:

{grid}

`start` is the consistent start and the first values of the method; the iteration is one of three steps of 10 ms, also
over the time that its matrix takes to be factorised. Peak memory is that of the process, Python and its packages
included, before anything is written.

![CPU time of an iteration and peak memory over the number of elements](images/growth.png)

## What an iteration is made of

{shares}

The stabilised formulation solves two to four times with each matrix.

## Files

What `store=` adds to a run of three steps, and `to_paraview` of the same; the size of the files.

{files}

## Which matrix, which solver

`solution.stats.solver` says how the matrix was factorised; [Theory](theory.md) has how that is chosen, and how PARDISO
or a solver of your own takes the place of SuperLU. Linear algebra has one thread during a run, where threadpoolctl is
installed; elsewhere `OPENBLAS_NUM_THREADS=1` in the environment does the same.

## Against another revision

`python tests/performance/revisions.py v0.2.0` unpacks that revision beside this one and runs both in turns on one core:
rigid and flexible models, modes, the start of index 2. Each round gives one ratio, and their median counts.
"""


def main() -> None:
    """Measure, keep the numbers, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", action="store_true", help="run Exudyn beside it (pip install exudyn)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds of runs in turns")
    parser.add_argument("--quick", action="store_true", help="without the largest sizes")
    parser.add_argument("--data", type=Path, help="write the page of these numbers, and measure nothing")
    options = parser.parse_args()
    if options.peer and find_spec("exudyn") is None:
        parser.error("--peer needs Exudyn: pip install exudyn")
    if options.data is not None:
        data = json.loads(options.data.read_text())
    else:
        pin()
        packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "llvmlite"))
        data = {
            "machine": f"One core, {platform.machine()}, Python {platform.python_version()}, {packages}"
            + (f", Exudyn {version('exudyn')}." if options.peer else ".")
        }
        sizes = {kind: own[: 2 if options.quick else 3] for kind, own in SIZES.items()}
        for name, measured in (
            ("flexible", partial(flexible, options.peer, options.repeats)),
            ("small", partial(small, options.repeats)),
            ("large", partial(large, sizes)),
        ):
            data[name] = measured()
            DATA.write_text(json.dumps(data, indent=1))
    PAGE.write_text(page(data))
    draw(data["large"])


if __name__ == "__main__":
    main()
