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
from sys import getrefcount
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled.machine import lanes
from fem_mbs.compiled.program import EVERY, Between, Program, Statement, address, padded
from fem_mbs.linear.solvers import NARROW, BandedSolver, DenseSolver, Factors, LinearSolver, band_of_pivots
from fem_mbs.system.system import System

LEAST = 1e-11
"""Smallest pivots against the sum of the sizes of all that made them: stiff parts have such beside their inertia, and a
correction is off by some 1e-5 of itself then."""
B = 4
"""Columns that a solution takes at a time, and factors are made in multiples of."""
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
 br i1 %go, label %columns, label %invert
invert:
 %v = phi i64 [%begin, %done], [%v1, %invert]
 %v_first = mul i64 %v, {ld}
 %own = getelementptr double, ptr %lu, i64 %v_first
{invert}
 %v1 = add i64 %v, {B}
 %inverting = icmp ult i64 %v1, %n
 br i1 %inverting, label %invert, label %end
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
that these are coupled with have to be there. In the end what ``B`` columns have of each other, a lower and an upper
triangle, is replaced by the inverses of these: solutions then do not wait for one column after the other.
"""
SOLVE = """\
define void @solve(i64 %begin, i64 %n, ptr noalias %lu, ptr noalias %order, ptr noalias %b, ptr noalias %x,
 ptr noalias %y) {{
entry:
 %y_end = getelementptr double, ptr %y, i64 %n
 store <{B} x double> zeroinitializer, ptr %y_end, align 8
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
{forward}
 %j1 = add i64 %j, {B}
 %more = icmp ult i64 %j1, %n
 br i1 %more, label %forward, label %backward
backward:
 %i1 = phi i64 [%j1, %forward], [%i, %backward]
{backward}
 %again = icmp ugt i64 %i, 0
 br i1 %again, label %backward, label %spread
spread:
 %m = phi i64 [0, %backward], [%m1, %spread]
 %to_at = getelementptr i64, ptr %order, i64 %m
 %to = load i64, ptr %to_at
 %solved_at = getelementptr double, ptr %y, i64 %m
 %solved = load double, ptr %solved_at
 %x_at = getelementptr double, ptr %x, i64 %to
 store double %solved, ptr %x_at
 %m1 = add i64 %m, 1
 %spreading = icmp ult i64 %m1, %n
 br i1 %spreading, label %spread, label %end
end:
 ret void
}}
"""
"""``B`` columns at a time. Vectors hold what the next unknowns, as many as half a column has, are corrected by."""


def _vectors(width: int) -> tuple[int, int]:
    """Numbers in a vector, and vectors in half a column: of those that there are, those with the shorter columns."""
    both = ((V, -(-max(width, B) // V)) for V in (lanes(), min(lanes(), B)))
    return min(both, key=lambda own: own[0] * own[1])


class _Text:
    """Statements on single numbers and vectors of ``V``, whose names begin alike."""

    def __init__(self, name: str, V: int) -> None:  # noqa: N803
        self.lines, self._name, self._V, self._vector = list[str](), name, V, f"<{V} x double>"

    def __call__(self, text: str) -> str:
        """The name of what a statement returns."""
        self.lines.append(f" %{self._name}{len(self.lines)} = {text}")
        return self.lines[-1].split()[0]

    def at(self, base: str, place: int) -> str:
        return self(f"getelementptr double, ptr {base}, i64 {place}")

    def number(self, base: str, place: int) -> str:
        return self(f"load double, ptr {self.at(base, place)}")

    def put(self, value: str, base: str, place: int) -> None:
        pointer = self.at(base, place)
        self.lines.append(f" store double {value}, ptr {pointer}")

    def vector(self, base: str, place: int, inside: Sequence[bool] | None = None) -> str:
        """Numbers in a row, zero where they are not inside."""
        vector, V = self._vector, self._V  # noqa: N806
        value = self(f"load {vector}, ptr {self.at(base, place)}, align 8")
        if inside is None or all(inside):
            return value
        mask = ", ".join(f"i1 {int(own)}" for own in inside)
        return self(f"select <{V} x i1> <{mask}>, {vector} {value}, {vector} zeroinitializer")

    def lane(self, vectors: Sequence[str], place: int) -> str:
        return self(f"extractelement {self._vector} {vectors[place // self._V]}, i32 {place % self._V}")

    def spread(self, value: str) -> str:
        """One number for all lanes."""
        one = self(f"insertelement {self._vector} poison, double {value}, i32 0")
        return self(f"shufflevector {self._vector} {one}, {self._vector} poison, <{self._V} x i32> zeroinitializer")

    def shifted(self, vectors: Sequence[str], place: int) -> str:
        """The vector from a place on in some that stand in a row."""
        k, first = divmod(place, self._V)
        if not first:
            return vectors[k]
        lanes = ", ".join(f"i32 {first + lane}" for lane in range(self._V))
        pair = f"{self._vector} {vectors[k]}, {self._vector} {vectors[k + 1]}"
        return self(f"shufflevector {pair}, <{self._V} x i32> <{lanes}>")

    def sum(self, values: Sequence[str], kind: str = "double") -> str:
        """In pairs, which do not wait for each other."""
        if len(values) == 1:
            return values[0]
        left, right = self.sum(values[: len(values) // 2], kind), self.sum(values[len(values) // 2 :], kind)
        return self(f"fadd {kind} {left}, {right}")

    def products(self, pairs: Sequence[tuple[str, str]], kind: str = "double") -> list[str]:
        return [self(f"fmul {kind} {a}, {b}") for a, b in pairs]


def _inverted(V: int, W: int) -> list[str]:  # noqa: N803
    """What ``B`` columns have of each other, as the inverses of both triangles."""
    text, ld = _Text("inverse", V), 2 * W + 1
    place = {(i, j): j * ld + W + i - j for i in range(B) for j in range(B)}
    lu = {own: text.number("%own", at) for own, at in place.items()}
    inverse = dict[tuple[int, int], str]()
    for j in range(B):
        for i in range(j + 1, B):
            parts = [lu[i, j], *text.products([(lu[i, k], inverse[k, j]) for k in range(j + 1, i)])]
            inverse[i, j] = text(f"fneg double {text.sum(parts)}")
        inverse[j, j] = lu[j, j]  # which are inverted already
        for i in range(j):
            parts = text.products([(inverse[i, k], lu[k, j]) for k in range(i, j)])
            inverse[i, j] = text(f"fmul double {text(f'fneg double {text.sum(parts)}')}, {lu[j, j]}")
    for own, value in inverse.items():
        text.put(value, "%own", place[own])
    return text.lines


def _forward(V: int, K: int) -> list[str]:  # noqa: N803
    """``B`` unknowns of the lower factor, and what is left of the next ones."""
    text, W, vector = _Text("down", V), K * V, f"<{V} x double>"  # noqa: N806
    ld = 2 * W + 1
    text.lines += [f" %r{k} = phi {vector} [%a{k}, %first], [%r_next{k}, %forward]" for k in range(K)]
    here, column = text("getelementptr double, ptr %y, i64 %j"), text(f"mul i64 %j, {ld}")
    column = text(f"getelementptr double, ptr %lu, i64 {column}")
    window = [f"%r{k}" for k in range(K)]
    window += [text.vector(here, W + first) for first in range(0, B, V)]
    right, unknown = [text.lane(window, c) for c in range(B)], list[str]()
    for c in range(B):
        inverse = [(right[i], text.number(column, i * ld + W + c - i)) for i in range(c)]
        unknown.append(text.sum([right[c], *text.products(inverse)]))
        text.put(unknown[c], here, c)
    spread = [text.spread(value) for value in unknown]
    for k in range(K):
        inside = [[B - c + k * V + lane <= W for lane in range(V)] for c in range(B)]
        below = [text.vector(column, c * ld + W + B - c + k * V, inside[c]) for c in range(B)]
        taken = text.sum(text.products(list(zip(below, spread, strict=True)), vector), vector)
        text.lines.append(f" %r_next{k} = fsub {vector} {text.shifted(window, B + k * V)}, {taken}")
    return text.lines


def _backward(V: int, K: int) -> list[str]:  # noqa: N803
    """``B`` unknowns of the upper factor, and what is taken from those before."""
    text, W, vector = _Text("up", V), K * V, f"<{V} x double>"  # noqa: N806
    ld = 2 * W + 1
    text.lines += [f" %q{k} = phi {vector} [zeroinitializer, %forward], [%q_next{k}, %backward]" for k in range(K)]
    text.lines.append(f" %i = sub i64 %i1, {B}")
    here, column = text("getelementptr double, ptr %y, i64 %i"), text(f"mul i64 %i, {ld}")
    column = text(f"getelementptr double, ptr %lu, i64 {column}")
    window = [*(max(1, B // V) * ["zeroinitializer"]), *(f"%q{k}" for k in range(K))]
    zeros = V * (len(window) - K)
    left = [text(f"fsub double {text.number(here, c)}, {text.lane(window, zeros + W - B + c)}") for c in range(B)]
    spread = list[str]()
    for c in range(B):
        inverse = [(left[d], text.number(column, d * ld + W + c - d)) for d in range(c, B)]
        value = text.sum(text.products(inverse))
        text.put(value, here, c)
        spread.append(text.spread(value))
    for k in range(K):
        inside = [[k * V + lane >= c for lane in range(V)] for c in range(B)]
        above = [text.vector(column, c * ld + k * V - c, inside[c]) for c in range(B)]
        taken = text.sum(text.products(list(zip(above, spread, strict=True)), vector), vector)
        text.lines.append(f" %q_next{k} = fadd {vector} {text.shifted(window, zeros - B + k * V)}, {taken}")
    return text.lines


@cache
def functions(width: int) -> dict[str, str]:
    """LLVM text of ``factor``, for a band of a half width, and of ``solve`` with the factors."""
    V, K = _vectors(width)  # noqa: N806
    vector, W = f"<{V} x double>", K * V  # noqa: N806

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
        B=B,
        invert="\n".join(_inverted(V, W)),
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
    solve = SOLVE.format(
        B=B,
        first=lines(*load("a", "%y")),
        forward="\n".join(_forward(V, K)),
        backward="\n".join(_backward(V, K)),
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
        self.arrays = plain.order.astype(np.int64), np.zeros(self.size + W), padded((self.size + W + B,))
        """The order, and where functions write the sizes of pivots and parts of solutions."""
        order, seen, y = map(program.array, self.arrays)
        self._lu, right, x = (program.array(np.zeros(size)) for size in (1, self.size, self.size))
        self._right, self._x, self._seen = program.arrays[right], program.arrays[x], self.arrays[1]
        factor = Statement("factor", size, [self._lu, seen])
        solve = Statement("solve", size, [self._lu, order, right, x, y])
        self._factor, self._solve = program.kernels(
            [program.line([], after=Between([], [own], 0)) for own in (factor, solve)]
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
        self._factor(EVERY)
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
        self._solve(EVERY)
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
