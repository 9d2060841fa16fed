"""Work and precision of beam elements of order 1, 2 and 3: error against unknowns and seconds.

``python tests/performance/beam_orders.py [--plot docs/images/beam_orders.png]``, about three minutes. Each error is
against order 3 with three times the elements of the finest run; seconds are the least of five runs, in turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import beams
from fem_mbs.benchmarks.flexible import right_angle_cantilever
from fem_mbs.benchmarks.vibrations import blade

COUNTS = {1: (2, 4, 8, 16, 32, 64), 2: (1, 2, 4, 8, 16), 3: (1, 2, 4, 8)}
"""Elements of a beam, or of a leg."""
FINE = 24


class Run(NamedTuple):
    """What a run gives: numbers to compare, unknowns, seconds."""

    values: Array
    unknowns: int
    seconds: float


def _timed(action: Callable[[], Array], model: mbs.Model) -> Run:
    begin = time.process_time()
    values = action()
    return Run(values, mbs.System(model).n_free, time.process_time() - begin)


def bend(order: int, elements: int) -> Run:
    """Where the end of the 45-degree bend goes, over the radius, with Saint-Venant's torsion."""
    model, beam = beams.bend(elements, order, torsion=0.1406)
    return _timed(lambda: mbs.statics(model).position(beam.nodes[-1])[-1] / 100, model)


def cantilever(order: int, elements: int) -> Run:
    """Elbow and tip of the right-angle cantilever in ten seconds, over a leg's length."""
    model, *watched = right_angle_cantilever(elements=elements, order=order)

    def motion() -> Array:
        solution = mbs.simulate(model, 10.0, 0.05, mbs.GeneralizedAlpha(0.8))
        return np.array([solution.displacement(node)[:, 2] for node in watched]) / 10

    return _timed(motion, model)


def turning_blade(order: int, elements: int) -> Run:
    """Logarithms of the first four frequencies of a blade that turns at 12 times ``sqrt(EI/mu L^4)``."""
    model, _ = blade(12.0, elements=elements, order=order, EA=1e6)
    state = mbs.steady_rotation(model, (0, 0, 12.0)).state(-1)
    return _timed(lambda: np.log(mbs.modes(model, 4, state).angular), model)


PROBLEMS = {"45-degree bend": bend, "right-angle cantilever": cantilever, "rotating blade": turning_blade}


def study(problem: Callable[[int, int], Run], repeats: int = 5) -> dict[int, list[tuple[int, float, int, float]]]:
    """Elements, error, unknowns and seconds, by order."""
    exact = problem(3, FINE).values
    cases = [(order, count) for order, counts in COUNTS.items() for count in counts]
    runs: dict[tuple[int, int], list[Run]] = {case: [] for case in cases}
    for _ in range(repeats):
        for case in cases:
            runs[case].append(problem(*case))
    found: dict[int, list[tuple[int, float, int, float]]] = {order: [] for order in COUNTS}
    for (order, count), own in runs.items():
        error = float(np.abs(own[0].values - exact).max())
        found[order].append((count, error, own[0].unknowns, min(run.seconds for run in own)))
    return found


def figure(studies: dict[str, dict[int, list[tuple[int, float, int, float]]]], file: str) -> None:
    """Error against unknowns: seconds of runs as short as these are noise."""
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(1, len(studies), figsize=(12, 3.6), layout="constrained")
    for panel, (name, found) in zip(panels, studies.items(), strict=True):
        for order, rows in found.items():
            _, error, unknowns, _ = np.array(rows).T
            panel.loglog(unknowns, error, "osD"[order - 1] + "-", label=f"order {order}")
        panel.set(title=name, xlabel="unknowns", ylabel="error")
        panel.grid(alpha=0.3, which="both")
        panel.xaxis.set_minor_formatter("")
    panels[0].legend()
    fig.savefig(file, dpi=110)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", help="file of a figure")
    options = parser.parse_args()
    studies = {name: study(problem) for name, problem in PROBLEMS.items()}
    for name, found in studies.items():
        print(f"{name}\n{'order':>6}{'elements':>10}{'unknowns':>10}{'error':>11}{'seconds':>9}")
        for order, rows in found.items():
            for count, error, unknowns, seconds in rows:
                print(f"{order:6}{count:10}{unknowns:10}{error:11.1e}{seconds:9.3f}")
    if options.plot:
        figure(studies, options.plot)


if __name__ == "__main__":
    main()
