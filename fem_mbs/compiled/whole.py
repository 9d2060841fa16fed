"""A small system as a whole, or copies of it side by side, on a tape: equations of all of it as a few straight lines.

Code of the engine runs as it is on a :class:`RecordedSystem`, whose parameters are inputs. What differs between copies
is an input with a row for each; the line is that of one copy.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled.elimination import Elimination
from fem_mbs.compiled.emit import InputRows, OutputRows, program
from fem_mbs.compiled.machine import kernel, lanes
from fem_mbs.compiled.nodes import compiled
from fem_mbs.compiled.one_cell import copied
from fem_mbs.compiled.tape import CannotRecordError, Guard, Tape, recording
from fem_mbs.linear.solvers import DENSE_SIZE
from fem_mbs.system.system import Prescribed, System

LARGEST = DENSE_SIZE
"""Unknowns of a system beyond which lines are not tried: they grow with the cube, and are recorded in every process."""
MOST = 30_000
"""Operations beyond which they are given up."""
LEAST = 2000
"""Copies that are worth a thread."""
ROOMS = tuple(f"fem_mbs.{room}." for room in ("lie", "contracts", "elements", "system", "linear", "alpha"))
BATCHES = "batches", "constraint_batches"


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
        rows = zip(one.constraint_slices, system.constraint_slices, strict=True)
        parts = [np.arange(every.start, every.stop).reshape(copies, own.stop - own.start) for own, every in rows]
        self.equations = np.concatenate(parts or [np.zeros((copies, 0), np.intp)], axis=1)
        """Rows ``(copies, m)`` of the constraint equations of each copy."""
        self.lines: dict[type, Any] = {}
        """What has been compiled, by the class of the equations of a step."""

    def took(self) -> None:
        """Say whose equations are compiled."""
        self.system.compiled = tuple(
            dict.fromkeys(type(owner).__name__ for batch in self.one.all_batches for owner in batch.owners)
        )

    def give_up(self) -> None:
        """Compile kernels of single batches in place of whole steps."""
        self.system.whole = None
        compiled(self.system)


def whole(system: System) -> Whole | None:
    """A system whose steps may be compiled as a whole."""
    models = system.model.copies
    one = System(models[0], system.end) if models else system
    small = one.size <= LARGEST and not (one.k or one.watched or system.redundant is not None)
    return Whole(system, one, len(models) or 1) if small and _are_copies(system, one, len(models) or 1) else None


def _are_copies(system: System, one: System, copies: int) -> bool:
    """Whether a system has so many times the parts of one, copy after copy."""
    pairs = [pair for name in BATCHES for pair in zip(getattr(one, name), getattr(system, name), strict=False)]
    steps = one.n * np.arange(copies)[:, None, None]
    return (
        (system.n, system.m, system.size) == (copies * one.n, copies * one.m, copies * one.size)
        and len(pairs) == len(one.all_batches) == len(system.all_batches)
        and bool((system.origin == one.origin).all())
        and type(system.kinematics) is type(one.kinematics)
        and bool((system.free.reshape(copies, -1) == one.free.reshape(1, -1)).all())
        and all(type(own) is type(every) and len(every.nodes) == copies * len(own.nodes) for own, every in pairs)
        and all((every.nodes.reshape(copies, *own.nodes.shape) == own.nodes + steps).all() for own, every in pairs)
    )


class Lines:
    """Straight lines of one of ``copies``, the arrays they work on, and their kernels.

    Every array has a row for each copy, and lies where it has been from the start: what kernels read is written into
    it, what they return is read from it. The first, an integer, is the guard. Lines that are not ``recorded`` are those
    of another system of the same kind.
    """

    def __init__(self, copies: int, recorded: bool) -> None:
        self.copies, self.tape = copies, Tape(MOST) if recorded else None
        self.arrays: list[Any] = [np.zeros(1, np.int64)]
        self.kind: list[Any] = []
        """What the lines depend on beside inputs."""
        self._sources: dict[str, InputRows] = {}
        self._uniform = {0}
        self._guards, self._shared = 0, list[Guard]()

    def input(self, sample: Any, uniform: bool = False) -> Array:
        """Numbers on the tape for an array ``(copies, ...)``, or one for all copies, that is given."""
        values = np.array(sample, float, order="C")
        place, first = len(self.arrays), values if uniform else values[0]
        self.arrays.append(values)
        self._uniform |= {place} if uniform else set()
        self._sources[f"{place}"] = InputRows(place, first.size, uniform=uniform)
        return first if self.tape is None else self.tape.inputs(f"{place}", first)

    def parameter(self, sample: Array) -> Array:
        """The same of what stays: what is zero in all copies stays zero."""
        there, numbers = sample.any(axis=0), self.input(sample)
        self.kind += [there.shape, there.tobytes()]
        if self.tape is not None:
            numbers[~there] = 0.0
        return numbers

    def share_guards(self) -> None:
        """Give all lines that follow the guards that were recorded so far."""
        assert self.tape is not None
        self._shared, self._guards = list(self.tape.guards), len(self.tape.guards)

    def line(self, *results: Any) -> tuple[str, tuple[int, ...]]:
        """The program of a kernel to results, of which each has an array of its own, and the lengths of these.

        Its guards are those that were recorded since the line before, and those that all share.
        """
        tape, sinks = self.tape, []
        assert tape is not None
        first = len(self.arrays)
        for k, result in enumerate(results):
            values = np.asarray(result, object).ravel()
            places = [(c, tape.number_of(value)) for c, value in enumerate(values)]
            sinks.append(OutputRows(first + k, len(values), places))
        guards = self._shared + list(tape.guards)[self._guards :]
        self._guards = len(tape.guards)
        text = program(tape, self._sources, sinks, guards, 0, 0, 1 if self.copies == 1 else lanes())
        self.results(*(sink.width for sink in sinks))
        return text, tuple(sink.width for sink in sinks)

    def results(self, *lengths: int) -> slice:
        """Arrays for the results of the next line, of these lengths: their places."""
        self.arrays += [np.zeros((self.copies, length)) for length in lengths]
        return slice(len(self.arrays) - len(lengths), len(self.arrays))

    def kernels(self, programs: list[str]) -> list[Callable[[], bool]]:
        """A function for each line; False where a copy takes another branch. Many copies are shared by the cores."""
        opt, parts = (0, 1) if self.copies == 1 else (2, min(_cores(), self.copies // LEAST + 1))
        first = np.arange(parts + 1) * self.copies // parts
        guards = np.zeros((parts, 8), np.int64)  # each in a line of the cache
        sizes = [0 if place in self._uniform else 8 * array[0].size for place, array in enumerate(self.arrays)]
        self._ahead = first[:-1, None] * np.array(sizes)
        self._addresses = np.array([array.ctypes.data for array in self.arrays], np.intp) + self._ahead
        self._addresses[:, 0] = guards.ctypes.data + 64 * np.arange(parts)
        tables = (self._addresses.ctypes.data + self._addresses.strides[0] * np.arange(parts)).tolist()
        return [_call(kernel(text, opt), np.diff(first).tolist(), tables, guards) for text in programs]

    def put(self, place: int, array: Array) -> None:
        """Have kernels work on another array in a place, which the caller keeps."""
        address = array.__array_interface__["data"][0]
        if len(self._addresses) == 1:  # a number into its place takes a sixth of what arrays do
            self._addresses[0, place] = address
        else:
            self._addresses[:, place] = address + self._ahead[:, place]


def _call(compiled: Any, counts: list[int], tables: list[int], guards: IntArray) -> Callable[[], bool]:
    if len(counts) == 1:
        (cells,), (table,), guard = counts, tables, guards[0]

        def alone() -> bool:
            compiled(cells, table, table)
            return not guard[0]

        return alone

    def shared() -> bool:
        for done in [_threads().submit(compiled, *each) for each in zip(counts, tables, tables, strict=True)]:
            done.result()
        return not guards[:, 0].any()

    return shared


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), "fem_mbs")


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class RecordedSystem(System):
    """One copy of a system, with numbers on the tape of ``lines`` for its parameters."""

    solver: Elimination

    def __init__(self, whole: Whole, lines: Lines, prescribed: Prescribed) -> None:
        system, one, self._lines = whole.system, whole.one, lines
        constraint_mass = system.constraint_mass[:, whole.equations].swapaxes(0, 1)
        diagonal_mass = system.diagonal_mass.reshape(whole.copies, -1)
        vars(self).update({name: value for name, value in vars(one).items() if name != "workspace"})
        for name in BATCHES:
            pairs = zip(getattr(one, name), getattr(system, name), strict=True)
            vars(self)[name] = [copied(pair, f"{name}.", lines.kind, self._numbers) for pair in pairs]
        joints = zip(self.constraint_batches, one.constraint_batches, strict=True)
        recorded = {id(batch): own for own, batch in joints}
        self.end_checks = [(recorded[id(batch)], rows) for batch, rows in one.end_checks]
        self.diagonal_mass, self.constraint_mass = lines.parameter(diagonal_mass), lines.parameter(constraint_mass)
        self.weight = lines.input(system.weight[: one.N], uniform=True)
        self.constraint_weight = lines.input(system.constraint_weight[whole.equations[0]], uniform=True)
        self.gravity = lines.input(system.gravity, uniform=True)
        first = len(lines.arrays)
        batches = system.batches, system.constraint_batches
        pairs = zip(batches, prescribed, strict=True)
        self._given = Prescribed(*(list(map(self._data, own, every)) for own, every in pairs))
        self.given = slice(first, len(lines.arrays))
        """The arrays of what is prescribed."""
        pattern, free = one.pattern, one.free
        self.solver = Elimination(pattern.rows, pattern.columns, one.blocks, one.n_free)
        arrays = pattern.rows, pattern.columns, one.force_slots, one.velocity_level, free
        lines.kind += [whole.copies, one.damps, *(node.group for node in one.nodes), *map(np.ndarray.tobytes, arrays)]

    def prescribe(self, t: float, factor: float = 1.0) -> Prescribed:
        return self._given

    def _data(self, batch: Any, data: Any) -> Any:
        if data is None:
            return None
        c = self._lines.copies
        if not (isinstance(data, np.ndarray) and data.dtype == float and (c == 1 or len(data) == len(batch.nodes))):
            raise CannotRecordError("what depends on time alone is no array of numbers of each cell")
        self._lines.kind.append(data.shape)
        return self._lines.input(data.reshape(c, len(data) // c, *data.shape[1:]))

    def _numbers(self, name: str, path: str, one: Any, every: Any) -> Any:
        """Inputs for an array of numbers."""
        if not (isinstance(one, np.ndarray) and one.dtype == float and one.ndim and one.size):
            return None
        copies = self._lines.copies
        if every.shape != (copies * len(one), *one.shape[1:]):
            raise CannotRecordError(f"{path} is not that of {copies} copies")
        return self._lines.parameter(every.reshape(copies, *one.shape))


@contextmanager
def recorded(system: System) -> Iterator[None]:
    """Have code of the engine, and that of the parts of a system, run on numbers on a tape."""
    own = {type(batch).__module__ for batch in system.all_batches}
    with recording([module for name, module in list(sys.modules.items()) if name in own or name.startswith(ROOMS)]):
        yield
