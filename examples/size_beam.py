r"""A boom sized for its peak stress.

An aluminium tube of 2 m swings a load through a quarter turn, in the horizontal. How thick has it to be so that its
peak stress stays below 60 MPa in 95 of 100 moves? Load, time of the move and angle differ from move to move: a Sobol
sequence of `scipy.stats.qmc` draws eight of them (a study would take more), {py:func}`mbs.sweep` runs them, side by
side where it gets an executor, and `scipy.optimize.brentq` turns the radius until the 95 % quantile of the peaks is
what is allowed.

A boom that was rigid would have the root moment $(mL^2 + \tfrac13\rho A L^3)\,\max|\ddot\varphi|$: the law of the move
says the largest acceleration. The peaks are 20 to 40 % above that, because the boom swings.
"""

import numpy as np
from _run import main_of, panels
from scipy.optimize import brentq
from scipy.stats import qmc

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, PointMass, PointToPoint, RevoluteJoint

ALLOWED, SHARE, LENGTH, THIN = 60e6, 0.95, 2.0, 0.9  # Pa, of all moves, m, inner over outer radius
LOWER, UPPER = {"load": 5.0, "duration": 0.5, "angle": 1.2}, {"load": 15.0, "duration": 0.8, "angle": 1.6}


def tube(radius):
    return BeamSection.tube(outer_radius=radius, inner_radius=THIN * radius, E=70e9, nu=0.33, rho=2700)


def build(radius, load, duration, angle, elements=1):
    model = mbs.Model()
    boom = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), tube(radius), elements, order=3, name="boom")
    move = PointToPoint(0.0, angle, duration=duration)
    model.add(RevoluteJoint(model.ground, boom.nodes[0], axis=(0, 0, 1), drive=move), name="hub")
    model.add(PointMass(boom.nodes[-1], load))
    return model, boom, move


def stresses(solution, boom, radius):
    """Largest normal stress of the root in Pa over time, by its axial force and its bending moment."""
    N, _, _, _, My, Mz = solution.section_forces(boom)[:, 0].T
    area, second = np.pi * radius**2 * (1 - THIN**2), np.pi / 4 * radius**4 * (1 - THIN**4)
    return np.abs(N) / area + np.hypot(My, Mz) * radius / second


def peak(radius, load, duration, angle, elements=1, steps=40):
    """Peak of the stress in Pa, and what it would be by the root moment of a rigid boom."""
    model, boom, move = build(radius, load, duration, angle, elements)
    solution = mbs.simulate(model, 1.2 * duration, 1.2 * duration / steps)
    fastest = max(abs(move.acceleration(t)) for t in solution.t)
    moment = (load * LENGTH**2 + tube(radius).mass * LENGTH**3 / 3) * fastest
    rigid = moment * radius / (np.pi / 4 * radius**4 * (1 - THIN**4))
    return {"stress": stresses(solution, boom, radius).max(), "rigid": rigid}


def moves(radius, executor=None, count=8):
    """Rows of random moves of a boom."""
    points = qmc.scale(qmc.Sobol(len(LOWER), seed=1).random(count), [*LOWER.values()], [*UPPER.values()])
    return mbs.sweep(peak, [{"radius": radius, **dict(zip(LOWER, point, strict=True))} for point in points], executor)


def run(executor=None):
    def excess(radius):
        return np.quantile([row["stress"] for row in moves(radius, executor)], SHARE) / ALLOWED - 1

    radius = brentq(excess, 0.04, 0.06, xtol=1e-5)
    rows = moves(radius, executor)
    worst = {name: max(rows, key=lambda row: row["stress"])[name] for name in LOWER}
    model, boom, _ = build(radius, **worst)
    return mbs.simulate(model, 1.5 * worst["duration"], 0.005), boom, radius, rows, worst


def compare(solution, boom, radius, rows, worst):
    fine = peak(radius, **worst, elements=4, steps=240)["stress"]
    return {
        f"quantile of the peaks, radius {1e3 * radius:.1f} mm (MPa)": (
            1e-6 * np.quantile([row["stress"] for row in rows], SHARE),
            1e-6 * ALLOWED,
        ),
        "largest of the peaks, beside a finer run (MPa)": (1e-6 * max(row["stress"] for row in rows), 1e-6 * fine),
    }


def figure(solution, boom, radius, rows, worst, file):
    peaks, rigid = (1e-6 * np.array([row[name] for row in rows]) for name in ("stress", "rigid"))
    stress = ("worst move", solution.t, 1e-6 * stresses(solution, boom, radius))
    equal = ("as rigid", np.sort(rigid), np.sort(rigid), "k:")
    panels(
        file,
        ("time (s)", "stress at the root (MPa)", stress),
        ("peak if the boom was rigid (MPa)", "peak (MPa)", ("moves", rigid, peaks, "o"), equal),
    )


main = main_of(__file__, run, compare, figure)
if __name__ == "__main__":
    main()
