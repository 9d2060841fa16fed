"""Newmark's formulas with the recursion of the algorithmic accelerations, linear in the increment; and its memory.

Bruels, Cardona, Arnold (2012), eqs. 30-32 and Table 1 (the "2015 paper" is Arnold, Cardona, Bruels, *A Lie algebra
approach to Lie group time integration of constrained systems*). From the values for ``vdot = 0``,

    a* = (alpha_f vdot_n - alpha_m a_n)/(1 - alpha_m)
    v* = v_n + h (1 - gamma) a_n + h gamma a*
    D* = h v_n + h^2 (1/2 - beta) a_n + h^2 beta a*,

follow ``v = v* + gamma' (D - D*)``, ``vdot = beta' (D - D*)`` and ``a = a* + (D - D*)/(h^2 beta)`` at the end of the
step. States, whose equation is of first order, have ``udot`` in place of both rates (:class:`FirstOrder`); algebraic
unknowns have no rates.

The first guess of a step is that of constant acceleration, ``D = h v + h^2 a/2`` with the last multipliers (Arnold,
Cardona, Bruels 2015, section 3.5). It misses an increment that grows with ``h^3`` and multipliers that grow with ``h``,
both slowly changing in smooth motion. What two guesses missed tells, constant or linear, what the next one will; which
of the two is taken, or neither, is what would have been best for the last step. ``Z``, by which increments of the
default formulation leave those of Newmark's formulas, is guessed like that, too: without it accelerations of a first
trial, and the matrix there, would be off by the first order of ``h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import pi
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.newton import ConvergenceHistory


class Parameters(NamedTuple):
    """Coefficients for equations of second order."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    @property
    @lru_cache(maxsize=64)  # noqa: B019, of numbers alone
    def shift(self) -> float:
        """``Delta_alpha``: ``a_n`` stands for ``vdot(t_n + Delta_alpha h)`` (2015 paper, eq. 41)."""
        return self.alpha_m - self.alpha_f

    @property
    @lru_cache(maxsize=64)  # noqa: B019, of numbers alone
    def C_q(self) -> float:  # noqa: N802
        """Constant of the local error ``C_q h^3 vddot`` of the configuration (2015 paper, eqs. 40a, 69)."""
        return (1.0 - 6.0 * self.beta - 3.0 * self.shift) / 6.0

    @property
    @lru_cache(maxsize=64)  # noqa: B019, of numbers alone
    def lead(self) -> float:
        """Share of ``C_v h^4 v_ttt`` in the defect of the increment, by which both defects are those of the step.

        That of velocities is known at its start, and what it moves them by later counts to its end; that of the
        increment has the slope of accelerations half a step early.
        """
        return 1.0 + 0.5 * self.C_q / self.C_v

    @property
    @lru_cache(maxsize=64)  # noqa: B019, of numbers alone
    def C_v(self) -> float:  # noqa: N802
        """Constant of the local error ``C_v h^3 v_ttt`` of the velocity."""
        return _quadrature_error(self.alpha_m, self.shift, self.gamma)

    @property
    def turning(self) -> float:
        """Constant of the error ``-h^2 u''`` of velocities against the increments that they belong to."""
        return 1.0 / 12.0 + self.beta - 0.5 * self.gamma

    @property
    @lru_cache(maxsize=64)  # noqa: B019, of numbers alone
    def inertia(self) -> float:
        """``h^2 beta'``: the weight of the mass in the scaled iteration matrix."""
        return (1.0 - self.alpha_m) / (self.beta * (1.0 - self.alpha_f))

    @property
    def rate(self) -> float:
        """``h gamma'``: the weight of velocities."""
        return self.gamma / self.beta

    @property
    @lru_cache(maxsize=64)  # noqa: B019, of numbers alone
    def both_defects(self) -> float:
        """Error of an oscillation over the sum of the sizes of the defects ``C_q h^3 vddot`` of its configuration.

        In an oscillation ``A cos(w t)`` the defects of the configuration, and of the velocity over ``w``, are ``C_q
        (w h)^3 A sin(w t)`` and ``C_v (w h)^3 A cos(w t)``. What goes along the motion adds up, in the mean to
        ``(C_q + C_v)/2``; the mean of the size of a sine is ``2/pi``.
        """
        return 0.25 * pi * (1.0 + self.C_v / self.C_q)

    @property
    def first_order(self) -> FirstOrder:
        """Coefficients for equations of first order with the same damping of the fastest."""
        return FirstOrder(2.0 * self.alpha_f - 0.5, self.alpha_f, 1.0 - self.alpha_f)


class FirstOrder(NamedTuple):
    """Coefficients for equations of first order ``z' = f``.

    Jansen, Whiting, Hulbert, *A generalized-alpha method for integrating the filtered Navier-Stokes equations with a
    stabilized finite element method*, CMAME 190 (2000), written as in Bruels, Golinval, *The generalized-alpha method
    in mechatronic applications*, ZAMM 86 (2006): ``z_n+1 = z_n + h (1 - gamma) w_n + h gamma w_n+1`` and
    ``(1 - alpha_m) w_n+1 + alpha_m w_n = (1 - alpha_f) z'_n+1 + alpha_f z'_n``.
    """

    alpha_m: float
    alpha_f: float
    gamma: float

    @property
    def C_z(self) -> float:  # noqa: N802
        """Constant of the local error ``C_z h^3 z'''``."""
        return _quadrature_error(self.alpha_m, self.alpha_m - self.alpha_f, self.gamma)


def _quadrature_error(alpha_m: float, shift: float, gamma: float) -> float:
    """Constant of ``h^3`` times the third derivative in the error of ``z + h (1 - gamma) w_n + h gamma w_n+1``."""
    # w_n = z'(t_n + shift h) + kappa h^2 z''' by the recursion, then the quadrature of w
    kappa = shift * (alpha_m - 0.5 - 0.5 * shift)
    return 1.0 / 6.0 - 0.5 * ((1.0 - gamma) * shift**2 + gamma * (1.0 + shift) ** 2) - kappa


def chung_hulbert(rho_inf: float) -> Parameters:
    """Coefficients of second order with spectral radius ``rho_inf`` at infinite frequency (2015 paper, eqs. 41, 42)."""
    alpha_m = (2.0 * rho_inf - 1.0) / (rho_inf + 1.0)
    alpha_f = rho_inf / (rho_inf + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    return Parameters(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)


class Newmark(NamedTuple):
    """The formulas ``(v, vdot, a) = factors D + constants`` of one step."""

    factors: Array
    """``gamma'``, ``beta'`` and ``1/(h^2 beta)``, ``(3, N)``, or ``(3, 1)`` where they are the same for all."""
    constants: Array
    """``(3, N)``."""
    guess: Array
    """``D`` of constant acceleration, ``h v + h^2 a/2``, ``(N,)``."""


SAME, DIGITS = 1e-6, 13
"""Steps that differ by less, relatively, are the same: the difference is rounding; so are further digits of ratios."""


def newmark(parameters: Parameters, h: float, rates: Sequence[Array] | Array, order: IntArray) -> Newmark:
    """Formulas for a step from ``rates``: velocities, accelerations and algorithmic ones, each ``(N,)``.

    Where there are states, their rates stand for accelerations. ``order`` (k,) is that of the internal variables.
    """
    factors, weights = _second_order(parameters, h)
    start = weights @ np.asarray(rates)
    if not len(order):
        return Newmark(factors, start[:3], start[3])
    v, accelerations, a = rates
    factors = np.repeat(factors, len(v), axis=1)
    low = len(v) - len(order) + np.flatnonzero(order < 2)
    factors[:, low] = start[:, low] = 0.0
    states = low[order[order < 2] == 1]
    own_factors, weights = _first_order(parameters, h)
    factors[:, states] = own_factors
    start[:, states] = weights @ np.stack([accelerations[states], a[states]])
    return Newmark(factors, start[:3], start[3])


@lru_cache(maxsize=64)
def _second_order(parameters: Parameters, h: float) -> tuple[Array, Array]:
    """Factors ``(3, 1)``; constants and guess ``(4, 3)`` from ``(v, vdot, a)`` at the start of the step."""
    alpha_m, alpha_f, beta, gamma = parameters
    a0 = np.array([0.0, alpha_f, -alpha_m]) / (1.0 - alpha_m)
    v0 = np.array([1.0, 0.0, h * (1.0 - gamma)]) + h * gamma * a0
    D0 = np.array([h, 0.0, h * h * (0.5 - beta)]) + h * h * beta * a0
    factors = np.array([gamma / (h * beta), (1.0 - alpha_m) / (h * h * beta * (1.0 - alpha_f)), 1.0 / (h * h * beta)])
    constants = np.stack([v0, np.zeros(3), a0]) - factors[:, None] * D0
    return factors[:, None], np.concatenate([constants, [[h, 0.0, 0.5 * h * h]]])


@lru_cache(maxsize=64)
def _first_order(parameters: Parameters, h: float) -> tuple[Array, Array]:
    """The same of states: ``udot`` in place of ``v``, ``w`` in place of ``a``, from ``(udot, w)`` at the start."""
    alpha_m, alpha_f, gamma = parameters.first_order
    w0 = np.array([alpha_f, -alpha_m]) / (1.0 - alpha_m)
    D0 = np.array([0.0, h * (1.0 - gamma)]) + h * gamma * w0
    factors = np.array([(1.0 - alpha_m) / (h * gamma * (1.0 - alpha_f)), 0.0, 1.0 / (h * gamma)])
    constants = np.stack([np.zeros(2), np.zeros(2), w0]) - factors[:, None] * D0
    return factors[:, None], np.concatenate([constants, [[0.0, h]]])


@lru_cache(maxsize=64)
def weights_of_third(parameters: Parameters, ratio: float) -> Array:
    """Weights ``(3,)`` of accelerations in the defect ``C_v h^3 v_ttt`` of velocities, over ``h``.

    Of those at the end of a step of ``h``, at its start, and at that of the step before, of ``h`` times the ``ratio``;
    zero where that is.
    """
    if ratio <= 0.0:
        return np.zeros(3)
    return 2.0 * parameters.C_v / (1.0 + ratio) * np.array([1.0, -1.0 - 1.0 / ratio, 1.0 / ratio])


PLAIN, CONSTANT, LINEAR = range(3)


class PredictorHistory(NamedTuple):
    """What the guesses of the last two steps, of ``h`` and ``h_before``, missed, the last one first."""

    h: float
    h_before: float
    D: Array
    """``(2, N)``."""
    multipliers: Array
    """``(2, m)``."""
    best: int
    """The extrapolation that would have been best for the last step."""
    Z: Array = np.empty((2, 0))
    """What increments had beyond Newmark's, ``(2, N)``, of the default formulation."""

    def alone(self) -> PredictorHistory:
        """As if nothing was known of the step before."""
        last = [0, 0]
        return PredictorHistory(self.h, self.h, self.D[last], self.multipliers[last], CONSTANT, self.Z[last])


class Guess(NamedTuple):
    """Increment and multipliers to begin with in a step of ``h``."""

    h: float
    history: PredictorHistory | None
    D: Array
    Z: Array
    """``(N,)``, or empty."""
    multipliers: Array
    expected: Array
    """What the plain increment will miss, constant and linear, ``(2, N)``."""

    def missed(self, D: Array, Z: Array, multipliers: Array, weight: Array) -> PredictorHistory:
        """With what the plain guess has missed in the step, beside what it had been expected to.

        ``weight`` (N,) makes lengths comparable with angles: which guess is the best does not depend on their unit.
        """
        h, before, best = self.h, self.history, CONSTANT
        if before is None or before.Z.shape[1] != len(Z):  # not as once it was
            before = PredictorHistory(h, h, D[None], multipliers[None], best, Z[None])
        else:
            plain, wrong = weight * D, weight * (self.expected - D)
            errors = [float(plain @ plain), *np.vecdot(wrong, wrong).tolist()]
            best = errors.index(min(errors))
        forces = np.array([multipliers, before.multipliers[0]])
        return PredictorHistory(h, before.h, np.array([D, before.D[0]]), forces, best, np.array([Z, before.Z[0]]))


def first_guess(D: Array, multipliers: Array, h: float, missed: PredictorHistory | None) -> Guess:
    """The plain guess, corrected by what it is expected to miss."""
    if missed is None:
        return Guess(h, None, D, np.empty(0), multipliers, np.zeros((2, len(D))))
    of_D, of_multipliers = weights_of_missed(round(h / missed.h, DIGITS), round(h / missed.h_before, DIGITS))
    expected = of_D @ missed.D
    if missed.best == PLAIN:
        return Guess(h, missed, D, np.empty(0), multipliers, expected)
    k = missed.best - 1
    multipliers = multipliers + of_multipliers[k] @ missed.multipliers
    return Guess(h, missed, D + expected[k], of_D[k] @ missed.Z, multipliers, expected)


@lru_cache(maxsize=64)
def weights_of_missed(last: float, before: float) -> tuple[Array, Array]:
    """Weights of what was missed in the last step and in that before it, constant and linear, ``(2, 2)`` each.

    A step is so many times as long as these.
    """
    # the middles of steps are that far apart
    ahead = before * (1.0 + last) / ((last + before) or 1.0)
    shares = np.array([[1.0, 0.0], [1.0 + ahead, -ahead]])
    ratios = np.array([last, before])
    return shares * ratios**3, shares * ratios


class AccelerationHistory(NamedTuple):
    """Highest derivatives ``(N,)`` of the last states, see :func:`~fem_mbs.alpha.local_error.highest_derivatives`."""

    now: Array
    t_old: float
    old: Array
    """One step ago, or as far ago as there are steps."""
    t_older: float
    older: Array
    """Two steps ago."""
    error: float = 0.0
    """Local error of the step that led here; 0 where it is not known."""


def restarted(now: Array, t: float, error: float = 0.0) -> AccelerationHistory:
    """The history where nothing before is known, or tells of what follows."""
    return AccelerationHistory(now, t, now, t, now, error)


class CarriedErrors(NamedTuple):
    """Errors of a run that are carried along over blocks of steps, and where to."""

    values: Array
    """Of the configuration, velocities, accelerations, algorithmic ones and ``Z/h``, ``(5, N)``."""
    t: float
    """Time up to which they were carried,"""
    flow: Array
    """and how the state changes where the last block ended ``(3, N)``."""
    singles: int
    """How many steps more they are carried on one by one before a block is planned,"""
    until: float
    """time after which they are carried on, at the latest,"""
    expected: float
    """and the local error that no step before has."""
    largest: Array
    """Largest length in m and angle in rad ``(3, 2)`` of the worst node: before a time, since then, before impacts."""
    began: float
    since: float
    """When errors began, and that time: half as long after it, or more."""
    turned: float = 0.0
    """How far what changes velocities has turned, in rad,"""
    delay: float = 0.0
    """the largest share of the time that the motion has been late or early by, once it had come round,"""
    speeds: Array | tuple[float, float] = (0.0, 0.0)
    """and the largest velocity and angular velocity."""
    late: float | None = 0.0
    """Time by which the motion is late beside the values, while they are carried on one by one; None for never."""


class AlphaMemory(NamedTuple):
    """What the method goes on with, beside the state.

    The method of the papers needs ``h``, ``a`` and the accelerations of the state alone; the rest serves it.
    """

    h: float
    """The step that led here, or the first one that was meant."""
    steps: int
    a: Array
    """Algorithmic accelerations ``(N,)``."""
    accelerations: AccelerationHistory
    """Of the state, and before: for the local error and a change of the step."""
    predictor: PredictorHistory | None = None
    """What the last guesses missed."""
    convergence: ConvergenceHistory | None = None
    """What first corrections have left of late."""
    matrix: tuple[Array, ...] | None = None
    """Inverse tangent operators, none of a compiled step, and factors of the last iteration matrix."""
    eta: Array | None = None
    """Multipliers of the constraints on velocities in the last step, of index 2, to be looked at."""
    velocity_perturbation: Array | None = None
    """At a perturbed start: what the velocities (N,) have beyond those of the state."""
    before: Array | None = None
    """At a start that a trial is still to correct: highest derivatives ``(N,)`` just before it."""
    branches: Array | None = None
    """On which side of their kinks laws are, where there are such."""
    errors: CarriedErrors | None = None
    """Errors of the run, where they are carried along: :func:`~fem_mbs.alpha.local_error.carried_on`."""
    resolves: float = 0.0
    """Longest step for which nothing has been taken from accelerations where the steps began anew: up to it they may
    grow as they like."""
