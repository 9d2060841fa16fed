"""Strain measures of a two-node beam element in terms of ``d = log(H_A^-1 H_B)``, the relative motion of its ends.

Both interpolations use the same ``d = (U, w)`` in se(3), so one element kernel serves both:

* ``SE3`` (Sonneville, Cardona, Bruels 2014): the strain measure is ``d`` itself.
* ``R3xSO3``, linear centre line and one-point quadrature: with the rotation ``R_m`` half-way between the ends,
  ``R_m^T (x_B - x_A) = U + j1 w x (w x U)``, ``j1 = (1 - sin(phi/2)/(phi/2))/phi^2``, because
  ``exp(-w/2) T^T(w) = sinh(W/2)/(W/2)``; the rotational part is ``w``.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.lie.coefficients import MIDPOINT

INTERPOLATIONS = ("SE3", "R3xSO3")


class MidpointStrain:
    """The strain measure ``s(d)`` of the R3xSO3 interpolation and its derivatives."""

    def __init__(self, d: Array) -> None:
        self.U, self.w = d[..., :3], d[..., 3:]
        self.coefficients = [c[..., 0] for c in MIDPOINT(np.vecdot(self.w, self.w))]
        self.along = np.vecdot(self.w, self.U)[..., None]

    def value(self) -> Array:
        """``s = (j0 U + j1 (w.U) w, w)``, shape ``(..., 6)``."""
        j0, j1 = self.coefficients[:2]
        return np.concatenate([j0 * self.U + j1 * self.along * self.w, self.w], axis=-1)

    def gradient(self) -> Array:
        """``S = ds/dd``, shape ``(..., 6, 6)``."""
        U, w, along = self.U, self.w, self.along
        j0, j1, d0, d1, _, _ = self.coefficients
        result = np.zeros((*U.shape[:-1], 6, 6))
        result[..., :3, :3] = j0[..., None] * so3.IDENTITY + _outer(j1 * w, w)
        result[..., :3, 3:] = _outer(d0 * U + d1 * along * w, w) + j1[..., None] * (
            _outer(w, U) + along[..., None] * so3.IDENTITY
        )
        result[..., 3:, 3:] = so3.IDENTITY
        return result

    def hessian(self, n: Array) -> Array:
        """Derivative of ``S^T (n, m)`` against ``d``: the Hessian of ``n . s``, shape ``(..., 6, 6)``."""
        U, w, Uw = self.U, self.w, self.along
        _, j1, d0, d1, dd0, dd1 = self.coefficients
        nU, nw = np.vecdot(n, U)[..., None], np.vecdot(n, w)[..., None]
        mixed = _outer(d0 * n + d1 * nw * w, w) + _outer(j1 * w, n) + (j1 * nw)[..., None] * so3.IDENTITY
        half = _outer(0.5 * (nU * dd0 + Uw * nw * dd1) * w + d1 * (nw * U + Uw * n), w) + _outer(j1 * U, n)
        diagonal = (nU * d0 + Uw * nw * d1)[..., None] * so3.IDENTITY
        result = np.zeros((*U.shape[:-1], 6, 6))
        result[..., :3, 3:] = mixed
        result[..., 3:, :3] = mixed.mT
        result[..., 3:, 3:] = half + half.mT + diagonal
        return result


def strain(interpolation: str, d: Array) -> Array:
    """Strain measure ``s(d)`` of an interpolation, shape ``(..., 6)``."""
    return d if interpolation == "SE3" else MidpointStrain(d).value()


def _outer(a: Array, b: Array) -> Array:
    return a[..., :, None] * b[..., None, :]
