"""What the file of a run holds, and the solution of it, of which is read from the file what is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ARRAYS, Method, Path, State, checked, number, remembered, shown
from fem_mbs.errors import StoreError
from fem_mbs.files.store.database import Database, guarded
from fem_mbs.files.store.description import FunctionOfScript, check_same, describe, rebuild
from fem_mbs.files.store.save import LOADINGS, MODEL, RUN, STANDS, Shapes, places, row_shapes
from fem_mbs.files.store.values import CLASSES, Record, packed
from fem_mbs.linear.constrained import Redundant
from fem_mbs.model.model import Model
from fem_mbs.run.interfaces import Checkpoint
from fem_mbs.solution.channels import Channel, parse
from fem_mbs.solution.history import NOT_ESTIMATED, Accuracy, ChannelHistory, Held, History, Outcome, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import turning_joints
from fem_mbs.static.statics import StaticSolution
from fem_mbs.system.system import System

MANY = 2**16
"""More events than a script has."""


class RunFile:
    """A file of a run that is opened.

    Raises
    ------
    StoreError
        If it is not one, is of a newer version, was cut short or tampered with.
    """

    def __init__(self, path: FilePath) -> None:
        self.path = path if path.exists() or path.suffix else path.with_suffix(".db")
        with guarded(self.path):
            self._database = Database(self.path)
            self.run = Record(self._content(RUN))
            self.end = number(self.run["t_end"], "its end")
            self.model = json.loads(self._content(MODEL))
            self.stand(self._content(STANDS))

    def stand(self, content: bytes) -> None:
        """Stand where a content says."""
        self.stands = Record(content)
        name = self.stands["outcome"]
        self.outcome = Outcome.CUT if name is None else Outcome[name]

    def _content(self, place: tuple[str, int]) -> bytes:
        self._database.sizes(place[0])
        return self._database.content(*place)

    @cached_property
    def functions(self) -> dict[int, FunctionOfScript]:
        """Functions of the script that its model has, once that is made."""
        return {}

    def system(self, model: Model | None) -> System:
        """The system of the model, that of the script, which must be the same, or the one in the file."""
        if model is None:
            with guarded(self.path):
                find = self.functions
                made = rebuild(self.model, lambda own: find.setdefault(int(own[0]), FunctionOfScript(str(own[1]))))
                return System(made, self.end)
        system = System(model, self.end)
        check_same(describe(system), self.model, f"'{self.path}'")
        return system

    def rows(self, system: System) -> StoredRows:
        """The rows: all that are there, at least those that it had where it stands."""
        shapes = {name: tuple(shape) for name, shape in self.run["shapes"]}
        turning = turning_joints(system) if "turns" in shapes else []
        if shapes != row_shapes(system, self.channels(system), turning):
            raise StoreError(f"'{self.path}': its rows are not those of its model")
        rows, least = StoredRows(self._database, shapes, self.run["loading"] is None), self.stands["rows"]
        if not 0 < least <= rows.count:
            raise StoreError(f"'{self.path}' is damaged: of {shown(least)} rows it has {rows.count}")
        return rows

    def channels(self, system: System) -> Any:
        """The channels that it has in place of states, or None."""
        names = self.run["channels"]
        return None if names is None else [parse(system, name) for name in names]

    def events(self) -> list[list[State]]:
        """States of events, up to where the run stands, which are in the world."""
        count, known = self.run["events"], self.stands["hits"]
        if not 0 <= count < MANY:
            raise StoreError(f"'{self.path}': its 'events' is {shown(count)}")
        self._database.sizes("checkpoints")
        found: list[list[State]] = [[] for _ in range(count)]
        for k in range(known):
            record = Record(self._database.content("checkpoints", k + 1))
            found[record["event"]].append(record["state"])
        return found

    @cached_property
    def method(self) -> Method | None:
        """The method of the run; None for one of a class of the script."""
        return None if b'"of script"' in packed(self.run.text["method"]) else self.run["method"]

    def checkpoint(self, method: Method | None = None) -> Checkpoint | None:
        """Where the run stands; None if it is not known, or what the method of a script remembers."""
        name, method = self.stands["memory_name"], method or self.method
        methods = [kind for kind in CLASSES.values() if issubclass(kind, Method) and kind is not Method]
        known = {kind.Memory.__name__: kind.Memory for kind in (type(method) if method else methods[0], *methods)}
        if name not in known:
            return None
        memory, control = dict(self.stands["memory"]), self.run["control"]
        kind, pace, names = type(control).Memory, dict(self.stands["pace"]), tuple(self.run["names"])
        return Checkpoint(self.stands["state"], remembered(known[name], memory), control, kind(**pace), names)

    def solution(
        self, system: System, checkpoint: Checkpoint | None = None, events: Sequence[list[State]] | None = None
    ) -> Solution:
        """The run; of a script, with its system, its checkpoint and the states of its events."""
        rows = self.rows(system)
        loading, states = self.run["loading"], history(rows, system, self.channels(system))
        path = LOADINGS.get(loading)
        states.instant = Held(loading) if isinstance(loading, float) else path
        stats, joints, turns = self._stats(rows), turning_joints(system), None
        if last := self.stands["turns"] if "turns" in self.stands.text else []:
            none = np.zeros((rows.count, sum(map(len, last))))  # where channels are kept, no state has any
            kept = rows.array("turns")[:] if "turns" in rows.shapes else none
            ends = np.cumsum([len(joint.coordinates) for joint in joints])[:-1]
            whole = np.concatenate([kept, np.concatenate(last)[None]])
            turns = dict(zip(joints, np.split(whole, ends, axis=1), strict=True))
        found = self.events() if events is None else events
        if path is not None:
            return StaticSolution(system, states, self.outcome, stats, found, path, rows.unstable, turns)
        sparse = self.run["every"] > 1 or self.run["times"] is not None
        own = checkpoint or self.checkpoint()
        own = own and replace(own, system=system)
        return Solution(system, states, self.outcome, stats, found, own, turns, None if sparse else self.method)

    def loaded(self, model: Model | None) -> Solution:
        """The run as another process has it, with the model of the script or one made of the file."""
        system = self.system(model)
        with guarded(self.path):
            if sharing := self.stands["redundant"]:
                system.redundant = Redundant(0, np.array(sharing, np.intp), np.empty((0, 0)), "")
            return self.solution(system)

    def _stats(self, rows: StoredRows) -> Stats:
        """Counts from one row to the next, of the first one from the start, and after the last one."""
        steps, failed, rejected, *_ = self.stands["tally"]
        sizes = np.diff(rows.t, prepend=self.run["begin"])
        begins = 0 if rows.t[0] > self.run["begin"] else 1
        iterations, sizes = rows.iterations[begins:], sizes[begins:]
        last, error = self.stands["state"].t, self.stands["error"]
        if last > rows.t[-1]:
            iterations, sizes = np.append(iterations, self.stands["since"]), np.append(sizes, last - rows.t[-1])
        if "listed" in self.stands.text:
            iterations, sizes = self.stands["listed"]
        evaluations, factorizations = self.stands["evaluated"]
        accuracy, wall = NOT_ESTIMATED if error is None else Accuracy(*error), self.stands["wall"]
        counts = iterations, evaluations, factorizations, failed, rejected, sizes, wall, accuracy, steps
        solver = self.stands["solver"] if "solver" in self.stands.text else ""  # not in files of 0.2.0
        return Stats(*counts, tuple(self.stands["compiled"]), solver)


@checked
def load(path: Path, model: Model | None = None) -> Solution:
    """A run from a file, with all its queries by name; what is asked for is read from the file.

    Parameters
    ----------
    path : str or Path
        What ``simulate(..., store=path)`` or ``solution.save(path)`` has written; also of a run that is under way.
    model : Model, optional
        The model of the script, if it has functions that a query needs, or classes that are not imported: it must be
        the same.

    Raises
    ------
    StoreError
        If it is no such file, one of a newer version, or was cut short or tampered with.
    ModelError
        If the model is another one.
    """
    with guarded(FilePath(path), own=False):
        return RunFile(FilePath(path)).loaded(model)


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
        numbers = max((place.stop for name, place in self._places.items() if name in ARRAYS), default=3)
        for k, first in enumerate(ends[:-1]):
            block = self.block(k)
            if not (finite := np.isfinite(block[:, :numbers]).all(axis=1)).all():
                row = int((~finite).argmax())
                raise StoreError(f"'{database.path}': its state {first + row}, t = {block[row, 0]:g} s, is not finite")
            known[:, first : ends[k + 1]] = block[:, :3].T
        self.t, iterations, unstable = known
        self.iterations, self.unstable = iterations.astype(np.intp), unstable.astype(np.intp)
        if rising and (wrong := np.diff(self.t) <= 0.0).any():
            raise StoreError(f"'{database.path}': its times do not rise after t = {self.t[wrong.argmax()]:g} s")

    def block(self, k: int) -> Array:
        """The rows ``(r, width)`` of a block."""
        if self._last is None or self._last[0] != k:
            with guarded(self.database.path):
                content = self.database.content("steps", int(self.firsts[k]))
            self._last = k, np.frombuffer(content, "<f8").reshape(-1, self._width)
        return self._last[1]

    def state(self, row: Array) -> State:
        """The state that a row is of."""
        own: dict[str, Any] = dict.fromkeys(ARRAYS, np.empty(0))
        own |= {name: row[self._places[name]].reshape(self.shapes[name]) for name in ARRAYS if name in self.shapes}
        return State(float(row[0]), **own)

    def array(self, name: str) -> StoredArray:
        """What all rows have of a name, read as it is asked for."""
        return StoredArray(self, self._places[name], self.shapes[name])


class StatesBefore(Mapping[int, State]):
    """States just before those of a file, by their numbers, at which something jumps: read as they are asked for."""

    def __init__(self, rows: StoredRows) -> None:
        self._rows = rows
        self._numbers = {-1 - number for number, _ in rows.database.sizes("checkpoints") if number < 0}

    def __getitem__(self, k: int) -> State:
        if k not in self._numbers:
            raise KeyError(k)
        with guarded(self._rows.database.path):
            return self._rows.state(np.frombuffer(self._rows.database.content("checkpoints", -1 - k), "<f8"))

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


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


def history(rows: StoredRows, system: System, channels: Sequence[Channel] | None) -> History:
    """The states, or the channels, of rows."""
    if channels is not None:
        names = [column for own in channels for column in own.columns]
        values = rows.array("channels")[:].T
        return ChannelHistory(system, rows.t, dict(zip(names, values, strict=True)), rows.database.path)
    none = np.zeros((rows.count, 0))
    stored: dict[str, Any] = {name: rows.array(name) if name in rows.shapes else none for name in ARRAYS}
    return History(system, rows.t, stored, None, StatesBefore(rows))
