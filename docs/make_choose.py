"""Draw ``images/choose.png`` of ``choose.md``: work over precision of the methods on four systems, a few minutes."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fem_mbs as mbs

sys.path.insert(0, str(Path(__file__).parents[1]))  # where the examples are
from examples._reproduce_2024.runs import measured

SYSTEMS = {  # steps in s
    "top on joint": 4e-3 / 2.0 ** np.arange(5),
    "Puma, 0.5 s": 0.05 / 2.0 ** np.arange(6),
    "right-angle cantilever": 0.4 / 2.0 ** np.arange(5),
    "thrown ruler": 8e-3 / 2.0 ** np.arange(5),
}
IMPLICIT = {  # style, group, method
    "generalised-α": ("C0o-", "R3xSO3", mbs.GeneralizedAlpha()),
    "generalised-α, SE(3)": ("C4v-", "SE3", mbs.GeneralizedAlpha()),
    "Euler parameters": ("C2^-", "R3xSO3", mbs.ClassicalAlpha("euler_parameters")),
    "Tait-Bryan angles": ("C3s-", "R3xSO3", mbs.ClassicalAlpha("tait_bryan")),
    "Radau IIA": ("kD-", "R3xSO3", mbs.RadauIIA()),
    "implicit Euler": ("C7x-", "R3xSO3", mbs.LieEuler()),
}
EXPLICIT = {
    "RKMK, RK4": ("C1<--", "R3xSO3", mbs.RungeKuttaMuntheKaas("RK4")),
    "RKMK, DOPRI5": ("C5>--", "R3xSO3", mbs.RungeKuttaMuntheKaas("DOPRI5")),
}


def main() -> None:
    fig, panels = plt.subplots(1, 4, figsize=(16, 4.2), layout="constrained")
    for panel, (system, steps) in zip(panels, SYSTEMS.items(), strict=True):
        for name, (style, group, method) in (IMPLICIT | EXPLICIT).items():
            runs = []
            for h in steps / 16 if name in EXPLICIT and system == "Puma, 0.5 s" else steps:
                runs.append(measured(system, group, method, h))
                print(f"{system:24}{name:24}{h:10.3g}{runs[-1].error:12.2e}{runs[-1].seconds:9.2f}", flush=True)
            shown = [run for run in runs if run.error < 1]
            if shown:
                panel.loglog([run.error for run in shown], [run.seconds for run in shown], style, ms=4, label=name)
        panel.set(title=system, xlabel="error")
        panel.invert_xaxis()
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("CPU seconds")
    handles, labels = panels[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=8, frameon=False)
    fig.savefig(Path(__file__).parent / "images" / "choose.png", dpi=100)


if __name__ == "__main__":
    main()
