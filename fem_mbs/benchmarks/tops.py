"""Heavy tops: one body of 15 kg about a fixed point, fast or slow.

Bruels, Cardona, Arnold (2012), eqs. 83-85; Arnold, Cardona, Bruels (2015), eqs. 21, 22, and A.1 of that on velocity
projection; Holzinger, Arnold, Gerstmayr (2024), section 4.1. A tilted top is the same one with renamed body axes in a
turned world; its Tait-Bryan angles stay away from their singular positions, while those of the upright one pass them in
every turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import case, twice_extrapolated
from fem_mbs.contracts import Method
from fem_mbs.elements import RigidBody, SphericalJoint
from fem_mbs.lie import so3
from fem_mbs.methods.comparison.classical_runge_kutta import ClassicalRungeKutta
from fem_mbs.methods.runge_kutta import RungeKuttaMuntheKaas
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution

MASS, INERTIA, CENTER, GRAVITY = 15.0, (0.234375, 0.46875, 0.234375), (0.0, 1.0, 0.0), 9.81
"""``CENTER`` is the mass centre from the fixed point, in the body."""
FAST, SLOW = 150.0, 15.0
"""Spin in rad/s: the published one, and one whose axis does not come up again."""
NODDING = -4.61538
WORLD = np.array([(0, 1, 1), (np.sqrt(2), 0, 0), (0, 1, -1)]) / np.sqrt(2)
BODY = np.array([(0.0, 0, 1), (1, 0, 0), (0, 1, 0)])
"""What turns the world, and what renames the body axes, of a tilted top."""


def _axes(tilted: bool) -> tuple[Array, Array]:
    return (WORLD, BODY) if tilted else (np.eye(3), np.eye(3))


def free_top(group: str = "R3xSO3", spin: float = FAST, tilted: bool = False) -> Model:
    """Model of a top about its fixed node "top", without joints."""
    world, body = _axes(tilted)
    model = Model(group, gravity=world @ (0, 0, -GRAVITY))
    node = model.add_node((0, 0, 0), world @ body.T, angular_velocity=body @ (0, spin, NODDING), name="top")
    model.fix(node, translation=True, rotation=False)
    model.add(RigidBody(node, MASS, body @ INERTIA, center_of_mass=body @ CENTER))
    return model


def top_on_joint(group: str = "R3xSO3", spin: float = FAST, tilted: bool = False) -> Model:
    """Model of a top with its node "top" at the mass centre and a ball joint "pivot"."""
    world, body = _axes(tilted)
    model = Model(group, gravity=world @ (0, 0, -GRAVITY))
    velocity = world @ np.cross((0, spin, NODDING), CENTER)
    turning = body @ (0, spin, NODDING)
    node = model.add_node(world @ CENTER, world @ body.T, velocity=velocity, angular_velocity=turning, name="top")
    model.add(RigidBody(node, MASS, body @ INERTIA))
    model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)), name="pivot")
    return model


def mass_center(solution: Solution, tilted: bool = False) -> Array:
    """Mass centre ``(nt, 3)`` of either top by its rotation, upright."""
    world, body = _axes(tilted)
    return solution.rotation("top") @ (body @ CENTER) @ world


class TopMotion(NamedTuple):
    """Mass centre and rotation, world velocity and body angular velocity, and the force on the top at its pivot."""

    t: Array
    x: Array
    R: Array
    velocity: Array
    Omega: Array
    force: Array


def exact(times: Array, spin: float = FAST) -> TopMotion:
    """Motion at ``times`` (nt,) by Euler's equations about the fixed point, of eighth order in R and Omega."""
    arm, weight = np.array(CENTER), np.array([0, 0, -MASS * GRAVITY])
    pivot = np.diag(INERTIA) + MASS * (np.eye(3) - np.outer(arm, arm))
    lever, loose = so3.skew(arm), np.linalg.inv(pivot)

    def spin_up(R: Array, Omega: Array) -> Array:
        moment = np.matvec(lever, np.vecmat(weight, R)) - np.matvec(so3.skew(Omega), Omega @ pivot)
        return np.asarray(moment @ loose)

    def rates(_: float, y: Array) -> Array:
        R, Omega = y[:9].reshape(3, 3), y[9:]
        return np.append(R @ so3.skew(Omega), spin_up(R, Omega))

    begin = np.append(np.eye(3), (0, spin, NODDING))
    run = solve_ivp(rates, (0, times[-1]), begin, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-12)
    R, Omega = run.y[:9].T.reshape(-1, 3, 3), run.y[9:].T
    speed = np.cross(Omega, arm)
    acceleration = np.matvec(R, np.cross(spin_up(R, Omega), arm) + np.cross(Omega, speed))
    return TopMotion(run.t, R @ arm, R, np.matvec(R, speed), Omega, MASS * acceleration - weight)


@case("heavy top", "dynamics", refine=(1000, 2000, 4000))
def heavy_top(steps: int) -> Array:
    """A top of 15 kg on a ball joint spins at 150 rad/s (Bruels, Cardona, Arnold 2012): its mass centre after 1 s."""
    solution = simulate(top_on_joint(), 1.0, 1.0 / steps, GeneralizedAlpha(start="perturbed"))
    return solution.position("top")[-1]


def _top(model: Model, h: float, method: Method, tilted: bool = False) -> Array:
    """Mass centre after 1 s."""
    return mass_center(simulate(model, 1.0, h, method), tilted)[-1]


@case("heavy top without joints", "dynamics")
def free() -> Iterator[Array]:
    """The fast and the slow top about a fixed node by explicit methods, the tilted one in angles: where they get."""
    group = RungeKuttaMuntheKaas("RK6")
    yield _top(free_top(), 1e-3, group)
    yield _top(free_top(tilted=True), 2e-3, ClassicalRungeKutta(tableau="RK6"), tilted=True)
    yield _top(free_top(spin=SLOW), 4e-3, group)


@case("heavy top by joint", "dynamics", slow=True)
def jointed() -> Iterator[Array]:
    """The fast and the slow top with a ball joint, extrapolated from three steps: where it is at 1 s."""
    for spin, steps in ((FAST, (2000, 4000, 8000)), (SLOW, (500, 1000, 2000))):
        yield twice_extrapolated(*(_top(top_on_joint(spin=spin), 1 / n, GeneralizedAlpha()) for n in steps))
