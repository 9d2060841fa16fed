"""Where balls are nearest to beams.

The skin of a beam is a tube about the smooth curve through its nodes: cubic from one to the next, perpendicular to the
sections at both (Hermite; smoothing as of Wriggers, Krstulovic-Opara, Zavarise, *IJNME* 51, 2001). It has no kinks at
nodes, not even where shear forces jump, so that what slides passes them unhindered. With the polynomials ``h_i``,
``g_i`` of ``s`` in [0, 1], the places ``p_i`` and the directions ``m_i`` (as long as the piece) at its two nodes,

    c(s) = sum_i h_i p_i + g_i m_i,    c'(s) . (C - c(s)) = 0,

or ``s`` is that of an end of the beam, which is half a ball. What a force along ``d`` at the skin does to the nodes is
what ``d . delta c`` says at constant ``s``: forces ``h_i d`` at ``p_i`` and moments ``m_i x g_i d``, to which the
moment about the curve is shared linearly. Derivatives of these are taken by a complex step, as those of pairs; the
place ``s`` follows by one step of Newton's method with increments ``i h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import Motion
from fem_mbs.elements.contact.pairs import STEP, Nearest, cross, dot, length, picked
from fem_mbs.lie import so3

SAMPLES = np.linspace(0.0, 1.0, 5)
"""Places in each piece from which the nearest one is sought."""
ITERATIONS, ROUNDING, FARTHEST = 50, 1e-14, 0.5
OVER_THE_END = 0.9
"""Cosine of normal and curve from which on, at an end, tangents are made from the section's y axis."""


def hermite(s: Array) -> list[Array]:
    """Weights ``(..., 4)`` of ``p_0, m_0, p_1, m_1`` at places, and their first and second derivatives."""
    zero = np.zeros_like(s)
    powers = np.stack([zero + 1.0, s, s * s, s**3], -1)
    slopes = np.stack([zero, zero + 1.0, 2.0 * s, 3.0 * s * s], -1)
    bends = np.stack([zero, zero, zero + 2.0, 6.0 * s], -1)
    return [part @ _HERMITE for part in (powers, slopes, bends)]


_HERMITE = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [-3.0, -2.0, 3.0, -1.0], [2.0, 1.0, -2.0, 1.0]])
"""Coefficients of the powers of ``s``, one column a weight."""


class Pieces(NamedTuple):
    """One piece of a beam and a ball for each of ``n`` pairs."""

    offsets: Array
    """Where the beam is in the frames of both nodes, ``(n, 2, 3)``."""
    axes: Array
    """Along the beam there, as long as the piece, ``(n, 2, 3)``."""
    sides: Array
    """The y axes of the sections there, ``(n, 2, 3)``."""
    center: Array
    """Of the ball in the frame of its node, ``(n, 3)``."""
    thick: Array
    """Radii ``(n,)`` of beam and ball."""
    radius: Array
    s: Array
    """The place, ``(n,)``."""
    held: BoolArray
    """Whether it is an end of the beam, ``(n,)``."""


def nearest(x: Array, R: Array, of: Pieces) -> tuple[Nearest, Array]:
    """Nearest points, and gradients ``(n, 1, 3, 18)`` of gap and slips: two nodes of the beam, that of the ball."""
    a, lever = R[:, :2], np.einsum("nij,nj->ni", R[:, 2], of.center)
    arms, m, side = (np.einsum("npij,npj->npi", a, part) for part in (of.offsets, of.axes, of.sides))
    knots = np.stack([x[:, :2] + arms - (x[:, 2] + lever)[:, None], m], axis=2).reshape(len(x), 4, 3)
    y, slope, bend = (-np.einsum("nk,nki->ni", part, knots) for part in hermite(of.s))
    s = of.s - np.where(of.held, 0.0, dot(slope, y) / (dot(bend, y) + dot(slope, slope)))
    weights, slopes, _ = hermite(s)
    y, along = -np.einsum("nk,nki->ni", weights, knots), np.einsum("nk,nki->ni", slopes, knots)
    distance = length(y)
    n = y / distance[:, None]
    over = np.abs(dot(n, along)).real > OVER_THE_END * length(along).real
    across = np.where(over[:, None], np.where(of.s.real[:, None] < 0.5, side[:, 0], side[:, 1]), along)
    first = across - dot(across, n)[:, None] * n
    first = first / length(first)[:, None]
    d = np.stack([n, first, cross(n, first)], axis=1)
    b = lever - of.radius[:, None] * n
    about = cross((distance - of.radius)[:, None, None] * n[:, None], d)
    parts = []
    for i, share in enumerate((1.0 - s, s)):
        force, couple = (weights[:, k, None, None] * d for k in (2 * i, 2 * i + 1))
        moment = cross(arms[:, i, None], force) + cross(m[:, i, None], couple) + share[:, None, None] * about
        parts += [-np.einsum("ndj,nji->ndi", part, a[:, i]) for part in (force, moment)]
    parts += [np.einsum("ndj,nji->ndi", part, R[:, 2]) for part in (d, cross(b[:, None], d))]
    gap = distance - of.thick - of.radius
    return Nearest(gap[:, None], n[:, None], b[:, None]), np.concatenate(parts, axis=-1)[:, None]


_OF = np.repeat(np.arange(3), 6)
_ALONG = np.tile(np.vstack([np.eye(3), np.zeros((3, 3))]), (3, 1))
_ABOUT = np.tile(so3.skew(np.vstack([np.zeros((3, 3)), np.eye(3)])), (3, 1, 1))


class BeamBallPlace(NamedTuple):
    """Contacts of ``n`` balls with beams of ``q`` nodes, where their nodes are."""

    pieces: Pieces
    columns: IntArray
    """Of the body increments of all nodes, those of the three that count, ``(n, 18)``."""
    size: int
    x: Array
    """Positions ``(n, 3, 3)`` and rotations of these three."""
    R: Array
    near: Nearest
    compact: Array
    """Gradients ``(n, 1, 3, 18)`` against increments of these three."""

    def of(self, rows: IntArray) -> BeamBallPlace:
        """Of some of the elements."""
        pieces, near = picked(self.pieces, rows), picked(self.near, rows)
        own = self.columns[rows], self.size, self.x[rows], self.R[rows]
        return BeamBallPlace(pieces, *own, near, self.compact[rows])

    def points(self) -> Array:
        """Where they are, on the ball, ``(n, 1, 3)``, world."""
        places: Array = self.x[:, 2, None] + self.near.b
        return places

    def gradients(self) -> Array:
        """``G`` (n, 1, 3, 6q + 6)."""
        G = np.zeros((len(self.x), 1, 3, self.size))
        G[np.arange(len(G))[:, None], :, :, self.columns] = self.compact.transpose(0, 3, 1, 2)
        return G

    def bent(self) -> Array:
        """Derivatives ``(n, 1, 3, 6q + 6, 6q + 6)`` of ``G``."""
        n, every = len(self.x), np.arange(18)
        x, R = (np.broadcast_to(part, (18, *part.shape)).astype(complex) for part in (self.x, self.R))
        moved = self.R.swapaxes(0, 1)[_OF]
        x[every, :, _OF] += 1j * STEP * np.matvec(moved, _ALONG[:, None])
        R[every, :, _OF] += 1j * STEP * (moved @ _ABOUT[:, None])
        copies: Any = (
            np.broadcast_to(part, (18, *part.shape)).reshape(18 * n, *part.shape[1:]) for part in self.pieces
        )
        _, G = nearest(x.reshape(18 * n, 3, 3), R.reshape(18 * n, 3, 3, 3), Pieces(*copies))
        compact = np.moveaxis((G.imag / STEP).reshape(18, n, 1, 3, 18), 0, -1)
        H = np.zeros((n, 1, 3, self.size, self.size))
        rows, columns = self.columns[:, :, None], self.columns[:, None]
        H[np.arange(n)[:, None, None], :, :, rows, columns] = compact.transpose(0, 3, 4, 1, 2)
        return H

    def gap_rates(self, V: Array) -> Array:
        """Rates ``(n, 1)`` of the gaps for body velocities ``V`` (n, q + 1, 6)."""
        rates: Array = np.vecdot(self.gradients()[:, :, 0], V.reshape(len(V), 1, -1))
        return rates


class BeamBalls:
    """Balls and beams with equal numbers of nodes, as arrays."""

    def __init__(self, elements: Sequence[Any]) -> None:
        tubes = [_tube(own.beam) for own in elements]
        self._offsets, self._axes, self._sides = (np.array(part) for part in zip(*tubes, strict=True))
        self._lengths = np.linalg.norm(self._axes[:, :, 0], axis=-1)
        self._closed = np.array([own.beam.nodes[0] is own.beam.nodes[-1] for own in elements])
        self._center = np.array([own.center for own in elements])
        self._radii = np.array([own.radii for own in elements]).T
        self.sides = np.ones(len(elements))

    def some(self, rows: IntArray) -> BeamBalls:
        """Those of some of the elements."""
        result = copy(self)
        for name in ("_offsets", "_axes", "_sides", "_lengths", "_closed", "_center", "sides"):
            setattr(result, name, getattr(self, name)[rows])
        result._radii = self._radii[:, rows]
        return result

    def at(self, motion: Motion, nodes: IntArray) -> BeamBallPlace:
        """Where they are nearest."""
        x, R = motion.x[nodes], motion.R[nodes]
        piece, s, held = self._places(x, R)
        n, q = nodes.shape
        every = np.arange(n)
        three = np.stack([piece, piece + 1, np.full(n, q - 1)], axis=1)
        x, R = x[every[:, None], three], R[every[:, None], three]
        offsets, axes, sides = (part[every, piece] for part in (self._offsets, self._axes, self._sides))
        pieces = Pieces(offsets, axes, sides, self._center, self._radii[0], self._radii[1], s, held)
        columns = (6 * three[..., None] + np.arange(6)).reshape(n, 18)
        return BeamBallPlace(pieces, columns, 6 * q, x, R, *nearest(x, R, pieces))

    def _places(self, x: Array, R: Array) -> tuple[IntArray, Array, BoolArray]:
        """In which piece, where in it, and whether that is an end."""
        n, count = len(x), x.shape[1] - 2
        C, a = x[:, -1] + np.matvec(R[:, -1], self._center), np.stack([R[:, :-2], R[:, 1:-1]], axis=2)
        p = np.stack([x[:, :-2], x[:, 1:-1]], axis=2) + np.matvec(a, self._offsets) - C[:, None, None]
        knots = np.stack([p, np.matvec(a, self._axes)], axis=3).reshape(n, count, 4, 3)
        away = np.linalg.norm(hermite(SAMPLES)[0] @ knots, axis=-1).reshape(n, -1)
        sample, every = np.divmod(np.argmin(away, axis=1), len(SAMPLES)), np.arange(n)
        # Newton's method along all pieces, u = piece + s, kept between places from which the ball is ahead and behind
        u = sample[0] + SAMPLES[sample[1]]
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        for _ in range(ITERATIONS):
            own, s = self._piece(u, count)
            c, slope, bend = (np.vecmat(part, knots[every, own]) for part in hermite(s))
            f, size = np.vecdot(slope, c), np.vecdot(slope, slope)
            held = ~self._closed & ((u <= 0.0) & (f > 0.0) | (u >= count) & (f < 0.0))
            low, high = np.where(f < 0.0, u, low), np.where(f > 0.0, u, high)
            rise = size + np.vecdot(bend, c)
            step = np.clip(-f / np.where(rise > 0.0, rise, size), -FARTHEST, FARTHEST)
            ahead = np.where(self._closed, u + step, np.clip(u + step, 0.0, count))
            new = np.where(ahead <= low, 0.5 * (u + low), np.where(ahead >= high, 0.5 * (u + high), ahead))
            done = np.abs(new - u) <= ROUNDING * count
            u = new
            if done.all():
                break
        own, s = self._piece(u, count)
        return own, s, held

    def _piece(self, u: Array, count: int) -> tuple[IntArray, Array]:
        """In which piece, and where in it; rings begin anew."""
        whole = np.floor(np.where(self._closed, u, np.clip(u, 0.0, count - 0.5))).astype(np.intp)
        return whole % count, u - whole


def _tube(beam: Any) -> tuple[Array, Array, Array]:
    """Offsets, axes as long as the pieces, and y axes at both nodes of each piece, ``(k, 2, 3)``, in their frames."""
    size = (beam.length[:, None] * np.diff(beam.places)).reshape(-1, 1, 1)
    offsets, axes, sides = (
        np.stack([part[:, :-1], part[:, 1:]], axis=2).reshape(-1, 2, 3)
        for part in (beam.offsets, beam.frames[..., 0], beam.frames[..., 1])
    )
    # elements of higher order, as built, may meet at a slight angle
    last, first = axes[:-1, 1], axes[1:, 0]
    if beam.nodes[0] is beam.nodes[-1]:
        last, first = axes[:, 1], np.roll(axes[:, 0], -1, axis=0)
    middle = last + first
    middle /= np.linalg.norm(middle, axis=-1)[:, None]
    axes[: len(middle), 1] = middle
    axes[np.arange(1, len(middle) + 1) % len(axes), 0] = middle
    return offsets, size * axes, sides
