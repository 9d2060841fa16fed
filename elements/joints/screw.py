"""Screw joint: turning about an axis by one turn moves along it by the lead.

The angle ``theta`` is known but for whole turns, and the travel ``z`` says how many there are: with ``p`` the lead per
radian, ``Phi = z - p (theta + 2 pi n)``, where ``n`` is the whole number that makes it least. It is exact over any
number of turns without any memory, and smooth: where ``n`` changes, travel and angle are half a turn apart, far from
closed (docs/joints.md).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import CoordinateBatch, Direction, NodeLike, Numbering, StepEnd, Vector3, checked
from fem_mbs.elements.joints.coordinates import JointCoordinates, JointFrame, Measure, cosine, translation, turn
from fem_mbs.elements.joints.frames import First, Frames, FramesBatch, Second
from fem_mbs.elements.joints.lower_pairs import AxisJoint
from fem_mbs.errors import ModelError, MotionError

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
    travel, angle = translation(frames, joint, 2).value, turn(frames, joint, 2, 0, True)
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
        screw = Measure(*(z - p.reshape(-1, *[1] * (z.ndim - 1)) * part for z, part in zip(travel, angle, strict=True)))
        if (apart := np.abs(screw.value / p)).max() > 0.5 * np.pi:
            raise MotionError(
                f"{self.owners[int(apart.argmax())]}: its angle and its travel are more than a quarter turn apart; "
                "shorten the step, or build the joint nearer to where it is closed"
            )
        rows = x, y, *(cosine(frames, self._frame, k, 2) for k, _ in self.owners[0].cosines), screw
        phi, b, bend = (np.stack(part, axis=1) for part in zip(*rows, strict=True))
        return First(phi, b, None, bend)

    def second_order(self, frames: Frames, more: Array) -> Second:
        """Derivatives of the gradients."""
        return Second(more)

    def astray(self, end: StepEnd) -> str:
        """Axes half a turn off meet the equations, too."""
        R = end.R
        S = R[self.nodes[:, 0]].mT @ R[self.nodes[:, 1]]
        cosines = np.vecdot(self._frame.axes_a[..., 2], np.matvec(S, self._frame.axes_b[..., 2]))
        return (
            ""
            if np.minimum.reduce(cosines) > 0.0
            else f"{self.owners[int(cosines.argmin())]}: it has turned over in one step"
        )
