"""Solutions in minimal coordinates, to compare with: equations derived by hand, integrated to eleven digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.arrays import Array
from fem_mbs.benchmarks import joints

Errors = Callable[[float], float]


def solved(rhs: Callable[[float, Array], Sequence[float] | Array], start: Sequence[float], t: Array) -> Array:
    """States ``(nt, k)`` of ``y' = rhs(t, y)`` at times ``t``."""
    result = solve_ivp(rhs, (t[0], t[-1]), start, "DOP853", t_eval=t, rtol=1e-11, atol=1e-12)
    assert result.success
    return np.asarray(result.y.T)


def assert_second_order(error: Errors, h: float, limit: float) -> None:
    """The error falls with the square of the step, and is below a limit at the longer one."""
    errors = error(h), error(0.5 * h)
    assert errors[0] < limit, f"error {errors[0]:.2e} at h = {h}"
    order = np.log2(errors[0] / errors[1])
    assert abs(order - 2.0) < 0.1, f"order {order:.2f}, errors {errors}"


def complex_gradient(function: Callable[[Array], Array], x: Array) -> Array:
    """Derivatives ``(..., n)`` at ``x`` (n,) of an analytic function."""
    return np.stack([np.imag(function(x + 1e-30j * unit)) / 1e-30 for unit in np.eye(len(x))], axis=-1)


def stick_and_slip() -> tuple[float, float]:
    """By Coulomb's law: the period of the block on the belt of ``benchmarks/joints.py``, and its furthest place."""
    omega, speed = np.sqrt(joints.HOLDING), joints.BELT_SPEED
    away, middle = (
        mu * joints.BELT_GRAVITY / joints.HOLDING for mu in (joints.STATIC - joints.KINETIC, joints.KINETIC)
    )
    slip = 2 / omega * (np.pi - np.arctan(omega * away / speed))
    return 2 * away / speed + slip, middle + np.hypot(away, speed / omega)
