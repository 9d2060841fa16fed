"""Iteration matrices of equations with constraints on two or three levels, on a kept pattern.

**Two levels**, the stabilised index-2 equations (Arnold, Cardona, Bruels 2015, eq. 62):
``[[K, B^T, W P], [B, 0, 0], [G, 0, H P]]`` with the multipliers ``eta`` in the last columns: they push the
configuration along ``P``, the transposed gradients at the start of the step. The products are sums over pairs of
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

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.linear.solvers import Factors, LinearSolver, sums
from fem_mbs.system.pattern import Triplets

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
        return self.solver.factor(sums(self.solver.slots, np.concatenate(values), self.solver.storage + 1)[:-1])


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
        return self.solver.factor(sums(self.solver.slots, values, self.solver.storage + 1)[:-1])


def _meeting(columns: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of entries, one of the left and one of the right factor, whose column and row are the same."""
    order = np.argsort(rows, kind="stable")
    first, last = (np.searchsorted(rows[order], columns, side) for side in ("left", "right"))
    count = np.where(columns >= 0, last - first, 0)
    left = np.repeat(np.arange(len(columns)), count)
    place = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    return left, order[np.repeat(first, count) + place]
