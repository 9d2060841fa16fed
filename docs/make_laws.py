"""Write the figure of the laws of time: run this from the root of the repository when they have changed."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fem_mbs.elements import Harmonic, PointToPoint, Ramp, SCurve, SmoothStep, SpinUp, Table, TimeLaw

FILE = Path(__file__).parent / "images" / "laws.png"
LAWS: dict[str, TimeLaw] = {
    "SmoothStep(1, 0.6, begin=0.2)": SmoothStep(1.0, 0.6, begin=0.2),
    "Ramp(1.6, 0.2, 0.8)": Ramp(1.6, begin=0.2, end=0.8),
    "Ramp(1.6, 0.1, 0.7, corner=0.2)": Ramp(1.6, begin=0.1, end=0.7, corner=0.2),
    "PointToPoint(0, 1, 0.8, begin=0.1, order=3)": PointToPoint(0.0, 1.0, 0.8, begin=0.1, order=3),
    "PointToPoint(0, 1, 0.8, begin=0.1, order=7)": PointToPoint(0.0, 1.0, 0.8, begin=0.1, order=7),
    "SCurve(1, 1.8, 8, begin=0.1)": SCurve(1.0, 1.8, 8.0, begin=0.1),
    "SCurve(1, 1.8, 8, 60)": SCurve(1.0, 1.8, 8.0, 60.0),
    "SpinUp(1.6, 0.5)": SpinUp(1.6, 0.5),
    "Harmonic(1, 1.5)": Harmonic(1.0, 1.5),
    "Table([0, 0.2, 0.5, 0.7, 1], [0, 0.8, 0.4, 1, 0])": Table([0, 0.2, 0.5, 0.7, 1], [0, 0.8, 0.4, 1, 0]),
    "SmoothStep(1, 0.8) * Harmonic(1, 3)": SmoothStep(1.0, 0.8) * Harmonic(1.0, 3.0),
}


def main() -> None:
    """One row a law: value, velocity, acceleration."""
    t = np.linspace(0.0, 1.0, 1001)
    fig, rows = plt.subplots(len(LAWS), 3, figsize=(9, 1.25 * len(LAWS)), sharex=True, layout="constrained")
    for (name, law), row in zip(LAWS.items(), rows, strict=True):
        for part, axis, color in zip((law, law.velocity, law.acceleration), row, ("C0", "C1", "C2"), strict=True):
            axis.plot(t, [part(own) for own in t], color=color)
            axis.axhline(0.0, color="0.8", lw=0.8, zorder=0)
            axis.tick_params(labelsize=7)
        row[0].set_title(name, loc="left", fontsize=8, family="monospace")
    for axis, what in zip(rows[0], ("value", "velocity", "acceleration"), strict=True):
        axis.set_title(what, loc="right", fontsize=9)
    for axis in rows[-1]:
        axis.set_xlabel("t (s)", fontsize=8)
    fig.savefig(FILE, dpi=100)


if __name__ == "__main__":
    main()
