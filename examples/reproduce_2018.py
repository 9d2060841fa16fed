r"""Euler methods on the group: a single and a double pendulum.

Figures 2 to 10 and Tables 1 and 2 of *Euler methods on Lie group for DAEs of multibody systems* (Advances in Mechanical
Engineering, 2018). The paper swings a single and a double pendulum in space by five forms of Euler's method:

| paper | `LieEuler` | constraints |
|---|---|---|
| DAE3-IEL | `form="index3"` | on positions |
| DAE2-IELS | `form="index2"` | on positions and velocities, with the multipliers of Gear, Gupta and Leimkuhler |
| DAE1-IELS | `form="index1"` | on accelerations |
| ODAE-IEL | `form="overdetermined"` | on all three levels |
| DAE2-SELS | `form="symplectic"` | on positions and velocities, of Hamilton's equations |

The page [Reproduced from the papers](/reproduced.md#euler-methods-on-the-group) has the figures and our numbers beside
the statements of the paper. It does not print the data of the pendulums in full; those here are our own, and so are the
exact motions, which two independent formulations in few coordinates gave: see `examples/_pendulums.py`.

`python examples/reproduce_2018.py` prints the numbers in some ten seconds; `--study` adds energies, orders and
constraints, and `--plot` writes the figures into `out/`: some two minutes each.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from _pendulums import EXACT, double, single
from _run import command_of, draw_panels

import fem_mbs as mbs
from fem_mbs.run.convergence import fitted_order
from fem_mbs.system import constraints

FORMS = {
    "DAE3-IEL": "index3",
    "DAE2-IELS": "index2",
    "DAE1-IELS": "index1",
    "ODAE-IEL": "overdetermined",
    "DAE2-SELS": "symplectic",
}
IMPLICIT = list(FORMS)[:4]
END = np.array([0, 0, 0.3])
"""From the mass centre to the end of the rod of the single pendulum, in the body."""
ENERGY_RUN = {"single": 10.0, "double": 1.0}
"""Ends in s of the runs of Tables 1 and 2, whose step we take as 1 ms."""
STEPS = 4e-3 / 2.0 ** np.arange(4)
"""Steps of the study in s."""
AFTER = 0.1
"""Time in s from which multipliers are compared: after the first step, whose multipliers of index 3 are wrong."""


# Runs


BUILD = {"single": single, "double": double}


@cache
def run(pendulum, name, h, t_end, group="R3xSO3", coordinates="first", samples=None):
    """Solution by a form of the paper, with states at ``samples`` equal distances where there are too many."""
    times = None if samples is None else np.linspace(0, t_end, samples + 1)
    method = mbs.LieEuler(FORMS[name], coordinates)
    return mbs.simulate(BUILD[pendulum](group), t_end, h, method, times=times)


@cache
def reference(pendulum, t_end=1.0):
    """What all forms converge to, by a method of order 2."""
    return mbs.simulate(BUILD[pendulum](), t_end, STEPS[-1] / 2, mbs.GeneralizedAlpha(0.9))


def centres(solution, t):
    """Mass centres (k, 3) at a time; the ground comes first."""
    return solution.x[np.argmin(np.abs(solution.t - t)), 1:]


def exact_error(pendulum):
    """Largest distance of our motion from the exact one: order 2, extrapolated from two steps."""
    coarse, fine = (mbs.simulate(BUILD[pendulum](), 1.0, h, mbs.GeneralizedAlpha(0.9)) for h in (2e-3, 1e-3))
    gaps = [
        (4 * centres(fine, t) - centres(coarse, t)) / 3 - exact
        for t, exact in zip((0.5, 1.0), EXACT[pendulum], strict=True)
    ]
    return np.abs(gaps).max()


def energy_change(solution):
    """What the last state has more than the first, in J."""
    total = solution.energy.total
    return total[-1] - total[0]


def vertical_momentum(solution):
    """Moment of momentum about the vertical through the pivot, ``(nt,)``."""
    total = 0.0
    for body in solution.system.elements:
        node = body.nodes[0]
        x, v = solution.position(node), solution.velocity(node)
        spin = np.matvec(solution.rotation(node), np.matvec(body.inertia, solution.angular_velocity(node)))
        total = total + (body.mass * np.cross(x, v) + spin)[:, 2]
    return total


@cache
def orders(pendulum, name):
    """Orders of positions, rotations, velocities and multipliers over a second."""
    model, method = BUILD[pendulum], mbs.LieEuler(FORMS[name])
    return mbs.convergence_study(model, method, STEPS, reference(pendulum), interval=(AFTER, 1.0))


def extrapolated(pendulum, name, h=1e-3):
    """Error of the mass centres after 1 s, and that of twice those of half the step less those of the step."""
    coarse, fine = (centres(run(pendulum, name, step, 1.0), 1.0) for step in (h, h / 2))
    exact = np.array(EXACT[pendulum][1])
    return np.abs(fine - exact).max(), np.abs(2 * fine - coarse - exact).max()


# Numbers


REPEATED = {  # single pendulum after 1 s with 10 ms, by another implementation of the same equations
    ("DAE3-IEL", "first"): (-0.26883645, 0.11872416, -0.06026223),
    ("DAE2-IELS", "first"): (-0.26934994, 0.11999493, -0.05524333),
    ("DAE1-IELS", "first"): (-0.26988120, 0.14280807, -0.02834330),
    ("ODAE-IEL", "first"): (-0.26983519, 0.11900659, -0.05501273),
    ("DAE2-SELS", "first"): (-0.27423697, 0.11764504, -0.03088254),
    ("DAE3-IEL", "second"): (-0.26744694, 0.12142959, -0.06104905),
    ("DAE2-IELS", "second"): (-0.26746615, 0.12380629, -0.05598090),
    ("DAE1-IELS", "second"): (-0.27128158, 0.13245683, -0.02393011),
    ("ODAE-IEL", "second"): (-0.26844097, 0.12190528, -0.05548465),
}
ENERGIES = {  # likewise, E(t_end) - E(0) in J with 1 ms
    "single": (-0.4003, -0.3298, -0.0508, -0.3271, 0.0044),
    "double": (-0.1734, -0.1211, -0.0065, -0.1169, 0.0057),
}


def compare():
    """Each number as computed and as it should be; nan where nothing is said."""
    numbers = {}
    for (name, coordinates), place in REPEATED.items():
        x = centres(run("single", name, 1e-2, 1.0, coordinates=coordinates), 1.0)[0]
        numbers[f"single, {name}, {coordinates} kind: off at 1 s (m)"] = np.abs(x - place).max(), 0.0
    for pendulum in BUILD:
        numbers[f"{pendulum}: our motion off the exact one (m)"] = exact_error(pendulum), 0.0
    for name, change in zip(FORMS, ENERGIES["double"], strict=True):
        solution = run("double", name, 1e-3, ENERGY_RUN["double"])
        numbers[f"double, {name}: change of energy in 1 s (J)"] = energy_change(solution), change
        numbers[f"double, {name}: largest gap of a joint (m)"] = gap(solution), np.nan
    momentum = vertical_momentum(run("double", "DAE2-SELS", 1e-3, 1.0))
    numbers["double, DAE2-SELS: change of vertical momentum (N m s)"] = np.abs(momentum - momentum[0]).max(), 0.0
    return numbers


def gap(solution):
    return solution.constraint_residual.position.max()


def print_study():
    for pendulum, table in (("single", 1), ("double", 2)):
        print(f"\nTable {table}: {pendulum} pendulum, 1 ms, {ENERGY_RUN[pendulum]:g} s")
        print(f"{'':12}{'E(end)-E(0)':>13}{'eps(H)':>11}{'delta(H)':>11}{'eps(Phi)':>11}{'Bv':>11}{'as given':>11}")
        for name, change in zip(FORMS, ENERGIES[pendulum], strict=True):
            solution = run(pendulum, name, 1e-3, ENERGY_RUN[pendulum])
            total, velocity = solution.energy.total, solution.constraint_residual.velocity.max()
            largest = np.abs(total - total[0]).max()
            errors = (largest, largest / total[0], gap(solution), velocity)
            shown = f"{energy_change(solution):13.4f}" + "".join(f"{e:11.2g}" for e in errors)
            print(f"{name:12}{shown}{change:11.4f}")
    for pendulum in BUILD:
        print(f"\nOrders, {pendulum} pendulum, {AFTER} to 1 s, h from 4 to 0.5 ms; errors at 1 s with 0.5 ms (m)")
        print(f"{'':12}{'x':>7}{'R':>7}{'v':>7}{'lambda':>8}{'error':>11}{'extrapolated':>14}")
        for name in FORMS:
            found = orders(pendulum, name).orders.values()
            plain, better = extrapolated(pendulum, name)
            print(f"{name:12}" + "".join(f"{p:7.2f}" for p in found) + f"{plain:12.2e}{better:14.2e}")
    print("\nLargest distance of the implicit forms from DAE3-IEL on SE(3), 10 ms, 1 s (m)")
    for pendulum in BUILD:
        runs = {name: run(pendulum, name, 1e-2, 1.0, "SE3").x for name in IMPLICIT}
        print(f"{pendulum:12}" + "".join(f"{np.abs(x - runs['DAE3-IEL']).max():12.2e}" for x in runs.values()))
    print("Errors at 0.8 s, 1 ms, SE(3) (m)")
    for pendulum in BUILD:
        print(f"{pendulum:12}" + "".join(f"{e:12.2e}" for e in errors_on_se3(pendulum)))


def errors_on_se3(pendulum):
    """Distance of all mass centres together from the exact ones at 0.8 s, with 1 ms, of all forms."""
    truth = centres(reference(pendulum), 0.8)
    found = (centres(run(pendulum, name, 1e-3, 0.8, "SE3"), 0.8) for name in FORMS)
    return [np.linalg.norm(x - truth) for x in found]


# Figures


def draw_motion(panels):
    """Figs. 2 and 3: index 3 with 0.1 ms."""
    solution = run("single", "DAE3-IEL", 1e-4, 2.0)
    node, pivot = solution.system.nodes[1], solution.system.constraint_owner[0][0]
    end = solution.position(node) + np.matvec(solution.rotation(node), END)
    path, centre, multipliers, energy, constraints = panels
    path.plot(end[:, 0], end[:, 1], label="seen from above")
    path.plot(end[:, 0], end[:, 2], label="seen from the side, z up")
    path.set(title="path of the free end (m)", xlabel="x (m)", aspect="equal")
    centre.plot(solution.t, solution.position(node), label=["x", "y", "z"])
    centre.set(title="mass centre (m)")
    multipliers.plot(solution.t, solution.multipliers(pivot), label=[r"$\lambda_1$", r"$\lambda_2$", r"$\lambda_3$"])
    multipliers.set(title="multipliers (N)")
    for part in ("kinetic", "gravity", "total"):
        energy.plot(solution.t, getattr(solution.energy, part), label="potential" if part == "gravity" else part)
    energy.set(title="energies (J)")
    constraints.plot(solution.t, phi(solution), lw=0.5, label=[r"$\Phi_1$", r"$\Phi_2$", r"$\Phi_3$"])
    constraints.set(title="constraints (m)")


def phi(solution):
    """Constraints (nt, m), by the equations of the model."""
    system = solution.system
    states = map(solution.state, range(len(solution.t)))
    return np.array([constraints.positions(system, system.motion(state)) for state in states])


def draw_orders(panels):
    """Fig. 4, and the same of the other forms."""
    for panel, pendulum in zip(panels, BUILD, strict=True):
        for name, style in zip(FORMS, "os^vD", strict=True):
            errors = orders(pendulum, name).errors["position"]
            panel.loglog(1e3 * STEPS, errors, f"{style}-", ms=4, label=f"{name}, {fitted_order(STEPS, errors):.2f}")
        panel.set(title=f"{pendulum}: largest error of a mass centre (m)", xlabel="h (ms)")
        panel.set_xticks(1e3 * STEPS, [f"{1e3 * h:g}" for h in STEPS])
        panel.minorticks_off()


def draw_rotations(panels):
    """Figs. 5 and 8: the entries of R of the last body, and its orthogonality."""
    for k, (pendulum, t_end, h) in enumerate((("single", 2.0, 1e-4), ("double", 1.0, 1e-3))):
        entries, orthogonality = panels[2 * k : 2 * k + 2]
        solution = run(pendulum, "DAE3-IEL", h, t_end)
        R = solution.R[:, -1]
        entries.plot(solution.t, R.reshape(-1, 9), lw=1)
        entries.set(title=f"{pendulum}: nine entries of R")
        orthogonality.semilogy(solution.t, np.linalg.norm(R.mT @ R - np.eye(3), axis=(1, 2)) + 1e-18, lw=0.7)
        orthogonality.set(title=f"{pendulum}: $\\Vert R^TR - I\\Vert$", ylim=(1e-17, 1e-11))


def draw_forms(panels):
    """Figs. 6, 9 and the first tenth of 10: total energy and third constraint of all forms."""
    cases = (("single", 1e-3, 2.0, None), ("double", 1e-3, 1.0, None), ("double", 1e-5, 0.1, 500))
    for k, (pendulum, h, t_end, samples) in enumerate(cases):
        energy, constraint = panels[2 * k : 2 * k + 2]
        for name, style in zip(FORMS, ("C0", "C1", "C2", "C3--", "C4"), strict=True):
            solution = run(pendulum, name, h, t_end, samples=samples)
            total = solution.energy.total
            energy.plot(solution.t, total - total[0], style, label=name)
            # what is rounding, and what changes its sign, is drawn by its size
            constraint.semilogy(solution.t, np.abs(phi(solution)[:, 2]) + 1e-18, style, lw=0.8)
        energy.set(title=f"{pendulum}, h = {1e3 * h:g} ms: E(t) - E(0) (J)")
        constraint.set(title=f"{pendulum}, h = {1e3 * h:g} ms: $|\\Phi_3|$ (m)", ylim=(1e-19, 1))


DRAWINGS = {
    "motion": (draw_motion, (1, 5)),
    "orders": (draw_orders, (1, 2)),
    "rotations": (draw_rotations, (1, 4)),
    "forms": (draw_forms, (3, 2)),
}


def figures(folder):
    for name, (draw, (rows, columns)) in DRAWINGS.items():
        file = Path(folder) / f"reproduced_2018_{name}.png"
        draw_panels(file, draw, rows, columns, width=5.0 if columns == 2 else 3.2)


def write(path):
    """The double pendulum."""
    run("double", "DAE2-SELS", 1e-3, 1.0).to_paraview(path, every=10)


main = command_of(__file__, compare, figures, write, print_study)

if __name__ == "__main__":
    main()
