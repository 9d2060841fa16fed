"""The slider-crank with play of Flores, Leine, Glocker (Multibody System Dynamics 23 (2010) 61).

The slider is a block in a guide that is 1 mm wider on either side, and knocks on it with its corners. Gravity acts
across the guide.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, compared, rows
from fem_mbs.elements import Ball, Box, Contact, Cylinder, Plane, RevoluteJoint, RigidBody
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution

GRAVITY, CRANK, ROD, CLEARANCE = 9.81, 0.153, 0.306, 0.001
HALF = 0.05, 0.025
MASSES, INERTIAS = (0.038, 0.038, 0.076), (7.4e-5, 5.9e-4, 2.7e-6)
RATES = 150.0, -75.0, -0.01
RESTITUTION, FRICTION = 0.4, 0.01
CORNERS = (-1, 1), (1, 1), (-1, -1), (1, -1)
"""Above and below, back and front."""
EDGE = 1e-6
"""Radius of the corners, m."""


def slider_crank() -> Model:
    """Bodies "crank", "rod" and "slider" in the plane x, z; hinge "shaft"; contacts "corner 1" to "corner 4"."""
    model = Model(gravity=(0, 0, -GRAVITY))
    ends = np.cumsum([0.0, CRANK, ROD])
    spins = [(0, -rate, 0) for rate in RATES]
    middles = ends[0] + CRANK / 2, ends[1] + ROD / 2, ends[2]
    speeds = RATES[0] * CRANK / 2, RATES[0] * CRANK + RATES[1] * ROD / 2, RATES[0] * CRANK + RATES[1] * ROD
    crank, rod, slider = (
        model.add_node((x, 0, 0), velocity=(0, 0, speed), angular_velocity=spin, name=name)
        for x, speed, spin, name in zip(middles, speeds, spins, ("crank", "rod", "slider"), strict=True)
    )
    a, b = HALF
    shapes = Cylinder(0.008, CRANK, (1, 0, 0)), Cylinder(0.006, ROD, (1, 0, 0)), Box((2 * a, 0.03, 2 * b))
    for node, mass, J, shape in zip((crank, rod, slider), MASSES, INERTIAS, shapes, strict=True):
        model.add(RigidBody(node, mass, [J] * 3, shape=shape))
    model.add(RevoluteJoint(model.ground, crank, (0, -1, 0), point=(0, 0, 0)), name="shaft")
    model.add(RevoluteJoint(crank, rod, (0, -1, 0), point=(ends[1], 0, 0)))
    model.add(RevoluteJoint(rod, slider, (0, -1, 0), point=(ends[2], 0, 0)))
    for k, (x, z) in enumerate(CORNERS):
        wall = Plane((0, 0, -z), (ends[2] - CRANK, 0, z * (b + CLEARANCE)), side=0.5)
        corner = Ball(EDGE, center=(ends[2] + x * (a - EDGE), 0, z * (b - EDGE)))
        own = Contact(model.ground, slider, wall, corner, restitution=RESTITUTION, friction=FRICTION)
        model.add(own, name=f"corner {k + 1}")
    return model


def knocks(solution: Solution) -> Array:
    """Instants of all impacts."""
    t = [own.t for k in range(4) for own in solution.impulses(f"corner {k + 1}") if own.normal > 0.0]
    return np.sort(np.array(t))


@case("slider-crank with play", "contact", slow=True)
def play() -> list[Quantity]:
    """Flores, Leine, Glocker 2010: a slider knocks on its guide, in whose play it turns."""
    solution = simulate(slider_crank(), 0.04, 2e-5)
    times = 0.01, 0.02, 0.03, 0.04
    k = rows(solution.t, times)
    turns = solution.angle("shaft")[k] / (2.0 * np.pi)
    speeds = solution.coordinate_rate("shaft")[k]
    first = simulate(slider_crank(), 0.002692, 0.002692 / 269).impulses("corner 1")[0]
    exact, schemes = "exact: equations of motion, 9 digits", "computed: two other schemes, which agree"
    return [
        Quantity("first knock (s)", first.t, 0.002690904, 1e-5, exact),
        *compared(
            [f"turns at {1e3 * t:g} ms" for t in times], turns, (0.15087, 0.25677, 0.40595, 0.62629), 1e-3, schemes
        ),
        *compared(
            [f"speed at {1e3 * t:g} ms (rad/s)" for t in times], speeds, (67.48, 71.69, 127.85, 113.41), 1e-3, schemes
        ),
    ]
