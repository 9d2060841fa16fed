"""IFToMM A05, the flyball governor: rods with balls turn about a shaft and lift a slider by stiff spring-dampers."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import BenchmarkProblem, Quantity, case, check
from fem_mbs.elements import FixedJoint, PointMass, PrismaticJoint, RevoluteJoint, RigidBody, SpringDamper
from fem_mbs.model.model import Model
from fem_mbs.solution.solution import Solution

GRAVITY = 9.81
STIFFNESS, DAMPING, FREE = 8e5, 4e4, 0.5
SPIN = 2 * np.pi
ANGLE = np.pi / 6
"""Of the rods below the horizontal at the start."""
OFFSET, SIDE, CUBE = 0.05, 0.01, 0.1
ROD, SLIDER, BALL = 0.3, 3.0, 5.0
AXIAL, ACROSS = ROD * SIDE**2 / 6, ROD * (1 + SIDE**2) / 12
UPRIGHT = SLIDER * CUBE**2 / 6
TIMES = (0.5, 1.0, 2.0, 5.0, 10.0)


def governor(group: str = "R3xSO3") -> Model:
    """Bodies "shaft", "slider", "left", "right" and balls, and the joint "guide" of the slider."""
    model = Model(group, gravity=(0, -GRAVITY, 0))
    spin = np.array([0, SPIN, 0])
    shaft = model.add_node((0, 0.5, 0), angular_velocity=spin, name="shaft")
    slider = model.add_node((0, 0.5, 0), angular_velocity=spin, name="slider")
    model.add(RigidBody(shaft, ROD, (ACROSS, AXIAL, ACROSS)))
    model.add(RigidBody(slider, SLIDER, (UPRIGHT, UPRIGHT, UPRIGHT)))
    model.add(RevoluteJoint(model.ground, shaft, (0, 1, 0)))
    model.add(PrismaticJoint(shaft, slider, (0, 1, 0)), name="guide")
    for side, name in ((1, "right"), (-1, "left")):
        hinge = np.array([side * OFFSET, 1, 0])
        along = np.array([side * np.cos(ANGLE), -np.sin(ANGLE), 0])
        triad = np.stack([along, np.cross((0, 0, side), along), (0, 0, side)], axis=-1)
        middle, end = hinge + along / 2, hinge + along
        rod = model.add_node(middle, triad, velocity=np.cross(spin, middle), angular_velocity=spin @ triad, name=name)
        ball = model.add_node(end, velocity=np.cross(spin, end), angular_velocity=spin, name=f"{name} ball")
        model.add(RigidBody(rod, ROD, (AXIAL, ACROSS, ACROSS)))
        model.add(PointMass(ball, BALL))
        model.add(RevoluteJoint(shaft, rod, (0, 0, 1), point=hinge))
        model.add(FixedJoint(rod, ball))
        model.add(
            SpringDamper(slider, rod, STIFFNESS, DAMPING, free_length=FREE, point_a=slider.at((side * OFFSET, 0, 0)))
        )
    return model


def read(solution: Solution) -> Array:
    """Height of the slider and speed of the shaft ``(nt, 2)``."""
    return np.stack([solution.coordinate("guide") + 0.5, solution.angular_velocity("shaft")[:, 1]], axis=-1)


def _about_shaft(angle: float) -> tuple[float, float]:
    """Inertia of everything about the shaft, and its derivative by the angle of the rods."""
    s, c = np.sin(angle), np.cos(angle)
    ball, middle = OFFSET + c, OFFSET + c / 2
    rods = BALL * ball**2 + ROD * middle**2 + AXIAL * s**2 + ACROSS * c**2
    change = -2 * BALL * ball * s - ROD * middle * s + 2 * (AXIAL - ACROSS) * s * c
    return AXIAL + UPRIGHT + 2 * rods, 2 * change


def _rates(_: float, y: Array) -> Array:
    """Rates of the angle of the rods, the height of the slider, and their rates; the spin keeps its momentum."""
    angle, height, turning, rising = y
    s, c = np.sin(angle), np.cos(angle)
    inertia, change = _about_shaft(angle)
    spin = SPIN * _about_shaft(ANGLE)[0] / inertia
    across, down = c / 2, 1 - s / 2 - height
    length = np.hypot(across, down)
    by_angle, by_height = (-across * s - down * c) / 2 / length, -down / length
    pull = STIFFNESS * (length - FREE) + DAMPING * (by_angle * turning + by_height * rising)
    about_hinge = BALL + ROD / 4 + ACROSS
    moment = 0.25 * change * spin**2 + GRAVITY * c * (BALL + ROD / 2) - pull * by_angle
    return np.array([turning, rising, moment / about_hinge, -GRAVITY - 2 * pull * by_height / SLIDER])


def exact(times: Array) -> Array:
    """Height of the slider and speed of the shaft ``(nt, 2)``, from three coordinates."""
    run = solve_ivp(_rates, (0, times[-1]), (ANGLE, 0.5, 0, 0), method="Radau", t_eval=times, rtol=1e-11, atol=1e-12)
    spin = [SPIN * _about_shaft(ANGLE)[0] / _about_shaft(angle)[0] for angle in run.y[0]]
    return np.stack([run.y[1], spin], axis=-1)


def fastest() -> float:
    """The fastest rate of decay at the start, in 1/s."""
    start = np.array([ANGLE, 0.5, 0, 0])
    steps = 1e-6 * np.eye(4)
    jacobian = np.stack([(_rates(0, start + d) - _rates(0, start - d)) / 2e-6 for d in steps], axis=-1)
    return float(-np.linalg.eigvals(jacobian).real.min())


GOVERNOR = BenchmarkProblem(
    "A05 governor",
    TIMES[-1],
    governor,
    read,
    ("slider (m)", "speed of the shaft (rad/s)"),
    TIMES,
    lambda: exact(np.array(TIMES)),
    (0.75, 6.3),
)


@case("IFToMM A05, flyball governor", "machines", slow=True)
def governor_case() -> list[Quantity]:
    """A governor swings up and down; the longest steps are 160 times as long as its couplers take to come to rest."""
    return check(GOVERNOR, (500, 1000, 2000), 1e-4, "exact: three coordinates")
