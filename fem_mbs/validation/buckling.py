"""Benchmarks of buckling."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks import beams
from fem_mbs.elements import BeamSection, Force
from fem_mbs.static.buckling import buckling
from fem_mbs.validation.case import Quantity, case, converged

MESHES = (10, 20, 40)


@case("Euler columns", "buckling")
def columns() -> list[Quantity]:
    """Slender columns that are pressed, clamped or hinged below, free or held across above."""
    quantities = []
    for ends, factor in beams.COLUMNS.items():

        def run(elements: int, ends: str = ends) -> Array:
            return buckling(beams.column(ends, elements)).factors[:1]

        quantities += converged((f"{ends}: P L^2/(pi^2 EI)",), run, MESHES, (factor,), 1e-5, "Euler")
    return quantities


@case("lateral-torsional buckling", "buckling")
def lateral_torsional() -> list[Quantity]:
    """A narrow cantilever under a load at its end tips over sideways: P L^2/sqrt(EI GJ)."""

    def run(elements: int) -> Array:
        # the load is in the stiff plane; what it bends before it tips is negligible
        model, beam = beams.cantilever(BeamSection(1e9, 1e9, 1.0, (1e6, 1.0), 1.0, beams.UNIT), 1.0, elements)
        model.add(Force(beam.nodes[-1], (0, 0, -1.0)))
        return np.abs(buckling(model).factors[:1])

    # twice the first zero of the Bessel function J of order -1/4, squared and halved (Timoshenko and Gere)
    return converged(("load factor",), run, MESHES, (4.012599,), 1e-5, "Timoshenko and Gere 1961")


@case("right-angle frame", "buckling")
def right_angle_frame() -> list[Quantity]:
    """Argyris 1979: an L-shaped frame of thin strips, pulled in its plane at its free end, buckles out of it."""

    def run(elements: int) -> Array:
        model, _ = beams.frame(elements=elements)
        return np.sort(np.abs(buckling(model, 2).factors))[:1]

    return converged(("critical load (N)",), run, MESHES, (beams.CRITICAL,), 5e-3, "Simo and Vu-Quoc 1986")
