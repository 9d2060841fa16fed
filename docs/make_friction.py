"""The figure of docs/friction.md: a block on a belt, and friction over the rate.

``python docs/make_friction.py``, about half a minute, writes ``docs/images/friction.png``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks.joints import BELT_GRAVITY, BELT_SPEED, HOLDING, KINETIC, LAWS, STATIC, belt

BELT_OMEGA = np.sqrt(HOLDING)
AWAY, MIDDLE = (mu * BELT_GRAVITY / HOLDING for mu in (STATIC - KINETIC, KINETIC))
SLIP = 2 / BELT_OMEGA * (np.pi - np.arctan(BELT_OMEGA * AWAY / BELT_SPEED))
PERIOD = 2 * AWAY / BELT_SPEED + SLIP
"""By Coulomb's law: frequency, half its travel in a slip and the middle of it, how long it slips, the whole period."""


def block_place(t: Array) -> Array:
    """Place of the block: with the belt to the static limit, then a piece of an oscillation about the kinetic one."""
    since = t - (MIDDLE + AWAY) / BELT_SPEED  # the first slip
    phase = np.where(since < 0.0, since, since % PERIOD)
    slips = MIDDLE + AWAY * np.cos(BELT_OMEGA * phase) + BELT_SPEED / BELT_OMEGA * np.sin(BELT_OMEGA * phase)
    sticks = np.where(phase < 0.0, MIDDLE + AWAY + BELT_SPEED * phase, MIDDLE - AWAY + BELT_SPEED * (phase - SLIP))
    return np.where((phase >= 0.0) & (phase < SLIP), slips, sticks)


def main() -> None:
    """Draw."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(2, 1), layout="constrained")
    for (name, friction), colour in zip(LAWS.items(), ("tab:blue", "tab:orange"), strict=True):
        model, block = belt(**friction)
        solution = mbs.simulate(model, 2.4, 2e-3)
        left.plot(solution.t, 1e3 * solution.displacement(block)[:, 0], color=colour, label=name)
    t = np.linspace(0.0, 2.4, 1000)
    left.plot(t, 1e3 * block_place(t), "k--", lw=1, label="Coulomb, by hand")
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
