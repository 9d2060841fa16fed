"""Sparse direct solvers, for matrices in an order of little fill.

SuperLU keeps to that order: pivots stay on the diagonal unless one is smaller than a thousandth of its column, and the
pattern is taken as symmetric (Li, Demmel, ACM TOMS 29, 2003, section 2). What is given up of stability is looked at
in every solution: by the residual of each equation against its terms (Oettli, Prager, Numer. Math. 6, 1964). One
refinement makes up for rounding; where that does not do, the matrix is factorised anew with the pivots and the order
that SuperLU finds itself. Another solver may take the place of the first, :func:`use`; its solutions are looked at,
too.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal, Protocol

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array
from fem_mbs.errors import MissingPackageError, ModelError, SingularSystemError
from fem_mbs.linear.ordering import SYMMETRIC

Solve = Callable[[Array], Array]
PIVOT = 1e-3
"""Pivots on the diagonal are taken down to this share of their column."""
ACCURATE = 1e-13
"""Residual of an equation, against the sum of its terms, that needs no refinement."""
USABLE = 1e-10
"""The same after a refinement, above which the factors are given up."""


class DirectSolver(Protocol):
    """A sparse direct solver, such as a function of the user's."""

    def __call__(self, matrix: csc_array) -> Solve:
        """Factorise a real or complex matrix, whose pattern is that of the last call as a rule.

        Returns a function that solves with it, for right-hand sides ``(size,)`` and ``(size, r)``. What raises
        :class:`RuntimeError` is left to SuperLU.
        """
        ...


def superlu(matrix: csc_array) -> Solve:
    """Factors in the order of the matrix, with pivots on the diagonal where they will do."""
    return splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=PIVOT, options=SYMMETRIC).solve  # type: ignore[no-any-return]


_chosen: list[DirectSolver] = []


def use(solver: DirectSolver | Literal["superlu", "pardiso"]) -> None:
    """Factorise all sparse matrices of this process by ``solver`` from now on; dense and banded ones stay with LAPACK.

    "superlu" is what there is without a call, "pardiso" that of Intel's MKL (``pip install pypardiso``).
    """
    if solver == "pardiso":
        if find_spec("pypardiso") is None:
            raise MissingPackageError("use('pardiso') needs pypardiso; install it with: pip install pypardiso")
        from fem_mbs.linear.pardiso import Pardiso

        solver = Pardiso()
    if not callable(solver) and solver != "superlu":
        raise ModelError(f"use: solver must be 'superlu', 'pardiso' or a function of a matrix, received {solver!r}")
    _chosen[:] = [solver] if callable(solver) else []


def factorize(matrix: csc_array) -> Solve:
    """Solve with a real or complex matrix that is in an order of little fill.

    Raises
    ------
    SingularSystemError
        If it has no factors.
    """
    for solver in (*_chosen, superlu):
        try:
            return Checked(matrix, solver(matrix))
        except RuntimeError:
            continue
    return with_pivots(matrix)


def with_pivots(matrix: csc_array) -> Solve:
    """The same with partial pivots, in the order of SuperLU."""
    try:
        return splu(matrix).solve  # type: ignore[no-any-return]
    except RuntimeError as error:
        raise SingularSystemError("the matrix is singular") from error


class Checked:
    """Solve with factors as long as they are accurate, else with others."""

    def __init__(self, matrix: csc_array, solve: Solve) -> None:
        self._matrix, self._solve, self._gave_up = matrix, solve, False

    def __call__(self, right: Array) -> Array:
        """The solution of a right-hand side ``(size,)`` or of several ``(size, r)``."""
        x = self._solve(right)
        if self._gave_up:
            return x
        rest, error = self._residual(x, right)
        if error <= ACCURATE:
            return x
        x += self._solve(rest)
        if self._residual(x, right)[1] <= USABLE:
            return x
        self._solve, self._gave_up = with_pivots(self._matrix), True
        return self._solve(right)

    def _residual(self, x: Array, right: Array) -> tuple[Array, float]:
        """What is left of each equation, and the largest of it against the terms of its equation."""
        rest: Any = right - self._matrix @ x
        parts = self._matrix.indices, self._matrix.indptr
        terms = csc_array((np.abs(self._matrix.data), *parts), shape=self._matrix.shape) @ np.abs(x) + np.abs(right)
        error = np.divide(np.abs(rest), terms, out=np.zeros_like(terms), where=terms != 0.0)
        return rest, float(error.max(initial=0.0))
