"""How nodes move, as kernels: the methods of a group that every evaluation calls, recorded for one node."""

from __future__ import annotations

import sys
from functools import cache, partial
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.compiled import band, batches
from fem_mbs.compiled.batches import COPIED, address, unheld
from fem_mbs.compiled.emit import InputRows, OutputRows, program
from fem_mbs.compiled.machine import kernel, lanes
from fem_mbs.compiled.tape import Number, Tape, recording
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
GUARD, TABLE, FIRST = range(3)
"""Places of arrays: the guard, the rows of rates (n, 2), and from where on arguments and results lie."""


class NodeKernel:
    """A method of the group of ``n`` nodes; of other shapes, and in other branches than the recorded one, NumPy's.

    What few nodes are given is copied to where kernels read it, and what they return from where they write it: that is
    faster than to find addresses. Zeros are not written.
    """

    def __init__(self, group: SingleGroup, name: str, n: int) -> None:
        kind: Any = type(group)
        text, results = recorded(kind, name)
        self.plain, self.kernel, self.n = getattr(group, name), kernel(text), n
        self.given, self.results = (
            [np.zeros(shape if shape == FACTORS else _of_all(shape, n)) for shape in own]
            for own in (METHODS[name], results)
        )
        self.small = all(array.size <= COPIED for array in (*self.given, *self.results))
        self._guard, rows = np.zeros(1, np.int64), np.arange(n)[:, None] + [0, n]
        self._kept = self._guard, rows
        self._pair = results == [RATES]
        every: list[Any] = [self._guard, rows, *self.given, *self._rows(self.results)]
        self.addresses = np.array([address(array) for array in every])
        self.pointer = address(self.addresses)

    def __call__(self, *given: Array) -> Any:
        for own, array in zip(self.given, given, strict=True):
            if array.shape != own.shape:
                return self.plain(*given)
        results = self.results
        if self.small:
            for own, array in zip(self.given, given, strict=True):
                own[...] = array
        else:
            arrays, free = [np.ascontiguousarray(array) for array in given], unheld(results)
            for k, own in enumerate(results):
                if k in free:
                    own.fill(0.0)
                else:
                    results[k] = np.zeros(own.shape)
            self.addresses[FIRST:] = [address(array) for array in (*arrays, *self._rows(results))]
        self.kernel(self.n, self.pointer, self.pointer)
        if self._guard[0]:
            self._guard[0] = 0
            return self.plain(*given)
        results = [own.copy() for own in results] if self.small else results
        return results[0] if len(results) == 1 else tuple(results)

    def _rows(self, results: list[Array]) -> list[Array]:
        """Arrays with a row for each node: of rates, those of velocities and of accelerations."""
        return list(results[0]) if self._pair else results


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
        OutputRows(
            FIRST + len(arguments) + k,
            cell.size,
            [(c, tape.number_of(value)) for c, value in enumerate(cell) if isinstance(value, Number) or value],
        )
        for k, cell in enumerate(cells)
    ]
    text = program(tape, sources, sinks, list(tape.guards), GUARD, 0, lanes())
    return text, [array.shape for array in results]
