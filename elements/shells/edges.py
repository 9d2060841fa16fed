"""What makes edges of neighbours one curve: the membrane strain between an edge of an element and a screw.

Between two nodes of an edge the interpolation runs through ``exp(m + s D)``, ``s`` from -1 to 1, with the mean ``m``
and half of the difference ``D`` of their coordinates, which are seen from the middle of the element. From the other
side of the edge they are seen from another middle, and the curve is another one, by ``(1 - s^2)/12 [D, [m, D]]`` from
the screw that both nodes have in common, to second order in rotations. Under tension these gaps would give energy away.
They are closed by the mean strain of the motion that moves all edges of an element to their screws, with their normals
``n``,

    ``1/A sum over edges of length l n u``,  ``u = [D, [m, D]]/18``,

so that sheets keep still under any tension. docs/theory.md, "Shells".
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
        self.as_built = np.zeros((len(d0), 3))
        self.as_built = self.strains(d0)

    def strains(self, d: Array) -> Array:
        """Strains ``(n, 3)`` beyond those as built; there may be several instants, one after the other."""
        m, D = _halves(d)
        gaps = np.matvec(se3.bracket(D), np.matvec(se3.bracket(m), D))
        n = len(self.as_built)
        strains: Array = np.einsum("nkea,tnea->tnk", self.by_gaps, gaps.reshape(-1, n, 4, 6)) - self.as_built
        return strains.reshape(-1, 3)

    def gradient(self, d: Array) -> Array:
        """Strains by coordinates, ``(n, 3, 24)``."""
        m, D = _halves(d)
        B, Bm = se3.bracket(D), se3.bracket(m)
        by_mean = -np.vecmat(self.by_gaps, (B @ B)[:, None])
        by_half = np.vecmat(self.by_gaps, (B @ Bm - se3.bracket(np.matvec(Bm, D)))[:, None])
        by_nodes: Array = 0.5 * (by_mean - by_half + np.roll(by_mean + by_half, 1, axis=2))
        return by_nodes.reshape(len(d), 3, 24)

    def second(self, d: Array, force: Array) -> Array:
        """Second derivatives ``(n, k, 24, 24)`` of ``k`` membrane forces ``(n, k, 3)`` times strains."""
        m, D = (half[:, None] for half in _halves(d))
        wrench = np.einsum("nkj,njea->nkea", force, self.by_gaps)
        B, Bm, dual = se3.bracket(D), se3.bracket(m), se3.dual(wrench)
        mixed = -se3.dual(np.vecmat(wrench, B)) - B.mT @ dual
        own = dual.mT @ Bm
        own += own.mT
        # means and halves of differences, from their ends
        n, k = force.shape[:2]
        result = np.zeros((n, k, 4, 6, 4, 6))
        for edge in range(4):
            for i, a in ((edge, -0.5), ((edge + 1) % 4, 0.5)):
                for j, b in ((edge, -0.5), ((edge + 1) % 4, 0.5)):
                    cross = mixed[:, :, edge]
                    result[:, :, i, :, j] += 0.5 * b * cross + 0.5 * a * cross.mT + a * b * own[:, :, edge]
        return result.reshape(n, k, 24, 24)


def _halves(d: Array) -> tuple[Array, Array]:
    """Means and halves of the differences of the coordinates at both ends of the edges, ``(n, 4, 6)``."""
    after = np.roll(d, -1, axis=1)
    return 0.5 * (d + after), 0.5 * (after - d)
