"""Joints that close little: a point on a line or in a plane, parallel axes, no rotation; and any of the six motions."""

from __future__ import annotations

import numpy as np

from fem_mbs.contracts import Direction, Flags, Node, NodeLike, RotationLike, Vector3, checked
from fem_mbs.elements.joints.drives import DriveLike
from fem_mbs.elements.joints.lower_pairs import AxisJoint, PlaneJoint
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS, RelativeJoint, levers
from fem_mbs.errors import ModelError


class FreeRotation(RelativeJoint):
    """Mixed into joints that act on a point of node b, however b is turned."""

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Node a, whose axes count, and node b if the point is not at it."""
        return (self.nodes[0], *levers(self.nodes[1:], self.offsets[1:]))

    @property
    def rotation_free(self) -> tuple[Node, ...]:
        """Node b if the point is at it: a point mass on a line needs no rotation."""
        return tuple(node for node in self.nodes if node not in self.rotation_dependent)


@checked
class PointOnLineJoint(FreeRotation, AxisJoint):
    """Keep a point of node b on a line of node a, its axis; all rotations are free.

    Its coordinates are "translation z", which ``drive`` prescribes in m, and the components of the rotation vector of b
    against a, for rotations below half a turn.
    """

    closes = ("translation x", "translation y")

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        axis: Direction,
        point: Vector3 | None = None,
        *,
        drive: DriveLike | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        """As :class:`RevoluteJoint`; there is no axis on node b."""
        super().__init__(a, b, axis, point, drive=drive, point_b=point_b)


@checked
class PointOnPlaneJoint(FreeRotation, PlaneJoint):
    """Keep a point of node b in a plane of node a; all rotations are free.

    Its coordinates are "translation x", "translation y", which ``drive`` prescribes in m, and the components of the
    rotation vector of b against a, for rotations below half a turn.
    """

    closes = ("translation z",)

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        normal: Direction,
        point: Vector3 | None = None,
        *,
        drive: DriveLike | None = None,
        x_axis: Direction | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        """As :class:`PlanarJoint`; there is no normal on node b."""
        super().__init__(a, b, normal, point, drive=drive, x_axis=x_axis, point_b=point_b)


@checked
class ParallelAxesJoint(AxisJoint):
    """Keep an axis of node b parallel to one of node a; all translations are free.

    Its coordinates are the translations of node b in m along the axis, "translation z", and across, and "rotation z" in
    rad; ``drive`` prescribes some of these, by name.
    """

    closes = ("rotation x", "rotation y")

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        axis: Direction,
        *,
        drive: DriveLike | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        """As :class:`RevoluteJoint`; it has no point."""
        super().__init__(a, b, axis, drive=drive, axis_b=axis_b)


@checked
class OrientationJoint(RelativeJoint):
    """Keep two nodes from turning against each other; all translations are free.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    drive : dict of functions of t, optional
        What prescribes "translation x" ... "translation z" in m; as the drive of :class:`PrismaticJoint`.
    axes_b : (3, 3) or scipy Rotation, optional
        What of node b, as columns in the world frame at t = 0, is to be along the axes of the world; where it is not
        yet, :meth:`Model.assemble` turns it there.

    Notes
    -----
    Its coordinates are the translations of node b along the axes of the world as they were at t = 0 and turn with a.
    """

    closes = ROTATIONS

    def __init__(
        self, a: NodeLike, b: NodeLike, *, drive: DriveLike | None = None, axes_b: RotationLike | None = None
    ) -> None:
        super().__init__(a, b, None, np.eye(3), drive=drive, axes_b=axes_b)


@checked
class GeneralJoint(RelativeJoint):
    """Close any of the six relative motions of two nodes.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    translation, rotation : bool or (3,) of bool
        Which translations along, and rotations about, the axes x, y, z of the joint are closed; all by default.
    point : (3,), optional
        Point of the joint at t = 0, world frame; by default the position of node b.
    axes : (3, 3) or scipy Rotation, optional
        Axes x, y, z of the joint at t = 0 as columns, world frame; by default those of the world. They turn with a.
    drive : dict of functions of t, optional
        What prescribes free translations in m, or the one free rotation in rad, by names such as "translation x"; as
        the drive of :class:`RevoluteJoint`.
    point_b, axes_b : optional
        Point and axes on node b, where the joint is open as built and :meth:`Model.assemble` is to close it.

    Notes
    -----
    Translations are those of the point of b against that of a, along axes of a. One closed rotation makes a universal
    joint of the other two: about z closed, b turns about the axis x of a and the axis y of b, which stay perpendicular;
    about x, about y of a and z of b; about y, about z of a and x of b. Two closed rotations leave the one about the
    third axis, common to both nodes. Its coordinates are the free motions, "translation x" ... "rotation z"; three free
    rotations are the components of the rotation vector, below half a turn.
    """

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        translation: Flags = True,
        rotation: Flags = True,
        *,
        point: Vector3 | None = None,
        axes: RotationLike | None = None,
        drive: DriveLike | None = None,
        point_b: Vector3 | None = None,
        axes_b: RotationLike | None = None,
    ) -> None:
        flags = zip(
            TRANSLATIONS + ROTATIONS, (*np.broadcast_to(translation, 3), *np.broadcast_to(rotation, 3)), strict=True
        )
        self.closes = tuple(name for name, closed in flags if closed)
        if not self.closes:
            raise ModelError(f"GeneralJoint on {a}, {b}: closes nothing; set at least one flag to True")
        axes = np.eye(3) if axes is None else axes
        super().__init__(a, b, point, axes, drive=drive, point_b=point_b, axes_b=axes_b)

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Both nodes if a rotation is closed; else those whose axes or levers count."""
        if any(name in self.closes for name in ROTATIONS):
            return self.nodes
        if all(name in self.closes for name in TRANSLATIONS):
            return levers(self.nodes, self.offsets)
        return (self.nodes[0], *levers(self.nodes[1:], self.offsets[1:]))
