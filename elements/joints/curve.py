"""A point of one node that stays on a curve of another: a bead on a wire, a pin in a slot, a roller coaster.

With the place ``s`` on the curve ``P`` in frame a and the point ``c`` in frame b, ``r + S c - P(s) = 0``; the equation
of ``s`` is ``P' . lambda = 0``, no force along the curve (docs/curves.md, "Curve joint").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.joints.frames import Frames
from fem_mbs.elements.joints.own_coordinate import OwnCoordinate, consistent_rates
from fem_mbs.elements.joints.places import First, PlacesBatch, Second
from fem_mbs.elements.joints.relative import TRANSLATIONS
from fem_mbs.elements.joints.spline import Points, Spline, Splines, nearest
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.lie import so3
from fem_mbs.model import (
    Constraint,
    ConstraintBatch,
    Coordinate,
    CoordinateBatch,
    Node,
    Numbering,
    StepEnd,
    Unknown,
    Vector3,
    checked,
    node_rows,
    own_rows,
)

ON_CURVE = 1e-8
"""Largest distance from the curve as built, against its length."""
BEYOND = 0.1
"""Share of the length of a curve by which an iteration may leave it."""


@checked
class CurveJoint(Constraint):
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
    Its coordinate, "travel", is how far the point has moved along the curve; its unknown "arc length" counts from the
    first point. A :class:`JointDrive` prescribes it. A run in which the point leaves an open curve ends with a
    :class:`MotionError`. The multipliers are the force on node a along its axes.
    """

    equations = TRANSLATIONS
    coordinates = (Coordinate("travel", False),)

    def __init__(self, a: Node, b: Node, points: Points, point: Vector3 | None = None) -> None:
        label = f"CurveJoint on {a}, {b}"
        if a is b:
            raise ModelError(f"CurveJoint: connects {a} with itself; give two nodes")
        self.nodes = (a, b)
        self.curve = Spline((np.asarray(points) - a.position) @ a.rotation, f"{label}: points")
        place = b.position if point is None else np.asarray(point)
        self.offset = b.rotation.T @ (place - b.position)
        s = np.array([self._place()])
        on = a.position + a.rotation @ Splines([self.curve]).at(np.zeros(1, np.intp), s)[0][0]
        gap = float(np.linalg.norm(on - place))
        if gap > ON_CURVE * self.curve.length:
            raise ModelError(
                f"{label}: the point {place} is {gap:.4g} m from the curve, whose nearest place is {on.tolist()}, "
                f"{s[0]:.6g} m from its first point; a point on the curve is needed, such as one of the given points"
            )

    @property
    def unknowns(self) -> tuple[Unknown, ...]:  # type: ignore[override]
        """The arc length, where the point is now."""
        s = self._place()
        (rate,) = consistent_rates(self, np.array([s]))
        return (Unknown("arc length", "coordinate", s, rate, size=self.curve.length, unit="m"),)

    @property
    def turned(self) -> tuple[Node, ...]:
        """Node a, and node b if the point is not at it."""
        return self.nodes if self.offset.any() else self.nodes[:1]

    @classmethod
    def batch(cls, constraints: Sequence[CurveJoint], number: Numbering) -> ConstraintBatch:
        """All such joints of a model."""
        return CurveBatch(constraints, number)

    @classmethod
    def coordinate_batch(cls, joints: Sequence[CurveJoint], name: str, number: Numbering) -> CoordinateBatch:
        """How far their points have moved."""
        return OwnCoordinate(joints, 0, number)

    def _place(self) -> float:
        a, b = self.nodes
        return nearest(self.curve, a.rotation.T @ (b.position + b.rotation @ self.offset - a.position))


class CurveBatch(PlacesBatch):
    """Joints as arrays, with three equations each."""

    owners: Sequence[CurveJoint]

    def __init__(self, joints: Sequence[CurveJoint], number: Numbering) -> None:
        self.owners = joints
        self.nodes, self.own = node_rows(joints, number), own_rows(joints, number)
        self.cell = np.repeat(np.arange(len(joints)), 3)
        self.length = np.ones(3 * len(joints), np.bool_)
        self._every = np.arange(len(joints))
        self._curves = Splines([joint.curve for joint in joints])
        self._offset = np.array([joint.offset for joint in joints])

    def first(self, frames: Frames, s: Array, t: float) -> First:
        """``r + S c - P``."""
        if len(off := self._curves.off(s[:, 0], BEYOND)):
            raise MotionError(self._left(int(off[0]), float(s[off[0], 0]), t))
        P, P1, P2, _ = self._curves.at(self._every, s[:, 0])
        phi = frames.r + np.matvec(frames.S, self._offset) - P
        b = np.concatenate([frames.S, so3.cross(self._offset[:, None], frames.S)], axis=-1)
        return First(phi, b, -P1[..., None], P2)

    def second_order(self, frames: Frames, more: Array) -> Second:
        """The section turns with b, the curve bends."""
        turned = so3.skew(frames.S)
        bend = np.zeros((*turned.shape[:2], 6, 6))
        bend[..., :3, 3:], bend[..., 3:, 3:] = turned, so3.skew(self._offset)[:, None] @ turned
        return Second(bend, np.zeros((*bend.shape[:2], 1, 6)), -more[..., None, None])

    def astray(self, end: StepEnd) -> str:
        """A point that has left its curve."""
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
