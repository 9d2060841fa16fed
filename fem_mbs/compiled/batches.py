"""Batches whose forces, tangents and constraint rows are compiled: recorded for one cell, run for all.

A compiled batch stands in the place of a batch of a system. Where a cell goes another way than the recorded one (a
branch at a large angle), or something is asked that is not compiled, the batch itself answers.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.compiled.one_cell import BatchCells
from fem_mbs.compiled.program import ALL, EQUATIONS, NODES, VARIABLES, Program, address, padded
from fem_mbs.compiled.tape import CannotRecordError, recording
from fem_mbs.contracts import Batch, ConstraintBatch, ElementBatch, Motion, RateSensitivities
from fem_mbs.errors import LOG
from fem_mbs.lie import so3
from fem_mbs.system.system import System

AGREES = 1e-12
"""Largest difference from NumPy's results, over their size, with which a kernel is taken."""
LEAST = 2000
"""Fewest operations of all cells in an evaluation with which a kernel is faster than NumPy."""
SHAKEN = 0.01
"""How far from where it was built a model is recorded: shares of its extent, and rad."""
SOME = 61
"""Nodes of which no two move alike in a sample, however many there are."""
RECORDED = "fem_mbs.lie", "fem_mbs.elements", "fem_mbs.contracts"
_RECORDINGS: dict[Any, RecordedBatch] = {}
"""By the kind of a batch."""
_COMPARED = set[Any]()
"""Kinds whose kernels do what NumPy does: numbers are all that batches of a kind differ in."""


class RecordedBatch(NamedTuple):
    """What has been recorded of a kind of batches."""

    programs: list[str]
    specs: list[Any]
    """Arrays, see :class:`~fem_mbs.compiled.program.Program`."""
    results: list[list[int]]
    """Where those of each program are."""


class Motions:
    """The arrays of a model that kernels of its batches read: a motion, and how rates follow increments."""

    def __init__(self, system: System, least: int) -> None:
        n, k, self.least = system.n, system.k, least
        shapes = [(ALL, (1, 1)), (ALL, (1, 3)), (NODES, (n, 3)), (NODES, (n, 3, 3)), *(3 * [(NODES, (n, 6))])]
        shapes += [*(4 * [(VARIABLES, (k,))]), (EQUATIONS, (system.m,))]
        shapes += 2 * [(NODES, (n, 6, 6)), (VARIABLES, (k,))]
        self._kinds, self._arrays = [kind for kind, _ in shapes], [padded(shape) for _, shape in shapes]
        self._motion: Motion | None = None
        self._rates: list[Any] = [None, None]
        """References to the arrays that were taken last, which hold nothing."""

    @staticmethod
    def _values(motion: Motion, rates: Sequence[RateSensitivities]) -> list[Any]:
        inertial = motion.momentum or motion
        values = motion.t, motion.gravity, motion.x, motion.R, motion.V, motion.A, inertial.V, motion.u, motion.udot
        return [*values, motion.uddot, inertial.udot, motion.multipliers, *(own for rate in rates for own in rate)]

    def take(self, motion: Motion) -> None:
        """Have kernels read a motion."""
        if self._motion is not motion:
            self._motion = motion
            for array, values in zip(self._arrays, self._values(motion, ()), strict=False):
                if array.size and np.size(values):
                    array[...] = values

    def take_rates(self, *rates: RateSensitivities) -> None:
        """Have kernels read how velocities, and accelerations, follow."""
        for k, follow in enumerate(rates):
            if self._rates[k] is None or self._rates[k]() is not follow.nodes:
                self._rates[k] = ref(follow.nodes)
                nodes, own = self._arrays[12 + 2 * k : 14 + 2 * k]
                nodes[...], own[...] = follow

    def numbers(self, program: Program, of: Samples) -> tuple[Motion, list[RateSensitivities]]:
        """The same on tapes of a program, with samples where it records."""
        values = self._values(of.sample, of.rates) if program.records else self._arrays
        samples = [np.broadcast_to(value, array.shape) for value, array in zip(values, self._arrays, strict=True)]
        every = zip(self._kinds, self._arrays, samples, strict=True)
        t, gravity, x, R, V, A, inertial, u, udot, uddot, other, multipliers, *rates_ = (
            program.seen(kind, array, sample) for kind, array, sample in every
        )
        x, R, V, A, inertial = (own.reshape(1, *own.shape) for own in (x, R, V, A, inertial))
        u, udot, uddot, other, multipliers = (own.reshape(-1) for own in (u, udot, uddot, other, multipliers))
        momentum = Motion(t[0], x, R, inertial, A, gravity, u, other, uddot, multipliers)
        follow = []
        for nodes, own in zip(rates_[::2], rates_[1::2], strict=True):
            nodes[3:, :3] = 0.0
            follow.append(RateSensitivities(nodes[None], own.reshape(-1)))
        return Motion(t[0], x, R, V, A, gravity, u, udot, uddot, multipliers, momentum), follow


class LaterContext:
    """The context of a compiled batch: the motion, from which that of the batch itself follows when it is asked for."""

    def __init__(self, motion: Motion, context: Callable[[], Any]) -> None:
        self.motion, self._make = motion, context

    @cached_property
    def context(self) -> Any:
        return self._make()


def resolved(context: Any) -> Any:
    """The context of the batch itself."""
    return context.context if isinstance(context, LaterContext) else context


class _Compiled:
    """The program of a batch.

    ``given`` are widths of arrays that are handed to its kernels, a row for each cell; ``record`` returns the results
    of each kernel for the cells of the batch, a motion, derivatives and rows of these arrays.
    """

    def __init__(
        self,
        batch: ElementBatch | ConstraintBatch,
        samples: Samples,
        given: Sequence[int],
        record: Callable[..., list[list[Any]]],
        shapes: Sequence[Sequence[tuple[int, ...]]],
    ) -> None:
        self.motions, system = samples.motions, samples.system
        reads = batch.reads if isinstance(batch, ElementBatch) else None
        for records in (False, True):  # if it has not been recorded yet
            self._program = program = Program(records)
            for count, index in ((system.n, batch.nodes), (system.m, reads), (system.k, batch.own)):
                program.cells(count, np.empty(0, np.intp) if index is None else np.unique(index[0]))
            cells = BatchCells(program, batch)
            motion, follow = self.motions.numbers(program, samples)
            self._first = len(program.arrays)
            rows = [program.given(cells.number, np.ones((cells.n, width)))[None] for width in given]
            self.kind = type(self), *program.kind
            if self.kind in _RECORDINGS:
                break
        made, self.n = _RECORDINGS.get(self.kind), cells.n
        first = len(program.specs)
        if made is None:
            programs, places, own = list[str](), list[list[int]](), type(batch).__module__
            modules = [module for name, module in list(sys.modules.items()) if name == own or name.startswith(RECORDED)]
            with recording(modules):
                of_kernels = record(cells, motion, follow, rows)
            for results in of_kernels:
                flat = [np.asarray(result, object).ravel() for result in results]
                places.append([program.rows((cells.number, own.size)) for own in flat])
                pairs = zip(places[-1], flat, strict=True)
                programs.append(program.line([program.sink(cells.number, place, own) for place, own in pairs]))
            made = _RECORDINGS[self.kind] = RecordedBatch(programs, program.specs[first:], places)
        else:
            program.repeat(made.specs)
        if self.n * made.programs[0].count(" = f") < self.motions.least:
            raise CannotRecordError("it is so small that NumPy is as fast")
        self.kernels, self._places = program.kernels(made.programs), made.results
        self._shapes = shapes

    def run(self, k: int) -> list[Array] | None:
        """The results of a kernel; None if a cell went another way than the recorded one."""
        results = [np.zeros(shape) for shape in self._shapes[k]]
        for place, result in zip(self._places[k], results, strict=True):
            self._program.put(place, address(result))
        return None if self.kernels[k]() else results

    def gives(self, k: int) -> bool:
        """Whether there is such a result."""
        return len(self._places[k]) > 0

    def answer(
        self, context: Any, k: int, rates: Sequence[RateSensitivities] = (), given: Sequence[Array | None] = ()
    ) -> Array | None:
        """The result of a kernel in the motion of a context; None where the batch itself has to answer."""
        if not isinstance(context, LaterContext):
            return None
        self.motions.take(context.motion)
        self.motions.take_rates(*rates)
        for place, array in enumerate(given, self._first):
            if array is not None:
                self._program.arrays[place].reshape(-1)[...] = array.reshape(-1)
        results = self.run(k)
        return results[0] if results else None


class CompiledElements(ElementBatch):
    """A batch of elements whose ``force``, ``tangent``, ``rate_force`` and ``mass`` are compiled."""

    def __init__(self, batch: ElementBatch, samples: Samples) -> None:
        if batch.kinked or type(batch).at is not ElementBatch.at:
            raise CannotRecordError("its law has kinks" if batch.kinked else "it depends on time")
        self.batch = batch
        self.nodes, self.own, self.owners, self.reads = batch.nodes, batch.own, batch.owners, batch.reads
        self.terms, self.kinked, self.damps = batch.terms, batch.kinked, batch.damps
        (n, p), s = self.nodes.shape, 0 if self.own is None else self.own.shape[1]
        b, force_shape = 6 * p + s, (n, self.terms, 6 * p + s) if self.terms > 1 else (n, 6 * p + s)

        def record(
            cells: BatchCells, motion: Motion, follow: list[RateSensitivities], rows: list[Array]
        ) -> list[list[Any]]:
            force, context = cells.cell.force(cells.motion(motion), None)
            tangent = cells.cell.tangent(context, *map(cells.follow, follow))
            others = cells.cell.rate_force(context, *rows), cells.cell.mass(context)
            return [[force], [tangent], *([] if own is None else [own] for own in others)]

        shapes: list[list[tuple[int, ...]]] = [[force_shape], [(n, b, b)], [(n, b)], [(n, b, b)]]
        self._compiled = _Compiled(batch, samples, [b, b, b], record, shapes)
        self.kind = self._compiled.kind

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Any]:
        compiled = self._compiled
        compiled.motions.take(motion)
        if (results := compiled.run(0)) is None:
            return self.batch.force(motion, prescribed)
        return results[0], LaterContext(motion, lambda: self.batch.force(motion, prescribed)[1])

    def tangent(self, context: Any, dV: RateSensitivities, dA: RateSensitivities) -> Array:
        result = self._compiled.answer(context, 1, (dV, dA))
        return self.batch.tangent(resolved(context), dV, dA) if result is None else result

    def rate_force(self, context: Any, dV: Array, dA: Array, inertial: Array) -> Array | None:
        if not self._compiled.gives(2):
            return None
        result = self._compiled.answer(context, 2, (), (dV, dA, inertial))
        return self.batch.rate_force(resolved(context), dV, dA, inertial) if result is None else result

    def mass(self, context: Any) -> Array | None:
        if not self._compiled.gives(3):
            return None
        result = self._compiled.answer(context, 3)
        return self.batch.mass(resolved(context)) if result is None else result


class CompiledConstraints(ConstraintBatch):
    """A batch of constraints whose ``evaluate``, ``stiffness`` and derivatives of rates are compiled."""

    def __init__(self, batch: ConstraintBatch, samples: Samples) -> None:
        self.batch, n = batch, len(batch.nodes)
        self.nodes, self.own, self.owners, self.cell = batch.nodes, batch.own, batch.owners, batch.cell
        self.length, self.velocity, self.geometric_blocks = batch.length, batch.velocity, batch.geometric_blocks
        if batch.driven or type(batch).at is not ConstraintBatch.at:
            raise CannotRecordError("it depends on time")
        b, m = 6 * self.nodes.shape[1] + (0 if self.own is None else self.own.shape[1]), len(self.cell)

        def record(
            cells: BatchCells, motion: Motion, follow: list[RateSensitivities], rows: list[Array]
        ) -> list[list[Any]]:
            cell, inertial = cells.cell, motion.momentum
            assert inertial is not None
            phi, B, context = cell.evaluate(cells.motion(inertial), None)
            return [[phi, B], [cell.stiffness(context, rows[0][0])], [cell.rate_gradient(context, rows[1])]]

        shapes: list[list[tuple[int, ...]]] = [[(m,), (m, b)], [(n, b, b)], [(m, b)]]
        self._compiled = _Compiled(batch, samples, [m // n, b], record, shapes)
        self.kind = self._compiled.kind

    def evaluate(self, motion: Motion, prescribed: Any) -> tuple[Array, Array, Any]:
        compiled = self._compiled
        compiled.motions.take(motion)
        if (results := compiled.run(0)) is None:
            return self.batch.evaluate(motion, prescribed)
        phi, B = results
        return phi, B, LaterContext(motion, lambda: self.batch.evaluate(motion, prescribed)[2])

    def stiffness(self, context: Any, multipliers: Array) -> Array:
        result = self._compiled.answer(context, 1, (), (multipliers,))
        return self.batch.stiffness(resolved(context), multipliers) if result is None else result

    def rate_gradient(self, context: Any, V: Array) -> Array:
        result = self._compiled.answer(context, 2, (), (None, V))
        return self.batch.rate_gradient(resolved(context), V) if result is None else result


def _of_batch(name: str) -> Any:
    """A method that is not compiled, which the batch itself answers."""
    return lambda self, first, *others: getattr(self.batch, name)(resolved(first), *others)


for _compiled in (CompiledElements, CompiledConstraints):
    for _name, _method in {**vars(Batch), **vars(_compiled.__base__)}.items():
        if not _name.startswith("_") and inspect.isfunction(_method) and _name not in vars(_compiled):
            setattr(_compiled, _name, _of_batch(_name))


def compiled(system: System) -> None:
    """Put compiled batches in the place of those that can be recorded."""
    samples, names = Samples(system, LEAST), list[str]()
    for batches in (system.batches, system.constraint_batches):
        every: list[Any] = batches
        for k, batch in enumerate(every):
            try:
                every[k] = samples.compiled(batch)
                names += [type(owner).__name__ for owner in batch.owners[:1]]
            except CannotRecordError as reason:
                LOG.debug("%s stays NumPy: %s", type(batch).__name__, reason)
    system.compiled = tuple(dict.fromkeys(names))


class Samples:
    """What batches of a system are recorded with and compared on: it in some motion near where it was built."""

    def __init__(self, system: System, least: int = 0) -> None:
        self.system, self.motions = system, Motions(system, least)

    @cached_property
    def sample(self) -> Motion:
        """The motion that batches are recorded in."""
        return self._motion(1)

    @cached_property
    def other(self) -> Motion:
        """The motion that they are compared in."""
        return self._motion(2)

    @cached_property
    def rates(self) -> list[RateSensitivities]:
        """How velocities and accelerations follow."""
        blocks = np.random.default_rng(3).normal(size=(2, 6, 6))
        blocks[:, 3:, :3] = 0.0
        nodes = self.system.n, 6, 6
        return [RateSensitivities(np.broadcast_to(block, nodes), np.ones(self.system.k)) for block in blocks]

    def compiled(self, batch: ElementBatch | ConstraintBatch) -> CompiledElements | CompiledConstraints:
        """A compiled batch, or :class:`CannotRecordError`."""
        compiled = CompiledConstraints if isinstance(batch, ConstraintBatch) else CompiledElements
        try:
            result: CompiledElements | CompiledConstraints = compiled(batch, self)  # type: ignore[arg-type]
        except CannotRecordError:
            raise
        except Exception as error:  # whatever code makes of numbers that it was not written for
            raise CannotRecordError(f"{type(error).__name__}: {error}") from error
        if result.kind not in _COMPARED:
            if not self.difference(batch, result, self.other) <= AGREES:
                raise CannotRecordError("the recorded line does something else")
            _COMPARED.add(result.kind)
        return result

    def difference(self, batch: Any, other: Any, motion: Motion) -> float:
        """The largest difference of what two batches return, over its size."""
        results: list[tuple[Array | None, ...]] = []
        for one in (batch, other):
            if isinstance(batch, ConstraintBatch):
                phi, B, context = one.evaluate(motion, None)
                multipliers, V = np.sin(np.arange(len(phi))), np.cos(np.arange(float(len(batch.nodes) * B.shape[1])))
                rates = one.rate_gradient(context, V.reshape(-1, B.shape[1]))
                results.append((phi, B, one.stiffness(context, multipliers), rates))
            else:
                force, context = one.force(motion, None)
                tangent = one.tangent(context, *self.rates)
                changes = np.cos(np.arange(3.0 * tangent[..., 0].size)).reshape(3, *tangent.shape[:2])
                results.append((force, tangent, one.rate_force(context, *changes), one.mass(context)))
        return max(_difference(*pair) for pair in zip(*results, strict=True))

    def _motion(self, seed: int) -> Motion:
        system, normal = self.system, np.random.default_rng(seed).normal
        rest, several = system.at_rest(), np.arange(system.n) % SOME
        some = min(system.n, SOME)
        x = rest.x + SHAKEN * system.length * normal(size=(some, 3))[several]
        turns = so3.exp(SHAKEN * normal(size=(some, 3)))
        V, A = normal(size=(2, some, 6))[:, several]
        u, udot, uddot = SHAKEN * normal(size=(3, system.k)) + [rest.u, rest.udot, rest.uddot]
        return Motion(0.5, x, rest.R @ turns[several], V, A, rest.gravity, u, udot, uddot, normal(size=system.m))


def _difference(one: Array | None, other: Array | None) -> float:
    if one is None or other is None:
        return 0.0 if one is other else np.inf
    if one.shape != other.shape:
        return np.inf
    size = float(np.abs(one).max(initial=0.0))
    return float(np.abs(one - other).max(initial=0.0)) / size if size else float(np.abs(other).max(initial=0.0))
