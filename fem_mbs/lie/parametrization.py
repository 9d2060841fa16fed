"""Local coordinates of rotations and frames: the rotation vector and the conformal rotation vector.

Coordinates ``c`` stand for the rotation ``mu(c)``, and their rates for the angular velocity ``T(c) c'`` with

    T(c) = p I - q skew(c) + r c c^T,

where ``p, q, r`` are functions of ``s = c.c``. They distinguish one parametrisation from another; the rest of this file
serves all (Bruels, Cardona, Arnold 2012, section 6).

SE(3) is SO(3) over the dual numbers: every formula here holds for ``w + eps U`` with ``eps^2 = 0``. A complex number
with an imaginary part whose square is far below rounding computes with them exactly.

The inverse, ``T^-1(d)`` of SE(3) with its first and second derivatives: on SO(3), ``T^-1(c) = p I + skew(c)/2 + e c
c^T`` with ``p = 1 - e s``, ``s = c.c``, and

    e(s) = sum_k a_k s^(k-1),   a_1 = 1/12,   a_k = sum_j a_j a_(k-j)/(2k + 1),   j = 1 ... k-1,

the series of ``(1 - phi/2 cot(phi/2))/phi^2``, ``a_k = 2 zeta(2k)/(2 pi)^(2k)``: up to half a turn, where logarithms
end, it is exact to rounding with ``INVERSE_TERMS`` terms (Sonneville, Cardona, Bruels 2014, Appendix A).
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.lie.se3 import bracket

TERMS = 24
"""Enough for angles up to a whole turn, where the coordinates end."""
EPSILON = 1e-100


class Coefficients(NamedTuple):
    """``p, q, r`` and their first and second derivatives against ``s``, each of shape ``(..., 1, 1)``."""

    p: Array
    q: Array
    r: Array
    dp: Array
    dq: Array
    dr: Array
    ddp: Array
    ddq: Array
    ddr: Array


class Parametrization(NamedTuple):
    """``coefficients`` of ``s``; ``rotation`` of real coordinates ``(..., 3)``."""

    coefficients: Callable[[Array], Coefficients]
    rotation: Callable[[Array], Array]


def _stumpff(s: Array) -> list[Array]:
    """``c_k = sum (-s)^j/(2 j + k)!`` for k = 0 ... 7, the last two from the sum and ``c_k = 1/k! - s c_{k+2}``."""
    c = [np.zeros_like(s)] * 8
    for k in reversed(range(8)):
        c[k] = c[k + 2] if k + 2 < 8 else np.zeros_like(s)
        for j in reversed(range(1 if k + 2 < 8 else TERMS)):
            c[k] = 1.0 / factorial(2 * j + k) - s * c[k]
    return c


def _rotation_vector(s: Array) -> Coefficients:
    """``sin(phi)/phi``, ``(1 - cos(phi))/phi^2``, ``(phi - sin(phi))/phi^3``: with ``2 c_k' = k c_{k+2} - c_{k+1}``."""
    c = _stumpff(s)
    first = [0.5 * (k * c[k + 2] - c[k + 1]) for k in range(1, 6)]
    second = [0.5 * (k * first[k + 1] - first[k]) for k in range(1, 4)]
    return Coefficients(*c[1:4], *first[:3], *second)


def _conformal(s: Array) -> Coefficients:
    """Functions of the conformal rotation vector, ``4 tan(phi/4)`` long (2012 paper, eq. 82)."""
    u = 2.0 + s / 8.0
    k, dk, ddk = 2.0 / u**2, -0.5 / u**3, 0.1875 / u**4
    v = 2.0 - s / 8.0
    return Coefficients(k * v, k, 0.25 * k, dk * v - k / 8.0, dk, 0.25 * dk, ddk * v - 0.25 * dk, ddk, 0.25 * ddk)


def _conformal_rotation(c: Array) -> Array:
    """Rotation matrices of conformal rotation vectors (2012 paper, eq. 81)."""
    c0 = (2.0 - np.vecdot(c, c) / 8.0)[..., None, None]
    outer = c[..., :, None] * c[..., None, :]
    rotation: Array = ((c0**2 + 8.0 * c0 - 16.0) * so3.IDENTITY + 2.0 * outer + 2.0 * c0 * so3.skew(c)) / (
        4.0 - c0
    ) ** 2
    return rotation


PARAMETRIZATIONS = {
    "conformal": Parametrization(_conformal, _conformal_rotation),
    "rotation_vector": Parametrization(_rotation_vector, so3.exp),
}


class Tangents(NamedTuple):
    """Operators at coordinates ``c`` with rates ``c'`` and ``c''``, matrices ``(..., k, k)`` with ``k`` = 3 or 6."""

    T: Array
    """``T(c)``."""
    rate: Array
    """Its time derivative."""
    by_position: Array
    """Derivative of ``T(c) c'`` against ``c``."""
    rate_by_position: Array
    """Derivative of ``T(c) c'' + T' c'`` against ``c``."""


def tangents(parametrization: Parametrization, c: Array, dc: Array, ddc: Array) -> Tangents:
    """Operators of local coordinates: of rotations ``(..., 3)``, or of frames ``(..., 6)``, translation first."""
    if c.shape[-1] == 3:
        return _tangents(parametrization.coefficients, c, dc, ddc)
    numbers = (part[..., 3:] + 1j * EPSILON * part[..., :3] for part in (c, dc, ddc))
    return Tangents(*map(_frame_matrix, _tangents(parametrization.coefficients, *numbers)))


def local_exp(parametrization: Parametrization, c: Array) -> tuple[Array, Array]:
    """Frames ``(R, x)`` of coordinates ``(..., 6)``: ``R = mu(w)``, ``x = T^T(w) U``."""
    w = c[..., 3:]
    T = _tangent(parametrization.coefficients(_squared(w)), w)
    return parametrization.rotation(w), np.vecmat(c[..., :3], T)


def _tangents(coefficients: Callable[[Array], Coefficients], c: Array, dc: Array, ddc: Array) -> Tangents:
    f = coefficients(_squared(c))
    first = _first(f, c, dc)
    return Tangents(_tangent(f, c), _rate(f, c, dc), first, _first(f, c, ddc) + _second(f, c, dc))


def _tangent(f: Coefficients, c: Array) -> Array:
    return f.p * so3.IDENTITY - f.q * so3.skew(c) + f.r * _outer(c, c)


def _rate(f: Coefficients, c: Array, d: Array) -> Array:
    """Derivative of ``T(c)`` along ``d``."""
    along = 2.0 * _dot(c, d)
    turned = f.dp * so3.IDENTITY - f.dq * so3.skew(c) + f.dr * _outer(c, c)
    rate: Array = along * turned - f.q * so3.skew(d) + f.r * (_outer(c, d) + _outer(d, c))
    return rate


def _first(f: Coefficients, c: Array, w: Array) -> Array:
    """Derivative of ``T(c) w`` against ``c``."""
    slope = _slope(f.dp, f.dq, f.dr, c, w)
    first: Array = 2.0 * _outer(slope, c) + f.q * so3.skew(w) + f.r * (_outer(c, w) + _dot(c, w) * so3.IDENTITY)
    return first


def _second(f: Coefficients, c: Array, w: Array) -> Array:
    """Derivative of ``_first(c, w) w`` against ``c``."""
    cw, ww = _dot(c, w), _dot(w, w)
    slope = _slope(f.dp, f.dq, f.dr, c, w)
    turned = f.dq * so3.skew(w) + f.dr * (_outer(c, w) + cw * so3.IDENTITY)
    slope_by_c = 2.0 * _outer(_slope(f.ddp, f.ddq, f.ddr, c, w), c) + turned
    bend = ww[..., 0] * c + cw[..., 0] * w
    second: Array = (
        2.0 * _outer(slope, w)
        + 2.0 * cw * slope_by_c
        + 2.0 * f.dr * _outer(bend, c)
        + f.r * (ww * so3.IDENTITY + _outer(w, w))
    )
    return second


def _slope(p: Array, q: Array, r: Array, c: Array, w: Array) -> Array:
    """``p w - q c x w + r (c.w) c``."""
    slope: Array = p[..., 0] * w - q[..., 0] * np.cross(c, w) + r[..., 0] * _dot(c, w)[..., 0] * c
    return slope


def _squared(c: Array) -> Array:
    return _dot(c, c)


def _dot(a: Array, b: Array) -> Array:
    """Without the complex conjugate of ``vecdot``, ``(..., 1, 1)``."""
    dot: Array = (a * b).sum(axis=-1)[..., None, None]
    return dot


def _outer(a: Array, b: Array) -> Array:
    outer: Array = a[..., :, None] * b[..., None, :]
    return outer


def _frame_matrix(dual: Array) -> Array:
    """``[[A, A'], [0, A]]`` of a matrix ``A + eps A'``."""
    matrix = np.zeros((*dual.shape[:-2], 6, 6))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = dual.real
    matrix[..., :3, 3:] = dual.imag / EPSILON
    return matrix


INVERSE_TERMS = 34
_K = np.arange(INVERSE_TERMS)
_E = np.full(INVERSE_TERMS, 1.0 / 12.0)
for _k in range(1, INVERSE_TERMS):
    _E[_k] = _E[:_k] @ _E[:_k][::-1] / (2 * _k + 3)
# e, e', e'' as polynomials of s, lowest power first
_DERIVATIVES = np.zeros((INVERSE_TERMS, 3))
_DERIVATIVES[:, 0] = _E
_DERIVATIVES[:-1, 1] = (_K * _E)[1:]
_DERIVATIVES[:-2, 2] = (_K * (_K - 1) * _E)[2:]


def _dual(d: Array) -> Array:
    return d[..., 3:] + 1j * EPSILON * d[..., :3]


class ScrewRates:
    """``T^-1`` at screws ``d`` (..., 6), translation first, by which velocities become rates of ``d``.

    With ``T^-1(-d) = T^-1(d) - bracket(d)``, it serves velocities of both ends.
    """

    def __init__(self, d: Array) -> None:
        self.d, self._c = d, _dual(d)
        self._s = _dot(self._c, self._c)
        e, de, dde = np.moveaxis(np.vander(self._s.ravel(), INVERSE_TERMS, increasing=True) @ _DERIVATIVES, -1, 0)
        self._e, self._de, self._dde = (part.reshape(self._s.shape) for part in (e, de, dde))
        # of p = 1 - e s
        self._dp = -self._e - self._s * self._de
        self._ddp = -2.0 * self._de - self._s * self._dde

    def forward(self) -> Array:
        """``T^-1(d)``, shape ``(..., 6, 6)``."""
        c = self._c
        return _frame_matrix((1.0 - self._e * self._s) * so3.IDENTITY + 0.5 * so3.skew(c) + self._e * _outer(c, c))

    def backward(self) -> Array:
        """``T^-1(-d)``, shape ``(..., 6, 6)``."""
        result: Array = self.forward() - bracket(self.d)
        return result

    def rate(self, d_dot: Array) -> Array:
        """Derivative of ``T^-1(d)`` along ``d_dot``."""
        c, v = self._c, _dual(d_dot)
        along = 2.0 * _dot(c, v)
        spread = self._dp * so3.IDENTITY + self._de * _outer(c, c)
        return _frame_matrix(along * spread + 0.5 * so3.skew(v) + self._e * (_outer(c, v) + _outer(v, c)))

    def derivative(self, u: Array) -> Array:
        """Matrix ``D`` with ``D delta`` the derivative of ``T^-1(d) u`` along ``delta``."""
        c, u = self._c, _dual(u)
        cu = _dot(c, u)
        slope = self._dp[..., 0] * u + (self._de * cu)[..., 0] * c
        spread = _outer(c, u) + cu * so3.IDENTITY
        return _frame_matrix(2.0 * _outer(slope, c) - 0.5 * so3.skew(u) + self._e * spread)

    def second(self, u: Array, d_dot: Array) -> Array:
        """Matrix ``D`` with ``D delta`` the derivative of ``rate(d_dot) u`` along ``delta``."""
        c, u, v = self._c, _dual(u), _dual(d_dot)
        cu, cv, vu = _dot(c, u), _dot(c, v), _dot(v, u)
        slope = self._dp[..., 0] * u + (self._de * cu)[..., 0] * c
        steeper = self._ddp[..., 0] * u + (self._dde * cu)[..., 0] * c
        bent = vu[..., 0] * c + cu[..., 0] * v
        return _frame_matrix(
            2.0 * _outer(slope, v)
            + 2.0 * cv * (2.0 * _outer(steeper, c) + self._de * (cu * so3.IDENTITY + _outer(c, u)))
            + 2.0 * self._de * _outer(bent, c)
            + self._e * (vu * so3.IDENTITY + _outer(v, u))
        )
