"""Beams: sections that couple everything, blades twisted as built, slender beams on coarse meshes, a moving load."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force, GeneralJoint, JointDrive, RigidBody, SlidingJoint
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.static.statics import statics
from fem_mbs.validation.case import Quantity, case, compared, rate, refine
from fem_mbs.validation.equilibria import UNIT, cantilever

SLENDERNESS = (1e1, 1e2, 1e3, 1e4)
"""Length over the side of the square section."""
COARSE, FINE = 8, (64, 128)


def tip(angle: float, slenderness: float, elements: int, interpolation: str) -> Array:
    """Displacement of the end of an arc of length 1 under a load across its plane, ``P L^2/EI = 2``."""
    side = 1 / slenderness
    section = BeamSection(side**2, side**2 / 2.4, 0.1406 * side**4 / 2.4, side**4 / 12, 1.0, (1.0, 1.0, 1.0))
    along = np.linspace(0, angle, elements + 1)
    if angle:
        places = np.stack([np.sin(along), 1 - np.cos(along), 0 * along], axis=-1) / angle
    else:
        places = np.linspace(0, 1, elements + 1)[:, None] * [1.0, 0.0, 0.0]
    model = Model()
    nodes = [model.add_node(place) for place in places]
    model.add(Beam(nodes, section, y_axis=(0, 0, 1), interpolation=interpolation))
    model.fix(nodes[0])
    model.add(Force(nodes[-1], (0, 0, side**4 / 6)))
    displacement: Array = statics(model).displacement(nodes[-1])[-1]
    return displacement


def errors(angle: float, interpolation: str) -> Array:
    """Relative error of the coarse mesh for each slenderness."""
    result = []
    for slenderness in SLENDERNESS:
        coarse, middle, fine = (tip(angle, slenderness, n, interpolation) for n in (COARSE, *FINE))
        exact = fine + (fine - middle) / 3.0
        result.append(np.linalg.norm(coarse - exact) / np.linalg.norm(exact))
    return np.array(result)


def _quantities(angle: float) -> list[Quantity]:
    quantities = []
    for interpolation in ("SE3", "R3xSO3"):
        found = errors(angle, interpolation)
        source = f"error at slenderness {SLENDERNESS[0]:g}"
        for slenderness, error in zip(SLENDERNESS[1:], found[1:], strict=True):
            name = f"{interpolation}: error at slenderness {slenderness:g}"
            quantities.append(Quantity(name, float(error), float(found[0]), 0.05, source))
    return quantities


@case("locking, straight", "statics")
def straight() -> list[Quantity]:
    """A cantilever of 8 elements, 10 to 10 000 times as long as it is thick, bent by half its length."""
    return _quantities(0.0)


@case("locking, 45-degree bend", "statics")
def bent() -> list[Quantity]:
    """The same for an eighth of a circle that is bent and twisted."""
    return _quantities(np.pi / 4)


LENGTH, EI, MASS, PUSH = 10.0, 1e5, 20.0, 1.0
SHARES = (0.25, 0.5, 0.75, 0.9)
"""Of the beam that the load has passed."""
SPEED = 0.3 * np.pi / LENGTH * np.sqrt(EI / MASS)


def _series(terms: int = 200) -> Array:
    """Deflection of the middle of a slender beam under a force that moves (Fryba 1972), a mode at a time."""
    n, t = np.arange(1, terms + 1)[:, None], np.array(SHARES) * LENGTH / SPEED
    passing = n * np.pi * SPEED / LENGTH
    frequency = (n * np.pi / LENGTH) ** 2 * np.sqrt(EI / MASS)
    share = np.sin(n * np.pi / 2) / n**4 / (1 - (passing / frequency) ** 2)
    parts = share * (np.sin(passing * t) - passing / frequency * np.sin(frequency * t))
    total: Array = 2 * PUSH * LENGTH**3 / (np.pi**4 * EI) * parts.sum(axis=0)
    return total


@case("moving load", "joints", slow=True)
def moving_load() -> list[Quantity]:
    """A force crosses a bridge on hinges at 0.3 of the speed that would resonate: deflection of its middle."""
    model = Model()
    section = BeamSection(EA=1e9, GA=1e9, GJ=1e5, EI=EI, mass=MASS, inertia=(2e-4, 1e-4, 1e-4))
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, 6, order=3)
    along, about = (False, True, True), (True, False, False)
    model.add(GeneralJoint(model.ground, beam.nodes[0], rotation=about))
    model.add(GeneralJoint(model.ground, beam.nodes[-1], translation=along, rotation=(False, False, False)))
    load = model.add_node((0, 0, 0), velocity=(SPEED, 0, 0))
    model.add(RigidBody(load, 1e-6, (1e-6, 1e-6, 1e-6)))
    slide = model.add(SlidingJoint(beam, load))
    model.add(JointDrive(slide, lambda t: SPEED * t))
    model.add(Force(load, (0, 0, -PUSH)))
    steps = 360
    t_end = SHARES[-1] * LENGTH / SPEED
    solution = simulate(model, t_end, t_end / steps)
    rows = [round(share / SHARES[-1] * steps) for share in SHARES]
    values = -1e3 * solution.displacement(beam.nodes[len(beam.nodes) // 2])[rows, 2]
    exact = 1e3 * _series()
    names = [f"load at {share:g} of the length (mm)" for share in SHARES]
    return compared(names, values, exact, 5e-4, "series of modes", float(exact.max()))


AXES = ("u_x", "u_y", "u_z")


@case("composite cantilever", "statics")
def composite_cantilever() -> list[Quantity]:
    """A beam whose section couples bending with twist, under 150 N at its end (Wang and others 2015, BeamDyn)."""
    rotation = 1e3 * np.array([[16.96, 17.61, -0.351], [17.61, 59.12, -0.37], [-0.351, -0.37, 141.47]])
    stiffness = block_diag(np.diag([1368.17e3, 88.56e3, 38.78e3]), rotation)

    def run(elements: int) -> Array:
        model, beam = cantilever(BeamSection.general(stiffness, np.eye(6)), 10.0, elements)
        model.add(Force(beam.nodes[-1], (0, 0, 150.0)))
        end: Array = statics(model).displacement(beam.nodes[-1])[-1]
        return end

    values, order = refine(run, (20, 40, 80))
    references = (-0.0902726627, -0.0647488486, 1.2297364829)
    return [*compared(AXES, values, references, 1e-6, "BeamDyn, through Kynema", 1.0), rate(order)]


@case("twisted cantilever", "statics")
def twisted_cantilever() -> list[Quantity]:
    """A steel bar of 10 m that is twisted by 90 degrees as built, under 4 MN at its end (Wang and others 2015)."""
    section = BeamSection(2.5e10, 8.2604167e9, 1.41872656e8, (5.20833e8, 1.30208333e8), 1.0, UNIT)

    def run(elements: int) -> Array:
        model = Model()
        nodes = [model.add_node((place, 0, 0)) for place in np.linspace(0, 10, elements + 1)]

        def across(x: Array) -> Array:
            angle = np.pi / 2 * x[0] / 10
            return np.array([0, np.cos(angle), np.sin(angle)])

        model.add(Beam(nodes, section, y_axis=across))
        model.fix(nodes[0])
        model.add(Force(nodes[-1], (0, 0, -4e6)))
        end: Array = statics(model).displacement(nodes[-1])[-1]
        return end

    values, order = refine(run, (20, 40, 80))
    spectral = compared(AXES, values, (-1.141526, -1.7180533, -3.5932132), 1e-5, "spectral elements, through Kynema")
    solid = compared(AXES, values, (-1.134192, -1.714467, -3.58423), 1e-2, "ANSYS, through Kynema")
    return [*spectral, *solid, rate(order)]
