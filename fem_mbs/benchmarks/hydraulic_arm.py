"""An arm on a hydraulic cylinder, whose valve a controller sets; after ``hydraulicActuatorSimpleTest`` of Exudyn.

The pressures of both chambers are states of a block. The program sets its valve once before each step; its result with
steps of 0.2 and 0.04 ms is extrapolated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, compared, rows
from fem_mbs.elements import Block, LineActuator, LineSensor, RevoluteJoint, RigidBody
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate

LENGTH, MASS, GRAVITY = 1.0, 120.0, 9.81
AREA, STIFFNESS, FLOW, SUPPLY, DAMPING, START = 0.01, 1e11, 2e-5, 200e5, 2e5, 2e6
"""Of the piston in m^2, of the oil in Pa/m^3, of the valve in m^3/s per sqrt(Pa); pressures in Pa; N s/m."""
BUILT = np.sqrt(2) * LENGTH / 4
EXUDYN = 7.103802
"""Size of displacement and angle, plus that of the pressures in MPa, at 0.4 s."""


def _flow(valve: float, pressure: float) -> float:
    """Into a chamber, from the supply or to the tank, in m^3/s."""
    return float(valve * FLOW * np.sqrt(max(SUPPLY - pressure if valve >= 0 else pressure, 0.0)))


def _rates(t: float, pressures: Sequence[float], cylinder: Sequence[float]) -> list[float]:
    length, speed = cylinder
    wanted = BUILT + 0.1 * (np.clip(1 - np.cos(np.pi * t), 0.5, 1.5) - 0.5)
    valve = 2 * (wanted - length)
    inflow = -AREA * speed + _flow(valve, pressures[0]), AREA * speed + _flow(-valve, pressures[1])
    return [STIFFNESS * flow for flow in inflow]


def _pull(t: float, pressures: Sequence[float], cylinder: Sequence[float]) -> list[float]:
    return [AREA * (pressures[1] - pressures[0]) + DAMPING * cylinder[1]]


def hydraulic_arm(group: str = "R3xSO3") -> tuple[Model, Block]:
    """The "arm" on a "hinge" at the origin, held by a cylinder from below, whose states are the pressures."""
    model = Model(group, gravity=(0, -GRAVITY, 0))
    arm = model.add_node((LENGTH / 2, 0, 0), name="arm")
    model.add(RigidBody(arm, MASS, (MASS * LENGTH**2 / 12,) * 3))
    model.add(RevoluteJoint(model.ground, arm, axis=(0, 0, 1), point=(0, 0, 0)), name="hinge")
    ends = {"point_a": (0, -LENGTH / 4, 0), "point_b": (LENGTH / 4, 0, 0)}
    sensors = [model.add(LineSensor(model.ground, arm, quantity, **ends)) for quantity in ("length", "speed")]
    cylinder = model.add(Block(sensors, _rates, _pull, initial=[START, START]))
    model.add(LineActuator(model.ground, arm, cylinder, **ends))
    return model, cylinder


def exact(times: Sequence[float]) -> Array:
    """Angle in rad and pressures in MPa ``(nt, 3)``, from one angle and two pressures."""

    def rates(t: float, y: Array) -> list[float]:
        angle, rate, *pressures = y
        along = LENGTH / 4 * np.array([np.cos(angle), np.sin(angle)])
        line = along + (0, LENGTH / 4)
        length = float(np.hypot(*line))
        speed = rate * (line @ (-along[1], along[0])) / length
        pull = _pull(t, pressures, (length, speed))[0] / length
        moment = pull * (along[1] * line[0] - along[0] * line[1]) - MASS * GRAVITY * LENGTH / 2 * np.cos(angle)
        return [rate, moment / (MASS * LENGTH**2 / 3), *_rates(t, pressures, (length, speed))]

    accuracy = {"rtol": 1e-9, "atol": [1e-12, 1e-12, 1e-3, 1e-3]}
    run = solve_ivp(rates, (0, times[-1]), (0, 0, START, START), "Radau", t_eval=times, **accuracy)
    return np.stack([run.y[0], *(run.y[2:] / 1e6)], axis=-1)


@case("hydraulic arm", "machines", slow=True)
def hydraulic_arm_case() -> list[Quantity]:
    """An arm of 120 kg sinks and rises on a cylinder, by pressures that a valve lets in and out."""
    times = (0.2, 0.4)
    model, cylinder = hydraulic_arm()
    solution = simulate(model, times[-1], 1e-3, RadauIIA())
    at = rows(solution.t, times)
    pressures = [solution.signal(cylinder[f"state {k}"])[at] / 1e6 for k in (1, 2)]
    found = np.stack([np.ravel(solution.coordinate("hinge")[at]), *pressures], axis=-1)
    x = solution.displacement("arm")[-1]
    sum_of_all = np.linalg.norm([*x, found[-1, 0]]) + np.linalg.norm(found[-1, 1:])
    quantities = []
    for column, (name, scale) in enumerate(
        (("angle (rad)", 0.03), ("pressure 1 (MPa)", 8.0), ("pressure 2 (MPa)", 8.0))
    ):
        names = [f"{name} at {t} s" for t in times]
        quantities += compared(names, found[:, column], exact(times)[:, column], 1e-4, "exact: three states", scale)
    return [
        *quantities,
        Quantity("sum of sizes", float(sum_of_all), EXUDYN, 1e-4, "computed: Exudyn 1.13.6, extrapolated"),
    ]
