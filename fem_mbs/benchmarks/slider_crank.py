"""The spatial rigid slider-crank (Haug 1989; IFToMM library; Masarati): a crank about x drives a slider along x.

The crank's mass centre is at its middle, as in the published series.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import (
    EXACT,
    STEP,
    BenchmarkProblem,
    Quantity,
    by_quantity,
    case,
    compared,
    order,
    solve,
    twice_extrapolated,
)
from fem_mbs.elements import PrismaticJoint, RevoluteJoint, RigidBody, SphericalJoint, UniversalJoint
from fem_mbs.model.model import Model
from fem_mbs.solution.solution import Solution

GRAVITY = 9.81
CENTER = np.array([0.0, 0.1, 0.12])
CRANK, ROD = 0.08, 0.3
MASSES = 0.12, 0.5, 2.0
CRANK_INERTIA, ROD_AXIAL, ROD_TRANSVERSE = 1e-4, 4e-4, 4e-3
TIMES = (1.0, 2.0, 3.0, 4.0, 5.0)
GONZALEZ = (0.211754668, 0.289063554, 0.228450093, 0.188208161, 0.240761815)
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


def _mechanism(angle: complex) -> tuple[Any, Any, Any]:
    """Place of the slider, twice the kinetic energy over the square of the crank's rate, and potential energy."""
    s, c = np.sin(angle), np.cos(angle)
    pin, slope = CENTER + CRANK * np.array([0, -s, c]), CRANK * np.array([0, -c, -s])
    x: Any = np.sqrt(ROD**2 - pin[1] ** 2 - pin[2] ** 2)
    rate = -(pin[1] * slope[1] + pin[2] * slope[2]) / x
    along, turned = np.array([x, -pin[1], -pin[2]]) / ROD, np.array([rate, -slope[1], -slope[2]]) / ROD
    # the cross of the universal joint keeps one axis of the rod perpendicular to x
    across = np.array([0, along[2], -along[1]])
    size = np.sqrt(across @ across)
    across = across / size
    about_x = -(turned @ across) / size
    about_across = turned @ np.cross(across, along)
    # axis of the rod, and the rest of its rotation
    axial = about_x * along[0]
    whole = about_x**2 + about_across**2
    middle = (slope + np.array([rate, 0, 0])) / 2
    crank = MASSES[0] * (CRANK / 2) ** 2 + CRANK_INERTIA
    rod = MASSES[1] * (middle @ middle) + ROD_AXIAL * axial**2 + ROD_TRANSVERSE * (whole - axial**2)
    height = MASSES[0] * (CENTER[2] + pin[2]) / 2 + MASSES[1] * pin[2] / 2
    return x, crank + rod + MASSES[2] * rate**2, GRAVITY * height


def exact() -> Array:
    """Slider and crank ``(nt, 2)`` from ``M a'' = -V' - M' a'^2/2``, derivatives by complex steps."""

    def rates(_: float, y: Array) -> tuple[float, float]:
        tiny = 1e-30
        _, M, V = _mechanism(y[0] + tiny * 1j)
        return y[1], -(V.imag + 0.5 * M.imag * y[1] ** 2) / tiny / M.real

    run = solve_ivp(rates, (0, TIMES[-1]), (0.0, 6.0), method="DOP853", t_eval=TIMES, rtol=1e-12, atol=1e-12)
    return np.array([(_mechanism(angle)[0].real, angle) for angle in run.y[0]])


SLIDER_CRANK = BenchmarkProblem(
    "spatial slider-crank", TIMES[-1], slider_crank, read, ("slider (m)", "crank (rad)"), TIMES, exact, (0.3, 54.3)
)


@case("IFToMM spatial slider-crank", "machines", slow=True)
def spatial_slider_crank() -> Iterator[Quantity]:
    """Haug 1989: a crank that is let go with 6 rad/s moves a slider across over a rod in space."""
    runs = [solve(SLIDER_CRANK, steps)[1] for steps in (2500, 5000, 10000)]
    values = twice_extrapolated(*runs)
    found = float(np.log2(np.linalg.norm(runs[1] - runs[0]) / np.linalg.norm(runs[2] - runs[1])))
    names = [f"slider (m) at t = {t:g} s" for t in SLIDER_CRANK.times]
    yield from by_quantity(SLIDER_CRANK, values, 1e-6, EXACT)
    yield order(found, STEP)
    yield from compared(names, values[:, 0], GONZALEZ, 5e-4, "computed: Gonzalez, through Exudyn")
