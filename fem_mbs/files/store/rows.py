"""The rows of a stored run: what each holds, and how states become rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fem_mbs.arrays import Array
from fem_mbs.contracts import ARRAYS, State
from fem_mbs.files.store.functions import RecordedFunction
from fem_mbs.solution.channels import Channel
from fem_mbs.solution.history import ChannelHistory, History, Instant
from fem_mbs.solution.queries import Queries
from fem_mbs.solution.turns import Turns
from fem_mbs.system.system import System

Shapes: TypeAlias = dict[str, tuple[int, ...]]
COUNTS = ("steps", "iterations", "evaluations", "factorizations")
"""Of the steps since the row before."""
PAGE, BLOCK = 4096, 2**20
NO_COUNTS, NO_EVENT = (0, 0, 0, 0), -1


def row_type(
    system: System, channels: Sequence[Channel] | None, turning: int, functions: Shapes, path: bool = False
) -> Any:
    """The type of a row: a state or channels, whole turns, values of functions of time, and counts.

    On a ``path`` of statics also how unstable it is.

    Numbers of ``session`` count how often the run was gone on with, from 1; ``event`` is the number of an event, -1 for
    the states of the run.
    """
    n, k, m = system.n, system.k, system.m
    shapes: Shapes = {"x": (n, 3), "R": (n, 3, 3), "v": (n, 6), "vdot": (n, 6), "multipliers": (m,)}
    shapes |= dict.fromkeys(("u", "udot", "uddot"), (k,))
    if channels is not None:
        shapes = {"channels": (sum(len(own.columns) for own in channels),)}
    if turning and channels is None:
        shapes["turns"] = (turning,)
    shapes |= functions
    numbers = [(name, "<f8", shape) for name, shape in shapes.items() if 0 not in shape]
    counts = *COUNTS, *(("unstable",) if path else ()), "event", "session"
    return np.dtype([("t", "<f8"), *numbers, *((name, "<i8") for name in counts)])


def turning_joints(system: System) -> list[Any]:
    """Joints whose turns are counted."""
    joints = (joint for batch in system.constraint_batches for joint in batch.owners)
    return [joint for joint in joints if any(own.angle for own in joint.coordinates)]


def asked_in_time(functions: Sequence[RecordedFunction], system: System, t: float) -> Shapes:
    """Functions that are asked at every instant, by their names in a row, and the shape of what they return."""
    system.prescribe(t)
    key, shapes = ("", np.asarray(t, dtype=float).tobytes()), {}
    for k, function in enumerate(functions):
        if key in function.samples:
            value = np.asarray(function.samples[key][1])
            if value.dtype.kind in "fiu" and value.size:
                shapes[f"function {k}"] = value.shape or (1,)
    return shapes


class RowWriter:
    """Fills one row after the other."""

    def __init__(
        self, dtype: Any, functions: Sequence[RecordedFunction], channels: Sequence[Channel] | None, session: int
    ) -> None:
        self.row: NDArray[Any] = np.zeros(1, dtype)
        self._views: dict[str, Any] = {name: self.row[name] for name in dtype.names}
        self._arrays = [(name, self._views[name][0]) for name in ARRAYS if name in self._views]
        names = [(k, f"function {k}") for k in range(len(functions))]
        self._functions = [(functions[k].original, self._views[n][0]) for k, n in names if n in self._views]
        self._channels = channels
        self.session(session)

    def session(self, number: int) -> None:
        """How often the run was gone on with, from 1."""
        self._views["session"][:] = number

    def fill(
        self,
        state: State,
        counts: Sequence[int] = NO_COUNTS,
        turns: Array | None = None,
        event: int = NO_EVENT,
        one: Queries | None = None,
        unstable: int = 0,
    ) -> NDArray[Any]:
        """The row of a state; ``one`` is the solution of this state alone, which channels are taken of."""
        views = self._views
        views["t"][0] = state.t
        for name, view in self._arrays:
            view[:] = getattr(state, name)
        if self._channels is not None and one is not None:
            views["channels"][0] = np.concatenate([own.values(one)[0] for own in self._channels])
        if turns is not None and "turns" in views:
            views["turns"][0] = turns
        for function, view in self._functions:
            view[:] = function(state.t)
        for name, count in zip(COUNTS, counts, strict=True):
            views[name][0] = count
        views["event"][0] = event
        if "unstable" in views:
            views["unstable"][0] = unstable
        return self.row


def flat_turns(turns: Turns, joints: Sequence[Any], k: int) -> Array | None:
    """Turns of one state."""
    return np.concatenate([turns[joint][k] for joint in joints]) if joints else None


def turns_of(rows: NDArray[Any], joints: Sequence[Any]) -> Turns | None:
    """Turns of all states of a file, by joint."""
    if "turns" not in (rows.dtype.names or ()):
        return None
    ends = np.cumsum([len(joint.coordinates) for joint in joints])[:-1]
    return dict(zip(joints, np.split(rows["turns"], ends, axis=1), strict=True))


def column(path: Path, begin: int, rows: NDArray[Any], name: str) -> Array:
    """One number of each row, read from the file: rows that are mapped count as memory once they are touched."""
    dtype, count = rows.dtype, len(rows)
    result = np.empty(count, dtype[name])
    with open(path, "rb", buffering=0) as file:
        if dtype.itemsize > PAGE:
            for k in range(count):
                file.seek(begin + k * dtype.itemsize + dtype.fields[name][1])  # type: ignore[index]
                result[k] = np.frombuffer(file.read(8), dtype[name])[0]
            return result
        file.seek(begin)
        many = BLOCK // dtype.itemsize
        for k in range(0, count, many):
            result[k : k + many] = np.fromfile(file, dtype, min(many, count - k))[name]
    return result


def history(
    t: Array,
    rows: NDArray[Any],
    system: System,
    channels: Sequence[Channel] | None,
    path: Any,
    instant: Instant | None = None,
) -> History:
    """The states, or the channels, of rows."""
    if channels is not None:
        names = [column for own in channels for column in own.columns]
        return ChannelHistory(system, t, dict(zip(names, rows["channels"].T, strict=True)), path)
    none = np.zeros((len(t), 0))
    there = rows.dtype.names or ()
    return History(system, t, {name: rows[name] if name in there else none for name in ARRAYS}, instant)
