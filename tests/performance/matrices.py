"""What it costs to build the iteration matrix of a step, exact, without ``T`` and simplified, in turns on one core.

``python tests/performance/matrices.py`` builds the entries of each at the same trial state, without factorising them.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from functools import partial

from measure import Result, alternate, describe, ratios, span, table, typical
from modes import tower
from ours import BUILD
from problems import problem
from steps import chain, top

import fem_mbs as mbs
from fem_mbs.newton import MATRICES

MODELS = {
    "heavy top": top,
    "chain of 10 bodies": partial(chain, 10),
    "chain of 1000 bodies": partial(chain, 1000),
    "cantilever": lambda: BUILD["cantilever"](problem("cantilever"))[0],
    "four-bar": lambda: BUILD["four_bar"](problem("four_bar"))[0],
    "tower of 1000 elements": partial(tower, 1000),
}
BUILDS = 200
"""Matrices a round for a small model; large ones take fewer."""


def build(system: mbs.System, state: mbs.State, matrix: str) -> Result:
    """Seconds a matrix."""
    method = mbs.GeneralizedAlpha(0.9)
    method = replace(method, newton=mbs.Newton(matrix=matrix))
    problem = method.equations(system, state, 1e-3, method.init(system, state, 1e-3))
    unknown = problem.predict(problem.formulas.guess, state.multipliers)
    trial = problem.evaluate(unknown)
    count = max(5, BUILDS // max(1, system.n // 10))
    begun = time.perf_counter()
    for _ in range(count):
        problem.matrix(problem, unknown, trial)
    return {"seconds": (time.perf_counter() - begun) / count}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9, help="rounds, each with one run of every row")
    options = parser.parse_args()
    print(describe() + "\n")
    rows = []
    for name, make in MODELS.items():
        system = mbs.System(make())
        state = mbs.start(system)
        sides = {matrix: partial(build, system, state, matrix) for matrix in MATRICES}
        rounds = alternate(sides, options.repeats)
        exact = rounds[MATRICES[0]]
        others = [span(ratios(rounds[matrix], exact)) for matrix in MATRICES[1:]]
        rows.append((name, f"{1e6 * typical(exact):.0f}", *others))
    print(table(("model", "exact (us)", "without T", "simplified"), rows))


if __name__ == "__main__":
    main()
