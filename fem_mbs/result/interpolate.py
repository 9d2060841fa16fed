"""States between two computed ones, along the group."""

from __future__ import annotations

import numpy as np

from fem_mbs.system import State, System


def interpolate(system: System, first: State, second: State, t: float) -> State:
    """State at ``t`` between two states.

    The configuration is ``q0 exp(D(s))`` with the cubic ``D`` that has the increment and the velocities of both ends
    (third order); the velocity is its derivative, ``T(D) D'``. Accelerations and multipliers are linear in between.
    """
    kinematics = system.kinematics
    h = second.t - first.t
    s = (t - first.t) / h
    end = kinematics.relative(first.x, first.R, second.x, second.R)
    slope0 = h * first.v
    slope1 = h * np.matvec(kinematics.inverse_tangent(end), second.v)
    D = s * (1 - s) ** 2 * slope0 + s * s * (3 - 2 * s) * end + s * s * (s - 1) * slope1
    slope = (1 - s) * (1 - 3 * s) * slope0 + 6 * s * (1 - s) * end + s * (3 * s - 2) * slope1
    x, R = kinematics.retract(first.x, first.R, D)
    v = np.linalg.solve(kinematics.inverse_tangent(D), (slope / h)[..., None])[..., 0]
    linear = ((1 - s) * getattr(first, name) + s * getattr(second, name) for name in ("vdot", "a", "multipliers"))
    return State(t, x, R, v, *linear)
