"""Linear equations in the form of control: ``x' = A x + B w``, ``y = C x + D w``.

docs/control.md, "As a state space".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import null_space, svdvals

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError, SingularSystemError
from fem_mbs.model import shown

if TYPE_CHECKING:
    from fem_mbs.modal.linearize import LinearModel

LABEL = "LinearModel.state_space"
SINGULAR = 1e-13


def state_space(linear: LinearModel, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """See :meth:`LinearModel.state_space`.

    With ``d = N q``, ``B N = 0``, the motions ``q`` are free. Let ``s`` be the states and ``a`` the algebraic unknowns
    of elements. All equations together are linear in ``(q'', s', a)``, which are solved for in terms of ``x = (q, q',
    s)`` and the inputs.
    """
    system = linear.system
    order = np.concatenate([np.full(6 * system.n, 2), system.order])[system.free_rows]
    second, first, closed = (np.flatnonzero(order == k) for k in (2, 1, 0))
    B = linear.B.toarray()
    if system.velocity_level.any() or B[:, order < 2].any():
        raise ModelError(
            f"{LABEL}: joints that act on velocities or on unknowns of their own, such as rolling or sliding, have no "
            "state space yet; linearize has their matrices"
        )
    if system.readers:
        raise ModelError(
            f"{LABEL}: {', '.join(str(own) for k in system.readers for own in system.batches[k].owners)} depend on "
            "reactions of joints, which are no part of a state space yet; leave them out"
        )
    N = null_space(B[:, second] / np.maximum(np.abs(B[:, second]).max(axis=1, initial=0.0, keepdims=True), 1e-300))
    q, s, a = N.shape[1], len(first), len(closed)
    if q + s == 0:
        raise ModelError(f"{LABEL}: nothing can move, and no element has a state")
    base = np.zeros((len(order), q + s + a))
    base[second, :q] = N
    base[first, range(q, q + s)] = base[closed, range(q + s, q + s + a)] = 1.0
    M, C, K = (base.T @ (matrix @ base) for matrix in (linear.M, linear.C, linear.K))
    highest = np.hstack([M[:, :q], C[:, q : q + s], K[:, q + s :]])
    rates, places = C[:, :q], K[:, : q + s]
    scale = np.maximum(np.abs(highest).max(axis=1, keepdims=True), 1e-300)
    values = svdvals(highest / scale / np.maximum(np.abs(highest / scale).max(axis=0), 1e-300))
    if values[-1] < SINGULAR * values[0]:
        raise SingularSystemError(
            f"{LABEL}: a motion has no mass, or an algebraic unknown of an element is not determined by its equation"
        )
    driven = np.array([_coefficients(linear, source, f"inputs[{name!r}]") for name, source in inputs.items()])
    for name, row in zip(inputs, driven, strict=True):
        if list(row[row != 0.0]) != [1.0] or order[row != 0.0][0] != 0:
            raise ModelError(
                f"{LABEL}: inputs[{name!r}] must be a block or a sensor with one output, to whose value the input is "
                f"added, received {shown(inputs[name])}; Junction(0.0) is an input that is zero otherwise"
            )
    measured = np.array([_coefficients(linear, source, f"outputs[{name!r}]") for name, source in outputs.items()])
    h = np.linalg.solve(highest, np.hstack([-places[:, :q], -rates, -places[:, q:], base.T @ driven.T]))
    n = 2 * q + s
    x = np.hstack([np.eye(n), np.zeros((n, len(inputs)))])
    whole = np.vstack([x[q : 2 * q], h[: q + s]])
    unknowns = base @ np.vstack([x[:q], x[2 * q :], h[q + s :]])
    y = measured @ unknowns
    from scipy.signal import StateSpace  # takes long

    result = StateSpace(whole[:, :n], whole[:, n:], y[:, :n], y[:, n:])
    result.input_names, result.output_names = tuple(inputs), tuple(outputs)
    return result


def _coefficients(linear: LinearModel, source: Any, label: str) -> Array:
    """How a signal depends on the free components."""
    if not hasattr(source, "signal_values"):
        raise ModelError(f"{LABEL}: {label} must be a sensor, a block or a sum of signals, received {shown(source)}")
    system = linear.system
    unit, at = np.vstack([np.zeros(system.k), np.eye(system.k)]), np.full(system.k + 1, linear.state.t)
    values = source.signal_values(at, unit, system.number)
    if values.ndim > 1:
        raise ModelError(f"{LABEL}: {label} has {values.shape[1]} outputs; take one of them, such as [0]")
    every = np.concatenate([np.zeros(6 * system.n), values[1:] - values[0]])
    result: Array = every[system.free_rows]
    return result
