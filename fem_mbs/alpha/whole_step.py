"""Steps of small systems in a few calls: the equations of a step as compiled lines (``fem_mbs.compiled.whole``).

:class:`StepLines` records the methods of :class:`~fem_mbs.alpha.step.StepEquations` once, for one system or for copies
of it side by side, and :class:`CompiledStep` calls what has been compiled of them: the residual, the iteration matrix
with its factors, the correction, and the update are one call each. Where a line has been recorded for another branch,
the whole step is NumPy's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.alpha.newmark import Newmark
from fem_mbs.alpha.step import Linearization, StepEquations, StepResidual, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.compiled.elimination import Elimination
from fem_mbs.compiled.tape import CannotRecordError, Number
from fem_mbs.compiled.whole import Lines, RecordedSystem, Whole, recorded
from fem_mbs.contracts import Report, State
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import Iterate, Newton
from fem_mbs.system.system import Evaluation

LOG = logging.getLogger("fem_mbs")
SHAKEN = 1e-4
"""How far from uniform motion a step is recorded."""
AGREES = 1e-7
"""Largest difference of increments from NumPy's, over the correction, with which lines are taken."""


class OtherBranchError(Exception):
    """A line has been recorded for another branch than that of a trial."""


class WholeUnknowns(NamedTuple):
    """The unknowns of a step, a row for each copy: increments, multipliers, and what the formulation has beyond."""

    rows: Array
    step: CompiledStep
    eta: Array = np.empty(0)

    @property
    def D(self) -> Array:  # noqa: N802
        """The increment ``(N,)``."""
        return self.rows[:, : self.step.whole.one.N].reshape(-1)

    @property
    def multipliers(self) -> Array:
        """``(m,)``."""
        one, result = self.step.whole.one, np.empty(self.step.system.m)
        result[self.step.whole.equations] = self.rows[:, one.N : one.N + one.m]
        return result

    def plain(self) -> Unknowns:
        """The same for NumPy."""
        if not self.step.closes_velocities:
            return Unknowns(self.D, self.multipliers)
        one = self.step.whole.one
        Z = self.rows[:, one.N + one.m : -1].reshape(-1)
        return Unknowns(self.D, self.multipliers, Z, inertia_share=float(self.rows[:, -1].max()))


class WholeResidual:
    """A trial of which the sizes alone have been computed."""

    def __init__(self, unknown: WholeUnknowns, size: tuple[float, float]) -> None:
        self.unknown, self.size = unknown, size

    @cached_property
    def plain(self) -> StepResidual:
        """All of it, by NumPy."""
        return self.unknown.step.plain.evaluate(self.unknown.plain())

    @property
    def evaluation(self) -> Evaluation:
        """The equations there."""
        return self.plain.evaluation


class WholeLinearization:
    """A matrix and its factors as kernels write and read them."""

    def __init__(self, arrays: list[Array], residual: WholeResidual, first: WholeLinearization | None) -> None:
        self.rows, *self._matrix = arrays
        self._residual, self._first = residual, first

    @property
    def first(self) -> WholeLinearization:
        """The first one of the step."""
        return self if self._first is None else self._first

    @property
    def kept(self) -> tuple[Array, ...] | None:
        """What a later step needs of it: inverse tangent operators, and the matrix; None of copies side by side."""
        if not self._matrix:
            return None
        values, T_inv = self._matrix
        return T_inv.reshape(-1, 6, 6), values[0]

    @property
    def factors(self) -> Factors:
        """The factorised matrix, by NumPy."""
        step, kept = self._residual.unknown.step, self.kept
        if kept is None:
            return step.plain.linearize(self._residual.unknown.plain(), self._residual.plain).factors
        return step.solver(step.system).restore(kept[1:])


class WholeCorrection(NamedTuple):
    """A correction, by the unknowns after it."""

    after: Array
    length: float
    simplified: bool


class CompiledStep(StepEquations):
    """The equations of one step; what is not compiled of them is that of ``plain``."""

    def __init__(self, whole: Whole, lines: StepLines, plain: StepEquations) -> None:
        vars(self).update(vars(plain))
        self.whole, self.plain, self.lines = whole, plain, lines
        self.closes_velocities = plain.closes_velocities  # type: ignore[misc]
        lines.given(plain)

    def solve(self, D: Array, multipliers: Array, newton: Newton, **given: Any) -> Any:
        try:
            return super().solve(D, multipliers, newton, **given)
        except OtherBranchError:
            vars(self).update(update=self.plain.update)
            return self.plain.solve(D, multipliers, newton, **given)

    def predict(self, D: Array, multipliers: Array) -> Any:
        whole, one = self.whole, self.whole.one
        rows = np.zeros((whole.copies, self.lines.width))
        rows[:, : one.N] = D.reshape(whole.copies, -1)
        rows[:, one.N : one.N + one.m] = multipliers[whole.equations]
        return WholeUnknowns(rows, self)

    def evaluate(self, unknown: Any) -> Any:
        return WholeResidual(unknown, self.lines.size_of(unknown.rows))

    def size(self, residual: Any) -> tuple[float, float]:
        return residual.size  # type: ignore[no-any-return]

    def linearize(self, unknown: Any, residual: Any, first: Any = None) -> Any:
        return WholeLinearization(self.lines.matrix_of(unknown.rows), residual, first)

    def correction(self, unknown: Any, residual: Any, linearization: Any) -> Any:
        after, length = self.lines.correction_of(unknown.rows, linearization.rows, linearization.first.rows)
        return WholeCorrection(after, length, self.lines.simplified)

    def length(self, correction: Any) -> float:
        return correction.length  # type: ignore[no-any-return]

    def corrected(self, unknown: Any, residual: Any, linearization: Any, correction: Any, step_length: float) -> Any:
        if step_length == 1.0:
            return WholeUnknowns(correction.after, self)
        return WholeUnknowns(unknown.rows + step_length * (correction.after - unknown.rows), self)

    def update(self, solution: Iterate[Any, Any, Any]) -> tuple[State, Array]:
        n, state = self.system.n, self.state
        try:
            x, R, v, vdot, a = self.lines.update_of(solution.unknown.rows)
        except OtherBranchError:
            solution = Iterate(solution.unknown.plain(), solution.value, None, solution.report, corrected=True)
            return self.plain.update(solution)
        x, R, v, vdot = x.reshape(n, 3), R.reshape(n, 3, 3), v.reshape(n, 6), vdot.reshape(n, 6)
        new = State(self.t, x, R, v, vdot, solution.unknown.multipliers, state.u, state.udot, state.uddot)
        return self.system.accept(new), a.reshape(-1)


def compiled_step(equations: StepEquations, whole: Whole) -> StepEquations:
    """The equations of a step with what is compiled of them, or as they are."""
    kind = type(equations)
    if kind not in whole.lines:
        try:
            if whole.system.redundant is not None:
                raise CannotRecordError("constraints repeat each other")
            lines = StepLines(whole, equations)
            whole.lines[kind] = lines
            _compare(CompiledStep(whole, lines, equations))
        except Exception as error:  # whatever code makes of numbers that it was not written for
            LOG.debug("steps are not compiled as a whole: %s: %s", type(error).__name__, error)
            whole.give_up()
            return equations
        whole.took()
    return CompiledStep(whole, whole.lines[kind], equations)


def _compare(step: CompiledStep) -> None:
    """Refuse lines whose first correction is not that of NumPy."""
    system, plain = step.system, step.plain
    unknown = step.predict(step.formulas.guess + SHAKEN * np.cos(np.arange(system.N)), step.state.multipliers)
    residual = step.evaluate(unknown)
    matrix = step.linearize(unknown, residual)
    after = step.corrected(unknown, residual, matrix, step.correction(unknown, residual, matrix), 1.0).plain()
    before = unknown.plain()
    matrix = plain.linearize(before, residual.plain)
    correction = plain.correction(before, residual.plain, matrix)
    expected = plain.corrected(before, residual.plain, matrix, correction, 1.0)
    for own, there, start in ((after.D, expected.D, before.D), (after.Z, expected.Z, before.Z)):
        if not np.abs(own - there).max(initial=0.0) <= AGREES * np.abs(there - start).max(initial=0.0):
            raise CannotRecordError("the recorded lines do something else")


class Recording(NamedTuple):
    """What has been recorded of the steps of a kind of systems: the same for all numbers in them."""

    programs: list[str]
    """Of the residual, the matrix, the correction and the update."""
    stored: int
    """Numbers that the correction needs of the matrix."""
    lengths: list[tuple[int, ...]]
    """Of the results of each."""
    simplified: bool
    """Whether corrections leave something out."""


_RECORDINGS: dict[Any, Recording] = {}


class StepLines:
    """The lines of one formulation for the numbers of a system, and their kernels."""

    def __init__(self, whole: Whole, equations: StepEquations) -> None:
        one = whole.one
        self.width = 2 * one.N + one.m + 1
        lines = Lines(whole.copies, recorded=False)
        system = RecordedSystem(whole, lines, equations.prescribed)
        kind = type(equations), *lines.kind
        self.places, made = [len(lines.arrays)], _RECORDINGS.get(kind)
        if made is None:
            with recorded(whole.system):
                made = _RECORDINGS[kind] = _record(whole, equations)
        _inputs(lines, whole, equations)
        of_size, of_matrix = (lines.results(*lengths) for lengths in made.lengths[:2])
        self._written, self._read = of_matrix.start, len(lines.arrays)
        for _ in range(2):
            lines.input(np.zeros((whole.copies, made.stored)))
        results = of_size, of_matrix, *(lines.results(*lengths) for lengths in made.lengths[2:])
        self._lines, self.simplified, first = lines, made.simplified, system.given.stop
        self._size, self._matrix, self._correction, self._update = lines.kernels(made.programs)
        self._numbers, self._x, self._R, *self._constants, self._unknown = lines.arrays[first : first + 7]
        self._prescribed = lines.arrays[system.given]
        (self._sizes,), self._stored, (self._after, self._length), self._new = (lines.arrays[own] for own in results)

    def given(self, step: StepEquations) -> None:
        """Have kernels read what a step begins with."""
        numbers, state = self._numbers, step.state
        numbers[0], numbers[1] = step.t, step.h
        numbers[2:] = step.formulas.factors[:, 0]
        self._x.reshape(-1)[:] = state.x.reshape(-1)
        self._R.reshape(-1)[:] = state.R.reshape(-1)
        for own, constants in zip(self._constants, step.formulas.constants, strict=True):
            own.reshape(-1)[:] = constants
        if self._prescribed:
            data = (data for every in step.prescribed for data in every if data is not None)
            for own, values in zip(self._prescribed, data, strict=True):
                own[...] = values.reshape(own.shape)

    def size_of(self, unknown: Array) -> tuple[float, float]:
        """Relative residuals of forces and constraints, the largest of all copies."""
        self._run(self._size, unknown)
        force, constraint = (self._sizes[0] if len(self._sizes) == 1 else self._sizes.max(axis=0)).tolist()
        return force, constraint

    def matrix_of(self, unknown: Array) -> list[Array]:
        """What the correction needs of the factorised matrix; of one copy the matrix, and inverse tangent operators."""
        stored, *others = self._stored
        result = np.empty_like(stored)
        self._lines.put(self._written, result)
        self._run(self._matrix, unknown)
        return [result, *(array.copy() for array in others)]

    def correction_of(self, unknown: Array, matrix: Array, first: Array) -> tuple[Array, float]:
        """The unknowns after a correction, and the length of it."""
        self._lines.put(self._read, matrix)
        self._lines.put(self._read + 1, first)
        self._run(self._correction, unknown)
        return self._after.copy(), float(np.maximum.reduce(self._length, axis=None))

    def update_of(self, unknown: Array) -> list[Array]:
        """Places, rotations, velocities, accelerations and algorithmic ones at the end of the step."""
        self._run(self._update, unknown)
        return [array.copy() for array in self._new]

    def _run(self, kernel: Callable[[], bool], unknown: Array) -> None:
        self._unknown[...] = unknown
        if not kernel():
            raise OtherBranchError


def _inputs(lines: Lines, whole: Whole, equations: StepEquations) -> tuple[Unknowns, State, Newmark, Any]:
    """The unknowns, and what a step begins with: near where the model is built, so that the same is recorded always."""
    one, c, system, formulas = whole.one, whole.copies, whole.system, equations.formulas
    v = system.kinematics.from_body(system.R0, system.velocities).reshape(c, -1)
    shaken, none, cut = np.random.default_rng(1), np.empty(0), one.N + one.m
    t, h, *factors = lines.input(np.array([equations.t, equations.h, *formulas.factors[:, 0]]), uniform=True)
    places = [lines.input(a.reshape(c, one.n, *a.shape[1:])) for a in (system.x0, system.R0)]
    rates = zip((1.0, 0.0, 0.0), formulas.factors[:, 0], strict=True)
    constants = np.stack([lines.input((own - factor * equations.h) * v) for own, factor in rates])
    rows = SHAKEN * shaken.normal(size=(c, cut + one.N + 1))
    rows[:, : one.N] += equations.h * v
    D, multipliers, Z, share = np.split(lines.input(rows), [one.N, cut, cut + one.N])
    unknown = Unknowns(D, multipliers)
    if equations.closes_velocities:
        unknown = Unknowns(D, multipliers, Z, inertia_share=share[0])
    x, R = places
    moving = State(t, x, R, none, none, none, none, none, none)
    return unknown, moving, Newmark(np.array(factors)[:, None], constants, none), h


def _record(whole: Whole, equations: StepEquations) -> Recording:
    """The methods of the equations on a tape, one after the other."""
    one, lines = whole.one, Lines(whole.copies, recorded=True)
    system = RecordedSystem(whole, lines, equations.prescribed)
    unknown, state, formulas, h = _inputs(lines, whole, equations)
    step = type(equations)(system, state, h, formulas, system.kinematics, equations.matrix)
    residual = step.evaluate(unknown)
    of_size = lines.line(step.size(residual))
    matrix = step.linearize(unknown, residual)
    stored = Stored(matrix, residual.evaluation.motion.R)
    of_matrix = lines.line(stored.values, *([system.solver.values, matrix.T_inv] if whole.copies == 1 else []))
    factors, T_inv, gradients, _ = stored.again(lines, system.solver)
    kept, first = Linearization(factors, T_inv), stored.again(lines, system.solver)
    if equations.closes_velocities:
        directions = first[0], first[1], first[3]
        kept = Linearization(factors, T_inv, gradients, directions)
    correction = step.correction(unknown, residual, kept)
    after = step.corrected(unknown, residual, kept, correction, 1.0)
    rest = (after.Z, [after.inertia_share]) if equations.closes_velocities else (np.zeros(one.N + 1),)
    of_correction = lines.line(np.concatenate([after.D, after.multipliers, *rest]), [step.length(correction)])
    new, a = step.update(Iterate(unknown, residual, None, Report(), corrected=True))
    of_update = lines.line(new.x, new.R, new.v, new.vdot, a)
    own = of_size, of_matrix, of_correction, of_update
    texts, lengths = [text for text, _ in own], [length for _, length in own]
    return Recording(texts, len(stored.values), lengths, bool(correction.simplified))


class Stored:
    """The numbers of a linearization that are no constants: what one kernel writes for another to read."""

    def __init__(self, matrix: Linearization, R: Array) -> None:
        self._parts = [*matrix.factors.arrays, matrix.T_inv, *(matrix.velocity_gradients or ()), R]
        self.values = [value for part in self._parts for value in part.flat if isinstance(value, Number)]

    def again(self, lines: Lines, solver: Elimination) -> tuple[Factors, Array, list[Array], Array]:
        """Factors, inverse tangent operators, gradients of velocities and rotations, of numbers that are given."""
        given = iter(lines.input(np.tile([value.sample for value in self.values], (lines.copies, 1))))
        parts = []
        for part in self._parts:
            parts.append(part.copy())
            parts[-1].flat = [next(given) if isinstance(value, Number) else value for value in part.flat]
        factors, T_inv, *gradients, R = parts
        return solver.restore([factors]), T_inv, gradients, R
