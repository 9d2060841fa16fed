"""Elements that pull two points of two nodes together: the length of a line as a coordinate.

The points ``p_i = x_i + R_i c_i`` are at the distance ``length``, which body increments change by ``G`` and whose
gradient they change by ``H``: with the unit vector ``e`` from a to b and ``F = d(p_b - p_a)``, ``G = e^T F`` and
``H = F^T (I - e e^T) F/length + (d F^T) e`` (docs/theory.md, "Lines").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.coordinate_law import CoordinateLawBatch
from fem_mbs.elements.line_picture import LinePicture
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.lie import so3
from fem_mbs.model import (
    CoordinateBatch,
    Element,
    Measured,
    Node,
    Numbering,
    Picture,
    Vector3,
    checked,
    node_rows,
)

COINCIDE = 1e-12
"""Points nearer than this share of the line as built are one point."""


@checked
class LineElement(Element):
    """Base of elements along the line from a point of node a to a point of node b.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point_a, point_b : (3,), optional
        The points in the node frames; the nodes themselves by default.

    Attributes
    ----------
    built : float
        Distance of the points as built.
    """

    def __init__(self, a: Node, b: Node, point_a: Vector3 | None, point_b: Vector3 | None) -> None:
        kind = type(self).__name__
        self.nodes = (a, b)
        self.points = tuple(np.zeros(3) if point is None else np.asarray(point) for point in (point_a, point_b))
        start, end = (node.position + node.rotation @ c for node, c in zip(self.nodes, self.points, strict=True))
        self.built = float(np.linalg.norm(end - start))
        if self.built <= COINCIDE * max(np.abs(start).max(), np.abs(end).max()):
            raise ModelError(
                f"{kind} on {a}, {b}: its two points are at the same place, {start}; the line has no length"
            )

    def picture(self, number: Numbering, stations: int) -> Picture:
        """A coil, or a cylinder if it is active; a line with ``stations = 2``."""
        return LinePicture(self, np.array([number(node) for node in self.nodes]), stations)


class Line(NamedTuple):
    """What the second derivatives of lengths follow from."""

    R: Array
    """Rotations of the nodes, ``(n, 2, 3, 3)``."""
    e: Array
    """Unit vectors from point a to point b, world frame, ``(n, 3)``."""
    length: Array
    F: Array
    """Derivatives of the vectors from a to b against body increments, ``(n, 3, 12)``."""
    G: Array
    """Derivatives of the lengths, ``(n, 12)``."""


class LineLengths(CoordinateBatch):
    """Distances of points of two nodes each.

    Parameters
    ----------
    nodes : (n, 2)
        Rows of the nodes.
    points : (n, 2, 3)
        Points in the node frames.
    shortest : (n,)
        Distances below which two points are one.
    owners : list
        Whose lines they are, for messages.
    """

    def __init__(self, nodes: IntArray, points: Array, shortest: Array, owners: Sequence[object]) -> None:
        self.nodes, self.points = nodes, points
        self._lever, self._shortest, self._owners = so3.skew(points), shortest, owners

    def measure(self, x: Array, R: Array, u: Array) -> Measured:
        """Lengths and their gradients."""
        ends = x + np.matvec(R, self.points)
        along = ends[:, 1] - ends[:, 0]
        length = np.linalg.norm(along, axis=-1)
        if (length <= self._shortest).any():
            row = int(np.argmin(length - self._shortest))
            raise MotionError(
                f"{self._owners[row % len(self._owners)]}: its two points meet, where the line between them has no "
                "direction; shorten the step, or keep the points apart"
            )
        e = along / length[:, None]
        moved = np.concatenate([R, -R @ self._lever], axis=-1)
        F = np.concatenate([-moved[:, 0], moved[:, 1]], axis=-1)
        G = np.vecmat(e, F)
        return Measured(length, G, Line(R, e, length, F, G))

    def second(self, context: Line) -> Array:
        """``H`` (n, 12, 12)."""
        across = (context.F - context.e[:, :, None] * context.G[:, None]) / context.length[:, None, None]
        H = context.F.mT @ across
        turned = so3.skew(np.vecmat(context.e[:, None], context.R))
        for k, (sign, rotation) in enumerate(((-1.0, slice(3, 6)), (1.0, slice(9, 12)))):
            H[:, 6 * k : 6 * k + 3, rotation] += sign * turned[:, k]
            H[:, 6 * k + 3 : 6 * k + 6, rotation] += sign * self._lever[:, k] @ turned[:, k]
        return H


def lengths_of(elements: Sequence[LineElement], number: Numbering) -> LineLengths:
    """The lengths of the lines of elements."""
    points = np.array([element.points for element in elements])
    shortest = COINCIDE * np.array([element.built for element in elements])
    return LineLengths(node_rows(elements, number), points, shortest, elements)


class LineBatch(CoordinateLawBatch):
    """Elements between two points each whose pull and states follow from length, speed and states.

    A subclass defines ``law(length, speed, state, prescribed)``, all ``(n,)`` but ``state``, which is ``(n, s)``.
    """

    def __init__(self, elements: Sequence[LineElement], number: Numbering) -> None:
        lengths = lengths_of(elements, number)
        self.points = lengths.points
        super().__init__(elements, number, lengths)
