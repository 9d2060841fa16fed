"""The equations of rest in a turning frame, ``M A + g + B^T lambda = 0`` with the accelerations of steady rotation.

Likewise those of a rotor that stays where it is while its nodes spin, each about an axis of its own.

And whether a motion that turns a model as one body solves its equations at all times, and what prevents it if not: the
model is turned by some angles, at the times at which it would be there: joints have to stay closed at that speed,
and the forces of every element have to turn with the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Element, Motion, State, none
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.modal.steady_axes import ANGLES, inertia_forces
from fem_mbs.modal.turned import TurnedMatrices, TurnedModel, deviations
from fem_mbs.newton import Newton
from fem_mbs.static.equations import Equations, Loading, Point
from fem_mbs.system import matrices as tangent
from fem_mbs.system.pattern import flat
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
        return values

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


UPRIGHT = 1e-9
"""Part of gravity across the axis, and speed of a held node, that are rounding."""
GAP, RATE = 1e-7, 1e-6
"""Gap of a joint against the extent, and its rate against that and the speed: drives may be differentiated."""
SAME, ROUNDING = 1e-6, 1e3 * float(np.finfo(float).eps)
"""Change of a force against its size, and of a stiff element against its stiffness, that is none."""
DRIVE = (
    "; a joint that drives the rotation must do so at this speed, drive=lambda t: speed * t, of b against a. Without a "
    "drive, a joint with the axis of rotation leaves it free"
)
CLAMP = (
    "to clamp a root in the frame that turns, hold it by RevoluteJoint(model.ground, node, axis, point, drive=lambda "
    "t: speed * t)"
)
REST = (
    ". What does not turn may touch what does only through joints and forces that are the same all round; name the "
    "nodes that do as turning=[...]"
)


def refuse_unsteady_start(equations: TurningEquations) -> None:
    """Raise :class:`ModelError` if gravity acts across the axis, or nodes that turn are held."""
    system, omega, gravity = equations.system, equations.omega, equations.system.gravity
    if not omega.any():
        return
    axis = omega / np.linalg.norm(omega)
    if np.linalg.norm(across := gravity - (axis @ gravity) * axis) > UPRIGHT * np.linalg.norm(gravity):
        raise ModelError(
            f"steady_rotation: gravity ({_shown(gravity)}) has the part ({_shown(across)}) across the axis of rotation "
            f"({_shown(axis)}), which bends what turns anew in every turn: no rotation is steady. Leave it out with "
            "mbs.Model(gravity=(0, 0, 0)), or let mbs.simulate follow the motion"
        )
    motion = equations.motion(equations.as_built()._replace(load=1.0))
    speed = np.abs(np.where(system.free[:, :3], 0.0, motion.V[:, :3])).max(axis=1)
    if speed.max() > UPRIGHT * np.linalg.norm(omega) * system.length:
        raise ModelError(
            f"steady_rotation: the model holds {system.nodes[int(np.argmax(speed))]} off the axis, where it cannot turn"
            f": what model.fix holds rests; {CLAMP}"
        )


def refuse_unsteady(equations: TurningEquations, point: Point) -> None:
    """Raise :class:`ModelError` that names the joint or the element that does not let the model turn steadily."""
    system, speed = equations.system, float(np.linalg.norm(equations.omega))
    if speed == 0.0:
        return
    here = equations.motion(point)
    open_by = system.joints(here, system.prescribe(here.t)).constraint
    _check_joints(equations, here, open_by, speed)
    seen = TurnedModel(system, here, equations.axes)
    start = seen.at(0.0)
    force, moment = Newton().force_tolerance * equations.scale(equations.evaluate_at(here))
    unresolved = max(force * system.length, moment)
    for angle in ANGLES:
        Q = equations.turned(angle)
        there = seen.ahead(angle / speed)
        _check_joints(equations, there, open_by, speed)
        _check_forces(equations, start, seen.at(angle / speed), angle, unresolved)
        _check_reactions(equations, here, there, Q, angle)


def _check_joints(equations: TurningEquations, motion: Motion, open_by: Array, speed: float) -> None:
    system = equations.system
    evaluation = system.joints(motion, system.prescribe(motion.t))
    for values, limit, rate in (
        (evaluation.constraint - open_by, GAP, ""),
        (tangent.velocity_residual(system, evaluation), RATE * speed, "/s"),
    ):
        sizes = np.abs(values * system.constraint_weight)
        if sizes.max(initial=0.0) > limit:
            row = int(np.argmax(sizes))
            owner, equation = system.constraint_owner[row]
            length = system.of_length[row]
            unit, advice = ("m" if length else "rad") + rate, DRIVE if owner.driven and not length else REST
            raise ModelError(
                f"{equations.label}: {owner} does not turn with the model at {speed:g} rad/s: at t = {motion.t:.3g} s "
                f"it opens by {values[row]:.3g} {unit} ({equation}){advice}"
            )


def _check_forces(
    equations: TurningEquations, start: TurnedMatrices, there: TurnedMatrices, angle: float, unresolved: float
) -> None:
    """Refuse elements whose forces do not turn with the model, by more than equations are solved to."""
    system = equations.system
    parts = zip(system.batches, system.components, start.forces, there.forces, start.of_cells, strict=False)
    for batch, rows, before, after, (stiffness, _, _) in parts:
        of_nodes, units = 6 * batch.nodes.shape[1], 1.0 / system.weight[rows]
        felt, moments = np.abs(stiffness * units[:, None]).max(axis=2), units[:, :of_nodes]
        own, change = before[..., of_nodes:], after - before
        size = np.abs(moments[:, None] * np.stack([before, after])[..., :of_nodes]).max(axis=(0, 2, 3), initial=0.0)
        rounding = ROUNDING * (moments * felt[:, :of_nodes]).max(axis=1) + SAME * size + unresolved
        differs = (np.abs(change[..., of_nodes:]) > SAME * (np.abs(own) + felt[:, None, of_nodes:])).any(axis=(1, 2))
        change = np.abs(moments[:, None] * change[..., :of_nodes]).max(axis=(1, 2), initial=0.0)
        if (change > rounding).any():
            worst = int(np.argmax(change - rounding))
            _refuse(equations, batch.owners[worst], change[worst] / size[worst], angle)
        if differs.any():
            raise ModelError(
                f"{equations.label}: {batch.owners[int(np.argmax(differs))]} has internal variables that do not stay "
                f"as they are: what it depends on has changed when the model has turned by {angle:g} rad. Leave it out "
                "or let it depend on rates, or on what turns alone"
            )


def _check_reactions(equations: TurningEquations, here: Motion, there: Motion, Q: Array, angle: float) -> None:
    """Refuse reactions that turn and act on what rests, or have to turn where a joint has none in every direction."""
    system, scale = equations.system, equations.scale(equations.evaluate_at(here))
    before = _unborne(equations, here)
    turned = np.where(equations.turning[:, None, None], before @ Q.T, before)
    rounding = ROUNDING * equations.stiffest / np.array([system.length, 1.0])
    sizes = np.abs(_unborne(equations, there) - turned).max(axis=2) / (SAME * scale + rounding)
    if sizes.max() <= 1.0:
        return
    # what is left over spreads from the joint
    joints = dict.fromkeys(owner for owner, _ in system.constraint_owner)
    worst = max(joints, key=lambda joint: max(sizes[system.number(node)].max() for node in joint.nodes))
    raise ModelError(
        f"{equations.label}: the reaction of {worst} is not steady: when the model has turned by {angle:g} rad, it "
        f"would have to act in a direction in which the joint bears nothing, or acts on what does not turn{REST}"
    )


def _unborne(equations: TurningEquations, motion: Motion) -> Array:
    """Forces and moments ``(n, 2, 3)``, world frame, that no reactions can bear: the best ones are taken away."""
    system, evaluation = equations.system, equations.evaluate_at(motion)
    rows, columns = system.pattern.rows, system.pattern.columns
    diagonal, first = np.unique(np.where(rows == columns, rows, -1), return_index=True)
    diagonal, first = (part[diagonal >= 0] for part in (diagonal, first))
    metric = system.weight[system.free_rows] ** 2
    values = system.pattern.of_gradients(flat(evaluation.gradients))
    values[first] = metric[diagonal]
    solve = system.solver.factorized(values).solve
    d = solve(np.append(system.at_free(evaluation.force), np.zeros(system.m)))
    left = system.nodes_of(system.spread(metric * d[: system.n_free])).reshape(-1, 2, 3)
    return np.matvec(motion.R[:, None], left)


def _refuse(equations: TurningEquations, element: Element, change: float, angle: float) -> NoReturn:
    text = (
        f"{equations.label}: {element} does not act alike all round: when the model has turned by {angle:g} rad, its "
        f"force has changed by {change:.2g} of its size"
    )
    if element.external:
        raise ModelError(
            f'{text}. A load that is constant in the world bends what turns anew in every turn; frame="body" turns it '
            "with its node"
        )
    resting = [node for node in element.nodes if not equations.turning[equations.system.number(node)]]
    if resting and len(resting) < len(element.nodes):
        text += f". It holds on to {resting[0]}, which rests; {CLAMP}"
    raise ModelError(text + REST)


def _shown(vector: Array) -> str:
    return ", ".join(f"{value:.4g}" for value in vector)
