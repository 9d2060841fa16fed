"""Coordinates of rotations and frames: the rotation vector and the conformal one, Tait-Bryan angles, Euler parameters.

Local coordinates ``c`` stand for the rotation ``mu(c)``, and their rates for the angular velocity ``T(c) c'`` with

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

Tait-Bryan angles and Euler parameters last for a whole run. With coordinates ``c`` of the rotation ``R(c)`` the angular
velocity in the body frame is ``G(c) c'`` (Holzinger, Arnold, Gerstmayr, *Evaluation and implementation of Lie group
integration methods*, 2024, section 2.1). All is batched over leading axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

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


class RotationCoordinates:
    """Coordinates ``(..., size)`` of rotations, without a constraint if not said otherwise."""

    size: ClassVar[int]
    zero: ClassVar[Array]
    """Coordinates of the identity."""

    @staticmethod
    def rotation(c: Array) -> Array:
        """Rotation matrices ``(..., 3, 3)``."""
        raise NotImplementedError

    @staticmethod
    def coordinates(R: Array) -> Array:
        """Coordinates of rotation matrices."""
        raise NotImplementedError

    @staticmethod
    def jacobian(c: Array) -> Array:
        """``G`` (..., 3, size)."""
        raise NotImplementedError

    @staticmethod
    def tangents(c: Array, dc: Array, ddc: Array) -> Tangents:
        """``G``, its rate, and derivatives against ``c`` of angular velocity and acceleration, ``(..., 3, size)``."""
        raise NotImplementedError

    @staticmethod
    def rates(c: Array) -> Array:
        """Rates of the coordinates ``(..., size, 3)`` against angular velocities: ``c' = rates(c) Omega``."""
        raise NotImplementedError

    @staticmethod
    def closed(c: Array) -> Array:
        """The coordinates next to ``c`` that obey their constraint."""
        return c

    @staticmethod
    def missed(c: Array, dc: Array) -> Array:
        """The part of the rates that violates the time derivative of the constraint."""
        return 0.0 * dc

    @staticmethod
    def bend(c: Array, dc: Array) -> Array:
        """What the constraint demands of the second derivative, beyond the angular acceleration."""
        return 0.0 * dc


def _products(c: Array) -> Array:
    """``cos b cos c, cos b sin c, sin b cos c, sin b sin c, sin b, cos b, sin c, cos c, 1`` of angles, ``(..., 9)``."""
    cosine, sine = np.cos(c), np.sin(c)
    result = np.empty((*c.shape[:-1], 9))
    result[..., 0], result[..., 1] = cosine[..., 1] * cosine[..., 2], cosine[..., 1] * sine[..., 2]
    result[..., 2], result[..., 3] = sine[..., 1] * cosine[..., 2], sine[..., 1] * sine[..., 2]
    result[..., 4], result[..., 5] = sine[..., 1], cosine[..., 1]
    result[..., 6], result[..., 7] = sine[..., 2], cosine[..., 2]
    result[..., 8] = 1.0
    return result


def _jacobian_tables() -> tuple[Array, Array]:
    """What makes ``G`` of these products (9, 9), and ``G`` with its derivatives by b, c, bb, bc and cc, ``(9, 54)``."""
    G = np.zeros((9, 3, 3))
    G[0, 0, 0], G[1, 1, 0], G[4, 2, 0] = 1.0, -1.0, 1.0
    G[6, 0, 1], G[7, 1, 1], G[8, 2, 2] = 1.0, 1.0, 1.0
    by_b, by_c = np.zeros((2, 9, 9))
    for by, pairs in ((by_b, ((2, 0), (3, 1), (4, 5))), (by_c, ((1, 0), (3, 2), (6, 7)))):
        for sine, cosine in pairs:
            by[sine, cosine], by[cosine, sine] = 1.0, -1.0
    table = G.reshape(9, 9)
    first = by_b.T @ table, by_c.T @ table
    return table, np.concatenate([table, *first, by_b.T @ first[0], by_b.T @ first[1], by_c.T @ first[1]], axis=1)


_JACOBIAN, _JACOBIAN_DERIVATIVES = _jacobian_tables()


class TaitBryan(RotationCoordinates):
    """Angles ``(a, b, c)`` with ``R = Rx(a) Ry(b) Rz(c)``; singular at ``b = +-90`` degrees."""

    size: ClassVar = 3
    zero: ClassVar = np.zeros(3)

    @staticmethod
    def rotation(c: Array) -> Array:
        cosine, sine = np.cos(c), np.sin(c)
        ca, cb, cc = cosine[..., 0], cosine[..., 1], cosine[..., 2]
        sa, sb, sc = sine[..., 0], sine[..., 1], sine[..., 2]
        R = np.empty((*c.shape, 3))
        R[..., 0, 0], R[..., 0, 1], R[..., 0, 2] = cb * cc, -cb * sc, sb
        R[..., 1, 0], R[..., 1, 1], R[..., 1, 2] = ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb
        R[..., 2, 0], R[..., 2, 1], R[..., 2, 2] = sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb
        return R

    @staticmethod
    def coordinates(R: Array) -> Array:
        """With ``b`` from -90 to 90 degrees; where it is singular, with ``a = 0``."""
        cb = np.hypot(R[..., 0, 0], R[..., 0, 1])
        b = np.arctan2(R[..., 0, 2], cb)
        a = np.where(cb > 0.0, np.arctan2(-R[..., 1, 2], R[..., 2, 2]), 0.0)
        ca, sa = np.cos(a), np.sin(a)
        # the second row of Ry(b) Rz(c) = Rx(-a) R
        c = np.arctan2(ca * R[..., 1, 0] + sa * R[..., 2, 0], ca * R[..., 1, 1] + sa * R[..., 2, 1])
        return np.stack([a, b, c], axis=-1)

    @staticmethod
    def jacobian(c: Array) -> Array:
        return (_products(c) @ _JACOBIAN).reshape(*c.shape, 3)

    @staticmethod
    def tangents(c: Array, dc: Array, ddc: Array) -> Tangents:
        parts = (_products(c) @ _JACOBIAN_DERIVATIVES).reshape(*c.shape[:-1], 2, 3, 3, 3)
        # G and its derivatives against b and c, and the second ones
        G, by = parts[..., 0, 0, :, :], parts[..., 0, 1:, :, :]
        dc_bc = dc[..., None, 1:, None, None]
        bend = (parts[..., 1, [[0, 1], [1, 2]], :, :] * dc_bc).sum(-3)
        first, second = np.zeros((2, *G.shape))
        first[..., 1:] = np.matvec(by, dc[..., None, :]).mT
        second[..., 1:] = (np.matvec(by, ddc[..., None, :]) + np.matvec(bend, dc[..., None, :])).mT
        return Tangents(G, (by * dc_bc[..., 0, :, :, :]).sum(-3), first, second)

    @staticmethod
    def rates(c: Array) -> Array:
        """``G^-1``."""
        cosine, sine = np.cos(c), np.sin(c)
        cc, sc = cosine[..., 2], sine[..., 2]
        inverse = np.zeros((*c.shape[:-1], 3, 3))
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse[..., 0, 0], inverse[..., 0, 1] = cc / cosine[..., 1], -sc / cosine[..., 1]
        inverse[..., 1, 0], inverse[..., 1, 1] = sc, cc
        inverse[..., 2, :2] = -sine[..., 1, None] * inverse[..., 0, :2]
        inverse[..., 2, 2] = 1.0
        return inverse


class EulerParameters(RotationCoordinates):
    """Unit quaternions ``e = (e0, e1, e2, e3)``, scalar first, with the constraint ``e.e = 1``.

    ``G = 2 (-e_v | e0 I - skew(e_v))``, ``G e = 0``, ``G G^T = 4 I``, and ``G(a) b = -G(b) a``.
    """

    size: ClassVar = 4
    zero: ClassVar = np.array([1.0, 0.0, 0.0, 0.0])

    @staticmethod
    def coordinates(R: Array) -> Array:
        w = so3.log(R)
        half = 0.5 * np.sqrt(np.vecdot(w, w))[..., None]
        return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * w], axis=-1)

    @staticmethod
    def rotation(c: Array) -> Array:
        A = c[..., 0, None, None] * so3.IDENTITY + so3.skew(c[..., 1:])
        return A @ A + so3.outer(c[..., 1:], c[..., 1:])

    @staticmethod
    def jacobian(c: Array) -> Array:
        return _euler(c)

    @staticmethod
    def tangents(c: Array, dc: Array, ddc: Array) -> Tangents:
        rate = _euler(dc)
        return Tangents(_euler(c), rate, -rate, -_euler(ddc))

    @staticmethod
    def rates(c: Array) -> Array:
        """``G^T/4``."""
        return 0.25 * _euler(c).mT

    @staticmethod
    def closed(c: Array) -> Array:
        return c / np.sqrt(np.vecdot(c, c))[..., None]

    @staticmethod
    def missed(c: Array, dc: Array) -> Array:
        return np.vecdot(c, dc)[..., None] * c

    @staticmethod
    def bend(c: Array, dc: Array) -> Array:
        return -np.vecdot(dc, dc)[..., None] * c


COORDINATES: dict[str, type[RotationCoordinates]] = {"tait_bryan": TaitBryan, "euler_parameters": EulerParameters}


def _euler(e: Array) -> Array:
    """``G(e)``, linear in ``e``."""
    G = np.empty((*e.shape[:-1], 3, 4))
    G[..., 0] = -2.0 * e[..., 1:]
    G[..., 1:] = 2.0 * (e[..., 0, None, None] * so3.IDENTITY - so3.skew(e[..., 1:]))
    return G
