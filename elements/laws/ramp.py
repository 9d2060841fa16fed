"""A ramp, with corners as round as one likes."""

from __future__ import annotations

from dataclasses import dataclass

from fem_mbs.elements.laws.time_law import TimeLaw
from fem_mbs.errors import ModelError
from fem_mbs.model import NotNegative, checked


@checked
@dataclass(frozen=True)
class Ramp(TimeLaw):
    """Zero until ``begin``, then rising at ``rate`` until ``end``, then held.

    Parameters
    ----------
    rate : float
        Per second.
    begin, end : float
        When it starts and stops to rise, s; without ``end`` it rises for ever.
    corner : float
        Time in s over which the velocity changes at each corner, beginning there. With 0 the velocity jumps, which a
        load may do, but a drive only at its start; otherwise velocity and acceleration are continuous, and the height
        is that of the sharp ramp, ``corner`` later.
    """

    rate: float
    begin: float = 0.0
    end: float | None = None
    corner: NotNegative = 0.0

    def __post_init__(self) -> None:
        """Refuse a ramp that ends before it begins."""
        if self.end is not None and self.end <= self.begin:
            raise ModelError(f"Ramp: end must be after begin = {self.begin:g} s, received {self.end:g}")

    def __call__(self, t: float) -> float:
        """The value."""
        return self._combined(0, t)

    def velocity(self, t: float) -> float:
        """First derivative; from the right at a sharp corner."""
        return self._combined(1, t)

    def acceleration(self, t: float) -> float:
        """Second derivative; zero at a sharp corner."""
        return self._combined(2, t)

    def _combined(self, order: int, t: float) -> float:
        up = _corner(order, t - self.begin, self.corner)
        return self.rate * (up if self.end is None else up - _corner(order, t - self.end, self.corner))


def _corner(order: int, t: float, c: float) -> float:
    """A ramp of slope 1 from 0 on, or a derivative of it; its velocity is ``3 s^2 - 2 s^3`` over the corner."""
    if t < 0.0:
        return 0.0
    if t >= c:
        return (t - 0.5 * c, 1.0, 0.0)[order]
    s = t / c
    return (c * s**3 * (1.0 - 0.5 * s), s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / c)[order]
