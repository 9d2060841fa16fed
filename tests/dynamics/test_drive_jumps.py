"""Drives that jump, or whose velocity does, are told: places are right then, and reactions are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.contracts import LawOfTime
from fem_mbs.elements import (
    CylindricalJoint,
    DistanceJoint,
    JointDrive,
    JointStop,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
)
from fem_mbs.elements.joints.relative_batch import jump

Z, G = (0, 0, 1), 9.81


def run(law: Callable[[float], float], joint: type, group: str, step: float = 0.01) -> mbs.Solution:
    """A body that is driven, and carries another one that swings."""
    model = mbs.Model(group, gravity=(0, -G, 0))
    driven = model.add_node((0.3, 0, 0), name="driven")
    hung = model.add_node((0.3, -0.5, 0))
    model.add(RigidBody(driven, 1.0, (1, 1, 1)))
    model.add(RigidBody(hung, 0.2, (0.01, 0.01, 0.01)))
    if joint is JointDrive:
        model.add(JointDrive(model.add(RevoluteJoint(model.ground, driven, Z)), law), name="drive")
    else:
        model.add(joint(model.ground, driven, Z, drive=law), name="drive")
    model.add(RevoluteJoint(driven, hung, (1, 0, 0), (0.3, 0, 0)))
    return mbs.simulate(model, 0.2, step)


JUMPS: dict[str, tuple[Callable[[float], float], str]] = {
    "sets off at a step": (lambda t: max(0.0, t - 0.1), "t = 0.1 s and 0.11 s: its velocity changes by 1 "),
    "sets off in a step": (lambda t: max(0.0, t - 0.105), "t = 0.1 s and 0.11 s: its velocity changes by 1 "),
    "stops": (lambda t: 0.5 * min(t, 0.102) ** 2, "t = 0.1 s and 0.11 s: its velocity changes by 0.1 "),
    "leaps": (lambda t: 1e-3 * (t > 0.103), "t = 0.1 s and 0.11 s: it changes by 0.001 "),
}


@pytest.mark.parametrize("group", ["SE3", "R3xSO3"])
@pytest.mark.parametrize("joint", [PrismaticJoint, RevoluteJoint, JointDrive])
@pytest.mark.parametrize("name", JUMPS)
def test_a_jump_is_told(name: str, joint: type, group: str, caplog: pytest.LogCaptureFixture) -> None:
    law, words = JUMPS[name]
    run(law, joint, group)
    assert f" 'drive': the drive jumps between {words}" in caplog.text


SMOOTH: dict[str, Callable[[float], float]] = {
    "acceleration that jumps": lambda t: 0.5 * max(0.0, t - 0.103) ** 2,
    "eight steps a turn": lambda t: 0.1 * (1.0 - np.cos(2.0 * np.pi * t / 0.08)),
    "to and fro": lambda t: (1.0 - np.cos(9.0 * t)) ** 2,
    "three steps": lambda t: (
        0.01 * np.clip((t - 0.103) / 0.03, 0.0, 1.0) ** 2 * (3 - 2 * np.clip((t - 0.103) / 0.03, 0, 1))
    ),
    "rests": lambda t: 0.0,
}


@pytest.mark.parametrize("joint", [PrismaticJoint, RevoluteJoint])
@pytest.mark.parametrize("name", SMOOTH)
def test_what_steps_resolve_is_none(name: str, joint: type, caplog: pytest.LogCaptureFixture) -> None:
    run(SMOOTH[name], joint, "SE3")
    assert "jumps" not in caplog.text and "up and down" not in caplog.text


@pytest.mark.slow
def test_a_drive_that_is_finer_than_the_steps_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """At all ends of steps it is where it began; with steps that resolve it, nothing is told."""
    for h, told in ((0.01, True), (0.0025, True), (0.0005, False)):
        caplog.clear()
        mbs.simulate(chain(lambda t: 0.01 * np.sin(200.0 * np.pi * t) ** 2, lambda t: t * t, False), 0.08, h)
        assert ("Joint 'first': the " in caplog.text) == told and "'second'" not in caplog.text
    caplog.clear()
    mbs.simulate(chain(lambda t: 0.5 * max(0.0, t - 0.004) ** 2, lambda t: t * t, False), 0.1, 0.01)
    assert not caplog.text  # its acceleration jumps once, in a step that is looked at


def chain(first: Callable[[float], float], second: Callable[[float], float], turned: bool) -> mbs.Model:
    """Two bodies on driven hinges, one on the other; the joints are added in either order."""
    model = mbs.Model(gravity=(0, -G, 0))
    a, b = model.add_node((0.3, 0, 0)), model.add_node((0.6, 0, 0))
    for node in (a, b):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    hinges = [
        ("first", RevoluteJoint(model.ground, a, Z, drive=first)),
        ("second", RevoluteJoint(a, b, Z, (0.3, 0, 0), drive=second)),
    ]
    for name, hinge in hinges[:: -1 if turned else 1]:
        model.add(hinge, name=name)
    return model


@pytest.mark.parametrize("turned", [False, True])
def test_all_drives_of_a_chain_are_told(turned: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Each by what it does itself, whatever carries it."""
    mbs.simulate(chain(lambda t: max(0.0, t - 0.7), lambda t: 1e-3 * (t > 0.503), turned), 1.0, 0.01)
    assert "Joint 'second': the drive jumps between t = 0.5 s and 0.51 s: it changes by 0.001 rad" in caplog.text
    assert "Joint 'first': the drive jumps between t = 0.7 s and 0.71 s: its velocity changes by 1 rad/s" in caplog.text


def test_what_hits_beside_a_drive_is_no_jump_of_it(caplog: pytest.LogCaptureFixture) -> None:
    """A nut turns smoothly and slides freely, onto a stop."""
    model = mbs.Model(gravity=(0, 0, -G))
    nut = model.add_node((0, 0, 0))
    model.add(RigidBody(nut, 1.0, (1, 1, 1)))
    shaft = model.add(CylindricalJoint(model.ground, nut, Z), name="shaft")
    model.add(JointDrive(shaft, lambda t: 0.5 * t**2, coordinate="rotation z"))
    model.add(JointStop(shaft, -0.2, 0.2, restitution=0.0, coordinate="translation z"))
    assert mbs.simulate(model, 0.4, 0.01).position(nut)[-1, 2] == pytest.approx(-0.2, abs=1e-6)
    assert "jumps" not in caplog.text


@pytest.mark.parametrize("leap", [0.0, 4.0, 7.0])
def test_a_leap_is_found_in_a_step_that_turns_far(leap: float) -> None:
    model = mbs.Model()
    hinge = RevoluteJoint(model.ground, model.add_node((0, 0, 0)), (0, 0, 1))
    found, t = jump(LawOfTime(lambda t: 40.0 * t + leap * (t > 0.3)), hinge, 0.0, 1.0, np.pi)
    assert (found, t) == pytest.approx((leap, 0.3 if leap else t), abs=1e-6)


def test_what_moves_a_joint_is_told_by_its_arguments() -> None:
    """How many numbers it returns, and whether these are angles."""
    model = mbs.Model()
    ground, node = model.ground, model.add_node((1, 0, 0))
    one, three = (lambda t: t), (lambda t: (t, 0.0, 0.0))
    hinge = RevoluteJoint(ground, node, Z)
    assert hinge.laws_of_time() == DistanceJoint(ground, node).laws_of_time() == {}
    assert RevoluteJoint(ground, node, Z, drive=one).laws_of_time() == {"drive": (one, None, True)}
    assert PrismaticJoint(ground, node, Z, drive=one).laws_of_time() == {"drive": (one, None, False)}
    assert SphericalJoint(ground, node, displacement=three).laws_of_time() == {"displacement": (three, 3, False)}
    assert DistanceJoint(ground, node, drive=one).laws_of_time() == {"drive": (one, None, False)}
    assert JointDrive(hinge, one).laws_of_time() == {"law": (one, None, True)}


@pytest.mark.parametrize("leap", [0.5, 3.0, 2.0 * np.pi])
def test_a_leap_that_no_step_takes_is_named(leap: float) -> None:
    """By the joint, the time and the jump of its drive, whatever is worst in Newton's method."""
    with pytest.raises(
        mbs.FemMbsError, match=rf"'second': its drive jumps by {leap:.3g} rad at t = 0.503 s, and .* let"
    ):
        mbs.simulate(chain(lambda t: 0.1 * t**2, lambda t: leap * (t > 0.503), False), 0.6, 0.1)
