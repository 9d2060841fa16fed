"""Contents of a file that have names: text and numbers as bytes."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from fem_mbs.contracts import ARRAYS, State
from fem_mbs.files.store.values import Data, Reader, Writer


def packed(data: Data) -> bytes:
    """Text and numbers as bytes."""
    text = data.text.encode()
    return struct.pack("<Q", len(text)) + text + data.numbers.astype("<f8").tobytes()


def unpacked(content: bytes) -> Data:
    """Text and numbers of bytes."""
    (length,) = struct.unpack_from("<Q", content)
    return Data(content[8 : 8 + length].decode(), np.frombuffer(content[8 + length :], "<f8"))


def record(**values: Any) -> bytes:
    """Values by name, as a content."""
    writer = Writer()
    return packed(writer.data({name: _recorded(writer, value) for name, value in values.items()}))


def _recorded(writer: Writer, value: Any) -> Any:
    if isinstance(value, State):
        return {name: writer.value(getattr(value, name)) for name in ("t", *ARRAYS)}
    return writer.value(value)


class Record:
    """Text and numbers of a content, by name."""

    def __init__(self, content: bytes) -> None:
        data = unpacked(content)
        self.text: dict[str, Any] = dict(json.loads(data.text))
        self._reader = Reader(data.numbers)

    def __getitem__(self, name: str) -> Any:
        return self._reader.value(self.text[name])

    def state(self, name: str) -> State:
        """A state."""
        return State(**{own: self._reader.value(self.text[name][own]) for own in ("t", *ARRAYS)})
