"""Pairs of shapes in closed form: where they are nearest to each other.

Of each pair, the nearest point of the surface of b and the normal from a to b follow from where the nodes are. The
gradients of gap and slip against body increments then are those of two points that move with their bodies, whatever
the pair: with the levers ``c_i = p - x_i`` to the middle p of gap or overlap, whichever body is a, and a direction
``d``,

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
from fem_mbs.contracts.unilateral import FARTHEST
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


def dot(a: Array, b: Array) -> Array:
    """Without complex conjugation."""
    return np.einsum("...i,...i->...", a, b)


def cross(a: Array, b: Array) -> Array:
    """Of vectors along the last axis."""
    return a.take(_NEXT, -1) * b.take(_LAST, -1) - a.take(_LAST, -1) * b.take(_NEXT, -1)


def length(v: Array) -> Array:
    """Euclidean, analytic."""
    return np.sqrt(dot(v, v))


def clamped(value: Array, low: Array | float, high: Array | float) -> Array:
    """Kept between two ends, as its real part says."""
    return np.where(value.real < low, low, np.where(value.real > high, high, value))


class HalfSpace(NamedTuple):
    """A plane, solid on one side. As of all solids, vectors are ``(n, r, 3)`` and lengths ``(n, r)``, r often 1."""

    normal: Array
    point: Array

    def at(self, x: Array | float, R: Array) -> HalfSpace:
        """As of all solids: from the frame of a node at ``x`` (n, 1, 3) with ``R`` (n, 3, 3) to world axes."""
        return HalfSpace(self.normal @ R.mT, x + self.point @ R.mT)


class Points(NamedTuple):
    """Balls, ends of capsules, and corners, whose radii are zero."""

    center: Array
    radius: Array

    def at(self, x: Array | float, R: Array) -> Points:
        return Points(x + self.center @ R.mT, self.radius)


class Segment(NamedTuple):
    """Capsules; balls, whose half axes are zero, and edges, whose radii are."""

    center: Array
    half: Array
    radius: Array

    def at(self, x: Array | float, R: Array) -> Segment:
        return Segment(x + self.center @ R.mT, self.half @ R.mT, self.radius)

    @property
    def ends(self) -> Points:
        """The first ones, then the others."""
        ends = np.concatenate([self.center - self.half, self.center + self.half], axis=-2)
        return Points(ends, np.concatenate([self.radius, self.radius], axis=-1))


class Round(NamedTuple):
    """Cylinders and holes."""

    center: Array
    axis: Array
    across: Array
    """Any direction across the axis."""
    half: Array
    """Of the length."""
    radius: Array

    def at(self, x: Array | float, R: Array) -> Round:
        center, axis, across = (part @ R.mT for part in self[:3])
        return Round(x + center, axis, across, self.half, self.radius)


Solid = HalfSpace | Points | Segment | Round
Pair = Callable[[Any, Any], Nearest]
"""From the solids of a and b in world axes, about the node of b."""


def plane_points(a: HalfSpace, b: Points) -> Nearest:
    """Balls, ends of capsules and corners above a plane."""
    n = a.normal + 0.0 * b.center
    return Nearest(dot(n, b.center - a.point) - b.radius, n, b.center - b.radius[..., None] * n)


def segments(a: Segment, b: Segment) -> Nearest:
    """Balls, capsules and edges: the nearest points ``A + s u`` and ``B + t v`` with ``|s|, |t| <= 1``.

    Of parallel ones, in the middle of where they are beside each other.
    """
    (A, u, _), (B, v, _), w = a, b, b.center - a.center
    uu, vv, uv, uw, vw = dot(u, u), dot(v, v), dot(u, v), dot(u, w), dot(v, w)
    det = uu * vv - uv * uv
    parallel = det.real <= 1e-14 * (uu * vv).real
    long_a, long_b = (np.where(size.real > 0.0, size, 1.0) for size in (uu, vv))
    beside = 0.5 * sum(clamped((uw + end) / long_a, -1.0, 1.0) for end in (-uv, uv))
    s = np.where(parallel, beside, clamped((uw * vv - vw * uv) / np.where(parallel, 1.0, det), -1.0, 1.0))
    t = clamped((uv * s - vw) / long_b, -1.0, 1.0)
    s = clamped((uv * t + uw) / long_a, -1.0, 1.0)
    there = B + t[..., None] * v
    apart = there - (A + s[..., None] * u)
    distance = length(apart)
    n = apart / np.where(np.abs(distance) > TINY, distance, 1.0)[..., None]
    return Nearest(distance - (a.radius + b.radius), n, there - b.radius[..., None] * n)


def pin_in_bush(a: Round, b: Points) -> Nearest:
    """The axis of a pin off that of its bush; where they meet, the gap is the clearance in any direction."""
    w = b.center - a.center
    off = w - dot(w, a.axis)[..., None] * a.axis
    size = length(off)
    meets = np.abs(size) < TINY
    n = np.where(meets[..., None], a.across, -off / np.where(meets, 1.0, size)[..., None])
    return Nearest(a.radius - b.radius - np.where(meets, 0.0, size), n, b.center - b.radius[..., None] * n)


def across(axis: Array) -> Array:
    """A unit vector across another one ``(3,)``."""
    result = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    return np.asarray(result / np.linalg.norm(result))


def gradients(near: Nearest, d: Array, R_a: Array, R_b: Array) -> Array:
    """``G`` of the normal and two tangents, that turn with node a, ``(n, r, 3, 12)``."""
    n, columns = near.normal, R_a.mT
    along = np.abs(np.vecmat(n.real, R_a[:, None].real))
    e = columns[np.arange(len(n))[:, None], np.argmin(np.round(along, 6), axis=-1)]
    first = e - dot(e, n)[..., None] * n
    first = first / length(first)[..., None]
    directions = np.stack([n, first, cross(n, first)], axis=-2)
    middle = near.b - 0.5 * near.gap[..., None] * n
    levers = (d[:, None] + middle)[..., None, :], middle[..., None, :]
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


def stacked(data: Sequence[Any], by: Callable[..., Array]) -> Any:
    """Named tuples of one kind as one: their arrays, put together ``by`` a function of NumPy."""
    return type(data[0])(*map(by, zip(*data, strict=True)))


def nearest(pair: Pair, a: Solid, b: Solid, x: Array, R: Array) -> Nearest:
    """Of solids of two nodes at ``x`` (n, 2, 3): seen from b, far from the origin, too."""
    return pair(a.at((x[:, 0] - x[:, 1])[:, None], R[:, 0]), b.at(0.0, R[:, 1]))


class PairPlace(NamedTuple):
    """Contacts of ``n`` elements of one kind of pair, where their nodes are."""

    pair: Pair
    solids: tuple[Solid, Solid]
    """Of a and b, in the frames of their nodes."""
    x: Array
    """``(n, 2, 3)``."""
    R: Array
    near: Nearest

    def points(self) -> Array:
        """Where they are, on the surface of b, ``(n, r, 3)``, world."""
        return self.x[:, 1, None] + self.near.b

    def gradients(self, rows: IntArray, places: IntArray) -> Array:
        """``G`` (k, 3, 12) of some contacts: ``places`` of ``rows``."""
        x, R, near = self.x[rows], self.R[rows], picked(self.near, (rows[:, None], places[:, None]))
        return gradients(near, x[:, 1] - x[:, 0], R[:, 0], R[:, 1])[:, 0]

    def bent(self, rows: IntArray, places: IntArray) -> Array:
        """Derivatives ``(k, 3, 12, 12)`` of these: node b is moved, as nothing changes where both move as one body."""
        own, cells = np.unique(rows, return_inverse=True)
        n, k = len(own), len(cells)
        X, Q = (part[1].reshape(6 * n, 2, *part.shape[4:]) for part in increments(self.x[own], self.R[own]))
        a, b = (picked(solid, np.tile(own, 6)) for solid in self.solids)
        near = nearest(self.pair, a, b, X, Q)
        cells = (n * np.arange(6)[:, None] + cells).ravel()
        near = picked(near, (cells[:, None], np.tile(places, 6)[:, None]))
        G = gradients(near, X[cells, 1] - X[cells, 0], Q[cells, 0], Q[cells, 1]).imag / STEP
        by_b = np.moveaxis(G.reshape(6, k, 3, 12), 0, -1)
        (x_a, x_b), (R_a, R_b) = self.x[rows].swapaxes(0, 1), self.R[rows].swapaxes(0, 1)
        together = np.zeros((k, 6, 6))  # what moves b as a body with a
        together[:, :3, :3] = together[:, 3:, 3:] = R_b.mT @ R_a
        together[:, :3, 3:] = R_b.mT @ so3.skew(x_a - x_b) @ R_a
        return np.concatenate([-by_b @ together[:, None], by_b], axis=-1)

    def gap_rates(self, V: Array) -> Array:
        """Rates ``(n, r)`` of the gaps for body velocities ``V`` (n, 2, 6)."""
        linear, angular = (np.matvec(self.R, part)[:, :, None] for part in (V[..., :3], V[..., 3:]))
        levers = np.stack([(self.x[:, 1] - self.x[:, 0])[:, None] + self.near.b, self.near.b], axis=1)
        points = linear + cross(angular, levers)
        return dot(self.near.normal, points[:, 1] - points[:, 0])


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
        self._pair: Pair = elements[0].closed_pair if closed else elements[0].pair
        a, b = (stacked(own, np.concatenate) for own in zip(*(e.solids for e in elements), strict=True))
        self._solids: tuple[Solid, Solid] = a, b
        self.sides = np.concatenate([np.full(len(own.reach), -1.0 if own.swapped else 1.0) for own in elements])
        """-1 where the nodes of the pair are in the other order than those of the element."""

    def some(self, rows: IntArray) -> Pairs:
        """Those of some of the elements."""
        result, (a, b) = copy(self), self._solids
        result._solids, result.sides = (picked(a, rows), picked(b, rows)), self.sides[rows]
        return result

    def at(self, motion: Motion, nodes: IntArray) -> PairPlace:
        """Where they are nearest."""
        x, R = motion.x[nodes], motion.R[nodes]
        return PairPlace(self._pair, self._solids, x, R, nearest(self._pair, *self._solids, x, R))


class NearestBatch:
    """Batches of contacts: where the surfaces of their pairs are nearest."""

    nodes: IntArray
    reach: Array
    passes: bool

    def measures(self, elements: Sequence[Any], nodes: IntArray, *, closed: bool = False) -> None:
        """Take the pairs of elements with ``nodes`` (n, q); ``closed`` if they are so throughout a step."""
        self._pairs = elements[0].geometry(elements, closed)
        self.nodes = np.concatenate([own[e.pairs] for own, e in zip(nodes, elements, strict=True)])
        self.reach = np.minimum(np.concatenate([e.reach for e in elements]), FARTHEST)
        self.passes, self.convex = elements[0].passes, elements[0].convex

    def gaps(self, motion: Motion) -> Array:
        """Gaps ``(n, r)``."""
        return self._pairs.at(motion, self.nodes).near.gap

    def approach(self, motion: Motion) -> Approach:
        """How surfaces move against each other."""
        near = self._pairs.at(motion, self.nodes).near
        return approach(near, motion, self.nodes, self._pairs.of_b, self.reach, convex=self.convex)

    def points(self, motion: Motion) -> Array:
        """Where they are, on the surface of b, ``(n, r, 3)``, world."""
        return self._pairs.at(motion, self.nodes).points()

    def on_b(self, motion: Motion, rows: IntArray, forces: Array) -> Array:
        """Forces ``(k, 3)`` in the world on body b, the last nodes, of those on all nodes of ``rows``, ``(k, 6q)``."""
        own = forces.reshape(len(rows), self.nodes.shape[1], 6)[:, -self._pairs.of_b :, :3]
        R = motion.R[self.nodes[rows, -self._pairs.of_b :]]
        return np.asarray(self._pairs.sides[rows, None] * np.matvec(R, own).sum(axis=1))
