"""Draw ``images/choose.png`` of ``choose.md``, and print its costs of a step: a few minutes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fem_mbs as mbs
from fem_mbs.benchmarks.tops import top_on_joint

sys.path.insert(0, str(Path(__file__).parents[1]))  # where the examples are
from examples._reproduce_2024.runs import measured

SYSTEMS = {  # steps in s
    "top on joint": 4e-3 / 2.0 ** np.arange(4),
    "Puma, 0.5 s": 0.05 / 2.0 ** np.arange(5),
    "right-angle cantilever": 0.2 / 2.0 ** np.arange(4),
    "thrown ruler": 8e-3 / 2.0 ** np.arange(4),
}
SOFT = ("top on joint",)
"""What explicit methods need no shorter steps for than accuracy does."""
IMPLICIT = {  # style, group, method
    "generalised-α": ("C0o-", "R3xSO3", mbs.GeneralizedAlpha()),
    "generalised-α, SE(3)": ("C4v-", "SE3", mbs.GeneralizedAlpha()),
    "Euler parameters": ("C2^-", "R3xSO3", mbs.ClassicalAlpha("euler_parameters")),
    "Radau IIA": ("kD-", "R3xSO3", mbs.RadauIIA()),
    "implicit Euler": ("C7x-", "R3xSO3", mbs.LieEuler()),
}
EXPLICIT = {
    "RKMK, RK4": ("C1<--", "R3xSO3", mbs.RungeKuttaMuntheKaas("RK4")),
    "RKMK, DOPRI5": ("C5>--", "R3xSO3", mbs.RungeKuttaMuntheKaas("DOPRI5")),
}


COSTS = {
    "index3": mbs.GeneralizedAlpha(formulation="index3"),
    "index2": mbs.GeneralizedAlpha(formulation="index2"),
    "updated Lagrangian": mbs.UpdatedLagrangian(),
    "Radau IIA": mbs.RadauIIA(),
    **{name: mbs.RungeKuttaMuntheKaas(name) for name in ("RK4", "DOPRI5", "ODE23", "RK6")},
    "implicit Euler": mbs.LieEuler(),
    "Euler parameters": mbs.ClassicalAlpha("euler_parameters"),
    "angles": mbs.ClassicalAlpha("tait_bryan"),
}


def costs(steps: int = 200, turns: int = 3) -> None:
    """CPU time of a step of the tilted top on its joint, over that of the default method, taken in turns."""

    def seconds(method: mbs.Method) -> float:
        model = top_on_joint(tilted=True)
        begun = time.process_time()
        mbs.simulate(model, 1e-3 * steps, 1e-3, method)
        return time.process_time() - begun

    for name, method in COSTS.items():
        ratios = [seconds(method) / seconds(mbs.GeneralizedAlpha()) for _ in range(turns)]
        print(f"{name:24}{np.median(ratios):6.2f} steps of the default", flush=True)


def main() -> None:
    costs()
    fig, panels = plt.subplots(1, 4, figsize=(16, 4.2), layout="constrained")
    for panel, (system, steps) in zip(panels, SYSTEMS.items(), strict=True):
        methods = IMPLICIT | EXPLICIT if system in SOFT else IMPLICIT
        for name, (style, group, method) in methods.items():
            runs = []
            for h in steps:
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
