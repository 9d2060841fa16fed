"""Beams, strings, chains, blades and rotors whose natural frequencies are known."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import case, known, refined
from fem_mbs.contracts import Node
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FlexibleBody,
    Force,
    GeneralJoint,
    PointMass,
    PointOnLineJoint,
    Reduction,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
)
from fem_mbs.modal.linear_model import linearize
from fem_mbs.modal.modes import modes
from fem_mbs.model.model import Model
from fem_mbs.static.campbell import campbell
from fem_mbs.static.statics import statics
from fem_mbs.static.steady_rotation import steady_rotation

EULER = {name: np.sqrt(known(name) / 10) for name in ("cantilever", "free beam")}
"""beta L of slender beams."""


# Thick beams


EI, GA, MU, J, LENGTH = 4e3, 7e4, 3.0, 0.02, 2.0
"""A beam that shears and has rotary inertia ``J``, of mass ``MU``, both per length."""


def thick_beam(elements: int, order: int = 1) -> tuple[Model, Beam]:
    """A thick beam along x, which nothing holds, bent and sheared across its section's y."""
    model = Model()
    section = BeamSection(EA=1e9, GA=(1e9, GA), GJ=1e9, EI=(EI, 1e9), mass=MU, inertia=(1e-3, J, 1e-3))
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, elements, y_axis=(0, 1, 0), order=order)
    return model, beam


# Turning blades


HODGES = dict(zip((0, 3, 6, 9, 12), known("turning blade").reshape(5, 2), strict=True))
"""Speed: frequencies out of the plane (Hodges and Rutkowski 1981), all over ``sqrt(EI/mu L^4)``."""


def blade(
    speed: float, hub: float = 0.0, lag: float = 1e3, *, elements: int = 10, order: int = 1, EA: float = 1e7
) -> tuple[Model, Node]:
    """A slender blade of length 1 that turns about z on a hub of a radius, and its tip.

    ``speed`` is over ``sqrt(EI/mu L^4)``; ``lag`` is the stiffness in the plane of rotation over that out of it.
    """
    model = Model("SE3")
    section = BeamSection(EA, EA, GJ=1e3, EI=(1.0, lag), mass=1.0, inertia=(2 / EA, 1 / EA, 1 / EA))
    beam = Beam.line(model, (hub, 0, 0), (hub + 1, 0, 0), section, elements, y_axis=(0, 1, 0), order=order)
    axis = (0, 0, 1)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], axis, point=(0, 0, 0), drive=lambda t: speed * t))
    return model, beam.nodes[-1]


# Stodola's rotor


SHAFT, DISK, POLAR, ACROSS, SHAFT_GA, SHAFT_EI = 0.5, 10.0, 0.18, 0.1, 1e6, 1000.0


def _nearest(found: Array, exact: Array) -> Array:
    """Of each given value the one that is next to it."""
    return np.array([found[np.abs(found - value).argmin()] for value in exact])


def _euler(clamped: bool) -> Array:
    section = BeamSection(EA=1e9, GA=1e10, GJ=100, EI=100, mass=1, inertia=(2e-9, 1e-9, 1e-9))

    def run(elements: int) -> Array:
        model = Model()
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements)
        if clamped:
            model.fix(beam.nodes[0])
        found = modes(model, 12).angular
        return found[found > 0.0][:6:2]  # each twice, in two planes

    return refined(run, (40, 80, 160))


@case("cantilever", "modes")
def cantilever() -> Array:
    """Bending of a slender clamped beam."""
    return _euler(clamped=True)


@case("free beam", "modes")
def free_beam() -> Array:
    """Bending of a slender beam that floats freely, beside its six rigid motions."""
    return _euler(clamped=False)


@case("thick cantilever", "modes", refine=(20, 40, 80))
def thick_cantilever_case(elements: int) -> Array:
    """Bending of a clamped beam that shears and has rotary inertia."""
    model, beam = thick_beam(elements)
    model.fix(beam.nodes[0])
    return modes(model, 4).angular


@case("thick beam on hinges", "modes", refine=(40, 80, 160))
def thick_beam_on_hinges(elements: int) -> Array:
    """Waves of bending and, above a cut-off, waves of shear fit a beam on two hinges: both branches of three shapes."""
    model, beam = thick_beam(elements)
    for end, along in ((0, True), (-1, False)):
        model.add(GeneralJoint(model.ground, beam.nodes[end], (along, True, True), rotation=(True, False, True)))
    return _nearest(modes(model, 20).angular, known("thick beam on hinges"))


@case("chain of ten links", "modes")
def chain() -> Array:
    """Equal masses on massless links swing about the vertical: zeros of Laguerre's polynomial of degree ten."""
    model = Model(gravity=(0, 0, -9.81))
    last = model.ground
    for k in range(10):
        node = model.add_node((0, 0, -(k + 1) / 10))
        model.add(PointMass(node, 1.0))
        model.add(RevoluteJoint(last, node, axis=(0, 1, 0), point=last.position))
        last = node
    return modes(model).angular


@case("string", "modes", refine=(50, 100, 200))
def string_case(elements: int) -> Array:
    """A thin wire under tension, hinged at one end and free across at the other: quarter waves of a string."""
    model = Model()
    # soft in one plane
    section = BeamSection(1e5, 1e6, 1e4, (1e4, 1e-5), 3.0, (1e-4, 1e-6, 1e-6))
    wire = Beam.line(model, (0, 0, 0), (2, 0, 0), section, elements, y_axis=(0, 1, 0))
    model.add(RevoluteJoint(model.ground, wire.nodes[0], (0, 0, 1)))
    model.add(Force(wire.nodes[-1], (100.0, 0, 0)))
    return modes(model, 3, statics(model, ramp=False).state(-1)).angular


def _blade(elements: int, speed: float, hub: float, lag: float) -> Array:
    """Two frequencies of flap, then two of lag, over ``sqrt(EI/mu L^4)``."""
    model, tip = blade(speed, hub, lag, elements=elements)
    found = modes(model, 6, steady_rotation(model, (0, 0, speed)).state(-1))
    seen = np.abs(found.displacement(tip))
    out, within = seen[:, 2] > 10 * seen[:, 1], seen[:, 1] > 10 * seen[:, 2]
    return np.concatenate([found.angular[out][:2], found.angular[within][:2]])


@case("turning blade", "modes", refine=(10, 20, 40), over=zip(HODGES), order=False)
def turning_blade(elements: int, speed: float) -> Array:
    """A slender blade stiffens as it turns about its root: frequencies out of the plane of rotation."""
    return _blade(elements, speed, 0.0, 1e3)[:2]


@case("blade on a hub", "modes", refine=(10, 20, 40), over=zip((0.0, 0.2, 1.0)))
def blade_on_a_hub(elements: int, hub: float) -> Array:
    """The same on hubs of a fifth of the blade's length and of all of it: out of the plane (flap) and in it (lag)."""
    return _blade(elements, 10.0, hub, 1.0)


WHIRL = [*zip((0.0, 60.0, 300.0), known("overhung rotor").reshape(3, 4), strict=True)]
"""Speeds in rad/s, and frequencies there."""


@case("overhung rotor", "modes", refine=(10, 20, 40), over=WHIRL)
def overhung_rotor_case(elements: int, spin: float, exact: Array) -> Array:
    """Stodola's disk at the end of a shaft without mass: forward and backward whirl at three speeds."""
    model = Model()
    section = BeamSection(1e6, SHAFT_GA, 800.0, SHAFT_EI, 1e-6, (1e-8, 5e-9, 5e-9))
    shaft = Beam.line(model, (0, 0, 0), (SHAFT, 0, 0), section, elements)
    model.add(RigidBody(shaft.nodes[-1], DISK, (POLAR, ACROSS, ACROSS)))
    model.add(RevoluteJoint(model.ground, shaft.nodes[0], axis=(1, 0, 0), drive=lambda t: spin * t))
    # the shaft sees rates of whirl less its own speed
    seen = modes(model, 8, steady_rotation(model, (spin, 0, 0)).state(-1)).angular
    return _nearest(np.concatenate([spin + seen, spin - seen]), exact)


@case("hanging cable", "modes", refine=(40, 80, 160))
def hanging_cable(elements: int) -> Array:
    """A cable on a hinge, 1 m long, swings under its weight alone: zeros of Bessel's function of order 0."""
    model = Model(gravity=(0, 0, -9.81))
    section = BeamSection(1e6, 1e6, 1e4, (1e-6, 1e4), 1.0, (1e-9, 1e-9, 1e-9))
    cable = Beam.line(model, (0, 0, 0), (0, 0, -1), section, elements, y_axis=(0, 1, 0))
    model.add(RevoluteJoint(model.ground, cable.nodes[0], (0, 1, 0)))
    return modes(model, 3, statics(model, ramp=False).state(-1)).angular


@case("turning shaft on hinges", "modes", refine=(8, 16, 32))
def turning_shaft(elements: int) -> Array:
    """A thick shaft turns at 3000 rad/s: it whirls backward and forward, by one half wave and by two."""
    model, (E, G, rho, r) = Model(), (210e9, 80e9, 7850.0, 0.1)
    A, second = np.pi * r**2, np.pi * r**4 / 4
    turning = rho * second * np.array([2.0, 1.0, 1.0])
    section = BeamSection(E * A, 0.9 * G * A, 2 * G * second, E * second, rho * A, turning)
    shaft = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements)
    model.add(SphericalJoint(model.ground, shaft.nodes[0]))
    model.add(PointOnLineJoint(model.ground, shaft.nodes[-1], (1, 0, 0)))
    found = campbell(model, [3000.0], turning=shaft.nodes)
    return _nearest(found.angular[0] * found.whirl[0], known("turning shaft on hinges"))


@case("blade of reduced bodies", "modes")
def reduced_blade() -> Array:
    """The turning blade as eight flexible bodies in a row, of four modes each: how it lags and flaps at speed 6."""
    part, model = Model(), Model("SE3")
    section = BeamSection(1e7, 1e7, 1e3, 1.0, 1.0, (2e-7, 1e-7, 1e-7))
    beam = Beam.line(part, (0, 0, 0), (0.125, 0, 0), section, 16)
    eighth = Reduction.model(linearize(part), {"a": beam.nodes[0], "b": beam.nodes[-1]}, modes=4)
    nodes = [model.add_node((x, 0, 0)) for x in np.linspace(0.0, 1.0, 9)]
    for a, b in zip(nodes, nodes[1:], strict=False):
        model.add(FlexibleBody({"a": a, "b": b}, eighth, position=a.position))
    model.add(RevoluteJoint(model.ground, nodes[0], (0, 0, 1), drive=lambda t: 6.0 * t))
    return modes(model, 2, steady_rotation(model, (0, 0, 6.0)).state(-1)).angular
