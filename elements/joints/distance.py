"""Distance joint: a massless rod between two points, whose length is that of a line (``elements/forces/line.py``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.contracts import (
    Constraint,
    Coordinate,
    CoordinateBatch,
    Kind,
    NodeLike,
    Numbering,
    Picture,
    Vector3,
    checked,
    lever,
    node_rows,
)
from fem_mbs.elements.forces.line import LineLengths, bar
from fem_mbs.elements.joints.coupling import CoordinateConstraint, CouplingBatch, Imposed, Term
from fem_mbs.elements.joints.frames import OnPoints, two_nodes
from fem_mbs.elements.joints.relative_batch import Drive
from fem_mbs.errors import ModelError, MotionError

SHORT = 1e-6
"""Share of the length as built below which the points have met."""
LENGTH = "length"


@checked
class DistanceJoint(OnPoints, CoordinateConstraint):
    """Keep two points at the distance in which they were built, or at one that a drive prescribes.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point_a, point_b : (3,), optional
        The points at t = 0, world frame; by default the positions of the nodes.
    drive : function of t, optional
        By how much the rod is longer than as built, in m, 0 at the start, for t >= 0. Derivatives, and where it starts
        elsewhere, as for :class:`RevoluteJoint`.

    Notes
    -----
    The multiplier is the pull in the rod. Its coordinate, "length", is there if it is driven.
    """

    _internal = ("law", "terms")
    equations = (LENGTH,)
    _said = "drive"
    __str__ = __repr__ = Constraint.__str__

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
        *,
        drive: Drive | None = None,
    ) -> None:
        self.nodes, self.drive = two_nodes(type(self), a, b), drive
        label = f"DistanceJoint on {a}, {b}"
        given = zip(self.nodes, (point_a, point_b), strict=True)
        places = [node.position if point is None else np.asarray(point) for node, point in given]
        self.offsets = tuple(lever(node, x) for node, x in zip(self.nodes, places, strict=True))
        self.offset = self.offsets[1]
        self.built = float(np.linalg.norm(places[1] - places[0]))
        """Distance as built, m."""
        if self.built == 0.0:
            raise ModelError(
                f"{label}: its two points are at the same place, {places[0]}, and a rod has a length; "
                "a SphericalJoint keeps points together"
            )
        if drive is not None:
            self.coordinates, self.driven = (Coordinate(LENGTH, False),), (LENGTH,)

    @property
    def law(self) -> Drive | None:  # type: ignore[override]
        """By how much it is longer than as built."""
        return self.drive

    @property
    def terms(self) -> tuple[Term, ...]:  # type: ignore[override]
        """Its length, which is closed."""
        return (Term(self, LENGTH, 1.0),)

    def picture(self, number: Numbering, stations: int) -> Picture:
        return bar(self.nodes, self.offsets, number, Kind.JOINT_SHAPE)

    @classmethod
    def coordinate_batch(cls, joints: Sequence[DistanceJoint], name: str, number: Numbering) -> CoordinateBatch:
        """Changes of lengths in m, zero as built."""
        built, points = np.array([rod.built for rod in joints]), np.array([rod.offsets for rod in joints])
        return LineLengths(node_rows(joints, number), points, SHORT * built, joints, built)


class DistanceBatch(CouplingBatch, of=DistanceJoint):
    """Rods as arrays: their lengths are closed."""

    owners: Sequence[DistanceJoint]

    def __init__(self, rods: Sequence[DistanceJoint], number: Numbering) -> None:
        super().__init__(rods, number)
        self._built = np.array([rod.built for rod in rods])

    def at(self, t: float) -> Imposed:
        """By how much rods are longer than as built."""
        imposed = super().at(t)
        left = self._built + imposed.value
        for k in np.flatnonzero(left < SHORT * self._built).tolist():
            raise MotionError(
                f"{self.owners[k]}: its drive, {imposed.value[k]:.6g} m at t = {t:.6g} s, leaves {left[k]:.6g} m of "
                f"the {self._built[k]:.6g} m as built"
            )
        return imposed
