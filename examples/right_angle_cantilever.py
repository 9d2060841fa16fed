r"""Right-angle cantilever.

Two legs of 10 m form an L, clamped at one end. A force out of their plane acts at the elbow for two seconds: it rises
to 50 N and falls back to zero. Then the cantilever swings freely in bending and torsion, as far as it is long. The
problem is by [Simo and Vu-Quoc 1988](https://doi.org/10.1016/0045-7825(88)90073-4);
[Brüls, Cardona, Arnold 2012](https://doi.org/10.1016/j.mechmachtheory.2011.07.017), section 7.2, integrate it on a
Lie group.

| quantity | value |
|---|---|
| stiffness | $EA = GA_2 = GA_3 = 10^6$ N, $GJ = EI_2 = EI_3 = 10^3\ \mathrm{N\,m^2}$ |
| inertia per length | $1$ kg/m; $20$ (torsional), $10$, $10$ kg m |
| method of the paper | 10 elements in all, $h = 0.2$ s, HHT with $\alpha = 0.05$, 30 s |

The table has two runs: that of the paper, with its count of Newton iterations, and one with 20 elements a leg and
$h = 0.02$ s, with the extrema of an independent code, *Exudyn* 1.13.6, on 40 elements a leg with $h = 5$ ms. In the
figure, the dots are read off the curves that Simo and Vu-Quoc printed.

`python examples/right_angle_cantilever.py` prints the comparison; `--plot` and `--paraview` write into `out/`.
"""

from __future__ import annotations

import numpy as np
from _run import main_of

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Force

PRINTED = {"elbow": ((3.05, 10.82, 25.16), (5.50, -3.87, 6.105)), "tip": ((7.67, 15.99, 26.08), (8.295, -9.67, 6.98))}
METHOD = mbs.GeneralizedAlpha.hht(alpha=0.05)


def force(t):
    return 0, 0, max(0.0, min(50 * t, 50 * (2 - t)))


def build(group="R3xSO3", interpolation="SE3", elements=5):
    model = mbs.Model(group=group)
    drawn = 0.15 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])  # the data fix no shape
    section = BeamSection(EA=1e6, GA=1e6, GJ=1e3, EI=1e3, mass=1.0, inertia=(20, 10, 10), outline=drawn)
    leg = Beam.line(model, (0, 0, 0), (10, 0, 0), section, elements, interpolation=interpolation, name="leg")
    elbow = leg.nodes[-1]
    arm = Beam.line(
        model, (10, 0, 0), (10, 10, 0), section, elements, start_node=elbow, interpolation=interpolation, name="arm"
    )
    model.fix(leg.nodes[0])
    model.add(Force(elbow, force), name="push")
    return model, elbow, arm.nodes[-1]


def run(step=0.2, t_end=30.0, method=METHOD, **options):
    """Solution, and displacement of elbow and tip out of the plane."""
    model, elbow, tip = build(**options)
    solution = mbs.simulate(model, t_end, step, method)
    return solution, {"elbow": solution.displacement(elbow)[:, 2], "tip": solution.displacement(tip)[:, 2]}


def extremum(t, u, begin, end, sign=1):
    """Largest (sign 1) or smallest (-1) value between two times, by a parabola through three points."""
    inside = np.flatnonzero((t >= begin) & (t <= end))
    k = inside[np.argmax(sign * u[inside])]
    a, b, c = np.polyfit(t[k - 1 : k + 2] - t[k], u[k - 1 : k + 2], 2)
    return c - b * b / (4 * a)


def compare(refined, u, coarse, _):
    """Each number as computed and as in its source."""
    t = refined.t
    return {
        "Newton iterations a step, h = 0.2 s": (coarse.stats.mean_newton_iterations, 3.83),
        "first peak of the elbow (m)": (extremum(t, u["elbow"], 2, 5), 5.5121),
        "first peak of the tip (m)": (extremum(t, u["tip"], 6, 9), 8.2514),
        "minimum of the tip (m)": (extremum(t, u["tip"], 13, 18, -1), -9.7287),
    }


def errors(steps, reference, **options):
    """Largest error of elbow and tip in 30 s, for each step, against what ``sampled`` returned."""
    return np.array([np.abs(sampled(step, **options) - reference).max() for step in steps])


def sampled(step, **options):
    """Displacements of elbow and tip every 0.1 s, ``(2, 301)``."""
    u = run(step, **options)[1]
    return np.array([*u.values()])[:, :: round(0.1 / step)]


def figure(refined, u, coarse, u_coarse, file):
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(2, 2, figsize=(12, 7), layout="constrained")
    for panel, place in zip(panels[0], ("elbow", "tip"), strict=True):
        panel.plot(coarse.t, u_coarse[place], "C1", label="5 elements a leg, h = 0.2 s")
        panel.plot(refined.t, u[place], "C0", label="20 elements a leg, h = 0.02 s")
        panel.plot(*PRINTED[place], "ko", label="extrema of Simo and Vu-Quoc 1988")
        panel.set(xlabel="time (s)", ylabel=f"{place}, out of the plane (m)")
    energies, order = panels[1]
    for name, style in (("kinetic", "C2"), ("strain", "C3"), ("total", "k")):
        energies.plot(refined.t, getattr(refined.energy, name), style, lw=1, label=name)
    energies.set(xlabel="time (s)", ylabel="energy, 20 elements a leg (J)")
    energies.set_ylim(0, 140)
    energies.legend(loc="upper center", ncols=3)
    steps = 0.1 / 2.0 ** np.arange(4)
    exact = sampled(0.05, method=mbs.RadauIIA())  # to 1e-6 m
    for group, style in (("R3xSO3", "o-"), ("SE3", "s--")):
        order.loglog(steps, errors(steps, exact, group=group), style, label=group)
    order.loglog(steps, 8 * steps**2, "k--", lw=1, label="order 2")
    order.set(xlabel="step h (s)", ylabel="largest error in 30 s (m)")
    order.set_xticks(steps, steps)
    order.minorticks_off()
    order.legend()
    for panel in panels.flat:
        panel.grid(alpha=0.3)
    fig.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    fig.savefig(file, dpi=120)


def both():
    """Solution and displacements of the fine run, and those of the coarse one."""
    return *run(step=0.02, elements=20), *run()


main = main_of(__file__, both, compare, figure, every=10)

if __name__ == "__main__":
    main()
