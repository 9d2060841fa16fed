"""What elements put on their nodes over a run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bushing,
    FixedJoint,
    Force,
    JointFriction,
    JointSensor,
    Junction,
    PositionMotor,
    RevoluteJoint,
    RigidBody,
    Rope,
    SmoothStep,
    SpringDamper,
)

SECTION = BeamSection.rectangle(width=0.02, height=0.01, E=70e9, nu=0.3, rho=2700).with_damping(1e-4)


@cache
def run() -> mbs.Solution:
    """A driven hub with friction and a flexible arm; at its tip a body on a bushing, a spring and a force."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    hub = model.add_node((0, 0, 0), name="hub")
    model.add(RigidBody(hub, 0.5, (1e-3, 2e-3, 2e-3), (0.01, 0.0, 0.02)), name="rotor")
    model.add(RevoluteJoint(model.ground, hub, axis=(0, 1, 0)), name="hinge")
    model.add(PositionMotor("hinge", SmoothStep(0.8, 0.3), 40.0, derivative=0.5), name="motor")
    model.add(JointFriction("hinge", 0.05, radius=0.02), name="friction")
    beam = Beam.line(model, (0, 0, 0), (0.6, 0, 0), SECTION, elements=2, start_node="hub", name="arm")
    tip = model.add_node((0.6, 0, -0.1), name="weight")
    model.add(RigidBody(tip, 0.3, (1e-3, 1e-3, 1e-3)), name="body")
    stiffness = np.diag([1e4, 1e4, 1e4, 50, 50, 50])
    model.add(Bushing(beam.nodes[-1], tip, stiffness, 1e-3 * stiffness, point=(0.6, 0, -0.02)), name="mount")
    model.add(SpringDamper(model.ground, tip, 30.0, 0.2, point_a=(0.6, 0.2, -0.5), free_length=0.3), name="spring")
    model.add(Force(tip, lambda t: (0.0, 2.0 * np.sin(9.0 * t), 0.0), point=(0.62, 0, -0.1)), name="push")
    return mbs.simulate(model, 0.006, 0.001, mbs.GeneralizedAlpha(rho_inf=0.8, formulation="index3"))


@pytest.mark.ci
def test_at_every_node_they_add_up_to_zero() -> None:
    """With what the joint puts on the hub: the equations of motion, asked element by element."""
    solution = run()
    total = {node.name: np.zeros((len(solution.t), 6)) for node in solution.system.nodes}
    largest = 0.0
    for element in solution.system.elements:
        force, moment = solution.nodal_forces(element)
        for k, node in enumerate(element.nodes):
            total[node.name] += np.concatenate([force[:, k], moment[:, k]], axis=-1)
            largest = max(largest, np.abs(force).max())
    total["hub"] += np.concatenate(solution.reaction("hinge"), axis=-1)
    del total["ground"]
    assert max(np.abs(own).max() for own in total.values()) < 1e-6 * largest


def test_a_spring_pulls_along_its_line_and_a_motor_turns_about_its_axis() -> None:
    solution = run()
    points = np.array([0.6, 0.2, -0.5]) - solution.position("weight")
    length = np.linalg.norm(points, axis=1)
    along = points / length[:, None]
    pull = 30.0 * (length - 0.3) - 0.2 * np.vecdot(solution.velocity("weight"), along)
    force, moment = solution.nodal_forces("spring")
    np.testing.assert_allclose(force[:, 1], pull[:, None] * along, rtol=0, atol=1e-12)
    assert not moment[:, 1].any()
    angle = solution.angle("hinge")
    reference = np.array([SmoothStep(0.8, 0.3)(t) for t in solution.t])
    rate = np.array([SmoothStep(0.8, 0.3).velocity(t) for t in solution.t])
    torque = 40.0 * (reference - angle) + 0.5 * (rate - solution.coordinate_rate("hinge"))
    for k, sign in enumerate((-1.0, 1.0)):
        force, moment = (own[:, k] for own in solution.nodal_forces("motor"))
        np.testing.assert_allclose(moment, sign * torque[:, None] * [0, 1, 0], rtol=0, atol=1e-9)
        assert not force.any()
    assert np.array_equal(solution.channel("motor.nodal_forces.1.moment.y"), moment[:, 1])


def test_the_ends_of_a_beam_at_rest(tmp_path: Path) -> None:
    """What it puts on its clamp is the reaction, on its tip the load with the other sign; so too from a file."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, elements=4, order=3, name="beam")
    model.add(FixedJoint(model.ground, beam.nodes[0]), name="clamp")
    model.add(Force(beam.nodes[-1], lambda t: (0.0, 5.0 * t, -20.0 * t)))
    solution = mbs.statics(model)
    for own in (solution, mbs.load(solution.save(tmp_path / "rest.db"))):
        force, moment = own.nodal_forces("beam")
        np.testing.assert_allclose(force[-1, -1], [0, -5, 20], rtol=0, atol=1e-6)
        np.testing.assert_allclose(force[:, 1:-1], 0, rtol=0, atol=1e-6)
        reaction = own.reaction("clamp")
        np.testing.assert_allclose(force[:, 0], -reaction[0], rtol=0, atol=1e-6)
        np.testing.assert_allclose(moment[:, 0], -reaction[1], rtol=0, atol=1e-6)


def test_what_has_none_says_what_to_ask() -> None:
    model = mbs.Model()
    bar = model.add_node((0.5, 0, 0))
    model.add(RigidBody(bar, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, bar, axis=(0, 1, 0), point=(0, 0, 0)), name="hinge")
    model.add(Rope(model.ground, bar, length=2.0), name="rope")
    model.add(Junction(model.add(JointSensor("hinge"))), name="sum")
    solution = mbs.simulate(model, 0.01, 0.01)
    with pytest.raises(mbs.ModelError, match="'sum' acts on no node; solution.signal"):
        solution.nodal_forces("sum")
    with pytest.raises(mbs.ModelError, match="'rope' is a rigid contact; solution.contact_force"):
        solution.nodal_forces("rope")
    with pytest.raises(mbs.ModelError, match="RevoluteJoint 'hinge'"):
        solution.nodal_forces("hinge")
