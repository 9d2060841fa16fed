"""The four section frames of a quadrilateral, seen from a frame in its middle.

The middle is half-way between the frames half-way along both diagonals, ``H_m = h(h(H_1, H_3), h(H_2, H_4))`` with
``h(A, B) = A exp(log(A^-1 B)/2)`` on SE(3): it does not depend on the numbering and moves with rigid motions. From
there nodes are at ``d_i = log(H_m^-1 H_i)``. Beams do the same with one parameter
(``elements/beams/curve_strain.py``); docs/theory.md, "Shells".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.beams.curve_strain import HalfWay
from fem_mbs.elements.beams.two_node import check_turn
from fem_mbs.lie import se3

SIGNS = np.array([-1.0, 1.0])[:, None, None]
"""Of the half-way operator in how a middle follows the first and the last of two frames, ``(1 -+ h)/2``."""


class QuadCoordinates:
    """Coordinates ``d`` (n, 4, 6) of section frames ``x`` (n, 4, 3), ``R`` (n, 4, 3, 3), counter-clockwise.

    ``owners`` (k,) are those of the elements, of which there may be several instants, one after the other.
    """

    def __init__(self, x: Array, R: Array, owners: Sequence[Any]) -> None:
        # diagonals from nodes 1 and 2 to nodes 3 and 4
        e, R_p, x_p = _half_way(R[:, :2], x[:, :2], R[:, 2:], x[:, 2:])
        e_m, self.R, self.x = _half_way(R_p[:, 0], x_p[:, 0], R_p[:, 1], x_p[:, 1])
        back = self.R.mT[:, None]
        self.operator = se3.InverseTangent.of_frame(back @ R, np.vecmat(x - self.x[:, None], self.R[:, None]))
        turns = [np.vecdot(d[..., 3:], d[..., 3:]).reshape(len(x), -1) for d in (self.operator.d, e, e_m)]
        check_turn(np.concatenate(turns, axis=1).max(axis=1).reshape(-1, len(owners)), owners)
        self.d, self.inverse = self.operator.d, self.operator.forward()
        self.back = self.operator.A - self.inverse
        """``-T^-1(-d)``, by which coordinates follow the middle."""
        self.diagonals, self.center = se3.InverseTangent.of(e), se3.InverseTangent.of(e_m)
        self.half_diagonals, self.half_center = HalfWay(e), HalfWay(e_m)
        # shares of nodes in the middles of their diagonals (n, end, diagonal, 6, 6), of these in the middle
        h = self.half_diagonals.value()[:, None]
        self.of_diagonals = 0.5 * (se3.IDENTITY + SIGNS[:, None] * h)
        self.of_center = 0.5 * (se3.IDENTITY + SIGNS * self.half_center.value()[:, None])
        self.shares = (self.of_center[:, None] @ self.of_diagonals).reshape(len(x), 4, 6, 6)
        """By which the middle follows the nodes, ``delta_m = sum_i A_i delta_i``."""

    def gradient(self) -> Array:
        """``Q`` with ``delta d = Q delta``, ``(n, 24, 24)``."""
        n = len(self.d)
        Q = (self.back[:, :, None] @ self.shares[:, None]).swapaxes(2, 3)
        np.einsum("niaib->niab", Q)[...] += self.inverse
        return Q.reshape(n, 24, 24)

    def geometric(self, wrench: Array, Q: Array) -> Array:
        """Derivative ``(n, 24, 24)`` of ``Q^T wrench`` (n, 4, 6) against the increments of the nodes."""
        n = len(self.d)
        turned = self.operator.derivative(wrench, transposed=True)
        rows = Q.reshape(n, 4, 6, 24)
        G = turned @ rows
        # the wrench that is moved to the middle, and how it changes there
        at_middle = np.vecmat(wrench, self.back).sum(axis=1)
        change = ((se3.dual(wrench) - turned) @ rows).sum(axis=1)
        G += self.shares.mT @ change[:, None]
        by_diagonals, by_center = self._middles()
        at_diagonals = np.vecmat(at_middle[:, None], self.of_center)
        # of the shares in the middle, then of those in the middles of the diagonals
        bent = 0.5 * self.half_center.derivative(at_middle, transposed=True) @ by_center
        ends = self.of_diagonals.mT @ (SIGNS * bent[:, None])[:, None]
        own = 0.5 * self.half_diagonals.derivative(at_diagonals, transposed=True) @ by_diagonals
        ends += SIGNS[:, None] * own[:, None]
        return (G + ends.reshape(n, 4, 6, 24)).reshape(n, 24, 24)

    def rate_derivative(self, V: Array, Q: Array) -> Array:
        """Derivative ``(n, 24, 24)`` of ``Q V`` at constant velocities ``V`` (n, 4, 6) against the increments."""
        n = len(self.d)
        by_diagonals, by_center = self._middles()
        first, last = V[:, :2], V[:, 2:]
        V_p = np.matvec(self.of_diagonals, V.reshape(n, 2, 2, 6)).sum(axis=1)
        V_m = np.matvec(self.of_center, V_p).sum(axis=1)
        # change of the velocity of the middle
        own = 0.5 * self.half_diagonals.derivative(last - first) @ by_diagonals
        change = (self.of_center @ own).sum(axis=1)
        change += 0.5 * self.half_center.derivative(V_p[:, 1] - V_p[:, 0]) @ by_center
        local = self.operator.derivative(V - V_m[:, None]) - se3.bracket(V_m)[:, None]
        result = local @ Q.reshape(n, 4, 6, 24) + self.back @ change[:, None]
        return result.reshape(n, 24, 24)

    def _middles(self) -> tuple[Array, Array]:
        """Derivatives of ``e`` of both diagonals ``(n, 2, 6, 24)`` and between their middles ``(n, 6, 24)``."""
        forward = self.diagonals.forward()
        by_diagonals = _by_nodes(np.stack([self.diagonals.A - forward, forward], axis=1))
        first, last = _by_nodes(self.of_diagonals).swapaxes(0, 1)
        forward = self.center.forward()
        return by_diagonals, (self.center.A - forward) @ first + forward @ last


def _by_nodes(by_ends: Array) -> Array:
    """Derivatives ``(n, 2, 6, 24)`` of both diagonals against all nodes from those against their ends."""
    result = np.zeros((len(by_ends), 2, 6, 2, 2, 6))
    np.einsum("nkaekb->nekab", result)[...] = by_ends
    return result.reshape(-1, 2, 6, 24)


def _half_way(R_a: Array, x_a: Array, R_b: Array, x_b: Array) -> tuple[Array, Array, Array]:
    """``e = log(H_a^-1 H_b)``, and the frame half-way along it."""
    e = se3.log(R_a.mT @ R_b, np.vecmat(x_b - x_a, R_a))
    half, y = se3.exp(0.5 * e)
    return e, R_a @ half, x_a + np.matvec(R_a, y)
