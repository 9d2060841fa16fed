"""Models of the tests of stored runs."""

from __future__ import annotations

import numpy as np

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint, RigidBody, SpringDamper

STATES = ("t", "x", "R", "v", "vdot", "multipliers_all", "u", "udot", "uddot")


def double_pendulum(group: str = "R3xSO3") -> mbs.Model:
    """Two bodies on hinges; the second turns over."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    elbow, tip = model.add_node((1, 0, 0), name="elbow"), model.add_node((2, 0, 0), velocity=(0, 0, 6.0), name="tip")
    for node in (elbow, tip):
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)), name=f"body of {node.name}")
    model.add(RevoluteJoint(model.ground, elbow, (0, 1, 0), point=(0, 0, 0)), name="shoulder")
    model.add(RevoluteJoint(elbow, tip, (0, 1, 0), point=(1, 0, 0)), name="hinge")
    mbs.project_velocities(model)
    return model


def machine() -> mbs.Model:
    """A driven hinge, a beam, a spring by a law: with functions of the script."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    arm = model.add_node((1, 0, 0), name="arm")
    model.add(RigidBody(arm, 1.0, (0.1, 0.1, 0.1)), name="body")
    model.add(RevoluteJoint(model.ground, arm, (0, 1, 0), (0, 0, 0), drive=lambda t: np.sin(t) ** 2), name="motor")
    section = BeamSection.rectangle(0.1, 0.1, 1e7, 0.3, 1e3)
    beam = Beam.line(model, (1, 0, 0), (2, 0, 0), section, elements=3, start_node=arm, name="beam")
    model.add(SpringDamper(model.ground, beam.nodes[-1], force=lambda t, l, v: 5.0 * (l - 2.0)), name="spring")
    return model


def assert_same(one: mbs.Solution, other: mbs.Solution) -> None:
    """To the bit."""
    for name in STATES:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.status is other.status
    assert one.stats.newton_iterations.tolist() == other.stats.newton_iterations.tolist()
    assert one.stats.step_sizes.tolist() == other.stats.step_sizes.tolist()
    assert one.stats.error == other.stats.error and one.stats.steps == other.stats.steps
    assert [[s.t for s in own] for own in one.event_states] == [[s.t for s in own] for own in other.event_states]
