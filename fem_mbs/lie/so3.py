"""Rotations: SO(3), its exponential, logarithm and tangent operator, batched over leading axes.

A rotation matrix maps body components to world components. Conventions and coefficients: Bruels, Cardona, Arnold
(2012), section 3; the tangent operator ``T`` is defined by ``D exp(w) . dw = exp(w) skew(T(w) dw)``.

Functions of the rotation angle with a removable singularity at zero are here alone. Below ``SWITCH`` they are summed
from their Taylor series in the squared angle, above it they come from their closed form, which no longer cancels there;
a family evaluates several that are needed together at the cost of one (docs/theory.md, "Functions of the angle";
Bruels, Cardona, Arnold 2012, eqs. 25 and 26, the first ones).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import factorial
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array

IDENTITY = np.eye(3)
_SKEW = np.zeros((3, 3, 3))
_SKEW[0, 1, 2] = _SKEW[1, 2, 0] = _SKEW[2, 0, 1] = -1.0
_SKEW[0, 2, 1] = _SKEW[1, 0, 2] = _SKEW[2, 1, 0] = 1.0
_SKEW_FLAT = _SKEW.reshape(3, 9)

# of the unit quaternion q = (w, x, y, z): 4 q q^T = R . _QUATERNION + I, and R = _QUATERNION . q q^T
_QUATERNION = np.zeros((3, 3, 4, 4))
for _i in range(3):
    _QUATERNION[_i, _i, 0, 0] = 1.0
    for _j in range(3):
        _QUATERNION[_i, _i, 1 + _j, 1 + _j] = 1.0 if _i == _j else -1.0
        if _i != _j:
            _QUATERNION[_i, _j, 1 + _i, 1 + _j] = _QUATERNION[_j, _i, 1 + _i, 1 + _j] = 1.0
    _j, _k = (_i + 1) % 3, (_i + 2) % 3
    _QUATERNION[_k, _j, 0, 1 + _i] = _QUATERNION[_k, _j, 1 + _i, 0] = 1.0
    _QUATERNION[_j, _k, 0, 1 + _i] = _QUATERNION[_j, _k, 1 + _i, 0] = -1.0
_QUATERNION_FLAT = _QUATERNION.reshape(9, 16)
_QUATERNION_ROW = np.ascontiguousarray(_QUATERNION[:, :, 0, :].reshape(9, 4))
_ONE, _ONE_FLAT = np.eye(4)[0], np.eye(4).reshape(16)
# the ten different products of two components, and their weights in R
_FIRST, _SECOND = np.triu_indices(4)
_ROTATION_FLAT = np.where(_FIRST == _SECOND, 1.0, 2.0)[:, None] * _QUATERNION_FLAT.T[4 * _FIRST + _SECOND]
_SMALLEST = 1e-300


MANY = 64


class Products(NamedTuple):
    """How small matrices and vectors of many cells are multiplied, and stored for that."""

    matmul: Callable[..., Array]
    matvec: Callable[..., Array]
    vecmat: Callable[..., Array]
    stored: Callable[[Array], Array]


_ONE_BY_ONE = Products(np.matmul, np.matvec, np.vecmat, np.asarray)
_MATMUL, _MATVEC, _VECMAT = (partial(np.einsum, of) for of in ("...ij,...jk", "...ij,...j", "...i,...ij"))
_BESIDE = Products(_MATMUL, _MATVEC, _VECMAT, np.asfortranarray)


def products(n: int) -> Products:
    """Those of ``n`` cells: of few one by one, from ``MANY`` on side by side, each number of all cells in a row.

    For single ones BLAS is called, which takes longer than what it computes.
    """
    return _BESIDE if n >= MANY else _ONE_BY_ONE


def skew(a: Array) -> Array:
    """Skew matrix with ``skew(a) b = a x b``, shape ``(..., 3, 3)`` from ``(..., 3)``."""
    if a.strides[0] < a.strides[-1]:
        rows = (_SKEW_FLAT.T @ a.T.reshape(3, -1)).reshape(3, 3, *a.T.shape[1:])
        return rows.transpose(*range(a.ndim, 1, -1), 0, 1)
    return a.reshape(-1, 3).dot(_SKEW_FLAT).reshape(*a.shape, 3)


def axial(A: Array) -> Array:
    """Vector of the skew part of a matrix: the inverse of :func:`skew` on skew matrices."""
    return 0.5 * np.stack([A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], -1)


def outer(a: Array, b: Array) -> Array:
    """``a b^T`` of vectors ``(..., m)`` and ``(..., n)``, ``(..., m, n)``."""
    return a[..., :, None] * b[..., None, :]


def cross(a: Array, b: Array) -> Array:
    """``a x b`` of broadcast vectors; on small batches several times faster than numpy's."""
    return np.matvec(skew(a), b)


def quadratic(J: Array) -> Array:
    """Coefficients ``(..., 9, 3)``, entry by entry, of the derivative of ``w x J w`` against ``w``, linear in ``w``."""
    turned = np.einsum("jil,...lk->...ikj", skew(IDENTITY), J)
    return (turned + turned.swapaxes(-1, -2)).reshape(*J.shape[:-2], 9, 3)


def exp(w: Array) -> Array:
    """Rotation matrices ``(..., 3, 3)`` of rotation vectors ``(..., 3)`` in rad, by their quaternions.

    Half angles need no care at zero (Bruels, Cardona, Arnold 2012, eq. 25, is the same in whole angles).
    """
    half = np.sqrt(0.25 * np.vecdot(w, w) + _SMALLEST)
    q = np.empty((*w.shape[:-1], 4))
    np.cos(half, out=q[..., 0])
    np.multiply((0.5 * np.sin(half) / half)[..., None], w, out=q[..., 1:])
    products = q.take(_FIRST, -1) * q.take(_SECOND, -1)
    return products.reshape(-1, 10).dot(_ROTATION_FLAT).reshape(*q.shape[:-1], 3, 3)


def log(R: Array) -> Array:
    """Rotation vectors ``(..., 3)`` of rotation matrices, length at most pi; right up to pi.

    By a multiple of the quaternion: the first row of ``4 q q^T``, or the best conditioned one far from the identity.
    """
    flat = R.reshape(*R.shape[:-2], 9)
    q = flat @ _QUATERNION_ROW + _ONE
    if np.minimum.reduce(q[..., 0], axis=None, initial=1.0) < 1.0:
        products = (flat @ _QUATERNION_FLAT + _ONE_FLAT).reshape(*R.shape[:-2], 4, 4)
        best = np.argmax(np.einsum("...ii->...i", products), axis=-1)
        q = np.take_along_axis(products, best[..., None, None], axis=-2)[..., 0, :]
        q = np.where(q[..., :1] < 0.0, -q, q)
    axis, cosine = q[..., 1:], q[..., 0]
    # 2 atan(sine/cosine)/sine is regular at zero; the smallest sine keeps 0/0 away
    sine = np.maximum(np.sqrt(np.vecdot(axis, axis)), _SMALLEST)
    return (2.0 * np.arctan2(sine, cosine) / sine)[..., None] * axis


def tangent_operator(w: Array) -> Array:
    """Tangent operator ``T(w) = I - b W + c W^2`` (right Jacobian of the exponential), ``(..., 3, 3)``.

    Bruels, Cardona, Arnold (2012), eq. 26.
    """
    b, c, _, _ = TANGENT(np.vecdot(w, w))
    W = skew(w)
    return IDENTITY - b * W + c * (W @ W)


def inverse_tangent_operator(w: Array) -> Array:
    """Inverse tangent operator ``T^-1(w) = I + W/2 + e W^2``, ``(..., 3, 3)``; regular for angles below 2 pi.

    ``e = (1 - (phi/2) cot(phi/2))/phi^2`` loses digits at small angles, where ``e W^2`` is as small as what is lost.
    """
    squared = np.vecdot(w, w) + _SMALLEST
    half = 0.5 * np.sqrt(squared)
    e = (1.0 - half / np.tan(half)) / squared
    W = skew(w)
    return IDENTITY + 0.5 * W + e[..., None, None] * (W @ W)


SWITCH = 2.0
TERMS = 20
# far below rounding, and its powers do not underflow, which would be slow
_LEAST = 1e-16
_EXPONENTS = np.arange(float(TERMS))[:, None]


def _derivative(series: list[Fraction]) -> list[Fraction]:
    """Series of ``(df/dphi)/phi`` from the series of ``f``, both in powers of the squared angle."""
    return [2 * (k + 1) * coefficient for k, coefficient in enumerate(series[1:])]


def _alternating(offset: int, scale: int = 1) -> list[Fraction]:
    """Series of ``sum (-1)^k (phi/scale)^(2k) / (2k+offset)!``."""
    return [Fraction((-1) ** k, factorial(2 * k + offset) * scale ** (2 * k)) for k in range(TERMS + 3)]


def _cotangent_series() -> list[Fraction]:
    """Series of ``e = (1 - (phi/2) cot(phi/2))/phi^2``, ``a_k = 2 zeta(2k)/(2 pi)^(2k)``."""
    series = [Fraction(1, 12)]
    for k in range(1, TERMS + 2):
        series.append(sum((series[j] * series[-1 - j] for j in range(k)), Fraction(0)) / (2 * k + 3))
    return series


@dataclass(frozen=True)
class Family:
    """Functions of the squared angle that are evaluated together.

    ``series`` has shape ``(k, TERMS)``; ``closed`` maps angles ``(n,)`` to ``(k, n)``.
    """

    series: Array
    closed: Callable[[Array], Array]

    def __call__(self, phi_squared: Array) -> Array:
        """Values of the ``k`` functions, shape ``(k, ..., 1, 1)`` ready to scale batched matrices."""
        x = np.maximum(phi_squared.ravel(), _LEAST)
        large = np.maximum.reduce(x, initial=0.0) > SWITCH**2
        inside = np.minimum(x, SWITCH**2) if large else x
        if len(x) < MANY:
            powers = inside**_EXPONENTS
        else:
            powers = np.ones((TERMS, len(x)))
            for k in range(1, TERMS):
                np.multiply(powers[k - 1], inside, out=powers[k])
        values: Array = self.series @ powers
        if large:
            where = x > SWITCH**2
            values[:, where] = self.closed(np.sqrt(x[where]))
        return values.reshape(-1, *phi_squared.shape, 1, 1)


def _family(closed: Callable[[Array], Array], *series: list[Fraction]) -> Family:
    return Family(np.array([[float(c) for c in s[:TERMS]] for s in series]), closed)


def _closed_tangent(phi: Array) -> Array:
    half, squared = 0.5 * phi, phi**2
    a, b = np.sin(phi) / phi, 0.5 * (np.sin(half) / half) ** 2
    c = (1.0 - a) / squared
    return np.stack([b, c, (a - 2.0 * b) / squared, (b - 3.0 * c) / squared])


def _closed_inverse_tangent(phi: Array) -> Array:
    half, squared = 0.5 * phi, phi**2
    cot = 1.0 / np.tan(half)
    inverse_sine_squared = 1.0 + cot**2
    f = half * cot
    f1 = 0.5 * (cot - half * inverse_sine_squared)
    f2 = -0.5 * (1.0 - f) * inverse_sine_squared
    e = (1.0 - f) / squared
    e1 = -(f1 / phi + 2.0 * e) / squared
    e2 = (3.0 * f1 / phi - f2 + 4.0 * e) / squared**2 - 2.0 * e1 / squared
    return np.stack([e, e1, e2])


def _closed_rotation(phi: Array) -> Array:
    """By ``c_{k+2} = (1/k! - c_k)/phi^2`` from sine and cosine."""
    c = [np.cos(phi), np.sin(phi) / phi]
    for k in range(8):
        c.append((1.0 / factorial(k) - c[k]) / phi**2)
    values = [c]
    for n in range(7, 0, -2):
        f = values[-1]
        values.append([np.zeros_like(phi), *(k * f[k + 2] - f[k + 1] for k in range(1, n + 1))])
    return np.stack([f[k] for f in values[:4] for k in (1, 2, 3)])


def _closed_midpoint(phi: Array) -> Array:
    half, squared = 0.5 * phi, phi**2
    j0 = np.sin(half) / half
    j1 = (1.0 - j0) / squared
    d0 = (np.cos(half) - j0) / squared
    d1 = -(d0 + 2.0 * j1) / squared
    dd0 = -(0.25 * j0 + 3.0 * d0) / squared
    dd1 = -(dd0 + 4.0 * d1) / squared
    return np.stack([j0, j1, d0, d1, dd0, dd1])


_B, _C = _alternating(2), _alternating(3)
_E = _cotangent_series()
_E1 = _derivative(_E)
_E2 = _derivative(_E1)
_J0 = _alternating(1, scale=2)
_J1 = [-c for c in _J0[1:]]

TANGENT = _family(_closed_tangent, _B, _C, _derivative(_B), _derivative(_C))
"""``b``, ``c = (phi - sin(phi))/phi^3`` and their derivatives ``b1 = b'/phi``, ``c1 = c'/phi``."""

INVERSE_TANGENT = _family(_closed_inverse_tangent, _E, _E1, _E2)
"""``e = (1 - (phi/2) cot(phi/2))/phi^2``, ``e1 = e'/phi``, ``e2 = e1'/phi``."""

_ROTATION = [_alternating(k) for k in (1, 2, 3)]
_ROTATION_1 = [_derivative(s) for s in _ROTATION]
_ROTATION_2 = [_derivative(s) for s in _ROTATION_1]

ROTATION = _family(_closed_rotation, *_ROTATION, *_ROTATION_1, *_ROTATION_2, *map(_derivative, _ROTATION_2))
"""``p, q, r = sin(phi)/phi, (1 - cos(phi))/phi^2, (phi - sin(phi))/phi^3``, ``T(w) = p I - q W + r w w^T``; then
``p'/phi, q'/phi, r'/phi``, and these once and twice more."""

MIDPOINT = _family(
    _closed_midpoint,
    _J0,
    _J1,
    _derivative(_J0),
    _derivative(_J1),
    _derivative(_derivative(_J0)),
    _derivative(_derivative(_J1)),
)
"""``j0 = sin(phi/2)/(phi/2)``, ``j1 = (1 - j0)/phi^2``, then ``j0'/phi``, ``j1'/phi`` and these once more."""
