"""Joints with drives, as arrays: their equations change with time.

A displacement moves the point of a, a driven angle ``theta`` turns its directions across the axis:
``w = w_0 + cos(theta) w_c + sin(theta) w_s``, linear in the placement of b against a as before, so that derivatives
against time are of the same form (docs/theory.md, "Joints").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, Numbering, Rates, StepEnd
from fem_mbs.elements.joints.relative_batch import RelativeBatch, RelativeContext
from fem_mbs.errors import MotionError
from fem_mbs.lie import so3

if TYPE_CHECKING:
    from fem_mbs.elements.joints.relative import RelativeJoint


@dataclass(frozen=True)
class PrescribedRows:
    """The rows of driven joints at a time."""

    batch: DrivenBatch
    t: float
    rows: Array
    """``(w, -o)`` (n, m, 13) of all joints."""
    ahead: Array
    """Weights of the rotation ``(k, 9)`` in the cosine of how far each hinge is behind its drive."""

    def check(self, p: Array) -> None:
        """Refuse joints at ``p`` (n, 13) that are too far behind."""
        self.batch.check_behind(np.vecdot(self.ahead, p[self.batch.driven_joints, :9]))

    @cached_property
    def rates(self) -> tuple[Array, Array]:
        """First and second time derivative of the rows of driven joints."""
        return self.batch.driven_rates(self.t)


class DrivenBatch(RelativeBatch):
    """Joints of which some, ``driven_joints``, have drives."""

    def __init__(self, joints: Sequence[RelativeJoint], number: Numbering) -> None:
        super().__init__(joints, number)
        self._end = number.end
        self.driven_joints = which = np.array([k for k, joint in enumerate(joints) if joint.drives.acts], np.intp)
        driven = [joints[k] for k in which]
        self._drives = [joint.drives for joint in driven]
        # what stays, and what goes with the cosine and the sine of the angles: across the axis cos W + sin axis~ W
        D, W, none = self._D[which], self._W[which], np.zeros((len(which), self._p))
        axis = so3.skew(np.array([joint.axes[0][:, joint.free_axis] for joint in driven]))
        points = self._points_b[which]
        self._fixed = self._rows_of(points, D, 0.0 * W, self._offset[which])
        self._cosine = self._rows_of(points, 0.0 * D, W, none)
        self._sine = self._rows_of(points, 0.0 * D, axis[:, None] @ W, none)
        ahead = np.array([joint.across() for joint in driven])
        self._ahead = ahead.reshape(-1, 9), (axis @ ahead).reshape(-1, 9)

    def check_start(self, motion: Motion) -> None:
        """Refuse drives that do not begin where their joints stand."""
        for k in self.driven_joints:
            joint, (a, b) = self.owners[k], self.nodes[k]
            x, R = motion.x[[a, b]], motion.R[[a, b]]
            points = x + np.matvec(R, np.array(joint.offsets))
            angle = 0.0
            if joint.drives.angle is not None:
                name = next(name for name in joint.driven if name.startswith("rotation"))
                angle = float(joint.coordinate_batch([joint], name, self._number).evaluate(motion).value[0])
            joint.drives.check_start(angle, R[0].T @ (points[1] - points[0]))

    def at(self, t: float) -> PrescribedRows:
        """Points of driven joints as displaced, and cosine directions, across the axis, at the driven angles."""
        angles = np.array([0.0 if drives.angle is None else drives.turned(t) for drives in self._drives])
        c, s = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
        driven = self._fixed + c * self._cosine + s * self._sine
        for k, drives in enumerate(self._drives):
            if drives.moves:
                driven[k, : self._p, 12] -= self._D[self.driven_joints[k]] @ drives.moved(t)
        rows = self._built.copy()
        rows[self.driven_joints] = driven
        along, across = self._ahead
        return PrescribedRows(self, t, rows, c[:, 0] * along + s[:, 0] * across)

    def check_behind(self, cosine: Array) -> None:
        """Refuse a hinge more than a quarter turn behind its drive, by its cosine: half a turn off is a solution."""
        if cosine.min() < 0.0:
            joint = self._drives[int(cosine.argmin())].joint
            raise MotionError(
                f"{joint}: its drive turns by more than a quarter turn in one step, or begins so far from where the "
                "joint was built; shorten the step, or build the joint nearer"
            )

    def rates(self, context: RelativeContext) -> Rates | None:
        """Drives turn the cosine directions of a, and displacements move its points."""
        first, second = np.zeros((2, *self._built.shape))
        first[self.driven_joints], second[self.driven_joints] = context.prescribed.rates
        values = np.matvec(first, context.p), first[..., :12] @ context.changes, np.matvec(second, context.p)
        phi, B, curvature = (part.reshape(len(self.nodes) * self._m, -1)[self._closed] for part in values)
        return Rates(phi[:, 0], B, curvature[:, 0])

    def driven_rates(self, t: float) -> tuple[Array, Array]:
        """First and second time derivative ``(k, m, 13)`` of the rows of driven joints."""
        turning = [
            (0.0, 0.0, 0.0) if d.angle is None else (d.turned(t), *d.turning(t, self._end)) for d in self._drives
        ]
        angle, speed, acceleration = (np.array(part)[:, None, None] for part in zip(*turning, strict=True))
        c, s = np.cos(angle), np.sin(angle)
        along, across = c * self._cosine + s * self._sine, c * self._sine - s * self._cosine
        first, second = speed * across, acceleration * across - speed**2 * along
        for k, drives in enumerate(self._drives):
            if drives.moves:
                for change, moving in zip((first, second), drives.moving(t, self._end), strict=True):
                    change[k, : self._p, 12] -= self._D[self.driven_joints[k]] @ moving
        return first, second

    def astray(self, end: StepEnd) -> str:
        """Drives that jump by whole turns meet the equations, too."""
        if text := super().astray(end):
            return text
        for drives in self._drives:
            if jump := drives.jump(end.before, end.t):
                return f"{drives.joint}: its drive jumps by {jump:.6g} rad from t = {end.before:.6g} s to {end.t:.6g} s"
        return ""
