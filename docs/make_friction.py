"""The figure of docs/friction.md: a block on a belt, and friction over the rate.

``python docs/make_friction.py``, about half a minute, writes ``docs/images/friction.png``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import fem_mbs as mbs
from fem_mbs.elements import JointFriction, PrismaticJoint, RigidBody, SpringDamper

SPEED, K, STATIC, KINETIC, G = 0.1, 100.0, 0.5, 0.3, 10.0
KINDS: dict[str, dict[str, Any]] = {
    "regularised": {"creep": 1e-4, "stribeck": 3e-4},
    "LuGre": {"stribeck": 1e-3, "bristle": 1e-6},
}


def run(friction: dict[str, Any], step: float, t_end: float) -> tuple[mbs.Solution, mbs.Node]:
    """A block of 1 kg on a belt, held by a spring."""
    model = mbs.Model(gravity=(0, 0, -G))
    belt, block = (model.add_node((0, 0, 0), velocity=(SPEED, 0, 0), name=name) for name in ("belt", "block"))
    for node in (belt, block):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(PrismaticJoint(model.ground, belt, (1, 0, 0), drive=lambda t: SPEED * t))
    contact = model.add(PrismaticJoint(belt, block, (1, 0, 0)))
    model.add(SpringDamper(model.ground, block, K, point_a=(-10, 0, 0)))
    model.add(JointFriction(contact, KINETIC, STATIC, **friction))
    return mbs.simulate(model, t_end, step), block


def exact(t: np.ndarray) -> np.ndarray:
    """Coulomb's law: with the belt up to the static limit, then a piece of an oscillation about the kinetic one."""
    omega, away, middle = np.sqrt(K), (STATIC - KINETIC) * G / K, KINETIC * G / K
    slip = 2.0 / omega * (np.pi - np.arctan(omega * away / SPEED))
    since = t - (middle + away) / SPEED  # the first slip
    phase = np.where(since < 0.0, since, since % (slip + 2.0 * away / SPEED))
    slips = middle + away * np.cos(omega * phase) + SPEED / omega * np.sin(omega * phase)
    sticks = np.where(phase < 0.0, middle + away + SPEED * phase, middle - away + SPEED * (phase - slip))
    return np.where((phase >= 0.0) & (phase < slip), slips, sticks)


def main() -> None:
    """Draw."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(2, 1), layout="constrained")
    for (name, friction), colour in zip(KINDS.items(), ("tab:blue", "tab:orange"), strict=True):
        solution, block = run(friction, 2e-3, 2.4)
        left.plot(solution.t, 1e3 * solution.displacement(block)[:, 0], color=colour, label=name)
    t = np.linspace(0.0, 2.4, 1000)
    left.plot(t, 1e3 * exact(t), "k--", lw=1, label="Coulomb, by hand")
    left.set(xlabel="time (s)", ylabel="place of the block (mm)")
    left.legend()
    v = np.linspace(-1.0, 1.0, 1001) * 2e-3
    for stribeck in (3e-4, 1e-3):
        x = np.clip(np.abs(v) / 1e-4, 0.0, 1.0)
        g = KINETIC + (STATIC - KINETIC) * np.exp(-((np.maximum(np.abs(v) - 1e-4, 0.0) / stribeck) ** 2))
        right.plot(
            1e3 * v, np.sign(v) * g * x * (15 - 10 * x**2 + 3 * x**4) / 8, label=f"stribeck {1e3 * stribeck:g} mm/s"
        )
    right.set(xlabel="rate (mm/s)", ylabel="friction over load")
    right.legend()
    fig.savefig(Path(__file__).parent / "images" / "friction.png", dpi=110)


if __name__ == "__main__":
    main()
