"""Benchmarks of static equilibria; meshes with an error that does not grow with the slenderness of a beam."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.interpolate import CubicSpline

from fem_mbs.arrays import Array
from fem_mbs.benchmarks import beams
from fem_mbs.benchmarks.case import Quantity, case
from fem_mbs.contracts import Node
from fem_mbs.contracts.motion import State
from fem_mbs.elements import BeamSection, Force
from fem_mbs.model.model import Model
from fem_mbs.static.buckling import buckling
from fem_mbs.static.statics import statics


def deflection(built: tuple[Model, Node]) -> Array:
    """Displacement ``(3,)`` of a node under the whole load."""
    model, node = built
    return statics(model).displacement(node)[-1]


@case("roll-up", "statics")
def roll_up() -> Iterator[Array]:
    """A cantilever bent to a full circle, and to two turns, by a moment at its end."""
    for interpolation in ("SE3", "R3xSO3"):
        model, beam = beams.roll_up(10, interpolation)
        yield statics(model, load_end=2.0, loads=[1.0, 2.0]).displacement(beam.nodes[-1])[:, :2]


@case("elastica", "statics", refine=(20, 40, 80))
def elastica(elements: int) -> Array:
    """A slender cantilever under a dead load across its end."""
    model, beam = beams.cantilever(BeamSection(1e8, 1e8, 1.0, 1.0, 1.0, beams.UNIT), 1.0, elements)
    model.add(Force(beam.nodes[-1], (0, 1.0, 0)))
    x, y, _ = statics(model, load_end=5.0, loads=[1.0, 5.0]).position(beam.nodes[-1]).T
    return np.array([1 - x[0], y[0], 1 - x[1], y[1]])


@case("45-degree bend", "statics", refine=(16, 32, 64), sources=2)
def bend(elements: int) -> Array:
    """Bathe and Bolourchi 1979: an eighth of a circle under a load out of its plane."""
    model, beam = beams.bend(elements)
    return statics(model).position(beam.nodes[-1])[-1]


@case("follower force", "statics", refine=(20, 40, 80))
def follower_force(elements: int) -> Array:
    """Simo and Vu-Quoc 1986: a cantilever under a load that stays across its end, up to 130 kN."""
    model, beam = beams.following(elements, force=1.0)
    tip = beam.nodes[-1]
    solution = statics(model, load_end=130e3, loads=[2500, 10e3, 30e3, 130e3])
    u, turn = solution.displacement(tip), solution.rotation_vector(tip)[:, 2]
    return np.stack([-u[:, 0], u[:, 1], turn], axis=-1)


@case("Lee's frame", "statics", refine=(16, 32, 64))
def lee_frame(elements: int) -> Array:
    """Two legs with hinges at their ends; the load on one snaps through and back: both limits of the load."""
    model, (_, short, _) = beams.lee((elements, elements // 4, elements), GA=1e12)
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
    model, crown = beams.deep_arch(16)
    highest = [0.0]

    def past(state: State) -> bool:
        highest[0] = max(highest[0], state.t)
        return state.t < 0.98 * highest[0]

    solution = statics(model, arc_length=True, step=0.02, callback=past)
    u = solution.displacement(crown)
    load, down, _ = _limits(u[:, 0], -u[:, 2], 1000 * solution.t)
    return [load, down, load * beams.ARCH_RADIUS**2 / beams.ARCH_STIFFNESS, load]


@case("helix", "statics", slow=True, refine=(100, 200, 400))
def helix(elements: int) -> Array:
    """Ibrahimbegovic 1997: a cantilever is wound to ten turns by a moment while a force pulls it out of its plane."""
    model, beam = beams.helix(elements)
    return statics(model, loads=[*beams.HELIX]).displacement(beam.nodes[-1])


@case("Princeton beam", "statics", refine=(10, 20, 40), over=[*product((4.448, 8.896, 13.345), (0, 30, 60, 90))])
def princeton(elements: int, load: float, angle: float) -> Array:
    """Dowell and Traybar 1975: a beam with a flat section under its end load at all angles, bent and twisted."""
    model, tip = beams.princeton(load, angle, elements)
    solution = statics(model)
    R = solution.rotation(tip)[-1]
    return np.append(solution.displacement(tip)[-1], np.arctan2(-R[1, 2], R[2, 2]))


@case("twisted beam", "statics", refine=(10, 20, 40))
def twisted_beam(elements: int) -> Array:
    """A flat strip, twisted by a right angle as built, under a small load at its end: both deflections."""
    load = 1e-6
    return deflection(beams.twisted(beams.STRIP, 1.0, elements, (0, load, 0)))[1:] / load


@case("short thick cantilever", "statics", refine=(10, 20, 40))
def short_cantilever(elements: int) -> Array:
    """Nachbagauer and others 2013: a cantilever four times as long as it is thick, bent far and a little."""
    model, tip = beams.short(elements)
    return np.abs(statics(model, loads=[1e-3, 1.0]).displacement(tip)[:, :2])


@case("thick cantilever under its end load", "statics", refine=(10, 20, 40))
def geradin(elements: int) -> Array:
    """Geradin and Cardona: a cantilever of 5 m under 600 kN."""
    section = BeamSection(4.8e8, 3.231e8, 1e6, 9.346e6, 1.0, beams.UNIT)
    model, beam = beams.cantilever(section, 5.0, elements)
    model.add(Force(beam.nodes[-1], (0, 0, -6e5)))
    solution = statics(model)
    u, turn = solution.displacement(beam.nodes[-1])[-1], solution.rotation_vector(beam.nodes[-1])[-1]
    return np.array([-u[2], -u[0], turn[1]])


@case("composite cantilever", "statics", refine=(20, 40, 80))
def composite_cantilever(elements: int) -> Array:
    """A beam whose section couples bending with twist, under 150 N at its end (Wang and others 2015, BeamDyn)."""
    model, beam = beams.cantilever(beams.composite(), 10.0, elements)
    model.add(Force(beam.nodes[-1], (0, 0, 150.0)))
    return deflection((model, beam.nodes[-1]))


@case("twisted cantilever", "statics", refine=(20, 40, 80), sources=2)
def twisted_cantilever(elements: int) -> Array:
    """A steel bar of 10 m that is twisted by 90 degrees as built, under 4 MN at its end (Wang and others 2015)."""
    return deflection(beams.twisted(beams.BAR, 10.0, elements, (0, 0, -4e6)))


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
    return buckling(beams.column(ends, elements)).factors[:1]


@case("lateral-torsional buckling", "buckling", refine=(10, 20, 40))
def lateral_torsional(elements: int) -> Array:
    """A narrow cantilever under a load at its end tips over sideways: P L^2/sqrt(EI GJ)."""
    # twice the first zero of the Bessel function J of order -1/4, squared and halved (Timoshenko and Gere)
    # the load is in the stiff plane; what it bends before it tips is negligible
    model, beam = beams.cantilever(BeamSection(1e9, 1e9, 1.0, (1e6, 1.0), 1.0, beams.UNIT), 1.0, elements)
    model.add(Force(beam.nodes[-1], (0, 0, -1.0)))
    return np.abs(buckling(model).factors[:1])


@case("right-angle frame", "buckling", refine=(10, 20, 40))
def right_angle_frame(elements: int) -> Array:
    """Argyris 1979: an L-shaped frame of thin strips, pulled in its plane at its free end, buckles out of it."""
    model, _ = beams.frame(elements=elements)
    return np.sort(np.abs(buckling(model, 2).factors))[:1]
