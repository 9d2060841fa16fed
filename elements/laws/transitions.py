"""Laws for drives and loads: harmonic motion, steps by a polynomial, ramps, smooth starts, the fastest way."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from itertools import accumulate
from math import copysign, cos, pi, sin, sqrt
from typing import Annotated, Any

from fem_mbs.contracts import NotNegative, Positive, TimeLaw, checked, shown, whole_number
from fem_mbs.contracts.arguments import SMALLEST
from fem_mbs.errors import ModelError

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
    """From ``initial`` to ``final``, at rest before and after, by the polynomial of lowest order.

    Parameters
    ----------
    initial, final : float
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
        self, initial: float, final: float, duration: Positive, *, begin: float = 0.0, order: Annotated[int, _order] = 5
    ) -> None:
        self.initial, self.final, self.duration, self.begin, self.order = initial, final, duration, begin, order
        self._rows = POLYNOMIALS[order]

    def derivative(self, k: int, t: float) -> float:
        s = (t - self.begin) / self.duration
        if not 0.0 <= s < 1.0:
            return 0.0 if k else self.final if s >= 1.0 else self.initial
        own = (self.final - self.initial) / self.duration**k * reduce(lambda x, c: x * s + c, self._rows[k], 0.0)
        return own if k else self.initial + own


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

    def __init__(self, height: float, duration: Positive, *, begin: float = 0.0) -> None:
        super().__init__(0.0, height, duration, begin=begin)


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
    _: KW_ONLY
    begin: float = 0.0
    end: float | None = None
    corner: NotNegative = 0.0

    def __post_init__(self) -> None:
        """Refuse a ramp that ends before it begins."""
        if self.end is not None and self.end <= self.begin:
            raise ModelError(f"Ramp: end must be after begin = {self.begin:g} s, received {self.end:g}")

    def derivative(self, k: int, t: float) -> float:
        """At a sharp corner the first one from the right, the second one zero."""
        up = _corner(k, t - self.begin, self.corner)
        return self.rate * (up if self.end is None else up - _corner(k, t - self.end, self.corner))


def _corner(order: int, t: float, c: float) -> float:
    """A ramp of slope 1 from 0 on, or a derivative of it; its velocity is ``3 s^2 - 2 s^3`` over the corner."""
    if t < 0.0:
        return 0.0
    if t >= c:
        return (t - 0.5 * c, 1.0, 0.0)[order]
    s = t / c
    return (c * s**3 * (1.0 - 0.5 * s), s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / c)[order]


@checked
@dataclass(frozen=True)
class SpinUp(TimeLaw):
    """An angle that starts at rest and turns at ``rate`` (rad/s) after ``duration`` (s).

    ``(rate/T) (t^2/2 + (T/2pi)^2 (cos(2 pi t/T) - 1))`` up to ``T = duration``, then ``rate (t - T/2)``: velocity and
    acceleration are continuous (Bruels, Cardona, Arnold 2012, eq. 86).
    """

    rate: float
    duration: Positive

    def derivative(self, k: int, t: float) -> float:
        """Angle in rad, and its derivatives."""
        T = self.duration
        if t >= T:
            return (self.rate * (t - T / 2), self.rate, 0.0)[k]
        s = 2 * pi * t / T
        turned = t * t / 2 + (T / (2 * pi)) ** 2 * (cos(s) - 1), t - T / (2 * pi) * sin(s), 1 - cos(s)
        return self.rate / T * turned[k]


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
    _: KW_ONLY
    phase: float = 0.0
    offset: float = 0.0

    def derivative(self, k: int, t: float) -> float:
        omega = 2 * pi * self.frequency
        angle = omega * t + self.phase
        swing = self.amplitude * omega**k * (sin(angle), cos(angle), -sin(angle))[k]
        return swing if k else self.offset + swing


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
        *self._begins, self.duration = accumulate((piece[0] for piece in pieces), initial=0.0)
        self._segments: list[tuple[float, float, float, float]] = []
        """Value, velocity, acceleration and jerk where each begins."""
        value = rate = 0.0
        for lasting, first, own in pieces:
            self._segments.append((sign * value, sign * rate, sign * first, sign * own))
            value += lasting * (rate + lasting * (first / 2 + lasting * own / 6))
            rate += lasting * (first + lasting * own / 2)

    def derivative(self, k: int, t: float) -> float:
        """From the right where the acceleration jumps."""
        since = t - self.begin
        if not 0.0 <= since < self.duration:
            return self.distance if k == 0 and since > 0.0 else 0.0
        n = bisect_right(self._begins, since) - 1
        s, (value, velocity, acceleration, jerk) = since - self._begins[n], self._segments[n]
        if k == 0:
            return value + s * (velocity + s * (acceleration / 2 + s * jerk / 6))
        return velocity + s * (acceleration + s * jerk / 2) if k == 1 else acceleration + s * jerk


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
