"""Revolute joint: frees the rotation about one axis, which a drive can prescribe."""

from __future__ import annotations

from numpy.typing import ArrayLike

from fem_mbs.elements.joints.relative import Drive, RelativeJoint, axes_about
from fem_mbs.errors import ModelError
from fem_mbs.model import Node, direction


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

    cosines: tuple[tuple[int, int], ...] = ((0, 2), (1, 2))

    def __init__(
        self, a: Node, b: Node, axis: ArrayLike, point: ArrayLike | None = None, drive: Drive | None = None
    ) -> None:
        if drive is not None and not callable(drive):
            raise ModelError(f"RevoluteJoint on {a}, {b}: drive must be a function of time, received {drive!r}")
        super().__init__(a, b, point, axes_about(direction(axis, f"RevoluteJoint on {a}, {b}: axis")))
        if drive is not None:
            self.drive = drive
            self.cosines = ((0, 2), (1, 2), (1, 0))
