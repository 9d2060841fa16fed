"""Splines in space as curves that joints follow: cubic, through given points, smooth to the second derivative.

The parameter is the arc length: at the given points exactly, between them to within the error of the spline
(docs/curves.md, "Splines").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.lagrange import gauss
from fem_mbs.errors import ModelError
from fem_mbs.model import array

Points = Annotated[ArrayLike, lambda value, label: array(value, label, (None, 3), what="three numbers for each point")]
"""Points (n, 3) of a curve; closed where the last is the first again."""
ROUNDS, SETTLED, FALLS = 50, 1e-13, 0.5
SAMPLES = 16
NO_LENGTH = 1e-12


class Spline:
    """A cubic spline through points ``(n, 3)``, closed if the last point is the first.

    Open ones have a continuous third derivative next to their ends, closed ones are periodic.
    """

    def __init__(self, points: Array, label: str) -> None:
        chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
        if len(points) < 2:
            raise ModelError(f"{label} needs at least two points, received {len(points)}")
        if chords.min() <= NO_LENGTH * np.abs(points).max():
            k = int(np.argmin(chords))
            raise ModelError(f"{label}: points {k} and {k + 1} are at the same place, {points[k]}")
        self.closed = len(points) > 3 and bool(np.linalg.norm(points[-1] - points[0]) <= NO_LENGTH * chords.sum())
        points = np.array(points)
        if self.closed:
            points[-1] = points[0]
        places, weights = gauss(5)
        lengths, change = chords, np.inf
        while True:
            knots = np.append(0.0, np.cumsum(lengths))
            curve = CubicSpline(knots, points, bc_type="periodic" if self.closed else "not-a-knot")
            s = knots[:-1, None] + lengths[:, None] * places
            better = lengths * (np.linalg.norm(curve(s, 1), axis=-1) @ weights)
            before, change = change, float(np.abs(better - lengths).max())
            # of a few points with sharp turns lengths do not settle: then the last ones serve
            if change <= SETTLED * knots[-1] or change > FALLS * before:
                break
            lengths = better
        self.knots: Array = knots
        self.coefficients: Array = curve.c
        """Of the powers of the distance from the knot before, highest first, ``(4, k, 3)``."""

    @property
    def length(self) -> float:
        """Arc length of the curve."""
        return float(self.knots[-1])


class Splines:
    """Splines of ``n`` joints as arrays."""

    def __init__(self, splines: Sequence[Spline]) -> None:
        self.splines = splines
        self.lengths = np.array([spline.length for spline in splines])
        self.closed = np.array([spline.closed for spline in splines])
        counts = np.array([len(spline.knots) - 1 for spline in splines])
        self._first = np.cumsum(counts) - counts
        self._last = self._first + counts - 1
        # all knots in one ascending row, those of each spline after a number of its own
        self._base = 2.0 * (np.cumsum(self.lengths) - self.lengths)
        self._knots = np.concatenate([spline.knots[:-1] for spline in splines])
        self._ordered = self._knots + np.repeat(self._base, counts)
        self._c = np.concatenate([spline.coefficients for spline in splines], axis=1)

    def at(self, which: IntArray, s: Array) -> list[Array]:
        """Points ``(r, 3)`` at places ``s`` (r,) of the splines ``which`` (r,), and three derivatives against ``s``."""
        around = np.where(self.closed[which], np.mod(s, self.lengths[which]), s)
        row = np.searchsorted(self._ordered, self._base[which] + around, side="right") - 1
        row = np.clip(row, self._first[which], self._last[which])
        t, (c3, c2, c1, c0) = (around - self._knots[row])[:, None], self._c[:, row]
        return [((c3 * t + c2) * t + c1) * t + c0, (3 * c3 * t + 2 * c2) * t + c1, 6 * c3 * t + 2 * c2, 6 * c3]

    def off(self, s: Array, share: float) -> IntArray:
        """Which of the open splines end before places ``s`` (n,) by more than a share of their length."""
        beyond = np.maximum(-s, s - self.lengths) > share * self.lengths
        return np.flatnonzero(beyond & ~self.closed)


def sampled(spline: Spline) -> tuple[Array, Array]:
    """Places along a spline, and the points there."""
    s = np.interp(
        np.arange(SAMPLES * (len(spline.knots) - 1) + 1) / SAMPLES, np.arange(len(spline.knots)), spline.knots
    )
    return s, Splines([spline]).at(np.zeros(len(s), np.intp), s)[0]


def nearest(spline: Spline, point: Array) -> float:
    """The place on a spline that is next to a point."""
    s, points = sampled(spline)
    best, one, curve = (
        float(s[np.argmin(np.linalg.norm(points - point, axis=1))]),
        np.zeros(1, np.intp),
        Splines([spline]),
    )
    for _ in range(ROUNDS):
        place, along = (part[0] for part in curve.at(one, np.array([best]))[:2])
        step = float(along @ (point - place) / (along @ along))
        best = best + step if spline.closed else min(max(best + step, 0.0), spline.length)
        if abs(step) <= SETTLED * spline.length:
            break
    return best
