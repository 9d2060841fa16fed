"""The array types that signatures use, arrays that users may read, and where values stand in an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

from fem_mbs.errors import ModelError

Array: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
ComplexArray: TypeAlias = NDArray[np.complex128]


class ReadOnly(np.ndarray):
    """A view of an array for users, who are told whose it is where they write to it; what is made of it is plain."""

    whose = "an array of a model or a result"

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, out: tuple[Any, ...] = (), **options: Any) -> Any:
        for own in out:
            if isinstance(own, ReadOnly):
                own._check()
        values, places = ([np.asarray(a) if isinstance(a, ReadOnly) else a for a in each] for each in (given, out))
        return getattr(ufunc, method)(*values, **options, **({"out": tuple(places)} if places else {}))

    def __array_wrap__(self, array: Any, *_: Any) -> Any:
        return array

    def copy(self, order: Any = "C") -> Any:
        return np.array(self, order=order)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check()
        super().__setitem__(key, value)

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def _check(self) -> None:
        if not self.flags.writeable:
            raise ModelError(
                f"{self.whose} is read-only, as a change in place would go unnoticed: change a copy, which .copy() "
                "makes, and set or give that as a whole"
            )


def read_only(array: NDArray[Any], whose: str = ReadOnly.whose) -> ReadOnly:
    """A view that cannot be written to, and what messages call it."""
    view = array.view(ReadOnly)
    view.flags.writeable, view.whose = False, whose
    return view


def places_in(known: IntArray) -> Callable[[IntArray], IntArray]:
    """What finds where values stand among known ones, each of which stands once; -1 for others."""
    order = np.argsort(known)

    def places(values: IntArray) -> IntArray:
        if not len(known):
            return np.full(np.shape(values), -1)
        at: Any = order[np.searchsorted(known, values, sorter=order).clip(max=len(known) - 1)]
        return np.where(known[at] == values, at, -1)

    return places
