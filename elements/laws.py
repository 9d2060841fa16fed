"""Functions that users give for drives and loads, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, inf, pi, sin
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.differences import differences
from fem_mbs.errors import LawError
from fem_mbs.model import LARGEST, Positive, checked, real, shown


@checked
@dataclass(frozen=True)
class SpinUp:
    """An angle that starts at rest and turns at ``rate`` (rad/s) after ``duration`` (s).

    ``(rate/T) (t^2/2 + (T/2pi)^2 (cos(2 pi t/T) - 1))`` up to ``T = duration``, then ``rate (t - T/2)``: velocity and
    acceleration are continuous (Bruels, Cardona, Arnold 2012, eq. 86).
    """

    rate: float
    duration: Positive

    def __call__(self, t: float) -> float:
        """Angle in rad."""
        T = self.duration
        if t >= T:
            return self.rate * (t - T / 2)
        return self.rate / T * (t * t / 2 + (T / (2 * pi)) ** 2 * (cos(2 * pi * t / T) - 1))

    def velocity(self, t: float) -> float:
        """First derivative."""
        T = self.duration
        return self.rate if t >= T else self.rate / T * (t - T / (2 * pi) * sin(2 * pi * t / T))

    def acceleration(self, t: float) -> float:
        """Second derivative."""
        T = self.duration
        return 0.0 if t >= T else self.rate / T * (1 - cos(2 * pi * t / T))


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
