"""Bennett's linkage (1903): four hinges in space, in a ring that should not move by the count of its equations."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, compared, rows
from fem_mbs.elements import RevoluteJoint, RigidBody
from fem_mbs.initial.projection import project_velocities
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate

TWISTS = np.radians((40.0, 75.0))
LENGTHS = 0.3 * np.sin(TWISTS) / np.sin(TWISTS[0])
"""Of neighbours: angles between the axes of the hinges, and lengths in m, which are as the sines of the angles."""
RATIO = np.sin(TWISTS.sum() / 2) / np.sin((TWISTS[1] - TWISTS[0]) / 2)
START, MASS, INERTIA, GRAVITY = np.radians(50.0), 1.5, np.array((2e-3, 1.2e-2, 1.1e-2)), 9.81


class Drive:
    """Angle of the first hinge from the start on, with its derivatives."""

    def __call__(self, t: float) -> float:
        return float(1.2 * t + 0.4 * np.sin(3 * t))

    def velocity(self, t: float) -> float:
        """In rad/s."""
        return float(1.2 + 1.2 * np.cos(3 * t))

    def acceleration(self, t: float) -> float:
        """In rad/s^2."""
        return float(-3.6 * np.sin(3 * t))


def second(u: float) -> float:
    """Angle of the second hinge for that of the first: ``tan(u/2) tan(v/2)`` is constant."""
    return float(2 * np.arctan2(RATIO * np.cos(u / 2), np.sin(u / 2)))


def links(u: float) -> list[tuple[Array, Rotation]]:
    """Places of the four hinges, and how their links lie, x along the link and z along the axis."""
    result, x, R = [], np.zeros(3), Rotation.identity()
    for angle, length, twist in zip(
        (u, second(u), -u, -second(u)), (*LENGTHS, *LENGTHS), (*TWISTS, *TWISTS), strict=True
    ):
        R = R * Rotation.from_rotvec((0, 0, angle))
        result.append((x, R))
        x, R = x + R.apply((length, 0, 0)), R * Rotation.from_rotvec((twist, 0, 0))
    return result


def bennett(group: str = "R3xSO3") -> Model:
    """Three bodies and the ground on hinges "1" to "4"; the first is driven."""
    model, ring = Model(group, gravity=(0, 0, -GRAVITY)), links(START)
    last = model.ground
    for k, ((x, R), length) in enumerate(zip(ring[:3], (*LENGTHS, LENGTHS[0]), strict=True), 1):
        node = model.add_node(x + R.apply((length / 2, 0, 0)), R.as_matrix())
        model.add(RigidBody(node, MASS, INERTIA))
        axis = R.apply((0, 0, 1))
        model.add(RevoluteJoint(last, node, axis, point=x, drive=Drive() if k == 1 else None), name=f"{k}")
        last = node
    model.add(RevoluteJoint(model.ground, last, ring[3][1].apply((0, 0, 1)), point=ring[3][0]), name="4")
    project_velocities(model)
    return model


def energy(t: float) -> float:
    """Of the three bodies, in J, from the places of the hinges."""
    h = 1e-5
    u, rate = START + Drive()(t), Drive().velocity(t)
    total = 0.0
    for before, now, after, length in zip(links(u - h), links(u), links(u + h), (*LENGTHS, LENGTHS[0]), strict=False):
        low, middle, high = (x + R.apply((length / 2, 0, 0)) for x, R in (before, now, after))
        v, w = (high - low) / (2 * h), (before[1].inv() * after[1]).as_rotvec() / (2 * h)
        total += (MASS * v @ v + INERTIA @ w**2) * rate**2 / 2 + MASS * GRAVITY * middle[2]
    return float(total)


@case("Bennett's linkage", "machines")
def bennett_case() -> list[Quantity]:
    """Three bodies on four skew hinges move by one drive: angle of the second hinge, and the torque that it takes.

    The torque is what the energy of the bodies changes by, over the rate of the drive.
    """
    times, h = (0.5, 1.0, 1.5), 1e-4
    solution = simulate(bennett(), 1.5, 0.01, RadauIIA())
    at = rows(solution.t, times)
    angles = [second(START + Drive()(t)) - second(START) for t in times]
    torques = [(energy(t + h) - energy(t - h)) / (2 * h) / Drive().velocity(t) for t in times]
    return [
        *compared(
            [f"angle at {t} s (rad)" for t in times],
            solution.coordinate("2")[at],
            angles,
            1e-10,
            "exact: Bennett 1903",
            1.0,
        ),
        *compared(
            [f"torque at {t} s (N m)" for t in times],
            solution.reaction("1")[1][at, 2],
            torques,
            1e-5,
            "exact: energy of the bodies",
        ),
    ]
