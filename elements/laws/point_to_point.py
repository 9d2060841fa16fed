"""From one value to another at rest, by a polynomial."""

from __future__ import annotations

from typing import Annotated, Any

from fem_mbs.elements.laws.time_law import TimeLaw
from fem_mbs.errors import ModelError
from fem_mbs.model import Positive, checked, shown, whole_number

SHARES = {3: (3.0, -2.0), 5: (10.0, -15.0, 6.0), 7: (35.0, -84.0, 70.0, -20.0)}
"""By the order: coefficients of the powers ``s^k`` from ``k = (order + 1)/2`` on of the share of the way."""


def _coefficients(order: int) -> tuple[tuple[float, ...], ...]:
    """Of the share of the way and its first and second derivative, highest power first."""
    rows = [(0.0,) * ((order + 1) // 2) + SHARES[order]]
    for _ in range(2):
        rows.append(tuple(k * c for k, c in enumerate(rows[-1]))[1:])
    return tuple(row[::-1] for row in rows)


POLYNOMIALS = {order: _coefficients(order) for order in SHARES}


def _order(value: Any, label: object) -> int:
    order = whole_number(value, label)
    if order not in SHARES:
        raise ModelError(f"{label} must be 3, 5 or 7, received {shown(value)}")
    return order


@checked
class PointToPoint(TimeLaw):
    """From ``start`` to ``end``, at rest before and after, by the polynomial of lowest order.

    Parameters
    ----------
    start, end : float
        Values before and after.
    duration : float
        Time in s that it takes, positive.
    begin : float
        When it starts, s.
    order : {3, 5, 7}
        Of the polynomial. With 3 the velocity is continuous, with 5 the acceleration too, with 7 the jerk too; the
        largest velocity is 1.5, 1.875, 2.19 times the mean one.
    """

    def __init__(
        self,
        start: float,
        end: float,
        duration: Positive,
        begin: float = 0.0,
        order: Annotated[int, _order] = 5,
    ) -> None:
        self.start, self.end, self.duration, self.begin, self.order = start, end, duration, begin, order
        self._rows = POLYNOMIALS[order]

    def __call__(self, t: float) -> float:
        """The value."""
        s = (t - self.begin) / self.duration
        if s >= 1.0:
            return self.end
        return self.start + (self.end - self.start) * _horner(self._rows[0], max(s, 0.0))

    def velocity(self, t: float) -> float:
        """First derivative."""
        return self._derivative(1, t)

    def acceleration(self, t: float) -> float:
        """Second derivative."""
        return self._derivative(2, t)

    def _derivative(self, k: int, t: float) -> float:
        s = (t - self.begin) / self.duration
        if not 0.0 <= s < 1.0:
            return 0.0
        return (self.end - self.start) / self.duration**k * _horner(self._rows[k], s)

    def __repr__(self) -> str:
        return f"PointToPoint({self.start}, {self.end}, {self.duration}, begin={self.begin}, order={self.order})"


@checked
class SmoothStep(PointToPoint):
    """A step from 0 to ``height`` that takes ``duration``, with continuous acceleration (a polynomial of order 5).

    Parameters
    ----------
    height : float
        Value after the step.
    duration : float
        Time in s that it takes, positive.
    begin : float
        When it starts, s.
    """

    def __init__(self, height: float, duration: Positive, begin: float = 0.0) -> None:
        super().__init__(0.0, height, duration, begin)

    def __repr__(self) -> str:
        return f"SmoothStep({self.end}, {self.duration}, begin={self.begin})"


def _horner(coefficients: tuple[float, ...], s: float) -> float:
    result = 0.0
    for c in coefficients:
        result = result * s + c
    return result
