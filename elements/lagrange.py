"""Polynomials along an element: where its nodes and quadrature points are, and what they weigh.

The places of an element run from 0 to 1 in proportion to the arc length.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array

_INNER = 0.5 * (1.0 - 1.0 / np.sqrt(5.0))
LOBATTO = {1: np.array([0.0, 1.0]), 2: np.array([0.0, 0.5, 1.0]), 3: np.array([0.0, _INNER, 1.0 - _INNER, 1.0])}
"""Places of the nodes of an element of each order: with these a member has the exact forces of linear theory."""


def gauss(points: int) -> tuple[Array, Array]:
    """Places and weights of Gauss quadrature from 0 to 1."""
    places, weights = np.polynomial.legendre.leggauss(points)
    return 0.5 * (1.0 + places), 0.5 * weights


def lagrange(nodes: Array, s: Array) -> tuple[Array, Array]:
    """Values and derivatives ``(n, g, p)``, at places ``s`` (g,) or (n, g), of the polynomials of nodes ``(n, p)``.

    Polynomial ``i`` is 1 at node ``i`` and 0 at the others.
    """
    p = nodes.shape[-1]
    s = np.broadcast_to(s, (len(nodes), np.shape(s)[-1]))
    values, slopes = np.empty((2, *s.shape, p))
    for i in range(p):
        value, slope = np.ones_like(s), np.zeros_like(s)
        for j in range(p):
            if j != i:
                distance = (nodes[:, i] - nodes[:, j])[:, None]
                factor = (s - nodes[:, j, None]) / distance
                value, slope = value * factor, slope * factor + value / distance
        values[..., i], slopes[..., i] = value, slope
    return values, slopes
