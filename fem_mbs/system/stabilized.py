"""The iteration matrix of the stabilised index-2 equations on a kept pattern (Arnold, Cardona, Bruels 2015, eq. 62).

``[[K, B^T, W P], [B, 0, 0], [G, 0, H P]]`` with the multipliers ``eta`` in the last columns: they push the
configuration along ``P``, the transposed gradients at the start of the step. The products are sums over pairs of
entries, and which entries meet is known beforehand. Equations of velocities have no ``eta`` and stand in the second
row, where their rates follow the pushed configuration as in the third.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.system.linear import Factors, LinearSolver, sums
from fem_mbs.system.pattern import Triplets


class StabilizedMatrix:
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
        index3 : entries of ``[[K, B^T], [B, 0]]``, see :func:`fem_mbs.system.tangent.entries`.
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
