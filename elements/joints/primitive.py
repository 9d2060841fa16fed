"""Joints that close little: a point on a line or in a plane, parallel axes, and no relative rotation."""

from __future__ import annotations

import numpy as np

from fem_mbs.contracts import Direction, Node, RotationLike, Vector3, checked
from fem_mbs.elements.joints.drives import DriveLike
from fem_mbs.elements.joints.relative import ROTATIONS, RelativeJoint, axes_about, axes_in, levers, turned_to


class PointJoint(RelativeJoint):
    """Base of joints that act on a point of node b, however b is turned."""

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Node a, whose axes count, and node b if the point is not at it."""
        return (self.nodes[0], *levers(self.nodes[1:], self.offsets[1:]))

    @property
    def rotation_free(self) -> tuple[Node, ...]:
        """Node b if the point is at it: a point mass on a line needs no rotation."""
        return tuple(node for node in self.nodes if node not in self.rotation_dependent)


@checked
class PointOnLineJoint(PointJoint):
    """Keep a point of node b on a line of node a; all rotations are free.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    axis : (3,)
        The line's direction at t = 0, world frame; it turns with node a.
    point : (3,), optional
        The point at t = 0, world frame; by default the position of node b.
    drive : function of t, optional
        How far the point has moved along the line in m; as that of :class:`PrismaticJoint`.
    point_b : (3,), optional
        The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings it to the line.

    Notes
    -----
    Its coordinates are "translation z" and the components of the rotation vector of b against a, for rotations below
    half a turn.
    """

    closes = ("translation x", "translation y")

    def __init__(
        self,
        a: Node,
        b: Node,
        axis: Direction,
        point: Vector3 | None = None,
        *,
        drive: DriveLike | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point, axes_about(np.asarray(axis), a), drive=drive, point_b=point_b)


@checked
class PointOnPlaneJoint(PointJoint):
    """Keep a point of node b in a plane of node a; all rotations are free.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    normal : (3,)
        Normal of the plane at t = 0, world frame; it turns with node a.
    point : (3,), optional
        The point at t = 0, world frame; by default the position of node b.
    drive : dict of functions of t, optional
        What prescribes "translation x", "translation y" in m, or both; as the drive of :class:`PrismaticJoint`.
    x_axis : (3,), optional
        Direction of "translation x", across the normal, at t = 0, world frame; by default one that turns with a.
    point_b : (3,), optional
        The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings it to the plane.

    Notes
    -----
    Its coordinates are "translation x", "translation y", and the components of the rotation vector of b against a, for
    rotations below half a turn.
    """

    closes = ("translation z",)

    def __init__(
        self,
        a: Node,
        b: Node,
        normal: Direction,
        point: Vector3 | None = None,
        *,
        drive: DriveLike | None = None,
        x_axis: Direction | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        axes = axes_in(np.asarray(normal), x_axis, a, f"PointOnPlaneJoint on {a}, {b}")
        super().__init__(a, b, point, axes, drive=drive, point_b=point_b)


@checked
class ParallelAxesJoint(RelativeJoint):
    """Keep an axis of node b parallel to one of node a; all translations are free.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    axis : (3,)
        Axis at t = 0, world frame.
    drive : dict of functions of t, optional
        What prescribes "rotation z" in rad, "translation x" ... "translation z" in m, or some of these; as the drive of
        :class:`RevoluteJoint`.
    axis_b : (3,), optional
        The axis on node b, if it is not yet along ``axis``: :meth:`Model.assemble` turns it there.

    Notes
    -----
    Its coordinates are the translations of node b along the axis, "translation z", and across, and "rotation z".
    """

    closes = ("rotation x", "rotation y")

    def __init__(
        self,
        a: Node,
        b: Node,
        axis: Direction,
        *,
        drive: DriveLike | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        axes = axes_about(np.asarray(axis), a)
        axes_b = None if axis_b is None else turned_to(axes, np.asarray(axis_b), f"ParallelAxesJoint on {a}, {b}")
        super().__init__(a, b, None, axes, drive=drive, axes_b=axes_b)


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

    def __init__(self, a: Node, b: Node, *, drive: DriveLike | None = None, axes_b: RotationLike | None = None) -> None:
        super().__init__(a, b, None, np.eye(3), drive=drive, axes_b=axes_b)
