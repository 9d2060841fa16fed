"""What the file of a run holds, read as it is asked for."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fem_mbs.contracts import ARRAYS, Method, State
from fem_mbs.errors import StoreError
from fem_mbs.files.store.build import rebuild
from fem_mbs.files.store.create import FIELDS, fields_of
from fem_mbs.files.store.description import check_same, describe
from fem_mbs.files.store.functions import RecordedFunction, read_samples
from fem_mbs.files.store.guard import check_checkpoint, check_run, guarded
from fem_mbs.files.store.head import read_head
from fem_mbs.files.store.rows import row_type, turning_joints
from fem_mbs.files.store.table import last_checkpoint
from fem_mbs.files.store.values import CLASSES, Data, Reader, find_class, unpacked
from fem_mbs.model.model import Model
from fem_mbs.run.checkpoint import Checkpoint
from fem_mbs.solution.channels import parse
from fem_mbs.solution.outcome import Outcome
from fem_mbs.system.system import System


def open_run(path: Path) -> RunFile:
    """A stored run.

    Raises
    ------
    StoreError
        If the file is not one, is of a newer version, was cut short or tampered with.
    """
    if not path.exists() and not path.suffix:
        path = path.with_suffix(".h5")
    with guarded(path):
        return RunFile(path)


class RunFile:
    """A file of a run that is opened."""

    def __init__(self, path: Path) -> None:
        self.path, self.head = path, read_head(path)
        self.model, self.run, self._functions = map(self._data, ("model", "run", "functions"))
        self._fields: list[Any] = json.loads(self._part(FIELDS))
        self._size = os.stat(path).st_size
        found = last_checkpoint(path, self.head)
        if found is None:
            raise StoreError(f"'{path}' was cut off before its run began")
        self.number, content = found[0], unpacked(found[1])
        self.checkpoint: dict[str, Any] = json.loads(content.text)
        self._reader = Reader(content.numbers)
        self.options: dict[str, Any] = json.loads(self.run.text)
        self._options_reader = Reader(self.run.numbers)
        check_run(self.options)
        check_checkpoint(self.checkpoint)

    def _part(self, name: str) -> bytes:
        """A part that never changes."""
        span = self.head.parts[name]
        with open(self.path, "rb") as file:
            file.seek(span.begin)
            content = file.read(span.size)
        if zlib.crc32(content) != span.check:
            raise StoreError(f"'{self.path}' is damaged: '{name}' is not as it was written")
        return content

    def _data(self, name: str) -> Data:
        return Data(self._part(f"{name}/text").decode(), np.frombuffer(self._part(f"{name}/numbers"), "<f8"))

    def option(self, name: str) -> Any:
        """What the run was asked for."""
        return self._options_reader.value(self.options[name])

    def kept(self, name: str) -> Any:
        """What the last checkpoint has."""
        return self._reader.value(self.checkpoint[name])

    @cached_property
    def functions(self) -> list[RecordedFunction]:
        """Functions of the script."""
        return read_samples(self._functions)

    def functions_of(self, system: System) -> Sequence[Any]:
        """Functions in the order of the file, of the model of a script."""
        return describe(system).functions if self.functions else []

    @property
    def parts(self) -> list[dict[str, Any]]:
        """Descriptions of elements and joints."""
        return json.loads(self.model.text)["parts"]  # type: ignore[no-any-return]

    @property
    def outcome(self) -> Outcome:
        """How the run ended."""
        name = self.checkpoint["outcome"]
        return Outcome.CUT if name is None else Outcome[name]

    def system(self, model: Model | None) -> System:
        """The system of the model, that of the script, which must be the same, or the one in the file."""
        if model is None:
            with guarded(self.path):
                return System(rebuild(self.model, self.functions), self.options["t_end"])
        system = System(model, self.options["t_end"])
        check_same(describe(system).model, self.model, f"'{self.path}'")
        return system

    def rows(self, system: System) -> NDArray[Any]:
        """The rows, in the file."""
        dtype = self._row_type(system)
        count, kept = (self._size - self.head.begin) // dtype.itemsize, self.checkpoint["rows"]
        ended = self.checkpoint["outcome"] is not None
        if count < (least := max(self._declared(), kept if ended else 0)):
            raise StoreError(f"'{self.path}' was cut short when it was copied: of {least} rows it has {count}")
        rows = np.memmap(self.path, dtype, "r", self.head.begin, (count,)).view(np.ndarray)
        return rows[: kept if ended else _whole(rows)]

    def _row_type(self, system: System) -> Any:
        """The type of a row, which follows from the model and what is kept of it."""
        shapes = {name: tuple(shape) for name, _, shape in self._fields}
        functions = {name: shape for name, shape in shapes.items() if name.startswith("function ")}
        turning = sum(len(joint.coordinates) for joint in turning_joints(system)) if "turns" in shapes else 0
        numbers = [number for shape in functions.values() for number in shape]
        if all(type(number) is int and 0 < number <= self._size for number in numbers):
            dtype = row_type(system, self.channels(system), turning, functions, self.options["loading"] is not None)
            if fields_of(dtype) == self._fields:
                return dtype
        raise StoreError(f"'{self.path}': its rows are not those of its model")

    def _declared(self) -> int:
        """How many rows HDF5 knows of."""
        with open(self.path, "rb") as file:
            file.seek(self.head.rows)
            return int(struct.unpack("<Q", file.read(8))[0])

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
        given = self.options["method"]
        if given is None or find_class(given["class"]) is None:
            return None
        made = self._options_reader.value(given)
        return made if isinstance(made, Method) else None

    @cached_property
    def control(self) -> Any:
        """How steps were chosen."""
        return self._options_reader.value(self.options["control"])

    def stands(self, method: Method | None = None) -> Checkpoint | None:
        """Where the run stands; None if it is not known, or what the method of a script remembers."""
        name, method = self.checkpoint["memory_name"], method or self.method
        methods = [kind for kind in CLASSES.values() if issubclass(kind, Method) and kind is not Method]
        known = {kind.Memory.__name__: kind.Memory for kind in (type(method) if method else methods[0], *methods)}
        if name not in known:
            return None
        memory, control_memory = (
            {own: self._reader.value(value) for own, value in self.checkpoint[part].items()}
            for part in ("memory", "pace")
        )
        kind, control, names = known[name], self.control, tuple(self.options["names"])
        return Checkpoint(self.state("last"), kind(**memory), control, type(control).Memory(**control_memory), names)


def _whole(rows: NDArray[Any]) -> int:
    """How many rows a run has that was cut: those of its last session, and those of others before it."""
    if not len(rows):
        return 0
    session = rows["session"]
    if session[0] == session[-1]:
        return len(rows) if session[0] else 0
    return int(np.argmax(np.append(np.diff(session) < 0, True))) + 1
