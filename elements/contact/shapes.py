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
    BoxCapsuleData,
    BoxesData,
    BoxPoints,
    CylinderBallData,
    MeshBallData,
    PlaneCylinderData,
    box_capsule,
    box_points,
    boxes,
    cylinder_ball,
    mesh_ball,
    plane_cylinder,
)
from fem_mbs.elements.contact.pairs import BushData, Pair, PlaneData, SegmentData, pin_in_bush, plane_points, segments
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
        """A square."""
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


def middle(shape: Shape) -> Array:
    """Its centre in the frame of its node."""
    return np.zeros(3) if shape.center is None else shape.center


def _axes(shape: Shape) -> Array:
    return np.eye(3) if shape.rotation is None else shape.rotation


def half_axis(shape: Shape) -> Array:
    """Half the axis of a capsule, nothing of a ball."""
    return 0.5 * shape.length * _axes(shape)[:, 2] if isinstance(shape, Capsule) else np.zeros(3)


def radius_of(shape: Shape) -> float:
    """Of a ball or a capsule."""
    return float(shape.half[0]) if isinstance(shape, Ball) else shape.radius  # type: ignore[attr-defined]


ENDS = "first end", "second end"
RIM = "rim", "foot 1", "foot 2", "foot 3"
EDGES = tuple(f"edge {k + 1}" for k in range(12))
CORNERS = tuple(f"corner {k + 1} of {side}" for side in "ba" for k in range(8))
CROSSINGS = tuple(f"crossing {k + 1} of edges {i + 1}, {j + 1}" for i, j, k in product(range(3), range(3), range(4)))


def _points(b: Shape) -> tuple[tuple[str, ...], Array, Array]:
    """Names, places and radii of what a ball, a capsule or a box touches a plane or a hole with."""
    if isinstance(b, Box):
        corners = middle(b) + (0.5 * b.size * SIGNS) @ _axes(b).T
        return tuple(f"corner {k + 1}" for k in range(8)), corners, np.zeros(8)
    if isinstance(b, Ball):
        return ("contact",), middle(b)[None], np.full(1, radius_of(b))
    return ENDS, np.array([middle(b) - half_axis(b), middle(b) + half_axis(b)]), np.full(2, radius_of(b))


def _segment(a: Shape) -> tuple[Array, Array, float]:
    return middle(a), half_axis(a), radius_of(a)


def _box(a: Box) -> tuple[Array, Array, Array]:
    return middle(a), _axes(a), 0.5 * a.size


def _cylinder(a: Cylinder) -> tuple[Array, Array, float, float]:
    return middle(a), _axes(a)[:, 2], 0.5 * a.length, a.radius


def _triangles(a: Surface) -> Array:
    """Corners ``(r, 3, 3)``; quads are two."""
    cells = [
        part
        for kind, block in a.cells
        for part in ((block,) if kind == "triangle" else (block[:, :3], block[:, [0, 2, 3]]))
    ]
    return a.placed(a.points)[np.concatenate(cells)]


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
    return float(np.linalg.norm(middle(shape))) + size


class PairKind(NamedTuple):
    """What computes a pair of shapes, and what it takes from each of them."""

    pair: Pair
    names: tuple[str, ...]
    """Of its contacts."""
    data: type[Any]
    """A named tuple of what a has, then b."""
    a: tuple[Any, ...]
    b: tuple[Any, ...]


def pair_of(a: Shape, b: Shape) -> PairKind | None:
    """The kind of a pair; None without a closed form in this order."""
    match a, b:
        case Plane(), Ball() | Capsule() | Box():
            names, centers, radius = _points(b)
            return PairKind(plane_points, names, PlaneData, (_axes(a)[:, 2], middle(a)), (centers, radius))
        case Plane(), Cylinder():
            names = tuple(f"{what} of the {end}" for end in ENDS for what in RIM)
            return PairKind(plane_cylinder, names, PlaneCylinderData, (_axes(a)[:, 2], middle(a)), _cylinder(b))
        case Ball() | Capsule(), Ball() | Capsule():
            return PairKind(segments, ("contact",), SegmentData, _segment(a), _segment(b))
        case Box(), Ball():
            names, centers, radius = _points(b)
            return PairKind(box_points, names, BoxPoints, _box(a), (centers, radius, False, np.zeros(3)))
        case Box(), Capsule():
            return PairKind(box_capsule, (*ENDS, *EDGES), BoxCapsuleData, _box(a), _segment(b))
        case Box(), Box():
            return PairKind(boxes, (*CORNERS, *CROSSINGS), BoxesData, _box(a), (*_box(b), False))
        case Cylinder(), Ball():
            return PairKind(cylinder_ball, ("contact",), CylinderBallData, _cylinder(a), (middle(b), radius_of(b)))
        case Surface(), Ball():
            triangles = _triangles(a)
            names = tuple(f"triangle {k + 1}" for k in range(len(triangles)))
            return PairKind(mesh_ball, names, MeshBallData, (triangles,), (middle(b), radius_of(b)))
        case Bush(), Ball() | Capsule():
            names, centers, radius = _points(b)
            hole = _axes(a)[:, 2], middle(a), a.radius
            return PairKind(pin_in_bush, names, BushData, hole, (centers, radius[0]))
    return None
