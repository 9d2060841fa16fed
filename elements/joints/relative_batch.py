"""Joints as arrays: closed components of the relative position and direction cosines, with drives.

Derived in docs/theory.md, "Joints"; what follows from the relative motion is in ``frames.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.joints.frames import Context, FramesBatch, adjoint_inverse, nodal, relative
from fem_mbs.errors import MotionError
from fem_mbs.lie import so3
from fem_mbs.model import Motion, Numbering, Rates, node_rows

if TYPE_CHECKING:
    from fem_mbs.elements.joints.relative import RelativeJoint


class Prescribed(NamedTuple):
    """What drives prescribe: directions of a, and how far the points of b are along them."""

    t: float
    D: Array
    skew_D: Array
    offset: Array


class Own(NamedTuple):
    """What further derivatives need of an evaluation: all six rows of each joint."""

    prescribed: Prescribed
    y: Array
    g: Array
    b: Array


class RelativeBatch(FramesBatch):
    """Joints with up to three position and three cosine equations each.

    With directions ``D`` (n, 6, 3) of a and arms (n, 6, 3) of b, positions and cosines have one form,
    ``Phi = D . y - offset``: ``y = r + S c_b`` for positions, whose arm is the point ``c_b``, and ``y = S g_b`` for
    cosines, whose arm is an axis. Joints that close fewer motions carry zero directions, whose equations are left out
    by ``_rows``.
    """

    def __init__(self, joints: Sequence[RelativeJoint], number: Numbering) -> None:
        self.owners = joints
        self.nodes = node_rows(joints, number)
        axes_a, axes_b = (np.array([joint.axes[end] for joint in joints]).swapaxes(1, 2) for end in (0, 1))
        points_a, points_b = (np.array([joint.offsets[end] for joint in joints]) for end in (0, 1))
        self._positions = _pick(axes_a, [joint.positions for joint in joints])
        self._cosines = _pick(axes_a, [[i for i, _ in joint.cosines] for joint in joints])
        of_b = _pick(axes_b, [[j for _, j in joint.cosines] for joint in joints])
        self._arm = np.concatenate([np.repeat(points_b[:, None], 3, axis=1), of_b], axis=1)
        self._skew_arm = so3.skew(self._arm)
        closed = [[k < len(closed) for k in range(3)] for j in joints for closed in (j.positions, j.cosines)]
        self._rows = np.flatnonzero(closed)
        self.cell, within = np.divmod(self._rows, 6)
        self.length = within < 3
        self._axis = np.array([joint.axes[0][:, joint.free_axis] for joint in joints])
        self._turned = [(row, joint.drives) for row, joint in enumerate(joints) if joint.drives.angle is not None]
        self._moved = [(row, joint.drives) for row, joint in enumerate(joints) if joint.drives.moves]
        self._turned_rows = np.array([row for row, _ in self._turned], np.intp)
        D = np.concatenate([self._positions, self._cosines], axis=1)
        offset = np.zeros((len(joints), 6))
        offset[:, :3] = np.matvec(self._positions, points_a)
        self._built = Prescribed(0.0, D, so3.skew(D), offset)
        for joint in joints:
            joint.drives.check_start()

    def at(self, t: float) -> Prescribed:
        """Offsets of the points as displaced, and cosine directions, which are across the axis, at the driven angles."""
        if not self._turned and not self._moved:
            return self._built
        _, D, skew_D, offset = self._built
        if self._moved:
            offset = offset.copy()
            for row, drives in self._moved:
                offset[row, :3] += self._positions[row] @ drives.moved(t)
        if self._turned:
            angle = np.zeros((len(self.nodes), 1, 1))
            angle[self._turned_rows, 0, 0] = [drives.turned(t) for _, drives in self._turned]
            D = D.copy()
            D[:, 3:] = np.cos(angle) * self._cosines + np.sin(angle) * self._across(self._cosines)
            skew_D = so3.skew(D)
        return Prescribed(t, D, skew_D, offset)

    def evaluate(self, motion: Motion, prescribed: Prescribed) -> tuple[Array, Array, Context]:
        """``Phi`` (m,) and ``B`` (m, 12); ``B_a = -(D, y x D)`` for positions, ``-(0, y x D)`` for cosines."""
        frames = relative(motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0))
        S, r = frames
        g = prescribed.D @ S
        y = self._arm @ S.mT
        y[:, :3] += r[:, None]
        if self._turned:
            self._check_drives(prescribed.D, y)
        B = np.zeros((*g.shape[:2], 12))
        B[:, :3, :3] = -prescribed.D[:, :3]
        B[..., 3:6] = np.matvec(prescribed.skew_D, y)
        B[:, :3, 6:9] = g[:, :3]
        B[..., 9:] = np.matvec(self._skew_arm, g)
        phi = (np.vecdot(prescribed.D, y) - prescribed.offset).ravel()[self._rows]
        closed = B.reshape(-1, 12).take(self._rows, 0)
        return phi, closed, Context(frames, closed[:, 6:], Own(prescribed, y, g, B[..., 6:]))

    def bend(self, context: Context) -> Array:
        """``[[0, g~], [0, arm~ g~]]``, the upper block for positions alone."""
        skew_g = so3.skew(context.own.g)
        bend = np.zeros((*skew_g.shape[:2], 6, 6))
        bend[:, :3, :3, 3:] = skew_g[:, :3]
        bend[..., 3:, 3:] = self._skew_arm @ skew_g
        return bend.reshape(-1, 6, 6)[self._rows]

    def stiffness(self, context: Context, multipliers: Array) -> Array:
        """``D(B^T lambda)`` (n, 12, 12), with ``sum lambda arm~ g~ = sum lambda (g arm^T - (arm . g) I)``."""
        n = len(self.nodes)
        weights = np.zeros((n, 6))
        weights.ravel()[self._rows] = multipliers
        force = np.vecmat(weights, context.own.b)
        bend = np.zeros((n, 6, 6))
        bend[:, :3, 3:] = so3.skew(force[:, :3])
        outer = (weights[..., None] * context.own.g).mT @ self._arm
        bend[:, 3:, 3:] = outer - np.einsum("nii->n", outer)[:, None, None] * so3.IDENTITY
        return nodal(adjoint_inverse(context.frames), bend, force)

    def along(self, context: Context, zeta: Array) -> Array:
        """``zeta^T h`` (m, 6): ``(0, w x g)`` with the velocity ``w`` of the tip of the arm."""
        arm, g = (part.reshape(-1, 3)[self._rows] for part in (self._arm, context.own.g))
        row = np.zeros((len(self.cell), 6))
        row[:, 3:] = so3.cross(so3.cross(zeta[:, 3:], arm) + self.length[:, None] * zeta[:, :3], g)
        return row

    def rates(self, context: Context) -> Rates | None:
        """Drives turn the cosine directions of a, and displacements move its points."""
        if not self._turned and not self._moved:
            return None
        (t, D, _, _), y, _, _ = context.own
        n = len(D)
        speed, acceleration = np.zeros((2, n, 1, 1))
        D1, D2, moved1, moved2 = np.zeros_like(D), np.zeros_like(D), np.zeros((n, 6)), np.zeros((n, 6))
        for row, drives in self._turned:
            speed[row], acceleration[row] = drives.turning(t)
        for row, drives in self._moved:
            velocity, change = drives.moving(t)
            moved1[row, :3], moved2[row, :3] = self._positions[row] @ velocity, self._positions[row] @ change
        across = self._across(D[:, 3:])
        D1[:, 3:] = speed * across
        D2[:, 3:] = acceleration * across + speed**2 * self._across(across)
        gradient = np.zeros((n, 6, 12))
        gradient[..., 3:6] = so3.cross(D1, y)
        gradient[..., 9:] = so3.cross(self._arm, D1 @ context.frames.S)
        first, second = np.vecdot(D1, y) - moved1, np.vecdot(D2, y) - moved2
        return Rates(first.ravel()[self._rows], gradient.reshape(-1, 12)[self._rows], second.ravel()[self._rows])

    def _check_drives(self, D: Array, y: Array) -> None:
        """Refuse a hinge that lags behind its drive by more than a quarter turn: half a turn off is a solution, too."""
        cosine = np.vecdot(D[self._turned_rows, 3], y[self._turned_rows, 5])
        behind = int(cosine.argmin())
        if cosine[behind] < 0.0:
            raise MotionError(
                f"{self._turned[behind][1].joint}: its drive turns by more than a quarter turn in one step; shorten the step"
            )

    def _across(self, g: Array) -> Array:
        """Change of directions ``(n, 3, 3)`` that turn about the axes of the joints, per rad."""
        return so3.cross(self._axis[:, None], g)


def _pick(axes: Array, choice: Sequence[Sequence[int]]) -> Array:
    """The chosen rows of the axes ``(n, 3, 3)``, filled up with zeros to ``(n, 3, 3)``."""
    result = np.zeros_like(axes)
    for picked, own, rows in zip(result, axes, choice, strict=True):
        picked[: len(rows)] = own[list(rows)]
    return result
