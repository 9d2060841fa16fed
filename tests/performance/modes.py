"""The ten lowest modes of structures of 1000 and of 10 000 beam elements with joints.

A tower of bays: two posts that go through, a girder and a diagonal between hinges in each bay. Times are those of the
whole call, from the model to the mode shapes. Promised are less than 2 s for 1000 elements on one core.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial

from measure import Result, alternate, describe, peak_memory, table, typical, warm_up

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint

BAYS, STEEL = 25, BeamSection.tube(0.05, 0.045, 210e9, 0.3, 7850)


def tower(elements: int, damping: float = 0.0, free: bool = False) -> mbs.Model:
    """A tower of ``elements`` in all, clamped at its feet unless it is to be ``free``."""
    model = mbs.Model()
    section = STEEL.with_damping(damping)
    each = elements // (4 * BAYS)
    corners = [None, None]
    for z in range(BAYS):
        ends = [((x, 0, z), (x, 0, z + 1)) for x in (0, 1)]
        posts = [Beam.line(model, *ends[k], section, each, start_node=corners[k]) for k in range(2)]
        if z == 0 and not free:
            for post in posts:
                model.fix(post.nodes[0])
        feet, heads = [[post.nodes[end] for post in posts] for end in (0, -1)]
        for start, end in ((heads[0], heads[1]), (feet[0], heads[1])):
            bar = Beam.line(model, start.position, end.position, section, each)
            model.add(RevoluteJoint(start, bar.nodes[0], axis=(0, 1, 0)))
            model.add(RevoluteJoint(end, bar.nodes[-1], axis=(0, 1, 0)))
        corners = heads
    return model


def run(elements: int, damping: float = 0.0, free: bool = False) -> Result:
    """Time of one call, and the lowest frequency that is not zero."""
    model = tower(elements, damping, free)
    begun = time.perf_counter()
    found = mbs.modes(model, damped=damping > 0.0)
    seconds = time.perf_counter() - begun
    zeros = int((found.frequencies == 0.0).sum())
    return {"seconds": seconds, "zeros": zeros, "frequency": found.frequencies[zeros], "joints": 4 * BAYS}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="rounds, each with one run of every row")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    options = parser.parse_args()
    machine = describe()
    sides = {
        "1000 elements": partial(run, 1000),
        "1000 elements, not held": partial(run, 1000, free=True),
        "1000 elements, damped": partial(run, 1000, damping=1e-4),
        "10 000 elements": partial(run, 10_000),
    }
    warm_up(sides)
    rounds = alternate(sides, options.repeats)
    rows = {name: {**results[0], "seconds": typical(results)} for name, results in rounds.items()}
    if options.json:
        print(json.dumps({"machine": machine, "rows": rows, "peak_MB": peak_memory()}))
        return
    print(machine + "\n")
    header = ("ten modes of a tower", "s", "joints", "zeros", "lowest other (Hz)")
    text = [
        (n, f"{r['seconds']:.3f}", str(r["joints"]), str(r["zeros"]), f"{r['frequency']:.5f}") for n, r in rows.items()
    ]
    print(table(header, text))


if __name__ == "__main__":
    main()
