"""The smooth start of a drive that then turns at a constant rate."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

from fem_mbs.elements.laws.time_law import TimeLaw
from fem_mbs.model import Positive, checked


@checked
@dataclass(frozen=True)
class SpinUp(TimeLaw):
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
