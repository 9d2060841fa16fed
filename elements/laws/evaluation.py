"""Functions that users give for drives and loads: their values and derivatives, or an error that names the owner."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.differences import differences
from fem_mbs.errors import LawError
from fem_mbs.model import LARGEST, real, shown


def derivatives(
    law: Callable[[float], Any], t: float, owner: object = "law", size: int | None = None, end: float = inf
) -> tuple[Array, Array]:
    """First and second derivative of a law at ``t``; an error names the object that owns it.

    From its methods ``velocity`` and ``acceleration`` if it has them, else from differences, which do not ask it before
    t = 0 or after ``end``.
    """
    if hasattr(law, "velocity") and hasattr(law, "acceleration"):
        return evaluate(law.velocity, t, owner, size), evaluate(law.acceleration, t, owner, size)
    return differences(lambda s: evaluate(law, s, owner, size), t, end)


def evaluate(law: Callable[[float], Any], t: float, owner: object, size: int | None, rows: int | None = None) -> Array:
    """Value of a user's function of time; an error names the object that owns it.

    ``size`` is the expected number of components, None for a single number. With ``rows``, as many such values are
    welcome too.
    """
    try:
        given = law(t)
    except LawError as error:  # of a law that knows what is wrong
        raise LawError(f"{owner}: {error}") from None
    except Exception as error:
        raise LawError(f"{owner}: its function of time failed at t = {t:.6g} s: {error!r}") from error
    if size is None and type(given) is float and abs(given) <= LARGEST:
        return np.asarray(given)
    value = real(given)
    expected = ((),) if size is None else ((size,), (rows, size))
    if value is None or value.shape not in expected or not (np.abs(value) <= LARGEST).all():
        wanted = "one finite number" if size is None else f"{size} finite numbers"
        wanted += "" if rows is None else f", or {rows} times as many"
        received = shown(given) if value is None else value
        raise LawError(f"{owner}: its function of time must return {wanted}, received {received} at t = {t:.6g} s")
    return value
