"""Linear equations with constraints that repeat each other, or that stand on several levels.

**The multipliers of least norm.** Where ``B^T l = 0`` for some ``l``, ``S = [[K, B^T], [B, 0]]`` is singular, and
always in another way, as these ``l`` change with the position. What is factorised is ``S_c = [[K, B^T], [B, -c]]`` with
a small compliance ``c`` in each equation. Of multipliers ``mu`` then

    T mu = the multipliers of S_c^-1 (0, -c mu)

is nothing but the part without effect, the ``c``-orthogonal projection on all ``l``: ``T l = l``, while of the others
``T`` leaves a share of the size of ``c``. With ``T`` the part of the right-hand side that no motion can meet and the
part of the multipliers that does nothing are taken out, and what the compliance took from the others is given back
(augmented Lagrangian: Bayo, Avello 1994; Garcia de Jalon, Gutierrez-Lopez 2013 on what is unique).

**Two levels**, on a kept pattern as all iteration matrices, the stabilised index-2 equations (Arnold, Cardona, Bruels
2015, eq. 62): ``[[K, B^T, W P], [B, 0, 0], [G, 0, H P]]`` with the multipliers ``eta`` in the last columns: they push
the configuration along ``P``, the transposed gradients at the start of the step. The products are sums over pairs of
entries, and which entries meet is known beforehand. Equations of velocities have no ``eta`` and stand in the second
row, where their rates follow the pushed configuration as in the third.

**Three levels.** The blocks stand where those of ``[[K, B^T], [B, 0]]`` do: with ``F`` on forces, and rows ``P``,
``G``, ``A`` of the constraints on positions, velocities and accelerations,

    [[F  B^T | F_Z     | F_Y    ]     increment, multipliers
     [P      | P_Z     |        ]
     [       | M  B0^T |        ]     Z
     [G      | G_Z     |        ]
     [       |         | M  B0^T]     Y
     [A      | A_Z     | A_Y    ]].

All multipliers come last, so that those of constraints that repeat each other can be found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.linear.direct import Solve
from fem_mbs.linear.solvers import Factors, LinearSolver, make_solver, sums
from fem_mbs.system.pattern import Triplets

COMPLIANCE = 1e-9
"""Against what an equation meets as its own compliance, ``B K^-1 B^T``: far from rounding and from weak equations."""
LIGHT = 1e-4
"""Unknowns count as at least so heavy as this share of what joints tie them to."""
ROUNDING = 1e-12
"""The share of that below which they have no mass of their own."""
PASSES, SETTLED = 20, 1e-8
"""Most times that multipliers are given back what compliance took of them, and a change that needs no more."""


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


class LeastNormSolver(LinearSolver):
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
        self.n, self.m, self._units, self._most = n, size - n, units[:n], np.full(size - n, np.inf)
        self._diagonal = self._solver.slots[count:]
        inside = np.flatnonzero((rows >= n) & (columns >= 0) & (columns < n))
        self._of_B, first = np.unique(self.slots[inside], return_index=True)
        self._row, self._column = rows[inside[first]] - n, columns[inside[first]]

    def factor(self, values: Array) -> Factors:
        met = np.minimum(self._met(values), self._most)
        compliance, values = COMPLIANCE * met, values.copy()
        values[self._diagonal[self.n :]] -= compliance
        factors = self._solver.factor(values)
        return Factors(_least_norm(factors.solve, self.n, compliance), (compliance, *factors.arrays))

    def bound(self, values: Array, loads: float) -> None:
        """From now on no compliance is larger than for these values, and for the stiffness that loads may make yet."""
        self._most = self._met(values, 1.0, loads)

    def restore(self, arrays: Sequence[Array]) -> Factors | None:
        factors = self._solver.restore(arrays[1:])
        return factors and Factors(_least_norm(factors.solve, self.n, arrays[0]), tuple(arrays))

    def matrix(self, values: Array) -> csc_array:
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

    def _met(self, values: Array, light: float = LIGHT, least: float = 0.0) -> Array:
        """``B K^-1 B^T`` of each equation alone, by the diagonal of ``K``, or what stands there."""
        B, units = values[self._of_B], self._units[self._column]
        own = np.abs(values[self._diagonal[: self.n]]) * self._units**2
        tied = self._tied(own, B != 0.0, light)
        K = np.where(own > ROUNDING * tied, np.maximum(own, light * tied), tied)[self._column]
        if least or not K.any():  # what nothing stiffens is as stiff as the stiffest
            K = np.where(K > 0.0, K, K.max(initial=least) or 1.0)
        squared = np.abs(B * units) ** 2
        met = sums(self._row, np.divide(squared, K, out=np.zeros_like(K), where=K > 0.0), self.m)
        there = np.abs(values[self._diagonal[self.n :]])
        return np.where(there > 0.0, there, np.where(met > 0.0, met, met.max(initial=0.0) or 1.0))

    def _tied(self, own: Array, meets: BoolArray, light: float) -> Array:
        """How heavy each unknown is, or, where that is little beside what joints tie it to, how heavy that is."""
        row, column, heavy, passed = self._row[meets], self._column[meets], own, True
        while passed:
            heaviest, tied = np.zeros(self.m), np.zeros(self.n)
            np.maximum.at(heaviest, row, heavy[column])
            np.maximum.at(tied, column, heaviest[row])
            before, heavy = heavy, np.where(own < light * tied, tied, own)
            passed = bool((heavy > before).any())
        return heavy


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
    """Solve with the matrix without compliance, of one right-hand side or of several columns at once."""

    def solve_least(right: Array) -> Array:
        contradicts = _idle(solve, n, compliance, solve(right)[n:])
        right = right.copy()
        right[n:] += (compliance * contradicts.T).T
        x = solve(right)
        rest, left, times, goes_on = x[n:], np.inf, np.ones(right.shape[1:]), np.ones(right.shape[1:], np.bool_)
        for count in range(2, PASSES):
            more = _without_effect(solve, n, compliance, rest)
            before, left = left, np.abs(more[n:] - rest).max(axis=0, initial=0.0)
            x, rest, times = x + goes_on * more, np.where(goes_on, more[n:], rest), times + goes_on
            settled = SETTLED * np.abs(x[n:]).max(axis=0, initial=0.0)
            goes_on = goes_on & ((count == 2) | (settled < left) & (left < before))
            if not goes_on.any():
                break  # what is left does nothing
        x[n:] -= times * rest
        return x

    return solve_least


def _without_effect(solve: Solve, n: int, compliance: Array, multipliers: Array) -> Array:
    """``S_c^-1 (0, -c mu)``."""
    right = np.zeros((n + len(multipliers), *multipliers.shape[1:]), multipliers.dtype)
    right[n:] = -(compliance * multipliers.T).T
    return solve(right)


def _idle(solve: Solve, n: int, compliance: Array, multipliers: Array) -> Array:
    """``T^2 mu``."""
    return _without_effect(solve, n, compliance, _without_effect(solve, n, compliance, multipliers)[n:])[n:]


LEVELS = 3
PARTS = {(0, 0): "FPT", (0, 1): "FP", (0, 2): "F", (1, 0): "P", (1, 1): "FPT", (2, 0): "P", (2, 1): "P", (2, 2): "FPT"}
"""What each pair of blocks of rows and of columns has: forces, rows of constraints, and transposed gradients."""


class ThreeLevelKKT:
    """Pattern and solver for ``n`` free components and ``m`` constraint equations.

    ``blocks`` are those of the index-3 matrix; ``make`` makes the solver of rows, columns and blocks.
    """

    def __init__(self, pattern: Triplets, n: int, m: int, blocks: IntArray, make: Callable[..., LinearSolver]) -> None:
        forces, gradients = pattern.force_entries, pattern.gradient_entries
        ends = [0, forces, forces + gradients, forces + 2 * gradients]
        self._slices = {part: slice(*ends[k : k + 2]) for k, part in enumerate("FPT")}
        self._readings = slice(ends[-1], len(pattern.rows))

        def of(numbers: IntArray, level: int) -> IntArray:
            moved = np.where(numbers < n, numbers + level * n, numbers + (LEVELS - 1) * n + level * m)
            return np.where(numbers < 0, -1, moved)

        places: list[tuple[IntArray, IntArray]] = []
        for (row, column), parts in PARTS.items():
            slices = [self._slices[part] for part in parts] + ([self._readings] if row == column == 0 else [])
            places += [(of(pattern.rows[s], row), of(pattern.columns[s], column)) for s in slices]
        rows, columns = (np.concatenate(side) for side in zip(*places, strict=True))
        self.solver = make(rows, columns, np.append(np.tile(blocks[:n], LEVELS), np.tile(blocks[n:], LEVELS)))

    def factor(self, entries: dict[tuple[int, int], Array], rows: Sequence[Array]) -> Factors:
        """Factor the matrix.

        Parameters
        ----------
        entries : the blocks that have forces, as :func:`fem_mbs.system.matrices.entries`.
        rows : flat ``G``, ``A`` and ``A_Z``.
        """
        bare = dict(zip([(1, 0), (2, 0), (2, 1)], rows, strict=True))
        values: list[Array] = []
        for place, parts in PARTS.items():
            if place in bare:
                values.append(bare[place])
                continue
            values += [entries[place][self._slices[part]] for part in parts]
            if place == (0, 0):
                values.append(entries[place][self._readings])
        return self.solver.factorized(np.concatenate(values))


class GGLMatrix:
    """Pattern and solver for ``n`` free components and constraint equations, of ``positions`` (m,) or of velocities.

    ``blocks`` are those of the index-3 matrix; ``eta`` belong to the joints. ``make`` makes the solver of rows, columns
    and blocks.
    """

    def __init__(
        self, pattern: Triplets, n: int, positions: BoolArray, blocks: IntArray, make: Callable[..., LinearSolver]
    ) -> None:
        self.force_entries = pattern.force_entries
        gradients = slice(pattern.force_entries, pattern.force_entries + pattern.gradient_entries)
        i, j = pattern.rows[: pattern.force_entries], pattern.columns[: pattern.force_entries]
        equation, component = pattern.rows[gradients], pattern.columns[gradients]
        last = n + len(positions)
        of_position = positions[equation - n]
        eta = np.where(of_position, last + np.cumsum(positions)[equation - n] - 1, equation)
        self._kept = np.flatnonzero(of_position)
        pushed = eta[self._kept]
        self._force, self._force_push = _meeting(np.where(i >= 0, j, -1), component[self._kept])
        self._rate, self._rate_push = _meeting(component, component[self._kept])
        rows = [pattern.rows, pushed, i[self._force], eta[self._rate]]
        columns = [pattern.columns, component[self._kept], pushed[self._force_push], pushed[self._rate_push]]
        blocks = np.append(blocks, blocks[n:][positions])
        self.solver = make(np.concatenate(rows), np.concatenate(columns), blocks)

    def factor(self, index3: Array, W: Array, push: Array, G: Array, H: Array) -> Factors:
        """Factor the matrix.

        Parameters
        ----------
        index3 : entries of ``[[K, B^T], [B, 0]]``, see :func:`fem_mbs.system.matrices.entries`.
        W : entries of a matrix on the forces, the first of such entries.
        push, G, H : flat gradients of all equations; ``P`` is ``push`` transposed.
        """
        push, G = push[self._kept], G[self._kept]
        products = W[self._force] * push[self._force_push], H[self._rate] * push[self._rate_push]
        values = np.concatenate([index3, G, *products])
        return self.solver.factorized(values)


def _meeting(columns: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of entries, one of the left and one of the right factor, whose column and row are the same."""
    order = np.argsort(rows, kind="stable")
    first, last = (np.searchsorted(rows[order], columns, side) for side in ("left", "right"))
    count = np.where(columns >= 0, last - first, 0)
    left = np.repeat(np.arange(len(columns)), count)
    place = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    return left, order[np.repeat(first, count) + place]
