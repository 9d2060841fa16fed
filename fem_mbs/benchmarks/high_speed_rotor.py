"""The high-speed rotor on flexible supports of Holzinger, Arnold, Gerstmayr (2024), section 4.2, eq. 44.

The table of its data is not public; these are chosen such that the axis precesses with the published period of 2.5 s.
The moment on the rotor is one of the world frame: fixed to the body it would turn with the spin, and the axis would
hardly move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, rows
from fem_mbs.elements import Moment, RigidBody, SpringDamper
from fem_mbs.methods.runge_kutta import RungeKuttaMuntheKaas
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution

MASS, LENGTH, LEFT, GRAVITY = 10.0, 1.0, 0.4, 9.81
RADIUS, WIDTH = 0.3, 0.1
POLAR, ACROSS = MASS * RADIUS**2 / 2, MASS * (3 * RADIUS**2 + WIDTH**2) / 12
UNBALANCE = np.array([0, 1e-4, 0])
"""Mass centre beside the axis in m."""
SPIN = 1000.0
STIFFNESS, DAMPING, ANCHOR = 2250.0, 8.0, 0.5
"""Of a spring-damper in N/m and N s/m, and its length as built in m."""
SUPPORTS = (
    ((-LEFT, 0, 0), (0, 1, 0)),
    ((-LEFT, 0, 0), (0, 0, 1)),
    ((-LEFT, 0, 0), (-1, 0, 0)),
    ((LENGTH - LEFT, 0, 0), (0, 1, 0)),
    ((LENGTH - LEFT, 0, 0), (0, 0, 1)),
)
"""Points of the shaft, and the directions of their springs."""
RUN_UP = 1.0
"""Time in s in which the spin is reached from rest."""
STEADY = {
    1.0: (-7.79746, -2.52424, 1000.13471),
    2.5: (-0.33351, 0.25448, 1000.00337),
    4.0: (-7.74904, 2.20900, 1000.13442),
}
FROM_REST = {1.0: (-4.44309, 0.18963), 4.0: (-4.29364, 0.01804)}
"""y and z of the left end of the shaft in mm, and the spin in rad/s: momenta, Runge-Kutta of eighth order."""


def high_speed_rotor(group: str = "R3xSO3", run_up: bool = False, kick: float = 0.0) -> Model:
    """The body "rotor" on its springs.

    It spins from the start on, or a moment about the shaft runs it up; ``kick`` in rad/s turns it across, which excites
    its nutation.
    """
    model = Model(group)
    turning = np.array([0.0 if run_up else SPIN, kick, 0.0])
    node = model.add_node((0, 0, 0), velocity=-np.cross(turning, UNBALANCE), angular_velocity=turning, name="rotor")
    model.add(RigidBody(node, MASS, (POLAR, ACROSS, ACROSS), center_of_mass=UNBALANCE))
    model.add(Moment(node, (0, 0, (LENGTH / 2 - LEFT) * MASS * GRAVITY)))
    if run_up:
        model.add(Moment(node, driving_moment, frame="body"))
    for place, way in SUPPORTS:
        anchor = np.add(place, ANCHOR * np.array(way))
        model.add(SpringDamper(model.ground, node, STIFFNESS, DAMPING, point_a=anchor, point_b=place))
    return model


def read(solution: Solution) -> Array:
    """Left end of the shaft and rates of the body ``(nt, 6)``."""
    end = solution.position("rotor") + solution.rotation("rotor") @ (-LEFT, 0, 0)
    return np.concatenate([end, solution.angular_velocity("rotor")], axis=-1)


def driving_moment(t: float) -> tuple[float, float, float]:
    """Moment about the shaft in N m that runs the rotor up."""
    return (POLAR * SPIN / RUN_UP * (1 - np.cos(2 * np.pi * t / RUN_UP)) if t < RUN_UP else 0.0), 0.0, 0.0


def exact(times: Sequence[float]) -> Array:
    """The left end ``(nt, 3)`` of the rotor that spins from the start on, of eighth order in x, R and their rates."""
    J, left = np.array([POLAR, ACROSS, ACROSS]), np.array([-LEFT, 0, 0])
    points = np.array([place for place, _ in SUPPORTS])
    anchors = points + ANCHOR * np.array([way for _, way in SUPPORTS])
    applied = np.array([0, 0, (LENGTH / 2 - LEFT) * MASS * GRAVITY])

    def rates(_: float, y: Array) -> Array:
        center, speed, R, turning = y[:3], y[3:6], y[6:15].reshape(3, 3), y[15:]
        arms = (points - UNBALANCE) @ R.T
        lines = anchors - center - arms
        length = np.linalg.norm(lines, axis=1)
        along = lines / length[:, None]
        moving = speed + np.cross(R @ turning, arms)
        pull = STIFFNESS * (length - ANCHOR) - DAMPING * np.vecdot(along, moving)
        forces = pull[:, None] * along
        moment = (applied + np.cross(arms, forces).sum(axis=0)) @ R
        spinning_up = (moment - np.cross(turning, J * turning)) / J
        return np.concatenate([speed, forces.sum(axis=0) / MASS, np.cross(R, turning).ravel(), spinning_up])

    begin = np.concatenate([UNBALANCE, np.zeros(3), np.eye(3).ravel(), (SPIN, 0, 0)])
    run = solve_ivp(rates, (0, times[-1]), begin, method="DOP853", t_eval=times, rtol=1e-13, atol=1e-13)
    ends: Array = run.y[:3].T + run.y[6:15].T.reshape(-1, 3, 3) @ (left - UNBALANCE)
    return ends


def _rotor(run_up: bool, table: Mapping[float, Sequence[float]]) -> list[Quantity]:
    """A run beside a table whose numbers have five digits after the point."""
    solution = simulate(high_speed_rotor(run_up=run_up), 4.0, 4e-4, RungeKuttaMuntheKaas("RK6"))
    values, quantities = read(solution), []
    for t, references in table.items():
        _, y, z, spin, *_ = values[rows(solution.t, (t,))[0]]
        shown = (
            ("y of the left end", "mm", 1e3 * y, 10.0),
            ("z of it", "mm", 1e3 * z, 10.0),
            ("spin", "rad/s", spin, 1e3),
        )
        for (name, unit, value, scale), expected in zip(shown, references, strict=False):
            name = f"{name} at t = {t:g} s ({unit})"
            quantities.append(Quantity(name, value, expected, 1e-6, "exact: momenta, eighth-order Runge-Kutta", scale))
    return quantities


@case("high-speed rotor", "machines", slow=True)
def steady() -> list[Quantity]:
    """A rotor at 9549 rpm on soft supports precesses under a moment: one end of its shaft, and its spin."""
    return _rotor(False, STEADY)


@case("high-speed rotor, run-up", "machines", slow=True)
def run_up() -> list[Quantity]:
    """The same rotor, run up from rest in 1 s through its critical speeds."""
    return _rotor(True, FROM_REST)
