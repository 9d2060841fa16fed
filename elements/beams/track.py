"""Beams as tracks: the section at a place along a beam that moves, and all its derivatives.

At the arc length ``sigma`` an element has the section frame ``H = H_ref exp(D)``, ``D = sum_i N_i(sigma) d_i``, where
the ``d_i`` are its nodes seen from a frame in its middle (``curve_strain.py``). Increments of the nodes and of
the arc length move it by ``delta_H = Gamma (delta, delta sigma)`` in its own components, with

    Gamma = (T(D) sum_i N_i Q_i + Ad(exp(-D)) J_ref, epsilon),     epsilon = T(D) D'.

For elements of order 1 that is the helix through both frames, whatever their strain is interpolated by, so that the
track has no kinks at the nodes (docs/curves.md, "The track").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.beams.curve_strain import RelativeCoordinates, ScrewStrain
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3, so3

SAMPLES = 8
"""Places in each element from which the nearest one is sought."""
ITERATIONS, ROUNDING = 50, 1e-15
SIDE = 1e-9
"""Distance before a border, against the length, from which on the next element is taken."""
CORNER = np.radians(2.0)
"""Largest jump of the direction between elements as built."""


class BeamTracks:
    """Tracks along ``n`` beams with equal numbers of nodes and one order ``p - 1``.

    Attributes
    ----------
    borders : (n, k + 1)
        Arc lengths of the ends of the elements.
    closed : (n,)
        True for rings.
    """

    def __init__(self, beams: Sequence[Beam]) -> None:
        self.beams = list(beams)
        self.cells = beams[0].cells
        self.borders = np.array([np.append(0.0, np.cumsum(beam.length)) for beam in beams])
        self.closed = np.array([beam.nodes[0] is beam.nodes[-1] for beam in beams])
        frames, offsets = (np.array([getattr(beam, name) for beam in beams]) for name in ("frames", "offsets"))
        self.frames, self.offsets = frames, offsets
        # body increments of the section frames from those of the nodes
        self.to_section = se3.adjoint(frames.mT, -np.matvec(frames.mT, offsets))
        # coefficients of the powers of the place in the polynomials, one row a node
        powers = np.array([beam.places for beam in beams])[..., None] ** np.arange(self.cells.shape[1])
        self.polynomials = np.linalg.inv(powers).mT

    @property
    def lengths(self) -> Array:
        """Arc lengths of the beams."""
        return self.borders[:, -1]

    def elements(self, which: IntArray, sigma: Array) -> tuple[IntArray, Array]:
        """Elements at arc lengths, and places in these; beyond an end, of the element at the end."""
        borders = self.borders[which]
        around = np.where(self.closed[which], np.mod(sigma, borders[:, -1]), sigma)
        # a place that a drive puts on a border must not change sides by rounding
        element = (around[:, None] >= borders[:, 1:-1] - SIDE * borders[:, -1:]).sum(axis=1)
        rows = np.arange(len(which))
        first, last = borders[rows, element], borders[rows, element + 1]
        return element, (around - first) / (last - first)


class Sections:
    """Sections ``(r,)`` on tracks: ``x`` (r, 3), ``R`` (r, 3, 3), and how they follow ``p`` nodes and the arc length.

    At arc lengths ``sigma`` (r,) of beams ``which`` (r,), with nodes ``x``, ``R`` (r, q, ...).

    Attributes
    ----------
    element : (r,)
        The elements that they are in.
    gradient : (r, 6, 6p + 1)
        ``Gamma``, against body increments of the nodes of the element and the arc length.
    """

    def __init__(self, tracks: BeamTracks, which: IntArray, x: Array, R: Array, sigma: Array) -> None:
        self.element, place = tracks.elements(which, sigma)
        nodes, rows = tracks.cells[self.element], np.arange(len(which))[:, None]
        x, R = x[rows, nodes], R[rows, nodes]
        at = which, self.element
        self._to_section = tracks.to_section[at]
        points, frames = x + np.matvec(R, tracks.offsets[at]), R @ tracks.frames[at]
        relative = RelativeCoordinates(points, frames, [tracks.beams[k] for k in which])
        length = np.diff(tracks.borders[which])[rows[:, 0], self.element]
        self._N = [np.vecdot(tracks.polynomials[at], power[:, None]) for power in _powers(place, length, x.shape[1])]
        # D, D', D'' against the arc length
        D, self._D1, self._D2 = (np.vecmat(N, relative.d) for N in self._N)
        self._strain = ScrewStrain(D, self._D1)
        self._T, self._epsilon = self._strain.by_slope(), self._strain.value()
        turned, y = se3.exp(D)
        self.R, self.x = relative.R @ turned, relative.x + np.matvec(relative.R, y)
        self._relative, self._back = relative, se3.adjoint(turned.mT, -np.vecmat(y, turned))
        r, p = relative.d.shape[:2]
        self._Q = relative.gradient().reshape(r, p, 6, p, 6)
        self._moved, self._moved1 = (np.einsum("ri,riakb->rakb", N, self._Q) for N in self._N[:2])
        self._reference = np.zeros_like(self._moved)
        """How the frame in the middle follows, ``J_ref``."""
        self._reference[:, :, relative.middle.nodes] = relative.middle.shares.swapaxes(1, 2)
        by_nodes = self._T[:, None] @ _swap(self._moved) + self._back[:, None] @ _swap(self._reference)
        self.gradient = np.concatenate([self._columns(by_nodes), self._epsilon[..., None]], axis=-1)

    def geometric(self, W: Array) -> Array:
        """Derivative ``(r, 6p + 1, 6p + 1)`` of ``Gamma^T W`` at constant wrenches ``W`` (r, 6) on the sections."""
        r, p = self._N[0].shape
        y, u = np.vecmat(W, self._T), np.vecmat(W, self._back)
        bend, Y = self._strain.second(W)
        # minus how u turns with D
        turn = self._back.mT @ se3.dual(W) @ self._T
        moved, moved1, ref = (part.reshape(r, 6, 6 * p) for part in (self._moved, self._moved1, self._reference))
        wrench, Q = self._N[0][..., None] * y[:, None], self._Q.reshape(r, 6 * p, 6 * p)
        qq = self._relative.geometric(wrench, Q) + self._relative.bend(u)
        qq += moved.mT @ (Y @ moved) - ref.mT @ (turn @ moved)
        qs = np.vecmat(np.matvec(Y, self._D1), moved) + np.vecmat(y, moved1) - np.vecmat(np.matvec(turn, self._D1), ref)
        by_place = self._strain.by_place()
        sq = np.vecmat(np.vecmat(W, by_place), moved) + np.vecmat(y, moved1)
        ss = np.vecdot(W, np.matvec(by_place, self._D1) + np.matvec(self._T, self._D2))
        result = np.zeros((r, 6 * p + 1, 6 * p + 1))
        both = self._columns(_swap(qq.reshape(r, 6 * p, p, 6))).mT
        result[:, :-1, :-1] = self._columns(_swap(both.reshape(r, 6 * p, p, 6))).mT
        result[:, :-1, -1] = self._columns(_swap(qs.reshape(r, 1, p, 6)))[:, 0]
        result[:, -1, :-1] = self._columns(_swap(sq.reshape(r, 1, p, 6)))[:, 0]
        result[:, -1, -1] = ss
        return result

    def _columns(self, by_sections: Array) -> Array:
        """Against increments of the nodes ``(r, c, 6p)``, from those against the section frames ``(r, p, c, 6)``."""
        r, p, c, _ = by_sections.shape
        return (by_sections @ self._to_section).swapaxes(1, 2).reshape(r, c, 6 * p)


def _powers(s: Array, length: Array, p: int) -> list[Array]:
    """Powers ``(r, p)`` of places, with first and second derivatives against the arc length."""
    k = np.arange(p)
    powers = [s[:, None] ** k]
    for order in (1, 2):
        falling = np.prod([k - j for j in range(order)], axis=0)
        powers.append(falling * s[:, None] ** np.maximum(k - order, 0) / length[:, None] ** order)
    return powers


def _swap(blocks: Array) -> Array:
    """Node by node ``(r, p, c, 6)`` from ``(r, c, p, 6)``."""
    return blocks.swapaxes(1, 2)


def nearest(tracks: BeamTracks, x: Array, R: Array, point: Array) -> float:
    """Arc length of the place of a single track, with nodes ``x`` (q, 3), ``R`` (q, 3, 3), that is next to a point."""
    length = float(tracks.lengths[0])
    k = len(tracks.cells)
    sigma = np.interp(np.arange(SAMPLES * k + 1) / SAMPLES, np.arange(k + 1), tracks.borders[0])

    def at(sigma: Array) -> tuple[Array, Array]:
        r = len(sigma)
        nodes = np.broadcast_to(x, (r, *x.shape)), np.broadcast_to(R, (r, *R.shape))
        sections = Sections(tracks, np.zeros(r, np.intp), *nodes, sigma)
        return sections.x, np.matvec(sections.R, sections.gradient[:, :3, -1])

    return nearest_place(at, sigma, point, length, bool(tracks.closed[0]))


def nearest_place(
    at: Callable[[Array], tuple[Array, Array]], tried: Array, point: Array, length: float, closed: bool
) -> float:
    """The place on a line that is next to a point; ``at`` says where places ``(k,)`` are, and their tangents."""
    best = float(tried[np.argmin(np.linalg.norm(at(tried)[0] - point, axis=1))])
    for _ in range(ITERATIONS):
        place, along = (part[0] for part in at(np.array([best])))
        step = float(along @ (point - place) / (along @ along))
        best = best + step if closed else min(max(best + step, 0.0), length)
        if abs(step) <= ROUNDING * length:
            break
    return best


def refuse_corners(beam: Beam, label: str) -> None:
    """Refuse a beam whose direction jumps from one element to the next, as built."""
    last, first = beam.frames[:-1, -1], beam.frames[1:, 0]
    if beam.nodes[0] is beam.nodes[-1]:
        last, first = beam.frames[:, -1], np.roll(beam.frames[:, 0], -1, axis=0)
    angles = np.linalg.norm(so3.log(last.mT @ first), axis=-1)
    if angles.max(initial=0.0) > CORNER:
        k = int(np.argmax(angles))
        node = beam.nodes[beam.cells[k, -1]]
        raise ModelError(
            f"{label}: the beam has a corner of {np.degrees(angles[k]):.3g} degrees at {node}, "
            "over which nothing slides smoothly; make it of more elements along an arc, or slide on a beam on one side"
        )
