"""Benchmarks of buckling."""

from __future__ import annotations

from functools import partial

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force, RevoluteJoint
from fem_mbs.model.model import Model
from fem_mbs.static.buckling import buckling
from fem_mbs.validation.case import Quantity, case, compared, rate, refine
from fem_mbs.validation.equilibria import UNIT, cantilever


@case("Euler columns", "buckling")
def columns() -> list[Quantity]:
    """Slender columns that are pressed, clamped or hinged below, free or held across above."""
    quantities = []
    factors = {"clamped, free": 0.25, "hinged, hinged": 1.0, "clamped, hinged": 2.0457484}
    for ends, factor in factors.items():
        values, order = refine(partial(_column, ends), (10, 20, 40))
        quantities += [*compared((f"{ends}: P L^2/(pi^2 EI)",), values, (factor,), 1e-5, "Euler"), rate(order)]
    return quantities


def _column(ends: str, elements: int) -> Array:
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


@case("lateral-torsional buckling", "buckling")
def lateral_torsional() -> list[Quantity]:
    """A narrow cantilever under a load at its end tips over sideways: P L^2/sqrt(EI GJ)."""

    def run(elements: int) -> Array:
        # the load is in the stiff plane; what it bends before it tips is negligible
        model, beam = cantilever(BeamSection(1e9, 1e9, 1.0, (1e6, 1.0), 1.0, UNIT), 1.0, elements)
        model.add(Force(beam.nodes[-1], (0, 0, -1.0)))
        return np.abs(buckling(model).factors[:1])

    values, order = refine(run, (10, 20, 40))
    # twice the first zero of the Bessel function J of order -1/4, squared and halved (Timoshenko and Gere)
    return [*compared(("load factor",), values, (4.012599,), 1e-5, "Timoshenko and Gere 1961"), rate(order)]


@case("right-angle frame", "buckling")
def right_angle_frame() -> list[Quantity]:
    """Argyris 1979: an L-shaped frame of thin strips, pulled in its plane at its free end, buckles out of it."""

    def run(elements: int) -> Array:
        model = Model()
        E, G, width, height = 7.124e10, 7.124e10 / 2.62, 6e-4, 3e-2
        weak, strong = E * height * width**3 / 12, E * width * height**3 / 12
        torsion = G * height * width**3 / 3 * (1 - 0.63 * width / height)
        # y across the plane of the frame, where the strip is thin
        section = BeamSection(E * width * height, 5 / 6 * G * width * height, torsion, (strong, weak), 1.0, UNIT)
        leg = Beam.line(model, (0, 0, 0), (0.24, 0, 0), section, elements, y_axis=(0, 1, 0))
        arm = Beam.line(
            model, (0.24, 0, 0), (0.24, 0, -0.24), section, elements, y_axis=(0, 1, 0), start_node=leg.nodes[-1]
        )
        model.fix(leg.nodes[0])
        model.add(Force(arm.nodes[-1], (1.0, 0, 0)))
        return np.sort(np.abs(buckling(model, 2).factors))[:1]

    values, order = refine(run, (10, 20, 40))
    return [*compared(("critical load (N)",), values, (1.088,), 5e-3, "Simo and Vu-Quoc 1986"), rate(order)]
