"""What a step of each formulation costs against index 3, in turns on one core.

``python tests/performance/formulations.py`` prints ratios, the median over the rounds, and counts a step.
"""

from __future__ import annotations

import argparse
from functools import partial

from measure import Result, alternate, describe, ratios, span, table, typical
from steps import chain, flexible, rigid, top

from fem_mbs.alpha.generalized_alpha import FORMULATIONS

CASES = {
    "heavy top, 1 ms": partial(rigid, top, 500, 1e-3),
    "heavy top on SE(3), 1 ms": partial(rigid, partial(top, "SE3"), 500, 1e-3),
    "chain of 10 bodies, 1 ms": partial(rigid, partial(chain, 10), 500, 1e-3),
    "chain of 10 bodies, 10 ms": partial(rigid, partial(chain, 10), 200, 1e-2),
    "chain of 1000 bodies, 1 ms": partial(rigid, partial(chain, 1000), 20, 1e-3),
    "four-bar, 20 ms": partial(flexible, "four_bar"),
}


def run(case: str, formulation: str) -> Result:
    """Seconds of a step, and counts."""
    stats = CASES[case](formulation=formulation)().stats
    steps = len(stats.step_sizes)
    return {
        "seconds": stats.wall_time / steps,
        "iterations": stats.mean_newton_iterations,
        "evaluations": stats.residual_evaluations / steps,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--case", choices=CASES, action="append", help="only this one")
    parser.add_argument("--repeats", type=int, default=9, help="rounds, each with one run of every formulation")
    options = parser.parse_args()
    print(describe() + "\n")
    rows = []
    for case in options.case or CASES:
        rounds = alternate({name: partial(run, case, name) for name in FORMULATIONS}, options.repeats)
        index3 = rounds["index3"]
        others = [span(ratios(rounds[name], index3)) for name in ("stabilized", "index2")]
        counts = [
            " / ".join(f"{rounds[name][0][key]:.2f}" for name in ("index3", "stabilized", "index2"))
            for key in ("iterations", "evaluations")
        ]
        rows.append((case, f"{1e6 * typical(index3):.0f}", *others, *counts))
    print(table(("case", "index 3 (us)", "stabilized", "index 2", "iterations of each", "evaluations"), rows))


if __name__ == "__main__":
    main()
