"""Positions, velocities and reactions converge with the square of the step, down to rounding, with nothing chosen.

``python tests/dynamics/test_convergence_of_reactions.py`` prints the table of docs/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from models import machine
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks.tops import top_on_joint
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint, RigidBody, SpinUp
from fem_mbs.run.convergence import fitted_order

T_END = 0.02
TIMES = T_END * np.arange(1, 3) / 2
G = 9.81


def pendulum(group: str) -> mbs.Model:
    """A body of 1 kg at 1 m from a hinge, horizontal, with 2 rad/s."""
    model = mbs.Model(group, gravity=(0, 0, -G))
    bob = model.add_node((1, 0, 0), velocity=(0, 0, -2), angular_velocity=(0, 2, 0))
    model.add(RigidBody(bob, 1.0, (0.01,) * 3))
    model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)))
    return model


def exact_pendulum(times: Array) -> tuple[Array, Array, Array]:
    """Place, velocity and force of the hinge of :func:`pendulum`."""
    inertia = 1.01

    def rate(t: float, y: Array) -> tuple[float, float]:
        return y[1], G * np.cos(y[0]) / inertia

    angle, speed = solve_ivp(rate, (0, times[-1]), (0, 2), "DOP853", times, rtol=1e-13, atol=1e-13).y
    along = np.stack([np.cos(angle), 0 * angle, -np.sin(angle)], axis=-1)
    across = np.stack([-np.sin(angle), 0 * angle, -np.cos(angle)], axis=-1)
    acceleration = (G * np.cos(angle) / inertia)[:, None] * across - (speed**2)[:, None] * along
    return along, speed[:, None] * across, acceleration + (0, 0, G)


def skew_chain(group: str) -> mbs.Model:
    """Three bodies on hinges across each other, let go."""
    model = mbs.Model(group, gravity=(0, 0, -G))
    last = model.ground
    for k, axis in enumerate([(0, 1, 0), (1, 1, 0), (0, 1, 1)]):
        node = model.add_node((k + 0.5, 0, 0))
        model.add(RigidBody(node, 1.0, (0.05, 0.1, 0.1)))
        model.add(RevoluteJoint(last, node, axis, point=(k, 0, 0)))
        last = node
    return model


def stiff_pendulum(group: str) -> mbs.Model:
    """A steel bar that a hinge spins up, smoothly: its waves take 0.2 ms for its length and are hardly excited."""
    model = mbs.Model(group)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.circle(0.02, 2.1e11, 0.3, 7800.0), 4)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1), drive=SpinUp(20.0, 0.1)))
    return model


def soft_pendulum(group: str) -> mbs.Model:
    """A bar of rubber that is let go from the horizontal."""
    model = mbs.Model(group, gravity=(0, 0, -G))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.circle(0.02, 5e6, 0.49, 1100.0), 4)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 1, 0)))
    return model


class Faster:
    """An angle that grows with the square of time, and knows its derivatives: differences err by 5e-9 of a reaction."""

    def __call__(self, t: float) -> float:
        return 20.0 * t * t

    def velocity(self, t: float) -> float:
        return 40.0 * t

    def acceleration(self, t: float) -> float:
        return 40.0


MODELS: dict[str, Callable[[str], mbs.Model]] = {
    "pendulum": pendulum,
    "heavy top": top_on_joint,
    "skew chain": skew_chain,
    "soft bar": soft_pendulum,
    "stiff bar": stiff_pendulum,
    "machine": lambda group: machine(group, drive=Faster()),
}
STEPS = {name: np.array([1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5]) for name in MODELS}
STEPS["pendulum"] = np.append([1e-2, 5e-3, 2e-3], STEPS["pendulum"])


@cache
def run(name: str, group: str, h: float) -> tuple[Array, Array, Array]:
    """Positions, velocities and the reaction of the first joint at two instants, with nothing chosen."""
    model = MODELS[name](group)
    solution = mbs.simulate(model, T_END, h)
    assert solution.stats.failed_steps == 0
    rows = np.rint(TIMES / h).astype(int)
    nodes = model.nodes[1:]
    x, v = (np.stack([of(node)[rows] for node in nodes]) for of in (solution.position, solution.velocity))
    return x, v, np.stack(solution.reaction(model.constraints[0]))[:, rows]


def errors(name: str, group: str, steps: Array) -> Array:
    """Largest errors ``(steps, 3)`` of positions, velocities and the reaction over its size.

    Against the exact motion of the pendulum; of the others, a third of the distance to half the step.
    """
    if name == "pendulum":
        exact = exact_pendulum(TIMES)
        ours = [run(name, group, h) for h in steps]
        both = [(x[0], v[0], reaction[0]) for x, v, reaction in ours]
        size = np.abs(exact[2]).max()
        return np.array([[np.abs(a - b).max() for a, b in zip(one, exact, strict=True)] for one in both]) / (1, 1, size)
    result = []
    for h in steps:
        coarse, fine = run(name, group, h), run(name, group, h / 2)
        result.append([np.abs(a - b).max() * 4 / 3 for a, b in zip(coarse, fine, strict=True)])
    return np.array(result) / (1, 1, np.abs(run(name, group, steps[-1])[2]).max())


@pytest.mark.ci
@pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
def test_pendulum_down_to_rounding(group: str) -> None:
    """From 1 ms to 20 us; there the force is right to 2e-9."""
    steps = np.array([1e-3, 2e-4, 2e-5])
    found = errors("pendulum", group, steps)
    assert [fitted_order(steps, column) for column in found.T] == pytest.approx([2, 2, 2], abs=0.1)
    assert found[-1, 2] < 2.5e-9


@pytest.mark.slow
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("name", MODELS)
def test_second_order_down_to_rounding(name: str, group: str) -> None:
    """Down to 5e-10."""
    steps = STEPS[name][-4:]
    found = errors(name, group, steps)
    print(name, group, found)
    for column in found.T:
        above = column > 5e-10
        assert above.sum() < 2 or fitted_order(steps[above], column[above]) == pytest.approx(2.0, abs=0.2)


if __name__ == "__main__":
    import sys

    for name in sys.argv[1:] or STEPS:
        steps = STEPS[name]
        for group in ("R3xSO3", "SE3"):
            found = errors(name, group, steps)
            for kind, column in zip(("x", "v", "reaction"), found.T, strict=True):
                print(f"| {name} | {group} | {kind} |", " | ".join(f"{e:.1e}" for e in column), end=" | ")
                print(f"{fitted_order(steps, column):.2f} |", flush=True)
