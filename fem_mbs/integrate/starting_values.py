"""Starting values that keep the multipliers of second order from the first step on.

Arnold, Cardona, Bruels (2015), Tables 1 and 2. The second derivative of the velocity comes from accelerations after the
start only, because loads and drives need not exist before.
"""

from __future__ import annotations

from dataclasses import replace

from fem_mbs.arrays import Array
from fem_mbs.integrate.chart import make_chart
from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha
from fem_mbs.solve import accelerations, constraint_correction
from fem_mbs.system import State, System

SHARE = 0.1


def perturbed(system: System, state: State, h: float, method: GeneralizedAlpha) -> State:
    """State with ``a_0 = vdot(t_0 + Delta_alpha h)`` and, for index 3, a velocity perturbed by ``O(h^2)``.

    The perturbation (eqs. 141, 142) cancels the constraint part of the leading local error of the configuration, on the
    group ``h^3 (C_q vddot + bracket(v) vdot/12)``, which the index-3 method would turn into an oscillation of order one
    of the multipliers. The index-2 method has a velocity that obeys its constraint, and needs none.

    Parameters
    ----------
    state : State
        Consistent state at the start.
    h : float
        Step in s.
    """
    chart, parameters = make_chart(system.kinematics, method.chart), method.coefficients
    v, vdot = state.v, state.vdot
    vddot = _second_derivative(system, state, SHARE * h)
    state = replace(state, a=vdot + parameters.shift * h * chart.third(v, vdot, vddot))
    if method.formulation == "index2":
        return state
    error = chart.local_error(parameters.C_q, v, vdot, vddot)
    return replace(state, v=state.v + h * h * constraint_correction(system, state, error))


def _second_derivative(system: System, state: State, h: float) -> Array:
    """Second derivative of ``v`` at the start, from accelerations at 0, h and 2 h."""

    def ahead(h: float) -> Array:
        D = h * state.v + 0.5 * h * h * state.vdot
        x, R = system.kinematics.retract(state.x, state.R, D)
        return accelerations(system, state.t + h, x, R, state.v + h * state.vdot)[0]

    return (4.0 * ahead(h) - ahead(2.0 * h) - 3.0 * state.vdot) / (2.0 * h)
