"""Coefficients of the generalised-alpha method."""

from __future__ import annotations

from math import pi
from typing import NamedTuple


class Parameters(NamedTuple):
    """Coefficients for equations of second order."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    @property
    def shift(self) -> float:
        """``Delta_alpha``: ``a_n`` stands for ``vdot(t_n + Delta_alpha h)``."""
        return self.alpha_m - self.alpha_f

    @property
    def C_q(self) -> float:  # noqa: N802
        """Constant of the local error ``C_q h^3 vddot`` of the configuration (2015 paper, Lemma 4.2)."""
        return (1.0 - 6.0 * self.beta - 3.0 * self.shift) / 6.0

    @property
    def C_v(self) -> float:  # noqa: N802
        """Constant of the local error ``C_v h^3 v_ttt`` of the velocity."""
        return _quadrature_error(self.alpha_m, self.shift, self.gamma)

    @property
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
    """Coefficients of second order with spectral radius ``rho_inf`` at infinite frequency."""
    alpha_m = (2.0 * rho_inf - 1.0) / (rho_inf + 1.0)
    alpha_f = rho_inf / (rho_inf + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    return Parameters(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)
