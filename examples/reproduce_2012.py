r"""Lie group method against updated Lagrangian.

Figures 2, 4 and 6 of *Lie group generalized-α time integration of constrained flexible multibody systems*
([Brüls, Cardona, Arnold 2012](https://doi.org/10.1016/j.mechmachtheory.2011.07.017)). The paper compares two methods on
the [heavy top](heavy_top.md), the [right-angle cantilever](right_angle_cantilever.md) and the
[four-bar mechanism](four_bar.md):

| | method |
|---|---|
| Lie-α | `GeneralizedAlpha`: velocities are integrated on the group |
| UL-CRV | `UpdatedLagrangian`: conformal rotation vectors of the increments are integrated |
| UL-RV | the same with rotation vectors; on the top only |

The page [Reproduced from the papers](/reproduced.md) has the figures and our numbers beside theirs.

`python examples/reproduce_2012.py` prints the numbers in a few seconds; `--study` adds errors and orders over the
steps, and `--plot` writes the figures into `out/`: some two minutes each, not much more for both.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from _run import command_of, draw_panels

import fem_mbs as mbs
from fem_mbs.benchmarks import tops
from fem_mbs.benchmarks.flexible import four_bar, right_angle_cantilever
from fem_mbs.run.convergence import fitted_order

BUILD = {"top": lambda: (tops.top_on_joint(),), "cantilever": right_angle_cantilever, "four-bar": four_bar}
STEP = {"top": 2e-3, "cantilever": 0.2, "four-bar": 0.02}
"""Steps of the paper in s."""
T_END = {"top": 2.0, "cantilever": 30.0, "four-bar": 2.0}
SPIN = tops.FAST
ITERATIONS = {  # Newton iterations a step in the paper
    ("top", "Lie-α"): 3.0,
    ("top", "UL-CRV"): 3.0,
    ("top", "UL-RV"): np.nan,
    ("cantilever", "Lie-α"): 3.83,
    ("cantilever", "UL-CRV"): 3.77,
    ("four-bar", "Lie-α"): 3.05,
    ("four-bar", "UL-CRV"): 3.06,
}
METHODS = {benchmark: [name for key, name in ITERATIONS if key == benchmark] for benchmark in BUILD}
STUDIES = {  # times in s between which errors are taken, and steps in s
    "top": ((0.25, 0.5), 1e-3 / 2.0 ** np.arange(6)),
    "cantilever": ((0.0, 30.0), 0.05 / 2.0 ** np.arange(4)),
    "four-bar": ((0.0, 2.0), 0.01 / 2.0 ** np.arange(4)),
}
COMPARED = ("Lie-α", "UL-CRV")
FITTED = {("top", "position"): slice(3, 6), ("top", "rotation"): slice(3, 6), ("top", "multipliers"): slice(2, 4)}
"""Steps to which orders are fitted, where not to all: below 0.125 ms multipliers are rounding."""


# Runs


def method(benchmark, name):
    kind = mbs.GeneralizedAlpha if name == "Lie-α" else mbs.UpdatedLagrangian
    chosen = kind.hht(alpha=0.05) if benchmark == "cantilever" else kind(rho_inf=0.9, formulation="index3")
    return replace(chosen, parametrization="rotation_vector") if name == "UL-RV" else chosen


@cache
def run(benchmark, name):
    """Solution over the time of the paper, and what the builder of the model returned beside it."""
    model, *parts = BUILD[benchmark]()
    return mbs.simulate(model, T_END[benchmark], STEP[benchmark], method(benchmark, name)), parts


def drift(solution):
    """Largest change of the total energy in J."""
    change = solution.energy.total - solution.energy.total[0]
    return change[np.abs(change).argmax()]


def spin_of_uniform_rotation(step, t_end, spin=SPIN, rho_inf=0.9):
    """Spin to which UL-CRV drives a body in uniform rotation: a step adds ``(1 + shift^2)/2 (spin h/4)^4`` of it."""
    factor = 0.5 * (1 + mbs.GeneralizedAlpha(rho_inf).coefficients.shift ** 2)
    for _ in range(round(t_end / step)):
        spin *= 1 + factor * (spin * step / 4) ** 4
    return spin


def displacement(benchmark, name):
    """Displacement of the tip out of the plane, or of node C, in m."""
    solution, parts = run(benchmark, name)
    if benchmark == "cantilever":
        return solution.displacement(parts[1])[:, 2]
    return solution.displacement(parts[0])


@cache
def reference(benchmark):
    """Solution that all methods converge to: of the top the exact one, else that of Lie-α with short steps."""
    (_, t_end), steps = STUDIES[benchmark]
    if benchmark == "top":
        return exact_top(steps[-1], t_end)
    return mbs.simulate(BUILD[benchmark]()[0], t_end, steps[-1] / 8, method(benchmark, "Lie-α"))


def exact_top(step, t_end):
    """Solution made of states of the exact motion of the top."""
    exact = tops.exact(step * np.arange(round(t_end / step) + 1))
    run = mbs.simulate(tops.top_on_joint(), step, step)
    zero = np.zeros((len(exact.t), 2, 6))
    x, R, v = zero[..., :3].copy(), np.tile(np.eye(3), (len(zero), 2, 1, 1)), zero.copy()
    x[:, 1], R[:, 1], v[:, 1, :3], v[:, 1, 3:] = exact.x, exact.R, exact.velocity, exact.Omega  # the ground comes first
    states = map(mbs.State, exact.t, x, R, v, zero, -exact.force)
    return mbs.Solution(run.system, list(states), run.status, run.stats)


@cache
def study(benchmark, name):
    interval, steps = STUDIES[benchmark]
    return mbs.convergence_study(
        lambda: BUILD[benchmark]()[0], method(benchmark, name), steps, reference(benchmark), interval=interval
    )


def order(benchmark, name, component):
    """Order of a component, fitted to the steps where it shows."""
    found, fitted = study(benchmark, name), FITTED.get((benchmark, component), slice(None))
    return fitted_order(found.steps[fitted], found.errors[component][fitted])


# Numbers


def compare():
    """Each number as computed and as in the paper or from a formula; nan where there is none."""
    numbers = {}
    for (benchmark, name), iterations in ITERATIONS.items():
        solution, _ = run(benchmark, name)
        numbers[f"{benchmark}, {name}: iterations a step"] = solution.stats.mean_newton_iterations, iterations
    for name in METHODS["top"]:
        solution, _ = run("top", name)
        numbers[f"top, {name}: largest change of energy (J)"] = drift(solution), np.nan
        numbers[f"top, {name}: spin after 2 s (rad/s)"] = solution.angular_velocity("top")[-1, 1], SPIN
    gained = (numbers["top, UL-CRV: spin after 2 s (rad/s)"][0], spin_of_uniform_rotation(STEP["top"], T_END["top"]))
    numbers["top, UL-CRV: spin gained (rad/s)"] = tuple(spin - SPIN for spin in gained)
    lie, crv = (drift(run("top", name)[0]) for name in COMPARED)
    numbers["top: ratio of the changes, UL-CRV / Lie-α"] = abs(crv / lie), np.nan
    for name in METHODS["cantilever"]:
        tip = displacement("cantilever", name)
        solution, _ = run("cantilever", name)
        free = solution.energy.total[solution.t >= 2]
        numbers[f"cantilever, {name}: tip, largest (m)"] = tip.max(), 8.0
        numbers[f"cantilever, {name}: tip, smallest (m)"] = tip.min(), -10.0
        numbers[f"cantilever, {name}: range of free energy (%)"] = 100 * np.ptp(free) / free[0], np.nan
    for benchmark in ("cantilever", "four-bar"):
        one, other = (displacement(benchmark, name) for name in COMPARED)
        difference = np.abs(one - other).max() / np.abs(one).max()
        numbers[f"{benchmark}: relative difference of displacements"] = difference, np.nan
    return numbers


def drift_order(name):
    """Order in the step of the change of energy of the top."""
    finer = mbs.simulate(tops.top_on_joint(), T_END["top"], STEP["top"] / 2, method("top", name))
    return np.log2(drift(run("top", name)[0]) / drift(finer))


def print_study():
    print()
    for name in METHODS["top"]:
        print(f"top, {name}: the change of energy has the order {drift_order(name):.2f}")
    for benchmark in STUDIES:
        for name in COMPARED:
            print(f"\n{benchmark}, {name}. {study(benchmark, name)}")
            for component in ("position", "rotation", "multipliers"):
                print(f"order of {component}: {order(benchmark, name, component):.2f}")


# Figures


def draw_top(panels):
    """Fig. 2."""
    height, turn, force, energy, position, multipliers = panels
    for name, style in zip(METHODS["top"], ("C0", "C1--", "C2:"), strict=True):
        solution, _ = run("top", name)
        early = solution.t <= 0.2 + 1e-9
        height.plot(solution.t, solution.position("top")[:, 2], style, label=name)
        turn.plot(solution.t[early], solution.rotation_vector("top")[early, 1], style, lw=1)
        force.plot(solution.t[early], solution.reaction("pivot")[0][early, 0], style, lw=1, label=name)
        energy.plot(solution.t, solution.energy.total, style, label=name)
    height.set(title="$x_3$ of the mass centre (m)")
    turn.set(title=r"rotation vector $\psi_2$ (rad)")
    force.set(title=r"multiplier $\lambda_1$ (N)")
    energy.set(title="total energy (J)")
    draw_orders(position, "top", "position", "largest error of $x$ (m), t in [0.25, 0.5] s")
    draw_orders(multipliers, "top", "multipliers", r"largest error of $\lambda$ (N), t in [0.25, 0.5] s")


def draw_cantilever(panels):
    """Fig. 4."""
    tip, energy, errors = panels
    for name, style in zip(COMPARED, ("C0", "C1--"), strict=True):
        solution, _ = run("cantilever", name)
        tip.plot(solution.t, displacement("cantilever", name), style, label=name)
        energy.plot(solution.t, solution.energy.total, style, label=name)
    tip.set(title="tip, out of the plane (m)")
    energy.set(title="total energy (J)", ylim=(0, 140))
    draw_orders(errors, "cantilever", "position", "largest error of a node in 30 s (m)")


def draw_four_bar(panels):
    """Fig. 6."""
    plane, out, position, force, moment, multipliers = panels
    for name, style, axes in zip(COMPARED, ("-", "k:"), ("xyz", ("UL-CRV", None, None)), strict=True):
        solution, _ = run("four-bar", name)
        u, reactions = 1e3 * displacement("four-bar", name), solution.reaction("C")
        plane.plot(solution.t, u[:, :2], style, label=[*axes[:2]])
        out.plot(solution.t, u[:, 2], style)
        for panel, values in zip((force, moment), reactions, strict=True):
            panel.plot(solution.t, 1e-3 * values, style, label=[*axes])
    plane.set(title="displacement of C in the plane (mm)")
    out.set(title="displacement of C out of the plane (mm)")
    force.set(title="force of hinge C (kN)")
    moment.set(title="moment of hinge C (kN m)")
    draw_orders(position, "four-bar", "position", "largest error of a node in 2 s (m)")
    draw_orders(multipliers, "four-bar", "multipliers", r"largest error of $\lambda$ in 2 s (N, N m)")


def draw_orders(panel, benchmark, component, title):
    _, steps = STUDIES[benchmark]
    for name, style in zip(COMPARED, ("o-", "s--"), strict=True):
        label = f"{name}, order {order(benchmark, name, component):.2f}"
        panel.loglog(1e3 * steps, study(benchmark, name).errors[component], style, ms=4, label=label)
    panel.set(title=title, xlabel="h (ms)")
    panel.set_xticks(1e3 * steps, [f"{1e3 * h:g}" for h in steps])
    panel.minorticks_off()


DRAWINGS = {"top": (draw_top, (2, 3)), "cantilever": (draw_cantilever, (1, 3)), "four_bar": (draw_four_bar, (2, 3))}


def figures(folder):
    for name, (draw, (rows, columns)) in DRAWINGS.items():
        draw_panels(Path(folder) / f"reproduced_2012_{name}.png", draw, rows, columns, width=3.8, height=3.0)


def write(path):
    """The top with UL-CRV."""
    run("top", "UL-CRV")[0].to_paraview(path, every=2)


main = command_of(__file__, compare, figures, write, print_study)

if __name__ == "__main__":
    main()
