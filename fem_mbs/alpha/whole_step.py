"""Steps of small systems in a few calls: the equations of a step as compiled lines (``fem_mbs.compiled.whole``).

:class:`StepLines` records the methods of :class:`~fem_mbs.alpha.step.StepEquations` once, for one system or for copies
of it side by side, and :class:`CompiledStep` calls what has been compiled of them: the residual, the iteration matrix
with its factors, the correction, and the update are one call each. Where a line has been recorded for another branch,
the whole step is NumPy's.
"""

from __future__ import annotations

import copy
import logging
from functools import cached_property
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.alpha.newmark import Newmark
from fem_mbs.alpha.step import Linearization, StepEquations, StepResidual, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.compiled.tape import Number
from fem_mbs.compiled.whole import Lines, RecordedSystem, Whole, record_with
from fem_mbs.contracts import Report, State
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import CheckAll, Iterate, Newton
from fem_mbs.system.system import Evaluation, Prescribed, System

LOG = logging.getLogger("fem_mbs")
SHAKEN = 1e-4
"""How far from the first guess a step is recorded, over the extent of the model and in rad."""


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
    """A matrix and its factors as kernels write and read them; ``first`` is the first one of the step."""

    def __init__(self, arrays: list[Array], residual: WholeResidual, first: WholeLinearization | None) -> None:
        self.rows, *self._matrix = arrays
        self._residual, self.first = residual, self if first is None else first

    @property
    def kept(self) -> tuple[Array, ...] | None:
        """What a later step needs of it: inverse tangent operators, and the matrix; None of copies side by side."""
        values, T_inv = self._matrix
        if len(values) > 1:
            return None
        step = self._residual.unknown.step
        return T_inv.reshape(-1, 6, 6), step.whole.to_solver(values[0])

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
        state, formulas = self.state, self.formulas
        lines.given(self.t, self.h, formulas, state.x, state.R, self.prescribed)

    def solve(self, D: Array, multipliers: Array, newton: Newton, kept: Any, check: CheckAll | None, sizes: Any) -> Any:
        history = None if check is None else check.history
        try:
            return super().solve(D, multipliers, newton, kept, check, sizes)
        except OtherBranchError:
            if check is not None:
                check.history = history
            vars(self).update(update=self.plain.update)
            return self.plain.solve(D, multipliers, newton, kept, check, sizes)

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

    def corrected(
        self, unknown: Any, residual: Any, linearization: Any, correction: Any, step_length: float
    ) -> WholeUnknowns:
        if step_length == 1.0:
            return WholeUnknowns(correction.after, self)
        return WholeUnknowns(unknown.rows + step_length * (correction.after - unknown.rows), self)

    def update(self, solution: Iterate[Any, Any, Any]) -> tuple[State, Array]:
        n, state = self.system.n, self.state
        x, R, v, vdot, a = self.lines.update_of(solution.unknown.rows)
        x, R, v, vdot = x.reshape(n, 3), R.reshape(n, 3, 3), v.reshape(n, 6), vdot.reshape(n, 6)
        new = State(self.t, x, R, v, vdot, solution.unknown.multipliers, state.u, state.udot, state.uddot)
        return self.system.accept(new), a.reshape(-1)


def compiled_step(equations: StepEquations, whole: Whole) -> StepEquations:
    """The equations of a step with what is compiled of them, or as they are."""
    kind = type(equations)
    if kind not in whole.lines:
        try:
            whole.lines[kind] = StepLines(whole, equations)
        except Exception as error:  # whatever code makes of numbers that it was not written for
            LOG.debug("steps are not compiled as a whole: %s: %s", type(error).__name__, error)
            whole.lines[kind] = None
    lines = whole.lines[kind]
    return equations if lines is None else CompiledStep(whole, lines, equations)


class StepLines:
    """The lines of one formulation, and their kernels."""

    def __init__(self, whole: Whole, equations: StepEquations) -> None:
        one, c, state = whole.one, whole.copies, equations.state
        self._lines = lines = Lines(c)
        rng, cut = np.random.default_rng(1), one.N + one.m
        self.width = cut + one.N + 1
        with record_with(whole.system.all_batches):
            system = RecordedSystem(whole.system, one, lines, equations.prescribed)
            self._given = len(lines.arrays)
            numbers = np.array([equations.t, equations.h, *equations.formulas.factors[:, 0]])
            t, h, *factors = lines.input(numbers, uniform=True)
            places = [lines.input(a.reshape(c, one.n, *a.shape[1:])) for a in (state.x, state.R)]
            constants = np.stack([lines.input(a.reshape(c, -1)) for a in equations.formulas.constants])
            rows = SHAKEN * rng.normal(size=(c, self.width))
            rows[:, : one.N] += equations.formulas.guess.reshape(c, -1)
            rows[:, one.N : cut] += state.multipliers[whole.equations]
            D, multipliers, Z, share = np.split(lines.input(rows), [one.N, cut, cut + one.N])
            unknown = Unknowns(D, multipliers)
            if equations.closes_velocities:
                unknown = Unknowns(D, multipliers, Z, inertia_share=share[0])
            none = np.empty(0)
            moving = State(t, *places, none, none, none, none, none, none)
            formulas = Newmark(np.array(factors)[:, None], constants, none)
            recorded = type(equations)(system, moving, h, formulas, system.kinematics, equations.matrix)
            # the lines: residual, matrix, correction, update
            residual = recorded.evaluate(unknown)
            of_size = lines.line(recorded.size(residual))
            matrix = recorded.linearize(unknown, residual)
            stored = Stored(matrix, residual.evaluation.motion.R)
            of_matrix = lines.line(stored.values, system.solver.values, matrix.T_inv)
            self._kept = len(lines.arrays)
            here, first = (stored.again(lines, system) for _ in range(2))
            directions = None
            if equations.closes_velocities:
                directions = first.factors.of_last(one.size, one.m), first.T_inv, first.R
            kept = Linearization(here.factors, here.T_inv, here.gradients, directions)
            correction = recorded.correction(unknown, residual, kept)
            after = recorded.corrected(unknown, residual, kept, correction, 1.0)
            self.simplified = bool(correction.simplified)
            rest = (after.Z, [after.inertia_share]) if equations.closes_velocities else (np.zeros(one.N + 1),)
            of_correction = lines.line(
                np.concatenate([after.D, after.multipliers, *rest]), [recorded.length(correction)]
            )
            new, a = recorded.update(Iterate(unknown, residual, None, Report(), corrected=True))
            of_update = lines.line(new.x, new.R, new.v, new.vdot, a)
        self._size, self._matrix, self._correction, self._update = lines.kernels()
        arrays = lines.arrays
        self._numbers, self._x, self._R = (arrays[self._given + k] for k in range(3))
        self._constants, self._unknown = arrays[self._given + 3 : self._given + 6], arrays[self._given + 6]
        self._here, self._first = arrays[self._kept : self._kept + 2]
        (self._sizes,), self._stored, (self._after, self._length), self._new = (
            [arrays[place] for place in places] for places in (of_size, of_matrix, of_correction, of_update)
        )

    def given(self, t: float, h: float, formulas: Newmark, x: Array, R: Array, prescribed: Prescribed) -> None:
        """Have kernels read what a step begins with."""
        self._numbers[:2] = t, h
        self._numbers[2:] = formulas.factors[:, 0]
        self._x.reshape(-1)[:] = x.reshape(-1)
        self._R.reshape(-1)[:] = R.reshape(-1)
        for own, constants in zip(self._constants, formulas.constants, strict=True):
            own.reshape(-1)[:] = constants

    def size_of(self, unknown: Array) -> tuple[float, float]:
        """Relative residuals of forces and constraints, the largest of all copies."""
        self._unknown[...] = unknown
        self._run(self._size)
        force, constraint = self._sizes[0] if len(self._sizes) == 1 else self._sizes.max(axis=0)
        return float(force), float(constraint)

    def matrix_of(self, unknown: Array) -> list[Array]:
        """What the next kernel needs of the factorised matrix, the matrix, and inverse tangent operators."""
        self._unknown[...] = unknown
        self._run(self._matrix)
        return [array.copy() for array in self._stored]

    def correction_of(self, unknown: Array, matrix: Array, first: Array) -> tuple[Array, float]:
        """The unknowns after a correction, and the length of it."""
        self._unknown[...], self._here[...], self._first[...] = unknown, matrix, first
        self._run(self._correction)
        return self._after.copy(), float(self._length.max())

    def update_of(self, unknown: Array) -> list[Array]:
        """Places, rotations, velocities, accelerations and algorithmic ones at the end of the step."""
        self._unknown[...] = unknown
        self._run(self._update)
        return [array.copy() for array in self._new]

    def _run(self, kernel: Callable[[], bool]) -> None:
        if not kernel():
            raise OtherBranchError


class Stored:
    """The numbers of a linearization that are no constants: what a kernel writes for others to read."""

    def __init__(self, matrix: Linearization, R: Array) -> None:
        self._parts = [*matrix.factors.arrays, matrix.T_inv, *(matrix.velocity_gradients or ()), R]
        self.values = [value for part in self._parts for value in part.flat if isinstance(value, Number)]

    def again(self, lines: Lines, system: RecordedSystem) -> Stored:
        """The same with numbers that are given."""
        given = iter(lines.input(np.tile([value.sample for value in self.values], (lines.copies, 1))))
        parts = []
        for part in self._parts:
            parts.append(part.copy())
            parts[-1].flat = [next(given) if isinstance(value, Number) else value for value in part.flat]
        result = copy.copy(self)
        factors, result.T_inv, *result.gradients, result.R = parts
        result.factors = system.solver.restore([factors])
        return result
