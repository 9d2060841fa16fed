"""Linear equations with a pattern that stays: dense, banded or sparse, chosen once by what each will cost.

Each solver tells where the entry ``(row, column)`` of a triplet list is stored (``slots``), so that assembly is one sum
over slots. Chains of beams and bodies have a small bandwidth after the reverse Cuthill-McKee ordering, where LAPACK's
banded factorisation is several times faster than a general sparse one; grids have little fill in an order of minimum
degree (``direct.py``). The choice depends on the pattern alone, so that a run can be repeated.

Orders in which unknowns are eliminated are found on the graph of the blocks that they stay together in.

Unknowns of a node are coupled with the same others, so that a graph of nodes tells all, at a thirtieth of the entries.
*Narrow* orders keep the matrix in a band (reverse Cuthill-McKee); orders of *minimum degree* keep the factors sparse
(George, Liu, SIAM Review 31, 1989). Multipliers have nothing on the diagonal until a node that they hold is eliminated,
and come right after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple, cast

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csc_array, csr_array, dia_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.errors import SingularSystemError, StoreError
from fem_mbs.linear.direct import SYMMETRIC, Solve, factorize

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
    return _after_nodes(graph, place, bare), fill * float(sizes[sizes > 0].mean())


def _after_nodes(graph: csr_array, place: IntArray, bare: BoolArray) -> IntArray:
    """The order with multipliers after the first of their nodes that no joint before counts on, or after the last.

    What two joints ask of one node may repeat itself, as that of the balls at both ends of a rod does.
    """
    joints = np.flatnonzero(bare)
    held = graph[joints][:, ~bare]
    key, taken, every = 2 * place, set[int](), place[~bare][held.indices]
    of_joints = [sorted(own.tolist()) for own in np.split(every, held.indptr[1:-1])] if len(joints) else []
    for joint, nodes in sorted(zip(joints.tolist(), of_joints, strict=True), key=lambda pair: pair[1]):
        if nodes:
            node = next((own for own in nodes if own not in taken), nodes[-1])
            taken.add(node)
            key[joint] = 2 * node + 1
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


DENSE_SIZE = 40
NARROW = 40
"""Up to this width a band is always the fastest."""
BAND_COST = 0.15, 0.0125, 7e-5
"""Time of an unknown in a band, in us: constant, times the width, times its square. Measured on bands of 11 to 185."""
SPARSE_COST = 0.5, 0.06
"""The same of SuperLU: constant, times the numbers in a column of ``L``. Measured on grids of 1 to 30 nodes across."""


class Factors(NamedTuple):
    """A factorised matrix: a function that solves with it, and arrays from which it can be restored."""

    solve: Solve
    arrays: tuple[Array, ...]


class LinearSolver:
    """What assembly and Newton need of a solver.

    ``slots`` has the place of every triplet in the ``storage`` numbers that ``factor`` takes; triplets outside the
    matrix (eliminated unknowns) go to the extra place ``storage``.
    """

    slots: IntArray
    storage: int
    place: IntArray
    """Where each unknown stands in the order of the factors."""
    kind: str
    """What :class:`Stats` says of it."""

    def stored(self, entries: Array) -> Array:
        """What is stored of entries, one for each triplet."""
        return sums(self.slots, entries, self.storage + 1)[:-1]

    def factorized(self, entries: Array) -> Factors:
        """The factorised matrix with these entries."""
        return self.factor(np.bincount(self.slots, entries, self.storage + 1)[:-1])  # type: ignore[arg-type]

    def factor(self, values: Array) -> Factors:
        """Factor the matrix with these stored values, real or complex."""
        raise NotImplementedError

    def bound(self, values: Array, loads: float) -> None:
        """From now on nothing is added that is large beside these values and the stiffness that loads may make."""

    def restore(self, arrays: Sequence[Array]) -> Factors | None:
        """The factorised matrix of which these are the ``arrays``; None if they are those of another solver."""
        raise NotImplementedError

    def matrix(self, values: Array) -> csc_array:
        """The matrix with these stored values, in the order of the unknowns."""
        raise NotImplementedError


def make_solver(
    rows: IntArray, columns: IntArray, size: int, blocks: IntArray | None = None, n: int | None = None
) -> LinearSolver:
    """Solver for triplets at ``rows``, ``columns``; negative indices mark entries to leave out.

    ``blocks`` (size,) numbers the node, the joint or whatever else each unknown belongs to: unknowns that stay together
    have a smaller bandwidth. Multipliers are the unknowns from ``n`` on, or all without an entry on the diagonal.
    """
    if size <= DENSE_SIZE:
        return DenseSolver(rows, columns, size)
    blocks = np.arange(size) if blocks is None else blocks
    sizes = np.bincount(blocks)
    graph = graph_of(rows, columns, blocks)
    place = narrow(graph)
    if place[0] > place[-1]:  # as blocks are numbered: what is made in this order is still near when it is eliminated
        place = len(place) - 1 - place
    width = band(graph, place, sizes)
    if width > NARROW:
        sparse, fill = minimum_degree(graph, sizes, _bare(rows, columns, blocks, n))
        if np.polyval(SPARSE_COST[::-1], fill) < np.polyval(BAND_COST[::-1], width):
            return SparseSolver(rows, columns, size, unknowns(sparse, blocks))
    return BandedSolver(rows, columns, size, unknowns(place, blocks), width)


def band_of_pivots(rows: IntArray, columns: IntArray, blocks: IntArray, n: int) -> BandedSolver:
    """A banded solver in an order in which pivots may stay on the diagonal: multipliers come after what they hold."""
    graph, sizes = graph_of(rows, columns, blocks), np.bincount(blocks)
    place = _after_nodes(graph, narrow(graph), _bare(rows, columns, blocks, n))
    return BandedSolver(rows, columns, len(blocks), unknowns(place, blocks), band(graph, place, sizes))


def _bare(rows: IntArray, columns: IntArray, blocks: IntArray, n: int | None) -> BoolArray:
    """True for blocks of multipliers."""
    own = np.zeros(len(blocks), np.bool_)
    own[rows[(rows == columns) & (rows >= 0)] if n is None else slice(n)] = True
    return np.bincount(blocks, own) == 0.0


LAPACK = (lapack.dgetrf, lapack.dgetrs), (lapack.zgetrf, lapack.zgetrs)
"""What factors and solves, for real and for complex numbers."""


class DenseSolver(LinearSolver):
    """LAPACK ``getrf``/``getrs`` for small systems."""

    kind = "dense"

    def __init__(self, rows: IntArray, columns: IntArray, size: int) -> None:
        self.size, self.place = size, np.arange(size)
        self.storage = size * size
        inside = (rows >= 0) & (columns >= 0)
        self.slots = np.where(inside, columns * size + rows, self.storage).astype(np.intp)

    def factor(self, values: Array) -> Factors:
        factor, solve = LAPACK[values.dtype.kind == "c"]
        lu, pivots, info = factor(values.reshape(self.size, self.size).T, overwrite_a=1)
        if info > 0:
            raise SingularSystemError("the matrix is singular")
        return Factors(partial(_solved, solve, lu, pivots), (lu, pivots))

    def restore(self, arrays: Sequence[Array]) -> Factors | None:
        if len(arrays) != 2:
            return None
        lu, pivots = _usable(arrays, (self.size, self.size))
        return Factors(partial(_solved, LAPACK[lu.dtype.kind == "c"][1], lu, pivots), (lu, pivots))

    def matrix(self, values: Array) -> csc_array:
        return csc_array(values.reshape(self.size, self.size).T)


def _solved(solve: Callable[..., tuple[Array, int]], lu: Array, pivots: Array, b: Array) -> Array:
    return solve(lu, pivots, b)[0]


class BandedSolver(LinearSolver):
    """LAPACK ``gbtrf``/``gbtrs`` in the ordering ``place`` (new index of each unknown)."""

    def __init__(self, rows: IntArray, columns: IntArray, size: int, place: IntArray, width: int) -> None:
        self.size, self.place, self.width = size, place, width
        self.kind = f"banded, half width {width}"
        self.height = 3 * width + 1
        self.storage = self.height * size
        self.order = np.argsort(place)
        self._entries = rows, columns

    @cached_property
    def slots(self) -> IntArray:  # type: ignore[override]
        rows, columns = self._entries
        slots: IntArray = (self.place * (self.height - 1) + 2 * self.width)[columns]
        slots += self.place[rows]
        slots[(rows < 0) | (columns < 0)] = self.storage
        return slots

    def factor(self, values: Array) -> Factors:
        k, factor = self.width, lapack.zgbtrf if values.dtype.kind == "c" else lapack.dgbtrf
        lu, pivots, info = factor(values.reshape(self.size, self.height).T, k, k, overwrite_ab=1)
        if info > 0:
            raise SingularSystemError("the matrix is singular")
        return self.factors(lu, pivots)

    def restore(self, arrays: Sequence[Array]) -> Factors | None:
        return self.factors(*_usable(arrays, (self.height, self.size))) if len(arrays) == 2 else None

    def factors(self, lu: Array, pivots: Array) -> Factors:
        """What solves with factors as LAPACK has them."""
        k, solve = self.width, lapack.zgbtrs if lu.dtype.kind == "c" else lapack.dgbtrs
        return Factors(lambda b: solve(lu, k, k, b[self.order], pivots)[0][self.place], (lu, pivots))

    def matrix(self, values: Array) -> csc_array:
        band = values.reshape(self.size, self.height).T[self.width :]
        banded = dia_array((band, np.arange(self.width, -self.width - 1, -1)), shape=(self.size, self.size))
        return csc_array(banded.tocsc()[self.place][:, self.place])


def _usable(arrays: Sequence[Array], shape: tuple[int, int]) -> Sequence[Array]:
    """Factors that were kept, perhaps in a file: LAPACK goes wherever pivots send it."""
    if [array.shape for array in arrays] != [shape, shape[1:]] or not ((arrays[1] >= 0) & (arrays[1] < shape[1])).all():
        raise StoreError("the factors of a matrix that were kept are not those of this model")
    return arrays


class SparseSolver(LinearSolver):
    """A sparse direct solver in the ordering ``place`` (new index of each unknown), see ``direct.py``."""

    kind = "sparse"

    def __init__(self, rows: IntArray, columns: IntArray, size: int, place: IntArray) -> None:
        self.size, self.place, self.order = size, place, np.argsort(place)
        inside = np.flatnonzero((rows >= 0) & (columns >= 0))
        places, slots = np.unique(place[columns[inside]] * size + place[rows[inside]], return_inverse=True)
        self.storage = len(places)
        self.slots: IntArray = np.full(len(rows), self.storage)
        self.slots[inside] = slots
        self._rows = (places % size).astype(np.int32)
        self._starts = np.searchsorted(places, np.arange(size + 1) * size).astype(np.int32)
        self._last: Factors | None = None

    def factor(self, values: Array) -> Factors:
        solve = factorize(self._ordered(values))
        self._last = Factors(lambda b: solve(b[self.order])[self.place], (values,))
        return self._last

    def restore(self, arrays: Sequence[Array]) -> Factors | None:
        """Restore; see :class:`LinearSolver`. Factors stay within the direct solver: they are kept, or made again."""
        if self._last is not None and self._last.arrays[0] is arrays[0]:
            return self._last
        return self.factor(arrays[0]) if arrays[0].shape == (self.storage,) else None

    def matrix(self, values: Array) -> csc_array:
        matrix = csc_array(self._ordered(values)[self.place][:, self.place])
        matrix.sort_indices()
        return matrix

    def _ordered(self, values: Array) -> csc_array:
        return csc_array((values, self._rows, self._starts), shape=(self.size, self.size))


def sums(slots: IntArray, values: Array, size: int) -> Array:
    """Sums of the values that share a slot."""
    # the stubs say integers even where there are weights
    return cast(Array, np.bincount(slots, values, minlength=size))
