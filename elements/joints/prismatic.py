"""Prismatic joint: frees the translation along one axis, which a drive can prescribe."""

from __future__ import annotations

import numpy as np

from fem_mbs.elements.joints.drives import Drive
from fem_mbs.elements.joints.relative import ROTATIONS, RelativeJoint, axes_about, turned_to
from fem_mbs.model import Direction, Node, Vector3, checked


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
        drive: Drive | None = None,
        point_b: Vector3 | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        axes = axes_about(np.asarray(axis))
        axes_b = None if axis_b is None else turned_to(axes, np.asarray(axis_b), f"PrismaticJoint on {a}, {b}")
        drives = {} if drive is None else {"translation z": drive}
        super().__init__(a, b, point, axes, drives=drives, point_b=point_b, axes_b=axes_b)
