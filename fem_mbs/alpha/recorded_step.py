"""The equations of a step, recorded: what :mod:`fem_mbs.alpha.whole_step` compiles.

The methods of :class:`~fem_mbs.alpha.step.StepEquations` run as they are on a tape, one after the other: the iteration
matrix with its factors; a trial, which is the residual, then the correction by a given matrix; the state that a trial
leads to, and what that is judged by; and the error that lasts of a step, with those that are carried along.
"""

from __future__ import annotations

from collections import namedtuple
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.alpha.local_error import defect, response, unresolved, worst
from fem_mbs.alpha.newmark import Newmark, Parameters
from fem_mbs.alpha.step import Linearization, Scheme, StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.compiled.program import ALL, EQUATIONS, NODES, Program
from fem_mbs.compiled.tape import CannotRecordError, Number
from fem_mbs.compiled.whole import RecordedSystem, Whole, factors_at
from fem_mbs.contracts import State
from fem_mbs.newton import Iterate
from fem_mbs.system.system import System

SHAKEN = 1e-4
"""How far from uniform motion a step is recorded."""
SOME = 61
"""Cells of which no two are recorded with the same numbers."""
SHAPES = ("x", (3,)), ("R", (3, 3)), ("v", (6,)), ("vdot", (6,))
"""Parts of a state, and their shapes for a node."""


STATE = "multipliers", "x", "R", "v", "vdot"
OF_MULTIPLIERS = "missed multipliers 0", "missed multipliers 1", "multipliers"
BASIS = "v", "vdot", "a", "missed 0", "missed 1", "Z 0", "Z 1"
"""What the guess of multipliers, and the formulas and guesses of a step, are linear in; ``Z`` last, which not all have.
"""
UNKNOWNS = (NODES, 6), (EQUATIONS, 1), (NODES, 6), (ALL, 1)
"""Increments, multipliers, and what a formulation that closes velocities has beyond them."""


def row_of(closes: bool) -> dict[str, tuple[int, int]]:
    """What a step begins and ends with, one after the other, with kinds and widths: a state, and what is remembered.

    ``old`` are the accelerations one step before the state. ``Z`` has a formulation that closes velocities.
    """
    row = dict.fromkeys(OF_MULTIPLIERS, (EQUATIONS, 1)) | {"x": (NODES, 3), "R": (NODES, 9)}
    return row | dict.fromkeys(("old", *(BASIS if closes else BASIS[:-2])), (NODES, 6))


def columns(system: System, closes: bool) -> dict[str, slice]:
    """Where each of these stands in a row of numbers."""
    counts, row = {NODES: system.n, EQUATIONS: system.m}, row_of(closes)
    ends = np.cumsum([0, *(counts[kind] * width for kind, width in row.values())]).tolist()
    return {name: slice(*pair) for name, pair in zip(row, pairwise(ends), strict=True)}


class Recording(NamedTuple):
    """What has been recorded of the steps of a kind of systems: the same for all numbers in them."""

    matrix: str
    """Programs of the iteration matrix,"""
    guess: str
    """of the formulas of a step, and the first guess of its unknowns,"""
    trial: str
    """of a trial,"""
    end: str
    """of the state that unknowns lead to,"""
    look: str
    """of the error that lasts there,"""
    carry: str
    """of those that are carried along,"""
    start: str
    """and of where a block has begun that leads by an increment to a state."""
    specs: list[Any]
    """Arrays, see :class:`~fem_mbs.compiled.program.Program`."""
    places: dict[str, int]
    """Where what is of interest stands among them."""
    end_checked: bool


Constants = namedtuple("Constants", "C_q inertia rate both_defects")
"""What errors ask of the coefficients of a method, see :class:`~fem_mbs.alpha.newmark.Parameters`."""


class Given(NamedTuple):
    """What lines are recorded of, on tapes."""

    unknown: Unknowns
    state: State
    h: Any
    formulas: Newmark
    expected: Array
    """What the plain guess is expected to miss, ``(2, N)``."""
    before: dict[str, Array]
    """The row that a step begins with."""
    parameters: Constants
    per_time: Any
    """One over the time since the accelerations that a slope is taken from."""
    of_rates: Array
    """What Newmark's formulas make of rates, ``(3, 3)``."""
    of_third: Array
    """What accelerations make of the defect of velocities, ``(3,)``, see :func:`weights_of_third`."""
    lead: Any
    """How much of it is in the defect of the increment."""
    weights: Array
    """Of the formulas and guesses of a step ``(60,)``, see :func:`~fem_mbs.alpha.whole_step._formulas`."""
    errors: Array
    """Those that are carried along ``(5, N)``, and ``Z`` where the step has led."""
    places: dict[str, int]
    """Where all this stands among the arrays."""


def inputs(program: Program, whole: Whole, equations: StepEquations, parameters: Parameters) -> Given:
    """The unknowns, and what a step begins with: near where the model is built, whatever the state is."""
    system, h, closes, rng = whole.system, equations.h, equations.closes_velocities, np.random.default_rng(1)
    counts = {NODES: system.n, EQUATIONS: system.m, ALL: 1}

    def random(kind: int, width: int) -> Array:
        """Numbers for all cells of a kind, the same ones over and over where there are many."""
        if not program.records:
            return np.zeros((counts[kind], width))
        return SHAKEN * np.resize(rng.normal(size=(min(counts[kind], SOME), width)), (counts[kind], width))

    v = system.kinematics.from_body(system.R0, system.velocities)
    factors = equations.formulas.factors[:, 0]
    constants = [parameters.C_q, parameters.inertia, parameters.rate, parameters.both_defects]
    (more,) = random(ALL, 73)
    places = {"numbers": len(program.arrays)}
    numbers = program.uniform(np.array([0.0, 1.0 / h, h, *factors, *constants, *more]))
    built = {"x": system.x0, "R": system.R0.reshape(system.n, 9), "v": v}

    row, lines, parts = row_of(closes), 7 + closes, UNKNOWNS if closes else UNKNOWNS[:2]
    ends = np.cumsum([places["numbers"] + 1, len(row), lines, len(parts)]).tolist()
    places |= zip(("from", "linear", "unknown", "errors"), ends, strict=True)
    near = (random(*part) + built[name] if name in built else random(*part) for name, part in row.items())
    before = dict(zip(row, program.joined(row.values(), near), strict=True))
    of_v = *((own - factor * h) for own, factor in zip((1.0, 0.0, 0.0), factors, strict=True)), h, 0.0, 0.0, h, 0.0
    weighted = program.joined(lines * [(NODES, 6)], (random(NODES, 6) + own * v for own in of_v[:lines]))
    expected: list[Any] = [h * v, 0.0, 0.0, 1.0]
    given_unknowns = (random(*part) + own for part, own in zip(parts, expected, strict=False))
    D, multipliers, *beyond = program.joined(parts, given_unknowns)
    errors = program.joined(6 * [(NODES, 6)], (random(NODES, 6) for _ in range(6)))
    unknown = Unknowns(D, multipliers)
    if beyond:
        unknown = Unknowns(D, multipliers, beyond[0], guessed=beyond[1])
    t, per_time, h, *given = numbers
    return Given(
        unknown,
        _state(t, before),
        h,
        Newmark(np.array(given[:3], object)[:, None], np.stack(weighted[:3]), weighted[3]),
        np.stack(weighted[4:6]),
        before,
        Constants(*given[3:7]),
        per_time,
        np.array(given[7:16], object).reshape(3, 3),
        np.array(given[16:19], object),
        given[19],
        np.array(given[20:], object),
        np.stack(errors),
        places,
    )


def _state(t: Any, row: dict[str, Array]) -> State:
    none = np.empty(0)
    x, R, v, vdot = (row[name].reshape(-1, *shape) for name, shape in SHAPES)
    return State(t, x, R, v, vdot, row["multipliers"], none, none, none)


def record(program: Program, system: RecordedSystem, given: Given, equations: StepEquations) -> Recording:
    """The methods of the equations on tapes, one after the other."""
    first, closes, places = len(program.specs), equations.closes_velocities, given.places
    unknown, state, h = given.unknown, given.state, given.h
    step = type(equations)(system, state, h, given.formulas, system.kinematics, system.entries)
    scheme = Scheme(system, system.kinematics, given.parameters, type(equations))  # type: ignore[arg-type]
    end_checked = True

    def sinks(name: str, kinds: Any, values: list[Any]) -> list[Any]:
        kinds = list(kinds)
        if name not in places:
            places[name] = program.rows(*kinds)
        every = zip(kinds, values, strict=True)
        return [program.sink(kind, places[name] + k, own) for k, ((kind, _), own) in enumerate(every)]

    names = BASIS if closes else BASIS[:-2], OF_MULTIPLIERS
    basis, pressing = (np.stack([given.before[name] for name in own]) for own in names)
    linear = given.weights[:-4].reshape(-1, len(BASIS))[: 7 + closes, : len(basis)] @ basis
    guess = [linear[6], given.weights[-4:-1] @ pressing, *linear[7:], given.weights[-1:]]
    of_unknowns = UNKNOWNS if closes else UNKNOWNS[:2]
    outputs = sinks("linear", len(linear) * [(NODES, 6)], [*linear])
    of_guess = program.line(outputs + sinks("unknown", of_unknowns, guess[: len(of_unknowns)]))
    residual = step.evaluate(unknown)
    sizes = step.size(residual)
    program.share_guards()
    matrix = step.linearize(unknown, residual)
    nodes = [matrix.T_inv, residual.evaluation.motion.R]
    written = [*nodes, *(matrix.velocity_gradients or [])]
    owners = [NODES, NODES, *(kind.number for kind in system.joint_kinds)][: len(written)]
    numbers = [[value for value in own.flat if isinstance(value, Number)] for own in written]
    kinds = [(owner, len(own)) for owner, own in zip(owners, numbers, strict=True)]
    of_matrix = program.line(sinks("matrix", kinds, numbers), after=system.matrix)
    places["first"] = program.rows(*kinds[:2])

    def again(name: str, arrays: list[Array]) -> list[Array]:
        """Of matrices that lines have written, as others read them; constants stay."""
        every = zip(owners, arrays, strict=False)
        return [_again(program, owner, places[name] + k, own) for k, (owner, own) in enumerate(every)]

    T_inv, _, *gradients = again("matrix", written)
    kept = Linearization(factors_at(system.lu), T_inv)
    if closes:
        first_T_inv, first_R = again("first", nodes)
        directions = factors_at(system.first_lu), first_T_inv, first_R
        kept = Linearization(factors_at(system.lu), T_inv, gradients, directions)
    correction = step.correction(unknown, residual, kept)
    after = step.corrected(Iterate(unknown, residual, kept), correction, 1.0)
    rest = [after.Z, [0.0]] if closes else []
    corrected = sinks("after", of_unknowns, [after.D, after.multipliers, *rest])
    judged = [*sizes, step.length(correction), residual.evaluation.scale[0]]
    of_trial = program.line(corrected + sinks("tried", [(ALL, 4)], [judged]))
    new, a = step.update(Iterate(unknown, None, None, corrected=True))  # type: ignore[arg-type]
    try:
        system.check_end(state.t, new.t, new.R, new.u, new.multipliers)
    except CannotRecordError:
        end_checked = False
    D, before, missed = unknown.D - given.formulas.guess, given.before, new.multipliers - state.multipliers
    squares = [np.dot(miss := system.weight * off, miss) for off in (D, *(given.expected - D))]
    slope = (new.vdot.reshape(-1) - before["old"]) * given.per_time
    left, accelerations = h**3 * defect(scheme, new, slope, np.empty(0)), [new.vdot.reshape(-1), before["vdot"]]
    third = h * (given.of_third @ np.stack([*accelerations, before["old"]]))
    local = np.maximum.reduce(np.abs(left * system.weight))
    row = {name: getattr(new, name) for name in STATE} | {"a": a, "old": before["vdot"]}
    row |= {"missed 0": D, "missed 1": before["missed 0"]}
    row |= {"missed multipliers 0": missed, "missed multipliers 1": before["missed multipliers 0"]}
    row |= {"Z 0": unknown.Z, "Z 1": before["Z 0"]} if closes else {}
    shapes = row_of(closes)
    outputs = sinks("row", shapes.values(), [row[name] for name in shapes])
    outputs += sinks("defects", 2 * [(NODES, 6)], [left, third])
    speeds = [worst(system, own.reshape(-1)) for own in (new.v, new.v - state.v)]
    of_end = program.line(outputs + sinks("judged", [(ALL, 8)], [[*squares, local, *np.concatenate(speeds)]]))
    moving = [left, third, *row.values()]
    assert all(isinstance(value, Number) for own in moving for value in own.flat)  # columns are those of the rows
    every = [(name, kind, places["row"] + k) for k, (name, (kind, _)) in enumerate(shapes.items())]
    new = _state(step.t, {name: _again(program, kind, k, row[name]) for name, kind, k in every if name in STATE})
    defects = [_again(program, NODES, places["defects"] + k, own) for k, own in enumerate((left, third))]
    led = response(scheme, residual.evaluation, defects[0], kept.factors)
    lasting = given.parameters.both_defects * worst(system, led)
    oscillating = unresolved(scheme, h, state, new, (defects[0], led)), unresolved(scheme, h, state, new)
    of_look = program.line(sinks("lasting", [(ALL, 6)], [[*lasting, *np.concatenate(oscillating)]]))
    errors, Z = given.errors[:5], given.errors[5]
    solved = Iterate(unknown._replace(Z=Z) if closes else unknown, residual, kept)
    carried = step.carried(solved, errors, given.of_rates @ errors[1:4], np.stack(defects), given.lead)
    of_carry = program.line(sinks("carried", 5 * [(NODES, 6)], list(carried)))
    x, R = system.kinematics.retract(new.x, new.R, -unknown.D.reshape(-1, 6))
    of_start = program.line(sinks("start", [shapes["x"], shapes["R"]], [x, R.reshape(-1)]))
    lines = of_matrix, of_guess, of_trial, of_end, of_look, of_carry, of_start
    return Recording(*lines, program.specs[first:], places, end_checked)


def _again(program: Program, kind: int, array: int, values: Array) -> Array:
    tape, result = program.tapes[kind], np.array(values, object)
    moving = {place: value.sample for place, value in np.ndenumerate(result) if isinstance(value, Number)}
    if moving:
        samples = np.stack([np.broadcast_to(sample, len(tape.sampled)) for sample in moving.values()], axis=1)
        read = tape.given(tape.source(array, len(moving)), samples)
        for place, new in zip(moving, read.tolist(), strict=True):
            result[place] = new
    return result
