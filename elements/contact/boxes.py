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
    Nearest,
    SegmentData,
    across,
    clamped,
    dot,
    joined,
    length,
    segments,
    swapped,
    turned,
)

ROUNDING, FEET = 0.005, 0.95
"""Height of the faces in their middle, and where they stand, against the radius."""


class PlaneCylinderData(NamedTuple):
    """A plane of a and a cylinder of b."""

    normal: Array
    point: Array
    center: Array
    axis: Array
    """``(n, 3)`` in the frame of b."""
    half: Array
    radius: Array


def plane_cylinder(d: Array, R_a: Array, R_b: Array, of: PlaneCylinderData) -> Nearest:
    """Of each end the lowest point, where it rolls, and three points on which its face stands.

    The lowest point of a sharp rim would pass to the other side at once when a cylinder that stands rocks. Faces are
    therefore a little round: in the direction N the end at ``c`` reaches ``N . c + k r (sqrt(s^2 + e^2) - e)`` with the
    sine s of N and the axis, exactly the radius r for s = 1; the point where it does so is the gradient of this.
    """
    n = np.einsum("nij,nj->ni", R_a, of.normal)
    u = np.einsum("nij,nj->ni", R_b, of.axis)
    center = np.einsum("nij,nj->ni", R_b, of.center)
    across_axis = dot(u, n)[:, None] * u - n
    q, e = np.sqrt(dot(across_axis, across_axis) + ROUNDING**2)[:, None], ROUNDING
    lowest = (of.radius / (np.sqrt(1.0 + e * e) - e))[:, None] * ((across_axis - e * e * n) / q + e * n)
    first, angle = across(of.axis), 2.0 * np.pi / 3.0 * np.arange(3)[:, None]
    feet = np.cos(angle) * first[:, None] + np.sin(angle) * np.cross(of.axis, first)[:, None]
    on_end = np.concatenate([lowest[:, None], turned(R_b, FEET * of.radius[:, None, None] * feet)], axis=1)
    along = (of.half[:, None] * u)[:, None]
    b = center[:, None] + np.concatenate([on_end - along, on_end + along], axis=1)
    w = d[:, None] + b - np.einsum("nij,nj->ni", R_a, of.point)[:, None]
    normal = np.broadcast_to(n[:, None], w.shape)
    return Nearest(dot(normal, w), normal, b)


class CylinderBallData(NamedTuple):
    """A cylinder of a and a ball of b."""

    center_a: Array
    axis: Array
    half: Array
    radius_a: Array
    center_b: Array
    radius_b: Array


def cylinder_ball(d: Array, R_a: Array, R_b: Array, of: CylinderBallData) -> Nearest:
    """The nearest point of the side, of a face or of a rim; from within, that of the side or of a face."""
    u = np.einsum("nij,nj->ni", R_a, of.axis)
    c = np.einsum("nij,nj->ni", R_b, of.center_b)
    w = d + c - np.einsum("nij,nj->ni", R_a, of.center_a)
    z = dot(u, w)
    off = w - z[:, None] * u
    central = np.abs(length(off)) < TINY
    any_way = np.einsum("nij,nj->ni", R_a, across(of.axis))
    r = np.where(central, 0.0, length(np.where(central[:, None], 1.0, off)))
    out = np.where(central[:, None], any_way, off / np.where(central, 1.0, r)[:, None])
    side = np.where(z.real < 0.0, -1.0, 1.0)
    over = np.stack([r - of.radius_a, side * z - of.half], axis=-1)
    rim: BoolArray = np.asarray((over.real > 0.0).all(-1))
    far = length(np.where(rim[:, None], over, 1.0))
    weights = np.where(rim[:, None], over / far[:, None], np.eye(2)[np.argmax(over.real, axis=-1)])
    gap = np.where(rim, far, dot(weights, over)) - of.radius_b
    n = weights[:, :1] * out + (weights[:, 1] * side)[:, None] * u
    return Nearest(gap[:, None], n[:, None], (c - of.radius_b[:, None] * n)[:, None])


class MeshBallData(NamedTuple):
    """Triangles of a and a ball of b."""

    corners: Array
    """``(n, r, 3, 3)`` in the frame of a: corner, component."""
    center: Array
    radius: Array


def mesh_ball(d: Array, R_a: Array, R_b: Array, of: MeshBallData) -> Nearest:
    """The nearest point of each triangle: of its inside, an edge or a corner. It is a skin, solid on no side."""
    c = turned(R_b, of.center[:, None])
    local = np.einsum("nji,nrj->nri", R_a, d[:, None] + c)
    P, Q, S = (of.corners[:, :, k] for k in range(3))
    u, v, w = Q - P, S - P, local - P
    uu, vv, uv, uw, vw = dot(u, u), dot(v, v), dot(u, v), dot(u, w), dot(v, w)
    det = uu * vv - uv * uv
    s, t = (vv * uw - uv * vw) / det, (uu * vw - uv * uw) / det
    inside = (s.real >= 0.0) & (t.real >= 0.0) & (s.real + t.real <= 1.0)
    edges = np.stack([_on_edge(*ends, local) for ends in ((P, Q), (Q, S), (S, P))])
    away = np.linalg.norm((edges - local).real, axis=-1)
    on_edge = np.take_along_axis(edges, np.argmin(away, axis=0)[None, ..., None], 0)[0]
    point = np.where(inside[..., None], P + s[..., None] * u + t[..., None] * v, on_edge)
    apart = local - point
    distance = length(apart)
    n = turned(R_a, apart / distance[..., None])
    return Nearest(distance - of.radius[:, None], n, c - of.radius[:, None, None] * n)


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


class BoxPoints(NamedTuple):
    """A box of a and balls of b: points with radii, zero for corners."""

    center_a: Array
    axes: Array
    """Directions of the box as columns, in the frame of a, ``(n, 3, 3)``."""
    half: Array
    centers: Array
    """``(n, r, 3)`` in the frame of b."""
    radius: Array
    """``(n, r)``."""
    continued: BoolArray
    """Whether the planes of faces, and the lines of edges, go on beyond their ends for what has no radius, ``(n,)``."""
    faces_apart: Array
    """How far b is beyond each pair of faces, ``(n, 3)``: of what is on an edge, the face that is outside tells."""


def box_points(d: Array, R_a: Array, R_b: Array, of: BoxPoints) -> Nearest:
    """The nearest point of a face, an edge or a corner; from within, that of the nearest face."""
    c, axes, half = turned(R_b, of.centers), R_a @ of.axes, of.half[:, None]
    local = np.einsum("nji,nrj->nri", axes, d[:, None] + c) - np.einsum("nji,nj->ni", of.axes, of.center_a)[:, None]
    beyond = np.abs(local.real) - half
    corner = of.radius == 0.0
    goes_on = of.continued[:, None] & corner
    slack = np.where(corner, ON_EDGE * half.min(-1), 0.0)[..., None]
    flat = ((beyond > slack).sum(-1) <= 1) | goes_on
    outside = np.where(goes_on[..., None], -np.abs(beyond), beyond)
    nearest = outside >= outside.max(-1, keepdims=True) - slack
    face = np.argmax(np.where(nearest, of.faces_apart[:, None], -np.inf), axis=-1)
    out = np.where(local.real < 0.0, -1.0, 1.0) * np.eye(3)[face]
    apart = local - np.where(local.real < -half, -half, np.where(local.real > half, half, local))
    distance = length(np.where(flat[..., None], 1.0, apart))
    inner = np.where(flat[..., None], out, apart / distance[..., None])
    gap = np.where(flat, dot(out, local) - (np.abs(out) * half).sum(-1), distance) - of.radius
    n = np.einsum("nij,nrj->nri", axes, inner)
    return Nearest(gap, n, c - of.radius[..., None] * n)


class BoxCapsuleData(NamedTuple):
    """A box of a and a capsule of b."""

    center_a: Array
    axes: Array
    half: Array
    center_b: Array
    half_b: Array
    """Half the axis of the capsule in the frame of b, ``(n, 3)``."""
    radius: Array


def box_capsule(d: Array, R_a: Array, R_b: Array, of: BoxCapsuleData) -> Nearest:
    """Both ends on the box, and its twelve edges on the capsule."""
    ends = np.stack([of.center_b - of.half_b, of.center_b + of.half_b], axis=1)
    radius = np.repeat(of.radius[:, None], 2, axis=1)
    zero = np.zeros_like(of.radius)
    box = BoxPoints(of.center_a, of.axes, of.half, ends, radius, zero > 0.0, np.zeros_like(of.half))
    found = [box_points(d, R_a, R_b, box)]
    for i in range(3):
        along = of.axes[..., i] * of.half[:, i, None]
        for signs in product((-1.0, 1.0), repeat=2):
            off = sum(s * of.axes[..., k] * of.half[:, k, None] for s, k in zip(signs, ACROSS[i], strict=True))
            edge = SegmentData(of.center_a + off, along, zero, of.center_b, of.half_b, of.radius)
            found.append(segments(d, R_a, R_b, edge))
    return joined(found)


class BoxesData(NamedTuple):
    """Two boxes."""

    center_a: Array
    axes_a: Array
    half_a: Array
    center_b: Array
    axes_b: Array
    half_b: Array
    continued: BoolArray
    """See :class:`BoxPoints`."""


def boxes(d: Array, R_a: Array, R_b: Array, of: BoxesData) -> Nearest:
    """Eight corners of each on the other, and of each pair of directions the four crossings of edges that are near."""
    corners = [
        center[:, None] + (SIGNS * half[:, None]) @ axes.mT
        for center, axes, half in ((of.center_a, of.axes_a, of.half_a), (of.center_b, of.axes_b, of.half_b))
    ]
    none = np.zeros(corners[0].shape[:2])
    apart_a, apart_b = _faces_apart(d, R_a, R_b, of)
    a = BoxPoints(of.center_a, of.axes_a, of.half_a, corners[1], none, of.continued, apart_a)
    b = BoxPoints(of.center_b, of.axes_b, of.half_b, corners[0], none, of.continued, apart_b)
    faces = np.maximum(apart_a.max(-1), apart_b.max(-1))
    on_b = swapped(box_points(-d, R_b, R_a, b), d)
    return joined([box_points(d, R_a, R_b, a), on_b, _crossings(d, R_a, R_b, of, faces)])


def _apart(d: Array, R_a: Array, R_b: Array, of: BoxesData) -> Array:
    """From the middle of a to that of b, ``(n, 3)``."""
    middle: Array = d + np.einsum("nij,nj->ni", R_b, of.center_b) - np.einsum("nij,nj->ni", R_a, of.center_a)
    return middle


def _crossings(d: Array, R_a: Array, R_b: Array, of: BoxesData, faces: Array) -> Nearest:
    """Of edges along axis i of a and j of b, those nearest along their common normal and, of each, the one beside it.

    Where faces lie on each other, edges beside are as near, and cross at the corners of what they share. A crossing
    beyond the ends of the edges is as far off as it is beyond; one that overlaps by more than faces do is none.
    """
    n = len(d)
    U, V = (R_a @ of.axes_a).mT, (R_b @ of.axes_b).mT  # rows are directions
    apart = _apart(d, R_a, R_b, of)
    i, j = (index.ravel() for index in np.indices((3, 3)))
    u, v = U[:, i], V[:, j]
    normal = np.stack([u[..., k] * v[..., m] - u[..., m] * v[..., k] for k, m in ACROSS], axis=-1)
    size = np.sqrt(dot(normal, normal))
    parallel = size.real < PARALLEL
    normal = np.where(parallel[..., None], 1.0, normal) / np.where(parallel, 1.0, size)[..., None]
    normal = normal * np.where(dot(normal, apart[:, None]).real < 0.0, -1.0, 1.0)[..., None]
    edges = [
        _near_edges(U, of.half_a, i, normal),
        apart[:, None, None] + _near_edges(V, of.half_b, j, -normal),
    ]
    w = edges[1][:, :, None, :] - edges[0][:, :, :, None]  # (n, 9, 2, 2, 3)
    u, v, n5 = (part[:, :, None, None] for part in (u, v, normal))
    gap, uv = dot(n5, w), dot(u, v)
    det = np.where(parallel, 1.0, size * size)[..., None, None]
    uw, vw = dot(u, w), dot(v, w)
    s, t = (uw - uv * vw) / det, (uv * uw - vw) / det
    beyond = np.maximum(np.abs(s.real) - of.half_a[:, i, None, None], 0.0)
    beyond += np.maximum(np.abs(t.real) - of.half_b[:, j, None, None], 0.0)
    short = np.minimum(of.half_a.min(-1), of.half_b.min(-1))[:, None, None, None]
    counts = (gap.real >= TILT * np.minimum(faces, 0.0)[:, None, None, None] - SLACK * short) & ~parallel[
        ..., None, None
    ]
    counts &= gap.real > -short
    far = short + length(apart.real)[:, None, None, None]
    counts |= of.continued[:, None, None, None]
    beyond = np.where(of.continued[:, None, None, None], 0.0, beyond)
    gap = np.where(counts, np.where(beyond > ON_EDGE * short, np.maximum(gap.real, 0.0) + beyond, gap), far)
    b = np.einsum("nij,nj->ni", R_b, of.center_b)[:, None, None, None]
    b = b - apart[:, None, None, None] + edges[1][:, :, None, :] + t[..., None] * v
    return Nearest(gap.reshape(n, -1), np.broadcast_to(n5, b.shape).reshape(n, -1, 3), b.reshape(n, -1, 3))


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


def _faces_apart(d: Array, R_a: Array, R_b: Array, of: BoxesData) -> tuple[Array, Array]:
    """How far each pair of faces of one has the other box outside, ``(n, 3)`` each; negative for an overlap."""
    U, V, apart = ((R_a @ of.axes_a).real.mT, (R_b @ of.axes_b).real.mT, _apart(d, R_a, R_b, of).real)
    uv = np.abs(U @ V.mT)
    on_a = np.abs(np.matvec(U, apart)) - of.half_a - np.matvec(uv, of.half_b)
    on_b = np.abs(np.matvec(V, apart)) - of.half_b - np.matvec(uv.mT, of.half_a)
    return on_a, on_b
