"""The fastest way from rest to rest with limited velocity, acceleration and jerk."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from math import copysign, sqrt
from typing import NamedTuple

from fem_mbs.contracts import SMALLEST, Positive, TimeLaw, checked


class Segment(NamedTuple):
    """A time with constant jerk: when it begins, and what the law is there."""

    begin: float
    value: float
    velocity: float
    acceleration: float
    jerk: float


@checked
class SCurve(TimeLaw):
    """From 0 to ``distance`` at rest, as fast as the limits of speed, acceleration and jerk allow.

    Parameters
    ----------
    distance : float
        How far, with its sign.
    speed, acceleration : float
        Largest velocity and acceleration, positive.
    jerk : float, optional
        Largest derivative of the acceleration, positive: seven segments with continuous acceleration. Without it, the
        velocity is a trapezoid, and the acceleration jumps.
    begin : float
        When it starts, s.

    Attributes
    ----------
    duration : float
        Time in s that it takes.

    Notes
    -----
    Where the way is too short, or the jerk too small, the speed or the acceleration is not reached (Biagiotti and
    Melchiorri, *Trajectory Planning for Automatic Machines and Robots*, 2008, sections 3.2 and 3.4).
    """

    def __init__(
        self,
        distance: float,
        speed: Positive,
        acceleration: Positive,
        jerk: Positive | None = None,
        *,
        begin: float = 0.0,
    ) -> None:
        self.distance, self.begin = distance, begin
        self.limits = speed, acceleration, jerk
        way, sign = abs(distance), copysign(1.0, distance)
        pieces = _pieces(way, *self.limits) if way >= SMALLEST else []
        *ends, self.duration = accumulate((piece[0] for piece in pieces), initial=0.0)
        self._segments: list[Segment] = []
        value = rate = 0.0
        for (lasting, first, own), start in zip(pieces, ends, strict=True):
            self._segments.append(Segment(start, sign * value, sign * rate, sign * first, sign * own))
            value += lasting * (rate + lasting * (first / 2 + lasting * own / 6))
            rate += lasting * (first + lasting * own / 2)
        self._begins = [segment.begin for segment in self._segments]

    def __call__(self, t: float) -> float:
        """The value."""
        if not 0.0 <= t - self.begin < self.duration:
            return self.distance if t > self.begin else 0.0
        s, own = self._segment(t)
        return own.value + s * (own.velocity + s * (own.acceleration / 2 + s * own.jerk / 6))

    def velocity(self, t: float) -> float:
        """First derivative."""
        if not 0.0 <= t - self.begin < self.duration:
            return 0.0
        s, own = self._segment(t)
        return own.velocity + s * (own.acceleration + s * own.jerk / 2)

    def acceleration(self, t: float) -> float:
        """Second derivative; from the right where it jumps."""
        if not 0.0 <= t - self.begin < self.duration:
            return 0.0
        s, own = self._segment(t)
        return own.acceleration + s * own.jerk

    def _segment(self, t: float) -> tuple[float, Segment]:
        """The segment of a time, and the time since it began."""
        s = t - self.begin
        own = self._segments[bisect_right(self._begins, s) - 1]
        return s - own.begin, own

    def __repr__(self) -> str:
        speed, acceleration, jerk = self.limits
        return f"SCurve({self.distance}, {speed}, {acceleration}, {jerk}, begin={self.begin})"


def _pieces(way: float, speed: float, acceleration: float, jerk: float | None) -> list[tuple[float, float, float]]:
    """Durations, initial accelerations and jerks of the segments of a way."""
    if jerk is None:
        v = min(speed, sqrt(way * acceleration))
        ramp, cruise = v / acceleration, max(way / v - v / acceleration, 0.0)
        return [(ramp, acceleration, 0.0), (cruise, 0.0, 0.0), (ramp, -acceleration, 0.0)]
    change = acceleration / jerk
    if way >= 2.0 * acceleration * change**2:
        reached = 0.5 * acceleration * (sqrt(change**2 + 4.0 * way / acceleration) - change)
    else:  # the acceleration is not reached
        reached = jerk * (way / (2.0 * jerk)) ** (2.0 / 3.0)
    v = min(speed, reached)
    change = min(change, sqrt(v / jerk))
    a = jerk * change
    steady = max(v / a - change, 0.0)
    cruise = max(way / v - 2.0 * change - steady, 0.0)
    return [
        (change, 0.0, jerk),
        (steady, a, 0.0),
        (change, a, -jerk),
        (cruise, 0.0, 0.0),
        (change, 0.0, -jerk),
        (steady, -a, 0.0),
        (change, -a, jerk),
    ]
