"""Steady rotation: the deformed shape in which a model turns as one body.

It is sought near a given one, at the end of the path from rest, or where the model sinks to. A node at ``r`` from a
point of the axis has the velocity ``omega x r`` and the acceleration ``omega x (omega x r)``, and ``omega`` is its own
angular velocity; docs/theory.md, "Steady rotation".

Whether that motion solves the equations at all times is looked at by some angles, at the times at which the model would
be there: joints have to stay closed at that speed, and the forces of every element have to turn with the model.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Direction as Axis
from fem_mbs.contracts import Element, Motion, Node, Report, State, Vector3, checked
from fem_mbs.contracts.constraint import NodeOrName, of_kind
from fem_mbs.errors import LOG, ConvergenceError, FemMbsError, LawError, ModelError, SingularSystemError
from fem_mbs.initial.state_point import check_system, refuse_contacts
from fem_mbs.modal.linear_model import linear_equations
from fem_mbs.modal.modes import growing, solve_modes
from fem_mbs.modal.steady_axes import ANGLES
from fem_mbs.modal.turned import TurnedMatrices, TurnedModel
from fem_mbs.model.model import Model
from fem_mbs.newton import FAILURES, Newton, NotConvergedError
from fem_mbs.solution.history import Outcome, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import nearest
from fem_mbs.static.equations import Point, StepProblem, unstable_motions
from fem_mbs.static.path import EquilibriumPath
from fem_mbs.static.start import settle, start
from fem_mbs.static.turning_equations import SpinningEquations, TurningEquations
from fem_mbs.system import matrices as tangent
from fem_mbs.system.pattern import flat
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System

ITERATIONS = 25
STEPS = 200
"""Steps from rest to the speed."""
LOOSE = 1e-8
"""Torque or force along a motion that nothing resists, against the largest of the model, that is none."""
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


@checked
def steady_rotation(
    model: Model,
    angular_velocity: Vector3,
    *,
    point: Vector3 = (0.0, 0.0, 0.0),
    turning: Iterable[NodeOrName] | None = None,
    initial: State | None = None,
    newton: Newton | None = None,
) -> Solution:
    """Find the deformed shape in which a model turns as one body about an axis that stands still.

    In the frame that turns with it the model is at rest under centrifugal forces, its own stresses, reactions, gravity
    along the axis and loads that turn with it.

    Parameters
    ----------
    model : Model
        What turns. Its own initial velocities play no part. A joint with the axis of rotation leaves the rotation free
        or drives it at this speed; a node that ``model.fix`` holds rests in the world.
    angular_velocity : (3,)
        In rad/s, world frame; zeros for rest.
    point : (3,)
        A point of the axis, world frame.
    turning : list, optional
        The nodes that turn, or their names; the others rest, as those of a stator. By default all that the model does
        not hold.
    initial : State, optional
        Where to begin the search, such as the result at another speed, and the time of loads and drives; by default
        the model as built at t = 0. Of several solutions the one near it is found.
    newton : Newton, optional
        Tolerances and options of Newton's method.

    Returns
    -------
    Solution
        Of the one state, ``solution.state(-1)``, with its velocities, accelerations and multipliers: reactions, section
        forces and energies are those of the rotation. :func:`simulate` goes on from it, :func:`modes` and
        :func:`linearize` are about it.

    Raises
    ------
    ModelError
        If an argument is not valid, or the model cannot turn steadily: names the joint, the load or the element that
        does not act alike all round.
    SingularSystemError
        If the shape is not unique: names the motions without resistance.
    ConvergenceError
        If no solution is found; ``error.solution`` is the one at the highest speed that was reached on the way.

    Notes
    -----
    Newton's method on SE(3) at the full speed from the position as built, and, if that fails or what it finds is
    unstable, a path of equilibria from rest to the speed. A shape that is unstable all the same is returned with a
    warning. Motions along the axis and about it that nothing resists end where they began.
    """
    begun, system = time.perf_counter(), System(model)
    given = None if initial is None else from_user(system, initial, "steady_rotation: initial")
    omega, at = np.asarray(angular_velocity, float), np.asarray(point, float) - system.origin
    equations = TurningEquations(system, omega, at, turning_rows(system, turning, "steady_rotation"), given)
    refuse_unsteady_start(equations)
    return steady(equations, given, newton, begun)


@checked
def steady_spin(
    model: Model,
    speed: float,
    *,
    turning: Iterable[NodeOrName] | None = None,
    axis: Axis = (1.0, 0.0, 0.0),
    initial: State | None = None,
    newton: Newton | None = None,
) -> Solution:
    """Find where a rotor stays that turns about its own bent line, as under its weight in its bearings.

    Parameters
    ----------
    model : Model
        A rotor on its supports, alike all round, with loads that stand still; its own initial velocities play no part.
        A joint about the axis leaves the rotation free or drives it at this speed.
    speed : float
        In rad/s, with ``axis``.
    axis : (3,)
        Of rotation as built, world frame; each node that turns keeps the axis that it sees there.
    turning, initial, newton
        As of :func:`steady_rotation`.

    Returns
    -------
    Solution
        As that of :func:`steady_rotation`.

    Raises
    ------
    FemMbsError
        As :func:`steady_rotation`; if the rotor or what holds it does not act alike as it turns, names the element.

    Notes
    -----
    Points stay where they are, and directions turn about axes that do: ``V = (0, speed a)`` with ``a`` fixed in each
    node, ``A = 0``. Damping of what turns pushes it aside, and takes a torque that something has to resist. A rotor out
    of balance goes round: :func:`steady_rotation`, without loads across the axis.
    """
    begun, system = time.perf_counter(), System(model)
    given = None if initial is None else from_user(system, initial, "steady_spin: initial")
    rows = turning_rows(system, turning, "steady_spin")
    equations = SpinningEquations(system, speed, np.asarray(axis), rows, given)
    return steady(equations, given, newton, begun)


def steady(equations: TurningEquations, given: State | None, newton: Newton | None, begun: float) -> Solution:
    """The state that solves the equations near the one given, or the model as built, and goes on solving them."""
    system, newton = equations.system, newton or Newton(max_iterations=ITERATIONS)
    check_system(system, equations.label)
    refuse_contacts(system, equations.label, "replace closed contacts by joints, and leave open ones out")
    first = (equations.as_built() if given is None else Point.of(given))._replace(load=1.0)
    equations.handle_repeated(first, "at the start")
    equations.hold_free_motions(first)
    _refuse_torque(equations, first)
    shape, report = _shape(equations, first, newton, begun)
    _refuse_torque(equations, shape)
    refuse_unsteady(equations, shape)
    return _solution(equations, shape, Outcome.FINISHED, report, begun, given)


def turning_rows(system: System, turning: Iterable[NodeOrName] | None, name: str) -> BoolArray:
    """True for the nodes that turn, ``(n,)``."""
    rows: BoolArray = np.zeros(system.n, np.bool_)
    label = f"{name}: turning"
    if turning is None:
        rows[system.free.any(axis=1)] = True
    else:
        rows[[system.number(of_kind(system.find(node, label), Node, label)) for node in turning]] = True
    if not system.free[rows].any():
        what = "none but held nodes" if rows.any() else "no nodes"
        raise ModelError(f"{label} names {what}; by default all turn that the model does not hold")
    return rows


def _refuse_torque(equations: TurningEquations, point: Point) -> None:
    """Refuse a torque about the axis, or a force along it, that nothing resists."""
    motions = equations.free_motions
    if not len(motions):
        return
    evaluation, system = equations.evaluate(point), equations.system
    work = -motions @ evaluation.force
    parts = np.abs(motions[:, : 6 * system.n]).reshape(-1, system.n, 2, 3).max(axis=(1, 3))
    loose = np.abs(work) > LOOSE * parts @ equations.scale(evaluation)
    if loose.any():
        which = int(np.argmax(loose))
        kind, unit = ("torque about", "N m") if parts[which, 1] > 0.0 else ("force along", "N")
        raise ModelError(
            f"{equations.label}: a {kind} the axis of {work[which]:.4g} {unit} acts, and nothing resists it: the "
            "model would speed up. Give the joint about the axis a drive at this speed, drive=lambda t: speed * t, or "
            "take the load away"
        )


def _shape(equations: TurningEquations, first: Point, newton: Newton, begun: float) -> tuple[Point, Report]:
    """The solution near a configuration by Newton's method at the full speed, or else one found on other ways.

    Where that is unstable, the one that the model comes to from rest, if that is not.
    """
    problem = StepProblem(equations, first, None, not newton.line_search)
    try:
        _, (shape, _), report = problem.solve(equations.evaluate(first), newton)
    except LawError:
        raise
    except FAILURES as failure:
        refuse_unsteady(equations, first)
        return _otherwise(equations, first, newton, failure, begun)
    if report.iterations and (text := equations.mechanism(shape, f"in {equations.what}")):
        refuse_unsteady(equations, shape)
        raise SingularSystemError(text)
    if not _runs_away(equations, shape):
        return shape, report
    try:
        from_rest, its_report = _end(_from_rest(equations, newton))
        if not _runs_away(equations, from_rest):
            return from_rest, its_report
    except FemMbsError as failure:
        LOG.info("%s: from rest no stable shape was found: %s", equations.label, failure)
    LOG.warning(
        "%s: the shape found at %g rad/s is unstable, which mbs.modes shows. For another one, give a position near it "
        "as initial, or a small load or imperfection towards it",
        equations.label,
        np.linalg.norm(equations.omega),
    )
    return shape, report


def _runs_away(equations: TurningEquations, point: Point) -> bool:
    """Whether a motion runs away from a shape: no resistance is not enough, as gyroscopic forces may hold it."""
    if unstable_motions(equations, point) <= 0:
        return False
    try:
        state = equations.system.to_user(equations.state(point))
        return growing(solve_modes(linear_equations(equations.system, state))) > 0
    except FemMbsError as failure:
        LOG.info("%s: whether the shape is stable is not known: %s", equations.label, failure)
        return False


def _solution(
    equations: TurningEquations, point: Point, outcome: Outcome, report: Report, begun: float, given: State | None
) -> Solution:
    """The solution with the one state, whose angles go on from those of a state given."""
    system, state = equations.system, equations.state(point)
    iterations, seconds = np.array([report.iterations]), time.perf_counter() - begun
    stats = Stats(iterations, report.evaluations, report.factorizations, 0, 0, np.zeros(1), seconds)
    turns = None if given is None else nearest(system, given, state)
    return Solution(system, [state], outcome, stats, turns=turns)


def _from_rest(equations: TurningEquations, newton: Newton) -> EquilibriumPath:
    """The path of equilibria from rest to the speed, at its start."""
    return EquilibriumPath(equations, start(equations, None, False, newton, equations.label), newton, False, None)


def _end(path: EquilibriumPath) -> tuple[Point, Report]:
    """The end of the path."""
    for _ in range(STEPS):
        report = path.go_on(np.array([1.0])).report
        if path.here.point.load == 1.0:
            return path.here.point, report
    raise NotConvergedError(f"no end in {STEPS} steps")


def _otherwise(
    equations: TurningEquations, first: Point, newton: Newton, near: FemMbsError, begun: float
) -> tuple[Point, Report]:
    """The solution where Newton's method has found none near a configuration."""
    path: EquilibriumPath | None = None
    try:
        return _end(path := _from_rest(equations, newton))
    except LawError:
        raise
    except FemMbsError as failure:
        from_rest = failure
    try:
        shape = settle(equations, first, newton)
        if not equations.mechanism(shape, f"in {equations.what}"):
            return shape, Report()
    except ConvergenceError as failure:
        LOG.info("%s", failure)
    if text := equations.mechanism(first, f"in {equations.what}"):
        raise SingularSystemError(text) from near
    if path is not None:
        _refuse_torque(equations, path.here.point)
    speed = float(np.linalg.norm(equations.omega))
    reached = equations.up_to(0.0 if path is None else path.here.point.load)
    ended = ConvergenceError(
        f"no {equations.what} at {speed:g} rad/s was found near the position given: {near}\n  nor {reached}: "
        f"{from_rest}\n  near a critical speed the model gives way: go past it, and give a "
        "position near what you expect as initial, such as the result at a speed beyond"
    )
    if path is not None:
        ended.solution = _solution(equations, path.here.point, Outcome.FAILED, Report(), begun, None)
    raise ended from near


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
    spin = float(np.linalg.norm(equations.omega))
    for batch, rows, before, after, (stiffness, damping, _) in parts:
        of_nodes, units = 6 * batch.nodes.shape[1], 1.0 / system.weight[rows]
        felt, moments = np.abs(stiffness * units[:, None]).max(axis=2), units[:, :of_nodes]
        own, change = before[..., of_nodes:], after - before
        size = np.abs(moments[:, None] * np.stack([before, after])[..., :of_nodes]).max(axis=(0, 2, 3), initial=0.0)
        rounding = ROUNDING * (moments * felt[:, :of_nodes]).max(axis=1, initial=0.0) + SAME * size + unresolved
        felt += spin * np.abs(damping * units[:, None]).max(axis=2)  # what is made of rates
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
