"""Benchmarks of plates and shells: linear obstacles, and the nonlinear ones of Sze, Liu, Lo 2004.

Published values are of finite elements themselves, with reduced integration and on meshes of their own; displacements
under point forces depend on the mesh. The spread of the sources is 0.5 to 1.5 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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


def table(
    built: Built,
    components: Sequence[tuple[str, int, int, float]],
    published: Mapping[float, Sequence[float]],
    within: float,
    arc_length: bool = False,
) -> Iterator[Quantity]:
    """Displacements at loads beside published ones: of each component its name, node, axis and sign."""
    model, nodes = built
    solution = statics(model, load_end=max(published), loads=[*published], arc_length=arc_length)
    for (name, node, axis, sign), references in zip(components, zip(*published.values(), strict=True), strict=True):
        names = [f"{name} at {load:g} of the load" for load in published]
        values = sign * solution.displacement(nodes[node])[:, axis]
        yield from compared(names, values, references, within, SZE)


@case("Sze: cantilever", "statics")
def cantilever() -> Iterator[Quantity]:
    """A strip of 10 by 1 under a shear at its end, 16 elements."""
    published = {0.25: (0.563, 3.015), 0.5: (1.604, 4.933), 0.75: (2.541, 6.031), 1.0: (3.286, 6.698)}
    return table(plates.cantilever(16), (("-u", 0, 0, -1.0), ("w", 0, 2, 1.0)), published, 2e-3)


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
    published = {0.05: (2.455, 3.370), 0.2: (6.725, 9.160), 0.5: (10.468, 13.768), 1.0: (13.891, 17.528)}
    return table(plates.slit_annulus(8, 40), (("inner", 0, 2, 1.0), ("outer", 1, 2, 1.0)), published, 0.02)


@case("Sze: hemisphere", "statics")
def hemisphere() -> Iterator[Quantity]:
    """A hemisphere with a hole, pulled and pushed by 400, 20 by 20 elements of a quarter."""
    published = {0.05: (0.855, 0.955), 0.2: (2.321, 3.261), 0.5: (3.406, 5.902), 1.0: (4.067, 8.178)}
    built = plates.hemisphere(20, 400.0)
    return table(built, (("outward", 0, 0, 1.0), ("inward", 1, 1, -1.0)), published, 0.02)


@case("Sze: converged meshes", "statics", slow=True)
def converged_meshes() -> Iterator[Quantity]:
    """The slit annular plate on 12 by 96 elements, the hemisphere on 32 by 32.

    Published values are of elements with reduced integration; extrapolated from 16 and 20 elements a side, those of
    the hemisphere here are 0.9 % below them at a fifth of the load.
    """
    plate = {0.05: (2.455, 3.370), 0.2: (6.725, 9.160), 0.5: (10.468, 13.768), 1.0: (13.891, 17.528)}
    shell = {0.05: (0.855, 0.955), 0.2: (2.321, 3.261), 0.5: (3.406, 5.902), 1.0: (4.067, 8.178)}
    yield from table(plates.slit_annulus(12, 96), (("inner", 0, 2, 1.0), ("outer", 1, 2, 1.0)), plate, 6e-3)
    yield from table(plates.hemisphere(32, 400.0), (("outward", 0, 0, 1.0), ("inward", 1, 1, -1.0)), shell, 0.015)


@case("Sze: pull-out of a cylinder", "statics", slow=True)
def pull_out() -> Iterator[Quantity]:
    """An open cylinder is pulled apart and snaps at half of the load, 16 by 24 elements of an eighth."""
    published = {0.1: (2.217, 2.293), 0.25: (3.087, 3.310), 0.6: (4.274, 3.452), 1.0: (4.551, 3.269)}
    components = (("-u_B", 1, 0, -1.0), ("-u_C", 2, 0, -1.0))
    return table(plates.pull_out(16, 24), components, published, 0.015, arc_length=True)


@case("Sze: pinched cylinder", "statics", slow=True)
def pinched_cylinder() -> Iterator[Quantity]:
    """Between diaphragms, pinched to nothing, 40 by 40 elements of an eighth."""
    published = {0.1: (23.164,), 0.2: (56.373,), 0.3: (65.498,), 0.5: (73.790,), 0.8: (80.218,), 1.0: (83.102,)}
    built = plates.pinched_cylinder(40, R=100.0, L=200.0, h=1.0, E=30e3, nu=0.3, P=12_000.0)
    return table(built, (("-w_A", 0, 2, -1.0),), published, 0.025, arc_length=True)


def _roof(
    section: ShellSection, published: Sequence[tuple[float, float]], elements: int, within: float
) -> list[Quantity]:
    """How far published drops of the crown and loads are from the path, against the largest of both.

    Paths go up and down and back, so that neither is a function of the other.
    """
    model, (crown, *_) = plates.hinged_roof(elements, section)
    row, last = model.nodes.index(crown), max(drop for drop, _ in published)

    def far(state: State) -> bool:
        return bool(crown.position[2] - state.x[row, 2] > 1.02 * last)

    path = statics(model, load_end=1.2, arc_length=True, step=0.02, callback=far)
    size = np.abs(published).max(axis=0)
    reached = np.stack([-path.displacement(crown)[:, 2], path.t], axis=-1) / size
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(reached, axis=0), axis=-1)))
    curve = CubicSpline(along, reached)(np.linspace(0.0, along[-1], 20_000))
    apart = [np.linalg.norm(curve - np.array(point) / size, axis=-1).min() for point in published]
    names = [f"path from {drop:g} mm at {load:g} of the load" for drop, load in published]
    return compared(names, np.array(apart), np.zeros(len(names)), within, SZE)


@case("Sze: hinged roof", "statics", slow=True)
def hinged_roof() -> list[Quantity]:
    """A roof snaps through under a force at its crown, 12.7 mm thick, 16 by 16 elements of a quarter."""
    published = [(1.638, 0.1980), (3.087, 0.3473), (7.057, 0.6381), (11.293, 0.7421), (15.217, 0.5055)]
    published += [(17.094, 0.2717), (19.852, 0.1729), (24.049, 0.3871), (29.374, 1.0835)]
    return _roof(plates.roof_section(12.7), published, 16, 5e-3)


@case("Sze: thin hinged roof", "statics", slow=True)
def thin_roof() -> list[Quantity]:
    """The roof at half of its thickness, through its snap back and on, 16 by 16 elements of a quarter."""
    published = [(1.846, 0.0517), (5.271, 0.1183), (8.257, 0.1583), (10.799, 0.1837), (12.892, 0.1953)]
    published += [(14.472, 0.1901), (15.501, 0.1671), (16.602, 0.0923), (17.008, 0.0083), (15.780, -0.0622)]
    published += [(14.451, -0.1142), (15.778, -0.1288), (19.817, -0.1055), (24.824, -0.0006), (28.302, 0.1427)]
    published += [(35.024, 0.6417), (38.450, 1.0313)]
    return _roof(plates.roof_section(6.35), published, 16, 0.01)


@case("Sze: laminated roof", "statics", slow=True)
def laminated_roof() -> list[Quantity]:
    """Plies of 0, 90 and 0 degrees, 0 along the axis, 16 by 16 elements of a quarter."""
    published = [(3.281, 0.1938), (7.961, 0.3459), (9.884, 0.3618), (14.477, 0.2115), (17.692, -0.0236)]
    published += [(22.707, 0.0194), (28.864, 0.4374)]
    return _roof(plates.roof_laminate(), published, 16, 5e-3)
