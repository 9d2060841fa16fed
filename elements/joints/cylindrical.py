"""Cylindrical joint: frees the translation along an axis and the rotation about it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fem_mbs.elements.joints.drives import Drive
from fem_mbs.elements.joints.relative import RelativeJoint, axes_about, turned_to
from fem_mbs.model import Direction, Node, Vector3, checked


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
    drives : dict of functions of t, optional
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
        drives: Mapping[str, Drive] | None = None,
        point_b: Vector3 | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        axes = axes_about(np.asarray(axis))
        axes_b = None if axis_b is None else turned_to(axes, np.asarray(axis_b), f"CylindricalJoint on {a}, {b}")
        super().__init__(a, b, point, axes, drives=drives, point_b=point_b, axes_b=axes_b)
