"""Joints as arrays: closed components of the relative position and direction cosines.

Node b stands to node a at ``S = R_a^T R_b``, ``r = R_a^T (x_b - x_a)``. The twelve numbers ``p = (S, r)`` change with
body increments ``delta`` of both nodes by

    delta S = S skew(theta_b) - skew(theta_a) S,    delta r = S U_b - U_a - theta_a x r,

which is linear in ``p``: ``delta p = C delta`` with ``C = GAMMA (p, 1)``. An equation ``Phi = w . p - o`` has the
gradient ``B = w C``; what changes with ``p`` in ``C V`` and in ``C^T f`` is constant, ``V GAMMA`` and ``f GAMMA``, and
gives the derivatives of ``B V`` and of ``B^T lambda``, with ``f = lambda w`` (docs/theory.md, "Joints").

Drives prescribe the coordinates of a joint, or move its point: a displacement moves the point of a, a driven angle
``theta`` turns its directions across the axis: ``w = w_0 + cos(theta) w_c + sin(theta) w_s``, linear in the placement
of b against a as before, so that derivatives against time are of the same form (docs/theory.md, "Joints").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import (
    Constraint,
    ConstraintBatch,
    GivenValues,
    LawOfTime,
    Motion,
    Rates,
    StepEnd,
    evaluate,
    function,
)
from fem_mbs.contracts.component import Numbering, consecutive
from fem_mbs.errors import ModelError, MotionError
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
    whose equations are left out by ``_closed``.
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
        self.strays = bool(self._upright.any())
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
        w = context.rows[..., :12].reshape(-1, 12)[self._closed]
        return w.dot(_OF_FORCE).reshape(-1, 12, 12) @ context.changes[self.cell]

    def stiffness(self, context: RelativeContext, multipliers: Array) -> Array:
        """``sum lambda H`` (n, 12, 12): the derivative of ``C^T f`` for ``f = lambda w``."""
        every = np.zeros((len(self.nodes), self._m))
        every.reshape(-1)[self._closed] = multipliers
        f = np.vecmat(every, context.rows)[:, :12]
        return f.dot(_OF_FORCE).reshape(-1, 12, 12) @ context.changes

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


Drive = Annotated[Callable[[float], float], partial(function, of=" of time")]
Displacement = Annotated[Callable[[float], ArrayLike], partial(function, of=" of time")]
TOLERANCE = 1e-8
HALVINGS = 30
"""Of a step in which a drive goes far, until it must have jumped."""


def jump(law: LawOfTime, owner: Constraint, before: float, t: float, least: float) -> tuple[float, float]:
    """By how much a law jumps between two times, and when; 0 if it does not, or by less than ``least``."""
    first, last = (evaluate(law.function, own, owner, law.size) for own in (before, t))
    for _ in range(HALVINGS):
        if np.linalg.norm(last - first) < least:
            return 0.0, t
        middle = 0.5 * (before + t)
        between = evaluate(law.function, middle, owner, law.size)
        if np.linalg.norm(between - first) > np.linalg.norm(last - between):
            t, last = middle, between
        else:
            before, first = middle, between
    return float(np.linalg.norm(last - first)), t


def check_begins(joint: Constraint, what: str, stands: Array | float, begins: Array | float, unit: str = "") -> None:
    """Refuse a law that does not begin where its joint stands, a number or three."""
    if np.abs(begins - stands).max() <= TOLERANCE:
        return
    stands = stands if np.abs(stands).max() > TOLERANCE else 0.0
    here, received = (f"{own:.6g}" if np.ndim(own) == 0 else str(own) for own in (stands, begins))
    raise ModelError(
        f"{joint}: its {what} must be {here} at t = 0, where the joint stands as it was built, received {received}"
        f"{unit}; subtract what is too much, or let model.assemble() bring the joint to where it begins"
    )


@dataclass(frozen=True)
class PrescribedRows:
    """The rows of driven joints at a time."""

    batch: DrivenBatch
    t: float
    angles: Array
    """Of driven joints, ``(k,)``."""
    rows: Array
    """``(w, -o)`` (n, m, 13) of all joints."""
    ahead: Array
    """Weights of the rotation ``(k, 9)`` in the cosine of how far each hinge is behind its drive."""

    def check(self, p: Array) -> None:
        """Refuse a hinge more than a quarter turn behind its drive at ``p`` (n, 13): half a turn off is a solution."""
        joints = self.batch.driven_joints
        cosine = np.vecdot(self.ahead, p[joints, :9])
        if np.minimum.reduce(cosine) < 0.0:
            raise MotionError(
                f"{self.batch.owners[joints[cosine.argmin()]]}: its drive turns by more than a quarter turn in one "
                "step, or begins so far from where the joint was built; shorten the step, or build the joint nearer"
            )

    @cached_property
    def rates(self) -> Array:
        """First and second time derivative of the rows, ``(n, 2, m, 13)``."""
        return self.batch.row_rates(self.t, self.angles)


def _along(directions: Array, value: Array) -> Array:
    return directions @ np.atleast_1d(value)


class DrivenBatch(RelativeBatch):
    """Joints of which some, ``driven_joints``, have drives."""

    def __init__(self, joints: Sequence[RelativeJoint], number: Numbering) -> None:
        super().__init__(joints, number)
        self._end, self.strays = number.end, True
        self._last: tuple[RelativeContext, Rates] | None = None
        """What was asked for last, by a residual, and will be by the matrix there."""
        self.driven_joints = which = np.array([k for k, joint in enumerate(joints) if joint.is_driven], np.intp)
        self._driven = [joints[k] for k in which]
        self._angles, self._moved = GivenValues(len(which)), GivenValues(len(which), self._p)
        """Angles, and how far points are moved along the directions."""
        for k, joint in enumerate(self._driven):
            self._angles.put(k, 0.0 if joint.angle_law is None else joint.angle_law, joint)
            if (moved := joint.point_law) is not None:
                directions, law, size = moved
                self._moved.put(k, law, joint, size, spread=partial(_along, self._D[which[k]] @ directions))
        self._moves = bool(self._moved.laws) or bool(self._moved.constant.any())
        # what stays, and what goes with the cosine and the sine of the angles: across the axis cos W + sin axis~ W
        D, W, none = self._D[which], self._W[which], np.zeros((len(which), self._p))
        axis = so3.skew(np.array([joint.axes[0][:, joint.free_axis] for joint in self._driven]))
        points, k = self._points_b[which], len(which)
        self._fixed = self._rows_of(points, D, 0.0 * W, self._offset[which])
        turning = [self._rows_of(points, 0.0 * D, own, none) for own in (W, axis[:, None] @ W)]
        self._turning = np.stack(turning, axis=1).reshape(k, 2, -1)
        ahead = np.array([joint.across() for joint in self._driven])
        self._ahead = np.stack([ahead.reshape(k, 9), (axis @ ahead).reshape(k, 9)], axis=1)
        """What goes with the cosine and the sine of the angles, ``(k, 2, ...)``."""

    def check_start(self, motion: Motion) -> None:
        for k, joint in zip(self.driven_joints, self._driven, strict=True):
            if joint.drive is not None:
                begins, (name,) = float(evaluate(joint.drive, 0.0, joint, None)), joint.driven
                stands = float(joint.coordinate_batch([joint], name, self._number).evaluate(motion).value[0])
                check_begins(joint, "drive", stands, begins, " m" if name.startswith("t") else " rad")
            if joint.displacement is not None:
                x, R = motion.x[self.nodes[k]], motion.R[self.nodes[k]]
                points, first = x + np.matvec(R, np.array(joint.offsets)), evaluate(joint.displacement, 0.0, joint, 3)
                moved = joint.nodes[0].rotation @ (R[0].T @ (points[1] - points[0]))
                check_begins(joint, "displacement", moved, first)

    def at(self, t: float) -> PrescribedRows:
        """Points of driven joints as displaced, and cosine directions, across the axis, at the driven angles."""
        prescribed = self._turned(t, self._angles.at(t))
        if self._moves:
            prescribed.rows[self.driven_joints, : self._p, 12] -= self._moved.at(t)
        return prescribed

    def met(self, motion: Motion) -> PrescribedRows:
        """At the angles of the motion."""
        return self._turned(motion.t, self._stands(motion)[1])

    def _stands(self, motion: Motion) -> tuple[Array, Array]:
        """Placements ``(n, 13)`` in a motion, and driven angles ``(k,)`` there."""
        p = self.evaluate(motion, None)[2].p
        turns = np.array([joint.angle_law is not None for joint in self._driven])
        along, across = np.matvec(self._ahead, p[self.driven_joints, :9]).T
        return p, np.where(turns, np.arctan2(across, along), 0.0)

    def _turned(self, t: float, angles: Array) -> PrescribedRows:
        turn = np.array([np.cos(angles), np.sin(angles)]).T
        rows = self._built.copy()
        rows[self.driven_joints] = self._fixed + np.vecmat(turn, self._turning).reshape(self._fixed.shape)
        return PrescribedRows(self, t, angles, rows, np.vecmat(turn, self._ahead))

    def rates(self, context: RelativeContext) -> Rates | None:
        """Drives turn the cosine directions of a, and displacements move its points."""
        if self._last is not None and self._last[0] is context:
            return self._last[1]
        rows = context.prescribed.rates
        phi, second = np.matvec(rows, context.p[:, None]).swapaxes(0, 1).reshape(2, -1)[:, self._closed]
        rates = Rates(phi, (rows[:, 0, :, :12] @ context.changes).reshape(-1, 12)[self._closed], second)
        self._last = context, rates
        return rates

    def row_rates(self, t: float, angles: Array) -> Array:
        """First and second time derivative ``(n, 2, m, 13)`` of the rows at driven ``angles`` (k,)."""
        result = np.zeros((len(self._built), 2, *self._built.shape[1:]))
        (speed, acceleration), c, s = self._angles.rates(t, self._end), np.cos(angles), np.sin(angles)
        bend = speed**2
        second = -acceleration * s - bend * c, acceleration * c - bend * s
        rates = np.array([-speed * s, speed * c, *second]).T.reshape(-1, 2, 2) @ self._turning
        result[self.driven_joints] = rates.reshape(-1, *result.shape[1:])
        if self._moves:
            result[self.driven_joints, :, : self._p, 12] -= self._moved.rates(t, self._end).swapaxes(0, 1)
        return result

    def second_rates(self, motion: Motion, times: Sequence[float]) -> Array:
        p, angles = self._stands(motion)
        rows = np.stack([self.row_rates(t, angles)[:, 1] for t in times])
        return np.matvec(rows, p).reshape(len(times), -1)[:, self._closed]

    def astray(self, end: StepEnd) -> str:
        """Drives that jump by whole turns meet the equations, too."""
        if text := super().astray(end):
            return text
        for joint in self._driven:
            law = joint.angle_law
            if law is not None and jump(LawOfTime(law), joint, end.before, end.t, np.pi)[0]:
                return f"{joint}: its drive jumps from t = {end.before:.6g} s to {end.t:.6g} s"
        return ""
