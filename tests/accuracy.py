"""Estimated and true errors of the benchmarks: ``python tests/accuracy.py`` prints the table of docs/estimates.md.

With ``--sum`` errors are not carried along.
Each model runs with defaults on both groups, with three steps. Its error is that of the node that is furthest off at
the end, in m or rad, over how far nodes have gone or turned in the true motion, whichever is larger. True are pendulum
and tops by minimal coordinates, the others by Radau IIA on the same group.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from campaign import distance
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import flexible, tops
from fem_mbs.elements import RevoluteJoint, RigidBody, SpringDamper
from fem_mbs.lie import so3

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from _pendulums import double

FINE = 1e-12
SPIN = (0.02, 2.0, 0.01)
"""Of the free top about its middle axis, in rad/s."""
INERTIA = (1.0, 2.0, 3.0)


class Benchmark(NamedTuple):
    """A model, the end of its run, three steps, and where its nodes truly are at given times."""

    build: Callable[[str], mbs.Model]
    t_end: float
    steps: tuple[float, float, float]
    truth: Callable[[str, Array], tuple[Array, Array]] | float
    """Positions ``(nt, n, 3)`` and rotations, or the step by Radau IIA."""


def pendulum(group: str) -> mbs.Model:
    """A body on a horizontal arm of 1 m."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    body = model.add_node((1, 0, 0))
    model.add(RigidBody(body, 1.0, (0.01, 0.01, 0.01)))
    model.add(RevoluteJoint(model.ground, body, (0, 1, 0), (0, 0, 0)))
    return model


def swings(_: str, t: Array) -> tuple[Array, Array]:
    """Of the pendulum."""
    run = solve_ivp(lambda _, y: (y[1], 9.81 / 1.01 * np.cos(y[0])), (0, t[-1]), (0, 0), t_eval=t, **TIGHT)
    R = so3.exp(run.y[0][:, None] * np.array([0, 1.0, 0]))
    return R[:, None, :, 0], R[:, None]


def spins(_: str, t: Array) -> tuple[Array, Array]:
    """Of the heavy top."""
    motion = tops.exact(t)
    return motion.x[:, None], motion.R[:, None]


def free(group: str) -> mbs.Model:
    """A body that tumbles about its middle axis."""
    model = mbs.Model(group)
    node = model.add_node((0, 0, 0), angular_velocity=SPIN)
    model.add(RigidBody(node, 1.0, INERTIA))
    return model


def tumbles(_: str, t: Array) -> tuple[Array, Array]:
    """Of the free top, by Euler's equations."""

    def rates(_: float, y: Array) -> Array:
        return np.append(np.cross(y[:9].reshape(3, 3), y[9:]), np.cross(INERTIA * y[9:], y[9:]) / INERTIA)

    run = solve_ivp(rates, (0, t[-1]), np.append(np.eye(3), SPIN), t_eval=t, **TIGHT)
    return np.zeros((len(t), 1, 3)), run.y[:9].T.reshape(-1, 1, 3, 3)


def upright(group: str) -> mbs.Model:
    """A pendulum that stands on its head, and has been touched."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    body = model.add_node((0, 0, 1), velocity=(PUSH, 0, 0), angular_velocity=(0, PUSH, 0))
    model.add(RigidBody(body, 1.0, (0.01, 0.01, 0.01)))
    model.add(RevoluteJoint(model.ground, body, (0, 1, 0), (0, 0, 0)))
    return model


def falls(_: str, t: Array) -> tuple[Array, Array]:
    """Of the pendulum that stands on its head."""
    run = solve_ivp(lambda _, y: (y[1], 9.81 / 1.01 * np.sin(y[0])), (0, t[-1]), (0, PUSH), t_eval=t, **TIGHT)
    R = so3.exp(run.y[0][:, None] * np.array([0, 1.0, 0]))
    return R[:, None, :, 2], R[:, None]


def comet(group: str) -> mbs.Model:
    """A body on an orbit of eccentricity 0.5, of 1 m and 1 s, from where it is nearest to the sun."""
    model = mbs.Model(group)
    node = model.add_node((0.5, 0, 0), velocity=(0, np.sqrt(3.0 * SUN), 0))
    model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    model.add(SpringDamper(model.ground, node, force=lambda t, length, rate: SUN / length**2))
    return model


def orbits(_: str, t: Array) -> tuple[Array, Array]:
    """Of the comet, by Kepler's equation."""
    E = 2.0 * np.pi * t
    for _k in range(60):
        E = 2.0 * np.pi * t + 0.5 * np.sin(E)
    x = np.stack([np.cos(E) - 0.5, np.sqrt(0.75) * np.sin(E), 0.0 * E], axis=-1)
    return x[:, None], np.broadcast_to(np.eye(3), (len(t), 1, 3, 3))


PUSH = 1e-3
"""Speed of the pendulum that stands on its head, in rad/s."""
SUN = 4.0 * np.pi**2
"""Its pull at a distance of 1 m, in N."""
TIGHT = {"method": "DOP853", "rtol": FINE, "atol": FINE}
BENCHMARKS = {
    "pendulum, 10 s": Benchmark(pendulum, 10.0, (0.1, 0.02, 0.005), swings),
    "heavy top, 1 s": Benchmark(tops.top_on_joint, 1.0, (0.01, 0.002, 0.0005), spins),
    "free top, 10 s": Benchmark(free, 10.0, (0.1, 0.02, 0.005), tumbles),
    "falls over, 3 s": Benchmark(upright, 3.0, (0.05, 0.02, 0.005), falls),
    "comet, one turn": Benchmark(comet, 1.0, (1 / 30, 1 / 60, 1 / 120), orbits),
    "double pendulum, 10 s": Benchmark(double, 10.0, (0.01, 0.005, 0.002), 0.001),
    "cantilever, 20 s": Benchmark(
        lambda group: flexible.right_angle_cantilever(group)[0], 20.0, (0.4, 0.2, 0.05), 0.025
    ),
    "four-bar mechanism, 2 s": Benchmark(lambda group: flexible.four_bar(group)[0], 2.0, (0.04, 0.02, 0.005), 0.002),
}


def true(name: str, group: str) -> tuple[Array, Array]:
    """Positions ``(nt, n, 3)`` and rotations at a hundred instants, the last at the end."""
    own = BENCHMARKS[name]
    t = np.linspace(0.0, own.t_end, 101)
    if not isinstance(own.truth, float):
        return own.truth(group, t)
    run = mbs.simulate(own.build(group), own.t_end, own.truth, mbs.RadauIIA(), times=t)
    return run.x[:, 1:], run.R[:, 1:]


def judged(name: str, group: str, h: float, truth: tuple[Array, Array]) -> str:
    """A cell of the table: the true error over the motion, and the estimated one over the true one."""
    own, (x, R) = BENCHMARKS[name], truth
    solution = mbs.simulate(own.build(group), own.t_end, h)
    error = solution.stats.error
    off = distance((solution.x[-1:, 1:], solution.R[-1:, 1:]), (x[-1:], R[-1:])).max(axis=1)
    motion = np.maximum(distance(truth, (x[:1], R[:1])).max(axis=1), FINE)
    kind = int((off / motion).argmax())
    estimate = (error.length, error.angle)[kind]
    warns = ", warns" if error.warning else ""
    return f"{h:g} s: {(off / motion)[kind]:.1e}, {estimate / off[kind]:.2g}{warns}"


def main() -> None:
    """Print the table."""
    if "--sum" in sys.argv:
        mbs.GeneralizedAlpha.carrying = mbs.Method.carrying  # type: ignore[method-assign]
    print("| default | | coarse | middle | fine |\n|---|---|---|---|---|")
    for name, own in BENCHMARKS.items():
        for group, sign in (("R3xSO3", r"$\mathbb R^3\times SO(3)$"), ("SE3", "$SE(3)$")):
            truth = true(name, group)
            cells = (judged(name, group, h, truth) for h in own.steps)
            print(f"| {name} | {sign} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
