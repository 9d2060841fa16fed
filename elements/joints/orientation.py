"""Joints of rotations alone: parallel axes, and no relative rotation at all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fem_mbs.elements.joints.drives import Drive
from fem_mbs.elements.joints.relative import ROTATIONS, RelativeJoint, axes_about, turned_to
from fem_mbs.model import Direction, Node, RotationLike, checked


@checked
class ParallelAxesJoint(RelativeJoint):
    """Keep an axis of node b parallel to one of node a; all translations are free.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    axis : (3,)
        Axis at t = 0, world frame.
    drives : dict of functions of t, optional
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
        drives: Mapping[str, Drive] | None = None,
        axis_b: Direction | None = None,
    ) -> None:
        axes = axes_about(np.asarray(axis))
        axes_b = None if axis_b is None else turned_to(axes, np.asarray(axis_b), f"ParallelAxesJoint on {a}, {b}")
        super().__init__(a, b, None, axes, drives=drives, axes_b=axes_b)


@checked
class OrientationJoint(RelativeJoint):
    """Keep two nodes from turning against each other; all translations are free.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    drives : dict of functions of t, optional
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
        self, a: Node, b: Node, drives: Mapping[str, Drive] | None = None, axes_b: RotationLike | None = None
    ) -> None:
        super().__init__(a, b, None, np.eye(3), drives=drives, axes_b=axes_b)
