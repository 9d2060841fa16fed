"""Where tubes about smooth curves are nearest: beams with each other, with balls and with capsules.

The skin of a beam is a tube about the smooth curve through its nodes: cubic from one to the next, perpendicular to the
sections at both (Hermite; smoothing as of Wriggers, Krstulovic-Opara, Zavarise, *IJNME* 51, 2001). It has no kinks at
nodes, not even where shear forces jump, so that what slides passes them unhindered. With the polynomials ``h_i``,
``g_i`` of ``s`` in [0, 1], the places ``p_i`` and the directions ``m_i`` (as long as the piece) at its two nodes,

    c(s) = sum_i h_i p_i + g_i m_i.

A capsule is such a curve, too, straight and with both ends at one node, and a ball one that is a point; ends of curves
are half balls. What a force along ``d`` at the skin does to the nodes is what ``d . delta c`` says at constant ``s``:
forces ``h_i d`` at ``p_i`` and moments ``m_i x g_i d``, to which the moment about the curve is shared linearly.
Derivatives of these are taken by a complex step, as those of pairs; the places at which the curves are nearest
follow by one step of Newton's method with increments ``i h``.

They are found by Newton's method, from the nearest of some samples of both. Of two curves the places obey

    a'(s) . (b(t) - a(s)) = 0,    b'(t) . (b(t) - a(s)) = 0

(Wriggers, Zavarise, *Commun. Numer. Meth. Engng* 13, 1997), or are ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import Motion
from fem_mbs.elements.contact.pairs import STEP, TINY, Nearest, cross, dot, increments, length, picked

SAMPLES = np.linspace(0.0, 1.0, 5)
"""Places in each piece from which the nearest ones are sought."""
ITERATIONS, ROUNDING, FARTHEST = 60, 1e-14, 0.5
NEARER = 1.0 - 1e-9
"""Square of a distance, against that of another place, below which it is no rounding."""
HALVINGS, SURE = 10, 1e-6
"""Of a step that does not come nearer, and the length from which on that is not looked at: it is rounding."""
PARALLEL = 1e-9
"""Sine squared of curves, and what their bends add to it, of which no places are nearest: that on b is held."""
SIGNS = np.array([-1.0, 1.0])
"""Of what the two curves do to the way from a to b."""


def hermite(s: Array) -> list[Array]:
    """Weights ``(..., 4)`` of ``p_0, m_0, p_1, m_1`` at places, and their first and second derivatives."""
    zero = np.zeros_like(s)
    powers = np.stack([zero + 1.0, s, s * s, s**3], -1)
    slopes = np.stack([zero, zero + 1.0, 2.0 * s, 3.0 * s * s], -1)
    bends = np.stack([zero, zero, zero + 2.0, 6.0 * s], -1)
    return [part @ _HERMITE for part in (powers, slopes, bends)]


_HERMITE = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [-3.0, -2.0, 3.0, -1.0], [2.0, 1.0, -2.0, 1.0]])
"""Coefficients of the powers of ``s``, one column a weight."""


def along(knots: Array, places: Array) -> list[Array]:
    """Points of both curves with ``knots`` (..., 2, 4, 3), and first and second derivatives, ``(..., 2, 3)``."""
    return [np.einsum("...sk,...ski->...si", part, knots) for part in hermite(places)]


def derivatives(y: Array, slope: Array, bend: Array, held: BoolArray) -> tuple[Array, Array, Array]:
    """Of half the square of the way ``y`` against the places: first and second ones ``(..., 2)``, and the mixed one."""
    first = SIGNS * dot(slope, y[..., None, :])
    second = dot(slope, slope) + SIGNS * dot(bend, y[..., None, :])
    mixed = -dot(slope[..., 0, :], slope[..., 1, :])
    return np.where(held, 0.0, first), np.where(held, 1.0, second), np.where(held.any(-1), 0.0, mixed)


def newton_step(first: Array, second: Array, mixed: Array) -> Array:
    """Of both places, ``(..., 2)``."""
    det = second[..., 0] * second[..., 1] - mixed * mixed
    return (mixed[..., None] * first[..., ::-1] - second[..., ::-1] * first) / det[..., None]


class Way(NamedTuple):
    """From a place on a to one on b."""

    piece: IntArray
    places: Array
    y: Array
    slope: Array
    bend: Array


def nearest_places(
    knots: list[Array], closed: BoolArray, parts: IntArray, within: Array
) -> tuple[Way, Array, BoolArray]:
    """Of ``n`` pairs of curves, in ``r`` parts of a each: the way, all along the pieces, and whether a place is held.

    A place ``u = piece + s`` is held at an end of what it may be in, beyond which it would be nearer, and where all
    places are as near. Steps of Newton's method are shorter where they do not come nearer, and along the slopes where
    the square of the distance is not convex. Of two places that steps lead to from different samples, the nearer one is
    taken: curves may have several.

    Parameters
    ----------
    knots : list of (n, k, 4, 3)
        Of the pieces of a and b.
    closed : (n, 2)
        Whether they are rings.
    parts : (r + 1,)
        Pieces of a at which its parts begin and end.
    within : (n, r, 2, 2)
        What places may be in: curve, low or high.
    """
    low, high = np.moveaxis(np.repeat(within, 2, axis=1), -1, 0)
    u, tiny = _samples(knots, parts, within), ROUNDING * parts[-1]
    at = _way(knots, closed, u)
    for _ in range(ITERATIONS):
        step = _step_within(at, u, low, high)
        for _ in range(HALVINGS):
            new = u + step
            new = np.where(new - low <= tiny, low, np.where(high - new <= tiny, high, new))
            ahead = _way(knots, closed, new)
            farther = np.vecdot(ahead.y, ahead.y) > np.vecdot(at.y, at.y)
            farther &= np.abs(step).max(axis=-1) > SURE
            if not farther.any():
                break
            step = np.where(farther[..., None], 0.5 * step, step)
        moved, u, at = np.abs(new - u).max(initial=0.0), new, ahead
        if moved <= tiny:
            break
    first = SIGNS * np.vecdot(at.slope, at.y[..., None, :])
    held = _leads_out(-first, u, low, high) | (low == high)
    _, second, mixed, steep = _slopes(at, held)
    held |= second <= PARALLEL * steep
    held[..., 1] |= _flatness(second, mixed, steep) <= PARALLEL
    first, other = np.moveaxis(np.vecdot(at.y, at.y).reshape(len(u), -1, 2), -1, 0)
    rows, taken = np.arange(len(u))[:, None], 2 * np.arange(first.shape[1]) + (other < NEARER * first)
    return Way(*(part[rows, taken] for part in at)), u[rows, taken], held[rows, taken]


def _step_within(at: Way, u: Array, low: Array, high: Array) -> Array:
    """Of both places, as a whole: along a valley between curves that are almost parallel they go together."""
    step, first = _step(at, held := low == high)
    if (out := _leads_out(step, u, low, high)).any():
        # of two at their ends one may go back along its curve
        step, _ = _step(at, held | out & ((first * step < 0.0) | ~out.all(axis=-1, keepdims=True)))
        step[_leads_out(step, u, low, high)] = 0.0
    room = np.where(step < 0.0, low - u, high - u) / np.where(step == 0.0, 1.0, step)
    room = np.minimum(np.where(step == 0.0, 1.0, room), FARTHEST / np.maximum(np.abs(step), FARTHEST))
    return step * room.min(axis=-1, keepdims=True)


def _leads_out(way: Array, u: Array, low: Array, high: Array) -> BoolArray:
    """Whether a way leads from a place that is an end beyond it."""
    return (u <= low) & (way < 0.0) | (u >= high) & (way > 0.0)


def _step(at: Way, held: BoolArray) -> tuple[Array, Array]:
    """Of both places, none of those that are held, and the first derivatives."""
    first, second, mixed, steep = _slopes(at, held)
    lengths = np.sqrt(steep)
    bent = np.eye(2) * second[..., None] + np.eye(2)[::-1] * mixed[..., None, None]
    w, axes = np.linalg.eigh(bent / (lengths[..., None] * lengths[..., None, :]))
    sure = np.abs(w) > PARALLEL
    of_axes = np.where(sure, np.vecmat(first / lengths, axes), 0.0) / np.where(sure, np.abs(w), 1.0)
    return -np.matvec(axes, of_axes) / lengths, first


def _slopes(at: Way, held: BoolArray) -> tuple[Array, Array, Array, Array]:
    """Derivatives of half the square of the distance, and squares of the slopes."""
    return *derivatives(at.y, at.slope, at.bend, held), np.where(held, 1.0, np.vecdot(at.slope, at.slope))


def _samples(knots: list[Array], parts: IntArray, within: Array) -> Array:
    """Of samples of both curves the nearest, and the next that is nearer than those beside it, of each part of a.

    ``(n, 2 r, 2)``; the nearest again where there is no other.
    """
    every = [(np.arange(own.shape[1])[:, None] + SAMPLES).ravel() for own in knots]
    every[1] = every[1] * within[:, 0, 1, 1].any()  # a point has one
    a, b = (np.einsum("sk,npki->npsi", hermite(SAMPLES)[0], own).reshape(len(own), -1, 3) for own in knots)
    away = np.square(a[:, :, None] - b[:, None]).sum(-1)
    found = []
    for first, last in zip(parts[:-1], parts[1:], strict=True):
        part = slice(len(SAMPLES) * first, len(SAMPLES) * last)
        own = away[:, part]
        beside = np.pad(own, ((0, 0), (1, 1), (1, 1)), constant_values=np.inf)
        lowest = (own < beside[:, :-2, 1:-1]) & (own < beside[:, 1:-1, :-2])
        lowest &= (own <= beside[:, 2:, 1:-1]) & (own <= beside[:, 1:-1, 2:])
        rows, rest = np.arange(len(own)), np.where(lowest, own, np.inf).reshape(len(own), -1)
        nearest = own.reshape(len(own), -1).argmin(axis=1)
        rest[rows, nearest] = np.inf
        other = rest.argmin(axis=1)
        other = np.where(np.isfinite(rest[rows, other]), other, nearest)
        i, j = np.unravel_index([nearest, other], own[0].shape)
        found += list(np.stack([every[0][part][i], every[1][j]], axis=-1))
    return np.stack(found, axis=1)


def _way(knots: list[Array], closed: BoolArray, u: Array) -> Way:
    """From a to b, at places in all pieces; rings begin anew."""
    rows, counts = np.arange(len(u))[:, None], np.array([own.shape[1] for own in knots])
    piece = np.floor(np.where(closed[:, None], u, np.clip(u, 0.0, counts - 0.5))).astype(np.intp)
    places, piece = u - piece, piece % counts
    own = np.stack([part[rows, piece[..., side]] for side, part in enumerate(knots)], axis=-3)
    points, slope, bend = along(own, places)
    return Way(piece, places, points[..., 1, :] - points[..., 0, :], slope, bend)


def _flatness(second: Array, mixed: Array, steep: Array) -> Array:
    """Determinant of the second derivatives against that of curves that cross at a right angle; negative if one is."""
    det = second[..., 0] * second[..., 1] - mixed * mixed
    return np.where((second > 0.0).all(axis=-1), det, -1.0) / steep.prod(axis=-1)


OVER_THE_END = 0.9
"""Cosine of normal and curve from which on, at an end, tangents are made from the section's y axis."""


class Pieces(NamedTuple):
    """One piece of each of the two curves of ``...`` pairs: two nodes of a, then two of b, which may be one."""

    offsets: Array
    """Where the curve is in the frames of the nodes, ``(..., 4, 3)``."""
    axes: Array
    """Along the curve there, as long as the piece, ``(..., 4, 3)``."""
    sides: Array
    """The y axes of the sections of a there, ``(..., 2, 3)``."""
    radii: Array
    """Of both, ``(..., 2)``."""
    places: Array
    """``s`` and ``t``, ``(..., 2)``."""
    held: BoolArray
    """Whether they are ends, ``(..., 2)``."""


def nearest(x: Array, R: Array, of: Pieces) -> tuple[Nearest, Array]:
    """Nearest points, and gradients ``(..., 3, 6p)`` of gap and slips against two nodes of a, and one or two of b."""
    p = x.shape[-2]
    four = [0, 1, 2, p - 1]
    frames = R[..., four, :, :]
    arms, m = (np.einsum("...ij,...j->...i", frames, part) for part in (of.offsets, of.axes))
    knots = np.stack([x[..., four, :] - x[..., -1:, :] + arms, m], axis=-2).reshape(*x.shape[:-2], 2, 4, 3)
    points, slope, bend = along(knots, of.places)
    places = of.places + newton_step(*derivatives(points[..., 1, :] - points[..., 0, :], slope, bend, of.held))
    points, slope, _ = along(knots, places)
    y = points[..., 1, :] - points[..., 0, :]
    distance = length(y)
    n = y / np.where(np.abs(distance) > TINY, distance, 1.0)[..., None]
    d = _directions(n, slope[..., 0, :], frames, of)
    r = of.radii[..., 1, None]
    middle = 0.5 * (distance[..., None] + of.radii[..., :1] - r)  # of gap or overlap
    levers = np.stack([middle * n, (middle - distance[..., None]) * n], axis=-2)
    weights = hermite(places)[0]
    forces, couples = (_of_nodes(weights[..., k::2]) * d[..., None, :, :] for k in (0, 1))
    about = cross(levers[..., None, :], d[..., None, :, :]).repeat(2, axis=-3)
    about = _of_nodes(np.stack([1.0 - places, places], axis=-1)) * about
    moments = cross(arms[..., None, :], forces) + cross(m[..., None, :], couples) + about
    parts = (SIGNS.repeat(2)[:, None, None] * part for part in (forces, moments))
    G = np.concatenate([np.einsum("...dj,...ji->...di", part, frames) for part in parts], axis=-1)
    if p == 3:
        G = np.concatenate([G[..., :2, :, :], G[..., 2:3, :, :] + G[..., 3:, :, :]], axis=-3)
    G = G.swapaxes(-3, -2).reshape(*x.shape[:-2], 3, 6 * p)
    return Nearest(distance - of.radii.sum(-1), n, points[..., 1, :] - r * n), G


def _directions(n: Array, slope: Array, frames: Array, of: Pieces) -> Array:
    """The normal and two tangents ``(..., 3, 3)``, the first along a; over its end along the y axis of its section."""
    over = np.abs(dot(n, slope)).real > OVER_THE_END * length(slope).real
    sides = np.einsum("...ij,...j->...i", frames[..., :2, :, :], of.sides)
    side = np.where(of.places.real[..., :1] < 0.5, sides[..., 0, :], sides[..., 1, :])
    across = np.where(over[..., None], side, slope)
    first = across - dot(across, n)[..., None] * n
    first = first / length(first)[..., None]
    return np.stack([n, first, cross(n, first)], axis=-2)


def _of_nodes(weights: Array) -> Array:
    """Weights ``(..., 2, 2)`` of two nodes of both curves, for vectors along three directions at four nodes."""
    return weights.reshape(*weights.shape[:-2], 4, 1, 1)


class TubePlace(NamedTuple):
    """Contacts of ``n`` pairs of curves in ``r`` places each, where their nodes are."""

    pieces: Pieces
    columns: IntArray
    """Of the body increments of all nodes, those of the ``p`` that count, ``(n, r, 6p)``."""
    size: int
    x: Array
    """Positions ``(n, r, p, 3)`` and rotations of these."""
    R: Array
    near: Nearest
    compact: Array
    """Gradients ``(n, r, 3, 6p)`` against increments of these."""

    def points(self) -> Array:
        """Where they are, on the skin of b, ``(n, r, 3)``, world."""
        return self.x[:, :, -1] + self.near.b

    def gradients(self, rows: IntArray, places: IntArray) -> Array:
        """``G`` (k, 3, 6q) of some contacts."""
        G = np.zeros((len(rows), 3, self.size))
        G[np.arange(len(rows))[:, None], :, self.columns[rows, places]] = self.compact[rows, places].mT
        return G

    def bent(self, rows: IntArray, places: IntArray) -> Array:
        """Derivatives ``(k, 3, 6q, 6q)`` of these."""
        pieces = picked(self.pieces, (rows, places))
        moved = nearest(*increments(self.x[rows, places], self.R[rows, places]), pieces)[1]
        k, width = len(rows), moved.shape[-1]
        H, columns = np.zeros((k, 3, self.size, self.size)), self.columns[rows, places]
        H[np.arange(k)[:, None, None], :, columns[..., None], columns[:, None]] = np.moveaxis(
            moved.imag.reshape(width, k, 3, width) / STEP, (1, 3, 0), (0, 1, 2)
        )
        return H

    def gap_rates(self, V: Array) -> Array:
        """Rates ``(n, r)`` of the gaps for body velocities ``V`` (n, q, 6)."""
        of_nodes = np.take_along_axis(V.reshape(len(V), 1, -1), self.columns, axis=-1)
        return np.asarray(np.vecdot(self.compact[:, :, 0], of_nodes))


class Curve(NamedTuple):
    """A curve through nodes, piece by piece."""

    offsets: Array
    """Where it is at both nodes of each piece, in their frames, ``(k, 2, 3)``."""
    axes: Array
    """Along it there, as long as the piece."""
    sides: Array
    """The y axes of its sections there."""
    closed: BoolArray
    """Whether it is a ring, ``()``."""


class Tubes:
    """Pairs of curves with equal numbers of nodes, as arrays.

    Each pair has ``r`` places: the nearest one of each of ``r`` parts of a. While ``closed``, they go on beyond
    the borders of their parts.
    """

    def __init__(self, elements: Sequence[Any], closed: bool = False) -> None:
        curves = [own.curves for own in elements]
        self._curves = [
            Curve(*(np.array(part) for part in zip(*side, strict=True))) for side in zip(*curves, strict=True)
        ]
        self._radii = np.array([own.radii for own in elements])
        self.sides, self.of_b, r = np.ones(len(elements)), int(elements[0].of_b), len(elements[0].contacts)
        counts = np.array([curve.offsets.shape[1] for curve in self._curves])
        self._parts = np.round(np.linspace(0.0, counts[0], r + 1)).astype(np.intp)
        # places go on around rings, but not on a point
        self._rings = np.stack([curve.closed for curve in self._curves], axis=-1)
        ends = np.where(self._rings[..., None], np.array([-np.inf, np.inf]), counts[:, None] * np.array([0.0, 1.0]))
        ends[:, 1, 1] *= np.abs(self._curves[1].axes).max(axis=(1, 2, 3)) > 0.0
        self._ends = ends[:, None].repeat(r, axis=1)
        """Of the curves, ``(n, r, 2, 2)``: curve, low or high."""
        self._within = self._ends.copy()
        if r > 1 and not closed:
            self._within[:, :, 0] = np.stack([self._parts[:-1], self._parts[1:]], axis=-1)

    def some(self, rows: IntArray) -> Tubes:
        """Those of some of the elements."""
        result = copy(self)
        result._curves = [picked(curve, rows) for curve in self._curves]
        for name in ("_radii", "_rings", "_ends", "_within", "sides"):
            setattr(result, name, getattr(self, name)[rows])
        return result

    def at(self, motion: Motion, nodes: IntArray) -> TubePlace:
        """Where they are nearest."""
        return self.near(motion.x[nodes], motion.R[nodes])

    def near(self, x: Array, R: Array) -> TubePlace:
        """Where they are nearest, with nodes ``x`` (n, q, 3)."""
        n, q = x.shape[:2]
        at, u, held = self.places(x, R)
        every, own = np.arange(n)[:, None], self._of(x)
        which = [nodes[at.piece[..., side]] for side, nodes in enumerate(own)]
        those = np.concatenate([which[0], which[1][..., : min(self.of_b, 2)]], axis=-1)
        a, b = ([part[every, at.piece[..., side]] for part in curve[:3]] for side, curve in enumerate(self._curves))
        offsets, axes = (np.concatenate(pair, axis=-2) for pair in zip(a[:2], b[:2], strict=True))
        radii = np.broadcast_to(self._radii[:, None], u.shape)
        pieces = Pieces(offsets, axes, a[2], radii, at.places, held)
        x, R = x[every[..., None], those], R[every[..., None], those]
        columns = (6 * those[..., None] + np.arange(6)).reshape(*those.shape[:2], -1)
        found, G = nearest(x, R, pieces)
        # at a border between two parts of a what is nearest is in the next one
        border = (u[..., None] == self._within) & (self._within != self._ends)
        between = border[..., 0, :].any(axis=-1) & held[..., 0]
        found = found._replace(gap=np.where(between, np.maximum(found.gap, 0.0), found.gap))
        return TubePlace(pieces, columns, 6 * q, x, R, found, G)

    def places(self, x: Array, R: Array) -> tuple[Way, Array, BoolArray]:
        """Where both curves are nearest, all along their pieces, and which places are held."""
        return nearest_places(self.knots(x, R), self._rings, self._parts, self._within)

    def knots(self, x: Array, R: Array) -> list[Array]:
        """Of the pieces of both curves, ``(n, k, 4, 3)``."""
        knots = []
        for curve, i in zip(self._curves, self._of(x), strict=True):
            points, m = x[:, i] - x[:, -1:, None] + np.matvec(R[:, i], curve.offsets), np.matvec(R[:, i], curve.axes)
            knots.append(np.stack([points, m], axis=3).reshape(len(x), len(i), 4, 3))
        return knots

    def _of(self, x: Array) -> list[IntArray]:
        """The two nodes of each piece of both curves, ``(k, 2)``."""
        first, two = x.shape[1] - self.of_b, np.arange(2)
        b = first + np.arange(self.of_b - 1)[:, None] + two if self.of_b > 1 else np.full((1, 2), first)
        return [np.arange(first - 1)[:, None] + two, b]
