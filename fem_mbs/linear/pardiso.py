"""PARDISO of Intel's MKL, where ``pypardiso`` is installed.

Its analysis takes as long as a factorisation, and belongs to the pattern: factors that nobody holds any more leave
theirs to the next matrix. There are two at a time in most runs, the first of a step and the last.
"""

from __future__ import annotations

from typing import Any
from weakref import finalize

import numpy as np
from scipy.sparse import csc_array

from fem_mbs.arrays import Array

ANALYSE_AND_FACTORIZE, FACTORIZE, SOLVE = 12, 22, 33
"""Phases of PARDISO."""


class Pardiso:
    """A :class:`fem_mbs.linear.direct.DirectSolver`; complex matrices are left to SuperLU."""

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
        return solver._call_pardiso(matrix, right)  # type: ignore[no-any-return]
    except PyPardisoError as error:
        raise RuntimeError(f"PARDISO: {error}") from error
