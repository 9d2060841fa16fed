"""The Puma 560 of Holzinger, Arnold, Gerstmayr (2024), section 4.4, eq. 45: six hinges that follow angles in time.

Table by Denavit and Hartenberg, after Corke. Two of its inertias are not those of a body: of link 1 only the second
counts, and of link 3 the first is raised to the least that a body can have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import case, rows, twice_extrapolated
from fem_mbs.elements import JointForce, RevoluteJoint, RigidBody
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution


class Link(NamedTuple):
    """A link, its place behind its joint, and the gains of its controller in N m/rad and N m s/rad."""

    d: float
    a: float
    alpha: float
    mass: float
    center: tuple[float, float, float]
    inertia: tuple[float, float, float]
    P: float
    D: float


LINKS = (
    Link(0.0, 0.0, 90, 20.0, (0, 0, 0), (0.35, 0.35, 0.35), 4e4, 400.0),
    Link(0.0, 0.4318, 0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539), 4e4, 400.0),
    Link(0.15005, 0.0203, -90, 4.8, (-0.0203, -0.0141, 0.07), (0.074, 0.086, 0.0125), 4e4, 100.0),
    Link(0.4318, 0.0, 90, 0.82, (0, 0.019, 0), (0.0018, 0.0013, 0.0018), 100.0, 1.0),
    Link(0.0, 0.0, -90, 0.34, (0, 0, 0), (0.0003, 0.0004, 0.0003), 100.0, 1.0),
    Link(0.0, 0.0, 0, 0.09, (0, 0, 0.032), (0.00015, 0.00015, 4e-5), 10.0, 0.1),
)
P, D = np.array([(link.P, link.D) for link in LINKS]).T
GRAVITY = 9.81
START, GOAL = np.radians([(0, 22.5, 90, 0, 22.5, 0), (-120, 60, -200, 90, 90, 45)])
DURATION = 1.0


def frames(angles: Array) -> tuple[list[Array], list[Array]]:
    """Origins and rotations of the base and the six links."""
    x, R = [np.zeros(3)], [np.eye(3)]
    for angle, link in zip(angles, LINKS, strict=True):
        x.append(x[-1] + R[-1] @ (link.a * np.cos(angle), link.a * np.sin(angle), link.d))
        R.append(R[-1] @ Rotation.from_euler("ZX", (angle, np.radians(link.alpha))).as_matrix())
    return x, R


def reference(t: float) -> tuple[Array, Array]:
    """Angles and rates that the joints are to have: constant acceleration up to the middle, and back to rest."""
    way, s = GOAL - START, min(max(t / DURATION, 0.0), 1.0)
    if s < 0.5:
        return START + 2 * s**2 * way, 4 * s * way / DURATION
    return GOAL - 2 * (1 - s) ** 2 * way, 4 * (1 - s) * way / DURATION


def holding(angles: Array) -> Array:
    """Torques that hold the robot still."""
    x, R = frames(angles)
    centers = [x[k] + R[k] @ link.center for k, link in enumerate(LINKS, 1)]
    weights = [(0, 0, link.mass * GRAVITY) for link in LINKS]
    return np.array([sum(R[i][:, 2] @ np.cross(centers[k] - x[i], weights[k]) for k in range(i, 6)) for i in range(6)])


@lru_cache(maxsize=8)
def commanded(t: float, compensated: bool = True) -> Array:
    """Torques ``(6,)`` of the motors of a robot at its start, at rest: all of them that is known beforehand.

    A spring and a damper go from each angle to its reference; compensated, what would hold the weight there is added.
    """
    angles, rates = reference(t)
    return P * (angles - START) + D * rates + (holding(angles) if compensated else 0.0)


def _motor(k: int, compensated: bool) -> Callable[[float, float, float], float]:
    """The law of one joint, whose coordinate is zero at the start."""

    def law(t: float, q: float, rate: float) -> float:
        return float(commanded(t, compensated)[k] - P[k] * q - D[k] * rate)

    law.by_coordinate, law.by_rate = lambda t, q, rate: -P[k], lambda t, q, rate: -D[k]  # type: ignore[attr-defined]
    return law


def puma(group: str = "R3xSO3", compensated: bool = True) -> Model:
    """The robot, with motors on "joint 1" to "joint 6"."""
    model = Model(group, gravity=(0, 0, -GRAVITY))
    x, R = frames(START)
    node = model.ground
    for k, link in enumerate(LINKS):
        before, node = node, model.add_node(x[k + 1], R[k + 1], name=f"link {k + 1}")
        model.add(RigidBody(node, link.mass, link.inertia, link.center))
        joint = model.add(RevoluteJoint(before, node, axis=R[k][:, 2], point=x[k]), name=f"joint {k + 1}")
        model.add(JointForce(joint, _motor(k, compensated)), name=f"motor {k + 1}")
    return model


def read(solution: Solution) -> Array:
    """Angles of the joints ``(nt, 6)`` in rad."""
    return START + np.stack([solution.coordinate(f"joint {k}") for k in range(1, 7)], axis=-1)


def _robot(compensated: bool) -> Array:
    """Angles ``(2, 6)`` of the joints in the middle and at the end."""
    runs = []
    for steps in (320, 640, 1280):
        solution = simulate(puma(compensated=compensated), DURATION, DURATION / steps)
        runs.append(read(solution)[rows(solution.t, (0.5, 1.0))])
    return twice_extrapolated(*runs)


@case("Puma 560", "machines", slow=True)
def compensated() -> Array:
    """A robot with six hinges follows angles in time by stiff springs and dampers; motors bear the weight at rest."""
    return _robot(True)


@case("Puma 560 without compensation", "machines", slow=True)
def plain() -> Array:
    """The same robot, which sags under its weight until the springs hold it."""
    return _robot(False)
