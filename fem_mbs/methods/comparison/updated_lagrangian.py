"""The updated Lagrangian method: the generalised-alpha method in local coordinates that start at zero in each step.

Bruels, Cardona, Arnold (2012), section 6, eqs. 65-82; Cardona and Geradin (1988). It shares the step of the method on
the group (``alpha/step.py``) and has another chart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fem_mbs.alpha.generalized_alpha import FORMULATIONS, STARTS, GeneralizedAlpha  # noqa: F401, of inherited fields
from fem_mbs.alpha.newmark import Parameters  # noqa: F401
from fem_mbs.alpha.step import Scheme
from fem_mbs.arrays import Array
from fem_mbs.contracts import checked, choice  # noqa: F401
from fem_mbs.contracts.arguments import UnitInterval  # noqa: F401
from fem_mbs.lie import se3
from fem_mbs.lie.parametrization import PARAMETRIZATIONS, Parametrization, Tangents, local_exp, tangents
from fem_mbs.newton import Newton  # noqa: F401
from fem_mbs.system.kinematics import Chart, Kinematics
from fem_mbs.system.system import System


class LocalChart(Chart):
    """Local coordinates of a parametrisation: the updated Lagrangian method."""

    def __init__(self, kinematics: Kinematics, parametrization: Parametrization) -> None:
        self.kinematics, self.parametrization = kinematics, parametrization

    def retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """``q mu(D)``, eq. 80."""
        x1, R1 = np.empty_like(x), np.empty_like(R)
        for group, rows in self.kinematics.parts:
            S, y = local_exp(self.parametrization, D[rows])
            if group.coupled:
                R1[rows], x1[rows] = se3.compose(R[rows], x[rows], S, y)
            else:
                R1[rows], x1[rows] = R[rows] @ S, x[rows] + D[rows, :3]
        return x1, R1

    def end_of_step(self, x: Array, R: Array, D: Array, rates: Array) -> tuple[Array, Array, Array]:
        v, vdot = self.lift(D, rates[:2])
        return (*self.retract(x, R, D), np.stack([v, vdot, self.lift(D, rates[::2])[1]]))

    def lift(self, D: Array, rates: Array) -> Array:
        """``T D'`` and ``T D'' + T' D'``, eqs. 74-76."""
        own = self._tangents(D, *rates)
        return np.stack([np.matvec(own.T, rates[0]), np.matvec(own.T, rates[1]) + np.matvec(own.rate, rates[0])])

    def derivatives(self, D: Array, rates: Array, factors: Array) -> tuple[Array, Array]:
        """Of :meth:`lift`, with the whole product rule."""
        own = self._tangents(D, *rates)
        T_inv = np.linalg.inv(own.T).astype(float, copy=False)
        by_position = np.stack([own.by_position, own.rate_by_position])
        return T_inv, (self._along_rates(own, factors) + by_position) @ T_inv

    def rate_derivatives(self, D: Array, rates: Array, factors: Array) -> Array:
        """The product rule at constant ``D``."""
        return self._along_rates(self._tangents(D, *rates), factors)

    def rate_changes(self, D: Array, rates: Array, factors: Array, d: Array) -> Array:
        return np.matvec(self.rate_derivatives(D, rates, factors), d)

    def from_velocities(self, T_inv: Array, d: Array) -> Array:
        return np.matvec(T_inv, d)

    def frozen(self, D: Array, w: Array) -> tuple[Array, Array]:
        own = self._tangents(D, w, w)
        return np.matvec(own.T, w), own.by_position

    def frozen_transposed(self, D: Array, f: Array) -> Array:
        """Row by row: ``f . T e_j``."""
        units = np.broadcast_to(np.eye(self.width)[:, None], (self.width, *D.shape))
        return np.stack([np.vecmat(f, self._tangents(D, unit, unit).by_position) for unit in units], axis=1)

    def third(self, v: Array, vdot: Array, vddot: Array) -> Array:
        """From two derivatives of ``v = T(D) D'`` at ``D = 0``; what ``T'`` does there to ``vdot`` cancels."""
        return vddot - np.matvec(self._tangents(np.zeros_like(v), v, vdot).rate_by_position, v)

    def local_error(self, C_q: float, v: Array, vdot: Array, vddot: Array) -> Array:  # noqa: N803
        """That of Newmark's formulas alone."""
        return C_q * self.third(v, vdot, vddot)

    @staticmethod
    def _along_rates(own: Tangents, factors: Array) -> Array:
        gamma, beta = factors.ravel().tolist()
        return np.stack([gamma * own.T, beta * own.T + gamma * (own.by_position + own.rate)])

    def _tangents(self, D: Array, dD: Array, ddD: Array) -> Tangents:
        merged = Tangents(*np.zeros((4, *D.shape, 6)))
        for group, rows in self.kinematics.parts:
            free = slice(0 if group.coupled else 3, 6)
            own = tangents(self.parametrization, D[rows, free], dD[rows, free], ddD[rows, free])
            for whole, block in zip(merged, own, strict=True):
                whole[rows, free, free] = block
            if not group.coupled:
                merged.T[rows, :3, :3] = np.eye(3)
        return merged


@checked
@dataclass(frozen=True)
class UpdatedLagrangian(GeneralizedAlpha):
    """The generalised-alpha method in local coordinates that start at zero in each step.

    The classical way to integrate rotations, for comparison (Bruels, Cardona, Arnold 2012, section 6; Cardona and
    Geradin 1988): Newmark's formulas hold for the coordinates, and velocities follow from their rates.

    Parameters
    ----------
    parametrization : {"conformal", "rotation_vector"}
        Coordinates of an increment: the conformal rotation vector (Wiener, Milenkovic) or the rotation vector, and on
        SE(3) their extensions to frames.
    rho_inf, formulation, start, newton, parameters
        As in :class:`GeneralizedAlpha`.
    """

    parametrization: Annotated[str, choice(PARAMETRIZATIONS)] = "conformal"

    def scheme(self, system: System) -> Scheme:
        chart = LocalChart(system.kinematics, PARAMETRIZATIONS[self.parametrization])
        return super().scheme(system)._replace(chart=chart)
