"""Flexible mechanisms, free beams and a blade whose motion is published.

The blade is that of the reference turbine NREL 5 MW: under 10 kN/m, its frequencies, and gravity put on at once. Data
and results of BeamDyn (NREL), ``Dvr_5MW_Static`` and ``bd_5MW_dynamic_gravity_Az90`` of OpenFAST. It takes one element
of order 5, whose two lowest frequencies are 1.0 and 0.5 % high. The exact values are of the same blade: by shooting,
and by 24 linear Legendre elements of order 3 with Gauss points between all stations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import case, known, rows
from fem_mbs.contracts import Node
from fem_mbs.elements import Beam, BeamSection, DistributedLoad, Force, Moment, RevoluteJoint, SphericalJoint, SpinUp
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.modal.modes import modes
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution
from fem_mbs.static.statics import statics
from fem_mbs.system.constraints import body_velocity
from fem_mbs.system.matrices import mass_product

SQUARE = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
"""Corners of a section to be drawn, where the data fix no shape."""


# Right-angle cantilever


LEG = BeamSection(EA=1e6, GA=1e6, GJ=1e3, EI=1e3, mass=1.0, inertia=(20, 10, 10), outline=0.15 * SQUARE)


def push(t: float) -> float:
    """Force at the elbow: it rises for a second to 50 N and falls for another."""
    return max(0.0, min(50 * t, 50 * (2 - t)))


def right_angle_cantilever(
    group: str = "R3xSO3", interpolation: str = "SE3", elements: int = 5, order: int = 1
) -> tuple[Model, Node, Node]:
    """Two legs of 10 m, clamped, pushed out of their plane at the elbow (Simo and Vu-Quoc 1988); elbow and tip."""
    model = Model(group)
    kind: dict[str, Any] = {"interpolation": interpolation, "order": order}
    leg = Beam.line(model, (0, 0, 0), (10, 0, 0), LEG, elements, name="leg", **kind)
    elbow = leg.nodes[-1]
    arm = Beam.line(model, (10, 0, 0), (10, 10, 0), LEG, elements, start_node=elbow, name="arm", **kind)
    model.fix(leg.nodes[0])
    model.add(Force(elbow, lambda t: (0, 0, push(t))), name="push")
    return model, elbow, arm.nodes[-1]


# Four-bar mechanism


CORNERS = {"A": (0, 0, 0), "B": (0, 0.12, 0), "C": (0.24, 0.12, 0), "D": (0.24, 0, 0)}
TILT = np.radians(5)
"""Of the hinge at C: with rigid bars the mechanism could not move."""
SECTIONS_2012 = (  # drawn as those of 2016
    BeamSection(EA=4e7, GA=2e6, GJ=2.8e5, EI=2.4e6, mass=3.2, inertia=(2.4e-2, 1.2e-2, 1.2e-2), outline=8e-3 * SQUARE),
    BeamSection(EA=4e6, GA=2e5, GJ=2.8e4, EI=2.8e5, mass=1.6, inertia=(1.2e-2, 6e-3, 6e-3), outline=8e-3 * SQUARE),
    BeamSection(EA=4e5, GA=2e5, GJ=2.8e4, EI=2.4e4, mass=1.6, inertia=(1.2e-2, 6e-3, 6e-3), outline=4e-3 * SQUARE),
)
AXIS_2012, DRIVE_2012 = (np.sin(TILT), 0, np.cos(TILT)), SpinUp(rate=-5.0, duration=0.5)
THICK = BeamSection(5.2992e7, 1.68803e7, 733.488, 1130.50, 1.9968, (8.51968e-5, 4.25984e-5, 4.25984e-5))
THIN = BeamSection(1.3248e7, 4.22008e6, 45.843, 70.656, 0.4992, (5.3248e-6, 2.6624e-6, 2.6624e-6))
RUN_IN = 0.2
"""Time in s in which the crank of 2016 starts; that of the series moves at full speed from the first instant."""
PEAKS_2016 = dict(zip(((0, 1), (0, -1), (1, -1), (2, -1)), known("four-bar 2016") / 1e3, strict=True))
"""Component, sign: extremum of the displacement of C in m."""


def four_bar(group: str = "R3xSO3", interpolation: str = "SE3", elements: int = 10) -> tuple[Model, Node]:
    """Bars AB, BC, CD on hinges "A" to "D" (Bruels, Cardona, Arnold 2012, Table 2); the model and node C of bar CD."""
    return _linkage(SECTIONS_2012, AXIS_2012, DRIVE_2012, group, interpolation, elements)


def four_bar_2016(group: str = "R3xSO3", interpolation: str = "SE3", elements: int = 8) -> tuple[Model, Node]:
    """The same with the data of Bauchau and others (2016): steel bars of 16 mm and, from C to D, 8 mm in square.

    The code of the series means the axis of hinge C in the frame of bar CD, whose x axis points from C to D.
    """
    axis, drive = (0, -np.sin(TILT), np.cos(TILT)), SpinUp(rate=-0.6, duration=RUN_IN)
    return _linkage((THICK, THICK, THIN), axis, drive, group, interpolation, elements)


def _linkage(
    sections: tuple[BeamSection, ...],
    axis: tuple[float, float, float],
    drive: SpinUp,
    group: str,
    interpolation: str,
    elements: int,
) -> tuple[Model, Node]:
    model = Model(group)
    ab, bc, cd = (
        Beam.line(model, CORNERS[p], CORNERS[q], section, elements, interpolation=interpolation, name=p + q).nodes
        for p, q, section in zip("ABC", "BCD", sections, strict=True)
    )
    normal = (0, 0, 1)
    model.add(RevoluteJoint(model.ground, ab[0], normal, drive=drive), name="A")
    model.add(RevoluteJoint(ab[-1], bc[0], normal), name="B")
    model.add(RevoluteJoint(bc[-1], cd[0], axis), name="C")
    model.add(RevoluteJoint(model.ground, cd[-1], normal), name="D")
    return model, cd[0]


# Others


def flying_spaghetti(plane: bool, elements: int = 20) -> tuple[Model, Beam]:
    """A free beam is pushed and turned at one end for 2.5 s in its plane, or for 5 s in space, and then flies.

    Simo and Vu-Quoc 1986 and 1988.
    """
    model = Model()
    section = BeamSection(EA=1e4, GA=1e4, GJ=500, EI=500, mass=1.0, inertia=(20, 10, 10))
    beam = Beam.line(model, (6, 0, 0), (0, 8, 0), section, elements)
    end = beam.nodes[0]

    def load(t: float) -> float:
        # in the plane the mean of the jump, where a step ends on it
        if plane:
            return 80.0 if t < 2.5 - 1e-9 else 40.0 if t < 2.5 + 1e-9 else 0.0
        return max(0.0, min(80 * t, 80 * (5 - t)))

    model.add(Force(end, lambda t: (load(t) / 10, 0, 0)))
    model.add(Moment(end, lambda t: (0, 0 if plane else -load(t) / 2, -load(t))))
    return model, beam


def _extrema(t: Array, u: Array, begin: float, end: float) -> tuple[float, float]:
    """Smallest and largest value between two times, by a cubic spline."""
    values = CubicSpline(t, u)(np.linspace(begin, end, 20001))
    return float(values.min()), float(values.max())


@case("right-angle cantilever", "dynamics", refine=(5, 10, 20), sources=2)
def right_angle_cantilever_case(elements: int) -> Array:
    """Simo and Vu-Quoc 1988: an L-shaped beam pushed out of its plane at the elbow swings freely for 30 s."""
    model, *watched = right_angle_cantilever(elements=elements)
    solution = simulate(model, 17.0, 0.5 / elements, GeneralizedAlpha.hht(alpha=0.05))
    elbow, tip = (solution.displacement(node)[:, 2] for node in watched)
    t = solution.t
    return np.array([_extrema(t, elbow, 2, 5)[1], _extrema(t, tip, 6, 9)[1], _extrema(t, tip, 14, 17)[0]])


@case("four-bar 2012", "dynamics")
def four_bar_2012() -> tuple[float, float]:
    """Four flexible bars with a hinge 5 degrees off (Bruels, Cardona, Arnold 2012): displacement out of the plane."""
    model, c = four_bar()
    solution = simulate(model, 2.0, 0.01)
    return _extrema(solution.t, 1e3 * solution.displacement(c)[:, 2], 0, 2)


@case("four-bar 2016", "dynamics", slow=True)
def four_bar_2016_case() -> list[float]:
    """The mechanism with the data of Bauchau and others (2016), two turns of the crank: peaks of C."""
    model, c = four_bar_2016()
    solution = simulate(model, 12 + RUN_IN / 2, 0.004, GeneralizedAlpha(0.0))
    late = solution.displacement(c)[solution.t - RUN_IN / 2 >= 0.5]
    return [1e3 * sign * (sign * late[:, axis]).max() for axis, sign in PEAKS_2016]


@case("Haug's spin-up", "dynamics")
def spin_up() -> list[Array]:
    """A flexible arm of 8 m is spun up to 4 rad/s in 15 s (Wu and Haug 1988): deflection of its tip."""
    model, length, drive = Model(), 8.0, SpinUp(rate=4.0, duration=15.0)
    section = BeamSection(5.03e6, 1.94e6, GJ=566, EI=566, mass=0.201, inertia=(45.4e-6, 22.7e-6, 22.7e-6))
    arm = Beam.line(model, (0, 0, 0), (length, 0, 0), section, 20)
    model.add(RevoluteJoint(model.ground, arm.nodes[0], (0, 0, 1), drive=drive))
    solution = simulate(model, 20.0, 0.01, GeneralizedAlpha(0.0))
    angle = np.array([drive(t) for t in solution.t])
    x, y, _ = solution.position(arm.nodes[-1]).T
    seen = np.stack([np.cos(angle) * x + np.sin(angle) * y - length, np.cos(angle) * y - np.sin(angle) * x])
    return [*seen[:, rows(solution.t, (2, 4, 5, 6, 7, 8, 10, 12))], seen[0, solution.t > 17].mean()]


def _momentum(solution: Solution, k: int) -> Array:
    """Linear and angular momentum about the origin ``(6,)``, world frame."""
    system, motion = solution.system, solution.motion(k)
    evaluation = system.evaluate(motion, solution.multipliers_all[k], system.prescribe(motion.t))
    P = system.nodes_of(mass_product(system, evaluation, body_velocity(motion)))
    linear, angular = (np.matvec(motion.R, part) for part in (P[:, :3], P[:, 3:]))
    return np.concatenate([linear.sum(axis=0), (angular + np.cross(motion.x, linear)).sum(axis=0)])


def _flight(built: tuple[Model, Beam], unloaded: float) -> tuple[list[float], Array]:
    """What holds after the loads are gone, its velocity and drifts of its momenta; and the way of its far end."""
    model, beam = built
    solution = simulate(model, 10.0, 0.025, GeneralizedAlpha(0.9))
    first = int(np.searchsorted(solution.t, unloaded))
    start, end = (_momentum(solution, k) for k in (first, -1))
    drift = np.abs(end - start)
    return [start[0] / 10, drift[:3].max(), drift[3:].max()], solution.position(beam.nodes[-1])


@case("flying spaghetti, 3D", "dynamics")
def flying_spaghetti_3d() -> list[float]:
    """Simo and Vu-Quoc 1988: a free beam is pushed and twisted for 5 s at one end and then flies."""
    return _flight(flying_spaghetti(plane=False), 5.0)[0]


@case("flying spaghetti, 2D", "dynamics")
def flying_spaghetti_2d() -> list[float]:
    """Simo and Vu-Quoc 1986: a free beam is pushed and turned in its plane for 2.5 s and then flies."""
    kept, way = _flight(flying_spaghetti(plane=True), 2.55)
    return [*kept, np.abs(way[:, 2]).max()]


@case("lateral buckling", "dynamics")
def lateral_buckling_case() -> list[Array]:
    """Bauchau and others 2016: a crank bends a thin beam upright until it snaps sideways at 0.18 s; up to there.

    The series snaps later than a beam with the stated offset of 0.1 mm does; with one of a micrometre the motion before
    the snap can be compared. Half the mesh size and a quarter of the step move our values by less than 0.1 %.
    """
    model, offset = Model(), 1e-6  # of crank and link, beside the beam
    thin = BeamSection(73e6, (5.025e6, 23.40e6), 877.2, (60830, 608.3), 2.68, (2255e-6, 2233e-6, 22.33e-6))
    link_section = BeamSection(33.02e6, 10.81e6, 914.5, 1189, 1.212, (43.65e-6, 21.825e-6, 21.825e-6))
    crank_section = BeamSection(132.1e6, 43.22e6, 14630, 19020, 4.85, (698.3e-6, 349.15e-6, 349.15e-6))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), thin, 20, y_axis=(0, 1, 0)).nodes
    model.fix(beam[0])
    link = Beam.line(model, (1, offset, -0.25), (1, offset, 0), link_section, 8).nodes
    crank = Beam.line(model, (0.95, offset, -0.25), (1, offset, -0.25), crank_section, 4).nodes
    model.add(SphericalJoint(beam[-1], link[-1], point=(1, offset, 0)))
    model.add(RevoluteJoint(link[0], crank[-1], (0, 1, 0)))

    def turn(t: float) -> float:
        return float(-np.pi / 2 * (1 - np.cos(np.pi * min(t, 0.4) / 0.4)))

    model.add(RevoluteJoint(model.ground, crank[0], (0, 1, 0), drive=turn))
    solution = simulate(model, 0.15, 1e-3)
    at = rows(solution.t, (0.10, 0.15))
    u, turned = (
        1e3 * solution.displacement(beam[10])[at],
        np.linalg.norm(solution.rotation_vector(beam[10])[at], axis=1),
    )
    return [u[:, 2], np.degrees(turned), u[1, 0]]


@case("pushed column", "dynamics", slow=True)
def pushed_column_case() -> list[Array | float]:
    """A soft column of 2 m is pushed across its diagonal at once and swings by more than its length, for 1 s."""
    model = Model()
    E, G, side = 15.293e6, 5.882e6, 0.2
    area, second, mass = side**2, side**4 / 12, 1000 * side**2
    inertia = 1000 * second * np.array([2, 1, 1])
    section = BeamSection(E * area, 5 / 6 * G * area, 0.1406 * G * side**4, E * second, mass, inertia)
    column = Beam.line(model, (0, 0, 0), (0, 0, 2), section, 6, order=3)
    model.fix(column.nodes[0])
    model.add(Force(column.nodes[-1], (2000, 2000, 0)))
    solution = simulate(model, 1.0, 5e-3, RadauIIA())
    way = np.linalg.norm(solution.displacement(column.nodes[-1]), axis=-1)
    at = rows(solution.t, (0.2, 0.4, 0.6, 0.8, 1.0))
    return [way[at], _extrema(solution.t, way, 0.0, 1.0)[1]]


# Blade of the NREL 5 MW turbine


LENGTH, DAMPING = 61.5, 1e-3
STATIONS = np.loadtxt(Path(__file__).with_name("nrel_blade.csv"), delimiter=",", skiprows=1)
"""``(49, 10)``: as the head of the table says, per length and in SI units; x is the edge, y the flap.

The shear stiffness is EA/10.
"""


def _section(damping: float) -> Callable[[float], BeamSection]:
    """Sections, linear between stations, with axes along the blade and along its twisted x and y."""

    def at(share: float) -> BeamSection:
        EA, GJ, EIx, EIy, m, my, Jx, Jy = (np.interp(share, STATIONS[:, 0], column) for column in STATIONS[:, 2:].T)
        mass = np.diag([m, m, m, Jx + Jy, Jx, Jy])
        mass[0, 4] = mass[4, 0] = my
        mass[1, 3] = mass[3, 1] = -my
        return BeamSection.general(np.diag([EA, EA / 10, EA / 10, GJ, EIx, EIy]), mass).with_damping(damping)

    return at


def blade(order: int, damping: float = 0.0, gravity: tuple[float, float, float] = (0, 0, 0)) -> tuple[Model, Beam]:
    """The blade along z, clamped at its root, one element between two stations."""
    model = Model(gravity=gravity)
    ends = LENGTH * STATIONS[:, 0]
    places = np.interp(np.arange(order * (len(ends) - 1) + 1) / order, np.arange(len(ends)), ends)
    nodes = [model.add_node((0, 0, place)) for place in places]

    def y_axis(place: Array) -> tuple[float, float, float]:
        twist = -np.radians(np.interp(place[2], ends, STATIONS[:, 1]))
        return float(np.cos(twist)), float(np.sin(twist)), 0.0

    beam = model.add(Beam(nodes, _section(damping), order=order, y_axis=y_axis))
    model.fix(nodes[0])
    return model, beam


@case("NREL 5 MW blade", "machines")
def blade_case() -> Iterator[Array]:
    """A twisted blade of 61.5 m with 49 stations: bent by 10 m, its six lowest frequencies, and how it falls."""
    model, beam = blade(2)
    model.add(DistributedLoad(beam, (1e4, 0, 0)))
    tip = statics(model).displacement(beam.nodes[-1])[-1]
    falling, beam = blade(1, DAMPING, (0, -9.8, 0))
    solution = simulate(falling, 0.4, 5e-3, RadauIIA())
    fall = solution.displacement(beam.nodes[-1])[rows(solution.t, (0.1, 0.2, 0.3, 0.4)), 1]
    yield from (tip, tip, modes(blade(3)[0], 6).frequencies, fall, fall)
