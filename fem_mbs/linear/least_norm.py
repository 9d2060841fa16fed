"""Linear equations with constraints that repeat each other, and the multipliers of least norm.

Where ``B^T l = 0`` for some ``l``, ``S = [[K, B^T], [B, 0]]`` is singular, and always in another way, as these ``l``
change with the position. What is factorised is ``S_c = [[K, B^T], [B, -c]]`` with a small compliance ``c`` in each
equation. Of multipliers ``mu`` then

    T mu = the multipliers of S_c^-1 (0, -c mu)

is nothing but the part without effect, the ``c``-orthogonal projection on all ``l``: ``T l = l``, while of the others
``T`` leaves a share of the size of ``c``. With ``T`` the part of the right-hand side that no motion can meet and the
part of the multipliers that does nothing are taken out, and what the compliance took from the others is given back
(augmented Lagrangian: Bayo, Avello 1994; Garcia de Jalon, Gutierrez-Lopez 2013 on what is unique).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.linear.direct import Solve
from fem_mbs.linear.solvers import Factors, make_solver, sums

COMPLIANCE = 1e-9
"""Against what an equation meets as its own compliance, ``B K^-1 B^T``: far from rounding and from weak equations."""
LIGHT = 1e-4
"""Unknowns count as at least so heavy as this share of the heaviest of their equation."""


class Redundant(NamedTuple):
    """Constraint equations that repeat each other."""

    surplus: int
    """Equations too many."""
    sharing: IntArray
    """Numbers of the equations that repeat others."""
    basis: Array
    """Basis ``(sharing, surplus)`` of their combinations that vanish, where this was found; of a great many, some."""
    text: str
    """Which they are."""


class LeastNormSolver:
    """A :class:`LinearSolver` that solves consistent equations with the multipliers of least norm.

    Of a right-hand side that constraints cannot meet, it leaves out the part that contradicts.

    Parameters
    ----------
    rows, columns : (entries,)
        Places of the entries of ``[[K, B^T], [B, 0]]``, -1 for those to leave out; there may be several multipliers for
        one constraint, and entries in the last block.
    n : int
        Number of unknowns before the multipliers.
    units : (n,)
        Units of the unknowns.
    blocks : (n + m,)
        What unknowns and multipliers belong to; see :func:`make_solver`.
    """

    def __init__(self, rows: IntArray, columns: IntArray, n: int, units: Array, blocks: IntArray) -> None:
        size, count = len(blocks), len(rows)
        every = np.arange(size)
        self._solver = make_solver(np.append(rows, every), np.append(columns, every), size, blocks, n)
        self.slots, self.storage = self._solver.slots[:count], self._solver.storage
        self.kind = self._solver.kind
        self.n, self.m, self._units = n, size - n, units[:n]
        self._diagonal = self._solver.slots[count:]
        inside = np.flatnonzero((rows >= n) & (columns >= 0) & (columns < n))
        self._of_B, first = np.unique(self.slots[inside], return_index=True)
        self._row, self._column = rows[inside[first]] - n, columns[inside[first]]

    def factor(self, values: Array) -> Factors:
        """Factor the matrix with these stored values; see :class:`LinearSolver`."""
        compliance, values = COMPLIANCE * self._met(values), values.copy()
        values[self._diagonal[self.n :]] -= compliance
        factors = self._solver.factor(values)
        return Factors(_least_norm(factors.solve, self.n, compliance), (compliance, *factors.arrays))

    def restore(self, arrays: Sequence[Array]) -> Factors:
        """The factorised matrix of which these are the ``arrays``."""
        solve = self._solver.restore(arrays[1:]).solve
        return Factors(_least_norm(solve, self.n, arrays[0]), tuple(arrays))

    def matrix(self, values: Array) -> csc_array:
        """The matrix with these stored values, in the order of the unknowns."""
        matrix = self._solver.matrix(values)
        matrix.eliminate_zeros()
        return matrix

    def projection(self, values: Array, weight: Array) -> Projection:
        """What the ``B`` of these stored values does, orthogonal by the ``weight`` (m,) of the multipliers."""
        values, metric = values.copy(), self._units**-2
        values[self._diagonal[: self.n]] = metric
        compliance = COMPLIANCE * weight
        values[self._diagonal[self.n :]] = -compliance
        return Projection(self._solver.factor(values).solve, metric, compliance)

    def _met(self, values: Array) -> Array:
        """``B K^-1 B^T`` of each equation alone, by the diagonal of ``K``, or what stands in its place."""
        B, units = values[self._of_B], self._units[self._column]
        K = np.abs(values[self._diagonal[: self.n]])[self._column] * units**2
        heaviest = np.zeros(self.m)
        np.maximum.at(heaviest, self._row, np.where(B != 0.0, K, 0.0))
        K = np.maximum(K, LIGHT * heaviest[self._row])
        squared = np.abs(B * units) ** 2
        met = sums(self._row, np.divide(squared, K, out=np.zeros_like(K), where=K > 0.0), self.m)
        there = np.abs(values[self._diagonal[self.n :]])
        return np.where(there > 0.0, there, np.where(met > 0.0, met, met.max(initial=0.0) or 1.0))


class Projection:
    """The multipliers that have no effect, ``B^T l = 0``, and the motions ``B V = 0``, at one configuration."""

    def __init__(self, solve: Solve, metric: Array, compliance: Array) -> None:
        self._solve, self._metric, self._compliance = solve, metric, compliance
        self._n = len(metric)

    def idle(self, multipliers: Array) -> Array:
        """The part (m,) of multipliers that has no effect, orthogonal to the rest."""
        return _idle(self._solve, self._n, self._compliance, multipliers)

    def least_norm(self, multipliers: Array) -> Array:
        """The multipliers of least norm with the same effect."""
        left = multipliers - self.idle(multipliers)
        return left - self.idle(left)

    def admissible(self, motion: Array) -> Array:
        """The motion (n,) along the constraints next to any one, lengths in units of the extent of the model."""
        return self._solve(np.append(self._metric * motion, np.zeros(len(self._compliance))))[: self._n]

    def unmet(self, gaps: Array) -> Array:
        """The part (m,) of gaps or of their rates that no motion closes."""
        multipliers = self._solve(np.append(np.zeros(self._n), gaps))[self._n :]
        return -self._compliance * self.idle(multipliers)


def _least_norm(solve: Solve, n: int, compliance: Array) -> Solve:
    """Solve with the matrix without compliance."""

    def solve_least(right: Array) -> Array:
        if right.ndim == 2:
            return np.stack([solve_least(column) for column in right.T], axis=1)
        contradicts = _idle(solve, n, compliance, solve(right)[n:])
        right = right.copy()
        right[n:] += compliance * contradicts
        x = solve(right)
        more = _without_effect(solve, n, compliance, x[n:])
        again = _without_effect(solve, n, compliance, more[n:])
        x += more + again
        x[n:] -= 3.0 * again[n:]
        return x

    return solve_least


def _without_effect(solve: Solve, n: int, compliance: Array, multipliers: Array) -> Array:
    """``S_c^-1 (0, -c mu)``."""
    return solve(np.append(np.zeros(n), -compliance * multipliers))


def _idle(solve: Solve, n: int, compliance: Array, multipliers: Array) -> Array:
    """``T^2 mu``."""
    return _without_effect(solve, n, compliance, _without_effect(solve, n, compliance, multipliers)[n:])[n:]
