"""Cholesky's factors of the stiffness of a mesh: nested dissection by the places of nodes, and dense fronts.

Nodes between two halves are eliminated after both, halves likewise (George, SIAM J. Numer. Anal. 10, 1973): the parts
are the leaves and separators of a tree, and fill stays within a part and between it and the separators around it.

A front has the unknowns of a part and those after it with which these are coupled, by the matrix or by what was
eliminated before: ``F = [[F11, F21^T], [F21, F22]]``, ``F11 = L11 L11^T``, ``L21 = F21 L11^-T``, and
``F22 - L21 L21^T`` goes to its parent (Duff, Reid, ACM TOMS 9, 1983). The work is that of LAPACK on dense blocks: for
53 000 unknowns of a cube SuperLU of SciPy takes fourteen times as long, and twice the memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.errors import ModelError, progress_bar

SMALLEST = 1e-13
"""Pivot over the diagonal of the matrix, up to which it is rounding: nothing holds what it is of."""
MOST = 4e9
"""Entries of the factors, 32 GB, beyond which another program is better at it."""
LEAF = 40
"""Nodes of a part that is not cut further."""
CUTS = np.linspace(0.38, 0.62, 9)
"""Shares of the nodes on one side that are tried: a cut along the faces of cells has the fewest nodes."""


class Front(NamedTuple):
    """Unknowns of a part, a slice of the order, and those after it in the order ``(b,)`` with which it is coupled."""

    own: slice
    rim: IntArray
    children: tuple[int, ...]


class Cholesky:
    """Factors of a positive definite matrix ``K`` (N, N), whose unknowns belong to ``nodes`` (N,) at ``points`` (n, 3).

    Unknowns of no node, -1, come last.
    """

    def __init__(self, K: csc_array, nodes: IntArray, points: Array) -> None:
        from scipy.linalg import get_blas_funcs, get_lapack_funcs  # which takes long to import

        self._trsm, self._gemm, syrk = get_blas_funcs(("trsm", "gemm", "syrk"))
        (potrf,) = get_lapack_funcs(("potrf",))
        self._order, self._fronts = _fronts(K, nodes, points)
        lower = csc_array(K[self._order][:, self._order])
        entries = sum((f.own.stop - f.own.start) * (f.own.stop - f.own.start + len(f.rim)) for f in self._fronts)
        work = [(f.own.stop - f.own.start) * (f.own.stop - f.own.start + len(f.rim)) ** 2 for f in self._fronts]
        if entries > MOST:
            raise ModelError(
                f"Reduction: the factors of {len(nodes)} unknowns would take {8e-9 * entries:.0f} GB; give solve=, a "
                "function that factorises a sparse matrix and returns a function of right-hand sides"
            )
        done, show = np.cumsum(work) / sum(work), progress_bar(None, 0.0, 1.0, "Reduction: factors", "")
        waiting, least = dict[int, Array](), SMALLEST * lower.diagonal()
        self._factors: list[tuple[Array, Array]] = []
        for k, front in enumerate(self._fronts):
            F11, F21, F22 = self._assembled(front, lower, waiting)
            L11, failed = potrf(F11, lower=1, overwrite_a=1, clean=1)
            loose = [failed - 1] if failed else np.flatnonzero(np.diagonal(L11) ** 2 <= least[front.own])
            if len(loose):
                raise ModelError(_loose(int(nodes[self._order[front.own.start + loose[0]]])))
            L21 = F21
            if len(front.rim):
                L21 = self._trsm(1.0, L11, F21, side=1, lower=1, trans_a=1, overwrite_b=1)
                waiting[k] = syrk(-1.0, L21, beta=1.0, c=F22, lower=1, overwrite_c=1)
            self._factors.append((L11, L21))
            if show is not None:
                show(done[k])
        if show is not None:
            show(None)

    def _assembled(self, front: Front, lower: csc_array, waiting: dict[int, Array]) -> tuple[Array, Array, Array]:
        """The matrix of a front, of itself, of its rim against itself, and of its rim: with what its children left."""
        a, b = front.own.start, front.own.stop
        s, r = b - a, len(front.rim)
        F11, F21, F22 = (np.zeros(shape, order="F") for shape in ((s, s), (r, s), (r, r)))
        start, end = lower.indptr[a], lower.indptr[b]
        rows, values = lower.indices[start:end], lower.data[start:end]
        columns = np.repeat(np.arange(s), np.diff(lower.indptr[a : b + 1]))
        within, beyond = (rows >= a) & (rows < b), rows >= b
        F11[rows[within] - a, columns[within]] = values[within]
        F21[np.searchsorted(front.rim, rows[beyond]), columns[beyond]] = values[beyond]
        for child in front.children:
            rim = self._fronts[child].rim
            own = np.searchsorted(rim, b)
            places = np.append(rim[:own] - a, s + np.searchsorted(front.rim, rim[own:]))
            _extend(F11, F21, F22, places, waiting.pop(child))
        return F11, F21, F22

    def __call__(self, right: Array) -> Array:
        """Solutions for columns ``(N, k)``."""
        # columns of y are the rows of what is solved for: those of a front are together in memory
        y = np.ascontiguousarray(right[self._order]).T
        for front, (L11, L21) in zip(self._fronts, self._factors, strict=True):
            own = y[:, front.own] = self._trsm(1.0, L11, y[:, front.own], side=1, lower=1, trans_a=1)
            if len(front.rim):
                y[:, front.rim] -= self._gemm(1.0, own, L21, trans_b=1)
        for front, (L11, L21) in zip(reversed(self._fronts), reversed(self._factors), strict=True):
            own = y[:, front.own]
            if len(front.rim):
                own = own - self._gemm(1.0, y.T[front.rim].T, L21)
            y[:, front.own] = self._trsm(1.0, L11, own, side=1, lower=1)
        result = np.empty_like(y.T)
        result[self._order] = y.T
        return result


def _loose(node: int) -> str:
    """What is to be said of a node that nothing holds, or of an interface, -1."""
    if node >= 0:
        return (
            f"Reduction: the stiffness lets node {node} of the mesh move by itself: it belongs to no element, or to a "
            "mechanism within the body"
        )
    return (
        "Reduction: the stiffness lets an interface move by itself: pieces of the mesh that nothing joins are bodies "
        "of their own, or have a rigid interface in common; parts of a model with joints are "
        "Reduction.model(mbs.linearize(part), ...), and what a hinge lets turn is no one body"
    )


def _extend(F11: Array, F21: Array, F22: Array, places: IntArray, update: Array) -> None:
    """Add the lower triangle of what a child left at ``places`` of a front, run by run of those in a row."""
    s = len(F11)
    cuts = np.flatnonzero((np.diff(places) != 1) | (places[1:] == s)) + 1
    runs = []
    for i, j in zip([0, *cuts], [*cuts, len(places)], strict=True):
        beyond = bool(places[i] >= s)
        first = int(places[i]) - s * beyond
        runs.append((slice(i, j), beyond, slice(first, first + j - i)))
    for k, (own, beyond, columns) in enumerate(runs):
        for other, below, rows in runs[k:]:
            (F22 if beyond else F21 if below else F11)[rows, columns] += update[other, own]


def _fronts(K: csc_array, nodes: IntArray, points: Array) -> tuple[IntArray, list[Front]]:
    """The order of the unknowns, and the fronts."""
    known, block = np.unique(nodes, return_inverse=True)
    N, n = len(nodes), len(known)
    member = csr_array(coo_array((np.ones(N, np.float32), (block, np.arange(N))), (n, N)))
    pattern: Any = csr_array((np.ones(K.nnz, np.float32), K.indices, K.indptr), K.shape)
    graph = csr_array(member @ pattern @ member.T)
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    parts = dissected(graph, points[known], np.flatnonzero(known < 0))
    by_block = np.argsort(block, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(block, minlength=n)))
    order = np.empty(N, np.intp)
    spans, count = [], 0
    rank = np.empty(n, np.intp)
    for k, part in enumerate(parts):
        unknowns = np.concatenate([by_block[starts[node] : starts[node + 1]] for node in part.nodes])
        order[count : count + len(unknowns)] = unknowns
        spans.append(slice(count, count + len(unknowns)))
        count, rank[part.nodes] = count + len(unknowns), k
    place = np.empty(N, np.intp)
    place[order] = np.arange(N)
    fronts: list[Front] = []
    rims: list[IntArray] = []
    for k, part in enumerate(parts):
        beside = graph[part.nodes].indices
        seen = [beside, *(rims[child] for child in part.children)]
        rim = np.unique(np.concatenate(seen))
        rims.append(rim[rank[rim] > k])
        own = [by_block[starts[node] : starts[node + 1]] for node in rims[k]]
        after = np.sort(place[np.concatenate(own)]) if own else np.zeros(0, np.intp)
        fronts.append(Front(spans[k], after, part.children))
    return order, fronts


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

    def cut(nodes: IntArray, own: csr_array) -> tuple[int, ...]:
        found = _separated(own, points[nodes]) if len(nodes) > LEAF else None
        if found is None:
            return (add(nodes, ()),) if len(nodes) else ()
        first, second, between = found
        sides = tuple(part for side in (first, second) for part in cut(nodes[side], own[side][:, side]))
        # loose pieces have nothing between them, and go on side by side
        return (add(nodes[between], sides),) if len(between) else sides

    inner = np.setdiff1d(np.arange(graph.shape[0]), hubs)
    top = cut(inner, graph[inner][:, inner])
    if len(hubs):
        add(hubs, top)
    return parts


def _separated(graph: csr_array, points: Array) -> tuple[IntArray, IntArray, IntArray] | None:
    """Two sides and what is between them, or None if there is no cut."""
    t = points[:, np.argmax(np.ptp(points, axis=0))]
    levels = np.unique(np.quantile(t, CUTS, method="lower"))
    if not len(levels := levels[levels < t.max()]):
        return None
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
