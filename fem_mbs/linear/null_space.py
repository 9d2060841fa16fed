"""Null spaces of the equations of motion and of rest, for whatever units, sizes and masses a model has.

``[[M, B^T], [B, 0]]`` with a positive semidefinite ``M`` is singular for two independent reasons: motions without mass,
``M v = 0`` and ``B v = 0``, and combinations of constraint equations that vanish, ``B^T l = 0``. The same holds for the
stiffness in place of the mass: then the motions are those without resistance.

docs/theory.md, "Consistent start".
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import block_array, csc_array, eye_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.errors import SingularSystemError
from fem_mbs.linear.direct import Solve
from fem_mbs.linear.solvers import sums

Matrix: TypeAlias = "csc_array | Array"

SHIFT = 1e-13
ITERATIONS = 3
MASSLESS = 1e-12
"""A motion has no mass below this share of the mass that moves with it."""
SLACK = 1e-14
"""A motion has no stiffness below this share of that which its nodes feel: rounding makes up to 2e-15 of it."""
SMALL_PART = 1e-6
"""Part of a null vector, against the whole, that is rounding."""
BARE = 1e-13
"""Masses, stiffnesses and entries of equations below this share of the largest are rounding."""
REPEATED = 1e-8
"""Equations repeat each other if their combination vanishes to this relative size, that of the gap of a closed joint:
geometry is typed in with eight digits."""
OPEN = 10.0
"""Size, against the largest gap, to which equations of open joints may miss repeating each other."""
COUNTS = (8, 64, 512)
"""Vectors to look for: more if all of them turn out to be null vectors, and the work allows."""
WORK = 1e8
"""Equations times the square of vectors that are looked for."""
SURE = 1e-2
"""Two sets of random forces and rates have a larger share of any null vector, and with one their solutions are longer
than this over the size to which it vanishes."""
ALMOST = 1e-13
"""Square of the relative size below which combinations are counted as vanishing."""


class NullSpaces(NamedTuple):
    """Null spaces in dimensionless unknowns and equations."""

    units: Array
    """Units ``(n,)`` of the unknowns."""
    motions: Array
    """Orthonormal basis ``(n, r)`` of the motions without mass, or without stiffness."""
    repeated: Array
    """Orthonormal basis ``(m, s)`` of the combinations of equations that vanish."""
    complete: bool
    """Whether these are all of them, or some of a great many."""


def null_spaces(M: Matrix, B: Matrix, definite: bool = True, gap: float = 0.0) -> NullSpaces:
    """Motions without mass and repeated equations.

    With ``definite=False`` ``M`` is a stiffness, in comparable units, and need not be positive: under stress, motions
    may have no resistance because joints take it, ``M v + B^T l = 0``. Where joints are open by a relative ``gap``,
    equations that repeat each other do so to a few times this size.

    Matrices may be sparse or, much faster where they are small, dense.

    They come from inverse iteration on the whole matrix, made dimensionless and shifted to be quasi-definite, followed
    by a singular value decomposition on the small subspaces, which does not square small numbers.
    """
    n, m = M.shape[0], B.shape[0]
    if not n + m:
        return NullSpaces(np.empty(0), np.empty((0, 0)), np.empty((0, 0)), True)
    unknowns, equations = _scales(M, B, 0.0 if definite else BARE * lengths(M, 0).max(initial=0.0))
    M, B = scaled(M, unknowns, unknowns), scaled(B, equations, unknowns)
    try:
        solve = _solver(M, B)
    except RuntimeError:
        raise SingularSystemError("the mass matrix is not positive; look for a negative mass or inertia") from None
    vanishes = max(REPEATED, OPEN * gap)
    if definite and _short(solve, n + m, vanishes):
        return NullSpaces(unknowns, np.empty((n, 0)), np.empty((m, 0)), True)
    for count in [count for count in COUNTS if count == COUNTS[0] or (n + m) * count**2 <= WORK]:
        vectors = np.random.default_rng(0).normal(size=(n + m, min(count, n + m)))
        for _ in range(ITERATIONS):
            vectors = np.linalg.qr(solve(vectors))[0]
        if definite:
            motions = _null_vectors(_blocks([[M], [B]]), vectors[:n], MASSLESS)
        else:
            whole = _blocks([[M, B.T], [B, 0.0 * (B @ B.T)]]) if m else M
            motions = _span(_null_vectors(whole, vectors, SLACK)[:n])
        repeated = _null_vectors(B.T, vectors[n:], vanishes)
        if motions.shape[1] + repeated.shape[1] < count:
            break
    complete = motions.shape[1] + repeated.shape[1] < count
    return NullSpaces(unknowns, motions, repeated, complete)


def _short(solve: Solve, size: int, vanishes: float) -> bool:
    """Whether solutions for random forces and rates have no part of what vanishes."""
    return bool(np.abs(solve(np.random.default_rng(1).normal(size=(size, 2)))).max() < SURE / vanishes)


def count_repeated(B: csc_array) -> int:
    """Number of combinations of equations that vanish, in comparable unknowns, however many there are.

    By Sylvester's law of inertia: the positive pivots of ``[[I, B^T], [B, tau]]`` beyond those of ``I``.
    """
    m, n = (int(size) for size in B.shape)
    B = scaled(B, 1.0 / np.maximum(lengths(B, 1), np.finfo(float).tiny), np.ones(n))
    matrix = block_array([[eye_array(n), B.T], [B, ALMOST * eye_array(m)]], format="csc")
    lu = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return int((lu.U.diagonal() > 0.0).sum()) - n


def _scales(M: Matrix, B: Matrix, floor: float) -> tuple[Array, Array]:
    """Units of the unknowns, which make the mass of each 1, and of the equations, which make the norm of each 1.

    Unknowns without mass, at most ``floor``, get their unit from the equations they stand in.
    """
    mass = M.diagonal()
    heavy = mass > floor
    unknowns = np.zeros(len(mass))
    unknowns[heavy] = 1.0 / np.sqrt(mass[heavy])
    plain, one = lengths(B, 1), np.ones(B.shape[0])
    moved = lengths(scaled(B, one, unknowns), 1)
    acting = moved > BARE * plain * unknowns.max(initial=0.0)
    equations = 1.0 / np.where(acting, moved, np.where(plain > 0.0, plain, 1.0))
    felt = lengths(scaled(B, equations, np.ones(len(mass))), 0)
    unknowns[~heavy] = 1.0 / np.where(felt > 0.0, felt, 1.0)[~heavy]
    size = lengths(scaled(B, one, unknowns), 1)
    return unknowns, 1.0 / np.where(size > 0.0, size, 1.0)


def scaled(matrix: Matrix, rows: Array, columns: Array) -> Matrix:
    """A matrix with its rows and columns multiplied."""
    if isinstance(matrix, np.ndarray):
        return rows[:, None] * matrix * columns
    result: csc_array = csc_array(matrix, dtype=float, copy=True)
    result.data *= rows[result.indices] * np.repeat(columns, np.diff(result.indptr))
    return result


def comparable(M: Matrix, own: BoolArray) -> Array:
    """Factors of rows, which make the equations of the ``own`` unknowns comparable: each is in a unit of its own."""
    size = lengths(M, 1)
    return 1.0 / np.where(own & (size > 0.0), size, 1.0)


def lengths(matrix: Matrix, axis: int) -> Array:
    """Norms of the columns (axis 0) or rows (axis 1)."""
    if isinstance(matrix, np.ndarray):
        return np.sqrt(np.square(matrix).sum(axis=axis))
    count = matrix.shape[1 - axis]
    places = matrix.indices if axis else np.repeat(np.arange(count), np.diff(matrix.indptr))
    return np.sqrt(sums(places, np.square(matrix.data), count))


def _solver(M: Matrix, B: Matrix) -> Solve:
    """Solve with ``[[M, B^T], [B, 0]]``, shifted to be quasi-definite; RuntimeError if singular all the same."""
    n, m = M.shape[0], B.shape[0]
    if not isinstance(M, np.ndarray):
        shifted = csc_array(M + SHIFT * eye_array(n, format="csc"))
        if m:
            shifted = block_array([[shifted, B.T], [B, -SHIFT * eye_array(m)]], format="csc")
        return splu(shifted).solve
    shifted = _blocks([[M, B.T], [B, np.zeros((m, m))]])
    shifted[np.diag_indices(n + m)] += np.repeat([SHIFT, -SHIFT], [n, m])
    lu, pivots, info = lapack.dgetrf(shifted, overwrite_a=1)
    if info > 0:
        raise RuntimeError("singular")
    return lambda right: lapack.dgetrs(lu, pivots, right)[0]


def _blocks(parts: list[list[Matrix]]) -> Matrix:
    return np.block(parts) if isinstance(parts[0][0], np.ndarray) else block_array(parts, format="csc")


def _null_vectors(matrix: Matrix, candidates: Array, tolerance: float) -> Array:
    """Combinations of the candidates that the matrix takes to zero."""
    if not len(candidates):
        return candidates[:, :0]
    basis = np.linalg.qr(candidates)[0]
    _, sizes, combinations = np.linalg.svd(np.linalg.qr(matrix @ basis, mode="r"))
    null = np.pad(sizes, (0, len(combinations) - len(sizes))) < tolerance
    return np.asarray(basis @ combinations[null].T)


def _span(vectors: Array) -> Array:
    """Orthonormal basis of the span of vectors."""
    basis, sizes, _ = np.linalg.svd(vectors, full_matrices=False)
    return np.asarray(basis[:, sizes > SMALL_PART])
