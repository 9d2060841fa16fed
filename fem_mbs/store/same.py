"""Whether two objects of one class have the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fem_mbs.model import Node
from fem_mbs.store.functions import Asked

PASSED_OVER = ("made", "name")
LIBRARY = "fem_mbs"


def difference(one: Any, other: Any, name: str = "", seen: set[int] | None = None) -> str:
    """The first public attribute that differs; empty if none does. Functions are passed over."""
    seen = set() if seen is None else seen
    if id(one) in seen or isinstance(one, Node | Asked):
        return ""
    if isinstance(one, np.ndarray | float | int | str | np.generic | None):
        return "" if _equal(one, other) else name or "its value"
    seen.add(id(one))
    if isinstance(one, list | tuple):
        if type(one) is not type(other) or len(one) != len(other):
            return name
        pairs = (difference(a, b, name, seen) for a, b in zip(one, other, strict=True))
        return next(filter(None, pairs), "")
    if isinstance(one, Mapping):
        if not isinstance(other, Mapping) or len(one) != len(other):
            return name
        pairs = (difference(a, b, name, seen) for a, b in zip(one.values(), other.values(), strict=True))
        return next(filter(None, pairs), "")
    if type(one) is not type(other) or type(one).__module__.split(".")[0] != LIBRARY:
        return ""
    own, others = getattr(one, "__dict__", {}), getattr(other, "__dict__", {})
    pairs = (
        difference(value, others[key], key if not name else name, seen)
        for key, value in own.items()
        if key not in PASSED_OVER and not key.startswith("_") and key in others
    )
    return next(filter(None, pairs), "")


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        if not isinstance(other, np.ndarray) or one.shape != other.shape:
            return False
        return bool((one == other).all() or ((one == other) | ((one != one) & (other != other))).all())
    return bool(one == other or (one != one and other != other))
