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
from itertools import pairwise
from sys import getrefcount
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled.machine import lanes
from fem_mbs.compiled.program import Between, Program, Statement, address
from fem_mbs.linear.solvers import NARROW, BandedSolver, DenseSolver, Factors, LinearSolver, band_of_pivots
from fem_mbs.system.system import System

LEAST = 1e-11
"""Smallest pivots against the sum of the sizes of all that made them: stiff parts have such beside their inertia, and a
correction is off by some 1e-5 of itself then."""
FACTOR = """\
declare double @llvm.fabs.f64(double)
declare {vector} @llvm.fabs.v{V}f64({vector})
define void @factor(i64 %begin, i64 %n, ptr noalias %lu, ptr noalias %seen) {{
entry:
 %row = alloca [{W} x double], align 64
 store [{W} x double] zeroinitializer, ptr %row
 %any_before = load double, ptr %seen
 %some = icmp ult i64 %begin, %n
 br i1 %some, label %start, label %end_of_all
start:
 %at_start = icmp eq i64 %begin, 0
 br i1 %at_start, label %look, label %go_on
go_on:
 %lost_before = fptosi double %any_before to i64
 br label %columns
look:
 %m = phi i64 [0, %start], [%m1, %look]
 %m_start = mul i64 %m, {ld}
 %m_place = add i64 %m_start, {W}
 %m_at = getelementptr double, ptr %lu, i64 %m_place
 %m_value = load double, ptr %m_at
 %m_size = call double @llvm.fabs.f64(double %m_value)
 %m_seen = getelementptr double, ptr %seen, i64 %m
 store double %m_size, ptr %m_seen
 %m1 = add i64 %m, 1
 %looking = icmp ult i64 %m1, {W}
 br i1 %looking, label %look, label %columns
columns:
 %j = phi i64 [0, %look], [%begin, %go_on], [%j1, %done]
 %lost = phi i64 [0, %look], [%lost_before, %go_on], [%lost1, %done]
 %first = mul i64 %j, {ld}
 %column = getelementptr double, ptr %lu, i64 %first
 %diagonal = getelementptr double, ptr %column, i64 {W}
 %below = getelementptr double, ptr %column, i64 {W1}
 %later_at = getelementptr double, ptr %diagonal, i64 {far}
 %later_value = load double, ptr %later_at
 %later_size = call double @llvm.fabs.f64(double %later_value)
 %pivot = load double, ptr %diagonal
 %size = call double @llvm.fabs.f64(double %pivot)
 %mine = getelementptr double, ptr %seen, i64 %j
 %later_seen = getelementptr double, ptr %mine, i64 {W}
 store double %later_size, ptr %later_seen
 %all = load double, ptr %mine
 %least = fmul double %all, {least}
 %enough = fcmp ogt double %size, %least
 %bad = select i1 %enough, i64 0, i64 1
 %lost1 = or i64 %lost, %bad
 %inverse = fdiv double 1.0, %pivot
 store double %inverse, ptr %diagonal
 %one = insertelement {vector} poison, double %inverse, i32 0
 %inverses = shufflevector {vector} %one, {vector} poison, <{V} x i32> zeroinitializer
{scale}
 br label %others
others:
 %c = phi i64 [1, %columns], [%c1, %next]
 %ahead = mul i64 %c, {ahead}
 %place = add i64 %ahead, {W}
 %entry_at = getelementptr double, ptr %column, i64 %place
 %f = load double, ptr %entry_at
 %c0 = sub i64 %c, 1
 %here = getelementptr double, ptr %row, i64 %c0
 store double %f, ptr %here
 %zero = fcmp oeq double %f, 0.0
 br i1 %zero, label %next, label %update
update:
 %target = getelementptr double, ptr %entry_at, i64 1
 %two = insertelement {vector} poison, double %f, i32 0
 %fs = shufflevector {vector} %two, {vector} poison, <{V} x i32> zeroinitializer
{update}
 br label %next
next:
 %c1 = add i64 %c, 1
 %more = icmp ule i64 %c1, {w}
 br i1 %more, label %others, label %done
done:
 %after = getelementptr double, ptr %mine, i64 1
{count}
 %j1 = add i64 %j, 1
 %go = icmp ult i64 %j1, %n
 br i1 %go, label %columns, label %end
end:
 %any = sitofp i64 %lost1 to double
 store double %any, ptr %seen
 br label %end_of_all
end_of_all:
 ret void
}}
"""
"""Columns ``(ld,)`` of a band: ``W`` numbers above the diagonal, that, and ``W`` below it.

``seen`` gets the sizes of the diagonal, while nothing has been taken from that yet, to which those of all subtractions
are added; in the end it begins with 1 if a pivot is lost. Columns are those from ``begin``, if the others are done; all
that these are coupled with have to be there.
"""
SOLVE = """\
define void @solve(i64 %begin, i64 %n, ptr noalias %lu, ptr noalias %order, ptr noalias %b, ptr noalias %x,
 ptr noalias %y) {{
entry:
 br label %fill
fill:
 %k = phi i64 [0, %entry], [%k1, %fill]
 %from_at = getelementptr i64, ptr %order, i64 %k
 %from = load i64, ptr %from_at
 %b_at = getelementptr double, ptr %b, i64 %from
 %value = load double, ptr %b_at
 %y_at = getelementptr double, ptr %y, i64 %k
 store double %value, ptr %y_at
 %k1 = add i64 %k, 1
 %filling = icmp ult i64 %k1, %n
 br i1 %filling, label %fill, label %first
first:
{first}
 br label %forward
forward:
 %j = phi i64 [0, %first], [%j1, %forward]
{windows}
 %xj = extractelement {vector} %r0, i32 0
 %y_of = getelementptr double, ptr %y, i64 %j
 store double %xj, ptr %y_of
 %start = mul i64 %j, {ld}
 %column = getelementptr double, ptr %lu, i64 %start
 %below = getelementptr double, ptr %column, i64 {W1}
 %one = insertelement {vector} poison, double %xj, i32 0
 %xs = shufflevector {vector} %one, {vector} poison, <{V} x i32> zeroinitializer
 %new_at = getelementptr double, ptr %y_of, i64 {W}
 %new = load double, ptr %new_at
 %added = insertelement {vector} poison, double %new, i32 0
{shift}
{subtract}
 %j1 = add i64 %j, 1
 %more = icmp ult i64 %j1, %n
 br i1 %more, label %forward, label %turn
turn:
 br label %backward
backward:
 %i1 = phi i64 [%n, %turn], [%i, %backward]
{windows_back}
 %i = sub i64 %i1, 1
 %back_start = mul i64 %i, {ld}
 %back_column = getelementptr double, ptr %lu, i64 %back_start
 %diagonal = getelementptr double, ptr %back_column, i64 {W}
 %inverse = load double, ptr %diagonal
 %y_back = getelementptr double, ptr %y, i64 %i
 %left = load double, ptr %y_back
 %taken = extractelement {vector} %q{K1}, i32 {V1}
 %rest = fsub double %left, %taken
 %xi = fmul double %rest, %inverse
 %to_at = getelementptr i64, ptr %order, i64 %i
 %to = load i64, ptr %to_at
 %x_at = getelementptr double, ptr %x, i64 %to
 store double %xi, ptr %x_at
 %two = insertelement {vector} poison, double %xi, i32 0
 %xis = shufflevector {vector} %two, {vector} poison, <{V} x i32> zeroinitializer
{shift_back}
{add_back}
 %again = icmp ugt i64 %i, 0
 br i1 %again, label %backward, label %end
end:
 ret void
}}
"""


def _vectors(width: int) -> tuple[int, int]:
    """Numbers in a vector, and vectors in half a column: of those that there are, those with the shorter columns."""
    return min(((V, -(-width // V)) for V in (lanes(), min(lanes(), 4))), key=lambda own: own[0] * own[1])


@cache
def functions(width: int) -> dict[str, str]:
    """LLVM text of ``factor``, for a band of a half width, and of ``solve`` with the factors."""
    V, K = _vectors(width)  # noqa: N806
    vector, W = f"<{V} x double>", K * V  # noqa: N806
    down, up = (", ".join(f"i32 {first + k}" for k in range(V)) for first in (1, V - 1))

    def lines(*texts: str) -> str:
        """Statements for each vector of a column, with its number and place."""
        given = {"vector": vector, "V": V}
        return "\n".join(" " + text.format(k=k, at=k * V, **given) for k in range(K) for text in texts)

    def load(name: str, base: str) -> tuple[str, str]:
        """A vector of an array."""
        return (
            f"%{name}_at{{k}} = getelementptr double, ptr {base}, i64 {{at}}",
            f"%{name}{{k}} = load {{vector}}, ptr %{name}_at{{k}}, align 8",
        )

    def store(name: str, pointer: str) -> str:
        return f"store {{vector}} %{name}{{k}}, ptr %{pointer}{{k}}, align 8"

    def shifted(name: str, pairs: Sequence[tuple[str, str]], lane: str) -> str:
        every = enumerate(pairs)
        shuffle = " %{}{} = shufflevector {} {}, {} {}, <{} x i32> <{}>"
        return "\n".join(shuffle.format(name, k, vector, a, vector, b, V, lane) for k, (a, b) in every)

    def windows(name: str, first: str, block: str) -> str:
        value = "zeroinitializer" if first == "0" else "%" + first + "{k}"
        before = "%turn" if first == "0" else "%first"
        return lines(f"%{name}{{k}} = phi {{vector}} [{value}, {before}], [%{name}_next{{k}}, %{block}]")

    factor = FACTOR.format(
        vector=vector,
        V=V,
        W=W,
        W1=W + 1,
        w=width,
        ld=2 * W + 1,
        ahead=2 * W,
        far=W * (2 * W + 1),
        least=f"{LEAST:.1e}",
        scale=lines(*load("raw", "%below"), "%l{k} = fmul {vector} %raw{k}, %inverses", store("l", "raw_at")),
        update=lines(
            *load("old", "%target"),
            "%part{k} = fmul {vector} %l{k}, %fs",
            "%new{k} = fsub {vector} %old{k}, %part{k}",
            store("new", "old_at"),
        ),
        count=lines(
            *load("u", "%row"),
            *load("seen", "%after"),
            "%lu{k} = fmul {vector} %l{k}, %u{k}",
            "%abs{k} = call {vector} @llvm.fabs.v{V}f64({vector} %lu{k})",
            "%sum{k} = fadd {vector} %seen{k}, %abs{k}",
            store("sum", "seen_at"),
        ),
    )
    r, q = ([f"%{name}{k}" for k in range(K)] for name in "rq")
    solve = SOLVE.format(
        vector=vector,
        V=V,
        V1=V - 1,
        K1=K - 1,
        W=W,
        W1=W + 1,
        ld=2 * W + 1,
        first=lines(*load("a", "%y")),
        windows=windows("r", "a", "forward"),
        shift=shifted("s", list(pairwise([*r, "%added"])), down),
        subtract=lines(
            *load("l", "%below"), "%p{k} = fmul {vector} %l{k}, %xs", "%r_next{k} = fsub {vector} %s{k}, %p{k}"
        ),
        windows_back=windows("q", "0", "backward"),
        shift_back=shifted("t", list(pairwise(["zeroinitializer", *q])), up),
        add_back=lines(
            *load("u", "%back_column"), "%g{k} = fmul {vector} %u{k}, %xis", "%q_next{k} = fadd {vector} %t{k}, %g{k}"
        ),
    )
    return {"factor": factor, "solve": solve}


def unheld(arrays: list[Array]) -> list[int]:
    """Which arrays of a list nobody else holds, nor a view of them: memory that can be used again.

    New memory costs as much as what kernels do in it: the system clears it page by page.
    """
    return [k for k in range(len(arrays)) if _references(arrays, k) == _ALONE]


def _references(arrays: list[Array], k: int) -> int:
    return getrefcount(arrays[k])


_ALONE = _references([np.zeros(1)], 0)


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
        self.outside = self._ld * (self.size + W) - 1
        """A place that nothing reads, for entries outside the matrix."""
        self._shape, self._program = (self.size + W, self._ld), Program()
        program = self._program
        program.functions |= functions(plain.width)
        size = program.count(self.size)
        self.arrays = plain.order.astype(np.int64), np.zeros(self.size + W), np.zeros(self.size + W)
        """The order, and where functions write the sizes of pivots and parts of solutions."""
        order, seen, y = map(program.array, self.arrays)
        self._lu, right, x = (program.array(np.zeros(size)) for size in (1, self.size, self.size))
        self._right, self._x, self._seen = program.arrays[right], program.arrays[x], self.arrays[1]
        factor = Statement("factor", size, [self._lu, seen])
        solve = Statement("solve", size, [self._lu, order, right, x, y])
        self._factor, self._solve = program.kernels(
            [program.line([], Between([], [own], 0)) for own in (factor, solve)]
        )
        self._storages, self._places = list[Array](), list[int]()

    def factor(self, values: Array) -> Factors:
        if values.dtype == float:
            lu, place = self.memory()
            lu[: self.size] = values.reshape(self.size, self._ld)
            if (factors := self._in_place(lu, place)) is not None:
                return factors
        return self._plain.factor(self._for_plain(values))._replace(arrays=())

    def factorized(self, entries: Array) -> Factors:
        if entries.dtype == float:
            lu: Any = np.bincount(self.slots, entries, self.outside + 1)
            lu[self.storage] = 0.0
            if (factors := self._in_place(lu.reshape(self._shape), address(lu))) is not None:
                return factors
        return self._plain.factorized(entries)._replace(arrays=())

    def _in_place(self, lu: Array, place: int) -> Factors | None:
        """Factorise in place, columns beyond the last ones being zero; None if a pivot has lost its digits."""
        self._program.put(self._lu, place)
        self._factor()
        return None if self._seen[0] else self._factors(lu, place)

    def memory(self) -> tuple[Array, int]:
        """Memory of factors that nobody holds any more, and where that is; columns beyond the last ones are zero."""
        for k in unheld(self._storages):
            return self._storages[k], self._places[k]
        storage = np.zeros(self._shape)
        self._storages = [*self._storages[-2:], storage]
        self._places = [*self._places[-2:], address(storage)]
        return storage, self._places[-1]

    def release(self) -> None:
        """Give back memory that nobody holds."""
        for k in reversed(unheld(self._storages)):
            del self._storages[k], self._places[k]

    def restore(self, arrays: Sequence[Array]) -> Factors | None:
        if len(arrays) != 1 or arrays[0].shape != self._shape:
            return None
        lu = np.ascontiguousarray(arrays[0], float)
        return self._factors(lu, address(lu))

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
