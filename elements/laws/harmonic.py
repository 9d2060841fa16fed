"""Harmonic motion."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

from fem_mbs.elements.laws.time_law import TimeLaw
from fem_mbs.model import Positive, checked


@checked
@dataclass(frozen=True)
class Harmonic(TimeLaw):
    """``offset + amplitude sin(2 pi frequency t + phase)``.

    Parameters
    ----------
    amplitude : float
        In the unit of what it is for.
    frequency : float
        In Hz, positive: of an angular frequency in rad/s, give ``omega / (2 * np.pi)``.
    phase : float
        In rad; ``np.pi / 2`` makes a cosine.
    offset : float
        The mean.
    """

    amplitude: float
    frequency: Positive
    phase: float = 0.0
    offset: float = 0.0

    def __call__(self, t: float) -> float:
        """The value."""
        return self.offset + self.amplitude * sin(self._angle(t))

    def velocity(self, t: float) -> float:
        """First derivative."""
        return 2 * pi * self.frequency * self.amplitude * cos(self._angle(t))

    def acceleration(self, t: float) -> float:
        """Second derivative."""
        return -((2 * pi * self.frequency) ** 2) * self.amplitude * sin(self._angle(t))

    def _angle(self, t: float) -> float:
        return 2 * pi * self.frequency * t + self.phase
