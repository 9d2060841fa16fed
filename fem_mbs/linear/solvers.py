"""Linear equations with a pattern that stays: dense, banded or sparse, chosen once by size and bandwidth.

Each solver tells where the entry ``(row, column)`` of a triplet list is stored (``slots``), so that assembly is one sum
over slots. Chains of beams and bodies have a small bandwidth after the reverse Cuthill-McKee ordering, where LAPACK's
banded factorisation is several times faster than a general sparse one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, cast

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csc_array, dia_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array, IntArray
from fem_mbs.errors import SingularSystemError, StoreError

DENSE_SIZE = 40
BAND_WIDTH = 80

Solve = Callable[[Array], Array]


class Factors(NamedTuple):
    """A factorised matrix: the function that solves with it, and arrays from which it can be restored."""

    solve: Solve
    arrays: tuple[Array, ...]

    def of_last(self, size: int, m: int) -> Solve:
        """The solutions ``(size,)`` with right-hand sides that are zero but for the last ``m`` equations.

        One by one: for several at once BLAS wakes its threads, which takes longer where systems are small.
        """
        none = np.zeros(size - m)
        return lambda right: self.solve(np.concatenate([none, right]))


class LinearSolver(Protocol):
    """What assembly and Newton need of a solver.

    ``slots`` has the place of every triplet in the ``storage`` numbers that ``factor`` takes; triplets outside the
    matrix (eliminated unknowns) go to the extra place ``storage``.
    """

    slots: IntArray
    storage: int

    def factor(self, values: Array) -> Factors:
        """Factor the matrix with these stored values, real or complex."""
        ...

    def restore(self, arrays: Sequence[Array]) -> Factors:
        """The factorised matrix of which these are the ``arrays``, or the stored values alone."""
        ...

    def matrix(self, values: Array) -> csc_array:
        """The matrix with these stored values, in the order of the unknowns."""
        ...


def make_solver(rows: IntArray, columns: IntArray, size: int, blocks: IntArray | None = None) -> LinearSolver:
    """Solver for triplets at ``rows``, ``columns``; negative indices mark entries to leave out.

    ``blocks`` (size,) numbers the node, the joint or whatever else each unknown belongs to: unknowns that stay together
    have a smaller bandwidth.
    """
    if size <= DENSE_SIZE:
        return DenseSolver(rows, columns, size)
    inside = (rows >= 0) & (columns >= 0)
    i, j = rows[inside], columns[inside]
    place = _ordering(i, j, np.arange(size) if blocks is None else blocks)
    width = int(np.abs(place[i] - place[j]).max(initial=0))
    if width <= BAND_WIDTH:
        return BandedSolver(rows, columns, size, place, width)
    return SparseSolver(rows, columns, size)


def _ordering(i: IntArray, j: IntArray, blocks: IntArray) -> IntArray:
    """New index of each unknown: reverse Cuthill-McKee on the graph of the blocks, unknowns of each in a row."""
    count = int(blocks.max(initial=-1)) + 1
    # both triangles, where the pattern itself is not symmetric
    at = np.append(blocks[i], blocks[j]), np.append(blocks[j], blocks[i])
    graph = csc_array((np.ones(len(at[0]), np.int8), at), shape=(count, count))
    rank = np.empty(count, np.intp)
    rank[reverse_cuthill_mckee(graph.tocsr(), symmetric_mode=True)] = np.arange(count)
    place = np.empty(len(blocks), np.intp)
    place[np.argsort(rank[blocks], kind="stable")] = np.arange(len(blocks))
    return place


class DenseSolver:
    """LAPACK ``getrf``/``getrs`` for small systems."""

    def __init__(self, rows: IntArray, columns: IntArray, size: int) -> None:
        self.size = size
        self.storage = size * size
        self.slots = np.where((rows >= 0) & (columns >= 0), columns * size + rows, self.storage)

    def factor(self, values: Array) -> Factors:
        """Factor; see :class:`LinearSolver`."""
        factor = lapack.zgetrf if values.dtype.kind == "c" else lapack.dgetrf
        lu, pivots, info = factor(values.reshape(self.size, self.size).T, overwrite_a=1)
        if info > 0:
            raise SingularSystemError("the matrix is singular")
        return self._factors(lu, pivots)

    def restore(self, arrays: Sequence[Array]) -> Factors:
        """Restore; see :class:`LinearSolver`."""
        if len(arrays) == 1:
            return self.factor(arrays[0].copy())
        return self._factors(*_usable(arrays, (self.size, self.size)))

    def _factors(self, lu: Array, pivots: Array) -> Factors:
        solve = lapack.zgetrs if lu.dtype.kind == "c" else lapack.dgetrs
        return Factors(lambda b: solve(lu, pivots, b)[0], (lu, pivots))

    def matrix(self, values: Array) -> csc_array:
        """Sparse copy; see :class:`LinearSolver`."""
        return csc_array(values.reshape(self.size, self.size).T)


class BandedSolver:
    """LAPACK ``gbtrf``/``gbtrs`` in the ordering ``place`` (new index of each unknown)."""

    def __init__(self, rows: IntArray, columns: IntArray, size: int, place: IntArray, width: int) -> None:
        self.size, self.place, self.width = size, place, width
        self.height = 3 * width + 1
        self.storage = self.height * size
        inside = (rows >= 0) & (columns >= 0)
        i, j = place[np.where(inside, rows, 0)], place[np.where(inside, columns, 0)]
        self.slots = np.where(inside, j * self.height + 2 * width + i - j, self.storage)
        self.order = np.argsort(place)

    def factor(self, values: Array) -> Factors:
        """Factor; see :class:`LinearSolver`."""
        k, factor = self.width, lapack.zgbtrf if np.iscomplexobj(values) else lapack.dgbtrf
        lu, pivots, info = factor(values.reshape(self.size, self.height).T, k, k, overwrite_ab=1)
        if info > 0:
            raise SingularSystemError("the matrix is singular")
        return self._factors(lu, pivots)

    def restore(self, arrays: Sequence[Array]) -> Factors:
        """Restore; see :class:`LinearSolver`."""
        if len(arrays) == 1:
            return self.factor(arrays[0].copy())
        return self._factors(*_usable(arrays, (self.height, self.size)))

    def _factors(self, lu: Array, pivots: Array) -> Factors:
        k, solve = self.width, lapack.zgbtrs if np.iscomplexobj(lu) else lapack.dgbtrs
        return Factors(lambda b: solve(lu, k, k, b[self.order], pivots)[0][self.place], (lu, pivots))

    def matrix(self, values: Array) -> csc_array:
        """Sparse copy; see :class:`LinearSolver`."""
        band = values.reshape(self.size, self.height).T[self.width :]
        banded = dia_array((band, np.arange(self.width, -self.width - 1, -1)), shape=(self.size, self.size))
        return csc_array(banded.tocsc()[self.place][:, self.place])


def _usable(arrays: Sequence[Array], shape: tuple[int, int]) -> Sequence[Array]:
    """Factors that were kept, perhaps in a file: LAPACK goes wherever pivots send it."""
    if [array.shape for array in arrays] != [shape, shape[1:]] or not ((arrays[1] >= 0) & (arrays[1] < shape[1])).all():
        raise StoreError("the factors of a matrix that were kept are not those of this model")
    return arrays


class SparseSolver:
    """SuperLU for everything else."""

    def __init__(self, rows: IntArray, columns: IntArray, size: int) -> None:
        self.size = size
        inside = (rows >= 0) & (columns >= 0)
        places, slots = np.unique(columns[inside] * size + rows[inside], return_inverse=True)
        self.storage = len(places)
        self.slots: IntArray = np.full(len(rows), self.storage)
        self.slots[inside] = slots
        self._rows = (places % size).astype(np.int32)
        self._starts = np.searchsorted(places, np.arange(size + 1) * size).astype(np.int32)
        self._last: Factors | None = None

    def factor(self, values: Array) -> Factors:
        """Factor; see :class:`LinearSolver`."""
        try:
            self._last = Factors(splu(self.matrix(values)).solve, (values,))
        except RuntimeError as error:
            raise SingularSystemError("the matrix is singular") from error
        return self._last

    def restore(self, arrays: Sequence[Array]) -> Factors:
        """Restore; see :class:`LinearSolver`. SuperLU's factors stay within it: they are kept, or made again."""
        if self._last is not None and self._last.arrays[0] is arrays[0]:
            return self._last
        return self.factor(arrays[0])

    def matrix(self, values: Array) -> csc_array:
        """Sparse matrix; see :class:`LinearSolver`."""
        return csc_array((values, self._rows, self._starts), shape=(self.size, self.size))


def sums(slots: IntArray, values: Array, size: int) -> Array:
    """Sums of the values that share a slot."""
    # the stubs say integers even where there are weights
    return cast(Array, np.bincount(slots, values, minlength=size))
