"""The coordinates in which a step is made: increments of the group, or local coordinates that start at zero.

A method takes Newmark's formulas for an increment ``D`` of the configuration and its rates. For the Lie group method
these rates are the velocities themselves; the updated Lagrangian method gets velocities from the chart (Bruels,
Cardona, Arnold 2012, sections 4 and 6). Own unknowns are coordinates as they are, and no business of a chart.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import se3
from fem_mbs.lie.parametrization import PARAMETRIZATIONS, Parametrization, Tangents, local_exp, tangents
from fem_mbs.system.kinematics import Kinematics


class Chart(Protocol):
    """What a step needs to know of its coordinates ``D`` (n, 6) and their first and second rates ``(2, n, 6)``.

    Coordinates that a group does not have may be more than six a node.
    """

    kinematics: Kinematics
    """Of the velocities that :meth:`lift` returns."""
    width: int
    """Coordinates of a node."""

    def retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """Configuration at the coordinates ``D``."""
        ...

    def lift(self, D: Array, rates: Array) -> Array:
        """Velocities and their derivatives ``(2, n, 6)``."""
        ...

    def lift_algorithmic(self, D: Array, rates: Array) -> Array:
        """Algorithmic accelerations ``(n, 6)`` from first rates and those of the coordinates, ``(2, n, 6)``."""
        ...

    def derivatives(self, D: Array, rates: Array, factors: Array) -> tuple[Array, Array]:
        """``dD/d(increment)`` (n, 6, 6), and those of :meth:`lift` (2, n, 6, 6), where rates follow by ``factors``."""
        ...

    def rate_derivatives(self, D: Array, rates: Array, factors: Array) -> Array:
        """Derivatives (2, n, 6, 6) of :meth:`lift` along rates that are ``factors`` times an increment of ``D``."""
        ...

    def rate_changes(self, D: Array, rates: Array, factors: Array, d: Array) -> Array:
        """Changes (2, n, 6) of :meth:`lift` with rates that change by ``factors`` times ``d`` (n, 6)."""
        ...

    def from_velocities(self, T_inv: Array, d: Array) -> Array:
        """Coordinates ``(n, 6)`` along whose rates velocities change by ``d`` (n, 6), given ``dD/d(increment)``."""
        ...

    def frozen(self, D: Array, w: Array) -> tuple[Array, Array]:
        """``T(D) w`` (n, 6) of rates that stay, and its derivative against ``D``."""
        ...

    def frozen_transposed(self, D: Array, f: Array) -> Array:
        """Derivative of ``T^T(D) f`` against ``D``, of forces (n, 6) that stay."""
        ...

    def third(self, v: Array, vdot: Array, vddot: Array) -> Array:
        """Third derivative of the coordinates at the start of a step."""
        ...

    def local_error(self, C_q: float, v: Array, vdot: Array, vddot: Array) -> Array:  # noqa: N803
        """Leading error of the increment of a step over ``h^3``."""
        ...


class GroupChart:
    """Increments of the group, whose rates are taken for the velocities."""

    width = 6

    def __init__(self, kinematics: Kinematics) -> None:
        self.kinematics = kinematics
        self.retract = kinematics.retract

    def lift(self, D: Array, rates: Array) -> Array:
        return rates

    def lift_algorithmic(self, D: Array, rates: Array) -> Array:
        a: Array = rates[1]
        return a

    def derivatives(self, D: Array, rates: Array, factors: Array) -> tuple[Array, Array]:
        """``T^-1(D)``, and the factors times that."""
        T_inv = self.kinematics.inverse_tangent(D)
        return T_inv, factors * T_inv

    def rate_derivatives(self, D: Array, rates: Array, factors: Array) -> Array:
        """The factors themselves."""
        return factors * np.broadcast_to(np.eye(6), (len(D), 6, 6))

    def rate_changes(self, D: Array, rates: Array, factors: Array, d: Array) -> Array:
        """The changes themselves."""
        return factors[:, 0] * d

    def from_velocities(self, T_inv: Array, d: Array) -> Array:
        """Rates are velocities."""
        return d

    def frozen(self, D: Array, w: Array) -> tuple[Array, Array]:
        """Rates are velocities."""
        return w, np.zeros((len(D), 6, 6))

    def frozen_transposed(self, D: Array, f: Array) -> Array:
        """Forces act on rates."""
        return np.zeros((len(D), 6, 6))

    def third(self, v: Array, vdot: Array, vddot: Array) -> Array:
        """The second derivative of the velocity."""
        return vddot

    def local_error(self, C_q: float, v: Array, vdot: Array, vddot: Array) -> Array:  # noqa: N803
        """Arnold, Cardona, Bruels (2015), eq. 141."""
        error = C_q * vddot
        self.kinematics.add_bracket(error, 1.0 / 12.0, v, vdot)
        return error


class LocalChart:
    """Local coordinates of a parametrisation: the updated Lagrangian method."""

    width = 6

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

    def lift(self, D: Array, rates: Array) -> Array:
        """``T D'`` and ``T D'' + T' D'``, eqs. 74-76."""
        own = self._tangents(D, *rates)
        return np.stack([np.matvec(own.T, rates[0]), np.matvec(own.T, rates[1]) + np.matvec(own.rate, rates[0])])

    def lift_algorithmic(self, D: Array, rates: Array) -> Array:
        """As accelerations."""
        a: Array = self.lift(D, rates)[1]
        return a

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
        """By the product rule at constant ``D``."""
        changes: Array = np.matvec(self.rate_derivatives(D, rates, factors), d)
        return changes

    def from_velocities(self, T_inv: Array, d: Array) -> Array:
        """By ``T^-1``."""
        result: Array = np.matvec(T_inv, d)
        return result

    def frozen(self, D: Array, w: Array) -> tuple[Array, Array]:
        """By the derivatives of ``T``."""
        own = self._tangents(D, w, w)
        return np.matvec(own.T, w), own.by_position

    def frozen_transposed(self, D: Array, f: Array) -> Array:
        """Row by row: ``f . T e_j``."""
        units = np.broadcast_to(np.eye(self.width)[:, None], (self.width, *D.shape))
        return np.stack([np.vecmat(f, self._tangents(D, unit, unit).by_position) for unit in units], axis=1)

    def third(self, v: Array, vdot: Array, vddot: Array) -> Array:
        """From two derivatives of ``v = T(D) D'`` at ``D = 0``."""
        own = self._tangents(np.zeros_like(v), v, vdot)
        third: Array = vddot - np.matvec(own.rate + own.by_position, vdot) - np.matvec(own.rate_by_position, v)
        return third

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


CHARTS: dict[str, Parametrization | None] = {"group": None, **PARAMETRIZATIONS}


def make_chart(kinematics: Kinematics, name: str) -> Chart:
    """Chart of a system: ``group`` or a parametrisation."""
    parametrization = CHARTS[name]
    return GroupChart(kinematics) if parametrization is None else LocalChart(kinematics, parametrization)
