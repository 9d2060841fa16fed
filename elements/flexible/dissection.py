"""An order of elimination for a mesh: nested dissection by the places of its nodes.

Nodes between two halves are eliminated after both, halves likewise (George, SIAM J. Numer. Anal. 10, 1973): the parts
are the leaves and separators of a tree, and fill stays within a part and between it and the separators around it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.arrays import Array, IntArray

LEAF = 40
"""Nodes of a part that is not cut further."""
CUTS = np.linspace(0.38, 0.62, 9)
"""Shares of the nodes on one side that are tried: a cut along the faces of cells has the fewest nodes."""


class MeshPart(NamedTuple):
    """Nodes ``(k,)`` that are eliminated together, and which parts before it are its children."""

    nodes: IntArray
    children: tuple[int, ...]


def dissected(graph: csr_array, points: Array, hubs: IntArray) -> list[MeshPart]:
    """Parts of the nodes of a graph at ``points`` (n, 3), each after its children; ``hubs`` come last."""
    parts: list[MeshPart] = []

    def add(nodes: IntArray, children: tuple[int, ...]) -> int:
        parts.append(MeshPart(nodes, children))
        return len(parts) - 1

    def cut(nodes: IntArray, own: csr_array) -> int:
        found = _separated(own, points[nodes]) if len(nodes) > LEAF else None
        if found is None:
            return add(nodes, ())
        sides = tuple(cut(nodes[side], own[side][:, side]) for side in found[:2] if len(side))
        return add(nodes[found[2]], sides)

    inner = np.setdiff1d(np.arange(graph.shape[0]), hubs)
    top = cut(inner, graph[inner][:, inner])
    if len(hubs):
        add(hubs, (top,))
    return parts


def _separated(graph: csr_array, points: Array) -> tuple[IntArray, IntArray, IntArray] | None:
    """Two sides and what is between them, or None if there is no cut."""
    t = points[:, np.argmax(np.ptp(points, axis=0))]
    levels = np.unique(np.quantile(t, CUTS, method="lower"))
    left = (t[:, None] <= levels).astype(np.float32)
    right = 1.0 - left
    rims = np.concatenate([(graph @ right) * left, (graph @ left) * right], axis=1) > 0.0
    sizes = rims.sum(axis=0) / np.minimum(np.tile(left.sum(axis=0), 2), np.tile(right.sum(axis=0), 2)).clip(1.0)
    best = int(np.argmin(sizes))
    between, below = rims[:, best], left[:, best % len(levels)] > 0.0
    sides = np.flatnonzero(below & ~between), np.flatnonzero(~below & ~between)
    if not len(sides[0]) or not len(sides[1]):
        return None
    return *sides, np.flatnonzero(between)
