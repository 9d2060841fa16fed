"""States that leave a system for a user, and those that come back.

Inside a system positions count from a point of the model, its ``origin``, where that of the world is so far away that
differences of positions are rounding. Users see positions in the world, in arrays that cannot be written to, of states
that know which model they are of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, read_only
from fem_mbs.contracts import ARRAYS, Source, State, instance, number, real
from fem_mbs.contracts.arguments import LARGEST
from fem_mbs.errors import ModelError
from fem_mbs.system.layout import Layout

ORTHONORMAL = 1e-6
"""By how much the columns of a rotation in a state may miss orthonormality."""


def frozen(state: State) -> State:
    """The same state in arrays that cannot be written to."""
    arrays: dict[str, Any] = {name: read_only(getattr(state, name), f"State: {name}") for name in ARRAYS}
    return replace(state, **arrays)


def in_world(system: Layout, x: Array) -> Array:
    """Positions ``(..., 3)`` in the world, read-only."""
    return read_only(x + system.origin if system.far else x)


def from_user(system: Layout, state: State, label: str, joints: bool = True) -> State:
    """The state that a user gives, if it can be one of the system; without ``joints`` its multipliers may be others.

    Raises
    ------
    ModelError
        If it is a state of another model, or not one at all.
    """
    instance(state, State, label)
    number(state.t, f"{label}: t")
    _check_source(system.source, state.source, label, joints)
    n, k, m = system.n, system.k, system.m
    shapes = {"x": (n, 3), "R": (n, 3, 3), "v": (n, 6), "vdot": (n, 6), "u": (k,), "udot": (k,), "uddot": (k,)}
    values: dict[str, Any] = {}
    for name in ARRAYS:
        value = real(getattr(state, name))
        any_length = name == "multipliers" and not joints and value is not None and value.ndim == 1
        shape = shapes.get(name, (m,))
        if value is None or (value.shape != shape and not any_length):
            received = "is no array of numbers" if value is None else f"has the shape {value.shape}"
            raise ModelError(
                f"{label} is not one of this model, which has {n} nodes, {k} internal variables of elements and {m} "
                f"constraint equations: {name} {received}, expected is the shape {shape}; take it from a run of the "
                "same model, such as solution.state(-1)"
            )
        if not (np.abs(value) <= LARGEST).all():
            raise ModelError(f"{label}: {name} has a value that is not a finite number, or one above {LARGEST:g}")
        values[name] = value
    R = values["R"]
    wrong = np.abs(R.mT @ R - np.eye(3)).max(axis=(1, 2)) > ORTHONORMAL
    wrong |= np.linalg.det(R) < 0.0
    if wrong.any():
        raise ModelError(f"{label}: R[{int(np.argmax(wrong))}] is not a rotation matrix")
    if system.far:
        values["x"] = values["x"] - system.origin
    return replace(state, t=float(state.t), **values, source=None)


def _check_source(here: Source, there: Source | None, label: str, joints: bool) -> None:
    if there is None:  # a state that a user made
        return
    for what, own, other in zip(Source._fields, here, there, strict=True):
        if own != other and (joints or other is not there.equations):
            pairs = ((a, b) for a, b in zip(own, other, strict=False) if a != b)
            first, second = next(pairs, (f"{len(own)} {what}", f"{len(other)} {what}"))
            raise ModelError(
                f"{label} is not one of this model: it has {second} where this model has {first}; take it from a run "
                "of the same model, such as solution.state(-1). What comes or goes between runs may be in both, "
                "with a stiffness of zero while it does nothing"
            )


def interpolate(system: Layout, first: State, second: State, share: float) -> State:
    """State at the share ``share`` of the way in time from one state to another.

    The configuration is ``q0 exp(D(share))`` with the cubic ``D`` that has the increment and velocities of both ends
    (third order); the velocity is its derivative, ``T(D) D'``. Coordinates and states of elements are cubic likewise.
    Accelerations, multipliers and algebraic variables are linear in between; history changes at the end. Where
    velocities tell of whole turns that the increment lacks, nodes spin evenly by these beside it.
    """
    kinematics = system.kinematics
    h = second.t - first.t
    end = kinematics.relative(first.x, first.R, second.x, second.R)
    v0, v1 = first.v, second.v
    whole = _whole_turns(system, 0.5 * h * (v0 + v1), end)
    spins = bool(whole.any())
    if spins:
        v0, v1 = v0 - whole / h, v1 - whole / h
    slope = np.matvec(kinematics.inverse_tangent(end), v1)
    D, rate = _cubic(share, h, end, v0, slope)
    x, R = kinematics.retract(first.x, first.R, D)
    v = np.linalg.solve(kinematics.inverse_tangent(D), rate[..., None])[..., 0].astype(float, copy=False)
    if spins:
        body, before = kinematics.to_body(R, v), (x, R)
        x, R = kinematics.retract(x, R, share * whole)
        turned, lever = before[1].mT @ R, np.vecmat(x - before[0], before[1])
        body[:, :3] += np.cross(body[:, 3:], lever)
        body = np.vecmat(body.reshape(-1, 2, 3), turned[:, None]).reshape(-1, 6) + whole / h
        v = kinematics.from_body(R, body)
    vdot, multipliers, ddu = (
        (1 - share) * getattr(first, name) + share * getattr(second, name) for name in ("vdot", "multipliers", "uddot")
    )
    u, du = _cubic(share, h, second.u - first.u, first.udot, second.udot)
    change = np.where(system.order > 0, u, np.where(system.order == 0, share * (second.u - first.u), 0.0))
    return State(
        first.t + share * h, x, R, v, vdot, multipliers, first.u + change, np.where(system.order > 0, du, 0.0), ddu
    )


def _whole_turns(system: Layout, path: Array, end: Array) -> Array:
    """Increments ``(n, 6)`` of the turns that ``end`` lacks of a ``path``, the velocity times the time.

    They lead nowhere. On SE(3), where positions turn with their nodes, they are about the axis of the motion.
    """
    angle = np.linalg.norm(path[:, 3:], axis=-1, keepdims=True)
    moving = path / np.where(angle > 0.0, angle, 1.0)
    axis = moving[:, 3:].copy()
    moving[:, :3] -= np.vecdot(moving[:, :3], axis)[:, None] * axis
    moving[[node.group == "R3xSO3" for node in system.nodes], :3] = 0.0
    return np.asarray(2.0 * np.pi * np.round((angle - np.vecdot(axis, end[:, 3:])[:, None]) / (2.0 * np.pi)) * moving)


def _cubic(s: float, h: float, end: Array, rate0: Array, rate1: Array) -> tuple[Array, Array]:
    """A cubic from zero to ``end`` in the time ``h`` with the rates of both ends, and its rate."""
    value = h * s * (1 - s) ** 2 * rate0 + s * s * (3 - 2 * s) * end + h * s * s * (s - 1) * rate1
    rate = (1 - s) * (1 - 3 * s) * rate0 + 6 * s * (1 - s) / h * end + s * (3 * s - 2) * rate1
    return value, rate
