"""Stored runs that say something else, with all check sums right: what someone can make who means harm."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fem_mbs.files.store.head import MAGIC, SIZE, Span, read_head
from fem_mbs.files.store.table import SLOT_HEAD, last_checkpoint
from fem_mbs.files.store.values import unpacked

TEXTS = {"model": "model/text", "run": "run/text", "functions": "functions/text", "fields": "fields/text"}
PAGE = 4096
Edits = Mapping[str, Callable[[Any], Any]]


def forge(source: Path, target: Path, edits: Edits) -> None:
    """Write a file in which parts are what functions return of them.

    "model", "run", "functions", "fields", "checkpoint" and "head" are texts, given as what they say, and returned as
    such or as bytes; others, as "model/numbers", are arrays.
    """
    head, data, added = read_head(source), source.read_bytes(), b""
    parts = dict(head.parts)
    for name, edit in edits.items():
        if name in ("head", "checkpoint"):
            continue
        part = TEXTS.get(name, name)
        span = parts[part]
        content = data[span.begin : span.begin + span.size]
        made = edit(json.loads(content) if name in TEXTS else np.frombuffer(content).copy())
        made = made if isinstance(made, bytes) else _bytes(made)
        parts[part] = Span(head.begin + len(added), len(made), zlib.crc32(made))
        added += made
    if "checkpoint" in edits:
        number, content = last_checkpoint(source, head) or (0, b"")
        text, numbers = unpacked(content)
        made = edits["checkpoint"](json.loads(text))
        made = made if isinstance(made, bytes) else _bytes(made)
        content = len(made).to_bytes(8, "little") + made + numbers.tobytes()
        slot = SLOT_HEAD.pack(number + 2, len(content), zlib.crc32(content)) + content
        head = head._replace(slots=[head.begin + len(added)] * 2, capacity=len(slot))
        added += slot
    begin = head.begin + -(-len(added) // PAGE) * PAGE
    made_head = head._replace(parts=parts, begin=begin)
    version = {"format_version": 1, "fem_mbs_version": "0"}
    text = edits.get("head", lambda own: own)(version | made_head._asdict())
    target.write_bytes(
        _head_bytes(text) + data[SIZE : head.begin] + added.ljust(begin - head.begin, b"\0") + data[head.begin :]
    )


def texts(source: Path) -> dict[str, Any]:
    """What the texts of a file say."""
    head, data = read_head(source), source.read_bytes()
    found = {name: json.loads(data[(s := head.parts[part]).begin : s.begin + s.size]) for name, part in TEXTS.items()}
    content = last_checkpoint(source, head)
    return found | {"checkpoint": json.loads(unpacked(content[1]).text) if content else {}, "head": head._asdict()}


def _bytes(made: Any) -> bytes:
    return made.astype("<f8").tobytes() if isinstance(made, np.ndarray) else json.dumps(made).encode()


def _head_bytes(text: Any) -> bytes:
    content = text if isinstance(text, bytes) else json.dumps(text).encode()
    return (MAGIC + b"%08x\n" % zlib.crc32(content) + content + b"\n").ljust(SIZE)[:SIZE]
