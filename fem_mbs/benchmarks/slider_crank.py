"""The spatial rigid slider-crank (Haug 1989; IFToMM library; Masarati): a crank about x drives a slider along x.

The crank's mass centre is at its middle, as in the published series.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import BenchmarkProblem, case, known, solve, twice_extrapolated
from fem_mbs.elements import PrismaticJoint, RevoluteJoint, RigidBody, SphericalJoint, UniversalJoint
from fem_mbs.model.model import Model
from fem_mbs.solution.solution import Solution

GRAVITY = 9.81
CENTER = np.array([0.0, 0.1, 0.12])
CRANK, ROD = 0.08, 0.3
MASSES = 0.12, 0.5, 2.0
CRANK_INERTIA, ROD_AXIAL, ROD_TRANSVERSE = 1e-4, 4e-4, 4e-3
TIMES = (1.0, 2.0, 3.0, 4.0, 5.0)
GONZALEZ = known("IFToMM spatial slider-crank", "computed")
"""Place of the slider at these times, in m, with steps of 10 ms."""


def slider_crank(group: str = "R3xSO3") -> Model:
    """Bodies "crank", "rod" and "slider" and the hinge "shaft".

    All nodes start with the axes of the world, so that no Tait-Bryan angle comes near its singular position.
    """
    model = Model(group, gravity=(0, 0, -GRAVITY))
    pin, end = CENTER + (0, 0, CRANK), np.array([0.2, 0, 0])
    along = (end - pin) / ROD
    inertia = ROD_TRANSVERSE * np.eye(3) - (ROD_TRANSVERSE - ROD_AXIAL) * np.outer(along, along)
    crank = model.add_node((CENTER + pin) / 2, velocity=(0, -0.24, 0), angular_velocity=(6, 0, 0), name="crank")
    turning = (1.92, -0.96, 0.48)
    rod = model.add_node((pin + end) / 2, velocity=(0.12, -0.24, 0), angular_velocity=turning, name="rod")
    slider = model.add_node(end, velocity=(0.24, 0, 0), name="slider")
    model.add(RigidBody(crank, MASSES[0], (CRANK_INERTIA, CRANK_INERTIA, 1e-5)))
    model.add(RigidBody(rod, MASSES[1], inertia))
    model.add(RigidBody(slider, MASSES[2], (1e-4, 1e-4, 1e-4)))
    model.add(RevoluteJoint(model.ground, crank, (1, 0, 0), point=CENTER), name="shaft")
    model.add(SphericalJoint(crank, rod, point=pin))
    model.add(UniversalJoint(rod, slider, np.cross(along, (1, 0, 0)), (1, 0, 0), point=end))
    model.add(PrismaticJoint(model.ground, slider, (1, 0, 0)))
    return model


def read(solution: Solution) -> Array:
    """Place of the slider in m and angle of the crank in rad ``(nt, 2)``."""
    return np.stack([solution.position("slider")[:, 0], solution.angle("shaft")], axis=-1)


SLIDER_CRANK = BenchmarkProblem("IFToMM spatial slider-crank", slider_crank, read, TIMES)


@case("IFToMM spatial slider-crank", "machines", slow=True)
def spatial_slider_crank() -> Iterator[Array]:
    """Haug 1989: a crank that is let go with 6 rad/s moves a slider across over a rod in space."""
    runs = [solve(SLIDER_CRANK, steps)[1] for steps in (2500, 5000, 10000)]
    values = twice_extrapolated(*runs)
    yield values
    yield np.log2(np.linalg.norm(runs[1] - runs[0]) / np.linalg.norm(runs[2] - runs[1]))
    yield values[0]
