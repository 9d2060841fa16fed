"""What derivatives cost: CPU time over that of the plain run, each in turn with it.

`python tests/performance/derivatives.py` prints a table: direct derivatives for 1 and 5 parameters, the adjoint of one
goal for 5. `once` is what the first parameter costs beside each further one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Force, RevoluteJoint, RigidBody, SphericalJoint, SpinUp
from tests.performance import problems


def heavy_top(mass: float, length: float, spin: float, inertia: float, polar: float) -> mbs.Model:
    """A fast top on a point."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((0, length, 0), angular_velocity=(0, spin, -4.6))
    model.add(RigidBody(node, mass, (inertia, polar, inertia)))
    model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)))
    mbs.project_velocities(model)
    return model


def _section(stiffness: tuple[float, ...], mass: float, inertia: Any, EI: float, EA: float) -> BeamSection:  # noqa: N803
    own = stiffness
    return BeamSection(EA * own[0], own[1:3], own[3], (EI * own[4], EI * own[5]), mass, inertia)


def cantilever(EI: float, EA: float, mass: float, load: float, length: float) -> mbs.Model:  # noqa: N803
    """Simo and Vu-Quoc's right angle, 10 elements."""
    model = mbs.Model()
    leg, arm = problems.CANTILEVER.bars
    section = _section(leg.stiffness, mass, leg.inertia, EI, EA)
    first = Beam.line(model, (0, 0, 0), (length, 0, 0), section, 5, name="leg")
    elbow = first.nodes[-1]
    Beam.line(model, (length, 0, 0), (length, 10, 0), section, 5, start_node=elbow)
    model.fix(first.nodes[0])
    model.add(Force(elbow, lambda t: (0.0, 0.0, load * problems.push(t))))
    return model


def four_bar(EI: float, EA: float, mass: float, tilt: float, height: float) -> mbs.Model:  # noqa: N803
    """Flexible bars and a misaligned hinge, 219 unknowns."""
    model = mbs.Model()
    ends: list[Any] = []
    for bar in problems.FOUR_BAR.bars:
        section = _section(bar.stiffness, mass * bar.mass, bar.inertia, EI, EA)
        start, end = (np.array(point) * (1.0, height, 1.0) for point in (bar.start, bar.end))
        ends.append(Beam.line(model, start, end, section, 10).nodes)
    axis = (np.sin(tilt), 0.0, np.cos(tilt))
    first, second, third = ends
    model.add(RevoluteJoint(model.ground, first[0], (0, 0, 1), drive=SpinUp(rate=-5.0, duration=0.5)))
    model.add(RevoluteJoint(first[-1], second[0], (0, 0, 1)))
    model.add(RevoluteJoint(second[-1], third[0], axis))
    model.add(RevoluteJoint(third[-1], model.ground, (0, 0, 1)))
    return model


def chain(mass: float, length: float, inertia: float, gravity: float, spin: float) -> mbs.Model:
    """100 bodies on spherical joints."""
    model = mbs.Model(gravity=(0, 0, -gravity))
    before, link = model.ground, length / 100
    for k in range(100):
        body = model.add_node(((k + 0.5) * link, 0, 0), velocity=(0, 0.0, 0))
        model.add(RigidBody(body, mass, (inertia, 2 * inertia, 2 * inertia)))
        model.add(SphericalJoint(before, body, point=(k * link, 0, 0)))
        before = body
    before.angular_velocity = (0.0, 0.0, spin)
    mbs.project_velocities(model)
    return model


Case = tuple[Callable[..., mbs.Model], dict[str, float], float, float]
CASES: dict[str, Case] = {
    "heavy top": (
        heavy_top, {"mass": 15.0, "length": 1.0, "spin": 150.0, "inertia": 0.4688, "polar": 0.2344}, 1.0, 0.002,
    ),
    "cantilever": (cantilever, {"EI": 1.0, "EA": 1.0, "mass": 1.0, "load": 1.0, "length": 10.0}, 30.0, 0.2),
    "four-bar": (four_bar, {"EI": 1.0, "EA": 1.0, "mass": 1.0, "tilt": 0.0873, "height": 1.0}, 2.0, 0.02),
    "chain of 100": (
        chain, {"mass": 0.1, "length": 5.0, "inertia": 1e-4, "gravity": 9.81, "spin": 1.0}, 0.5, 0.005,
    ),
}  # fmt: skip


def goal(solution: Any) -> Any:
    """The path of the last node."""
    return solution.position(solution.model.nodes[-1])[:, 1]


def ways(case: Case, method: mbs.Method) -> dict[str, Callable[[], Any]]:
    """The plain run and what is compared with it; models are built in each."""
    build, values, end, step = case
    one = dict(list(values.items())[:1])
    rest = dict(list(values.items())[1:])

    def with_rest(**some: float) -> mbs.Model:
        return build(**some, **rest)

    def adjoint() -> Any:
        f = mbs.objective(build, mbs.Integral(goal), list(values), end, step, method=method, how="adjoint")
        return f(list(values.values()))

    return {
        "plain": lambda: mbs.simulate(build(**values), end, step, method),
        "direct, 1": lambda: mbs.sensitivities(with_rest, one, end, step, method, how="direct"),
        "direct, 5": lambda: mbs.sensitivities(build, values, end, step, method, how="direct"),
        "adjoint, 5": adjoint,
    }


def measure(case: Case, method: mbs.Method, rounds: int) -> dict[str, float]:
    """Medians over the rounds of CPU times over that of the plain run in the same round; its own in ms a step."""
    actions = ways(case, method)
    for action in actions.values():
        action()
    ratios: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        plain = 0.0
        for name, action in actions.items():
            started = time.process_time()
            action()
            spent = time.process_time() - started
            plain = plain or spent
            ratios[name].append(spent * 1e3 / (case[2] / case[3]) if name == "plain" else spent / plain)
    return {name: median(own) for name, own in ratios.items()}


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--formulation", default="stabilized")
    parser.add_argument("cases", nargs="*", default=list(CASES))
    options = parser.parse_args()
    method = mbs.GeneralizedAlpha(formulation=options.formulation)
    print(f"{'':14}{'plain, ms':>10}{'once':>8}{'each':>8}{'direct 5':>10}{'adjoint 5':>10}")
    for name in options.cases:
        own = measure(CASES[name], method, options.rounds)
        each = (own["direct, 5"] - own["direct, 1"]) / 4
        once = own["direct, 1"] - 1.0 - each
        print(
            f"{name:14}{own['plain']:10.2f}{once:8.2f}{each:8.2f}{own['direct, 5']:10.2f}{own['adjoint, 5']:10.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
