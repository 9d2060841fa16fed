"""Increments of the group in canonical coordinates of the second kind: a move, then a turn about each body axis.

``exp(D_1 e_1) ... exp(D_6 e_6)`` in place of ``exp(D)``: the configuration of a step of Crouch and Grossman with one
stage. To first order both are the same; this one depends on the order of the axes.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.chart import GroupChart
from fem_mbs.lie import so3
from fem_mbs.system import Kinematics

AXES = np.eye(3)


class SecondKindChart(GroupChart):
    """Increments whose rates are taken for the velocities, as on the group itself."""

    def __init__(self, kinematics: Kinematics) -> None:
        super().__init__(kinematics)
        self.retract = self._retract

    def _retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """The move is along the world on R3xSO3, along the body on SE(3)."""
        moved = np.empty_like(x)
        for group, rows in self.kinematics.parts:
            moved[rows] = np.matvec(R[rows], D[rows, :3]) if group.coupled else D[rows, :3]
        return x + moved, R @ _turn(D)

    def derivatives(self, D: Array, rates: Array, factors: Array) -> tuple[Array, Array]:
        """The inverse of ``d(increment)/dD``: rows of the body axes, those that were turned about first turned back."""
        second, third = (so3.exp(D[:, 3 + k, None] * AXES[k]) for k in (1, 2))
        back = third.mT @ second.mT
        T = np.zeros((len(D), 6, 6))
        T[:, 3:, 3] = back[..., 0]
        T[:, 3:, 4] = third.mT[..., 1]
        T[:, 3:, 5] = AXES[2]
        T[:, :3, :3] = AXES
        for group, rows in self.kinematics.parts:
            if group.coupled:
                T[rows, :3, :3] = _turn(D[rows]).mT
        T_inv = np.linalg.inv(T).astype(float, copy=False)
        return T_inv, factors * T_inv


def _turn(D: Array) -> Array:
    """Turns about the first, the second and the third axis, one after the other."""
    first, second, third = (so3.exp(D[:, 3 + k, None] * AXES[k]) for k in range(3))
    turn: Array = first @ second @ third
    return turn
