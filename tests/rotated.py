"""The campaign of rotated models: every class of the library in a model that is built twice, once turned and shifted.

Every place, axis and direction that is given in the world goes through the pose of a stage, and nothing else does: what
a body has in its own frame stays. Then every result has to turn with the model.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import meshio
import numpy as np
from catalogue import EVERYTHING, JOINTS, PLAIN, SLIM, flexible_body
from numpy.random import Generator

import fem_mbs as mbs
from fem_mbs import elements
from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint, Element, Placed
from fem_mbs.elements import (
    Ball,
    Beam,
    Box,
    Bushing,
    Constant,
    Cylinder,
    DistanceJoint,
    ExternalInput,
    Force,
    ForceActuator,
    Harmonic,
    Junction,
    LeadLag,
    LowPass,
    MeshLoad,
    MultiplierSensor,
    NodeSensor,
    PlanarJoint,
    PointToPoint,
    Ramp,
    RevoluteJoint,
    RigidBody,
    SampledController,
    SCurve,
    SmoothStep,
    Surface,
    Table,
    TorqueMotor,
    Truss,
    Vector,
    beams_from_mesh,
)
from fem_mbs.lie import so3
from fem_mbs.model.model import Model
from fem_mbs.testing.stage import HOME, Make, RigidMotion, Stage, build

GROUPS = ("R3xSO3", "SE3")
T_END, STEP = 0.06, 0.01
EXACT = 1e-7
"""Differences of results against their size, beyond what Newton's method and rounding leave."""
METHOD = mbs.GeneralizedAlpha(0.8, newton=mbs.Newton(force_tolerance=1e-12))
CONTACT = mbs.NonsmoothAlpha(newton=METHOD.newton)


def _mesh(n: Stage) -> meshio.Mesh:
    """A bent line whose points are in the world."""
    points = [n.point(p) for p in ((3.0, 0, 0), (3.5, 0.1, 0), (4.0, 0.3, 0.2))]
    return meshio.Mesh(np.array(points), [("line", np.array([[0, 1], [1, 2]]))])


def _meshed(n: Stage) -> Element:
    structure = beams_from_mesh(n.model, _mesh(n), PLAIN, y_axis=n.vector((0, 1, 2)))
    for node in structure.nodes.values():
        n.model.add(RigidBody(node, 1.0, (0.3, 0.3, 0.3)))
        n.model.add(Bushing(n.model.ground, node, 6 * [20.0], damping=0.1, axes=n.pose.Q))
    return Force(structure.nodes[0], n.vector((1.0, 2.0, 3.0)))


def _line(n: Stage) -> Element:
    beam = Beam.line(n.model, n.point((3, 0, 0)), n.point((4, 1, 0.5)), SLIM, elements=2, y_axis=n.vector((0, 1, 2)))
    n.model.add(Bushing(n.model.ground, beam.nodes[0], 6 * [20.0], damping=0.1, axes=n.pose.Q))
    return Force(beam.nodes[-1], n.vector((1.0, 2.0, 3.0)))


def _body(n: Stage, kind: str) -> Element:
    place, axis, turn = n.point((0.3, 0.1, 0.4)), n.vector((1, 2, 3)), n.pose.Q @ so3.exp(np.array([0.3, -0.5, 0.8]))
    triangle = meshio.Mesh([[0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]], [("triangle", [[0, 1, 2]])])
    shapes = {
        "box": lambda: Box((0.1, 0.2, 0.3), center=place, rotation=turn),
        "cylinder": lambda: Cylinder(0.1, 0.5, axis, center=place),
        "ball": lambda: Ball(0.1, center=place),
        "surface": lambda: Surface(triangle, scale=0.2, center=place, rotation=turn),
        "box at the node": lambda: Box((0.1, 0.2, 0.3)),
        "cylinder along the node": lambda: Cylinder(0.1, 0.5),
    }
    return RigidBody(n.line[1], 2.0, (1.0, 2.0, 2.5), shape=shapes[kind]())


def _measured(n: Stage, chain: Callable[[Any], Any]) -> Element:
    """What a force becomes that a sensor drives through blocks."""
    sensor = n.model.add(NodeSensor(n.line[1], "velocity", n.vector((1, 2, 3)), point=n.point((0.1, 0.5, 0.2))))
    return ForceActuator(n.line[1], chain(sensor), n.vector((1, -1, 2)), point=n.point((0.3, 0, 0.1)))


def _loop(n: Stage, sensor: Any) -> Any:
    junction = n.model.add(Junction())
    first = n.model.add(LowPass(2.0 - 0.5 * junction + sensor, 0.1))
    junction.connect(n.model.add(LeadLag(first, 0.2, 0.1)))
    return first


def _felt(n: Stage, make: Callable[[Stage], Constraint], equation: str) -> Element:
    """A sensor of the reaction of a joint."""
    return MultiplierSensor(n.model.add(make(n)), equation)


def _driven(law: Callable[[], Any], n: Stage) -> Constraint:
    return RevoluteJoint(n.line[1], n.arc[0], n.vector((1, 2, -1)), point=n.point((0.4, 0.1, -0.2)), drive=law())


CAMS = ("cam with a flat follower", "cam with a roller")


def _pressed(make: Make, n: Stage) -> Constraint:
    """A cam whose follower is pressed on it."""
    n.model.add(Force(n.arc[1], n.vector((0, -60.0, 0))))
    n.model.add(Force(n.line[0], n.vector((0, 60.0, 0))))
    return make(n)


LAWS: dict[str, Callable[[], Any]] = {
    "point to point": lambda: PointToPoint(0.0, 0.3, duration=1.0),
    "smooth step": lambda: SmoothStep(0.3, duration=1.0),
    "S-curve": lambda: SCurve(distance=0.3, speed=1.0, acceleration=5.0, jerk=50.0),
    "harmonic": lambda: Harmonic(0.1, 3.0),
    "table": lambda: Table([0.0, 0.5, 1.0, 2.0], [0.0, 0.1, 0.2, 0.1]),
}


def _mesh_load(n: Stage) -> MeshLoad:
    """On a flexible body, which is not returned."""
    forces = np.random.default_rng(3).normal(size=(45, 3))
    return MeshLoad(n.model.add(flexible_body(n, loads={"gusts": 0.1 * forces})), "gusts", lambda t: 1.0 + t)


MORE: dict[str, Make] = {
    "load on a mesh": _mesh_load,
    **{f"drive by a {name}": partial(_driven, law) for name, law in LAWS.items()},
    **{
        f"body as a {kind}": partial(_body, kind=kind)
        for kind in ("box", "cylinder", "ball", "surface", "box at the node", "cylinder along the node")
    },
    "beams of a mesh": _meshed,
    "line of beams": _line,
    "force by laws": lambda n: Force(
        n.line[1],
        Vector(*n.vector((1, 2, 3))) * Ramp(1.0, begin=0.02, corner=0.02) + Constant(n.vector((1, 0, 2))),
        point=n.point((0.4, 0.1, -0.2)),
    ),
    **{name: partial(_pressed, JOINTS[name]) for name in CAMS},
    "torque from outside": lambda n: TorqueMotor(_driven(lambda: None, n), ExternalInput(2.0)),
    "force through a low pass and a lead-lag": lambda n: _measured(n, partial(_loop, n)),
    "force through a sampled controller": lambda n: _measured(
        n, lambda s: n.model.add(SampledController(s, 0.02, lambda t, x, u: 0.5 * u[0], outputs=1))
    ),
    "sensor of a reaction in a plane": lambda n: _felt(
        n, lambda n: PlanarJoint(n.line[1], n.arc[0], n.vector((1, 2, -1))), "translation z"
    ),
    "sensor of a reaction across a hinge": lambda n: _felt(n, partial(_driven, lambda: None), "translation x"),
    "sensor of a pull": lambda n: _felt(n, lambda n: DistanceJoint(n.line[1], n.arc[0]), "length"),
}

CASES = {**EVERYTHING, **MORE}
NO_EQUILIBRIUM = {
    **dict.fromkeys(
        ("bristles in a slider", "bristles in a hinge", "bristles by reactions in a hinge"), "it may creep"
    ),
    **dict.fromkeys(("speed motor", "PID with a rate"), "its integral has no value at rest"),
}
"""Why some are refused by statics, here and there alike."""
ALONG_THE_WORLD = ("fixed", "orientation")
"""Joints whose axes are those of the world as built, as they say: their numbers turn as vectors do."""
STRANGE = "stranger"
"""How the name begins of what stands beside the model that is turned."""
NO_ZERO = ("gravity of a beam, a function",)
"""What has a potential that changes in time, by more the farther away it is."""


def turned(rng: Generator) -> RigidMotion:
    """A pose, uniformly distributed over all rotations, metres away."""
    q = rng.normal(size=4)
    w, v = q[0] / np.linalg.norm(q), q[1:] / np.linalg.norm(q)
    return RigidMotion((w**2 - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * so3.skew(v), 3.0 * rng.normal(size=3))


def model_of(make: Make, group: str, pose: RigidMotion, moving: bool) -> Model:
    """A part on six bodies that soft bushings hold and forces push, at rest or moving as the part allows."""
    rng = np.random.default_rng(7)

    def whole(n: Stage) -> Element | Constraint:
        for k, node in enumerate(n.nodes):
            n.model.add(RigidBody(node, 2.0 + k, (1.0, 2.0, 2.5), center_of_mass=0.1 * rng.normal(size=3)))
            stiffness = (300.0, 400.0, 500.0, 200.0, 250.0, 300.0)
            n.model.add(Bushing(n.model.ground, node, stiffness, damping=0.05, axes=n.pose.Q))
            n.model.add(Force(node, n.vector(2.0 * rng.normal(size=3))))
            if moving:
                node.velocity, node.angular_velocity = n.vector(0.5 * rng.normal(size=3)), 0.5 * rng.normal(size=3)
        if pose is not HOME and not moving:  # an equilibrium has nothing to do with what stands beside
            node = n.model.add_node(n.line[1].position, name=STRANGE)
            n.model.add(RigidBody(node, 1e-3, 3 * [1e-3]), name=f"{STRANGE} body")
            n.model.fix(node)
        return make(n)

    model, _ = build(whole, group=group, pose=pose)
    if moving and model.constraints:
        mbs.project_velocities(model)
    return model


def results(solution: mbs.Solution, pose: RigidMotion, name: str) -> Iterator[tuple[str, Array]]:
    """Every result, brought back from where the model was built."""
    back = pose.Q
    nodes, elements, joints = (
        [own for own in parts if not own.name.startswith(STRANGE)]
        for parts in (solution.model.nodes, solution.model.elements, solution.model.constraints)
    )
    for node in nodes[1:]:  # the ground stays where the world is
        yield f"position of {node}", (solution.position(node) - pose.c) @ back
        R = solution.rotation(node)
        yield f"rotation of {node} since the start", back.T @ R @ node.rotation.T @ back
        yield f"velocity of {node}", solution.velocity(node) @ back
        yield f"angular velocity of {node}", np.matvec(R, solution.angular_velocity(node)) @ back
        yield f"acceleration of {node}", solution.acceleration(node) @ back
    for joint in joints:
        force, moment = solution.reaction(joint)
        yield f"reaction force of {joint}", force @ back
        yield f"reaction moment of {joint}", moment @ back
        multipliers = solution.multipliers(joint)
        coordinates = solution.coordinate(joint) if joint.coordinates else np.empty((len(solution.t), 0))
        if name in ALONG_THE_WORLD:  # cosines are no vector, and in the reaction moment anyway
            held = multipliers[:, [equation.startswith("translation") for equation in joint.equations]]
            multipliers, coordinates = (values.reshape(len(values), -1, 3) @ back for values in (held, coordinates))
        yield f"multipliers of {joint}", multipliers
        yield f"coordinates of {joint}", coordinates
    for part in (*elements, *joints):
        if part.internal_variables:
            yield f"internal variables of {part}", solution.internal_variables(part)
    for element in elements[3 * 6 :]:  # after the body, the bushing and the force of each of six nodes
        if element.nodes and not element.contacts:
            moves = [node is not solution.model.ground for node in element.nodes]
            for what, values in zip(("forces", "moments"), solution.nodal_forces(element), strict=True):
                yield f"{what} of {element}", values[:, moves] @ back
        elif element.contacts and not element.slots:
            yield f"gaps of {element}", solution.gap(element)
            yield f"contact forces of {element}", solution.contact_force(element) @ back
        if isinstance(element, Beam | Truss):
            yield f"section forces of {element}", solution.section_forces(element)
    energy = solution.energy
    yield "kinetic energy", energy.kinetic
    yield "strain energy", energy.strain
    # where gravity grows, its energy at the start is no reference
    if not isinstance(solution, mbs.StaticSolution) and name not in NO_ZERO:
        yield "change of gravity's energy", energy.gravity - energy.gravity[0]


def pictures(model: Model) -> Iterator[tuple[str, Array]]:
    """Where the shapes of bodies are on their nodes, and how they extend."""
    for element in model.elements:
        if element.name.startswith(STRANGE):
            continue
        placed: Sequence[Placed] = element.shapes(1.0)
        for each in placed:
            points = each.shape.faces(8).points
            yield f"shape of {element}", np.concatenate([[points.mean(axis=0)], np.cov(points.T)])


def apart(one: Iterable[tuple[str, Array]], other: Iterable[tuple[str, Array]]) -> dict[str, float]:
    """Results that are not the same, by their relative difference."""
    found = {}
    for (name, first), (_, second) in zip(one, other, strict=True):
        difference = float(np.abs(np.subtract(second, first)).max(initial=0.0)) / max(
            1.0, float(np.abs(first).max(initial=0.0))
        )
        if not difference < EXACT:
            found[name] = difference
    return found


def differences(name: str, group: str, pose: RigidMotion, how: str) -> dict[str, float]:
    """What does not turn with a model: of a run, or of an equilibrium."""

    def found(where: RigidMotion) -> list[tuple[str, Array]]:
        model = model_of(CASES[name], group, where, moving=how == "run")
        solution = (
            mbs.simulate(model, T_END, STEP, CONTACT if any(e.contacts for e in model.elements) else METHOD)
            if how == "run"
            else mbs.statics(model)
        )
        last = slice(None) if how == "run" else slice(-1, None)  # the way to an equilibrium may have other steps
        return [(name, values[last]) for name, values in results(solution, where, name)] + [*pictures(model)]

    return apart(found(HOME), found(pose))


def classes() -> set[str]:
    """Names of the public classes that models are made of.

    A ``BeamMesh`` only lists what was added to one, and an ``Interface`` is what a ``Reduction`` is made with.
    """
    every = {name for name in elements.__all__ if isinstance(getattr(elements, name), type)}
    return every - {"BeamMesh", "Interface"}


def used(model: Model) -> set[str]:
    """Names of the classes of all objects that a model is made of, bases included."""
    names: set[str] = set()
    seen: set[int] = set()
    waiting: list[Any] = [*model.elements, *model.constraints]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, list | tuple | set):
            waiting += thing
        elif isinstance(thing, dict):
            waiting += thing.values()
        elif type(thing).__module__.startswith(("fem_mbs", "catalogue")):
            names |= {kind.__name__ for kind in type(thing).__mro__}
            waiting += vars(thing).values()
    return names


def main() -> None:
    """Command line: as many rotations of everything, and what does not turn."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    total = 0
    for seed, name, group, how in product(range(options.count), CASES, GROUPS, ("run", "equilibrium")):
        if options.only in name and not (how == "equilibrium" and name in NO_EQUILIBRIUM):
            total += 1
            try:
                found = differences(name, group, turned(np.random.default_rng(seed)), how)
            except mbs.FemMbsError as error:
                found = {str(error).partition("\n")[0]: np.nan}
            if found:
                worst = max(found, key=lambda key: found[key])
                print(f"{name}, {group}, {how}, {seed}: {len(found)} results, {worst}: {found[worst]:.2g}", flush=True)
    print(f"{total} models")


if __name__ == "__main__":
    main()
