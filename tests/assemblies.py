"""Random mechanisms of all classes of the library, from a seed: joints of every kind, forces, motors, controls.

A tree of bodies, rigid and flexible, each hung on an earlier one by a joint that is drawn; then loops, cams, beads on
beams, springs, friction, stops, motors, sensors with controllers, loads by laws of time. Sizes are those of a machine
of about 1 m and 1 kg; what is stiff is known, so that a step can be drawn which turns the fastest oscillation by a
given angle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import meshio
import numpy as np
from meshes import brick
from numpy.random import Generator

import fem_mbs as mbs
from fem_mbs import elements as library
from fem_mbs.arrays import Array
from fem_mbs.lie import so3

GRAVITY = 9.81
GROUPS = ("R3xSO3", "SE3", "mixed")


@dataclass
class Assembly:
    """A mechanism that was made of parts of the library."""

    model: mbs.Model
    rng: Generator
    groups: list[str]
    """From which the group of a node is drawn."""
    ends: list[tuple[mbs.Node, Array]] = field(default_factory=list)
    """Node and far point of each body."""
    free: list[Free] = field(default_factory=list)
    """What other parts may act on."""
    motions: int = 0
    """Degrees of freedom, those of a beam's bending left out, as far as joints do not repeat each other."""
    beams: list[library.Beam] = field(default_factory=list)
    shells: list[library.Shell] = field(default_factory=list)
    impacts: bool = False
    """Whether there are contacts without a stiffness, which the method of smooth motions refuses."""
    parts: list[str] = field(default_factory=list)
    rate: float = 5.0
    """About the fastest motion, rad/s."""

    def __str__(self) -> str:
        return ", ".join(self.parts)

    def use(self, part: Any) -> Any:
        """Remember what was taken."""
        self.parts.append(type(part).__name__)
        return part

    def add(self, part: Any) -> Any:
        """Take an element or a joint."""
        return self.model.add(self.use(part))

    def join(self, joint: Any, *acted_on: str) -> None:
        """Take a joint; other parts may act on these of its coordinates."""
        self.add(joint)
        self.free += [Free(joint, own.name, own.angle) for own in joint.coordinates if own.name in acted_on]
        self.motions -= len(joint.equations)

    def node(self) -> mbs.Node:
        """Any moving body."""
        return self.ends[self.rng.integers(len(self.ends))][0]

    def two(self) -> tuple[mbs.Node, mbs.Node]:
        """Two nodes, or one and the ground."""
        nodes = [self.model.ground, *(node for node, _ in self.ends)]
        a, b = self.rng.choice(len(nodes), 2, replace=False)
        return nodes[a], nodes[b]

    def coordinate(self) -> Free:
        """An angle or a travel that is free."""
        return _one(self.rng, self.free)

    def stiffness(self) -> float:
        """So that 1 kg on it oscillates with 3 to 30 rad/s."""
        rate = float(self.rng.uniform(3.0, 30.0))
        self.rate = max(self.rate, rate)
        return rate**2

    def unseen(self) -> float:
        """A stiffness for up to 100 rad/s, of which no step is drawn: what acts now and then."""
        return float(10.0 ** self.rng.uniform(1.0, 4.0))


class Free(NamedTuple):
    """A coordinate of a joint that nothing prescribes."""

    joint: Any
    name: str
    angle: bool

    @property
    def named(self) -> dict[str, str]:
        """The argument that says which, where there are several."""
        return {} if len(self.joint.coordinates) == 1 else {"coordinate": self.name}


def assembly(seed: int, group: str = "R3xSO3", extras: int = 5) -> Assembly:
    """The mechanism of a seed: 1 to 4 bodies, and up to ``extras`` parts that act on them.

    Its nodes are on a group; "mixed" draws that of each node. Its velocities have to be projected on its joints.
    """
    rng = np.random.default_rng([seed, 7])
    groups = ["R3xSO3", "SE3"] if group == "mixed" else [group]
    made = Assembly(mbs.Model(groups[0], gravity=GRAVITY * direction(rng)), rng, groups)
    for _ in range(int(rng.integers(1, 5))):
        _hang(made)
    if not made.free:
        _hang(made, "RevoluteJoint")
    for _ in range(int(rng.integers(1, extras + 1))):
        name = _one(rng, sorted(PARTS))
        PARTS[name](made)
    return made


def direction(rng: Generator) -> Array:
    """A unit vector."""
    d = rng.normal(size=3)
    return np.asarray(d / np.linalg.norm(d))


def _one(rng: Generator, things: list[Any]) -> Any:
    return things[int(rng.integers(len(things)))]


# bodies


def _hang(made: Assembly, kind: str | None = None) -> None:
    """Another body, by a joint at the far point of an earlier one."""
    rng, model = made.rng, made.model
    carriers = [(model.ground, np.zeros(3)), *made.ends]
    parent, start = _one(rng, carriers)
    end = start + rng.uniform(0.4, 1.0) * direction(rng)
    make = _one(rng, [_rigid, _rigid, _rigid, _rigid, _modal, _flexible, _meshed, _shell, _reduced])
    first, last = make(made, start, end)
    if kind is None and make in (_flexible, _meshed) and rng.random() < 0.2:
        made.join(library.EndRelease(parent, made.beams[-1], release=_one(rng, ["y", "z", "yz", "xyz"])))
    else:
        kind = kind or ("RevoluteJoint" if rng.random() < 0.3 else _one(rng, sorted(JOINTS)))
        JOINTS[kind](made, parent, first, start, direction(rng))
    made.ends.append((last, end))


def _place(made: Assembly, x: Array) -> mbs.Node:
    rng = made.rng
    calm = rng.random() < 0.5
    v, w = (np.zeros(3),) * 2 if calm else (0.5 * rng.normal(size=3), 2.0 * rng.normal(size=3))
    turn, group = so3.exp(rng.normal(size=3)), made.groups[int(2.0 * rng.random()) % len(made.groups)]
    return made.model.add_node(x, turn, v, w, group=group)


def _rigid(made: Assembly, start: Array, end: Array) -> tuple[mbs.Node, mbs.Node]:
    node = _body(made, 0.5 * (start + end))
    return node, node


def _body(made: Assembly, x: Array) -> mbs.Node:
    """A rigid body at a place."""
    node, rng = _place(made, x), made.rng
    squares = rng.uniform(0.1, 0.4, 3) ** 2
    made.add(library.RigidBody(node, rng.uniform(0.5, 2.0), squares.sum() - squares, 0.1 * rng.normal(size=3)))
    made.motions += 6
    return node


def _modal(made: Assembly, start: Array, end: Array) -> tuple[mbs.Node, mbs.Node]:
    node, rng = _place(made, 0.5 * (start + end)), made.rng
    made.add(
        library.ModalBody(
            *(node, 1.0, (0.1, 0.15, 0.2), 0.3 * np.eye(2), 0.3 * made.stiffness() * np.eye(2)),
            modal_damping=0.1 * np.eye(2),
            translation=rng.uniform(-0.2, 0.2, (3, 2)),
            rotation=rng.uniform(-0.05, 0.05, (3, 2)),
        )
    )
    made.motions += 6
    return node, node


def _section(made: Assembly, start: Array, end: Array) -> library.BeamSection:
    """A slender one, whose bending is not much faster than the rest."""
    EI = made.stiffness() * float(np.linalg.norm(end - start)) ** 4 / 12.0
    made.rate, made.motions = max(made.rate, 60.0), made.motions + 6
    section = library.BeamSection(4e3 * EI, 2e3 * EI, 0.8 * EI, (EI, EI), 1.0, (2e-2, 1e-2, 1e-2))
    return made.use(section).with_damping(2e-3)


def _flexible(made: Assembly, start: Array, end: Array) -> tuple[mbs.Node, mbs.Node]:
    """A beam of one to three elements of order 1, or of one of order 2 or 3."""
    rng, section = made.rng, _section(made, start, end)
    order = int(_one(rng, [1, 1, 2, 3]))
    count = order if order > 1 else int(rng.integers(1, 4))
    nodes = [_place(made, start + s * (end - start)) for s in np.linspace(0.0, 1.0, count + 1)]
    interpolation = "SE3" if order > 1 else _one(rng, ["SE3", "R3xSO3"])
    made.beams.append(
        made.add(library.Beam(nodes, section, _across(end - start), interpolation=interpolation, order=order))
    )
    return nodes[0], nodes[-1]


def _meshed(made: Assembly, start: Array, end: Array) -> tuple[mbs.Node, mbs.Node]:
    """A beam along the line of a mesh."""
    section, name = _section(made, start, end), f"mesh {len(made.beams)}"
    mesh = meshio.Mesh(np.array([start, end]), [("line", np.array([[0, 1]]))])
    found = made.use(library.beams_from_mesh(made.model, mesh, section, order=_one(made.rng, [1, 2, 3]), name=name))
    made.beams.append(made.use(found.beams[0]))
    return found.nodes[0], found.nodes[1]


def _shell(made: Assembly, start: Array, end: Array) -> tuple[mbs.Node, mbs.Node]:
    """A strip of one to three shell elements, or two rows of them."""
    rng, along = made.rng, end - start
    side, length = 0.2 * _across(along), float(np.linalg.norm(along))
    count, rows = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    nodes = [
        [_place(made, start + s * along + u * side) for u in np.linspace(-1.0, 1.0, rows + 1)]
        for s in np.linspace(0.0, 1.0, count + 1)
    ]
    thickness = 0.05
    E = made.stiffness() * length**3 / (0.4 * thickness**3)  # of 1 kg on a cantilever, more or less
    section = library.ShellSection.isotropic(thickness, E, 0.3, 1.0 / (0.4 * length * thickness))
    if rng.random() < 0.3:
        plies = [(float(a), thickness / 3.0) for a in rng.uniform(-90.0, 90.0, 3)]
        section = library.ShellSection.laminate(
            plies, E1=1.5 * E, E2=0.5 * E, G12=0.3 * E, nu12=0.3, rho=section.mass / thickness
        )
    corners = [
        [nodes[i][j], nodes[i + 1][j], nodes[i + 1][j + 1], nodes[i][j + 1]] for i in range(count) for j in range(rows)
    ]
    made.rate, made.motions = max(made.rate, 60.0), made.motions + 6
    made.shells.append(made.add(library.Shell(corners, made.use(section).with_damping(2e-3), direction=along)))
    if rng.random() < 0.4:
        made.add(library.Pressure(made.shells[-1], _level(made)))
    return nodes[0][0], nodes[-1][-1]


def _reduced(made: Assembly, start: Array, end: Array) -> tuple[mbs.Node, mbs.Node]:
    """A brick of finite elements, reduced to its ends and some modes."""
    rng, along = made.rng, end - start
    length = float(np.linalg.norm(along))
    E = made.stiffness() * length**3 / (0.25 * 0.2**4)
    points, K, M = brick((4, 1, 1), (length, 0.2, 0.2), E, 1.0 / (length * 0.2**2))
    ends = {
        "first": made.use(library.Interface.average(lambda p: p[:, 0] < 1e-9, (0.0, 0.0, 0.0))),
        "last": library.Interface.rigid(lambda p: p[:, 0] > length - 1e-9, (length, 0.0, 0.0)),
    }
    reduction = made.use(
        library.Reduction(
            *(points - [0.0, 0.1, 0.1], K, M, ends),
            modes=int(rng.integers(0, 4)),
            method=_one(rng, ["craig-bampton", "craig-bampton", "free"]),
            damping=0.05,
            loads={"push": np.tile((0.0, 0.0, 1.0 / len(points)), (len(points), 1))},
        )
    )
    across = _across(along)
    axes = np.stack([along / length, across, np.cross(along, across) / length], axis=1)
    nodes = [_place(made, start), _place(made, end)]
    made.rate, made.motions = max(made.rate, 60.0), made.motions + 6
    body = made.add(library.FlexibleBody(nodes, reduction, position=start, rotation=axes))
    if rng.random() < 0.4:
        made.add(library.MeshLoad(body, "push", _level(made)))
    return nodes[0], nodes[1]


# joints

Hang = Callable[[Assembly, mbs.Node, mbs.Node, Array, Array], None]


def _joint(make: Callable[..., mbs.Constraint], *acted_on: str) -> Hang:
    """A joint of nodes a and b at a point, with a direction; other parts may act on these coordinates."""

    def hang(made: Assembly, a: mbs.Node, b: mbs.Node, p: Array, d: Array) -> None:
        made.join(make(made, a, b, p, d), *acted_on)

    return hang


def _driven_in_the_plane(made: Assembly, a: mbs.Node, b: mbs.Node, p: Array, d: Array) -> None:
    joint = library.PlanarJoint(a, b, d, p)
    made.join(joint, "rotation z")
    made.join(library.JointDrive(joint, _swing(made), coordinate="translation x"))


def _across(axis: Array) -> Array:
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    return np.asarray(side / np.linalg.norm(side))


def _wire(made: Assembly, a: mbs.Node, b: mbs.Node, p: Array, axis: Array) -> library.CurveJoint:
    """A closed wire through the point."""
    side = _across(axis)
    ring = [p + 0.7 * np.sin(s) * axis + 0.5 * (1.0 - np.cos(s)) * side for s in np.linspace(0.0, 2.0 * np.pi, 13)]
    return library.CurveJoint(a, b, [*ring[:-1], ring[0]], p)


def _bearing(made: Assembly, a: mbs.Node, b: mbs.Node, p: Array, axis: Array) -> None:
    """A shaft in a bearing, with its thrust; some depend on the speed, some have coupled directions and a wide film."""
    rng, k = made.rng, made.stiffness()
    stiffness, damping = k * np.diag([1.0, 0.7, 1.0, 0.1, 0.1]), 0.02 * k * np.diag([1.0, 1.0, 1.0, 0.1, 0.1])
    stiffness[0, 1] = -0.2 * k * float(rng.random() < 0.3)
    if rng.random() < 0.3:
        speeds: list[float] | None = [-200.0, 0.0, 200.0]
        laws: tuple[Any, ...] = [stiffness] * 3, [2.0 * damping, damping, 2.0 * damping]
    else:
        speeds, laws = None, (stiffness, damping)
    made.add(library.Bearing(a, b, axis, *laws, speeds=speeds, point=p))
    if stiffness[0, 1]:
        radius, length, clearance = 0.5, 0.4, 2.0
        viscosity = 0.01 * k * clearance**3 / (radius * length**3)
        made.add(library.JournalBearing(a, b, axis, radius, length, clearance, viscosity, point=p))


JOINTS: dict[str, Hang] = {
    "Bearing": _bearing,
    "RevoluteJoint": _joint(lambda m, a, b, p, d: library.RevoluteJoint(a, b, d, p), "rotation z"),
    "CylindricalJoint": _joint(
        lambda m, a, b, p, d: library.CylindricalJoint(a, b, d, p), "translation z", "rotation z"
    ),
    "PrismaticJoint": _joint(lambda m, a, b, p, d: library.PrismaticJoint(a, b, d, p), "translation z"),
    "PointOnLineJoint": _joint(lambda m, a, b, p, d: library.PointOnLineJoint(a, b, d, p), "translation z"),
    "SphericalJoint": _joint(lambda m, a, b, p, d: library.SphericalJoint(a, b, p)),
    "PlanarJoint": _joint(lambda m, a, b, p, d: library.PlanarJoint(a, b, d, p), "translation x", "rotation z"),
    "UniversalJoint": _joint(
        lambda m, a, b, p, d: library.UniversalJoint(a, b, d, _across(d), p), "rotation x", "rotation y"
    ),
    "ConstantVelocityJoint": _joint(lambda m, a, b, p, d: library.ConstantVelocityJoint(a, b, d, d, p)),
    "PointOnPlaneJoint": _joint(lambda m, a, b, p, d: library.PointOnPlaneJoint(a, b, d, p), "translation x"),
    "ParallelAxesJoint": _joint(lambda m, a, b, p, d: library.ParallelAxesJoint(a, b, d), "rotation z"),
    "FixedJoint": _joint(lambda m, a, b, p, d: library.FixedJoint(a, b, p)),
    "OrientationJoint": _joint(lambda m, a, b, p, d: library.OrientationJoint(a, b), "translation y"),
    "DistanceJoint": _joint(lambda m, a, b, p, d: library.DistanceJoint(a, b, p - 0.3 * d, p)),
    "ScrewJoint": _joint(lambda m, a, b, p, d: library.ScrewJoint(a, b, d, m.rng.uniform(0.2, 2.0), p), "rotation z"),
    "GeneralJoint": _joint(
        lambda m, a, b, p, d: library.GeneralJoint(a, b, (True, False, True), (False, True, False), point=p),
        "translation y",
    ),
    "CurveJoint": _joint(_wire, "travel"),
    "driven hinge": _joint(lambda m, a, b, p, d: library.RevoluteJoint(a, b, d, p, drive=_swing(m))),
    "driven slider": _joint(lambda m, a, b, p, d: library.PrismaticJoint(a, b, d, p, drive=_swing(m))),
    "driven in the plane": _driven_in_the_plane,
    "moved ball": _joint(
        lambda m, a, b, p, d: library.SphericalJoint(a, b, p, displacement=lambda t: 0.2 * np.sin(2.0 * t) ** 2 * d)
    ),
    "RollingDisc": _joint(
        lambda m, a, b, p, d: library.RollingDisc(m.model.ground, b, d, _across(d), 0.3, center=p + 0.3 * d), "roll"
    ),
}


def _cam(made: Assembly) -> None:
    """A disc on an eccentric shaft, under a plate that is guided and pressed on it."""
    rng = made.rng
    parent, p = _one(rng, [(made.model.ground, np.zeros(3)), *made.ends])
    n = direction(rng)
    up = _across(n)
    side, off = np.cross(n, up), rng.uniform(0.02, 0.15)
    ring = [p + off * side + 0.4 * (np.cos(s) * side + np.sin(s) * up) for s in np.linspace(0.0, 2.0 * np.pi, 13)]
    flat = [p + 0.4 * up + s * side for s in (-0.6, 0.6)]
    shaft, plate = _body(made, p), _body(made, p + 0.4 * up)
    made.join(library.RevoluteJoint(parent, shaft, n, p), "rotation z")
    guide = library.PrismaticJoint(parent, plate, up, p + 0.4 * up)
    made.join(guide, "translation z")
    made.join(library.CamJoint(shaft, plate, n, [*ring[:-1], ring[0]], flat, pulls=bool(rng.random() < 0.7)))
    made.motions += 2  # the places on the profiles
    k = made.stiffness()
    made.add(library.JointSpring(guide, k, 1.0, free=-20.0 / k))
    made.ends += [(shaft, p), (plate, p + up)]


def _bead(made: Assembly) -> None:
    """A body that slides along a beam."""
    if not made.beams:
        return
    rng, beam = made.rng, _one(made.rng, made.beams)
    x, R = (np.array([getattr(node, name) for node in beam.nodes]) for name in ("position", "rotation"))
    k, share = int(rng.integers(len(beam.length))), np.array([rng.uniform(0.2, 0.8)])
    p = beam.line_at(x, R, share)[0].reshape(len(beam.length), 3)[k]
    made.ends.append((_body(made, p), p))
    made.join(library.SlidingJoint(beam, made.ends[-1][0], p, rotation=bool(rng.random() < 0.5)), "travel")
    made.motions += 1  # the arc length


def _loop(made: Assembly) -> None:
    """A joint between bodies that hang on others already, if enough motions are left."""
    rng = made.rng
    a, (b, p), d = made.two()[0], _one(rng, made.ends), direction(rng)
    if a is b:
        return
    joint = _one(
        rng,
        [
            lambda: library.DistanceJoint(a, b, p - rng.uniform(0.5, 1.5) * d, p),
            lambda: library.PointOnPlaneJoint(a, b, d, p),
            lambda: library.ParallelAxesJoint(a, b, d),
            lambda: library.PointOnLineJoint(a, b, d, p),
            lambda: library.SphericalJoint(a, b, p),
        ],
    )()
    if made.motions > len(joint.equations):
        made.join(joint)


# laws of time


def _swing(made: Assembly) -> library.TimeLaw:
    """A law that begins at rest at 0."""
    rng = made.rng
    rate, size = rng.uniform(1.0, 4.0), rng.uniform(0.2, 1.0)
    law = _one(
        rng,
        [
            lambda: library.SmoothStep(size, 1.0 / rate),
            lambda: library.PointToPoint(0.0, size, 2.0 / rate),
            lambda: library.SpinUp(size * rate, 1.0),
            lambda: made.use(library.Constant(size)) - made.use(library.Harmonic(size, rate, phase=0.5 * np.pi)),
            lambda: library.SCurve(size, 2.0 * size, 8.0 * size * rate, 60.0 * size * rate),
            lambda: library.Table(
                np.linspace(0.0, 60.0, 61), size * np.append(0.0, rng.normal(size=60)), outside="hold"
            ),
            lambda: library.Ramp(size, begin=0.1, end=1.0, corner=0.05),
        ],
    )()
    made.use(law)
    return made.use(law.after(rng.uniform(0.0, 0.5))) if rng.random() < 0.2 else law


def _level(made: Assembly) -> library.TimeLaw:
    """A law for a force, which may begin with any value and jump."""
    rng = made.rng
    size = rng.uniform(-1.0, 1.0)
    return made.use(
        _one(
            rng,
            [
                lambda: _swing(made),
                lambda: library.ExternalInput(size),
                lambda: library.Harmonic(size, rng.uniform(1.0, 10.0)),
                lambda: library.Ramp(size, begin=0.2, end=0.2 + rng.choice([1e-3, 0.3])),
                lambda: 0.5 * made.use(library.Constant(size)) * library.Harmonic(1.0, 3.0),
            ],
        )()
    )


# what acts on them

Act = Callable[[Assembly], None]


def _on_joint(make: Callable[[Assembly, Free], mbs.Element]) -> Act:
    """What acts on a coordinate."""

    def act(made: Assembly) -> None:
        made.add(make(made, made.coordinate()))

    return act


def _signal(made: Assembly) -> Any:
    """A sensor of any kind, or what a law is ahead of it."""
    rng = made.rng
    (a, b), node, own = made.two(), made.node(), made.coordinate()
    joints = [joint for joint in made.model.constraints if joint.equations]
    sensor = made.add(
        _one(
            rng,
            [
                lambda: library.JointSensor(own.joint, "coordinate_rate", **own.named),
                lambda: library.JointSensor(own.joint, **own.named),
                lambda: library.NodeSensor(node, _one(rng, ["position", "velocity"]), direction(rng)),
                lambda: library.NodeSensor(node, "angular_velocity", direction(rng)),
                lambda: library.LineSensor(a, b, _one(rng, ["length", "speed"]), point_b=b.position + direction(rng)),
                lambda: library.FunctionSensor([node], lambda motion: float(motion.x[0] @ motion.x[0])),
                lambda: library.MultiplierSensor(joint := _one(rng, joints), _one(rng, list(joint.equations))),
            ],
        )()
    )
    signal = made.use(0.05 * sensor) if isinstance(sensor, library.MultiplierSensor) else sensor
    return made.use(_swing(made) - signal) if rng.random() < 0.4 else signal


def _controller(made: Assembly, signal: Any) -> mbs.Element:
    """A controller of any kind, whose output is a force of some newtons."""
    rng = made.rng
    gain, time = -float(rng.uniform(1.0, 10.0)), float(rng.uniform(0.05, 0.5))
    return made.add(
        _one(
            rng,
            [
                lambda: library.PID(signal, gain, 0.5 * gain, 0.05 * gain, filter=time),
                lambda: library.PID(signal, gain, gain, limits=(-3.0, 3.0)),
                lambda: library.TransferFunction(signal, [gain], [time, 1.0]),
                lambda: library.StateSpace(signal, [[0.0, 1.0], [-9.0, -2.0]], [[0.0], [gain]], [[1.0, 0.5]], [[0.3]]),
                lambda: library.LowPass(signal, time),
                lambda: library.LeadLag(signal, time, 3.0 * time, gain=gain),
                lambda: library.Saturation(signal, (-0.5, 0.5)),
                lambda: library.Block(signal, lambda t, x, u: -x + u, lambda t, x, u: gain * x, initial=[0.1]),
                lambda: library.SampledStateSpace(signal, 4.0 * time, [[0.5]], [[1.0]], [[gain]], [[0.0]]),
                lambda: _feedback(made, signal, time),
            ],
        )()
    )


def _feedback(made: Assembly, signal: Any, time: float) -> library.Block:
    """What follows a signal less half of itself."""
    back = made.add(library.Junction())
    block = library.LowPass(signal - 0.5 * back, time)
    back.connect(block)
    return block


def _loop_of_control(made: Assembly) -> None:
    """Sensor, controller and actuator."""
    output = _controller(made, _signal(made))
    rng, node = made.rng, made.node()
    (a, b), own = made.two(), made.coordinate()
    made.add(
        _one(
            rng,
            [
                lambda: library.ForceActuator(node, output, direction(rng), frame=_one(rng, ["world", "body"])),
                lambda: library.MomentActuator(node, output, direction(rng)),
                lambda: library.JointActuator(own.joint, output, **own.named),
                lambda: library.LineActuator(a, b, output, point_b=b.position + direction(rng)),
            ],
        )()
    )


def _sampled(made: Assembly) -> None:
    """A controller by functions, on the difference of a sensor and a law."""
    error = _swing(made) - _signal(made)
    output = library.SampledController(
        [error],
        0.05,
        lambda t, z, u: [np.clip(3.0 * u[0] + z[0], -3.0, 3.0)],
        update=lambda t, z, u: [0.5 * z[0] + u[0]],
        initial=[0.0],
    )
    made.add(library.MomentActuator(made.node(), made.add(output), direction(made.rng)))


def _line(make: Callable[..., mbs.Element]) -> Act:
    """Something between two points that are well apart."""

    def act(made: Assembly) -> None:
        a, b = made.two()
        points = {"point_a": a.position + 0.2 * direction(made.rng), "point_b": b.position + 2.0 * direction(made.rng)}
        made.add(make(made, a, b, **points))

    return act


def _on_beam(make: Callable[[Assembly, library.Beam], mbs.Element]) -> Act:
    def act(made: Assembly) -> None:
        if made.beams:
            made.add(make(made, _one(made.rng, made.beams)))

    return act


def _gears(made: Assembly) -> None:
    """One coordinate follows another."""
    own, other = made.coordinate(), made.coordinate()
    if own.joint is not other.joint and made.motions > 1:
        which = [part.named.get("coordinate") for part in (own, other)]
        made.add(library.Coupling(own.joint, other.joint, made.rng.uniform(-2.0, -0.5), coordinates=which))
        made.free.remove(own)
        made.motions -= 1


def _drive(made: Assembly) -> None:
    """A law for a coordinate that nothing else may act on then."""
    if len(made.free) > 1 and made.motions > 1:
        own = made.coordinate()
        made.add(library.JointDrive(own.joint, _swing(made), **own.named))
        made.free.remove(own)
        made.motions -= 1


def _stop(made: Assembly, own: Free) -> mbs.Element:
    room = 10.0 ** made.rng.uniform(-2.0, 0.0)
    return library.JointStop(own.joint, -room, room, made.unseen(), made.rng.uniform(0.0, 3.0), **own.named)


def _friction(made: Assembly, own: Free) -> mbs.Element:
    bristle = {"bristle": 0.01} if made.rng.random() < 0.3 else {}
    radius = {"radius": 0.1} if own.angle else {}
    return library.JointFriction(own.joint, 0.3, 0.4, preload=5.0, reactions=False, **bristle, **radius, **own.named)


def _friction_by_reactions(made: Assembly) -> None:
    kinds = (library.RevoluteJoint, library.PrismaticJoint, library.CylindricalJoint)
    pressed = [own for own in made.free if type(own.joint) in kinds]
    if pressed:
        own = _one(made.rng, pressed)
        radius = {"radius": 0.1} if own.angle else {}
        made.add(library.JointFriction(own.joint, 0.2, length=0.2, creep=0.05, **radius, **own.named))


HEAVY = (library.RigidBody, library.ModalBody, library.Beam, library.Shell)
"""What may have a gravity of its own."""


def _gravity(made: Assembly) -> None:
    heavy = [part for part in made.model.elements if type(part) in HEAVY]
    if heavy and "Gravity" not in made.parts:
        made.add(library.Gravity(heavy[0], direction(made.rng)))


def _bushing(made: Assembly) -> None:
    a, b = made.two()
    k = made.stiffness()
    made.add(library.Bushing(a, b, (k, k, 0.5 * k, 0.1 * k, 0.1 * k, 0.1 * k), 0.01, point=b.position))


def _contact(made: Assembly, **more: Any) -> None:
    """A ball on a body above a plane, or near a ball on another body or a beam."""
    rng, n, gap = made.rng, direction(made.rng), 10.0 ** made.rng.uniform(-2.0, -0.5)
    node = made.node()
    other, _ = made.two()
    more |= {"restitution": rng.uniform(0.1, 0.9), "friction": rng.choice([0.0, 0.3])}
    apart = float(np.linalg.norm(node.position - other.position))
    away = {beam: _away(node, beam) for beam in made.beams}
    near = [beam for beam in made.beams if away[beam] > 0.1]
    if near and rng.random() < 0.5:
        beam = _one(rng, near)
        ball = library.Ball(away[beam] - 0.02 - min(gap, 0.4 * away[beam]))
        made.add(library.BeamContact(beam, node, ball, radius=0.02, **more))
    elif other is node or apart < 0.3 or rng.random() < 0.5:
        plane = library.Plane(n, node.position - (0.1 + gap) * n)
        made.add(library.Contact(made.model.ground, node, plane, library.Ball(0.1), **more))
    else:
        balls = (library.Ball(0.5 * apart), library.Ball(0.5 * apart - min(gap, 0.4 * apart)))
        if "stiffness" in more or not more["friction"]:
            made.add(library.Contact(other, node, *balls, **more))
        else:
            made.add(library.ContactGroup([other, node], list(balls), **more))


def _away(node: mbs.Node, beam: library.Beam) -> float:
    """How far a node is from a beam, which is straight as built."""
    start, along = beam.nodes[0].position, beam.nodes[-1].position - beam.nodes[0].position
    share = np.clip(along @ (node.position - start) / (along @ along), 0.0, 1.0)
    return float(np.linalg.norm(node.position - start - share * along))


def _impact(made: Assembly) -> None:
    made.impacts = True
    _contact(made)


def _rope(made: Assembly) -> None:
    """Between two bodies, or one and the ground; taut sooner or later, or as built."""
    (a, b), made.impacts = made.two(), True
    point = b.position + 0.2 * direction(made.rng)
    length = float(np.linalg.norm(point - a.position)) * (1.0 + made.rng.choice([0.0, 0.02, 0.2]))
    if length > 0.1:
        made.add(library.Rope(a, b, length, point_b=point, restitution=made.rng.choice([0.0, 0.5])))


def _edge(made: Assembly) -> None:
    """A line load along a beam or a pair of bodies."""
    nodes = list(made.shells[-1].nodes[:2] if made.shells else made.two())
    force = direction(made.rng)
    made.add(library.EdgeLoad(nodes, lambda t: force * np.cos(3.0 * t)))


def _force(made: Assembly) -> None:
    value = made.use(library.Vector(_level(made), 1.0, 0.0))
    made.add(library.Force(made.node(), value, frame=_one(made.rng, ["world", "body"])))


PARTS: dict[str, Act] = {
    **{f"control {k}": _loop_of_control for k in range(4)},
    **{f"loop {k}": _loop for k in range(2)},
    "cam": _cam,
    "bead": _bead,
    "gears": _gears,
    "bushing": _bushing,
    "contact that yields": lambda m: _contact(m, stiffness=m.unseen(), exponent=float(m.rng.choice([1.0, 1.5]))),
    "contact": _impact,
    "rope": _rope,
    "edge load": _edge,
    "drive": _drive,
    "sampled": _sampled,
    "mass": lambda m: m.add(library.PointMass(m.node(), m.rng.uniform(0.1, 1.0))),
    "gravity": _gravity,
    "truss": _line(
        lambda m, a, b, **p: library.Truss(
            a, b, library.BeamSection(m.stiffness(), 9, 1, (1, 1), 0.3, (1e-3,) * 3), **p
        )
    ),
    "joint spring": _on_joint(lambda m, c: library.JointSpring(c.joint, m.stiffness(), 0.3, **c.named)),
    "joint force": _on_joint(lambda m, c: library.JointForce(c.joint, lambda t, q, v: np.cos(t) - v**3, **c.named)),
    "stop": _on_joint(_stop),
    "friction": _on_joint(_friction),
    "friction by reactions": _friction_by_reactions,
    "torque motor": _on_joint(lambda m, c: library.TorqueMotor(c.joint, _level(m), **c.named)),
    "speed motor": _on_joint(lambda m, c: library.SpeedMotor(c.joint, _swing(m), 4.0, 2.0, limit=8.0, **c.named)),
    "position motor": _on_joint(
        lambda m, c: library.PositionMotor(c.joint, _swing(m), m.unseen(), 1.0, 2.0, limit=12.0, **c.named)
    ),
    "spring": _line(lambda m, a, b, **p: library.SpringDamper(a, b, m.stiffness(), 0.5, **p)),
    "spring with a law": _line(
        lambda m, a, b, **p: library.SpringDamper(a, b, force=lambda t, s, v: 20.0 * (s - 1.0) ** 3 + v, **p)
    ),
    "Maxwell": _line(lambda m, a, b, **p: library.Maxwell(a, b, m.stiffness(), 3.0, **p)),
    "spring that slips": _line(lambda m, a, b, **p: library.FrictionSpring(a, b, m.unseen(), 4.0, **p)),
    "actuator": _line(
        lambda m, a, b, **p: library.FirstOrderActuator(a, b, lambda t, s, v: 5.0 * (s - 1.0) + v, 0.1, **p)
    ),
    "force": _force,
    "moment": lambda m: m.add(library.Moment(m.node(), 0.5 * direction(m.rng))),
    "load": _on_beam(lambda m, beam: library.DistributedLoad(beam, direction(m.rng), frame="body")),
    "drag": _on_beam(lambda m, beam: library.Drag(beam, m.use(library.CrossFlow(1.0, 0.3)), fluid=direction(m.rng))),
}
