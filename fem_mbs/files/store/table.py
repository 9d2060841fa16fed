"""A table at the end of a file that grows by whole rows and is whole at any moment, even where its process is killed.

The rows of the table are the end of the file, one after the other without gaps, and a row is added by one ``write``.
What HDF5 has to know of them are three whole numbers, which are set in place: the end of the file, the size of the
table in bytes, and its number of rows; each is written at once, and in this order they are right at any moment. How
many rows there are follows from the size of the file (HDF5 File Format Specification 3.0, II.A version 0, IV.A.1.a,
IV.A.2.b and IV.A.2.i).

Two slots of a fixed size hold, in turns, what a run needs to go on: the older one is whole while the other is written.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from pathlib import Path
from typing import Any

from fem_mbs.errors import StoreError
from fem_mbs.files.hdf5 import SUPERBLOCK_END
from fem_mbs.files.replacing import reason
from fem_mbs.files.store.guard import lock
from fem_mbs.files.store.head import SIZE, Head, read_head

END_OF_FILE = SIZE + SUPERBLOCK_END
SLOT_HEAD = struct.Struct("<QQI")
"""Number of the checkpoint, its length in bytes, and its check sum."""


class StepTable:
    """The table of a file, to which rows are added.

    Parameters
    ----------
    path : Path
        A file that :func:`fem_mbs.files.store.create.create` has made.
    itemsize : int
        Bytes a row.
    rows : int
        After how many of its rows it goes on.
    number : int
        Number of the last checkpoint.
    """

    def __init__(self, path: Path, itemsize: int, rows: int = 0, number: int = 0) -> None:
        self.path, self.rows, self._itemsize, self._number = path, rows, itemsize, number
        self._head = read_head(path)
        self._known = 0  # rows that HDF5 was told of
        self.open(path)

    def open(self, path: Path) -> None:
        """Go on with the file of a path, alone: with the same one after it was closed and has got another name."""
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115
        lock(self._file, path)
        self._at = 0

    def add(self, row: Any) -> None:
        """Add rows, an array of them; they are in the file when this returns.

        Raises
        ------
        StoreError
            If they cannot be written; those before are in the file.
        """
        view, place = memoryview(row).cast("B"), self._end
        try:
            self._write(place, view)
        except OSError as error:
            with contextlib.suppress(OSError):
                if place < os.fstat(self._file.fileno()).st_size < place + len(view):
                    self._file.truncate(place)  # a part of a row
            kept = (
                f". Its {self.rows} rows so far are in it, and mbs.load opens it; with more space, mbs.resume goes on"
            )
            text = f"store: cannot write '{self.path}': {reason(error)}"
            raise StoreError(text + kept * bool(self.rows)) from error
        self.rows += len(view) // self._itemsize

    def flush(self, checkpoint: bytes | None) -> bool:
        """Let other programs see the rows, and keep a checkpoint; False if it is too large for that."""
        try:
            if checkpoint is not None:
                if SLOT_HEAD.size + len(checkpoint) > self._head.capacity:
                    return False
                self._number += 1
                head = SLOT_HEAD.pack(self._number, len(checkpoint), zlib.crc32(checkpoint))
                self._write(self._head.slots[self._number % 2], memoryview(head + checkpoint))
            self._know(max(self.rows, self._known, 1))
        except OSError as error:
            raise StoreError(f"store: cannot write '{self.path}': {reason(error)}") from error
        return True

    def close(self) -> None:
        """The last flush was the last change."""
        self._file.close()

    @property
    def _end(self) -> int:
        return self._head.begin + self.rows * self._itemsize

    def _know(self, rows: int) -> None:
        """Tell HDF5 of the rows: the end of the file, the size of the table, and its number of rows."""
        size = rows * self._itemsize
        self._write(END_OF_FILE, memoryview(struct.pack("<Q", self._head.begin + size)))
        self._write(self._head.layout, memoryview(struct.pack("<Q", size)))
        self._write(self._head.rows, memoryview(struct.pack("<Q", rows)))
        self._known = rows

    def _write(self, place: int, view: memoryview) -> None:
        if place != self._at:
            self._file.seek(place)
        self._at = -1  # unknown, if this fails
        end = place + len(view)
        while len(view):
            view = view[self._file.write(view) :]
        self._at = end


def last_checkpoint(path: Path, head: Head) -> tuple[int, bytes] | None:
    """Number and content of the last checkpoint that is whole."""
    found = []
    with open(path, "rb") as file:
        for slot in head.slots:
            file.seek(slot)
            content = file.read(head.capacity)
            number, length, check = SLOT_HEAD.unpack_from(content)
            content = content[SLOT_HEAD.size : SLOT_HEAD.size + length]
            if number and len(content) == length and zlib.crc32(content) == check:
                found.append((number, content))
    return max(found, default=None)
