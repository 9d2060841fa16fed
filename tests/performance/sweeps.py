"""What a sweep costs: 200 runs and 1000 empty cases by every executor, and whether their rows are the same.

``python tests/performance/sweeps.py`` for threads, processes and Dask, ``mpiexec -n 3 python -m mpi4py.futures
tests/performance/sweeps.py --mpi`` for MPI.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint

CASES = [{"length": float(length)} for length in np.linspace(0.5, 1.5, 200)]
EMPTY = [{"x": k} for k in range(1000)]


def ruler(length: float) -> dict[str, Any]:
    """A short run of a flexible pendulum."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.rectangle(width=0.03, height=0.001, E=210e9, nu=0.3, rho=7850)
    beam = Beam.line(model, (0, 0, 0), (length, 0, 0), section, elements=8)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], axis=(0, 1, 0)))
    return {"end": mbs.simulate(model, t_end=0.1, step=0.005).position(beam.nodes[-1])[-1].tolist()}


def nothing(x: int) -> dict[str, Any]:
    """As good as no work."""
    return {"y": x}


@contextmanager
def dask(workers: int) -> Iterator[Executor]:
    """A cluster on this machine."""
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            yield client.get_executor()


def main() -> None:
    """A line for each executor: seconds of 200 runs, once its workers are warm, and milliseconds of an empty case."""
    expected = mbs.sweep(ruler, CASES)
    report("serial", None, expected)
    if "--mpi" in sys.argv:
        from mpi4py.futures import MPIPoolExecutor

        with MPIPoolExecutor() as executor:
            report(f"MPI, {executor.num_workers} workers", executor, expected)
        return
    for workers in (1, 2):
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as executor:
            report(f"processes, {workers}", executor, expected)
        with dask(workers) as executor:
            report(f"Dask, {workers} workers", executor, expected)


def report(name: str, executor: Executor | None, expected: list[dict[str, Any]]) -> None:
    """Print what it takes."""
    mbs.sweep(ruler, CASES[:8], executor)
    begun = time.perf_counter()
    same = mbs.sweep(ruler, CASES, executor) == expected
    runs = time.perf_counter() - begun
    mbs.sweep(nothing, EMPTY, executor)
    print(
        f"{name:18} {runs:6.2f} s  {time.perf_counter() - begun - runs:6.2f} ms a case  same rows: {same}", flush=True
    )


if __name__ == "__main__":
    main()
