"""Whether a motion that turns a model as one body solves its equations at all times, and what prevents it if not.

The model is turned by some angles, at the times at which it would be there: joints have to stay closed at that speed,
and the forces of every element have to turn with the model.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.modal.steady_axes import ANGLES
from fem_mbs.modal.turned import TurnedMatrices, TurnedModel, ahead
from fem_mbs.static.equations import Point
from fem_mbs.static.turning import Turning, TurningEquations
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
    seen = TurnedModel(system, here, np.where(equations.turning[:, None], equations.omega, 0.0))
    start = seen.at(0.0)
    for angle in ANGLES:
        Q = so3.exp(angle * equations.omega / speed)
        there = ahead(here, angle / speed)
        _check_joints(system, there, open_by, speed)
        _check_forces(equations, start, seen.at(angle / speed), angle)
        _check_reactions(equations, here, there, Q, angle)


def _check_joints(system: System, motion: Turning, open_by: Array, speed: float) -> None:
    evaluation = system.joints(motion, system.prescribe(motion.t))
    for values, limit, rate in (
        (evaluation.constraint - open_by, GAP, ""),
        (system.velocity_residual(evaluation), RATE * speed, "/s"),
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


def _check_forces(equations: TurningEquations, start: TurnedMatrices, there: TurnedMatrices, angle: float) -> None:
    """Refuse elements whose forces do not turn with the model."""
    system = equations.system
    parts = zip(system.batches, start.forces, there.forces, start.of_cells, strict=False)
    for batch, before, after, (stiffness, _, _) in parts:
        of_nodes = 6 * batch.nodes.shape[1]
        units = np.tile(np.repeat([system.length, 1.0], 3), of_nodes // 6)
        change = np.abs(units * (after - before)[..., :of_nodes]).max(axis=(1, 2), initial=0.0)
        size = np.abs(units * np.stack([before, after])[..., :of_nodes]).max(axis=(0, 2, 3), initial=0.0)
        rounding = SAME * size + ROUNDING * np.abs(stiffness).max(axis=(1, 2)) * max(system.length, 1.0) ** 2
        if (change > rounding).any():
            worst = int(np.argmax(change - rounding))
            _refuse(equations, batch.owners[worst], change[worst] / size[worst], angle)
        own = before[..., of_nodes:]
        differs = (np.abs(after[..., of_nodes:] - own) > SAME * (np.abs(own) + 1.0)).any(axis=(1, 2))
        if differs.any():
            raise ModelError(
                f"steady_rotation: {batch.owners[int(np.argmax(differs))]} has internal variables that do not stay as "
                f"they are: what it depends on has changed when the model has turned by {angle:g} rad. Leave it out, "
                "or let it depend on rates, or on what turns alone"
            )


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
    solve = tangent.factorized(system, values).solve
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
