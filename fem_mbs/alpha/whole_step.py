"""Steps of small systems in a few calls: the equations of a step as compiled lines (``fem_mbs.compiled.whole``).

:func:`whole_step` is a step of the lines that ``recorded_step.py`` has recorded, most often a matrix and a trial. Where
a line has been recorded for another branch, the step is NumPy's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from math import isclose
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.alpha.local_error import (
    SUDDEN,
    after_rest,
    errors_of_step,
    looked_at,
    tolerances,
    unseen_forces,
    weights_of_third,
)
from fem_mbs.alpha.memory import AccelerationHistory, AlphaMemory
from fem_mbs.alpha.newmark import PLAIN, SAME, Parameters, PredictorHistory, newmark, weights_of_missed
from fem_mbs.alpha.recorded_step import SHAKEN, SHAPES, Columns, Recording, inputs, record
from fem_mbs.alpha.step import Scheme, StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.compiled.tape import CannotRecordError
from fem_mbs.compiled.whole import Lines, RecordedSystem, Whole, recorded
from fem_mbs.contracts import Report, State, Step, StepErrorEstimate
from fem_mbs.newton import FAILURES, ConvergenceHistory, Iterate, Newton, solve

LOG = logging.getLogger("fem_mbs")
AGREES = 1e-7
"""Largest difference of increments from NumPy's, over the correction, with which lines are taken."""
Plain: TypeAlias = Callable[[], StepEquations]


class OtherBranchError(Exception):
    """A line has been recorded for another branch than that of a trial."""


def whole_step(
    scheme: Scheme, newton: Newton, plain: Plain, state: State, h: float, memory: AlphaMemory
) -> Step | None:
    """A step of a small system of which ``plain()`` are the equations by NumPy; None where that is to make it.

    So it is where Newton's method fails, too: the failure is that of the equations by NumPy.
    """
    try:
        lines = scheme.system.whole.lines.get(scheme.kind) or _made(scheme, plain)
        return None if lines is None else _step(lines, scheme, newton, plain, state, h, memory)
    except (OtherBranchError, *FAILURES):
        return None


def _step(
    lines: StepLines, scheme: Scheme, newton: Newton, plain: Plain, state: State, h: float, memory: AlphaMemory
) -> Step:
    """As that of the method."""
    before, system = memory.accelerations, scheme.system
    last = before.error * (h / memory.h) ** 3
    rows, history = lines.begin(plain, scheme.parameters, state, h, memory), memory.convergence or ConvergenceHistory()
    solution = solve(lines, rows, newton, history=history, tolerances=tolerances(newton, last))
    end, report = lines.end(solution.unknown), solution.report
    report.end_checked = True
    local, new, a, predictor = end.local, *lines.parts(end, state, h, memory)
    sudden = SUDDEN * last < local and (last > 0.0 or after_rest(memory, local))
    looks, carried = sudden or looked_at(memory.steps), memory.errors
    if looks or carried is not None:
        missed = looks and system.follows_time
        seen = not missed or unseen_forces(system, system.motion(new), state.t, h, memory.steps) is None
        if seen and memory.steps and solution.linearization is not None:
            errors, sizes = lines.look(solution.value.rows, end, carried)
            carried = None if carried is None else errors
            if looks:
                lasting = np.maximum.reduce(sizes)
                report.error_estimate = StepErrorEstimate(lasting[:2], lasting[2:], sudden)
        else:
            equations = plain()
            carried = errors_of_step(scheme, equations, lines.plain_solution(equations, solution), new, memory).carried
    accelerations = AccelerationHistory(new.vdot.reshape(-1), state.t, before.now, before.t_old, before.old, local)
    matrix = lines.kept()
    memory = AlphaMemory(h, memory.steps + 1, a, accelerations, predictor, solution.history, matrix, errors=carried)
    return Step(new, memory, report, local)


def _made(scheme: Scheme, plain: Plain) -> StepLines | None:
    """Lines for the steps of a system, if these can be recorded."""
    whole = scheme.system.whole
    try:
        if scheme.system.redundant is not None:
            raise CannotRecordError("constraints repeat each other")
        equations = plain()
        lines = StepLines(whole, equations, scheme.parameters)
        lines.compare(equations)
    except Exception as error:  # whatever code makes of numbers that it was not written for
        LOG.debug("steps are not compiled as a whole: %s: %s", type(error).__name__, error)
        whole.give_up()
        return None
    whole.lines[scheme.kind] = lines
    whole.took()
    return lines


class Trial(NamedTuple):
    """A trial, and the correction of it."""

    rows: Array
    """The unknowns: increments, multipliers, and what the formulation has beyond them, a row for each copy."""
    matrix: int
    """The number of the matrix in this step."""
    size: tuple[float, float]
    length: float
    """That of the correction."""
    simplified: bool
    after: Array
    """The unknowns after it."""


class StepResult(NamedTuple):
    """Where a step has led, a row for each copy, see :class:`Columns`."""

    state: Array
    memory: Array
    best: int
    """The guess that would have been best."""
    local: float
    """Size of the local error."""


class Formulas(NamedTuple):
    """What the formulas of a step of one length make of its beginning, which they are linear in."""

    numbers: list[float]
    """The length, the factors of Newmark's formulas, the constants of errors, and a place for one more."""
    weights: Array
    """``(7, 5)``: constants of Newmark's formulas, plain guess, what it will miss (constant, linear), best guess,
    from the basis of :class:`Columns`."""
    of_multipliers: Array
    """Of the guess of multipliers, from what the last two missed, ``(2,)``."""


@lru_cache(maxsize=64)
def _formulas(parameters: Parameters, h: float, last: float, before: float, best: int) -> Formulas:
    plain = newmark(parameters, h, tuple(np.eye(3)), np.empty(0, np.intp))  # type: ignore[arg-type]
    of_D, of_multipliers = weights_of_missed(h, last, before)
    weights = np.zeros((7, 5))
    weights[:3, :3], weights[3, :3], weights[4:6, 3:] = plain.constants, plain.guess, of_D
    weights[6] = weights[3] if best == PLAIN else weights[3] + weights[3 + best]
    constants = parameters.C_q, parameters.inertia, parameters.both_defects
    numbers = [h, *plain.factors[:, 0].tolist(), *constants, *plain.constants.ravel().tolist(), 0.0, 0.0, 0.0, 0.0]
    return Formulas(numbers, weights, np.zeros(2) if best == PLAIN else of_multipliers[best - 1])


_RECORDINGS: dict[Any, Recording] = {}


class StepLines:
    """The lines of one formulation for the numbers of a system, and their kernels: what Newton's method solves.

    A step that has begun stands in the arrays of the kernels, so that one is under way at a time.
    """

    def __init__(self, whole: Whole, equations: StepEquations, parameters: Parameters) -> None:
        self._whole, one, self._closes = whole, whole.one, equations.closes_velocities
        self._columns, c, N = Columns(one), whole.copies, one.N
        lines = Lines(c, recorded=False)
        system = RecordedSystem(whole, lines, whole.system.prescribe(equations.h))
        kind = type(equations), *lines.kind
        made = _RECORDINGS.get(kind)
        if made is None:
            with recorded(whole.system):
                made = _RECORDINGS[kind] = record(whole, equations, parameters)
        first = len(lines.arrays)
        inputs(lines, whole, equations, parameters)
        of_matrix = lines.results(*made.lengths[0])
        self._read = len(lines.arrays)
        for _ in range(2):  # those of the matrix, and of the first one of a step
            lines.input(np.zeros((c, made.stored)))
        of_trial, of_end, of_look = (lines.results(*lengths) for lengths in made.lengths[1:])
        self._lines, self._simplified, self._written = lines, made.simplified, of_matrix.start
        self._matrix, self._trial, self._end, self._look = lines.kernels(made.programs)
        self._numbers, self._start, self._linear, self._unknown, self._ended, self._errors = lines.arrays[first:][:6]
        self._prescribed = lines.arrays[system.given]
        stored, *self._kept = lines.arrays[of_matrix]
        self._places = stored, np.zeros_like(stored)
        """Where the first matrix of a step is, and where later ones are."""
        for place in (self._read, self._read + 1):
            lines.put(place, stored)
        (self._after, *self._after_trial), self._after_end = lines.arrays[of_trial], lines.arrays[of_end]
        self._lasting, self._carried = lines.arrays[of_look]
        own = self._columns.of
        self._basis = self._start[:, self._columns.basis].reshape(c, 5, N)
        self._missed_multipliers = self._start[:, own["missed_multipliers"]].reshape(c, 2, one.m)
        self._multipliers = self._start[:, own["multipliers"]]
        self._shapes = [(own[name], (-1, *shape)) for name, shape in SHAPES]
        first = self._columns.memory
        rest = (
            slice(own[name].start - first, own[name].stop - first) for name in ("a", "missed", "missed_multipliers")
        )
        self._cuts = own["multipliers"], *rest
        self._guess = np.zeros_like(self._unknown)
        self._guess_multipliers = self._guess[:, N : N + one.m]
        self._key: Any = None
        self._last: Any = None, None, None
        self._latest: Any = None, None, None
        self._count = 0

    # the beginning of a step

    def begin(self, plain: Plain, parameters: Parameters, state: State, h: float, memory: AlphaMemory) -> Array:
        """Have kernels read what a step begins with; the first guess of its unknowns."""
        missed, last, numbers, linear = memory.predictor, memory.accelerations, self._numbers, self._linear
        assert missed is not None
        if (key := (parameters, h, missed.h, missed.h_before, missed.best)) != self._key:
            self._key, self._formulas = key, _formulas(*key)
            numbers[1:] = self._formulas.numbers
        numbers[0], numbers[-1] = state.t, 1.0 / (state.t + h - last.t_old)
        if memory.errors is not None:
            numbers[-4:-1] = weights_of_third(parameters, h, state.t - last.t_old)
        x, a, end = self._last
        goes_on = x is state.x and a is memory.a
        if goes_on:
            self._start[:, : self._columns.memory], self._start[:, self._columns.memory :] = end.state, end.memory
        else:
            self._begin_at(state, memory)
        formulas, guess, N = self._formulas, self._guess, linear.shape[2]
        if len(linear) == 1:
            formulas.weights.dot(self._basis[0], linear[0])
        else:
            np.matmul(formulas.weights, self._basis, out=linear)
        if not isclose(h, memory.h, rel_tol=SAME):  # with velocities for a step of another length
            own = plain().formulas
            linear[:, :3], linear[:, 3] = (
                own.constants.reshape(3, len(linear), -1).swapaxes(0, 1),
                own.guess.reshape(len(linear), -1),
            )
            linear[:, 6] = linear[:, 3] if missed.best == PLAIN else linear[:, 3] + linear[:, 3 + missed.best]
        if self._prescribed:
            data = (data for every in self._whole.system.prescribe(state.t + h) for data in every if data is not None)
            for own, values in zip(self._prescribed, data, strict=True):
                own[...] = values.reshape(own.shape)
        guess[:, :N] = linear[:, 6]
        np.vecmat(formulas.of_multipliers, self._missed_multipliers, out=self._guess_multipliers)
        self._guess_multipliers += self._multipliers
        if self._count > 1:
            self._use(0)
        self._count, self._latest = 0, (None, None, None)
        return guess.copy()

    def _begin_at(self, state: State, memory: AlphaMemory) -> None:
        """From a state and a memory that the last step did not lead to."""
        missed, last, c, equations = memory.predictor, memory.accelerations, self._whole.copies, self._whole.equations
        assert missed is not None
        values = {
            "multipliers": state.multipliers[equations],
            "x": state.x,
            "R": state.R,
            "v": state.v,
            "vdot": last.now,
            "a": memory.a,
            "missed": missed.D.reshape(2, c, -1).swapaxes(0, 1),
            "old": last.old,
            "missed_multipliers": missed.multipliers[:, equations].swapaxes(0, 1),
        }
        for name, value in values.items():
            self._start[:, self._columns.of[name]] = value.reshape(c, -1)

    # what Newton's method asks

    def evaluate(self, rows: Array) -> Trial:
        """The equations at a trial, and its correction by the last matrix."""
        if not self._count:
            self._make(rows)
        return self._tried(rows)

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals of forces and constraints, the largest of all copies."""
        return trial.size

    def linearize(self, rows: Array, trial: Trial, first: int | None = None) -> int:
        """The number of the matrix at a trial."""
        if first is not None:
            self._make(rows)
        return self._count

    def correction(self, rows: Array, trial: Trial, matrix: int) -> Trial:
        """The same trial with the correction by a matrix."""
        return trial if trial.matrix == matrix else self._tried(rows)

    def length(self, correction: Trial) -> float:
        """The length of a correction."""
        return correction.length

    def corrected(self, rows: Array, trial: Trial, matrix: int, correction: Trial, step_length: float) -> Array:
        """The unknowns after a correction."""
        after = correction.after
        return after if step_length == 1.0 else rows + step_length * (after - rows)

    def _make(self, rows: Array) -> None:
        """A matrix; that of the first one stays for the directions of the formulation."""
        self._count += 1
        if self._count == 2:
            self._use(1)
        self._run(self._matrix, rows)

    def _use(self, place: int) -> None:
        for own in (self._written, self._read):
            self._lines.put(own, self._places[place])

    def _tried(self, rows: Array) -> Trial:
        self._run(self._trial, rows)
        row, numbers = self._after_trial
        *values, force, constraint, length = self._of_copies(numbers)
        after = self._after.copy()
        self._latest = after, row, values
        return Trial(rows, self._count, (force, constraint), length, self._simplified, after)

    def _run(self, kernel: Callable[[], bool], rows: Array) -> None:
        self._unknown[...] = rows
        if not kernel():
            raise OtherBranchError

    # the end of a step

    def end(self, rows: Array) -> StepResult:
        """The state that a solution leads to."""
        after, row, values = self._latest
        if after is not rows:
            self._run(self._end, rows)
            row, numbers = self._after_end
            values = self._of_copies(numbers)
        first, (*squares, local) = self._columns.memory, values
        return StepResult(row[:, :first].copy(), row[:, first:].copy(), squares.index(min(squares)), local)

    @staticmethod
    def _of_copies(values: Array) -> list[float]:
        """The sums of the first three numbers of all copies, which are squares, and the largest of the others."""
        if len(values) == 1:
            return values[0].tolist()
        return [*values[:, :3].sum(axis=0).tolist(), *np.maximum.reduce(values[:, 3:]).tolist()]

    def parts(
        self, end: StepResult, state: State, h: float, memory: AlphaMemory
    ) -> tuple[State, Array, PredictorHistory]:
        """The state of rows, the algorithmic accelerations, and what guesses missed."""
        c, rows, rest = self._whole.copies, end.state, end.memory
        x, R, v, vdot = [rows[:, own].reshape(shape) for own, shape in self._shapes]
        own, of_memory, of_D, of_multipliers = self._cuts
        multipliers = self._of_equations(rows[:, None, own])[0]
        new = State(state.t + h, x, R, v, vdot, multipliers, state.u, state.udot, state.uddot)
        a, D = rest[:, of_memory].reshape(-1), rest[:, of_D].reshape(c, 2, -1).swapaxes(0, 1).reshape(2, -1)
        missed = self._of_equations(rest[:, of_multipliers].reshape(c, 2, -1))
        self._last = x, a, end
        assert memory.predictor is not None
        return new, a, PredictorHistory(h, memory.predictor.h, D, missed, end.best)

    def _of_equations(self, rows: Array) -> Array:
        """Values ``(.., m)`` of the equations of all copies, from those ``(copies, .., m)`` of each."""
        if len(rows) == 1:
            return rows[0]
        result = np.empty((rows.shape[1], self._whole.system.m))
        result[:, self._whole.equations] = rows.swapaxes(0, 1)
        return result

    def kept(self) -> tuple[Array, ...] | None:
        """Inverse tangent operators and the last matrix, for a later step; None of copies side by side."""
        if not self._kept:
            return None
        T_inv, values = self._kept
        return T_inv.reshape(-1, 6, 6).copy(), values[0].copy()

    def look(self, rows: Array, end: StepResult, errors: Array | None) -> tuple[Array, Array]:
        """Errors ``(4, N)`` that are carried along, and what lasts of a step and is not resolved, ``(copies, 4)``.

        See ``StepErrorEstimate``.
        """
        c, _, N = self._errors.shape
        if errors is not None:
            self._errors[...] = errors.reshape(4, c, N).swapaxes(0, 1)
        self._ended[...] = end.state
        self._run(self._look, rows)
        return self._carried.reshape(c, 4, N).swapaxes(0, 1).reshape(4, -1).copy(), self._lasting

    # the same by NumPy

    def plain(self, rows: Array) -> Unknowns:
        """Unknowns of rows."""
        N, m = self._linear.shape[2], self._multipliers.shape[1]
        D, multipliers = rows[:, :N].reshape(-1), self._of_equations(rows[:, None, N : N + m])[0]
        if not self._closes:
            return Unknowns(D, multipliers)
        Z = rows[:, N + m : -1].reshape(-1)
        return Unknowns(D, multipliers, Z, inertia_share=float(rows[:, -1].max()))

    def plain_solution(self, plain: StepEquations, solution: Iterate[Array, Trial, int]) -> Iterate[Any, Any, Any]:
        """A solution with its equations and its matrix."""
        trial = self.plain(solution.value.rows)
        value = plain.evaluate(trial)
        matrix = None if solution.linearization is None else plain.linearize(trial, value)
        return Iterate(self.plain(solution.unknown), value, matrix, solution.report)

    def compare(self, equations: StepEquations) -> None:
        """Refuse lines whose first correction where they are recorded, and the state after it, are not those of NumPy.

        So that a run that is gone on with takes the lines that it began with, this does not depend on its state.
        """
        start, linear, rows, system = self._start, self._linear, self._unknown.copy(), self._whole.system
        x, R, v, vdot = [start[:, own].reshape(shape) for own, shape in self._shapes]
        multipliers, none = self._of_equations(self._multipliers[:, None])[0].copy(), np.empty(0)
        state = State(0.0, x, R, v, vdot, multipliers, none, none, none)
        formulas = equations.formulas._replace(
            constants=linear[:, :3].swapaxes(0, 1).reshape(3, -1), guess=linear[:, 3].reshape(-1)
        )
        plain = type(equations)(system, state, equations.h, formulas, system.kinematics, equations.matrix)
        before, after = self.plain(rows), self.evaluate(rows).after
        own, end = self.plain(after), self.end(after)
        x, R, v, _ = [end.state[:, place].reshape(shape) for place, shape in self._shapes]
        residual = plain.evaluate(before)
        matrix = plain.linearize(before, residual)
        there = plain.corrected(before, residual, matrix, plain.correction(before, residual, matrix), 1.0)
        expected, a = plain.update(Iterate(there, residual, None, Report(), corrected=True))
        size = np.abs(there.D - before.D).max()
        v_rate, _, a_rate = np.abs(formulas.factors[:, 0]).tolist()
        pairs = [(own.D, there.D, 1.0), (own.Z, there.Z, 1.0), (x, expected.x, system.length)]
        pairs += [(R, expected.R, 1.0), (v, expected.v, v_rate), (end.memory[:, self._cuts[1]].reshape(-1), a, a_rate)]
        for one, other, rate in pairs:
            if not np.abs(one - other).max(initial=0.0) <= AGREES * rate * max(size, SHAKEN):
                raise CannotRecordError("the recorded lines do something else")
