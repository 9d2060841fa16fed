"""Nodes of an element seen from a frame in its middle: ``d_i = log(H_ref^-1 H_i)``, and how they follow the nodes.

The frame is the middle node, or half-way from one to the other of two (Crisfield, Jelenic, *Proceedings of the Royal
Society A* 455, 1999, with frames in place of rotations). docs/theory.md, "Elements of higher order".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.beam_batch import check_turn
from fem_mbs.lie import se3
from fem_mbs.lie.coefficients import INVERSE_TANGENT


class RelativeCoordinates:
    """Coordinates ``d`` (n, p, 6) of ``p`` section frames ``x`` (n, p, 3), ``R`` (n, p, 3, 3) an element of ``owners``.

    There may be several instants, one after the other.
    """

    def __init__(self, x: Array, R: Array, owners: Sequence[Any]) -> None:
        count = x.shape[1]
        first, last = (count - 1) // 2, count // 2
        R_ref, x_ref = R[:, first], x[:, first]
        if first != last:
            e = se3.log(*_seen(R[:, last], x[:, last], R_ref, x_ref))
            half, y = se3.exp(0.5 * e)
            R_ref, x_ref = R_ref @ half, x_ref + np.matvec(R_ref, y)
        self.operator = se3.InverseTangent.of_frame(*_seen(R, x, R_ref[:, None], x_ref[:, None]))
        turn = self.operator.phi_squared.max(axis=1)
        if first != last:
            turn = np.maximum(turn, 4.0 * self.operator.phi_squared[:, last])
        check_turn(turn.reshape(-1, len(owners)), owners)
        self.R_ref, self.x_ref = R_ref, x_ref
        self.d, self.inverse = self.operator.d, self.operator.forward()
        # increments of the reference frame from those of the middle nodes
        self.half = None if first == last else HalfWay(2.0 * self.d[:, last])
        if self.half is None:
            self.shares = {first: np.broadcast_to(se3.IDENTITY, (len(x), 6, 6))}
        else:
            h = self.half.value()
            self.shares = {first: 0.5 * (se3.IDENTITY - h), last: 0.5 * (se3.IDENTITY + h)}
        self.last = last
        self.back = self.operator.A - self.inverse
        """``-T^-1(-d)``, by which coordinates follow the reference frame."""

    def gradient(self) -> Array:
        """``Q`` with ``delta d = Q delta``, ``(n, p, 6, p, 6)``."""
        n, p = self.d.shape[:2]
        Q = np.zeros((n, p, 6, p, 6))
        _diagonal(Q)[...] += self.inverse
        for k, share in self.shares.items():
            Q[:, :, :, k] += self.back @ share[:, None]
        return Q

    def geometric(self, wrench: Array) -> Array:
        """Derivative ``(n, p, 6, p, 6)`` of ``Q^T wrench`` against ``d``."""
        n, p = self.d.shape[:2]
        G = np.zeros((n, p, 6, p, 6))
        turned = self.operator.transposed_derivative(wrench)
        back = se3.dual(wrench) - turned
        _diagonal(G)[...] += turned
        for k, share in self.shares.items():
            G[:, k] += (share.mT[:, None] @ back).swapaxes(1, 2)
        if self.half is not None:
            # of the shares (1 -+ h)/2, where the coordinates of the last of the middle nodes are half of e
            change = self.half.transposed_derivative(np.vecmat(wrench, self.back).sum(axis=1))
            for k, sign in zip(self.shares, (-1.0, 1.0), strict=True):
                G[:, k, :, self.last] += sign * change
        return G

    def rate_derivative(self, V: Array) -> Array:
        """Derivative ``(n, p, 6, p, 6)`` of ``Q V`` against ``d`` at constant velocities ``V`` (n, p, 6)."""
        n, p = self.d.shape[:2]
        V_ref = sum(np.matvec(share, V[:, k]) for k, share in self.shares.items())[:, None]
        result = np.zeros((n, p, 6, p, 6))
        _diagonal(result)[...] += self.operator.derivative(V - V_ref) - se3.bracket(V_ref)
        if self.half is not None:
            first, last = self.shares
            result[:, :, :, last] += self.back @ self.half.derivative(V[:, last] - V[:, first])[:, None]
        return result


class HalfWay:
    """``h = tanh(bracket(e)/4)``: the frame half-way along ``e`` follows its ends by ``(1 - h)/2`` and ``(1 + h)/2``.

    As ``bracket(e) = A`` satisfies ``A (A^2 + phi^2)^2 = 0``, it is ``a A + b A^3``; with
    ``tan(phi/4)/phi = 4 e(phi) - e(phi/2)``, ``e`` the coefficient of the inverse tangent operator of SO(3).
    """

    def __init__(self, e: Array) -> None:
        self.A, self.w = se3.bracket(e), e[..., 3:]
        self.squared = np.vecdot(self.w, self.w)
        (e0, e1, e2), (f0, f1, f2) = INVERSE_TANGENT(self.squared), INVERSE_TANGENT(0.25 * self.squared)
        x, slope = self.squared[..., None, None], 2.0 * e1 - 0.125 * f1
        self.a, self.b, self.bend = 4.0 * e0 - f0 - x * slope, -slope, e2 - f2 / 64.0

    def value(self) -> Array:
        """The matrix ``(..., 6, 6)``."""
        result: Array = self.A @ (self.a * se3.IDENTITY + self.b * (self.A @ self.A))
        return result

    def derivative(self, u: Array) -> Array:
        """Derivative of ``h u`` against ``e``."""
        return self._derivative(u, self.A, lambda v: -se3.bracket(v))

    def transposed_derivative(self, s: Array) -> Array:
        """Derivative of ``h^T s`` against ``e``."""
        return self._derivative(s, self.A.mT, se3.dual)

    def _derivative(self, u0: Array, A: Array, partial: Callable[[Array], Array]) -> Array:
        u1 = np.matvec(A, u0)
        u2 = np.matvec(A, u1)
        u3 = np.matvec(A, u2)
        result: Array = self.a * partial(u0) + self.b * (partial(u2) + A @ (partial(u1) + A @ partial(u0)))
        along = -2.0 * self.bend[..., 0] * (self.squared[..., None] * u1 + u3)
        result[..., 3:] += along[..., :, None] * self.w[..., None, :]
        return result


def _seen(R: Array, x: Array, R_ref: Array, x_ref: Array) -> tuple[Array, Array]:
    """Frames as seen from others."""
    return R_ref.mT @ R, np.vecmat(x - x_ref, R_ref)


def _diagonal(blocks: Array) -> Array:
    """Diagonal blocks ``(n, p, 6, 6)``, a view."""
    diagonal: Array = np.einsum("niaib->niab", blocks)
    return diagonal
