"""Batches whose forces, tangents and constraint rows are compiled: recorded for one cell, run for all.

A compiled batch stands in the place of a batch of a system. Where a cell goes another way than the recorded one (a
branch at a large angle), or something is asked that is not compiled, the batch itself answers.
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from sys import getrefcount
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled import one_cell as at
from fem_mbs.compiled.machine import kernel, lanes
from fem_mbs.compiled.one_cell import OneCell, rows_in_order
from fem_mbs.compiled.tape import CannotRecordError, recording
from fem_mbs.contracts import Batch, ConstraintBatch, ElementBatch, Motion, RateSensitivities
from fem_mbs.lie import so3
from fem_mbs.system.system import System

LOG = logging.getLogger("fem_mbs")
AGREES = 1e-12
"""Largest difference from NumPy's results, over their size, with which a kernel is taken."""
COPIED = 4096
"""Largest number of entries of an array that is sooner copied than its address found."""
LEAST = 2000
"""Fewest operations of all cells in an evaluation with which a kernel is faster than NumPy."""
SHAKEN = 0.01
"""How far from where it was built a model is recorded: shares of its extent, and rad."""
RECORDED = "fem_mbs.lie", "fem_mbs.elements", "fem_mbs.contracts"
_PROGRAMS: dict[Any, list[str]] = {}
"""LLVM text by the kind of a batch."""
_COMPARED = set[Any]()
"""Kinds whose kernels do what NumPy does: numbers are all that batches of a kind differ in."""


def address(array: Array | IntArray) -> int:
    """Where an array lies."""
    return array.__array_interface__["data"][0]


def unheld(arrays: list[Array]) -> list[int]:
    """Which arrays of a list nobody else holds, nor a view of them: memory that can be used again.

    New memory costs as much as what kernels do in it: the system clears it page by page.
    """
    return [k for k in range(len(arrays)) if _references(arrays, k) == _ALONE]


def _references(arrays: list[Array], k: int) -> int:
    return getrefcount(arrays[k])


_ALONE = _references([np.zeros(1)], 0)


class Addresses:
    """Where arrays lie, for kernels. Small ones are copied to where one has been before, which is faster."""

    def __init__(self, size: int) -> None:
        self.addresses = np.zeros(size, np.intp)
        self._arrays, self._small = dict[int, Any](), dict[int, Any]()
        self.pointer = int(self.addresses.ctypes.data)

    def __setitem__(self, place: int, array: Array | IntArray) -> None:
        known = self._small.get(place)
        if known is not None and known.shape == array.shape:
            known[...] = array
        elif array.size <= COPIED:
            self._small[place] = array = np.array(array, order="C")  # type: ignore[assignment]
            self.at(place, array)
        else:
            self._small.pop(place, None)
            self.at(place, np.ascontiguousarray(array))  # type: ignore[arg-type]

    def at(self, place: int, array: Array | IntArray) -> None:
        """Have kernels work on an array itself."""
        self._arrays[place] = array
        self.addresses[place] = address(array)


class Arrays:
    """The arrays of a model that its kernels read: a motion, and how rates follow increments."""

    def __init__(self, system: System, least: int) -> None:
        self.least = least
        self.addresses = Addresses(at.SHARED)
        self._own, self._read, self._t = bool(system.k), bool(system.readers), np.zeros(1)
        self.addresses.at(at.T, self._t)
        self._motion: Motion | None = None
        self._rates: list[RateSensitivities | None] = [None, None]

    def take(self, motion: Motion) -> None:
        """Have kernels read a motion."""
        if self._motion is motion:
            return
        here, inertial = self.addresses, motion.momentum or motion
        self._t[0] = motion.t
        here[at.X], here[at.R], here[at.V], here[at.A] = motion.x, motion.R, motion.V, motion.A
        here[at.INERTIAL_V], here[at.GRAVITY] = inertial.V, motion.gravity
        if self._read:
            here[at.MULTIPLIERS] = motion.multipliers
        if self._own:
            here[at.U], here[at.UDOT], here[at.UDDOT] = motion.u, motion.udot, motion.uddot
            here[at.INERTIAL_UDOT] = inertial.udot
        self._motion = motion

    def take_rates(self, *rates: RateSensitivities) -> None:
        """Have kernels read how velocities, and accelerations, follow."""
        for k, follow in enumerate(rates):
            if self._rates[k] is not follow:
                self._rates[k] = follow
                self.addresses[at.DV + 2 * k] = follow.nodes
                if self._own:
                    self.addresses[at.DV_OWN + 2 * k] = follow.own


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
    """Kernels of a batch and the arrays they work on."""

    def __init__(
        self,
        batch: ElementBatch | ConstraintBatch,
        arrays: Arrays,
        recorder: OneCell,
        programs: list[str],
        *results: Sequence[tuple[int, ...]],
    ) -> None:
        self.n, self.arrays = len(batch.nodes), arrays
        self.addresses = here = Addresses(at.PARAMETERS - at.SHARED + len(recorder.parameters))
        self.guard = np.zeros(1, np.int64)
        here.at(0, self.guard)
        self[at.NODES] = batch.nodes.astype(np.int64)
        if batch.own is not None:
            self[at.OWN] = batch.own.astype(np.int64)
        if isinstance(batch, ElementBatch) and batch.reads is not None:
            self[at.READS] = batch.reads.astype(np.int64)
        for k, value in enumerate(recorder.parameters):
            self[at.PARAMETERS + k] = value
        if self.n * programs[0].count(" = f") < arrays.least:
            raise CannotRecordError("it is so small that NumPy is as fast")
        self.kernels = [partial(kernel(text), self.n, arrays.addresses.pointer, here.pointer) for text in programs]
        self._results = [[np.empty(shape) for shape in own] for own in results]
        for k, own in enumerate(self._results):
            for place in range(len(own)):
                self._write(k, place)
        self._small = [all(result.size <= COPIED for result in own) for own in self._results]

    def __setitem__(self, place: int, array: Array) -> None:
        self.addresses[place - at.SHARED] = array

    def run(self, k: int) -> list[Array] | None:
        """The results of a kernel; None if a cell went another way than the recorded one."""
        results = self._results[k]
        if not self._small[k] and len(free := unheld(results)) < len(results):
            for place in set(range(len(results))).difference(free):
                results[place] = np.empty(results[place].shape)
                self._write(k, place)
        self.kernels[k]()
        if self.guard[0]:
            self.guard[0] = 0
            return None
        return [result.copy() for result in results] if self._small[k] else results.copy()

    def answer(
        self, context: Any, k: int, rates: Sequence[RateSensitivities] = (), given: Sequence[Array | None] = ()
    ) -> Array | None:
        """The result of a kernel in the motion of a context; None where the batch itself has to answer."""
        if not isinstance(context, LaterContext):
            return None
        self.arrays.take(context.motion)
        self.arrays.take_rates(*rates)
        for place, array in enumerate(given, at.GIVEN):
            if array is not None:
                self[place] = array
        results = self.run(k)
        return results[0] if results else None

    def _write(self, k: int, place: int) -> None:
        """Have a kernel write a result where the array for it is."""
        self.addresses.addresses[at.RESULT - at.SHARED + 2 * k + place] = address(self._results[k][place])


class CompiledElements(ElementBatch):
    """A batch of elements whose ``force``, ``tangent`` and ``rate_force`` are compiled."""

    def __init__(self, batch: ElementBatch, samples: Samples) -> None:
        if batch.kinked or type(batch).at is not ElementBatch.at:
            raise CannotRecordError("its law has kinks" if batch.kinked else "it depends on time")
        self.batch = batch
        self.nodes, self.own, self.owners, self.reads = batch.nodes, batch.own, batch.owners, batch.reads
        self.terms, self.kinked, self.damps = batch.terms, batch.kinked, batch.damps
        recorder = OneCell(batch)
        self.kind = recorder.kind
        b = 6 * self.nodes.shape[1] + (0 if self.own is None else self.own.shape[1])
        programs = _PROGRAMS.get(recorder.kind)
        if programs is None:
            cell = recorder.cell
            force, context = cell.force(recorder.motion(samples.sample), None)
            dV = recorder.sensitivities("dV", at.DV, at.DV_OWN, samples.rates[0])
            dA = recorder.sensitivities("dA", at.DA, at.DA_OWN, samples.rates[0])
            product = cell.rate_force(context, *(recorder.given(k, b) for k in range(3)))
            results = [force, cell.tangent(context, dV, dA), *([] if product is None else [product])]
            programs = [recorder.program(lanes(), k, result) for k, result in enumerate(results)]
            _PROGRAMS[recorder.kind] = programs
        force_shape, n = (len(self.nodes), self.terms, b) if self.terms > 1 else (len(self.nodes), b), len(self.nodes)
        self._compiled = _Compiled(batch, samples.arrays, recorder, programs, [force_shape], [(n, b, b)], [(n, b)])

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Any]:
        compiled = self._compiled
        compiled.arrays.take(motion)
        if (results := compiled.run(0)) is None:
            return self.batch.force(motion, prescribed)
        return results[0], LaterContext(motion, lambda: self.batch.force(motion, prescribed)[1])

    def tangent(self, context: Any, dV: RateSensitivities, dA: RateSensitivities) -> Array:
        result = self._compiled.answer(context, 1, (dV, dA))
        return self.batch.tangent(resolved(context), dV, dA) if result is None else result

    def rate_force(self, context: Any, dV: Array, dA: Array, inertial: Array) -> Array | None:
        if len(self._compiled.kernels) < 3:
            return None
        result = self._compiled.answer(context, 2, (), (dV, dA, inertial))
        return self.batch.rate_force(resolved(context), dV, dA, inertial) if result is None else result


class CompiledConstraints(ConstraintBatch):
    """A batch of constraints whose ``evaluate``, ``stiffness`` and derivatives of rates are compiled."""

    def __init__(self, batch: ConstraintBatch, samples: Samples) -> None:
        self.batch, n = batch, len(batch.nodes)
        self.nodes, self.own, self.owners, self.cell = batch.nodes, batch.own, batch.owners, batch.cell
        self.length, self.velocity, self.geometric_blocks = batch.length, batch.velocity, batch.geometric_blocks
        if batch.driven or type(batch).at is not ConstraintBatch.at:
            raise CannotRecordError("it depends on time")
        if batch.geometric_blocks is not None or not rows_in_order(batch.cell, n):
            raise CannotRecordError("its constraints have different equations")
        recorder, each = OneCell(batch), len(batch.cell) // n
        self.kind = recorder.kind
        b = 6 * self.nodes.shape[1] + (0 if self.own is None else self.own.shape[1])
        programs = _PROGRAMS.get(recorder.kind)
        if programs is None:
            cell = recorder.cell
            phi, B, context = cell.evaluate(recorder.motion(samples.sample).momentum, None)
            stiffness = cell.stiffness(context, recorder.given(0, each)[0])
            bent = cell.rate_gradient(context, recorder.given(1, b))
            dV = recorder.sensitivities("dV", at.DV, at.DV_OWN, samples.rates[0])
            cells, own = (
                np.arange(self.nodes.shape[1])[None],
                None if self.own is None else np.arange(len(dV.own))[None],
            )
            both = dV.after(B[None], cells, own)[0] + bent
            results = (phi, B), (stiffness,), (bent,), (both,)
            programs = [recorder.program(lanes(), k, *result) for k, result in enumerate(results)]
            _PROGRAMS[recorder.kind] = programs
        m = len(self.cell)
        shapes = [(m,), (m, b)], [(n, b, b)], [(m, b)], [(m, b)]
        self._compiled = _Compiled(batch, samples.arrays, recorder, programs, *shapes)

    def evaluate(self, motion: Motion, prescribed: Any) -> tuple[Array, Array, Any]:
        compiled = self._compiled
        compiled.arrays.take(motion)
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

    def rate_derivative(self, context: Any, V: Array, dV: RateSensitivities) -> Array | None:
        return self._compiled.answer(context, 3, (dV,), (None, V))


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
        self._system, self.arrays = system, Arrays(system, least)

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
        blocks = np.random.default_rng(3).normal(size=(2, self._system.n, 6, 6))
        blocks[:, :, 3:, :3] = 0.0
        return [RateSensitivities(nodes, np.ones(self._system.k)) for nodes in blocks]

    def compiled(self, batch: ElementBatch | ConstraintBatch) -> CompiledElements | CompiledConstraints:
        """A compiled batch, or :class:`CannotRecordError`."""
        own = type(batch).__module__
        modules = [module for name, module in list(sys.modules.items()) if name == own or name.startswith(RECORDED)]
        try:
            with recording(modules):
                compiled = CompiledConstraints if isinstance(batch, ConstraintBatch) else CompiledElements
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
                both = one.rate_derivative(context, V.reshape(-1, B.shape[1]), self.rates[0])
                if both is None:
                    own = None if one.own is None else one.own[one.cell]
                    both = rates + self.rates[0].after(B[:, None], one.nodes[one.cell], own)[:, 0]
                results.append((phi, B, one.stiffness(context, multipliers), rates, both))
            else:
                force, context = one.force(motion, None)
                tangent = one.tangent(context, *self.rates)
                changes = np.cos(np.arange(3.0 * tangent[..., 0].size)).reshape(3, *tangent.shape[:2])
                results.append((force, tangent, one.rate_force(context, *changes)))
        return max(_difference(*pair) for pair in zip(*results, strict=True))

    def _motion(self, seed: int) -> Motion:
        system, normal = self._system, np.random.default_rng(seed).normal
        rest = system.at_rest()
        x = rest.x + SHAKEN * system.length * normal(size=rest.x.shape)
        R = np.asarray(rest.R @ so3.exp(SHAKEN * normal(size=rest.x.shape)), float)  # while something is recorded, too
        V, A = normal(size=(2, *rest.V.shape))
        u, udot, uddot = SHAKEN * normal(size=(3, system.k)) + [rest.u, rest.udot, rest.uddot]
        return Motion(0.5, x, R, V, A, rest.gravity, u, udot, uddot, normal(size=system.m))


def _difference(one: Array | None, other: Array | None) -> float:
    if one is None or other is None:
        return 0.0 if one is other else np.inf
    if one.shape != other.shape:
        return np.inf
    size = float(np.abs(one).max(initial=0.0))
    return float(np.abs(one - other).max(initial=0.0)) / size if size else float(np.abs(other).max(initial=0.0))
