"""Starts whose forces fall by far within the first step, as those of a fast start into a drag, against closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks.flexible import four_bar, right_angle_cantilever
from fem_mbs.elements import (
    Block,
    JointActuator,
    JointForce,
    JointSensor,
    PointMass,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
)

STEP, COUNT, SPEED = 0.05, 20, 3.0
OF_MOTION = 0.1
"""Largest error, over the motion. With whole first steps they were 1.8 times the motion for a cube at a rate of 10."""
MORE = 50
"""Steps that a start may take beside those that were asked for."""


def on_hinge(group: str) -> tuple[mbs.Model, RevoluteJoint]:
    """A body that turns at ``SPEED``."""
    model = mbs.Model(group, gravity=(0, 0, 0))
    node = model.add_node((0, 0, 0), angular_velocity=(0, 0, SPEED))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    return model, model.add(RevoluteJoint(model.ground, node, (0, 0, 1), (0, 0, 0)))


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("power", [2, 3, 5])
@pytest.mark.parametrize("rate", [3.0, 10.0, 1000.0])
def test_fast_start_into_a_drag(group: str, power: int, rate: float) -> None:
    """``dv/dt = -c v^p``, with a rate ``p c v^(p-1)`` at the start of so much a step."""
    c = rate / (STEP * power * SPEED ** (power - 1))
    model, joint = on_hinge(group)
    model.add(JointForce(joint, lambda t, q, v: -c * np.sign(v) * abs(v) ** power))
    run = mbs.simulate(model, COUNT * STEP, STEP)
    s = 1.0 + (power - 1) * c * SPEED ** (power - 1) * run.t  # (v_0/v)^(p-1)
    own = power - 2
    exact = np.log(s) if power == 2 else (s ** (own / (power - 1)) - 1.0) / (own * SPEED**own)
    assert_near(run, run.coordinate(joint), exact / c)
    assert (run.coordinate_rate(joint) > 0.0).all()


@pytest.mark.one
@pytest.mark.parametrize("rate", [10.0, 1000.0])
def test_force_of_a_state_that_decays_by_its_cube(rate: float) -> None:
    c, force = rate / (3.0 * STEP), 100.0
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((1, 0, 0))
    model.add(PointMass(node, 1.0))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    sensor = model.add(JointSensor(rail))
    state = model.add(Block(sensor, lambda t, x, u: -c * x**3, lambda t, x, u: force * x, initial=[1.0]))
    model.add(JointActuator(rail, state))
    run = mbs.simulate(model, COUNT * STEP, STEP)
    s, t = np.sqrt(1.0 + 2.0 * c * run.t), run.t
    assert_near(run, run.coordinate(rail), force * ((s**3 - 1.0) / (3.0 * c) - t) / c)


def assert_near(run: mbs.Solution, found: Array, exact: Array) -> None:
    assert np.abs(found - exact).max() < OF_MOTION * np.abs(exact).max()
    assert run.stats.steps < COUNT + MORE


def test_a_start_that_bends_little_is_one_step() -> None:
    """So it is with a damper of any strength, whose equations are linear, and with a swing in steps of a tenth."""
    model, joint = on_hinge("R3xSO3")
    model.add(JointForce(joint, lambda t, q, v: -100.0 * v - 9.0 * np.sin(q)))
    run = mbs.simulate(model, COUNT * STEP, STEP)
    assert run.stats.steps == COUNT and not run.stats.rejected_steps


@pytest.mark.parametrize(("machine", "step"), [(right_angle_cantilever, 0.2), (four_bar, 0.04)])
def test_machines_that_set_out_from_rest_keep_their_steps(
    machine: Callable[[], tuple[mbs.Model, Any]], step: float
) -> None:
    """What sets in is small beside all that follows; instants are those that were asked for."""
    run = mbs.simulate(machine()[0], 5 * step, step)
    np.testing.assert_allclose(run.t, step * np.arange(6), rtol=1e-12)
    assert not run.stats.rejected_steps
