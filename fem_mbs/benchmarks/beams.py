"""Beams in equilibrium: rolled up, bent far, wound, snapping through, tipping over.

Each function returns the model with its loads at factor 1, and the beam or the node that is watched. References that
are called exact are solutions of the equations of Simo and Reissner by shooting.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import known
from fem_mbs.contracts import Node
from fem_mbs.elements import Beam, BeamSection, Force, Moment, RevoluteJoint
from fem_mbs.elements.beams.curve_strain import node_shares
from fem_mbs.model.model import Model

UNIT = (1.0, 1.0, 1.0)
"""Inertia per length where nothing moves."""


def cantilever(section: BeamSection, length: float, elements: int, interpolation: str = "SE3") -> tuple[Model, Beam]:
    """A beam along x, clamped at the origin, with its section's y along y."""
    model = Model()
    beam = Beam.line(model, (0, 0, 0), (length, 0, 0), section, elements, y_axis=(0, 1, 0), interpolation=interpolation)
    model.fix(beam.nodes[0])
    return model, beam


def roll_up(elements: int = 20, interpolation: str = "SE3") -> tuple[Model, Beam]:
    """A cantilever under a moment at its end: factor 1 is a full circle."""
    model, beam = cantilever(BeamSection(1e4, 1e4, 100, 100, 1.0, UNIT), 10.0, elements, interpolation)
    model.add(Moment(beam.nodes[-1], (0, 0, 2 * np.pi * 100 / 10)))
    return model, beam


HELIX = dict(zip((0.025, 0.1, 0.2, 0.3, 1.0), known("helix").reshape(5, 3), strict=True))
"""Load factor: displacement of the end."""


def helix(elements: int = 100) -> tuple[Model, Beam]:
    """The same, wound to ten turns while a force pulls it out of its plane (Ibrahimbegovic 1997)."""
    model, beam = cantilever(BeamSection(1e4, 1e4, 100, 100, 1.0, UNIT), 10.0, elements)
    model.add(Moment(beam.nodes[-1], (0, 0, 20 * np.pi * 100 / 10)))
    model.add(Force(beam.nodes[-1], (0, 0, 50)))
    return model, beam


FOLLOWING = {  # force in N: displacement along and across, rotation of the end
    2500: (-3.34074, 23.34139, 0.35563),
    5000: (-12.67219, 44.03739, 0.70244),
    10000: (-41.69281, 71.10952, 1.34024),
    16500: (-78.39040, 78.70016, 2.01195),
    30000: (-108.70891, 60.54841, 2.83802),
    50000: (-97.99151, 44.80064, 3.13903),
    75000: (-66.06770, 27.88881, 2.71992),
    100000: (-50.75238, -11.62882, 1.87498),
    130000: (-75.92824, -47.82772, 0.85171),
}


def following(elements: int = 20, force: float = 1000.0) -> tuple[Model, Beam]:
    """A cantilever of 100 m under a load that stays across its end (Simo and Vu-Quoc 1986): factor 1 is ``force``."""
    model, beam = cantilever(BeamSection(4.2e8, 1.61538e8, 3.5e7, 3.5e7, 1.0, UNIT), 100.0, elements)
    model.add(Force(beam.nodes[-1], (0, force, 0), frame="body"))
    return model, beam


BEND = known("45-degree bend", "exact")
"""Where the end of the 45-degree bend is."""


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


def slender(angle: float, slenderness: float, elements: int, interpolation: str) -> tuple[Model, Node]:
    """An arc of length 1, straight where ``angle`` is 0, under a load across its plane, ``P L^2/EI = 2``; its end."""
    side = 1 / slenderness
    section = BeamSection(side**2, side**2 / 2.4, 0.1406 * side**4 / 2.4, side**4 / 12, 1.0, UNIT)
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
    return model, nodes[-1]


LIMITS = ((18.5489, 48.7476, 26.8794), (-9.4004, 58.2220, 90.1837))
"""Upper and lower limit of the load on Lee's frame in kN, each with the displacements down and across."""


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


ARCH_RADIUS, ARCH_STIFFNESS = 100.0, 1e6
"""Of the deep arch: radius and bending stiffness."""


def deep_arch(elements: int) -> tuple[Model, Node]:
    """215 degrees of a circle, clamped at one end and hinged at the other, in its plane; its crown, under 1000 down."""
    model = Model()
    section = BeamSection(1e8, 1e8, ARCH_STIFFNESS, ARCH_STIFFNESS, 1.0, UNIT)
    angles = np.radians(np.linspace(-107.5, 107.5, 3 * elements + 1))
    nodes = [model.add_node((ARCH_RADIUS * np.sin(a), 0, ARCH_RADIUS * np.cos(a))) for a in angles]
    model.add(Beam(nodes, section, order=3, y_axis=(0, 1, 0)))
    for node in nodes[1:-1]:
        model.fix(node, translation=(False, True, False), rotation=(True, False, True))
    model.fix(nodes[0])
    model.fix(nodes[-1], rotation=(True, False, True))
    crown = nodes[len(nodes) // 2]
    model.add(Force(crown, (0, 0, -1000.0)))
    return model, crown


CRITICAL = float(known("right-angle frame")[0])
"""Load in N at which the right-angle frame tips over (Simo and Vu-Quoc 1986)."""


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


def column(ends: str, elements: int) -> Model:
    """A slender column that is pressed by ``pi^2 EI/L^2``, held below and above as "clamped, free" or the like says.

    It bends in one plane.
    """
    model = Model()
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
    return model


def princeton(load: float, angle: float, elements: int) -> tuple[Model, Node]:
    """A beam with a flat section under a load at its end, at an angle in degrees (Dowell and Traybar 1975); its tip."""
    section = BeamSection(2.84191e6, (6.40131e5, 9.03881e5), 3.10338, (36.2794, 2.42873), 1.0, UNIT)
    model, beam = cantilever(section, 0.508, elements)
    way = np.radians(angle)
    model.add(Force(beam.nodes[-1], (0, load * np.sin(way), load * np.cos(way))))
    return model, beam.nodes[-1]


def twisted(section: BeamSection, length: float, elements: int, load: tuple[float, float, float]) -> tuple[Model, Node]:
    """A cantilever that is twisted by a right angle as built, and its loaded end."""
    model = Model()
    nodes = [model.add_node((place, 0, 0)) for place in np.linspace(0, length, elements + 1)]

    def across(x: Array) -> Array:
        angle = np.pi / 2 * x[0] / length
        return np.array([0, np.cos(angle), np.sin(angle)])

    model.add(Beam(nodes, section, y_axis=across))
    model.fix(nodes[0])
    model.add(Force(nodes[-1], load))
    return model, nodes[-1]


STRIP = BeamSection(1e8, 1e8, 1.0, (4.0, 1.0), 1.0, UNIT)
"""A flat strip, four times as stiff one way as the other."""


BAR = BeamSection(2.5e10, 8.2604167e9, 1.41872656e8, (5.20833e8, 1.30208333e8), 1.0, UNIT)
"""A steel bar of 0.5 by 0.25 m (Wang and others 2015, BeamDyn)."""


def composite() -> BeamSection:
    """A section that couples bending with twist (Wang and others 2015, BeamDyn)."""
    rotation = 1e3 * np.array([[16.96, 17.61, -0.351], [17.61, 59.12, -0.37], [-0.351, -0.37, 141.47]])
    return BeamSection.general(block_diag(np.diag([1368.17e3, 88.56e3, 38.78e3]), rotation), np.eye(6))


def short(elements: int) -> tuple[Model, Node]:
    """A cantilever four times as long as it is thick under 62.5 MN (Nachbagauer and others 2013); its end."""
    E, nu, width, height = 2.07e11, 0.3, 0.1, 0.5
    area, G = width * height, E / (2 * (1 + nu))
    shear = 10 * (1 + nu) / (12 + 11 * nu)  # Cowper's factor
    section = BeamSection(E * area, shear * G * area, 1e9, E * width * height**3 / 12, 1.0, UNIT)
    model, beam = cantilever(section, 2.0, elements)
    model.add(Force(beam.nodes[-1], (0, 5e8 * height**3, 0)))
    return model, beam.nodes[-1]
