"""Write ``docs/iftomm.md`` and its figure: run this from the root of the repository when the problems have changed."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fem_mbs.benchmarks.case import BenchmarkProblem, references, solve
from fem_mbs.benchmarks.linkages import FORTY_WINDOWS, GOVERNOR, LINKAGE, PENDULUM, SLIDER_CRANK, SQUEEZER, TWO_WINDOWS

DOCS = Path(__file__).parent
sys.path.append(str(DOCS.parent / "tests" / "benchmarks"))
from few_coordinates import fastest  # noqa: E402

GROUPS = ("R3xSO3", "SE3")
STEPS = {  # numbers of equal steps
    PENDULUM: (250, 500, 1000, 2000, 4000, 8000),
    TWO_WINDOWS: (500, 1000, 2000, 4000, 8000),
    FORTY_WINDOWS: (500, 1000, 2000),
    SQUEEZER: (250, 500, 1000, 2000, 4000),
    LINKAGE: (100, 200, 500, 1000, 2000),
    GOVERNOR: (200, 500, 1000, 2000, 4000, 8000),
    SLIDER_CRANK: (500, 1000, 2000, 4000, 8000),
}
HEAD = """# Benchmarks of the IFToMM library

The [library of computational benchmark problems](https://www.iftomm-multibody.org/benchmark/) of the IFToMM committee
for multibody dynamics (González, Dopico, Lugrís, Cuadrado 2006) asks for two numbers: how exact a result is, and what
it cost. Here are both for five of its problems and the spatial slider-crank, with the default method, on both groups.
The models are those of `fem_mbs/benchmarks` (`fem-mbs validate --all machines`).

![Errors against the step and against the time of computation](images/iftomm.png)

Left: the largest error of all that is compared, each quantity over its size, against the step; the dotted line has the
slope 2. Right: the same against the seconds that one core takes (process time). Full lines:
$\\mathbb R^3\\times SO(3)$, dashed: $SE(3)$.

| problem | what it tries | reference |
|---|---|---|
@PROBLEMS@
The time series of the library are not public; the references were computed from the same data by other means, and agree
with what its plots and the authors of solutions show. All of them are met: errors fall with the square of the step
down to what the references are good for, with no loss at singular positions, in redundant or in stiff systems. `fem-mbs
validate --all machines` prints the values, extrapolated, beside their references. Of the slider-crank there are series
of others: that of Masarati with steps of 4 ms ends 11 mm off, ours with 5 ms 7 mm.

This page is written by `python docs/make_iftomm.py`.
"""
PROBLEMS = (
    ("A01, simple pendulum", "a long run", "one coordinate, to $10^{-12}$"),
    (
        "A02, N-four-bar, N = 2 and 40",
        "ten passages through positions with all bars in line, where N more motions are free; redundant joints",
        "one coordinate, to $10^{-12}$",
    ),
    (
        "A03, Andrews' squeezer",
        "small time scales: the crank turns at 1140 rad/s after 30 ms; rates and joint forces are compared as well",
        "test set of initial value problems",
    ),
    ("A04, Bricard's linkage", "moves though its equations are one too many for that", "one coordinate, six digits"),
    (
        "A05, flyball governor",
        "stiff: couplers of 800 kN/m with dampers of 40 kN s/m",
        "three coordinates, Radau, to $10^{-11}$",
    ),
    ("spatial slider-crank", "spherical, universal and prismatic joints", "one coordinate, to $10^{-12}$"),
)


MOST = max(map(len, STEPS.values()))
"""Steps of the problem with the most of them."""


def run(problem: BenchmarkProblem, group: str, steps: int) -> dict[str, float]:
    """Step, error, seconds of one core, and the largest change of energy of one run."""
    begun = time.process_time()
    solution, values = solve(problem, steps, group)
    seconds = time.process_time() - begun
    known = references()[problem.name][: values.size]
    apart = np.abs(values.ravel() - [own.reference for own in known])
    error = float((apart / [own.scale for own in known]).max())
    total = solution.energy.total
    drift = float(np.abs(total - total[0]).max())
    return {"h": problem.t_end / steps, "error": error, "seconds": seconds, "drift": drift}


def measured() -> dict[str, dict[str, list[dict[str, float]]]]:
    results = {}
    for problem, counts in STEPS.items():
        results[problem.name] = {group: [run(problem, group, count) for count in counts] for group in GROUPS}
    return results


def figure(results) -> None:
    fig, panels = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", sharey=True)
    for k, (name, groups) in enumerate(results.items()):
        for group, style in zip(GROUPS, ("o-", "s--"), strict=True):
            rows = groups[group]
            for panel, what in zip(panels, ("h", "seconds"), strict=True):
                label = name if group == GROUPS[0] else None
                x, y = [row[what] for row in rows], [row["error"] for row in rows]
                panel.loglog(x, y, style, color=f"C{k}", ms=4, label=label, lw=1.2)
    h = np.array([3e-4, 3e-2])
    panels[0].loglog(h, 10 * h**2, ":", color="0.3")
    panels[0].set(xlabel="step (s)", ylabel="largest error over the size of the quantity")
    panels[1].set(xlabel="time of one core (s)")
    panels[0].legend(fontsize=8)
    for panel in panels:
        panel.grid(alpha=0.3)
    fig.savefig(DOCS / "images" / "iftomm.png", dpi=110)


def row(cells) -> str:
    return "| " + " | ".join(cells) + " |"


def step(h: float) -> str:
    return f"{1e3 * h:.3g}"


def table(name: str, groups: dict[str, list[dict[str, float]]]) -> str:
    """Two lines of a problem, one of each group: error and seconds at each step."""
    lines = []
    for group, shown in zip(GROUPS, ("$\\mathbb R^3\\times SO(3)$", "$SE(3)$"), strict=True):
        cells = [f"{step(own['h'])}: {own['error']:.1e}, {own['seconds']:.2g}" for own in groups[group]]
        lines.append(row([name if group == GROUPS[0] else "", shown, *cells, *[""] * (MOST - len(cells))]))
    return "\n".join(lines) + "\n"


def energy(results) -> str:
    """The criterion of A02."""
    lines = ["\n## Energy of A02\n"]
    lines.append(
        "The library judges A02 by the change of energy, which should be none; its first edition had 40 windows, and "
        "allowed\nerrors of 0.1 or 0.001 of place and velocity of B0. Largest change over 10 s in J; what weight "
        "exchanges with motion\nis 69 J for two windows and 1187 J for 40:\n"
    )
    first = results[TWO_WINDOWS.name][GROUPS[0]]
    lines.append("| | | " + " | ".join(f"{step(row['h'])} ms" for row in first) + " |")
    lines.append("|---" * (2 + len(first)) + "|")
    for problem in (TWO_WINDOWS, FORTY_WINDOWS):
        for group in GROUPS:
            cells = [f"{row['drift']:.1e}" for row in results[problem.name][group]]
            cells += [""] * (len(first) - len(cells))
            lines.append(f"| {problem.name} | {group} | " + " | ".join(cells) + " |")
    lines.append(
        "\nIt falls with the square of the step. A step that ends at a position in line, where its equations have no\n"
        "unique solution, passes it by ending half a step later.\n"
    )
    return "\n".join(lines)


def stiffness(results) -> str:
    """What the steps of A05 are in terms of its fastest time."""
    scale = 1.0 / fastest()
    rows = results[GOVERNOR.name][GROUPS[0]]
    lines = ["\n## Steps of A05 and its time scales\n"]
    lines.append(
        f"Linearised at the start, the couplers come to rest within {1e3 * scale:.3f} ms, the fastest time of the "
        "system;\nthe governor swings with a period of 1 s.\n"
    )
    lines.append("| step over the fastest time | " + " | ".join(f"{row['h'] / scale:.0f}" for row in rows) + " |")
    lines.append("|---" * (1 + len(rows)) + "|")
    for group in GROUPS:
        cells = [f"{row['error']:.1e}" for row in results[GOVERNOR.name][group]]
        lines.append(f"| error, {group} | " + " | ".join(cells) + " |")
    lines.append(
        "\nThe step is chosen for the swing alone: errors fall with the square of the step at any multiple of the "
        "fastest time.\n"
    )
    return "\n".join(lines)


def main() -> None:
    logging.getLogger("fem_mbs").setLevel(logging.ERROR)
    results = measured()
    parts = [
        HEAD.replace("@PROBLEMS@", "\n".join(map(row, PROBLEMS)) + "\n"),
        "\n## Errors and cost\n\nStep in ms: largest error, time of one core in s.\n\n",
        f"| | {'| ' * MOST}|\n{'|---' * (MOST + 2)}|\n",
    ]
    parts.extend(table(name, groups) for name, groups in results.items())
    parts += [energy(results), stiffness(results)]
    (DOCS / "iftomm.md").write_text("".join(parts), encoding="utf-8")
    figure(results)


if __name__ == "__main__":
    main()
