"""HDF5 files whose structure the library makes in memory, and whose tables are written by this program itself.

Where a disk is full, the library ends the process when it closes the file (seen with HDF5 2.0); and what it changes, it
writes later and in pieces, so that of a process that is killed it leaves a file that nothing can open. Here it never
touches a file: it makes what it has to know, in which tables have no place yet, and they get theirs behind it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.errors import ModelError

SUPERBLOCK_END = 40
"""Place of the address of the end of the file, in a superblock of version 0."""
DATASPACE, LAYOUT, CONTINUATION = 0x01, 0x08, 0x10
PAGE, UNLIMITED = 4096, 2**64 - 1
Fill = Callable[[Any], None]


class TablePlace(NamedTuple):
    """Where a table is, and what says so, in bytes."""

    begin: int
    rows: int
    """Of its number of rows and their largest number."""
    layout: int
    """Of its address and its size."""


class BuiltFile(NamedTuple):
    """A file, without the rows of its tables."""

    content: bytearray
    tables: dict[str, TablePlace]
    offsets: dict[str, int]
    """Of the other datasets."""
    size: int
    """With all rows."""


def hdf5(label: str) -> Any:
    """The module ``h5py``, or an error that says how to get it."""
    try:
        import h5py
    except ImportError:
        raise ModelError(f"{label} needs h5py; install it with pip install fem_mbs[hdf5]") from None
    return h5py


def make(label: str, fill: Fill, tables: Mapping[str, tuple[tuple[int, ...], Any]], head: int = 0) -> BuiltFile:
    """Make a file: ``fill`` puts into it what is small, ``tables`` have a shape and a type each.

    The first ``head`` bytes, a power of two, are for whoever asks; the rows of tables begin on pages, at its end.
    """
    h5py, offsets = hdf5(label), {}
    options = {"driver": "core", "backing_store": False, "libver": ("earliest", "v108"), "userblock_size": head}
    with h5py.File(f"{label} {id(fill)}", "w", **options) as file:
        fill(file)
        file.visititems(
            lambda name, own: (
                offsets.update({name: own.id.get_offset() or 0}) if isinstance(own, h5py.Dataset) else None
            )
        )
        for name, (shape, dtype) in tables.items():
            _without_place(h5py, file, name, shape, dtype)
        file.flush()
        addresses = {name: h5py.h5o.get_info(file[name].id).addr for name in tables}
        content = bytearray(head) + file.id.get_file_image()
    end, placed = len(content), {}
    for name, (shape, dtype) in tables.items():
        begin, size = -(-end // PAGE) * PAGE, int(np.prod(shape)) * np.dtype(dtype).itemsize
        messages = _messages(content, addresses[name] + head, head)
        placed[name] = table = TablePlace(begin, messages[DATASPACE] + 8, messages[LAYOUT] + 2)
        struct.pack_into("<QQ", content, table.layout, begin - head, size)
        end = begin + size
    struct.pack_into("<Q", content, head + SUPERBLOCK_END, end)
    return BuiltFile(content, placed, offsets, end)


def _without_place(h5py: Any, file: Any, name: str, shape: tuple[int, ...], dtype: Any) -> None:
    """A table whose rows have no place yet."""
    options, links = h5py.h5p.create(h5py.h5p.DATASET_CREATE), h5py.h5p.create(h5py.h5p.LINK_CREATE)
    options.set_alloc_time(h5py.h5d.ALLOC_TIME_LATE)
    options.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    links.set_create_intermediate_group(True)
    kind, space = h5py.h5t.py_create(np.dtype(dtype), logical=True), h5py.h5s.create_simple(shape, shape)
    table = h5py.h5d.create(file.id, None, kind, space, options)
    h5py.h5o.link(table, file.id, name.encode(), lcpl=links)


def _messages(content: bytearray, address: int, head: int) -> dict[int, int]:
    """Places of the messages of an object header of version 1, by their types."""
    found: dict[int, int] = {}
    version, count, size = struct.unpack_from("<BxH4xI4x", content, address)
    if version != 1:
        raise ModelError("HDF5 files are laid out in another way than fem_mbs expects; h5py 3 is tested")
    blocks = [(address + 16, size)]
    while blocks and count:
        place, left = blocks.pop(0)
        while left >= 8 and count:
            kind, length = struct.unpack_from("<HH", content, place)
            found.setdefault(kind, place + 8)
            if kind == CONTINUATION:
                begin, size = struct.unpack_from("<QQ", content, place + 8)
                blocks.append((head + begin, size))
            place, left, count = place + 8 + length, left - 8 - length, count - 1
    return found
