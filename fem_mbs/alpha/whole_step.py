"""Steps in a few calls: the equations of a step as compiled lines (``fem_mbs.compiled.whole``).

:func:`whole_step` is a step of the lines that ``recorded_step.py`` has recorded, most often a matrix and a trial. Where
a line has been recorded for another branch, the step is NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import inf, isclose
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.alpha.local_error import (
    FAR_SHORTER,
    SUDDEN,
    Over,
    carried_on,
    counts,
    looked_at,
    tolerances,
    unseen_forces,
)
from fem_mbs.alpha.newmark import (
    PLAIN,
    SAME,
    AccelerationHistory,
    AlphaMemory,
    CarriedErrors,
    Parameters,
    PredictorHistory,
    newmark,
    weights_of_missed,
    weights_of_third,
)
from fem_mbs.alpha.recorded_step import SHAKEN, SHAPES, Recording, columns, inputs, record
from fem_mbs.alpha.step import Scheme, StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.compiled.band import CompiledBand
from fem_mbs.compiled.program import Program, address
from fem_mbs.compiled.tape import CannotRecordError
from fem_mbs.compiled.whole import RecordedSystem, Whole, numbers_of, recorded
from fem_mbs.contracts import State, Step, StepErrorEstimate
from fem_mbs.errors import LOG
from fem_mbs.newton import FAILURES, ConvergenceHistory, Iterate, solve
from fem_mbs.system.system import System

if TYPE_CHECKING:
    from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha

AGREES = 1e-7
"""Largest difference of increments from NumPy's, over the correction, with which lines are taken."""
Tolerances: TypeAlias = tuple[float, float]
START = PredictorHistory(inf, inf, np.empty(0), np.empty(0), PLAIN)
"""Before a first step: guesses of steps that are endlessly long tell nothing of this one."""


class OtherBranchError(Exception):
    """A line has been recorded for another branch than that of a trial."""


def whole_step(method: GeneralizedAlpha, system: System, state: State, h: float, memory: AlphaMemory) -> Step | None:
    """A step of the method by compiled lines; None where NumPy is to make it.

    So it is where Newton's method fails, too: the failure is that of the equations by NumPy.
    """
    scheme = method.scheme(system)
    try:
        lines = _lines_of(method, scheme, state, h, memory)
        return None if lines is None else _step(lines, method, scheme, state, h, memory)
    except (OtherBranchError, *FAILURES):
        return None


def whole_trial(
    method: GeneralizedAlpha, system: System, state: State, h: float, memory: AlphaMemory, *, needed: Tolerances
) -> State | None:
    """Where a step leads that is not taken, with tolerances that are needed; None as above."""
    scheme = method.scheme(system)
    try:
        lines = _lines_of(method, scheme, state, h, memory)
        if lines is None:
            return None
        solution = solve(lines, lines.begin(method, state, h, memory), method.newton, tolerances=needed)
        return lines.end(solution.unknown, state, h, h)[0]
    except (OtherBranchError, *FAILURES):
        return None


def _step(
    lines: StepLines, method: GeneralizedAlpha, scheme: Scheme, state: State, h: float, memory: AlphaMemory
) -> Step | None:
    """As that of the method; None where its errors ask for more than lines know."""
    before, missed, system = memory.accelerations, memory.predictor or START, scheme.system
    if h < FAR_SHORTER * memory.h or memory.velocity_perturbation is not None:
        return None
    if missed is START and before.t_older < state.t:
        return None
    last = before.error * (h / memory.h) ** 3
    history, needed = memory.convergence or ConvergenceHistory(), tolerances(method.newton, last)
    rows = lines.begin(method, state, h, memory)
    solution = solve(lines, rows, method.newton, history=history, tolerances=needed)
    report = solution.report
    new, a, predictor, local, report.speeds = lines.end(solution.unknown, state, h, missed.h)
    if missed is START:
        predictor = predictor.alone()
    report.end_checked = lines.end_checked
    if SUDDEN * last < local and counts(system, memory, local):  # such a step tells of its error by itself alone
        return None
    errors = memory.errors
    carries = errors is not None and (new.t > errors.until or local > errors.expected)
    now, matrix = new.vdot.reshape(-1), lines.kept()
    accelerations = AccelerationHistory(now, state.t, before.now, before.t_old, before.old, local)
    looks = looked_at(memory.steps)
    if looks or carries:
        if solution.linearization is None:  # nothing to look by
            return None
        if looks and system.follows_time:
            if unseen_forces(system, state, new, memory.steps) is not None:
                return None
        if looks:
            report.error_estimate = lines.look(solution.value.rows, memory.steps)
        if carries and errors is not None:
            rows, after = solution.value.rows, solution.unknown
            over: Over
            if isclose(new.t - errors.t, h, rel_tol=SAME):
                over = lines.carry(rows, after, errors.values)
            else:
                over = partial(lines.carry_over_block, rows, after, errors)
            errors = carried_on(scheme, errors, new, accelerations, over)
    memory = AlphaMemory(
        *(h, memory.steps + 1, a, accelerations, predictor, solution.history, matrix),
        errors=errors,
        resolves=memory.resolves,
    )
    return Step(new, memory, report, local)


def _lines_of(
    method: GeneralizedAlpha, scheme: Scheme, state: State, h: float, memory: AlphaMemory
) -> StepLines | None:
    """Those of the steps of a system, recorded now if they had not been; None if they cannot be."""
    whole, solver = scheme.system.whole, scheme.system.solver
    if (known := whole.lines.get(scheme.kind)) is not None:
        return known
    try:
        if scheme.system.redundant is not None:  # a solver of least norms is in the place of the band
            raise CannotRecordError("constraints repeat each other")
        assert isinstance(solver, CompiledBand)
        solver.memory.known.clear()
        equations = method.equations(scheme.system, state, h, memory)
        lines = StepLines(whole, equations, scheme.parameters)
        if lines.kind not in _COMPARED:
            lines.compare(equations)
            _COMPARED.add(lines.kind)
    except Exception as error:  # whatever code makes of numbers that it was not written for
        LOG.debug("steps are not compiled as a whole: %s: %s", type(error).__name__, error)
        whole.give_up()
        return None
    whole.lines[scheme.kind] = lines
    whole.took()
    return lines


class Trial(NamedTuple):
    """A trial, and the correction of it by a matrix."""

    rows: Array
    """The unknowns: increments, multipliers, and what the formulation has beyond them."""
    size: tuple[float, float]
    matrix: int
    """The number of that."""
    length: float
    """That of the correction."""
    after: Array
    """The unknowns after it."""


class Row(NamedTuple):
    """What a step begins or ends with, one part after the other."""

    numbers: Array
    parts: list[Array]
    """Those of a state, and what guesses of multipliers have missed."""
    remembered: Array
    """Algorithmic accelerations, what guesses of increments have missed, and ``Z``, if there is any, ``(5, N)``."""


@lru_cache(maxsize=64)
def _formulas(parameters: Parameters, h: float, last: float, before: float, best: int, lead: float) -> Array:
    """The length of a step, factors of Newmark's formulas, constants of errors, and weights.

    ``(8, 7)``: of ``BASIS`` in the constants of Newmark's formulas, the plain guess, what it will miss (constant,
    linear), the best guess and that of ``Z``; of ``OF_MULTIPLIERS`` in the guess of multipliers; and whether ``Z`` is
    guessed.
    """
    plain = newmark(parameters, h, np.eye(3), np.empty(0, np.intp))
    of_D, of_multipliers = weights_of_missed(h / last, h / before)
    weights = np.zeros((8, 7))
    weights[:3, :3], weights[3, :3], weights[4:6, 3:5] = plain.constants, plain.guess, of_D
    weights[6] = weights[3]
    if best != PLAIN:
        weights[6], weights[7, 5:] = weights[3] + weights[3 + best], of_D[best - 1]
    constants = parameters.C_q, parameters.inertia, parameters.rate, parameters.both_defects
    errors = [*plain.constants.ravel().tolist(), *weights_of_third(parameters, last / h).tolist()]
    numbers = [h, *plain.factors[:, 0].tolist(), *constants, *errors, lead]
    of_multipliers = np.zeros(2) if best == PLAIN else of_multipliers[best - 1]
    return np.concatenate([numbers, weights.ravel(), of_multipliers, [1.0, best != PLAIN]])


_NONE = np.empty((0, 6, 6))
_RECORDINGS: dict[Any, Recording] = {}
_COMPARED = set[Any]()
"""Kinds whose lines do what NumPy does: numbers are all that systems of a kind differ in."""


def _recording(
    whole: Whole, equations: StepEquations, parameters: Parameters
) -> tuple[Program, RecordedSystem, Recording, Any]:
    """A program of the steps of a system, with what has been recorded of its kind, now if it had not been; the kind."""
    prescribed = whole.prescribed(equations.h)
    for records in (False, True):
        program = Program(records)
        system = RecordedSystem(whole, program, prescribed)
        given = inputs(program, whole, equations, parameters)
        kind = type(equations), *program.kind
        if kind in _RECORDINGS:
            program.repeat(_RECORDINGS[kind].specs)
            break
    else:
        with recorded(whole):
            _RECORDINGS[kind] = record(program, system, given, equations)
    return program, system, _RECORDINGS[kind], kind


def _row(system: System, columns: dict[str, slice], numbers: Array) -> Row:
    def part(first: str, last: str, *shape: int) -> Array:
        return numbers[columns[first].start : columns[last].stop].reshape(shape)

    parts = [part(name, name, system.n, *shape) for name, shape in SHAPES]
    parts += [part("multipliers", "multipliers", system.m)]
    parts += [part("missed multipliers 0", "missed multipliers 1", 2, system.m)]
    return Row(numbers, parts, part("a", [*columns][-1], -1, system.N))


class StepLines:
    """The lines of one formulation for the numbers of a system, and their kernels: what Newton's method solves.

    A step that has begun stands in the arrays of the kernels, so that one is under way at a time.
    """

    by_reactions = False

    def __init__(self, whole: Whole, equations: StepEquations, parameters: Parameters) -> None:
        self._whole, self._system, self._closes = whole, whole.system, equations.closes_velocities
        N, m = self._system.N, self._system.m
        program, system, made, self.kind = _recording(whole, equations, parameters)
        self._program, self.end_checked, at = program, made.end_checked, made.places
        self._matrix, self._guess, self._trial, self._end, self._look, self._carry, self._from = program.kernels(
            [made.matrix, made.guess, made.trial, made.end, made.look, made.carry, made.start]
        )
        self._numbers, self._prescribed = program.arrays[at["numbers"]], program.arrays[system.given]
        self._unknown, self._tried, self._after, self._judged, self._lasting, self._defects, self._began = (
            program.whole(at[name]) for name in ("unknown", "tried", "after", "judged", "lasting", "defects", "start")
        )
        self._linear, self._errors, self._became = (
            program.whole(at[name]).reshape(-1, N) for name in ("linear", "errors", "carried")
        )
        """What formulas and guesses are; errors that are carried along, with ``Z``, by which they are; the new ones.
        """
        self._columns = columns(self._system, self._closes)
        self._start, self._row = (
            _row(self._system, self._columns, program.whole(at[name])) for name in ("from", "row")
        )
        self._Z, self._h = slice(N + m, -1), 0.0
        self._key: Any = None
        self._last: Any = None, None
        self._hold_matrices(system, at)

    def _hold_matrices(self, system: RecordedSystem, at: dict[str, int]) -> None:
        """What is written of the first matrix of a step stays for its directions, of later ones it goes elsewhere."""
        program, solver = self._program, self._system.solver
        assert isinstance(solver, CompiledBand)
        self._memory, self._lu, self._seen = solver.memory, (system.lu, system.first_lu), program.arrays[system.seen]
        self._stored = [(at["matrix"] + k, at["first"] + k) for k in range(2)]
        self._blocks = [(program.arrays[own], program.arrays[other]) for own, other in self._stored]
        for (_, place), (block, _) in zip(self._stored, self._blocks, strict=True):
            program.put(place, address(block))
        self._held, self._block = list[Array](), np.empty(0)
        """Factors of matrices, and those of a block."""
        self._count, self._asked = 0, False
        """Matrices of this step that there are, and whether one was asked for."""

    # the beginning of a step

    def begin(self, method: GeneralizedAlpha, state: State, h: float, memory: AlphaMemory) -> Array:
        """Have kernels read what a step begins with; the first guess of its unknowns."""
        missed, last, numbers, linear = memory.predictor or START, memory.accelerations, self._numbers, self._linear
        if (key := (method.coefficients, h, missed.h, missed.h_before, missed.best)) != self._key:
            self._key, self._h = key, h
            numbers[2:] = _formulas(*key, h * method.coefficients.lead)
        numbers[:2] = state.t, 1.0 / (state.t + h - last.t_old)
        x, a = self._last
        if x is state.x and a is memory.a:
            self._start.numbers[...] = self._row.numbers
        else:
            self._begin_at(state, memory)
        self._last = None, None
        self._guess()
        if not isclose(h, memory.h, rel_tol=SAME):  # with velocities for a step of another length
            own = method.equations(self._system, state, h, memory).formulas
            linear[:3], linear[3] = own.constants, own.guess
            guessed = linear[3] if missed.best == PLAIN else linear[3] + linear[3 + missed.best]
            self._unknown[: linear.shape[1]] = guessed
        guess = self._unknown.copy()
        if self._prescribed:
            data = (own for part in self._whole.prescribed(state.t + h) for own in numbers_of(part).values())
            for own, values in zip(self._prescribed, data, strict=True):
                own[...] = values
        if self._count > 1:
            self._use(0)
        self._count, self._asked = 0, False
        return self._after_start(guess) if missed is START else guess

    def _after_start(self, guess: Array) -> Array:
        """As :meth:`StepEquations.guess_after_start`: the guess, or none of the increment."""
        none = guess.copy()
        none[: self._linear.shape[1]] = 0.0
        self._make(guess)
        forces = list[float]()
        for rows in (none, guess):
            self._run(self._trial, rows)
            forces.append(self._tried[3])
        if forces[1] <= forces[0]:
            return guess
        self._count = 0
        return none

    def _begin_at(self, state: State, memory: AlphaMemory) -> None:
        """From a state and a memory that the last step did not lead to."""
        missed, last, none = memory.predictor or START, memory.accelerations, np.zeros((2, self._system.N))
        of_multipliers = missed.multipliers if missed is not START else np.zeros((2, self._system.m))
        D, Z = (own if own.size else none for own in (missed.D, missed.Z))
        parts = of_multipliers, state.multipliers, state.x, state.R, last.old, state.v, last.now, memory.a, D
        every = [*parts, Z] if self._closes else parts
        np.concatenate([np.ravel(part) for part in every], out=self._start.numbers)

    # what Newton's method asks

    def evaluate(self, rows: Array) -> Trial:
        """The equations at a trial, and its correction by the last matrix, which is made here if there is none."""
        if not self._count:
            self._make(rows)
        return self._corrected(rows)

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals of forces and constraints."""
        return trial.size

    def linearize(self, rows: Array, trial: Trial, first: int | None = None) -> int:
        """The number of the matrix at a trial."""
        if self._asked:  # for that which the first trial has made
            self._make(rows)
        self._asked = True
        return self._count

    def correction(self, rows: Array, trial: Trial, matrix: int) -> Trial:
        """The same trial with the correction by a matrix."""
        return trial if trial.matrix == matrix else self._corrected(rows)

    def length(self, correction: Trial) -> float:
        """The length of a correction."""
        return correction.length

    def corrected(self, at: Iterate[Array, Trial, int], correction: Trial, step_length: float) -> Array:
        """The unknowns after a correction."""
        after = correction.after
        return after if step_length == 1.0 else at.unknown + step_length * (after - at.unknown)

    def _make(self, rows: Array) -> None:
        """A matrix; that of the first one stays for the directions of the formulation."""
        self._count += 1
        del self._held[min(self._count, 2) - 1 if self._closes else 0 :]
        factors, place = self._memory.take()
        self._held.append(factors)
        self._program.put(self._lu[0], place)
        if self._count == 1:
            self._program.put(self._lu[1], place)
        elif self._count == 2:
            self._use(1)
        self._run(self._matrix, rows)
        if self._seen[0]:
            raise OtherBranchError

    def _use(self, number: int) -> None:
        for (place, _), blocks in zip(self._stored, self._blocks, strict=True):
            self._program.put(place, address(blocks[number]))

    def _corrected(self, rows: Array) -> Trial:
        """Work off a trial."""
        self._run(self._trial, rows)
        force, constraint, length, _ = self._tried.tolist()
        return Trial(rows, (force, constraint), self._count, length, self._after.copy())

    def _run(self, kernel: Callable[[], int], rows: Array) -> None:
        self._unknown[...] = rows
        if kernel():
            raise OtherBranchError

    # the end of a step

    def end(
        self, rows: Array, state: State, h: float, before: float
    ) -> tuple[State, Array, PredictorHistory, float, list[float]]:
        """The state that a solution leads to, the algorithmic accelerations, what guesses missed, error and speeds.

        ``before`` is the length of the last step.
        """
        self._run(self._end, rows)
        judged = self._judged.tolist()
        squares, local, speeds = judged[:3], judged[3], judged[4:]
        x, R, v, vdot, multipliers, missed = [part.copy() for part in self._row.parts]
        remembered = self._row.remembered.copy()
        a, D, Z, best = remembered[0], remembered[1:3], remembered[3:].reshape(2, -1), squares.index(min(squares))
        self._last = x, a
        new = State(state.t + h, x, R, v, vdot, multipliers, state.u, state.udot, state.uddot)
        predictor = PredictorHistory(h, before, D, missed, best, Z)
        return new, a, predictor, local, speeds

    def kept(self) -> tuple[Array, ...]:
        """The factors of the last matrix, for a step of another length."""
        return _NONE, self._held[-1]

    def look(self, rows: Array, steps: int) -> StepErrorEstimate:
        """What lasts of a step after so many, and what it does not resolve.

        From the rows of the last trial; the state of the solution has been asked for last.
        """
        self._run(self._look, rows)
        lasting, first, later = self._lasting.copy().reshape(3, 2)
        return StepErrorEstimate(lasting, later if steps else first)

    def carry(self, rows: Array, after: Array, values: Array) -> Array:
        """Errors ``(5, N)`` at the end of a step that has led to unknowns by the last trial."""
        self._errors[:5] = values
        if self._closes:
            self._errors[5] = after[self._Z]
        self._run(self._carry, rows)
        return self._became.copy()

    def carry_over_block(self, rows: Array, after: Array, begun: CarriedErrors, values: Array) -> Array:
        """As :meth:`StepEquations.carried_over_block`: have kernels read one large step with its matrix.

        Its defects are those of so many steps.
        """
        N, h, v, of = self._linear.shape[1], self._h, begun.flow[0], self._columns
        count = round((self._numbers[0] + h - begun.t) / h, 6)  # mostly a whole number
        self._defects *= count
        formulas = _formulas(self._key[0], count * h, h, h, PLAIN, 0.0)
        self._key, self._numbers[2:], factors = None, formulas, formulas[1:3, None]
        rows, rates = rows.copy(), self._row.numbers[of["v"].start : of["vdot"].stop].reshape(2, N)
        D = rows[:N] = 0.5 * count * h * (v + rates[0])
        Z = count * after[self._Z] if self._closes else 0.0 * D
        if self._closes:
            rows[self._Z] = Z
        self._run(self._from, rows)
        self._start.numbers[of["x"].start : of["R"].stop], self._start.numbers[of["v"]] = self._began, v
        self._linear[:2] = rates - factors * (D - Z)
        self._block, place = self._memory.take()  # held until the next
        self._program.put(self._lu[0], place)
        self._program.put(self._lu[1], place)
        self._use(0)
        self._run(self._matrix, rows)
        if self._seen[0]:
            raise OtherBranchError
        return self.carry(rows, rows, values)

    # the same by NumPy

    def plain(self, rows: Array) -> Unknowns:
        """Unknowns of rows."""
        N, m = self._linear.shape[1], self._system.m
        D, multipliers = rows[:N], rows[N : N + m]
        if not self._closes:
            return Unknowns(D, multipliers)
        return Unknowns(D, multipliers, rows[self._Z], guessed=rows[-1:])

    def compare(self, equations: StepEquations) -> None:
        """Refuse lines whose first correction where they are recorded, and the state after it, are not those of NumPy.

        So that a run that is gone on with takes the lines that it began with, this does not depend on its state.
        """
        linear, rows, system, none = self._linear, self._unknown.copy(), self._system, np.empty(0)
        x, R, v, vdot = [self._start.numbers[self._columns[name]].reshape(-1, *shape) for name, shape in SHAPES]
        state = State(0.0, x, R, v, vdot, self._start.numbers[self._columns["multipliers"]].copy(), none, none, none)
        formulas = equations.formulas._replace(constants=linear[:3].copy(), guess=linear[3].copy())
        plain = type(equations)(system, state, equations.h, formulas, system.kinematics, equations.matrix)
        trial, before = self.evaluate(rows), self.plain(rows)
        after = self.correction(rows, trial, self.linearize(rows, trial)).after
        own, (new, own_a, *_) = self.plain(after), self.end(after, state, equations.h, equations.h)
        residual = plain.evaluate(before)
        matrix = plain.linearize(before, residual)
        at = Iterate(before, residual, matrix)
        there = plain.corrected(at, plain.correction(before, residual, matrix), 1.0)
        expected, a = plain.update(Iterate(there, residual, None, corrected=True))
        size = np.abs(there.D - before.D).max()
        v_rate, _, a_rate = np.abs(formulas.factors[:, 0]).tolist()
        pairs = [(own.D, there.D, 1.0), (own.Z, there.Z, 1.0), (new.x, expected.x, system.length)]
        pairs += [(new.R, expected.R, 1.0), (new.v, expected.v, v_rate), (own_a, a, a_rate)]
        for one, other, rate in pairs:
            if not np.abs(one - other).max(initial=0.0) <= AGREES * rate * max(size, SHAKEN):
                raise CannotRecordError("the recorded lines do something else")
