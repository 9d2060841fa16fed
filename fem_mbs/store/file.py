"""A stored run as it is opened: guarded against whatever else a file may be."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fem_mbs.arrays import Array
from fem_mbs.errors import StoreError
from fem_mbs.integrate.checkpoint import Checkpoint
from fem_mbs.integrate.method import Method
from fem_mbs.model import Model
from fem_mbs.result import Accuracy, Outcome, Solution, Stats, parse
from fem_mbs.store.answers import read_answers
from fem_mbs.store.build import rebuild
from fem_mbs.store.compare import check_same
from fem_mbs.store.description import describe
from fem_mbs.store.functions import Asked
from fem_mbs.store.guard import FORMAT, SIGNATURE, VERSION, check_dataset, check_format, guarded
from fem_mbs.store.rows import column, history, row_type, turning_joints, turns_of
from fem_mbs.store.table import SLOTS, TABLE, hdf5, last_checkpoint, places_in
from fem_mbs.store.values import Data, Reader, classes, unpacked
from fem_mbs.system import ARRAYS, State, System
from fem_mbs.system.least_norm import Redundant

PARTS = ("model", "run", "functions")


def fill(parts: Mapping[str, Data], origin: Array, file: Any) -> None:
    """Put the model, the run and the functions into a new file; positions in its rows count from ``origin`` (3,)."""
    import fem_mbs

    file.attrs["format"], file.attrs["format_version"] = FORMAT, VERSION
    file.attrs["fem_mbs_version"], file.attrs["origin"] = fem_mbs.__version__, origin
    for name, data in parts.items():
        file.create_dataset(f"{name}/text", data=np.frombuffer(data.text.encode(), "u1"))
        file.create_dataset(f"{name}/numbers", data=data.numbers.astype("<f8"))


def open_run(path: Path) -> RunFile:
    """A stored run.

    Raises
    ------
    StoreError
        If the file is not one, is of a newer version, was cut short or tampered with.
    """
    if not path.suffix and not path.exists():
        path = path.with_suffix(".h5")
    with guarded(path):
        return RunFile(path)


class Ended(NamedTuple):
    """How a run has ended, and its counts."""

    outcome: Outcome
    failed: int
    rejected: int
    error: Accuracy | None
    t: float
    """Time of its last step."""
    totals: Sequence[int]
    """Steps, iterations, evaluations and factorisations."""
    since: Sequence[int]
    """The same since the last row."""
    wall: float


class RunFile:
    """What a file holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with open(path, "rb") as raw:
            if raw.read(8) != SIGNATURE:
                raise StoreError(f"'{path}' is not a stored run, but a file of another kind: it is not HDF5")
        size = path.stat().st_size
        try:
            opened = hdf5("mbs.load").File(path, "r", locking=False)
        except OSError as error:
            raise StoreError(f"'{path}' is damaged, or was cut short when it was copied: {error}") from error
        with opened as file:
            check_format(file, path)
            for name in (*SLOTS, TABLE, *(f"{part}/{own}" for part in PARTS for own in ("text", "numbers"))):
                check_dataset(file, name, size)
            self.model, self.run, self._functions = (
                Data(file[f"{part}/text"][:].tobytes().decode(), file[f"{part}/numbers"][:]) for part in PARTS
            )
            self.places = places_in(file, path)
            self._dtype = file[TABLE].dtype
            self._declared = file[TABLE].shape[0]
            found = last_checkpoint(file)
        if found is None:
            raise StoreError(f"'{path}' was cut off before its run began")
        self.number = found[0]
        content = unpacked(found[1])
        self.checkpoint: dict[str, Any] = json.loads(content.text)
        self._reader = Reader(content.numbers)
        self.options: dict[str, Any] = json.loads(self.run.text)
        self._options_reader = Reader(self.run.numbers)
        self._size = size

    def option(self, name: str) -> Any:
        """What the run was asked for."""
        return self._options_reader.value(self.options[name])

    def kept(self, name: str) -> Any:
        """What the last checkpoint has."""
        return self._reader.value(self.checkpoint[name])

    @cached_property
    def functions(self) -> list[Asked]:
        """Functions of the script."""
        return read_answers(self._functions)

    def functions_of(self, system: System) -> Sequence[Any]:
        """Functions in the order of the file, of the model of a script."""
        return describe(system).functions if self.functions else []

    def event_state(self, row: Any) -> State:
        """The state of an event, in the world."""
        return _state(row)

    @property
    def parts(self) -> list[dict[str, Any]]:
        """Descriptions of elements and joints."""
        return json.loads(self.model.text)["parts"]  # type: ignore[no-any-return]

    def make_model(self) -> Model:
        """The model, made again."""
        return rebuild(self.model, self.functions)

    @property
    def outcome(self) -> Outcome:
        """How the run ended."""
        name = self.checkpoint["outcome"]
        return Outcome.CUT if name is None else Outcome[name]

    def rows(self, system: System) -> NDArray[Any]:
        """The rows, in the file."""
        channels, dtype = self.channels(system), self._dtype
        functions = {name: dtype[name].shape for name in dtype.names if name.startswith("function ")}
        turning = sum(len(joint.coordinates) for joint in turning_joints(system)) if "turns" in dtype.names else 0
        if dtype != row_type(system, channels, turning, functions):
            raise StoreError(f"'{self.path}': its rows are not those of its model")
        count = (self._size - self.places.begin) // dtype.itemsize
        if count < self._declared or (self.checkpoint["outcome"] is not None and count < self.checkpoint["rows"]):
            raise StoreError(
                f"'{self.path}' was cut short when it was copied: of {max(self._declared, self.checkpoint['rows'])} "
                f"rows it has {count}"
            )
        rows = np.memmap(self.path, dtype, "r", self.places.begin, (count,)).view(np.ndarray)
        if self.checkpoint["outcome"] is not None:
            return rows[: self.checkpoint["rows"]]
        return rows[: _whole(rows)]

    def channels(self, system: System) -> Any:
        """The channels that it has in place of states, or None."""
        names = self.options["channels"]
        return None if names is None else [parse(system, name) for name in names]

    def state(self, name: str) -> State:
        """A state that is kept apart: the first one, or that of the checkpoint."""
        source = self.options["first"] if name == "first" else self.checkpoint["state"]
        reader = self._options_reader if name == "first" else self._reader
        return State(**{own: reader.value(source[own]) for own in ("t", *ARRAYS)})

    @cached_property
    def method(self) -> Method | None:
        """The method of the run; None for one of a class of the script."""
        made = self._options_reader.value(self.options["method"])
        return made if isinstance(made, Method) else None

    @cached_property
    def control(self) -> Any:
        """How steps were chosen."""
        return self._options_reader.value(self.options["control"])

    def stands(self, method: Method | None = None) -> Checkpoint | None:
        """Where the run stands; None if it is not known, or what the method of a script remembers."""
        name = self.checkpoint["memory_name"]
        methods = [kind for kind in classes().values() if issubclass(kind, Method) and kind is not Method]
        known = {kind.Memory.__name__: kind.Memory for kind in (type(method) if method else methods[0], *methods)}
        if name not in known:
            return None
        memory, pace = (
            {own: self._reader.value(value) for own, value in self.checkpoint[part].items()}
            for part in ("memory", "pace")
        )
        kind, control, names = known[name], self.control, tuple(self.options["names"])
        return Checkpoint(self.state("last"), kind(**memory), control, type(control).Memory(**pace), names)

    def solution(
        self, system: System, checkpoint: Checkpoint | None, events: Sequence[list[State]] | None, ended: Ended
    ) -> Solution:
        """The run, of which is read what is asked for."""
        rows = self.rows(system)
        t = column(self.path, self.places.begin, rows, "t")
        found = _events(rows, self.options["events"]) if events is None else events
        if self.options["events"]:
            kept = rows["event"] < 0
            t, rows = t[kept], rows[kept]
        for k, function in enumerate(self.functions):
            if f"function {k}" in self._dtype.names:
                function.over_time(t, rows[f"function {k}"])
        states = history(t, rows, system, self.channels(system), self.path)
        turns = turns_of(rows, turning_joints(system))
        stats = self._stats(t, rows, ended)
        return Solution(system, states, ended.outcome, stats, found, checkpoint, turns, self._between(system))

    def _between(self, system: System) -> Any:
        """How the method goes from one state to the next, if there is one after each step."""
        sparse = self.options["every"] > 1 or self.options["times"] is not None
        return None if sparse or self.method is None else partial(self.method.between, system)

    def _stats(self, t: Array, rows: NDArray[Any], ended: Ended) -> Stats:
        """Counts from one row to the next, of the first one from the start, and after the last one."""
        iterations, since = rows["iterations"], ended.since
        sizes = np.diff(t, prepend=self.options["begin"])
        begins = 0 if len(rows) and rows["steps"][0] else 1
        iterations, sizes = iterations[begins:], sizes[begins:]
        if since[0]:
            iterations, sizes = np.append(iterations, since[1]), np.append(sizes, ended.t - t[-1:])
        if "listed" in self.checkpoint:
            iterations, sizes = self.kept("listed")
        steps, _, evaluations, factorizations = ended.totals
        counts = evaluations, factorizations, ended.failed, ended.rejected
        return Stats(iterations, *counts, sizes, ended.wall, ended.error, steps)

    def loaded(self, model: Model | None) -> Solution:
        """The run as another process has it, with the model of the script or one made of the file."""
        system = self.system(model)
        with guarded(self.path):
            return self._loaded(system)

    def system(self, model: Model | None) -> System:
        """The system of the model, that of the script, which must be the same, or the one in the file."""
        if model is None:
            with guarded(self.path):
                return System(self.make_model(), self.options["t_end"])
        system = System(model, self.options["t_end"])
        check_same(describe(system).model, self.model, f"'{self.path}'")
        return system

    def _loaded(self, system: System) -> Solution:
        names = set(self.checkpoint["redundant"])
        if names:
            joints = tuple(part for part in system.number.parts if part.name in names)  # type: ignore[attr-defined]
            system.redundant = Redundant(joints, 0, np.empty(0, np.intp), np.empty((0, 0)), "")  # type: ignore[arg-type]
        checkpoint = self.stands()
        error = None if (given := self.checkpoint["error"]) is None else Accuracy(*given)
        tally, last = self.kept("tally"), self.state("last").t
        counts = [self.kept(name) for name in ("totals", "since", "wall")]
        return self.solution(system, checkpoint, None, Ended(self.outcome, tally[1], tally[2], error, last, *counts))


def _events(rows: NDArray[Any], count: int) -> list[list[State]]:
    """States of events, which are in the world."""
    return [[_state(row) for row in rows[rows["event"] == event]] for event in range(count)]


def _state(row: Any) -> State:
    arrays: dict[str, Any] = {name: row[name] if name in row.dtype.names else np.zeros(0) for name in ARRAYS}
    return State(float(row["t"]), **arrays)


def _whole(rows: NDArray[Any]) -> int:
    """How many rows a run has that was cut: those of its last session, and those of others before it."""
    if not len(rows):
        return 0
    session = rows["session"]
    if session[0] == session[-1]:
        return len(rows) if session[0] else 0
    return int(np.argmax(np.append(np.diff(session) < 0, True))) + 1
