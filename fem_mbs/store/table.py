"""A table in an HDF5 file that grows by whole rows and is whole at any moment, even where its process is killed.

HDF5 keeps what it changes in memory and writes it later, in several pieces: a process that is killed in between leaves
a file that nothing can open. Here HDF5 makes the file, closes it, and never touches it again. The rows of the table are
the end of the file, one after the other without gaps, and a row is added by one ``write``. What HDF5 has to know of
them are three whole numbers, which are set in place: the end of the file, the size of the table in bytes, and its
number of rows; each is written at once, and in this order they are right at any moment. How many rows there are follows
from the size of the file (HDF5 File Format Specification 3.0, II.A version 0, IV.A.1.a, IV.A.2.b and IV.A.2.i).

Two slots of a fixed size hold, in turns, what a run needs to go on: the older one is whole while the other is written.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.errors import ModelError, StoreError

END_OF_FILE = 40
"""Place of the address of the end of the file, in a superblock of version 0."""
DATASPACE, LAYOUT, CONTINUATION = 0x01, 0x08, 0x10
PAGE, UNLIMITED = 4096, 2**64 - 1
TABLE, SLOTS = "steps", ("checkpoints/0", "checkpoints/1")
SLOT_HEAD = struct.Struct("<QQI")
"""Number of the checkpoint, its length in bytes, and its check sum."""


class Places(NamedTuple):
    """Where things are in a file, in bytes."""

    rows: int
    """Of the dimensions of the table."""
    layout: int
    """Of the address and the size of its rows."""
    begin: int
    """Of its first row."""
    slots: tuple[int, int]
    capacity: int
    """Size of a slot."""


def hdf5(label: str) -> Any:
    """The module ``h5py``, or an error that says how to get it."""
    try:
        import h5py
    except ImportError:
        raise ModelError(f"{label} needs h5py; install it with pip install fem_mbs[hdf5]") from None
    return h5py


def create(path: Path, dtype: np.dtype[Any], capacity: int, fill: Callable[[Any], None]) -> None:
    """Make a file with an empty table of rows of a type; ``fill`` puts the rest into it.

    It comes into being at once, complete, in place of a file that is there.
    """
    h5py, new = hdf5("store"), path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(new, "w", libver=("earliest", "v108"), locking=False) as file:
            fill(file)
            for slot in SLOTS:
                file.create_dataset(slot, data=np.zeros(capacity, "u1"))
            _early(h5py, file, TABLE, dtype)
        _move_rows(new, dtype.itemsize)
        os.replace(new, path)
    except OSError as error:
        raise StoreError(f"store: cannot write '{path}': {_reason(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def _early(h5py: Any, file: Any, name: str, dtype: np.dtype[Any]) -> None:
    """A table of one row, which has its place in the file."""
    options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    options.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    options.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((1,), (1,))
    h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(dtype, logical=True), space, options)


def _move_rows(path: Path, itemsize: int) -> None:
    """Let the rows begin at the end of a new file, on a page: one of zeros, as HDF5 refuses a table without rows."""
    places = find(path)
    begin = -(-path.stat().st_size // PAGE) * PAGE
    with open(path, "r+b") as file:
        file.truncate(begin + itemsize)
        file.seek(places.layout)
        file.write(struct.pack("<QQ", begin, itemsize))
        file.seek(places.rows)
        file.write(struct.pack("<QQ", 1, UNLIMITED))
        file.seek(END_OF_FILE)
        file.write(struct.pack("<Q", begin + itemsize))


def find(path: Path) -> Places:
    """Where things are in a file."""
    with hdf5("store").File(path, "r", locking=False) as file:
        return places_in(file, path)


def places_in(file: Any, path: Path) -> Places:
    """Where things are in a file that is open."""
    h5py = hdf5("store")
    address = h5py.h5o.get_info(file[TABLE].id).addr
    messages = _messages(path, address)
    rows, layout = messages[DATASPACE] + 8, messages[LAYOUT] + 2
    with open(path, "rb") as raw:
        raw.seek(layout)
        begin = struct.unpack("<Q", raw.read(8))[0]
    first, second = (file[slot].id.get_offset() for slot in SLOTS)
    return Places(rows, layout, begin, (first, second), file[SLOTS[0]].shape[0])


def _messages(path: Path, address: int) -> dict[int, int]:
    """Places of the messages of an object header of version 1, by their types."""
    found: dict[int, int] = {}
    with open(path, "rb") as raw:
        raw.seek(address)
        version, count, size = struct.unpack("<BxH4xI4x", raw.read(16))
        if version != 1:
            raise ModelError(f"'{path}' is laid out in another way than files of fem_mbs")
        blocks = [(address + 16, size)]
        while blocks and count:
            place, left = blocks.pop(0)
            while left >= 8 and count:
                raw.seek(place)
                kind, length = struct.unpack("<HH", raw.read(4))
                found.setdefault(kind, place + 8)
                if kind == CONTINUATION:
                    raw.seek(place + 8)
                    blocks.append(struct.unpack("<QQ", raw.read(16)))
                place, left, count = place + 8 + length, left - 8 - length, count - 1
    return found


class StepTable:
    """The table of a file, to which rows are added.

    Parameters
    ----------
    path : Path
        A file that :func:`create` has made.
    itemsize : int
        Bytes a row.
    rows : int
        After how many of its rows it goes on.
    number : int
        Number of the last checkpoint.
    """

    def __init__(self, path: Path, itemsize: int, rows: int = 0, number: int = 0) -> None:
        self.path, self.rows, self._itemsize, self._number = path, rows, itemsize, number
        self._places = find(path)
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115
        _lock(self._file, path)
        self._known = 0  # rows that HDF5 was told of
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
            raise StoreError(
                f"store: cannot write '{self.path}': {_reason(error)}. Its {self.rows} rows so far are in it, and "
                "mbs.load opens it; with more space, mbs.resume goes on"
            ) from error
        self.rows += len(view) // self._itemsize

    def flush(self, checkpoint: bytes | None) -> bool:
        """Let other programs see the rows, and keep a checkpoint; False if it is too large for that."""
        try:
            if checkpoint is not None:
                if SLOT_HEAD.size + len(checkpoint) > self._places.capacity:
                    return False
                self._number += 1
                head = SLOT_HEAD.pack(self._number, len(checkpoint), zlib.crc32(checkpoint))
                self._write(self._places.slots[self._number % 2], memoryview(head + checkpoint))
            self._know(max(self.rows, self._known, 1))
        except OSError as error:
            raise StoreError(f"store: cannot write '{self.path}': {_reason(error)}") from error
        return True

    def close(self) -> None:
        """The last flush was the last change."""
        self._file.close()

    @property
    def _end(self) -> int:
        return self._places.begin + self.rows * self._itemsize

    def _know(self, rows: int) -> None:
        """Tell HDF5 of the rows: the end of the file, the size of the table, and its number of rows."""
        size = rows * self._itemsize
        self._write(END_OF_FILE, memoryview(struct.pack("<Q", self._places.begin + size)))
        self._write(self._places.layout + 8, memoryview(struct.pack("<Q", size)))
        self._write(self._places.rows, memoryview(struct.pack("<Q", rows)))
        self._known = rows

    def _write(self, place: int, view: memoryview) -> None:
        if place != self._at:
            self._file.seek(place)
        self._at = -1  # unknown, if this fails
        end = place + len(view)
        while len(view):
            view = view[self._file.write(view) :]
        self._at = end


def last_checkpoint(file: Any) -> tuple[int, bytes] | None:
    """Number and content of the last checkpoint that is whole."""
    found = []
    for slot in SLOTS:
        content = file[slot][:].tobytes()
        number, length, check = SLOT_HEAD.unpack_from(content)
        content = content[SLOT_HEAD.size : SLOT_HEAD.size + length]
        if number and len(content) == length and zlib.crc32(content) == check:
            found.append((number, content))
    return max(found, default=None)


def _lock(file: Any, path: Path) -> None:
    """Refuse a file that another process writes to."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise ModelError(f"'{path}' is being written to by another process, in which its run goes on") from None


def _reason(error: OSError) -> str:
    """Why, without what HDF5 has to say beside it."""
    return os.strerror(error.errno) if error.errno else str(error)
