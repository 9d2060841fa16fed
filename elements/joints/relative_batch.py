"""Joints as arrays: closed components of the relative position and direction cosines, with drives.

Both are linear in the placement of b against a: ``Phi = w . (S, r) - offset``, see ``placement.py``
(docs/theory.md, "Joints").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ConstraintBatch, Motion, Numbering, Rates, StepEnd, node_rows
from fem_mbs.elements.joints import placement
from fem_mbs.errors import MotionError
from fem_mbs.lie import so3

if TYPE_CHECKING:
    from fem_mbs.elements.joints.relative import RelativeJoint


class Rows(NamedTuple):
    """All ``m`` rows of joints at an instant."""

    w: Array
    """Weights of the placement, ``(n, m, 12)``."""
    phi: Array
    """Equations per number of the placement, ``(n, m, 13)``."""
    B: Array
    """Gradients per number of the placement, ``(n, 12 m, 13)``."""


@dataclass(frozen=True)
class PrescribedCoordinates:
    """The equations of driven joints at a time."""

    batch: RelativeBatch
    t: float
    driven: Rows | None = None
    ahead: Array | None = None
    """Weights of the rotation ``(k, 9)`` in the cosine of how far each hinge is behind its drive."""

    @cached_property
    def rates(self) -> tuple[Array, Array, Array]:
        """``Phi_t``, ``B_t`` and ``Phi_tt`` of driven joints per number of the placement."""
        return self.batch.driven_rates(self.t)


class RelativeContext(NamedTuple):
    """What further derivatives need of an evaluation."""

    prescribed: PrescribedCoordinates
    p: Array
    """Placements ``(n, 13)``."""


class RelativeBatch(ConstraintBatch):
    """Joints with ``m`` rows each: some for positions, some for direction cosines.

    With directions ``D`` of a and the point ``c`` of b, positions are ``D . (r + S c) - offset``, and what closes
    rotations is ``W : S``: ``w = (D c^T, D)`` and ``w = (W, 0)``. Joints that close fewer motions than others carry
    zero rows, whose equations are left out by ``_rows``. Those that drives change are few, and ``_driven``.
    """

    def __init__(self, joints: Sequence[RelativeJoint], number: Numbering) -> None:
        self.owners, self._number, self._end = joints, number, number.end
        self.nodes = node_rows(joints, number)
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
        self._rows = None if len(rows) == self._m * len(joints) else rows
        self._built = self._equations(slice(None), self._D, self._W, self._offset)
        self._driven = np.array([k for k, joint in enumerate(joints) if joint.drives.acts], np.intp)
        self._drives = [joints[k].drives for k in self._driven]
        if self._drives:
            self._prepare_drives()
        self._upright = np.array([joint.upright() for joint in joints])
        self._limited = np.array([k for k, joint in enumerate(joints) if joint.limit is not None], np.intp)
        self._limits = [limit for joint in joints if (limit := joint.limit) is not None]
        self._regular = np.array([limit.weights for limit in self._limits]).reshape(-1, 9)
        self._least = np.array([limit.least for limit in self._limits])

    def check_start(self, motion: Motion) -> None:
        """Refuse drives that do not begin where their joints stand."""
        for k in self._driven:
            joint, (a, b) = self.owners[k], self.nodes[k]
            x, R = motion.x[[a, b]], motion.R[[a, b]]
            points = x + np.matvec(R, np.array(joint.offsets))
            angle = 0.0
            if joint.drives.angle is not None:
                name = next(name for name in joint.driven if name.startswith("rotation"))
                angle = float(joint.coordinate_batch([joint], name, self._number).evaluate(motion).value[0])
            joint.drives.check_start(angle, R[0].T @ (points[1] - points[0]))

    def _prepare_drives(self) -> None:
        """Equations of driven joints: what stays, and what goes with the cosine and the sine of the angles.

        Directions of a that close rotations are across the axis and turn about it: ``cos W + sin axis~ W``.
        """
        which, joints = self._driven, [self.owners[k] for k in self._driven]
        D, W, none = self._D[which], self._W[which], np.zeros((len(which), self._p))
        axis = so3.skew(np.array([joint.axes[0][:, joint.free_axis] for joint in joints]))
        self._fixed = self._equations(which, D, 0.0 * W, self._offset[which])
        self._cosine = self._equations(which, 0.0 * D, W, none)
        self._sine = self._equations(which, 0.0 * D, axis[:, None] @ W, none)
        ahead = np.array([joint.across() for joint in joints])
        self._ahead = ahead.reshape(-1, 9), (axis @ ahead).reshape(-1, 9)

    def _equations(self, which: slice | IntArray, D: Array, W: Array, offset: Array) -> Rows:
        """Equations of some of the joints, of directions ``D`` (k, p, 3) and weights ``W`` (k, q, 3, 3)."""
        p, phi = self._p, np.zeros((len(D), self._m, placement.SIZE))
        phi[:, :p, :9] = (D[..., None] * self._points_b[which][:, None, None]).reshape(len(D), p, 9)
        phi[:, :p, 9:12], phi[:, :p, 12] = D, -offset
        phi[:, p:, :9] = W.reshape(len(W), -1, 9)
        w = phi[..., :12].copy()
        return Rows(w, phi, placement.gradients(w).reshape(len(w), -1, placement.SIZE))

    def at(self, t: float) -> PrescribedCoordinates:
        """Points of driven joints as displaced, and cosine directions, across the axis, at the driven angles."""
        if not self._drives:
            return PrescribedCoordinates(self, t)
        c, s = self._turn([0.0 if drives.angle is None else drives.turned(t) for drives in self._drives])
        parts = zip(self._fixed, self._cosine, self._sine, strict=True)
        driven = Rows(*(fixed + c * cosine + s * sine for fixed, cosine, sine in parts))
        for k, drives in enumerate(self._drives):
            if drives.moves:
                driven.phi[k, : self._p, 12] -= self._D[self._driven[k]] @ drives.moved(t)
        along, across = self._ahead
        return PrescribedCoordinates(self, t, driven, c[:, 0] * along + s[:, 0] * across)

    @staticmethod
    def _turn(angles: list[float]) -> tuple[Array, Array]:
        """Cosines and sines ``(k, 1, 1)``."""
        angle = np.array(angles)[:, None, None]
        return np.cos(angle), np.sin(angle)

    def evaluate(self, motion: Motion, prescribed: PrescribedCoordinates) -> tuple[Array, Array, RelativeContext]:
        """``Phi`` (m,) and ``B`` (m, 12), both linear in the placement (Bruels, Cardona, Arnold 2012, eqs. 8, 9)."""
        x, R = motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0)
        p = at = placement.placement(x, R)
        if self._far is not None:
            at = p.copy()
            at[:, 9:12] = np.vecmat(x[:, 1] - (x[:, 0] + np.matvec(R[:, 0], self._far)), R[:, 0])
        self._check_limits(p)
        phi, B = np.matvec(self._built.phi, at), np.matvec(self._built.B, p)
        if prescribed.driven is not None:
            here = p[self._driven]
            self._check_drives(prescribed, here)
            phi[self._driven] = np.matvec(prescribed.driven.phi, at[self._driven])
            B[self._driven] = np.matvec(prescribed.driven.B, here)
        if self._rows is None:
            return phi.ravel(), B.reshape(-1, 12), RelativeContext(prescribed, p)
        return self._take(phi), self._take(B, 12), RelativeContext(prescribed, p)

    def second(self, context: RelativeContext) -> Array:
        """``H`` (m, 12, 12)."""
        return placement.second(self._take(self._w(context), 12), context.p[self.cell])

    def stiffness(self, context: RelativeContext, multipliers: Array) -> Array:
        """``sum lambda H`` (n, 12, 12): that of one equation, the sum of all."""
        return placement.second(np.vecmat(self._spread(multipliers), self._w(context)), context.p)

    def rate_gradient(self, context: RelativeContext, V: Array) -> Array:
        """``H V`` (m, 12): ``B V`` is linear in the placement, as ``B`` is."""
        per_number = self._velocities(self._built.B, V)
        if context.prescribed.driven is not None:
            per_number[self._driven] = self._velocities(context.prescribed.driven.B, V[self._driven])
        return self._take(per_number @ placement.changes(context.p), 12)

    def _velocities(self, B: Array, V: Array) -> Array:
        """``B V`` (n, m, 12) per number of the placement."""
        result: Array = (V[:, None, None] @ B.reshape(len(V), self._m, 12, placement.SIZE))[:, :, 0, :12]
        return result

    def rates(self, context: RelativeContext) -> Rates | None:
        """Drives turn the cosine directions of a, and displacements move its points."""
        if not self._drives:
            return None
        rates = [np.zeros((len(self.nodes), self._m * size)) for size in (1, 12, 1)]
        for whole, part in zip(rates, context.prescribed.rates, strict=True):
            whole[self._driven] = np.matvec(part, context.p[self._driven])
        phi, B, curvature = rates
        return Rates(self._take(phi), self._take(B, 12), self._take(curvature))

    def driven_rates(self, t: float) -> tuple[Array, Array, Array]:
        """``Phi_t``, ``B_t`` and ``Phi_tt`` of driven joints per number of the placement."""
        turning = [
            (0.0, 0.0, 0.0) if d.angle is None else (d.turned(t), *d.turning(t, self._end)) for d in self._drives
        ]
        angle, speed, acceleration = (np.array(part)[:, None, None] for part in zip(*turning, strict=True))
        c, s = np.cos(angle), np.sin(angle)
        phi_along, phi_across, B_across = (
            c * self._cosine.phi + s * self._sine.phi,
            c * self._sine.phi - s * self._cosine.phi,
            c * self._sine.B - s * self._cosine.B,
        )
        first, second = speed * phi_across, acceleration * phi_across - speed**2 * phi_along
        for k, drives in enumerate(self._drives):
            if drives.moves:
                for change, moving in zip((first, second), drives.moving(t, self._end), strict=True):
                    change[k, : self._p, 12] -= self._D[self._driven[k]] @ moving
        return first, speed * B_across, second

    def astray(self, end: StepEnd) -> str:
        """Axes half a turn off meet the equations, too, and so do drives that jump by whole turns."""
        pairs = end.R.take(self.nodes, 0)
        cosines = np.matvec(self._upright, (pairs[:, 0].mT @ pairs[:, 1]).reshape(-1, 9))
        if cosines.min() < 0.0:
            return f"{self.owners[int(cosines.min(axis=1).argmin())]}: it has turned over in one step"
        for drives in self._drives:
            if jump := drives.jump(end.before, end.t):
                return f"{drives.joint}: its drive jumps by {jump:.6g} rad from t = {end.before:.6g} s to {end.t:.6g} s"
        return ""

    def _w(self, context: RelativeContext) -> Array:
        """Weights of all joints, driven ones included."""
        if context.prescribed.driven is None:
            return self._built.w
        w = self._built.w.copy()
        w[self._driven] = context.prescribed.driven.w
        return w

    def _check_limits(self, p: Array) -> None:
        """Refuse joints where their equations would not be independent."""
        if not self._limits:
            return
        beyond = np.vecdot(self._regular, p[self._limited, :9]) - self._least
        if beyond.min() < 0.0:
            k = int(beyond.argmin())
            raise MotionError(f"{self.owners[self._limited[k]]}: {self._limits[k].text}")

    def _check_drives(self, prescribed: PrescribedCoordinates, p: Array) -> None:
        """Refuse a hinge that lags behind its drive by more than a quarter turn: half a turn off is a solution, too."""
        if prescribed.ahead is None:
            return
        cosine = np.vecdot(prescribed.ahead, p[:, :9])
        if cosine.min() < 0.0:
            joint = self._drives[int(cosine.argmin())].joint
            raise MotionError(
                f"{joint}: its drive turns by more than a quarter turn in one step, or begins so far from where the "
                "joint was built; shorten the step, or build the joint nearer"
            )

    def _take(self, values: Array, *shape: int) -> Array:
        """The rows of equations from all rows of all joints."""
        every = values.reshape(-1, *shape)
        return every if self._rows is None else every.take(self._rows, 0)

    def _spread(self, values: Array) -> Array:
        """All rows ``(n, m)`` of numbers ``(m,)`` of the equations."""
        if self._rows is None:
            return values.reshape(len(self.nodes), -1)
        every = np.zeros((len(self.nodes), self._m))
        every.ravel()[self._rows] = values
        return every
