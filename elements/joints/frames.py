"""Constraints on how one frame stands to another: everything that follows from their relative motion.

Node b stands to node a at ``h = H_a^-1 H_b = (S, r)``. Body increments ``delta`` of the two move ``h`` by
``xi = delta_b - Ad_(h^-1) delta_a = J delta`` in the frame of b. A constraint ``phi(h, t)`` is described by its
gradient ``b`` (6,) against ``xi`` and the derivative ``h`` (6, 6) of that; what it means for the nodes is written here:
``B = b J`` and ``H = DB = J^T h J + (Ad^T dual(b) J, 0)``, as ``Ad_(h^-1)`` itself turns with ``xi`` (docs/theory.md,
"Joints").

An equation ``phi(h, s)`` that also has places ``s`` along curves, unknowns of its own, has the gradient ``(b J, c)``
with ``c = phi_s``, and its derivative is ``((H, (b_s J)^T), (b_s J, phi_ss))``.

Where a constraint is linear in how the frames stand, all follows from one constant tensor. The twelve numbers
``p = (S, r)``, ``S = R_a^T R_b``, ``r = R_a^T (x_b - x_a)``, change with body increments of both nodes by

    delta S = S skew(theta_b) - skew(theta_a) S,    delta r = S U_b - U_a - theta_a x r,

which is linear in ``p``: ``delta p = GAMMA (p, 1) delta``. An equation ``Phi = w . p - o`` has the gradient
``B = w GAMMA (p, 1)``, and its derivative ``H = DB = w SECOND (p, 1)`` with ``SECOND = GAMMA GAMMA``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ConstraintBatch, Motion
from fem_mbs.lie import se3, so3


class Frames(NamedTuple):
    """Relative placement of pairs of frames: rotation ``S`` (n, 3, 3) and position ``r`` (n, 3) in frame a."""

    S: Array
    r: Array


def relative(x: Array, R: Array) -> Frames:
    """How node b stands to node a, of nodes at ``x`` (..., 2, 3), ``R`` (..., 2, 3, 3)."""
    R_a = R[..., 0, :, :]
    return Frames(R_a.mT @ R[..., 1, :, :], np.vecmat(x[..., 1, :] - x[..., 0, :], R_a))


def adjoint_inverse(frames: Frames) -> Array:
    """``Ad_(h^-1) = [[S^T, -S^T r~], [0, S^T]]``, ``(..., 6, 6)``."""
    St = frames.S.mT
    result = np.zeros((*St.shape[:-2], 6, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = St
    result[..., :3, 3:] = -St @ so3.skew(frames.r)
    return result


def gradients(b: Array, Ad: Array) -> Array:
    """``B = b J`` (..., 12) of gradients ``b`` (..., 6) against the relative motion."""
    return np.concatenate([-np.vecmat(b, Ad), b], axis=-1)


class FramesContext(NamedTuple):
    """What further derivatives need of an evaluation."""

    frames: Frames
    b: Array
    """Gradients against the relative motion, ``(m, 6)``."""
    own: Any
    """What a subclass needs."""


class FramesBatch(ConstraintBatch):
    """Constraints between two nodes each that say something of their relative motion.

    A subclass sets ``nodes``, ``owners``, ``cell``, ``length``; it may set ``points_a`` (n, 3), points of nodes a from
    which the placements that it sees count, exact where node a is far away; and it defines

    1. ``closed(frames, prescribed)``, which returns ``phi`` (m,), ``b`` (m, 6) and whatever it needs again;
    2. ``bend(context)``, which returns the derivatives ``h`` (m, 6, 6) of ``b``.
    """

    points_a: Array | None = None

    def closed(self, frames: Frames, prescribed: Any) -> tuple[Array, Array, Any]:
        """``phi`` and its gradients against the relative motion."""
        raise NotImplementedError(f"{type(self).__name__} must define closed(frames, prescribed)")

    def bend(self, context: FramesContext) -> Array:
        """Derivatives of the gradients against the relative motion."""
        raise NotImplementedError(f"{type(self).__name__} must define bend(context)")

    def evaluate(self, motion: Motion, prescribed: Any) -> tuple[Array, Array, FramesContext]:
        """``Phi`` (m,) and ``B`` (m, 12)."""
        x, R = motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0)
        frames = seen = relative(x, R)
        if self.points_a is not None:
            seen = Frames(frames.S, np.vecmat(x[:, 1] - (x[:, 0] + np.matvec(R[:, 0], self.points_a)), R[:, 0]))
        phi, b, own = self.closed(seen, prescribed)
        return phi, gradients(b, adjoint_inverse(frames)[self.cell]), FramesContext(frames, b, own)

    def second(self, context: FramesContext) -> Array:
        """``H`` (m, 12, 12)."""
        Ad = adjoint_inverse(context.frames)[self.cell]
        return nodal(Ad, self.bend(context), context.b)


def nodal(Ad: Array, bend: Array, b: Array) -> Array:
    """``H`` from relative quantities: rows ``(Ad^T (dual(b) - h), h)`` times ``J``."""
    rows = np.concatenate([Ad.mT @ (se3.dual(b) - bend), bend], axis=-2)
    return np.concatenate([-rows @ Ad, rows], axis=-1)


class First(NamedTuple):
    """Equations ``(n, m)`` with their first derivatives."""

    phi: Array
    b: Array
    """Against the relative motion, ``(n, m, 6)``."""
    c: Array
    """Against the places, ``(n, m, k)``."""
    more: Any
    """What the second derivatives need."""


class Second(NamedTuple):
    """Second derivatives of equations."""

    bend: Array
    """Of ``b`` against the relative motion, ``(n, m, 6, 6)``."""
    mixed: Array
    """Of ``b`` against the places, ``(n, m, k, 6)``."""
    curved: Array
    """Of ``c`` against the places, ``(n, m, k, k)``."""


class PlacesContext(NamedTuple):
    """What further derivatives need of an evaluation."""

    frames: Frames
    first: First


class PlacesBatch(ConstraintBatch):
    """Constraints between two nodes each with ``m`` equations and ``k`` places.

    A subclass sets ``nodes``, ``own``, ``owners``, ``cell``, ``length`` and defines ``first`` and ``second_order``.
    """

    own: IntArray

    def first(self, frames: Frames, s: Array, t: float) -> First:
        """Equations at places ``s`` (n, k)."""
        raise NotImplementedError(f"{type(self).__name__} must define first(frames, s, t)")

    def second_order(self, frames: Frames, more: Any) -> Second:
        """Second derivatives."""
        raise NotImplementedError(f"{type(self).__name__} must define second_order(frames, more)")

    def evaluate(self, motion: Motion, prescribed: None) -> tuple[Array, Array, PlacesContext]:
        """``Phi`` (m,) and ``B`` (m, 12 + k)."""
        frames = relative(motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0))
        first = self.first(frames, motion.u[self.own], motion.t)
        B = np.concatenate([gradients(first.b, adjoint_inverse(frames)[:, None]), first.c], axis=-1)
        return first.phi.ravel(), B.reshape(-1, B.shape[-1]), PlacesContext(frames, first)

    def second(self, context: PlacesContext) -> Array:
        """``H`` (m, 12 + k, 12 + k)."""
        frames, first = context
        bend, mixed, curved = self.second_order(frames, first.more)
        Ad, k = adjoint_inverse(frames)[:, None], curved.shape[-1]
        H = np.empty((*curved.shape[:2], 12 + k, 12 + k))
        H[..., :12, :12] = nodal(Ad, bend, first.b)
        H[..., 12:, :12] = gradients(mixed, Ad[:, None])
        H[..., :12, 12:] = H[..., 12:, :12].mT
        H[..., 12:, 12:] = curved
        return H.reshape(-1, 12 + k, 12 + k)
