"""Mean membrane strains of elements, by the chords between nodes in place of edges that bow.

Between two nodes of an edge the interpolation runs through ``exp(m + s D)``, ``s`` from -1 to 1, with the mean ``m``
and half of the difference ``D`` of their coordinates. On average it is at ``P - u``, with the mean ``P`` of both nodes;
to second order in rotations

    P = U_m + (w_m x U_m + w_D x U_D)/2,
    u = w_D x U_D/3 + (w_D x (w_D x U_m + w_m x U_D) + w_m x (w_D x U_D))/9.

As built nothing bows: ``w_D`` counts from there. ``w_m`` is whole, as on a curved surface the bow of an edge has a part
in the plane of the element.

Membrane forces would do work on such bows, which weight, inertia, reactions and forces on nodes do not do: bending that
bows edges would set energy free, and thin sheets could not carry their own weight. With edges of the length ``l`` and
the normal ``n`` as built, the mean gradients of chords and bows are

    F = 1/A sum P (l n)^T,   G = 1/A sum u (l n)^T,

and the strain ``sym(V^T G)`` takes bows out of the mean, where ``V`` turns as ``F``: its tilts, and ones and its turn
in the plane. In linear theory these are the mean strains of the free formulation (Bergan, Felippa, *Computer Methods in
Applied Mechanics and Engineering* 50, 1985). docs/theory.md, "Shells".
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3

MEAN, HALF = 0.5 * (np.eye(4) + np.eye(4, k=1) + np.eye(4, k=-3)), 0.5 * (np.eye(4, k=1) + np.eye(4, k=-3) - np.eye(4))
"""Of each edge the mean, and half of the difference, of what its nodes have."""
HALF_TWICE, MEAN_HALF = (np.einsum("ei,ej->ije", a, HALF).reshape(16, 4) for a in (HALF, MEAN))


class Chords:
    """Membrane strains 11, 22, 12 of elements with coordinates ``d0`` (n, 4, 6) as built, of the area ``area`` (n,)."""

    def __init__(self, d0: Array, area: Array) -> None:
        x, y = np.moveaxis((2.0 * HALF @ d0)[..., :2], -1, 0)
        self._out = np.stack([y, -x], axis=-2) / area[:, None, None]
        """``l n/A`` of edges, ``(n, 2, 4)``."""
        self._by_mean, self._by_half = ((self._out[:, :, None] * part.T).reshape(-1, 1, 8, 4) for part in (MEAN, HALF))
        self._as_built = HALF @ (d0 * np.repeat([0.0, 1.0], 3))

    def strains(self, d: Array) -> Array:
        """Strains ``(..., n, 3)``."""
        F = self._gradients(*self._halves(d))
        return 0.5 * _strain(F, F[..., None])[..., 0]

    def _halves(self, d: Array) -> tuple[Array, Array]:
        """Means and halves of differences of coordinates ``(..., n, 4, 6)``; edges bow from where they were built."""
        return MEAN @ d, HALF @ d - self._as_built

    def gradient(self, d: Array) -> Array:
        """Strains by coordinates, ``(n, 3, 24)``."""
        m, D = self._halves(d)
        return _strain(self._gradients(m, D), self._by_coordinates(m, D))

    def second(self, d: Array, force: Array) -> Array:
        """Second derivatives ``(n, 24, 24)`` of ``force : strains``, of membrane forces ``(n, 2, 2)``."""
        n, (m, D) = len(d), self._halves(d)
        first = self._by_coordinates(m, D)
        on_first = force[:, None, None] @ first[:, ::-1]
        # forces on P and u of the edges, of which P moves with the nodes
        on_gradients = self._gradients(m, D)[:, ::-1] @ force[:, None]
        on_gradients[:, 0, :2] = _skew(on_gradients[:, 0, :2])
        on_edges = (on_gradients @ self._out[:, None]).mT
        dual = 0.5 * so3.skew(MEAN.T @ on_edges[:, 0])
        own, mixed = _second(m, D, on_edges[:, 1])
        half, both = (
            (pair @ part.reshape(n, 4, 36)).reshape(n, 4, 4, 6, 6).swapaxes(2, 3).reshape(n, 24, 24)
            for pair, part in ((HALF_TWICE, own), (MEAN_HALF, mixed))
        )
        second: Array = first.reshape(n, 12, 24).mT @ on_first.reshape(n, 12, 24) + half + both + both.mT
        nodes = np.einsum("niaib->niab", second.reshape(n, 4, 6, 4, 6))
        nodes[..., :3, 3:] += dual
        nodes[..., 3:, :3] -= dual
        return second

    def rate_derivative(self, d: Array, rate: Array) -> Array:
        """Derivative of the strain rates at constant rates ``(n, 4, 6)`` of the coordinates, ``(n, 3, 24)``."""
        (m, D), mean, half = self._halves(d), MEAN @ rate, HALF @ rate
        first = self._by_coordinates(m, D)
        own, mixed = _second(m[:, :, None], D[:, :, None], so3.IDENTITY)
        by_mean = np.matvec(mixed, half[:, :, None])
        by_half = np.matvec(own, half[:, :, None]) + np.vecmat(mean[:, :, None], mixed)
        chord_mean, chord_half = (
            0.5 * np.concatenate([so3.skew(part[..., 3:]), -so3.skew(part[..., :3])], axis=-1) for part in (mean, half)
        )
        second = self._by_nodes(np.stack([chord_mean, by_mean], axis=1), np.stack([chord_half, by_half], axis=1))
        rates = np.matvec(first, rate.reshape(-1, 1, 1, 24))
        return _strain(rates, first) + _strain(self._gradients(m, D), second)

    def _gradients(self, m: Array, D: Array) -> Array:
        """``V`` and ``G``, ``(..., n, 2, 3, 2)``."""
        (U, w), (dU, dw) = (np.split(part, 2, axis=-1) for part in (m, D))
        turned = np.cross(dw, dU)
        chord = U + 0.5 * (np.cross(w, U) + turned)
        back = turned / 3.0 + (np.cross(dw, np.cross(dw, U) + np.cross(w, dU)) + np.cross(w, turned)) / 9.0
        gradients = np.swapaxes(self._out[:, None] @ np.stack([chord, back], axis=-3), -2, -1)
        gradients[..., 0, :2, :] = np.eye(2) + _skew(gradients[..., 0, :2, :])
        return gradients

    def _by_coordinates(self, m: Array, D: Array) -> Array:
        """Derivatives of both gradients, ``(n, 2, 3, 2, 24)``."""
        (U, w), (dU, dw) = (so3.skew(np.stack(np.split(part, 2, axis=-1))) for part in (m, D))
        one = np.broadcast_to(so3.IDENTITY, w.shape)
        turned = dw @ dU - dU @ dw  # the skew matrix of the cross product
        both = dw @ w + w @ dw
        chord_mean = np.concatenate([one + 0.5 * w, -0.5 * U], axis=-1)
        chord_half = np.concatenate([0.5 * dw, -0.5 * dU], axis=-1)
        back_mean = np.concatenate([dw @ dw, -dw @ dU - turned], axis=-1) / 9.0
        across = dw @ U - U @ dw + w @ dU - dU @ w
        back_half = np.concatenate([dw / 3.0 + both / 9.0, -dU / 3.0 - (across + dw @ U + w @ dU) / 9.0], axis=-1)
        return self._by_nodes(np.stack([chord_mean, back_mean], axis=1), np.stack([chord_half, back_half], axis=1))

    def _by_nodes(self, by_mean: Array, by_half: Array) -> Array:
        """Derivatives of gradients, of those ``(n, 2, 4, 3, 6)`` of places against means and halves of differences."""
        n = len(by_mean)
        flat = self._by_mean @ by_mean.reshape(n, 2, 4, 18) + self._by_half @ by_half.reshape(n, 2, 4, 18)
        gradients = np.moveaxis(flat.reshape(n, 2, 2, 4, 3, 6), 4, 2).reshape(n, 2, 3, 2, 24)
        gradients[:, 0, :2] = np.moveaxis(_skew(np.moveaxis(gradients[:, 0, :2], -1, 1)), 1, -1)
        return gradients


def _skew(A: Array) -> Array:
    """The turn within the plane, of gradients ``(..., 2, 2)``."""
    return 0.5 * (A - np.swapaxes(A, -2, -1))


def _strain(gradients: Array, change: Array) -> Array:
    """Changes ``(..., 3, c)`` of the strains 11, 22, 12 of ``V^T G`` with those ``(..., 2, 3, 2, c)`` of both."""
    *lead, _, _, _, c = change.shape
    every = gradients[..., ::-1, :, :].reshape(*lead, 6, 2).mT @ change.reshape(*lead, 6, 2 * c)
    by_axes = every.reshape(*lead, 2, 2, c)
    return np.stack([by_axes[..., 0, 0, :], by_axes[..., 1, 1, :], by_axes[..., 0, 1, :] + by_axes[..., 1, 0, :]], -2)


def _second(m: Array, D: Array, force: Array) -> tuple[Array, Array]:
    """Second derivatives ``(..., 6, 6)`` of ``force . u``, against ``D`` twice and against ``m`` and ``D``."""
    f = so3.skew(force)
    (U, w), (dU, dw) = (so3.skew(np.stack(np.split(part, 2, axis=-1))) for part in (m, D))
    # f . (a x (b x c)) has the second derivatives c f against b, a; -b f against c, a; a f - f a against b, c
    own, mixed = np.zeros((2, *np.broadcast_shapes(f.shape, dw.shape)[:-2], 6, 6))
    own[..., 3:, 3:] = (U @ f + f @ U) / 9.0
    own[..., 3:, :3] = (w @ f - 2.0 * f @ w) / 9.0 - f / 3.0
    own[..., :3, 3:] = own[..., 3:, :3].mT
    mixed[..., :3, 3:] = (f @ dw - 2.0 * dw @ f) / 9.0
    mixed[..., 3:, :3] = (dw @ f - 2.0 * f @ dw) / 9.0
    mixed[..., 3:, 3:] = (dU @ f + f @ dU) / 9.0
    return own, mixed
