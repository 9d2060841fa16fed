"""The table of a sweep: a file of JSON lines, one row each, written as the answers come."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
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

from fem_mbs.contracts import attributes_of, shown
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
        self._about = {"function": f"{name_of(function)}{_beside_name(function)}", "source": _source(function)}
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
            function = about["function"], about["case"], about["source"]
        except (ValueError, KeyError, TypeError, AttributeError):
            self._file.close()
            raise ModelError(
                f"sweep: line {number} of store '{self._path}' is no row of a sweep, received {shown(line)}; give the "
                "name of a new file"
            ) from None
        if function[0] != self._about["function"]:
            self._file.close()
            raise ModelError(
                f"sweep: store '{self._path}' has rows of {function[0]}, not of {self._about['function']}; give each "
                "function a file of its own"
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


def _beside_name(function: Callable[..., Any]) -> str:
    """What tells a function from others of its name: a digest of what it holds, or of its code where it has no name."""
    held = _held(function, shown(function))
    return f" {digest(held)}" if held else ""


def _held(value: Any, label: str) -> list[Any]:
    """What a function closes over, was given or is bound to, as texts and lists of these."""
    if isinstance(value, partial):
        given = [*value.args, *(part for pair in sorted(value.keywords.items()) for part in pair)]
        told = [_told(part, label) for part in given if not _stands_in_name(part)]
        return list(filter(None, [_held(value.func, label), *told]))
    if isinstance(value, MethodType):
        return [_held(value.__func__, label), _told(value.__self__, label)]
    if isinstance(value, FunctionType):
        cells = [_told(cell.cell_contents, label) for cell in value.__closure__ or ()]
        unnamed = "<" in value.__qualname__
        return [*cells, _code(value.__code__), _told(value.__defaults__, label)] if unnamed else cells
    return [] if isinstance(value, WRITTEN) else [_told(attributes_of(value), label)]


def _code(code: CodeType) -> list[Any]:
    """Code and what stands in it."""
    constants = [_code(part) if isinstance(part, CodeType) else _told(part, code.co_name) for part in code.co_consts]
    return [code.co_code.hex(), *code.co_names, constants]


def _stands_in_name(value: Any) -> bool:
    """Whether the name of a function that was given a value has the whole of it."""
    return isinstance(value, bool | int | float | str | None) and shown(value) == repr(value)


def _told(value: Any, label: str) -> Any:
    """A text that tells a value from others."""
    if isinstance(value, (partial, *WRITTEN)):
        return [name_of(value), _held(value, label)]
    if isinstance(value, Mapping):
        return [[_told(part, label) for part in pair] for pair in value.items()]
    if isinstance(value, set | frozenset):
        return sorted(str(_told(part, label)) for part in value)
    if isinstance(value, list | tuple):
        return [_told(part, label) for part in value]
    try:
        return hashlib.sha256(pickle.dumps(value, 4)).hexdigest()
    except Exception as error:
        raise ModelError(
            f"sweep: {label} holds {shown(value)}, by which a store cannot tell its rows from those of others "
            f"({error}); give a function of a module, and what it depends on as cases"
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
