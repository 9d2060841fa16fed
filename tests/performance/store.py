"""What it takes to store a run as it comes: memory, bytes a step, and time against a run that is not stored.

Rows alone first: how long it takes to write and to open them, and to read one number of each.

``python tests/performance/store.py [--pendulum 1000000] [--beam 10000]``: long runs of a pendulum and of a beam of 1000
elements, stored in a folder that is removed afterwards (0.6 and 2 GB), after runs in turns that compare the times.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint, RigidBody
from fem_mbs.files.store.database import Database, new_file
from fem_mbs.files.store.run_file import StoredRows
from fem_mbs.files.store.save import Steps

TURNS = 5


def pendulum() -> tuple[mbs.Model, float]:
    """A body on a hinge, and the step."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    tip = model.add_node((1, 0, 0), name="tip")
    model.add(RigidBody(tip, mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, tip, axis=(0, 1, 0), point=(0, 0, 0)), name="hinge")
    return model, 0.01


def beam() -> tuple[mbs.Model, float]:
    """A cantilever of 1000 elements that swings, and the step."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.rectangle(0.02, 0.02, E=70e9, nu=0.3, rho=2700.0)
    model.fix(Beam.line(model, (0, 0, 0), (3, 0, 0), section, elements=1000, name="beam").nodes[0])
    return model, 2e-3


def memory() -> dict[str, float]:
    """Memory of this process in MB: its own, and all that is resident."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    sizes = {words[0].rstrip(":"): float(words[1]) / 1024 for words in lines if words[-1] == "kB"}
    return {"own": sizes["RssAnon"], "resident": sizes["VmRSS"]}


def watched(run: Callable[[], object]) -> list[dict[str, float]]:
    """The memory every half second of a run."""
    found, done = [], threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            found.append(memory())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        run()
    finally:
        done.set()
        thread.join()
    return found


def cost(make: Callable[[], tuple[mbs.Model, float]], steps: int, folder: Path) -> float:
    """Time with a file against time without, of the fastest of some runs in turns."""
    model, step = make()
    best = {True: float("inf"), False: float("inf")}
    for _ in range(TURNS):
        for stored in (False, True):
            gc.collect()
            begin = time.process_time()
            mbs.simulate(model, steps * step, step, store=folder / "turn.db" if stored else None)
            best[stored] = min(best[stored], time.process_time() - begin)
    return best[True] / best[False]


def long_run(make: Callable[[], tuple[mbs.Model, float]], steps: int, folder: Path) -> str:
    """Memory and bytes of a long run."""
    model, step = make()
    file = folder / "long.db"
    begin = time.perf_counter()
    found = watched(lambda: mbs.simulate(model, steps * step, step, store=file))
    seconds = time.perf_counter() - begin
    settled = found[len(found) // 20 :]
    grown = {name: max(own[name] for own in settled) - settled[0][name] for name in settled[0]}
    size = file.stat().st_size
    return (
        f"{steps} steps in {seconds:.0f} s: {size / steps:.0f} bytes a step; after a twentieth of the run memory has "
        f"grown by {grown['own']:.1f} MB of its own, {grown['resident']:.1f} MB resident"
    )


def rows(numbers: int, count: int, folder: Path) -> str:
    """Rows of so many numbers: processor time to write and to open them, and to read a column."""
    shapes = {"t": (), "iterations": (), "unstable": (), "u": (numbers - 3,)}
    file, row = folder / "rows.db", np.ones(numbers)
    begin = time.process_time()
    with new_file(file, "rows") as database:
        steps = Steps(database)
        for k in range(count):
            row[0] = k
            steps.add(row.tobytes())
            if steps.many:
                steps.write()
        steps.write()
    written, data = time.process_time() - begin, 8e-6 * numbers * count
    begin = time.process_time()
    stored = StoredRows(Database(file), shapes, rising=True)
    opened = time.process_time() - begin
    begin = time.process_time()
    column = stored.array("u")[:, 5]
    read = time.process_time() - begin
    assert len(column) == count
    return (
        f"{count} rows of {numbers} numbers: written {1e6 * written / count:.2f} us a row, {data / written:.0f} MB/s; "
        f"{100 * (file.stat().st_size / data / 1e6 - 1):.1f} % more than the data; opened and checked at "
        f"{data / opened:.0f} MB/s, a column read at {data / read:.0f} MB/s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pendulum", type=int, default=1_000_000)
    parser.add_argument("--beam", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for numbers, count in ((100, 1_000_000), (24_000, 5000)):
            print(rows(numbers, count, Path(name)), flush=True)
        for make, short, steps in ((pendulum, 2000, arguments.pendulum), (beam, 100, arguments.beam)):
            print(
                f"{make.__name__}: time of a stored run over that of one in memory: {cost(make, short, Path(name)):.3f}"
            )
            if steps:
                print(f"{make.__name__}: {long_run(make, steps, Path(name))}", flush=True)


if __name__ == "__main__":
    main()
