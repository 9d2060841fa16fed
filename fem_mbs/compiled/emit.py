"""A recorded line as machine code: a loop over cells, several of them side by side in the lanes of vector registers.

Inputs are gathered lane by lane into a buffer, the line is worked off in vectors, and results are scattered. All three
are cut into functions of so many operations that compiling takes a time in proportion to their number; what one part of
the line leaves for another stays in the buffer. There is no fused multiply-add, so that results do not depend on the
processor but for the last digit of functions, which are those of the C library.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

from fem_mbs.compiled.machine import Text
from fem_mbs.compiled.tape import Guard, Tape

PART = 500
"""Operations, inputs or results in a function."""
VECTOR = {"sqrt": "llvm.sqrt", "fabs": "llvm.fabs", "rint": "llvm.rint"}
"""One instruction for all lanes."""
EXTREMES = {"larger": "uge", "smaller": "ule"}
GUARD = 0
"""Place of the array of one integer with bits of the guards that did not hold."""
OPPOSITE = {"olt": "uge", "ole": "ugt", "ogt": "ule", "oge": "ult", "oeq": "une"}
"""A comparison that does not hold is true of numbers that cannot be compared, too."""


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
    name: str, tape: Tape, inputs: dict[int, tuple[CellRows, int]], sinks: Sequence[Sink], guards: Sequence[Guard]
) -> tuple[str, set[str]]:
    """LLVM text of ``void name(i64 cells, ptr arrays)``, and what is to be declared.

    ``inputs`` are read from these rows and columns of arrays. The integer at ``GUARD`` has other bits set afterwards if
    a cell would have gone another way than the sample, by the ``guards``.
    """
    lanes = tape.lanes
    results = [(sink, column, place) for sink in sinks for column, place in sink.values]
    places = [place for _, _, place in results]
    line = _Line(tape, tape.needed(places, guards, inputs), inputs, places, guards)
    tables = "ptr noalias %arrays, i64 %cell, i64 %lane, ptr noalias"
    buffers = "ptr noalias %arrays, ptr noalias %values, ptr noalias %out, ptr noalias %seen"
    gathered = list(_parts([(k, *inputs[place]) for k, place in enumerate(line.given)]))
    parts = {
        "gather": (f"{tables} %values", [_gather(part, lanes) for part in gathered]),
        "line": (buffers, line.parts),
        "scatter": (f"{tables} %out", [_scatter(part, lanes) for part in _parts(list(enumerate(results)))]),
    }
    text = Text(lanes)
    values, out = (text(f"alloca [{(n or 1) * lanes} x double], align 64") for n in (len(line.kept), len(results)))
    seen, last = array(text, GUARD), text.plus("%cells", -1)

    def work_off(part: str, handed: str) -> None:
        for k in range(len(parts[part][1])):
            text.do(f"call void @{name}.{part}{k}(ptr %arrays, {handed})")

    with text.where(text("icmp ne i64 %cells, 0")), text.loop(0, "%cells", step=lanes) as (first, _):
        # lanes beyond the last cell take that once more, and write nothing
        with text.loop(0, lanes) as (lane, _):
            cell = text.smaller(text.plus(first, lane), last)
            work_off("gather", f"i64 {cell}, i64 {lane}, ptr {values}")
        work_off("line", f"ptr {values}, ptr {out}, ptr {seen}")
        with text.loop(0, lanes) as (lane, _):
            cell = text.plus(first, lane)
            with text.where(text(f"icmp ult i64 {cell}, %cells")):
                work_off("scatter", f"i64 {cell}, i64 {lane}, ptr {out}")
    functions = [text.function(name, "i64 %cells, ptr noalias %arrays", internal=True)]
    for part, (arguments, bodies) in parts.items():
        functions += [body.function(f"{name}.{part}{k}", arguments, internal=True) for k, body in enumerate(bodies)]
    return "".join(functions), set[str]().union(*(body.declared for body in line.parts))


def _parts(every: list[Any]) -> Iterator[list[Any]]:
    return (every[first : first + PART] for first in range(0, len(every), PART))


def array(text: Text, number: int) -> str:
    """Where an array lies."""
    return text.once(number, lambda: text.load("%arrays", number, "ptr"))


def _row(text: Text, rows: CellRows) -> str:
    """Where in its array the row of a cell begins."""
    if rows.uniform:
        return "0"

    def row() -> str:
        own = "%cell"
        if rows.rows is not None:
            table, width, column = rows.rows
            own = text.load(array(text, table), text.plus(text.times(own, width), column), "i64")
        return text.times(own, rows.width)

    return text.once((rows.width, rows.rows), row)


def _gather(inputs: list[tuple[int, CellRows, int]], lanes: int) -> Text:
    """Inputs of one lane, each with its place in the buffer."""
    text = Text(lanes)
    for k, rows, column in inputs:
        value = text.load(array(text, rows.array), text.plus(_row(text, rows), column))
        text.store(value, "%values", text.plus("%lane", k * lanes))
    return text


def _scatter(results: list[tuple[int, tuple[Sink, int, int]]], lanes: int) -> Text:
    """Results of one lane, each with its place."""
    text = Text(lanes)
    for k, (sink, column, _) in results:
        into, place = array(text, sink.rows.array), text.plus(_row(text, sink.rows), column)
        if sink.further is not None:
            further, limit = sink.further
            last = text.once(("last", limit), partial(text.load, array(text, limit), 0, "i64"))
            place = text.smaller(text.plus(place, _row(text, further)), last)
        value = text.load("%out", text.plus("%lane", k * lanes))
        if sink.how:
            before = text.load(into, place)
        if sink.how == "larger":  # what is not a number stays so
            there, over = text(f"fcmp ord double {before}, {before}"), text(f"fcmp ugt double {value}, {before}")
            value = text(f"select i1 {text(f'and i1 {there}, {over}')}, double {value}, double {before}")
        elif sink.how:
            value = text(f"{sink.how} double {before}, {value}")
        text.store(value, into, place)
    return text


class _Line:
    """The operations, one after the other, in parts.

    Attributes
    ----------
    parts : list of Text
        Functions.
    given : list of int
        Inputs that are gathered.
    kept : dict
        Places in the buffer, of inputs and of what another part needs.
    """

    def __init__(
        self,
        tape: Tape,
        needed: Sequence[int],
        inputs: dict[int, tuple[CellRows, int]],
        results: Sequence[int],
        guards: Sequence[Guard],
    ) -> None:
        used = {place: inputs[place] for place in needed if place in inputs}
        self._tape, self._lanes = tape, tape.lanes
        self._read = {place: rows for place, rows in used.items() if rows[0].uniform}
        self.given = [place for place in used if place not in self._read]
        self.kept = {place: k for k, place in enumerate(self.given)}
        there = {*self.kept, *self._read}
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
        for part, operands in uses:
            for place in operands:
                if part_of.get(place, part) != part:
                    self.kept.setdefault(place, len(self.kept))
        parts = list(_parts(worked_off)) or [[]]
        self.parts = [self._part(part, asked[k], written[k]) for k, part in enumerate(parts)]

    def _part(self, places: list[int], guards: list[Guard], results: list[tuple[int, int]]) -> Text:
        self._names, text = dict[int, str](), Text(self._lanes)
        for place in places:
            name, operands = self._tape.operations[place]
            self._names[place] = _operation(text, name, [self._name(text, operand) for operand in operands])
            if place in self.kept:
                text.store(self._names[place], "%values", self.kept[place] * self._lanes, text.vector)
        self._ask(text, guards)
        for k, place in results:
            text.store(self._name(text, place), "%out", k * self._lanes, text.vector)
        return text

    def _name(self, text: Text, place: int) -> str:
        """What a result is called, which another part may have left."""
        if place not in self._names:
            name, operands = self._tape.operations[place]
            if name == "constant":
                own = _constant(operands[0], self._lanes)
            elif place in self._read:
                rows, column = self._read[place]
                own = text.spread(text.load(array(text, rows.array), column))
            else:
                own = text.load("%values", self.kept[place] * self._lanes, text.vector)
            self._names[place] = own
        return self._names[place]

    def _ask(self, text: Text, guards: list[Guard]) -> None:
        """Whether a lane would have gone another way than the sample."""
        asked = list[str]()
        for comparison, left, right, outcome in guards:
            other, pair = (
                OPPOSITE[comparison] if outcome else comparison,
                [self._name(text, own) for own in (left, right)],
            )
            asked.append(text(f"fcmp {other} {text.vector} {', '.join(pair)}"))
        if asked:
            lanes = self._lanes
            any_of_them = reduce(lambda one, other: text(f"or <{lanes} x i1> {one}, {other}"), asked)
            bits = text(f"zext i{lanes} {text(f'bitcast <{lanes} x i1> {any_of_them} to i{lanes}')} to i64")
            text.store(text(f"or i64 {text.load('%seen', 0, 'i64')}, {bits}"), "%seen", 0, "i64")


def _operation(text: Text, name: str, given: list[str]) -> str:
    vector, lanes = text.vector, text.lanes
    if name in ("fneg", "fadd", "fsub", "fmul", "fdiv"):
        return text(f"{name} {vector} {', '.join(given)}")
    if name in EXTREMES:
        # what is not a number stays so, if it comes first
        first = text(f"fcmp {EXTREMES[name]} {vector} {', '.join(given)}")
        return text(f"select <{lanes} x i1> {first}, {vector} {given[0]}, {vector} {given[1]}")
    if name in VECTOR:
        return text.call(vector, f"{VECTOR[name]}.v{lanes}f64", (vector, given[0]))
    result = "undef"
    for lane in range(lanes):
        own = text.call("double", name, *(("double", text.lane([operand], lane)) for operand in given))
        result = text(f"insertelement {vector} {result}, double {own}, i32 {lane}")
    return result


def _constant(value: float, lanes: int) -> str:
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return "<" + ", ".join([f"double 0x{bits:016X}"] * lanes) + ">"
