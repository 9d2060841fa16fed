"""Cams: two planar curves on two nodes that stay in contact.

At the places ``s_a``, ``s_b`` the curves have a common point and a common tangent: in the plane with the axes ``e_1``,
``e_2`` and the normal ``n``,

    e_k . (r + S P_b - P_a) = 0,    (n x P_a') . S P_b' = 0,

two equations more than places would need, so that one motion is closed. The equations of the places say that the third
multiplier is zero and that the force is along the common normal (docs/curves.md, "Cam joint"). Where the curves touch
as built is sought among all places on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Coordinate, Direction, InternalVariable, NodeLike, Numbering, StepEnd, checked, poses
from fem_mbs.elements.joints.coordinates import TrackJoint, consistent_rates
from fem_mbs.elements.joints.curve import Points, Spline, Splines, sampled
from fem_mbs.elements.joints.frames import (
    First,
    Frames,
    FramesBatch,
    Second,
    along,
    axes_about,
    bend_along,
    relative,
    two_nodes,
)
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.lie import so3

NEAR = 0.05
"""Largest gap that may be left to :meth:`Model.assemble`, against the shorter curve."""
CONFORMAL = 1e-6
"""Difference of curvatures, times the shorter length, below which curves lie along each other."""
ROUNDS, SETTLED, LONGEST = 100, 1e-14, 0.05


PARALLEL = 1e-6
"""Sine of the angle of tangents that touch."""


def touch(curves: tuple[Spline, ...], axes: Array, frames: Frames, label: str) -> tuple[Array, float]:
    """Nearest points of two curves, of which b stands to a at ``frames``, in the plane with the ``axes`` (3, 3).

    Returns
    -------
    (2,), float
        Places on both, and 1 or -1: curve b is pushed along this times ``n x P_a'``; 0 where both curves are open.

    Raises
    ------
    ModelError
        If they are far from each other, or lie along each other.
    """
    (s_a, P), (s_b, Q) = (sampled(curve) for curve in curves)
    P, Q = P @ axes[:, :2], (frames.r + Q @ frames.S.T) @ axes[:, :2]
    distance = np.linalg.norm(P[:, None] - Q[None], axis=-1)
    i, j = np.unravel_index(int(np.argmin(distance)), distance.shape)
    s, a, b = _nearest(curves, axes, frames, np.array([s_a[i], s_b[j]]))
    apart, short = float(np.linalg.norm(b[0] - a[0])), min(curve.length for curve in curves)
    if apart > NEAR * short or abs(_cross(a[1], b[1])) > PARALLEL:
        raise ModelError(
            f"{label}: its profiles do not touch: the gap is {apart:.4g} m where they are nearest, {s[0]:.4g} m from "
            f"the first point of profile_a and {s[1]:.4g} m from that of profile_b; move one of the nodes"
        )
    bent = [_cross(part[1], part[2]) / float(np.linalg.norm(part[1])) ** 3 for part in (a, b)]
    same = float(np.sign(a[1] @ b[1]))
    if abs(bent[0] - same * bent[1]) * short < CONFORMAL:
        raise ModelError(
            f"{label}: its profiles are equally curved where they touch ({bent[0]:.4g}/m), so that they do so along a "
            "line; give one of them another curvature"
        )
    # b is pushed out of a, into b
    pushes = [-_turns(P) * curves[0].closed, same * _turns(Q) * curves[1].closed]
    first = pushes[1] == 0.0 or (pushes[0] != 0.0 and abs(bent[0]) >= abs(bent[1]))
    return s, pushes[0] if first else pushes[1]


def _nearest(
    curves: tuple[Spline, ...], axes: Array, frames: Frames, s: Array
) -> tuple[Array, list[Array], list[Array]]:
    """By Newton's method from places ``s`` (2,): places, and points of both in the plane with two derivatives."""
    pair, one = [Splines([curve]) for curve in curves], np.zeros(1, np.intp)
    lengths = np.array([curve.length for curve in curves])
    for _ in range(ROUNDS):
        a, b = ([part[0] for part in curve.at(one, own[None])] for curve, own in zip(pair, s, strict=True))
        a = [part @ axes[:, :2] for part in a]
        b = [(frames.r * (k == 0) + frames.S @ part) @ axes[:, :2] for k, part in enumerate(b)]
        gap = b[0] - a[0]
        wrong = np.array([gap @ a[1], _cross(a[1], b[1])])
        slope = np.array([[gap @ a[2] - a[1] @ a[1], b[1] @ a[1]], [_cross(a[2], b[1]), _cross(a[1], b[2])]])
        step = -np.linalg.lstsq(slope, wrong, rcond=None)[0]
        step *= LONGEST / np.abs(step / lengths).max(initial=LONGEST)
        s = s + step
        for k, curve in enumerate(curves):
            if not curve.closed:
                s[k] = min(max(s[k], 0.0), curve.length)
        if np.abs(step / lengths).max() <= SETTLED:
            break
    return s, a, b


def _turns(outline: Array) -> float:
    """1 for an outline (n, 2) that turns to the left, -1 for one to the right."""
    return float(np.sign(sum(_cross(*pair) for pair in pairwise(outline - outline[0]))))


def _cross(a: Array, b: Array) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


FLAT = 1e-8
"""Distance from the plane of the curves, against their lengths."""
BEYOND = 0.1
"""Share of the length of an open curve by which an iteration may leave it."""
PULL = 1e-8
"""Pulling force against the largest multiplier of the model that is rounding."""


@checked
class CamJoint(TrackJoint):
    """Two planar profiles, one fixed to node a, one to node b, stay in contact and slide on each other freely.

    Parameters
    ----------
    a, b : Node
        Any two nodes, such as those of a cam and of its follower.
    normal : (3,)
        Normal of the plane of both profiles at t = 0, world frame. Other joints keep the nodes in the plane.
    profile_a, profile_b : (n, 3)
        Points of the profiles at t = 0, world frame: cubic splines through them, closed if the last is the first again.
        A straight one, of a flat follower, needs two. Closed profiles are outlines of solid bodies.
    pulls : bool
        Whether the contact may also pull, as a pin in a groove does. Else a run ends with a :class:`MotionError` where
        the profiles would separate.

    Notes
    -----
    The profiles touch as built, or :meth:`Model.assemble` moves the nodes until they do. The coordinates "place on a"
    and "place on b" are how far the contact has moved along the profiles; the internal variables "arc length on a" and
    "arc length on b" count from the first points. :meth:`Solution.reaction` has the contact force on node b, and
    its moment about that node.
    Where both profiles are equally curved they touch along a line, which the joint refuses.
    """

    equations = ("contact x", "contact y", "tangent")
    coordinates = (Coordinate("place on a", False), Coordinate("place on b", False))

    def __init__(
        self, a: NodeLike, b: NodeLike, normal: Direction, profile_a: Points, profile_b: Points, *, pulls: bool = False
    ) -> None:
        label = f"CamJoint on {a}, {b}"
        self.nodes, self.pulls = two_nodes(type(self), a, b), pulls
        n, profiles = np.asarray(normal), (np.asarray(profile_a), np.asarray(profile_b))
        self.curves = tuple(
            Spline((points - node.position) @ node.rotation, f"{label}: {name}")
            for node, points, name in zip(self.nodes, profiles, ("profile_a", "profile_b"), strict=True)
        )
        self.plane = a.rotation.T @ axes_about(n, a)
        """Axes in the plane and its normal as columns, in the frame of node a."""
        extent = sum(curve.length for curve in self.curves)
        for points, name in zip(profiles, ("profile_a", "profile_b"), strict=True):
            out = (points - profiles[0][0]) @ n
            if np.abs(out).max() > FLAT * extent:
                k = int(np.argmax(np.abs(out)))
                raise ModelError(
                    f"{label}: {name}: point {k}, {points[k]}, is {abs(out[k]):.3g} m out of the plane through the "
                    f"first point of profile_a with the normal {n}; profiles are planar, in one plane"
                )
        _, self.side = self._touch(label)
        if self.side == 0.0 and not pulls:
            raise ModelError(
                f"{label}: both profiles are open, so that nothing tells on which side the bodies are; close one "
                "around its body, or let the contact pull with pulls=True"
            )

    @property
    def internal_variables(self) -> tuple[InternalVariable, ...]:  # type: ignore[override]
        """The arc lengths, where the profiles touch now."""
        s, _ = self._touch(str(self))
        rates, lengths = consistent_rates(self, s), [curve.length for curve in self.curves]
        parts = zip(("a", "b"), s.tolist(), rates.tolist(), lengths, strict=True)
        return tuple(
            InternalVariable(f"arc length on {name}", "coordinate", own, r, L, "m") for name, own, r, L in parts
        )

    def _touch(self, label: str) -> tuple[Array, float]:
        return touch(self.curves, self.plane, relative(*poses(self.nodes)), label)


class CamBatch(FramesBatch, of=CamJoint):
    """Cams as arrays, with three equations and two places each."""

    own: IntArray
    owners: Sequence[CamJoint]

    def __init__(self, cams: Sequence[CamJoint], number: Numbering) -> None:
        super().__init__(cams, number)
        self._every, self.length = np.arange(len(cams)), np.tile([True, True, False], len(cams))
        self._curves = [Splines([cam.curves[end] for cam in cams]) for end in (0, 1)]
        self._plane = np.array([cam.plane.T[:2] for cam in cams])
        self._across = so3.skew(np.array([cam.plane[:, 2] for cam in cams]))
        self._side = np.array([0.0 if cam.pulls else cam.side for cam in cams])

    def first(self, frames: Frames, s: Array, t: float) -> First:
        """Common point and common tangent."""
        for end, curves in enumerate(self._curves):
            if len(off := curves.off(s[:, end], BEYOND)):
                raise MotionError(self._left(int(off[0]), end, t))
        a, b = (curves.at(self._every, own) for curves, own in zip(self._curves, s.T, strict=True))
        S, plane, (B, B1, B2, B3) = frames.S, self._plane, b
        # the normal of a and its derivatives, and the axes, seen from b
        normal, turning, third = (np.vecmat(np.matvec(self._across, part), S) for part in a[1:])
        seen = plane @ S
        phi = np.empty((len(S), 3))
        phi[:, :2] = np.matvec(plane, frames.r + np.matvec(S, B) - a[0])
        phi[:, 2] = np.vecdot(normal, B1)
        gradient = np.zeros((len(S), 3, 6))
        gradient[:, :2] = along(seen, B[:, None])
        gradient[:, 2, 3:] = so3.cross(B1, normal)
        c = np.empty((len(S), 3, 2))
        c[:, :2, 0], c[:, :2, 1] = -np.matvec(plane, a[1]), np.matvec(seen, B1)
        c[:, 2, 0], c[:, 2, 1] = np.vecdot(turning, B1), np.vecdot(normal, B2)

        def second() -> Second:
            # curvatures, and how directions of one node turn against the other
            bend, mixed, curved = (np.zeros((len(S), 3, *shape)) for shape in ((6, 6), (2, 6), (2, 2)))
            bend[:, :2] = bend_along(seen, B[:, None])
            bend[:, 2, 3:, 3:] = so3.skew(B1) @ so3.skew(normal)
            mixed[:, :2, 1, 3:] = so3.cross(B1[:, None], seen)
            mixed[:, 2, 0, 3:], mixed[:, 2, 1, 3:] = so3.cross(B1, turning), so3.cross(B2, normal)
            curved[:, :2, 0, 0], curved[:, :2, 1, 1] = -np.matvec(plane, a[2]), np.matvec(seen, B2)
            curved[:, 2, 0, 0], curved[:, 2, 1, 1] = np.vecdot(third, B1), np.vecdot(normal, B3)
            curved[:, 2, 0, 1] = curved[:, 2, 1, 0] = np.vecdot(turning, B2)
            return Second(bend, mixed, curved)

        return First(phi, gradient, c, second)

    def astray(self, end: StepEnd) -> str:
        """Profiles that end or separate."""
        s = end.u[self.own]
        for side, curves in enumerate(self._curves):
            if len(off := curves.off(s[:, side], FLAT)):
                return self._left(int(off[0]), side, end.t)
        force = -np.vecmat(end.multipliers[end.rows].reshape(-1, 3)[:, :2], self._plane)
        tangent = self._curves[0].at(self._every, s[:, 0])[1]
        push = self._side * np.vecdot(force, np.matvec(self._across, tangent)) / np.linalg.norm(tangent, axis=-1)
        if push.min() >= -PULL * np.abs(end.multipliers).max():
            return ""
        k = int(np.argmin(push))
        return (
            f"{self.owners[k]}: its profiles separate at t = {end.t:.6g} s, where the contact would have to pull with "
            f"{-push[k]:.3g} N; press them together by a spring or a weight, turn slower, or let the contact pull with "
            "pulls=True: as that of a shoe, on which a follower that lifts rests by a JointStop (docs/curves.md)"
        )

    def _left(self, k: int, side: int, t: float) -> str:
        name = ("profile_a", "profile_b")[side]
        return (
            f"{self.owners[k]}: the contact runs off the end of {name} at t = {t:.6g} s; prolong or close the profile"
        )
