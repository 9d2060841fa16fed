"""Random mechanisms: chains, trees and loops of rigid and flexible bodies, from a seed.

The same seed makes the same mechanism on every group. Loops are closed by ball joints and keep at least two motions,
and no joint repeats another, so that every mechanism has one motion and unique reactions. Initial velocities obey the
joints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, sin

import numpy as np

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force, Maxwell, RevoluteJoint, RigidBody, SphericalJoint
from fem_mbs.lie import so3

GROUPS = ("R3xSO3", "SE3", "mixed")
KINDS = ("chain", "tree", "loop", "free")
JOINTS = ("hinge", "hinge", "hinge", "ball", "drive")
FREEDOMS = {"hinge": 1, "ball": 3, "drive": 0, "free": 6}


@dataclass(frozen=True)
class Swing:
    """An angle that swings, from rest or not: a drive with its derivatives."""

    size: float
    rate: float
    turn: float

    def __call__(self, t: float) -> float:
        return self.turn * t + self.size * (1.0 - cos(self.rate * t))

    def velocity(self, t: float) -> float:
        return self.turn + self.size * self.rate * sin(self.rate * t)

    def acceleration(self, t: float) -> float:
        return self.size * self.rate**2 * cos(self.rate * t)


@dataclass
class Mechanism:
    """A mechanism that was made."""

    seed: int
    group: str
    kind: str
    model: mbs.Model
    joints: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    loads: list[tuple[mbs.Node, Array]] = field(default_factory=list)
    rate: float = 0.0
    """About the fastest turn, rad/s: of the start, and of a fall of the shortest body."""

    def __str__(self) -> str:
        parts = ", ".join(f"{joint} {body}" for joint, body in zip(self.joints, self.bodies, strict=True))
        return f"mechanism {self.seed} on {self.group}: {self.kind} of {parts}"


@dataclass(frozen=True)
class Body:
    """Where a body can carry others, and how it moves at the start: ``v + w x (p - point)``, world frame."""

    node: mbs.Node
    point: Array
    v: Array
    w: Array

    def velocity(self, p: Array) -> Array:
        """Of the point that is at ``p``."""
        return np.asarray(self.v + np.cross(self.w, p - self.point))


def mechanism(seed: int, group: str = "R3xSO3", largest: int = 8) -> Mechanism:
    """The mechanism of a seed, of 1 to ``largest`` bodies, with nodes on a group; "mixed" draws that of each node."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(KINDS, p=(0.4, 0.25, 0.25, 0.1)))
    weight = 0.0 if rng.random() < 0.25 and kind != "loop" else 9.81
    model = mbs.Model("R3xSO3" if group == "mixed" else group, gravity=weight * _direction(rng))
    made = Mechanism(seed, group, kind, model)
    still = Body(model.ground, np.zeros(3), np.zeros(3), np.zeros(3))
    flexible = float(rng.choice([0.0, 0.0, 0.3, 1.0]))
    # about the relative turn of bodies at the start; a loop of beams begins at rest, as no projection bends it gently
    speed = float(rng.choice([0.0, 1.0, 3.0, 10.0, 30.0])) or (0.0 if weight else 1.0)
    if kind == "loop" and flexible:
        speed = 0.0
    count = int(rng.integers(3, 6)) if kind == "loop" else 1 + int(rng.integers(largest) * rng.random())
    joints = _joints(rng, kind, count)
    bodies: list[Body] = []
    for k, joint in enumerate(joints):
        parents = [still, *bodies] if kind == "tree" else [bodies[-1] if bodies else still]
        parent = parents[int(rng.integers(len(parents)))]
        bodies.append(_add_body(rng, made, parent, joint, speed, rng.random() < flexible and k < 4, weight))
    if kind == "loop":
        model.add(SphericalJoint(bodies[-1].node, model.ground, bodies[-1].point))
        mbs.project_velocities(model)
    if rng.random() < 0.3:
        value = (1.0 + 5.0 * rng.random()) * _direction(rng)
        model.add(Force(bodies[-1].node, value))
        made.loads.append((bodies[-1].node, value))
    if rng.random() < 0.2:
        stiffness, viscosity, free = rng.uniform((5.0, 0.5, 0.2), (50.0, 5.0, 1.0))
        model.add(
            Maxwell(model.ground, bodies[-1].node, stiffness, viscosity, free_length=free, point_a=rng.normal(size=3))
        )
    made.rate += max(float(np.linalg.norm(node.angular_velocity)) for node in model.nodes)
    return made


def _joints(rng: np.random.Generator, kind: str, count: int) -> list[str]:
    """Kinds of joints of a mechanism in which something moves that is not driven."""
    while True:
        joints = [str(joint) for joint in rng.choice(JOINTS, count)]
        if kind == "free":
            joints[0] = "free"
        freedoms = sum(FREEDOMS[joint] for joint in joints) - 3 * (kind == "loop")
        if kind != "loop" and freedoms >= 1 or freedoms >= 2 and joints.count("drive") <= 1:
            return joints


def _add_body(
    rng: np.random.Generator, made: Mechanism, parent: Body, joint: str, speed: float, flexible: bool, weight: float
) -> Body:
    """A body hung on another one, by a joint at that one's end."""
    model, start = made.model, parent.point
    along, length = _direction(rng), float(rng.uniform(0.3, 1.0))
    end, axis = start + length * along, _direction(rng)
    loop = made.kind == "loop"
    swing = Swing(
        float(rng.uniform(0.1, 0.2 if loop else 1.0)),
        float(rng.uniform(1.0, 5.0)),
        0.0 if loop else 0.3 * speed * float(rng.normal()),
    )
    relative = {
        "hinge": speed * float(rng.normal()) * axis,
        "drive": swing.velocity(0.0) * axis,
        "ball": 0.6 * speed * rng.normal(size=3),
        "free": 0.6 * speed * rng.normal(size=3),
    }[joint]
    place = Body(model.ground, start, parent.velocity(start), parent.w + relative)
    make = _beam if flexible else _rigid
    first, last = make(rng, made, place, end, length, max(4.0, speed))
    if joint == "ball":
        model.add(SphericalJoint(parent.node, first, start))
    elif joint != "free":
        model.add(RevoluteJoint(parent.node, first, axis, start, drive=swing if joint == "drive" else None))
    made.joints.append(joint)
    made.bodies.append("beam" if flexible else "body")
    made.rate = max(made.rate, (1.5 * weight / length) ** 0.5, abs(swing.turn) + swing.rate if joint == "drive" else 0)
    return Body(last, end, place.velocity(end), place.w)


def _node(rng: np.random.Generator, made: Mechanism, place: Body, p: Array) -> mbs.Node:
    R = so3.exp(rng.normal(size=3))
    other = "SE3" if rng.random() < 0.5 else None
    group = other if made.group == "mixed" else None
    return made.model.add_node(p, R, place.velocity(p), R.T @ place.w, group=group)


def _rigid(
    rng: np.random.Generator, made: Mechanism, place: Body, end: Array, length: float, rate: float
) -> tuple[mbs.Node, mbs.Node]:
    """A body about the middle, with any mass centre and any inertia that a body can have."""
    node = _node(rng, made, place, 0.5 * (place.point + end))
    mass, size = float(rng.uniform(0.5, 2.0)), length * rng.uniform(0.1, 0.5, size=3)
    squares = mass * size**2
    Q = so3.exp(rng.normal(size=3))
    inertia = Q @ np.diag(squares.sum() - squares) @ Q.T
    made.model.add(RigidBody(node, mass, inertia, 0.1 * length * rng.normal(size=3)))
    return node, node


def _beam(
    rng: np.random.Generator, made: Mechanism, place: Body, end: Array, length: float, rate: float
) -> tuple[mbs.Node, mbs.Node]:
    """A beam of two or three elements; its lowest bending is 3 to 300 times faster than its fall."""
    count = int(rng.integers(2, 4))
    nodes = [_node(rng, made, place, place.point + s * (end - place.point)) for s in np.linspace(0.0, 1.0, count + 1)]
    per_length, slender = float(rng.uniform(0.5, 2.0)), float(rng.uniform(0.02, 0.1))
    thick = slender * length
    second = per_length * thick**2 / 12.0
    rate *= 10.0 ** rng.uniform(0.5, 2.5)
    EI = per_length * length**4 * (rate / 3.5) ** 2
    EA = 12.0 * EI / thick**2
    inertia = 2.0 * second, second, second
    section = BeamSection(EA, 0.35 * EA, 0.6 * EI, EI * rng.uniform(0.5, 2.0, 2), per_length, inertia)
    if rng.random() < 0.3:
        section = section.with_damping(0.1 / rate)
    made.model.add(Beam(nodes, section, _across(rng, end - place.point)))
    return nodes[0], nodes[-1]


def _direction(rng: np.random.Generator) -> Array:
    d = rng.normal(size=3)
    return np.asarray(d / np.linalg.norm(d))


def _across(rng: np.random.Generator, along: Array) -> Array:
    return np.asarray(np.cross(along, _direction(rng)))
