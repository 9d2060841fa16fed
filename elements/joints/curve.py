"""A point of one node that stays on a curve of another: a bead on a wire, a pin in a slot, a roller coaster.

With the place ``s`` on the curve ``P`` in frame a and the point ``c`` in frame b, ``r + S c - P(s) = 0``; the equation
of ``s`` is ``P' . lambda = 0``, no force along the curve (docs/curves.md, "Curve joint").

Curves are cubic splines through given points, smooth to the second derivative. Their parameter is the arc length: at
the given points exactly, between them to within the error of the spline (docs/curves.md, "Splines").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from fem_mbs.arrays import Array, ArrayLike, IntArray
from fem_mbs.contracts import Coordinate, InternalVariable, Node, NodeLike, Numbering, StepEnd, checked, lever
from fem_mbs.contracts.arguments import Vector3, array
from fem_mbs.elements.beams.curve_strain import gauss
from fem_mbs.elements.beams.track import nearest_place
from fem_mbs.elements.joints.coordinates import TrackJoint, consistent_rates
from fem_mbs.elements.joints.frames import First, Frames, FramesBatch, Second, along, bend_along, two_nodes
from fem_mbs.elements.joints.relative import TRANSLATIONS
from fem_mbs.errors import ModelError, MotionError

Points = Annotated[ArrayLike, lambda value, label: array(value, label, (None, 3), what="three numbers for each point")]
"""Points (n, 3) of a curve; closed where the last is the first again."""
SETTLED, FALLS = 1e-13, 0.5
SAMPLES = 16
NO_LENGTH = 1e-12


class Spline:
    """A cubic spline through points ``(n, 3)``, closed if the last point is the first.

    Open ones have a continuous third derivative next to their ends, closed ones are periodic.
    """

    def __init__(self, points: Array, label: str) -> None:
        from scipy.interpolate import CubicSpline  # which takes long to import

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
        self.lengths = np.array([spline.length for spline in splines])
        self.closed = np.array([spline.closed for spline in splines])
        counts = np.array([len(spline.knots) - 1 for spline in splines])
        self._first = np.cumsum(counts) - counts
        # all knots in one ascending row, those of each spline after a number of its own, far beyond what is before
        self._base = 2.0 * (np.cumsum(self.lengths) - self.lengths)
        self._knots = np.concatenate([spline.knots[:-1] for spline in splines])
        self._ordered = self._knots + np.repeat(self._base, counts)
        self._c = np.concatenate([spline.coefficients for spline in splines], axis=1)

    def at(self, which: IntArray, s: Array) -> list[Array]:
        """Points ``(r, 3)`` at places ``s`` (r,) of the splines ``which`` (r,), and three derivatives against ``s``."""
        around = np.where(self.closed[which], np.mod(s, self.lengths[which]), s)
        row = np.searchsorted(self._ordered, self._base[which] + around, side="right") - 1
        row = np.maximum(row, self._first[which])
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
    curve = Splines([spline])

    def at(s: Array) -> tuple[Array, Array]:
        points, tangents, *_ = curve.at(np.zeros(len(s), np.intp), s)
        return points, tangents

    return nearest_place(at, sampled(spline)[0], point, spline.length, spline.closed)


ON_CURVE = 1e-8
"""Largest distance from the curve as built, against its length."""
BEYOND = 0.1
"""Share of the length of a curve by which an iteration may leave it."""


@checked
class CurveJoint(TrackJoint):
    """A point of node b stays on a curve that is fixed to node a, without friction; all rotations are free.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    points : (n, 3)
        Of the curve at t = 0, world frame: the cubic spline through them, closed if the last is the first again.
    point : (3,), optional
        The point of b that is on the curve at t = 0, world frame; by default the position of node b.

    Notes
    -----
    Its coordinate, "travel", is how far the point has moved along the curve; its internal variable "arc length" counts
    from the first point. A :class:`JointDrive` prescribes it. A run in which the point leaves an open curve ends with a
    :class:`MotionError`. The multipliers are the force on node a along its axes.
    """

    equations = TRANSLATIONS
    coordinates = (Coordinate("travel", False),)

    def __init__(self, a: NodeLike, b: NodeLike, points: Points, point: Vector3 | None = None) -> None:
        label = f"CurveJoint on {a}, {b}"
        self.nodes = two_nodes(type(self), a, b)
        self.curve = Spline((np.asarray(points) - a.position) @ a.rotation, f"{label}: points")
        place = b.position if point is None else np.asarray(point)
        self.offset = lever(b, point)
        s = np.array([self._place()])
        on = a.position + a.rotation @ Splines([self.curve]).at(np.zeros(1, np.intp), s)[0][0]
        gap = float(np.linalg.norm(on - place))
        if gap > ON_CURVE * self.curve.length:
            raise ModelError(
                f"{label}: the point {place} is {gap:.4g} m from the curve, whose nearest place is {on.tolist()}, "
                f"{s[0]:.6g} m from its first point; a point on the curve is needed, such as one of the given points"
            )

    @property
    def internal_variables(self) -> tuple[InternalVariable, ...]:  # type: ignore[override]
        """The arc length, where the point is now."""
        s = self._place()
        (rate,) = consistent_rates(self, np.array([s]))
        return (InternalVariable("arc length", "coordinate", s, rate, size=self.curve.length, unit="m"),)

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Node a, and node b if the point is not at it."""
        return self.nodes if self.offset.any() else self.nodes[:1]

    def _place(self) -> float:
        a, b = self.nodes
        return nearest(self.curve, lever(a, b.at(self.offset)))


class CurveBatch(FramesBatch, of=CurveJoint):
    """Joints as arrays, with three equations each."""

    own: IntArray
    owners: Sequence[CurveJoint]

    def __init__(self, joints: Sequence[CurveJoint], number: Numbering) -> None:
        super().__init__(joints, number)
        self._every = np.arange(len(joints))
        self._curves = Splines([joint.curve for joint in joints])
        self._offset = np.array([joint.offset for joint in joints])

    def first(self, frames: Frames, s: Array, t: float) -> First:
        """``r + S c - P``."""
        if len(off := self._curves.off(s[:, 0], BEYOND)):
            raise MotionError(self._left(int(off[0]), float(s[off[0], 0]), t))
        P, P1, P2, _ = self._curves.at(self._every, s[:, 0])
        phi = frames.r + np.matvec(frames.S, self._offset) - P

        def second() -> Second:
            # the section turns with b, the curve bends
            bend = bend_along(frames.S, self._offset[:, None])
            return Second(bend, np.zeros((*bend.shape[:2], 1, 6)), -P2[..., None, None])

        return First(phi, along(frames.S, self._offset[:, None]), -P1[..., None], second)

    def astray(self, end: StepEnd) -> str:
        s = end.u[self.own[:, 0]]
        off = self._curves.off(s, ON_CURVE)
        return self._left(int(off[0]), float(s[off[0]]), end.t) if len(off) else ""

    def _left(self, k: int, s: float, t: float) -> str:
        joint = self.owners[k]
        return (
            f"{joint}: {joint.nodes[1]} runs off the {'start' if s < 0.0 else 'end'} of its curve at t = {t:.6g} s "
            f"(arc length {s:.6g} m of {joint.curve.length:.6g} m); end the run before, close or prolong the curve, or "
            "stop it by a JointStop"
        )
