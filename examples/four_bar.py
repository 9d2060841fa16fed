r"""Four-bar mechanism with a misaligned hinge.

Three flexible bars and the ground form a parallelogram. Hinge A drives the first bar; the axis of hinge C is tilted by
5°, so that the mechanism could not move if the bars were rigid: they bend and twist in every turn, and C leaves the
plane. Bauchau and Bottasso invented the problem; two sets of data are in use.

**2012** (`four_bar`), [Brüls, Cardona, Arnold](https://doi.org/10.1016/j.mechmachtheory.2011.07.017), Table 2: the axis
$z$ of hinge C is turned by 5° about $y$; hinge A starts smoothly within 0.5 s and then turns at $-5$ rad/s; 10 elements
a bar, $h = 0.02$ s, $\rho_\infty = 0.9$, 2 s. The table compares the count of Newton iterations; the figure is to be
compared with Fig. 6 of the paper.

**2016** (`four_bar_2016`), [Bauchau and others](https://doi.org/10.1007/s11044-016-9514-y): steel bars of 16 mm
(AB, BC) and 8 mm (CD) in square, a crank at $-0.6$ rad/s for 12 s. The table compares the displacement of C with the
series of *mb_sef_py* (revision ed99143; 8 elements a bar, $h = 4$ ms, $\rho_\infty = 0$). In that code the axis
$(\sin 5°, 0, \cos 5°)$ of hinge C is meant in the frame of bar CD, whose $x$ axis points from C to D; in the world it
is $(0, -\sin 5°, \cos 5°)$. Its crank moves at full speed from the first instant; ours starts within 0.2 s, and time is
counted so that the later angles are the same. Both models are in `fem_mbs/benchmarks/flexible.py`.

`python examples/four_bar.py` prints the comparison; `--plot` and `--paraview` write into `out/`.
"""

from __future__ import annotations

import numpy as np
from _run import main_of

import fem_mbs as mbs
from fem_mbs.benchmarks.flexible import RUN_IN, four_bar, four_bar_2016

METHOD = mbs.GeneralizedAlpha(rho_inf=0.9)
SERIES_2016 = {  # time (s): displacement of C (m), mb_sef_py
    2: (0.1118236, -0.0765951, -0.0026697),
    4: (-0.0325274, -0.0044973, -0.0008107),
    6: (-0.1101172, -0.0723144, -0.0005168),
    8: (-0.1195642, -0.1104513, -0.0032556),
    10: (-0.0335268, -0.0047789, -0.0002589),
    12: (0.0952254, -0.0470039, -0.0015142),
}


def run(step=0.02, t_end=2.0, method=METHOD, **options):
    model, c = four_bar(**options)
    return mbs.simulate(model, t_end, step, method), c


def run_2016(step=0.004, rho_inf=0.0, **options):
    """Time and displacement of C; the drive lags behind that of the series by half its run-in."""
    model, c = four_bar_2016(**options)
    solution = mbs.simulate(model, 12 + RUN_IN / 2, step, mbs.GeneralizedAlpha(rho_inf))
    return solution.t - RUN_IN / 2, solution.displacement(c)


def compare(solution, c, t, u):
    """Each number as computed and as in its source."""
    numbers = {"2012: Newton iterations a step": (solution.stats.mean_newton_iterations, 3.05)}
    out_of_plane = 1e3 * solution.displacement(c)[:, 2]
    numbers["2012: largest u_z (mm)"] = out_of_plane.max(), 2.0
    numbers["2012: smallest u_z (mm)"] = out_of_plane.min(), -2.0
    for time, reference in SERIES_2016.items():
        k = np.abs(t - time).argmin()
        for i, axis in enumerate("xyz"):
            numbers[f"2016: u_{axis} at t = {time} s (mm)"] = 1e3 * u[k, i], 1e3 * reference[i]
    return numbers


def sampled(step, **options):
    """Displacement of C and multipliers every 0.02 s."""
    solution, c = run(step, **options)
    every = round(0.02 / step)
    return solution.displacement(c)[::every], solution.multipliers_all[::every]


def errors(steps, reference, **options):
    """Largest relative errors (displacement of C, multipliers) for each step, against what ``sampled`` returned."""
    pairs = [zip(sampled(step, **options), reference, strict=True) for step in steps]
    return np.array([[np.abs(value - exact).max() / np.abs(exact).max() for value, exact in pair] for pair in pairs])


def figure(solution, c, t, u, file):
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(2, 3, figsize=(13, 6.4), layout="constrained")
    (plane, out, force), (order, plane_2016, out_2016) = panels
    times, series = np.array([*SERIES_2016]), 1e3 * np.array([*SERIES_2016.values()])
    u_2012 = 1e3 * solution.displacement(c)
    plane.plot(solution.t, u_2012[:, :2], label=["$u_x$", "$u_y$"])
    out.plot(solution.t, u_2012[:, 2], "C2", label="$u_z$")
    force.plot(solution.t, 1e-3 * solution.reaction("C")[0], label=["$F_x$", "$F_y$", "$F_z$"])
    plane_2016.plot(t, 1e3 * u[:, :2], label=["$u_x$", "$u_y$"])
    plane_2016.plot(times, series[:, :2], "ko", label=["mb_sef_py", None])
    out_2016.plot(t, 1e3 * u[:, 2], "C2", label="$u_z$")
    out_2016.plot(times, series[:, 2], "ko", label="mb_sef_py")
    steps = 0.02 / 2.0 ** np.arange(4)
    exact = sampled(1 / 1600)  # for both groups, which have the same solution
    for group, style in (("R3xSO3", "o-"), ("SE3", "s--")):
        order.loglog(
            1e3 * steps, errors(steps, exact, group=group), style, label=[f"$u$, {group}", rf"$\lambda$, {group}"]
        )
    order.loglog(1e3 * steps, 2e-2 * steps**2, "k:", label="order 2")
    for panel in panels.flat:
        panel.set(xlabel="time (s)", ylabel="displacement of C (mm)", title="data of 2012")
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
    for panel in (plane_2016, out_2016):
        panel.set_title("data of 2016")
    force.set_ylabel("force of hinge C on bar CD (kN)")
    order.set(xlabel="step h (ms)", ylabel="largest relative error in 2 s")
    order.set_xticks(1e3 * steps, 1e3 * steps)
    order.minorticks_off()
    fig.savefig(file, dpi=120)


def both():
    """The runs of 2012 and 2016."""
    return *run(), *run_2016()


main = main_of(__file__, both, compare, figure)

if __name__ == "__main__":
    main()
