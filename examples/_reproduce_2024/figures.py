"""The figures: one of each system, drawn from the runs of its study."""

from __future__ import annotations

import numpy as np

import fem_mbs as mbs
from fem_mbs.benchmarks import linkages, puma, rotors
from fem_mbs.benchmarks.case import known

from .runs import EP, RV, RXYZ, SE3

STYLES = {RV: "C0o-", RXYZ: "C3s-", "Rxyz, tilted": "C1s--", EP: "C2^-", SE3: "C4v--", "minimal": "kx-"}
SHADES = dict(zip(("ODE23", "RK4", "DOPRI5", "RK6"), ("o", "s", "^", "v"), strict=True))
BY_STEP = {"x": "step", "xlabel": "step h (s)"}


def curves(panel, found, x, y, prefix="", color=None):
    """One line a column of a table: a quantity of its runs over another."""
    for name, those in found.items():
        style = STYLES.get(name) or f"{color}{SHADES[name.split()[-1]]}{'-' if color == 'C0' else '--'}"
        panel.plot(*([getattr(run, kind) for run in those] for kind in (x, y)), style, ms=4, lw=1, label=prefix + name)


def errors(panel, *tables, title, prefixes=None, colors=None, work=False):
    """Error over the step, or CPU seconds over the error."""
    names = prefixes or [""] * len(tables)
    for found, prefix, color in zip(tables, names, colors or ["C0"] * len(tables), strict=True):
        curves(panel, found, *(("error", "seconds") if work else ("step", "error")), prefix, color)
    panel.set(title=title, xscale="log", yscale="log")
    panel.set(**{"xlabel": "error", "ylabel": "CPU seconds"} if work else {"xlabel": "step h (s)", "ylabel": "error"})
    if work:
        panel.invert_xaxis()


def over_step(panel, found, y, title):
    """Iterations, or CPU seconds."""
    curves(panel, found, "step", y)
    panel.set(title=title, xscale="log", xlabel="step h (s)", yscale="log" if y == "seconds" else "linear")


def draw_free_top(panels, found):
    explicit = found["RV"], found["Rxyz"], found["tilted"]
    names, colors = ("", "", "tilted "), ("C0", "C3", "C1")
    errors(panels[0], *explicit, title="Fig. 3: explicit, error at 0.1 s (m)", prefixes=names, colors=colors)
    errors(panels[1], found["implicit"], title="Fig. 3: generalised-α, error at 1 s (m)")
    over_step(panels[2], found["implicit"], "iterations", "Table 4: Newton iterations a step")
    errors(panels[3], *explicit, title="Fig. 5: explicit, 0.1 s", prefixes=names, colors=colors, work=True)
    errors(panels[4], found["implicit"], title="Fig. 5: generalised-α, 1 s", work=True)
    over_step(panels[5], found["implicit"], "seconds", "Fig. 4: generalised-α, CPU (s)")


def draw_top_on_joint(panels, found):
    errors(panels[0], found["full"], title="Fig. 6: full Newton, error (m)")
    errors(panels[1], found["modified"], title="Fig. 6: modified Newton, error (m)")
    for name, style in zip(found["T"], ("C0o-", "C1o-", "C2o-", "C0s--", "C1s--", "C2s--"), strict=True):
        those = found["T"][name]
        panels[2].semilogx([r.step for r in those], [r.iterations for r in those], style, ms=4, lw=1, label=name)
    panels[2].set(title="Table 5: iterations a step, RV, by matrix", xlabel="step h (s)")
    over_step(panels[3], found["full"], "iterations", "Fig. 7: iterations a step, full (dotted: paper's matrix)")
    for name, those in found["paper"].items():
        panels[3].plot([r.step for r in those], [r.iterations for r in those], STYLES[name][:-1] + ":", ms=4, lw=1)
    over_step(panels[4], found["modified"], "iterations", "Fig. 7: iterations a step, modified Newton")
    over_step(panels[5], found["full"], "seconds", "Fig. 8: CPU (s), full Newton")


def draw_rotor(panels, found):
    solution = mbs.simulate(rotors.high_speed_rotor(), 4.0, 1e-3, mbs.RungeKuttaMuntheKaas("RK6"))
    _, y, z, *_ = rotors.read(solution).T
    panels[0].plot(1e3 * y, 1e3 * z, lw=1)
    panels[0].set(title="Fig. 10: path of $p_1$ in 4 s (mm)", xlabel="y", ylabel="z", aspect="equal")
    panels[1].plot(solution.t, 1e3 * y, label="y")
    panels[1].plot(solution.t, 1e3 * z, label="z")
    panels[1].set(title="Fig. 10: $p_1$ over time (mm)", xlabel="t (s)")
    names, colors, explicit = ("", ""), ("C0", "C3"), (found["RV"], found["Rxyz"])
    errors(panels[2], *explicit, title="Fig. 11: explicit, error at 0.25 s (m)", prefixes=names, colors=colors)
    errors(panels[3], found["implicit"], title="Fig. 11: generalised-α, error at 0.25 s (m)")
    errors(panels[4], *explicit, title="Fig. 13: explicit", prefixes=names, colors=colors, work=True)
    errors(panels[5], found["implicit"], title="Fig. 13: generalised-α", work=True)


def draw_slider_crank(panels, found):
    solution = mbs.simulate(linkages.slider_crank(), 5.0, 1e-3, mbs.ClassicalAlpha("tait_bryan"))
    slider, angle = linkages.read_slider_crank(solution).T
    panels[0].plot(solution.t, slider, label="Rxyz, h = 1 ms")
    panels[0].plot(
        linkages.CRANK_TIMES, known(linkages.SLIDER_CRANK.name, "computed"), "ko", ms=4, label="Gonzalez, IFToMM"
    )
    panels[0].set(title="Fig. 15: slider s (m)", xlabel="t (s)")
    panels[1].plot(solution.t, angle)
    panels[1].set(title="Fig. 15: crank θ (rad)", xlabel="t (s)")
    errors(panels[2], found["implicit"], title="Fig. 16: error of s at 5 s (m)")
    over_step(panels[3], found["implicit"], "iterations", "Fig. 17: iterations a step")
    over_step(panels[4], found["implicit"], "seconds", "Fig. 17: CPU (s)")
    errors(panels[5], found["implicit"], title="work over precision", work=True)


def robot(step, method=None):
    """A run of the robot, and its angles."""
    solution = mbs.simulate(puma.puma(), puma.DURATION, step, method)
    return solution, puma.read(solution)


def draw_puma(panels, found):
    solution, angles = robot(1e-3, mbs.ClassicalAlpha("euler_parameters"))
    for k, own in enumerate(np.degrees(angles).T, 1):
        panels[0].plot(solution.t, own, lw=1, label=f"{k}")
    panels[0].set(title="Fig. 19: angles of the joints (degrees), EP, h = 1 ms", xlabel="t (s)")
    errors(panels[1], found["at rest"], title="Fig. 20: error at 1 s, at rest (rad)")
    errors(panels[2], found["in motion"], title="error at 0.5 s, in motion (rad)")
    over_step(panels[3], found["at rest"], "iterations", "Fig. 21: iterations a step")
    over_step(panels[4], found["at rest"], "seconds", "Fig. 21: CPU (s)")
    errors(panels[5], found["in motion"], title="work over precision, at 0.5 s", work=True)


def draw_flexible(panels, found):
    for k, (name, those) in enumerate(found.items()):
        errors(panels[k], those, title=f"{name}: error (m)")
        errors(panels[3 + k], those, title=f"{name}: work over precision", work=True)


DRAWINGS = {
    "free_top": draw_free_top,
    "top_on_joint": draw_top_on_joint,
    "rotor": draw_rotor,
    "slider_crank": draw_slider_crank,
    "puma": draw_puma,
    "flexible": draw_flexible,
}


def draw(name, found, folder):
    """Write the figure of a part of the study into a folder."""
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(2, 3, figsize=(12.5, 7), layout="constrained")
    DRAWINGS[name](panels.ravel(), found)
    for panel in panels.flat:
        panel.grid(alpha=0.3)
        panel.title.set_fontsize(10)
        panel.tick_params(which="minor", labelbottom=False)
        if names := panel.get_legend_handles_labels()[1]:
            many = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if len(names) > 6 else {}
            panel.legend(fontsize=7, **many)
    fig.savefig(folder / f"reproduced_2024_{name}.png", dpi=100)
    plt.close(fig)
