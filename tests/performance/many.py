"""What copies cost that are integrated together, against one by one.

``python tests/performance/many.py``: heavy tops of different spins, and cantilevers of four elements, in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import fem_mbs as mbs
from fem_mbs.benchmarks.tops import top_on_joint
from fem_mbs.elements import Beam, BeamSection

TURNS, STEPS, STEP = 3, 100, 1e-3


def top(k: int) -> mbs.Model:
    """A heavy top."""
    return top_on_joint(spin=150.0 + k % 10)


def ruler(k: int) -> mbs.Model:
    """A cantilever of four elements under its weight."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.rectangle(0.02, 0.002 + 1e-5 * (k % 10), E=70e9, nu=0.3, rho=2700.0)
    model.fix(Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=4).nodes[0])
    return model


def timed(run: Callable[[], object]) -> float:
    """Processor time in s."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def compare(make: Callable[[int], mbs.Model], count: int) -> str:
    """Times a copy and step of the fastest of some runs in turns."""
    models, t_end = [make(k) for k in range(count)], STEPS * STEP
    together, apart = [], []
    for _ in range(TURNS):
        together.append(timed(lambda: [own.x for own in mbs.simulate_many(models, t_end, STEP)]) / count)
        apart.append(timed(lambda: mbs.simulate(models[0], t_end, STEP).x))
    return (
        f"{count:5} of {make.__name__}: {1e6 * min(together) / STEPS:7.1f} us a copy and step together, "
        f"{1e6 * min(apart) / STEPS:7.1f} apart: {min(apart) / min(together):.1f} times"
    )


def main() -> None:
    for make in (top, ruler):
        for count in (1, 10, 100, 1000):
            print(compare(make, count), flush=True)


if __name__ == "__main__":
    main()
