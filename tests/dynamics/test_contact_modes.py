"""Small motions about a state with contacts: closed ones are joints, open ones are not there."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamSection,
    Box,
    Contact,
    JointStop,
    Plane,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    Rope,
    SpringDamper,
)

G = 9.81


def stage(model: mbs.Model, height: float, friction: float, push: float = 0.0) -> tuple[mbs.Node, Contact]:
    """A box of 2 kg on a floor, with a spring of 800 N/m to a wall that pulls by ``push`` N."""
    box = model.add_node((0, 0, 0.1 + height))
    model.add(RigidBody(box, 2.0, (0.02, 0.02, 0.02)))
    wall = model.ground
    model.add(SpringDamper(wall, box, 800.0, free_length=1.0 - push / 800.0, point_a=(-1, 0, 0.1), point_b=(0, 0, 0.1)))
    contact = Contact(wall, box, Plane(), Box((0.2, 0.2, 0.2)), friction=friction)
    return box, model.add(contact)


def test_a_box_without_friction() -> None:
    """It slides along its spring: the floor takes three motions, and two have no stiffness."""
    model = mbs.Model(gravity=(0, 0, -G))
    stage(model, 0.0, 0.0)
    modes = mbs.modes(model)
    assert modes.angular[modes.angular > 1e-3] == pytest.approx([np.sqrt(800.0 / 2.0)], rel=1e-9)


def test_friction_holds_and_says_so_at_its_edge(caplog: pytest.LogCaptureFixture) -> None:
    """A ball on a spring, that neither slips nor rolls away: its frequency is that of rolling, sqrt(k/(m + J/r^2))."""
    model = mbs.Model(gravity=(0, 0, -G))
    ball = model.add_node((0, 0, 0.1))
    model.add(RigidBody(ball, 2.0, (0.008, 0.008, 0.008)))
    model.add(SpringDamper(model.ground, ball, 800.0, point_a=(-1, 0, 0.1), point_b=(0, 0, 0.1)))
    model.add(Contact(model.ground, ball, Plane(), Ball(0.1), friction=0.3))
    modes = mbs.modes(model)
    assert modes.angular.max() == pytest.approx(np.sqrt(800.0 / (2.0 + 0.008 / 0.1**2)), rel=1e-9)
    assert not caplog.records
    # pulled as hard as friction holds
    model = mbs.Model(gravity=(0, 0, -G))
    stage(model, 0.0, 0.3, (1 - 1e-6) * 0.3 * 2.0 * G)
    with caplog.at_level(logging.WARNING):
        with pytest.raises(mbs.errors.ModelError, match="nothing can vibrate"):
            mbs.modes(model)
    assert "about to slide" in caplog.text


@pytest.mark.parametrize(("height", "held"), [(0.0, True), (1e-3, False)])
def test_an_open_contact_is_not_there(height: float, held: bool) -> None:
    """A cantilever on a support: one that touches under load makes it propped, 15.418 in place of 3.516."""
    model = mbs.Model(gravity=(0, 0, -G))
    section = BeamSection.circle(0.01, 2e11, 0.3, 7800)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 3, order=3)
    model.fix(beam.nodes[0])
    model.add(Contact(model.ground, beam.nodes[-1], Plane((0, 0, 1), (0, 0, -height)), Ball(1e-6, center=(1, 0, 1e-6))))
    (first,) = {True: (15.418,), False: (3.516,)}[held]
    EI, m = 2e11 * np.pi * 0.01**4 / 4, 7800 * np.pi * 0.01**2
    modes = mbs.modes(model, 4)
    found = modes.angular / np.sqrt(EI / m)
    assert np.abs(found / first - 1.0).min() < 5e-3
    assert (np.abs(found / 15.418 - 1.0).min() < 5e-3) == held


def test_rope_and_stop() -> None:
    """A mass on a taut rope is a pendulum; a slide on its stop does not move, and what hangs from it swings."""
    model = mbs.Model(gravity=(0, 0, -G))
    bob = model.add_node((0, 0, -1.0))
    model.add(RigidBody(bob, 1.0, (1e-3, 1e-3, 1e-3)))
    model.add(Rope(model.ground, bob, 1.0))
    assert np.sqrt(G) == pytest.approx(mbs.modes(model).angular.max(), rel=1e-9)
    model = mbs.Model(gravity=(0, 0, -G))
    slide, arm = model.add_node((0, 0, 0)), model.add_node((0, 0, -0.5))
    for node in (slide, arm):
        model.add(RigidBody(node, 1.0, (1e-9, 1e-9, 1e-9)))
    down = model.add(PrismaticJoint(model.ground, slide, (0, 0, 1)))
    model.add(RevoluteJoint(slide, arm, (0, 1, 0), (0, 0, 0)))
    model.add(JointStop(down, 0.0, 1.0, restitution=0.0))
    assert mbs.modes(model).angular == pytest.approx([np.sqrt(G / 0.5)], rel=1e-6)


@pytest.mark.ci
def test_from_a_run() -> None:
    """The state of a run that has come to rest has the forces of its contacts."""
    model = mbs.Model(gravity=(0, 0, -G))
    stage(model, 0.01, 0.0)
    solution = mbs.simulate(model, 0.2, 2e-3)
    modes = mbs.modes(model, state=solution.state(-1))
    assert modes.angular.max() == pytest.approx(20.0, rel=2e-4)


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_what_slides_on_a_belt(way: float) -> None:
    """On a spring at ``a`` against the belt, which changes the friction: ``m x'' = -k cos a (cos a - mu sin a) x``.

    Across the belt friction turns with the slip ``v``, ``m y'' = -mu N/v y' - k' y``.
    """
    mu, m, k, across, angle, v, far = 0.3, 2.0, 400.0, 5000.0, 0.6, 0.5, 1e5
    c, s = np.cos(angle), np.sin(angle)
    pull = way * mu * m * G / (c - way * mu * s)
    model = mbs.Model(gravity=(0, 0, -G))
    belt, block = model.add_node((0, 0, 0), velocity=(way * v, 0, 0)), model.add_node((0, 0, 0.1))
    model.add(RigidBody(belt, 1.0, (1, 1, 1)))
    model.add(PrismaticJoint(model.ground, belt, (1, 0, 0), drive=lambda t: way * v * t))
    model.add(RigidBody(block, m, (1, 1, 1)))
    model.fix(block, translation=False)
    model.add(Contact(belt, block, Plane(), Ball(0.1), friction=mu))
    for stiffness, force, along in ((k, pull, (c, 0, s)), (across, 0.0, (0, 1, 0))):
        end = block.position - far * np.array(along)
        model.add(SpringDamper(model.ground, block, stiffness, free_length=far - force / stiffness, point_a=end))
    found = mbs.modes(model, 2, damped=True).eigenvalues
    decay = 0.5 * mu * (m * G + pull * s) / (m * v)
    slow, fast = np.sqrt(k * c * (c - way * mu * s) / m), np.sqrt(across / m - decay**2)
    assert found == pytest.approx([1j * slow, -decay + 1j * fast], rel=1e-6)
