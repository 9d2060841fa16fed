"""A beam and a grid of beams of any size: CPU time of each part of the work, and memory.

``OPENBLAS_NUM_THREADS=1 python tests/performance/large.py grid 100`` measures one, in a process of its own as its peak
memory is that of the problem; ``page.py`` asks for all. A line has one element between two nodes after the other; a
grid of ``n`` has ``n x n`` meshes, each side one element, and is clamped along one of its sides.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from measure import Result, peak_memory

import fem_mbs as mbs
from fem_mbs.compiled import accelerate
from fem_mbs.contracts import RateSensitivities
from fem_mbs.elements import Beam, BeamSection
from fem_mbs.initial.consistent_start import consistent_start
from fem_mbs.system import matrices
from fem_mbs.system.system import System

SECTION = BeamSection(1e6, (4e5, 4e5), 1e3, (1e3, 1e3), 1.0, (2e-3, 1e-3, 1e-3))
STEP, STEPS, FIRST = 0.01, 3, 2
"""Length of steps, how many are timed, and how many before these, in the second of which programs of steps are made."""
MOST_WRITTEN = 25_000
"""Files grow with the number of elements, and those of more take long to write."""


def line(elements: int) -> mbs.Model:
    """A clamped beam that falls."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    model.fix(Beam.line(model, (0, 0, 0), (10, 0, 0), SECTION, elements).nodes[0])
    return model


def grid(meshes: int) -> mbs.Model:
    """A clamped grid that falls."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    places = 10.0 / meshes * np.indices((meshes + 1, meshes + 1)).transpose(1, 2, 0)
    nodes = [[model.add_node((*place, 0.0)) for place in row] for row in places]
    for across in (nodes, list(zip(*nodes, strict=True))):
        for first, second in zip(across[:-1], across[1:], strict=True):
            for a, b in zip(first, second, strict=True):
                model.add(Beam([a, b], SECTION))
    for node in nodes[0]:
        model.fix(node)
    return model


MAKE: dict[str, Callable[[int], mbs.Model]] = {"line": line, "grid": grid}


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[Any, float]:
    """What some work returns, and the median of its CPU time in s."""
    times = []
    for _ in range(repeats):
        begun = process_time()
        result = work()
        times.append(process_time() - begun)
    return result, median(times)


def parts(system: System, state: mbs.State) -> dict[str, float]:
    """CPU time in s of the parts of an iteration of index 3, at a state."""
    motion, prescribed = system.motion(state), system.prescribe(state.t)
    evaluation, residual = timed(lambda: system.evaluate(motion, state.multipliers, prescribed), 5)
    dV, dA = (
        RateSensitivities(np.broadcast_to(rate * np.eye(6), (system.n, 6, 6)), np.full(system.k, rate))
        for rate in (2.0 / STEP, 4.0 / STEP**2)
    )
    work = system.workspace
    entries, tangent = timed(lambda: matrices.entries(system, evaluation, dV, dA, STEP**2, workspace=work), 5)
    values, assembly = timed(lambda: system.solver.stored(entries), 5)
    factors, factorization = timed(lambda: system.solver.factor(values.copy()), 3)
    right = np.ones(system.size)
    _, solution = timed(lambda: factors.solve(right), 3)
    return {
        "residual": residual,
        "tangent": tangent,
        "assembly": assembly,
        "factorization": factorization,
        "solution": solution,
    }


def run(kind: str, size: int) -> Result:
    """Everything of one problem."""
    System(MAKE[kind](2))  # what has to be imported
    model, building = timed(lambda: MAKE[kind](size))
    system, freezing = timed(lambda: System(model))
    _, compiling = timed(lambda: accelerate(system))
    method = mbs.GeneralizedAlpha(0.9)
    state, start = timed(lambda: consistent_start(system))
    memory, more = timed(lambda: method.init(system, state, STEP))
    spent, iterations = 0.0, 0
    for k in range(FIRST + STEPS):
        begun = process_time()
        step = method.step(system, state, STEP, memory)
        if k >= FIRST:
            spent, iterations = spent + process_time() - begun, iterations + step.report.iterations
        state, memory = step.state, step.memory
    peak = peak_memory()
    result = {
        "kind": kind,
        "size": size,
        "elements": sum(len(batch.nodes) for batch in system.batches),
        "unknowns": system.size,
        "solver": system.solver.kind,
        "model": building,
        "system": freezing,
        "compile": compiling,
        "start": start + more,
        "iteration": spent / iterations,
        "peak_MB": peak,
        "parts": parts(system, state),
    }
    return result if result["elements"] > MOST_WRITTEN else result | written(model)


def written(model: mbs.Model) -> Result:
    """CPU time in s, beyond that of the run, and MB of a stored run of three steps, and of ParaView's files of it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.fem"
        plain, alone = timed(lambda: mbs.simulate(model, STEPS * STEP, STEP))
        _, stored = timed(lambda: mbs.simulate(model, STEPS * STEP, STEP, store=file))
        (Path(folder) / "view").mkdir()
        _, view = timed(lambda: plain.to_paraview(Path(folder) / "view" / "run.pvd"))
        views = sum(own.stat().st_size for own in (Path(folder) / "view").rglob("*") if own.is_file())
        return {
            "store": max(stored - alone, 0.0),
            "store_MB": file.stat().st_size / 1e6,
            "paraview": view,
            "paraview_MB": views / 1e6,
        }


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]))))
