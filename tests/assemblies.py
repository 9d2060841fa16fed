"""Random mechanisms of all classes of the library, from a seed: joints of every kind, forces, motors, controls.

A tree of bodies, rigid and flexible, each hung on an earlier one by a joint that is drawn; then springs, friction,
stops, motors, sensors with controllers, loads by laws of time. Sizes are those of a machine of about 1 m and 1 kg; what
is stiff is known, so that a step can be drawn which turns the fastest oscillation by a given angle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

import fem_mbs as mbs
from fem_mbs import elements as library
from fem_mbs.arrays import Array
from fem_mbs.lie import so3

GRAVITY = 9.81


@dataclass
class Assembly:
    """A mechanism that was made of parts of the library."""

    model: mbs.Model
    rng: Generator
    ends: list[tuple[mbs.Node, Array]] = field(default_factory=list)
    """Node and far point of each body."""
    turning: list[mbs.Joint] = field(default_factory=list)
    """Joints with an angle that nothing prescribes."""
    sliding: list[mbs.Joint] = field(default_factory=list)
    """The same with a travel."""
    beams: list[library.Beam] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    rate: float = 5.0
    """About the fastest motion, rad/s."""

    def __str__(self) -> str:
        return ", ".join(self.parts)

    def use(self, part: object) -> None:
        """Remember what was taken."""
        self.parts.append(type(part).__name__)

    def add(self, part: mbs.Element | mbs.Constraint) -> mbs.Element | mbs.Constraint:
        """Take an element or a joint."""
        self.use(part)
        return self.model.add(part)

    def node(self) -> mbs.Node:
        """Any moving body."""
        return self.ends[self.rng.integers(len(self.ends))][0]

    def two(self) -> tuple[mbs.Node, mbs.Node]:
        """Two nodes, or one and the ground."""
        nodes = [self.model.ground, *(node for node, _ in self.ends)]
        a, b = self.rng.choice(len(nodes), 2, replace=False)
        return nodes[a], nodes[b]

    def joint(self) -> mbs.Joint:
        """A joint with an angle or a travel."""
        return _one(self.rng, self.turning + self.sliding)

    def stiffness(self) -> float:
        """So that 1 kg on it oscillates with 3 to 30 rad/s."""
        rate = float(self.rng.uniform(3.0, 30.0))
        self.rate = max(self.rate, rate)
        return rate**2

    def unseen(self) -> float:
        """A stiffness for up to 300 rad/s, of which no step is drawn: what acts now and then."""
        return float(10.0 ** self.rng.uniform(1.0, 5.0))


def assembly(seed: int, group: str = "R3xSO3", extras: int = 5) -> Assembly:
    """The mechanism of a seed: 1 to 4 bodies, and up to ``extras`` parts that act on them."""
    rng = np.random.default_rng([seed, 7])
    made = Assembly(mbs.Model(group, gravity=GRAVITY * direction(rng)), rng)
    for _ in range(int(rng.integers(1, 5))):
        _hang(made)
    if not made.turning + made.sliding:
        _hang(made, "RevoluteJoint")
    for _ in range(int(rng.integers(1, extras + 1))):
        name = _one(rng, sorted(PARTS))
        PARTS[name](made)
    mbs.project_velocities(made.model)
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
    make = _one(rng, [_rigid, _rigid, _rigid, _modal, _flexible])
    first, last = make(made, start, end)
    kind = kind or ("RevoluteJoint" if rng.random() < 0.3 else _one(rng, sorted(JOINTS)))
    JOINTS[kind](made, parent, first, start, direction(rng))
    made.ends.append((last, end))


def _place(made: Assembly, x: Array) -> mbs.Node:
    rng = made.rng
    calm = rng.random() < 0.5
    v, w = (np.zeros(3),) * 2 if calm else (0.5 * rng.normal(size=3), 2.0 * rng.normal(size=3))
    return made.model.add_node(x, so3.exp(rng.normal(size=3)), v, w)


def _rigid(made: Assembly, start: Array, end: Array) -> tuple[mbs.Node, mbs.Node]:
    node, rng = _place(made, 0.5 * (start + end)), made.rng
    squares = rng.uniform(0.1, 0.4, 3) ** 2
    made.add(library.RigidBody(node, rng.uniform(0.5, 2.0), squares.sum() - squares, 0.1 * rng.normal(size=3)))
    return node, node


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
    return node, node


def _flexible(made: Assembly, start: Array, end: Array) -> tuple[mbs.Node, mbs.Node]:
    """A beam of one to three elements, slender, whose bending is not much faster than the rest."""
    rng, count = made.rng, int(made.rng.integers(1, 4))
    length = float(np.linalg.norm(end - start))
    EI = made.stiffness() * length**4 / 12.0
    section = library.BeamSection(4e3 * EI, 2e3 * EI, 0.8 * EI, (EI, EI), 1.0, (2e-2, 1e-2, 1e-2)).with_damping(2e-3)
    nodes = [_place(made, start + s * (end - start)) for s in np.linspace(0.0, 1.0, count + 1)]
    beam = library.Beam(nodes, section, direction(rng), interpolation=_one(rng, ["SE3", "R3xSO3"]))
    made.beams.append(made.add(beam))
    made.rate = max(made.rate, 60.0)
    return nodes[0], nodes[-1]


# joints

Hang = Callable[[Assembly, mbs.Node, mbs.Node, Array, Array], None]


def _measured(name: str, where: str) -> Hang:
    """A joint about or along an axis, whose coordinate other parts may act on: one of those that are ``where``."""

    def hang(made: Assembly, a: mbs.Node, b: mbs.Node, p: Array, axis: Array) -> None:
        getattr(made, where).append(made.add(getattr(library, name)(a, b, axis, p)))

    return hang


def _other(make: Callable[..., mbs.Constraint]) -> Hang:
    def hang(made: Assembly, a: mbs.Node, b: mbs.Node, p: Array, axis: Array) -> None:
        made.add(make(made.rng, a, b, p, axis))

    return hang


def _across(axis: Array) -> Array:
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    return np.asarray(side / np.linalg.norm(side))


def _swing(rng: Generator) -> library.TimeLaw:
    """A law of time that begins at rest."""
    rate, size = rng.uniform(1.0, 4.0), rng.uniform(0.2, 1.0)
    return _one(
        rng,
        [
            library.SmoothStep(size, 1.0 / rate),
            library.PointToPoint(0.0, size, 2.0 / rate),
            library.SpinUp(size * rate, 1.0),
            library.Constant(size) - library.Harmonic(size, rate, phase=0.5 * np.pi),
            library.SCurve(size, 2.0 * size, 8.0 * size * rate, 60.0 * size * rate),
            library.Table(np.linspace(0.0, 60.0, 61), size * np.append(0.0, rng.normal(size=60)), outside="hold"),
            library.Ramp(size, begin=0.1, end=1.0, corner=0.05),
        ],
    )


def _wire(rng: Generator, a: mbs.Node, b: mbs.Node, p: Array, axis: Array) -> library.CurveJoint:
    """A closed wire through the point."""
    side = _across(axis)
    ring = [p + 0.7 * np.sin(s) * axis + 0.5 * (1.0 - np.cos(s)) * side for s in np.linspace(0.0, 2.0 * np.pi, 13)]
    return library.CurveJoint(a, b, [*ring[:-1], ring[0]], p)


JOINTS: dict[str, Hang] = {
    "RevoluteJoint": _measured("RevoluteJoint", "turning"),
    "CylindricalJoint": _measured("CylindricalJoint", "turning"),
    "PrismaticJoint": _measured("PrismaticJoint", "sliding"),
    "PointOnLineJoint": _measured("PointOnLineJoint", "sliding"),
    "SphericalJoint": _other(lambda rng, a, b, p, d: library.SphericalJoint(a, b, p)),
    "PlanarJoint": _other(lambda rng, a, b, p, d: library.PlanarJoint(a, b, d, p)),
    "UniversalJoint": _other(lambda rng, a, b, p, d: library.UniversalJoint(a, b, d, _across(d), p)),
    "ConstantVelocityJoint": _other(lambda rng, a, b, p, d: library.ConstantVelocityJoint(a, b, d, d, p)),
    "PointOnPlaneJoint": _other(lambda rng, a, b, p, d: library.PointOnPlaneJoint(a, b, d, p)),
    "ParallelAxesJoint": _other(lambda rng, a, b, p, d: library.ParallelAxesJoint(a, b, d)),
    "FixedJoint": _other(lambda rng, a, b, p, d: library.FixedJoint(a, b, p)),
    "OrientationJoint": _other(lambda rng, a, b, p, d: library.OrientationJoint(a, b)),
    "DistanceJoint": _other(lambda rng, a, b, p, d: library.DistanceJoint(a, b, p - 0.3 * d, p)),
    "ScrewJoint": _other(lambda rng, a, b, p, d: library.ScrewJoint(a, b, d, rng.uniform(0.2, 2.0), p)),
    "GeneralJoint": _other(
        lambda rng, a, b, p, d: library.GeneralJoint(a, b, (True, False, True), (False, True, False), point=p)
    ),
    "CurveJoint": _other(_wire),
    "driven hinge": _other(lambda rng, a, b, p, d: library.RevoluteJoint(a, b, d, p, drive=_swing(rng))),
    "driven slider": _other(lambda rng, a, b, p, d: library.PrismaticJoint(a, b, d, p, drive=_swing(rng))),
    "moved ball": _other(
        lambda rng, a, b, p, d: library.SphericalJoint(a, b, p, displacement=lambda t: 0.2 * np.sin(2.0 * t) ** 2 * d)
    ),
    "RollingDisc": lambda made, a, b, p, d: (
        made.add(library.RollingDisc(made.model.ground, b, d, _across(d), 0.3, center=p + 0.3 * d)) and None
    ),
}


# what acts on them

Act = Callable[[Assembly], None]


def _on_joint(name: str, make: Callable[[Assembly, mbs.Joint], mbs.Element]) -> Act:
    def act(made: Assembly) -> None:
        joint = made.joint()
        made.add(make(made, joint, **_named(joint)))

    act.__name__ = name
    return act


def _named(joint: mbs.Joint) -> dict[str, str]:
    """Which coordinate, where there are several: the last."""
    return {} if len(joint.coordinates) == 1 else {"coordinate": joint.coordinates[-1].name}


def _signal(made: Assembly) -> mbs.Element:
    """A sensor of any kind."""
    rng = made.rng
    a, b = made.two()
    node, joint = made.node(), made.joint()
    return made.add(
        _one(
            rng,
            [
                library.JointSensor(joint, "coordinate_rate", **_named(joint)),
                library.JointSensor(joint, **_named(joint)),
                library.NodeSensor(node, _one(rng, ["position", "velocity"]), direction(rng)),
                library.NodeSensor(node, "angular_velocity", direction(rng)),
                library.LineSensor(a, b, _one(rng, ["length", "speed"]), point_b=b.position + direction(rng)),
                library.FunctionSensor([node], lambda motion: float(motion.x[0] @ motion.x[0])),
            ],
        )
    )


def _controller(made: Assembly, signal: mbs.Element) -> mbs.Element:
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
            ],
        )()
    )


def _loop(made: Assembly) -> None:
    """Sensor, controller and actuator."""
    output = _controller(made, _signal(made))
    rng, node = made.rng, made.node()
    a, b = made.two()
    joint = made.joint()
    made.add(
        _one(
            rng,
            [
                lambda: library.ForceActuator(node, output, direction(rng), frame=_one(rng, ["world", "body"])),
                lambda: library.MomentActuator(node, output, direction(rng)),
                lambda: library.JointActuator(joint, output, **_named(joint)),
                lambda: library.LineActuator(a, b, output, point_b=b.position + direction(rng)),
            ],
        )()
    )


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
    hinges = [joint for joint in made.turning if len(joint.coordinates) == 1]
    if len(hinges) > 1:
        made.add(library.Coupling(hinges[0], hinges[1], made.rng.uniform(-2.0, -0.5)))


def _stop(made: Assembly, joint: mbs.Joint, **named: str) -> mbs.Element:
    room = 10.0 ** made.rng.uniform(-2.0, 0.0)
    return library.JointStop(joint, -room, room, made.unseen(), made.rng.uniform(0.0, 3.0), **named)


def _friction(made: Assembly, joint: mbs.Joint, **named: str) -> mbs.Element:
    rng = made.rng
    bristle = {"bristle": 0.01} if rng.random() < 0.3 else {}
    turns = joint.coordinates[-1].angle
    radius = {"radius": 0.1} if turns else {}
    return library.JointFriction(joint, 0.3, 0.4, preload=5.0, reactions=False, **bristle, **radius, **named)


def _friction_by_reactions(made: Assembly, joint: mbs.Joint, **named: str) -> mbs.Element:
    turns = {"radius": 0.1} if isinstance(joint, library.RevoluteJoint) else {}
    if type(joint) not in (library.RevoluteJoint, library.PrismaticJoint):
        return library.JointSpring(joint, 1.0, **named)
    return library.JointFriction(joint, 0.2, length=0.2, creep=0.05, **turns)


def _drive(made: Assembly) -> None:
    """A law for a joint that nothing else acts on: it would do nothing."""
    if len(made.turning) > 1:
        joint = made.turning.pop()
        made.add(library.JointDrive(joint, _swing(made.rng), **_named(joint)))


def _gravity(made: Assembly) -> None:
    if "Gravity" not in made.parts:
        made.add(library.Gravity(made.model.elements[0], direction(made.rng)))


def _sampled(made: Assembly) -> None:
    """A controller by functions, on the difference of a sensor and a law."""
    error = _swing(made.rng) - _signal(made)
    output = library.SampledController(
        [error], 0.05, lambda t, z, u: [3.0 * u[0] + z[0]], update=lambda t, z, u: [0.5 * z[0] + u[0]], initial=[0.0]
    )
    made.add(library.MomentActuator(made.node(), made.add(output), direction(made.rng)))


def _bushing(made: Assembly) -> None:
    a, b = made.two()
    k = made.stiffness()
    made.add(library.Bushing(a, b, (k, k, 0.5 * k, 0.1 * k, 0.1 * k, 0.1 * k), 0.01, point=b.position))


PARTS: dict[str, Act] = {
    "control": _loop,
    "control by another": _loop,
    "gears": _gears,
    "bushing": _bushing,
    "drive": _drive,
    "sampled": _sampled,
    "mass": lambda m: m.add(library.PointMass(m.node(), m.rng.uniform(0.1, 1.0))) and None,
    "gravity": _gravity,
    "truss": _line(
        lambda m, a, b, **p: library.Truss(
            a, b, library.BeamSection(m.stiffness(), 9, 1, (1, 1), 0.3, (1e-3,) * 3), **p
        )
    ),
    "joint spring": _on_joint("spring", lambda m, j, **c: library.JointSpring(j, m.stiffness(), 0.3, **c)),
    "joint force": _on_joint("force", lambda m, j, **c: library.JointForce(j, lambda t, q, v: np.cos(t) - v**3, **c)),
    "stop": _on_joint("stop", _stop),
    "friction": _on_joint("friction", _friction),
    "friction by reactions": _on_joint("friction by reactions", _friction_by_reactions),
    "torque motor": _on_joint("torque", lambda m, j, **c: library.TorqueMotor(j, _swing(m.rng), **c)),
    "speed motor": _on_joint("speed", lambda m, j, **c: library.SpeedMotor(j, _swing(m.rng), 4.0, 2.0, limit=8.0, **c)),
    "position motor": _on_joint(
        "position", lambda m, j, **c: library.PositionMotor(j, _swing(m.rng), m.unseen(), 1.0, 2.0, limit=12.0, **c)
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
    "force": lambda m: (
        m.add(library.Force(m.node(), library.Vector(_swing(m.rng), 1.0, 0.0), frame=_one(m.rng, ["world", "body"])))
        and None
    ),
    "moment": lambda m: m.add(library.Moment(m.node(), 0.5 * direction(m.rng))) and None,
    "load": _on_beam(lambda m, beam: library.DistributedLoad(beam, direction(m.rng), frame="body")),
    "drag": _on_beam(lambda m, beam: library.Drag(beam, library.CrossFlow(1.0, 0.3), fluid=direction(m.rng))),
}
