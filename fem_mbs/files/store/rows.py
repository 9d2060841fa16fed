"""The rows of a stored run: what each holds, how states become rows, and arrays over time that are read from rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ARRAYS, Constraint, State
from fem_mbs.errors import StoreError
from fem_mbs.files.store.database import BLOCK, Database, guarded
from fem_mbs.solution.channels import Channel
from fem_mbs.solution.history import ChannelHistory, History, Instant
from fem_mbs.solution.queries import Queries
from fem_mbs.solution.turns import Turns
from fem_mbs.system.system import System

Shapes: TypeAlias = dict[str, tuple[int, ...]]
Contents: TypeAlias = Mapping[tuple[str, int], bytes]
BUFFER = 2**24
"""Bytes of rows that wait in memory, at most."""


def row_shapes(system: System, channels: Sequence[Channel] | None, turning: Sequence[Constraint]) -> Shapes:
    """What is in a row: a state or channels, and whole turns of joints that are ``turning``.

    ``iterations`` are those since the row before; ``unstable`` belongs to load paths.
    """
    n, k, m = system.n, system.k, system.m
    turns = sum(len(joint.coordinates) for joint in turning)
    shapes: Shapes = {"t": (), "iterations": (), "unstable": ()}
    if channels is None:
        shapes |= {"x": (n, 3), "R": (n, 3, 3), "v": (n, 6), "vdot": (n, 6), "multipliers": (m,)}
        shapes |= {"u": (k,), "udot": (k,), "uddot": (k,), "turns": (turns,)}
    else:
        shapes["channels"] = (sum(len(own.columns) for own in channels),)
    return {name: shape for name, shape in shapes.items() if 0 not in shape}


def places(shapes: Shapes) -> dict[str, slice]:
    """Where in a row each stands."""
    ends = [*accumulate(map(prod, shapes.values()), initial=0)]
    return {name: slice(begin, end) for name, begin, end in zip(shapes, ends, ends[1:], strict=False)}


class RowWriter:
    """Fills one row after the other."""

    def __init__(self, shapes: Shapes, channels: Sequence[Channel] | None) -> None:
        self.shapes, self._channels, own = shapes, channels, places(shapes)
        self._row = np.zeros(sum(map(prod, shapes.values())))
        self._views = {name: self._row[place].reshape(shapes[name]) for name, place in own.items()}
        self._arrays = [(name, self._views[name]) for name in ARRAYS if name in own]

    def fill(
        self,
        state: State,
        iterations: int = 0,
        turns: Array | None = None,
        one: Queries | None = None,
        unstable: int = 0,
    ) -> bytes:
        """The row of a state; ``one`` is the solution of this state alone, which channels are taken of."""
        self._row[:3] = state.t, iterations, unstable
        for name, view in self._arrays:
            view[:] = getattr(state, name)
        if self._channels is not None and one is not None:
            self._views["channels"][:] = np.concatenate([own.values(one)[0] for own in self._channels])
        if turns is not None and "turns" in self._views:
            self._views["turns"][:] = turns
        return self._row.tobytes()


class Steps:
    """Rows on their way to a file: in memory until they are written together.

    Attributes
    ----------
    rows : int
        How many there are, those in the file included.
    """

    def __init__(self, database: Database, rows: int = 0) -> None:
        self.database, self.rows, self._first, self._size = database, rows, rows, 1
        self._buffer = bytearray()

    def add(self, row: bytes) -> None:
        """Another row."""
        self._size = len(row)
        self._buffer += row
        self.rows += 1

    @property
    def many(self) -> bool:
        """Whether they take so much memory that they should be written."""
        return len(self._buffer) > BUFFER

    def write(
        self, contents: Contents = MappingProxyType({}), beyond: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Write them with other contents; where there is no room for all, as many as there is room for.

        Raises
        ------
        sqlite3.Error
            If not all of it is in the file.
        """
        try:
            self._put(len(self._buffer), contents, beyond)
        except sqlite3.Error:
            count = len(self._buffer) // self._size
            while count:
                try:
                    self._put(count * self._size, {}, {})
                    count = min(count, len(self._buffer) // self._size)
                except sqlite3.Error:
                    count //= 2
            self._buffer.clear()
            self.rows = self._first
            raise

    def _put(self, size: int, contents: Contents, beyond: Mapping[str, int]) -> None:
        step = max(BLOCK // self._size, 1) * self._size
        blocks = {
            ("steps", self._first + k // self._size): bytes(self._buffer[k : min(k + step, size)])
            for k in range(0, size, step)
        }
        self.database.write({**blocks, **contents}, beyond)
        del self._buffer[:size]
        self._first += size // self._size


def flat_turns(turns: Turns, joints: Sequence[Any], k: int) -> Array | None:
    """Turns of one state."""
    return np.concatenate([turns[joint][k] for joint in joints]) if joints else None


class StoredRows:
    """The rows of a file, of which one block at a time is in memory.

    Attributes
    ----------
    t, iterations, unstable : (nt,)
        What is known of all rows.
    """

    def __init__(self, database: Database, shapes: Shapes, rising: bool) -> None:
        self.database, self.shapes, self._places = database, shapes, places(shapes)
        self._width = sum(map(prod, shapes.values()))
        self._last: tuple[int, Array] | None = None
        ends = [0]
        for first, size in database.sizes("steps"):
            if first != ends[-1] or not size or size % (8 * self._width):
                raise StoreError(f"'{database.path}' is damaged: its rows {ends[-1]} to {first} are missing or cut")
            ends.append(first + size // (8 * self._width))
        self.firsts, self.count = np.array(ends[:-1]), ends[-1]
        known = np.empty((3, self.count))
        for k, first in enumerate(ends[:-1]):
            block = self.block(k)
            self._check(block, first)
            known[:, first : ends[k + 1]] = block[:, :3].T
        self.t, iterations, unstable = known
        self.iterations, self.unstable = iterations.astype(np.intp), unstable.astype(np.intp)
        if rising and (wrong := np.diff(self.t) <= 0.0).any():
            raise StoreError(f"'{database.path}': its times do not rise after t = {self.t[wrong.argmax()]:g} s")

    def _check(self, block: Array, first: int) -> None:
        """Refuse states with numbers that are none."""
        end = max((place.stop for name, place in self._places.items() if name in ARRAYS), default=3)
        finite = np.isfinite(block[:, :end]).all(axis=1)
        if not finite.all():
            row = int((~finite).argmax())
            raise StoreError(f"'{self.database.path}': its state {first + row}, t = {block[row, 0]:g} s, is not finite")

    def block(self, k: int) -> Array:
        """The rows ``(r, width)`` of a block."""
        if self._last is None or self._last[0] != k:
            with guarded(self.database.path):
                content = self.database.content("steps", int(self.firsts[k]))
            self._last = k, np.frombuffer(content, "<f8").reshape(-1, self._width)
        return self._last[1]

    def array(self, name: str) -> StoredArray:
        """What all rows have of a name, read as it is asked for."""
        return StoredArray(self, self._places[name], self.shapes[name])


class StoredArray:
    """An array ``(nt, ...)`` in a file: indexed as any other, of which the blocks asked for are read one by one."""

    def __init__(self, rows: StoredRows, place: slice, shape: tuple[int, ...]) -> None:
        self._rows, self._place, self.shape = rows, place, (rows.count, *shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)

    def __getitem__(self, key: Any) -> Array:
        first, *rest = key if isinstance(key, tuple) else (key,)
        steps = np.arange(self.shape[0])[first]
        if steps.ndim == 0:
            return self._of(int(steps), steps, (), rest)
        # an index over several axes goes along its first one
        near: IntArray = steps.reshape(len(steps), -1)[:, 0] if steps.size else steps.ravel()
        blocks = np.searchsorted(self._rows.firsts, near, "right") - 1
        cuts = [0, *(np.flatnonzero(np.diff(blocks)) + 1), len(near)] if len(near) else []
        whole = (slice(None),) if isinstance(first, slice) else ()
        parts = [self._of(int(near[a]), steps[a:b], whole, rest) for a, b in zip(cuts, cuts[1:], strict=False)]
        none = np.empty((0, *self.shape[1:]))
        return np.concatenate(parts) if parts else none[(*(whole or (steps,)), *rest)]

    def _of(self, step: int, steps: IntArray, whole: tuple[Any, ...], rest: Sequence[Any]) -> Array:
        """Of steps that are in the block of one of them."""
        k = int(np.searchsorted(self._rows.firsts, step, "right")) - 1
        here = self._rows.block(k)[:, self._place]
        here, own = here.reshape(len(here), *self.shape[1:]), steps - self._rows.firsts[k]
        result: Array = here[own][(*whole, *rest)] if whole else here[(own, *rest)]
        return result.copy() if result.base is not None else result

    def __reduce__(self) -> Any:
        return np.asarray, (self[:],)


def turns_of(rows: StoredRows, joints: Sequence[Any]) -> Turns | None:
    """Turns of all states of a file, by joint."""
    if "turns" not in rows.shapes:
        return None
    ends = np.cumsum([len(joint.coordinates) for joint in joints])[:-1]
    return dict(zip(joints, np.split(rows.array("turns")[:], ends, axis=1), strict=True))


def history(
    rows: StoredRows, system: System, channels: Sequence[Channel] | None, instant: Instant | None = None
) -> History:
    """The states, or the channels, of rows."""
    if channels is not None:
        names = [column for own in channels for column in own.columns]
        values = rows.array("channels")[:].T
        return ChannelHistory(system, rows.t, dict(zip(names, values, strict=True)), rows.database.path)
    none = np.zeros((rows.count, 0))
    stored: dict[str, Any] = {name: rows.array(name) if name in rows.shapes else none for name in ARRAYS}
    return History(system, rows.t, stored, instant)
