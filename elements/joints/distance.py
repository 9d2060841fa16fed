"""Distance joint: a massless rod between two points, whose length is that of a line (``elements/forces/line.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Constraint,
    ConstraintBatch,
    Coordinate,
    CoordinateBatch,
    Kind,
    Motion,
    NodeLike,
    Numbering,
    Picture,
    Rates,
    Vector3,
    checked,
    derivatives,
    evaluate,
    lever,
    node_rows,
)
from fem_mbs.elements.forces.line import Line, LineLengths, bar
from fem_mbs.elements.joints.frames import OnPoints, two_nodes
from fem_mbs.elements.joints.relative_batch import TOLERANCE, Drive, rounded
from fem_mbs.errors import ModelError, MotionError

SHORT = 1e-6
"""UnitInterval of the length as built below which the points have met."""
LENGTH = "length"


@checked
class DistanceJoint(OnPoints, Constraint):
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

    equations = (LENGTH,)

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

    def picture(self, number: Numbering, stations: int) -> Picture:
        return bar(self.nodes, self.offsets, number, Kind.JOINT_SHAPE)

    @classmethod
    def coordinate_batch(cls, joints: Sequence[DistanceJoint], name: str, number: Numbering) -> CoordinateBatch:
        """Changes of lengths in m."""
        return stretches(joints, number)


def stretches(rods: Sequence[DistanceJoint], number: Numbering) -> LineLengths:
    """Changes of lengths, zero as built."""
    built, points = np.array([rod.built for rod in rods]), np.array([rod.offsets for rod in rods])
    return LineLengths(node_rows(rods, number), points, SHORT * built, rods, built)


class DistanceContext(NamedTuple):
    """What further derivatives need of an evaluation."""

    t: float
    line: Line


class DistanceBatch(ConstraintBatch, of=DistanceJoint):
    """Rods as arrays."""

    owners: Sequence[DistanceJoint]

    def __init__(self, rods: Sequence[DistanceJoint], number: Numbering) -> None:
        super().__init__(rods, number)
        self._end, self._stretches = number.end, stretches(rods, number)
        self._drives = [(k, rod.drive) for k, rod in enumerate(rods) if rod.drive is not None]

    def at(self, t: float) -> tuple[float, Array]:
        """The time and by how much rods are longer than as built."""
        longer = np.zeros(len(self.nodes))
        for k, drive in self._drives:
            longer[k], built = evaluate(drive, t, self.owners[k], None), self.owners[k].built
            if (left := built + longer[k]) < SHORT * built:
                raise MotionError(
                    f"{self.owners[k]}: its drive, {longer[k]:.6g} m at t = {t:.6g} s, leaves {left:.6g} m of the "
                    f"{built:.6g} m as built"
                )
        return t, longer

    def met(self, motion: Motion) -> tuple[float, Array]:
        return motion.t, np.zeros(len(self.nodes))

    def check_start(self, motion: Motion) -> None:
        """Refuse drives that do not begin at the length that is there."""
        begins = self.at(0.0)[1]
        stands = self._stretches.evaluate(motion).value
        for k, _ in self._drives:
            if abs(begins[k] - stands[k]) > TOLERANCE:
                raise ModelError(
                    f"{self.owners[k]}: its drive must be {rounded(stands[k]):g} at t = 0, where the joint stands as "
                    f"it was built, received {begins[k]:.6g} m; subtract what is too much, or let model.assemble() "
                    "bring the joint to where its drive begins"
                )

    def evaluate(self, motion: Motion, prescribed: tuple[float, Array]) -> tuple[Array, Array, DistanceContext]:
        t, longer = prescribed
        measured = self._stretches.evaluate(motion)
        return measured.value - longer, measured.gradient, DistanceContext(t, measured.context)

    def second(self, context: DistanceContext) -> Array:
        return self._stretches.second(context.line)

    def rates(self, context: DistanceContext) -> Rates | None:
        if not self._drives:
            return None
        first, second = np.zeros((2, len(self.nodes)))
        for k, drive in self._drives:
            rate = derivatives(drive, context.t, self.owners[k], None, self._end)
            first[k], second[k] = -float(rate[0]), -float(rate[1])
        return Rates(first, np.zeros((len(self.nodes), 12)), second)
