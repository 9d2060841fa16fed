"""Linear maps that are written once, forwards: their transposes go back along what was recorded.

A function of ``A @ x``, ``x + y``, ``x - y`` and ``2.0 * x``, or numbers ``(r, 1)`` times ``x``, takes arrays
``(r, P)``, one column each, or a :class:`Column`, which records. An operator ``A`` is an array, a sparse matrix, or
whatever else has ``@`` and ``T``: those of this file. Operators of several steps stand in one, whose arrays have these
in front, or in a list: ``A[k]`` is that of one step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.linear.solvers import Factors

ROUNDS, LEFT, POOR = 40, 1e-11, 1e-7
"""Rounds of a solution at most, what they leave of its size, and what is not accepted where they end earlier."""


class Column:
    """A number of columns that are not known yet, and how what depends on them goes back to their sources."""

    __array_ufunc__ = None

    def __init__(self, tape: list[Column], *sources: tuple[Column, Callable[[Array], Array]]) -> None:
        self.tape, self.sources = tape, sources
        tape.append(self)

    def __rmatmul__(self, operator: Any) -> Column:
        return Column(self.tape, (self, operator.T.__matmul__))

    def __add__(self, other: Column) -> Column:
        return Column(self.tape, (self, _same), (other, _same))

    def __sub__(self, other: Column) -> Column:
        return Column(self.tape, (self, _same), (other, np.negative))

    def __rmul__(self, share: float | Array) -> Column:
        return Column(self.tape, (self, lambda row: share * row))


def _same(value: Array) -> Array:
    return value


def transposed(function: Callable[..., Sequence[Any]], count: int) -> Callable[[Sequence[Array]], list[Any]]:
    """From products of some rows with what a function of ``count`` columns returns to those with the columns."""
    tape: list[Column] = []
    given = [Column(tape) for _ in range(count)]
    results = function(*given)
    for column in tape:  # so that no column keeps the others
        del column.tape

    def back(rows: Sequence[Array]) -> list[Any]:
        sums: dict[Column, Array] = {}
        for column, row in zip(results, rows, strict=True):
            sums[column] = sums[column] + row if column in sums else row
        for column in reversed(tape):
            if column not in sums or not column.sources:
                continue
            row = sums.pop(column)
            for source, pull in column.sources:
                more = pull(row)
                sums[source] = sums[source] + more if source in sums else more
        return [sums.get(column) for column in given]

    return back


def total(*terms: Any) -> Any:
    """The sum of those that are there, not None or False; None if none is."""
    result = None
    for term in terms:
        if term is not None and term is not False:
            result = term if result is None else result + term
    return result


class Operator:
    """What is multiplied with columns from the left; it defines ``times`` and ``T``."""

    T: Any

    def __matmul__(self, x: Any) -> Any:
        return NotImplemented if isinstance(x, Column) else self.times(x)

    def times(self, x: Array) -> Array:
        """The products with columns ``(r, P)``."""
        raise NotImplementedError


class Recorded(Operator):
    """A function of one column as an operator."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def times(self, x: Array) -> Array:
        result: Array = self._function(x)
        return result

    @property
    def T(self) -> Recorded:  # noqa: N802
        """The transpose."""
        back = transposed(lambda x: [self._function(x)], 1)
        return Recorded(lambda row: back([row])[0])


class Rows(Operator):
    """Rows at their places ``index`` among ``count``; transposed, they are taken from there."""

    def __init__(self, index: slice | IntArray, count: int, back: bool = False) -> None:
        self._index, self._count, self._back = index, count, back

    def times(self, x: Array) -> Array:
        if self._back:
            return x[..., self._index, :]
        result = np.zeros((*x.shape[:-2], self._count, x.shape[-1]))
        result[..., self._index, :] = x
        return result

    @property
    def T(self) -> Rows:  # noqa: N802
        """The other way."""
        return Rows(self._index, self._count, not self._back)


class NodeMaps(Operator):
    """Matrices ``(n, 6, 6)`` of the nodes; internal variables, the rows after theirs, are taken ``own`` times."""

    def __init__(self, maps: Array, own: float = 0.0) -> None:
        self.maps, self._own = maps, own

    def times(self, x: Array) -> Array:
        n, count = 6 * self.maps.shape[-3], x.shape[-1]
        nodes: Array = self.maps @ x[..., :n, :].reshape(*x.shape[:-2], -1, 6, count)
        nodes = nodes.reshape(*nodes.shape[:-3], n, count)
        if x.shape[-2] == n:
            return nodes
        own = np.broadcast_to(self._own * x[..., n:, :], (*nodes.shape[:-2], x.shape[-2] - n, count))
        return np.concatenate([nodes, own], axis=-2)

    def __getitem__(self, k: int) -> NodeMaps:
        return NodeMaps(self.maps[k], self._own)

    @property
    def T(self) -> NodeMaps:  # noqa: N802
        """The transpose."""
        return NodeMaps(self.maps.mT, self._own)


class Solver(Operator):
    """The solution with a factorised matrix."""

    def __init__(self, factors: Factors) -> None:
        self._factors = factors

    def times(self, x: Array) -> Array:
        return self._factors.solve(x)

    @property
    def T(self) -> Solver:  # noqa: N802
        """That of the transpose."""
        return Solver(Factors(self._factors.solve_transposed, (), self._factors.solve))


class Refined(Operator):
    """The inverse of an operator ``A`` by one of a matrix nearby, in rounds for what is left.

    ``moves`` are the rows that tell how much that is; ``unsolved`` makes the error where rounds do not end.
    """

    def __init__(self, A: Any, near: Any, moves: BoolArray, unsolved: Callable[[float], Exception]) -> None:  # noqa: N803
        self._A, self._near, self._moves, self._unsolved = A, near, moves, unsolved

    def times(self, x: Array) -> Array:
        result: Array = self._near @ x
        last = 1.0
        for _ in range(ROUNDS):
            change = self._near @ (x - self._A @ result)
            result = result + change
            largest, size = (np.abs(own[self._moves]).max(axis=0, initial=0.0) for own in (change, result))
            share = float((largest / np.maximum(size, 1e-300)).max(initial=0.0))
            if share * share / last <= LEFT or (share > 0.5 * last and share <= POOR):  # as the next round would find
                return result
            last = share
        raise self._unsolved(share)

    @property
    def T(self) -> Refined:  # noqa: N802
        """That of the transpose."""
        return Refined(self._A.T, self._near.T, self._moves, self._unsolved)
