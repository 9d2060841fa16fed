"""The file of a run that begins: made by HDF5, which then never touches it again."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError, StoreError
from fem_mbs.store import head as heads
from fem_mbs.store.head import Head, Span
from fem_mbs.store.lock import refuse_taken
from fem_mbs.store.table import END_OF_FILE, reason
from fem_mbs.store.values import Data

FORMAT = "fem_mbs run"
TABLE, SLOTS, FIELDS = "steps", ("checkpoints/0", "checkpoints/1"), "fields/text"
DATASPACE, LAYOUT, CONTINUATION = 0x01, 0x08, 0x10
PAGE, UNLIMITED = 4096, 2**64 - 1


def hdf5(label: str) -> Any:
    """The module ``h5py``, or an error that says how to get it."""
    try:
        import h5py
    except ImportError:
        raise ModelError(f"{label} needs h5py; install it with pip install fem_mbs[hdf5]") from None
    return h5py


def create(path: Path, dtype: np.dtype[Any], capacity: int, data: Mapping[str, Data], origin: Array) -> None:
    """Make a file with an empty table of rows of a type; positions in its rows count from ``origin`` (3,).

    It comes into being at once, complete, in place of a file that is there.

    Parameters
    ----------
    capacity : int
        Bytes of a checkpoint for which there is room.
    data : dict
        What is in the file beside them, by name.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    import fem_mbs

    h5py, parts = hdf5("store"), dict(_parts(data, dtype))
    attributes = {"format": FORMAT, "format_version": heads.VERSION, "fem_mbs_version": fem_mbs.__version__}
    with replacing(path) as new:
        with h5py.File(new, "w", libver=("earliest", "v108"), userblock_size=heads.SIZE, locking=False) as file:
            file.attrs.update(attributes | {"origin": origin})
            for name, content in (parts | dict.fromkeys(SLOTS, np.zeros(capacity, "u1"))).items():
                file.create_dataset(name, data=content)
            _early(h5py, file, TABLE, dtype)
        head = _move_rows(new, dtype.itemsize, _head(h5py, new, parts))
        with open(new, "r+b") as raw:
            raw.write(heads.head_bytes(head, fem_mbs.__version__))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file, which takes the place of another once it is complete.

    Raises
    ------
    StoreError
        If it cannot be written, also since another run is being written there; what was there then stays.
    """
    place = Path(os.path.realpath(path))  # a link leads to where its file is
    new = place.with_name(f".{place.name}.new")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists() and not (place.is_file() or place.is_dir()):
            raise StoreError(f"store: cannot write '{path}': it is a pipe or a device")
        refuse_taken(place)
        yield new
        os.replace(new, place)
    except OSError as error:
        raise StoreError(f"store: cannot write '{path}': {reason(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def _parts(data: Mapping[str, Data], dtype: np.dtype[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """What never changes, as it is in the file."""
    yield FIELDS, np.frombuffer(json.dumps(fields_of(dtype)).encode(), "u1")
    for name, own in data.items():
        yield f"{name}/text", np.frombuffer(own.text.encode(), "u1")
        yield f"{name}/numbers", own.numbers.astype("<f8")


def fields_of(dtype: np.dtype[Any]) -> list[Any]:
    """The type of a row as text can have it."""
    return [[name, dtype[name].base.str, list(dtype[name].shape)] for name in dtype.names or ()]


def _early(h5py: Any, file: Any, name: str, dtype: np.dtype[Any]) -> None:
    """A table of one row, which has its place in the file."""
    options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    options.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    options.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((1,), (1,))
    h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(dtype, logical=True), space, options)


def _head(h5py: Any, path: Path, parts: Mapping[str, NDArray[Any]]) -> Head:
    """Where things are in a file that HDF5 has made."""
    with h5py.File(path, "r", locking=False) as file:
        spans = {
            name: Span(file[name].id.get_offset() or 0, content.nbytes, zlib.crc32(content.tobytes()))
            for name, content in parts.items()
        }
        messages = _messages(path, heads.SIZE + h5py.h5o.get_info(file[TABLE].id).addr)
        slots = [file[slot].id.get_offset() for slot in SLOTS]
        return Head(spans, slots, len(file[SLOTS[0]]), messages[DATASPACE] + 8, messages[LAYOUT] + 10, 0)


def _move_rows(path: Path, itemsize: int, head: Head) -> Head:
    """Let the rows begin at the end of a new file, on a page: one of zeros, as HDF5 refuses a table without rows."""
    begin = -(-path.stat().st_size // PAGE) * PAGE
    with open(path, "r+b") as file:
        file.truncate(begin + itemsize)
        for place, numbers in (
            (head.layout - 8, (begin - heads.SIZE, itemsize)),
            (head.rows, (1, UNLIMITED)),
            (END_OF_FILE, (begin + itemsize,)),
        ):
            file.seek(place)
            file.write(struct.pack(f"<{len(numbers)}Q", *numbers))
    return head._replace(begin=begin)


def _messages(path: Path, address: int) -> dict[int, int]:
    """Places of the messages of an object header of version 1, by their types."""
    found: dict[int, int] = {}
    with open(path, "rb") as raw:
        raw.seek(address)
        version, count, size = struct.unpack("<BxH4xI4x", raw.read(16))
        if version != 1:
            raise ModelError(f"'{path}' is laid out in another way than files of fem_mbs; h5py 3 is expected")
        blocks = [(address + 16, size)]
        while blocks and count:
            place, left = blocks.pop(0)
            while left >= 8 and count:
                raw.seek(place)
                kind, length = struct.unpack("<HH", raw.read(4))
                found.setdefault(kind, place + 8)
                if kind == CONTINUATION:
                    raw.seek(place + 8)
                    begin, size = struct.unpack("<QQ", raw.read(16))
                    blocks.append((heads.SIZE + begin, size))
                place, left, count = place + 8 + length, left - 8 - length, count - 1
    return found
