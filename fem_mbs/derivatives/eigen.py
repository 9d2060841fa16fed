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
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.derivatives.equilibria import moved
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.initial.redundant import independent
from fem_mbs.modal.linear_model import LinearModel, linearize
from fem_mbs.modal.modes import Modes
from fem_mbs.modal.shapes import ShapesOfMotion
from fem_mbs.solution.history import constant, proportional
from fem_mbs.static.buckling import Buckling, buckling, pencil, shaped
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System

ONE = 1e-6
"""Relative distance of eigenvalues that count as one."""
AT_REST = 1e-6
"""Change of a stiffness that is none, over its size, by which a motion at no frequency stays at none."""

Matrices: TypeAlias = list[csc_array]


class EigenRates(NamedTuple):
    """Derivatives by one parameter; not a number where there are none."""

    values: Array
    """Of the eigenvalues, ``(count,)``."""
    modes: Array
    """Of the free components of the modes ``(n_free, count)``, as they are scaled."""


def analysed(
    of: Callable[..., Any],
    arguments: dict[str, Any],
    here: tuple[Any, State | None],
    variations: list[Variation],
    states: Sequence[Sequence[State | None]],
) -> tuple[Any, list[tuple[Variation, Sequence[Any]]], list[str]]:
    """What a function makes of a model and perhaps a state, of those beside, and notes.

    By differences of what it returns, but for eigenvalues.
    """
    found, notes = _of_model(of, *here, arguments), list[str]()
    others: list[Any]
    if isinstance(found, Buckling):
        others = buckling_beside(found, variations, arguments.get("ramp", True))
    else:
        function, options = (linearize, {}) if isinstance(found, Modes) else (of, arguments)
        pairs = [zip(own.models, beside, strict=True) for own, beside in zip(variations, states, strict=True)]
        others = [[_of_model(function, model, state, options) for model, state in own] for own in pairs]
        if isinstance(found, Modes):
            others, notes = modes_beside(found, variations, others, arguments.get("damped", False))
    return found, list(zip(variations, others, strict=True)), notes


def _of_model(of: Callable[..., Any], model: Any, state: State | None, arguments: dict[str, Any]) -> Any:
    if state is None:
        return of(model, **arguments)
    return of(model, **{"initial" if of is buckling else "state": state}, **arguments)


def modes_beside(
    modes: Modes, variations: Sequence[Variation], linears: Sequence[Sequence[LinearModel]], damped: bool
) -> tuple[list[list[Modes]], list[str]]:
    """The modes of models beside, whose linear models are given, moved along the derivatives; and notes."""
    linear, x = modes.linear, _free(modes)
    changes = [
        _differences(own, [_of_motion(each, damped) for each in beside])
        for own, beside in zip(variations, linears, strict=True)
    ]
    rates, groups = _rates(linear.system, _of_motion(linear, damped), changes, modes.eigenvalues, x, linear.M)
    result: list[list[Modes]] = []
    for own, rate, beside in zip(variations, rates, linears, strict=True):
        known = np.asarray(np.isfinite(rate.modes).all(axis=0))
        change = np.where(known, rate.modes, 0.0) if np.iscomplexobj(x) else np.where(known, rate.modes.real, 0.0)
        result.append([])
        for by, each in zip(own.shifts, beside, strict=True):
            d = (x + by * change).T
            shapes = np.where(known[:, None, None], each.node_motions(d), np.nan)
            variables = np.where(known[:, None], each.own_motions(d), np.nan)
            result[-1].append(Modes(modes.eigenvalues + by * rate.values, shapes, variables, each))
    return result, [
        f"modes {' and '.join(str(k + 1) for k in group)} have one eigenvalue: derivatives of these are those of its "
        "branches, by size, and only their sum is smooth; the modes themselves have none"
        for group in groups
    ]


def buckling_beside(found: Buckling, variations: Sequence[Variation], ramp: bool) -> list[list[Buckling]]:
    """The loads and shapes of models beside, whose equilibria have moved, moved along the derivatives."""
    linear, x, system = found.linear, _free(found), found.linear.system
    first, state = linear.state.t, from_user(system, linear.state, "buckling")
    nearest, instant = float(found.factors[0]) - first, proportional if ramp else constant
    states = [moved(system, own, instant, state) for own in variations]
    changes = [
        _differences(own, [pencil(*pair, nearest, ramp) for pair in zip(own.systems, beside, strict=True)])
        for own, beside in zip(variations, states, strict=True)
    ]
    rates, _ = _rates(system, pencil(system, state, nearest, ramp), changes, found.factors - first, x, None)
    return [
        [
            Buckling(found.factors + by * rate.values.real, *shaped(linear, x + by * rate.modes.real), linear)
            for by in own.shifts
        ]
        for own, rate in zip(variations, rates, strict=True)
    ]


def _free(shapes: ShapesOfMotion) -> Array:
    """Free components ``(n_free, count)``."""
    linear, count = shapes.linear, len(shapes.shapes)
    nodes = shapes.shapes.reshape(count, -1, 2, 3) @ linear.state.R  # vecmat would take conjugates
    return np.concatenate([nodes.reshape(count, -1), shapes.own], axis=1)[:, linear.system.free_rows].T


def _differences(variation: Variation, beside: Sequence[Matrices]) -> Matrices:
    """Derivatives of matrices."""
    return [
        csc_array(sum(weight * part for weight, part in zip(variation.weights, parts, strict=True)))
        for parts in zip(*beside, strict=True)
    ]


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
    system: System, matrices: Matrices, changes: list[Matrices], values: Array, modes: Array, M: csc_array | None
) -> tuple[list[EigenRates], list[list[int]]]:
    """Derivatives of eigenvalues and of the free components of their modes; and which of them are one."""
    n = system.n_free
    kept = np.concatenate([np.arange(n), n + independent(system)])
    units = diags_array(np.concatenate([1.0 / system.weight[system.free_rows], system.constraint_weight])[kept])

    def scaled(parts: Matrices) -> Matrices:
        return [csc_array(units @ csc_array(part)[kept][:, kept] @ units) for part in parts]

    matrices, changes = scaled(matrices), [scaled(own) for own in changes]
    weight = system.weight[system.free_rows][:, None]
    x = np.zeros((len(kept), len(values)), np.result_type(modes, values))
    x[:n] = modes * weight
    rates = [
        EigenRates(np.full(len(values), np.nan, x.dtype), np.full((n, len(values)), np.nan, x.dtype)) for _ in changes
    ]
    groups = _groups(values)
    for group in groups:
        s, X = values[group].mean(), x[:, group]
        if s == 0.0:
            for own, rate in zip(changes, rates, strict=True):
                moved = np.abs(np.vecdot(X.T, (own[0] @ X).T))
                size = np.abs(np.vecdot(abs(X).T, (abs(matrices[0]) @ abs(X)).T)) + np.abs(own[0]).max()
                rate.values[group] = np.where(moved <= AT_REST * size, 0.0, np.nan)
            continue
        slope = _at(matrices, s, 1) @ X
        matrix = block_array([[_at(matrices, s), slope], [X.conj().T, None]], format="csc")
        solver, unit = splu(matrix), np.eye(len(x) + len(group))[:, len(x) :].astype(matrix.dtype)
        full, left = solver.solve(unit)[: len(x)], solver.solve(unit, trans="H")[: len(x)]
        full = full * np.vecdot(X.T, X.T).real  # the border has them as they are scaled
        slope = _at(matrices, s, 1) @ full
        inner = np.linalg.inv(left.conj().T @ slope)
        for own, rate in zip(changes, rates, strict=True):
            force = _at(own, s) @ full
            parts = np.linalg.eigvals(-inner @ (left.conj().T @ force))
            rate.values[group] = parts[np.argsort(np.abs(parts) * np.sign((parts / s).real))]
            if len(group) == 1:
                pushed = np.vstack([-force - rate.values[group] * slope, np.zeros((1, 1))])
                d = solver.solve(pushed)[:n] / weight
                rate.modes[:, group] = d + modes[:, group] * _along(modes[:, group], d, weight, M, own)
    return rates, [group for group in groups if len(group) > 1]


def _along(x: Array, d: Array, weight: Array, M: csc_array | None, change: Matrices) -> complex:
    """How much of a mode itself its derivative has: its modal mass stays, and its largest component real."""
    if M is None:
        return 0.0
    largest = int(np.abs(x * weight).argmax())
    mass = (x.conj().T @ (M @ x)).item().real
    grown = 2.0 * (x.conj().T @ (M @ d)).item().real
    own = x * weight
    grown += (own.conj().T @ (change[2][: len(x), : len(x)] @ own)).item().real
    alone = -0.5 * grown / mass if abs(mass - 1.0) < ONE else 0.0
    return complex(alone, -(d[largest, 0] / x[largest, 0]).imag)


def _at(matrices: Matrices, s: complex, slope: int = 0) -> csc_array:
    """``P(s)``, or its derivative against ``s``."""
    if slope:
        matrices = [k * part for k, part in enumerate(matrices)][1:]
    return csc_array(sum(s**k * part for k, part in enumerate(matrices)))


def _groups(values: Array) -> list[list[int]]:
    """Numbers of eigenvalues that are one."""
    result: list[list[int]] = []
    for k, value in enumerate(values):
        for group in result:
            if abs(values[group].mean() - value) <= ONE * abs(value):
                group.append(k)
                break
        else:
            result.append([k])
    return result
