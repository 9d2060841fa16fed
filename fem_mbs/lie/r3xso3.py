"""Frames with independent rotation and translation: R^3 x SO(3), batched over leading axes.

An element is a pair ``(R, x)``; an increment ``d = (u, w)`` moves ``x`` by ``u`` in the world frame and ``R`` by ``w``
in the body frame.

Bruels, Cardona, Arnold (2012), section 3; Arnold, Cardona, Bruels (2015), eqs. 1, 11a, 29; docs/theory.md, "Groups".
"""

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3


def bracket(d: Array) -> Array:
    """Matrix of the Lie bracket, ``diag(0, W)``, shape ``(..., 6, 6)``."""
    return _diagonal(np.zeros((3, 3)), so3.skew(d[..., 3:]))


def compose(R: Array, x: Array, S: Array, y: Array) -> tuple[Array, Array]:
    """Product ``(R, x) (S, y) = (R S, x + y)``."""
    return R @ S, x + y


def inverse(R: Array, x: Array) -> tuple[Array, Array]:
    """Inverse ``(R^T, -x)``."""
    return R.mT, -x


def adjoint(R: Array, x: Array) -> Array:
    """Adjoint ``diag(I, R)``."""
    return _diagonal(so3.IDENTITY, R)


def exp(d: Array) -> tuple[Array, Array]:
    """Pairs ``(exp(w), u)`` of increments ``(..., 6)``."""
    return so3.exp(d[..., 3:]), d[..., :3].copy()


def log(R: Array, x: Array) -> Array:
    """Increments ``(..., 6)``; the rotation part is at most pi long."""
    return np.concatenate([x, so3.log(R)], axis=-1)


def tangent_operator(d: Array) -> Array:
    """Tangent operator ``diag(I, T(w))``, shape ``(..., 6, 6)``."""
    return _diagonal(so3.IDENTITY, so3.tangent_operator(d[..., 3:]))


def inverse_tangent_operator(d: Array) -> Array:
    """Inverse tangent operator ``diag(I, T^-1(w))``, shape ``(..., 6, 6)``."""
    return _diagonal(so3.IDENTITY, so3.inverse_tangent_operator(d[..., 3:]))


def _diagonal(upper: Array, lower: Array) -> Array:
    result = np.zeros((*lower.shape[:-2], 6, 6))
    result[..., :3, :3] = upper
    result[..., 3:, 3:] = lower
    return result
