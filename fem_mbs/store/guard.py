"""What tells a stored run from any other file, and a whole one from one that was damaged or made to do harm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fem_mbs.errors import FemMbsError, StoreError
from fem_mbs.store.table import SLOTS, hdf5

FORMAT, VERSION = "fem_mbs run", 1
SIGNATURE = b"\x89HDF\r\n\x1a\n"
BROKEN = (
    OSError,
    KeyError,
    IndexError,
    ValueError,
    TypeError,
    AttributeError,
    RecursionError,
    MemoryError,
    OverflowError,
)
"""What reading something else than a run may end in."""


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Whatever goes wrong in reading a file is an error that names it."""
    try:
        yield
    except FileNotFoundError:
        raise StoreError(f"there is no file '{path}'") from None
    except FemMbsError as error:
        raise error if isinstance(error, StoreError) else StoreError(f"'{path}' cannot be opened: {error}") from error
    except BROKEN as error:
        raise StoreError(
            f"'{path}' cannot be opened: it is not, or no longer, a run as fem_mbs writes it "
            f"({type(error).__name__}: {error})"
        ) from error


def check_format(file: Any, path: Path) -> None:
    """Refuse files of other programs, and of newer versions."""
    kind, version = file.attrs.get("format"), file.attrs.get("format_version")
    if kind != FORMAT:
        raise StoreError(f"'{path}' is not a stored run of fem_mbs, but an HDF5 file of another program")
    if not isinstance(version, int | np.integer) or version > VERSION:
        own = file.attrs.get("fem_mbs_version")
        raise StoreError(
            f"'{path}' was written by a newer fem_mbs, {own}, in version {version} of the format; this one reads "
            f"version {VERSION}. Install the newer fem_mbs"
        )


def check_dataset(file: Any, name: str, size: int) -> None:
    """Refuse what leads out of a file, or claims more than it has."""
    h5py, owner = hdf5("mbs.load"), file
    for part in name.split("/"):
        if not isinstance(owner.get(part, getlink=True), h5py.HardLink):
            raise StoreError(f"'{name}' is not in the file itself")
        owner = owner[part]
    options = owner.id.get_create_plist() if isinstance(owner, h5py.Dataset) else None
    if options is None or options.get_layout() != h5py.h5d.CONTIGUOUS or options.get_external_count():
        raise StoreError(f"'{name}' is not laid out as fem_mbs does")
    text, numbers = name.endswith("/text") or name in SLOTS, name.endswith("/numbers")
    if (text and owner.dtype != np.dtype("u1")) or (numbers and owner.dtype != np.dtype("<f8")):
        raise StoreError(f"'{name}' is of an unknown type, {owner.dtype}")
    bytes_ = math.prod(owner.shape) * owner.dtype.itemsize
    if bytes_ and (owner.id.get_offset() or 0) + bytes_ > size:
        raise StoreError(f"'{name}' claims {bytes_} bytes, more than the file has")
    if len(owner.shape) != 1:
        raise StoreError(f"'{name}' has {len(owner.shape)} dimensions, expected is one")
