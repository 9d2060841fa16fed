"""A governor, and an arm on a hydraulic cylinder: stiff machines beside equations in few coordinates.

IFToMM A05, the flyball governor: rods with balls turn about a shaft and lift a slider by stiff spring-dampers.

The valve of the cylinder is set by a controller, after ``hydraulicActuatorSimpleTest`` of Exudyn. The pressures of both
chambers are states of a block. The program sets its valve once before each step; its result with steps of 0.2 and
0.04 ms is extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import BenchmarkProblem, case, rows, solve
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


GOVERNOR = BenchmarkProblem("IFToMM A05, flyball governor", governor, read, TIMES)


@case("IFToMM A05, flyball governor", "machines", slow=True, refine=(500, 1000, 2000))
def governor_case(steps: int) -> Array:
    """A governor swings up and down; the longest steps are 160 times as long as its couplers take to come to rest."""
    return solve(GOVERNOR, steps)[1]


ARM, ARM_MASS = 1.0, 120.0
AREA, OIL, FLOW, SUPPLY, PISTON_DAMPING, START_PRESSURE = 0.01, 1e11, 2e-5, 200e5, 2e5, 2e6
"""Of the piston in m^2, of the oil in Pa/m^3, of the valve in m^3/s per sqrt(Pa); pressures in Pa; N s/m."""
BUILT = np.sqrt(2) * ARM / 4


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


@case("hydraulic arm", "machines", slow=True)
def hydraulic_arm_case() -> Iterator[Array | float]:
    """An arm of 120 kg sinks and rises on a cylinder, by pressures that a valve lets in and out."""
    times = (0.2, 0.4)
    model, cylinder = hydraulic_arm()
    solution = simulate(model, times[-1], 1e-3, RadauIIA())
    at = rows(solution.t, times)
    pressures = [solution.signal(cylinder[f"state {k}"])[at] / 1e6 for k in (1, 2)]
    found = np.stack([np.ravel(solution.coordinate("hinge")[at]), *pressures], axis=-1)
    x = solution.displacement("arm")[-1]
    yield found.T
    # size of displacement and angle, plus that of the pressures in MPa
    yield float(np.linalg.norm([*x, found[-1, 0]]) + np.linalg.norm(found[-1, 1:]))
