"""Two points at one distance, a massless rod, or at most so far apart, a rope.

Both measure the length of a line (``elements/forces/line.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Constraint, Coordinate, CoordinateBatch, Element, Kind, Motion, NodeLike, Picture, lever
from fem_mbs.contracts.arguments import Positive, UnitInterval, Vector3
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.component import Numbering, node_rows
from fem_mbs.contracts.constraint import LawOfTime
from fem_mbs.contracts.unilateral import Gaps, UnilateralBatch, carried_variables
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

    _internal = "law terms"
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

    def laws_of_time(self) -> dict[str, LawOfTime]:
        return {"drive": LawOfTime(self.drive)} if self.drive else {}

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


TOO_SHORT = 1e-9


@checked
class Rope(OnPoints, Element):
    """A rope without mass that does not stretch: it pulls when it is taut.

    Parameters
    ----------
    a, b : Node
        Two nodes.
    length : float
        Of the rope, m.
    point_a, point_b : (3,), optional
        Points of a and of b, world frame, as built; the nodes themselves by default.
    restitution : float
        Share of the speed that comes back when it becomes taut.
    """

    contacts = ("rope",)
    internal_variables = carried_variables(contacts)

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        length: Positive,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
        *,
        restitution: UnitInterval = 0.0,
    ) -> None:
        self.nodes, self.length, self.restitution = two_nodes(type(self), a, b), length, restitution
        self.offsets = lever(a, point_a), lever(b, point_b)
        built = float(np.linalg.norm(b.at(self.offsets[1]) - a.at(self.offsets[0])))
        if built > (1.0 + TOO_SHORT) * length:
            raise ModelError(f"Rope on {a}, {b}: length {length:g} m is shorter than the {built:g} m between its ends")

    def picture(self, number: Numbering, stations: int) -> Picture:
        return bar(self.nodes, self.offsets, number, Kind.LINE)


class RopeBatch(UnilateralBatch, of=Rope):
    """Ropes as arrays."""

    owners: Sequence[Rope]

    def __init__(self, ropes: Sequence[Rope], number: Numbering) -> None:
        super().__init__(ropes, number)
        self._length = np.array([rope.length for rope in ropes])
        self._points = np.array([rope.offsets for rope in ropes])
        self.reach = np.linalg.norm(self._points, axis=-1)
        self.friction = np.zeros((len(ropes), 1))
        self.restitution = np.array([[rope.restitution] for rope in ropes])

    def _ends(self, motion: Motion) -> Array:
        return motion.x[self.nodes] + np.matvec(motion.R[self.nodes], self._points)

    def gaps(self, motion: Motion) -> Array:
        """What ropes are longer than their ends are apart, which may meet while they are slack."""
        ends = self._ends(motion)
        apart = ends[:, 1] - ends[:, 0]
        return np.asarray(self._length - np.sqrt(np.vecdot(apart, apart)))[:, None]

    def opening(self, motion: Motion) -> tuple[Array, Array, Array]:
        """What moves across a rope makes it longer, too."""
        ends, v = self._ends(motion), np.matvec(motion.R[self.nodes], motion.V[self.nodes][..., :3])
        apart, fast = ends[:, 1] - ends[:, 0], v[:, 1] - v[:, 0]
        length = np.maximum(np.sqrt(np.vecdot(apart, apart)), 1e-300)
        rate, square = np.vecdot(apart, fast) / length, np.vecdot(fast, fast)
        return (self._length - length)[:, None], -rate, square / length

    def closing(self, motion: Motion, linear: Array, turn: Array) -> Array:
        return np.add.reduce(np.array([linear[self.nodes], turn[self.nodes] * self.reach]), axis=2)

    def points(self, motion: Motion) -> Array:
        return self._ends(motion)[:, 1:]

    def measure(self, motion: Motion, rows: IntArray, places: IntArray) -> Gaps:
        owners = [self.owners[k] for k in rows]
        lines = LineLengths(self.nodes[rows], self._points[rows], 1e-12 * self._length[rows], owners)
        measured = lines.evaluate(motion)
        G = np.zeros((len(rows), 3, 12))
        G[:, 0] = -measured.gradient
        return Gaps(self._length[rows] - measured.value, G, (lines, measured.context))

    def second(self, gaps: Gaps) -> Array:
        lines, context = gaps.context
        H = np.zeros((len(gaps.gap), 3, 12, 12))
        H[:, 0] = -lines.second(context)
        return H
