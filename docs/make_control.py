"""Write the figure of the cart and the pole of docs/control.md: run this from the root of the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

PAGE = Path(__file__).parent / "control.md"
FILE = Path(__file__).parent / "images" / "control.png"


def main() -> None:
    """Place of the cart, angle of the pole and force, of the two runs that the page makes."""
    ran: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)[:2]:
        exec(block, ran)
    continuous, sampled = ran["solution"], ran["sampled"]
    fig, rows = plt.subplots(3, 1, figsize=(7, 6), sharex=True, layout="constrained")
    angle, computer = ran["state"][1], ran["computer"]
    curves = (
        ("cart (m)", continuous.signal(ran["place"]), sampled.signal(ran["state"][0])),
        ("pole (degrees)", np.degrees(continuous.signal(ran["angle"])), np.degrees(sampled.signal(angle))),
        ("force (N)", continuous.signal(ran["force"]), sampled.signal(computer)),
    )
    for axis, (label, of_continuous, of_sampled) in zip(rows, curves, strict=True):
        held = {"drawstyle": "steps-post"} if label.startswith("force") else {}
        axis.plot(continuous.t, of_continuous, label="continuous")
        axis.plot(sampled.t, of_sampled, label="sampled every 50 ms, 20 ms late, at most 8 N", **held)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    rows[0].legend(loc="lower right", fontsize=9)
    rows[-1].set_xlabel("t (s)")
    fig.savefig(FILE, dpi=100)


if __name__ == "__main__":
    main()
