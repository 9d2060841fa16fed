"""Benchmarks of static equilibria; meshes with an error that does not grow with the slenderness of a beam."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.interpolate import CubicSpline

from fem_mbs.arrays import Array
from fem_mbs.benchmarks import beams
from fem_mbs.benchmarks.case import Quantity, case, compared, converged, order, refine
from fem_mbs.contracts import Node
from fem_mbs.contracts.motion import State
from fem_mbs.elements import BeamSection, Force
from fem_mbs.model.model import Model
from fem_mbs.static.buckling import buckling
from fem_mbs.static.statics import statics

EXACT = "exact: Simo-Reissner equations, shooting"
AXES = ("u_x", "u_y", "u_z")


def deflection(built: tuple[Model, Node]) -> Array:
    """Displacement ``(3,)`` of a node under the whole load."""
    model, node = built
    return statics(model).displacement(node)[-1]


@case("roll-up", "statics")
def roll_up() -> Iterator[Quantity]:
    """A cantilever bent to a full circle, and to two turns, by a moment at its end."""
    for interpolation in ("SE3", "R3xSO3"):
        model, beam = beams.roll_up(10, interpolation)
        solution = statics(model, load_end=2.0, loads=[1.0, 2.0])
        for turns, u in zip((1, 2), solution.displacement(beam.nodes[-1]), strict=True):
            names = [f"{interpolation}: {axis} after {turns} turns" for axis in ("u_x", "u_y")]
            yield from compared(names, u[:2], (-10.0, 0.0), 1e-9, "exact: full circles", scale=10.0)


@case("elastica", "statics")
def elastica() -> list[Quantity]:
    """A slender cantilever under a dead load across its end."""

    def run(elements: int) -> Array:
        model, beam = beams.cantilever(BeamSection(1e8, 1e8, 1.0, 1.0, 1.0, beams.UNIT), 1.0, elements)
        model.add(Force(beam.nodes[-1], (0, 1.0, 0)))
        x, y, _ = statics(model, load_end=5.0, loads=[1.0, 5.0]).position(beam.nodes[-1]).T
        return np.array([1 - x[0], y[0], 1 - x[1], y[1]])

    names = [f"{name} at PL^2/EI = {load}" for load in (1, 5) for name in ("1 - x/L", "y/L")]
    references = (0.056433, 0.301721, 0.387628, 0.713792)
    return converged(names, refine(run, (20, 40, 80)), references, 1e-5, "exact: elliptic integrals")


@case("45-degree bend", "statics")
def bend() -> list[Quantity]:
    """Bathe and Bolourchi 1979: an eighth of a circle under a load out of its plane."""

    def run(elements: int) -> Array:
        model, beam = beams.bend(elements)
        return statics(model).position(beam.nodes[-1])[-1]

    values, found = refine(run, (16, 32, 64))
    names = ("x of the end", "y of the end", "z of the end")
    exact = compared(names, values, beams.BEND, 1e-5, EXACT)
    published = compared(names, values, (47.23, 15.79, 53.37), 1e-2, "published: Simo and Vu-Quoc 1986")
    return [*exact, *published, order(found)]


@case("follower force", "statics")
def follower_force() -> list[Quantity]:
    """Simo and Vu-Quoc 1986: a cantilever under a load that stays across its end, up to 130 kN."""
    loads = (2500, 10000, 30000, 130000)

    def run(elements: int) -> Array:
        model, beam = beams.following(elements, force=1.0)
        tip = beam.nodes[-1]
        solution = statics(model, load_end=float(loads[-1]), loads=loads)
        u, turn = solution.displacement(tip), solution.rotation_vector(tip)[:, 2]
        return np.stack([-u[:, 0], u[:, 1], turn], axis=-1).ravel()

    names = [f"{name} at {load} N" for load in loads for name in ("axial", "transverse", "rotation")]
    references = np.array([beams.FOLLOWING[load] for load in loads]) * (-1, 1, 1)
    return converged(names, refine(run, (20, 40, 80)), references.ravel(), 2e-5, EXACT)


@case("Lee's frame", "statics")
def lee_frame() -> list[Quantity]:
    """Two legs with hinges at their ends; the load on one snaps through and back: both limits of the load."""

    def run(elements: int) -> Array:
        model, (_, short, _) = beams.lee((elements, elements // 4, elements), GA=1e12)
        solution = statics(model, load_end=25.0, arc_length=True, step=0.02)
        u, v, _ = solution.displacement(short.nodes[-1]).T
        return _limits(u, -v, solution.t)

    names = [f"{limit} limit: {name}" for limit in ("upper", "lower") for name in ("load/1000", "v", "u")]
    return converged(names, refine(run, (16, 32, 64)), np.ravel(beams.RIGID_LIMITS), 2e-5, EXACT)


def _limits(u: Array, v: Array, load: Array) -> Array:
    """The first maximum of the load along a path and the minimum after it, if any, each with both displacements."""
    s = np.arange(len(load), dtype=float)
    path = CubicSpline(s, np.stack([load, v, u], axis=-1))
    turns = path.derivative().roots(extrapolate=False)[0]
    return np.concatenate([path(turn) for turn in turns[:2]])


@case("deep arch", "statics")
def deep_arch() -> Iterator[Quantity]:
    """DaDeppo and Schmidt 1975: a clamped and hinged arch of 215 degrees leans over under a load at its crown.

    They give that of an arch that does not stretch, with three digits; Simo and Vu-Quoc take 40 straight elements.
    """
    model, crown = beams.deep_arch(16)
    highest = [0.0]

    def past(state: State) -> bool:
        highest[0] = max(highest[0], state.t)
        return state.t < 0.98 * highest[0]

    solution = statics(model, arc_length=True, step=0.02, callback=past)
    u = solution.displacement(crown)
    load, down, _ = _limits(u[:, 0], -u[:, 2], 1000 * solution.t)
    scaled = load * beams.ARCH_RADIUS**2 / beams.ARCH_STIFFNESS
    yield from compared(
        ("limit of the load", "crown down there"), np.array([load, down]), beams.ARCH_LIMIT, 1e-5, EXACT
    )
    yield Quantity("limit over EI/R^2", scaled, 8.97, 1e-3, "published: DaDeppo and Schmidt 1975")
    yield Quantity("limit of the load", load, 905.28, 1e-2, "published: Simo and Vu-Quoc 1986")


@case("helix", "statics", slow=True)
def helix() -> list[Quantity]:
    """Ibrahimbegovic 1997: a cantilever is wound to ten turns by a moment while a force pulls it out of its plane."""

    def run(elements: int) -> Array:
        model, beam = beams.helix(elements)
        return statics(model, loads=[*beams.HELIX]).displacement(beam.nodes[-1]).ravel()

    names = [f"{axis} at load {load}" for load in beams.HELIX for axis in AXES]
    return converged(names, refine(run, (100, 200, 400)), np.ravel([*beams.HELIX.values()]), 1e-5, EXACT, scale=10.0)


@case("Princeton beam", "statics")
def princeton() -> Iterator[Quantity]:
    """Dowell and Traybar 1975: a beam with a flat section under its end load at all angles, bent and twisted."""
    for (load, angle), references in beams.PRINCETON.items():

        def run(elements: int, load: float = load, angle: float = angle) -> Array:
            model, tip = beams.princeton(load, angle, elements)
            solution = statics(model)
            R = solution.rotation(tip)[-1]
            return np.append(solution.displacement(tip)[-1], np.arctan2(-R[1, 2], R[2, 2]))

        names = [f"{name} at {load} N, {angle} deg" for name in ("u1", "u2", "u3", "twist")]
        yield from converged(names, refine(run, (10, 20, 40)), references, 1e-5, EXACT, scale=0.2)


@case("twisted beam", "statics")
def twisted_beam() -> list[Quantity]:
    """A flat strip, twisted by a right angle as built, under a small load at its end: both deflections."""
    load = 1e-6

    def run(elements: int) -> Array:
        return deflection(beams.twisted(beams.STRIP, 1.0, elements, (0, load, 0)))[1:] / load

    names = ("along the load (m/N)", "across it (m/N)")
    return converged(names, refine(run, (10, 20, 40)), beams.twisted_strip(), 1e-5, "exact: Castigliano")


@case("short thick cantilever", "statics")
def short_cantilever() -> list[Quantity]:
    """Nachbagauer and others 2013: a cantilever four times as long as it is thick, bent far and a little."""

    def run(elements: int) -> Array:
        model, tip = beams.short(elements)
        return statics(model, loads=[1e-3, 1.0]).displacement(tip)[:, :2].ravel()

    values, found = refine(run, (10, 20, 40))
    names = [f"{axis} at {load} N" for load in ("62.5 k", "62.5 M") for axis in ("-u_x", "u_y")]
    references = (1.8885e-7, 8.0990e-4, 0.15097103, 0.71056837)
    tolerances = (3e-5, 1e-5, 1e-5, 1e-5)  # the first is printed with five digits
    quantities = [
        Quantity(name, abs(float(value)), reference, tolerance, "published: Nachbagauer and others, through Exudyn")
        for name, value, reference, tolerance in zip(names, values, references, tolerances, strict=True)
    ]
    return [*quantities, order(found)]


@case("thick cantilever under its end load", "statics")
def geradin() -> list[Quantity]:
    """Geradin and Cardona: a cantilever of 5 m under 600 kN."""

    def run(elements: int) -> Array:
        section = BeamSection(4.8e8, 3.231e8, 1e6, 9.346e6, 1.0, beams.UNIT)
        model, beam = beams.cantilever(section, 5.0, elements)
        model.add(Force(beam.nodes[-1], (0, 0, -6e5)))
        solution = statics(model)
        u, turn = solution.displacement(beam.nodes[-1])[-1], solution.rotation_vector(beam.nodes[-1])[-1]
        return np.array([-u[2], -u[0], turn[1]])

    names = ("drop (m)", "shortening (m)", "rotation (rad)")
    source = "published: Geradin and Cardona 2001, through SHARPy"
    return converged(names, refine(run, (10, 20, 40)), (2.159, 0.596, 0.672), 1e-3, source)


@case("composite cantilever", "statics")
def composite_cantilever() -> list[Quantity]:
    """A beam whose section couples bending with twist, under 150 N at its end (Wang and others 2015, BeamDyn)."""

    def run(elements: int) -> Array:
        model, beam = beams.cantilever(beams.composite(), 10.0, elements)
        model.add(Force(beam.nodes[-1], (0, 0, 150.0)))
        return deflection((model, beam.nodes[-1]))

    references = (-0.0902726627, -0.0647488486, 1.2297364829)
    return converged(AXES, refine(run, (20, 40, 80)), references, 1e-6, "computed: BeamDyn, through Kynema", scale=1.0)


@case("twisted cantilever", "statics")
def twisted_cantilever() -> list[Quantity]:
    """A steel bar of 10 m that is twisted by 90 degrees as built, under 4 MN at its end (Wang and others 2015)."""

    def run(elements: int) -> Array:
        return deflection(beams.twisted(beams.BAR, 10.0, elements, (0, 0, -4e6)))

    values, found = refine(run, (20, 40, 80))
    spectral = compared(
        AXES, values, (-1.141526, -1.7180533, -3.5932132), 1e-5, "computed: spectral elements, through Kynema"
    )
    solid = compared(AXES, values, (-1.134192, -1.714467, -3.58423), 1e-2, "computed: ANSYS, through Kynema")
    return [*spectral, *solid, order(found)]


SLENDERNESS = (1e1, 1e2, 1e3, 1e4)
"""Length over the side of the square section."""


def errors(angle: float, interpolation: str) -> Array:
    """Relative error of eight elements for each slenderness."""
    result = []
    for slenderness in SLENDERNESS:
        ends = (deflection(beams.slender(angle, slenderness, n, interpolation)) for n in (8, 64, 128))
        coarse, middle, fine = ends
        exact = fine + (fine - middle) / 3.0
        result.append(np.linalg.norm(coarse - exact) / np.linalg.norm(exact))
    return np.array(result)


def _locking(angle: float) -> Iterator[Quantity]:
    for interpolation in ("SE3", "R3xSO3"):
        first, *others = errors(angle, interpolation)
        names = [f"{interpolation}: error at slenderness {slenderness:g}" for slenderness in SLENDERNESS[1:]]
        source = f"exact: theory, the error at slenderness {SLENDERNESS[0]:g}"
        yield from compared(names, np.array(others), [first] * len(others), 0.05, source)


@case("locking, straight", "statics")
def straight() -> Iterator[Quantity]:
    """A cantilever of 8 elements, 10 to 10 000 times as long as it is thick, bent by half its length."""
    return _locking(0.0)


@case("locking, 45-degree bend", "statics")
def bent() -> Iterator[Quantity]:
    """The same for an eighth of a circle that is bent and twisted."""
    return _locking(np.pi / 4)


@case("Euler columns", "buckling")
def columns() -> Iterator[Quantity]:
    """Slender columns that are pressed, clamped or hinged below, free or held across above."""
    for ends, factor in beams.COLUMNS.items():

        def run(elements: int, ends: str = ends) -> Array:
            return buckling(beams.column(ends, elements)).factors[:1]

        yield from converged((f"{ends}: P L^2/(pi^2 EI)",), refine(run, (10, 20, 40)), (factor,), 1e-5, "exact: Euler")


@case("lateral-torsional buckling", "buckling")
def lateral_torsional() -> list[Quantity]:
    """A narrow cantilever under a load at its end tips over sideways: P L^2/sqrt(EI GJ)."""

    def run(elements: int) -> Array:
        # the load is in the stiff plane; what it bends before it tips is negligible
        model, beam = beams.cantilever(BeamSection(1e9, 1e9, 1.0, (1e6, 1.0), 1.0, beams.UNIT), 1.0, elements)
        model.add(Force(beam.nodes[-1], (0, 0, -1.0)))
        return np.abs(buckling(model).factors[:1])

    # twice the first zero of the Bessel function J of order -1/4, squared and halved (Timoshenko and Gere)
    return converged(("load factor",), refine(run, (10, 20, 40)), (4.012599,), 1e-5, "exact: Timoshenko and Gere 1961")


@case("right-angle frame", "buckling")
def right_angle_frame() -> list[Quantity]:
    """Argyris 1979: an L-shaped frame of thin strips, pulled in its plane at its free end, buckles out of it."""

    def run(elements: int) -> Array:
        model, _ = beams.frame(elements=elements)
        return np.sort(np.abs(buckling(model, 2).factors))[:1]

    return converged(
        ("critical load (N)",), refine(run, (10, 20, 40)), (beams.CRITICAL,), 5e-3, "published: Simo and Vu-Quoc 1986"
    )
