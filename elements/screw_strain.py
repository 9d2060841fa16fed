"""Strain of a curve of frames ``H(s) = H_ref exp(d(s))``: ``epsilon = T(d) d'`` with its first and second derivatives.

SE(3) is SO(3) over the dual numbers: each formula is the one of rotation vectors for ``w + eps U`` with ``eps^2 = 0``,
and a complex number with a tiny imaginary part computes with them exactly (``fem_mbs/lie/parametrization.py``).
docs/theory.md, "Elements of higher order".
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.lie.coefficients import ROTATION

EPSILON = 1e-40
"""Its square is far below rounding, and its higher powers do not underflow, which would be slow."""


class ScrewStrain:
    """Strains at points with the coordinates ``d`` (..., 6) and their derivatives ``d'`` along the curve."""

    def __init__(self, d: Array, slope: Array) -> None:
        self.c, self.u = _dual(d), _dual(slope)
        w = d[..., 3:]
        real = ROTATION(np.vecdot(w, w)).reshape(4, 3, *w.shape[:-1], 1)
        along = EPSILON * np.vecdot(w, d[..., :3])[..., None]
        # functions p, q, r of the angle; their derivatives over the angle, and the second ones
        self.f, self.f1, self.f2 = real[:3] + 1j * along * real[1:]

    def value(self) -> Array:
        """``T(d) d'``, shape ``(..., 6)``."""
        value = self._combine(self.f, self.u)
        return np.concatenate([value.imag / EPSILON, value.real], axis=-1)

    def by_slope(self) -> Array:
        """``T(d)``, the derivative against ``d'``, ``(..., 6, 6)``."""
        p, q, r = self.f[..., None]
        return _matrix(p * so3.IDENTITY - q * so3.skew(self.c) + r * _outer(self.c, self.c))

    def by_place(self) -> Array:
        """Derivative against ``d``."""
        return _matrix(self._first(self.c, self.u))

    def second(self, stress: Array) -> tuple[Array, Array]:
        """Second derivatives of ``stress . epsilon``, against ``d`` twice and against ``d'`` and ``d``."""
        s = stress[..., :3] + 1j * EPSILON * stress[..., 3:]
        c, u = self.c, self.u
        (p1, q1, r1), (p2, q2, r2), r = self.f1, self.f2, self.f[2]
        turned = np.cross(u, s)
        a, b, cs, cu = _dot(s, u), _dot(c, turned), _dot(c, s), _dot(c, u)
        g = r1 * (cs * u + cu * s) - q1 * turned
        half = _outer(0.5 * (p2 * a - q2 * b + r2 * cs * cu) * c + g, c) + _outer(r * s, u)
        diagonal = (p1 * a - q1 * b + r1 * cs * cu)[..., None] * so3.IDENTITY
        return _matrix_dual(half + half.mT + diagonal), _matrix_dual(-self._first(-c, s))

    def rate_derivatives(self, rate: Array, slope_rate: Array) -> tuple[Array, Array]:
        """Derivatives of the strain rate ``D_d(T d') . rate + T . slope_rate`` against ``d`` and against ``d'``."""
        c, u, v, z = self.c, self.u, _dual(rate), _dual(slope_rate)
        (p1, q1, r1), r = self.f1, self.f[2]
        cu, cv = _dot(c, u), _dot(c, v)
        slope = self._combine(self.f1, u)
        second = (
            _outer(slope, v)
            + cv[..., None] * (_outer(self._combine(self.f2, u), c) + q1[..., None] * so3.skew(u))
            + _outer(r1 * (cu * v + _dot(u, v) * c) - q1 * np.cross(v, u), c)
            + (r1 * cv * cu + r * _dot(u, v))[..., None] * so3.IDENTITY
            + _outer(r1 * cv * c + r * v, u)
        )
        turning = (
            cv[..., None] * (p1[..., None] * so3.IDENTITY - q1[..., None] * so3.skew(c) + r1[..., None] * _outer(c, c))
            - self.f[1][..., None] * so3.skew(v)
            + r[..., None] * (_outer(c, v) + _outer(v, c))
        )
        return _matrix(second + self._first(c, z)), _matrix(turning)

    def _combine(self, functions: Array, u: Array) -> Array:
        """``p u - q c x u + r (c.u) c``."""
        p, q, r = functions
        result: Array = p * u - q * np.cross(self.c, u) + r * _dot(self.c, u) * self.c
        return result

    def _first(self, c: Array, u: Array) -> Array:
        """Derivative of ``T(c) u`` against ``c``, where ``c`` is the place or its opposite."""
        (p1, q1, r1), (_, q, r) = self.f1, self.f
        slope = p1 * u - q1 * np.cross(c, u) + r1 * _dot(c, u) * c
        first: Array = (
            _outer(slope, c)
            + q[..., None] * so3.skew(u)
            + r[..., None] * (_outer(c, u) + _dot(c, u)[..., None] * so3.IDENTITY)
        )
        return first


def _dual(d: Array) -> Array:
    """``w + eps U`` of ``(U, w)``."""
    return d[..., 3:] + 1j * EPSILON * d[..., :3]


def _dot(a: Array, b: Array) -> Array:
    """Without the complex conjugate of ``vecdot``, ``(..., 1)``."""
    dot: Array = (a * b).sum(axis=-1, keepdims=True)
    return dot


def _outer(a: Array, b: Array) -> Array:
    return a[..., :, None] * b[..., None, :]


def _matrix(dual: Array) -> Array:
    """``[[A, A'], [0, A]]`` of the derivative ``A + eps A'`` of a vector."""
    matrix = np.zeros((*dual.shape[:-2], 6, 6))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = dual.real
    matrix[..., :3, 3:] = dual.imag / EPSILON
    return matrix


def _matrix_dual(dual: Array) -> Array:
    """``[[0, A], [A, A']]`` of the second derivative ``A + eps A'`` of a number, of which the dual part counts."""
    matrix = np.zeros((*dual.shape[:-2], 6, 6))
    matrix[..., :3, 3:] = matrix[..., 3:, :3] = dual.real
    matrix[..., 3:, 3:] = dual.imag / EPSILON
    return matrix
