"""Benchmarks of plates and shells: linear obstacles, and the nonlinear ones of Sze, Liu, Lo 2004.

Published values are of finite elements themselves, with reduced integration and on meshes of their own; displacements
under point forces depend on the mesh. The spread of the sources is 0.5 to 1.5 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.interpolate import CubicSpline

from fem_mbs.arrays import Array
from fem_mbs.benchmarks import plates
from fem_mbs.benchmarks.case import Quantity, case, compared, refine
from fem_mbs.benchmarks.plates import Built
from fem_mbs.contracts.motion import State
from fem_mbs.elements import ShellSection
from fem_mbs.modal.modes import modes
from fem_mbs.static.statics import statics
from fem_mbs.static.steady_rotation import steady_rotation

SZE = "published: Sze, Liu, Lo 2004"
HARDER = "published: MacNeal and Harder 1985"


def linear(built: Built, load: float) -> Array:
    """Displacements ``(k, 3)`` over the load factor, under a load too small to matter."""
    model, nodes = built
    solution = statics(model, load_end=load)
    return np.array([solution.displacement(node)[-1] for node in nodes]) / load


@case("plates and roofs, linear", "statics")
def obstacles() -> list[Quantity]:
    """Cook's membrane, Scordelis-Lo roof, hemisphere, twisted strip, clamped plates from thick to very thin."""
    meshes = {"Cook's membrane": 23.96, "Scordelis-Lo roof": 0.3024, "hemisphere with a hole": 0.0935}
    values = (
        linear(plates.cook(16), 1e-7)[0, 1],
        -linear(plates.scordelis_lo(16), 1e-5)[0, 2],
        linear(plates.hemisphere(16), 1e-4)[0, 0],
    )
    quantities = compared([*meshes], np.array(values), [*meshes.values()], 0.01, HARDER)
    for h, load, references in ((0.32, 1.0, (1.754e-3, 5.424e-3)), (0.0032, 1e-6, (1.294e-3, 5.256e-3))):
        found = [
            linear(plates.twisted_beam(4, h, (0.0, *force)), 1e-4)[0, axis]
            for axis, force in ((1, (load, 0.0)), (2, (0.0, load)))
        ]
        names = [f"twisted strip, h = {h}: {name}" for name in ("across", "along")]
        quantities += compared(names, np.array(found), references, 0.01, HARDER)
    for h in (1e-2, 1e-4):
        found = [linear(plates.square_plate(8, h, clamped), 1e-4 * h)[0, 2] for clamped in (True, False)]
        names = [f"square plate, h/a = {h:g}: {edges}" for edges in ("clamped", "simply supported")]
        quantities += compared(names, np.array(found), (0.00126532, 0.00406235), 5e-3, "exact: thin plates, series")
    return quantities


@case("pinched cylinder, linear", "statics", slow=True)
def pinched() -> list[Quantity]:
    """An eighth of a cylinder between diaphragms; bending and stretching side by side, on 32 by 32 elements."""
    built = plates.pinched_cylinder(32, R=300.0, L=600.0, h=3.0, E=3e6, nu=0.3, P=1.0)
    return compared(("under the force",), -linear(built, 1e-2)[:1, 2], (1.8248e-5,), 0.015, HARDER)


@case("Raasch's hook, linear", "statics", slow=True)
def hook() -> list[Quantity]:
    """A strip, curved one way and back, twists as it bends, 16 by 96 elements; a beam free to warp would give 5.272."""
    return compared(
        ("at the end",), linear(plates.raasch_hook(16), 1e-4)[:, 2], (5.027,), 0.01, "published: Knight 1997"
    )


@case("plates, frequencies", "modes", slow=True)
def frequencies() -> Iterator[Quantity]:
    """Square plates, h/a = 0.01, simply supported, clamped, cantilevered and free, extrapolated from three meshes.

    Leissa's values of 1973 are upper bounds, of free edges up to 1 % high; these are of more polynomials.
    """
    for edges, flexible in {"SSSS": 4, "CCCC": 4, "CFFF": 6, "FFFF": 5}.items():
        rigid = 6 if edges == "FFFF" else 0

        def run(elements: int, edges: str = edges, first: int = rigid, last: int = rigid + flexible) -> Array:
            model, unit = plates.vibrating_plate(elements, edges)
            return 2.0 * np.pi * unit * modes(model, last).frequencies[first:]

        # three of the rigid motions are in the plane
        exact = plates.ritz_frequencies(edges, rigid // 2 + flexible)[rigid // 2 :]
        names = [f"{edges}: frequency {k + 1}" for k in range(flexible)]
        yield from compared(names, refine(run, (6, 12, 24))[0], exact, 5e-3, "exact: thin plates, Ritz")


@case("rotating plate, frequencies", "modes", slow=True)
def rotating() -> Iterator[Quantity]:
    """A square plate, h/a = 0.01, turns about its clamped edge; bending, twist and two more, from three meshes."""
    for speed in (0.0, 2.0, 6.0):

        def run(elements: int, speed: float = speed) -> Array:
            model, unit = plates.rotating_plate(elements, speed)
            steady = steady_rotation(model, (0.0, speed / unit, 0.0)) if speed else None
            state = None if steady is None else steady.state(-1)
            return 2.0 * np.pi * unit * modes(model, 4, state=state).frequencies

        names = [f"speed {speed:g}: frequency {k + 1}" for k in range(4)]
        exact = plates.ritz_frequencies("CFFF", 4, nu=0.0, speed=speed)
        yield from compared(names, refine(run, (4, 8, 16))[0], exact, 2e-3, "exact: thin plates, Ritz")


def points(published: str) -> Array:
    """Of a table, ``(n, k)``: a share of the load, and displacements there."""
    return np.array([line.split() for line in published.split(";")], dtype=float)


def table(
    built: Built,
    components: Sequence[tuple[str, int, int, float, float]],
    published: str,
    arc_length: bool = False,
) -> Iterator[Quantity]:
    """Displacements beside published ones.

    ``components`` are names, nodes, axes, signs, and tolerances over the largest; ``published`` are points, a share of
    the load and as many displacements each.
    """
    model, nodes = built
    loads, *columns = points(published).T
    solution = statics(model, load_end=loads[-1], loads=loads, arc_length=arc_length)
    for (name, node, axis, sign, within), references in zip(components, columns, strict=True):
        names = [f"{name} at {load:g} of the load" for load in loads]
        values = sign * solution.displacement(nodes[node])[:, axis]
        yield from compared(names, values, references, within, SZE, scale=np.abs(references).max())


CANTILEVER = """
0.05 0.026 0.663; 0.1 0.103 1.309; 0.15 0.224 1.922; 0.2 0.381 2.493; 0.25 0.563 3.015; 0.3 0.763 3.488;
0.35 0.971 3.912; 0.4 1.184 4.292; 0.45 1.396 4.631; 0.5 1.604 4.933; 0.55 1.807 5.202; 0.6 2.002 5.444;
0.65 2.190 5.660; 0.7 2.370 5.855; 0.75 2.541 6.031; 0.8 2.705 6.190; 0.85 2.861 6.335; 0.9 3.010 6.467;
0.95 3.151 6.588; 1 3.286 6.698
"""
SLIT_ANNULUS = """
0.025 1.305 1.789; 0.05 2.455 3.370; 0.075 3.435 4.720; 0.1 4.277 5.876; 0.125 5.007 6.872; 0.15 5.649 7.736;
0.2 6.725 9.160; 0.25 7.602 10.288; 0.3 8.340 11.213; 0.35 8.974 11.992; 0.4 9.529 12.661; 0.45 10.023 13.247;
0.5 10.468 13.768; 0.55 10.876 14.240; 0.6 11.257 14.674; 0.65 11.620 15.081; 0.7 11.970 15.469; 0.75 12.310 15.842;
0.8 12.642 16.202; 0.85 12.966 16.550; 0.9 13.282 16.886; 0.95 13.590 17.212; 1 13.891 17.528
"""
HEMISPHERE = """
0.05 0.855 0.955; 0.1 1.499 1.840; 0.2 2.321 3.261; 0.3 2.819 4.339; 0.4 3.158 5.196; 0.5 3.406 5.902;
0.6 3.598 6.497; 0.7 3.750 7.006; 0.8 3.875 7.448; 0.9 3.979 7.835; 1 4.067 8.178
"""
PULL_OUT = """
0.025 0.819 0.864 0.872; 0.05 1.260 1.471 1.493; 0.075 1.527 1.901 1.946; 0.1 1.707 2.217 2.293;
0.15 1.936 2.641 2.792; 0.2 2.079 2.904 3.106; 0.25 2.180 3.087 3.310; 0.3 2.257 3.227 3.452; 0.35 2.321 3.342 3.556;
0.4 2.376 3.443 3.632; 0.45 2.425 3.539 3.688; 0.5 2.473 3.653 3.718; 0.525 2.543 4.061 3.580; 0.55 2.577 4.171 3.518;
0.6 2.618 4.274 3.452; 0.65 2.648 4.338 3.410; 0.7 2.672 4.385 3.378; 0.75 2.692 4.423 3.353; 0.8 2.710 4.455 3.332;
0.85 2.726 4.483 3.313; 0.9 2.741 4.508 3.297; 0.95 2.755 4.530 3.283; 1 2.768 4.551 3.269
"""
PINCHED = """
0.05 9.561; 0.075 15.648; 0.1 23.164; 0.125 29.375; 0.15 36.208; 0.175 51.499; 0.2 56.373; 0.25 61.877; 0.3 65.498;
0.35 68.229; 0.4 70.424; 0.45 72.204; 0.5 73.790; 0.55 75.139; 0.6 76.331; 0.65 77.472; 0.7 78.451; 0.75 79.339;
0.8 80.218; 0.85 81.045; 0.9 81.766; 0.95 82.435; 1 83.102
"""
ROOF = """
0.0877 0.693; 0.1980 1.638; 0.3473 3.087; 0.4686 4.477; 0.5647 5.802; 0.6381 7.057; 0.6908 8.237; 0.7246 9.339;
0.7412 10.358; 0.7421 11.293; 0.7286 12.141; 0.7023 12.903; 0.6649 13.583; 0.6182 14.188; 0.5643 14.728;
0.5055 15.217; 0.4442 15.676; 0.3830 16.125; 0.3245 16.590; 0.2717 17.094; 0.2272 17.657; 0.1940 18.299;
0.1750 19.028; 0.1729 19.852; 0.1905 20.771; 0.2303 21.780; 0.2950 22.875; 0.3871 24.049; 0.5093 25.293;
0.6644 26.601; 0.8549 27.964; 0.9643 28.663; 1.0835 29.374
"""
THIN_ROOF = """
0.0517 1.846; 0.1183 5.271; 0.1583 8.257; 0.1837 10.799; 0.1953 12.892; 0.1901 14.472; 0.1671 15.501; 0.0923 16.602;
0.0083 17.008; -0.0622 15.780; -0.1142 14.451; -0.1288 15.778; -0.1055 19.817; -0.0006 24.824; 0.1427 28.302;
0.6417 35.024; 1.0313 38.450
"""
LAMINATED_ROOF = """
0.1938 3.281; 0.3459 7.961; 0.3618 9.884; 0.2115 14.477; -0.0236 17.692; 0.0194 22.707; 0.4374 28.864
"""


@case("Sze: cantilever", "statics")
def cantilever() -> Iterator[Quantity]:
    """A strip of 10 by 1 under a shear at its end, 16 elements."""
    return table(plates.cantilever(16), (("-u", 0, 0, -1.0, 1e-3), ("w", 0, 2, 1.0, 1e-3)), CANTILEVER)


@case("Sze: roll-up", "statics")
def roll_up() -> list[Quantity]:
    """A strip of 12 by 1 is bent to a full circle by a moment at its end, 8 elements."""
    model, nodes = plates.roll_up(8)
    u = statics(model, loads=[0.25, 0.5, 0.75, 1.0]).displacement(nodes[0])
    names = [f"{axis} at {load:g} of the moment" for axis in ("-u", "w") for load in (0.25, 0.5, 0.75, 1.0)]
    angle = 2 * np.pi * np.array([0.25, 0.5, 0.75, 1.0])
    exact = np.concatenate([12.0 * (1 - np.sin(angle) / angle), 12.0 * (1 - np.cos(angle)) / angle])
    return compared(names, np.concatenate([-u[:, 0], u[:, 2]]), exact, 1e-4, "exact: arcs", scale=12.0)


@case("Sze: slit annular plate", "statics")
def slit_annulus() -> Iterator[Quantity]:
    """Lifted at one side of its slit and clamped at the other, 8 by 40 elements."""
    return table(plates.slit_annulus(8, 40), (("inner", 0, 2, 1.0, 0.015), ("outer", 1, 2, 1.0, 0.01)), SLIT_ANNULUS)


@case("Sze: hemisphere", "statics")
def hemisphere() -> Iterator[Quantity]:
    """A hemisphere with a hole, pulled and pushed by 400, 20 by 20 elements of a quarter."""
    components = ("outward", 0, 0, 1.0, 0.01), ("inward", 1, 1, -1.0, 0.015)
    return table(plates.hemisphere(20, 400.0), components, HEMISPHERE)


@case("Sze: converged meshes", "statics", slow=True)
def converged_meshes() -> Iterator[Quantity]:
    """The slit annular plate on 12 by 96 elements, the hemisphere on 32 by 32.

    Published values are of elements with reduced integration; extrapolated from 16 and 20 elements a side, those of
    the hemisphere here are 0.9 % below them at a fifth of the load.
    """
    ring = ("inner", 0, 2, 1.0, 6e-3), ("outer", 1, 2, 1.0, 6e-3)
    hemisphere = ("outward", 0, 0, 1.0, 3e-3), ("inward", 1, 1, -1.0, 0.01)
    yield from table(plates.slit_annulus(12, 96), ring, SLIT_ANNULUS)
    yield from table(plates.hemisphere(32, 400.0), hemisphere, HEMISPHERE)


@case("Sze: pull-out of a cylinder", "statics", slow=True)
def pull_out() -> Iterator[Quantity]:
    """An open cylinder is pulled apart and snaps at half of the load, 16 by 24 elements of an eighth.

    A is under a force on a point, whose displacement depends on the mesh.
    """
    components = ("w_A", 0, 2, 1.0, 0.035), ("-u_B", 1, 0, -1.0, 0.01), ("-u_C", 2, 0, -1.0, 0.01)
    return table(plates.pull_out(16, 24), components, PULL_OUT, arc_length=True)


@case("Sze: pinched cylinder", "statics", slow=True)
def pinched_cylinder() -> Iterator[Quantity]:
    """Between diaphragms, pinched to nothing, 40 by 40 elements of an eighth."""
    built = plates.pinched_cylinder(40, R=100.0, L=200.0, h=1.0, E=30e3, nu=0.3, P=12_000.0)
    return table(built, (("-w_A", 0, 2, -1.0, 0.025),), PINCHED, arc_length=True)


def _roof(section: ShellSection, published: str, within: float) -> list[Quantity]:
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
    apart = [np.linalg.norm(curve - point / size, axis=-1).min() for point in listed]
    names = [f"path from {drop:g} mm at {load:g} of the load" for load, drop in listed]
    return compared(names, np.array(apart), np.zeros(len(names)), within, SZE)


@case("Sze: hinged roof", "statics", slow=True)
def hinged_roof() -> list[Quantity]:
    """A roof snaps through under a force at its crown, 12.7 mm thick, 16 by 16 elements of a quarter."""
    return _roof(plates.roof_section(12.7), ROOF, 5e-3)


@case("Sze: thin hinged roof", "statics", slow=True)
def thin_roof() -> list[Quantity]:
    """The roof at half of its thickness, through its snap back and on, 16 by 16 elements of a quarter."""
    return _roof(plates.roof_section(6.35), THIN_ROOF, 0.01)


@case("Sze: laminated roof", "statics", slow=True)
def laminated_roof() -> list[Quantity]:
    """Plies of 0, 90 and 0 degrees, 0 along the axis, 16 by 16 elements of a quarter."""
    return _roof(plates.roof_laminate(), LAMINATED_ROOF, 5e-3)
