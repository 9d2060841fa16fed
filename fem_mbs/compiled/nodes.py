"""How nodes move, as kernels: the methods of a group that every evaluation calls, recorded for one node."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.compiled import band, batches
from fem_mbs.compiled.batches import RecordedBatch
from fem_mbs.compiled.program import NODES, Program
from fem_mbs.compiled.tape import recording
from fem_mbs.system.kinematics import Chart, SingleGroup
from fem_mbs.system.system import System

# shapes of arguments: the first axis of 1 stands for the nodes
POINTS, FRAMES, VECTORS, RATES, FACTORS = (1, 3), (1, 3, 3), (1, 6), (2, 1, 6), (2, 1, 1, 1)
LEAST = {"retract": 4, "step_derivatives": 4, "motion": 16, "from_body": 64}
"""Fewest nodes with which a kernel is faster than NumPy."""
METHODS: dict[str, tuple[tuple[int, ...], ...]] = {
    "retract": (POINTS, FRAMES, VECTORS),
    "motion": (FRAMES, RATES),
    "from_body": (FRAMES, VECTORS),
    "step_derivatives": (VECTORS, RATES, RATES, FACTORS),
}
RESULTS = {
    "retract": (POINTS, FRAMES),
    "motion": (RATES,),
    "from_body": (VECTORS,),
    "step_derivatives": 3 * ((1, 6, 6),),
}
_RECORDINGS: dict[Any, RecordedBatch] = {}


class NodeKernel:
    """A method of the group of ``n`` nodes; of other shapes, and in other branches than the recorded one, NumPy's."""

    def __init__(self, group: SingleGroup, name: str, n: int) -> None:
        kind: Any = type(group)
        self.plain, program, arguments, self._given = getattr(group, name), Program(), list[Array](), list[Array]()
        tape = program.cells(n, np.zeros(1, np.intp))
        for shape in METHODS[name]:
            sample, place = 0.1 * np.sin(1.0 + np.arange(np.prod(shape))).reshape(shape), len(program.arrays)
            if shape == FACTORS:
                arguments.append(program.uniform(sample))
                self._given.append(program.arrays[place])
            else:
                rows = sample.reshape(_parts(shape), 1, -1)
                numbers = program.joined(*((NODES, np.repeat(own, n, 0)) for own in rows))
                arguments.append(np.stack(numbers).reshape(shape))
                self._given.append(program.whole(place).reshape(_of_all(shape, n)))
        key = kind, name, tape.lanes
        places = [program.rows(*(_parts(own) * [(NODES, int(np.prod(own)) // _parts(own))])) for own in RESULTS[name]]
        self._results = [
            program.whole(k).reshape(_of_all(own, n)) for k, own in zip(places, RESULTS[name], strict=True)
        ]
        first = len(program.specs)
        if key not in _RECORDINGS:
            own_modules = "fem_mbs.lie", kind.__module__
            with recording([module for path, module in list(sys.modules.items()) if path.startswith(own_modules)]):
                result = getattr(kind(), name)(*arguments)
            cells = [cell for array in (result if isinstance(result, tuple) else (result,)) for cell in array]
            sinks = [program.sink(NODES, places[0] + k, cell) for k, cell in enumerate(cells)]
            _RECORDINGS[key] = RecordedBatch([program.line(sinks)], program.specs[first:], [places])
        else:
            program.repeat(_RECORDINGS[key].specs)
        (self._run,) = program.kernels(_RECORDINGS[key].programs)

    def __call__(self, *given: Array) -> Any:
        for own, array in zip(self._given, given, strict=True):
            if array.shape != own.shape:
                return self.plain(*given)
            own[...] = array
        if not self._run():
            return self.plain(*given)
        results = [own.copy() for own in self._results]
        return results[0] if len(results) == 1 else tuple(results)


def _parts(shape: tuple[int, ...]) -> int:
    """Arrays with a row for each node: of rates, those of velocities and of accelerations."""
    return 2 if shape == RATES else 1


def _of_all(shape: tuple[int, ...], n: int) -> tuple[int, ...]:
    return (2, n, 6) if shape == RATES else (n, *shape[1:])


def compiled(system: System) -> None:
    """Put kernels in the place of batches, and of the methods of the group that all nodes are on."""
    batches.compiled(system)
    band.compiled(system)
    group, n = system.kinematics, system.n
    if isinstance(group, SingleGroup):
        names = [name for name in METHODS if n >= LEAST[name] and not (name == "from_body" and group.coupled)]
        vars(group).update({name: NodeKernel(group, name, n) for name in names})
        vars(group).update(end_of_step=partial(Chart.end_of_step, group))  # which retracts
