"""The first bytes of a stored run: where in the file everything is.

HDF5 leaves the first bytes of a file to the program that makes it (HDF5 File Format Specification 3.0, II, "user
block"). Runs are opened by what these say, with check sums, and without the HDF5 library: files that were damaged or
made to do harm crash it, or keep it busy for ever. It is for other programs, which read these files as any other.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from fem_mbs.contracts import shown
from fem_mbs.errors import StoreError

VERSION = 1
SIZE = 4096
"""Bytes that the head has, a page."""
MAGIC, HDF5 = b"fem_mbs run ", b"\x89HDF\r\n\x1a\n"
"""How runs begin, and how other HDF5 files do."""


class Span(NamedTuple):
    """Bytes of a file, and their check sum."""

    begin: int
    size: int
    check: int


class Head(NamedTuple):
    """Where everything is, in bytes."""

    parts: dict[str, Span]
    """What never changes, by name."""
    slots: list[int]
    """Of the two checkpoints."""
    capacity: int
    """Size of a slot."""
    rows: int
    """Of the number of rows, as HDF5 has it."""
    layout: int
    """Of the size of all rows, as HDF5 has it."""
    begin: int
    """Of the first row."""


def head_bytes(head: Head, version: str) -> bytes:
    """The head of a file that a version of fem_mbs makes."""
    text = json.dumps({"format_version": VERSION, "fem_mbs_version": version, **head._asdict()}).encode()
    return (MAGIC + b"%08x\n" % zlib.crc32(text) + text + b"\n").ljust(SIZE)


def read_head(path: Path) -> Head:
    """The head of a file.

    Raises
    ------
    StoreError
        If it is no file, none of fem_mbs, one of a newer version, or was damaged or cut short.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise StoreError(f"'{path}' is not a stored run, but a folder, a pipe or a device")
    with open(path, "rb") as file:
        content = file.read(SIZE)
    if content[: len(HDF5)] == HDF5:
        raise StoreError(f"'{path}' is not a stored run of fem_mbs, but an HDF5 file of another program")
    if content[: len(MAGIC)] != MAGIC:
        kind = "is empty" if not content else "is not a stored run, but a file of another kind"
        raise StoreError(f"'{path}' {kind}: it does not begin as fem_mbs has runs begin")
    first, _, text = content[len(MAGIC) :].partition(b"\n")
    text = text.rstrip()
    if len(content) < SIZE:
        raise StoreError(f"'{path}' was cut short when it was copied: it has {len(content)} bytes")
    if first != b"%08x" % zlib.crc32(text):
        raise StoreError(f"'{path}' is damaged: its first bytes are not those that were written")
    return _checked(json.loads(text), path)


def _checked(text: dict[str, Any], path: Path) -> Head:
    """A head whose places are all in the file."""
    if text["format_version"] != VERSION:
        raise StoreError(
            f"'{path}' was written by a newer fem_mbs, {shown(text['fem_mbs_version'])}, in version "
            f"{shown(text['format_version'])} of the format; this one reads version {VERSION}. Install the newer "
            "fem_mbs"
        )
    head = Head(**{name: text[name] for name in Head._fields})
    head = head._replace(parts={name: Span(*span) for name, span in head.parts.items()})
    size, spans = os.stat(path).st_size, [(span.begin, span.size) for span in head.parts.values()]
    spans += [(begin, head.capacity) for begin in head.slots] + [(head.rows, 8), (head.layout, 8), (head.begin, 0)]
    if any(type(number) is not int or number < 0 for span in spans for number in span):
        raise StoreError(f"'{path}' is damaged: its head has places that are none")
    if any(begin + length > size for begin, length in spans):
        raise StoreError(f"'{path}' was cut short when it was copied: its head speaks of more than its {size} bytes")
    return head
