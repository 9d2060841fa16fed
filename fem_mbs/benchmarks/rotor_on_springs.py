"""A shaft of 1.5 m with two disks on springs that differ in their two directions, at rest and turning.

``rotor3`` and ``rotor4`` of the tests of ROSS (petrobras/ross), which takes six elements with cubic shapes:
they alone raise the sixth frequency by 4e-4.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.benchmarks.case import Quantity, case, compared
from fem_mbs.elements import Beam, BeamSection, RigidBody, SpringDamper
from fem_mbs.modal.modes import modes
from fem_mbs.model.model import Model

E, G, DENSITY, LENGTH, DIAMETER, SPEED = 211e9, 81.2e9, 7810.0, 1.5, 0.05, 300.0
BEARINGS = ((0, 1, 0), 1e6), ((0, 0, 1), 8e5)
"""Directions of the springs and their stiffness in N/m."""
AT_REST = (82.65303734, 86.65811435, 254.52047828, 274.31285391, 650.40786626, 679.48903239)
TURNING = (82.48132723, 86.76734307, 245.49092844, 282.33294699, 614.05536277)
"""Frequencies in rad/s, the latter at 300 rad/s."""


def rotor(speed: float = 0.0, elements: int = 6) -> Model:
    """The shaft along x on springs whose far ends are 10 km away, so that they keep their directions."""
    model = Model()
    area, second, nu = np.pi * DIAMETER**2 / 4, np.pi * DIAMETER**4 / 64, E / (2 * G) - 1
    shear = 6 * (1 + nu) / (7 + 6 * nu) * G * area
    inertia = DENSITY * second * np.array([2, 1, 1])
    section = BeamSection(E * area, shear, 2 * G * second, E * second, DENSITY * area, inertia)
    nodes = [
        model.add_node((x, 0, 0), angular_velocity=(speed, 0, 0)) for x in np.linspace(0, LENGTH, 3 * elements + 1)
    ]
    model.add(Beam(nodes, section, order=3, y_axis=(0, 1, 0)))
    for share, outer in ((3, 0.28), (3 / 2, 0.35)):
        width = 0.07
        mass = DENSITY * np.pi * width * (outer**2 - DIAMETER**2) / 4
        polar = mass * (outer**2 + DIAMETER**2) / 8
        across = polar / 2 + mass * width**2 / 12
        model.add(RigidBody(nodes[round(3 * elements / share)], mass, (polar, across, across)))
    for node in (nodes[0], nodes[-1]):
        for way, stiffness in BEARINGS:
            far = node.position + 1e4 * np.array(way)
            model.add(SpringDamper(model.ground, node, stiffness, free_length=1e4, point_a=far))
    model.fix(nodes[0], translation=(True, False, False), rotation=False)
    return model


@case("rotor on springs", "modes")
def rotor_case() -> list[Quantity]:
    """A shaft with two disks on springs that differ in two directions: six frequencies at rest, five of whirl."""
    names = [
        f"{at}, frequency {k} (rad/s)" for at, last in (("at rest", 6), ("at 300 rad/s", 5)) for k in range(1, last + 1)
    ]
    values = np.concatenate([modes(rotor(), 7).angular[1:], modes(rotor(SPEED), 6).angular[1:]])
    return compared(names, values, [*AT_REST, *TURNING], 5e-4, "computed: ROSS, six elements")
