"""Files that are opened: one process writes to each, what goes wrong names it, and its counts are what it can have."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fem_mbs.contracts import shown
from fem_mbs.errors import FemMbsError, ModelError, StoreError
from fem_mbs.solution.outcome import Outcome

RECORD = struct.Struct("@hhqqi4x")
"""``struct flock`` of Linux: the whole file."""


def lock(file: Any, path: Path) -> None:
    """Refuse a file that is being written to.

    The lock is that of the open file, where the system has these: that of a process ends as soon as any part of it
    closes the file, as :func:`fem_mbs.load` does.
    """
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        if sys.platform == "linux":
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, RECORD.pack(fcntl.F_WRLCK, 0, 0, 0, 0))
        else:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        file.close()
        raise StoreError(f"'{path}' is being written to by another run, which goes on") from None
    except OSError:  # a file system without locks
        return


def refuse_taken(path: Path) -> None:
    """Refuse to replace a file that is being written to."""
    try:
        file = open(path, "r+b", buffering=0)  # noqa: SIM115
    except OSError:
        return
    with file:
        lock(file, path)


MANY = 2**16
"""More events than a script has."""


@contextmanager
def guarded(path: Path, own: bool = True) -> Iterator[None]:
    """Whatever goes wrong in reading a file is an error that names it; of a model that is not its ``own``, its errors.

    Texts and numbers are those of nobody knows whom: what they make of the library may be any exception.
    """
    try:
        yield
    except FileNotFoundError:
        raise StoreError(f"there is no file '{path}'") from None
    except FemMbsError as error:
        if isinstance(error, StoreError) or not own:
            raise
        raise StoreError(f"'{path}' cannot be opened: {error}") from error
    except Exception as error:
        raise StoreError(
            f"'{path}' cannot be opened: it is not, or no longer, a run as fem_mbs writes it "
            f"({type(error).__name__}: {shown(str(error))})"
        ) from error


def check_run(text: Any) -> None:
    """Refuse what a run cannot have been asked for."""
    _check(text, RUN)
    if text["t_end"] < text["begin"] and text["loading"] is None:
        raise ModelError(f"its end, {text['t_end']}, comes before its begin, {text['begin']}")


def check_checkpoint(text: Any) -> None:
    """Refuse where a run cannot stand."""
    _check(text, CHECKPOINT)


def _check(text: Any, expected: Mapping[str, Callable[[Any], bool]]) -> None:
    if not isinstance(text, dict):
        raise ModelError(f"it holds {shown(text)} in place of what a run has")
    for name, valid in expected.items():
        if name not in text or not valid(text[name]):
            raise ModelError(f"its '{name}' is {shown(text[name]) if name in text else 'missing'}")


def _number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(own, str) for own in value)


def _counts(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and all(map(_count, value))


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in kinds


RUN: dict[str, Callable[[Any], bool]] = {
    "begin": _number,
    "t_end": _number,
    "control": _is(dict, type(None)),
    "method": _is(dict, type(None)),
    "method_name": _is(str),
    "every": lambda value: _count(value) and value > 0,
    "channels": lambda value: value is None or _names(value),
    "events": lambda value: _count(value) and value < MANY,
    "names": _names,
    "first": _is(dict),
    "loading": lambda value: value in (None, "proportional", "constant"),
}
CHECKPOINT: dict[str, Callable[[Any], bool]] = {
    "outcome": lambda value: value is None or (isinstance(value, str) and value in Outcome.__members__),
    "rows": _count,
    "go_on": _count,
    "state": _is(dict),
    "memory": _is(dict),
    "memory_name": _is(str, type(None)),
    "pace": _is(dict),
    "error": lambda value: value is None or (isinstance(value, list) and all(map(_is(int, float), value))),
    "totals": _counts,
    "since": _counts,
    "wall": _number,
    "turns": _is(list),
    "done": _count,
    "session": lambda value: _count(value) and value > 0,
    "redundant": _names,
}
