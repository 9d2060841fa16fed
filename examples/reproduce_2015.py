r"""Figures of two papers on starting values and hidden constraints.

*A Lie algebra approach to Lie group time integration of constrained systems* (Arnold, Cardona, Brüls, Report 01/2015 of
the University of Halle; here [A]) and *Order reduction in time integration caused by velocity projection* (the same
authors, 2015; here [B]). The page [Reproduced from the papers](/reproduced.md) has the figures and our numbers
beside theirs.

The experiments are runs of the [heavy top](heavy_top.md), of a mathematical pendulum in Cartesian coordinates and of
the test $q = t^3/6$. For the last two the script has a constraint of its own, quadratic in the position of a node. A
hand-written loop over the steps of the method lets it choose starting values and project velocities.

`python examples/reproduce_2015.py` prints the numbers in some ten seconds; `--study` adds errors and orders over all
steps, and `--plot` writes the figures into `out/`: some three minutes each, four for both.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from _amplification import error_constants, power_norms
from _run import command_of, draw_panels
from numpy.polynomial import Polynomial
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.alpha.newmark import chung_hulbert
from fem_mbs.benchmarks import tops
from fem_mbs.contracts import Constraint, ConstraintBatch, Rates, node_rows
from fem_mbs.elements import PointMass
from fem_mbs.initial.consistent_start import constraint_correction
from fem_mbs.lie import so3
from fem_mbs.run.convergence import fitted_order

GROUPS = ("R3xSO3", "SE3")
STUDY = 4e-3 / 2.0 ** np.arange(6)
"""Steps of the papers in s."""
C, G = np.array(tops.CENTER), np.array([0, 0, -tops.GRAVITY])
PROJECTION = 0.7
NEWTON = mbs.Newton(force_tolerance=1e-10, constraint_tolerance=1e-14)
"""The figures look below the tolerances that suffice for a run."""


# A constraint on the position of one node


class Quadratic(Constraint):
    """``x.A x/2 + b.x = s(t)`` for the position x of a node; ``s`` is a polynomial."""

    equations = ("quadratic",)

    def __init__(self, node, A, b, s):
        self.nodes = (node,)
        self.A, self.b, self.s = np.asarray(A, dtype=float), np.asarray(b, dtype=float), Polynomial(s)

    @classmethod
    def batch(cls, constraints, number):
        return QuadraticBatch(constraints, number)


class QuadraticBatch(ConstraintBatch):
    """All of them, in body components: the gradient against ``x`` is ``R^T (A x + b)``."""

    def __init__(self, constraints, number):
        self.owners = constraints
        self.nodes = node_rows(constraints, number)
        self.cell = np.arange(len(constraints))
        self.length = np.zeros(len(constraints), dtype=bool)
        self.A, self.b = (np.array([getattr(own, name) for own in constraints]) for name in "Ab")

    def at(self, t):
        return np.array([[own.s.deriv(k)(t) if k else own.s(t) for own in self.owners] for k in range(3)])

    def evaluate(self, motion, prescribed):
        x, R = motion.x[self.nodes[:, 0]], motion.R[self.nodes[:, 0]]
        Ax = np.matvec(self.A, x)
        g = np.vecmat(Ax + self.b, R)
        phi = np.vecdot(0.5 * Ax + self.b, x) - prescribed[0]
        return phi, np.concatenate([g, np.zeros_like(g)], axis=-1), (g, R.mT @ self.A @ R, prescribed)

    def second(self, context):
        g, A, _ = context
        H = np.zeros((len(g), 6, 6))
        H[:, :3, :3], H[:, :3, 3:] = A, so3.skew(g)
        return H

    def rates(self, context):
        _, rate, acceleration = context[2]
        return Rates(-rate, np.zeros((len(rate), 6)), -acceleration)


# Models


def particle(x, v, constraint, gravity=(0, 0, 0)):
    """A mass of 1 on a node that does not turn, with one :class:`Quadratic` constraint."""
    model = mbs.Model(gravity=gravity)
    node = model.add_node(x, velocity=v, name="mass")
    model.fix(node, translation=False, rotation=True)
    model.add(PointMass(node, mass=1.0))
    model.add(Quadratic(node, *constraint), name="curve")
    return model


def rheonomic():
    """``q = t^3/6``, whose multiplier is ``-t``."""
    return particle((0, 0, 0), (0, 0, 0), (np.zeros((3, 3)), (1, 0, 0), (0, 0, 0, 1 / 6)))


def pendulum(x0):
    """Pendulum of length 1 with the energy ``1/2 - g``, ``(x^2 + y^2)/2 = 1/2``."""
    y0 = -np.sqrt(1 - x0**2)
    speed = np.sqrt(1 + 2 * G[2] * (1 + y0))
    return particle((x0, y0, 0), (-speed * y0, speed * x0, 0), (np.diag([1, 1, 0]), (0, 0, 0), (0.5,)), (0, G[2], 0))


def pendulum_multiplier(x0, times):
    """Exact multiplier ``v^2 - g y`` up to sign: the force in the string per length."""
    speed = np.sqrt(1 + 2 * G[2] * (1 - np.sqrt(1 - x0**2)))
    run = solve_ivp(
        lambda t, y: [y[1], G[2] * np.sin(y[0])],
        (0, times[-1]),
        [np.arcsin(x0), speed],
        "DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    )
    angle, rate = run.y
    return rate**2 - G[2] * np.cos(angle)


# Runs


@cache
def top_exact(h, t_end):
    """Exact motion of the top at all steps."""
    return tops.exact(h * np.arange(round(t_end / h) + 1))


def method(formulation="index3", rho=0.9):
    return mbs.GeneralizedAlpha(rho, formulation, newton=NEWTON)


def begin(system, h, kind, rho=0.9):
    """State and memory: ``consistent``; ``shifted``, which perturbs ``a_0`` alone; ``perturbed``, ``v_0`` as well."""
    choice = {"consistent": ("index3", "consistent"), "shifted": ("index2", "perturbed")}
    formulation, start = choice.get(kind, ("index3", "perturbed"))
    state = mbs.start(system)
    return state, mbs.GeneralizedAlpha(rho, formulation, start).init(system, state, h)


def march(system, state, memory, h, count, method, project_at=None):
    """States of ``count`` steps and ``eta`` of each; the velocity is projected once, at the end of ``project_at``."""
    states, eta = [state], []
    for n in range(1, count + 1):
        state, memory, *_ = method.step(system, state, h, memory)
        if n == project_at:
            rate = constraint_correction(system, state, state.v.ravel())
            state = replace(state, v=state.v - system.nodes_of(rate))
        states.append(state)
        eta.append(np.zeros(system.m) if memory.eta is None else memory.eta)
    return states, np.array(eta)


def multipliers(model, h, count, kind="shifted", rho=0.9):
    """Multiplier ``(count + 1,)`` of a model with one constraint."""
    system = mbs.System(model)
    states, _ = march(system, *begin(system, h, kind, rho), h, count, method(rho=rho))
    return np.array([state.multipliers[0] for state in states])


@cache
def run_top(group, h, t_end, formulation="index3", kind="consistent", project=False):
    """Residuals of the constraints, forces of the joint and relative errors over time.

    [A] has constraints and multipliers in the body frame on either group, [B] in the world frame (``world_``).
    """
    system = mbs.System(tops.top_on_joint(group))
    at = round(PROJECTION / h) if project else None
    kind = "shifted" if (formulation, kind) == ("index2", "perturbed") else kind
    states, eta = march(system, *begin(system, h, kind), h, round(t_end / h), method(formulation), at)
    exact = top_exact(h, t_end)
    x, R, v, world = (
        np.array([state.x[1] for state in states]),
        np.array([state.R[1] for state in states]),
        np.array([state.v[1] for state in states]),
        -np.array([state.multipliers for state in states]),  # the joint measures in the frame of the ground
    )
    speed = exact.velocity if group == "R3xSO3" else np.cross(exact.Omega, C)
    v_exact = np.concatenate([speed, exact.Omega], axis=-1)
    U = np.vecmat(v[:, :3], R) if group == "R3xSO3" else v[:, :3]
    q_error = np.sqrt(((x - exact.x) ** 2).sum(-1) + ((R - exact.R) ** 2).sum((-1, -2)))
    Bv = U - np.cross(v[:, 3:], C)
    force, exact_force = np.vecmat(world, R), np.vecmat(exact.force, exact.R)
    size = np.linalg.norm(force, axis=-1)
    return SimpleNamespace(
        t=exact.t,
        force=force,
        world=world,
        eta=np.vecmat(eta, R[:-1]),  # pushes at the start of the step
        phi=np.linalg.norm(x - R @ C, axis=-1),
        Bv=Bv,
        world_Bv=np.matvec(R, Bv),
        q=q_error / 2.0,  # |x|^2 + |R|^2 = 1 + 3
        v=np.linalg.norm(v - v_exact, axis=-1) / np.linalg.norm(v, axis=-1),
        force_error=(exact_force - force) / size[:, None],
        multiplier=np.linalg.norm(exact_force - force, axis=-1) / size,
        world_multiplier=np.linalg.norm(exact.force - world, axis=-1) / size,
    )


def largest(run, name, since=0.0, until=np.inf):
    """Largest relative error of a component after and before an instant."""
    return getattr(run, name)[(run.t >= since - 1e-9) & (run.t < until)].max()


CASES = {  # figures of [A], left and right: group, formulation, start
    "Figs. 6, 8, 21 left": ("R3xSO3", "index3", "consistent"),
    "Figs. 6, 8 right": ("SE3", "index3", "consistent"),
    "Fig. 21 right": ("R3xSO3", "index3", "perturbed"),
    "Fig. 11 left": ("R3xSO3", "index2", "consistent"),
    "Fig. 11 right": ("SE3", "index2", "consistent"),
    "no figure": ("R3xSO3", "index2", "perturbed"),
}


def study(case, steps=STUDY):
    """Errors of q, v, multiplier over [0, 1] and over [0.5, 1] for each step, ``(6, steps)``."""
    group, formulation, kind = CASES[case]
    runs = [run_top(group, h, 1.0, formulation, kind) for h in steps]
    return np.array([[largest(run, name, t) for run in runs] for t in (0, 0.5) for name in ("q", "v", "multiplier")])


def projection_study(steps=STUDY[1:]):
    """Errors of the multiplier before and after the projection of [B], Fig. 2."""
    runs = [run_top("R3xSO3", h, 1.0, kind="perturbed", project=True) for h in steps]
    return np.array([[largest(run, "world_multiplier", *span) for run in runs] for span in ((0, PROJECTION), (0,))])


# Numbers


def compare():
    """Each number as computed and as in the papers; the step of the top is 1 ms."""
    numbers = {}
    for rho, n, norm in ((0.6, 3, 7.4), (0.9, 14, 34.3)):
        norms = power_norms(chung_hulbert(rho), 100)
        numbers[f"largest |T^n|, rho = {rho}"] = norms.max(), norm
        numbers[f"largest |T^n| at n, rho = {rho}"] = norms.argmax(), n
    for rho, n, value in ((0.6, 3, 6.8), (0.9, 15, 31.9), (0.99, 161, 334.3)):
        constants = error_constants(chung_hulbert(rho), 1000)
        sizes = np.abs(constants)
        numbers[f"largest |c_n/C_q|, rho = {rho}"] = sizes.max() / abs(chung_hulbert(rho).C_q), value
        numbers[f"largest |c_n|, rho = {rho}"] = sizes.max(), np.nan
        numbers[f"largest |c_n| at n, rho = {rho}"] = sizes.argmax(), n
        h, steps = 1e-2, np.arange(201)
        error = (-h * steps - multipliers(rheonomic(), h, 200, rho=rho)) / h
        numbers[f"q = t^3/6: |e_n/h - c_n|, rho = {rho}"] = np.abs(error - constants[:201]).max(), 0.0
    for h, amplitude in ((2e-2, 2.48e-1), (1e-2, 1.23e-1)):
        numbers[f"pendulum: error of lambda, h = {h:g} s"] = np.abs(pendulum_error(0.2, h)[1]).max(), amplitude
    numbers["index 2: transient of lambda/h"] = index2_transient(1e-3), 0.64
    for (group, formulation), level in LEVELS.items():
        run = run_top(group, 1e-3, 1.0, formulation)
        numbers[f"{formulation} on {group}: |Phi|"] = run.phi.max(), 1e-10
        numbers[f"{formulation} on {group}: |B v|"] = np.linalg.norm(run.Bv, axis=-1).max(), level
    last = run_top("R3xSO3", 1e-3, 1.0, "index2")
    amplitudes = [np.abs(run_top("R3xSO3", h, 1.0, "index2").eta).max() for h in (1e-3, 5e-4)]
    numbers["index 2: ratio of eta"] = amplitudes[0] / amplitudes[1], 4.0
    numbers["index 2: error of lambda/h^2"] = last.multiplier.max() / 1e-6, 3.0e3
    coarse, fine = (run_top("R3xSO3", h, 1.0, kind="perturbed", project=True) for h in (1e-3, 5e-4))
    before = [np.abs(run.world_Bv[run.t < PROJECTION - 1e-9, 0]).max() for run in (coarse, fine)]
    numbers["projection: ratio of B v before it"] = before[0] / before[1], 4.0
    numbers["projection: steps until it is forgotten"] = memory(1e-3), 100
    return numbers


LEVELS = {  # largest |B v| as the paper reads it from Figs. 10 and 15
    ("R3xSO3", "index3"): 0.025,
    ("SE3", "index3"): 1e-10,
    ("R3xSO3", "index2"): 2e-9,
    ("SE3", "index2"): 2e-15,
}


def pendulum_error(x0, h, t_end=2.0):
    """Times and errors of the multiplier, [A] Fig. 5."""
    count = round(t_end / h)
    times = h * np.arange(count + 1)
    return times, pendulum_multiplier(x0, times) - multipliers(pendulum(x0), h, count)


def index2_transient(h):
    """Part of the relative error of lambda_1 that a shifted ``a_0`` takes away, over ``h``."""
    runs = [run_top("R3xSO3", h, 0.1, "index2", kind) for kind in ("consistent", "shifted")]
    return np.abs(runs[0].force_error - runs[1].force_error)[:, 0].max() / h


def memory(h):
    """Steps after the projection in which it changes the multipliers by more than a hundredth of its largest change."""
    with_, without = (run_top("R3xSO3", h, 1.0, kind="perturbed", project=choice) for choice in (True, False))
    change = np.linalg.norm(with_.world - without.world, axis=-1)
    return np.flatnonzero(change > 0.01 * change.max())[-1] - round(PROJECTION / h)


def print_study():
    """Errors over the steps and the order of the four smallest."""
    print(f"\n{'largest relative error for h in ms:':50}" + "".join(f"{1e3 * h:>10g}" for h in STUDY) + "  order")
    for case, (group, formulation, kind) in CASES.items():
        names = [f"{name}, t >= {t}" for t in ("0", "0.5") for name in ("q", "v", "lambda")]
        for name, errors in zip(names, study(case), strict=True):
            row = f"{group}, {formulation}, {kind}: {name}"
            print(f"{row:50}" + "".join(f"{e:10.2e}" for e in errors) + f"{fitted_order(STUDY[2:], errors[2:]):7.2f}")
    for name, errors in zip(("before", "over all"), projection_study(), strict=True):
        row = f"velocity projection: lambda, {name}"
        print(f"{row:60}" + "".join(f"{e:10.2e}" for e in errors) + f"{fitted_order(STUDY[2:], errors[1:]):7.2f}")


# Figures


def draw_linear(panels):
    """[A] eq. 53 and Fig. 5."""
    powers, constants, rheonom, coarse, fine = panels[:5]
    for rho in (0.6, 0.9, 0.99):
        n, parameters = np.arange(401), chung_hulbert(rho)
        powers.loglog(n[1:], power_norms(parameters, 400)[1:], label=rf"$\rho_\infty = {rho}$")
        constants.plot(n[:61], error_constants(parameters, 60), ".-", ms=3, lw=0.6)
    powers.set(title=r"$\|T_\infty^n\|_2$", xlabel="n", ylim=(1e-3, 1e3))
    powers.legend()
    constants.set(title="$c_n$ (eq. 53)", xlabel="n", ylim=(-6, 6))
    for h, mark in ((1e-2, "o"), (1e-3, "x")):
        rheonom.plot((-h * np.arange(61) - multipliers(rheonomic(), h, 60)) / h, mark, ms=4, label=f"h = {h:g}")
    rheonom.plot(error_constants(chung_hulbert(0.9), 60), "k", lw=0.6, label="$c_n$")
    rheonom.set(title=r"$q = t^3/6$: $e^\lambda_n/h$, $\rho_\infty = 0.9$", xlabel="n")
    rheonom.legend()
    for panel, h in ((coarse, 2e-2), (fine, 1e-2)):
        for x0, mark in ((0.0, "."), (0.2, "+")):
            panel.plot(*pendulum_error(x0, h), mark, ms=4, label=f"$x_0 = {x0:g}$")
        panel.set(title=rf"Fig. 5: $e^\lambda$ of the pendulum, h = {h:g}", xlabel="t (s)", ylim=(-0.3, 0.3))
        panel.legend()


def draw_orders(panels):
    """[A] Figs. 6, 8, 11, 21 and [B] Fig. 2, right."""
    spans = [(case, since) for case in CASES for since in ((0, 0.5) if "8" in case else (0,))]
    for panel, (case, since) in zip(panels, spans, strict=False):
        errors = study(case)[3 * bool(since) :][:3]
        for name, error in zip(("q", "v", r"\lambda"), errors, strict=True):
            label = f"${name}$, order {fitted_order(STUDY[2:], error[2:]):.2f}"
            panel.loglog(1e3 * STUDY, error, "o-", ms=3, label=label)
        group, formulation, kind = CASES[case]
        panel.set(title=f"[A] {case}: {group}, {formulation},\n{kind} start, t in [{since}, 1]")
    before, all_ = projection_study()
    for errors, line, span in ((all_, "o-", "[0, 1]"), (before, "o--", "[0, 0.7]")):
        label = rf"$\lambda$, {span}, order {fitted_order(STUDY[2:], errors[1:]):.2f}"
        panels[8].loglog(1e3 * STUDY[1:], errors, line, ms=3, label=label)
    panels[8].set(title="[B] Fig. 2: velocity projected\nat 0.7 s, R3xSO3, index3")
    for panel in panels:
        panel.set(xlabel="h (ms)", ylabel="relative error", ylim=(1e-6, 3))
        panel.set_xticks(1e3 * STUDY, [f"{1e3 * h:g}" for h in STUDY])
        panel.minorticks_off()
        panel.legend()


def draw_transients(panels):
    """[A] Figs. 7, 12, 13, 14, 16, 17, 18, 20 and [B] Fig. 2, left."""
    for panel, h in zip(panels, (1e-3, 5e-4), strict=False):
        for kind, style in (("consistent", "-"), ("perturbed", "-")):
            run = run_top("R3xSO3", h, 0.1, "index3", kind)
            panel.plot(run.t, run.force[:, 0], style, lw=0.8, label=f"R3xSO3, {kind}")
        run = run_top("SE3", h, 0.1)
        panel.plot(run.t, run.force[:, 0], "k--", lw=0.8, label="SE3, consistent")
        panel.set(title=rf"Figs. 7, 20: $\lambda_1$ (N), index3, h = {1e3 * h:g} ms")
        panel.set_ylim(-800, 500)
        panel.legend(loc="lower right")
    run = run_top("R3xSO3", 1e-3, 0.1, "index2")
    panels[2].plot(run.t, run.force, lw=0.8, label=[rf"$\lambda_{i}$" for i in (1, 2, 3)])
    panels[2].set(title=r"Fig. 12: $\lambda$ (N), index2, consistent, h = 1 ms")
    panels[2].set_ylim(-800, 500)
    panels[2].legend(loc="lower right", ncols=3)
    rows = (
        ("Figs. 13, 16", "index2", "consistent", 1e-3),
        ("Fig. 13", "index2", "consistent", 5e-4),
        ("Fig. 16", "index2", "shifted", 1e-3),
        ("Fig. 17", "index3", "consistent", 1e-3),
        ("Fig. 17", "index3", "shifted", 1e-3),
        ("Fig. 18", "index3", "perturbed", 1e-3),
        ("Fig. 18", "index3", "perturbed", 5e-4),
    )
    for panel, (figure, formulation, kind, h) in zip(panels[3:], rows, strict=False):
        run = run_top("R3xSO3", h, 0.1, formulation, kind)
        panel.plot(run.t, run.force_error[:, 0], lw=0.8)
        panel.set(title=rf"{figure}: $e^{{\lambda_1}}/\|\lambda\|$," f"\n{formulation}, {kind}, h = {1e3 * h:g} ms")
    for project in (True, False):
        run = run_top("R3xSO3", 1e-3, 1.0, kind="perturbed", project=project)
        panels[10].plot(run.t, run.world, lw=0.8, color="C0" if project else "k", alpha=1 if project else 0.5)
    panels[10].set(title=r"[B] Fig. 2: $\lambda$ (N), h = 1 ms," "\nprojected (blue) and not (grey)", xlim=(0.65, 0.8))
    for h, style in ((1e-3, "-"), (5e-4, "--")):
        run = run_top("R3xSO3", h, 1.0, "index2")
        panels[11].plot(run.t[1:], run.eta, style, lw=0.5, color="C0" if h == 1e-3 else "C1")
    panels[11].set(title=r"Fig. 14: $\eta$ (m/s), index2, h = 1 ms" "\nand 0.5 ms (dashed)")
    for panel in panels:
        panel.set_xlabel("t (s)")


def draw_residuals(panels):
    """[A] Figs. 9, 10, 15, 19 and [B] Fig. 1."""
    rows = [
        (figure, name, group, formulation, "consistent")
        for figure, name, formulation in (("9", "phi", "index3"), ("10", "Bv", "index3"), ("15", "Bv", "index2"))
        for group in GROUPS
    ]
    rows.append(("19 right", "Bv", "R3xSO3", "index3", "perturbed"))
    for panel, (figure, name, group, formulation, kind) in zip(panels, rows, strict=False):
        run = run_top(group, 1e-3, 1.0, formulation, kind)
        panel.plot(run.t, getattr(run, name), lw=0.5)
        symbol = r"$\|\Phi\|$ (m)" if name == "phi" else "$Bv$ (m/s)"
        panel.set(title=f"Fig. {figure}: {symbol}, {group},\n{formulation}, {kind}, h = 1 ms")
    for panel, h in zip(panels[7:], (1e-3, 5e-4), strict=False):
        run = run_top("R3xSO3", h, 1.0, kind="perturbed", project=True)
        panel.plot(run.t, run.world_Bv[:, 0], lw=0.5)
        panel.set(title=f"[B] Fig. 1: $(Bv)_1$ (m/s), index3,\nprojected at 0.7 s, h = {1e3 * h:g} ms")
    for panel in panels:
        panel.set_xlabel("t (s)")


DRAWINGS = {
    "linear": (draw_linear, (2, 3)),
    "orders": (draw_orders, (3, 3)),
    "transients": (draw_transients, (3, 4)),
    "residuals": (draw_residuals, (3, 3)),
}


def figures(folder):
    for name, (draw, (rows, columns)) in DRAWINGS.items():
        draw_panels(Path(folder) / f"reproduced_{name}.png", draw, rows, columns, width=3.4)


def write(path):
    mbs.simulate(tops.top_on_joint(), 1.0, 1e-3).to_paraview(path, every=5)


main = command_of(__file__, compare, figures, write, print_study)

if __name__ == "__main__":
    main()
