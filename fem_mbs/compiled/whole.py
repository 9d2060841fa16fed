"""A small system as a whole, or copies of it side by side, on a tape: the equations of a step as a few straight lines.

The code of the step runs as it is, on a system whose parameters are inputs (:class:`RecordedSystem`). What differs
between copies is an input with a row for each; the line is that of one copy.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled.elimination import Elimination
from fem_mbs.compiled.emit import InputRows, OutputRows, program
from fem_mbs.compiled.machine import kernel, lanes
from fem_mbs.compiled.one_cell import PARTS, Owner, known
from fem_mbs.compiled.tape import CannotRecordError, Guard, Number, Tape, recording
from fem_mbs.contracts import Numbering
from fem_mbs.linear.solvers import DenseSolver
from fem_mbs.system.system import Prescribed, System

RECORDED = tuple(f"fem_mbs.{room}." for room in ("lie", "contracts", "elements", "system", "linear", "alpha"))
BATCHES = "batches", "constraint_batches"


LARGEST = 120
"""Unknowns of a system beyond which lines are too long to be compiled."""


class Whole:
    """A small system, or some copies of it, whose steps are to be compiled.

    Parameters
    ----------
    system : System
        All copies together.
    one : System
        That of one copy; ``system`` itself if there is but one.
    copies : int
        How many.
    """

    def __init__(self, system: System, one: System, copies: int) -> None:
        self.system, self.one, self.copies = system, one, copies
        self.equations = copies_of_rows(system, one, copies)
        """Rows ``(copies, m)`` of the constraint equations of each copy."""
        self.lines: dict[type, Any] = {}
        """What has been compiled, by the class of the equations of a step."""

    def to_solver(self, values: Array) -> Array:
        """What the solver of the system stores of a matrix that is given column by column."""
        slots, places = self._slots
        result = np.zeros(self.one.solver.storage)
        result[slots] = values[places]
        return result

    @cached_property
    def _slots(self) -> tuple[IntArray, IntArray]:
        solver, pattern = self.one.solver, self.one.pattern
        dense = DenseSolver(pattern.rows, pattern.columns, self.one.size)
        slots, first = np.unique(solver.slots, return_index=True)
        inside = slots < solver.storage
        return slots[inside], dense.slots[first[inside]]


def whole(system: System) -> Whole | None:
    """A system whose steps are worth to be compiled as a whole."""
    small = system.size <= LARGEST and not system.k and system.redundant is None
    return Whole(system, system, 1) if small and not system.watched else None


class Lines:
    """Straight lines of the equations of ``copies`` of a system, the arrays they work on, and their kernels.

    Every array has a row for each copy, and lies where it has been from the start: what kernels read is written into
    it, what they return is read from it. The first, of one integer, is the guard.
    """

    def __init__(self, copies: int) -> None:
        self.copies, self.tape = copies, Tape()
        self.arrays: list[Any] = [np.zeros(1, np.int64)]
        self._sources: dict[str, InputRows] = {}
        self._programs: list[tuple[int, list[OutputRows], list[Guard]]] = []
        self._guards = 0

    def input(self, sample: Any, uniform: bool = False) -> Array:
        """Numbers on the tape for an array ``(copies, ...)``, or one for all copies, that is given."""
        values = np.array(sample, float, order="C")
        self.arrays.append(values)
        return self.again(len(self.arrays) - 1, uniform)

    def again(self, place: int, uniform: bool = False) -> Array:
        """Numbers on the tape for the array of a place."""
        values = self.arrays[place]
        first = values if uniform else values[0]
        self._sources[f"{place}"] = InputRows(place, first.size, uniform=uniform)
        return self.tape.inputs(f"{place}", first)

    def parameter(self, sample: Array) -> Array:
        """The same of what stays: what is zero in all copies stays zero."""
        there, numbers = sample.any(axis=0), self.input(sample)
        numbers[~there] = 0.0
        return numbers

    def line(self, *results: Any) -> list[int]:
        """A kernel to results, of which each has an array of its own: the places of these.

        Its guards are those that were recorded since the line before.
        """
        sinks = []
        for result in results:
            values = np.asarray(result, object).ravel()
            self.arrays.append(np.zeros((self.copies, len(values))))
            places = [(c, self.tape.number_of(value)) for c, value in enumerate(values)]
            sinks.append(OutputRows(len(self.arrays) - 1, len(values), places))
        guards = list(self.tape.guards)[self._guards :]
        self._guards = len(self.tape.guards)
        self._programs.append((len(self._programs), sinks, guards))
        return [sink.array for sink in sinks]

    def kernels(self) -> list[Any]:
        """A function for each line, in the order in which they were made: calls return False in another branch."""
        side, opt = (1, 0) if self.copies == 1 else (lanes(), 2)
        addresses = np.array([array.ctypes.data for array in self.arrays], np.intp)
        guard, pointer, count = self.arrays[0], addresses.ctypes.data, self.copies
        calls = []
        for _, sinks, guards in self._programs:
            compiled = kernel(program(self.tape, self._sources, sinks, guards, 0, 0, side), opt)
            calls.append(_call(compiled, count, pointer, guard, addresses))
        return calls


def _call(compiled: Any, count: int, pointer: int, guard: Any, addresses: Any) -> Any:
    def call() -> bool:
        compiled(count, pointer, pointer)
        return not guard[0]

    call.keep = addresses  # type: ignore[attr-defined]
    return call


class RecordedSystem(System):
    """One copy of a system, with numbers on a tape for its parameters.

    ``whole`` has all copies; ``one`` is the system of one of them, ``whole`` itself if there is but one.
    """

    def __init__(self, whole: System, one: System, lines: Lines, prescribed: Prescribed) -> None:
        self._lines = lines
        for cached in ("diagonal_mass", "constraint_mass"):
            getattr(whole, cached)
        vars(self).update({name: value for name, value in vars(one).items() if name != "workspace"})
        for name in BATCHES:
            pairs = zip(getattr(one, name), getattr(whole, name), strict=True)
            vars(self)[name] = [self._batch(batch, all_of_it, name) for batch, all_of_it in pairs]
        self.solver = Elimination(one.pattern.rows, one.pattern.columns, one.size)
        self.gravity = lines.input(whole.gravity, uniform=True)
        self.constraint_weight, self.weight = whole.constraint_weight[: one.m], whole.weight[: one.N]
        c = lines.copies
        self.diagonal_mass = lines.parameter(whole.diagonal_mass.reshape(c, -1))
        rows = copies_of_rows(whole, one, c)
        self.constraint_mass = lines.parameter(whole.constraint_mass[:, rows].swapaxes(0, 1))
        self.prescribed_arrays: list[tuple[int, Any]] = []
        self._given = Prescribed(*([self._data(data) for data in every] for every in prescribed))

    def prescribe(self, t: float, factor: float = 1.0) -> Prescribed:
        return self._given

    def _data(self, data: Any) -> Any:
        if data is None:
            return None
        if isinstance(data, np.ndarray) and data.dtype == float:
            result = self._lines.input(data.reshape(self._lines.copies, -1, *data.shape[1:]))
            return result
        raise CannotRecordError(f"loads or drives are {type(data).__name__}")

    def _batch(self, one: Any, whole: Any, path: str) -> Any:
        """A batch, or a part of one, with inputs for its arrays of numbers."""
        for attribute in vars(type(one)).values():
            if isinstance(attribute, cached_property):
                attribute.__get__(one), attribute.__get__(whole)
        result = copy.copy(one)
        for name, value in vars(one).items():
            object.__setattr__(result, name, self._part(name, value, vars(whole)[name], f"{path}.{name}"))
        return result

    def _part(self, name: str, one: Any, whole: Any, path: str) -> Any:
        if name.endswith("owners"):
            return [Owner() for _ in one]
        if isinstance(one, Numbering) or name in ("nodes", "own", "reads", "cell"):
            return one
        if isinstance(one, np.ndarray) and one.dtype == float and one.ndim and one.size:
            c = self._lines.copies
            if whole.shape != (c * len(one), *one.shape[1:]):
                raise CannotRecordError(f"{path} is not that of {c} copies")
            return self._lines.parameter(whole.reshape(c, *one.shape))
        if isinstance(one, tuple) and "_fields" in vars(type(one)):
            names = vars(type(one))["_fields"]
            return type(one)(*(self._part(n, a, b, f"{path}.{n}") for n, a, b in zip(names, one, whole, strict=True)))
        if type(one).__module__.startswith(PARTS) and not isinstance(one, type) and "nodes" in vars(one):
            return self._batch(one, whole, path)
        known(one, path)
        return one


def copies_of_rows(whole: System, one: System, copies: int) -> Any:
    """Rows ``(copies, m)`` of the constraint equations of each copy."""
    parts = []
    for own, every in zip(one.constraint_slices, whole.constraint_slices, strict=True):
        parts.append(np.arange(every.start, every.stop).reshape(copies, own.stop - own.start))
    return np.concatenate(parts, axis=1) if parts else np.zeros((copies, 0), np.intp)


def record_with(modules_of: Sequence[Any]):  # type: ignore[no-untyped-def]
    """The context in which code of the step is recorded."""
    own = {type(part).__module__ for part in modules_of}
    return recording([m for name, m in list(sys.modules.items()) if name in own or name.startswith(RECORDED)])
