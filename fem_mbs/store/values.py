"""Values as text and numbers, and back: what a file holds in place of Python objects, and nothing else can be in it.

Text is JSON. Numbers, texts, truth values and None stand for themselves, anything else is an object with one key that
says what it is: arrays, whose numbers stand in one list beside the text; tuples and dicts; nodes and parts of the model
by their number; objects of classes of the library by the name of the class and its arguments; functions by their
number. Reading makes objects of these classes by their constructors, which check their arguments, and of no others.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array


class Data(NamedTuple):
    """Text and the numbers of its arrays."""

    text: str
    numbers: Array


@cache
def classes() -> dict[str, type]:
    """Classes of which a file may hold objects, by name."""
    from fem_mbs import elements, integrate
    from fem_mbs.elements.laws.time_law import Delayed, Product, Sum
    from fem_mbs.integrate.fixed_step import FixedStep
    from fem_mbs.model import Coordinate, Unknown
    from fem_mbs.solve import Newton

    public = [getattr(library, name) for library in (elements, integrate) for name in library.__all__]
    own = [*public, Delayed, Product, Sum, FixedStep, Coordinate, Newton, Unknown]
    return {kind.__name__: kind for kind in own if isinstance(kind, type)}


def packed(data: Data) -> bytes:
    """Text and numbers as bytes."""
    text = data.text.encode()
    return struct.pack("<Q", len(text)) + text + data.numbers.astype("<f8").tobytes()


def unpacked(content: bytes) -> Data:
    """Text and numbers of bytes."""
    (length,) = struct.unpack_from("<Q", content)
    return Data(content[8 : 8 + length].decode(), np.frombuffer(content[8 + length :], "<f8"))
