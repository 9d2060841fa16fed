"""A program: lines for the cells of every kind, one after the other, with sums and solutions of equations in between.

Code of the engine runs once, for one node, one constraint equation and one cell of each batch, on a tape for each kind
(:class:`CellTape`). What goes from one kind to another, or over all cells, ends a stage: rows that are gathered, forces
that are summed, entries that are factorised. The stages are worked off by one compiled function, which is called with
the numbers of cells and with where arrays lie, so that one program serves models of any size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import count, pairwise
from math import prod
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled import machine
from fem_mbs.compiled.emit import GUARD, CellRows, Sink, array, function
from fem_mbs.compiled.machine import Text, kernel
from fem_mbs.compiled.tape import Guard, Number, Tape

ALL, NODES, EQUATIONS, VARIABLES = range(4)
"""Tapes of what is the same for all cells, of nodes, of constraint equations, and of internal variables."""
FEW = 2
"""So many cells are worked off one by one, and do not pay for lanes."""
LARGE = 200
"""Cells of a kind with which code that takes ten times as long to be made pays."""
MOST = 100_000
"""Operations of the cells of a kind beyond which programs are given up."""
ROUGH = 1e-4
"""Size of what stands for sums and solutions in the sample."""
Rows = tuple[int, int, int]


class Kept(NamedTuple):
    """A number of another tape, of which a cell reads one by ``rows``, as :class:`CellRows` has them."""

    tape: int
    place: int
    rows: Rows | None


class Statement(NamedTuple):
    """A call of a function with a count, by the number of that, and arrays."""

    name: str
    number: int
    arrays: list[int]


class Between(NamedTuple):
    """What is done between two stages."""

    sinks: list[Sink]
    """What has to be there."""
    statements: Sequence[Statement]
    stage: int


class CellTape(Tape):
    """The tape of ``n`` cells of a kind, of which some are ``sampled``."""

    def __init__(self, program: Program, number: int, n: int, sampled: IntArray) -> None:
        super().__init__(MOST)
        self.program, self.number, self.n, self.sampled = program, number, n, sampled
        self.of_all = number == ALL
        self.lanes = 1 if n <= FEW else machine.lanes()
        self.shared_guards = 0
        self.seen_guards = 0

    def source(self, array: int, width: int) -> CellRows:
        """An array with a row for each cell."""
        return CellRows(array, width, None, self.of_all)

    def given(self, source: CellRows, samples: Array, stage: int = 0) -> Array:
        """Numbers for the rows of an array, with samples ``(sampled, ...)``; zeros where nothing is recorded."""
        if not self.program.records:
            return np.zeros(samples.shape[1:])
        result = np.empty(prod(samples.shape[1:]), object)
        columns = samples.reshape(len(samples), len(result)).T
        result[:] = [
            Number(self, self.add("input", source, k, sample=own, stage=stage)) for k, own in enumerate(columns)
        ]
        return result.reshape(samples.shape[1:])

    def read(self, value: Any, rows: Rows | None, sampled: Any) -> Any:
        """A number of another tape, by rows of it."""
        if not isinstance(value, Number):
            return value
        other: Any = value.tape
        name, operands = other.operations[value.place]
        if name == "constant":
            return operands[0]
        if name == "fneg" and not other.of_all:
            return -self.read(Number(other, operands[0]), rows, sampled)
        if other.of_all:
            rows, sampled = None, [0]
        sample, stage = np.broadcast_to(value.sample, len(other.sampled))[sampled], other.stages[value.place]
        if name == "input" and isinstance(operands[0], CellRows) and (operands[0].rows is None):
            source = operands[0] if operands[0].uniform else operands[0]._replace(rows=rows)
            return Number(self, self.add("input", source, operands[1], sample=sample, stage=stage))
        kept = Kept(other.number, value.place, rows)
        return Number(self, self.add("input", kept, 0, sample=sample, stage=stage + 1))

    def taken(self, value: Number) -> int:
        if not value.tape.of_all:
            return super().taken(value)
        return self.number_of(self.read(value, None, [0]))

    def over_all(self, value: Number, how: str) -> Any:
        """See :class:`Tape`; code of batches asks for single cells, and the smallest value decides in each."""
        of_engine = self.number in (NODES, EQUATIONS) and how != "smaller"
        return self.program.over_all(value, how) if of_engine else value


class Program:
    """Tapes, the arrays that lines work on, and what is done between stages.

    Every array lies where it has been from the start. What has been recorded once runs in other programs, too, which
    have the same arrays for their own numbers of cells: these follow from ``specs``. Such a program has the arrays that
    are given, and no numbers: it need not record.
    """

    def __init__(self, records: bool = True) -> None:
        self.records = records
        self.arrays: list[Any] = [np.zeros(1, np.int64)]
        self.specs: list[tuple[tuple[int, int], ...]] = []
        """Kinds and widths of arrays that stand one after the other, for each allocation."""
        self._wholes = dict[int, Array]()
        self.counts, self.tapes = list[int](), list[CellTape]()
        self.kind: list[Any] = []
        """What lines depend on beside inputs."""
        self.functions = dict[str, str]()
        """What statements may call, as LLVM text."""
        self.makers: dict[int, Between] = {}
        """What makes those arrays that are not given."""
        self._rng = np.random.default_rng(4)
        self.cells(1, np.zeros(1, np.intp))

    # what is given

    def cells(self, n: int, sampled: IntArray) -> CellTape:
        """A further kind of cells."""
        assert len(self.counts) == len(self.tapes)
        self.tapes.append(CellTape(self, len(self.tapes), n, sampled))
        self.counts.append(n)
        self.kind.append(self.tapes[-1].lanes if n else 0)  # what has no cells has no arrays
        return self.tapes[-1]

    def count(self, value: int) -> int:
        """A further number that functions are called with, after those of cells."""
        self.counts.append(value)
        return len(self.counts) - 1

    def array(self, values: Any) -> int:
        """The place of an array that is given."""
        self.arrays.append(np.ascontiguousarray(values))
        return len(self.arrays) - 1

    def given(self, tape: int, values: Any) -> Array:
        """Numbers for the rows ``(n, ...)`` of an array, one for each cell."""
        every = padded(np.shape(values))
        every[...] = values
        return self.seen(tape, every, every)

    def parameters(self, tape: int, values: Array, kind: list[Any]) -> Array:
        """Numbers for the rows ``(n, ...)`` of parameters, of which zeros stay; ``kind`` gets which these are."""
        rows = values.reshape(len(values), -1)
        there, result = rows.any(axis=0), np.full(rows.shape[1], 0.0, object)
        kind += [values.shape[1:], there.tobytes()]
        if there.any():
            result[there] = self.given(tape, rows[:, there])
        return result.reshape(values.shape[1:])

    def seen(self, tape: int, array: Array, values: Array) -> Array:
        """Numbers for the rows of an array itself, with these values for a sample."""
        own, width = self.tapes[tape], prod(array.shape[1:])
        return own.given(own.source(self.array(array), width), values[own.sampled]) if own.n else np.empty(0)

    def uniform(self, values: Any) -> Array:
        """Numbers for an array that is the same for all cells."""
        values = np.array(values, float)
        return self.tapes[ALL].given(CellRows(self.array(values), values.size, uniform=True), values[None])

    def joined(self, parts: Iterable[tuple[int, int]], values: Iterable[Array]) -> list[Array]:
        """Numbers for arrays of kinds and widths that stand one after the other, with values at first."""
        parts, result = tuple(parts), []
        for place, (tape, width), first in zip(count(self.rows(*parts)), parts, values, strict=False):
            own = self.tapes[tape]
            self.arrays[place][...] = first.ravel()
            result.append(own.given(own.source(place, width), first[own.sampled]) if own.n else np.empty(0))
        return result

    # what is worked off

    def rows(self, *parts: tuple[int, int]) -> int:
        """The place of the first of some arrays of kinds and widths, one after the other."""
        self.specs.append(parts)
        first = len(self.arrays)
        ends = np.cumsum([0, *(self.counts[kind] * width for kind, width in parts)])
        whole = self._wholes[first] = padded((ends[-1],))
        self.arrays += [whole[a:b] for a, b in pairwise(ends)]
        return first

    def repeat(self, specs: list[Any]) -> None:
        """Make the arrays of a program that was recorded, for the numbers of cells of this one."""
        for parts in specs:
            self.rows(*parts)

    def whole(self, first: int) -> Array:
        """All arrays of an allocation in a row."""
        return self._wholes[first]

    def sink(self, tape: int, array: int, values: Any, rows: Rows | None = None) -> Sink:
        """Values of a kind that go to an array, into the row of a cell or of what it has there; zeros are there."""
        own, flat = self.tapes[tape], np.asarray(values, object).ravel()
        columns = [(k, own.number_of(v)) for k, v in enumerate(flat) if isinstance(v, Number) or v]
        return Sink(tape, CellRows(array, len(flat), rows), columns)

    def outcome(self, tape: int, array: int, width: int, samples: Array | None = None) -> Array:
        """Numbers ``(width,)`` of a kind, of an array once it is made."""
        between, own = self.makers[array], self.tapes[tape]
        if samples is None:
            samples = ROUGH * self._rng.normal(size=(len(own.sampled), width))
        return own.given(own.source(array, width), samples, between.stage + 1)

    def over_all(self, value: Number, how: str) -> Number:
        """The largest value of all cells of a kind, or their sum."""
        own: Any = value.tape
        array, sample = self.rows((ALL, 1)), np.max(value.sample) if how == "larger" else np.sum(value.sample)
        sink = Sink(own.number, CellRows(array, 1, uniform=True), [(0, value.place)], how, None, (ALL, 1))
        self.made(array, [sink])
        return self.outcome(ALL, array, 1, np.full((1, 1), sample))[0]

    def made(self, array: int, sinks: list[Sink], statements: Sequence[Statement] = ()) -> Between:
        """What makes an array."""
        stages = [self.tapes[sink.tape].stages[place] for sink in sinks for _, place in sink.values]
        self.makers[array] = Between(sinks, statements, max(stages, default=0))
        return self.makers[array]

    def share_guards(self) -> None:
        """Give all lines that follow the guards that were recorded so far."""
        for tape in self.tapes:
            tape.shared_guards = tape.seen_guards = len(tape.guards)

    def line(self, sinks: Sequence[Sink], after: Between | None = None) -> str:
        """The program that fills sinks; its guards are those recorded since the last, and those that all share."""
        collected = _Collected(self, [*sinks, *([] if after is None else after.sinks)])
        if after is not None:
            collected.betweens.append(after)
        return collected.text()

    # how it runs

    def kernels(self, programs: list[str]) -> list[partial[int]]:
        """A function for each line; it returns zero unless a cell takes another branch.

        Nothing is recorded after that.
        """
        self.tapes.clear()  # which is large
        self.makers.clear()
        self._addresses = np.array([array.ctypes.data for array in self.arrays], np.intp)
        self._numbers = np.array(self.counts, np.int64)
        opt, given = 2 if max(self.counts) > LARGE else 0, (self._numbers.ctypes.data, self._addresses.ctypes.data, 0)
        return [partial(kernel(text, opt), *given) for text in programs]

    def put(self, place: int, address: int) -> None:
        """Have kernels work on another array in a place, which the caller keeps."""
        self._addresses[place] = address


def address(array: Array | IntArray) -> int:
    """Where an array lies."""
    return array.__array_interface__["data"][0]


class Memory:
    """Arrays of a shape, zeros at first, of which those that nobody holds any more, nor a view of them, are used again.

    New memory costs as much as what kernels do in it: the system clears it page by page.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self.known: list[tuple[Array, int]] = []
        """The last ones, and where they lie."""

    def take(self) -> tuple[Array, int]:
        """An array, and where it lies."""
        for own in self.known:
            if _holders(own) == _ALONE:
                return own
        array = np.zeros(self._shape)
        self.known = [*self.known[-2:], (array, address(array))]
        return self.known[-1]


def _holders(own: tuple[Array, int]) -> int:
    return getrefcount(own[0])


_ALONE = _holders((np.zeros(1), 0))


def padded(shape: tuple[int, ...]) -> Array:
    """Zeros, behind which lanes may read on."""
    size = prod(shape)
    return np.zeros(size + machine.lanes())[:size].reshape(shape)


class _Collected:
    """What a line needs: its sinks, what is done between stages, and numbers that later stages or other kinds read."""

    def __init__(self, program: Program, sinks: list[Sink]) -> None:
        self._program, self._sinks, self.betweens = program, sinks, list[Between]()
        self._places = dict[tuple[int, int], tuple[int, int, int]]()
        """Where what is kept stands, as ``(array, width, column)``."""
        self._kept: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._guards: dict[tuple[int, int], list[Guard]] = defaultdict(list)
        self._seen: dict[int, set[int]] = defaultdict(set)
        self._cleared = set[int]()
        self._left = [(sink.tape, place) for sink in sinks for _, place in sink.values]
        for number, tape in enumerate(program.tapes):
            tape.check()
            guards = list(tape.guards)
            for guard in guards[: tape.shared_guards] + guards[tape.seen_guards :]:
                stage = max(tape.stages[place] for place in guard[1:3])
                self._guards[number, stage].append(guard)
                for place in guard[1:3]:
                    self._need(number, place, stage)
            tape.seen_guards = len(guards)
        while self._left:
            number, place = self._left.pop()
            if place not in self._seen[number]:
                self._seen[number].add(place)
                self._visit(number, place)

    def _need(self, number: int, place: int, stage: int) -> None:
        """An operand, which is kept for a later stage."""
        tape = self._program.tapes[number]
        if tape.stages[place] < stage and tape.operations[place].name not in ("input", "constant"):
            self._keep(number, place)
        self._left.append((number, place))

    def _keep(self, number: int, place: int) -> None:
        kept = self._kept[number, self._program.tapes[number].stages[place]]
        if place not in kept:
            kept.append(place)

    def _visit(self, number: int, place: int) -> None:
        tape = self._program.tapes[number]
        name, operands = tape.operations[place]
        if name == "input":
            source = operands[0]
            if isinstance(source, Kept):
                self._keep(source.tape, source.place)
                self._left.append((source.tape, source.place))
            elif (own := self._program.makers.get(source.array)) and all(own is not other for other in self.betweens):
                self.betweens.append(own)
                self._sinks += own.sinks
                self._left += [(sink.tape, place) for sink in own.sinks for _, place in sink.values]
        elif name != "constant":
            for operand in operands:
                self._need(number, operand, tape.stages[place])

    def text(self) -> str:
        """The program."""
        program, text, functions = self._program, Text(), list[str]()
        sinks = self._outputs()
        stages = [stage for _, stage in (*sinks, *self._guards)] + [own.stage for own in self.betweens]
        text.store("0", array(text, GUARD), 0, "i64")
        for stage in range(max(stages, default=0) + 1):
            functions += self._stage(text, stage, sinks)
        seen = text.load(array(text, GUARD), 0, "i64")
        for name in sorted({statement.name for own in self.betweens for statement in own.statements}):
            lines = program.functions[name].splitlines()
            text.declared |= {line for line in lines if line.startswith("declare")}
            functions += [
                line.replace("define void", "define internal void") for line in lines if line[:7] != "declare"
            ]
        kernel = text.function("kernel", "ptr %counts, ptr %arrays, i64 %none", seen)
        return "\n".join([kernel, *functions, *sorted(text.declared), ""])

    def _stage(self, text: Text, stage: int, sinks: dict[tuple[int, int], list[Sink]]) -> Iterator[str]:
        """What is done in a stage, and the functions that do it."""

        def count(number: int) -> str:
            return text.once(("count", number), partial(text.load, "%counts", number, "i64"))

        for sink in (sink for (_, own), several in sorted(sinks.items()) if own == stage for sink in several):
            if sink.cleared and sink.rows.array not in self._cleared:
                self._cleared.add(sink.rows.array)
                number, factor = sink.cleared
                text.clear(array(text, sink.rows.array), text.times(count(number), 8 * factor))
        for number, tape in enumerate(self._program.tapes):
            guards = self._guards[number, stage]
            if (number, stage) in sinks or guards:
                name, read = f"cells{number}.{stage}", self._inputs(tape, stage)
                made, declared = function(name, tape, read, sinks[number, stage], guards)
                text.declared |= declared
                text.do(f"call void @{name}(i64 {count(number)}, ptr %arrays)")
                yield made
        for statement in (own for each in self.betweens if each.stage == stage for own in each.statements):
            pointers = "".join(f", ptr {array(text, k)}" for k in statement.arrays)
            text.do(f"call void @{statement.name}(i64 {count(statement.number)}{pointers})")

    def _outputs(self) -> dict[tuple[int, int], list[Sink]]:
        """What each kind writes in each stage."""
        program, places = self._program, self._places
        sinks: dict[tuple[int, int], list[Sink]] = defaultdict(list)
        for sink in self._sinks:
            stages: dict[int, list[tuple[int, int]]] = defaultdict(list)
            for column, place in sink.values:
                stages[program.tapes[sink.tape].stages[place]].append((column, place))
            for stage, values in stages.items():
                sinks[sink.tape, stage].append(sink._replace(values=values))
        for number, stage in sorted(self._kept):
            kept = self._kept[number, stage]
            if new := [place for place in kept if (number, place) not in places]:
                array = program.rows((number, len(new)))
                places.update({(number, place): (array, len(new), k) for k, place in enumerate(new)})
            for place in kept:
                array, width, column = places[number, place]
                rows = CellRows(array, width)
                if (own := Sink(number, rows, [(column, place)])) not in sinks[number, stage]:
                    sinks[number, stage].append(own)
        return sinks

    def _inputs(self, tape: CellTape, stage: int) -> dict[int, tuple[CellRows, int]]:
        """What a line reads, by the operations that stand for it."""
        result, places = {}, self._places
        for place in self._seen[tape.number]:
            name, operands = tape.operations[place]
            if name == "input":
                source, column = operands
                if isinstance(source, Kept):
                    array, width, column = places[source.tape, source.place]
                    source = CellRows(array, width, source.rows, self._program.tapes[source.tape].of_all)
                result[place] = source, column
            elif tape.stages[place] < stage and (tape.number, place) in places:
                array, width, column = places[tape.number, place]
                result[place] = CellRows(array, width), column
        return result
