"""Whether a motion that turns a model as one body solves its equations at all times, and what prevents it if not.

The model is turned by some angles, at the times at which it would be there: joints have to stay closed at that speed,
and the forces of every element have to turn with the model.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, ElementBatch
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.modal.steady_axes import ANGLES
from fem_mbs.modal.turned import ahead
from fem_mbs.static.equations import Point
from fem_mbs.static.turning import Turning, TurningEquations
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import System

ACROSS = 1e-9
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
    if np.linalg.norm(across := gravity - (axis @ gravity) * axis) > ACROSS * np.linalg.norm(gravity):
        raise ModelError(
            f"steady_rotation: gravity ({_shown(gravity)}) has the part ({_shown(across)}) across the axis of rotation "
            f"({_shown(axis)}), which bends what turns anew in every turn: no rotation is steady. Leave it out with "
            "mbs.Model(gravity=(0, 0, 0)), or let mbs.simulate follow the motion"
        )
    motion = equations.motion(equations.as_built()._replace(load=1.0))
    speed = np.abs(np.where(system.free[:, :3], 0.0, motion.V[:, :3])).max(axis=1)
    if speed.max() > ACROSS * np.linalg.norm(omega) * system.length:
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
    _check_joints(system, here, open_by, speed)
    for angle in ANGLES:
        Q = so3.exp(angle * equations.omega / speed)
        there = ahead(here, angle / speed)
        _check_joints(system, there, open_by, speed)
        _check_forces(equations, here, there, Q, angle)
        _check_reactions(equations, here, there, Q, angle)


def _check_joints(system: System, motion: Turning, open_by: Array, speed: float) -> None:
    evaluation = system.joints(motion, system.prescribe(motion.t))
    for values, limit, rate in (
        (evaluation.constraint - open_by, GAP, ""),
        (constraints.velocity_residual(system, evaluation), RATE * speed, "/s"),
    ):
        sizes = np.abs(values * system.constraint_weight)
        if sizes.max(initial=0.0) > limit:
            row = int(np.argmax(sizes))
            owner, equation = system.constraint_owner[row]
            length = system.of_length[row]
            unit, advice = ("m" if length else "rad") + rate, DRIVE if owner.driven and not length else REST
            raise ModelError(
                f"steady_rotation: {owner} does not turn with the model at {speed:g} rad/s: at t = {motion.t:.3g} s it "
                f"opens by {values[row]:.3g} {unit} ({equation}){advice}"
            )


def _check_forces(equations: TurningEquations, here: Turning, there: Turning, Q: Array, angle: float) -> None:
    """Refuse elements whose forces do not turn with the model."""
    system = equations.system
    prescribed = zip(system.batches, system.prescribe(here.t).elements, system.prescribe(there.t).elements, strict=True)
    for batch, now, then in prescribed:
        force, context = batch.force(here, now)
        before, states = _in_world(system, batch, here, force)
        after, states_after = _in_world(system, batch, there, batch.force(there, then)[0])
        turned = np.where(equations.turning[batch.nodes][:, None, :, None, None], before @ Q.T, before)
        change = np.abs(after - turned).max(axis=(1, 2, 3, 4), initial=0.0)
        size = np.maximum(np.abs(before).max(axis=(1, 2, 3, 4)), np.abs(after).max(axis=(1, 2, 3, 4)))
        stiffness = np.abs(batch.stiffness(context)).max(axis=(1, 2)) * max(system.length, 1.0) ** 2
        rounding = SAME * size + ROUNDING * stiffness
        if (change > rounding).any():
            worst = int(np.argmax(change - rounding))
            _refuse(equations, batch.owners[worst], change[worst] / size[worst], angle)
        differs = (np.abs(states - states_after) > SAME * (np.abs(states) + 1.0)).any(axis=(1, 2))
        if differs.any():
            raise ModelError(
                f"steady_rotation: {batch.owners[int(np.argmax(differs))]} has internal variables that do not stay as "
                f"they are: what it depends on has changed when the model has turned by {angle:g} rad. Leave it out, "
                "or let it depend on rates, or on what turns alone"
            )


def _in_world(system: System, batch: ElementBatch, motion: Turning, force: Array) -> tuple[Array, Array]:
    """Forces times the extent and moments, ``(n, terms, p, 2, 3)`` in the world frame, and those of internal variables.

    Without those on what is held.
    """
    n, p = batch.nodes.shape
    terms = force.reshape(n, -1, force.shape[-1])
    of_nodes = np.where(system.free[batch.nodes].reshape(n, 1, 6 * p), terms[..., : 6 * p], 0.0)
    world = np.matvec(motion.R[batch.nodes][:, None, :, None], of_nodes.reshape(n, -1, p, 2, 3))
    world[..., 0, :] *= system.length
    return world, terms[..., 6 * p :]


def _check_reactions(equations: TurningEquations, here: Turning, there: Turning, Q: Array, angle: float) -> None:
    """Refuse reactions that turn and act on what rests, or have to turn where a joint has none in every direction."""
    system, scale = equations.system, equations.scale(equations.evaluate_at(here))
    before = _unborne(equations, here)
    turned = np.where(equations.turning[:, None, None], before @ Q.T, before)
    rounding = ROUNDING * max(system.length, 1.0) / equations.force_factor
    sizes = np.abs(_unborne(equations, there) - turned).max(axis=2) / (SAME * scale + rounding)
    if sizes.max() <= 1.0:
        return
    # what is left over spreads from the joint
    joints = dict.fromkeys(owner for owner, _ in system.constraint_owner)
    worst = max(joints, key=lambda joint: max(sizes[system.number(node)].max() for node in joint.nodes))
    raise ModelError(
        f"steady_rotation: the reaction of {worst} is not steady: when the model has turned by {angle:g} rad, it would "
        f"have to act in a direction in which the joint bears nothing, or acts on what does not turn{REST}"
    )


def _unborne(equations: TurningEquations, motion: Turning) -> Array:
    """Forces and moments ``(n, 2, 3)``, world frame, that no reactions can bear: the best ones are taken away."""
    system, evaluation = equations.system, equations.evaluate_at(motion)
    rows, columns = system.pattern.rows, system.pattern.columns
    diagonal, first = np.unique(np.where(rows == columns, rows, -1), return_index=True)
    diagonal, first = (part[diagonal >= 0] for part in (diagonal, first))
    metric = system.weight[system.free_rows] ** 2
    values = system.pattern.of_gradients(flat(evaluation.gradients))
    values[first] = metric[diagonal]
    solve = system.solver.factor(tangent.assemble(system, values)).solve
    d = solve(np.append(system.at_free(evaluation.force), np.zeros(system.m)))
    left = system.nodes_of(system.spread(metric * d[: system.n_free])).reshape(-1, 2, 3)
    world: Array = np.matvec(motion.R[:, None], left)
    return world


def _refuse(equations: TurningEquations, element: Element, change: float, angle: float) -> NoReturn:
    text = (
        f"steady_rotation: {element} does not act alike all round: when the model has turned by {angle:g} rad, its "
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
