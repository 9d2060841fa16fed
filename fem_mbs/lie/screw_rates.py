"""Rates of screws: ``T^-1(d)`` of SE(3) with its first and second derivatives, by dual numbers.

On SO(3), ``T^-1(c) = p I + skew(c)/2 + e c c^T`` with ``p = 1 - e s``, ``s = c.c``, and

    e(s) = sum_k a_k s^(k-1),   a_1 = 1/12,   a_k = sum_j a_j a_(k-j)/(2k + 1),   j = 1 ... k-1,

the series of ``(1 - phi/2 cot(phi/2))/phi^2``, ``a_k = 2 zeta(2k)/(2 pi)^(2k)``: up to half a turn, where logarithms
end, it is exact to rounding with ``TERMS`` terms. SE(3) is SO(3) over the dual numbers (``parametrization.py``): the
same formulas for ``w + eps U`` (Sonneville, Cardona, Bruels 2014, Appendix A).
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.lie.parametrization import EPSILON, _dot, _frame_matrix, _outer
from fem_mbs.lie.se3 import bracket

TERMS = 34
_K = np.arange(TERMS)
_E = np.full(TERMS, 1.0 / 12.0)
for _k in range(1, TERMS):
    _E[_k] = _E[:_k] @ _E[:_k][::-1] / (2 * _k + 3)
# e, e', e'' as polynomials of s, lowest power first
_DERIVATIVES = np.zeros((TERMS, 3))
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
        e, de, dde = np.moveaxis(np.vander(self._s.ravel(), TERMS, increasing=True) @ _DERIVATIVES, -1, 0)
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
