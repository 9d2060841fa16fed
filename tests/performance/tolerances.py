"""How motions of many kinds keep the tolerance of ``mbs.VariableStep``: what docs/variable_steps.md sums up.

``PYTHONPATH=tests python tests/performance/tolerances.py`` prints it.
"""

from __future__ import annotations

import argparse

import numpy as np
import suite
from measure import table

GROUPS = ("R3xSO3", "SE3")


def shown(kept: suite.Kept) -> str:
    """Error over tolerance, in brackets where something else holds the steps."""
    return f"({kept.ratio:.2g})" if kept.held else f"{kept.ratio:.2g}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--motion", choices=suite.MOTIONS, action="append", help="only this one")
    options = parser.parse_args()
    tolerances = sorted({tolerance for *_, tolerance in suite.TOLERANCES}, reverse=True)
    rows, free = [], []
    for name in options.motion or suite.MOTIONS:
        row = []
        for tolerance in tolerances:
            found = [
                suite.kept(name, group, tolerance) for group in GROUPS if (name, group, tolerance) in suite.TOLERANCES
            ]
            row.append(
                "; ".join((", ".join(map(shown, found)), "/".join(str(kept.steps) for kept in found))) if found else ""
            )
            free += [kept.ratio for kept in found if not kept.held]
        rows.append((name, *row))
        print(rows[-1], flush=True)
    print(table(("error over tolerance; steps", *(f"{tolerance:.0e}" for tolerance in tolerances)), rows))
    low, median, high = np.quantile(free, (0.25, 0.5, 0.75))
    within = sum(0.1 < ratio < 10.0 for ratio in free)
    print(f"{len(free)} runs, median {median:.2g}, half between {low:.2g} and {high:.2g}, {within} within 10")


if __name__ == "__main__":
    main()
