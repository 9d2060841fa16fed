"""Heavy tops of Holzinger, Arnold, Gerstmayr (2024), section 4.1: one body about a fixed point, fast or slow.

``free_top`` has its node at the fixed point and no constraints, ``top_on_joint`` its node at the mass centre and a ball
joint. A tilted top is the same one with renamed body axes in a turned world; its Tait-Bryan angles stay away from their
singular positions, while those of the upright one pass them in every turn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array
from fem_mbs.contracts import Method
from fem_mbs.elements import RigidBody, SphericalJoint
from fem_mbs.methods.comparison.classical_runge_kutta import ClassicalRungeKutta
from fem_mbs.methods.runge_kutta import RungeKuttaMuntheKaas
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution
from fem_mbs.validation.case import Quantity, case, compared, twice_extrapolated

MASS, INERTIA, CENTER, GRAVITY = 15.0, (0.234375, 0.46875, 0.234375), (0.0, 1.0, 0.0), 9.81
FAST, SLOW = 150.0, 15.0
"""Spin in rad/s: the published one, and one whose axis does not come up again."""
NODDING = -4.61538
WORLD = np.array([(0, 1, 1), (np.sqrt(2), 0, 0), (0, 1, -1)]) / np.sqrt(2)
BODY = np.array([(0.0, 0, 1), (1, 0, 0), (0, 1, 0)])
"""What turns the world, and what renames the body axes, of a tilted top."""
AT_END = (0.17334396, 0.64008859, -0.74849079)
"""Mass centre of the fast top after 1 s in m."""

Reader = Callable[[Solution], Array]


def _axes(tilted: bool) -> tuple[Array, Array]:
    return (WORLD, BODY) if tilted else (np.eye(3), np.eye(3))


def free_top(group: str = "R3xSO3", spin: float = FAST, tilted: bool = False) -> tuple[Model, Reader]:
    """Model of a top about its fixed node, and what reads its mass centre ``(nt, 3)``, upright, off a solution."""
    world, body = _axes(tilted)
    model = Model(group, gravity=world @ (0, 0, -GRAVITY))
    node = model.add_node((0, 0, 0), world @ body.T, angular_velocity=body @ (0, spin, NODDING), name="top")
    model.fix(node, translation=True, rotation=False)
    model.add(RigidBody(node, MASS, body @ INERTIA, center_of_mass=body @ CENTER))
    return model, lambda solution: solution.rotation(node) @ (body @ CENTER) @ world


def top_on_joint(group: str = "R3xSO3", spin: float = FAST, tilted: bool = False) -> tuple[Model, Reader]:
    """Model of a top with a ball joint, and what reads its mass centre ``(nt, 3)``, upright, off a solution."""
    world, body = _axes(tilted)
    model = Model(group, gravity=world @ (0, 0, -GRAVITY))
    velocity = world @ np.cross((0, spin, NODDING), CENTER)
    turning = body @ (0, spin, NODDING)
    node = model.add_node(world @ CENTER, world @ body.T, velocity=velocity, angular_velocity=turning, name="top")
    model.add(RigidBody(node, MASS, body @ INERTIA))
    model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)), name="pivot")
    return model, lambda solution: solution.position(node) @ world


def exact(times: Array, spin: float = FAST) -> Array:
    """Mass centre ``(nt, 3)`` from Euler's equations about the fixed point, of eighth order in R and Omega."""
    arm, weight = np.array(CENTER), np.array([0, 0, -MASS * GRAVITY])
    pivot = np.diag(INERTIA) + MASS * (np.eye(3) - np.outer(arm, arm))

    def rates(_: float, y: Array) -> Array:
        R, turning = y[:9].reshape(3, 3), y[9:]
        moment = np.cross(arm, weight @ R) - np.cross(turning, pivot @ turning)
        return np.append(np.cross(R, turning), np.linalg.solve(pivot, moment))

    begin = np.append(np.eye(3), (0, spin, NODDING))
    run = solve_ivp(rates, (0, times[-1]), begin, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-12)
    place: Array = run.y[:9].T.reshape(-1, 3, 3) @ arm
    return place


def _at_end(run: tuple[Model, Reader], h: float, method: Method) -> Array:
    model, read = run
    place: Array = read(simulate(model, 1.0, h, method))[-1]
    return place


@case("heavy top without joints", "dynamics")
def free() -> list[Quantity]:
    """The fast and the slow top about a fixed node by explicit methods, the tilted one in angles: where they get."""
    quantities = []
    for name, spin, tilted, h, method in (
        ("upright", FAST, False, 1e-3, RungeKuttaMuntheKaas("RK6")),
        ("tilted", FAST, True, 2e-3, ClassicalRungeKutta(tableau="RK6")),
        ("slow", SLOW, False, 4e-3, RungeKuttaMuntheKaas("RK6")),
    ):
        place = _at_end(free_top(spin=spin, tilted=tilted), h, method)
        quantities += _compared(name, place, spin)
    return quantities


@case("heavy top by joint", "dynamics", slow=True)
def jointed() -> list[Quantity]:
    """The fast and the slow top with a ball joint, extrapolated from three steps: where it is at 1 s."""
    quantities = []
    for name, spin, steps in (("fast", FAST, (2000, 4000, 8000)), ("slow", SLOW, (500, 1000, 2000))):
        runs = [_at_end(top_on_joint(spin=spin), 1 / n, GeneralizedAlpha()) for n in steps]
        quantities += _compared(name, twice_extrapolated(*runs), spin)
    return quantities


def _compared(name: str, place: Array, spin: float) -> list[Quantity]:
    names = [f"{name}, {axis} (m)" for axis in "xyz"]
    reference = AT_END if spin == FAST else exact(np.array([1.0]), spin)[-1]
    return compared(names, place, reference, 1e-6, "equations about the fixed point", 1.0)
