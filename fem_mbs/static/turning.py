"""The equations of rest in a turning frame, ``M A + g + B^T lambda = 0`` with the accelerations of steady rotation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Motion, State, none
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

    Parameters
    ----------
    system : System
        The frozen model.
    omega, point : (3,)
        Angular velocity of the frame, and a point of its axis, from the origin of the system.
    turning : (n,)
        True for nodes that turn; the others rest in the world.
    t : float
        Time of loads and drives.
    """

    def __init__(self, system: System, omega: Array, point: Array, turning: BoolArray, t: float) -> None:
        self.omega, self.point, self.turning, self.t = omega, point, turning, t
        self._springs = np.empty(0, np.intp)
        self._spring = 0.0
        super().__init__(system, Loading(lambda load: (t, 1.0), 0.0, 1.0))

    def evaluate(self, point: Point) -> Evaluation:
        """Inner and inertia forces minus loads, and the constraints."""
        return self.evaluate_at(self.motion(point))

    def evaluate_at(self, motion: Turning) -> Evaluation:
        """The same of a motion."""
        return self.system.evaluate(motion, motion.multipliers, self.system.prescribe(motion.t))

    def scale(self, evaluation: Evaluation) -> Array:
        """What forces and moments are judged by, ``(2,)``: the largest that act, or inertia would put up."""
        mass = self.system.nodes_of(self.system.diagonal_mass).reshape(-1, 2, 3).max(axis=(0, 2))
        # of a body that turns about a principal axis there is no force at all
        inertia: Array = mass * (self.system.length, 1.0) * (self.omega @ self.omega)
        return evaluation.scale + inertia

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
        none = np.zeros_like(point.u)
        return State(self.t, point.x, point.R, v, vdot, point.multipliers, point.u, none, none)

    def entries(self, evaluation: Evaluation, force_factor: float = 1.0) -> Array:
        """Entries of ``[[force_factor K, B^T], [B, 0]]`` in body increments; ``K`` has centrifugal forces."""
        motion = evaluation.motion
        assert isinstance(motion, Turning)
        # where a rotation is held, V has no spin, and yet the direction of what the node holds turns
        follow = deviations(replace(motion, V=np.concatenate([motion.V[:, :3], motion.spin], axis=1)))
        values = tangent.entries(self.system, evaluation, follow.V, follow.A, force_factor)
        values[self._springs] += force_factor * self._spring
        return values

    def hold_free_motions(self, point: Point) -> Array:
        """Hold motions along the axis and about it that nothing resists; these, ``(0, 1 or 2, N)``."""
        motions = self._free_motions(point)
        # a rotation rather than a displacement, which the frame of a node may share with a stretch
        rest = motions * self.system.weight * np.append(np.tile(np.repeat([ACROSS, 1.0], 3), self.system.n), self._none)
        held = []
        while len(rest):
            held.append(int(np.abs(rest[0]).argmax()))
            rest = rest[1:] - np.outer(rest[1:, held[-1]] / rest[0, held[-1]], rest[0])
        rows, columns = self.system.pattern.rows, self.system.pattern.columns
        places = [(rows == k) & (columns == k) for k in self.system.equation[held]]
        self._springs = np.array([np.flatnonzero(place)[0] for place in places], np.intp)
        return motions

    def _free_motions(self, point: Point) -> Array:
        system, free = self.system, self.system.free_rows
        # without reactions, which turn along with what they act on
        evaluation = self.evaluate(point._replace(multipliers=np.zeros(system.m)))
        values = tangent.assemble(system, self.entries(evaluation))
        matrix = system.solver.matrix(values)[:, : system.n_free]
        motions = self._along_and_about(point) * (system.equation >= 0)
        left, size = np.abs(matrix @ motions[:, free].T), abs(matrix) @ (1.0 / system.weight[free])
        self._spring = float(np.abs(values).max(initial=0.0)) or 1.0
        resisted: BoolArray = (left > UNRESISTED * size[:, None]).any(axis=0)
        return np.array(motions[~resisted & motions.any(axis=1)])

    def _along_and_about(self, point: Point) -> Array:
        """Body increments ``(2, N)`` of a translation along the axis and a rotation about it."""
        axis = self.omega / (np.linalg.norm(self.omega) or 1.0)
        n, R = np.where(self.turning[:, None], axis, 0.0), point.R
        along = np.concatenate([np.vecmat(n, R), np.zeros_like(n)], axis=1)
        about = np.concatenate([np.vecmat(np.cross(n, point.x - self.point), R), np.vecmat(n, R)], axis=1)
        none = np.zeros(self.system.k)
        return np.array([np.append(along, none), np.append(about, none)])
