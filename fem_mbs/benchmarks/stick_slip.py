"""A block of 1 kg on a moving belt, held by a spring: it sticks and slips."""

from __future__ import annotations

from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, compared
from fem_mbs.contracts import Node
from fem_mbs.elements import JointFriction, PrismaticJoint, RigidBody, SpringDamper
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate

SPEED, STIFFNESS, STATIC, KINETIC, G = 0.1, 100.0, 0.5, 0.3, 10.0
LAWS: dict[str, dict[str, Any]] = {
    "regularised": {"creep": 1e-4, "stribeck": 3e-4},
    "bristles": {"stribeck": 1e-3, "bristle": 1e-6},
}
"""Arguments of the friction that come near Coulomb's law."""
OMEGA, AWAY, MIDDLE = np.sqrt(STIFFNESS), (STATIC - KINETIC) * G / STIFFNESS, KINETIC * G / STIFFNESS
SLIP = 2 / OMEGA * (np.pi - np.arctan(OMEGA * AWAY / SPEED))
PERIOD = 2 * AWAY / SPEED + SLIP
FURTHEST = MIDDLE + np.hypot(AWAY, SPEED / OMEGA)
"""By Coulomb's law: how long it slips, the whole period, and the furthest place."""


def belt(group: str = "R3xSO3", **friction: Any) -> tuple[Model, Node]:
    """Belt and block from where the spring is free; the model and the block."""
    model = Model(group, gravity=(0, 0, -G))
    strap, block = (model.add_node((0, 0, 0), velocity=(SPEED, 0, 0), name=name) for name in ("belt", "block"))
    for node in (strap, block):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(PrismaticJoint(model.ground, strap, (1, 0, 0), drive=lambda t: SPEED * t))
    contact = model.add(PrismaticJoint(strap, block, (1, 0, 0)))
    model.add(SpringDamper(model.ground, block, STIFFNESS, point_a=(-10, 0, 0)))
    model.add(JointFriction(contact, KINETIC, STATIC, **friction))
    return model, block


def exact(t: Array) -> Array:
    """Place of the block: with the belt to the static limit, then a piece of an oscillation about the kinetic one."""
    since = t - (MIDDLE + AWAY) / SPEED  # the first slip
    phase = np.where(since < 0.0, since, since % PERIOD)
    slips = MIDDLE + AWAY * np.cos(OMEGA * phase) + SPEED / OMEGA * np.sin(OMEGA * phase)
    sticks = np.where(phase < 0.0, MIDDLE + AWAY + SPEED * phase, MIDDLE - AWAY + SPEED * (phase - SLIP))
    return np.where((phase >= 0.0) & (phase < SLIP), slips, sticks)


def turns(t: Array, v: Array) -> Array:
    """Times at which a velocity ``v`` becomes positive again."""
    k = np.flatnonzero((v[:-1] < 0) & (v[1:] >= 0))
    found: Array = t[k] - v[k] * (t[k + 1] - t[k]) / (v[k + 1] - v[k])
    return found


@case("block on a belt", "joints", slow=True)
def block_on_a_belt() -> list[Quantity]:
    """A block on a moving belt is held by a spring: it sticks and slips; Coulomb's law is met by small regularisations.

    It sticks for ``2 A/v`` and slips for ``2/omega (pi - atan(omega A/v))`` with ``A = (mu_s - mu_k) m g/k``.
    """
    quantities: list[Quantity] = []
    for name, friction in LAWS.items():
        model, block = belt(**friction)
        solution = simulate(model, 2.2, 1e-3)
        back = turns(solution.t, solution.velocity(block)[:, 0])
        found = np.array([np.diff(back).mean(), solution.displacement(block)[:, 0].max()])
        names, exact = (f"{name}: period (s)", f"{name}: furthest place (m)"), (PERIOD, FURTHEST)
        quantities += compared(names, found, exact, 1e-2, "exact: Coulomb's law, closed form")
    return quantities
