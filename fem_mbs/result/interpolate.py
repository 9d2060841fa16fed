"""States between two computed ones, along the group (docs/theory.md, "Between the steps")."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.system import State, System


def interpolate(system: System, first: State, second: State, s: float) -> State:
    """State at the share ``s`` of the way in time from one state to another.

    The configuration is ``q0 exp(D(s))`` with the cubic ``D`` that has the increment and the velocities of both ends
    (third order); the velocity is its derivative, ``T(D) D'``. Coordinates and states of elements are cubic likewise.
    Accelerations, multipliers and algebraic unknowns are linear in between; history changes at the end.
    """
    kinematics = system.kinematics
    h = second.t - first.t
    end = kinematics.relative(first.x, first.R, second.x, second.R)
    slope = np.matvec(kinematics.inverse_tangent(end), second.v)
    D, rate = _cubic(s, h, end, first.v, slope)
    x, R = kinematics.retract(first.x, first.R, D)
    v = np.linalg.solve(kinematics.inverse_tangent(D), rate[..., None])[..., 0].astype(float, copy=False)
    vdot, multipliers, ddu = (
        (1 - s) * getattr(first, name) + s * getattr(second, name) for name in ("vdot", "multipliers", "uddot")
    )
    u, du = _cubic(s, h, second.u - first.u, first.udot, second.udot)
    change = np.where(system.order > 0, u, np.where(system.order == 0, s * (second.u - first.u), 0.0))
    return State(
        first.t + s * h, x, R, v, vdot, multipliers, first.u + change, np.where(system.order > 0, du, 0.0), ddu
    )


def _cubic(s: float, h: float, end: Array, rate0: Array, rate1: Array) -> tuple[Array, Array]:
    """A cubic from zero to ``end`` in the time ``h`` with the rates of both ends, and its rate."""
    value = h * s * (1 - s) ** 2 * rate0 + s * s * (3 - 2 * s) * end + h * s * s * (s - 1) * rate1
    rate = (1 - s) * (1 - 3 * s) * rate0 + 6 * s * (1 - s) / h * end + s * (3 * s - 2) * rate1
    return value, rate
