"""Derivatives of frequencies, modes and buckling loads: of ``s`` with ``P(s) x = 0``, ``P(s) = A_0 + s A_1 + s^2 A_2``.

``A_k`` change with the parameters and with the state, which has moved along. With all modes ``X`` of one eigenvalue and
the left ones ``Y``, ``Y^H P'(s) X = 1``, its derivatives are the eigenvalues of ``-Y^H P_p X``: where several modes
share it, they tell how these part (Dailey, AIAA J. 27, 1989). The mode of a simple one follows by the same bordered
matrix ``[[P, P' X], [X^H, 0]]``, which is regular (Nelson, AIAA J. 14, 1976). Differences of eigenvalues would have
errors of rounding times the square of the highest frequency.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import block_array, csc_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import SuperLU, splu

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import State
from fem_mbs.contracts.public import misfit
from fem_mbs.derivatives.equilibria import moved, refined
from fem_mbs.derivatives.parameter_derivatives import KINK, MEAN
from fem_mbs.derivatives.parameters import STEP, Variation
from fem_mbs.errors import ModelError
from fem_mbs.initial.redundant import independent
from fem_mbs.modal.linear_model import LinearModel, linearize
from fem_mbs.modal.modes import Modes, modes
from fem_mbs.modal.shapes import ShapesOfMotion
from fem_mbs.solution.history import constant, proportional
from fem_mbs.static.buckling import Buckling, buckling, pencil, shaped
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System

ONE = 1e-6
"""Relative distance of eigenvalues that count as one."""
AT_REST, ROUNDING = 1e-8, np.finfo(float).eps / STEP
"""Change of a stiffness, over its size, when a parameter doubles, that is none; over the largest there is."""
ROUNDED, FELT = 0.03, 1e-5
"""Where rounding, estimated some times too large, is told: over a derivative, and over an eigenvalue."""

INCOMPLETE = (
    "there are more modes with this eigenvalue, ask for a larger count, or the motion is just where it ceases to swing"
)
BRANCHES = (
    "derivatives of these are those of its branches, by size, and only their sum is smooth; the modes themselves have "
    "none"
)
DOUBTFUL = (
    "may be off by hundredths and more, by rounding: they are small beside those of stiff parts that hardly deform in "
    "it; compare them with differences over larger changes"
)

Matrices: TypeAlias = list[csc_array]


class EigenRates(NamedTuple):
    """Derivatives by one parameter; not a number where there are none."""

    values: Array
    """Of the eigenvalues, ``(count,)``."""
    modes: Array
    """Of the free components of the modes ``(n_free, count)``, as they are scaled."""

    @property
    def known(self) -> BoolArray:
        """Which modes have derivatives, ``(count,)``."""
        return np.asarray(np.isfinite(self.modes).all(axis=0))

    def moved(self, x: Array, by: float) -> Array:
        """Modes ``x`` (n_free, count) moved along; as they were where they have no derivatives."""
        change = np.where(self.known, self.modes, 0.0)
        return x + by * (change if np.iscomplexobj(x) else change.real)

    def shapes(self, shapes: Array, own: Array) -> tuple[Array, Array]:
        """Motions of nodes and of internal variables in modes that were moved; none without derivatives."""
        return np.where(self.known[:, None, None], shapes, np.nan), np.where(self.known[:, None], own, np.nan)


def analysed(
    of: Callable[..., Any],
    arguments: dict[str, Any],
    here: tuple[Any, State | None],
    variations: list[Variation],
    states: Sequence[Sequence[State | None]],
) -> tuple[Any, list[tuple[Variation, Sequence[Any]]], list[str]]:
    """What a function makes of a model and perhaps a state, of those beside, and notes.

    By differences of what it returns, but for :func:`modes` and :func:`buckling`: what another function has asked them
    for, and about which state, is not known here.
    """

    def ask(function: Callable[..., Any], model: Any, state: State | None, options: dict[str, Any]) -> Any:
        at = {} if state is None else {"initial" if function is buckling else "state": state}
        if twice := at.keys() & options.keys():
            raise ModelError(f"Sensitivities.about: {twice.pop()} is the one of at=, which moves with the parameters")
        try:
            return function(model, **at, **options)
        except TypeError:
            if why := misfit(function, [model], at | options, False):
                raise ModelError(f"{'Sensitivities.about' if at else 'sensitivities'}: of: {why}") from None
            raise

    found, notes = ask(of, *here, arguments), list[str]()
    others: list[Any]
    if of is buckling:
        others, notes = varied_buckling(found, variations, arguments.get("ramp", True))
    else:
        function, options = of, arguments
        if of is modes:
            function, options = linearize, {name: own for name, own in arguments.items() if name == "state"}
        pairs = [zip(own.models, beside, strict=True) for own, beside in zip(variations, states, strict=True)]
        others = [[ask(function, model, state, options) for model, state in own] for own in pairs]
        if of is modes:
            others, notes = varied_modes(found, variations, others, arguments.get("damped", False))
    return found, list(zip(variations, others, strict=True)), notes


def varied_modes(
    found: Modes, variations: Sequence[Variation], linears: Sequence[Sequence[LinearModel]], damped: bool
) -> tuple[list[list[Modes]], list[str]]:
    """The modes of models beside, whose linear models are given, moved along the derivatives; and notes."""
    linear, x = found.linear, _free(found)
    others = [[_of_motion(each, damped) for each in beside] for beside in linears]
    rates, notes = _rates(linear.system, _of_motion(linear, damped), variations, others, found.eigenvalues, x, linear.M)
    result: list[list[Modes]] = []
    for own, rate, beside in zip(variations, rates, linears, strict=True):
        result.append([])
        for by, each in zip(own.shifts, beside, strict=True):
            d = rate.moved(x, by).T
            motions = rate.shapes(each.node_motions(d), each.own_motions(d))
            result[-1].append(Modes(found.eigenvalues + by * rate.values, *motions, each, found.damped))
    return result, notes


def varied_buckling(
    found: Buckling, variations: Sequence[Variation], ramp: bool
) -> tuple[list[list[Buckling]], list[str]]:
    """The loads and shapes of models beside, whose equilibria have moved, moved along the derivatives; and notes."""
    linear, x, system = found.linear, _free(found), found.linear.system
    first, state = linear.state.t, from_user(system, linear.state, "buckling")
    nearest, instant = float(found.factors[0]) - first, proportional if ramp else constant
    # laws of loads are looked at further on than the path went that has led here
    variations = [own._replace(systems=[System(model) for model in own.models]) for own in variations]
    exact = refined(system, instant, state)
    states = [moved(system, own, instant, exact) for own in variations]
    pairs = [zip(own.systems, beside, strict=True) for own, beside in zip(variations, states, strict=True)]
    others = [[pencil(*pair, nearest, ramp) for pair in own] for own in pairs]
    matrices = pencil(system, state, nearest, ramp)
    rates, notes = _rates(system, matrices, variations, others, found.factors - first, x, None)
    return [
        [
            Buckling(found.factors + by * rate.values.real, *rate.shapes(*shaped(linear, rate.moved(x, by))), linear)
            for by in own.shifts
        ]
        for own, rate in zip(variations, rates, strict=True)
    ], notes


def _free(shapes: ShapesOfMotion) -> Array:
    """Free components ``(n_free, count)``."""
    linear, count = shapes.linear, len(shapes.shapes)
    nodes = shapes.shapes.reshape(count, -1, 2, 3) @ linear.state.R  # vecmat would take conjugates
    return np.concatenate([nodes.reshape(count, -1), shapes.own], axis=1)[:, linear.system.free_rows].T


def _of_motion(linear: LinearModel, damped: bool) -> Matrices:
    """``A_k`` of free vibrations, joints included."""
    C, K, m = linear.C, linear.K, linear.B.shape[0]
    if not damped:
        C, K = C - linear.dissipation[0], K - linear.dissipation[1]
    level, none = diags_array(linear.system.velocity_level.astype(float), shape=(m, m)), csc_array((m, m))
    moving = csc_array(level @ linear.B)
    first = block_array([[K, linear.L], [linear.B - moving + linear.G, none]], format="csc")
    still = csc_array(linear.L.shape)
    second = block_array([[C, still], [moving, none]], format="csc")
    return [first, second, block_array([[linear.M, still], [csc_array(linear.B.shape), none]], format="csc")]


def _rates(
    system: System,
    matrices: Matrices,
    variations: Sequence[Variation],
    others: Sequence[Sequence[Matrices]],
    values: Array,
    modes: Array,
    M: csc_array | None,
) -> tuple[list[EigenRates], list[str]]:
    """Derivatives of eigenvalues and of the free components of their modes; and notes."""
    changes = [_comparable(system, _difference(*own)) for own in zip(variations, others, strict=True)]
    n, weight, matrices = system.n_free, system.weight[system.free_rows][:, None], _comparable(system, matrices)
    x = np.zeros((matrices[0].shape[0], len(values)), np.result_type(modes, values))
    x[:n] = modes * weight
    rates = [
        EigenRates(np.full(len(values), np.nan, x.dtype), np.full((n, len(values)), np.nan, x.dtype)) for _ in changes
    ]
    notes = []
    for group in _groups(values):
        s, X, named = values[group].mean(), x[:, group], " and ".join(str(k + 1) for k in group)
        if s == 0.0:
            for variation, own, rate in zip(variations, changes, rates, strict=True):
                rate.values[group] = _at_rest(matrices[0], variation.step / STEP * own[0], X)
            continue
        solver = _bordered(_at(matrices, s), _at(matrices, s, 1), X, ONE * abs(s))
        if solver is None:
            notes.append(f"no derivatives of mode {named}: {INCOMPLETE}")
            continue
        if len(group) > 1:
            notes.append(f"modes {named} have one eigenvalue: {BRANCHES}")
        full, _, dual = space = _eigenspace(solver, matrices, s, X)
        rounded = []
        for own, rate, variation, beside in zip(changes, rates, variations, others, strict=True):
            change, *moved = _moved(solver, matrices, own, s, space)
            parts = np.linalg.eigvals(change)
            doubt = _rounding(matrices, own, s, dual, full) / variation.step
            if doubt > max(ROUNDED * abs(parts).max(), FELT * abs(s) * STEP / variation.step):
                rounded.append(variation.label)
            rate.values[group] = parts[np.argsort((parts / s).real)]
            if len(group) == 1:
                along = moved[0][:n] / weight
                rate.modes[:, group] = along + modes[:, group] * _along(modes[:, group], along, weight, M, own)
            if len(beside) == 2:
                ends = [_comparable(system, each) for each in beside]
                half, apart = variation.halves(*_along_with(matrices, ends, s, space, moved, variation.shifts))
                if apart > max(KINK * half, 1e-9 * abs(s)) + doubt * variation.step:
                    notes.append(MEAN.format(f"mode {named}", variation.label))
        if rounded:
            notes.append(f"derivatives of mode {named} against {', '.join(rounded)} {DOUBTFUL}")
    return rates, notes


def _eigenspace(solver: SuperLU, matrices: Matrices, s: Any, X: Array) -> tuple[Array, Array, Array]:
    """Modes of an eigenvalue, the slope of its matrix times these, and left modes, of which that is the unit matrix."""
    unit = np.eye(len(X) + X.shape[1])[:, len(X) :].astype(solver.U.dtype)
    full, left = solver.solve(unit)[: len(X)], solver.solve(unit, trans="H")[: len(X)]
    full = full * np.vecdot(X.T, X.T).real  # the border has them as they are scaled
    slope = _at(matrices, s, 1) @ full
    return full, slope, left @ np.linalg.inv(left.conj().T @ slope).conj().T


def _moved(
    solver: SuperLU, matrices: Matrices, own: Matrices, s: Any, space: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """Derivatives of eigenvalues, as a matrix, and of modes and left modes beside those in their own space.

    Matrices change by ``own``.
    """
    full, slope, dual = space
    force = _at(own, s) @ full
    change = -dual.conj().T @ force
    border = np.zeros((full.shape[1], full.shape[1]))
    d = solver.solve(np.vstack([-force - slope @ change, border]))[: len(full)]
    against = _at(own, s).conj().T @ dual + _at(matrices, s, 1).conj().T @ (dual @ change.conj().T)
    return change, d, solver.solve(np.vstack([-against, border]).astype(solver.U.dtype), trans="H")[: len(full)]


def _along_with(
    matrices: Matrices,
    beside: Sequence[Matrices],
    s: Any,
    space: tuple[Array, Array, Array],
    moved: Sequence[Array],
    shifts: Sequence[float],
) -> tuple[Array, list[Array]]:
    """What matrices say of an eigenvalue, and what those beside do with modes that have moved along.

    Stiff parts of modes that are held would bend.
    """
    (full, _, dual), (d, e) = space, moved
    ends = [(dual + by * e).conj().T @ (_at(own, s) @ (full + by * d)) for by, own in zip(shifts, beside, strict=True)]
    return dual.conj().T @ (_at(matrices, s) @ full), ends


def _comparable(system: System, parts: Matrices) -> Matrices:
    """Of numbers in comparable units, and of joint equations that do not repeat each other."""
    n = system.n_free
    kept = np.concatenate([np.arange(n), n + independent(system)])
    units = diags_array(np.concatenate([1.0 / system.weight[system.free_rows], system.constraint_weight])[kept])
    return [csc_array(units @ csc_array(part)[kept][:, kept] @ units) for part in parts]


def _difference(own: Variation, beside: Sequence[Matrices]) -> Matrices:
    """What a variation makes of matrices."""
    each = zip(*beside, strict=True)
    return [sum(weight * part for weight, part in zip(own.weights, parts, strict=True)) for parts in each]


def _at_rest(stiffness: csc_array, change: csc_array, X: Array) -> Array:
    """Zero for modes at rest that stay so; NaN for those that a change of the stiffness makes swing."""
    size = np.vecdot(abs(X).T, ((abs(stiffness) + abs(change)) @ abs(X)).T)
    none = AT_REST * size + ROUNDING * abs(stiffness).max() * np.vecdot(X.T, X.T).real
    return np.where(np.abs(np.vecdot(X.T, (change @ X).T)) <= none, 0.0, np.nan)


def _rounding(matrices: Matrices, changes: Matrices, s: complex, left: Array, right: Array) -> float:
    """What rounding of those entries of ``P(s)`` that change leaves of ``left^H P right``."""
    changed = sum((own != 0.0).astype(float) for own in changes)
    squared = csc_array(changed).sign().multiply(_at([abs(own) for own in matrices], abs(s)).power(2))
    return float(np.finfo(float).eps * np.sqrt(np.vecdot(abs(left.T) ** 2, (squared @ abs(right) ** 2).T).max()))


def _bordered(P: csc_array, slope: csc_array, X: Array, near: float) -> SuperLU | None:
    """The factors of ``[[P, P' X], [X^H, 0]]``; None if it is singular, as another eigenvalue is so near.

    The bordered inverse amplifies what ``P'`` makes of other modes by one over their distance.
    """
    try:
        solver = splu(block_array([[P, slope @ X], [X.conj().T, None]], format="csc"))
    except RuntimeError:  # singular to the last digit
        return None
    along, sizes = np.random.default_rng(0).normal(size=len(X)), []
    for _ in range(2):
        pushed = np.append(slope @ along, np.zeros(X.shape[1])).astype(solver.U.dtype)
        along = solver.solve(pushed)[: len(X)]
        sizes.append(float(np.linalg.norm(along)))
    return solver if sizes[0] > near * sizes[1] else None


def _along(x: Array, d: Array, weight: Array, M: csc_array | None, change: Matrices) -> complex:
    """How much of a mode itself its derivative has: its modal mass stays, and its largest component real."""
    if M is None:
        return 0.0
    largest = int(np.abs(x * weight).argmax())
    mass = (x.conj().T @ (M @ x)).item().real
    grown = (x.conj().T @ ((M + M.T) @ d)).item().real  # rows of sensors are not symmetric
    own = x * weight
    grown += (own.conj().T @ (change[2][: len(x), : len(x)] @ own)).item().real
    alone = -0.5 * grown / mass if abs(mass - 1.0) < ONE else 0.0
    return complex(alone, -(d[largest, 0] / x[largest, 0]).imag)


def _at(matrices: Matrices, s: complex, slope: int = 0) -> csc_array:
    """``P(s)``, or its derivative against ``s``."""
    if slope:
        matrices = [k * part for k, part in enumerate(matrices)][1:]
    return csc_array(sum(s**k * part for k, part in enumerate(matrices)))


def _groups(values: Array) -> list[IntArray]:
    """Numbers of eigenvalues that are one."""
    near = np.abs(values[:, None] - values) <= ONE * np.abs(values)
    count, labels = connected_components(near)
    return [np.flatnonzero(labels == k) for k in range(count)]
