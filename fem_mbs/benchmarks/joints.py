"""Bodies, springs, motors and friction in joints whose motion is known in closed form or from one coordinate.

And a block on a moving belt that sticks and slips, and a load that crosses a bridge at constant speed (Fryba 1972).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import case, rows
from fem_mbs.contracts import Node
from fem_mbs.elements import (
    PID,
    Beam,
    BeamSection,
    Force,
    GeneralJoint,
    JointActuator,
    JointDrive,
    JointFriction,
    JointSensor,
    JointSpring,
    PointMass,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
    ScrewJoint,
    SlidingJoint,
    SpeedMotor,
    SpinUp,
    SpringDamper,
    StateSpace,
    UniversalJoint,
)
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate

GRAVITY = 9.81


@case("intermediate axis", "joints", refine=(200, 400, 800))
def intermediate_axis(steps: int) -> Array:
    """Dzhanibekov: a free body that turns near its intermediate axis flips over and back, by elliptic functions."""
    model = Model()
    node = model.add_node((0, 0, 0), angular_velocity=(1.0, 0.0, 1.001 / np.sqrt(3.0)))
    model.add(RigidBody(node, 1.0, (1.0, 2.0, 3.0)))
    solution = simulate(model, 10.0, 10.0 / steps)
    return solution.angular_velocity(node)[rows(solution.t, (5.0, 10.0))]


@case("Cardan joint", "joints")
def cardan() -> list[float]:
    """Two shafts at 40 degrees behind a universal joint: the second hurries and lags twice a turn, and pushes back."""
    speed, bend, J = 10.0, np.radians(40.0), 0.2
    steps, t_end = 500, 1.0
    model = Model()
    second = np.array([np.cos(bend), np.sin(bend), 0.0])
    triad = np.stack([second, np.cross((0, 0, 1), second), (0, 0, 1)], axis=-1)
    # the axis of the first fork begins in the plane of the shafts
    a = model.add_node((0, 0, 0), angular_velocity=(speed, 0, 0))
    b = model.add_node((0, 0, 0), triad, angular_velocity=(speed / np.cos(bend), 0, 0))
    model.add(RigidBody(a, 1.0, (1e-3, 1e-3, 1e-3)))
    model.add(RigidBody(b, 1.0, (J, J, J)))
    drive = model.add(RevoluteJoint(model.ground, a, (1, 0, 0), drive=lambda t: speed * t))
    model.add(UniversalJoint(a, b, (0, 1, 0), (0, 0, 1)))
    shaft = model.add(RevoluteJoint(model.ground, b, second))
    solution = simulate(model, t_end, t_end / steps)
    c, phi = np.cos(bend), speed * solution.t
    ratio = c / (1 - np.sin(bend) ** 2 * np.cos(phi) ** 2)
    angle = np.unwrap(np.arctan2(np.sin(phi), c * np.cos(phi)))
    rate = -(speed**2) * c * np.sin(bend) ** 2 * np.sin(2 * phi) / (1 - np.sin(bend) ** 2 * np.cos(phi) ** 2) ** 2
    found = solution.angular_velocity(b)[:, 0], solution.angle(shaft), solution.reaction(drive)[1][:, 0]
    return [np.abs(f - e).max() for f, e in zip(found, (speed * ratio, angle, J * rate * ratio), strict=True)]


@case("block on an incline", "joints")
def incline() -> list[float]:
    """A block slides down a straight guide at 30 degrees: where it is, and what the guide bears."""
    slope = np.radians(30.0)
    model = Model(gravity=(0, 0, -GRAVITY))
    block = model.add_node((0, 0, 0))
    model.add(RigidBody(block, 2.0, (0.1, 0.1, 0.1)))
    guide = model.add(PrismaticJoint(model.ground, block, (np.cos(slope), 0, -np.sin(slope))))
    solution = simulate(model, 2.0, 0.1)
    force = solution.reaction(guide)[0][-1]
    return [solution.coordinate(guide)[-1], force[0], force[2]]


@case("nut on a screw", "joints")
def screw() -> list[float]:
    """A nut runs down an upright screw and has to turn: how far it comes, and how far it turns."""
    J = 0.004
    model = Model(gravity=(0, 0, -GRAVITY))
    nut = model.add_node((0, 0, 0))
    model.add(RigidBody(nut, 1.5, (J, J, J)))
    model.add(ScrewJoint(model.ground, nut, (0, 0, 1), lead=0.05))
    solution = simulate(model, 3.0, 0.01)
    return [-solution.position(nut)[-1, 2], -solution.angular_velocity(nut)[-1, 2]]


@case("mass, spring and damper", "joints", refine=(200, 400, 800))
def mass_and_spring(steps: int) -> Array:
    """A mass on a spring and a damper, pulled out by 0.1 m and let go."""
    model = Model()
    node = model.add_node((0.6, 0, 0))
    model.add(PointMass(node, 2.0))
    model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(SpringDamper(model.ground, node, 800.0, 4.0, free_length=0.5))
    solution = simulate(model, 1.0, 1.0 / steps)
    return solution.position(node)[rows(solution.t, (0.1, 0.5, 1.0)), 0] - 0.5


@case("driven hinge", "joints")
def driven_hinge() -> list[float]:
    """A bar of 1 m is swung up against its weight in 2 s: the moment that its drive needs."""
    mass, J, arm, spin = 3.0, 0.25, 0.5, SpinUp(rate=np.pi, duration=2.0)
    model = Model(gravity=(0, 0, -GRAVITY))
    bar = model.add_node((arm, 0, 0))
    model.add(RigidBody(bar, mass, (0.01, J, J)))
    hinge = model.add(RevoluteJoint(model.ground, bar, (0, -1, 0), point=(0, 0, 0), drive=spin))
    solution = simulate(model, 2.0, 5e-3)
    angle = np.array([spin(t) for t in solution.t])
    change = np.gradient(np.gradient(angle, solution.t), solution.t)
    exact = (J + mass * arm**2) * change + mass * GRAVITY * arm * np.cos(angle)
    moment = -solution.reaction(hinge)[1][:, 1]
    return [np.abs(moment - exact)[4:-4].max()]


@case("pendulum with a torsion spring", "joints", refine=(200, 400, 800))
def torsion_pendulum(steps: int) -> Array:
    """A bar hangs from a hinge with a spring and a damper, wound up by three quarters of a turn and let go."""
    times = (0.5, 1.0, 2.0)
    model = Model(gravity=(0, 0, -GRAVITY))
    bar = model.add_node((0, 0, -0.4))
    model.add(RigidBody(bar, 2.0, (0.1, 0.1, 0.1)))
    hinge = model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), point=(0, 0, 0)))
    model.add(JointSpring(hinge, 3.0, 0.05, free=1.5 * np.pi))
    solution = simulate(model, times[-1], times[-1] / steps)
    return solution.angle(hinge)[rows(solution.t, times)]


@case("speed motor", "joints", refine=(100, 200, 400))
def speed_motor(steps: int) -> Array:
    """A motor with a proportional and an integral gain brings a rotor to a speed: an oscillator of second order."""
    model = Model()
    rotor = model.add_node((0, 0, 0))
    model.add(RigidBody(rotor, 1.0, (0.5, 0.5, 0.5)))
    hinge = model.add(RevoluteJoint(model.ground, rotor, (0, 0, 1)))
    model.add(SpeedMotor(hinge, 12.0, 4.0, 40.0))
    solution = simulate(model, 1.0, 1.0 / steps)
    return solution.angular_velocity(rotor)[rows(solution.t, (0.1, 0.3, 1.0)), 2]


BELT_SPEED, HOLDING, STATIC, KINETIC, BELT_GRAVITY = 0.1, 100.0, 0.5, 0.3, 10.0
LAWS: dict[str, dict[str, Any]] = {
    "regularised": {"creep": 1e-4, "stribeck": 3e-4},
    "bristles": {"stribeck": 1e-3, "bristle": 1e-6},
}
"""Arguments of the friction that come near Coulomb's law."""


def belt(group: str = "R3xSO3", **friction: Any) -> tuple[Model, Node]:
    """Belt and block from where the spring is free; the model and the block."""
    model = Model(group, gravity=(0, 0, -BELT_GRAVITY))
    strap, block = (model.add_node((0, 0, 0), velocity=(BELT_SPEED, 0, 0), name=name) for name in ("belt", "block"))
    for node in (strap, block):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(PrismaticJoint(model.ground, strap, (1, 0, 0), drive=lambda t: BELT_SPEED * t))
    contact = model.add(PrismaticJoint(strap, block, (1, 0, 0)))
    model.add(SpringDamper(model.ground, block, HOLDING, point_a=(-10, 0, 0)))
    model.add(JointFriction(contact, KINETIC, STATIC, **friction))
    return model, block


def turning_back(t: Array, v: Array) -> Array:
    """Times at which a velocity ``v`` becomes positive again."""
    k = np.flatnonzero((v[:-1] < 0) & (v[1:] >= 0))
    return t[k] - v[k] * (t[k + 1] - t[k]) / (v[k + 1] - v[k])


@case("block on a belt", "joints", slow=True)
def block_on_a_belt() -> Iterator[tuple[float, float]]:
    """A block on a moving belt is held by a spring: it sticks and slips; Coulomb's law is met by small regularisations.

    It sticks for ``2 A/v`` and slips for ``2/omega (pi - atan(omega A/v))`` with ``A = (mu_s - mu_k) m g/k``.
    """
    for friction in LAWS.values():
        model, block = belt(**friction)
        solution = simulate(model, 2.2, 1e-3)
        back = turning_back(solution.t, solution.velocity(block)[:, 0])
        yield np.diff(back).mean(), solution.displacement(block)[:, 0].max()


LENGTH, EI, MASS, PUSH = 10.0, 1e5, 20.0, 1.0
"""The beam, which does not shear, and the load; ``MASS`` is per length."""
OMEGA = (np.pi / LENGTH) ** 2 * np.sqrt(EI / MASS)
"""Lowest frequency."""
CRITICAL = OMEGA * LENGTH / np.pi
"""The speed that resonates."""


def bridge(
    speed: float, group: str = "R3xSO3", elements: int = 6, order: int = 3, mass: float = 1e-6
) -> tuple[Model, Node]:
    """A beam along x on hinges, which "load" crosses from t = 0 on; the model and the middle of the beam."""
    model = Model(group)
    section = BeamSection(EA=1e9, GA=1e9, GJ=1e5, EI=EI, mass=MASS, inertia=(2e-4, 1e-4, 1e-4))
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, elements, order=order)
    along, about = (False, True, True), (True, False, False)
    model.add(GeneralJoint(model.ground, beam.nodes[0], rotation=about))
    model.add(GeneralJoint(model.ground, beam.nodes[-1], translation=along, rotation=(False, False, False)))
    load = model.add_node((0, 0, 0), velocity=(speed, 0, 0), name="load")
    model.add(RigidBody(load, mass, (1e-6, 1e-6, 1e-6)))
    slide = model.add(SlidingJoint(beam, load))
    model.add(JointDrive(slide, lambda t: speed * t))
    model.add(Force(load, (0, 0, -PUSH)))
    return model, beam.nodes[len(beam.nodes) // 2]


def deflection(t: Array, speed: float, modes: int = 200) -> Array:
    """Of the middle of a slender beam under the force alone, a mode at a time."""
    n = np.arange(1, modes + 1)[:, None]
    passing, frequency = n * np.pi * speed / LENGTH, n**2 * OMEGA
    share = np.sin(n * np.pi / 2) / n**4 / (1 - (passing / frequency) ** 2)
    parts = share * (np.sin(passing * t) - passing / frequency * np.sin(frequency * t))
    return 2 * PUSH * LENGTH**3 / (np.pi**4 * EI) * parts.sum(axis=0)


@case("moving load", "joints", slow=True)
def passing_load() -> Array:
    """A force crosses a bridge on hinges at 0.3 of the speed that would resonate: deflection of its middle."""
    speed, steps = 0.3 * CRITICAL, 360
    model, middle = bridge(speed)
    t_end = 0.9 * LENGTH / speed
    solution = simulate(model, t_end, t_end / steps)
    times = np.array([0.25, 0.5, 0.75, 0.9]) * LENGTH / speed
    return -1e3 * solution.displacement(middle)[rows(solution.t, times), 2]


@case("disc that rolls in a circle", "joints", refine=(100, 200, 400))
def rolling_in_a_circle(steps: int) -> Array:
    """A thin disc leans by 20 degrees and rolls in a circle of 1 m: where it is after 2 s, and the force on it."""
    model, (r, lean, mass) = Model(gravity=(0, 0, -GRAVITY)), (0.3, 0.35, 2.0)
    across, axial = mass * r**2 / 4, mass * r**2 / 2
    sine, cosine = np.sin(lean), np.cos(lean)
    radius = 1.0 - r * sine
    # the rate of the angular momentum is the moment of the force of the ground
    inertia = r * mass * radius * cosine - axial * cosine * (sine - 1.0 / r) + across * sine * cosine
    speed = np.sqrt(r * mass * GRAVITY * sine / inertia)
    axis = np.array([cosine, 0.0, sine])
    frame = np.stack([axis, (0, 1, 0), np.cross(axis, (0, 1, 0))], axis=-1)
    turns = frame.T @ ((0, 0, speed) - speed / r * axis)
    disc = model.add_node(
        (radius, 0, r * cosine), rotation=frame, velocity=(0, speed * radius, 0), angular_velocity=turns
    )
    model.add(RigidBody(disc, mass, (axial, across, across)))
    rolls = model.add(RollingDisc(model.ground, disc, (0, 0, 1), axis, r))
    solution = simulate(model, 2.0, 2.0 / steps)
    return np.concatenate([solution.position(disc)[-1], solution.reaction(rolls)[0][-1]])


@case("position servo", "joints", refine=(200, 400, 800))
def servo(steps: int) -> Array:
    """A motor with inductance turns a rotor to an angle, by PI control and the rate: angle, rate and current."""
    L, R, K, P = 0.05, 1.0, 0.5, 40.0
    model = Model()
    rotor = model.add_node((0, 0, 0))
    model.add(RigidBody(rotor, 1.0, [0.02] * 3))
    hinge = model.add(RevoluteJoint(model.ground, rotor, (0, 0, 1)))
    model.add(JointSpring(hinge, 0.0, 0.01))
    angle, rate = (model.add(JointSensor(hinge, quantity)) for quantity in ("coordinate", "coordinate_rate"))
    voltage = model.add(PID(1.0 - angle, P, 20.0)) - 2.0 * rate
    current = model.add(StateSpace(voltage - K * rate, -R / L, 1.0 / L, 1.0))
    model.add(JointActuator(hinge, K * current))
    solution = simulate(model, 1.0, 1.0 / steps)
    values = solution.coordinate(hinge), solution.angular_velocity(rotor)[:, 2], solution.signal(current)
    return np.stack(values, axis=-1)[rows(solution.t, (0.25, 0.5, 1.0))]
