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
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3

EPSILON = 1e-40
"""Its square is far below rounding, and its higher powers do not underflow, which would be slow."""


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

    def tangent(self, c: Array) -> Array:
        """``T(c)`` (..., 3, 3)."""
        return self.p * so3.IDENTITY - self.q * so3.skew(c) + self.r * so3.outer(c, c)

    def rate(self, c: Array, v: Array) -> Array:
        """Derivative of ``T(c)`` along ``v``."""
        turned = self.dp * so3.IDENTITY - self.dq * so3.skew(c) + self.dr * so3.outer(c, c)
        return 2.0 * dot(c, v) * turned - self.q * so3.skew(v) + self.r * (so3.outer(c, v) + so3.outer(v, c))

    def first(self, c: Array, w: Array) -> Array:
        """Derivative of ``T(c) w`` against ``c``."""
        slope = combined(self.dp, self.dq, self.dr, c, w)
        return 2.0 * so3.outer(slope, c) + self.q * so3.skew(w) + self.r * (so3.outer(c, w) + dot(c, w) * so3.IDENTITY)

    def second(self, c: Array, w: Array, v: Array) -> Array:
        """Derivative of ``first(c, w) v`` against ``c``."""
        cw, cv, wv = dot(c, w), dot(c, v), dot(w, v)
        slope = combined(self.dp, self.dq, self.dr, c, w)
        turned = self.dq * so3.skew(w) + self.dr * (so3.outer(c, w) + cw * so3.IDENTITY)
        steeper = 2.0 * so3.outer(combined(self.ddp, self.ddq, self.ddr, c, w), c) + turned
        bend = self.dr[..., 0] * (wv[..., 0] * c + cw[..., 0] * v) + self.dq[..., 0] * so3.cross(w, v)
        spread = self.r * (wv * so3.IDENTITY + so3.outer(v, w))
        return 2.0 * (so3.outer(slope, v) + cv * steeper + so3.outer(bend, c)) + spread


def combined(p: Array, q: Array, r: Array, c: Array, w: Array) -> Array:
    """``p w - q c x w + r (c.w) c``."""
    return p[..., 0] * w - q[..., 0] * so3.cross(c, w) + r[..., 0] * dot(c, w)[..., 0] * c


def dot(a: Array, b: Array) -> Array:
    """Without the complex conjugate of ``vecdot``, ``(..., 1, 1)``."""
    return (a * b).sum(axis=-1)[..., None, None]


class Parametrization(NamedTuple):
    """``coefficients`` of ``s``; ``rotation`` of real coordinates ``(..., 3)``."""

    coefficients: Callable[[Array], Coefficients]
    rotation: Callable[[Array], Array]


def rotation_vector(s: Array) -> Coefficients:
    """``sin(phi)/phi``, ``(1 - cos(phi))/phi^2``, ``(phi - sin(phi))/phi^3``; real, or dual numbers."""
    # derivatives against s are half of those over the angle
    f = so3.ROTATION(s.real).reshape(4, 3, *s.shape) / np.reshape([1.0, 2.0, 4.0, 8.0], (4, 1, *s.ndim * [1]))
    parts = f[:3] + 1j * s.imag * f[1:] if np.iscomplexobj(s) else f[:3]
    return Coefficients(*parts.reshape(9, *s.shape))


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
    return ((c0**2 + 8.0 * c0 - 16.0) * so3.IDENTITY + 2.0 * outer + 2.0 * c0 * so3.skew(c)) / (4.0 - c0) ** 2


PARAMETRIZATIONS = {
    "conformal": Parametrization(_conformal, _conformal_rotation),
    "rotation_vector": Parametrization(rotation_vector, so3.exp),
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
    return Tangents(*map(frame_matrix, _tangents(parametrization.coefficients, *map(dual_of, (c, dc, ddc)))))


def local_exp(parametrization: Parametrization, c: Array) -> tuple[Array, Array]:
    """Frames ``(R, x)`` of coordinates ``(..., 6)``: ``R = mu(w)``, ``x = T^T(w) U``."""
    w = c[..., 3:]
    T = parametrization.coefficients(dot(w, w)).tangent(w)
    return parametrization.rotation(w), np.vecmat(c[..., :3], T)


def _tangents(coefficients: Callable[[Array], Coefficients], c: Array, dc: Array, ddc: Array) -> Tangents:
    f = coefficients(dot(c, c))
    return Tangents(f.tangent(c), f.rate(c, dc), f.first(c, dc), f.first(c, ddc) + f.second(c, dc, dc))


def frame_matrix(dual: Array) -> Array:
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


def inverse_rotation_vector(s: Array) -> Coefficients:
    """Of ``T^-1``, with ``p = 1 - e s``, ``q = -1/2``, ``r = e``, up to half a turn; real, or dual numbers."""
    powers = np.vander(s.ravel(), INVERSE_TERMS, increasing=True)
    e, de, dde = np.moveaxis(powers @ _DERIVATIVES, -1, 0).reshape(3, *s.shape)
    none = np.zeros_like(s)
    return Coefficients(1.0 - e * s, none - 0.5, e, -e - s * de, none, de, -2.0 * de - s * dde, none, dde)


def dual_of(d: Array) -> Array:
    """``w + eps U`` of ``(U, w)``."""
    return d[..., 3:] + 1j * EPSILON * d[..., :3]


class ScrewRates:
    """``T^-1`` at screws ``d`` (..., 6), translation first, by which velocities become rates of ``d``.

    With ``T^-1(-d) = T^-1(d) - bracket(d)``, it serves velocities of both ends.
    """

    def __init__(self, d: Array) -> None:
        self.d, self._c = d, dual_of(d)
        self._f = inverse_rotation_vector(dot(self._c, self._c))

    def forward(self) -> Array:
        """``T^-1(d)``, shape ``(..., 6, 6)``."""
        return frame_matrix(self._f.tangent(self._c))

    def rate(self, d_dot: Array) -> Array:
        """Derivative of ``T^-1(d)`` along ``d_dot``."""
        return frame_matrix(self._f.rate(self._c, dual_of(d_dot)))

    def derivative(self, u: Array) -> Array:
        """Matrix ``D`` with ``D delta`` the derivative of ``T^-1(d) u`` along ``delta``."""
        return frame_matrix(self._f.first(self._c, dual_of(u)))

    def second(self, u: Array, d_dot: Array) -> Array:
        """Matrix ``D`` with ``D delta`` the derivative of ``rate(d_dot) u`` along ``delta``."""
        return frame_matrix(self._f.second(self._c, dual_of(u), dual_of(d_dot)))
