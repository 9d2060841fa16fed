"""A recorded line as machine code: a loop over cells, several of them side by side in the lanes of vector registers.

Inputs are gathered lane by lane into a buffer, the line is worked off in vectors, and results are scattered. There is
no fused multiply-add, so that results do not depend on the processor; functions of the C library are called for each
lane.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from fem_mbs.compiled.tape import Guard, Tape

VECTOR = {"sqrt": "llvm.sqrt", "fabs": "llvm.fabs", "rint": "llvm.rint"}
"""One instruction for all lanes; other functions are those of the C library."""


EXTREMES = {"larger": "uge", "smaller": "ule"}


class InputRows(NamedTuple):
    """Where the inputs of one name lie: in an array of rows, of which a cell takes one."""

    array: int
    """Its number among all arrays."""
    width: int
    """Numbers in a row."""
    rows: tuple[int, int, int] | None = None
    """Rows by an array of integers: its number, its width, and the column; the number of the cell if None."""
    uniform: bool = False
    """One row for all."""


class OutputRows(NamedTuple):
    """An array of results, one row a cell."""

    array: int
    width: int
    results: Sequence[tuple[int, int]]
    """Columns and the operations that go there."""


def program(
    tape: Tape,
    sources: dict[str, InputRows],
    sinks: Sequence[OutputRows],
    guards: Sequence[Guard],
    guard: int,
    shared: int,
    lanes: int,
) -> str:
    """LLVM text of ``void kernel(i64 cells, ptr of_model, ptr of_batch)``.

    The pointers lead to the addresses of arrays, the first ``shared`` of them to those of the model. The integer at
    ``guard`` is not zero afterwards if a cell would have gone another way than the sample, by the ``guards``.
    """
    needed = tape.needed([place for sink in sinks for _, place in sink.results], guards)
    inputs = [place for place in needed if tape.operations[place].name == "input"]
    vector = f"<{lanes} x double>"
    lines: list[str] = []
    add = lines.append
    add("define void @kernel(i64 %cells, ptr noalias %of_model, ptr noalias %of_batch) {")
    add("entry:")
    arrays = {guard, *(sink.array for sink in sinks)}
    for place in inputs:
        source = sources[tape.operations[place].operands[0]]
        arrays |= {source.array} if source.rows is None else {source.array, source.rows[0]}
    for array in sorted(arrays):
        table, place = ("model", array) if array < shared else ("batch", array - shared)
        add(f" %at{array} = getelementptr ptr, ptr %of_{table}, i64 {place}")
        add(f" %array{array} = load ptr, ptr %at{array}")
    results = [(sink, column, place) for sink in sinks for column, place in sink.results]
    add(f" %in = alloca [{max(1, len(inputs)) * lanes} x double], align 64")
    add(f" %out = alloca [{max(1, len(results)) * lanes} x double], align 64")
    add(" %seen = alloca i64")
    add(" store i64 0, ptr %seen")
    add(" %last = sub i64 %cells, 1")
    add(" br label %blocks")
    add("blocks:")
    add(" %first = phi i64 [0, %entry], [%next, %written]")
    add(" %more = icmp ult i64 %first, %cells")
    add(" br i1 %more, label %gather, label %done")
    # inputs of one lane; lanes beyond the last cell take that once more
    add("gather:")
    add(" %lane = phi i64 [0, %blocks], [%lane1, %gather]")
    add(" %beyond = add i64 %first, %lane")
    add(" %inside = icmp ult i64 %beyond, %cells")
    add(" %cell = select i1 %inside, i64 %beyond, i64 %last")
    rows: dict[tuple[int, tuple[int, int, int] | None], str] = {}
    for k, place in enumerate(inputs):
        name, column = tape.operations[place].operands
        source = sources[name]
        if source.uniform:
            row = "0"
        else:
            row = _row(source, rows, add)
        add(f" %place{k} = add i64 {row}, {column}")
        add(f" %from{k} = getelementptr double, ptr %array{source.array}, i64 %place{k}")
        add(f" %value{k} = load double, ptr %from{k}")
        add(f" %slot{k} = add i64 %lane, {k * lanes}")
        add(f" %to{k} = getelementptr double, ptr %in, i64 %slot{k}")
        add(f" store double %value{k}, ptr %to{k}")
    add(" %lane1 = add i64 %lane, 1")
    add(f" %gathering = icmp ult i64 %lane1, {lanes}")
    add(" br i1 %gathering, label %gather, label %line")
    add("line:")
    names, declared = _line(tape, needed, {place: k for k, place in enumerate(inputs)}, lanes, add)
    _guards(guards, names, lanes, add)
    for k, (_, _, place) in enumerate(results):
        add(f" %put{k} = getelementptr double, ptr %out, i64 {k * lanes}")
        add(f" store {vector} {names[place]}, ptr %put{k}, align 8")
    add(" br label %scatter")
    add("scatter:")
    add(" %of = phi i64 [0, %line], [%of1, %passed]")
    add(" %target = add i64 %first, %of")
    add(" %valid = icmp ult i64 %target, %cells")
    add(" br i1 %valid, label %write, label %passed")
    add("write:")
    for sink in sinks:
        add(f" %row_of{sink.array} = mul i64 %target, {sink.width}")
    for k, (sink, column, _) in enumerate(results):
        add(f" %taken{k} = add i64 %of, {k * lanes}")
        add(f" %get{k} = getelementptr double, ptr %out, i64 %taken{k}")
        add(f" %result{k} = load double, ptr %get{k}")
        add(f" %index{k} = add i64 %row_of{sink.array}, {column}")
        add(f" %into{k} = getelementptr double, ptr %array{sink.array}, i64 %index{k}")
        add(f" store double %result{k}, ptr %into{k}")
    add(" br label %passed")
    add("passed:")
    add(" %of1 = add i64 %of, 1")
    add(f" %scattering = icmp ult i64 %of1, {lanes}")
    add(" br i1 %scattering, label %scatter, label %written")
    add("written:")
    add(f" %next = add i64 %first, {lanes}")
    add(" br label %blocks")
    add("done:")
    add(" %all = load i64, ptr %seen")
    add(f" store i64 %all, ptr %array{guard}")
    add(" ret void")
    add("}")
    return "\n".join([*lines, *sorted(declared), ""])


def _row(source: InputRows, rows: dict[tuple[int, tuple[int, int, int] | None], str], add) -> str:  # type: ignore[no-untyped-def]
    """Where in its array the row of a cell begins."""
    key = source.width, source.rows
    if key not in rows:
        k, row = len(rows), "%cell"
        if source.rows is not None:
            array, width, column = source.rows
            add(f" %start{k} = mul i64 %cell, {width}")
            add(f" %column{k} = add i64 %start{k}, {column}")
            add(f" %pointer{k} = getelementptr i64, ptr %array{array}, i64 %column{k}")
            add(f" %number{k} = load i64, ptr %pointer{k}")
            row = f"%number{k}"
        add(f" %row{k} = mul i64 {row}, {source.width}")
        rows[key] = f"%row{k}"
    return rows[key]


def _line(tape: Tape, needed: Sequence[int], slots: dict[int, int], lanes: int, add):  # type: ignore[no-untyped-def]
    """The operations, one after the other: what their results are called, and the functions that are to be declared."""
    vector = f"<{lanes} x double>"
    names: dict[int, str] = {}
    declared: set[str] = set()
    for place in needed:
        name, operands = tape.operations[place]
        result = names[place] = f"%t{place}"
        if name == "constant":
            names[place] = _constant(operands[0], lanes)
        elif name == "input":
            slot = slots[place]
            add(f" %buffer{slot} = getelementptr double, ptr %in, i64 {slot * lanes}")
            add(f" {result} = load {vector}, ptr %buffer{slot}, align 8")
        elif name == "fneg":
            add(f" {result} = fneg {vector} {names[operands[0]]}")
        elif name in ("fadd", "fsub", "fmul", "fdiv"):
            add(f" {result} = {name} {vector} {names[operands[0]]}, {names[operands[1]]}")
        elif name in EXTREMES:
            # what is not a number stays so, if it comes first
            add(f" %c{place} = fcmp {EXTREMES[name]} {vector} {names[operands[0]]}, {names[operands[1]]}")
            either = f"{vector} {names[operands[0]]}, {vector} {names[operands[1]]}"
            add(f" {result} = select <{lanes} x i1> %c{place}, {either}")
        elif name in VECTOR:
            function = f"@{VECTOR[name]}.v{lanes}f64"
            declared.add(f"declare {vector} {function}({vector})")
            add(f" {result} = call {vector} {function}({vector} {names[operands[0]]})")
        else:
            declared.add(f"declare double @{name}({', '.join(['double'] * len(operands))})")
            so_far = "undef"
            for lane in range(lanes):
                for k, operand in enumerate(operands):
                    add(f" %e{place}.{lane}.{k} = extractelement {vector} {names[operand]}, i32 {lane}")
                given = ", ".join(f"double %e{place}.{lane}.{k}" for k in range(len(operands)))
                add(f" %c{place}.{lane} = call double @{name}({given})")
                add(f" %v{place}.{lane} = insertelement {vector} {so_far}, double %c{place}.{lane}, i32 {lane}")
                so_far = f"%v{place}.{lane}"
            names[place] = so_far
    return names, declared


def _guards(guards: Sequence[Guard], names: dict[int, str], lanes: int, add) -> None:  # type: ignore[no-untyped-def]
    """Whether a lane would have gone another way than the sample."""
    so_far = ""
    for k, (comparison, left, right, outcome) in enumerate(guards):
        # one that does not hold is true of numbers that cannot be compared, too
        opposite = {"olt": "uge", "ole": "ugt", "ogt": "ule", "oge": "ult", "oeq": "une"}[comparison]
        asked = opposite if outcome else comparison
        add(f" %asked{k} = fcmp {asked} <{lanes} x double> {names[left]}, {names[right]}")
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
