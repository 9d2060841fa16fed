"""Frames: SE(3), with rotation and translation coupled, batched over leading axes.

An element is a pair ``(R, x)``; an increment ``d = (U, w)`` has six numbers, translation first. All operators are
written with the 6x6 matrix of the Lie bracket, ``bracket(d) = [[W, U~], [0, W]]`` (Sonneville, Cardona, Bruels 2014,
Appendix A), which is that of SO(3) over the dual numbers, ``W + eps U~``: so are they (docs/theory.md). Closed forms by
blocks: Arnold, Cardona, Bruels (2015), eqs. 11b, 34, 35.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.lie.so3 import TANGENT

IDENTITY = np.eye(6)
_BRACKET = np.zeros((6, 6, 6))
_BRACKET[:3, :3, 3:] = so3._SKEW
_BRACKET[3:, :3, :3] = _BRACKET[3:, 3:, 3:] = so3._SKEW
_BRACKET_FLAT = _BRACKET.reshape(6, 36)
# dual(s) d = bracket(d)^T s, the coadjoint product seen as linear in d
_DUAL_FLAT = np.ascontiguousarray(np.einsum("dsi->sid", _BRACKET).reshape(6, 36))


def bracket(d: Array) -> Array:
    """Matrix of the Lie bracket, ``bracket(d) w = [d, w]``, shape ``(..., 6, 6)``."""
    return d.reshape(-1, 6).dot(_BRACKET_FLAT).reshape(*d.shape, 6)


def dual(s: Array) -> Array:
    """Matrix with ``dual(s) d = bracket(d)^T s`` for a wrench ``s = (force, moment)``, shape ``(..., 6, 6)``."""
    return s.reshape(-1, 6).dot(_DUAL_FLAT).reshape(*s.shape, 6)


def compose(R: Array, x: Array, S: Array, y: Array) -> tuple[Array, Array]:
    """Product of frames ``(R, x) (S, y) = (R S, x + R y)``."""
    return R @ S, x + np.matvec(R, y)


def inverse(R: Array, x: Array) -> tuple[Array, Array]:
    """Inverse frame ``(R^T, -R^T x)``."""
    Rt = R.mT
    return Rt, -np.matvec(Rt, x)


def adjoint(R: Array, x: Array) -> Array:
    """Adjoint ``[[R, x~ R], [0, R]]``: ``H exp(d) H^-1 = exp(adjoint(H) d)``."""
    result = np.zeros((*R.shape[:-2], 6, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = R
    result[..., :3, 3:] = so3.skew(x) @ R
    return result


def exp(d: Array) -> tuple[Array, Array]:
    """Frames ``(R, x)`` of increments ``(..., 6)``: ``R = exp(w)``, ``x = T^T(w) U``."""
    w = d[..., 3:]
    return so3.exp(w), np.vecmat(d[..., :3], so3.tangent_operator(w))


def log(R: Array, x: Array) -> Array:
    """Increments ``(..., 6)`` of frames; the rotation part is at most pi long."""
    w = so3.log(R)
    return np.concatenate([np.vecmat(x, so3.inverse_tangent_operator(w)), w], axis=-1)


def tangent_operator(d: Array) -> Array:
    """Tangent operator ``T(d) = [[T(w), D T(w)[U]], [0, T(w)]]``, shape ``(..., 6, 6)``."""
    U, w = d[..., :3], d[..., 3:]
    b, c, b1, c1 = TANGENT(np.vecdot(w, w))
    W, V = so3.skew(w), so3.skew(U)
    W2 = W @ W
    along = np.vecdot(w, U)[..., None, None]
    result = np.zeros((*d.shape, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = so3.IDENTITY - b * W + c * W2
    result[..., :3, 3:] = c * (V @ W + W @ V) - b * V + along * (c1 * W2 - b1 * W)
    return result


class InverseTangent(NamedTuple):
    """``T^-1(d) = I + A/2 + e A^2`` with ``A = bracket(d)``, and what it shares with its derivatives.

    Over the dual numbers ``e`` is that of ``phi^2 + 2 eps w.U``, which is ``e + eps e1 w.U``; ``eps`` takes the last
    three of six numbers to the first.
    """

    d: Array
    A: Array
    phi_squared: Array
    e: Array
    """Of shape ``(..., 1, 1)``, like the others."""
    e1: Array
    e2: Array
    along: Array
    """``w.U``."""
    value: Array
    """``T^-1(d)``, shape ``(..., 6, 6)``."""
    back: Array
    """``-T^-1(-d)``, of the same shape."""

    @classmethod
    def of(cls, d: Array) -> InverseTangent:
        """The operator at ``d`` (..., 6)."""
        phi_squared = np.vecdot(d[..., 3:], d[..., 3:])
        return cls._of(d, phi_squared, so3.INVERSE_TANGENT(phi_squared))

    @classmethod
    def of_frame(cls, R: Array, x: Array) -> InverseTangent:
        """The operator at ``d = log(R, x)``, sharing the coefficients with the logarithm."""
        w = so3.log(R)
        phi_squared, W = np.vecdot(w, w), so3.skew(w)
        coefficients, y = so3.INVERSE_TANGENT(phi_squared), np.vecmat(x, W)
        d = np.concatenate([x + 0.5 * y + coefficients[0, ..., 0] * np.vecmat(y, W), w], axis=-1)
        return cls._of(d, phi_squared, coefficients)

    @classmethod
    def _of(cls, d: Array, phi_squared: Array, coefficients: Array) -> InverseTangent:
        (e, e1, e2), A = coefficients, d.reshape(-1, 6).dot(_BRACKET_FLAT).reshape(*d.shape, 6)
        along = np.vecdot(d[..., :3], d[..., 3:])[..., None, None]
        squared, half = A @ A, 0.5 * A
        even = IDENTITY + e * squared
        coupled = even[..., :3, 3:]
        coupled += e1 * along * squared[..., 3:, 3:]
        return cls(d, A, phi_squared, e, e1, e2, along, half + even, half - even)

    def derivative(self, u: Array, transposed: bool = False) -> Array:
        """Matrix ``D`` with ``D delta`` the derivative of ``T^-1(d) u`` along ``delta``.

        ``transposed``: of ``T^-T(d) u``, the geometric stiffness of a wrench. By the product rule on ``u/2 + e A^2 u``,
        or with ``A^T`` in place of ``A``, and with the transposed ``eps``.
        """
        A, e1, source, target = self.A, self.e1, slice(3, 6), slice(3)
        if transposed:
            A, source, target = A.mT, target, source
        U, w = self.d[..., :3], self.d[..., 3:]
        u1 = np.matvec(A, u)
        u2, both = np.matvec(A, u1), np.array([u, u1])
        # the derivatives of A v against d, of two vectors v
        of_u, of_u1 = dual(both) if transposed else -bracket(both)
        bent = of_u1 + A @ of_u
        result: Array = 0.5 * of_u + self.e * bent
        result[..., target, :] += e1 * self.along * bent[..., source, :]
        # e + eps e1 w.U becomes steeper by e1 (0, w) + eps (e1 (w, U) + e2 w.U (0, w)), times A^2 u
        steeper, along = np.zeros((2, *u.shape, 2))
        steeper[..., 3:, 0] = steeper[..., :3, 1] = e1[..., 0] * w
        steeper[..., 3:, 1] = e1[..., 0] * U + (self.e2 * self.along)[..., 0] * w
        along[..., 0], along[..., target, 1] = u2, u2[..., source]
        result += along @ steeper.mT
        return result


def inverse_tangent_operator(d: Array) -> Array:
    """Inverse tangent operator ``T^-1(d)``, shape ``(..., 6, 6)``; regular for rotations below 2 pi."""
    return InverseTangent.of(d).value
