"""The blade of the reference turbine NREL 5 MW: under 10 kN/m, its frequencies, and gravity put on at once.

Data and results of BeamDyn (NREL), ``Dvr_5MW_Static`` and ``bd_5MW_dynamic_gravity_Az90`` of OpenFAST. It takes one
element of order 5, whose two lowest frequencies are 1.0 and 0.5 % high. The exact values are of the same blade: by
shooting, and by 24 linear Legendre elements of order 3 with Gauss points between all stations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import case, rows
from fem_mbs.elements import Beam, BeamSection, DistributedLoad
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.modal.modes import modes
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.static.statics import statics

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
