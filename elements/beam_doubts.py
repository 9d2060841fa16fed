"""What looks wrong of a beam: too few elements, and numbers that are of other units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.taper import sections_at
from fem_mbs.model import Around

if TYPE_CHECKING:
    from fem_mbs.elements.beam import Beam

BENDING = 0.5
"""Angle in rad by which an element of order 1 may be bent."""
DENSITIES, MODULI = (5.0, 3e4), (1e3, 2e12)
"""From foam to osmium in kg/m^3, from gel to diamond in N/m^2: what is outside is not of these units."""
UNITS = {
    "density": (DENSITIES, {1e9: "kg/mm^3", 1e3: "g/cm^3 or t/m^3", 1e12: "t/mm^3"}, "kg/m^3, and steel 7850"),
    "Young's modulus": (MODULI, {1e6: "N/mm^2", 1e9: "GPa"}, "N/m^2, and that of steel 2.1e11"),
}
METRES = (9.0, 11.0)
"""Gravity by which lengths are in metres; without gravity they are taken for such."""


def doubts(beam: Beam, around: Around) -> Iterator[str]:
    """What looks wrong, a sentence each."""
    section = sections_at(beam.section, np.zeros(1))[0]
    area, depth = _area(section.outline), float(np.ptp(section.outline, axis=0).max())
    whole = float(beam.length.sum())
    if depth > whole:
        yield f"its section is {depth:.3g} deep and the beam only {whole:.3g} long; look at the units of the section"
    g = float(np.linalg.norm(around.gravity))
    if area > 0.0 and (g == 0.0 or METRES[0] < g < METRES[1]):
        yield from _of_units("density", section.mass / area)
        yield from _of_units("Young's modulus", float(section.stiffness[0, 0]) / area)
    if beam.order > 1:
        return
    if len(beam.length) == 1:
        yield (
            "it is one element of order 1, which bends in an arc and not in an S; give it elements=8, or order=3"
            " (docs/beams.md)"
        )
    angle, needed = _bending(beam, around, section.stiffness)
    if angle > BENDING:
        yield (
            f"its loads may bend an element by {angle:.2g} rad, and more than {BENDING:g} is coarse; give it some"
            f" {needed} elements"
        )


def _of_units(what: str, value: float) -> Iterator[str]:
    """A number that no material has, and the units that it may be of."""
    (lowest, highest), factors, right = UNITS[what]
    if lowest <= value <= highest or value == 0.0:
        return
    units = [name for factor, name in factors.items() if lowest <= value * factor <= highest]
    guess = f" It looks like {' or '.join(units)}" if units else ""
    yield f"its {what} is {value:.3g}, which no material has in the units of the model: {right}.{guess}"


def _area(outline: Array) -> float:
    """Area within a contour ``(k, 2)``."""
    y, z = outline.T
    return abs(0.5 * float(np.sum(y * np.roll(z, -1) - z * np.roll(y, -1))))


def _bending(beam: Beam, around: Around, stiffness: Array) -> tuple[float, int]:
    """Angle of the most bent element, were the beam clamped at one end, and how many elements would be enough."""
    places = np.append(0.0, np.cumsum(beam.length))
    rows = [around.number(node) for node in beam.nodes]
    forces = np.linalg.norm(around.force[rows], axis=1)
    whole = places[-1]
    moment = max(float(forces @ places), float(forces @ (whole - places)))
    weakest = float(min(stiffness[4, 4], stiffness[5, 5]))
    # the second is what bends a rod that gives way, whose energy of bending is at most what the loads do
    curvature = min(moment / weakest, float(np.sqrt(2.0 * forces.sum() / weakest)))
    angle = curvature * float(beam.length.max())
    return angle, int(np.ceil(len(beam.length) * angle / (0.5 * BENDING)))
