"""A joint of any motions, given by six flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from fem_mbs.contracts import Node, RotationLike, Vector3, checked, shown, truth
from fem_mbs.elements.joints.drives import DriveLike
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS, RelativeJoint, levers
from fem_mbs.errors import ModelError


def three_flags(value: object, label: object) -> tuple[bool, ...]:
    """Three truth values, or a :class:`ModelError` that begins with ``label``."""
    several = isinstance(value, list | tuple) or isinstance(value, np.ndarray) and value.ndim == 1
    if not several or len(value) != 3:  # type: ignore[arg-type]
        raise ModelError(f"{label} must be three of True and False, of x, y and z, received {shown(value)}")
    return tuple(truth(flag, label) for flag in value)  # type: ignore[attr-defined]


Flags = Annotated[Sequence[bool], three_flags]


@checked
class GeneralJoint(RelativeJoint):
    """Close any of the six relative motions of two nodes.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    translation, rotation : (3,) of bool
        Which translations along, and rotations about, the axes x, y, z of the joint are closed; all by default.
    point : (3,), optional
        Point of the joint at t = 0, world frame; by default the position of node b.
    axes : (3, 3) or scipy Rotation, optional
        Axes x, y, z of the joint at t = 0 as columns, world frame; by default those of the world. They turn with a.
    drive : dict of functions of t, optional
        What prescribes free translations in m, or the one free rotation in rad, by names such as "translation x"; as
        the drive of :class:`RevoluteJoint`.
    point_b, axes_b : optional
        Point and axes on node b, where the joint is open as built and :meth:`Model.assemble` is to close it.

    Notes
    -----
    Translations are those of the point of b against that of a, along axes of a. One closed rotation makes a universal
    joint of the other two: about z closed, b turns about the axis x of a and the axis y of b, which stay perpendicular;
    about x, about y of a and z of b; about y, about z of a and x of b. Two closed rotations leave the one about the
    third axis, common to both nodes. Its coordinates are the free motions, "translation x" ... "rotation z"; three free
    rotations are the components of the rotation vector, below half a turn.
    """

    def __init__(
        self,
        a: Node,
        b: Node,
        translation: Flags = (True, True, True),
        rotation: Flags = (True, True, True),
        *,
        point: Vector3 | None = None,
        axes: RotationLike | None = None,
        drive: DriveLike | None = None,
        point_b: Vector3 | None = None,
        axes_b: RotationLike | None = None,
    ) -> None:
        flags = zip(TRANSLATIONS + ROTATIONS, (*translation, *rotation), strict=True)
        self.closes = tuple(name for name, closed in flags if closed)
        if not self.closes:
            raise ModelError(f"GeneralJoint on {a}, {b}: closes nothing; set at least one flag to True")
        axes = np.eye(3) if axes is None else axes
        super().__init__(a, b, point, axes, drive=drive, point_b=point_b, axes_b=axes_b)

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Both nodes if a rotation is closed; else those whose axes or levers count."""
        if any(name in self.closes for name in ROTATIONS):
            return self.nodes
        if all(name in self.closes for name in TRANSLATIONS):
            return levers(self.nodes, self.offsets)
        return (self.nodes[0], *levers(self.nodes[1:], self.offsets[1:]))
