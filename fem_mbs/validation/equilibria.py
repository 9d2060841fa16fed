"""Benchmarks of static equilibria."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.integrate import quad_vec
from scipy.interpolate import CubicSpline

from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force, Moment, RevoluteJoint
from fem_mbs.model.model import Model
from fem_mbs.static.statics import statics
from fem_mbs.validation.case import Quantity, case, compared, rate, refine

EXACT = "exact Simo-Reissner solution, shooting"
UNIT = (1.0, 1.0, 1.0)


def cantilever(section: BeamSection, length: float, elements: int, interpolation: str = "SE3") -> tuple[Model, Beam]:
    """A beam along x, clamped at the origin, with its section's y along y."""
    model = Model()
    beam = Beam.line(model, (0, 0, 0), (length, 0, 0), section, elements, y_axis=(0, 1, 0), interpolation=interpolation)
    model.fix(beam.nodes[0])
    return model, beam


@case("roll-up", "statics")
def roll_up() -> list[Quantity]:
    """A cantilever bent to a full circle, and to two turns, by a moment at its end."""
    quantities = []
    for interpolation in ("SE3", "R3xSO3"):
        model, beam = cantilever(BeamSection(1e4, 1e4, 100, 100, 1.0, UNIT), 10.0, 10, interpolation)
        model.add(Moment(beam.nodes[-1], (0, 0, 2 * np.pi * 100 / 10)))
        solution = statics(model, load_end=2.0, loads=[1.0, 2.0])
        for turns, u in zip((1, 2), solution.displacement(beam.nodes[-1]), strict=True):
            names = [f"{interpolation}: {axis} after {turns} turns" for axis in ("u_x", "u_y")]
            quantities += compared(names, u[:2], (-10.0, 0.0), 1e-9, "exact", 10.0)
    return quantities


@case("elastica", "statics")
def elastica() -> list[Quantity]:
    """A slender cantilever under a dead load across its end."""

    def run(elements: int) -> Array:
        model, beam = cantilever(BeamSection(1e8, 1e8, 1.0, 1.0, 1.0, UNIT), 1.0, elements)
        model.add(Force(beam.nodes[-1], (0, 1.0, 0)))
        x, y, _ = statics(model, load_end=5.0, loads=[1.0, 5.0]).position(beam.nodes[-1]).T
        return np.array([1 - x[0], y[0], 1 - x[1], y[1]])

    values, order = refine(run, (20, 40, 80))
    names = [f"{name} at PL^2/EI = {load}" for load in (1, 5) for name in ("1 - x/L", "y/L")]
    references = (0.056433, 0.301721, 0.387628, 0.713792)
    return [*compared(names, values, references, 1e-5, "elliptic integrals"), rate(order)]


@case("45-degree bend", "statics")
def bend() -> list[Quantity]:
    """Bathe and Bolourchi 1979: an eighth of a circle under a load out of its plane."""

    def run(elements: int) -> Array:
        model = Model()
        angle = np.linspace(0, np.pi / 4, elements + 1)
        places = 100 * np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=-1)
        nodes = [model.add_node(place) for place in places]
        section = BeamSection(1e7, 5e6, 5e6 / 6, 1e7 / 12, 1.0, UNIT)
        model.add(Beam(nodes, section, y_axis=(0, 0, 1)))
        model.fix(nodes[0])
        model.add(Force(nodes[-1], (0, 0, 600)))
        place: Array = statics(model).position(nodes[-1])[-1]
        return place

    values, order = refine(run, (16, 32, 64))
    names = ("x of the end", "y of the end", "z of the end")
    exact = compared(names, values, (47.150439, 15.684801, 53.474859), 1e-5, EXACT)
    published = compared(names, values, (47.23, 15.79, 53.37), 1e-2, "Simo and Vu-Quoc 1986")
    return [*exact, *published, rate(order)]


@case("follower force", "statics")
def follower_force() -> list[Quantity]:
    """Simo and Vu-Quoc 1986: a cantilever under a load that stays across its end, up to 130 kN."""
    loads = (2500.0, 10000.0, 30000.0, 130000.0)
    table = {  # force: axial, transverse, rotation
        2500: (3.34074, 23.34139, 0.35563),
        10000: (41.69281, 71.10952, 1.34024),
        30000: (108.70891, 60.54841, 2.83802),
        130000: (75.92824, -47.82772, 0.85171),
    }

    def run(elements: int) -> Array:
        model, beam = cantilever(BeamSection(4.2e8, 1.61538e8, 3.5e7, 3.5e7, 1.0, UNIT), 100.0, elements)
        tip = beam.nodes[-1]
        model.add(Force(tip, (0, 1.0, 0), frame="body"))
        solution = statics(model, load_end=loads[-1], loads=loads)
        u, turn = solution.displacement(tip), solution.rotation_vector(tip)[:, 2]
        return np.stack([-u[:, 0], u[:, 1], turn], axis=-1).ravel()

    values, order = refine(run, (20, 40, 80))
    names = [f"{name} at {load} N" for load in table for name in ("axial", "transverse", "rotation")]
    return [*compared(names, values, np.ravel([*table.values()]), 2e-5, EXACT), rate(order)]


@case("Lee's frame", "statics")
def lee_frame() -> list[Quantity]:
    """Two legs with hinges at their ends; the load on one snaps through and back: both limits of the load."""

    def run(elements: int) -> Array:
        model = Model()
        section = BeamSection(7.2e6 * 6, 1e12, 1e9, 7.2e6 * 2, 1.0, UNIT)
        column = Beam.line(model, (0, 0, 0), (0, 120, 0), section, elements, y_axis=(0, 0, 1))
        corner = column.nodes[-1]
        short = Beam.line(model, (0, 120, 0), (24, 120, 0), section, elements // 4, start_node=corner, y_axis=(0, 0, 1))
        point = short.nodes[-1]
        rest = Beam.line(model, (24, 120, 0), (120, 120, 0), section, elements, start_node=point, y_axis=(0, 0, 1))
        for node in (column.nodes[0], rest.nodes[-1]):
            model.add(RevoluteJoint(model.ground, node, (0, 0, 1)))
        model.add(Force(point, (0, -1e3, 0)))
        solution = statics(model, load_end=25.0, arc_length=True, step=0.02)
        u, v, _ = solution.displacement(point).T
        return _limits(u, -v, solution.t)

    values, order = refine(run, (16, 32, 64))
    names = [f"{limit} limit: {name}" for limit in ("upper", "lower") for name in ("load/1000", "v", "u")]
    references = (18.5567, 48.7353, 26.8808, -9.4144, 58.2168, 90.1957)
    return [*compared(names, values, references, 2e-5, EXACT), rate(order)]


def _limits(u: Array, v: Array, load: Array) -> Array:
    """The first maximum of the load along a path and the minimum after it, each with both displacements."""
    s = np.arange(len(load), dtype=float)
    path = CubicSpline(s, np.stack([load, v, u], axis=-1))
    turns = path.derivative().roots(extrapolate=False)[0]
    return np.concatenate([path(turns[0]), path(turns[1])])


@case("helix", "statics", slow=True)
def helix() -> list[Quantity]:
    """Ibrahimbegovic 1997: a cantilever is wound to ten turns by a moment while a force pulls it out of its plane."""
    table = {  # load factor: displacement
        0.025: (-3.66326, 5.754481, 2.990466),
        0.1: (-9.589797, 0.053771, -1.091729),
        0.2: (-9.884939, 0.008362, -0.598497),
        0.3: (-9.947604, 0.002594, -0.399593),
        1.0: (-9.995197, 0.000072, -0.076442),
    }

    def run(elements: int) -> Array:
        model, beam = cantilever(BeamSection(1e4, 1e4, 100, 100, 1.0, UNIT), 10.0, elements)
        model.add(Moment(beam.nodes[-1], (0, 0, 20 * np.pi * 100 / 10)))
        model.add(Force(beam.nodes[-1], (0, 0, 50)))
        return statics(model, loads=[*table]).displacement(beam.nodes[-1]).ravel()

    values, order = refine(run, (100, 200, 400))
    names = [f"{axis} at load {load}" for load in table for axis in ("u_x", "u_y", "u_z")]
    return [*compared(names, values, np.ravel([*table.values()]), 1e-5, EXACT, 10.0), rate(order)]


PRINCETON = {  # load (N), angle (deg): displacement axial, soft, stiff, and twist of the end
    (4.448, 0): (-0.0000339, 0.0, 0.0053595, 0.0),
    (4.448, 30): (-0.0019168, 0.0399500, 0.0047511, 0.0066713),
    (4.448, 60): (-0.0055272, 0.0681301, 0.0028622, 0.0065108),
    (4.448, 90): (-0.0072601, 0.0780830, 0.0, 0.0),
    (8.896, 0): (-0.0001356, 0.0, 0.0107154, 0.0),
    (8.896, 30): (-0.0076610, 0.0794572, 0.0101473, 0.0263802),
    (8.896, 60): (-0.0204736, 0.1299253, 0.0066544, 0.0241008),
    (8.896, 90): (-0.0260248, 0.1462619, 0.0, 0.0),
    (13.345, 0): (-0.0003048, 0.0, 0.0160651, 0.0),
    (13.345, 30): (-0.0171638, 0.1179039, 0.0167781, 0.0581062),
    (13.345, 60): (-0.0412072, 0.1819234, 0.0117165, 0.0484614),
    (13.345, 90): (-0.0504067, 0.2006953, 0.0, 0.0),
}


@case("Princeton beam", "statics")
def princeton() -> list[Quantity]:
    """Dowell and Traybar 1975: a beam with a flat section under its end load at all angles, bent and twisted."""
    quantities = []
    for (load, angle), references in PRINCETON.items():
        values, order = refine(partial(_princeton, load, np.radians(angle)), (10, 20, 40))
        names = [f"{name} at {load} N, {angle} deg" for name in ("u1", "u2", "u3", "twist")]
        quantities += [*compared(names, values, references, 1e-5, EXACT, 0.2), rate(order)]
    return quantities


def _princeton(load: float, angle: float, elements: int) -> Array:
    section = BeamSection(2.84191e6, (6.40131e5, 9.03881e5), 3.10338, (36.2794, 2.42873), 1.0, UNIT)
    model, beam = cantilever(section, 0.508, elements)
    tip = beam.nodes[-1]
    model.add(Force(tip, (0, load * np.sin(angle), load * np.cos(angle))))
    solution = statics(model)
    R = solution.rotation(tip)[-1]
    return np.append(solution.displacement(tip)[-1], np.arctan2(-R[1, 2], R[2, 2]))


@case("twisted beam", "statics")
def twisted_beam() -> list[Quantity]:
    """A flat strip, twisted by a right angle as built, under a small load at its end: both deflections."""
    weak, strong, load = 1.0, 4.0, 1e-6

    def run(elements: int) -> Array:
        model = Model()
        nodes = [model.add_node((place, 0, 0)) for place in np.linspace(0, 1, elements + 1)]
        section = BeamSection(1e8, 1e8, 1.0, (strong, weak), 1.0, UNIT)

        def across(x: Array) -> Array:
            return np.array([0, np.cos(np.pi / 2 * x[0]), np.sin(np.pi / 2 * x[0])])

        model.add(Beam(nodes, section, y_axis=across))
        model.fix(nodes[0])
        model.add(Force(nodes[-1], (0, load, 0)))
        return statics(model).displacement(nodes[-1])[-1, 1:] / load

    def compliance(s: float) -> Array:
        c, d = np.cos(np.pi / 2 * s), np.sin(np.pi / 2 * s)
        return (1 - s) ** 2 * np.array([c * c / weak + d * d / strong, c * d * (1 / weak - 1 / strong)])

    values, order = refine(run, (10, 20, 40))
    exact = quad_vec(compliance, 0, 1)[0]
    return [*compared(("along the load (m/N)", "across it (m/N)"), values, exact, 1e-5, "Castigliano"), rate(order)]


@case("short thick cantilever", "statics")
def shortcantilever() -> list[Quantity]:
    """Nachbagauer and others 2013: a cantilever four times as long as it is thick, bent far and a little."""
    E, nu, width, height, length = 2.07e11, 0.3, 0.1, 0.5, 2.0
    area, G = width * height, E / (2 * (1 + nu))
    shear = 10 * (1 + nu) / (12 + 11 * nu)  # Cowper's factor
    section = BeamSection(E * area, shear * G * area, 1e9, E * width * height**3 / 12, 1.0, UNIT)

    def run(elements: int) -> Array:
        model, beam = cantilever(section, length, elements)
        model.add(Force(beam.nodes[-1], (0, 5e8 * height**3, 0)))
        return statics(model, loads=[1e-3, 1.0]).displacement(beam.nodes[-1])[:, :2].ravel()

    values, order = refine(run, (10, 20, 40))
    names = [f"{axis} at {load} N" for load in ("62.5 k", "62.5 M") for axis in ("-u_x", "u_y")]
    references = (1.8885e-7, 8.0990e-4, 0.15097103, 0.71056837)
    tolerances = (3e-5, 1e-5, 1e-5, 1e-5)  # the first is printed with five digits
    quantities = [
        Quantity(name, abs(float(value)), reference, tolerance, "Nachbagauer and others, through Exudyn")
        for name, value, reference, tolerance in zip(names, values, references, tolerances, strict=True)
    ]
    return [*quantities, rate(order)]


@case("thick cantilever under its end load", "statics")
def geradin() -> list[Quantity]:
    """Geradin and Cardona: a cantilever of 5 m under 600 kN."""

    def run(elements: int) -> Array:
        model, beam = cantilever(BeamSection(4.8e8, 3.231e8, 1e6, 9.346e6, 1.0, UNIT), 5.0, elements)
        model.add(Force(beam.nodes[-1], (0, 0, -6e5)))
        solution = statics(model)
        u, turn = solution.displacement(beam.nodes[-1])[-1], solution.rotation_vector(beam.nodes[-1])[-1]
        return np.array([-u[2], -u[0], turn[1]])

    values, order = refine(run, (10, 20, 40))
    source = "Geradin and Cardona 2001, through SHARPy"
    return [
        *compared(("drop (m)", "shortening (m)", "rotation (rad)"), values, (2.159, 0.596, 0.672), 1e-3, source),
        rate(order),
    ]
