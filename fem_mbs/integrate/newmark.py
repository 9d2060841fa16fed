"""Newmark's formulas with the recursion of the algorithmic accelerations, linear in the increment of a step.

Bruels, Cardona, Arnold (2012), eqs. 27-32 and Table 1: with the values for ``vdot = 0``,

    a* = (alpha_f vdot_n - alpha_m a_n)/(1 - alpha_m)
    v* = v_n + h (1 - gamma) a_n + h gamma a*
    D* = h v_n + h^2 (1/2 - beta) a_n + h^2 beta a*,

``v = v* + gamma' (D - D*)``, ``vdot = beta' (D - D*)`` and ``a = a* + (D - D*)/(h^2 beta)`` at the end of the step.
States, whose equation is of first order, have ``udot`` in place of both rates (:class:`FirstOrder`); algebraic unknowns
have no rates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.integrate.parameters import Parameters


class Newmark(NamedTuple):
    """The formulas for one step; arrays have a number for each component, or one for all."""

    rates: Array
    """``gamma'`` and ``beta'``, ``(2, N)`` or ``(2, 1)``."""
    a_rate: Array | float
    """Derivative of ``a`` against ``D``."""
    a0: Array
    """``a*`` (N,)."""
    v0: Array
    """``v*`` (N,)."""
    D0: Array
    """``D*`` (N,)."""
    guess: Array
    """``D`` of constant acceleration, ``h v + h^2 a/2``."""


def newmark(parameters: Parameters, h: float, v: Array, lead: Array, a: Array, order: IntArray) -> Newmark:
    """Formulas for a step from velocities, accelerations ``lead`` and algorithmic ones ``a``, each ``(N,)``.

    Where there are states, ``lead`` has their rates. ``order`` (k,) is that of the own unknowns.
    """
    alpha_m, alpha_f, beta, gamma = parameters
    of_lead, of_a = alpha_f / (1.0 - alpha_m), -alpha_m / (1.0 - alpha_m)
    weights = np.array(
        [
            [0.0, of_lead, of_a],
            [1.0, h * gamma * of_lead, h * (1.0 - gamma + gamma * of_a)],
            [h, h * h * beta * of_lead, h * h * (0.5 - beta + beta * of_a)],
            [h, 0.0, 0.5 * h * h],
        ]
    )
    start = weights @ np.stack([v, lead, a])
    beta_ = (1.0 - alpha_m) / (h * h * beta * (1.0 - alpha_f))
    rates, a_rate = np.array([[gamma / (h * beta)], [beta_]]), 1.0 / (h * h * beta)
    if not len(order):
        return Newmark(rates, a_rate, *start)
    own = len(v) - len(order) + np.flatnonzero(order < 2)
    states = own[order[order < 2] == 1]
    rates, a_rates = np.repeat(rates, len(v), axis=1), np.full(len(v), a_rate)
    rates[:, own] = a_rates[own] = start[:, own] = 0.0
    alpha_m, alpha_f, gamma = parameters.first_order
    a0 = (alpha_f * lead[states] - alpha_m * a[states]) / (1.0 - alpha_m)
    start[0, states], start[2, states] = a0, h * ((1.0 - gamma) * a[states] + gamma * a0)
    start[3, states] = h * a[states]
    rates[0, states] = (1.0 - alpha_m) / (h * gamma * (1.0 - alpha_f))
    a_rates[states] = 1.0 / (h * gamma)
    return Newmark(rates, a_rates, *start)
