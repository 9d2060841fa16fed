"""The lower pairs: spherical, revolute, prismatic, cylindrical, planar and fixed joints."""

from __future__ import annotations

import numpy as np

from fem_mbs.contracts import Direction, Node, Vector3, checked
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
class RevoluteJoint(RelativeJoint):
    """A hinge between two nodes.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    axis : (3,)
        Axis at t = 0, world frame.
    point : (3,), optional
        A point on the axis at t = 0, world frame; by default the position of node b (the origin if that is the
        ground).
    drive : function of t, optional
        Relative angle of b against a about the axis in rad, 0 at the start, for t >= 0. Methods ``velocity(t)`` and
        ``acceleration(t)`` are used where it has them (see :class:`SpinUp`), else differences. Where it starts at
        another angle, below a quarter turn, :meth:`Model.assemble` turns the joint there.
    point_b, axis_b : (3,), optional
        The point and the axis on node b, if they are not yet at ``point`` and along ``axis``: :meth:`Model.assemble`
        brings them together.
    """

    closes = (*TRANSLATIONS, "rotation x", "rotation y")

    def __init__(
        self,
        a: Node,
        b: Node,
        axis: Direction,
        point: Vector3 | None = None,
        *,
        drive: DriveLike | None = None,
        point_b: Vector3 | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        axes = axes_about(np.asarray(axis), a)
        axes_b = None if axis_b is None else turned_to(axes, np.asarray(axis_b), f"RevoluteJoint on {a}, {b}")
        super().__init__(a, b, point, axes, drive=drive, point_b=point_b, axes_b=axes_b)


@checked
class PrismaticJoint(RelativeJoint):
    """A slide: node b moves along an axis of node a and does not turn against it.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    axis : (3,)
        Axis at t = 0, world frame; it turns with node a.
    point : (3,), optional
        The point of node b that stays on the axis, at t = 0, world frame; by default the position of node b.
    drive : function of t, optional
        How far b has moved along the axis in m, 0 at the start, for t >= 0. Derivatives, and where it starts elsewhere,
        as for :class:`RevoluteJoint`.
    point_b, axis_b : (3,), optional
        The point and the axis on node b, if they are not yet at ``point`` and along ``axis``: :meth:`Model.assemble`
        brings them together.

    Notes
    -----
    Its coordinate is "translation z". Reactions at the point of b, which moves along the axis.
    """

    closes = ("translation x", "translation y", *ROTATIONS)

    def __init__(
        self,
        a: Node,
        b: Node,
        axis: Direction,
        point: Vector3 | None = None,
        *,
        drive: DriveLike | None = None,
        point_b: Vector3 | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        axes = axes_about(np.asarray(axis), a)
        axes_b = None if axis_b is None else turned_to(axes, np.asarray(axis_b), f"PrismaticJoint on {a}, {b}")
        super().__init__(a, b, point, axes, drive=drive, point_b=point_b, axes_b=axes_b)


@checked
class CylindricalJoint(RelativeJoint):
    """A shaft in a sleeve: node b slides along an axis of node a and turns about it.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    axis : (3,)
        Axis at t = 0, world frame.
    point : (3,), optional
        The point of node b that stays on the axis, at t = 0, world frame; by default the position of node b.
    drive : dict of functions of t, optional
        What prescribes "translation z" in m, "rotation z" in rad, or both; as the drive of :class:`RevoluteJoint`.
    point_b, axis_b : (3,), optional
        The point and the axis on node b, if they are not yet at ``point`` and along ``axis``: :meth:`Model.assemble`
        brings them together.

    Notes
    -----
    Its coordinates are "translation z" and "rotation z".
    """

    closes = ("translation x", "translation y", "rotation x", "rotation y")

    def __init__(
        self,
        a: Node,
        b: Node,
        axis: Direction,
        point: Vector3 | None = None,
        *,
        drive: DriveLike | None = None,
        point_b: Vector3 | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        axes = axes_about(np.asarray(axis), a)
        axes_b = None if axis_b is None else turned_to(axes, np.asarray(axis_b), f"CylindricalJoint on {a}, {b}")
        super().__init__(a, b, point, axes, drive=drive, point_b=point_b, axes_b=axes_b)


@checked
class SphericalJoint(RelativeJoint):
    """Keep a point of node a and a point of node b together; all rotations are free.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point : (3,), optional
        The common point at t = 0, world frame; by default the position of node b.
    displacement : function of t, optional
        How far the point of b is from that of a, (3,): world directions at t = 0, which then turn with a; 0 at the
        start. Derivatives as for a drive, see :class:`RevoluteJoint`.
    point_b : (3,), optional
        The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings them together.

    Notes
    -----
    The three multipliers are the force of the joint on node a along its axes, minus that on node b. Its coordinates are
    the components of the rotation vector of b against a along the axes of node a, for rotations below half a turn.
    """

    closes = TRANSLATIONS

    def __init__(
        self,
        a: Node,
        b: Node,
        point: Vector3 | None = None,
        *,
        displacement: Displacement | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point, displacement=displacement, point_b=point_b)

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Nodes that its point is not at; both if the point moves along axes of node a."""
        if self.drives.acts:
            return self.nodes
        return levers(self.nodes, self.offsets)


@checked
class PlanarJoint(RelativeJoint):
    """A puck on a table: node b moves in a plane of node a and turns about its normal.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    normal : (3,)
        Normal of the plane at t = 0, world frame.
    point : (3,), optional
        The point of node b that stays in the plane, at t = 0, world frame; by default the position of node b.
    drive : dict of functions of t, optional
        What prescribes "translation x" and "translation y" in m, "rotation z" in rad, or some of these; as the drive of
        :class:`RevoluteJoint`.
    x_axis : (3,), optional
        Direction of "translation x", across the normal, at t = 0, world frame; by default one that turns with a.
    point_b, normal_b : (3,), optional
        The point and the normal on node b, if they are not yet at ``point`` and along ``normal``:
        :meth:`Model.assemble` brings them together.

    Notes
    -----
    Its coordinates are "translation x", "translation y", in directions that turn with node a, and "rotation z".
    """

    closes = ("translation z", "rotation x", "rotation y")

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
        normal_b: Direction | None = None,
    ) -> None:
        label = f"PlanarJoint on {a}, {b}"
        axes = axes_in(np.asarray(normal), x_axis, a, label)
        axes_b = None if normal_b is None else turned_to(axes, np.asarray(normal_b), label, ("normal", "normal_b"))
        super().__init__(a, b, point, axes, drive=drive, point_b=point_b, axes_b=axes_b)


@checked
class FixedJoint(RelativeJoint):
    """Weld two nodes together as they stand at t = 0.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point : (3,), optional
        Where reactions are given, world frame at t = 0; by default the position of node b.
    displacement : function of t, optional
        How far the point of b is from that of a, (3,): world directions at t = 0, which then turn with a; 0 at the
        start. Derivatives as for a drive, see :class:`RevoluteJoint`.
    point_b : (3,), optional
        The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings them together.
    """

    closes = TRANSLATIONS + ROTATIONS

    def __init__(
        self,
        a: Node,
        b: Node,
        point: Vector3 | None = None,
        *,
        displacement: Displacement | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point, np.eye(3), displacement=displacement, point_b=point_b)
