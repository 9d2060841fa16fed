"""Matrices and limits of linear blocks: as given, of a system of ``scipy.signal``, or of a transfer function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.model import array, number, shown

Quadruple = tuple[Array, Array, Array, Array]


def limit_pair(value: Any, label: object) -> Any:
    """Lower and upper limit; infinite ones are none."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes) or len(value) != 2:
        raise ModelError(f"{label} must be two numbers (lower, upper), -inf or inf for none, received {shown(value)}")
    lower, upper = (own if _infinite(own) else number(own, label) for own in value)
    if not lower < upper:
        raise ModelError(f"{label}: the lower limit must be below the upper one, received ({lower:g}, {upper:g})")
    return float(lower), float(upper)


def _infinite(value: Any) -> bool:
    return isinstance(value, float) and value in (-np.inf, np.inf)


Limits = Annotated[tuple[float, float], limit_pair]


def initial_values(value: Any, label: str) -> Array:
    """Initial states ``(n,)``; none of an empty list."""
    if isinstance(value, list | tuple) and not value:
        return np.zeros(0)
    return array(value, f"{label}: initial", (), (None,)).reshape(-1)


def check_matrices(a: Any, b: Any, c: Any, d: Any, m: int, label: str) -> Quadruple:
    """``A`` (n, n), ``B`` (n, m), ``C`` (p, n), ``D`` (p, m); numbers and vectors where a dimension is one."""
    A = np.atleast_2d(array(a, f"{label}: A", (), (None, None), what="a square matrix"))
    n = len(A)
    if A.shape != (n, n):
        raise ModelError(f"{label}: A must be square, received the shape {A.shape}")
    if b is None or c is None:
        raise ModelError(f"{label}: B and C go with A; or give a system of scipy.signal in place of A")
    flat = [*([(n,)] if m == 1 else []), *([(m,)] if n == 1 else []), *([()] if n == m == 1 else [])]
    B = array(b, f"{label}: B", (n, m), *flat)
    C = array(c, f"{label}: C", (None, n), (n,), *([()] if n == 1 else [])).reshape(-1, n)
    p = len(C)
    shapes = [(p, m), *([(m,)] if p == 1 else []), *([(p,)] if m == 1 else []), *([()] if p == m == 1 else [])]
    D = np.zeros((p, m)) if d is None else array(d, f"{label}: D", *shapes)
    return A, B.reshape(n, m), C, D.reshape(p, m)


def of_scipy(system: Any, label: str, sampled: bool) -> tuple[Quadruple, float | None]:
    """Matrices of a system of ``scipy.signal``, and its period where it is one of samples."""
    kind = "discrete in time, scipy.signal.dlti" if sampled else "continuous in time, scipy.signal.lti"
    if not hasattr(system, "to_ss") or not hasattr(system, "dt"):
        raise ModelError(f"{label}: A must be a square matrix, or a system of scipy.signal, received {shown(system)}")
    if (system.dt is None) == sampled:
        other = "SampledStateSpace is for those" if system.dt is not None else "StateSpace is for those"
        raise ModelError(
            f"{label}: the system must be {kind}, received one that is "
            f"{'continuous' if sampled else f'sampled with dt = {system.dt}'}; {other}"
        )
    try:
        space = system.to_ss()
    except Exception as error:  # whatever scipy refuses
        raise ModelError(f"{label}: scipy.signal has no state space of {shown(system)}: {error}") from error
    dt = None if system.dt is None or system.dt is True else float(system.dt)
    return (space.A, space.B, space.C, space.D), dt


def of_transfer_function(num: Any, den: Any, label: str) -> Quadruple:
    """Matrices of ``num(s)/den(s)``, coefficients of falling powers: the controllable form, with scaled states.

    States are scaled by the power of the mean size of the poles, so that all have sizes that can be compared.
    """
    b, a = (
        np.trim_zeros(np.atleast_1d(array(own, f"{label}: {name}", (), (None,), what="a list of numbers")), "f")
        for name, own in (("num", num), ("den", den))
    )
    if not len(a):
        raise ModelError(f"{label}: den must have a coefficient other than zero, received {shown(den)}")
    n = len(a) - 1
    if len(b) > n + 1:
        raise ModelError(
            f"{label}: the transfer function is improper: num has the degree {len(b) - 1}, den {n}; it would "
            "differentiate its input. Add poles that are fast, or sense a velocity in place of a position"
        )
    b = np.append(np.zeros(n + 1 - len(b)), b) / a[0]
    a = a / a[0]
    D = b[0]
    lowest = np.flatnonzero(a)[-1]
    w = float(np.abs(a[lowest]) ** (1.0 / lowest)) if lowest else 1.0
    power = w ** np.arange(1, n + 1)
    A = np.eye(n, k=-1)
    A[:1] = -a[1:] / power
    # x_k = w^k s^-k ...: x' = w (A x + e_1 u)
    C = (b[1:] - D * a[1:]) / power
    return w * A, w * np.eye(n, 1), C[None], np.array([[D]])
