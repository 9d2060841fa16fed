"""Revolute joint: frees the rotation about one axis, which a drive can prescribe."""

from __future__ import annotations

import numpy as np

from fem_mbs.elements.joints.drives import Drive
from fem_mbs.elements.joints.relative import TRANSLATIONS, RelativeJoint, axes_about, turned_to
from fem_mbs.model import Direction, Node, Vector3, checked


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
        drive: Drive | None = None,
        point_b: Vector3 | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        axes = axes_about(np.asarray(axis))
        axes_b = None if axis_b is None else turned_to(axes, np.asarray(axis_b), f"RevoluteJoint on {a}, {b}")
        drives = {} if drive is None else {"rotation z": drive}
        super().__init__(a, b, point, axes, drives=drives, point_b=point_b, axes_b=axes_b)
