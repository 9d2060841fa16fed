"""Benchmarks of plates and shells: linear obstacles, and the nonlinear ones of Sze, Liu, Lo 2004.

Published values are of finite elements themselves, with reduced integration and on meshes of their own; displacements
under point forces depend on the mesh. The spread of the sources is 0.5 to 1.5 %.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from fem_mbs.arrays import Array
from fem_mbs.benchmarks import plates
from fem_mbs.benchmarks.case import Quantity, case
from fem_mbs.benchmarks.plates import Built
from fem_mbs.contracts.motion import State
from fem_mbs.elements import ShellSection
from fem_mbs.modal.modes import modes
from fem_mbs.static.statics import statics
from fem_mbs.static.steady_rotation import steady_rotation

SZE = "published: Sze, Liu, Lo 2004"


def linear(built: Built, load: float) -> Array:
    """Displacements ``(k, 3)`` over the load factor, under a load too small to matter."""
    model, nodes = built
    solution = statics(model, load_end=load)
    return np.array([solution.displacement(node)[-1] for node in nodes]) / load


@case("plates and roofs, linear", "statics")
def obstacles() -> Iterator[float]:
    """Cook's membrane, Scordelis-Lo roof, hemisphere, twisted strip, clamped plates from thick to very thin."""
    yield linear(plates.cook(16), 1e-7)[0, 1]
    yield -linear(plates.scordelis_lo(16), 1e-5)[0, 2]
    yield linear(plates.hemisphere(16), 1e-4)[0, 0]
    for h, load in ((0.32, 1.0), (0.0032, 1e-6)):
        yield linear(plates.twisted_beam(4, h, (0.0, load, 0.0)), 1e-4)[0, 1]
        yield linear(plates.twisted_beam(4, h, (0.0, 0.0, load)), 1e-4)[0, 2]
    for h in (1e-2, 1e-4):
        for clamped in (True, False):
            yield linear(plates.square_plate(8, h, clamped), 1e-4 * h)[0, 2]


@case("pinched cylinder, linear", "statics", slow=True)
def pinched() -> Array:
    """An eighth of a cylinder between diaphragms; bending and stretching side by side, on 32 by 32 elements."""
    built = plates.pinched_cylinder(32, R=300.0, L=600.0, h=3.0, E=3e6, nu=0.3, P=1.0)
    return -linear(built, 1e-2)[:1, 2]


@case("Raasch's hook, linear", "statics", slow=True)
def hook() -> Array:
    """A strip, curved one way and back, twists as it bends, 16 by 96 elements; a beam free to warp would give 5.272."""
    return linear(plates.raasch_hook(16), 1e-4)[:, 2]


EDGES = [("SSSS", 0, 4), ("CCCC", 0, 4), ("CFFF", 0, 6), ("FFFF", 6, 11)]
"""Edges of plates, and which of their modes are compared: not the rigid ones."""


@case("plates, frequencies", "modes", slow=True, refine=(6, 12, 24), over=EDGES, order=False)
def frequencies(elements: int, edges: str, first: int, last: int) -> Array:
    """Square plates, h/a = 0.01, simply supported, clamped, cantilevered and free, extrapolated from three meshes.

    Leissa's values of 1973 are upper bounds, of free edges up to 1 % high; these are of more polynomials.
    """
    model, unit = plates.vibrating_plate(elements, edges)
    return 2.0 * np.pi * unit * modes(model, last).frequencies[first:]


@case("rotating plate, frequencies", "modes", slow=True, refine=(4, 8, 16), over=zip((0.0, 2.0, 6.0)), order=False)
def rotating(elements: int, speed: float) -> Array:
    """A square plate, h/a = 0.01, turns about its clamped edge; bending, twist and two more, from three meshes."""
    model, unit = plates.rotating_plate(elements, speed)
    steady = steady_rotation(model, (0.0, speed / unit, 0.0)) if speed else None
    return 2.0 * np.pi * unit * modes(model, 4, state=None if steady is None else steady.state(-1)).frequencies


def points(name: str) -> Array:
    """A table of ``sze_liu_lo.csv``, ``(n, k)``: a share of the load, and displacements there."""
    with Path(__file__).with_name("sze_liu_lo.csv").open(encoding="utf-8") as file:
        return np.array([row[1:] for row in csv.reader(file) if row[0] == name], dtype=float)


def table(
    built: Built,
    components: Sequence[tuple[str, int, int, float, float]],
    published: str,
    arc_length: bool = False,
) -> Iterator[Quantity]:
    """Displacements beside published ones.

    ``components`` are names, nodes, axes, signs, and tolerances over the largest, of each column of a table.
    """
    model, nodes = built
    loads, *columns = points(published).T
    solution = statics(model, load_end=loads[-1], loads=loads, arc_length=arc_length)
    for (name, node, axis, sign, within), references in zip(components, columns, strict=True):
        values, scale = sign * solution.displacement(nodes[node])[:, axis], float(np.abs(references).max())
        for load, value, reference in zip(loads, values, references, strict=True):
            yield Quantity(f"{name} at {load:g} of the load", value, reference, within, SZE, scale)


@case("Sze: cantilever", "statics")
def cantilever() -> Iterator[Quantity]:
    """A strip of 10 by 1 under a shear at its end, 16 elements."""
    return table(plates.cantilever(16), (("-u", 0, 0, -1.0, 1e-3), ("w", 0, 2, 1.0, 1e-3)), "cantilever")


@case("Sze: roll-up", "statics")
def roll_up() -> Array:
    """A strip of 12 by 1 is bent to a full circle by a moment at its end, 8 elements."""
    model, nodes = plates.roll_up(8)
    u = statics(model, loads=[0.25, 0.5, 0.75, 1.0]).displacement(nodes[0])
    return np.concatenate([-u[:, 0], u[:, 2]])


@case("Sze: slit annular plate", "statics")
def slit_annulus() -> Iterator[Quantity]:
    """Lifted at one side of its slit and clamped at the other, 8 by 40 elements."""
    return table(
        plates.slit_annulus(8, 40), (("inner", 0, 2, 1.0, 0.015), ("outer", 1, 2, 1.0, 0.01)), "slit annular plate"
    )


@case("Sze: hemisphere", "statics")
def hemisphere() -> Iterator[Quantity]:
    """A hemisphere with a hole, pulled and pushed by 400, 20 by 20 elements of a quarter."""
    components = ("outward", 0, 0, 1.0, 0.01), ("inward", 1, 1, -1.0, 0.015)
    return table(plates.hemisphere(20, 400.0), components, "hemisphere")


@case("Sze: converged meshes", "statics", slow=True)
def converged_meshes() -> Iterator[Quantity]:
    """The slit annular plate on 12 by 96 elements, the hemisphere on 32 by 32.

    Published values are of elements with reduced integration; extrapolated from 16 and 20 elements a side, those of
    the hemisphere here are 0.9 % below them at a fifth of the load.
    """
    ring = ("inner", 0, 2, 1.0, 6e-3), ("outer", 1, 2, 1.0, 6e-3)
    hemisphere = ("outward", 0, 0, 1.0, 3e-3), ("inward", 1, 1, -1.0, 0.01)
    yield from table(plates.slit_annulus(12, 96), ring, "slit annular plate")
    yield from table(plates.hemisphere(32, 400.0), hemisphere, "hemisphere")


@case("Sze: pull-out of a cylinder", "statics", slow=True)
def pull_out() -> Iterator[Quantity]:
    """An open cylinder is pulled apart and snaps at half of the load, 16 by 24 elements of an eighth.

    A is under a force on a point, whose displacement depends on the mesh.
    """
    components = ("w_A", 0, 2, 1.0, 0.035), ("-u_B", 1, 0, -1.0, 0.01), ("-u_C", 2, 0, -1.0, 0.01)
    return table(plates.pull_out(16, 24), components, "pull-out of a cylinder", arc_length=True)


@case("Sze: pinched cylinder", "statics", slow=True)
def pinched_cylinder() -> Iterator[Quantity]:
    """Between diaphragms, pinched to nothing, 40 by 40 elements of an eighth."""
    built = plates.pinched_cylinder(40, R=100.0, L=200.0, h=1.0, E=30e3, nu=0.3, P=12_000.0)
    return table(built, (("-w_A", 0, 2, -1.0, 0.025),), "pinched cylinder", arc_length=True)


def _roof(section: ShellSection, published: str, within: float) -> Iterator[Quantity]:
    """How far published loads and drops of the crown are from the path, against the largest of both, on 16 by 16.

    Paths go up and down and back, so that neither is a function of the other.
    """
    model, (crown, *_) = plates.hinged_roof(16, section)
    row, listed = model.nodes.index(crown), points(published)

    def far(state: State) -> bool:
        return bool(crown.position[2] - state.x[row, 2] > 1.02 * listed[:, 1].max())

    path = statics(model, load_end=1.2, arc_length=True, step=0.02, callback=far)
    size = np.abs(listed).max(axis=0)
    reached = np.stack([path.t, -path.displacement(crown)[:, 2]], axis=-1) / size
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(reached, axis=0), axis=-1)))
    curve = CubicSpline(along, reached)(np.linspace(0.0, along[-1], 20_000))
    for point in listed:
        apart = np.linalg.norm(curve - point / size, axis=-1).min()
        yield Quantity(f"path from {point[1]:g} mm at {point[0]:g} of the load", apart, 0.0, within, SZE)


@case("Sze: hinged roof", "statics", slow=True)
def hinged_roof() -> Iterator[Quantity]:
    """A roof snaps through under a force at its crown, 12.7 mm thick, 16 by 16 elements of a quarter."""
    return _roof(plates.roof_section(12.7), "hinged roof", 5e-3)


@case("Sze: thin hinged roof", "statics", slow=True)
def thin_roof() -> Iterator[Quantity]:
    """The roof at half of its thickness, through its snap back and on, 16 by 16 elements of a quarter."""
    return _roof(plates.roof_section(6.35), "thin hinged roof", 0.01)


@case("Sze: laminated roof", "statics", slow=True)
def laminated_roof() -> Iterator[Quantity]:
    """Plies of 0, 90 and 0 degrees, 0 along the axis, 16 by 16 elements of a quarter."""
    return _roof(plates.roof_laminate(), "laminated roof", 5e-3)
