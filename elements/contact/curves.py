"""Where two smooth curves are nearest: by Newton's method, from the nearest of some samples of both.

A curve is a chain of pieces, each with the four knots ``p_0, m_0, p_1, m_1``: its ends and its directions there, as
long as the piece. Between them it is a cubic of the place ``s`` in [0, 1] (Hermite), so that the chain has no kinks. Of
two curves the places obey

    a'(s) . (b(t) - a(s)) = 0,    b'(t) . (b(t) - a(s)) = 0

(Wriggers, Zavarise, *Commun. Numer. Meth. Engng* 13, 1997), or are ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.elements.contact.pairs import dot

SAMPLES = np.linspace(0.0, 1.0, 5)
"""Places in each piece from which the nearest ones are sought."""
ITERATIONS, ROUNDING, FARTHEST = 60, 1e-14, 0.5
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
    the square of the distance is not convex.

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
    low, high = np.moveaxis(within, -1, 0)
    u = _samples(knots, parts, within)
    at = _way(knots, closed, u)
    for _ in range(ITERATIONS):
        first, second, mixed, steep, _ = _slopes(at, u, low, high)
        flat = (_flatness(second, mixed, steep) <= PARALLEL)[..., None]
        curved = newton_step(first, np.where(flat, 1.0, second), np.where(flat[..., 0], 0.0, mixed))
        step = np.clip(np.where(flat, -first / steep, curved), -FARTHEST, FARTHEST)
        for _ in range(HALVINGS):
            new = np.clip(u + step, low, high)
            ahead = _way(knots, closed, new)
            farther = np.vecdot(ahead.y, ahead.y) > np.vecdot(at.y, at.y)
            farther &= np.abs(step).max(axis=-1) > SURE
            if not farther.any():
                break
            step = np.where(farther[..., None], 0.5 * step, step)
        moved, u, at = np.abs(new - u).max(initial=0.0), new, ahead
        if moved <= ROUNDING * parts[-1]:
            break
    _, second, mixed, steep, held = _slopes(at, u, low, high)
    held |= second <= PARALLEL * steep
    held[..., 1] |= _flatness(second, mixed, steep) <= PARALLEL
    return at, u, held


def _slopes(at: Way, u: Array, low: Array, high: Array) -> tuple[Array, Array, Array, Array, BoolArray]:
    """Derivatives of half the square of the distance, squares of the slopes, and which places are at their ends."""
    first = SIGNS * np.vecdot(at.slope, at.y[..., None, :])
    held = (u <= low) & (first > 0.0) | (u >= high) & (first < 0.0) | (low == high)
    return *derivatives(at.y, at.slope, at.bend, held), np.where(held, 1.0, np.vecdot(at.slope, at.slope)), held


def _samples(knots: list[Array], parts: IntArray, within: Array) -> Array:
    """The nearest ones of samples of both curves, of each part of a; ``(n, r, 2)``."""
    every = [(np.arange(own.shape[1])[:, None] + SAMPLES).ravel() for own in knots]
    every[1] = every[1] * within[:, 0, 1, 1].any()  # a point has one
    a, b = (np.einsum("sk,npki->npsi", hermite(SAMPLES)[0], own).reshape(len(own), -1, 3) for own in knots)
    away = np.square(a[:, :, None] - b[:, None]).sum(-1)
    found = []
    for first, last in zip(parts[:-1], parts[1:], strict=True):
        part = slice(len(SAMPLES) * first, len(SAMPLES) * last)
        i, j = np.unravel_index(away[:, part].reshape(len(away), -1).argmin(axis=1), away[0, part].shape)
        found.append(np.stack([every[0][part][i], every[1][j]], axis=-1))
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
