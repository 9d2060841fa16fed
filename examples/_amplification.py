"""The generalised-alpha method on a linear equation of unbounded frequency, which is a constraint.

Arnold, Cardona, Bruels (2015), section 3.2, eqs. 43 to 48: with ``lambda = omega^2 q`` the equation
``q'' + omega^2 q = 0`` becomes ``q'' = -lambda``, ``q = 0`` for ``omega -> infinity``. What the method does there it
does to the multipliers of joints.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.alpha.newmark import Parameters
from fem_mbs.arrays import Array
from fem_mbs.contracts import instance, whole_number
from fem_mbs.errors import ModelError


def amplification_matrix(parameters: Parameters) -> Array:
    """Matrix ``T_inf`` (3, 3) that takes ``(lambda_n, v_n/h, a_n)`` to the next step (2015 paper, eq. 43).

    Parameters
    ----------
    parameters : Parameters
        Coefficients, as of ``chung_hulbert(rho_inf)`` or ``method.coefficients``.

    Raises
    ------
    ModelError
        If ``beta`` is 0 or ``alpha_f`` is 1: such a method has no limit for an unbounded frequency.
    """
    new, old = _sides(parameters)
    return np.asarray(np.linalg.solve(new, old), dtype=float)


def power_norms(parameters: Parameters, count: int) -> Array:
    """2-norms ``(count + 1,)`` of the powers 0, 1, ... ``count`` of ``T_inf``: how far a disturbance may overshoot.

    Parameters and errors as for :func:`amplification_matrix`.
    """
    T = amplification_matrix(parameters)
    powers = [np.eye(3)]
    for _ in range(whole_number(count, "power_norms: count", 0)):
        powers.append(T @ powers[-1])
    norms: Array = np.linalg.norm(powers, 2, axis=(1, 2))
    return norms


def error_constants(parameters: Parameters, count: int) -> Array:
    """Constants ``c_n`` of ``n`` = 0, 1, ... ``count``: the multiplier is off by ``c_n h vddot(0)`` after ``n`` steps.

    ``lambda(t_n) - lambda_n = c_n h vddot(0) + O(h^2)`` from a start with the exact position, velocity and multiplier
    and ``a_0 = vdot(Delta_alpha h)``. They follow from the recursion of the errors (2015 paper, eqs. 46 to 48), so that
    any coefficients will do; for those of Chung and Hulbert it is eq. 53. Coefficients that violate the condition of
    second order, ``gamma = 1/2 - Delta_alpha``, make a new error in every step, and their ``c_n`` do not vanish with n.

    Parameters and errors as for :func:`amplification_matrix`.
    """
    new, old = _sides(parameters)
    local = np.array([0.0, 0.5 - parameters.shift - parameters.gamma, 0.0])
    errors = [np.array([0.0, parameters.C_q, 0.0])]
    for _ in range(whole_number(count, "error_constants: count", 0)):
        errors.append(np.linalg.solve(new, old @ errors[-1] + local))
    return np.array(errors)[:, 0]


def _sides(parameters: Parameters) -> tuple[Array, Array]:
    """Matrices of the new and of the old values in eq. 43 for ``h omega -> infinity``."""
    alpha_m, alpha_f, beta, gamma = instance(parameters, Parameters, "amplification_matrix: parameters")
    if beta == 0.0 or alpha_f == 1.0:
        raise ModelError(
            "amplification_matrix: a method has a limit for an unbounded frequency if beta is not 0 and alpha_f is "
            f"not 1, received beta = {beta:g}, alpha_f = {alpha_f:g}"
        )
    new = np.array([[0.0, 0.0, -beta], [0.0, 1.0, -gamma], [1.0 - alpha_f, 0.0, 1.0 - alpha_m]])
    old = np.array([[0.0, 1.0, 0.5 - beta], [0.0, 1.0, 1.0 - gamma], [-alpha_f, 0.0, -alpha_m]])
    return new, old
