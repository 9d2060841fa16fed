"""Matrices of small bandwidth factorised without pivoting, as compiled loops over their columns.

LAPACK looks for a pivot in every column and works on rows that are swapped, by calls of BLAS that take longer than
what they compute in a band of ten to forty. Here multipliers come after the nodes that they hold, so that pivots are
those of the diagonal; what a column takes away from those after it is held in vector registers, and so is what a
solution still has to be corrected by. Where a pivot has lost its digits in the subtractions before it, LAPACK
factorises.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any, cast

import numpy as np
from scipy.sparse import csc_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled.machine import Text, lanes
from fem_mbs.compiled.program import Between, Memory, Program, Statement, address, padded
from fem_mbs.linear.solvers import NARROW, BandedSolver, DenseSolver, Factors, LinearSolver, band_of_pivots
from fem_mbs.system.system import System

LEAST = 1e-11
"""Smallest pivots against the sum of the sizes of all that made them: stiff parts have such beside their inertia, and a
correction is off by some 1e-5 of itself then."""
SHARE = 1e-7
"""Of the largest diagonal so far, in what pivots are measured by: what has next to no inertia, as the rotation of a
point mass on a joint, is rounding beside others, however small it is."""
B = 4
"""Columns that a solution takes at a time, and factors are made in multiples of."""


def _vectors(width: int) -> tuple[int, int]:
    """Numbers in a vector, and vectors in half a column: of those that there are, those with the shorter columns."""
    both = ((V, -(-max(width, B) // V)) for V in (lanes(), min(lanes(), B)))
    return min(both, key=lambda own: own[0] * own[1])


@cache
def functions(width: int) -> dict[str, str]:
    """LLVM text of ``factor``, for a band of a half width, and of ``solve`` with the factors.

    A column has ``W`` numbers above the diagonal, that, and ``W`` below it.
    """
    V, K = _vectors(width)  # noqa: N806
    arguments = "i64 %n, ptr noalias %lu, ptr noalias"
    texts = {"factor": (_factor, "%seen"), "solve": (_solve, "%order, ptr noalias %b, ptr noalias %x, ptr noalias %y")}
    result = dict[str, str]()
    for name, (make, further) in texts.items():
        text = Text(V)
        make(text, K * V, width)
        function = text.function(name, f"{arguments} {further}")
        result[name] = "\n".join([*sorted(text.declared), function])
    return result


def _factor(text: Text, W: int, width: int) -> None:  # noqa: N803
    """Columns, two at a time.

    ``seen`` gets the sizes of the diagonal, while nothing has been taken from that yet, to which a share of the largest
    and those of all subtractions are added; in the end it begins with 1 if a pivot is lost. At last what ``B`` columns
    have of each other, a lower and an upper triangle, is replaced by the inverses of these: solutions then do not wait
    for one column after the other.
    """
    ld = 2 * W + 1
    rows = [text(f"alloca [{W} x double], align 64") for _ in range(2)]
    for row in rows:
        text.do(f"store [{W} x double] zeroinitializer, ptr {row}")
    lost, largest = text("alloca double"), text("alloca double")
    text.store("0.0", largest, 0)
    text.store("0.0", lost, 0)
    with text.where(text("trunc i64 %n to i1")):  # the last of an odd number has a column of the identity beside it
        text.store("1.0", "%lu", text.plus(text.times("%n", ld), W))
    for _ in range(2):  # once to know the largest
        with text.loop(0, W) as (k, _):
            diagonal = text.plus(text.times(k, ld), W)
            text.store(_measure(text, text.load("%lu", diagonal), largest), "%seen", k)
    with text.loop(0, "%n", step=2) as (j, _):
        column, mine = text.at("%lu", text.times(j, ld)), text.at("%seen", j)
        for ahead in (W, W + 1):
            text.store(_measure(text, text.load(column, ahead * ld + W), largest), mine, ahead)
        pivots, below = _eliminate(text, W, max(width, 2), column, rows)
        _sum_up(text, text.at(mine, 1), below[0], rows[0])
        for row_of, pivot in enumerate(pivots):
            least = text(f"fmul double {text.load(mine, row_of)}, {LEAST:.1e}")
            enough = text(f"fcmp ogt double {_size(text, pivot)}, {least}")
            text.store(text(f"select i1 {enough}, double {text.load(lost, 0)}, double 1.0"), lost, 0)
        _sum_up(text, text.at(mine, 2), below[1], rows[1])
        with text.where(text(f"trunc i64 {text(f'lshr i64 {j}, 1')} to i1")):  # while they are near
            _invert(text, text.at(column, (2 - B) * ld), W)
    last = text.plus("%n", -1)
    with text.where(text(f"icmp eq i64 {text(f'and i64 {last}, 2')}, 0")):  # not all of the last ones are there
        _invert(text, text.at("%lu", text.times(text(f"and i64 {last}, {-B}"), ld)), W)
    text.store(text.load(lost, 0), "%seen", 0)


def _eliminate(
    text: Text,
    W: int,  # noqa: N803
    width: int,
    column: str,
    rows: Sequence[str],
) -> tuple[tuple[str, str], tuple[list[str], list[str]]]:
    """Two columns: their pivots and what is below these; ``rows`` get what the columns after them have there."""
    ld, vector, every = 2 * W + 1, text.vector, range(0, W, text.lanes)
    other, pivot, known = text.at(column, ld), text.load(column, W), text.load(column, ld + W - 1)
    below = _scaled(text, column, pivot, [text.load(column, W + 1 + at, vector) for at in every])
    text.store(known, rows[0], 0)
    values = _less(text, [text.load(other, W + at, vector) for at in every], below, known)
    pivots, values = (pivot, text.lane(values, 0)), [*values, text.load(other, 2 * W, vector)]
    others = _scaled(text, other, pivots[1], [text.shifted(values, 1 + at) for at in every])
    later = [text.shifted([*below, "zeroinitializer"], 1 + at) for at in every]

    def take(entry: str, *pairs: tuple[list[str], str]) -> None:
        """Columns times factors, from what a column has two places after an entry."""
        values = [text.load(entry, 2 + at, vector) for at in every]
        for own, factor in pairs:
            values = _less(text, values, own, factor)
        for at, value in zip(every, values, strict=True):
            text.store(value, entry, 2 + at, vector)

    with text.loop(2, width + 1) as (c, _):
        entry = text.at(column, text.plus(text.times(c, 2 * W), W))
        factor, known = text.load(entry, 0), text.load(entry, 1)
        known = text(f"fsub double {known}, {text.products([text.lane(below, 0)], [factor])[0]}")
        text.store(known, entry, 1)
        text.store(factor, rows[0], text.plus(c, -1))
        text.store(known, rows[1], text.plus(c, -2))
        take(entry, (later, factor), (others, known))
    entry = text.at(column, (width + 1) * 2 * W + W)  # of the last column the first row has nothing
    known = text.load(entry, 1)
    text.store(known, rows[1], width - 1)
    take(entry, (others, known))
    return pivots, (below, others)


def _size(text: Text, value: str, kind: str = "double") -> str:
    return text.call(kind, f"llvm.fabs.{'f64' if kind == 'double' else f'v{text.lanes}f64'}", (kind, value))


def _measure(text: Text, diagonal: str, largest: str) -> str:
    """The size of a diagonal and a share of the largest, which is kept; nothing of multipliers, which have none."""
    size = _size(text, diagonal)
    most = text.call("double", "llvm.maxnum.f64", ("double", size), ("double", text.load(largest, 0)))
    text.store(most, largest, 0)
    both = text.sum([size, text(f"fmul double {most}, {SHARE:.1e}")])
    return text(f"select i1 {text(f'fcmp oeq double {size}, 0.0')}, double 0.0, double {both}")


def _scaled(text: Text, column: str, pivot: str, values: Sequence[str]) -> list[str]:
    """What is below a pivot, which is inverted."""
    inverse, W = text(f"fdiv double 1.0, {pivot}"), len(values) * text.lanes  # noqa: N806
    text.store(inverse, column, W)
    below = text.products(values, len(values) * [text.spread(inverse)], text.vector)
    for k, own in enumerate(below):
        text.store(own, column, W + 1 + k * text.lanes, text.vector)
    return below


def _less(text: Text, values: Sequence[str], below: Sequence[str], factor: str) -> list[str]:
    taken = text.products(below, len(below) * [text.spread(factor)], text.vector)
    return [text(f"fsub {text.vector} {value}, {own}") for value, own in zip(values, taken, strict=True)]


def _sum_up(text: Text, mine: str, below: Sequence[str], row: str) -> None:
    every = range(0, len(below) * text.lanes, text.lanes)
    taken = text.products(below, [text.load(row, at, text.vector) for at in every], text.vector)
    for at, own in zip(every, taken, strict=True):
        both = [text.load(mine, at, text.vector), _size(text, own, text.vector)]
        text.store(text.sum(both, text.vector), mine, at, text.vector)


def _invert(text: Text, column: str, W: int) -> None:  # noqa: N803
    """Both triangles of what ``B`` columns from one on have of each other; pivots are inverted already."""
    place = {(i, j): j * (2 * W + 1) + W + i - j for i in range(B) for j in range(B)}
    lu, inverse = {own: text.load(column, at) for own, at in place.items()}, dict[tuple[int, int], str]()
    for j in range(B):
        for i in range(j + 1, B):
            inner = range(j + 1, i)
            parts = text.products([lu[i, k] for k in inner], [inverse[k, j] for k in inner])
            inverse[i, j] = text(f"fneg double {text.sum([lu[i, j], *parts])}")
        for i in range(j):
            parts = text.products([inverse[i, k] for k in range(i, j)], [lu[k, j] for k in range(i, j)])
            inverse[i, j] = text(f"fmul double {text(f'fneg double {text.sum(parts)}')}, {lu[j, j]}")
        inverse[j, j] = lu[j, j]
    for own, value in inverse.items():
        text.store(value, column, place[own])


def _solve(text: Text, W: int, width: int) -> None:  # noqa: N803
    """``B`` unknowns at a time. Vectors hold what the next ones, as many as half a column has, are corrected by."""
    ld, V, vector, every = 2 * W + 1, text.lanes, text.vector, range(0, W, text.lanes)  # noqa: N806
    text.store("zeroinitializer", "%y", "%n", f"<{B} x double>")
    with text.loop(0, "%n") as (k, _):
        text.store(text.load("%b", text.load("%order", k, "i64")), "%y", k)

    def solved(column: str, here: str, right: list[str], lower: bool) -> list[str]:
        """The unknowns of a block, by the inverse of its own triangle."""
        result = list[str]()
        for c in range(B):
            others = range(c) if lower else range(c, B)
            inverse = [text.load(column, i * ld + W + c - i) for i in others]
            parts = text.products(inverse, [right[i] for i in others])
            result.append(text.sum([right[c], *parts] if lower else parts))
            text.store(result[c], here, c)
        return result

    def taken(column: str, first: int, unknown: list[str]) -> list[str]:
        """What these take from others, from so many places after the first of them on."""
        spread, result = [text.spread(value) for value in unknown], list[str]()
        for k in every:
            numbers = list[str]()
            for c in range(B):
                inside = [-W <= first + k + lane - c <= W for lane in range(V)]
                numbers.append(text.within(text.load(column, c * ld + W + first - c + k, vector), inside))
            result.append(text.sum(text.products(numbers, spread, vector), vector))
        return result

    def go_on(kind: str, window: list[str], shift: int, taken: list[str]) -> None:
        moved = [text.shifted(window, shift + k) for k in every]
        text.carry([text(f"{kind} {vector} {a}, {b}") for a, b in zip(moved, taken, strict=True)])

    with text.loop(0, "%n", [text.load("%y", k, vector) for k in every], B) as (j, window):
        here, column = text.at("%y", j), text.at("%lu", text.times(j, ld))
        window = [*window, *(text.load(here, W + k, vector) for k in range(0, B, V))]
        unknown = solved(column, here, [text.lane(window, c) for c in range(B)], lower=True)
        go_on("fsub", window, B, taken(column, B, unknown))
    last, zeros = text(f"and i64 {text.plus('%n', -1)}, {-B}"), max(1, B // V) * ["zeroinitializer"]
    with text.loop(0, "%n", len(every) * ["zeroinitializer"], B) as (k, window):
        j = text(f"sub i64 {last}, {k}")
        here, column = text.at("%y", j), text.at("%lu", text.times(j, ld))
        left = [text(f"fsub double {text.load(here, c)}, {text.lane(window, W - B + c)}") for c in range(B)]
        go_on("fadd", zeros + window, V * len(zeros) - B, taken(column, -W, solved(column, here, left, lower=False)))
    with text.loop(0, "%n") as (k, _):
        text.store(text.load("%y", k), "%x", text.load("%order", k, "i64"))


class CompiledBand(LinearSolver):
    """A :class:`LinearSolver` of a band; what it does not do itself, a LAPACK solver in the same order does.

    Parameters
    ----------
    plain : BandedSolver
        In an order in which multipliers follow the nodes that they hold.
    rows, columns : (entries,)
        Places of the entries.
    """

    def __init__(self, plain: BandedSolver, rows: IntArray, columns: IntArray) -> None:
        self._plain, self.size, self.kind, self.place = plain, plain.size, plain.kind, plain.place
        self.width = plain.width
        V, K = _vectors(plain.width)  # noqa: N806
        self._width = W = V * K  # noqa: N806
        self._ld = 2 * W + 1
        self.storage, self.stride, self.middle = self._ld * self.size, 2 * W, W
        """How many numbers there are, from column to column in a row, and before that of the diagonal."""
        small = np.dtype(np.int32 if self.storage < 2**31 else np.int64)  # there are many entries
        of_row, of_column = (self.place + W).astype(small), (self.place * self.stride).astype(small)
        self.slots = of_column[columns] + of_row[rows]
        self.slots[(rows < 0) | (columns < 0)] = self.storage
        self.outside = self._ld * (self.size + W + B) - 1
        """A place that nothing reads, for entries outside the matrix."""
        self._shape, self._program = (self.size + W + B, self._ld), Program()
        program = self._program
        program.functions |= functions(plain.width)
        size = program.count(self.size)
        self.arrays = plain.order.astype(np.int64), *(padded((self.size + W + B,)) for _ in range(2))
        """The order, and where functions write the sizes of pivots and parts of solutions."""
        order, seen, y = map(program.array, self.arrays)
        self._lu, right, x = (program.array(np.zeros(size)) for size in (1, self.size, self.size))
        self._right, self._x, self._seen = program.arrays[right], program.arrays[x], self.arrays[1]
        factor = Statement("factor", size, [self._lu, seen])
        solve = Statement("solve", size, [self._lu, order, right, x, y])
        self._factor, self._solve = program.kernels(
            [program.line([], after=Between([], [own], 0)) for own in (factor, solve)]
        )
        self.memory = Memory(self._shape)

    def factor(self, values: Array) -> Factors:
        if values.dtype == float:
            lu, place = self.memory.take()
            lu[: self.size] = values.reshape(self.size, self._ld)
            if (factors := self._in_place(lu, place)) is not None:
                return factors
        return self._in_order(self._plain.factor(self._for_plain(values)))

    def factorized(self, entries: Array) -> Factors:
        if entries.dtype == float:
            lu: Any = np.bincount(self.slots, entries, self.outside + 1)
            lu[self.storage] = 0.0
            if (factors := self._in_place(lu.reshape(self._shape), address(lu))) is not None:
                return factors
        return self._in_order(self._plain.factorized(entries))

    def _in_place(self, lu: Array, place: int) -> Factors | None:
        """Factorise in place, columns beyond the last ones being zero; None if a pivot has lost its digits."""
        self._program.put(self._lu, place)
        self._factor()
        return None if self._seen[0] else self._factors(lu, place)

    def restore(self, arrays: Sequence[Array]) -> Factors | None:
        if len(arrays) == 3 and np.array_equal(arrays[0], self._plain.order):
            kept = self._plain.restore(arrays[1:])
            return kept and self._in_order(kept)
        if len(arrays) != 1 or arrays[0].shape != self._shape:
            return None
        lu = np.ascontiguousarray(arrays[0], float)
        return self._factors(lu, address(lu))

    def _in_order(self, factors: Factors) -> Factors:
        """Those of LAPACK, with the order that they are in: that of other bands may be another one."""
        return factors._replace(arrays=(cast(Array, self._plain.order), *factors.arrays))

    def matrix(self, values: Array) -> csc_array:
        return self._plain.matrix(self._for_plain(values))

    def _factors(self, lu: Array, place: int) -> Factors:
        # no function that calls itself by its name: that would hold the memory until the next collection of garbage
        return Factors(partial(self._solution, lu, place), (lu,))

    def _solution(self, lu: Array, place: int, right: Array) -> Array:
        """Solve with factors, of which ``lu`` is held."""
        if right.ndim == 2:
            return np.stack([self._solution(lu, place, column) for column in right.T], axis=1)
        np.copyto(self._right, right)  # which refuses complex ones
        self._program.put(self._lu, place)
        self._solve()
        return self._x.copy()

    def _for_plain(self, values: Array) -> Array:
        """The same numbers where LAPACK stores them."""
        plain, own = self._plain, values.reshape(self.size, self._ld)
        result = np.zeros((self.size, plain.height), values.dtype)
        result[:, plain.width :] = own[:, self._width - plain.width : self._width + plain.width + 1]
        return result.ravel()


def compiled(system: System) -> None:
    """Put a compiled solver in the place of LAPACK's for a narrow band, which small systems have."""
    plain, pattern = system.solver, system.pattern
    if isinstance(plain, DenseSolver) or isinstance(plain, BandedSolver) and system.m:
        plain = band_of_pivots(pattern.rows, pattern.columns, system.blocks, system.n_free)
    if isinstance(plain, BandedSolver) and plain.width <= NARROW:
        system.solver = CompiledBand(plain, pattern.rows, pattern.columns)
