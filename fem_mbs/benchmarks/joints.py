"""Bodies, springs, motors and friction in joints whose motion is known in closed form or from one coordinate.

And a block on a moving belt that sticks and slips, and a load that crosses a bridge at constant speed (Fryba 1972).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import EXACT, STEP, Quantity, case, compared, converged, refine, rows
from fem_mbs.contracts import Node
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    GeneralJoint,
    JointDrive,
    JointFriction,
    JointSpring,
    PointMass,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    ScrewJoint,
    SlidingJoint,
    SpeedMotor,
    SpinUp,
    SpringDamper,
    UniversalJoint,
)
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate

GRAVITY = 9.81
CLOSED = "exact: closed form"


@case("intermediate axis", "joints")
def intermediate_axis() -> list[Quantity]:
    """Dzhanibekov: a free body that turns near its intermediate axis flips over and back, by elliptic functions."""
    J, start = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 1.001 / np.sqrt(3.0)])
    times = (5.0, 10.0)

    def run(steps: int) -> Array:
        model = Model()
        node = model.add_node((0, 0, 0), angular_velocity=start)
        model.add(RigidBody(node, 1.0, J))
        solution = simulate(model, times[-1], times[-1] / steps)
        return solution.angular_velocity(node)[rows(solution.t, times)].ravel()

    twice, square = J @ start**2, J**2 @ start**2
    fast = np.sqrt((J[2] - J[1]) * (square - twice * J[0]) / J.prod())
    m = (J[1] - J[0]) * (twice * J[2] - square) / ((J[2] - J[1]) * (square - twice * J[0]))
    sn, cn, dn, _ = ellipj(fast * np.array(times), m)
    across = np.sqrt((twice * J[2] - square) / (J[1] * (J[2] - J[1])))
    exact = np.stack([start[0] * cn, across * sn, start[2] * dn], axis=-1).ravel()
    names = [f"rate {k} at t = {t:g} s (rad/s)" for t in times for k in (1, 2, 3)]
    return converged(
        names, refine(run, (200, 400, 800)), exact, 1e-5, "exact: Jacobi's elliptic functions", scale=1.0, of=STEP
    )


@case("Cardan joint", "joints")
def cardan() -> Iterator[Quantity]:
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
    errors = [np.abs(f - e).max() for f, e in zip(found, (speed * ratio, angle, J * rate * ratio), strict=True)]
    yield Quantity("error of the speed (rad/s)", errors[0], 0.0, 1e-9, CLOSED, speed)
    yield Quantity("error of the angle (rad)", errors[1], 0.0, 1e-9, CLOSED, 1.0)
    yield Quantity("error of the driving moment (N m)", errors[2], 0.0, 1e-3, CLOSED, np.abs(J * rate * ratio).max())


@case("block on an incline", "joints")
def incline() -> list[Quantity]:
    """A block slides down a straight guide at 30 degrees: where it is, and what the guide bears."""
    slope, mass, t_end = np.radians(30.0), 2.0, 2.0
    model = Model(gravity=(0, 0, -GRAVITY))
    block = model.add_node((0, 0, 0))
    model.add(RigidBody(block, mass, (0.1, 0.1, 0.1)))
    guide = model.add(PrismaticJoint(model.ground, block, (np.cos(slope), 0, -np.sin(slope))))
    solution = simulate(model, t_end, 0.1)
    force = solution.reaction(guide)[0][-1]
    normal = mass * GRAVITY * np.cos(slope)
    values = np.array([solution.coordinate(guide)[-1], force[0], force[2]])
    references = (GRAVITY * np.sin(slope) * t_end**2 / 2, normal * np.sin(slope), normal * np.cos(slope))
    return compared(("slide (m)", "force along x (N)", "force upwards (N)"), values, references, 1e-10, CLOSED)


@case("nut on a screw", "joints")
def screw() -> list[Quantity]:
    """A nut runs down an upright screw and has to turn: how far it comes, and how far it turns."""
    mass, J, lead, t_end = 1.5, 0.004, 0.05, 3.0
    model = Model(gravity=(0, 0, -GRAVITY))
    nut = model.add_node((0, 0, 0))
    model.add(RigidBody(nut, mass, (J, J, J)))
    model.add(ScrewJoint(model.ground, nut, (0, 0, 1), lead=lead))
    solution = simulate(model, t_end, 0.01)
    per_turn = 2 * np.pi / lead
    fall = GRAVITY / (1 + J * per_turn**2 / mass) * t_end**2 / 2
    values = np.array([-solution.position(nut)[-1, 2], -solution.angular_velocity(nut)[-1, 2]])
    names = ("travel (m)", "speed of rotation (rad/s)")
    return compared(names, values, (fall, per_turn * 2 * fall / t_end), 1e-8, CLOSED)


@case("mass, spring and damper", "joints")
def mass_and_spring() -> list[Quantity]:
    """A mass on a spring and a damper, pulled out by 0.1 m and let go."""
    mass, stiffness, damping, pulled = 2.0, 800.0, 4.0, 0.1
    times = (0.1, 0.5, 1.0)

    def run(steps: int) -> Array:
        model = Model()
        node = model.add_node((0.5 + pulled, 0, 0))
        model.add(PointMass(node, mass))
        model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
        model.add(SpringDamper(model.ground, node, stiffness, damping, free_length=0.5))
        solution = simulate(model, 1.0, 1.0 / steps)
        return solution.position(node)[rows(solution.t, times), 0] - 0.5

    decay = damping / (2 * mass)
    fast = np.sqrt(stiffness / mass - decay**2)
    t = np.array(times)
    exact = pulled * np.exp(-decay * t) * (np.cos(fast * t) + decay / fast * np.sin(fast * t))
    names = [f"place at t = {t:g} s (m)" for t in times]
    return converged(names, refine(run, (200, 400, 800)), exact, 1e-5, CLOSED, scale=pulled, of=STEP)


@case("driven hinge", "joints")
def driven_hinge() -> list[Quantity]:
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
    error = np.abs(moment - exact)[4:-4].max()
    return [Quantity("error of the moment (N m)", error, 0.0, 1e-3, CLOSED, mass * GRAVITY * arm)]


@case("pendulum with a torsion spring", "joints")
def torsion_pendulum() -> list[Quantity]:
    """A bar hangs from a hinge with a spring and a damper, wound up by three quarters of a turn and let go."""
    mass, J, arm, stiffness, damping, wound = 2.0, 0.1, 0.4, 3.0, 0.05, 1.5 * np.pi
    times = (0.5, 1.0, 2.0)

    def run(steps: int) -> Array:
        model = Model(gravity=(0, 0, -GRAVITY))
        bar = model.add_node((0, 0, -arm))
        model.add(RigidBody(bar, mass, (J, J, J)))
        hinge = model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), point=(0, 0, 0)))
        model.add(JointSpring(hinge, stiffness, damping, free=wound))
        solution = simulate(model, times[-1], times[-1] / steps)
        return solution.angle(hinge)[rows(solution.t, times)]

    def rates(_: float, y: Array) -> tuple[float, float]:
        moment = -stiffness * (y[0] - wound) - damping * y[1] - mass * GRAVITY * arm * np.sin(y[0])
        return y[1], moment / (J + mass * arm**2)

    exact = solve_ivp(rates, (0, times[-1]), (0.0, 0.0), "DOP853", t_eval=times, rtol=1e-12, atol=1e-12).y[0]
    names = [f"angle at t = {t:g} s (rad)" for t in times]
    return converged(names, refine(run, (200, 400, 800)), exact, 1e-5, EXACT, scale=1.0, of=STEP)


@case("speed motor", "joints")
def speed_motor() -> list[Quantity]:
    """A motor with a proportional and an integral gain brings a rotor to a speed: an oscillator of second order."""
    J, gain, integral, speed = 0.5, 4.0, 40.0, 12.0
    times = (0.1, 0.3, 1.0)

    def run(steps: int) -> Array:
        model = Model()
        rotor = model.add_node((0, 0, 0))
        model.add(RigidBody(rotor, 1.0, (J, J, J)))
        hinge = model.add(RevoluteJoint(model.ground, rotor, (0, 0, 1)))
        model.add(SpeedMotor(hinge, speed, gain, integral))
        solution = simulate(model, 1.0, 1.0 / steps)
        return solution.angular_velocity(rotor)[rows(solution.t, times), 2]

    decay = gain / (2 * J)
    fast = np.sqrt(integral / J - decay**2)
    t = np.array(times)
    error = speed * np.exp(-decay * t) * (np.cos(fast * t) - decay / fast * np.sin(fast * t))
    names = [f"speed at t = {t:g} s (rad/s)" for t in times]
    return converged(names, refine(run, (100, 200, 400)), speed - error, 1e-4, CLOSED, of=STEP)


BELT_SPEED, HOLDING, STATIC, KINETIC, BELT_GRAVITY = 0.1, 100.0, 0.5, 0.3, 10.0
LAWS: dict[str, dict[str, Any]] = {
    "regularised": {"creep": 1e-4, "stribeck": 3e-4},
    "bristles": {"stribeck": 1e-3, "bristle": 1e-6},
}
"""Arguments of the friction that come near Coulomb's law."""
BELT_OMEGA, AWAY, MIDDLE = (
    np.sqrt(HOLDING),
    (STATIC - KINETIC) * BELT_GRAVITY / HOLDING,
    KINETIC * BELT_GRAVITY / HOLDING,
)
SLIP = 2 / BELT_OMEGA * (np.pi - np.arctan(BELT_OMEGA * AWAY / BELT_SPEED))
PERIOD = 2 * AWAY / BELT_SPEED + SLIP
FURTHEST = MIDDLE + np.hypot(AWAY, BELT_SPEED / BELT_OMEGA)
"""By Coulomb's law: how long it slips, the whole period, and the furthest place."""


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
def block_on_a_belt() -> Iterator[Quantity]:
    """A block on a moving belt is held by a spring: it sticks and slips; Coulomb's law is met by small regularisations.

    It sticks for ``2 A/v`` and slips for ``2/omega (pi - atan(omega A/v))`` with ``A = (mu_s - mu_k) m g/k``.
    """
    for name, friction in LAWS.items():
        model, block = belt(**friction)
        solution = simulate(model, 2.2, 1e-3)
        back = turning_back(solution.t, solution.velocity(block)[:, 0])
        found = np.array([np.diff(back).mean(), solution.displacement(block)[:, 0].max()])
        names, references = (f"{name}: period (s)", f"{name}: furthest place (m)"), (PERIOD, FURTHEST)
        yield from compared(names, found, references, 1e-2, "exact: Coulomb's law, closed form")


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
def passing_load() -> list[Quantity]:
    """A force crosses a bridge on hinges at 0.3 of the speed that would resonate: deflection of its middle."""
    shares, steps, speed = (0.25, 0.5, 0.75, 0.9), 360, 0.3 * CRITICAL
    model, middle = bridge(speed)
    t_end = shares[-1] * LENGTH / speed
    solution = simulate(model, t_end, t_end / steps)
    times = np.array(shares) * LENGTH / speed
    values = -1e3 * solution.displacement(middle)[rows(solution.t, times), 2]
    exact = 1e3 * deflection(times, speed)
    names = [f"load at {share:g} of the length (mm)" for share in shares]
    return compared(names, values, exact, 5e-4, "exact: series of modes", scale=float(exact.max()))
