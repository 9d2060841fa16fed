"""The coordinates in which a step is made: increments of the group, or local coordinates that start at zero.

A method takes Newmark's formulas for an increment ``D`` of the configuration and its rates. For the Lie group method
these rates are the velocities themselves; the updated Lagrangian and the classical methods get velocities from the
chart (Bruels, Cardona, Arnold 2012, sections 4 and 6; ``methods/comparison``). Own unknowns are coordinates as they
are, and no business of a chart.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.system.kinematics import Kinematics


class Chart:
    """Increments of the group, whose rates are taken for the velocities.

    What a step needs to know of its coordinates ``D`` (n, 6) and their first and second rates ``(2, n, 6)``; other
    coordinates override it, and may be more than six a node.
    """

    width = 6
    """Coordinates of a node."""

    def __init__(self, kinematics: Kinematics) -> None:
        self.kinematics = kinematics
        """Of the velocities that :meth:`lift` returns."""

    def retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """Configuration at the coordinates ``D``."""
        return self.kinematics.retract(x, R, D)

    def lift(self, D: Array, rates: Array) -> Array:
        """Velocities and their derivatives ``(2, n, 6)``."""
        return rates

    def lift_algorithmic(self, D: Array, rates: Array) -> Array:
        """Algorithmic accelerations ``(n, 6)`` from first rates and those of the coordinates, ``(2, n, 6)``."""
        a: Array = rates[1]
        return a

    def derivatives(self, D: Array, rates: Array, factors: Array) -> tuple[Array, Array]:
        """``dD/d(increment)`` (n, 6, 6), and those of :meth:`lift` (2, n, 6, 6), where rates follow by ``factors``.

        Here ``T^-1(D)``, and the factors times that (Arnold, Cardona, Bruels 2015, eq. 31).
        """
        T_inv = self.kinematics.inverse_tangent(D)
        return T_inv, factors * T_inv

    def rate_derivatives(self, D: Array, rates: Array, factors: Array) -> Array:
        """Derivatives (2, n, 6, 6) of :meth:`lift` along rates that are ``factors`` times an increment of ``D``."""
        return factors * np.broadcast_to(np.eye(6), (len(D), 6, 6))

    def rate_changes(self, D: Array, rates: Array, factors: Array, d: Array) -> Array:
        """Changes (2, n, 6) of :meth:`lift` with rates that change by ``factors`` times ``d`` (n, 6)."""
        return factors[:, 0] * d

    def from_velocities(self, T_inv: Array, d: Array) -> Array:
        """Coordinates ``(n, 6)`` along whose rates velocities change by ``d`` (n, 6), given ``dD/d(increment)``."""
        return d

    def frozen(self, D: Array, w: Array) -> tuple[Array, Array]:
        """``T(D) w`` (n, 6) of rates that stay, and its derivative against ``D``."""
        return w, np.zeros((len(D), 6, 6))

    def frozen_transposed(self, D: Array, f: Array) -> Array:
        """Derivative of ``T^T(D) f`` against ``D``, of forces (n, 6) that stay."""
        return np.zeros((len(D), 6, 6))

    def third(self, v: Array, vdot: Array, vddot: Array) -> Array:
        """Third derivative of the coordinates at the start of a step."""
        return vddot

    def local_error(self, C_q: float, v: Array, vdot: Array, vddot: Array) -> Array:  # noqa: N803
        """Leading error of the increment of a step over ``h^3``.

        Arnold, Cardona, Bruels (2015), eq. 69; Bruels, Cardona, Arnold (2012), eq. 47, has the other sign.
        """
        error = C_q * vddot
        self.kinematics.add_bracket(error, 1.0 / 12.0, v, vdot)
        return error
