"""Bodies with faces: boxes with points, balls, capsules and boxes, cylinders and meshes with balls.

What convex bodies with corners touch each other with are points of one and a face, an edge or a corner of the other,
and pairs of edges that cross. All of them are contacts, each with a gap of its own: none of the gaps is less than the
distance of the bodies, and one of them is that. Meshes have a contact for each triangle.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.elements.contact.pairs import (
    TINY,
    HalfSpace,
    Nearest,
    Points,
    Round,
    Segment,
    clamped,
    cross,
    dot,
    length,
    plane_points,
    segments,
)

ROUNDING, FEET = 0.005, 0.95
"""Height of the faces in their middle, and where they stand, against the radius."""


def plane_cylinder(a: HalfSpace, b: Round) -> Nearest:
    """Of each end the lowest point, where it rolls, and three points on which its face stands.

    The lowest point of a sharp rim would pass to the other side at once when a cylinder that stands rocks. Faces are
    therefore a little round: in the direction N the end at ``c`` reaches ``N . c + k r (sqrt(s^2 + e^2) - e)`` with the
    sine s of N and the axis, exactly the radius r for s = 1; the point where it does so is the gradient of this.
    """
    n, u, e, radius = a.normal, b.axis, ROUNDING, b.radius[..., None]
    across_axis = dot(u, n)[..., None] * u - n
    q = np.sqrt(dot(across_axis, across_axis) + e * e)[..., None]
    lowest = radius / (np.sqrt(1.0 + e * e) - e) * ((across_axis - e * e * n) / q + e * n)
    angle = 2.0 * np.pi / 3.0 * np.arange(3)[:, None]
    feet = FEET * radius * (np.cos(angle) * b.across + np.sin(angle) * cross(u, b.across))
    on_end, along = np.concatenate([lowest, feet], axis=1), b.half[..., None] * u
    points = b.center + np.concatenate([on_end - along, on_end + along], axis=1)
    return plane_points(a, Points(points, np.zeros(points.shape[:2])))


def cylinder_ball(a: Round, b: Points) -> Nearest:
    """The nearest point of the side, of a face or of a rim; from within, that of the side or of a face."""
    u, w = a.axis, b.center - a.center
    z = dot(u, w)
    off = w - z[..., None] * u
    central = np.abs(length(off)) < TINY
    r = np.where(central, 0.0, length(np.where(central[..., None], 1.0, off)))
    out = np.where(central[..., None], a.across, off / np.where(central, 1.0, r)[..., None])
    side = np.where(z.real < 0.0, -1.0, 1.0)
    over = np.stack([r - a.radius, side * z - a.half], axis=-1)
    rim: BoolArray = np.asarray((over.real > 0.0).all(-1))
    far = length(np.where(rim[..., None], over, 1.0))
    weights = np.where(rim[..., None], over / far[..., None], np.eye(2)[np.argmax(over.real, axis=-1)])
    gap = np.where(rim, far, dot(weights, over)) - b.radius
    n = weights[..., :1] * out + (weights[..., 1] * side)[..., None] * u
    return Nearest(gap, n, b.center - b.radius[..., None] * n)


class Triangles(NamedTuple):
    """Those of a mesh."""

    corners: Array
    """``(n, r, 3, 3)``: corner, component."""

    def at(self, x: Array, R: Array) -> Triangles:
        return Triangles(x[:, None] + self.corners @ R[:, None].mT)


def mesh_ball(a: Triangles, b: Points) -> Nearest:
    """The nearest point of each triangle: of its inside, an edge or a corner. They are a skin, solid on no side."""
    P, Q, S = (a.corners[:, :, k] for k in range(3))
    u, v, w = Q - P, S - P, b.center - P
    uu, vv, uv, uw, vw = dot(u, u), dot(v, v), dot(u, v), dot(u, w), dot(v, w)
    det = uu * vv - uv * uv
    s, t = (vv * uw - uv * vw) / det, (uu * vw - uv * uw) / det
    inside = (s.real >= 0.0) & (t.real >= 0.0) & (s.real + t.real <= 1.0)
    edges = np.stack([_on_edge(*ends, b.center) for ends in ((P, Q), (Q, S), (S, P))])
    away = np.linalg.norm((edges - b.center).real, axis=-1)
    on_edge = np.take_along_axis(edges, np.argmin(away, axis=0)[None, ..., None], 0)[0]
    apart = b.center - np.where(inside[..., None], P + s[..., None] * u + t[..., None] * v, on_edge)
    distance = length(apart)
    n = apart / distance[..., None]
    return Nearest(distance - b.radius, n, b.center - b.radius[..., None] * n)


def _on_edge(P: Array, Q: Array, point: Array) -> Array:
    """The nearest points of segments."""
    along = Q - P
    return P + clamped(dot(along, point - P) / dot(along, along), 0.0, 1.0)[..., None] * along


SIGNS = np.array(list(product((-1.0, 1.0), repeat=3)))
ACROSS = np.array([[1, 2], [2, 0], [0, 1]])
"""The two other axes of each."""
PARALLEL, SLACK, TILT = 1e-9, 1e-9, 1.1
"""Sine of edges that do not cross, and what rounding and tilting leave of an overlap that faces tell, too."""
ON_EDGE = 1e-6
"""Over the shortest half: what is so near to two faces is on the edge between them."""


class Brick(NamedTuple):
    """Boxes."""

    center: Array
    axes: Array
    """Directions as columns, ``(n, 3, 3)``."""
    half: Array
    """Of the lengths of the edges, ``(n, 1, 3)``."""

    def at(self, x: Array | float, R: Array) -> Brick:
        return Brick(x + self.center @ R.mT, R @ self.axes, self.half)

    @property
    def corners(self) -> Points:
        """All eight."""
        corners = self.center + (SIGNS * self.half) @ self.axes.mT
        return Points(corners, np.zeros(corners.shape[:2]))


def box_points(a: Brick, b: Points, faces_apart: Array | None = None, *, continued: bool = False) -> Nearest:
    """The nearest point of a face, an edge or a corner; from within, that of the nearest face.

    If ``continued``, the planes of faces go on beyond their edges for what has no radius. Of what is on an edge, the
    face that is outside tells: how far b is beyond each pair of faces is ``faces_apart`` (n, 1, 3).
    """
    local, half = (b.center - a.center) @ a.axes, a.half
    beyond = np.abs(local.real) - half
    corner = b.radius == 0.0
    goes_on = corner & continued
    slack = np.where(corner, ON_EDGE * half.min(-1), 0.0)[..., None]
    flat = ((beyond > slack).sum(-1) <= 1) | goes_on
    outside = np.where(goes_on[..., None], -np.abs(beyond), beyond)
    nearest = outside >= outside.max(-1, keepdims=True) - slack
    face = np.argmax(np.where(nearest, 0.0 if faces_apart is None else faces_apart, -np.inf), axis=-1)
    out = np.where(local.real < 0.0, -1.0, 1.0) * np.eye(3)[face]
    apart = local - np.where(local.real < -half, -half, np.where(local.real > half, half, local))
    distance = length(np.where(flat[..., None], 1.0, apart))
    inner = np.where(flat[..., None], out, apart / distance[..., None])
    gap = np.where(flat, dot(out, local) - (np.abs(out) * half).sum(-1), distance) - b.radius
    n = inner @ a.axes.mT
    return Nearest(gap, n, b.center - b.radius[..., None] * n)


def box_capsule(a: Brick, b: Segment) -> Nearest:
    """Both ends on the box, and its twelve edges on the capsule."""
    along, signs = np.repeat(np.arange(3), 4), np.array(3 * list(product((-1.0, 1.0), repeat=2)))
    directions = a.half.mT * a.axes.mT
    off = (signs[..., None] * directions[:, ACROSS[along]]).sum(axis=2)
    edges = Segment(a.center + off, directions[:, along], np.zeros(off.shape[:2]))
    parts = box_points(a, b.ends), segments(edges, b)
    return _joined(parts)


def _joined(parts: tuple[Nearest, ...]) -> Nearest:
    """Contacts of several kinds of one pair, one after the other."""
    return Nearest(*(np.concatenate(own, axis=1) for own in zip(*parts, strict=True)))


def boxes(a: Brick, b: Brick, *, continued: bool = False) -> Nearest:
    """Eight corners of each on the other, and of each pair of directions the four crossings of edges that are near.

    If ``continued``, planes of faces go on beyond their ends, and lines of edges by as much as the thinner box has.
    """
    apart_a, apart_b = _faces_apart(a, b)
    faces = np.maximum(apart_a.max(-1), apart_b.max(-1))
    gap, n, corners = box_points(b, a.corners, apart_b, continued=continued)
    on_b = Nearest(gap, -n, corners - gap[..., None] * n)
    return _joined((box_points(a, b.corners, apart_a, continued=continued), on_b, _crossings(a, b, faces, continued)))


def _crossings(a: Brick, b: Brick, faces: Array, continued: bool) -> Nearest:
    """Of edges along axis i of a and j of b, those nearest along their common normal and, of each, the one beside it.

    Where faces lie on each other, edges beside are as near, and cross at the corners of what they share. A crossing
    beyond the ends of the edges is as far off as it is beyond; one that overlaps by more than faces do is none.
    """
    n, (half_a, half_b) = len(a.center), (a.half[:, 0], b.half[:, 0])
    U, V, apart = a.axes.mT, b.axes.mT, b.center - a.center  # rows are directions
    i, j = (index.ravel() for index in np.indices((3, 3)))
    u, v = U[:, i], V[:, j]
    normal = cross(u, v)
    size = length(normal)
    parallel = size.real < PARALLEL
    normal = np.where(parallel[..., None], 1.0, normal) / np.where(parallel, 1.0, size)[..., None]
    normal = normal * np.where(dot(normal, apart).real < 0.0, -1.0, 1.0)[..., None]
    edges = _near_edges(U, half_a, i, normal), apart[:, None] + _near_edges(V, half_b, j, -normal)
    w = edges[1][:, :, None, :] - edges[0][:, :, :, None]  # (n, 9, 2, 2, 3)
    u, v, n5 = (part[:, :, None, None] for part in (u, v, normal))
    gap, uv = dot(n5, w), dot(u, v)
    det = np.where(parallel, 1.0, size * size)[..., None, None]
    uw, vw = dot(u, w), dot(v, w)
    s, t = (uw - uv * vw) / det, (uv * uw - vw) / det
    beyond = np.maximum(np.abs(s.real) - half_a[:, i, None, None], 0.0)
    beyond += np.maximum(np.abs(t.real) - half_b[:, j, None, None], 0.0)
    short = np.minimum(half_a.min(-1), half_b.min(-1))[:, None, None, None]
    counts = (gap.real >= TILT * np.minimum(faces, 0.0)[..., None, None] - SLACK * short) & ~parallel[..., None, None]
    counts &= gap.real > -short
    far = short + length(apart.real)[..., None, None]
    goes_on = continued & (beyond <= short)
    off = (beyond > ON_EDGE * short) & ~goes_on
    gap = np.where(counts | goes_on, np.where(off, np.maximum(gap.real, 0.0) + beyond, gap), far)
    points = a.center[:, None, None] + edges[1][:, :, None, :] + t[..., None] * v
    r = 4 * len(i)
    return Nearest(gap.reshape(n, r), np.broadcast_to(n5, w.shape).reshape(n, r, 3), points.reshape(n, r, 3))


def _near_edges(axes: Array, half: Array, along: IntArray, normal: Array) -> Array:
    """Middles ``(n, 9, 2, 3)``, from that of the box, of two edges: on the side of the normal, at both of the other."""
    rows = np.arange(len(axes))[:, None]
    k = ACROSS[along]
    share = np.einsum("npkj,npj->npk", axes[:, k], normal)
    first = np.argmax(np.round(np.abs(share.real), 6), axis=-1)
    m, o = (
        np.take_along_axis(k[None], first[..., None], -1)[..., 0],
        np.take_along_axis(k[None], 1 - first[..., None], -1)[..., 0],
    )
    side = np.where(np.take_along_axis(share.real, first[..., None], -1) < 0.0, -1.0, 1.0)
    middle = side * half[rows, m][..., None] * axes[rows, m]
    other = half[rows, o][..., None] * axes[rows, o]
    return np.stack([middle - other, middle + other], axis=2)


def _faces_apart(a: Brick, b: Brick) -> tuple[Array, Array]:
    """How far each pair of faces of one has the other box outside, ``(n, 1, 3)`` each; negative for an overlap."""
    U, V, apart = a.axes.real, b.axes.real, (b.center - a.center).real
    uv = np.abs(U.mT @ V)
    return np.abs(apart @ U) - a.half - b.half @ uv.mT, np.abs(apart @ V) - b.half - a.half @ uv
