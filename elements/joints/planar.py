"""Planar joint: frees two translations in a plane and the rotation about its normal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fem_mbs.elements.joints.drives import Drive
from fem_mbs.elements.joints.relative import RelativeJoint, axes_in, turned_to
from fem_mbs.model import Direction, Node, Vector3, checked


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
    drives : dict of functions of t, optional
        What prescribes "translation x" and "translation y" in m, "rotation z" in rad, or some of these; as the drive of
        :class:`RevoluteJoint`.
    x_axis : (3,), optional
        Direction of "translation x", perpendicular to the normal, at t = 0, world frame; by default any.
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
        drives: Mapping[str, Drive] | None = None,
        x_axis: Direction | None = None,
        point_b: Vector3 | None = None,
        normal_b: Direction | None = None,
    ) -> None:
        label = f"PlanarJoint on {a}, {b}"
        axes = axes_in(np.asarray(normal), x_axis, label)
        axes_b = None if normal_b is None else turned_to(axes, np.asarray(normal_b), label, ("normal", "normal_b"))
        super().__init__(a, b, point, axes, drives=drives, point_b=point_b, axes_b=axes_b)
