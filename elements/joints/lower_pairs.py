"""The lower pairs: spherical, revolute, prismatic, cylindrical, planar and fixed joints.

A joint is declared by what it closes; how it is built is that of one of three bases: about an axis, on a plane, or with
a common point.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Direction, Node, NodeLike, Vector3, checked
from fem_mbs.elements.joints.drives import Displacement, DriveLike
from fem_mbs.elements.joints.relative import (
    ROTATIONS,
    TRANSLATIONS,
    RelativeJoint,
    axes_about,
    axes_in,
    levers,
    turned_to,
)


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
        drive: DriveLike | None = None,
        point_b: Vector3 | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        """A joint about an axis.

        Parameters
        ----------
        a, b : Node
            Any two nodes.
        axis : (3,)
            Axis at t = 0, world frame; it turns with node a.
        point : (3,), optional
            The point of node b that is on the axis, at t = 0, world frame; by default the position of node b (the
            origin if that is the ground).
        drive : function of t, or dict of these, optional
            What prescribes the one coordinate, or several by their names: in m or rad, 0 at the start, for t >= 0.
            Methods ``velocity(t)`` and ``acceleration(t)`` are used where it has them (see :class:`SpinUp`), else
            differences. Where it starts elsewhere, below a quarter turn, :meth:`Model.assemble` brings the joint there.
        point_b, axis_b : (3,), optional
            The point and the axis on node b, if they are not yet at ``point`` and along ``axis``:
            :meth:`Model.assemble` brings them together.
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

    Its coordinates are "translation z" in m and "rotation z" in rad, of which ``drive`` prescribes some, by name.
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
        drive: DriveLike | None = None,
        x_axis: Direction | None = None,
        point_b: Vector3 | None = None,
        normal_b: Direction | None = None,
    ) -> None:
        """A joint on a plane.

        Parameters
        ----------
        a, b : Node
            Any two nodes.
        normal : (3,)
            Normal of the plane at t = 0, world frame; it turns with node a.
        point : (3,), optional
            The point of node b that stays in the plane, at t = 0, world frame; by default the position of node b.
        drive : dict of functions of t, optional
            What prescribes coordinates, by their names, in m and rad; as the drive of :class:`RevoluteJoint`.
        x_axis : (3,), optional
            Direction of "translation x", across the normal, at t = 0, world frame; by default one that turns with a.
        point_b, normal_b : (3,), optional
            The point and the normal on node b, if they are not yet at ``point`` and along ``normal``:
            :meth:`Model.assemble` brings them together. The normal on node b counts where it cannot tilt.
        """
        label = f"{type(self).__name__} on {a}, {b}"
        axes = axes_in(np.asarray(normal), x_axis, a, label)
        axes_b = None if normal_b is None else turned_to(axes, np.asarray(normal_b), label, ("normal", "normal_b"))
        super().__init__(a, b, point, axes, drive=drive, point_b=point_b, axes_b=axes_b)


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
        """A joint with a common point.

        Parameters
        ----------
        a, b : Node
            Any two nodes.
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

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Nodes that its point is not at; both if the point moves along axes of node a."""
        return self.nodes if self.drives.acts else levers(self.nodes, self.offsets)


class FixedJoint(PointJoint):
    """Weld two nodes together as they stand at t = 0.

    The multipliers are forces and moments along the axes of the world as they were at t = 0, which turn with node a.
    """

    closes = TRANSLATIONS + ROTATIONS
    _axes = np.eye(3)
