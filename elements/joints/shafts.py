"""Joints of two shafts at an angle, the universal and the constant velocity joint; and the screw joint.

A universal joint frees two rotations, about perpendicular axes of which each node carries one. A joint is homokinetic
where it is symmetric to the plane that bisects the shafts (Hunt, *Constant-velocity shaft couplings: a general theory*,
Journal of Engineering for Industry 95, 1973). The relative rotation is then one about an axis ``n`` in that plane,
perpendicular to both shafts, by the angle ``beta`` between them: ``S = exp(beta n)`` with ``n . u = 0`` for the shaft
``u``. With ``sin(beta) n`` the axial vector of ``S``, that is ``y . S x - x . S y = 0`` for two axes across the shaft,
linear in ``S``. Turned by the same angle about the shafts, ``S`` becomes ``exp(-phi u) S exp(phi u)``, and ``n``
another axis across ``u``: equal rotations at any angle, exactly.

On a screw, one turn about an axis moves along it by the lead. The angle ``theta`` is known but for whole turns, and the
travel ``z`` says how many there are: with ``p`` the lead per radian, ``Phi = z - p (theta + 2 pi n)``, where ``n`` is
the whole number that makes it least. It is exact over any number of turns without any memory, and smooth: where ``n``
changes, travel and angle are half a turn apart, far from closed (docs/joints.md).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import CoordinateBatch, Direction, Node, NodeLike, Numbering, Placed, StepEnd, Vector3, checked
from fem_mbs.elements.joints.coordinates import (
    JointCoordinates,
    JointFrame,
    Measure,
    cosine,
    rotation_vector,
    together,
    translation,
    turn,
)
from fem_mbs.elements.joints.frames import (
    First,
    Frames,
    FramesBatch,
    Second,
    axes_about,
    check_perpendicular,
    turned_to,
)
from fem_mbs.elements.joints.lower_pairs import AxisJoint
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS, RelativeJoint, TurnLimit
from fem_mbs.elements.shapes import Ball, Cylinder
from fem_mbs.errors import ModelError, MotionError


@checked
class TwoAxesJoint(RelativeJoint):
    """Base of joints with an axis on each node, ``axis_a`` fixed in a and ``axis_b`` in b."""

    closes = (*TRANSLATIONS, "rotation z")

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        axis_a: Direction,
        axis_b: Direction,
        point: Vector3 | None = None,
        *,
        point_b: Vector3 | None = None,
    ) -> None:
        """A joint with two axes.

        Parameters
        ----------
        a, b : Node
            Any two nodes.
        axis_a, axis_b : (3,)
            The axes fixed in a and in b, at t = 0, world frame.
        point : (3,), optional
            Where they meet at t = 0, world frame; by default the position of node b.
        point_b : (3,), optional
            The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings them together.
        """
        axes, axes_b = self._both_axes(np.asarray(axis_a), np.asarray(axis_b), a, f"{type(self).__name__} on {a}, {b}")
        super().__init__(a, b, point, axes, point_b=point_b, axes_b=axes_b)

    def _both_axes(self, first: Array, second: Array, a: Node, label: str) -> tuple[Array, Array | None]:
        """Axes of the joint on a, and on b if they are others, (3, 3) as columns, world frame."""
        raise NotImplementedError(f"{type(self).__name__} must define _both_axes(first, second, a, label)")


class UniversalJoint(TwoAxesJoint):
    """A Cardan joint: a cross turns in a fork of node a and in a fork of node b.

    ``axis_a`` and ``axis_b``, which are perpendicular, are the two axes of the cross, and ``point`` is its centre.

    Its coordinates are "rotation x", of the cross against a about ``axis_a``, and "rotation y", of b against the cross
    about ``axis_b``. Both are regular at all angles. Shafts at the angle beta turn at different speeds,
    ``omega_b/omega_a = cos(beta)/(1 - sin(beta)^2 cos(phi)^2)``, where ``phi`` is how far ``axis_a`` is turned out of
    the plane of the shafts; for equal speeds, see :class:`ConstantVelocityJoint`.
    """

    def _both_axes(self, first: Array, second: Array, a: Node, label: str) -> tuple[Array, Array | None]:
        check_perpendicular(first, second, f"{label}: axis_a and axis_b")
        return np.stack([first, second, np.cross(first, second)], axis=-1), None


STRAIGHT = 1e-9
"""Sine of an angle between shafts below which they are in line."""
FOLDED = 1e-2
"""``1 + trace S = 2 + 2 cos(beta)`` below which shafts are folded back: 174 degrees."""


class ConstantVelocityJoint(TwoAxesJoint):
    """Join two shafts so that they turn at the same speed, at any angle between them.

    ``axis_a`` and ``axis_b`` are the two shafts, both in the sense of the flow of power, so that shafts in line have
    equal axes. They may be at an angle of up to a quarter turn as built, and meet at ``point``.

    The rotation of b against a is one about an axis across both shafts, by the angle between them. Its coordinates,
    "rotation x" and "rotation y", are the components of this rotation vector along two axes of a across its shaft, less
    those as built, where x is the axis of the angle. They turn with the shaft; the angle between the shafts is the size
    of the vector. The moment that the joint transmits is along the bisector of the shafts. At 174 degrees the shafts
    are folded back onto each other, and the joint ends there by a :class:`MotionError`.
    """

    built: float
    """Angle between the shafts as built, rad."""

    def _both_axes(self, first: Array, second: Array, a: Node, label: str) -> tuple[Array, Array | None]:
        bent = np.cross(first, second)
        axes, sine = axes_about(first, a), float(np.linalg.norm(bent))
        if sine > STRAIGHT:
            axes = np.stack([bent / sine, np.cross(first, bent) / sine, first], axis=-1)
        self.built = float(np.arctan2(sine, first @ second))
        return axes, turned_to(axes, second, label, ("axis_a", "axis_b"))

    @property
    def limit(self) -> TurnLimit:  # type: ignore[override]
        """Where the shafts are folded back, and where half a turn about the bisector meets the equation, too."""
        both = self.axes[0] @ self.axes[1].T
        return TurnLimit(
            both.ravel(),
            FOLDED - 1.0,
            "its shafts are folded back onto each other, at more than 174 degrees, where no joint keeps their speeds "
            "equal",
        )

    def rotation_weights(self) -> list[Array]:
        """Half the component along the shaft of the axial vector of the relative rotation."""
        x, y = (np.outer(self.axes[0][:, i], self.axes[1][:, 1 - i]) for i in (0, 1))
        return [0.5 * (y - x)]

    def shapes(self, size: float) -> Sequence[Placed]:
        """The ends of both shafts and the ball in which they meet."""
        ends = []
        for node, axes, point, side in zip(self.nodes, self.axes, self.offsets, (-1.0, 1.0), strict=True):
            shaft = axes[:, 2]
            ends.append(
                Placed(node, Cylinder(0.25 * size, 1.6 * size, shaft, center=point + 0.8 * side * size * shaft))
            )
        return [*ends, Placed(self.nodes[1], Ball(0.5 * size, center=self.offsets[1]))]

    def coordinate_key(self, name: str) -> Hashable:
        return ConstantVelocityJoint, name

    @classmethod
    def coordinate_batch(  # type: ignore[override]
        cls, joints: Sequence[ConstantVelocityJoint], name: str, number: Numbering
    ) -> CoordinateBatch:
        built = np.array([joint.built for joint in joints]) if name == ROTATIONS[0] else None
        angles = JointCoordinates(joints, joints[0]._measures()[name], number, built)
        angles.counts_turns = False
        return angles

    def _measures(self) -> dict[str, tuple]:  # type: ignore[type-arg]
        return {ROTATIONS[k]: (rotation_vector, k) for k in (0, 1)}


FLATTEST = 1e-12
"""Smallest lead, m per turn."""


@checked
class ScrewJoint(AxisJoint):
    """A nut on a screw: node b turns about an axis of node a and moves along it in proportion.

    Its coordinate is "rotation z", the angle over any number of turns; the travel is ``lead/(2 pi)`` times that. The
    multiplier of "screw" is a force along the axis with the moment ``-lead/(2 pi)`` times that about it.
    """

    closes = ("translation x", "translation y", "rotation x", "rotation y")

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        axis: Direction,
        lead: float,
        point: Vector3 | None = None,
        *,
        point_b: Vector3 | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        """As :class:`RevoluteJoint`; ``lead`` is the travel of b per turn in m, negative if left-handed."""
        if abs(lead) < FLATTEST:
            raise ModelError(
                f"ScrewJoint on {a}, {b}: lead must be a travel per turn of at least {FLATTEST:g} m in size, received "
                f"{lead:g}; a RevoluteJoint turns without travel"
            )
        self.lead = lead
        super().__init__(a, b, axis, point, point_b=point_b, axis_b=axis_b)
        self.equations = (*self.equations, "screw")

    def coordinate_key(self, name: str) -> Hashable:
        return ScrewJoint, name

    @classmethod
    def coordinate_batch(  # type: ignore[override]
        cls, joints: Sequence[ScrewJoint], name: str, number: Numbering
    ) -> CoordinateBatch:
        """Angles in rad, over all turns."""
        return JointCoordinates(joints, (turned_with, np.array([joint.lead for joint in joints])), number)

    def _measures(self) -> dict[str, tuple]:  # type: ignore[type-arg]
        """The angle alone: the travel follows it."""
        return {"rotation z": (turned_with, self.lead)}


def turned_with(frames: Frames, joint: JointFrame, lead: Array) -> Measure:
    """Angle in rad with whole turns, which the travel counts."""
    travel, angle = translation(frames, joint, 2).value, turn(frames, joint, 2, True)
    turns = np.round(travel / lead - angle.value / (2.0 * np.pi))
    return angle._replace(value=angle.value + 2.0 * np.pi * turns)


class ScrewBatch(FramesBatch, of=ScrewJoint):
    """Screws as arrays, of five rows each."""

    owners: Sequence[ScrewJoint]

    def __init__(self, screws: Sequence[ScrewJoint], number: Numbering) -> None:
        super().__init__(screws, number)
        self.length = np.tile([True, True, False, False, True], len(screws))
        self._lead = np.array([screw.lead for screw in screws])
        self.points_a = np.array([screw.offsets[0] for screw in screws])
        axes_a, axes_b, _, points_b = (np.array(part) for part in zip(*(s.frame for s in screws), strict=True))
        self._frame = JointFrame(axes_a, axes_b, 0.0 * self.points_a, points_b)

    def first(self, frames: Frames, s: Array, t: float) -> First:
        """Positions across the axis, cosines of the axes, and travel less angle."""
        x, y, travel = (translation(frames, self._frame, k) for k in range(3))
        angle = turned_with(frames, self._frame, self._lead)
        p = self._lead / (2.0 * np.pi)
        slip, gradient = travel.value - p * angle.value, travel.gradient - p[:, None] * angle.gradient
        screw = Measure(slip, gradient, lambda: travel.bend() - p[:, None, None] * angle.bend())
        if (apart := np.abs(screw.value / p)).max() > 0.5 * np.pi:
            raise MotionError(
                f"{self.owners[int(apart.argmax())]}: its angle and its travel are more than a quarter turn apart; "
                "shorten the step, or build the joint nearer to where it is closed"
            )
        rows = x, y, *(cosine(frames, self._frame, k, 2) for k, _ in self.owners[0].cosines), screw
        phi, b, bend = together(rows)
        return First(phi, b, None, lambda: Second(bend()))

    def astray(self, end: StepEnd) -> str:
        R = end.R
        S = R[self.nodes[:, 0]].mT @ R[self.nodes[:, 1]]
        cosines = np.vecdot(self._frame.axes_a[..., 2], np.matvec(S, self._frame.axes_b[..., 2]))
        k = int(cosines.argmin())
        return "" if cosines[k] > 0.0 else f"{self.owners[k]}: it has turned over in one step"
