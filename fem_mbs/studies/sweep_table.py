"""The table of a sweep: a file of JSON lines, one row each, written as the answers come."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import io
import json
import logging
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, TracebackType
from typing import Any, TypeAlias

import numpy as np

from fem_mbs.contracts import shown
from fem_mbs.errors import ModelError, StoreError

LOG = logging.getLogger("fem_mbs")
SUFFIX = ".jsonl"
DIGITS = 16
Row: TypeAlias = dict[str, Any]


class CaseTable:
    """A file of rows; its lines have beside the row, as "sweep", the function, a key of the case and the time it took.

    Attributes
    ----------
    finished : dict of str to dict
        The rows without errors that were there, by the keys of their cases.
    """

    def __init__(self, path: Path, function: Callable[..., Any]) -> None:
        if path.suffix != SUFFIX:
            raise ModelError(
                f"sweep: store is a file of JSON lines, give it a name such as '{path.with_suffix(SUFFIX)}', received "
                f"'{path}'"
            )
        self._path = path
        self._about = {"function": name_of(function), "holds": _held(function), "source": _source(function)}
        self.finished: dict[str, Row] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)
            self._read()
        except OSError as error:
            raise ModelError(f"sweep: cannot write store '{path}': {error}") from error

    def add(self, key: str, row: Row, seconds: float) -> None:
        """Append a row.

        Raises
        ------
        StoreError
            If it cannot be written; those before are in the file.
        """
        line = {**row, "sweep": {**self._about, "case": key, "seconds": round(seconds, 3)}}
        view, end = memoryview(json.dumps(line).encode() + b"\n"), os.fstat(self._file.fileno()).st_size
        try:
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(end)  # a part of a row
            raise StoreError(
                f"sweep: cannot write '{self._path}': {error.strerror or error}. The rows so far are in it; with more "
                "space, the same call goes on"
            ) from error

    def __enter__(self) -> CaseTable:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._file.close()

    def _read(self) -> None:
        """Rows that are there, up to where the last one was cut."""
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        changed = 0
        for number, line in enumerate(lines[:-1], 1):
            row, about = self._row(number, line)
            if "error" in row:
                self.finished.pop(about["case"], None)
            else:
                self.finished[about["case"]] = row
                changed += about["source"] != self._about["source"]
        if lines[-1]:
            LOG.warning("sweep: the last line of '%s' was cut, its case runs again", self._path)
            self._file.truncate(sum(map(len, lines[:-1])) + len(lines) - 1)
        if changed:
            LOG.warning(
                "sweep: the file of %s has changed since %d rows of '%s' were computed; they are taken as they are, "
                "remove the file to compute them again",
                *(self._about["function"], changed, self._path),
            )

    def _row(self, number: int, line: bytes) -> tuple[Row, dict[str, Any]]:
        try:
            row = json.loads(line)
            about = row.pop("sweep")
            function, holds, *_ = about["function"], about.get("holds", ""), about["case"], about["source"]
        except (ValueError, KeyError, TypeError, AttributeError):
            self._file.close()
            raise ModelError(
                f"sweep: line {number} of store '{self._path}' is no row of a sweep, received {shown(line)}; give the "
                "name of a new file"
            ) from None
        if (function, holds) != (self._about["function"], self._about["holds"]):
            self._file.close()
            other = " that holds other values" if function == self._about["function"] else ""
            raise ModelError(
                f"sweep: store '{self._path}' has rows of {function}{other}, not of {self._about['function']}; give "
                "each function a file of its own"
            )
        return row, about


def plain(value: Any, label: str) -> Any:
    """A value as a table can hold it, or a :class:`ModelError` that begins with a label."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(part, label) for part in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(part, label) for key, part in value.items()}
    raise ModelError(
        f"{label} must be a number, a text, a truth value, None, or a list, an array or a dict of these, received "
        f"{shown(value)}"
    )


def digest(*parts: Any) -> str:
    """A short text that tells plain values apart."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:DIGITS]


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called, with the arguments that it was given before."""
    if isinstance(function, partial):
        given = [*map(shown, function.args), *(f"{key}={shown(value)}" for key, value in function.keywords.items())]
        return f"{name_of(function.func)}({', '.join(given)})"
    kind = definition(function)
    module = kind.__module__
    if module == "__main__":
        module = Path(vars(sys.modules[module]).get("__file__") or module).stem
    return f"{module.rpartition('.')[2]}.{kind.__qualname__}"


class _Contents(pickle.Pickler):
    """Pickles functions that have no name of their own as their code and what they close over, sets in one order."""

    def persistent_id(self, value: Any) -> Any:
        """What stands for a value; None where it is pickled as usual."""
        if isinstance(value, set | frozenset):
            return sorted(map(_contents, value))
        if isinstance(value, CodeType):
            return value.co_code, value.co_names, value.co_consts
        if isinstance(value, FunctionType) and "<" in value.__qualname__:
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            return value.__qualname__, cells, value.__code__, value.__defaults__
        return None


def _contents(value: Any) -> str:
    """A short text that tells what a value holds from what others hold."""
    _Contents(buffer := io.BytesIO(), 4).dump(value)
    return hashlib.sha256(buffer.getvalue()).hexdigest()[:DIGITS]


def _held(function: Callable[..., Any]) -> str:
    """What tells a function from others of its name; empty of one that stands in a module."""
    if isinstance(function, FunctionType | BuiltinFunctionType | type) and "<" not in function.__qualname__:
        return ""
    try:
        return _contents(function)
    except Exception as error:
        raise ModelError(
            f"sweep: {shown(function)} holds what a store cannot tell from what others hold ({error}), and so its rows "
            "from theirs; give a function of a module, and what it depends on as cases"
        ) from error


WRITTEN = (FunctionType, BuiltinFunctionType, MethodType, type)


def definition(function: Callable[..., Any]) -> Any:
    """What was written of something that can be called: the function, or the class of an object."""
    function = inspect.unwrap(function)
    return function if isinstance(function, WRITTEN) else type(function)


def _source(function: Callable[..., Any]) -> str:
    """Digest of the file that a function stands in, or of the function alone; empty where there is no source."""
    while isinstance(function, partial):
        function = function.func
    module = sys.modules.get(definition(function).__module__ or "")
    for place in (module, function):
        try:
            return digest(inspect.getsource(place))  # type: ignore[arg-type]
        except (OSError, TypeError):
            continue
    return ""
