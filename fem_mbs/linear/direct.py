"""Sparse direct solvers, for matrices in an order of little fill.

SuperLU keeps to that order: pivots stay on the diagonal unless one is smaller than a thousandth of its column, and the
pattern is taken as symmetric (Li, Demmel, ACM TOMS 29, 2003, section 2). What is given up of stability is looked at
in every solution: by the residual of each equation against its terms (Oettli, Prager, Numer. Math. 6, 1964). One
refinement makes up for rounding; where that does not do, the matrix is factorised anew with the pivots and the order
that SuperLU finds itself. Another solver may take the place of the first, :func:`use`; its solutions are looked at,
too. PARDISO of Intel's MKL is one that is ready to use.

OpenBLAS has one thread while a run is under way: the matrices of a step are too small for several, which wait for one
another actively, and a banded factorisation of half width 65 takes hundreds of times as long where other programs run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, Literal, Protocol, TypeVar
from weakref import finalize

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array
from fem_mbs.errors import MissingPackageError, ModelError, SingularSystemError

Function = TypeVar("Function", bound=Callable[..., Any])


def one_thread(function: Function) -> Function:
    """A function within which OpenBLAS has one thread, where threadpoolctl is installed."""

    @wraps(function)
    def limited(*given: Any, **named: Any) -> Any:
        libraries = _libraries()
        if libraries is None:
            return function(*given, **named)
        with libraries.limit(limits=1):
            return function(*given, **named)

    return limited  # type: ignore[return-value]


@cache
def _libraries() -> Any:
    """OpenBLAS of NumPy and SciPy; None where nothing can be limited."""
    if find_spec("threadpoolctl") is None:
        return None
    import scipy.linalg  # noqa: F401  its library has to be there
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(internal_api="openblas")


ANALYSE_AND_FACTORIZE, FACTORIZE, SOLVE = 12, 22, 33
"""Phases of PARDISO."""


class Pardiso:
    """A :class:`DirectSolver`, where ``pypardiso`` is installed; complex matrices are left to SuperLU.

    Its analysis takes as long as a factorisation, and belongs to the pattern: factors that nobody holds any more leave
    theirs to the next matrix. There are two at a time in most runs, the first of a step and the last.
    """

    def __init__(self) -> None:
        self._idle: list[tuple[csc_array, Any]] = []
        """What was analysed for a pattern, and is free."""

    def __call__(self, matrix: csc_array) -> PardisoFactors:
        if np.iscomplexobj(matrix.data):
            raise RuntimeError("pypardiso takes real matrices alone")
        pattern, solver = self._analysed(matrix)
        solve = PardisoFactors(solver, matrix)
        finalize(solve, self._idle.append, (pattern, solver))
        return solve

    def _analysed(self, matrix: csc_array) -> tuple[csc_array, Any]:
        """A factorised matrix, by an analysis that is there or a new one."""
        for k, (pattern, solver) in enumerate(self._idle):
            if np.array_equal(pattern.indices, matrix.indices) and np.array_equal(pattern.indptr, matrix.indptr):
                del self._idle[k]
                _call(solver, FACTORIZE, matrix, np.zeros(matrix.shape[0]))
                return pattern, solver
        for _, solver in self._idle:  # of another model
            solver.free_memory(everything=True)
        self._idle.clear()
        from pypardiso.pardiso_wrapper import PyPardisoSolver

        solver = PyPardisoSolver()
        solver.set_iparm(12, 1)  # MKL reads rows where we have columns
        _call(solver, ANALYSE_AND_FACTORIZE, matrix, np.zeros(matrix.shape[0]))
        return matrix, solver


class PardisoFactors:
    """Solve with the factors of a matrix."""

    def __init__(self, solver: Any, matrix: csc_array) -> None:
        self._solver, self._matrix = solver, matrix

    def __call__(self, right: Array) -> Array:
        return _call(self._solver, SOLVE, self._matrix, np.asfortranarray(right, float))


def _call(solver: Any, phase: int, matrix: csc_array, right: Array) -> Array:
    from pypardiso.pardiso_wrapper import PyPardisoError

    solver.set_phase(phase)
    try:
        return solver._call_pardiso(matrix, right)
    except PyPardisoError as error:
        raise RuntimeError(f"PARDISO: {error}") from error


Solve = Callable[[Array], Array]
SYMMETRIC = {"SymmetricMode": True}
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


def superlu(matrix: csc_array) -> Solve:
    """Factors in the order of the matrix, with pivots on the diagonal where they will do."""
    return splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=PIVOT, options=SYMMETRIC).solve


_chosen: list[DirectSolver] = []


def use(solver: DirectSolver | Literal["superlu", "pardiso"]) -> None:
    """Factorise all sparse matrices of this process by ``solver`` from now on; dense and banded ones stay with LAPACK.

    "superlu" is what there is without a call, "pardiso" that of Intel's MKL (extra ``pardiso``).
    """
    if solver == "pardiso":
        if find_spec("pypardiso") is None:
            raise MissingPackageError("use('pardiso') needs pypardiso; install it with pip install 'fem_mbs[pardiso]'")
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
        return splu(matrix).solve
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
