"""What is run: systems, formulations, steps; and what each run gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.benchmarks import linkages, puma, rotors, tops

from . import flexible, minimal


class Benchmark(NamedTuple):
    """A system: what builds it on a group, what it should have at the end, and which of its numbers are compared."""

    build: Callable[[str], tuple[mbs.Model, Callable[[mbs.Solution], np.ndarray]]]
    t_end: float
    exact: Callable[[], np.ndarray]
    compared: slice = slice(None)


class Run(NamedTuple):
    """Error at the end, Newton iterations a step, and CPU seconds; nan where steps fail."""

    step: float
    error: float
    iterations: float
    seconds: float


ROTOR_END = 0.25


@cache
def exact_top(t):
    return tops.exact(np.array([0.0, t])).x[-1]


@cache
def exact_rotor():
    """The left end of the shaft, of eighth order in x, R and their rates."""
    J = np.array([rotors.POLAR, rotors.ACROSS, rotors.ACROSS])
    points = np.array([place for place, _ in rotors.SUPPORTS])
    anchors = points + rotors.ANCHOR * np.array([way for _, way in rotors.SUPPORTS])
    applied = np.array([0, 0, (rotors.LENGTH / 2 - rotors.LEFT) * rotors.MASS * rotors.GRAVITY])

    def rates(_, y):
        center, speed, R, turning = y[:3], y[3:6], y[6:15].reshape(3, 3), y[15:]
        arms = (points - rotors.UNBALANCE) @ R.T
        lines = anchors - center - arms
        length = np.linalg.norm(lines, axis=1)
        along = lines / length[:, None]
        moving = speed + np.cross(R @ turning, arms)
        pull = rotors.STIFFNESS * (length - rotors.ANCHOR) - rotors.DAMPING * np.vecdot(along, moving)
        forces = pull[:, None] * along
        moment = (applied + np.cross(arms, forces).sum(axis=0)) @ R
        spinning_up = (moment - np.cross(turning, J * turning)) / J
        return np.concatenate([speed, forces.sum(axis=0) / rotors.MASS, np.cross(R, turning).ravel(), spinning_up])

    begin = np.concatenate([rotors.UNBALANCE, np.zeros(3), np.eye(3).ravel(), (rotors.SPIN, 0, 0)])
    end = solve_ivp(rates, (0, ROTOR_END), begin, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    return end[:3] + end[6:15].reshape(3, 3) @ ((-rotors.LEFT, 0, 0) - rotors.UNBALANCE)


CRANK = {1.0: 0.2117216614, 5.0: 0.2407195737}
"""Place of the slider in m."""


def top(build, t_end, tilted=False):
    """A top, whose mass centre is compared."""
    read = partial(tops.mass_center, tilted=tilted)
    return Benchmark(lambda group: (build(group, tilted=tilted), read), t_end, lambda: exact_top(t_end))


def crank(t_end):
    """The slider-crank, whose slider is compared."""
    build = lambda group: (linkages.slider_crank(group), linkages.read_slider_crank)  # noqa: E731
    return Benchmark(build, t_end, lambda: np.array([CRANK[t_end]]), slice(1))


def robot(t_end):
    """The robot, whose angles are compared."""
    return Benchmark(lambda group: (puma.puma(group), puma.read), t_end, lambda: np.array(minimal.EXACT[t_end]))


def rotor(group):
    return rotors.high_speed_rotor(group), rotors.read


BENCHMARKS = {
    "free top": top(tops.free_top, 1.0),
    "free top, tilted": top(tops.free_top, 1.0, tilted=True),
    "free top, 0.1 s": top(tops.free_top, 0.1),
    "free top, tilted, 0.1 s": top(tops.free_top, 0.1, tilted=True),
    "top on joint": top(tops.top_on_joint, 1.0),
    "top on joint, tilted": top(tops.top_on_joint, 1.0, tilted=True),
    "top on joint, 0.1 s": top(tops.top_on_joint, 0.1),
    "rotor": Benchmark(rotor, ROTOR_END, exact_rotor, slice(3)),
    "slider-crank": crank(5.0),
    "slider-crank, 1 s": crank(1.0),
    "Puma": robot(1.0),
    "Puma, 0.5 s": robot(0.5),
    **{
        name: Benchmark(build, t_end, partial(flexible.exact, name))
        for name, (build, t_end, _) in flexible.BUILD.items()
    },
}
RV, RXYZ, EP, SE3 = "RV", "Rxyz", "EP", "SE(3)"
IMPLICIT = (RV, RXYZ, EP)
TABLEAUS = ("ODE23", "RK4", "DOPRI5", "RK6")


def method(formulation, newton):
    """Group and method; RV and SE(3) with constraints on position level alone, as in the paper."""
    if formulation == EP:
        return "R3xSO3", mbs.ClassicalAlpha("euler_parameters", newton=newton)
    if formulation == RXYZ:
        return "R3xSO3", mbs.ClassicalAlpha("tait_bryan", newton=newton)
    group = "SE3" if formulation == SE3 else "R3xSO3"
    return group, mbs.GeneralizedAlpha(0.9, formulation="index3", start="consistent", newton=newton)


@cache
def implicit(benchmark, formulation, h, modified=False, matrix="exact"):
    """A run with the generalised-alpha method in fixed steps."""
    if formulation == "minimal":
        end, iterations, seconds = minimal.integrate(h, BENCHMARKS[benchmark].t_end)
        return Run(h, np.linalg.norm(end - BENCHMARKS[benchmark].exact()), iterations, seconds)
    return measured(benchmark, *method(formulation, mbs.Newton(modified=modified, matrix=matrix)), h)


@cache
def explicit(benchmark, formulation, tableau, h):
    """A run with an explicit Runge-Kutta method in fixed steps."""
    kind = mbs.ClassicalRungeKutta if formulation == RXYZ else mbs.RungeKuttaMuntheKaas
    return measured(benchmark, "R3xSO3", kind(tableau=tableau), h)


def measured(benchmark, group, method, h):
    """A run in fixed steps; those that fail and are repeated with shorter ones count as failed."""
    build, t_end, exact, compared = BENCHMARKS[benchmark]
    model, read = build(group)
    begun = time.process_time()
    try:
        solution = mbs.simulate(model, t_end, h, method)
    except mbs.FemMbsError:
        return Run(h, np.nan, np.nan, np.nan)
    seconds = time.process_time() - begun
    if solution.stats.failed_steps:
        return Run(h, np.nan, np.nan, np.nan)
    error = np.linalg.norm(read(solution)[-1][compared] - exact())
    return Run(h, float(error), solution.stats.mean_newton_iterations, seconds)
