"""One cell of a batch on a tape: what differs between cells and what moves are inputs, the rest is of its kind."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled.emit import InputRows, OutputRows, program
from fem_mbs.compiled.tape import CannotRecordError, Tape
from fem_mbs.contracts import ConstraintBatch, ElementBatch, Motion, Numbering, RateSensitivities

# arrays of the model, whose addresses all kernels share
T, X, R, V, A, INERTIAL_V, INERTIAL_UDOT, GRAVITY, U, UDOT, UDDOT, MULTIPLIERS = range(12)
DV, DV_OWN, DA, DA_OWN, SHARED = range(12, 17)
# arrays of a batch
GUARD, NODES, OWN, READS, GIVEN, RESULT, PARAMETERS = (SHARED + k for k in (0, 1, 2, 3, 4, 7, 15))
LAST = "_last"
"""What a part remembers of the last motion."""
PARTS = "fem_mbs.elements.", "fem_mbs.contracts."


class Untouchable:
    """In place of what a line cannot depend on: elements, which may change, and functions of users."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _refuse(self, *how: Any) -> Any:
        raise CannotRecordError(f"asks for {self._path}, which may be anything")

    __call__ = __iter__ = __getitem__ = __len__ = __bool__ = __array__ = _refuse

    def __getattr__(self, name: str) -> Any:
        return self._refuse()


class OneCell:
    """A tape, and where the inputs of a cell lie.

    Attributes
    ----------
    cell : ElementBatch or ConstraintBatch
        A copy of the batch that has one cell, with numbers on the tape for its parameters.
    parameters : list of (n, ...)
        Arrays of the batch with a row for each cell.
    kind : tuple
        All else that the line depends on: batches of equal kinds have the same.
    """

    def __init__(self, batch: ElementBatch | ConstraintBatch, tape: Tape | None = None) -> None:
        self.tape, self.sources = tape or Tape(), dict[str, InputRows]()
        self.batch, self.n = batch, len(batch.nodes)
        self.parameters: list[Array] = []
        self._kind: list[Any] = [batch.nodes.shape[1], None if batch.own is None else batch.own.shape[1]]
        self.cell: Any = copied([batch], "", self._kind, self._numbers, self._rows_of_one)
        self.kind = tuple(self._kind)

    def motion(self, motion: Motion) -> Motion:
        """The motion of the cell, and that of its inertia forces."""
        nodes = self.batch.nodes
        x, R_, A_ = (
            self._gathered(name, place, value, NODES, nodes)
            for name, place, value in (("x", X, motion.x), ("R", R, motion.R), ("A", A, motion.A))
        )
        t, gravity = self._uniform("t", T, np.array([motion.t]))[0], self._uniform("gravity", GRAVITY, motion.gravity)
        u, udot, uddot, other = (
            self.own(name, place, value)
            for name, place, value in (
                ("u", U, motion.u),
                ("udot", UDOT, motion.udot),
                ("uddot", UDDOT, motion.uddot),
                ("inertial udot", INERTIAL_UDOT, motion.udot),
            )
        )
        multipliers = np.empty(0)
        if isinstance(self.batch, ElementBatch) and self.batch.reads is not None:
            read = motion.multipliers[:, None]
            multipliers = self._gathered("multipliers", MULTIPLIERS, read, READS, self.batch.reads)[:, 0]
        rates = self._gathered("V", V, motion.V, NODES, nodes)
        of_inertia = self._gathered("inertial V", INERTIAL_V, motion.V, NODES, nodes)
        momentum = Motion(t, x, R_, of_inertia, A_, gravity, u, other, uddot, multipliers)
        return Motion(t, x, R_, rates, A_, gravity, u, udot, uddot, multipliers, momentum)

    def sensitivities(self, name: str, nodes: int, own: int, value: RateSensitivities) -> RateSensitivities:
        """Of the nodes and variables of the cell."""
        blocks = self._gathered(name, nodes, value.nodes, NODES, self.batch.nodes)
        blocks[:, 3:, :3] = 0.0
        return RateSensitivities(blocks, self.own(f"own {name}", own, value.own))

    def own(self, name: str, place: int, value: Array) -> Array:
        """Those of values ``(k,)`` that belong to internal variables of the cell, ``(s,)``."""
        if self.batch.own is None:
            return np.empty(0)
        return self._gathered(name, place, value[:, None], OWN, self.batch.own)[:, 0]

    def given(self, k: int, width: int) -> Array:
        """A row ``(1, width)`` of the ``k``-th array that is handed to a kernel, with one for each cell."""
        return self._of_cell(f"given {k}", GIVEN + k, np.ones((self.n, width)))

    def program(self, lanes: int, number: int, *results: Any) -> str:
        """LLVM text of the ``number``-th kernel, to at most two results, each of which has an array of its own."""
        sinks = []
        for k, result in enumerate(results):
            values = np.asarray(result, object).ravel()
            sinks.append(
                OutputRows(
                    RESULT + 2 * number + k, len(values), [(c, self.tape.number_of(v)) for c, v in enumerate(values)]
                )
            )
        return program(self.tape, self.sources, sinks, list(self.tape.guards), GUARD, SHARED, lanes)

    def _gathered(self, name: str, place: int, value: Array, table: int, index: IntArray) -> Array:
        """Rows ``(p, ...)`` of an array, of which each cell takes those that ``index`` (n, p) says."""
        rows = []
        for k in range(index.shape[1]):
            self.sources[f"{name} {k}"] = InputRows(place, value[0].size, (table, index.shape[1], k))
            rows.append(self.tape.inputs(f"{name} {k}", value[index[0, k]]))
        return np.stack(rows) if rows else np.empty((0, *value.shape[1:]), object)

    def _uniform(self, name: str, place: int, value: Array) -> Array:
        self.sources[name] = InputRows(place, np.size(value), uniform=True)
        return self.tape.inputs(name, value)

    def _of_cell(self, name: str, place: int, value: Array) -> Array:
        self.sources[name] = InputRows(place, value[0].size)
        return self.tape.inputs(name, value[:1])

    def _parameter(self, path: str, value: Array) -> Array:
        """What is zero in all cells stays zero, so that kernels of like batches are the same."""
        there = value.any(axis=0)
        self._kind += [path, value.shape[1:], there.tobytes()]
        self.parameters.append(np.ascontiguousarray(value))
        row = self._of_cell(path, PARAMETERS + len(self.parameters) - 1, value)
        row[:, ~there] = 0.0
        return row

    def _numbers(self, name: str, path: str, value: Any) -> Any:
        """Numbers on the tape for what has a row for each cell; rows of its own for a cell."""
        if name in ("nodes", "own", "reads") and value is not None:
            return np.arange(value.shape[1])[None]
        if (
            isinstance(value, np.ndarray)
            and value.ndim
            and len(value) == self.n
            and value.dtype == float
            and value.size
        ):
            return self._parameter(path, value)
        return None

    def _rows_of_one(self, name: str, path: str, value: Any) -> Any:
        """Which rows of a cell something concerns."""
        n = self.n
        if name == "cell":
            return np.zeros(len(value) // n, np.intp)
        if isinstance(value, slice) and isinstance(value.stop, int):
            rows, rest = divmod(value.stop - (value.start or 0), n)
            if rest:
                raise CannotRecordError(f"{path} cuts cells")
            return slice(0, rows)
        if isinstance(value, np.ndarray) and value.ndim and value.size and len(value) % n == 0:
            each = len(value) // n
            if np.array_equal(value, np.arange(len(value))):
                return np.arange(each)
            if np.array_equal(value, self.batch.nodes[:, 0]):
                return np.zeros(1, np.intp)
            if len(value) == n or name in ("length", "velocity"):
                first = value[:each]
                if not (value.reshape(n, *first.shape) == first).all():
                    raise CannotRecordError(f"{path} differs between cells")
                return first
        return value


def copied(
    things: Sequence[Any],
    path: str,
    kind: list[Any],
    numbers: Callable[..., Any],
    rest: Callable[[str, str, Any], Any] = lambda name, path, value: value,
) -> Any:
    """A copy of the first of some batches of one class, or of parts of theirs, for a line.

    ``numbers(name, path, *values)`` says what stands for an attribute, None for what it does not know. Of all others,
    as ``rest(name, path, value)`` has them, what tells them apart is added to ``kind``.
    """
    first = things[0]
    kind.append(type(first))
    for attribute in vars(type(first)).values():
        if isinstance(attribute, cached_property):
            for thing in things:
                attribute.__get__(thing)
    result = copy.copy(first)

    def part(name: str, path: str, *values: Any) -> Any:
        value = values[0]
        if name.endswith("owners"):
            return [Untouchable("an element")]
        if name == LAST:
            return None
        if isinstance(value, Numbering):
            return value
        if (own := numbers(name, path, *values)) is not None:
            return own
        if isinstance(value, tuple) and isinstance(fields := vars(type(value)).get("_fields"), tuple):
            pairs = zip(fields, *values, strict=True)
            return type(value)(*(part(field, f"{path}.{field}", *own) for field, *own in pairs))
        if type(value).__module__.startswith(PARTS) and not isinstance(value, type) and "nodes" in vars(value):
            return copied(values, f"{path}.", kind, numbers, rest)
        try:
            kept = rest(name, path, value)
            kind.extend([path, known(kept)])
        except CannotRecordError:
            return Untouchable(path)
        return kept

    for name in vars(first):
        object.__setattr__(result, name, part(name, f"{path}{name}", *(vars(thing).get(name) for thing in things)))
    return result


def known(value: Any) -> Any:
    """What tells two values apart; :class:`CannotRecordError` of what may be anything."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, slice):
        return value.start, value.stop
    if isinstance(value, (list, tuple)):
        return tuple(known(part) for part in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (type, FunctionType)) and value.__module__.startswith("fem_mbs.") and _is_plain(value):
        return value
    raise CannotRecordError("it may be anything")  # a function of the user's, for one


def _is_plain(value: type | FunctionType) -> bool:
    """Whether a function of the library knows nothing but its arguments."""
    return isinstance(value, type) or value.__closure__ is None


def rows_in_order(cell: Sequence[int] | IntArray, n: int) -> bool:
    """Whether equations are those of one constraint after the other, as many of each."""
    each, rest = divmod(len(cell), n)
    return not rest and np.array_equal(cell, np.repeat(np.arange(n), each))
