"""The file of a run that begins: its groups and tables."""

from __future__ import annotations

import contextlib
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fem_mbs.arrays import Array
from fem_mbs.errors import StoreError
from fem_mbs.files.hdf5 import UNLIMITED, TablePlace, make
from fem_mbs.files.replacing import reason, replacing
from fem_mbs.files.store import head as heads
from fem_mbs.files.store.guard import refuse_taken
from fem_mbs.files.store.head import Head, Span
from fem_mbs.files.store.values import Data
from fem_mbs.version import __version__

FORMAT = "fem_mbs run"
TABLE, SLOTS, FIELDS = "steps", ("checkpoints/0", "checkpoints/1"), "fields/text"


def create(path: Path, dtype: np.dtype[Any], capacity: int, data: Mapping[str, Data], origin: Array) -> None:
    """Make a file with an empty table of rows of a type; positions in its rows count from ``origin`` (3,).

    Parameters
    ----------
    capacity : int
        Bytes of a checkpoint for which there is room.
    data : dict
        What is in the file beside them, by name.
    """
    parts = dict(_parts(data, dtype))
    attributes = {"format": FORMAT, "format_version": heads.VERSION, "fem_mbs_version": __version__}

    def fill(file: Any) -> None:
        file.attrs.update(attributes | {"origin": origin})
        for name, content in (parts | dict.fromkeys(SLOTS, np.zeros(capacity, "u1"))).items():
            file.create_dataset(name, data=content)

    # one row of zeros, as HDF5 refuses a table without
    made = make("store", fill, {TABLE: ((1,), dtype)}, heads.SIZE)
    table = made.tables[TABLE]
    struct.pack_into("<Q", made.content, table.rows + 8, UNLIMITED)
    made.content[: heads.SIZE] = heads.head_bytes(_head(parts, made.offsets, table, capacity), __version__)
    with open(path, "wb") as file:
        file.write(made.content.ljust(made.size, b"\0"))


@contextlib.contextmanager
def new_file(path: Path, label: str = "store") -> Iterator[Path]:
    """A new file, which takes the place of another once it is complete.

    Raises
    ------
    StoreError
        If it cannot be written, also since another run is being written there; what was there then stays.
    """
    try:
        refuse_taken(path)
        with replacing(path) as new:
            yield new
    except OSError as error:
        raise StoreError(f"{label}: cannot write '{path}': {reason(error)}") from error


def _parts(data: Mapping[str, Data], dtype: np.dtype[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """What never changes, as it is in the file."""
    yield FIELDS, np.frombuffer(json.dumps(fields_of(dtype)).encode(), "u1")
    for name, own in data.items():
        yield f"{name}/text", np.frombuffer(own.text.encode(), "u1")
        yield f"{name}/numbers", own.numbers.astype("<f8")


def fields_of(dtype: np.dtype[Any]) -> list[Any]:
    """The type of a row as text can have it."""
    return [[name, dtype[name].base.str, list(dtype[name].shape)] for name in dtype.names or ()]


def _head(parts: Mapping[str, NDArray[Any]], offsets: Mapping[str, int], table: TablePlace, capacity: int) -> Head:
    """Where things are."""
    spans = {name: Span(offsets[name], own.nbytes, zlib.crc32(own.tobytes())) for name, own in parts.items()}
    return Head(spans, [offsets[slot] for slot in SLOTS], capacity, table.rows, table.layout + 8, table.begin)
