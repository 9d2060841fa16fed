"""Constraints that are linear in how one frame stands to another, and all that follows from one constant tensor.

Node b stands to node a at ``S = R_a^T R_b``, ``r = R_a^T (x_b - x_a)``. The twelve numbers ``p = (S, r)`` change with
body increments ``delta`` of both nodes by

    delta S = S skew(theta_b) - skew(theta_a) S,    delta r = S U_b - U_a - theta_a x r,

which is linear in ``p``: ``delta p = GAMMA (p, 1) delta``. An equation ``Phi = w . p - o`` has the gradient
``B = w GAMMA (p, 1)``, and its derivative ``H = DB = w SECOND (p, 1)`` with ``SECOND = GAMMA GAMMA``
(docs/theory.md, "Joints").
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3

SIZE = 13
"""Numbers of a placement ``(S, r, 1)``."""


def _gamma() -> Array:
    """``GAMMA`` (12, 12, 13): change of each number, by increment ``(U_a, theta_a, U_b, theta_b)``, per number."""
    result = np.zeros((12, 12, SIZE))
    skew, one = so3.skew(np.eye(3)), np.eye(3)
    S, r = result[:9].reshape(3, 3, 12, SIZE), result[9:]
    for k in range(3):
        S[k, :, 3:6, :9].reshape(3, 3, 3, 3)[:] = -np.einsum("iq,lm->liqm", skew[:, k], one)
        S[k, :, 9:, 3 * k : 3 * k + 3] = np.einsum("iql->liq", skew)
        r[k, 3:6, 9:12] = -skew[:, k]
        r[k, 6:9, 3 * k : 3 * k + 3] = one
        r[k, k, 12] = -1.0
    return result


GAMMA = _gamma()
_CHANGES = np.ascontiguousarray(GAMMA.reshape(144, SIZE).T)
SECOND = np.einsum("ajb,bkg->agjk", GAMMA[:, :, :12], GAMMA).reshape(12 * SIZE, 144)
_FILLED = np.flatnonzero(SECOND.any(axis=0))
_SECOND_FILLED = np.ascontiguousarray(SECOND[:, _FILLED])


def placement(x: Array, R: Array) -> Array:
    """``(S, r, 1)`` (n, 13) of pairs of nodes at ``x`` (n, 2, 3), ``R`` (n, 2, 3, 3)."""
    p = np.empty((len(x), SIZE))
    p[:, 12] = 1.0
    np.matmul(R[:, 0].mT, R[:, 1], out=p[:, :9].reshape(-1, 3, 3))
    np.vecmat(x[:, 1] - x[:, 0], R[:, 0], out=p[:, 9:12])
    return p


def changes(p: Array) -> Array:
    """Derivatives ``(n, 12, 12)`` of the first twelve numbers of placements against body increments."""
    result: Array = (p @ _CHANGES).reshape(-1, 12, 12)
    return result


def gradients(w: Array) -> Array:
    """What the gradients of equations ``w`` (..., 12) are per number of the placement, ``(..., 12, 13)``."""
    return np.tensordot(w, GAMMA, 1)


def second(w: Array, p: Array) -> Array:
    """``H`` (n, 12, 12) of equations ``w`` (n, 12) at placements ``p`` (n, 13)."""
    H = np.zeros((len(w), 144))
    H[:, _FILLED] = (w[:, :, None] * p[:, None]).reshape(len(w), -1) @ _SECOND_FILLED
    return H.reshape(-1, 12, 12)
