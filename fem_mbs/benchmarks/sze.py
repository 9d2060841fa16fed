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
from fem_mbs.benchmarks.case import case, refined
from fem_mbs.benchmarks.plates import Built
from fem_mbs.contracts.motion import State
from fem_mbs.elements import ShellSection
from fem_mbs.modal.modes import modes
from fem_mbs.static.statics import statics
from fem_mbs.static.steady_rotation import steady_rotation


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


@case("plates, frequencies", "modes", slow=True)
def frequencies() -> Iterator[Array]:
    """Square plates, h/a = 0.01, simply supported, clamped, cantilevered and free, extrapolated from three meshes.

    Leissa's values of 1973 are upper bounds, of free edges up to 1 % high; these are of more polynomials.
    """
    for edges, flexible in {"SSSS": 4, "CCCC": 4, "CFFF": 6, "FFFF": 5}.items():
        rigid = 6 if edges == "FFFF" else 0

        def run(elements: int, edges: str = edges, first: int = rigid, last: int = rigid + flexible) -> Array:
            model, unit = plates.vibrating_plate(elements, edges)
            return 2.0 * np.pi * unit * modes(model, last).frequencies[first:]

        yield refined(run, (6, 12, 24))[:-1]


@case("rotating plate, frequencies", "modes", slow=True)
def rotating() -> Iterator[Array]:
    """A square plate, h/a = 0.01, turns about its clamped edge; bending, twist and two more, from three meshes."""
    for speed in (0.0, 2.0, 6.0):

        def run(elements: int, speed: float = speed) -> Array:
            model, unit = plates.rotating_plate(elements, speed)
            steady = steady_rotation(model, (0.0, speed / unit, 0.0)) if speed else None
            state = None if steady is None else steady.state(-1)
            return 2.0 * np.pi * unit * modes(model, 4, state=state).frequencies

        yield refined(run, (4, 8, 16))[:-1]


def table(
    built: Built, *components: tuple[int, int, float], loads: Sequence[float], arc_length: bool = False
) -> Iterator[Array]:
    """Displacements at loads: of each component its node, axis and sign."""
    model, nodes = built
    solution = statics(model, load_end=max(loads), loads=loads, arc_length=arc_length)
    for node, axis, sign in components:
        yield sign * solution.displacement(nodes[node])[:, axis]


QUARTERS, TO_FULL = (0.25, 0.5, 0.75, 1.0), (0.05, 0.2, 0.5, 1.0)


@case("Sze: cantilever", "statics")
def cantilever() -> Iterator[Array]:
    """A strip of 10 by 1 under a shear at its end, 16 elements."""
    return table(plates.cantilever(16), (0, 0, -1.0), (0, 2, 1.0), loads=QUARTERS)


@case("Sze: roll-up", "statics")
def roll_up() -> Iterator[Array]:
    """A strip of 12 by 1 is bent to a full circle by a moment at its end, 8 elements."""
    return table(plates.roll_up(8), (0, 0, -1.0), (0, 2, 1.0), loads=QUARTERS)


@case("Sze: slit annular plate", "statics")
def slit_annulus() -> Iterator[Array]:
    """Lifted at one side of its slit and clamped at the other, 8 by 40 elements."""
    return table(plates.slit_annulus(8, 40), (0, 2, 1.0), (1, 2, 1.0), loads=TO_FULL)


@case("Sze: hemisphere", "statics")
def hemisphere() -> Iterator[Array]:
    """A hemisphere with a hole, pulled and pushed by 400, 20 by 20 elements of a quarter."""
    return table(plates.hemisphere(20, 400.0), (0, 0, 1.0), (1, 1, -1.0), loads=TO_FULL)


@case("Sze: converged meshes", "statics", slow=True)
def converged_meshes() -> Iterator[Array]:
    """The slit annular plate on 12 by 96 elements, the hemisphere on 32 by 32.

    Published values are of elements with reduced integration; extrapolated from 16 and 20 elements a side, those of
    the hemisphere here are 0.9 % below them at a fifth of the load.
    """
    yield from table(plates.slit_annulus(12, 96), (0, 2, 1.0), (1, 2, 1.0), loads=TO_FULL)
    yield from table(plates.hemisphere(32, 400.0), (0, 0, 1.0), (1, 1, -1.0), loads=TO_FULL)


@case("Sze: pull-out of a cylinder", "statics", slow=True)
def pull_out() -> Iterator[Array]:
    """An open cylinder is pulled apart and snaps at half of the load, 16 by 24 elements of an eighth."""
    components = (1, 0, -1.0), (2, 0, -1.0)
    return table(plates.pull_out(16, 24), *components, loads=(0.1, 0.25, 0.6, 1.0), arc_length=True)


@case("Sze: pinched cylinder", "statics", slow=True)
def pinched_cylinder() -> Iterator[Array]:
    """Between diaphragms, pinched to nothing, 40 by 40 elements of an eighth."""
    built = plates.pinched_cylinder(40, R=100.0, L=200.0, h=1.0, E=30e3, nu=0.3, P=12_000.0)
    return table(built, (0, 2, -1.0), loads=(0.1, 0.2, 0.3, 0.5, 0.8, 1.0), arc_length=True)


def _roof(section: ShellSection, published: Sequence[tuple[float, float]], elements: int = 16) -> list[float]:
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
    return [np.linalg.norm(curve - np.array(point) / size, axis=-1).min() for point in published]


@case("Sze: hinged roof", "statics", slow=True)
def hinged_roof() -> list[float]:
    """A roof snaps through under a force at its crown, 12.7 mm thick, 16 by 16 elements of a quarter."""
    published = [(1.638, 0.1980), (3.087, 0.3473), (7.057, 0.6381), (11.293, 0.7421), (15.217, 0.5055)]
    published += [(17.094, 0.2717), (19.852, 0.1729), (24.049, 0.3871), (29.374, 1.0835)]
    return _roof(plates.roof_section(12.7), published)


@case("Sze: thin hinged roof", "statics", slow=True)
def thin_roof() -> list[float]:
    """The roof at half of its thickness, through its snap back and on, 16 by 16 elements of a quarter."""
    published = [(1.846, 0.0517), (5.271, 0.1183), (8.257, 0.1583), (10.799, 0.1837), (12.892, 0.1953)]
    published += [(14.472, 0.1901), (15.501, 0.1671), (16.602, 0.0923), (17.008, 0.0083), (15.780, -0.0622)]
    published += [(14.451, -0.1142), (15.778, -0.1288), (19.817, -0.1055), (24.824, -0.0006), (28.302, 0.1427)]
    published += [(35.024, 0.6417), (38.450, 1.0313)]
    return _roof(plates.roof_section(6.35), published)


@case("Sze: laminated roof", "statics", slow=True)
def laminated_roof() -> list[float]:
    """Plies of 0, 90 and 0 degrees, 0 along the axis, 16 by 16 elements of a quarter."""
    published = [(3.281, 0.1938), (7.961, 0.3459), (9.884, 0.3618), (14.477, 0.2115), (17.692, -0.0236)]
    published += [(22.707, 0.0194), (28.864, 0.4374)]
    return _roof(plates.roof_laminate(), published)
