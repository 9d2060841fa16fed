"""A recorded line as machine code: a loop over cells, several of them side by side in the lanes of vector registers.

Inputs are gathered lane by lane into a buffer, the line is worked off in vectors, and results are scattered. All three
are cut into functions of so many operations that compiling takes a time in proportion to their number; what one part of
the line leaves for another stays in the buffer. There is no fused multiply-add, so that results do not depend on the
processor; functions of the C library are called for each lane.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fem_mbs.compiled.tape import Guard, Tape

PART = 500
"""Operations, inputs or results in a function."""
VECTOR = {"sqrt": "llvm.sqrt", "fabs": "llvm.fabs", "rint": "llvm.rint"}
"""One instruction for all lanes; other functions are those of the C library."""
EXTREMES = {"larger": "uge", "smaller": "ule"}
OPPOSITE = {"olt": "uge", "ole": "ugt", "ogt": "ule", "oge": "ult", "oeq": "une"}
"""A comparison that does not hold is true of numbers that cannot be compared, too."""
KERNEL = """\
define internal void @{name}(i64 %begin, i64 %cells, ptr noalias %arrays) {{
entry:
 %values = alloca [{values} x double], align 64
 %out = alloca [{results} x double], align 64
 %seen = alloca i64
 store i64 0, ptr %seen
 %last = sub i64 %cells, 1
 br label %blocks
blocks:
 %first = phi i64 [%begin, %entry], [%next, %written]
 %more = icmp ult i64 %first, %cells
 br i1 %more, label %gather, label %done
gather:
 %lane = phi i64 [0, %blocks], [%lane1, %gather]
 %beyond = add i64 %first, %lane
 %inside = icmp ult i64 %beyond, %cells
 %cell = select i1 %inside, i64 %beyond, i64 %last
{gather}
 %lane1 = add i64 %lane, 1
 %gathering = icmp ult i64 %lane1, {lanes}
 br i1 %gathering, label %gather, label %line
line:
{line}
 br label %scatter
scatter:
 %of = phi i64 [0, %line], [%of1, %passed]
 %target = add i64 %first, %of
 %valid = icmp ult i64 %target, %cells
 br i1 %valid, label %write, label %passed
write:
{scatter}
 br label %passed
passed:
 %of1 = add i64 %of, 1
 %scattering = icmp ult i64 %of1, {lanes}
 br i1 %scattering, label %scatter, label %written
written:
 %next = add i64 %first, {lanes}
 br label %blocks
done:
 %own = load i64, ptr %seen
{guard}
 %others = load i64, ptr %array{place}
 %all = or i64 %own, %others
 store i64 %all, ptr %array{place}
 ret void
}}
"""
"""The loop; lanes beyond the last cell take that once more, and write nothing."""


class CellRows(NamedTuple):
    """Where numbers of cells lie: in an array of rows, of which a cell has one."""

    array: int
    """Its number among all arrays."""
    width: int
    """Numbers in a row."""
    rows: tuple[int, int, int] | None = None
    """Rows by an array of integers: its number, its width, and the column; the number of the cell if None."""
    uniform: bool = False
    """One row for all."""
    lanes: int = 0
    """Of an array in which so many cells stand side by side, column after column; 0 for rows one after the other."""


class Sink(NamedTuple):
    """Where results of cells go."""

    tape: int
    rows: CellRows
    values: list[tuple[int, int]]
    """Columns and the operations that go there."""
    how: str = ""
    """``larger`` or ``fadd`` for the larger of, or the sum with, what is there before."""
    further: tuple[CellRows, int] | None = None
    """Rows whose beginning is added to the place, and the number of an array of one integer: the last place there is.
    """
    cleared: tuple[int, int] | None = None
    """Which count, times how many numbers, is zero before."""


def function(
    name: str,
    tape: Tape,
    inputs: dict[int, tuple[CellRows, int]],
    sinks: Sequence[Sink],
    guards: Sequence[Guard],
    guard: int,
    lanes: int,
) -> tuple[str, set[str]]:
    """LLVM text of ``void name(i64 begin, i64 cells, ptr arrays)``, and what is to be declared.

    It works off the cells from ``begin``, which is a multiple of the lanes. ``inputs`` are read from these rows and
    columns of arrays. The integer at ``guard`` has other bits set afterwards if a cell would have gone another way than
    the sample, by the ``guards``.
    """
    every = [(sink, column, place) for sink in sinks for column, place in sink.values]
    needed = tape.needed([place for _, _, place in every], guards, inputs)
    results = [own for own in every if not own[0].rows.lanes]
    beside = [(sink.rows, column, place) for sink, column, place in every if sink.rows.lanes]
    used = {place: inputs[place] for place in needed if place in inputs}
    given = [place for place, (rows, _) in used.items() if not _is_vector(rows)]
    read = {place: rows for place, rows in used.items() if _is_vector(rows[0])}
    line = _Line(tape, needed, given, read, [place for _, _, place in results], beside, guards, lanes)
    gathers = [_gather(part, lanes) for part in _parts([(k, *inputs[place]) for k, place in enumerate(given)])]
    scatters = [_scatter([(k, *result) for k, result in part], lanes) for part in _parts(list(enumerate(results)))]
    text = KERNEL.format(
        name=name,
        values=max(1, len(line.kept)) * lanes,
        results=max(1, len(results)) * lanes,
        lanes=lanes,
        gather=_calls(f"{name}.gather", "ptr %arrays, i64 %cell, i64 %lane, ptr %values", len(gathers)),
        line=_calls(f"{name}.line", "ptr %arrays, i64 %first, ptr %values, ptr %out, ptr %seen", len(line.parts)),
        scatter=_calls(f"{name}.scatter", "ptr %arrays, i64 %target, i64 %of, ptr %out", len(scatters)),
        guard="\n".join(_array(guard)),
        place=guard,
    )
    buffers = "ptr noalias %values, ptr noalias %out, ptr noalias %seen"
    functions = [("line", f"ptr noalias %arrays, i64 %first, {buffers}", line.parts)]
    tables = "ptr noalias %arrays, i64 %cell, i64 %lane, ptr noalias"
    functions += [("gather", f"{tables} %values", gathers), ("scatter", f"{tables} %out", scatters)]
    for part, own, bodies in functions:
        for k, body in enumerate(bodies):
            text += "\n".join([f"define internal void @{name}.{part}{k}({own}) {{", *body, " ret void", "}", ""])
    return text, line.declared


def _is_vector(rows: CellRows) -> bool:
    """Whether lanes read a vector at once."""
    return rows.uniform or rows.lanes > 0 and rows.rows is None


def _parts(every: list[Any]) -> Iterator[list[Any]]:
    return (every[first : first + PART] for first in range(0, len(every), PART))


def _calls(name: str, given: str, count: int) -> str:
    return "\n".join(f" call void @{name}{k}({given})" for k in range(count))


def _array(array: int) -> list[str]:
    """Where an array lies."""
    return [
        f" %at{array} = getelementptr ptr, ptr %arrays, i64 {array}",
        f" %array{array} = load ptr, ptr %at{array}",
    ]


def _gather(inputs: list[tuple[int, CellRows, int]], lanes: int) -> list[str]:
    """Inputs of one lane, each with its place in the buffer."""
    lines: list[str] = []
    known: dict[Any, str] = {}
    for k, rows, column in inputs:
        row = _row(rows, known, lines)
        lines += [
            f" %place{k} = add i64 {row}, {column * max(rows.lanes, 1)}",
            f" %from{k} = getelementptr double, ptr {_known_array(rows.array, known, lines)}, i64 %place{k}",
            f" %value{k} = load double, ptr %from{k}",
            f" %slot{k} = add i64 %lane, {k * lanes}",
            f" %to{k} = getelementptr double, ptr %values, i64 %slot{k}",
            f" store double %value{k}, ptr %to{k}",
        ]
    return lines


def _known_array(array: int, known: dict[Any, str], lines: list[str]) -> str:
    """Where an array lies, which is asked once."""
    if array not in known:
        known[array] = f"%array{array}"
        lines += _array(array)
    return known[array]


def _row(rows: CellRows, known: dict[Any, str], lines: list[str]) -> str:
    """Where in its array the row of a cell begins."""
    if rows.uniform:
        return "0"
    key = rows.width, rows.rows, rows.lanes
    if key not in known:
        row = "%cell"
        if rows.rows is not None:
            array, width, column = rows.rows
            table, k = _known_array(array, known, lines), len(known)
            row = f"%number{k}"
            lines += [
                f" %start{k} = mul i64 %cell, {width}",
                f" %column{k} = add i64 %start{k}, {column}",
                f" %pointer{k} = getelementptr i64, ptr {table}, i64 %column{k}",
                f" {row} = load i64, ptr %pointer{k}",
            ]
        k = len(known)
        if rows.lanes > 1:
            lines += [
                f" %lane{k} = and i64 {row}, {rows.lanes - 1}",
                f" %first{k} = sub i64 {row}, %lane{k}",
                f" %block{k} = mul i64 %first{k}, {rows.width}",
                f" %row{k} = add i64 %block{k}, %lane{k}",
            ]
        else:
            lines.append(f" %row{k} = mul i64 {row}, {rows.width}")
        known[key] = f"%row{k}"
    return known[key]


def _scatter(results: list[tuple[int, Sink, int, int]], lanes: int) -> list[str]:
    """Results of one lane, each with its place."""
    lines: list[str] = []
    known: dict[Any, str] = {}
    for k, sink, column, _ in results:
        place, array = f"%index{k}", _known_array(sink.rows.array, known, lines)
        row = _row(sink.rows, known, lines)
        lines += [
            f" %taken{k} = add i64 %lane, {k * lanes}",
            f" %get{k} = getelementptr double, ptr %out, i64 %taken{k}",
            f" %result{k} = load double, ptr %get{k}",
            f" {place} = add i64 {row}, {column}",
        ]
        if sink.further is not None:
            further, limit = sink.further
            if (key := ("last", limit)) not in known:
                known[key] = f"%last{limit}"
                lines.append(f" {known[key]} = load i64, ptr {_known_array(limit, known, lines)}")
            lines += [
                f" %sum_of{k} = add i64 {place}, {_row(further, known, lines)}",
                f" %inside{k} = icmp ult i64 %sum_of{k}, {known[key]}",
                f" %placed{k} = select i1 %inside{k}, i64 %sum_of{k}, i64 {known[key]}",
            ]
            place = f"%placed{k}"
        lines.append(f" %into{k} = getelementptr double, ptr {array}, i64 {place}")
        value = f"%result{k}"
        if sink.how:
            lines.append(f" %before{k} = load double, ptr %into{k}")
        if sink.how == "larger":
            # what is not a number stays so
            lines += [
                f" %there{k} = fcmp ord double %before{k}, %before{k}",
                f" %over{k} = fcmp ugt double {value}, %before{k}",
                f" %both{k} = and i1 %there{k}, %over{k}",
                f" %most{k} = select i1 %both{k}, double {value}, double %before{k}",
            ]
            value = f"%most{k}"
        elif sink.how:
            lines.append(f" %sum{k} = {sink.how} double %before{k}, {value}")
            value = f"%sum{k}"
        lines.append(f" store double {value}, ptr %into{k}")
    return lines


class _Line:
    """The operations, one after the other, in parts.

    Attributes
    ----------
    parts : list of list of str
        Statements.
    kept : dict
        Places in the buffer, of inputs and of what another part needs.
    declared : set of str
        Functions that are to be declared.
    """

    def __init__(
        self,
        tape: Tape,
        needed: Sequence[int],
        inputs: Sequence[int],
        read: dict[int, tuple[CellRows, int]],
        results: Sequence[int],
        beside: Sequence[tuple[CellRows, int, int]],
        guards: Sequence[Guard],
        lanes: int,
    ) -> None:
        self._read = read
        self._tape, self._lanes, self._vector = tape, lanes, f"<{lanes} x double>"
        self.kept, self.declared = {place: k for k, place in enumerate(inputs)}, set[str]()
        there = {*self.kept, *read}
        worked_off = [own for own in needed if own not in there and tape.operations[own].name != "constant"]
        part_of = {place: k // PART for k, place in enumerate(worked_off)}
        asked, written = defaultdict[int, list[Guard]](list), defaultdict[int, list[tuple[int, int]]](list)
        uses = [(part_of[place], tape.operations[place].operands) for place in worked_off]
        for own in guards:
            part = max(part_of.get(own.left, 0), part_of.get(own.right, 0))
            asked[part].append(own)
            uses.append((part, (own.left, own.right)))
        for k, place in enumerate(results):
            written[part_of.get(place, 0)].append((k, place))
        stored = defaultdict[int, list[tuple[CellRows, int, int]]](list)
        for own_rows, column, place in beside:
            stored[part_of.get(place, 0)].append((own_rows, column, place))
        for part, operands in uses:
            for place in operands:
                if part_of.get(place, part) != part:
                    self.kept.setdefault(place, len(self.kept))
        parts = list(_parts(worked_off)) or [[]]
        self.parts = [self._part(part, asked[k], written[k], stored[k]) for k, part in enumerate(parts)]

    def _part(
        self,
        places: list[int],
        guards: list[Guard],
        results: list[tuple[int, int]],
        stored: list[tuple[CellRows, int, int]],
    ) -> list[str]:
        self._lines, self._names, self._known = list[str](), dict[int, str](), set[str]()
        for place in places:
            self._names[place] = self._operation(place)
            if place in self.kept:
                self._store(self._names[place], "values", self.kept[place])
        self._ask(guards)
        for k, place in results:
            self._store(self._name(place), "out", k)
        for rows, column, place in stored:
            name, pointer = self._name(place), self._beside(rows, column)
            self._lines.append(f" store {self._vector} {name}, ptr {pointer}, align 8")
        return self._lines

    def _beside(self, rows: CellRows, column: int) -> str:
        """Where the cells of the lanes stand side by side in a column of an array."""
        block, pointer = f"%block{rows.array}", f"%column{rows.array}.{column}"
        if block not in self._known:
            self._known.add(block)
            self._lines += [*_array(rows.array), f" {block} = mul i64 %first, {rows.width}"]
        if pointer not in self._known:
            self._known.add(pointer)
            self._lines += [
                f" %beside{rows.array}.{column} = add i64 {block}, {column * self._lanes}",
                f" {pointer} = getelementptr double, ptr %array{rows.array}, i64 %beside{rows.array}.{column}",
            ]
        return pointer

    def _spread(self, place: int, rows: CellRows, column: int) -> None:
        """One number for all lanes."""
        vector, array = self._vector, f"%array{rows.array}"
        if array not in self._known:
            self._known.add(array)
            self._lines += _array(rows.array)
        all_of_first = f"<{self._lanes} x i32> zeroinitializer"
        self._lines += [
            f" %from{place} = getelementptr double, ptr {array}, i64 {column}",
            f" %one{place} = load double, ptr %from{place}",
            f" %first{place} = insertelement {vector} poison, double %one{place}, i32 0",
            f" %t{place} = shufflevector {vector} %first{place}, {vector} poison, {all_of_first}",
        ]

    def _store(self, name: str, buffer: str, slot: int) -> None:
        pointer = f"%{buffer}.{slot}"
        self._lines += [
            f" {pointer} = getelementptr double, ptr %{buffer}, i64 {slot * self._lanes}",
            f" store {self._vector} {name}, ptr {pointer}, align 8",
        ]

    def _name(self, place: int) -> str:
        """What a result is called, which another part may have left."""
        if place not in self._names:
            name, operands = self._tape.operations[place]
            self._names[place] = f"%t{place}"
            if name == "constant":
                self._names[place] = _constant(operands[0], self._lanes)
            elif place in self._read and self._read[place][0].uniform:
                self._spread(place, *self._read[place])
            elif place in self._read:
                pointer = self._beside(*self._read[place])
                self._lines.append(f" %t{place} = load {self._vector}, ptr {pointer}, align 8")
            else:
                self._lines += [
                    f" %from{place} = getelementptr double, ptr %values, i64 {self.kept[place] * self._lanes}",
                    f" %t{place} = load {self._vector}, ptr %from{place}, align 8",
                ]
        return self._names[place]

    def _operation(self, place: int) -> str:
        name, operands = self._tape.operations[place]
        result, vector, lanes = f"%t{place}", self._vector, self._lanes
        given = [self._name(operand) for operand in operands]
        add = self._lines.append
        if name == "fneg":
            add(f" {result} = fneg {vector} {given[0]}")
        elif name in ("fadd", "fsub", "fmul", "fdiv"):
            add(f" {result} = {name} {vector} {given[0]}, {given[1]}")
        elif name in EXTREMES:
            # what is not a number stays so, if it comes first
            add(f" %c{place} = fcmp {EXTREMES[name]} {vector} {given[0]}, {given[1]}")
            add(f" {result} = select <{lanes} x i1> %c{place}, {vector} {given[0]}, {vector} {given[1]}")
        elif name in VECTOR:
            function = f"@{VECTOR[name]}.v{lanes}f64"
            self.declared.add(f"declare {vector} {function}({vector})")
            add(f" {result} = call {vector} {function}({vector} {given[0]})")
        else:
            self.declared.add(f"declare double @{name}({', '.join(['double'] * len(operands))})")
            result = "undef"
            for lane in range(lanes):
                for k, operand in enumerate(given):
                    add(f" %e{place}.{lane}.{k} = extractelement {vector} {operand}, i32 {lane}")
                each = ", ".join(f"double %e{place}.{lane}.{k}" for k in range(len(given)))
                add(f" %c{place}.{lane} = call double @{name}({each})")
                add(f" %v{place}.{lane} = insertelement {vector} {result}, double %c{place}.{lane}, i32 {lane}")
                result = f"%v{place}.{lane}"
        return result

    def _ask(self, guards: list[Guard]) -> None:
        """Whether a lane would have gone another way than the sample."""
        so_far, lanes, add = "", self._lanes, self._lines.append
        for k, (comparison, left, right, outcome) in enumerate(guards):
            asked, a, b = OPPOSITE[comparison] if outcome else comparison, self._name(left), self._name(right)
            add(f" %asked{k} = fcmp {asked} {self._vector} {a}, {b}")
            if so_far:
                add(f" %any{k} = or <{lanes} x i1> {so_far}, %asked{k}")
            so_far = f"%any{k}" if so_far else f"%asked{k}"
        if so_far:
            add(f" %bits = bitcast <{lanes} x i1> {so_far} to i{lanes}")
            add(f" %set = zext i{lanes} %bits to i64")
            add(" %before = load i64, ptr %seen")
            add(" %after = or i64 %before, %set")
            add(" store i64 %after, ptr %seen")


def _constant(value: float, lanes: int) -> str:
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return "<" + ", ".join([f"double 0x{bits:016X}"] * lanes) + ">"
