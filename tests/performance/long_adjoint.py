"""What adjoints of long runs take: seconds and peak memory over the number of steps, beside the plain run.

``python tests/performance/long_adjoint.py [--steps 1000 10000 100000] [top beam]``: each run in a process of its own,
its states in a file of a folder that is removed afterwards.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection
from tests.performance.derivatives import CASES


def beam(EA: float = 28e6, EI: float = 930.0, mass: float = 1.1) -> mbs.Model:  # noqa: N803
    """A cantilever of 100 elements that swings under its weight."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection(EA=EA, GA=1e7, GJ=700.0, EI=EI, mass=mass, inertia=(8e-5, 4e-5, 4e-5))
    model.fix(Beam.line(model, (0, 0, 0), (3, 0, 0), section, elements=100, name="beam").nodes[0])
    return model


TOP, TOP_VALUES, _, TOP_STEP = CASES["heavy top"]
MODELS: dict[str, tuple[Callable[..., mbs.Model], dict[str, float], float]] = {
    "top": (TOP, TOP_VALUES, TOP_STEP),
    "beam": (beam, {"EA": 28e6, "EI": 930.0, "mass": 1.1}, 2e-3),
}


def squares(solution: Any) -> Any:
    """Of the speed of the last node."""
    return (np.asarray(solution.velocity(solution.model.nodes[-1])) ** 2).sum(axis=1)


def one(name: str, way: str, steps: int) -> None:
    """One run; prints its CPU time in s and the peak of the memory in MB."""
    build, values, step = MODELS[name]
    with tempfile.TemporaryDirectory() as folder:
        store, end = Path(folder) / "run.db", steps * step
        started = time.process_time()
        if way == "plain":
            mbs.simulate(build(**values), end, step, store=store)
        else:
            goal = mbs.Integral(squares)
            mbs.objective(build, goal, list(values), end, step, how="adjoint", store=store)(list(values.values()))
        spent = time.process_time() - started
    print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--steps", nargs="*", type=int, default=[1000, 10_000, 100_000])
    parser.add_argument("--one", nargs=3, metavar=("MODEL", "WAY", "STEPS"))
    options = parser.parse_args()
    if options.one:
        name, way, steps = options.one
        one(name, way, int(steps))
        return
    for name in options.models:
        for steps in options.steps:
            for way in ("plain", "adjoint"):
                command = [sys.executable, __file__, "--one", name, way, str(steps)]
                found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                print(f"{name:6}{steps:8} {way:8}{float(found[-2]):9.1f} s{float(found[-1]):8.0f} MB", flush=True)


if __name__ == "__main__":
    main()
