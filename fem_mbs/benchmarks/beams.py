"""Beams in equilibrium: rolled up, bent far, wound, snapping through, tipping over.

Functions return the model with its loads at factor 1, and the beam or the node that is watched. References that are
called exact are solutions of the equations of Simo and Reissner by shooting. Cases take meshes with an error that does
not grow with the slenderness of a beam.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import block_diag
from scipy.optimize import brentq
from scipy.special import ellipk

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, known
from fem_mbs.contracts import Node
from fem_mbs.contracts.motion import State
from fem_mbs.elements import Beam, BeamSection, DistributedLoad, Force, Moment, RevoluteJoint
from fem_mbs.elements.beams.curve_strain import node_shares
from fem_mbs.modal.modes import modes
from fem_mbs.model.model import Model
from fem_mbs.static.buckling import buckling
from fem_mbs.static.statics import statics

UNIT = (1.0, 1.0, 1.0)
"""Inertia per length where nothing moves."""


def cantilever(section: BeamSection, length: float, elements: int, interpolation: str = "SE3") -> tuple[Model, Beam]:
    """A beam along x, clamped at the origin, with its section's y along y."""
    model = Model()
    beam = Beam.line(model, (0, 0, 0), (length, 0, 0), section, elements, y_axis=(0, 1, 0), interpolation=interpolation)
    model.fix(beam.nodes[0])
    return model, beam


def pushed(section: BeamSection, length: float, elements: int, force: tuple[float, float, float]) -> tuple[Model, Node]:
    """The same under a force at its end, which is returned."""
    model, beam = cantilever(section, length, elements)
    model.add(Force(beam.nodes[-1], force))
    return model, beam.nodes[-1]


ROD = BeamSection(1e4, 1e4, 100, 100, 1.0, UNIT)


def roll_up(elements: int = 20, interpolation: str = "SE3") -> tuple[Model, Beam]:
    """A cantilever under a moment at its end: factor 1 is a full circle."""
    model, beam = cantilever(ROD, 10.0, elements, interpolation)
    model.add(Moment(beam.nodes[-1], (0, 0, 2 * np.pi * 100 / 10)))
    return model, beam


HELIX = dict(zip((0.025, 0.1, 0.2, 0.3, 1.0), known("helix").reshape(5, 3), strict=True))
"""Load factor: displacement of the end."""


def helix(elements: int = 100) -> tuple[Model, Beam]:
    """The same, wound to ten turns while a force pulls it out of its plane (Ibrahimbegovic 1997)."""
    model, beam = cantilever(ROD, 10.0, elements)
    model.add(Moment(beam.nodes[-1], (0, 0, 20 * np.pi * 100 / 10)))
    model.add(Force(beam.nodes[-1], (0, 0, 50)))
    return model, beam


def following(elements: int = 20, force: float = 1000.0) -> tuple[Model, Beam]:
    """A cantilever of 100 m under a load that stays across its end (Simo and Vu-Quoc 1986): factor 1 is ``force``."""
    model, beam = cantilever(BeamSection(4.2e8, 1.61538e8, 3.5e7, 3.5e7, 1.0, UNIT), 100.0, elements)
    model.add(Force(beam.nodes[-1], (0, force, 0), frame="body"))
    return model, beam


def bend(elements: int = 16, order: int = 1, torsion: float = 1 / 6) -> tuple[Model, Beam]:
    """An eighth of a circle under a load out of its plane (Bathe and Bolourchi 1979).

    ``torsion`` is the constant of the square section; Saint-Venant's is 0.1406.
    """
    model = Model()
    section = BeamSection(1e7, 5e6, torsion * 5e6, 1e7 / 12, 1.0, UNIT)
    shares = node_shares(elements, order)
    nodes = [model.add_node((100 * np.sin(a), 100 * (1 - np.cos(a)), 0)) for a in shares * np.pi / 4]
    beam = model.add(Beam(nodes, section, y_axis=(0, 0, 1), order=order))
    model.fix(nodes[0])
    model.add(Force(nodes[-1], (0, 0, 600)))
    return model, beam


def lee(counts: tuple[int, int, int] = (20, 4, 16), GA: float = 2.16e7) -> tuple[Model, list[Beam]]:
    """Column and girder of 120, hinged at their ends, pushed down beside the corner (Lee, Manuel, Rossow 1968).

    Factor 1 is 1 kN, at the end of the second of three beams with these ``counts`` of elements. The frame is so stiff
    against twist that it stays in its plane.
    """
    model = Model()
    section = BeamSection(4.32e7, GA, 1e10, (1.44e7, 1e10), 1.0, UNIT)
    points = ((0, 0, 0), (0, 120, 0), (24, 120, 0), (120, 120, 0))
    node: Node | None = None
    beams = []
    for start, end, count in zip(points, points[1:], counts, strict=False):
        beams.append(Beam.line(model, start, end, section, count, start_node=node, y_axis=(0, 0, 1)))
        node = beams[-1].nodes[-1]
    for hinged in (beams[0].nodes[0], beams[-1].nodes[-1]):
        model.add(RevoluteJoint(model.ground, hinged, axis=(0, 0, 1)))
    model.add(Force(beams[1].nodes[-1], (0, -1000, 0)))
    return model, beams


def frame(imperfection: float = 0.0, elements: int = 10) -> tuple[Model, Beam]:
    """An L of thin strips, pulled in its plane by 1 N, and by an ``imperfection`` out of it (Argyris 1979)."""
    model = Model()
    E, G, width, height = 7.124e10, 7.124e10 / 2.62, 6e-4, 3e-2
    weak, strong = E * height * width**3 / 12, E * width * height**3 / 12
    torsion = G * height * width**3 / 3 * (1 - 0.63 * width / height)
    drawn = 0.5 * np.array([(-width, -height), (width, -height), (width, height), (-width, height)])
    # y across the plane of the frame, where the strip is thin
    strip = BeamSection(
        E * width * height, 5 / 6 * G * width * height, torsion, (strong, weak), 1.0, UNIT, outline=drawn
    )
    leg = Beam.line(model, (0, 0, 0), (0.24, 0, 0), strip, elements, y_axis=(0, 1, 0))
    arm = Beam.line(model, (0.24, 0, 0), (0.24, 0, -0.24), strip, elements, start_node=leg.nodes[-1], y_axis=(0, 1, 0))
    model.fix(leg.nodes[0])
    model.add(Force(arm.nodes[-1], (1.0, imperfection, 0)))
    return model, arm


def deflection(model: Model, node: Node) -> Array:
    """Displacement ``(3,)`` of a node under the whole load."""
    return statics(model).displacement(node)[-1]


@case("roll-up", "statics")
def roll_up_case() -> Iterator[Array]:
    """A cantilever bent to a full circle, and to two turns, by a moment at its end."""
    for interpolation in ("SE3", "R3xSO3"):
        model, beam = roll_up(10, interpolation)
        yield statics(model, load_end=2.0, loads=[1.0, 2.0]).displacement(beam.nodes[-1])[:, :2]


@case("elastica", "statics", refine=(20, 40, 80))
def elastica(elements: int) -> Array:
    """A slender cantilever under a dead load across its end."""
    model, tip = pushed(BeamSection(1e8, 1e8, 1.0, 1.0, 1.0, UNIT), 1.0, elements, (0, 1.0, 0))
    x, y, _ = statics(model, load_end=5.0, loads=[1.0, 5.0]).position(tip).T
    return np.array([1 - x[0], y[0], 1 - x[1], y[1]])


@case("45-degree bend", "statics", refine=(16, 32, 64), sources=2)
def bend_case(elements: int) -> Array:
    """Bathe and Bolourchi 1979: an eighth of a circle under a load out of its plane."""
    model, beam = bend(elements)
    return statics(model).position(beam.nodes[-1])[-1]


@case("follower force", "statics", refine=(20, 40, 80))
def follower_force(elements: int) -> Array:
    """Simo and Vu-Quoc 1986: a cantilever under a load that stays across its end, up to 130 kN."""
    model, beam = following(elements, force=1.0)
    tip = beam.nodes[-1]
    solution = statics(model, load_end=130e3, loads=[2500, 10e3, 30e3, 130e3])
    u, turn = solution.displacement(tip), solution.rotation_vector(tip)[:, 2]
    return np.stack([-u[:, 0], u[:, 1], turn], axis=-1)


@case("Lee's frame", "statics", refine=(16, 32, 64))
def lee_frame(elements: int) -> Array:
    """Two legs with hinges at their ends; the load on one snaps through and back: both limits of the load."""
    model, (_, short, _) = lee((elements, elements // 4, elements), GA=1e12)
    solution = statics(model, load_end=25.0, arc_length=True, step=0.02)
    u, v, _ = solution.displacement(short.nodes[-1]).T
    return _limits(u, -v, solution.t)


def _limits(u: Array, v: Array, load: Array) -> Array:
    """The first maximum of the load along a path and the minimum after it, if any, each with both displacements."""
    s = np.arange(len(load), dtype=float)
    path = CubicSpline(s, np.stack([load, v, u], axis=-1))
    turns = path.derivative().roots(extrapolate=False)[0]
    return np.concatenate([path(turn) for turn in turns[:2]])


@case("deep arch", "statics")
def deep_arch() -> list[float]:
    """DaDeppo and Schmidt 1975: a clamped and hinged arch of 215 degrees leans over under a load at its crown.

    They give that of an arch that does not stretch, with three digits; Simo and Vu-Quoc take 40 straight elements.
    """
    model, (radius, stiffness), highest = Model(), (100.0, 1e6), [0.0]
    angles = np.radians(np.linspace(-107.5, 107.5, 49))
    nodes = [model.add_node((radius * np.sin(a), 0, radius * np.cos(a))) for a in angles]
    section = BeamSection(1e8, 1e8, stiffness, stiffness, 1.0, UNIT)
    model.add(Beam(nodes, section, order=3, y_axis=(0, 1, 0)))
    for node in nodes[1:-1]:  # in its plane
        model.fix(node, translation=(False, True, False), rotation=(True, False, True))
    model.fix(nodes[0])
    model.fix(nodes[-1], rotation=(True, False, True))
    crown = nodes[24]
    model.add(Force(crown, (0, 0, -1000.0)))

    def past(state: State) -> bool:
        highest[0] = max(highest[0], state.t)
        return state.t < 0.98 * highest[0]

    solution = statics(model, arc_length=True, step=0.02, callback=past)
    u = solution.displacement(crown)
    load, down, _ = _limits(u[:, 0], -u[:, 2], 1000 * solution.t)
    return [load, down, load * radius**2 / stiffness, load]


@case("helix", "statics", slow=True, refine=(100, 200, 400))
def helix_case(elements: int) -> Array:
    """Ibrahimbegovic 1997: a cantilever is wound to ten turns by a moment while a force pulls it out of its plane."""
    model, beam = helix(elements)
    return statics(model, loads=[*HELIX]).displacement(beam.nodes[-1])


@case("Princeton beam", "statics", refine=(10, 20, 40), over=[*product((4.448, 8.896, 13.345), (0, 30, 60, 90))])
def princeton(elements: int, load: float, angle: float) -> Array:
    """Dowell and Traybar 1975: a beam with a flat section under its end load at all angles, bent and twisted."""
    section = BeamSection(2.84191e6, (6.40131e5, 9.03881e5), 3.10338, (36.2794, 2.42873), 1.0, UNIT)
    way = np.radians(angle)
    model, tip = pushed(section, 0.508, elements, (0, load * np.sin(way), load * np.cos(way)))
    solution = statics(model)
    R = solution.rotation(tip)[-1]
    return np.append(solution.displacement(tip)[-1], np.arctan2(-R[1, 2], R[2, 2]))


def twisted(section: BeamSection, length: float, elements: int, load: tuple[float, float, float]) -> Array:
    """Deflection of a cantilever that is twisted by a right angle as built, at its loaded end."""
    model = Model()
    nodes = [model.add_node((place, 0, 0)) for place in np.linspace(0, length, elements + 1)]

    def across(x: Array) -> Array:
        angle = np.pi / 2 * x[0] / length
        return np.array([0, np.cos(angle), np.sin(angle)])

    model.add(Beam(nodes, section, y_axis=across))
    model.fix(nodes[0])
    model.add(Force(nodes[-1], load))
    return deflection(model, nodes[-1])


@case("twisted beam", "statics", refine=(10, 20, 40))
def twisted_beam(elements: int) -> Array:
    """A flat strip, twisted by a right angle as built, under a small load at its end: both deflections."""
    load, strip = 1e-6, BeamSection(1e8, 1e8, 1.0, (4.0, 1.0), 1.0, UNIT)
    return twisted(strip, 1.0, elements, (0, load, 0))[1:] / load


@case("short thick cantilever", "statics", refine=(10, 20, 40))
def short_cantilever(elements: int) -> Array:
    """Nachbagauer and others 2013: a cantilever four times as long as it is thick, bent far and a little."""
    E, nu, width, height = 2.07e11, 0.3, 0.1, 0.5
    area, G = width * height, E / (2 * (1 + nu))
    shear = 10 * (1 + nu) / (12 + 11 * nu)  # Cowper's factor
    section = BeamSection(E * area, shear * G * area, 1e9, E * width * height**3 / 12, 1.0, UNIT)
    model, tip = pushed(section, 2.0, elements, (0, 5e8 * height**3, 0))
    return np.abs(statics(model, loads=[1e-3, 1.0]).displacement(tip)[:, :2])


@case("thick cantilever under its end load", "statics", refine=(10, 20, 40))
def geradin(elements: int) -> Array:
    """Geradin and Cardona: a cantilever of 5 m under 600 kN."""
    section = BeamSection(4.8e8, 3.231e8, 1e6, 9.346e6, 1.0, UNIT)
    model, tip = pushed(section, 5.0, elements, (0, 0, -6e5))
    solution = statics(model)
    u, turn = solution.displacement(tip)[-1], solution.rotation_vector(tip)[-1]
    return np.array([-u[2], -u[0], turn[1]])


@case("composite cantilever", "statics", refine=(20, 40, 80))
def composite_cantilever(elements: int) -> Array:
    """A beam whose section couples bending with twist, under 150 N at its end (Wang and others 2015, BeamDyn)."""
    rotation = 1e3 * np.array([[16.96, 17.61, -0.351], [17.61, 59.12, -0.37], [-0.351, -0.37, 141.47]])
    section = BeamSection.general(block_diag(np.diag([1368.17e3, 88.56e3, 38.78e3]), rotation), np.eye(6))
    return deflection(*pushed(section, 10.0, elements, (0, 0, 150.0)))


@case("twisted cantilever", "statics", refine=(20, 40, 80), sources=2)
def twisted_cantilever(elements: int) -> Array:
    """A steel bar of 10 m that is twisted by 90 degrees as built, under 4 MN at its end (Wang and others 2015)."""
    bar = BeamSection(2.5e10, 8.2604167e9, 1.41872656e8, (5.20833e8, 1.30208333e8), 1.0, UNIT)
    return twisted(bar, 10.0, elements, (0, 0, -4e6))


SLENDERNESS = (1e1, 1e2, 1e3, 1e4)
"""Length over the side of the square section."""


def slender(angle: float, slenderness: float, elements: int, interpolation: str) -> Array:
    """Deflection of an arc of length 1, straight where ``angle`` is 0, under ``P L^2/EI = 2`` across its plane."""
    side = 1 / slenderness
    section = BeamSection(side**2, side**2 / 2.4, 0.1406 * side**4 / 2.4, side**4 / 12, 1.0, UNIT)
    along = np.linspace(0, 1, elements + 1)
    turned = angle * along / np.pi  # sin and 1 - cos of an angle, over it
    places = np.stack([along * np.sinc(turned), along * np.sinc(turned / 2) * np.sin(angle * along / 2), 0 * along], -1)
    model = Model()
    nodes = [model.add_node(place) for place in places]
    model.add(Beam(nodes, section, y_axis=(0, 0, 1), interpolation=interpolation))
    model.fix(nodes[0])
    model.add(Force(nodes[-1], (0, 0, side**4 / 6)))
    return deflection(model, nodes[-1])


def errors(angle: float, interpolation: str) -> Array:
    """Relative error of eight elements for each slenderness."""
    result = []
    for slenderness in SLENDERNESS:
        coarse, middle, fine = (slender(angle, slenderness, n, interpolation) for n in (8, 64, 128))
        exact = fine + (fine - middle) / 3.0
        result.append(np.linalg.norm(coarse - exact) / np.linalg.norm(exact))
    return np.array(result)


def _locking(angle: float) -> Iterator[Quantity]:
    for interpolation in ("SE3", "R3xSO3"):
        first, *others = errors(angle, interpolation)
        for slenderness, error in zip(SLENDERNESS[1:], others, strict=True):
            name = f"{interpolation}: error at slenderness {slenderness:g}"
            yield Quantity(name, error, first, 0.05, f"exact: theory, the error at slenderness {SLENDERNESS[0]:g}")


@case("locking, straight", "statics")
def straight() -> Iterator[Quantity]:
    """A cantilever of 8 elements, 10 to 10 000 times as long as it is thick, bent by half its length."""
    return _locking(0.0)


@case("locking, 45-degree bend", "statics")
def bent() -> Iterator[Quantity]:
    """The same for an eighth of a circle that is bent and twisted."""
    return _locking(np.pi / 4)


@case(
    "Euler columns", "buckling", refine=(10, 20, 40), over=zip(("clamped, free", "hinged, hinged", "clamped, hinged"))
)
def columns(elements: int, ends: str) -> Array:
    """Slender columns that are pressed, clamped or hinged below, free or held across above."""
    model = Model()
    # it bends in one plane
    section = BeamSection(1e8, 1e8, 1e2, (1e2, 1.0), 1.0, UNIT)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements, y_axis=(0, 1, 0))
    foot, head = beam.nodes[0], beam.nodes[-1]
    below, above = ends.split(", ")
    if below == "clamped":
        model.fix(foot)
    else:
        model.add(RevoluteJoint(model.ground, foot, (0, 0, 1)))
    if above == "hinged":
        # a link across the column lets its head sink and turn
        link = model.add_node((1, 1, 0))
        model.add(RevoluteJoint(model.ground, link, (0, 0, 1)))
        model.add(RevoluteJoint(link, head, (0, 0, 1)))
    model.add(Force(head, (-(np.pi**2), 0, 0)))
    return buckling(model).factors[:1]


@case("lateral-torsional buckling", "buckling", refine=(10, 20, 40))
def lateral_torsional(elements: int) -> Array:
    """A narrow cantilever under a load at its end tips over sideways: P L^2/sqrt(EI GJ)."""
    # twice the first zero of the Bessel function J of order -1/4, squared and halved (Timoshenko and Gere)
    # the load is in the stiff plane; what it bends before it tips is negligible
    model, _ = pushed(BeamSection(1e9, 1e9, 1.0, (1e6, 1.0), 1.0, UNIT), 1.0, elements, (0, 0, -1.0))
    return np.abs(buckling(model).factors[:1])


@case("right-angle frame", "buckling", refine=(10, 20, 40))
def right_angle_frame(elements: int) -> Array:
    """Argyris 1979: an L-shaped frame of thin strips, pulled in its plane at its free end, buckles out of it."""
    return np.sort(np.abs(buckling(frame(elements=elements)[0], 2).factors))[:1]


THIN = BeamSection(1e7, 1e7, 1e2, (1e2, 1.0), 1.0, (2e-8, 1e-8, 1e-8))
"""Slender, with a bending stiffness of 1 in one plane."""


@case("flutter", "buckling", refine=(10, 20, 40), over=((False, (18, 23)), (True, (35, 45))))
def flutter(elements: int, spread: bool, between: tuple[float, float]) -> list[float]:
    """A cantilever under a load that follows it, at its end (Beck) or spread (Leipholz), flutters: P L^2/EI."""

    def apart(load: float) -> float:
        """Of the squares of the two lowest frequencies; below zero beyond flutter."""
        model, beam = cantilever(THIN, 1.0, elements)
        push = (-load, 0, 0)
        model.add(DistributedLoad(beam, push, frame="body") if spread else Force(beam.nodes[-1], push, frame="body"))
        one, other = modes(model, 2, statics(model).state(-1), damped=True).eigenvalues ** 2
        return float(((one - other) ** 2).real)

    return [brentq(apart, *between, xtol=1e-6)]


@case("ring under pressure", "buckling", refine=(16, 32, 64))
def pressed_ring(elements: int) -> Array:
    """A ring buckles into two waves under a pressure that stays across it: p R^3/EI, of a quarter."""
    model = Model()
    nodes = [model.add_node((np.cos(a), np.sin(a), 0)) for a in np.linspace(0, np.pi / 2, elements + 1)]
    ring = model.add(Beam(nodes, BeamSection(1e5, 1e5, 1e2, (1.0, 1e2), 1.0, UNIT), y_axis=(0, 0, 1)))
    model.fix(nodes[0], translation=(False, True, True))
    model.fix(nodes[-1], translation=(True, False, True))
    model.add(DistributedLoad(ring, (0, 0, -1.0), frame="body"))
    return buckling(model).factors


@case("pressed elastica", "statics", refine=(16, 32, 64), over=((60,), (120,)))
def pressed_elastica(elements: int, angle: int) -> Array:
    """A slender cantilever is pressed beyond its buckling load, until its end has turned by 60 and 120 degrees."""
    model, beam = cantilever(THIN, 1.0, elements)
    load = ellipk(np.sin(np.radians(angle) / 2) ** 2) ** 2
    # pushed aside on its way
    model.add(Force(beam.nodes[-1], lambda t: (-load * t, 0.3 * np.sin(np.pi * t), 0)))
    return statics(model).position(beam.nodes[-1])[-1, :2]
