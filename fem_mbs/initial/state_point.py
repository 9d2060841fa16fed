"""A point of the state space, and the equations of motion there before anything moves on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Component, ElementBatch, Method, Motion, State
from fem_mbs.contracts.arguments import listed
from fem_mbs.contracts.unilateral import TOUCHING
from fem_mbs.errors import LOG, ModelError, MotionError
from fem_mbs.system import constraints
from fem_mbs.system.batch_checks import check_shapes, not_finite
from fem_mbs.system.pattern import TINY
from fem_mbs.system.system import GAP, Evaluation, System


class StatePoint(NamedTuple):
    """A configuration and what is given of its rates: velocities of nodes and rates of coordinates."""

    t: float
    x: Array
    R: Array
    v: Array
    u: Array
    udot: Array


def as_built(system: System) -> StatePoint:
    """The initial configuration and velocities, as the user gave them."""
    V = system.velocities.copy()
    V[:, :3] = np.vecmat(V[:, :3], system.R0)
    v = system.kinematics.from_body(system.R0, V)
    place = StatePoint(0.0, system.x0, system.R0, v, system.u0, system.udot0)
    return place._replace(u=system.sensed(_motion(system, place)))


def place_of(state: State) -> StatePoint:
    """Where a state is."""
    return StatePoint(state.t, state.x, state.R, state.v, state.u, state.udot)


def without_accelerations(system: System, place: StatePoint) -> Evaluation:
    """The equations for vanishing body accelerations and multipliers."""
    motion = _motion(system, place)
    with np.errstate(over="ignore", invalid="ignore"):
        evaluation = system.evaluate(motion, np.zeros(system.m), system.prescribe(place.t))
    finite = np.isfinite(evaluation.force).all() and np.isfinite(evaluation.constraint).all()
    if not finite and (text := not_finite(system, evaluation)):
        raise MotionError(text)
    return evaluation


def _motion(system: System, place: StatePoint) -> Motion:
    t, x, R, v, u, udot = place
    V = system.kinematics.to_body(R, v)
    udot = np.where(system.order == 2, udot, 0.0)
    return Motion(t, x, R, V, np.zeros_like(V), system.gravity, u, udot, np.zeros_like(u), np.zeros(system.m))


ASSEMBLE = "model.assemble() closes joints that are open as built"
JOIN = (
    "its points and axes are those as built: say by point_b= and axis_b= what of node b comes to them, and begin with "
    "a state in which it is there (docs/cookbook.md, 'Latch a joint'); a drive counts as at that time"
)


def closed(system: System, place: StatePoint, limit: float = GAP, advice: str = ASSEMBLE) -> Evaluation:
    """The equations at a place, or a :class:`ModelError` that names the joint that is open there, with advice."""
    evaluation = without_accelerations(system, place)
    if worst := worst_joint(system, evaluation.constraint, limit):
        raise ModelError(f"{worst[0]} is open at t = {place.t:g}: its frames do not meet ({worst[1]}); {advice}")
    return evaluation


def check_system(system: System, caller: str) -> None:
    """Refuse a system in which nothing can move, or that breaks a contract; say what acts on parts never added."""
    for part, text in apart(system):
        LOG.warning("%s: %s %s", caller, part, text)
    refuse_broken(system, caller)


def refuse_broken(system: System, caller: str) -> None:
    """Raise :class:`ModelError` if nothing can move, or an element or a joint breaks its contract."""
    if system.n_free == 0:
        raise ModelError(
            f"{caller}: nothing can move: "
            + ("the model has no node beside the ground" if system.n == 1 else f"all {system.n} nodes are held")
            + ". Add nodes with model.add_node and give them bodies or beams"
        )
    motion = _motion(system, as_built(system))
    for joints in system.constraint_batches:
        joints.check_start(motion)
    check_shapes(system, motion, system.prescribe(0.0))


def apart(system: System) -> Iterator[tuple[str, str]]:
    """Parts that act on joints or elements which were made and never added, by name, and what to do."""
    for part in system.number.parts:
        for value in vars(part).values():
            for own in value if isinstance(value, tuple | list) else (value,):
                if Component in type(own).__mro__ and own not in system.number:
                    text = f"acts on {own}, which was made and not added: it does nothing itself; add it with model.add"
                    yield str(part), text


def refuse_contacts(system: System, caller: str, instead: str) -> None:
    """Refuse rigid contacts, stops and ropes, by the name of the first."""
    for batch in system.batches:
        if batch.unilateral:
            raise ModelError(
                f"{caller}: {batch.owners[0]} may open and close, which {caller} does not follow; {instead}"
            )


def refuse_impacts(system: System, method: Method) -> None:
    """The same for methods that have none."""
    if not method.impacts:
        refuse_contacts(system, str(method), "take method=NonsmoothAlpha()")


BETWEEN = 1e-4
"""By how much, over the extent of the model, joints may be open and contacts deep in a state between steps of half a
radian."""
PRESSED, DEPTH = 10.0, 1e-4
"""A force so many times all others together, by a depth of so much of the extent, or in rad, is hardly meant."""
PLACED = (
    "place the bodies, or the ends of stops, so that they touch at most; center= of shapes and the point of a Plane "
    "are in the world, and a Plane is solid against its normal"
)


def refuse_deep(system: System, motion: Motion) -> None:
    """Raise :class:`ModelError` for the first of the rigid contacts and stops that are deep."""
    for part, text in deep(system, motion):
        raise ModelError(f"{part}: {text}; {PLACED}")


def deep(system: System, motion: Motion) -> Iterator[tuple[str, str]]:
    """Rigid contacts and stops that are deep, by name, and how deep."""
    for batch in system.batches:
        if batch.unilateral:
            yield from _deeper(system, batch, motion, TOUCHING)


def pressed(system: System) -> Iterator[tuple[str, str]]:
    """The same of those that yield, as built, and push much more than all else."""
    yielding = [b for b in system.batches if not b.unilateral and type(b).gaps is not ElementBatch.gaps]
    motion = _motion(system, as_built(system))
    if not (found := [own for batch in yielding for own in _deeper(system, batch, motion, DEPTH)]):
        return
    others = system.nodes_of(without_accelerations(system, as_built(system)).force).copy()
    push = 0.0
    for batch in yielding:
        forces, _ = batch.force(motion, batch.at(motion.t))
        forces = forces[:, : 6 * batch.nodes.shape[1]].reshape(*batch.nodes.shape, 6)
        push = max(push, _largest(system, forces))
        np.subtract.at(others, batch.nodes, forces)
    if push > PRESSED * _largest(system, others):
        for part, text in found:
            yield part, f"{text}, and pushes far more than all else; {PLACED}"


def _deeper(system: System, batch: Any, motion: Motion, least: float) -> Iterator[tuple[str, str]]:
    gaps = (batch.whole if batch.unilateral else batch).gaps(motion)
    unit, size = ("rad", 1.0) if batch.angle else ("m", system.length)
    for row in np.flatnonzero(gaps.min(axis=1, initial=0.0) < -least * size).tolist():
        part, k = batch.part(row) if batch.unilateral else batch.owners[row], int(gaps[row].argmin())
        what = f"its {part.contacts[k]}" if part.contacts else "it"
        nodes = [str(own) for own in part.nodes] if not batch.angle else []
        between = f", between {' and '.join(nodes)}," if len(nodes) == 2 else ""
        yield str(part), f"{what}{between} is {-gaps[row, k]:.3g} {unit} deep at t = {motion.t:g} s"


def _largest(system: System, forces: Array) -> float:
    """The largest of forces and moments ``(..., 6)``, moments over the extent of the model."""
    return float(np.abs(forces * np.repeat([1.0, 1.0 / system.length], 3)).max(initial=0.0))


def largest_gap(system: System, values: Array) -> float:
    """The largest of values of the constraint equations, lengths against the extent of the model."""
    return float(np.abs(values * system.constraint_weight).max(initial=0.0))


def largest_speed(system: System, motion: Motion) -> float:
    """In extents of the model, rad and sizes of internal variables a second."""
    return float(np.abs(constraints.body_velocity(motion) * system.weight).max(initial=0.0))


def pace(system: System, evaluation: Evaluation) -> float:
    """How fast the model moves, or its largest forces would move all of it, rates in 1/s as above; 1 if neither does.

    What has a unit of time is judged by it.
    """
    (force, moment), masses = evaluation.scale, system.nodes_of(system.diagonal_mass).reshape(-1, 2, 3).sum(axis=(0, 2))
    inertia, acts = masses @ (system.length**2, 1.0), max(force, moment) > TINY
    push = float(np.sqrt(max(force * system.length, moment) / inertia)) if acts and inertia > 0.0 else 0.0
    return max(push, largest_speed(system, evaluation.motion)) or 1.0


def by_joint(system: System, equations: Mapping[int, str]) -> list[str]:
    """Equations with what is said of each, put together by their joints: "joint 'a', joint 'b': position x by 0.1"...

    What is the same of several joints, or of models side by side, whose joints have the same names, is said once.
    """
    told: dict[str, dict[str, None]] = {}
    for row, words in equations.items():
        owner, equation = system.constraint_owner[row]
        told.setdefault(str(owner), {})[f"{equation} {words}".rstrip()] = None
    alike: dict[str, list[str]] = {}
    for joint, names in told.items():
        alike.setdefault(", ".join(names), []).append(joint)
    return [f"{listed(joints)}: {names}" for names, joints in alike.items()]


def worst_joint(system: System, values: Array, limit: float, wanted: str = "expected") -> tuple[object, str] | None:
    """The joint with the largest of the values and what it says, if that is above a limit."""
    sizes = np.abs(values * system.constraint_weight)
    if sizes.max(initial=0.0) <= limit:
        return None
    row = int(np.argmax(sizes))
    owner, equation = system.constraint_owner[row]
    return owner, f"{equation}: {values[row]:.3g} where 0 is {wanted}"
