"""Revolute joint: frees the rotation about one axis, which a drive can prescribe."""

from __future__ import annotations

import numpy as np

from fem_mbs.elements.joints.drives import Drive
from fem_mbs.elements.joints.relative import TRANSLATIONS, RelativeJoint, axes_about
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
        ``acceleration(t)`` are used where it has them (see :class:`SpinUp`), else differences.
    """

    closes = (*TRANSLATIONS, "rotation x", "rotation y")

    def __init__(
        self, a: Node, b: Node, axis: Direction, point: Vector3 | None = None, drive: Drive | None = None
    ) -> None:
        axes = axes_about(np.asarray(axis))
        super().__init__(a, b, point, axes, drives={} if drive is None else {"rotation z": drive})
