"""Orders in which unknowns are eliminated, found on the graph of the blocks that they stay together in.

Unknowns of a node are coupled with the same others, so that a graph of nodes tells all, at a thirtieth of the entries.
*Narrow* orders keep the matrix in a band (reverse Cuthill-McKee); orders of *minimum degree* keep the factors sparse
(George, Liu, SIAM Review 31, 1989). Multipliers have nothing on the diagonal until a node that they hold is eliminated,
and come right after it.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from fem_mbs.arrays import BoolArray, IntArray

SYMMETRIC = {"SymmetricMode": True}
HUB = 10.0
"""Blocks with more neighbours than so many times the root of all blocks come last: ordering them takes long."""


def graph_of(rows: IntArray, columns: IntArray, blocks: IntArray) -> csr_array:
    """Which blocks have an entry in common, symmetric and without loops; entries with negative indices are none."""
    count = int(blocks.max(initial=-1)) + 1
    small = np.append(blocks, -1).astype(np.int32)
    a, b = small[rows], small[columns]
    apart = (a != b) & (a >= 0) & (b >= 0)
    a, b = a[apart], b[apart]
    graph = csr_array((np.ones(len(a), np.int8), (a, b)), shape=(count, count))
    graph.data[:] = 1  # entries that stand there twice were added
    return csr_array(graph.maximum(graph.T))


def narrow(graph: csr_array) -> IntArray:
    """The place of each block in an order of small bandwidth."""
    count = graph.shape[0]
    rank = np.empty(count, np.intp)
    rank[reverse_cuthill_mckee(graph, symmetric_mode=True)] = np.arange(count)
    return rank


def minimum_degree(graph: csr_array, sizes: IntArray, bare: BoolArray) -> tuple[IntArray, float]:
    """The place of each block in an order of little fill, and how many unknowns a column of ``L`` has, on average.

    Parameters
    ----------
    graph : (blocks, blocks)
        See :func:`graph_of`.
    sizes : (blocks,)
        Numbers of unknowns.
    bare : (blocks,)
        True for blocks of multipliers.
    """
    degree = np.diff(graph.indptr)
    hub = degree > HUB * np.sqrt(len(degree))
    place = np.empty(len(degree), np.intp)
    place[hub] = len(degree) - hub.sum() + np.argsort(np.argsort(degree[hub], kind="stable"))
    rest = graph[~hub][:, ~hub]
    fill = float(hub.sum())
    if rest.shape[0]:
        # SuperLU orders before it factorises, which takes no time in a matrix with one unknown a block
        matrix = csc_array(diags_array(np.diff(rest.indptr) + 1.0) - rest)
        factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=SYMMETRIC)
        place[~hub] = factors.perm_c
        fill += factors.L.nnz / rest.shape[0]
    return _after_nodes(graph, place, sizes, bare), fill * float(sizes[sizes > 0].mean())


def _after_nodes(graph: csr_array, place: IntArray, sizes: IntArray, bare: BoolArray) -> IntArray:
    """The order with multipliers after the first of their nodes, or the last, where the first has enough of them."""
    joints = np.flatnonzero(bare)
    held = graph[joints][:, ~bare]
    joints, held = joints[np.diff(held.indptr) > 0], held[np.diff(held.indptr) > 0]
    key = 2 * place
    if len(joints):
        of_nodes = place[~bare][held.indices]
        first = np.minimum.reduceat(of_nodes, held.indptr[:-1])
        last = np.maximum.reduceat(of_nodes, held.indptr[:-1])
        node = np.argsort(place)
        order = np.argsort(first, kind="stable")
        taken = np.cumsum(sizes[joints[order]])
        starts = np.flatnonzero(np.diff(first[order], prepend=-1))
        before = np.repeat((taken - sizes[joints[order]])[starts], np.diff(np.append(starts, len(order))))
        full = np.empty(len(order), np.bool_)
        full[order] = taken - before > sizes[node[first[order]]]
        key[joints] = 2 * np.where(full, last, first) + 1
    rank = np.empty(len(key), np.intp)
    rank[np.argsort(key, kind="stable")] = np.arange(len(key))
    return rank


def unknowns(rank: IntArray, blocks: IntArray) -> IntArray:
    """The place of each unknown, those of a block in a row, from those of the blocks."""
    place = np.empty(len(blocks), np.intp)
    place[np.argsort(rank[blocks], kind="stable")] = np.arange(len(blocks))
    return place


def band(graph: csr_array, rank: IntArray, sizes: IntArray) -> int:
    """Largest distance of two unknowns that are coupled, in an order of the blocks."""
    sorted_ends = np.cumsum(sizes[np.argsort(rank)])
    end = sorted_ends[rank]
    start = end - sizes
    own = int(sizes.max(initial=1)) - 1
    pairs = graph.tocoo()
    return max(own, int((end[pairs.coords[0]] - 1 - start[pairs.coords[1]]).max(initial=0)))
