"""Universal joint: frees two rotations, about perpendicular axes of which each node carries one."""

from __future__ import annotations

import numpy as np

from fem_mbs.elements.joints.relative import TRANSLATIONS, RelativeJoint, check_perpendicular
from fem_mbs.model import Direction, Node, Vector3, checked


@checked
class UniversalJoint(RelativeJoint):
    """A Cardan joint: a cross turns in a fork of node a and in a fork of node b.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    axis_a, axis_b : (3,)
        The two axes of the cross, fixed in a and in b, perpendicular, at t = 0, world frame.
    point : (3,), optional
        Centre of the cross at t = 0, world frame; by default the position of node b.
    point_b : (3,), optional
        The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings them together.

    Notes
    -----
    Its coordinates are "rotation x", of the cross against a about ``axis_a``, and "rotation y", of b against the cross
    about ``axis_b``. Both are regular at all angles. Shafts at the angle beta turn at different speeds,
    ``omega_b/omega_a = cos(beta)/(1 - sin(beta)^2 cos(phi)^2)``, where ``phi`` is how far ``axis_a`` is turned out of
    the plane of the shafts; for equal speeds, see :class:`ConstantVelocityJoint`.
    """

    closes = (*TRANSLATIONS, "rotation z")

    def __init__(
        self,
        a: Node,
        b: Node,
        axis_a: Direction,
        axis_b: Direction,
        point: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        x, y = np.asarray(axis_a), np.asarray(axis_b)
        check_perpendicular(x, y, f"UniversalJoint on {a}, {b}: axis_a and axis_b")
        axes = np.stack([x, y, np.cross(x, y)], axis=-1)
        super().__init__(a, b, point, axes, point_b=point_b)
