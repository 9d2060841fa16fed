"""Elements that look added twice: of one class, with equal arguments, on the same nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from fem_mbs.check.report import Finding
from fem_mbs.system import System


def look_at_twins(system: System) -> Iterator[Finding]:
    """Equal bodies, beams, springs and loads; sensors and blocks may be as many as there are questions."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for element in system.elements:
        if element.nodes and getattr(element, "made", None) is not None and not hasattr(element, "connect"):
            groups[type(element), tuple(map(id, element.nodes))].append(element)
    for alike in groups.values():
        for k, element in enumerate(alike):
            same = [other for other in alike[:k] if _equal(element.made, other.made)]
            if same:
                yield Finding(
                    f"the same as {same[0]}, on the same nodes; remove one if it is meant once", (str(element),)
                )


def _equal(one: Any, other: Any) -> bool:
    """Whether arguments are equal; functions and parts are if they are the same."""
    if one is other:
        return True
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, int | float | str):
        return bool(one == other)
    return False
