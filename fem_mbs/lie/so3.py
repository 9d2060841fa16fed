"""Rotations: SO(3), its exponential, logarithm and tangent operator, batched over leading axes.

A rotation matrix maps body components to world components. Conventions and coefficients: Bruels, Cardona, Arnold
(2012), section 3; the tangent operator ``T`` is defined by ``D exp(w) . dw = exp(w) skew(T(w) dw)``.
"""

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie.coefficients import TANGENT

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
_ONE_FLAT = np.eye(4).reshape(16)
# the ten different products of two components, and their weights in R
_FIRST, _SECOND = np.triu_indices(4)
_ROTATION_FLAT = np.where(_FIRST == _SECOND, 1.0, 2.0)[:, None] * _QUATERNION_FLAT.T[4 * _FIRST + _SECOND]
_SMALLEST = 1e-300


def skew(a: Array) -> Array:
    """Skew matrix with ``skew(a) b = a x b``, shape ``(..., 3, 3)`` from ``(..., 3)``."""
    result: Array = a.reshape(-1, 3).dot(_SKEW_FLAT).reshape(*a.shape, 3)
    return result


def axial(A: Array) -> Array:
    """Vector of the skew part of a matrix: the inverse of :func:`skew` on skew matrices."""
    return 0.5 * np.stack([A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], -1)


def cross(a: Array, b: Array) -> Array:
    """``a x b`` of broadcast vectors; on small batches several times faster than numpy's."""
    result: Array = np.matvec(skew(a), b)
    return result


def quadratic(J: Array) -> Array:
    """Coefficients ``(..., 9, 3)``, entry by entry, of the derivative of ``w x J w`` against ``w``, linear in ``w``."""
    turned = np.einsum("jil,...lk->...ikj", skew(IDENTITY), J)
    result: Array = (turned + turned.swapaxes(-1, -2)).reshape(*J.shape[:-2], 9, 3)
    return result


def exp(w: Array) -> Array:
    """Rotation matrices ``(..., 3, 3)`` of rotation vectors ``(..., 3)`` in rad, by their quaternions.

    Half angles need no care at zero (Bruels, Cardona, Arnold 2012, eq. 25, is the same in whole angles).
    """
    half = np.sqrt(0.25 * np.vecdot(w, w) + _SMALLEST)
    q = np.empty((*w.shape[:-1], 4))
    np.cos(half, out=q[..., 0])
    np.multiply((0.5 * np.sin(half) / half)[..., None], w, out=q[..., 1:])
    return from_quaternion(q)


def from_quaternion(q: Array) -> Array:
    """Rotation matrices ``(..., 3, 3)`` of unit quaternions ``(..., 4)``, scalar first."""
    products = q.take(_FIRST, -1) * q.take(_SECOND, -1)
    result: Array = products.reshape(-1, 10).dot(_ROTATION_FLAT).reshape(*q.shape[:-1], 3, 3)
    return result


def quaternion(R: Array) -> Array:
    """Unit quaternions ``(..., 4)``, scalar first and not negative, of rotation matrices ``(..., 3, 3)``."""
    row = _quaternion_row(R)
    unit: Array = row / np.sqrt(np.vecdot(row, row))[..., None]
    return unit


def log(R: Array) -> Array:
    """Rotation vectors ``(..., 3)`` of rotation matrices, length at most pi; right up to pi (quaternion)."""
    q = _quaternion_row(R)
    axis, cosine = q[..., 1:], q[..., 0]
    # 2 atan(sine/cosine)/sine is regular at zero; the smallest sine keeps 0/0 away
    sine = np.maximum(np.sqrt(np.vecdot(axis, axis)), _SMALLEST)
    result: Array = (2.0 * np.arctan2(sine, cosine) / sine)[..., None] * axis
    return result


def _quaternion_row(R: Array) -> Array:
    """A multiple of the quaternion: the first row of ``4 q q^T``, or the best conditioned one far from the identity."""
    flat = R.reshape(*R.shape[:-2], 9)
    row = flat @ _QUATERNION_ROW
    row[..., 0] += 1.0
    if row[..., 0].min(initial=1.0) < 1.0:
        outer = (flat @ _QUATERNION_FLAT + _ONE_FLAT).reshape(*R.shape[:-2], 4, 4)
        best = np.argmax(np.einsum("...ii->...i", outer), axis=-1)
        row = np.take_along_axis(outer, best[..., None, None], axis=-2)[..., 0, :]
        row = np.where(row[..., :1] < 0.0, -row, row)
    return row


def tangent_operator(w: Array) -> Array:
    """Tangent operator ``T(w) = I - b W + c W^2`` (right Jacobian of the exponential), ``(..., 3, 3)``.

    Bruels, Cardona, Arnold (2012), eq. 26.
    """
    b, c, _, _ = TANGENT(np.vecdot(w, w))
    W = skew(w)
    result: Array = IDENTITY - b * W + c * (W @ W)
    return result


def inverse_tangent_operator(w: Array) -> Array:
    """Inverse tangent operator ``T^-1(w) = I + W/2 + e W^2``, ``(..., 3, 3)``; regular for angles below 2 pi.

    ``e = (1 - (phi/2) cot(phi/2))/phi^2`` loses digits at small angles, where ``e W^2`` is as small as what is lost.
    """
    squared = np.vecdot(w, w) + _SMALLEST
    half = 0.5 * np.sqrt(squared)
    e = (1.0 - half / np.tan(half)) / squared
    W = skew(w)
    result: Array = IDENTITY + 0.5 * W + e[..., None, None] * (W @ W)
    return result
