"""Joints as arrays: relative motions of two frames and their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.laws import derivatives, evaluate
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.lie import so3
from fem_mbs.model import ConstraintBatch, Motion, Numbering, node_rows

if TYPE_CHECKING:
    from fem_mbs.elements.joints.relative import RelativeJoint

DRIVE_TOLERANCE = 1e-8


class Prescribed(NamedTuple):
    """What drives prescribe: points of a, directions ``g_a`` and, of the driven joints, the first axis of a, turned."""

    t: float
    c_a: Array
    g_a: Array
    front: Array


class Context(NamedTuple):
    """Relative motion and what follows from it."""

    t: float
    S: Array
    dr: Array
    r: Array
    g_a: Array
    y: Array


class RelativeBatch(ConstraintBatch):
    """Joints with up to three position and three cosine equations each.

    In the body frame of a: ``S = R_a^T R_b``, ``r`` the vector from node a to the joint's point on b, directions ``G``;
    ``Phi = G . (r - c_a)`` and ``Phi = g_a . y`` with ``y = S g_b``. Joints that close fewer motions carry zero
    directions, whose equations are left out by ``_rows``.
    """

    def __init__(self, joints: Sequence[RelativeJoint], number: Numbering) -> None:
        self.owners = joints
        self.nodes = node_rows(joints, number)
        self.c_a, self.c_b = (np.array([joint.offsets[end] for joint in joints]) for end in (0, 1))
        self.skew_c_b = so3.skew(self.c_b)
        axes_a, axes_b = (np.array([joint.axes[end] for joint in joints]).swapaxes(1, 2) for end in (0, 1))
        self.G = _pick(axes_a, [joint.positions for joint in joints])
        self.g_a = _pick(axes_a, [[i for i, _ in joint.cosines] for joint in joints])
        self.g_b = _pick(axes_b, [[j for _, j in joint.cosines] for joint in joints])
        closed = [[k < len(closed) for k in range(3)] for j in joints for closed in (j.positions, j.cosines)]
        self._rows = np.flatnonzero(closed)
        self.cell, within = np.divmod(self._rows, 6)
        self.length = within < 3
        self._driven = np.flatnonzero([joint.drive is not None for joint in joints])
        self._drives = [(joint, joint.drive) for joint in joints if joint.drive is not None]
        self._moved = np.flatnonzero([joint.displacement is not None for joint in joints])
        self._moves = [(joint, joint.displacement) for joint in joints if joint.displacement is not None]
        self.axis = axes_a[:, 2]
        self._across = self._turning(self.g_a)
        for owner, drive in self._drives:
            if abs(angle := float(evaluate(drive, 0.0, owner, None))) > DRIVE_TOLERANCE:
                raise ModelError(
                    f"{owner}: its drive must be 0 at t = 0, where the joint stands as it was built, received "
                    f"{angle:.6g} rad; subtract its first value"
                )

        for owner, move in self._moves:
            if np.abs(first := evaluate(move, 0.0, owner, 3)).max() > DRIVE_TOLERANCE:
                raise ModelError(
                    f"{owner}: its displacement must be 0 at t = 0, where the joint stands as it was built, received "
                    f"{first}; subtract its first value"
                )

    def at(self, t: float) -> Prescribed:
        """Points of a as displaced, and directions ``g_a``, which are across the axis, at the angles of the drives."""
        c_a = self.c_a
        if self._moves:
            c_a = c_a.copy()
            c_a[self._moved] += [joint.directions @ evaluate(move, t, joint, 3) for joint, move in self._moves]
        if not self._drives:
            return Prescribed(t, c_a, self.g_a, self.axis[:0])
        angles = np.zeros((len(self.nodes), 1, 1))
        angles[self._driven, 0, 0] = [evaluate(drive, t, owner, None) for owner, drive in self._drives]
        turned = np.cos(angles) * self.g_a + np.sin(angles) * self._across
        return Prescribed(t, c_a, turned, turned[self._driven, 0])

    def evaluate(self, motion: Motion, prescribed: Prescribed) -> tuple[Array, Array, Context]:
        """``Phi`` (m,) and ``B`` (m, 12)."""
        t, c_a, g_a, front = prescribed
        R, x = motion.R.take(self.nodes, 0), motion.x.take(self.nodes, 0)
        R_a, n = R[:, 0], len(R)
        S = R_a.mT @ R[:, 1]
        r = np.vecmat(x[:, 1] - x[:, 0], R_a) + np.matvec(S, self.c_b)
        y = self.g_b @ S.mT
        if self._drives:
            self._check_drives(front, y)
        phi = np.empty((n, 6))
        phi[:, :3] = np.matvec(self.G, r - c_a)
        phi[:, 3:] = np.vecdot(g_a, y)
        # delta r = [-I, r~, S, -S c_b~] (delta_a, delta_b)
        dr = np.empty((n, 3, 12))
        dr[..., :3] = -so3.IDENTITY
        dr[..., 3:6] = so3.skew(r)
        dr[..., 6:9] = S
        dr[..., 9:] = -S @ self.skew_c_b
        normal = so3.cross(g_a, y)
        B = np.zeros((n, 6, 12))
        B[:, :3] = self.G @ dr
        B[:, 3:, 3:6] = normal
        B[:, 3:, 9:] = -normal @ S
        return phi.ravel()[self._rows], B.reshape(-1, 12).take(self._rows, 0), Context(t, S, dr, r, g_a, y)

    def stiffness(self, context: Context, multipliers: Array) -> Array:
        """``D(B^T lambda)`` (n, 12, 12).

        The force on the positions is ``g = G^T lambda`` in frame a and ``S^T g`` in frame b. The moments of the cosines
        are ``sum lambda g_a x y`` on a and minus that, turned by ``S^T``, on b; their derivatives are all made of
        ``P = sum lambda (y g_a^T - (y . g_a) I)``, because ``g_a~ y~ = y g_a^T - (y . g_a) I``.
        """
        S, n = context.S, len(self.nodes)
        St = S.mT
        own = np.zeros((n, 6))
        own.ravel()[self._rows] = multipliers
        g = np.vecmat(own[:, :3], self.G)
        skew_g = so3.skew(g)
        P = context.y.mT @ (own[:, 3:, None] * context.g_a)
        P -= np.einsum("nii->n", P)[:, None, None] * so3.IDENTITY
        K = np.zeros((n, 12, 12))
        K[:, 6:9, 3:6] = -St @ skew_g
        K[:, 6:9, 9:] = so3.skew(np.vecmat(g, S))
        np.matmul(self.skew_c_b, K[:, 6:9], out=K[:, 9:])
        np.matmul(skew_g, context.dr, out=K[:, 3:6])
        # rows (P, -S^T P^T) times columns (I, -S), on the rotations of a and b
        rows = np.concatenate([P, -(P @ S).mT], axis=1)
        rotations = K.reshape(n, 2, 2, 3, 12)[:, :, 1]
        rotations[..., 3:6] += rows.reshape(n, 2, 3, 3)
        rotations[..., 9:] -= (rows @ S).reshape(n, 2, 3, 3)
        return K

    def _check_drives(self, front: Array, y: Array) -> None:
        """Refuse a hinge that lags behind its drive by more than a quarter turn: half a turn off is a solution, too."""
        cosine = np.vecdot(front, y[self._driven, 2])
        behind = int(cosine.argmin())
        if cosine[behind] < 0.0:
            raise MotionError(
                f"{self._drives[behind][0]}: its drive turns by more than a quarter turn in one step; shorten the step"
            )

    def rate(self, context: Context) -> Array:
        """``Phi_t`` (m,): the drives turn the axes of a, and displacements move its points."""
        speed, _ = self._drive_rates(context.t)
        result = np.zeros((len(speed), 6))
        result[:, :3] = -np.matvec(self.G, self._displacement_rates(context.t)[0])
        result[:, 3:] = speed[:, None] * np.vecdot(self._turning(context.g_a), context.y)
        return result.ravel()[self._rows]

    def rate_gradient(self, context: Context, motion: Motion) -> Array:
        """Derivative of ``B V + Phi_t`` (m, 12) at constant body velocities.

        ``G . r'`` with ``r' = S point - U_a - W_a x r``, and ``g_a' . y + g_a . y'`` with ``y' = S spin - W_a x y``.
        """
        S, g_a, y = context.S, context.g_a, context.y
        V = motion.V[self.nodes]
        W_a, U_b, W_b = V[:, 0, 3:], V[:, 1, :3], V[:, 1, 3:]
        point = U_b + so3.cross(W_b, self.c_b)
        d_rate = -so3.skew(W_a) @ context.dr
        d_rate[..., 3:6] += so3.skew(np.matvec(S, point))
        d_rate[..., 9:] -= S @ so3.skew(point)
        spin = so3.cross(W_b[:, None], self.g_b)
        speed = self._drive_rates(context.t)[0][:, None, None]
        turning = speed * self._turning(g_a) + so3.cross(W_a[:, None], g_a)
        result = np.zeros((len(S), 6, 12))
        result[:, :3] = self.G @ d_rate
        result[:, 3:, 3:6] = so3.cross(turning, y) + so3.cross(g_a, spin @ S.mT)
        result[:, 3:, 9:] = so3.cross(self.g_b, turning @ S) + so3.cross(spin, g_a @ S)
        return result.reshape(-1, 12)[self._rows]

    def curvature(self, context: Context, motion: Motion) -> Array:
        """``Z(V, V) + 2 Phi_tq V + Phi_tt`` (m,): second derivative along a motion with constant body velocities."""
        S, r, g_a = context.S, context.r, context.g_a
        V = motion.V[self.nodes]
        U_a, W_a, U_b, W_b = V[:, 0, :3], V[:, 0, 3:], V[:, 1, :3], V[:, 1, 3:]
        # r' = S (U_b + W_b x c_b) - U_a - W_a x r, S' = S W_b~ - W_a~ S
        point = U_b + so3.cross(W_b, self.c_b)
        r1 = np.matvec(S, point) - U_a - so3.cross(W_a, r)
        S1 = S @ so3.skew(W_b) - so3.skew(W_a) @ S
        r2 = np.matvec(S1, point) - so3.cross(W_a, r1)
        S2 = S1 @ so3.skew(W_b) - so3.skew(W_a) @ S1
        y1, y2 = (self.g_b @ rate.mT for rate in (S1, S2))
        speed, acceleration = (rate[:, None, None] for rate in self._drive_rates(context.t))
        along = self._turning(g_a)
        g1 = speed * along
        g2 = acceleration * along + speed**2 * self._turning(along)
        cosines = np.vecdot(g_a, y2) + 2 * np.vecdot(g1, y1) + np.vecdot(g2, context.y)
        r2 -= self._displacement_rates(context.t)[1]
        result: Array = np.concatenate([np.matvec(self.G, r2), cosines], axis=-1).ravel()
        return result[self._rows]

    def _turning(self, g: Array) -> Array:
        """Change of directions ``(n, 3, 3)`` that turn about the axes of the joints, per rad."""
        return so3.cross(self.axis[:, None], g)

    def _drive_rates(self, t: float) -> tuple[Array, Array]:
        """Angular velocities and accelerations ``(n,)`` of the drives."""
        rates = np.zeros((2, len(self.nodes)))
        for row, (owner, drive) in zip(self._driven, self._drives, strict=True):
            rates[:, row] = derivatives(drive, t, owner)
        return rates[0], rates[1]

    def _displacement_rates(self, t: float) -> tuple[Array, Array]:
        """First and second derivatives ``(n, 3)`` of the displacements, in the frames of the nodes a."""
        rates = np.zeros((2, len(self.nodes), 3))
        for row, (joint, move) in zip(self._moved, self._moves, strict=True):
            rates[:, row] = [joint.directions @ rate for rate in derivatives(move, t, joint, 3)]
        return rates[0], rates[1]


def _pick(axes: Array, choice: Sequence[Sequence[int]]) -> Array:
    """The chosen rows of the axes ``(n, 3, 3)``, filled up with zeros to ``(n, 3, 3)``."""
    result = np.zeros_like(axes)
    for picked, own, rows in zip(result, axes, choice, strict=True):
        picked[: len(rows)] = own[list(rows)]
    return result
