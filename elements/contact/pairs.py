"""Pairs of shapes in closed form: where they are nearest to each other.

Of each pair, the nearest point p of the surface of b and the normal from a to b follow from where the nodes are. The
gradients of gap and slip against body increments then are those of two points there that move with their bodies,
whatever the pair: with the levers ``c_i = p - x_i`` and a direction ``d``,

    G(d) = (-R_a^T d, -R_a^T (c_a x d), R_b^T d, R_b^T (c_b x d)).

That the point moves on the surfaces does not change gaps, it changes ``G``. The derivatives of ``G`` are taken by a
complex step (Squire, Trapp, SIAM Review 40, 1998): the same lines run with increments ``i h`` of the nodes, ``h`` so
small that its square is nothing, and the imaginary part over ``h`` is the derivative to the last digit. What follows
therefore keeps to functions that are analytic, and looks at real parts where it decides between regions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Motion
from fem_mbs.lie import so3

STEP = 1e-40
TINY = 1e-150
_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])


class Nearest(NamedTuple):
    """Nearest points of ``n`` pairs with ``r`` contacts each."""

    gap: Array
    """``(n, r)``."""
    normal: Array
    """From a to b, world frame, ``(n, r, 3)``."""
    b: Array
    """Points on the surface of b less the position of its node, world axes, ``(n, r, 3)``."""


Pair = Callable[[Array, Array, Array, Any], Nearest]
"""From ``x_b - x_a`` (n, 3), ``R_a``, ``R_b`` and the data of the pair."""


def dot(a: Array, b: Array) -> Array:
    """Without complex conjugation."""
    product: Array = (a * b).sum(-1)
    return product


def cross(a: Array, b: Array) -> Array:
    """Of vectors along the last axis."""
    product: Array = a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]
    return product


def length(v: Array) -> Array:
    """Euclidean, analytic."""
    size: Array = np.sqrt(dot(v, v))
    return size


def turned(R: Array, points: Array) -> Array:
    """Vectors ``(n, r, 3)`` of bodies with ``R`` (n, 3, 3) in the world."""
    return np.asarray(points @ R.mT)


def clamped(value: Array, low: Array | float, high: Array | float) -> Array:
    """Kept between two ends, as its real part says."""
    return np.where(value.real < low, low, np.where(value.real > high, high, value))


def joined(parts: Sequence[Nearest]) -> Nearest:
    """Contacts of several kinds of one pair, one after the other."""
    return Nearest(*(np.concatenate(own, axis=1) for own in zip(*parts, strict=True)))


def swapped(near: Nearest, d: Array) -> Nearest:
    """Contacts of b with a, found as those of a with b; ``d`` is ``x_b - x_a``."""
    n = -near.normal
    return Nearest(near.gap, n, near.b - d[:, None] + near.gap[..., None] * n)


class PlaneData(NamedTuple):
    """A plane of a and balls of b: points with radii, zero for corners."""

    normal: Array
    """``(n, 3)`` in the frame of a."""
    point: Array
    centers: Array
    """``(n, r, 3)`` in the frame of b."""
    radius: Array
    """``(n, r)``."""


def plane_points(d: Array, R_a: Array, R_b: Array, of: PlaneData) -> Nearest:
    """Balls, ends of capsules and corners above a plane."""
    n = np.matvec(R_a, of.normal)[:, None]
    c = turned(R_b, of.centers)
    w = d[:, None] + c - np.matvec(R_a, of.point)[:, None]
    height = dot(n, w)
    n = np.broadcast_to(n, w.shape)
    b = c - of.radius[..., None] * n
    gap = height - of.radius
    return Nearest(gap, n, b)


class SegmentData(NamedTuple):
    """Two segments with radii: capsules, and balls, whose half axes are zero."""

    center_a: Array
    half_a: Array
    radius_a: Array
    center_b: Array
    half_b: Array
    radius_b: Array


def segments(d: Array, R_a: Array, R_b: Array, of: SegmentData) -> Nearest:
    """Balls and capsules: the nearest points ``A + s u`` and ``B + t v`` with ``|s|, |t| <= 1``."""
    A, u = (turned(R_a, part[:, None]) for part in (of.center_a, of.half_a))
    B, v = (turned(R_b, part[:, None]) for part in (of.center_b, of.half_b))
    w = d[:, None] + B - A
    uu, vv, uv, uw, vw = dot(u, u), dot(v, v), dot(u, v), dot(u, w), dot(v, w)
    det = uu * vv - uv * uv
    parallel = det.real <= 1e-14 * (uu * vv).real
    s = np.where(parallel, 0.0, clamped((uw * vv - vw * uv) / np.where(parallel, 1.0, det), -1.0, 1.0))
    t = clamped((uv * s - vw) / np.where(vv.real > 0.0, vv, 1.0), -1.0, 1.0)
    s = clamped((uv * t + uw) / np.where(uu.real > 0.0, uu, 1.0), -1.0, 1.0)
    a, b = A + s[..., None] * u, B + t[..., None] * v
    apart = d[:, None] + b - a
    distance = length(apart)
    n = apart / np.where(np.abs(distance) > TINY, distance, 1.0)[..., None]
    gap = distance - (of.radius_a + of.radius_b)[:, None]
    return Nearest(gap, n, b - of.radius_b[:, None, None] * n)


class BushData(NamedTuple):
    """A hollow cylinder of a, and points of the axis of a pin of b."""

    axis: Array
    point: Array
    hole: Array
    """Its radius, ``(n,)``."""
    centers: Array
    radius: Array
    """Of the pin, ``(n,)``."""


def pin_in_bush(d: Array, R_a: Array, R_b: Array, of: BushData) -> Nearest:
    """The axis of a pin off that of its bush; where they meet, the gap is the clearance in any direction."""
    u = np.einsum("nij,nj->ni", R_a, of.axis)[:, None]
    c = turned(R_b, of.centers)
    w = d[:, None] + c - np.einsum("nij,nj->ni", R_a, of.point)[:, None]
    off = w - dot(w, u)[..., None] * u
    size = length(off)
    meets = np.abs(size) < TINY
    any_way = np.broadcast_to(np.einsum("nij,nj->ni", R_a, across(of.axis))[:, None], off.shape)
    n = np.where(meets[..., None], any_way, -off / np.where(meets, 1.0, size)[..., None])
    gap = (of.hole - of.radius)[:, None] - np.where(meets, 0.0, size)
    b = c - of.radius[:, None, None] * n
    return Nearest(gap, n, b)


def across(axis: Array) -> Array:
    """Unit vectors across unit vectors ``(n, 3)``."""
    other = np.eye(3)[np.argmin(np.abs(axis), axis=-1)]
    result = np.cross(axis, other)
    return result / np.linalg.norm(result, axis=-1)[:, None]


def gradients(near: Nearest, d: Array, R_a: Array, R_b: Array) -> Array:
    """``G`` of the normal and two tangents, that turn with node a, ``(n, r, 3, 12)``."""
    n, columns = near.normal, R_a.mT
    along = np.abs(np.vecmat(n.real, R_a[:, None].real))
    e = columns[np.arange(len(n))[:, None], np.argmin(np.round(along, 6), axis=-1)]
    first = e - dot(e, n)[..., None] * n
    first = first / length(first)[..., None]
    directions = np.stack([n, first, cross(n, first)], axis=-2)
    levers = (d[:, None] + near.b)[..., None, :], near.b[..., None, :]
    turns = [cross(lever, directions) for lever in levers]
    a, b = R_a[:, None], R_b[:, None]
    return np.concatenate([-directions @ a, -turns[0] @ a, directions @ b, turns[1] @ b], axis=-1)


_TURNS = so3.skew(np.eye(3))


def increments(x: Array, R: Array) -> tuple[Array, Array]:
    """Copies ``(p, 6, ..., p, 3)`` of nodes at ``x`` (..., p, 3), each with one body increment ``i STEP`` of one."""
    p = x.shape[-2]
    X, Q = (np.broadcast_to(part, (p, 6, *part.shape)).astype(complex) for part in (x, R))
    for node in range(p):
        own = R[..., node, :, :]
        X[node, :3, ..., node, :] += 1j * STEP * np.moveaxis(own, -1, 0)
        Q[node, 3:, ..., node, :, :] += 1j * STEP * (own @ _TURNS.reshape(3, *(own.ndim - 2) * (1,), 3, 3))
    return X, Q


def every(shape: tuple[int, ...]) -> IntArray:
    """Rows and places of all contacts, ``(2, nr)``."""
    return np.indices(shape).reshape(2, -1)


def picked(data: Any, rows: Any) -> Any:
    """Rows of all arrays of a named tuple, or whatever else an index says."""
    return type(data)(*(part[rows] for part in data))


class PairPlace(NamedTuple):
    """Contacts of ``n`` elements of one kind of pair, where their nodes are."""

    pair: Pair
    data: Any
    x: Array
    """``(n, 2, 3)``."""
    R: Array
    near: Nearest

    def points(self) -> Array:
        """Where they are, on the surface of b, ``(n, r, 3)``, world."""
        places: Array = self.x[:, 1, None] + self.near.b
        return places

    def gradients(self, rows: IntArray, places: IntArray) -> Array:
        """``G`` (k, 3, 12) of some contacts: ``places`` of ``rows``."""
        x, R, near = self.x[rows], self.R[rows], picked(self.near, (rows[:, None], places[:, None]))
        return gradients(near, x[:, 1] - x[:, 0], R[:, 0], R[:, 1])[:, 0]

    def bent(self, rows: IntArray, places: IntArray) -> Array:
        """Derivatives ``(k, 3, 12, 12)`` of these."""
        own, cells = np.unique(rows, return_inverse=True)
        data, n, k = picked(self.data, own), len(own), len(cells)
        X, Q = increments(self.x[own], self.R[own])
        X, Q = X.reshape(12 * n, 2, 3), Q.reshape(12 * n, 2, 3, 3)
        copies = type(data)(
            *(np.broadcast_to(part, (12, *part.shape)).reshape(12 * n, *part.shape[1:]) for part in data)
        )
        d = X[:, 1] - X[:, 0]
        near = self.pair(d, Q[:, 0], Q[:, 1], copies)
        cells = (n * np.arange(12)[:, None] + cells).ravel()
        near = picked(near, (cells[:, None], np.tile(places, 12)[:, None]))
        G = gradients(near, d[cells], Q[cells, 0], Q[cells, 1]).imag / STEP
        return np.moveaxis(G.reshape(12, k, 3, 12), 0, -1)

    def gap_rates(self, V: Array) -> Array:
        """Rates ``(n, r)`` of the gaps for body velocities ``V`` (n, 2, 6)."""
        linear, angular = (np.matvec(self.R, part)[:, :, None] for part in (V[..., :3], V[..., 3:]))
        levers = np.stack([(self.x[:, 1] - self.x[:, 0])[:, None] + self.near.b, self.near.b], axis=1)
        points = linear + cross(angular, levers)
        return dot(self.near.normal, points[:, 1] - points[:, 0])


def on_b(forces: Array, R: Array, count: int) -> Array:
    """Forces ``(k, 3)`` in the world on body b, the last ``count`` nodes, of those on all nodes, ``(k, 6p)``."""
    own = forces.reshape(len(forces), forces.shape[1] // 6, 6)[:, -count:, :3]
    return np.asarray(np.matvec(R[:, -count:], own).sum(axis=1))


class Approach(NamedTuple):
    """How the surfaces of ``n`` pairs of bodies move against each other."""

    gap: Array
    """``(n, r)``."""
    fastest: Array
    """At most, ``(n,)``, m/s."""
    opening: Array
    """The least and the largest rate ``(n, 2)`` of the distance, as long as bodies only move on: of convex ones, which
    translate, it does not fall."""
    velocity: Array
    """Of node b for who turns with node a, ``(n, 3)``."""
    spin: Array
    """The larger angular velocity, ``(n,)``, rad/s."""


def approach(near: Nearest, motion: Motion, nodes: IntArray, of_b: int, reaches: Array, *, convex: bool) -> Approach:
    """Of bodies with points within ``reaches`` (n, 2) of their nodes; whether both are ``convex``.

    Body b has the last ``of_b`` of the ``nodes`` (n, p), and each body may have points that move with any of its own.
    What has no reach is a ball about its node: it may as well turn as the other one does.
    """
    x, R, V = motion.x[nodes], motion.R[nodes], motion.V[nodes]
    linear, angular = (np.matvec(R, part) for part in (V[..., :3], V[..., 3:]))
    if nodes.shape[1] == 2:
        turns = reaches > 0.0
        angular = np.where(turns[..., None], angular, np.where(turns[:, ::-1, None], angular[:, ::-1], 0.0))
    a, b = (np.s_[:, :-of_b, None], np.s_[:, None, -of_b:])
    way, apart = x[b] - x[a], linear[b] - linear[a]
    at_nodes = np.stack([apart - cross(w, way) for w in (angular[a], angular[b])])
    turn = np.linalg.norm(angular[b] - angular[a], axis=-1) * reaches.min(axis=1)[:, None, None]
    fastest = (np.linalg.norm(at_nodes, axis=-1).max(axis=0) + turn).max(axis=(1, 2))
    opening = np.stack([-fastest, fastest], axis=-1)
    if convex:
        normal = near.normal[np.arange(len(nodes)), near.gap.argmin(axis=1)]
        along = dot(at_nodes, normal[:, None, None])
        ends = along.min(axis=0) - turn, along.max(axis=0) + turn
        opening = np.stack([ends[0].min(axis=(1, 2)), ends[1].max(axis=(1, 2))], axis=-1)
    spin = np.linalg.norm(angular, axis=-1).max(axis=-1)
    return Approach(near.gap, fastest, opening, at_nodes[0, :, 0, 0], spin)


class Pairs:
    """Elements with one kind of pair, as arrays."""

    of_b = 1
    """Nodes of body b."""

    def __init__(self, elements: Sequence[Any], closed: bool = False) -> None:
        self._pair: Pair = elements[0].pair
        parts = zip(*(e.data for e in elements), strict=True)
        data = type(elements[0].data)(*(own[0] if len(own) == 1 else np.concatenate(own) for own in parts))
        # within a step, closed contacts of what has corners stay on the face or the edge where they are
        self._data = data._replace(continued=~data.continued) if closed and "continued" in data._fields else data
        self.sides = np.concatenate([np.full(len(own.reach), -1.0 if own.swapped else 1.0) for own in elements])
        """-1 where the nodes of the pair are in the other order than those of the element."""

    def some(self, rows: IntArray) -> Pairs:
        """Those of some of the elements."""
        result = copy(self)
        result._data, result.sides = picked(self._data, rows), self.sides[rows]
        return result

    def at(self, motion: Motion, nodes: IntArray) -> PairPlace:
        """Where they are nearest."""
        x, R = motion.x[nodes], motion.R[nodes]
        return PairPlace(self._pair, self._data, x, R, self._pair(x[:, 1] - x[:, 0], R[:, 0], R[:, 1], self._data))
