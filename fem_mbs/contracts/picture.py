"""What a picture is made of: parts, each with points that move and cells that stay."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from enum import IntEnum
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts.motion import Motion
from fem_mbs.contracts.node import Node, lever
from fem_mbs.contracts.public import Public
from fem_mbs.errors import MissingMethodError


class Kind(IntEnum):
    """What a cell shows: the values of the cell data ``part``."""

    LINE = 0
    SURFACE = 1
    NODE = 2
    BODY = 3
    JOINT = 4
    SPRING = 5
    JOINT_SHAPE = 6
    BODY_SHAPE = 7
    CONTACT = 8
    LINK = 9


class Cells(NamedTuple):
    """Cells of one type: its name in meshio, the points ``(n, p)`` of each cell, and named numbers ``(n,)``."""

    type: str
    points: IntArray
    numbers: dict[str, IntArray]


class Faces(NamedTuple):
    """A surface: points ``(n, 3)``, and blocks of triangles, quads or polygons ``(m, p)`` of them by their type."""

    points: Array
    cells: list[tuple[str, IntArray]]


class Shape(Public):
    """Base of what a body or a joint looks like.

    To write one, define ``faces(sides)``; ``self.placed(points)`` puts points about its centre where it is.

    Attributes
    ----------
    center : (3,), optional
        Where it is: in the world, as built, until :meth:`on` has put it on a node; None for the place of the node.
    rotation : (3, 3), optional
        Its axes as columns, likewise; None for those of the node.
    """

    _internal: ClassVar[str] = "faces filled on placed"
    called: ClassVar[str] = "a shape, such as Box, Cylinder, Ball or Surface"
    center: Array | None = None
    rotation: Array | None = None

    def on(self, node: Node) -> Shape:
        """The same shape in the frame of a node, with which it moves from now on."""
        result = copy(self)
        result.center = lever(node, self.center)
        result.rotation = None if self.rotation is None else node.rotation.T @ self.rotation
        return result

    def faces(self, sides: int) -> Faces:
        """The surface where it is, normals outward, in m; ``sides`` stand for a circle."""
        raise MissingMethodError(f"{type(self).__name__} must define faces(sides)")

    def placed(self, points: Array) -> Array:
        """Points ``(n, 3)`` about its centre, along its axes, where it is."""
        turned = points if self.rotation is None else points @ self.rotation.T
        return turned if self.center is None else turned + self.center


class Placed(NamedTuple):
    """A shape in the frame of a node, and the node."""

    node: Node
    shape: Shape


class Picture(Protocol):
    """What is drawn of an element, of all nodes, or of the joints of one batch.

    ``cells`` count the points of the picture from 0.
    """

    cells: list[Cells]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Positions ``"points"`` (n, 3) and point data at an instant, ``(n, 3)`` or ``(n,)``, always the same names."""


class Polyline:
    """A line through points ``(n, 3)``, world frame, that a function tells of a motion: a strut, a rope, a track."""

    def __init__(self, points: Callable[[Motion], Array], count: int, kind: Kind = Kind.LINE) -> None:
        self._points = points
        pairs = np.stack([np.arange(count - 1), np.arange(1, count)], axis=-1)
        numbers = {"part": np.full(count - 1, kind), "element_id": np.arange(count - 1)}
        self.cells = [Cells("line", pairs, numbers)]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """The points."""
        return {"points": np.asarray(self._points(motion), dtype=float)}
