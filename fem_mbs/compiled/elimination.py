"""A small matrix factorised on a tape: Gauss's elimination as a straight line, in an order that keeps it short.

The order is that of the sample: next comes the entry that fills least (Markowitz) of those that are not small in their
column. That the pivots are not small in other motions either is a guard of the line.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled.tape import Number, extreme, sample_of
from fem_mbs.linear.solvers import DenseSolver, Factors

CHOSEN, LEAST = 0.1, 1e-3
"""Smallest pivots against their columns: of the sample, and with which the order is still good."""


class Elimination:
    """The solver of recorded equations. What it has stored can be handed to a line as numbers that are given."""

    def __init__(self, rows: IntArray, columns: IntArray, size: int) -> None:
        dense = DenseSolver(rows, columns, size)
        self.size, self.slots, self.storage = size, dense.slots, dense.storage
        self._order: list[tuple[int, int, list[int], list[int]]] = []
        """Row and column of each pivot, the rows below it and the columns beside it."""
        self.values = np.empty(0)
        """Those of the last matrix that was factorised, column by column."""

    def factor(self, values: Array) -> Factors:
        """The factors; their one array has the inverse of each pivot, then the entries below and beside it."""
        self.values = values
        place = {(k % self.size, k // self.size): v for k, v in enumerate(values) if isinstance(v, Number) or v != 0.0}
        rows: list[dict[int, Any]] = [{} for _ in range(self.size)]
        for (i, j), value in place.items():
            rows[i][j] = value
        below: list[set[int]] = [{i for i, row in enumerate(rows) if j in row} for j in range(self.size)]
        self._order, stored = [], list[Any]()
        left = set(range(self.size))
        while left:
            i, j = self._pivot(rows, below, left)
            others, pivot = sorted(below[j] - {i}), rows[i].pop(j)
            if others:
                largest = reduce(partial(extreme, "larger"), [abs(rows[k][j]) for k in others])
                if not abs(pivot) >= LEAST * largest:
                    raise ArithmeticError("a pivot is too small")
            inverse, beside = 1.0 / pivot, sorted(rows[i])
            stored += [inverse, *(factor := [rows[k].pop(j) * inverse for k in others]), *(rows[i][c] for c in beside)]
            for k, share in zip(others, factor, strict=True):
                for c in beside:
                    rows[k][c] = rows[k].get(c, 0.0) - share * rows[i][c]
                    below[c].add(k)
            for c in (*beside, j):
                below[c].discard(i)
            below[j] = set()
            left.discard(i)
            self._order.append((i, j, others, beside))
        entries = np.empty(len(stored), object)
        entries[:] = stored
        return self.restore([entries])

    def _pivot(self, rows: list[dict[int, Any]], below: list[set[int]], left: set[int]) -> tuple[int, int]:
        """The row and the column of the next pivot."""
        best = None
        for j in range(self.size):
            largest = max((abs(sample_of(rows[i][j])) for i in below[j]), default=0.0)
            for i in below[j]:
                if abs(sample_of(rows[i][j])) >= CHOSEN * largest > 0.0:
                    cost = (len(below[j]) - 1) * (len(rows[i]) - 1), i, j
                    best = cost if best is None else min(best, cost)
        if best is None:
            raise ArithmeticError("the matrix is singular")
        return best[1:]

    def restore(self, arrays: list[Array]) -> Factors:
        """The factors whose array has been stored."""
        entries = arrays[0]

        def solve(right: Array) -> Array:
            b, at = list(right), 0
            for i, _, others, beside in self._order:
                for k, share in zip(others, entries[at + 1 :], strict=False):
                    b[k] = b[k] - share * b[i]
                at += 1 + len(others) + len(beside)
            result = np.full(self.size, 0.0, object)
            for i, j, others, beside in reversed(self._order):
                at -= 1 + len(others) + len(beside)
                for c, entry in zip(beside, entries[at + 1 + len(others) :], strict=False):
                    b[i] = b[i] - entry * result[c]
                result[j] = b[i] * entries[at]
            return result

        return Factors(solve, (entries,))
