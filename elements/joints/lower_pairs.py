"""The lower pairs, spherical, revolute, prismatic, cylindrical, planar and fixed joints, and joints that close less.

A joint is declared by what it closes; how it is built is that of one of three bases: about an axis, on a plane, or with
a common point. The others keep a point on a line or in a plane, axes parallel, nodes from turning, or any of the six
motions.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Direction, NodeLike, Vector3, checked
from fem_mbs.contracts.arguments import Flags, RotationLike
from fem_mbs.elements.joints.frames import axes_about, axes_in, turned_to
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS, RelativeJoint
from fem_mbs.elements.joints.relative_batch import Displacement, Drive
from fem_mbs.errors import ModelError


@checked
class AxisJoint(RelativeJoint):
    """Base of joints about an axis, z: an axis of node a and one of node b, which coincide as built."""

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        axis: Direction,
        point: Vector3 | None = None,
        *,
        drive: Drive | None = None,
        point_b: Vector3 | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        """Made of two nodes, and the axis and a point of it as built.

        Parameters
        ----------
        a : Node
            The node with which the axis moves, such as the ground.
        b : Node
            The node that moves against it.
        axis : (3,)
            Axis at t = 0, world frame; it turns with node a.
        point : (3,), optional
            The point of node b that is on the axis, at t = 0, world frame; by default the position of node b (the
            origin if that is the ground).
        drive : function of t, optional
            What prescribes the coordinate of a joint with one: in m or rad, 0 at the start, for t >= 0. Methods
            ``velocity(t)`` and ``acceleration(t)`` are used where it has them (see :class:`SpinUp`), else differences.
            Where it starts elsewhere, below a quarter turn, :meth:`Model.assemble` brings the joint there.
        point_b : (3,), optional
            The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings it there.
        axis_b : (3,), optional
            The axis on node b, if it is not yet along ``axis``: :meth:`Model.assemble` turns it there.
        """
        axes = axes_about(np.asarray(axis), a)
        label = f"{type(self).__name__} on {a}, {b}"
        axes_b = None if axis_b is None else turned_to(axes, np.asarray(axis_b), label)
        super().__init__(a, b, point, axes, drive=drive, point_b=point_b, axes_b=axes_b)


class RevoluteJoint(AxisJoint):
    """A hinge between two nodes; ``drive`` is the relative angle of b against a about the axis in rad."""

    closes = (*TRANSLATIONS, "rotation x", "rotation y")


class PrismaticJoint(AxisJoint):
    """A slide: node b moves along an axis of node a and does not turn against it.

    Its coordinate, which ``drive`` prescribes, is "translation z" in m. Reactions at the point of b, which moves along
    the axis.
    """

    closes = ("translation x", "translation y", *ROTATIONS)


class CylindricalJoint(AxisJoint):
    """A shaft in a sleeve: node b slides along an axis of node a and turns about it.

    Its coordinates are "translation z" in m and "rotation z" in rad.
    """

    closes = ("translation x", "translation y", "rotation x", "rotation y")


@checked
class PlaneJoint(RelativeJoint):
    """Base of joints on a plane of node a, whose normal is z."""

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        normal: Direction,
        point: Vector3 | None = None,
        *,
        x_axis: Direction | None = None,
        point_b: Vector3 | None = None,
        normal_b: Direction | None = None,
    ) -> None:
        """Made of two nodes, and the plane and a point of it as built.

        Parameters
        ----------
        a : Node
            The node with which the plane moves, such as the ground.
        b : Node
            The node that moves against it.
        normal : (3,)
            Normal of the plane at t = 0, world frame; it turns with node a.
        point : (3,), optional
            The point of node b that stays in the plane, at t = 0, world frame; by default the position of node b.
        x_axis : (3,), optional
            Direction of "translation x", across the normal, at t = 0, world frame; by default that of the axes of
            node a that is most across, x before y before z, as far as it is across.
        point_b : (3,), optional
            The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings it there.
        normal_b : (3,), optional
            The normal on node b, if it is not yet along ``normal``: :meth:`Model.assemble` turns it there. It counts
            where node b cannot tilt.
        """
        label = f"{type(self).__name__} on {a}, {b}"
        axes = axes_in(np.asarray(normal), x_axis, a, label)
        axes_b = None if normal_b is None else turned_to(axes, np.asarray(normal_b), label, ("normal", "normal_b"))
        super().__init__(a, b, point, axes, point_b=point_b, axes_b=axes_b)


class PlanarJoint(PlaneJoint):
    """A puck on a table: node b moves in a plane of node a and turns about its normal.

    Its coordinates are "translation x", "translation y", in directions that turn with node a, and "rotation z".
    """

    closes = ("translation z", "rotation x", "rotation y")


@checked
class PointJoint(RelativeJoint):
    """Base of joints that keep a point of node a and a point of node b together."""

    _axes: Array | None = None
    """World frame; by default those of node a."""

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        point: Vector3 | None = None,
        *,
        displacement: Displacement | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        """Made of two nodes and their common point as built.

        Parameters
        ----------
        a : Node
            The node with which the axes of the joint turn, such as the ground.
        b : Node
            The node that moves against it.
        point : (3,), optional
            The common point at t = 0, where reactions are given, world frame; by default the position of node b.
        displacement : function of t, optional
            How far the point of b is from that of a, (3,): world directions at t = 0, which then turn with a; 0 at the
            start. Derivatives as for a drive, see :class:`RevoluteJoint`.
        point_b : (3,), optional
            The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings them together.
        """
        super().__init__(a, b, point, self._axes, displacement=displacement, point_b=point_b)


class SphericalJoint(PointJoint):
    """Keep a point of node a and a point of node b together; all rotations are free.

    The three multipliers are the force of the joint on node a along its axes, minus that on node b. Its coordinates are
    the components of the rotation vector of b against a along the axes of node a, for rotations below half a turn.
    """

    closes = TRANSLATIONS


class FixedJoint(PointJoint):
    """Weld two nodes together as they stand at t = 0.

    The multipliers are forces and moments along the axes of the world as they were at t = 0, which turn with node a.
    """

    closes = TRANSLATIONS + ROTATIONS
    _axes = np.eye(3)


@checked
class PointOnLineJoint(AxisJoint):
    """Keep a point of node b on a line of node a, its axis; all rotations are free.

    Its coordinates are "translation z" in m, and the components of the rotation vector of b against a, for rotations
    below half a turn.
    """

    closes = ("translation x", "translation y")

    def __init__(
        self, a: NodeLike, b: NodeLike, axis: Direction, point: Vector3 | None = None, *, point_b: Vector3 | None = None
    ) -> None:
        """As :class:`RevoluteJoint`; there is no axis on node b."""
        super().__init__(a, b, axis, point, point_b=point_b)


@checked
class PointOnPlaneJoint(PlaneJoint):
    """Keep a point of node b in a plane of node a; all rotations are free.

    Its coordinates are "translation x", "translation y" in m, and the components of the rotation vector of b against a,
    for rotations below half a turn.
    """

    closes = ("translation z",)

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        normal: Direction,
        point: Vector3 | None = None,
        *,
        x_axis: Direction | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        """As :class:`PlanarJoint`; there is no normal on node b."""
        super().__init__(a, b, normal, point, x_axis=x_axis, point_b=point_b)


class ParallelAxesJoint(AxisJoint):
    """Keep an axis of node b parallel to one of node a; all translations are free.

    Its coordinates are the translations in m of the point of node b along the axis, "translation z", and across, and
    "rotation z" in rad.
    """

    closes = ("rotation x", "rotation y")


@checked
class OrientationJoint(RelativeJoint):
    """Keep two nodes from turning against each other; all translations are free.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    axes_b : (3, 3) or scipy Rotation, optional
        What of node b, as columns in the world frame at t = 0, is to be along the axes of the world; where it is not
        yet, :meth:`Model.assemble` turns it there.

    Notes
    -----
    Its coordinates are the translations of node b along the axes of the world as they were at t = 0 and turn with a.
    """

    closes = ROTATIONS

    def __init__(self, a: NodeLike, b: NodeLike, *, axes_b: RotationLike | None = None) -> None:
        super().__init__(a, b, None, np.eye(3), axes_b=axes_b)


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
    drive : function of t, optional
        What prescribes the one motion that is left; as the drive of :class:`RevoluteJoint`.
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
        drive: Drive | None = None,
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
