"""How nodes move, as kernels: the methods of a group that every evaluation calls, recorded for one node."""

from __future__ import annotations

import sys
from functools import cache, partial
from itertools import accumulate
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.compiled import band, batches
from fem_mbs.compiled.batches import Addresses
from fem_mbs.compiled.emit import InputRows, OutputRows, program
from fem_mbs.compiled.machine import kernel, lanes
from fem_mbs.compiled.tape import Tape, recording
from fem_mbs.system.kinematics import Chart, SingleGroup
from fem_mbs.system.system import System

# shapes of arguments: the first axis of 1 stands for the nodes
POINTS, FRAMES, VECTORS, RATES, FACTORS = (1, 3), (1, 3, 3), (1, 6), (2, 1, 6), (2, 1, 1, 1)
LEAST = {"retract": 4, "step_derivatives": 4, "motion": 100, "from_body": 200}
"""Fewest nodes with which a kernel is faster than NumPy."""
METHODS: dict[str, tuple[tuple[int, ...], ...]] = {
    "retract": (POINTS, FRAMES, VECTORS),
    "motion": (FRAMES, RATES),
    "from_body": (FRAMES, VECTORS),
    "step_derivatives": (VECTORS, RATES, RATES, FACTORS),
}
GUARD, TABLE, FIRST = range(3)
"""Places of arrays: the guard, the rows of rates (n, 2), and from where on arguments and results lie."""


class NodeKernel:
    """A method of the group of ``n`` nodes; of other shapes, and in other branches than the recorded one, NumPy's."""

    def __init__(self, group: SingleGroup, name: str, n: int) -> None:
        kind: Any = type(group)
        text, results = recorded(kind, name)
        self.plain, self.kernel, self.n = getattr(group, name), kernel(text), n
        self.shapes = [shape if shape is FACTORS else _of_all(shape, n) for shape in METHODS[name]]
        self.results = [_of_all(shape, n) for shape in results]
        self.ends = [0, *accumulate(int(np.prod(shape)) for shape in self.results)]
        rows = [6 * n] * 2 if results == [RATES] else np.diff(self.ends)
        self._offsets = 8 * np.cumsum([0, *rows[:-1]])
        self._place = FIRST + len(self.shapes)
        self._guard, self._given = np.zeros(1, np.int64), Addresses(self._place + len(rows))
        self._given.at(GUARD, self._guard)
        self._given[TABLE] = np.arange(n)[:, None] + [0, n]

    def __call__(self, *given: Array) -> Any:
        addresses = self._given
        for place, (array, shape) in enumerate(zip(given, self.shapes, strict=True), FIRST):
            if array.shape != shape:
                return self.plain(*given)
            addresses[place] = array
        flat = np.empty(self.ends[-1])
        addresses.addresses[self._place :] = flat.__array_interface__["data"][0] + self._offsets
        self.kernel(self.n, addresses.pointer, addresses.pointer)
        if self._guard[0]:
            return self.plain(*given)
        parts = zip(self.ends[:-1], self.ends[1:], self.results, strict=True)
        results = [flat[a:b].reshape(shape) for a, b, shape in parts]
        return results[0] if len(results) == 1 else tuple(results)


def _of_all(shape: tuple[int, ...], n: int) -> tuple[int, ...]:
    return (2, n, 6) if shape == RATES else (n, *shape[1:])


def compiled(system: System) -> None:
    """Put kernels in the place of batches, and of the methods of the group that all nodes are on."""
    batches.compiled(system)
    band.compiled(system)
    group, n = system.kinematics, system.n
    if isinstance(group, SingleGroup):
        vars(group).update({name: NodeKernel(group, name, n) for name in METHODS if n >= LEAST[name]})
        vars(group).update(end_of_step=partial(Chart.end_of_step, group))  # which retracts


@cache
def recorded(group: type[SingleGroup], name: str) -> tuple[str, list[tuple[int, ...]]]:
    """The program of a method, and the shapes of its results for one node."""
    tape, sources, arguments = Tape(), dict[str, InputRows](), []
    for place, shape in enumerate(METHODS[name], FIRST):
        sample = 0.1 * np.sin(1.0 + np.arange(np.prod(shape))).reshape(shape)
        for k in range(len(sample)):
            rows = (TABLE, 2, k) if shape == RATES else None
            sources[f"{place} {k}"] = InputRows(place, sample[k].size, rows)
        if shape == FACTORS:
            sources[f"{place}"] = InputRows(place, 2, uniform=True)
            arguments.append(tape.inputs(f"{place}", sample))
        else:
            arguments.append(np.stack([tape.inputs(f"{place} {k}", row) for k, row in enumerate(sample)]))
    own = "fem_mbs.lie", group.__module__
    with recording([module for path, module in list(sys.modules.items()) if path.startswith(own)]):
        result = getattr(group(), name)(*arguments)
    results = result if isinstance(result, tuple) else (result,)
    cells = [cell.ravel() for array in results for cell in array]
    sinks = [
        OutputRows(FIRST + len(arguments) + k, cell.size, [(c, tape.number_of(value)) for c, value in enumerate(cell)])
        for k, cell in enumerate(cells)
    ]
    text = program(tape, sources, sinks, list(tape.guards), GUARD, 0, lanes())
    return text, [array.shape for array in results]
