"""A system as a program: equations of all of it, recorded for one cell of each kind.

Code of the engine runs as it is on a :class:`RecordedSystem`, of one node and one constraint equation, whose methods
gather what cells of batches need, and sum what these return.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled import band, batches
from fem_mbs.compiled.band import CompiledBand
from fem_mbs.compiled.emit import CellRows, Sink
from fem_mbs.compiled.one_cell import BatchCells, Untouchable
from fem_mbs.compiled.program import EQUATIONS, NODES, Program, Statement
from fem_mbs.compiled.tape import CannotRecordError, Number, extreme, recording, sample_of
from fem_mbs.contracts import ConstraintBatch, ElementBatch, Motion, RateSensitivities, State, StepEnd
from fem_mbs.linear.solvers import DENSE_SIZE, Factors
from fem_mbs.system import matrices
from fem_mbs.system.kinematics import SingleGroup
from fem_mbs.system.pattern import TINY, components
from fem_mbs.system.system import Evaluation, Prescribed, System

larger = partial(extreme, "larger")
ROOMS = tuple(f"fem_mbs.{room}." for room in ("lie", "contracts", "elements", "system", "linear", "alpha"))


class Alike(NamedTuple):
    """A batch whose cells are all alike, as it was made, whatever may stand in its place by now."""

    batch: Any
    equations: IntArray
    """Rows ``(n, each)`` of the equations of joints."""


class Whole:
    """A system whose steps are to be compiled."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.elements = [Alike(batch, np.empty((len(batch.nodes), 0), np.intp)) for batch in system.batches]
        self.joints = [own for batch in system.constraint_batches for own in _alike(system, batch)]
        self.lines: dict[type, Any] = {}
        """What has been compiled, by the class of the equations of a step."""

    def prescribed(self, t: float) -> list[Any]:
        """What depends on time alone, of all batches."""
        t = min(t, self.system.end)
        return [batch.at(t) if type(batch).at not in _NEVER else None for batch, _ in (*self.elements, *self.joints)]

    def give_up(self) -> None:
        """Compile kernels of single batches in place of whole steps."""
        self.system.whole = None
        if self.system.size <= DENSE_SIZE:
            batches.compiled(self.system)

    def took(self) -> None:
        """Say whose equations are compiled."""
        every = (owner for batch, _ in (*self.elements, *self.joints) for owner in batch.owners)
        self.system.compiled = tuple(dict.fromkeys(type(owner).__name__ for owner in every))


_NEVER = ElementBatch.at, ConstraintBatch.at


def _alike(system: System, batch: ConstraintBatch) -> Iterator[Alike]:
    """Joints with the same equations, which batches may have beside others."""
    kinds: dict[Any, list[Any]] = {}
    for joint in batch.owners:
        kinds.setdefault((type(joint), joint.equations, joint.driven), []).append(joint)
    for joints in kinds.values():
        rows = [system.constraint_rows(joint).rows for joint in joints]
        own = batch if len(kinds) == 1 else type(joints[0]).batch(joints, system.number)
        yield Alike(own, np.array([np.arange(part.start, part.stop) for part in rows]))


def numbers_of(data: Any) -> dict[str, Array]:
    """The arrays of what depends on time alone."""
    if data is None or isinstance(data, np.ndarray):
        return {} if data is None else {"": data}
    for name, value in vars(type(data)).items():
        if isinstance(value, cached_property):
            value.__get__(data)
            assert name in vars(data)
    parts = [(name, value if isinstance(value, tuple) else (value,)) for name, value in vars(data).items()]
    return {
        f"{name} {k}": own for name, several in parts for k, own in enumerate(several) if isinstance(own, np.ndarray)
    }


def whole(system: System) -> Whole | None:
    """A system whose steps may be compiled as a whole: its matrix has a compiled solver."""
    plain = isinstance(system.kinematics, SingleGroup) and not (system.k or system.watched or system.readers)
    if not plain or system.far or system.redundant is not None:
        return None
    return Whole(system) if isinstance(system.solver, CompiledBand) else None


def factors_at(place: int) -> Factors:
    """Factors that stand in an array of a program."""
    return Factors(None, (place,))  # type: ignore[arg-type]


class RecordedSystem(System):
    """One node and one equation of a system, with numbers on the tapes of a program for its parameters."""

    def __init__(self, whole: Whole, program: Program, prescribed: Sequence[Any]) -> None:
        own, self._program = whole.system, program
        vars(self).update({name: value for name, value in vars(own).items() if name != "workspace"})
        firsts = [batch.nodes[0] for batch, _ in (*whole.elements, *whole.joints)]
        equations = [rows[0] for _, rows in whole.joints]
        program.cells(own.n, np.unique(np.concatenate(firsts)) if firsts else np.zeros(1, np.intp))
        program.cells(own.m, np.sort(np.concatenate([np.empty(0, np.intp), *equations])))
        program.cells(0, np.empty(0, np.intp))
        self.kinematics = type(own.kinematics)()
        self.element_kinds = [BatchCells(program, *cells) for cells in whole.elements]
        self.joint_kinds = [BatchCells(program, *cells) for cells in whole.joints]
        self.n, self.N, self.m = 1, 6, min(own.m, 1)
        self.weight, self._free = self._of_nodes(own.weight), self._of_nodes(own.free.astype(float))
        self.constraint_mass, self.constraint_weight = np.empty((2, 0)), np.empty(0)
        if own.m:
            self.diagonal_mass = self._of_nodes(own.diagonal_mass)
            self.constraint_mass = program.given(EQUATIONS, own.constraint_mass.T).reshape(2, 1)
            self.constraint_weight = program.given(EQUATIONS, own.constraint_weight[:, None])
            vars(self)["velocity_level"] = program.given(EQUATIONS, own.velocity_level[:, None])
        self.gravity = program.uniform(own.gravity)
        vars(self)["solver"] = self
        first = len(program.arrays)
        given = [self._data(*pair) for pair in zip(self.element_kinds + self.joint_kinds, prescribed, strict=True)]
        self._given = Prescribed(given[: len(self.element_kinds)], given[len(self.element_kinds) :])
        self.given = slice(first, len(program.arrays))
        """The arrays of what is prescribed."""
        self._band(whole)
        program.kind += [own.damps, type(own.kinematics), own.m > 0, own.has_velocity_level]

    def _band(self, whole: Whole) -> None:
        """The arrays of the matrix."""
        program, own, solver = self._program, whole.system, whole.system.solver
        assert isinstance(solver, CompiledBand)
        order, seen, y = solver.arrays
        places = np.where(
            order < own.n_free, own.free_rows[np.minimum(order, own.n_free - 1)], own.N + order - own.n_free
        )
        self._order, self.seen, self._y = map(program.array, (places.astype(np.int64), seen, y))
        self.lu, self.first_lu = (program.array(np.zeros(1)) for _ in range(2))
        self._unknowns = program.count(solver.size)
        self._stride, self._middle = solver.stride, solver.middle
        beyond, self._places = solver.outside + 1, list[int]()
        for kind in (*self.element_kinds, *self.joint_kinds):
            cells = components(kind.batch, own.n)
            equations = [own.equation[cells], own.n_free + kind.equations]
            rows = np.concatenate(equations, axis=1)
            self._places.append(program.array(np.where(rows < 0, beyond, solver.place[rows]).astype(np.int64)))
        self._outside = program.array(np.array([solver.outside]))
        program.functions |= band.functions(solver.width)
        program.kind += [solver.width]

    def _of_nodes(self, values: Array) -> Array:
        return self._program.given(NODES, values.reshape(-1, 6))

    def _data(self, kind: BatchCells, data: Any) -> Any:
        """What depends on time alone, with numbers on the tape for its arrays."""
        given = {}
        for name, values in numbers_of(data).items():
            if values.dtype != float or len(values) != kind.n:
                raise CannotRecordError(
                    "what depends on time alone has other arrays than those with numbers of each cell"
                )
            self._program.kind.append(values.shape[1:])
            given[name] = self._program.given(kind.number, values)[None]
        if data is None or isinstance(data, np.ndarray):
            return given.get("")
        result = copy(data)
        for name, value in vars(data).items():
            own = tuple(array for key, array in given.items() if key.split()[0] == name)
            other = kind.cell if value is kind.batch else Untouchable(name)
            vars(result)[name] = own if isinstance(value, tuple) else own[0] if own else other
        return result

    # what the engine asks

    def prescribe(self, t: float, factor: float = 1.0) -> Prescribed:
        return self._given

    def accept(self, state: State) -> State:
        return state

    def evaluate(self, motion: Motion, multipliers: Array, prescribed: Prescribed) -> Evaluation:
        contexts, parts = list[Any](), list[Array]()
        for kind, data in zip(self.element_kinds, prescribed.elements, strict=True):
            force, context = kind.cell.force(kind.motion(motion), data)
            parts.append(force.reshape(-1, kind.b))
            contexts.append(context)
        inertial = motion.momentum or motion
        phis, gradients, joint_contexts = list[Array](), list[Array](), list[Any]()
        for kind, data in zip(self.joint_kinds, prescribed.constraints, strict=True):
            phi, B, context = kind.cell.evaluate(kind.motion(inertial), data)
            parts.append(kind.of_equations(multipliers)[:, None] * B)
            phis.append(phi if kind.cell.velocity is None else np.where(kind.cell.velocity, 0.0, phi))
            gradients.append(B)
            joint_contexts.append(context)
        residual, constraint = self._summed([*self.element_kinds, *self.joint_kinds], parts), self._of_equations(phis)
        scale = self._largest(parts, 0), self._largest(parts, 1)
        left = [self._largest([residual * self._free], column, least=0.0) for column in range(2)]
        relative = larger(left[0] / scale[0], left[1] / scale[1])
        velocity = inertial.V.reshape(-1)
        own = inertial, multipliers, residual, constraint, scale, np.empty(0), relative, contexts, gradients
        return Evaluation(*own, joint_contexts, velocity, phis)

    def velocity_residual(self, evaluation: Evaluation) -> Array:
        """See :func:`fem_mbs.system.matrices.velocity_residual`."""
        parts = []
        values = evaluation.gradients, evaluation.phi, evaluation.constraint_contexts
        for kind, B, phi, context in zip(self.joint_kinds, *values, strict=True):
            rate = matrices.given_rate(kind.cell, phi, context) if kind.cell.driven else 0.0
            parts.append(B @ kind.row(evaluation.velocity)[0] + rate)
        return self._of_equations(parts)

    def gradient_product(self, gradients: Sequence[Array], d: Array) -> Array:
        """See :func:`fem_mbs.system.matrices.gradient_product`."""
        pairs = zip(self.joint_kinds, gradients, strict=True)
        return self._of_equations([B @ kind.row(d)[0] for kind, B in pairs])

    def velocity_derivatives(self, evaluation: Evaluation, dV: RateSensitivities, factor: Any) -> list[Array]:
        """See :func:`fem_mbs.system.matrices.velocity_derivatives`."""
        result = []
        values = evaluation.gradients, evaluation.constraint_contexts
        for kind, B, context in zip(self.joint_kinds, *values, strict=True):
            moved = kind.after(B, dV) + kind.cell.rate_gradient(context, kind.row(evaluation.velocity))
            if kind.cell.driven:
                moved = moved + matrices.given_rate_gradient(kind.cell, context)
            result.append(factor * moved)
        return result

    def rate_product(self, evaluation: Evaluation, dV: Array, dA: Array, inertial: Array | None = None) -> Array:
        """See :func:`fem_mbs.system.matrices.rate_product`."""
        kinds, parts = list[BatchCells](), list[Array]()
        for kind, context in zip(self.element_kinds, evaluation.contexts, strict=True):
            changes = map(kind.row, (dV, dA, dV if inertial is None else inertial))
            if (force := kind.cell.rate_force(context, *changes)) is not None:
                kinds.append(kind)
                parts.append(force)
        return self._summed(kinds, parts)

    def entries(self, equations: Any, unknown: Any, residual: Any) -> tuple[Any, Array, RateSensitivities]:
        """Of the iteration matrix, as :func:`fem_mbs.alpha.step.exact_entries`: those of a cell of each kind."""
        T_inv, dV, dA = equations.derivatives(residual)
        own, h2 = residual.evaluation, equations.h**2
        blocks = [
            h2 * kind.cell.tangent(context, kind.follow(dV), kind.follow(dA))
            for kind, context in zip(self.element_kinds, own.contexts, strict=True)
        ]
        blocks += [
            h2 * kind.cell.stiffness(context, kind.of_equations(own.multipliers))
            for kind, context in zip(self.joint_kinds, own.constraint_contexts, strict=True)
        ]
        rows = own.gradients
        if self.has_velocity_level:
            moving = zip(self.joint_kinds, self.velocity_derivatives(own, dV, equations.h), rows, strict=True)
            rows = [
                B if (level := kind.cell.velocity) is None else np.where(level[:, None], derivative, B)
                for kind, derivative, B in moving
            ]
        return [*blocks, *rows, *own.gradients], T_inv, dV

    def factorized(self, entries: list[Array]) -> Factors:
        """The matrix of these entries, as its own solver."""
        program, sinks = self._program, list[Sink]()
        every, joints = (
            [*zip((*self.element_kinds, *self.joint_kinds), self._places, strict=True)],
            len(self.joint_kinds),
        )
        kinds = [*every, *(2 * every[len(every) - joints :])]
        for number, ((kind, table), values) in enumerate(zip(kinds, entries, strict=True)):
            width, tape = kind.b + kind.equations.shape[1], program.tapes[kind.number]
            for (i, j), value in np.ndenumerate(values.reshape(-1, kind.b)):
                row, column = (i, j) if number < len(every) else (kind.b + i, j)
                if number >= len(every) + joints:
                    row, column = column, row
                if isinstance(value, Number) or value:
                    of_column = CellRows(self.lu, self._stride, (table, width, column))
                    of_row = CellRows(self.lu, 1, (table, width, row))
                    place = tape.number_of(value)
                    further, cleared = (of_row, self._outside), (self._unknowns, self._stride + 1)
                    sinks.append(Sink(kind.number, of_column, [(self._middle, place)], "fadd", further, cleared))
        self.matrix = program.made(self.lu, sinks, [Statement("factor", self._unknowns, [self.lu, self.seen])])
        return factors_at(self.lu)

    def solve(self, factors: Factors, force: Array | None, constraint: Array | None) -> tuple[Array, Array]:
        """See :func:`fem_mbs.system.matrices.solve_with_constraints`."""
        program, shapes = self._program, [(NODES, 6), (EQUATIONS, 1)]
        b, x = program.rows(*shapes), program.rows(*shapes)
        sinks = [] if force is None else [program.sink(NODES, b, force)]
        sinks += [] if constraint is None else [program.sink(EQUATIONS, b + 1, constraint)]
        (lu,) = factors.arrays
        arrays: list[Any] = [lu, self._order, b, x, self._y]
        both = program.made(x, sinks, [Statement("solve", self._unknowns, arrays)])
        d = program.outcome(NODES, x, 6)
        if not self.m:
            return d, np.empty(0)
        program.makers[x + 1] = both
        return d, program.outcome(EQUATIONS, x + 1, 1)

    def check_end(self, before: float, t: float, R: Array, u: Array, multipliers: Array) -> None:
        for kind in self.joint_kinds:
            if isinstance(kind.batch, ConstraintBatch) and type(kind.batch).astray is not ConstraintBatch.astray:
                own = kind.gathered(R), u, kind.of_equations(multipliers)
                kind.cell.astray(StepEnd(before, t, *own, slice(0, kind.each)))

    # from kind to kind

    def _summed(self, kinds: Sequence[BatchCells], parts: Sequence[Array]) -> Array:
        """Forces on the nodes."""
        program, residual = self._program, self._program.rows((NODES, 6))
        sinks = []
        for kind, values in zip(kinds, parts, strict=True):
            p = kind.b // 6
            for j, force in enumerate(values.reshape(-1, p, 6).sum(axis=0)):
                sink = program.sink(kind.number, residual, force, (kind.tables[NODES], p, j))
                sinks.append(sink._replace(how="fadd", cleared=(NODES, 6)))
        program.made(residual, sinks)
        return program.outcome(NODES, residual, 6)

    def _of_equations(self, parts: Sequence[Array]) -> Array:
        """Values of the equations of all joints."""
        if not self.m:
            return np.empty(0)
        program, tape = self._program, self._program.tapes[EQUATIONS]
        array, sinks, samples = program.rows((EQUATIONS, 1)), list[Sink](), np.zeros((len(tape.sampled), 1))
        for kind, values in zip(self.joint_kinds, parts, strict=True):
            for k, value in enumerate(values):
                sinks.append(program.sink(kind.number, array, value, (kind.tables[EQUATIONS], kind.each, k)))
            rows = kind.equations[0]
            samples[np.searchsorted(tape.sampled, rows), 0] = [float(np.ravel(sample_of(value))[0]) for value in values]
        program.made(array, sinks)
        return program.outcome(EQUATIONS, array, 1, samples)

    def _largest(self, parts: Sequence[Array], column: int, least: float = TINY) -> Any:
        """The largest single force, or moment."""
        sizes = []
        for values in parts:
            every: list[Any] = values.reshape(-1, 2, 3)[:, column].ravel().tolist()
            own = [value._apply("fabs") for value in every if isinstance(value, Number)]
            if own:
                sizes.append(self._program.over_all(reduce(larger, own), "larger"))
        return reduce(larger, sizes, least)


@contextmanager
def recorded(whole: Whole) -> Iterator[None]:
    """Have code of the engine, and that of the parts of a system, run on numbers on a tape."""
    own = {type(batch).__module__ for batch, _ in (*whole.elements, *whole.joints)}
    of_system = [
        (matrices.gradient_product, RecordedSystem.gradient_product),
        (matrices.velocity_residual, RecordedSystem.velocity_residual),
        (matrices.velocity_derivatives, RecordedSystem.velocity_derivatives),
        (matrices.rate_product, RecordedSystem.rate_product),
        (matrices.solve_with_constraints, RecordedSystem.solve),
    ]
    modules = [module for name, module in list(sys.modules.items()) if name in own or name.startswith(ROOMS)]
    with recording(modules, of_system):
        yield
