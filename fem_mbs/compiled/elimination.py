"""A small matrix factorised on a tape: Gauss's elimination as a straight line, in an order that keeps it short.

Pivots are those of the diagonal. The matrices of a step are masses and stiffnesses beside constraints: next comes what
has the fewest neighbours (minimum degree), but no multiplier before there is something to divide by. The equations of a
joint have that when a node of it is done, if no other joint counts on the same node, or when all are. The order is that
of the pattern alone, so that a line does the same for all numbers; that no pivot has lost its digits in the
subtractions before it is a guard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled.tape import CannotRecordError, Number, extreme
from fem_mbs.linear.solvers import DenseSolver, Factors, LinearSolver

LEAST = 1e-7
"""Smallest pivots against the largest values that they have had."""


class Pivot(NamedTuple):
    """What is left of the pattern when a pivot is eliminated."""

    place: int
    below: list[int]
    """Rows with entries in its column."""
    beside: list[int]
    """Columns with entries in its row."""


class Order:
    """The order of elimination, by the places ``near`` that are left, each with its neighbours."""

    def __init__(self, near: dict[int, set[int]], n: int, blocks: list[int]) -> None:
        self._near, self._n, self._blocks = near, n, blocks
        self._left = Counter(blocks[:n])
        """Components of nodes that are left."""
        nodes: dict[int, set[int]] = {}
        for k in range(n, len(blocks)):
            nodes.setdefault(blocks[k], set()).update(blocks[c] for c in near[k] if c < n)
        self._nodes = {joint: sorted(own) for joint, own in nodes.items()}
        self._counts_on: dict[int, int] = {}
        """By joints, the nodes that they count on."""

    def next(self) -> int:
        """What comes next."""
        k = min(filter(self._is_ready, self._near), key=lambda k: (len(self._near[k]), k))
        if k < self._n:
            self._left[self._blocks[k]] -= 1
        elif (node := self._node_of(self._blocks[k])) is not None:
            self._counts_on[self._blocks[k]] = node
        return k

    def _is_ready(self, k: int) -> bool:
        if k < self._n or not min(self._near[k], default=self._n) < self._n:
            return True
        return self._node_of(self._blocks[k]) is not None

    def _node_of(self, joint: int) -> int | None:
        """The node that a joint counts on, or may count on."""
        if joint in self._counts_on:
            return self._counts_on[joint]
        taken = self._counts_on.values()
        return next((node for node in self._nodes[joint] if not self._left[node] and node not in taken), None)


class Elimination(LinearSolver):
    """The solver of recorded equations: of ``n`` components, then of multipliers.

    ``blocks`` (size,) has the number of the node or the joint that each belongs to. What is stored of a matrix can be
    handed to a line as numbers that are given.
    """

    def __init__(self, rows: IntArray, columns: IntArray, blocks: IntArray, n: int) -> None:
        self.size, self._n, self._blocks = len(blocks), n, blocks.tolist()
        dense = DenseSolver(rows, columns, self.size)
        self.slots, self.storage = dense.slots, dense.storage
        self.values = np.empty(0)
        """Those of the last matrix that was factorised, column by column."""
        self._pivots: list[Pivot] = []

    def factor(self, values: Array) -> Factors:
        """The factors; their one array has the inverse of each pivot, then the entries below and beside it."""
        self.values, self._pivots = values, []
        places = [k for k, value in enumerate(values) if isinstance(value, Number) or value != 0.0]
        at = {(k % self.size, k // self.size): values[k] for k in places}
        near: dict[int, set[int]] = {k: set() for k in range(self.size)}
        for i, j in at:
            near[i].add(j)
            near[j].add(i)
        seen: dict[int, list[Any]] = {k: [abs(at.get((k, k), 0.0))] for k in range(self.size)}
        stored = list[Any]()
        order = Order(near, self._n, self._blocks)
        while near:
            k = order.next()
            others = sorted(near.pop(k) - {k})
            below, beside = [i for i in others if (i, k) in at], [j for j in others if (k, j) in at]
            pivot: Any = at.get((k, k), 0.0)
            if not isinstance(pivot, Number) or not abs(pivot) > LEAST * reduce(partial(extreme, "larger"), seen[k]):  # type: ignore[arg-type]
                raise CannotRecordError("a matrix has no pivot on its diagonal")
            pivot.tape.check()
            inverse = 1.0 / pivot
            factors = [at[i, k] * inverse for i in below]
            stored += [inverse, *factors, *(at[k, j] for j in beside)]
            for i, factor in zip(below, factors, strict=True):
                for j in beside:
                    at[i, j] = at.get((i, j), 0.0) - factor * at[k, j]
                    if i == j:
                        seen[i].append(abs(at[i, j]))
            for i in others:
                near[i] |= set(others)
                near[i].discard(k)
            self._pivots.append(Pivot(k, below, beside))
        entries = np.empty(len(stored), object)
        entries[:] = stored
        return self.restore([entries])

    def restore(self, arrays: Sequence[Array]) -> Factors:
        """The factors whose array has been stored."""
        entries = arrays[0]

        def solve(right: Array) -> Array:
            b, at = np.array(right, object), 0
            for k, below, beside in self._pivots:
                for i, factor in zip(below, entries[at + 1 : at + 1 + len(below)], strict=True):
                    b[i] = b[i] - factor * b[k]
                at += 1 + len(below) + len(beside)
            for k, below, beside in reversed(self._pivots):
                at -= 1 + len(below) + len(beside)
                for j, entry in zip(beside, entries[at + 1 + len(below) :], strict=False):
                    b[k] = b[k] - entry * b[j]
                b[k] = b[k] * entries[at]
            return b

        return Factors(solve, (entries,))
