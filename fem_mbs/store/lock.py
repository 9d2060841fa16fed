"""Files that one process writes to at a time."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from fem_mbs.errors import StoreError

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
        if hasattr(fcntl, "F_OFD_SETLK"):
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
