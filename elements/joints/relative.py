"""Joints as closed relative motions of two frames: everything that joints share.

A joint attaches a point and three axes to each of its nodes a and b; points and axes coincide as built. It closes
components of the relative position, measured along axes of node a, and direction cosines between axes of a and b, which
stay regular however far a hinge turns. What it leaves free are its coordinates, which a drive may prescribe
(docs/theory.md, "Joints").
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint, ConstraintBatch, Coordinate, CoordinateBatch, Node, NodeLike, Numbering, lever
from fem_mbs.contracts.arguments import RotationLike, Vector3, shown
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.constraint import LawOfTime
from fem_mbs.contracts.picture import Kind, Picture, Placed, Shape
from fem_mbs.elements.forces.line import bar
from fem_mbs.elements.joints.coordinates import (
    AXES,
    JointCoordinates,
    JointFrame,
    RotationVectors,
    rotation_vector,
    translation,
    turn,
)
from fem_mbs.elements.joints.frames import levers, two_nodes
from fem_mbs.elements.joints.relative_batch import Displacement, Drive, DrivenBatch, RelativeBatch
from fem_mbs.elements.shapes import Ball, Box, Cylinder
from fem_mbs.errors import ModelError

TRANSLATIONS = tuple(f"translation {axis}" for axis in AXES)
ROTATIONS = tuple(f"rotation {axis}" for axis in AXES)


class TurnLimit(NamedTuple):
    """Where a joint ends: ``weights . S >= least`` of the relative rotation, and what to say beyond."""

    weights: Array
    """``(9,)``."""
    least: float
    text: str


@checked
class RelativeJoint(Constraint):
    """Base of the joints; a subclass says which relative motions it closes.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point : (3,), optional
        Point of the joint at t = 0, world frame; by default the position of node b.
    axes : (3, 3), optional
        Axes x, y, z of the joint at t = 0 as columns, world frame; by default those of node a.
    displacement : function of t, optional
        How far the point of b is from that of a, (3,): world directions at t = 0, which then turn with a.
    drive : function of t, optional
        What prescribes the coordinate of a joint with one: 0 at the start, for t >= 0, or :meth:`Model.assemble` goes
        there. A :class:`JointDrive` prescribes any.
    point_b, axes_b : optional
        Point and axes on node b, where the joint is open as built and :meth:`Model.assemble` is to close it; by default
        those above.

    Attributes
    ----------
    closes : tuple of str
        The closed motions, of "translation x" ... "rotation z": along and about the joint's axes.
    free_axis : int
        The axis about which the joint turns, if it is one that has one.
    positions : tuple of int
        Axes of node a along which the points are held together, or at the distance of a drive.
    cosines : tuple of (int, int)
        Pairs (axis of a, axis of b) that stay perpendicular, turned by the drive if there is one.
    limit : TurnLimit, optional
        Where its equations cease to be independent.
    """

    closes: tuple[str, ...] = ()
    limit: TurnLimit | None = None

    _internal = (
        "across angle_law axis closes cosines frame free_axis is_driven limit point_law positions rotation_weights "
        "upright"
    )

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        point: Vector3 | None,
        axes: RotationLike | None = None,
        *,
        displacement: Displacement | None = None,
        drive: Drive | None = None,
        point_b: Vector3 | None = None,
        axes_b: RotationLike | None = None,
    ) -> None:
        self.nodes = two_nodes(type(self), a, b)
        axes = a.rotation if axes is None else np.asarray(axes)
        place = b.position if point is None else np.asarray(point)
        places = place, place if point_b is None else np.asarray(point_b)
        both = axes, axes if axes_b is None else np.asarray(axes_b)
        self.offsets = tuple(lever(node, x) for node, x in zip(self.nodes, places, strict=True))
        self.axes = tuple(node.rotation.T @ own for node, own in zip(self.nodes, both, strict=True))
        self.offset = self.offsets[1]
        self.frame = JointFrame(*self.axes, *self.offsets)
        known = [name for name in self.closes if name in TRANSLATIONS + ROTATIONS]
        if not known or len({*known}) < len(self.closes):
            raise ModelError(
                f"{type(self).__name__}.closes must name motions from 'translation x' to 'rotation z', each once, "
                f"received {shown(self.closes)}"
            )
        free = [k for k, name in enumerate(ROTATIONS) if name not in self.closes]
        self.free_axis = free[0] if len(free) == 1 else 2
        self.drive, self.displacement = drive, displacement
        self.driven = () if drive is None else self._only_coordinate()
        closed = (*self.closes, *self.driven)
        self.positions = tuple(k for k, name in enumerate(TRANSLATIONS) if name in closed)
        self.cosines = self._cosines()
        rotations = (ROTATIONS[3 - i - j] for i, j in self.cosines)
        self.equations = (*(TRANSLATIONS[k] for k in self.positions), *rotations)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:  # type: ignore[override]
        """The motions that the joint leaves free, driven ones included."""
        return tuple(Coordinate(name, name in ROTATIONS) for name in self._measures())

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Both nodes where a rotation is closed; else those that a point is not at, and node a where its axes count."""
        if any(name in ROTATIONS for name in (*self.closes, *self.driven)):
            return self.nodes
        if self.displacement is not None or any(name not in self.closes for name in TRANSLATIONS):
            return (self.nodes[0], *levers(self.nodes[1:], self.offsets[1:]))
        return levers(self.nodes, self.offsets)

    @property
    def rotation_free(self) -> tuple[Node, ...]:
        """Node b, of a point at it that slides on a line or in a plane of node a: point masses need no rotation."""
        if all(name in self.closes for name in TRANSLATIONS):
            return ()
        return tuple(node for node in self.nodes[1:] if node not in self.rotation_dependent)

    def coordinate_key(self, name: str) -> Hashable:
        return RelativeJoint, self._measures()[name]

    @classmethod
    def coordinate_batch(cls, joints: Sequence[RelativeJoint], name: str, number: Numbering) -> CoordinateBatch:
        """Lengths in m, angles in (-pi, pi] rad."""
        measured = joints[0]._measures()[name]
        kind = RotationVectors if measured[0] is rotation_vector else JointCoordinates
        return kind(joints, measured, number)

    def shapes(self, size: float) -> Sequence[Placed]:
        """Shapes on both nodes, about as large as ``size`` in m.

        What follows shows the free rotations, what it moves on the free translations: a ball turns freely, a cross
        about two axes, a cylinder about one, a cube not at all; it slides on a rail or on a plate.
        """
        (a, b), (axes_a, axes_b, point_a, point_b) = self.nodes, self.frame
        slides = [k for k, name in enumerate(TRANSLATIONS) if name not in self.closes]
        turns = [k for k, name in enumerate(ROTATIONS) if name not in self.closes]
        placed = [Placed(a, base) for base in _base(slides, axes_a, point_a, size)]
        if len(turns) == 2:
            ((first, second),) = self.cosines
            pins = (a, axes_a[:, first], point_a), (b, axes_b[:, second], point_b)
            return placed + [Placed(node, Cylinder(0.2 * size, 2.0 * size, axis, center=at)) for node, axis, at in pins]
        return [*placed, Placed(b, _follower(slides, turns, axes_b, point_b, size))]

    def picture(self, number: Numbering, stations: int) -> Picture | None:
        """The way from its point on node a to that on node b, of a joint that slides along one axis."""
        slides = len(set(TRANSLATIONS) - set(self.closes)) == 1
        return bar(self.nodes, self.offsets, number, Kind.JOINT_SHAPE) if slides else None

    @classmethod
    def batch(cls, constraints: Sequence[RelativeJoint], number: Numbering) -> ConstraintBatch:
        """All joints of a model, whatever motions they close."""
        driven = any(joint.is_driven for joint in constraints)
        return DrivenBatch(constraints, number) if driven else RelativeBatch(constraints, number)

    def _measures(self) -> dict[str, tuple]:  # type: ignore[type-arg]
        """Functions of the relative placement that measure the free motions, by name, with their arguments."""
        found = {name: (translation, k) for k, name in enumerate(TRANSLATIONS) if name not in self.closes}
        free = [k for k, name in enumerate(ROTATIONS) if name not in self.closes]
        if len(free) == 3:
            return found | {ROTATIONS[k]: (rotation_vector, k) for k in free}
        if len(free) == 2:
            # a_i stays perpendicular to b_j: turning about a_i moves b_j, turning about b_j moves a_i
            ((i, j),) = self.cosines
            return found | {ROTATIONS[i]: (turn, i, True), ROTATIONS[j]: (turn, j, False)}
        return found | {ROTATIONS[k]: (turn, k, True) for k in free}

    def rotation_weights(self) -> list[Array]:
        """Weights ``(3, 3)`` of the relative rotation in the equations that close rotations."""
        return [np.outer(self.axes[0][:, i], self.axes[1][:, j]) for i, j in self.cosines]

    def across(self) -> Array:
        """Weights ``(3, 3)`` of the relative rotation in the cosine of the driven angle; zero without one."""
        k = (self.free_axis + 1) % 3
        return (self.angle_law is not None) * np.outer(self.axes[0][:, k], self.axes[1][:, k])

    def upright(self) -> Array:
        """Weights ``(3, 9)`` of the relative rotation in the cosines of axes that stay together; zero of others."""
        closed = [name in self.closes for name in ROTATIONS]
        weights = np.zeros((3, 9))
        if sum(closed) > 1:
            for k in range(3) if all(closed) else (self.free_axis,):
                weights[k] = np.outer(self.axes[0][:, k], self.axes[1][:, k]).ravel()
        return weights

    def _cosines(self) -> tuple[tuple[int, int], ...]:
        closed = [k for k, name in enumerate(ROTATIONS) if name in self.closes]
        if len(closed) < 2:
            return tuple(((k + 1) % 3, (k + 2) % 3) for k in closed)
        f = self.free_axis
        i, j = (f + 1) % 3, (f + 2) % 3
        together = ((i, f), (j, f))
        return (*together, (j, i)) if len(closed) == 3 or self.angle_law else together

    def _only_coordinate(self) -> tuple[str]:
        """The coordinate that a drive prescribes."""
        free = [name for name in TRANSLATIONS + ROTATIONS if name not in self.closes]
        if len(free) != 1:
            several = ", ".join(map(repr, free)) or "none"
            raise ModelError(
                f"{type(self).__name__} on {', '.join(map(str, self.nodes))}: drive prescribes the coordinate of a "
                f"joint with one, and this one has {several}; model.add(JointDrive(joint, law, coordinate=...)) "
                "prescribes any"
            )
        return (free[0],)

    @property
    def is_driven(self) -> bool:
        """Whether there are any laws."""
        return self.drive is not None or self.displacement is not None

    def laws_of_time(self) -> dict[str, LawOfTime]:
        drive = LawOfTime(self.drive, turns=self.angle_law is not None) if self.drive else None
        displacement = LawOfTime(self.displacement, 3) if self.displacement else None
        return {name: own for name, own in (("drive", drive), ("displacement", displacement)) if own}

    @property
    def angle_law(self) -> Drive | None:
        """What prescribes its angle, in rad."""
        return self.drive if self.driven and self.driven[0] in ROTATIONS else None

    @property
    def point_law(self) -> tuple[Array, Displacement, int | None] | None:
        """What moves the point of b: directions (3, s) in frame a, the law, and how many components that returns."""
        if self.displacement is not None:
            return self.nodes[0].rotation.T, self.displacement, 3
        if self.drive is None or self.driven[0] in ROTATIONS:
            return None
        return self.axes[0][:, [TRANSLATIONS.index(self.driven[0])]], self.drive, None


def _base(slides: list[int], axes: Array, point: Array, size: float) -> list[Shape]:
    """A rail along one free translation, a plate along two."""
    if len(slides) == 1:
        return [Cylinder(0.2 * size, 4.0 * size, axes[:, slides[0]], center=point)]
    if len(slides) == 2:
        return [Box(size * np.where(np.isin(range(3), slides), 1.8, 0.1), center=point, rotation=axes)]
    return []


def _follower(slides: list[int], turns: list[int], axes: Array, point: Array, size: float) -> Shape:
    """A ball, a cylinder, or a box that is long along a rail."""
    if len(turns) == 3:
        return Ball(0.6 * size, center=point)
    if len(turns) == 1:
        return Cylinder(0.5 * size, 1.6 * size, axes[:, turns[0]], center=point)
    long = 1.6 if len(slides) == 1 else 0.8
    return Box(size * np.where(np.isin(range(3), slides), long, 0.8), center=point, rotation=axes)
