r"""Equilibria along their paths: beams rolled up and wound, Lee's frame, a frame that tips over.

**Two turns.** A cantilever under an end moment $M = 2\pi EI/L$ is a full circle, under $2M$ two of them.

**A load that follows** (Simo and Vu-Quoc, *CMAME* 58, 1986): a cantilever of 100 m under a force that stays across its
end.

**Lee's frame** (Lee, Manuel, Rossow 1968): the load on the girder snaps through. The path has two limits of the load
and two of the displacement; arc length follows it.

**A helix** (Ibrahimbegovic 1997): an end moment winds a cantilever to ten turns while a force pulls it sideways.

**A right-angle frame** (Argyris 1979): two legs of thin strip, pulled in their plane, tip over sideways at 1.088 N. A
load across the plane, however small, decides for one side.

**A bend** of 45 degrees (Bathe and Bolourchi 1979) under a load out of its plane.

The models are in `fem_mbs/benchmarks/beams.py`. In the figure above, marks are exact: shooting on the equations of the
beam, in closed form for the moment.

`python examples/statics.py` prints the comparison, extrapolated from two meshes; `--study` adds what each path costs,
`--plot` and `--paraview` write into `out/`.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
from _run import command_of

import fem_mbs as mbs
from fem_mbs.benchmarks.beams import HELIX, bend, following, frame, helix, lee, roll_up
from fem_mbs.benchmarks.case import known

BEND = known("45-degree bend", "exact")  # where its end is
LIMITS = (  # of the load on Lee's frame in kN, with the displacements down and across
    (18.5489, 48.7476, 26.8794),
    (-9.4004, 58.2220, 90.1837),
)
FOLLOWING = {  # force in N: displacement along and across, rotation of the end
    2500: (-3.34074, 23.34139, 0.35563),
    5000: (-12.67219, 44.03739, 0.70244),
    10000: (-41.69281, 71.10952, 1.34024),
    16500: (-78.39040, 78.70016, 2.01195),
    30000: (-108.70891, 60.54841, 2.83802),
    50000: (-97.99151, 44.80064, 3.13903),
    75000: (-66.06770, 27.88881, 2.71992),
    100000: (-50.75238, -11.62882, 1.87498),
    130000: (-75.92824, -47.82772, 0.85171),
}


def extrapolated(run, elements):
    """Of second order in the mesh."""
    coarse, fine = run(elements), run(2 * elements)
    return fine + (fine - coarse) / 3


def ends(case, elements, loads):
    """Displacements of the end, and its rotation about z, at some load factors."""
    model, beam = case(elements)
    solution = mbs.statics(model, load_end=loads[-1], loads=loads)
    turn = solution.rotation_vector(beam.nodes[-1])[:, 2:]
    return np.concatenate([solution.displacement(beam.nodes[-1]), turn], axis=1)


def limits(elements):
    """Load and displacements where the load turns."""
    model, beams = lee((elements, elements // 5, 4 * elements // 5))
    solution = mbs.statics(model, load_end=20, arc_length=True, step=0.03)
    u = solution.displacement(beams[1].nodes[-1])
    path = np.stack([solution.t, -u[:, 1], u[:, 0]], axis=1)
    return np.array([turning(path, k) for k in np.flatnonzero(np.diff(np.sign(np.diff(solution.t)))) + 1])


def turning(path, k):
    """Where the first column turns, near row k: by a polynomial through five rows."""
    s = np.arange(-2, 3)
    polynomials = [np.polynomial.Polynomial.fit(s, column, 4) for column in path[k - 2 : k + 3].T]
    roots = polynomials[0].deriv().roots()
    at = roots[np.abs(roots).argmin()].real
    return [polynomial(at) for polynomial in polynomials]


def compare():
    """Each number as computed and as in its source."""
    turns = ends(roll_up, 10, [1, 2])
    numbers = {
        f"{k + 1} turn{'s' * k}: displacement {axis}": (turns[k, i], (-10.0, 0.0)[i])
        for k in range(2)
        for i, axis in enumerate("xy")
    }
    loads = np.array([*FOLLOWING]) / 1000
    found = extrapolated(lambda n: ends(following, n, loads), 40)
    for force, computed in zip(FOLLOWING, found, strict=True):
        for name, value, exact in zip(("along", "across", "turn"), computed[[0, 1, 3]], FOLLOWING[force], strict=True):
            numbers[f"force that follows, {force} N: {name}"] = value, exact
    found = extrapolated(lambda n: ends(helix, n, [*HELIX]), 100)
    for load, computed in zip(HELIX, found, strict=True):
        numbers[f"helix, load {load}: displacement z"] = computed[2], HELIX[load][2]
    model, beam = bend()
    for axis, computed, exact in zip(
        "xyz", extrapolated(lambda n: ends(bend, n, [1])[0, :3], 16) + beam.nodes[-1].position, BEND, strict=True
    ):
        numbers[f"bend: {axis} of the end"] = computed, exact
    for name, computed, exact in zip(("upper", "lower"), extrapolated(limits, 20), LIMITS, strict=True):
        for what, value, reference in zip(("load", "down", "across"), computed, exact, strict=True):
            numbers[f"Lee's frame, {name} limit: {what}"] = value, reference
    numbers["frame: linear buckling (N)"] = mbs.buckling(frame()[0]).factors[0], float(known("right-angle frame")[0])
    return numbers


CASES = {  # model, and how far the load goes
    "two turns": (roll_up, 2),
    "bend": (bend, 1),
    "force that follows": (following, 130),
    "frame that tips over": (lambda: frame(1e-3), 1.5),
}


def print_effort():
    """Steps and iterations: steps chosen, the fewest equal steps that do not fail or go elsewhere, and line search."""
    print(f"\n{'steps + failed ones, iterations':34}{'chosen':>16}{'equal':>16}{'line search':>16}")
    for name, (case, load_end) in CASES.items():
        chosen = mbs.statics(case()[0], load_end)
        searched = mbs.statics(case()[0], load_end, newton=mbs.Newton(line_search=True, max_iterations=15))
        cells = cost(chosen), equal_steps(case, load_end, chosen), cost(searched)
        print(f"{name:34}" + "".join(f"{cell:>16}" for cell in cells))


def cost(solution):
    iterations, failed = solution.stats.newton_iterations, solution.stats.failed_steps
    return f"{len(iterations)}{f' + {failed}' if failed else ''}, {iterations.sum()}"


def equal_steps(case, load_end, chosen):
    for count in (1, 2, 3, 5, 10, 20, 50, 100, 200):
        try:
            solution = mbs.statics(case()[0], load_end, step=load_end / count, max_steps=count)
        except mbs.ConvergenceError:
            continue
        if not solution.stats.failed_steps and np.allclose(solution.x[-1], chosen.x[-1], rtol=0, atol=1e-5):
            return cost(solution)
    return "none"


def draw_beams(panel, solution, beams, states, **style):
    for k in states:
        for beam in beams:
            panel.plot(*np.transpose([solution.position(node)[k, :2] for node in beam.nodes]), **style)
    panel.set_aspect("equal")


def figures(folder):
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
    panel = panels[0, 0]
    model, beam = roll_up(40)
    solution = mbs.statics(model, load_end=2, loads=np.linspace(0, 2, 9))
    draw_beams(panel, solution, [beam], range(9), color="C0")
    panel.set(title="two turns")

    panel = panels[0, 1]
    model, beam = following(40)
    solution = mbs.statics(model, load_end=130, step=2)
    u, exact = solution.displacement(beam.nodes[-1]), np.array([*FOLLOWING.values()])
    for i, name in enumerate(("along", "across")):
        panel.plot(solution.t, u[:, i], f"C{i}", label=name)
        panel.plot(np.array([*FOLLOWING]) / 1000, exact[:, i], "ko", ms=4)
    panel.set(title="a force that follows", xlabel="force in kN", ylabel="displacement of the end in m")
    panel.legend()

    panel = panels[0, 2]
    model, beam = helix()
    solution = mbs.statics(model, loads=np.linspace(0, 1, 301))
    panel.plot(solution.t, solution.displacement(beam.nodes[-1])[:, 2], "C0")
    panel.plot([*HELIX], [z for _, _, z in HELIX.values()], "ko", ms=4)
    panel.set(title="a helix", xlabel="load factor", ylabel="displacement out of the plane in m")

    model, beams = lee()
    solution = mbs.statics(model, load_end=20, arc_length=True, step=0.05)
    u = solution.displacement(beams[1].nodes[-1])
    panel = panels[1, 0]
    panel.plot(-u[:, 1], solution.t, "C0", label="down")
    panel.plot(u[:, 0], solution.t, "C1", label="across")
    for load, down, across in LIMITS:
        panel.plot([down, across], [load, load], "ko", ms=4)
    panel.set(title="Lee's frame", xlabel="displacement under the load in m", ylabel="load in kN")
    panel.legend()
    limit = np.flatnonzero(np.diff(np.sign(np.diff(solution.t)))) + 1
    draw_beams(panels[1, 1], solution, beams, [0], color="0.7")
    draw_beams(panels[1, 1], solution, beams, [*limit, -1], color="C0")
    panels[1, 1].set(title="Lee's frame at its limits and at 20 kN")

    panel = panels[1, 2]
    for imperfection in (1e-2, 1e-3, 1e-6):
        model, arm = frame(imperfection)
        solution = mbs.statics(model, load_end=1.5, arc_length=True)
        panel.plot(1000 * solution.displacement(arm.nodes[-1])[:, 1], solution.t, label=f"load across {imperfection:g}")
    panel.axhline(mbs.buckling(frame()[0]).factors[0], color="k", ls="--", lw=1, label="linear buckling")
    panel.set(title="a frame that tips over", xlabel="displacement across in mm", ylabel="load in N")
    panel.legend(loc="lower right")

    for panel in panels.ravel():
        panel.grid(alpha=0.3)
    fig.savefig(f"{folder}/statics.png", dpi=120)


def write(path):
    """Lee's frame, the helix, and how the frame tips over."""
    folder = Path(path).parent
    mbs.statics(lee()[0], load_end=20, arc_length=True, step=0.05).to_paraview(folder / "lee")
    mbs.statics(helix()[0], loads=np.linspace(0, 1, 101)).to_paraview(folder / "helix")
    mbs.buckling(frame()[0], 2).to_paraview(folder / "frame")


main = command_of(__file__, compare, figures, write, print_effort)

if __name__ == "__main__":
    logging.getLogger("fem_mbs").setLevel(logging.ERROR)  # the frame passes equilibria that are not stable
    main()
