"""Coefficients of the generalised-alpha method."""

from __future__ import annotations

from typing import NamedTuple


class Parameters(NamedTuple):
    """Coefficients of the method."""

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


def chung_hulbert(rho_inf: float) -> Parameters:
    """Coefficients of second order with spectral radius ``rho_inf`` at infinite frequency."""
    alpha_m = (2.0 * rho_inf - 1.0) / (rho_inf + 1.0)
    alpha_f = rho_inf / (rho_inf + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    return Parameters(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)
