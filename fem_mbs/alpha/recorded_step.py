"""The equations of a step of a small system, recorded: what :mod:`fem_mbs.alpha.whole_step` compiles.

The methods of :class:`~fem_mbs.alpha.step.StepEquations` run as they are on a tape, one after the other: the iteration
matrix with its factors; a trial, which is the residual, the correction by a given matrix, the state after it, and what
that is judged by; the state at any other trial; and the error that lasts of a step, with those that are carried along.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.alpha.carried_error import carry
from fem_mbs.alpha.local_error import defect, defect_of_velocities, lasting_error, response, unresolved
from fem_mbs.alpha.newmark import Newmark, Parameters
from fem_mbs.alpha.step import Linearization, Scheme, StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.compiled.elimination import Elimination
from fem_mbs.compiled.tape import Number
from fem_mbs.compiled.whole import Lines, RecordedSystem, Whole
from fem_mbs.contracts import Report, State
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import Iterate
from fem_mbs.system.system import System

SHAKEN = 1e-4
"""How far from uniform motion a step is recorded."""
SHAPES = ("x", (3,)), ("R", (3, 3)), ("v", (6,)), ("vdot", (6,))
"""Parts of a state, and their shapes for a node."""


class Columns:
    """Where what a step begins and ends with stands in a row: a state first, from ``memory`` on the rest."""

    def __init__(self, one: System) -> None:
        n, N, m = one.n, one.N, one.m
        sizes = {"multipliers": m, "x": 3 * n, "R": 9 * n, "v": N, "vdot": N}
        sizes |= {"a": N, "missed": 2 * N, "old": N, "missed_multipliers": 2 * m}
        ends = np.cumsum([0, *sizes.values()]).tolist()
        self.of = {name: slice(*pair) for name, pair in zip(sizes, pairwise(ends), strict=True)}
        """By names; ``old`` are the accelerations one step before the state."""
        self.memory, self.width = self.of["a"].start, ends[-1]
        self.basis = slice(self.of["v"].start, self.of["missed"].stop)
        """``v``, ``vdot``, ``a`` and what the last two guesses missed: what the formulas of a step are linear in."""


class Recording(NamedTuple):
    """What has been recorded of the steps of a kind of systems: the same for all numbers in them."""

    programs: list[str]
    """Of the matrix, a trial, a state, and the error that lasts."""
    stored: int
    """Numbers that a correction needs of the matrix."""
    lengths: list[tuple[int, ...]]
    """Of the results of each."""
    simplified: bool
    """Whether corrections leave something out."""


class Constants(NamedTuple):
    """What errors ask of the coefficients of a method, see :class:`~fem_mbs.alpha.newmark.Parameters`."""

    C_q: Any
    inertia: Any
    both_defects: Any


class Given(NamedTuple):
    """What lines are recorded of, on a tape."""

    unknown: Unknowns
    state: State
    h: Any
    formulas: Newmark
    expected: Array
    """What the plain guess is expected to miss, ``(2, N)``."""
    before: dict[str, Array]
    """The row that a step begins with."""
    ended: dict[str, Array]
    """The state that it has led to."""
    parameters: Constants
    per_time: Any
    """One over the time since the accelerations that a slope is taken from."""
    third: Array
    """Weights of accelerations in the defect of velocities, see :func:`~fem_mbs.alpha.local_error.weights_of_third`."""
    of_rates: Array
    """What Newmark's formulas make of rates, ``(3, 3)``."""
    errors: Array
    """Those that are carried along ``(4, N)``."""


def inputs(lines: Lines, whole: Whole, equations: StepEquations, parameters: Parameters) -> Given:
    """The unknowns, and what a step begins with: near where the model is built, whatever the state is."""
    one, c, system, columns, h = whole.one, whole.copies, whole.system, Columns(whole.one), equations.h
    v = system.kinematics.from_body(system.R0, system.velocities).reshape(c, -1)
    shaken, none, cut = np.random.default_rng(1), np.empty(0), one.N + one.m
    factors = equations.formulas.factors[:, 0]
    constants = [parameters.C_q, parameters.inertia, parameters.both_defects]
    more = SHAKEN * shaken.normal(size=12)
    numbers = lines.input(np.array([0.0, h, *factors, *constants, *more[3:], *more[:3], 1.0 / h]), uniform=True)
    start = SHAKEN * shaken.normal(size=(c, columns.width))
    for name, built in (("x", system.x0), ("R", system.R0), ("v", v)):
        start[:, columns.of[name]] = built.reshape(c, -1)
    linear = SHAKEN * shaken.normal(size=(c, 7, one.N))
    linear[:, :3] += np.stack([(own - factor * h) * v for own, factor in zip((1.0, 0.0, 0.0), factors, strict=True)], 1)
    linear[:, [3, 6]] += h * v[:, None]
    rows = SHAKEN * shaken.normal(size=(c, cut + one.N + 1))
    rows[:, : one.N] += h * v
    rows[:, -1] = SHAKEN
    errors = SHAKEN * shaken.normal(size=(c, 4, one.N))
    row, weighted, unknowns, end, errors = map(lines.input, (start, linear, rows, start[:, : columns.memory], errors))
    before = {name: row[own] for name, own in columns.of.items()}
    ended = {name: end[own] for name, own in columns.of.items() if own.stop <= columns.memory}
    D, multipliers, Z, share = np.split(unknowns, [one.N, cut, cut + one.N])
    unknown = Unknowns(D, multipliers)
    if equations.closes_velocities:
        unknown = Unknowns(D, multipliers, Z, inertia_share=share[0])
    t, h, *given = numbers
    return Given(
        unknown,
        _state(t, before, none),
        h,
        Newmark(np.array(given[:3])[:, None], weighted[:3], weighted[3]),
        weighted[4:6],
        before,
        ended,
        Constants(*given[3:6]),
        given[-1],
        np.array(given[-4:-1]),
        np.array(given[6:-4]).reshape(3, 3),
        errors,
    )


def _state(t: Any, row: dict[str, Array], none: Array) -> State:
    x, R, v, vdot = (row[name].reshape(-1, *shape) for name, shape in SHAPES)
    return State(t, x, R, v, vdot, row["multipliers"], none, none, none)


def record(whole: Whole, equations: StepEquations, parameters: Parameters) -> Recording:
    """The methods of the equations on a tape, one after the other."""
    one, lines, none = whole.one, Lines(whole.copies, recorded=True), np.empty(0)
    system = RecordedSystem(whole, lines, whole.system.prescribe(equations.h))
    given = inputs(lines, whole, equations, parameters)
    unknown, state, h = given.unknown, given.state, given.h
    step = type(equations)(system, state, h, given.formulas, system.kinematics, equations.matrix)
    scheme = Scheme(system, system.kinematics, given.parameters, type(equations))  # type: ignore[arg-type]

    def local_error(new: State) -> Any:
        slope = (new.vdot.reshape(-1) - given.before["old"]) * given.per_time
        return h**3 * defect(scheme, new, slope, none)

    def end(unknown: Unknowns) -> tuple[Array, list[Any]]:
        new, a = step.update(Iterate(unknown, None, None, Report(), corrected=True))  # type: ignore[arg-type]
        system.check_end(state.t, new.t, new.R, new.u, new.multipliers)
        D, before = unknown.D - given.formulas.guess, given.before
        squares = [(miss := system.weight * off) @ miss for off in (D, *(given.expected - D))]
        local = np.maximum.reduce(np.abs(local_error(new) * system.weight))
        missed = new.multipliers - state.multipliers
        ended = new.multipliers, new.x, new.R, new.v, new.vdot, a, D, before["missed"][: one.N], before["vdot"]
        row = np.concatenate([*map(np.ravel, ended), missed, before["missed_multipliers"][: one.m]])
        return row, [*squares, local]

    residual = step.evaluate(unknown)
    lines.share_guards()
    matrix = step.linearize(unknown, residual)
    stored = Stored(matrix, residual.evaluation.motion.R)
    of_matrix = lines.line(stored.values, *([matrix.T_inv, system.solver.values] if whole.copies == 1 else []))
    factors, T_inv, gradients, _ = stored.again(lines, system.solver)
    kept, first = Linearization(factors, T_inv), stored.again(lines, system.solver)
    if equations.closes_velocities:
        directions = first[0], first[1], first[3]
        kept = Linearization(factors, T_inv, gradients, directions)
    correction = step.correction(unknown, residual, kept)
    after = step.corrected(unknown, residual, kept, correction, 1.0)
    rest = (after.Z, [after.inertia_share]) if equations.closes_velocities else (np.zeros(one.N + 1),)
    row, values = end(after)
    values += [*step.size(residual), step.length(correction)]
    of_trial = lines.line(np.concatenate([after.D, after.multipliers, *rest]), row, values)
    of_end = lines.line(*end(unknown))
    new = _state(step.t, given.ended, none)
    left = local_error(new)
    lasting = lasting_error(scheme, response(scheme, residual.evaluation, left, factors))
    oscillating = unresolved(system, h, state, new, (new.vdot + state.vdot).reshape(-1))
    third = given.third @ np.stack([new.vdot.reshape(-1), given.before["vdot"], given.before["old"]])
    rates = given.of_rates @ given.errors[1:]
    rates[0] -= defect_of_velocities(system, third, new.v - state.v)
    errors = carry(step, residual, kept, given.errors[0], rates, left)
    of_look = lines.line(np.concatenate([lasting, oscillating]), errors)
    own = of_matrix, of_trial, of_end, of_look
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
