"""The array types that signatures use, and where values stand in an array."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
ComplexArray: TypeAlias = NDArray[np.complex128]


def places_in(known: IntArray) -> Callable[[IntArray], IntArray]:
    """What finds where values stand among known ones, each of which stands once; -1 for others."""
    order = np.argsort(known)

    def places(values: IntArray) -> IntArray:
        if not len(known):
            return np.full(np.shape(values), -1)
        at: Any = order[np.searchsorted(known, values, sorter=order).clip(max=len(known) - 1)]
        return np.where(known[at] == values, at, -1)

    return places
