"""The equations of rest in a turning frame, ``M A + g + B^T lambda = 0`` with the accelerations of steady rotation.

Likewise those of a rotor that stays where it is while its nodes spin, each about an axis of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Motion, State, none
from fem_mbs.lie import so3
from fem_mbs.modal.steady_axes import inertia_forces
from fem_mbs.modal.turned import deviations
from fem_mbs.static.equations import Equations, Loading, Point
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import Evaluation, System

ACROSS = 1e-3
"""What a displacement counts, against a rotation, where one of them is held."""
UNRESISTED = 1e-10
"""Force against the largest that made it up, of a motion that nothing resists."""


@dataclass(slots=True)
class Turning(Motion):
    """The motion of nodes in a frame that turns; ``spin`` (n, 3) is its angular velocity in the frame of each node."""

    spin: Array = field(default_factory=none)


class TurningEquations(Equations):
    """The equations of rest in a frame that turns; the load factor is the share of its speed squared, from 0 to 1.

    Motions of everything along the axis and about it change nothing where nothing resists them. One component of such
    a motion is then held by a spring, which carries no force, as no force of the model is left that could load it.

    ``omega`` and ``point`` (3,) are the angular velocity of the frame and a point of its axis, from the origin of the
    system; ``turning`` (n,) says which nodes turn, the others rest in the world. They are solved near the state
    ``given``, whose time is that of loads and drives; by default as built, at t = 0.
    """

    label, what = "steady_rotation", "steady rotation"

    def __init__(self, system: System, omega: Array, point: Array, turning: BoolArray, given: State | None) -> None:
        self.omega, self.point, self.turning = omega, point, turning
        self.t = t = 0.0 if given is None else given.t
        near = None if given is None else Point.of(given)._replace(load=0.0)
        self.axis = omega / (np.linalg.norm(omega) or 1.0)
        self.axes = np.where(turning[:, None], omega, 0.0)
        """Angular velocities ``(n, 3)`` of the axes in which all stays as it is, world frame."""
        self._springs = np.empty(0, np.intp)
        self._spring, self.stiffest = np.empty(0), 0.0  # the largest, as a moment
        self.free_motions = np.empty((0, system.N))
        """Along the axis and about it that nothing resists, ``(0, 1 or 2, N)``."""
        super().__init__(system, Loading(lambda load: (t, 1.0), 0.0, 1.0), near)

    def evaluate(self, point: Point) -> Evaluation:
        """Inner and inertia forces minus loads, and the constraints."""
        return self.evaluate_at(self.motion(point))

    def evaluate_at(self, motion: Motion) -> Evaluation:
        """The same of a motion."""
        return self.system.evaluate(motion, motion.multipliers, self.system.prescribe(motion.t))

    def scale(self, evaluation: Evaluation) -> Array:
        """What forces and moments are judged by, ``(2,)``: the largest that act, or inertia would put up."""
        # of a body that turns about a principal axis there is no force at all
        return evaluation.scale + inertia_forces(self.system, self.omega)

    def motion(self, point: Point) -> Turning:
        """The motion of a configuration that turns with the share of the speed squared that the load factor is."""
        x, R, gravity = point.x, point.R, self.system.gravity
        omega = np.where(self.turning[:, None], np.sqrt(point.load) * self.omega, 0.0)
        u = np.cross(omega, x - self.point)
        spin, still = np.vecmat(omega, R), np.zeros_like(x)
        # where a rotation is held, the node keeps its direction
        V = np.concatenate([np.vecmat(u, R), np.where(self.system.free[:, 3:], spin, 0.0)], axis=1)
        A = np.concatenate([np.vecmat(np.cross(omega, u), R), still], axis=1)
        return Turning(self.t, x, R, V, A, gravity, point.u, self._none, self._none, point.multipliers, spin=spin)

    def state(self, point: Point) -> State:
        """The state of a configuration that turns."""
        motion, kinematics = self.motion(point), self.system.kinematics
        v, vdot = kinematics.from_body(point.R, motion.V), kinematics.vdot(point.R, motion.V, motion.A)
        return State(self.t, point.x, point.R, v, vdot, point.multipliers, point.u, motion.udot, motion.uddot)

    def entries(self, evaluation: Evaluation, force_factor: float = 1.0) -> Array:
        """Entries of ``[[force_factor K, B^T], [B, 0]]`` in body increments; ``K`` has centrifugal forces."""
        motion = evaluation.motion
        assert isinstance(motion, Turning)
        # where a rotation is held, V has no spin, and yet the direction of what the node holds turns
        follow = deviations(replace(motion, V=np.concatenate([motion.V[:, :3], motion.spin], axis=1)))
        values = tangent.entries(self.system, evaluation, follow.V, follow.A, force_factor)
        values[self._springs] += force_factor * self._spring
        return self.following(values, evaluation)

    def hold_free_motions(self, point: Point) -> None:
        """Hold motions along the axis and about it that nothing resists."""
        self.free_motions = motions = self._free_motions(point)
        # a rotation rather than a displacement, which the frame of a node may share with a stretch
        rest = motions * self.system.weight * np.append(np.tile(np.repeat([ACROSS, 1.0], 3), self.system.n), self._none)
        held = []
        while len(rest):
            held.append(int(np.abs(rest[0]).argmax()))
            rest = rest[1:] - np.outer(rest[1:, held[-1]] / rest[0, held[-1]], rest[0])
        rows, columns = self.system.pattern.rows, self.system.pattern.columns
        places = [(rows == k) & (columns == k) for k in self.system.equation[held]]
        self._springs = np.array([np.flatnonzero(place)[0] for place in places], np.intp)
        self._spring = self.stiffest * self.system.weight[held] ** 2

    def _free_motions(self, point: Point) -> Array:
        system, free = self.system, self.system.free_rows
        # without reactions, which turn along with what they act on
        evaluation = self.evaluate(point._replace(multipliers=np.zeros(system.m)))
        values = system.solver.stored(self.entries(evaluation))
        matrix = system.solver.matrix(values)[:, : system.n_free]
        motions = self._along_and_about(point) * (system.equation >= 0)
        units = 1.0 / system.weight[free]
        left, size = matrix @ motions[:, free].T, abs(matrix) @ units
        self.stiffest = float((units * size[: system.n_free]).max(initial=0.0)) or 1.0
        left[: system.n_free] += self._carried(motions, evaluation.force)[:, free].T
        left = np.abs(left)
        resisted: BoolArray = (left > UNRESISTED * size[:, None]).any(axis=0)
        return np.array(motions[~resisted & motions.any(axis=1)])

    def turned(self, angle: float) -> Array:
        """The rotation by which these axes have turned when nodes have turned by an angle."""
        return so3.exp(angle * self.axis)

    def up_to(self, load: float) -> str:
        """How far a path of equilibria has come."""
        return f"from rest beyond {np.sqrt(load) * np.linalg.norm(self.omega):.6g} rad/s"

    def _carried(self, motions: Array, force: Array) -> Array:
        """What motions ``(k, N)`` change of the components of forces ``(N,)`` that turn with the axes: nothing."""
        return np.zeros_like(motions)

    def _along_and_about(self, point: Point) -> Array:
        """Body increments ``(2, N)`` of a translation along the axis and a rotation about it."""
        n, R = np.where(self.turning[:, None], self.axis, 0.0), point.R
        along = np.concatenate([np.vecmat(n, R), np.zeros_like(n)], axis=1)
        about = np.concatenate([np.vecmat(np.cross(n, point.x - self.point), R), np.vecmat(n, R)], axis=1)
        none = np.zeros(self.system.k)
        return np.array([np.append(along, none), np.append(about, none)])


class SpinningEquations(TurningEquations):
    """The equations of a rotor that stays where it is: each node that turns does so about an axis fixed in it.

    As built that is the axis of the rotor, so that it turns about its own bent line. Amplitudes of a body that stays
    bent in space go round in it, ``u' = G u``. The load factor is the share of weight and loads.
    """

    label, what = "steady_spin", "steady spin"

    def __init__(self, system: System, speed: float, axis: Array, turning: BoolArray, given: State | None) -> None:
        # as its nodes see it
        self._own = np.vecmat(np.where(turning[:, None], axis, 0.0), system.R0)
        self._speed = speed
        self._rounds = [batch.turning(-speed * self._own[batch.nodes[:, :1].ravel()]) for batch in system.batches]
        """``G`` of each batch, None where nothing goes round."""
        super().__init__(system, speed * axis, np.zeros(3), turning, given)
        self.axis, self.axes = axis, np.zeros_like(self.axes)

    def evaluate(self, point: Point) -> Evaluation:
        """Inner and inertia forces minus a share of the loads, and the constraints."""
        motion = self.motion(point)
        return self.system.evaluate(motion, point.multipliers, self.system.prescribe(self.t, point.load))

    def motion(self, point: Point) -> Turning:
        """The motion of a configuration that spins, under the share of the weight that the load factor is."""
        spin, still, udot = self._speed * self._own, np.zeros_like(self._still), self._round(point.u)
        V = still.copy()
        V[:, 3:] = np.where(self.system.free[:, 3:], spin, 0.0)
        gravity, own = point.load * self.system.gravity, (point.u, udot, self._round(udot))
        return Turning(self.t, point.x, point.R, V, still, gravity, *own, point.multipliers, spin=spin)

    def _round(self, u: Array, transposed: bool = False) -> Array:
        """``G u``, or ``G^T u``."""
        result = np.zeros_like(u)
        for batch, G in zip(self.system.batches, self._rounds, strict=True):
            if G is not None:
                result[batch.own] = np.matvec(G.mT if transposed else G, u[batch.own])
        return result

    def entries(self, evaluation: Evaluation, force_factor: float = 1.0) -> Array:
        """Entries of ``[[force_factor K, B^T], [B, 0]]``: as nodes see them, their velocities stay the same."""
        values, at = tangent.stiffness_entries(self.system, evaluation, force_factor), 0
        parts = zip(self.system.batches, evaluation.contexts, self.system.components, self._rounds, strict=True)
        for batch, context, rows, G in parts:
            end = at + rows.size * rows.shape[1]
            if G is not None:
                b, C, M = rows.shape[1] - G.shape[1], batch.damping(context), batch.mass(context)
                assert C is not None and M is not None
                block = values[at:end].reshape(*rows.shape, rows.shape[1])
                block[:, :, b:] += force_factor * (C[:, :, b:] + M[:, :, b:] @ G) @ G
            at = end
        values[self._springs] += force_factor * self._spring
        return values

    def turned(self, angle: float) -> Array:
        """None: all stays as it is in axes that stand still."""
        return np.eye(3)

    def up_to(self, load: float) -> str:
        return f"under more than {load:.3g} of its loads"

    def _carried(self, motions: Array, force: Array) -> Array:
        """Forces that stand still turn against the nodes."""
        result, n = np.zeros_like(motions), self.system.n
        turns = motions[:, : 6 * n].reshape(-1, n, 1, 6)[..., 3:]
        result[:, : 6 * n] = np.cross(turns, force[: 6 * n].reshape(n, 2, 3)).reshape(len(motions), -1)
        # the second motion goes about the axis
        result[1:, 6 * n :] = self._round(force[6 * n :], transposed=True) / self._speed
        return result

    def _along_and_about(self, point: Point) -> Array:
        along, about = super()._along_and_about(point)
        turns = np.concatenate([np.zeros_like(self._own), self._own], axis=1).ravel()
        return np.array([along, np.append(turns, self._round(point.u) / self._speed)])
