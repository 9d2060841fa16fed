"""Joints as arrays: closed components of the relative position and direction cosines.

Node b stands to node a at ``S = R_a^T R_b``, ``r = R_a^T (x_b - x_a)``. The twelve numbers ``p = (S, r)`` change with
body increments ``delta`` of both nodes by

    delta S = S skew(theta_b) - skew(theta_a) S,    delta r = S U_b - U_a - theta_a x r,

which is linear in ``p``: ``delta p = C delta`` with ``C = GAMMA (p, 1)``. An equation ``Phi = w . p - o`` has the
gradient ``B = w C``; what changes with ``p`` in ``C V`` and in ``C^T f`` is constant, ``V GAMMA`` and ``f GAMMA``, and
gives the derivatives of ``B V`` and of ``B^T lambda``, with ``f = lambda w`` (docs/theory.md, "Joints").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import ConstraintBatch, Motion, Numbering, StepEnd, consecutive
from fem_mbs.errors import MotionError
from fem_mbs.lie import so3

if TYPE_CHECKING:
    from fem_mbs.elements.joints.relative import RelativeJoint

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
_OF_VELOCITY = np.ascontiguousarray(GAMMA[:, :, :12].swapaxes(0, 1).reshape(12, 144))
_OF_FORCE = np.ascontiguousarray(GAMMA[:, :, :12].reshape(12, 144))


class RelativeContext(NamedTuple):
    """What further derivatives need of an evaluation."""

    prescribed: Any
    rows: Array
    """``(w, -o)`` (n, m, 13) of all rows."""
    p: Array
    """Placements ``(n, 13)``."""
    changes: Array
    """``C`` (n, 12, 12)."""


class RelativeBatch(ConstraintBatch):
    """Joints with ``m`` rows each: some for positions, some for direction cosines.

    With directions ``D`` of a and the point ``c`` of b, positions are ``D . (r + S c) - o``, and what closes rotations
    is ``W : S``: ``w = (D c^T, D)`` and ``w = (W, 0)``. Joints that close fewer motions than others carry zero rows,
    whose equations are left out by ``_closed``. Drives: ``drives.py``.
    """

    def __init__(self, joints: Sequence[RelativeJoint], number: Numbering) -> None:
        super().__init__(joints, number)
        self._number = number
        points_a, self._points_b = (np.array([joint.offsets[end] for joint in joints]) for end in (0, 1))
        p, q = (max(len(getattr(joint, name)) for joint in joints) for name in ("positions", "cosines"))
        self._p, self._m = p, p + q
        self._D, self._W = np.zeros((len(joints), p, 3)), np.zeros((len(joints), q, 3, 3))
        for joint, D, W in zip(joints, self._D, self._W, strict=True):
            D[: len(joint.positions)] = joint.axes[0].T[list(joint.positions)]
            W[: len(joint.cosines)] = np.reshape(joint.rotation_weights(), (-1, 3, 3))
        # where the world's origin is far away, so is the ground from its points: then positions count from these
        self._far = points_a if number.origin.any() else None
        self._offset = np.matvec(self._D, points_a if self._far is None else 0.0 * points_a)
        closed = [[k < len(some) for k in range(n)] for j in joints for some, n in ((j.positions, p), (j.cosines, q))]
        rows = np.flatnonzero(np.concatenate(closed))
        self.cell, within = np.divmod(rows, self._m)
        self.length = within < p
        self._closed = consecutive(rows)
        self._built = self._rows_of(self._points_b, self._D, self._W, self._offset)
        self._upright = np.array([joint.upright() for joint in joints])
        self._limited = np.array([k for k, joint in enumerate(joints) if joint.limit is not None], np.intp)
        self._limits = [limit for joint in joints if (limit := joint.limit) is not None]
        self._regular = np.array([limit.weights for limit in self._limits]).reshape(-1, 9)
        self._least = np.array([limit.least for limit in self._limits])

    def _rows_of(self, points_b: Array, D: Array, W: Array, offset: Array) -> Array:
        """``(w, -o)`` (k, m, 13) of directions ``D`` (k, p, 3) and weights ``W`` (k, q, 3, 3)."""
        p, rows = self._p, np.zeros((len(D), self._m, SIZE))
        rows[:, :p, :9] = (D[..., None] * points_b[:, None, None]).reshape(len(D), p, 9)
        rows[:, :p, 9:12], rows[:, :p, 12] = D, -offset
        rows[:, p:, :9] = W.reshape(len(W), -1, 9)
        return rows

    def evaluate(self, motion: Motion, prescribed: Any) -> tuple[Array, Array, RelativeContext]:
        """``Phi`` (m,) and ``B`` (m, 12), both linear in the placement (Bruels, Cardona, Arnold 2012, eqs. 8, 9)."""
        x, R = motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0)
        p = np.empty((len(x), SIZE))
        p[:, 12] = 1.0
        np.matmul(R[:, 0].mT, R[:, 1], out=p[:, :9].reshape(-1, 3, 3))
        np.vecmat(x[:, 1] - x[:, 0], R[:, 0], out=p[:, 9:12])
        at = p
        if self._far is not None:
            at = p.copy()
            at[:, 9:12] = np.vecmat(x[:, 1] - (x[:, 0] + np.matvec(R[:, 0], self._far)), R[:, 0])
        if self._limits:
            self._check_limits(p)
        rows, changes = self._built, p.dot(_CHANGES).reshape(-1, 12, 12)
        if prescribed is not None:
            rows = prescribed.rows
            prescribed.check(p)
        phi, B = np.matvec(rows, at), rows[..., :12] @ changes
        context = RelativeContext(prescribed, rows, p, changes)
        return phi.reshape(-1)[self._closed], B.reshape(-1, 12)[self._closed], context

    def second(self, context: RelativeContext) -> Array:
        """``H`` (m, 12, 12)."""
        w = context.rows[..., :12].reshape(-1, 12)[self._closed]
        return w.dot(_OF_FORCE).reshape(-1, 12, 12) @ context.changes[self.cell]  # type: ignore[no-any-return]

    def stiffness(self, context: RelativeContext, multipliers: Array) -> Array:
        """``sum lambda H`` (n, 12, 12): the derivative of ``C^T f`` for ``f = lambda w``."""
        every = np.zeros((len(self.nodes), self._m))
        every.reshape(-1)[self._closed] = multipliers
        f = np.vecmat(every, context.rows)[:, :12]
        return f.dot(_OF_FORCE).reshape(-1, 12, 12) @ context.changes  # type: ignore[no-any-return]

    def rate_gradient(self, context: RelativeContext, V: Array) -> Array:
        """``H V`` (m, 12): ``w`` of the derivative of ``C V``."""
        bend: Array = context.rows[..., :12] @ V.dot(_OF_VELOCITY).reshape(-1, 12, 12) @ context.changes
        return bend.reshape(-1, 12)[self._closed]

    def astray(self, end: StepEnd) -> str:
        """Axes half a turn off meet the equations, too."""
        pairs = end.R.take(self.nodes, 0)
        cosines = np.matvec(self._upright, (pairs[:, 0].mT @ pairs[:, 1]).reshape(-1, 9))
        if np.minimum.reduce(cosines, axis=None) < 0.0:
            return f"{self.owners[int(cosines.min(axis=1).argmin())]}: it has turned over in one step"
        return ""

    def _check_limits(self, p: Array) -> None:
        """Refuse joints where their equations would not be independent."""
        beyond = np.vecdot(self._regular, p[self._limited, :9]) - self._least
        if np.minimum.reduce(beyond) < 0.0:
            k = int(beyond.argmin())
            raise MotionError(f"{self.owners[self._limited[k]]}: {self._limits[k].text}")
