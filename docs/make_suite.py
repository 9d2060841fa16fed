"""Write ``docs/suite.md`` and its figure: run this from the root of the repository when the suite has changed."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, zip_longest
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fem_mbs.benchmarks.beams import SLENDERNESS, errors
from fem_mbs.validation import CASES

DOCS = Path(__file__).parent
HEAD = """# The validation suite

```sh
fem-mbs validate               # the quick cases
fem-mbs validate lee buckling  # those with such a name
fem-mbs validate --all         # the slow ones, too
```

The suite runs published benchmarks and compares every quantity with its reference, a row of
`fem_mbs/benchmarks/references.csv`; `--list` lists the cases, `--json FILE` writes the results. The exit status is 1 if
a quantity fails. The same cases run in the tests.

*Exact* is what theory says, or what was computed apart from the library to more digits than are compared; *published*
is printed in a paper or a collection; *computed* comes from another program, whose mesh and step bound what can agree.
*Deviation* is relative to the reference, or to the size of the motion where the reference is small. Where the case has
an order, ours are extrapolated from three meshes, or three steps, which double.
"""
RULE = """
Of each case the first tables have its summary, how many quantities are compared and with what, and the quantity that
is nearest to what is allowed; [all quantities](#all-quantities) follow. This page is written by
`python docs/make_suite.py`.
"""
PICTURE = """
## All deviations

![Deviations of all quantities, and the error of slender beams](images/suite.png)

Left: the deviation of each quantity (dots) and what is allowed (lines). Right: eight elements bent to half their
length, straight and as an eighth of a circle; the error does not grow with the slenderness, on either interpolation.
"""
TABLE = """
| case | quantities | nearest to its limit | ours; reference | deviation; allowed |
|---|---|---|---|---|
"""
ALL = """
## All quantities

| case | quantity | ours | reference | deviation | allowed | source |
|---|---|---|---|---|---|---|
"""


def number(value: float) -> str:
    return f"{value:.7g}" if abs(value) >= 1e-9 else "0"


def sources(quantities) -> str:
    """How many are exact, published and computed, and by whom."""
    split = [q.source.partition(": ")[::2] for q in quantities]
    counts = Counter(kind for kind, _ in split)
    names = {kind: dict.fromkeys(name for of, name in split if of == kind and name != "theory") for kind in counts}
    return "; ".join(f"{counts[kind]} {kind}" + f" ({', '.join(names[kind])})" * bool(names[kind]) for kind in counts)


def row(case, quantities) -> str:
    """The line of a case: its quantity nearest to what is allowed stands for all."""
    worst = max(quantities, key=lambda q: q.deviation / q.tolerance)
    name = worst.name if worst.passed else f"**{worst.name} (fails)**"
    values = f"{number(worst.value)}; {number(worst.reference)} | {worst.deviation:.1e}; {worst.tolerance:.0e}"
    return f"| **{case.name}**: {case.summary} | {sources(quantities)} | {name} | {values} |\n"


def rows(case, quantities) -> str:
    """A line a quantity, the case beside its first one."""
    lines = []
    for q, name in zip_longest(quantities, [case.name], fillvalue=""):
        values = f"{number(q.value)} | {number(q.reference)} | {q.deviation:.1e} | {q.tolerance:.0e}"
        lines.append(f"| {name} | {q.name} | {values} | {q.source} |\n")
    return "".join(lines)


def figure(results) -> None:
    size = 12, 0.2 * len(results)
    fig, (dots, locking) = plt.subplots(1, 2, figsize=size, layout="constrained", width_ratios=(2, 1))
    for k, (_, quantities) in enumerate(results):
        for q in quantities:
            dots.plot(max(q.deviation, 1e-10), k, "o", ms=3, color="C0" if q.passed else "C3")
            dots.plot([q.tolerance] * 2, [k - 0.35, k + 0.35], color="0.5", lw=1)
    dots.set(xscale="log", xlabel="deviation from the reference", ylim=(len(results) - 0.4, -0.6))
    dots.set_yticks(range(len(results)), [case.name for case, _ in results])
    for angle, name in ((0.0, "straight"), (np.pi / 4, "45-degree bend")):
        for interpolation, style in (("SE3", "o-"), ("R3xSO3", "s--")):
            locking.semilogx(SLENDERNESS, 100 * errors(angle, interpolation), style, label=f"{name}, {interpolation}")
    locking.set(xlabel="length over thickness", ylabel="error of 8 elements (%)", ylim=(0, 0.5))
    locking.legend()
    locking.set_box_aspect(0.8)
    locking.set_anchor("N")
    for panel in (dots, locking):
        panel.grid(alpha=0.3)
    fig.savefig(DOCS / "images" / "suite.png", dpi=110)


def page(results) -> str:
    every = [q for _, quantities in results for q in quantities]
    kinds = Counter(q.source.partition(":")[0] for q in every)
    said = ", ".join(f"{kinds[kind]} {kind}" for kind in ("exact", "published", "computed"))
    passed = sum(q.passed for q in every)
    text = f"{HEAD}\n{passed} of {len(every)} quantities of {len(results)} cases are within their tolerance: {said}.\n"
    text += RULE
    for kind, group in groupby(results, key=lambda result: result[0].kind):
        text += f"\n## {kind.capitalize()}\n{TABLE}" + "".join(row(case, quantities) for case, quantities in group)
    return text + PICTURE + ALL + "".join(rows(case, quantities) for case, quantities in results)


def main() -> None:
    results = [(case, case.run()) for case in sorted(CASES, key=lambda case: case.kind)]
    (DOCS / "suite.md").write_text(page(results), encoding="utf-8")
    figure(results)


if __name__ == "__main__":
    main()
