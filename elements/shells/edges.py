"""What makes edges of neighbours one curve: the membrane strain between an edge of an element and a screw.

Between two nodes of an edge the interpolation runs through ``exp(m + s D)``, ``s`` from -1 to 1, with the mean ``m``
and half of the difference ``D`` of their coordinates, which are seen from the middle of the element. From the other
side of the edge they are seen from another middle, and the curve is another one, by ``(1 - s^2)/12 [D, [m, D]]`` from
the screw that both nodes have in common, to second order in rotations. Under tension these gaps would give energy away.
They are closed by the mean strain of the motion that moves all edges of an element to their screws, with their normals
``n``,

    ``1/A sum over edges of length l n u``,  ``u = [D, [m, D]]/18``,

so that sheets keep still under any tension. Rotations count from those as built: curved shells bend as if there were no
gaps. docs/theory.md, "Shells".
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import se3


class Edges:
    """Membrane strains 11, 22, 12 of elements with coordinates ``d0`` (n, 4, 6) as built, of the area ``area`` (n,)."""

    def __init__(self, d0: Array, area: Array) -> None:
        along = (np.roll(d0, -1, axis=1) - d0)[..., :2]
        n1, n2 = along[..., 1], -along[..., 0]
        zero = np.zeros_like(n1)
        self.by_gaps = np.zeros((len(d0), 3, 4, 6))
        """Strains by the gaps of the four edges."""
        self.by_gaps[..., :2] = np.stack(
            [np.stack(pair, axis=-1) for pair in ((n1, zero), (zero, n2), (n2, n1))], axis=1
        ) / (18.0 * area[:, None, None, None])
        self._as_built = d0 * np.repeat([0.0, 1.0], 3)

    def strains(self, d: Array) -> Array:
        """Strains ``(..., n, 3)``."""
        m, D = self._halves(d)
        gaps = np.matvec(se3.bracket(D), np.matvec(se3.bracket(m), D))
        strains: Array = np.einsum("nkea,...nea->...nk", self.by_gaps, gaps)
        return strains

    def _halves(self, d: Array) -> tuple[Array, Array]:
        """Means and halves of differences of coordinates ``(..., n, 4, 6)``; rotations are those since it was built."""
        return MEAN @ (d - self._as_built), HALF @ (d - self._as_built)

    def gradient(self, d: Array) -> Array:
        """Strains by coordinates, ``(n, 3, 24)``."""
        m, D = self._halves(d)
        B, Bm = se3.bracket(D), se3.bracket(m)
        by_mean = -np.vecmat(self.by_gaps, (B @ B)[:, None])
        return _by_nodes(by_mean, np.vecmat(self.by_gaps, (B @ Bm - se3.bracket(np.matvec(Bm, D)))[:, None]))

    def second(self, d: Array, force: Array) -> tuple[Array, Array]:
        """Second derivatives ``(n, 4, 6, 6)`` of membrane forces ``(n, 3)`` times strains.

        Of each edge, against half of the difference twice, and against mean and half of the difference.
        """
        m, D = self._halves(d)
        return _second(m, D, np.einsum("nk,nkea->nea", force, self.by_gaps))

    def rate_derivative(self, d: Array, rate: Array) -> Array:
        """Derivative of the strain rates at constant rates ``(n, 4, 6)`` of the coordinates, ``(n, 3, 24)``."""
        m, D = self._halves(d)
        own, mixed = _second(m[:, None], D[:, None], self.by_gaps)
        mean, half = (MEAN @ rate)[:, None], (HALF @ rate)[:, None]
        return _by_nodes(np.matvec(mixed, half), np.matvec(own, half) + np.vecmat(mean, mixed))


MEAN, HALF = 0.5 * (np.eye(4) + np.eye(4, k=1) + np.eye(4, k=-3)), 0.5 * (np.eye(4, k=1) + np.eye(4, k=-3) - np.eye(4))
"""Of each edge the mean, and half of the difference, of what its nodes have."""


def _second(m: Array, D: Array, wrench: Array) -> tuple[Array, Array]:
    """Second derivatives of ``wrench . [D, [m, D]]``, against ``D`` twice and against ``m`` and ``D``."""
    B, dual = se3.bracket(D), se3.dual(wrench)
    half = dual.mT @ se3.bracket(m)
    return half + half.mT, -se3.dual(np.vecmat(wrench, B)) - B.mT @ dual


def _by_nodes(by_mean: Array, by_half: Array) -> Array:
    """Derivatives ``(n, k, 24)`` against coordinates, of those against means and halves of differences."""
    by_nodes: Array = MEAN.T @ by_mean + HALF.T @ by_half
    return by_nodes.reshape(*by_nodes.shape[:2], 24)
