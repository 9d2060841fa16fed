"""Which nodes, elements and joints are what others are built on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from fem_mbs.model.named import Part

ENDS = (str, bytes, int, float, complex, np.ndarray, np.generic, type, FunctionType, MethodType, ModuleType)
"""What holds no part, or is not looked into."""
TOGETHER = (list, tuple, set, frozenset)


def users(owner: object, parts: Sequence[Part], wanted: Iterable[Part]) -> dict[Part, list[Part]]:
    """Which ``parts`` of a model, the ``owner``, hold each of the ``wanted``, if any do."""
    ends = {id(own) for own in (owner, *parts)}
    found: dict[Part, list[Part]] = {own: [] for own in wanted}
    for part in parts:
        held = [own for value in vars(part).values() for own in _held(value, ends, set())]
        for own in {id(own): own for own in held if isinstance(own, Part) and own is not part}.values():
            if own in found:
                found[own].append(part)
    return {own: using for own, using in found.items() if using}


def _held(value: Any, ends: set[int], seen: set[int]) -> Iterator[Any]:
    """A value and all that it holds, in turn; not what those hold that are ``ends``."""
    if value is None or isinstance(value, ENDS) or id(value) in seen:
        return
    seen.add(id(value))
    yield value
    if id(value) in ends:
        return
    if isinstance(value, Mapping):
        inner: Iterable[Any] = [*value.keys(), *value.values()]
    else:
        inner = value if isinstance(value, TOGETHER) else getattr(value, "__dict__", {}).values()
    for own in inner:
        yield from _held(own, ends, seen)
