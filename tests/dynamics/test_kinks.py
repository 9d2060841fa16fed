"""Laws with kinks: a run with defaults is right to its estimate, or says that it is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kinked import LAWS, judged

import fem_mbs as mbs
from fem_mbs.elements import Force, JointForce, JointSpring, JointStop, PointMass, PrismaticJoint


@pytest.mark.slow
def test_campaign() -> None:
    """The same for every kind of law, four times."""
    verdicts = [judged(seed) for seed in range(4 * len(LAWS))]
    silent = [str(verdict) for verdict in verdicts if verdict.word == "silent"]
    assert not silent, "\n".join(silent)
    assert np.mean([verdict.word == "right" for verdict in verdicts]) > 0.9


def stopped(add: Callable[[mbs.Model, mbs.Joint], object]) -> mbs.Solution:
    """A mass of 1 kg that comes with 1 m/s, and what stops it at 0.2 m, in steps of 10 ms."""
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((1, 0, 0), velocity=(1, 0, 0))
    model.add(PointMass(node, 1.0))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)), name="rail")
    add(model, rail)
    return mbs.simulate(model, 0.4, 0.01)


@pytest.mark.parametrize(
    "add",
    [
        lambda model, rail: model.add(JointStop(rail, None, 0.2, 1e6)),
        lambda model, rail: model.add(JointForce(rail, lambda t, q, v: -1e6 * max(q - 0.2, 0.0))),
    ],
    ids=["stop", "law of a user"],
)
def test_a_contact_that_is_shorter_than_a_step_gives_back_what_it_took(add: Callable[..., object]) -> None:
    """The contact lasts pi ms, and the mass comes back with the energy that it had, to 1 %."""
    solution = stopped(add)
    speed = np.asarray(solution.coordinate_rate("rail")).reshape(-1)
    assert abs(speed[-1] ** 2 - 1.0) < 0.01 and speed[-1] < 0.0
    assert solution.stats.steps < 400


def test_smooth_functions_of_users_do_not_stay_cut() -> None:
    """A load and a law whose errors almost cancel at first: steps are whole again when they do no longer."""

    def add(model: mbs.Model, rail: mbs.Joint) -> None:
        model.add(JointSpring(rail, 100.0, 1.0))
        model.add(JointForce(rail, lambda t, q, v: -1e3 * q**3))
        model.add(Force(rail.nodes[1], lambda t: (5.0 * np.sin(20.0 * t), 0.0, 0.0)))

    assert np.allclose(stopped(add).stats.step_sizes[-20:], 0.01)
