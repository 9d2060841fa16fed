"""The runs that ``revisions.py`` times, in whatever revision of the package is found.

Data stand here and in ``problems.py`` once more: revisions before 0.2 have no ``fem_mbs.benchmarks``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType

from measure import Result, serve
from modes import tower
from ours import BUILD
from problems import problem

import fem_mbs as mbs
from fem_mbs.elements import Moment, PrismaticJoint, RevoluteJoint, RigidBody, SphericalJoint, UniversalJoint

OWN = ("fem_mbs", "elements")


def top(group: str = "R3xSO3") -> mbs.Model:
    """The heavy top of Bruels, Cardona, Arnold (2012)."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    node = model.add_node((0, 1, 0), velocity=(4.61538, 0, 0), angular_velocity=(0, 150, -4.61538))
    model.add(RigidBody(node, 15.0, (0.234375, 0.46875, 0.234375)))
    model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)))
    return model


def chain(links: int) -> mbs.Model:
    """Bodies on hinges, let go from the horizontal."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    last = model.ground
    for k in range(links):
        node = model.add_node((k + 0.5, 0, 0))
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        model.add(RevoluteJoint(last, node, axis=(0, 1, 0), point=(k, 0, 0)))
        last = node
    return model


def double_pendulum() -> mbs.Model:
    """Two bodies on hinges, let go from the horizontal."""
    return chain(2)


def slider_crank() -> mbs.Model:
    """A rigid crank of 0.5 m turns under a constant moment and drives a slider by a rod of 1.5 m."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    crank, rod, slider = (model.add_node((x, 0, 0)) for x in (0.25, 1.25, 2.0))
    for node, mass, inertia in ((crank, 1.0, 0.02), (rod, 1.0, 0.2), (slider, 2.0, 0.01)):
        model.add(RigidBody(node, mass, (0.01, inertia, inertia)))
    model.add(RevoluteJoint(model.ground, crank, (0, 1, 0), point=(0, 0, 0)))
    model.add(SphericalJoint(crank, rod, point=(0.5, 0, 0)))
    model.add(UniversalJoint(rod, slider, (0, 1, 0), (0, 0, 1), point=(2.0, 0, 0)))
    model.add(PrismaticJoint(model.ground, slider, (1, 0, 0)))
    model.add(Moment(crank, (0, -5.0, 0)))
    return model


Run = Callable[..., mbs.Solution]


def many_tops(**options: object) -> mbs.Solution:
    """A thousand heavy tops together, and where each of them was; the solution of the first, with the time of all."""
    solutions = mbs.simulate_many([top() for _ in range(1000)], 0.02, 1e-3)
    for solution in solutions:
        solution.position(solution.model.nodes[1])
    return solutions[0]


def flexible(kind: str, elements: int | None = None, **options: object) -> Run:
    """A run of ``problems.py``."""
    p = problem(kind, elements)
    rho = {"rho_inf": p.rho_inf, **options}
    method = mbs.GeneralizedAlpha.hht(alpha=0.05) if kind == "cantilever" else mbs.GeneralizedAlpha(**rho)
    return lambda **more: mbs.simulate(BUILD[kind](p)[0], p.step * p.steps, p.step, method, **more)


def rigid(make: Callable[[], mbs.Model], steps: int, h: float, **options: object) -> Run:
    """A run of a model of rigid bodies."""
    method = mbs.GeneralizedAlpha(**{"rho_inf": 0.9, **options})
    return lambda **more: mbs.simulate(make(), steps * h, h, method, **more)


RUNS = {
    "heavy top": rigid(top, 1000, 1e-3),
    "heavy top on SE(3)": rigid(lambda: top("SE3"), 1000, 1e-3),
    "double pendulum": rigid(double_pendulum, 1000, 2e-3),
    "slider-crank": rigid(slider_crank, 1000, 2e-3),
    "chain of 10 bodies": rigid(lambda: chain(10), 1000, 1e-3),
    "chain of 1000 bodies": rigid(lambda: chain(1000), 20, 1e-3),
    "cantilever": flexible("cantilever"),
    "four-bar": flexible("four_bar"),
    "beam of 1000 elements": flexible("swinging_beam", 1000),
    "1000 heavy tops": many_tops,
    "heavy top, index 2": rigid(top, 300, 1e-3, formulation="index2"),
    "four-bar, index 2": flexible("four_bar", formulation="index2"),
}
CLOCKED = ("chain of 1000 bodies",)
"""Runs of few steps of a model that takes long to make: those after the first are timed alone."""
FIRST = ("heavy top", "four-bar")
"""Runs of index 2 whose start and first step are timed on their own."""


def run(case: str) -> Result:
    """One run: seconds a step, or of a call, and counts a step."""
    if case.startswith("modes"):
        model = tower(400)
        begun = time.perf_counter()
        mbs.modes(model)
        return {"ok": True, "seconds": time.perf_counter() - begun}
    if case.startswith("first step"):
        begun = time.perf_counter()
        for name in FIRST:
            RUNS[f"{name}, index 2"](callback=lambda state: True)
        return {"ok": True, "seconds": time.perf_counter() - begun}
    begun, ends = time.process_time(), list[float]()
    clock = {"callback": lambda state: ends.append(time.process_time())} if case in CLOCKED else {}
    solution = RUNS[case](**clock)
    cpu = time.process_time() - begun
    stats = solution.stats
    steps = len(stats.newton_iterations)
    if ends:
        cpu = (ends[-1] - ends[0]) * steps / (steps - 1)
    return {
        "ok": bool(solution.success),
        "message": solution.message,
        "seconds": stats.wall_time / steps,
        "cpu_a_step": cpu / steps,
        "iterations": stats.mean_newton_iterations,
        "evaluations": stats.residual_evaluations / steps,
        "calls": calls_a_step(case) if steps >= 300 else None,
    }


def calls_a_step(case: str) -> float:
    """Calls of functions of the package in a step, over a hundred steps."""
    count, seen = 0, 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        code = frame.f_code
        count += event == "call" and code.co_name[0] != "<" and any(f"/{own}/" in code.co_filename for own in OWN)

    def watch(state: mbs.State) -> bool:
        nonlocal seen
        seen += 1
        if seen == 100:
            sys.setprofile(called)
        if seen == 200:
            sys.setprofile(None)
        return seen == 200

    RUNS[case](callback=watch)
    return count / 100


if __name__ == "__main__":
    serve(run)
