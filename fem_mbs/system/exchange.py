"""States that leave a system for a user, and those that come back.

Inside a system positions count from a point of the model, its ``origin``, where that of the world is so far away that
differences of positions are rounding. Users see positions in the world, in arrays that cannot be written to, of states
that know which model they are of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.model import LARGEST, instance, number, real
from fem_mbs.system.state import ARRAYS, Source, State
from fem_mbs.system.system import System

Kind = TypeVar("Kind", bound=NDArray[Any])
ORTHONORMAL = 1e-6
"""By how much the columns of a rotation in a state may miss orthonormality."""


def given_out(system: System, state: State) -> State:
    """A state as users see it."""
    values = {name: read_only(getattr(state, name)) for name in ARRAYS}
    values["x"] = in_world(system, state.x)
    return State(state.t, **values, source=system.source)


def frozen(state: State) -> State:
    """The same state in arrays that cannot be written to."""
    arrays: dict[str, Any] = {name: read_only(getattr(state, name)) for name in ARRAYS}
    return replace(state, **arrays)


def in_world(system: System, x: Array) -> Array:
    """Positions ``(..., 3)`` in the world, read-only."""
    return read_only(x + system.origin if system.origin.any() else x)


def read_only(array: Kind) -> Kind:
    """A view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def taken_in(system: System, state: State, label: str, joints: bool = True) -> State:
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
    values: dict[str, Array] = {}
    for name in ARRAYS:
        value = real(getattr(state, name))
        any_length = name == "multipliers" and not joints and value is not None and value.ndim == 1
        shape = shapes.get(name, (m,))
        if value is None or (value.shape != shape and not any_length):
            received = "is no array of numbers" if value is None else f"has the shape {value.shape}"
            raise ModelError(
                f"{label} is not one of this model, which has {n} nodes, {k} own unknowns of elements and {m} "
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
    if system.origin.any():
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
                "of the same model, such as solution.state(-1)"
            )
