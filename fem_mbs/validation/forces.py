"""Springs, motors and friction along coordinates of joints, beside exact motions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint
from fem_mbs.elements import (
    JointDrive,
    JointFriction,
    JointSpring,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpeedMotor,
    SpringDamper,
)
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.validation.case import Quantity, case, compared, order_in_the_step, refine

GRAVITY = 9.81
ONE = "exact solution, one coordinate"


def _rotor(J: float) -> tuple[Model, RevoluteJoint]:
    model = Model()
    rotor = model.add_node((0, 0, 0))
    model.add(RigidBody(rotor, 1.0, (J, J, J)))
    return model, model.add(RevoluteJoint(model.ground, rotor, (0, 0, 1)))


@case("pendulum with a torsion spring", "joints")
def torsion_pendulum() -> list[Quantity]:
    """A bar hangs from a hinge with a spring and a damper, wound up by three quarters of a turn and let go."""
    mass, J, arm, stiffness, damping, wound = 2.0, 0.1, 0.4, 3.0, 0.05, 1.5 * np.pi
    times = (0.5, 1.0, 2.0)

    def run(steps: int) -> Array:
        model = Model(gravity=(0, 0, -GRAVITY))
        bar = model.add_node((0, 0, -arm))
        model.add(RigidBody(bar, mass, (J, J, J)))
        hinge = model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), point=(0, 0, 0)))
        model.add(JointSpring(hinge, stiffness, damping, free=wound))
        solution = simulate(model, times[-1], times[-1] / steps)
        angle: Array = solution.angle(hinge)[[round(t * steps / times[-1]) for t in times]]
        return angle

    def rates(_: float, y: Array) -> tuple[float, float]:
        moment = -stiffness * (y[0] - wound) - damping * y[1] - mass * GRAVITY * arm * np.sin(y[0])
        return y[1], moment / (J + mass * arm**2)

    exact = solve_ivp(rates, (0, times[-1]), (0.0, 0.0), "DOP853", t_eval=times, rtol=1e-12, atol=1e-12).y[0]
    values, order = refine(run, (200, 400, 800))
    names = [f"angle at t = {t:g} s (rad)" for t in times]
    return [*compared(names, values, exact, 1e-5, ONE, 1.0), order_in_the_step(order)]


@case("speed motor", "joints")
def speed_motor() -> list[Quantity]:
    """A motor with a proportional and an integral gain brings a rotor to a speed: an oscillator of second order."""
    J, gain, integral, speed = 0.5, 4.0, 40.0, 12.0
    times = (0.1, 0.3, 1.0)

    def run(steps: int) -> Array:
        model, hinge = _rotor(J)
        model.add(SpeedMotor(hinge, speed, gain, integral))
        solution = simulate(model, 1.0, 1.0 / steps)
        rate: Array = solution.angular_velocity(model.nodes[-1])[[round(t * steps) for t in times], 2]
        return rate

    decay = gain / (2 * J)
    fast = np.sqrt(integral / J - decay**2)
    t = np.array(times)
    error = speed * np.exp(-decay * t) * (np.cos(fast * t) - decay / fast * np.sin(fast * t))
    values, order = refine(run, (100, 200, 400))
    names = [f"speed at t = {t:g} s (rad/s)" for t in times]
    return [*compared(names, values, speed - error, 1e-4, "closed form"), order_in_the_step(order)]


def _belt(**friction: Any) -> tuple[float, float]:
    """Period of stick and slip, and the furthest place of the block."""
    model = Model(gravity=(0, 0, -10.0))
    strap, block = (model.add_node((0, 0, 0), velocity=(0.1, 0, 0)) for _ in range(2))
    for node in (strap, block):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    guide: Constraint = model.add(PrismaticJoint(model.ground, strap, (1, 0, 0)))
    model.add(JointDrive(guide, lambda t: 0.1 * t))
    contact = model.add(PrismaticJoint(strap, block, (1, 0, 0)))
    model.add(SpringDamper(model.ground, block, 100.0, point_a=(-10, 0, 0)))
    model.add(JointFriction(contact, 0.3, 0.5, **friction))
    solution = simulate(model, 2.2, 1e-3)
    t, v = solution.t, solution.velocity(block)[:, 0]
    k = np.flatnonzero((v[:-1] < 0) & (v[1:] >= 0))
    back = t[k] - v[k] * (t[k + 1] - t[k]) / (v[k + 1] - v[k])
    return float(np.diff(back).mean()), float(solution.displacement(block)[:, 0].max())


@case("block on a belt", "joints", slow=True)
def block_on_a_belt() -> list[Quantity]:
    """A block on a moving belt is held by a spring: it sticks and slips; Coulomb's law is met by small regularisations.

    It sticks for ``2 A/v`` and slips for ``2/omega (pi - atan(omega A/v))`` with ``A = (mu_s - mu_k) m g/k``.
    """
    A, v, omega = 0.02, 0.1, 10.0
    period = 2 * A / v + 2 / omega * (np.pi - np.arctan(omega * A / v))
    furthest = 0.03 + np.hypot(A, v / omega)
    quantities: list[Quantity] = []
    for name, friction in (
        ("regularised", {"creep": 1e-4, "stribeck": 3e-4}),
        ("bristles", {"stribeck": 1e-3, "bristle": 1e-6}),
    ):
        found = np.array(_belt(**friction))
        names = (f"{name}: period (s)", f"{name}: furthest place (m)")
        quantities += compared(names, found, (period, furthest), 1e-2, "Coulomb's law, closed form")
    return quantities
