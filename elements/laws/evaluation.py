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

DIFFERENCE_SHARE = 1e-6


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


def partial_derivatives(
    law: Callable[[float, float, float], Any], t: float, length: float, speed: float, owner: object
) -> tuple[float, float, float]:
    """A law of time, length and speed, with its derivatives against length and speed.

    From functions ``by_length`` and ``by_speed`` of the same arguments where the law has these attributes, else from
    central differences over a millionth of the length, and of the speed and the length per second.
    """

    def value(function: Callable[[float, float, float], Any], length: float, speed: float) -> float:
        return _number(function, (t, length, speed), owner)

    h, k = DIFFERENCE_SHARE * length, DIFFERENCE_SHARE * (abs(speed) + length)
    if hasattr(law, "by_length"):
        by_length = value(law.by_length, length, speed)
    else:
        by_length = (value(law, length + h, speed) - value(law, length - h, speed)) / (2.0 * h)
    if hasattr(law, "by_speed"):
        by_speed = value(law.by_speed, length, speed)
    else:
        by_speed = (value(law, length, speed + k) - value(law, length, speed - k)) / (2.0 * k)
    return value(law, length, speed), by_length, by_speed


def _number(law: Callable[..., Any], arguments: tuple[float, float, float], owner: object) -> float:
    """The finite number that a law of time, length and speed returns."""
    where = "t = {:.6g} s, length {:.6g} m, speed {:.6g} m/s".format(*arguments)
    try:
        given = law(*arguments)
    except Exception as error:
        raise LawError(f"{owner}: its law failed at {where}: {error!r}") from error
    value = real(given)
    if value is None or value.shape != () or not np.isfinite(value):
        raise LawError(f"{owner}: its law must return one finite number, received {shown(given)} at {where}")
    return float(value)
