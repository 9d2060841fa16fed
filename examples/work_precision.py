r"""Work and precision of variable steps.

The [heavy top](heavy_top.md), the [right-angle cantilever](right_angle_cantilever.md) and the
[four-bar mechanism](four_bar.md) of 2012 run with steps that follow their local errors, `mbs.VariableStep`, and
with as many equal steps. The page [Variable steps](/variable_steps.md) explains the method.

| model | length of the run | what the motion is like |
|---|---|---|
| heavy top | $1$ s | steady |
| cantilever | $30$ s | steady, after a push of two seconds |
| four-bar | $4$ s | three turns; smooth, but for the moment of each turn where all bars are in a line |

Everywhere $\rho_\infty = 0.6$ and `start="perturbed"`. The error of a run is

$$
e = \max_n\,\max_i\,\lVert x_i(t_n) - x_i^*(t_n)\rVert_\infty/L
$$

over all nodes $i$ and some 300 of the run's own times $t_n$, with the extent $L$ of the model. The reference $x^*$ has
equal steps, four times as many as the longest of the runs; its own error adds up to a tenth to the smallest one.
Seconds are CPU times, with `--study` medians of three runs in turns.

Local errors are kept below $\tau^{3/2}/100$, by `mbs.VariableStep(local_error=...)`, with what is called the tolerance
$\tau$ here: this is about what the lengths of steps are worth, without the trial runs that find the local error for a
tolerance. A step is done as soon as Newton's correction is below the local error that is allowed, where a fixed step
goes on to a residual of $10^{-8}$. The runs that are called *loose* have equal steps and the same Newton's method as
the variable ones: what they gain is Newton's, and only the rest is due to the steps.

`python examples/work_precision.py` prints two tolerances a model in some ten seconds; `--study` has four tolerances,
each three times, and a bar that is struck along its axis, some four minutes. `--plot` draws what was run into `out/`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy.interpolate import make_interp_spline

import fem_mbs as mbs
from fem_mbs.benchmarks import tops
from fem_mbs.benchmarks.flexible import four_bar, right_angle_cantilever
from fem_mbs.elements import Beam, BeamSection, Force, PointMass

METHOD = mbs.GeneralizedAlpha(rho_inf=0.6, start="perturbed")
CASES = {  # how to build a model, and the length of the run in s
    "heavy top": (lambda: (tops.top_on_joint(),), 1.0),
    "cantilever": (right_angle_cantilever, 30.0),
    "four-bar": (four_bar, 4.0),
}
TOLERANCES, STUDY = (1e-1, 1e-2), (1e-1, 1e-2, 1e-3, 1e-4)
KINDS = {"variable": "variable steps", "equal": "equal steps", "loose": "equal steps, Newton loose"}
SAMPLES = 300
STEPS = 1e-3 / 2.0 ** np.arange(5)
"""Longer steps of the sequences that go up and down, in s."""
SPEEDS, RADII = (0.02, 0.05, 0.2, 1.0), (0.9, 0.8, 0.6)
"""At which the bar is struck, in m/s, and rho_inf."""


# Work and precision


def run(name, step, method=METHOD, **options):
    """Solution and CPU seconds."""
    build, t_end = CASES[name]
    begun = time.process_time()
    solution = mbs.simulate(build()[0], t_end, step, method, **options)
    return solution, time.process_time() - begun


def runs(name, tolerance):
    """With a tolerance; with as many equal steps; with as many equal steps and the same Newton's method."""
    control = mbs.VariableStep(tolerance, local_error=tolerance**1.5 / 100)
    variable = run(name, control)
    step = CASES[name][1] / len(variable[0].stats.step_sizes)
    loose = replace(METHOD, newton=mbs.Newton(correction_tolerance=control.allowed(METHOD)))
    return variable, run(name, step), run(name, step, loose)


def errors(name, rows):
    """Error of each run, ``(tolerances, kinds)``."""
    samples = [[_sample(solution) for solution, _ in row] for row in rows]
    longest = max(len(solution.t) - 1 for row in rows for solution, _ in row)
    times = np.unique(np.concatenate([t for row in samples for t, _ in row]))
    reference, _ = run(name, CASES[name][1] / (4 * longest), times=times)

    def error(t, x):
        return np.abs(x - reference.x[np.searchsorted(times, t)]).max() / reference.system.length

    return np.array([[error(*sample) for sample in row] for row in samples])


def _sample(solution):
    """Some of the times of the steps, and the positions there."""
    some = np.unique(np.linspace(0, len(solution.t) - 1, SAMPLES).astype(int))
    return solution.t[some], solution.x[some]


def measure(name, tolerances, repeats):
    """Errors and seconds ``(tolerances, kinds)``, and the runs with a tolerance."""
    rows = [runs(name, tolerance) for tolerance in tolerances]
    seconds = [_seconds(rows)]
    for _ in range(repeats - 1):
        seconds.append(_seconds(runs(name, tolerance) for tolerance in tolerances))
    return SimpleNamespace(
        tolerances=np.array(tolerances),
        errors=errors(name, rows),
        seconds=np.median(seconds, axis=0),
        solutions=[row[0][0] for row in rows],
    )


def _seconds(rows):
    return [[seconds for _, seconds in row] for row in rows]


def at_equal_error(measured, kind):
    """Seconds of the variable steps over those of equal steps with the same errors."""
    k = [*KINDS].index(kind)
    order = np.argsort(measured.errors[:, k])
    curve = np.log([measured.errors[order, k], measured.seconds[order, k]])
    return measured.seconds[:, 0] / np.exp(make_interp_spline(*curve, k=1)(np.log(measured.errors[:, 0])))


def report(name, measured):
    """Print a table; its numbers by tolerance."""
    print(f"\n{name:28}{'error':>18}{'seconds':>27}{'ratio, same error':>18}")
    print(f"{'tolerance':>10}{'steps':>7}{'rejected':>10}", end="")
    print("".join(f"{kind:>9}" for kind in ("variable", "equal", *KINDS, "equal", "loose")))
    ratios = [at_equal_error(measured, kind) for kind in ("equal", "loose")]
    numbers = {}
    for k, (tolerance, solution) in enumerate(zip(measured.tolerances, measured.solutions, strict=True)):
        steps, rejected = len(solution.stats.step_sizes), solution.stats.rejected_steps
        print(f"{tolerance:10.0e}{steps:7}{rejected:10}", end="")
        print("".join(f"{error:9.1e}" for error in measured.errors[k, :2]), end="")
        print("".join(f"{value:9.2f}" for value in (*measured.seconds[k], *(ratio[k] for ratio in ratios))))
        own = SimpleNamespace(steps=steps, rejected=rejected, errors=dict(zip(KINDS, measured.errors[k], strict=True)))
        numbers[name, float(tolerance)] = own
    return numbers


# Order while the step goes up and down


def force_error(h, formulation, change):
    """Largest error of the force in the joint of the top, over its size, with steps of h and h/2 in turns.

    Without ``change``, the method is not told that the step is another one.
    """
    t_end, method = 0.1, replace(METHOD, formulation=formulation)
    system = mbs.System(tops.top_on_joint())
    state = mbs.start(system)
    memory = method.init(system, state, h)
    exact = tops.exact(h / 2 * np.arange(round(2 * t_end / h) + 1)).force
    largest = 0.0
    for step in np.tile(h * np.array([1, 1, 1, 0.5, 0.5, 0.5, 0.5]), round(t_end / (5 * h))):
        if not change:
            memory = memory._replace(h=step)
        state, memory, *_ = method.step(system, state, step, memory)
        largest = max(largest, np.abs(exact[round(2 * state.t / h)] + state.multipliers).max())
    return largest / np.abs(exact).max()


# A stiff start


def struck(speed, rho_inf):
    """A bar, held at one end and pushed aside, with a mass at its tip that is struck along the axis."""
    model = mbs.Model()
    section = BeamSection(EA=1e8, GA=5e7, GJ=10, EI=10, mass=1.0, inertia=(1e-5, 1e-5, 1e-5))
    bar = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=4, start_node=model.ground)
    tip = bar.nodes[-1]
    tip.velocity = (speed, 0, 0)
    model.add(PointMass(tip, mass=1.0))
    model.add(Force(tip, lambda t: (0, 0, 5 * t)))
    return mbs.simulate(model, 1.0, mbs.VariableStep(local_error=1e-5), mbs.GeneralizedAlpha(rho_inf))


def report_struck():
    print("\nsteps of a bar that is struck along its axis\n" + f"{'speed':>10}", end="")
    print("".join(f"  rho_inf = {rho:g}" for rho in RADII))
    for speed in SPEEDS:
        print(f"{speed:10g}" + "".join(f"{len(struck(speed, rho).stats.step_sizes):15}" for rho in RADII))


# Figures


def draw_work(panels, study):
    for panel, (name, measured) in zip(panels, study.items(), strict=False):
        for k, (kind, style) in enumerate(zip(KINDS.values(), ("o-", "s-", "s--"), strict=True)):
            panel.loglog(measured.errors[:, k], measured.seconds[:, k], style, color=("C0", "C1", "C1")[k], label=kind)
        panel.set(title=name, xlabel="error", ylabel="CPU seconds")
        panel.invert_xaxis()
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_minor_formatter("")
    panels[0].legend()
    for name, measured in study.items():
        tolerances, error = measured.tolerances, measured.errors[:, 0]
        panels[3].loglog(tolerances, error, "o-", label=name)
        panels[3].loglog(tolerances, error[0] * tolerances / tolerances[0], "k:", lw=1)
    panels[3].set(title="dotted: proportional", xlabel="tolerance", ylabel="error")
    panels[3].legend()


def draw_steps(panels, study):
    measured = study["four-bar"]
    for tolerance, solution in zip(measured.tolerances, measured.solutions, strict=True):
        panels[0].stairs(1e3 * solution.stats.step_sizes, solution.t, baseline=None, label=f"{tolerance:.0e}")
    panels[0].set(title="four-bar, by tolerance", xlabel="time (s)", ylabel="step (ms)", yscale="log", ylim=(None, 100))
    panels[0].legend(ncols=4, fontsize="small", handlelength=1)
    for formulation, color in (("index3", "C0"), ("index2", "C1")):
        for change, style in ((True, "o-"), (False, "s--")):
            size = [force_error(h, formulation, change) for h in STEPS]
            label = f"{formulation}, {'with' if change else 'without'} updates"
            panels[1].loglog(1e3 * STEPS, size, style, color=color, label=label)
    for order, factor in ((1, 100), (2, 3e3)):
        panels[1].loglog(1e3 * STEPS, factor * STEPS**order, "k:", lw=1)
    panels[1].set(title="heavy top, dotted: orders 1 and 2", xlabel="steps h and h/2: h (ms)")
    panels[1].set_ylabel("relative error of the force in the joint")
    panels[1].legend()
    for rho in RADII:
        solution = struck(0.2, rho)
        label = rf"$\rho_\infty = {rho:g}$: {len(solution.stats.step_sizes)} steps"
        panels[2].stairs(1e3 * solution.stats.step_sizes, solution.t, baseline=None, label=label)
    panels[2].set(title="bar, struck at 0.2 m/s", xlabel="time (s)", ylabel="step (ms)", yscale="log")
    panels[2].legend()


def figures(study, folder):
    import matplotlib.pyplot as plt

    for file, draw, shape, size in (
        ("work_precision", draw_work, (2, 2), (10, 7.5)),
        ("variable_steps", draw_steps, (1, 3), (13, 4)),
    ):
        fig, panels = plt.subplots(*shape, figsize=size, layout="constrained")
        draw(panels.ravel(), study)
        for panel in panels.flat:
            panel.grid(alpha=0.3)
        fig.savefig(Path(folder) / f"{file}.png", dpi=110)
        plt.close(fig)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", action="store_true", help="more tolerances, each three times, and a stiff start")
    parser.add_argument("--plot", action="store_true", help="write out/work_precision.png and out/variable_steps.png")
    parser.add_argument("--paraview", action="store_true", help="write out/work_precision.pvd, the four-bar mechanism")
    options = parser.parse_args(argv)

    tolerances, repeats = (STUDY, 3) if options.study else (TOLERANCES, 1)
    study, numbers = {}, {}
    for name in CASES:
        study[name] = measure(name, tolerances, repeats)
        numbers |= report(name, study[name])
    if options.study:
        report_struck()

    Path("out").mkdir(exist_ok=True)
    if options.plot:
        figures(study, "out")
    if options.paraview:  # frames in equal intervals, whatever the steps
        run("four-bar", mbs.VariableStep(local_error=1e-5), times=np.linspace(0, 4, 201))[0].to_paraview(
            "out/work_precision"
        )
    return numbers


if __name__ == "__main__":
    main()
