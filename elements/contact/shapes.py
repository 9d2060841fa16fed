"""Shapes that are for contacts alone, and of all shapes what pairs need."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Direction, Faces, Positive, Shape, Vector3, checked
from fem_mbs.elements.contact.pairs import (
    BoxBallData,
    BushData,
    Pair,
    PlaneData,
    SegmentData,
    box_ball,
    pin_in_bush,
    plane_points,
    segments,
)
from fem_mbs.elements.shapes.solids import Ball, Box, about, circle, tube

SIZE = 1.0
"""Half the side of the square that stands for a plane in pictures, m."""


@checked
class Plane(Shape):
    """A half space, solid on one side of a plane.

    Parameters
    ----------
    normal : (3,)
        Out of the solid, world frame, as built.
    point : (3,), optional
        A point of the plane, world frame, as built; by default the place of the node.
    """

    def __init__(self, normal: Direction = (0.0, 0.0, 1.0), point: Vector3 | None = None) -> None:
        self.rotation: Array = about(np.asarray(normal))
        self.center = None if point is None else np.asarray(point)

    def faces(self, sides: int) -> Faces:
        """A square."""
        corners = SIZE * np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
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


def _center(shape: Shape) -> Array:
    return np.zeros(3) if shape.center is None else shape.center


def _axes(shape: Shape) -> Array:
    return np.eye(3) if shape.rotation is None else shape.rotation


def _half(shape: Shape) -> Array:
    """Half the axis of a capsule, nothing of a ball."""
    return 0.5 * shape.length * _axes(shape)[:, 2] if isinstance(shape, Capsule) else np.zeros(3)


def _radius(shape: Shape) -> float:
    return float(shape.half[0]) if isinstance(shape, Ball) else shape.radius  # type: ignore[attr-defined]


def reach(shape: Shape) -> float:
    """Largest distance of its points from its node, m; infinite of planes, holes and what is not known."""
    own = {Ball: lambda s: float(s.half.max()), Box: lambda s: 0.5 * float(np.linalg.norm(s.size))}
    own[Capsule] = lambda s: 0.5 * s.length + s.radius
    size = own.get(type(shape), lambda _: math.inf)(shape)
    return float(np.linalg.norm(_center(shape))) + size


def pair_of(a: Shape, b: Shape) -> tuple[Pair, tuple[str, ...], Any] | None:
    """What computes a pair, the names of its contacts and its data; None without a closed form in this order."""
    round_b = isinstance(b, Ball | Capsule)
    if isinstance(a, Plane) and (round_b or isinstance(b, Box)):
        if isinstance(b, Box):
            corners = 0.5 * b.size * np.array(list(product((-1.0, 1.0), repeat=3)))
            centers, radius = _center(b) + corners @ _axes(b).T, np.zeros(8)
            names = tuple(f"corner {k + 1}" for k in range(8))
        elif isinstance(b, Ball):
            centers, names = _center(b)[None], ("contact",)
            radius = np.full(1, _radius(b))
        else:
            centers, names = np.array([_center(b) - _half(b), _center(b) + _half(b)]), ("first end", "second end")
            radius = np.full(2, _radius(b))
        return plane_points, names, PlaneData(_axes(a)[:, 2], _center(a), centers, radius)
    if isinstance(a, Ball | Capsule) and round_b:
        own = [(_center(s), _half(s), np.asarray(_radius(s))) for s in (a, b)]
        return segments, ("contact",), SegmentData(*own[0], *own[1])
    if isinstance(a, Box) and isinstance(b, Ball):
        data = BoxBallData(_center(a), _axes(a), 0.5 * a.size, _center(b), np.asarray(_radius(b)))
        return box_ball, ("contact",), data
    if isinstance(a, Bush) and round_b:
        pin = np.asarray(_radius(b))
        one = isinstance(b, Ball)
        centers = _center(b)[None] if one else np.array([_center(b) - _half(b), _center(b) + _half(b)])
        names = ("contact",) if one else ("first end", "second end")
        return pin_in_bush, names, BushData(_axes(a)[:, 2], _center(a), centers, pin, a.radius - pin)
    return None
