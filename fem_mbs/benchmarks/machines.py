"""A governor, and an arm on a hydraulic cylinder: stiff machines beside equations in few coordinates.

IFToMM A05, the flyball governor: rods with balls turn about a shaft and lift a slider by stiff spring-dampers.

The valve of the cylinder is set by a controller, after ``hydraulicActuatorSimpleTest`` of Exudyn. The pressures of both
chambers are states of a block. The program sets its valve once before each step; its result with steps of 0.2 and
0.04 ms is extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import BenchmarkProblem, Quantity, case, check, compared, rows
from fem_mbs.elements import (
    Block,
    FixedJoint,
    LineActuator,
    LineSensor,
    PointMass,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
)
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
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


ARM, ARM_MASS = 1.0, 120.0
AREA, OIL, FLOW, SUPPLY, PISTON_DAMPING, START_PRESSURE = 0.01, 1e11, 2e-5, 200e5, 2e5, 2e6
"""Of the piston in m^2, of the oil in Pa/m^3, of the valve in m^3/s per sqrt(Pa); pressures in Pa; N s/m."""
BUILT = np.sqrt(2) * ARM / 4
EXUDYN = 7.103802
"""Size of displacement and angle, plus that of the pressures in MPa, at 0.4 s."""


def _flow(valve: float, pressure: float) -> float:
    """Into a chamber, from the supply or to the tank, in m^3/s."""
    return float(valve * FLOW * np.sqrt(max(SUPPLY - pressure if valve >= 0 else pressure, 0.0)))


def _pressure_rates(t: float, pressures: Sequence[float], cylinder: Sequence[float]) -> list[float]:
    length, speed = cylinder
    wanted = BUILT + 0.1 * (np.clip(1 - np.cos(np.pi * t), 0.5, 1.5) - 0.5)
    valve = 2 * (wanted - length)
    inflow = -AREA * speed + _flow(valve, pressures[0]), AREA * speed + _flow(-valve, pressures[1])
    return [OIL * flow for flow in inflow]


def _pull(t: float, pressures: Sequence[float], cylinder: Sequence[float]) -> list[float]:
    return [AREA * (pressures[1] - pressures[0]) + PISTON_DAMPING * cylinder[1]]


def hydraulic_arm(group: str = "R3xSO3") -> tuple[Model, Block]:
    """The "arm" on a "hinge" at the origin, held by a cylinder from below, whose states are the pressures."""
    model = Model(group, gravity=(0, -GRAVITY, 0))
    arm = model.add_node((ARM / 2, 0, 0), name="arm")
    model.add(RigidBody(arm, ARM_MASS, (ARM_MASS * ARM**2 / 12,) * 3))
    model.add(RevoluteJoint(model.ground, arm, axis=(0, 0, 1), point=(0, 0, 0)), name="hinge")
    ends = {"point_a": (0, -ARM / 4, 0), "point_b": (ARM / 4, 0, 0)}
    sensors = [model.add(LineSensor(model.ground, arm, quantity, **ends)) for quantity in ("length", "speed")]
    cylinder = model.add(Block(sensors, _pressure_rates, _pull, initial=[START_PRESSURE, START_PRESSURE]))
    model.add(LineActuator(model.ground, arm, cylinder, **ends))
    return model, cylinder


def exact_arm(times: Sequence[float]) -> Array:
    """Angle in rad and pressures in MPa ``(nt, 3)``, from one angle and two pressures."""

    def rates(t: float, y: Array) -> list[float]:
        angle, rate, *pressures = y
        along = ARM / 4 * np.array([np.cos(angle), np.sin(angle)])
        line = along + (0, ARM / 4)
        length = float(np.hypot(*line))
        speed = rate * (line @ (-along[1], along[0])) / length
        pull = _pull(t, pressures, (length, speed))[0] / length
        moment = pull * (along[1] * line[0] - along[0] * line[1]) - ARM_MASS * GRAVITY * ARM / 2 * np.cos(angle)
        return [rate, moment / (ARM_MASS * ARM**2 / 3), *_pressure_rates(t, pressures, (length, speed))]

    accuracy = {"rtol": 1e-9, "atol": [1e-12, 1e-12, 1e-3, 1e-3]}
    run = solve_ivp(rates, (0, times[-1]), (0, 0, START_PRESSURE, START_PRESSURE), "Radau", t_eval=times, **accuracy)
    return np.stack([run.y[0], *(run.y[2:] / 1e6)], axis=-1)


@case("hydraulic arm", "machines", slow=True)
def hydraulic_arm_case() -> Iterator[Quantity]:
    """An arm of 120 kg sinks and rises on a cylinder, by pressures that a valve lets in and out."""
    times = (0.2, 0.4)
    model, cylinder = hydraulic_arm()
    solution = simulate(model, times[-1], 1e-3, RadauIIA())
    at = rows(solution.t, times)
    pressures = [solution.signal(cylinder[f"state {k}"])[at] / 1e6 for k in (1, 2)]
    found = np.stack([np.ravel(solution.coordinate("hinge")[at]), *pressures], axis=-1)
    x = solution.displacement("arm")[-1]
    sum_of_all = np.linalg.norm([*x, found[-1, 0]]) + np.linalg.norm(found[-1, 1:])
    for column, (name, scale) in enumerate(
        (("angle (rad)", 0.03), ("pressure 1 (MPa)", 8.0), ("pressure 2 (MPa)", 8.0))
    ):
        names = [f"{name} at {t} s" for t in times]
        yield from compared(
            names, found[:, column], exact_arm(times)[:, column], 1e-4, "exact: three states", scale=scale
        )
    yield Quantity("sum of sizes", float(sum_of_all), EXUDYN, 1e-4, "computed: Exudyn 1.13.6, extrapolated")
