"""What joints look like: what follows shows the free rotations, what it moves on the free translations.

A ball turns freely, a cross about two axes, a cylinder about one, a cube not at all; it slides on a rail or on a plate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Placed, Shape
from fem_mbs.elements.joints.coordinates import AXES
from fem_mbs.elements.shapes import Ball, Box, Cylinder

if TYPE_CHECKING:
    from fem_mbs.elements.joints.relative import RelativeJoint


def shapes_of(joint: RelativeJoint, size: float) -> list[Placed]:
    """Shapes on both nodes of a joint, about as large as ``size`` in m."""
    a, b = joint.nodes
    axes_a, axes_b, point_a, point_b = joint.frame
    slides, turns = (
        [k for k, axis in enumerate(AXES) if f"{kind} {axis}" not in joint.closes]
        for kind in ("translation", "rotation")
    )
    placed = [Placed(a, base) for base in _base(slides, axes_a, point_a, size)]
    if len(turns) == 2:
        ((first, second),) = joint.cosines
        pins = (a, axes_a[:, first], point_a), (b, axes_b[:, second], point_b)
        return placed + [Placed(node, Cylinder(0.2 * size, 2.0 * size, axis, center=at)) for node, axis, at in pins]
    return [*placed, Placed(b, _follower(slides, turns, axes_b, point_b, size))]


def _base(slides: list[int], axes: Array, point: Array, size: float) -> list[Shape]:
    """A rail along one free translation, a plate along two."""
    if len(slides) == 1:
        return [Cylinder(0.2 * size, 4.0 * size, axes[:, slides[0]], center=point)]
    if len(slides) == 2:
        return [Box(size * np.where(np.isin(range(3), slides), 1.8, 0.1), center=point, rotation=axes)]
    return []


def _follower(slides: list[int], turns: list[int], axes: Array, point: Array, size: float) -> Shape:
    """A ball, a cylinder, or a box that is long along a rail."""
    if len(turns) == 3:
        return Ball(0.6 * size, center=point)
    if len(turns) == 1:
        return Cylinder(0.5 * size, 1.6 * size, axes[:, turns[0]], center=point)
    long = 1.6 if len(slides) == 1 else 0.8
    return Box(size * np.where(np.isin(range(3), slides), long, 0.8), center=point, rotation=axes)
