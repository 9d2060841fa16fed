"""Slender beams on coarse meshes: the error does not grow with the slenderness."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force
from fem_mbs.model import Model
from fem_mbs.static import statics
from fem_mbs.validation.case import Quantity, case

SLENDERNESS = (1e1, 1e2, 1e3, 1e4)
"""Length over the side of the square section."""
COARSE, FINE = 8, (64, 128)


def tip(angle: float, slenderness: float, elements: int, interpolation: str) -> Array:
    """Displacement of the end of an arc of length 1 under a load across its plane, ``P L^2/EI = 2``."""
    side = 1 / slenderness
    section = BeamSection(side**2, side**2 / 2.4, 0.1406 * side**4 / 2.4, side**4 / 12, 1.0, (1.0, 1.0, 1.0))
    along = np.linspace(0, angle, elements + 1)
    if angle:
        places = np.stack([np.sin(along), 1 - np.cos(along), 0 * along], axis=-1) / angle
    else:
        places = np.linspace(0, 1, elements + 1)[:, None] * [1.0, 0.0, 0.0]
    model = Model()
    nodes = [model.add_node(place) for place in places]
    model.add(Beam(nodes, section, y_axis=(0, 0, 1), interpolation=interpolation))
    model.fix(nodes[0])
    model.add(Force(nodes[-1], (0, 0, side**4 / 6)))
    displacement: Array = statics(model).displacement(nodes[-1])[-1]
    return displacement


def errors(angle: float, interpolation: str) -> Array:
    """Relative error of the coarse mesh for each slenderness."""
    result = []
    for slenderness in SLENDERNESS:
        coarse, middle, fine = (tip(angle, slenderness, n, interpolation) for n in (COARSE, *FINE))
        exact = fine + (fine - middle) / 3.0
        result.append(np.linalg.norm(coarse - exact) / np.linalg.norm(exact))
    return np.array(result)


def _quantities(angle: float) -> list[Quantity]:
    quantities = []
    for interpolation in ("SE3", "R3xSO3"):
        found = errors(angle, interpolation)
        source = f"error at slenderness {SLENDERNESS[0]:g}"
        for slenderness, error in zip(SLENDERNESS[1:], found[1:], strict=True):
            name = f"{interpolation}: error at slenderness {slenderness:g}"
            quantities.append(Quantity(name, float(error), float(found[0]), 0.05, source))
    return quantities


@case("locking, straight", "statics")
def straight() -> list[Quantity]:
    """A cantilever of 8 elements, 10 to 10 000 times as long as it is thick, bent by half its length."""
    return _quantities(0.0)


@case("locking, 45-degree bend", "statics")
def bent() -> list[Quantity]:
    """The same for an eighth of a circle that is bent and twisted."""
    return _quantities(np.pi / 4)
