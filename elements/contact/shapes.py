"""Shapes that are for contacts alone, and of all shapes what pairs need."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Direction, Faces, Positive, Shape, Vector3, checked
from fem_mbs.elements.contact.boxes import (
    SIGNS,
    Brick,
    Triangles,
    box_capsule,
    box_points,
    boxes,
    cylinder_ball,
    mesh_ball,
    plane_cylinder,
)
from fem_mbs.elements.contact.pairs import (
    HalfSpace,
    Pair,
    Points,
    Round,
    Segment,
    across,
    pin_in_bush,
    plane_points,
    segments,
)
from fem_mbs.elements.shapes import Ball, Box, Cylinder, Surface, about, circle, tube


@checked
class Plane(Shape):
    """A half space, solid on one side of a plane.

    Parameters
    ----------
    normal : (3,)
        Out of the solid, world frame, as built.
    point : (3,), optional
        A point of the plane, world frame, as built; by default the place of the node.
    side : float
        Of the square about that point that stands for it in pictures, m.
    """

    def __init__(
        self, normal: Direction = (0.0, 0.0, 1.0), point: Vector3 | None = None, *, side: Positive = 2.0
    ) -> None:
        self.side = side
        self.rotation: Array = about(np.asarray(normal))
        self.center = None if point is None else np.asarray(point)

    def faces(self, sides: int) -> Faces:
        corners = 0.5 * self.side * np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
        return Faces(self.placed(corners), [("quad", np.arange(4)[None])])


@checked
class Capsule(Shape):
    """A cylinder with round ends: all points within a radius of a segment.

    Parameters
    ----------
    radius, length : float
        Radius, and length of the segment, in m.
    axis : (3,), optional
        Its axis, world frame, as built; by default the z axis of the node.
    center : (3,), optional
        The middle of the axis, world frame, as built; by default the place of the node.
    """

    called: ClassVar[str] = "a Capsule"

    def __init__(
        self, radius: Positive, length: Positive, axis: Direction | None = None, *, center: Vector3 | None = None
    ) -> None:
        self.radius, self.length = radius, length
        self.center = None if center is None else np.asarray(center)
        self.rotation = None if axis is None else about(np.asarray(axis))

    def faces(self, sides: int) -> Faces:
        """Rings around the axis, from pole to pole."""
        half = max(sides // 4, 1)
        polar = np.pi / 2 * np.arange(half) / half
        rings = [(np.cos(a), s * (0.5 * self.length + self.radius * np.sin(a))) for s in (-1, 1) for a in polar]
        rings.sort(key=lambda ring: ring[1])
        around = circle(sides)
        points = np.concatenate(
            [np.hstack([self.radius * r * around, np.full((sides, 1), z)]) for r, z in rings], axis=0
        )
        quads, caps = tube(sides)
        every = np.concatenate([quads + sides * k for k in range(len(rings) - 1)])
        ends = np.stack([caps[0], caps[1] + sides * (len(rings) - 2)])
        return Faces(self.placed(points), [("quad", every), ("polygon", ends)])


@checked
class Bush(Shape):
    """A hole with a clearance, in which the pin of the other body moves: the pair of a bearing with play.

    Parameters
    ----------
    radius : float
        Of the hole, m.
    axis : (3,), optional
        Of the hole, world frame, as built; by default the z axis of the node.
    center : (3,), optional
        A point of the axis, world frame, as built; by default the place of the node.
    """

    def __init__(self, radius: Positive, axis: Direction | None = None, *, center: Vector3 | None = None) -> None:
        self.radius = radius
        self.center = None if center is None else np.asarray(center)
        self.rotation = None if axis is None else about(np.asarray(axis))

    def faces(self, sides: int) -> Faces:
        """The wall of the hole, as long as it is wide."""
        rim, half = self.radius * circle(sides), np.full((sides, 1), self.radius)
        quads, _ = tube(sides)
        ends = np.concatenate([np.hstack([rim, -half]), np.hstack([rim, half])])
        return Faces(self.placed(ends), [("quad", quads[:, ::-1])])


def _middle(shape: Shape) -> Array:
    """Its centre in the frame of its node."""
    return np.zeros(3) if shape.center is None else shape.center


def _axes(shape: Shape) -> Array:
    return np.eye(3) if shape.rotation is None else shape.rotation


ENDS = "first end", "second end"
RIM = "rim", "foot 1", "foot 2", "foot 3"
EDGES = tuple(f"edge {k + 1}" for k in range(12))
CORNERS = tuple(f"corner {k + 1} of {side}" for side in "ba" for k in range(8))
CROSSINGS = tuple(f"crossing {k + 1} of edges {i + 1}, {j + 1}" for i, j, k in product(range(3), range(3), range(4)))


def segment(shape: Shape) -> Segment:
    """Of a ball or a capsule."""
    half, radius = np.zeros(3), 0.0
    match shape:
        case Ball():
            radius = shape.half[0]
        case Capsule():
            half, radius = 0.5 * shape.length * _axes(shape)[:, 2], shape.radius
    return Segment(_middle(shape)[None], half[None], np.array([radius]))


def _points(shape: Shape) -> Points:
    """What a ball, a capsule or a box touches a plane or a hole with."""
    if isinstance(shape, Box):
        return Points(_middle(shape) + (0.5 * shape.size * SIGNS) @ _axes(shape).T, np.zeros(8))
    own = segment(shape)
    return own.ends if isinstance(shape, Capsule) else Points(own.center, own.radius)


def _names(shape: Shape) -> tuple[str, ...]:
    """Of these."""
    corners = tuple(f"corner {k + 1}" for k in range(8))
    return corners if isinstance(shape, Box) else ENDS if isinstance(shape, Capsule) else ("contact",)


def _half_space(plane: Plane) -> HalfSpace:
    return HalfSpace(_axes(plane)[None, :, 2], _middle(plane)[None])


def _round(shape: Cylinder | Bush) -> Round:
    half = 0.5 * shape.length if isinstance(shape, Cylinder) else math.inf
    axis = _axes(shape)[:, 2]
    return Round(_middle(shape)[None], axis[None], across(axis)[None], np.array([half]), np.array([shape.radius]))


def _brick(box: Box) -> Brick:
    return Brick(_middle(box)[None], _axes(box), 0.5 * box.size[None])


def _triangles(surface: Surface) -> Triangles:
    """Quads are two triangles."""
    cells = [
        part
        for kind, block in surface.cells
        for part in ((block,) if kind == "triangle" else (block[:, :3], block[:, [0, 2, 3]]))
    ]
    return Triangles(surface.placed(surface.points)[np.concatenate(cells)])


def reach(shape: Shape) -> float:
    """How far its points that turns move may be from its node, m; infinite of planes, holes and what is not known.

    Turns of a ball about its centre move nothing of it, those of a capsule its axis.
    """
    match shape:
        case Surface():
            return float(np.linalg.norm(shape.placed(shape.points), axis=-1).max())
        case Ball():
            size = 0.0
        case Capsule():
            size = 0.5 * shape.length
        case Box():
            size = 0.5 * float(np.linalg.norm(shape.size))
        case Cylinder():
            size = float(np.hypot(0.5 * shape.length, shape.radius))
        case _:
            return math.inf
    return float(np.linalg.norm(_middle(shape))) + size


class PairKind(NamedTuple):
    """What computes a pair of shapes, the names of its contacts, and the solids of both."""

    pair: Pair
    names: tuple[str, ...]
    a: Any
    b: Any


def pair_of(a: Shape, b: Shape) -> PairKind | None:
    """The kind of a pair; None without a closed form in this order."""
    match a, b:
        case Plane(), Ball() | Capsule() | Box():
            return PairKind(plane_points, _names(b), _half_space(a), _points(b))
        case Plane(), Cylinder():
            names = tuple(f"{what} of the {end}" for end in ENDS for what in RIM)
            return PairKind(plane_cylinder, names, _half_space(a), _round(b))
        case Ball() | Capsule(), Ball() | Capsule():
            return PairKind(segments, ("contact",), segment(a), segment(b))
        case Box(), Ball():
            return PairKind(box_points, _names(b), _brick(a), _points(b))
        case Box(), Capsule():
            return PairKind(box_capsule, (*ENDS, *EDGES), _brick(a), segment(b))
        case Box(), Box():
            return PairKind(boxes, (*CORNERS, *CROSSINGS), _brick(a), _brick(b))
        case Cylinder(), Ball():
            return PairKind(cylinder_ball, _names(b), _round(a), _points(b))
        case Surface(), Ball():
            triangles = _triangles(a)
            names = tuple(f"triangle {k + 1}" for k in range(len(triangles.corners)))
            return PairKind(mesh_ball, names, triangles, _points(b))
        case Bush(), Ball() | Capsule():
            return PairKind(pin_in_bush, _names(b), _round(a), _points(b))
    return None
