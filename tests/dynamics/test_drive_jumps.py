"""Drives that jump, or whose velocity does, are told: places are right then, and reactions are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import PrismaticJoint, RevoluteJoint, RigidBody

Z, G = (0, 0, 1), 9.81


def run(law: Callable[[float], float], joint: type, group: str, step: float = 0.01) -> mbs.Solution:
    """A body that is driven, and carries another one that swings."""
    model = mbs.Model(group, gravity=(0, -G, 0))
    driven = model.add_node((0.3, 0, 0), name="driven")
    hung = model.add_node((0.3, -0.5, 0))
    model.add(RigidBody(driven, 1.0, (1, 1, 1)))
    model.add(RigidBody(hung, 0.2, (0.01, 0.01, 0.01)))
    model.add(joint(model.ground, driven, Z, drive=law), name="drive")
    model.add(RevoluteJoint(driven, hung, (1, 0, 0), (0.3, 0, 0)))
    return mbs.simulate(model, 1.0, step)


JUMPS: dict[str, tuple[Callable[[float], float], str]] = {
    "sets off at a step": (lambda t: max(0.0, t - 0.5), "t = 0.5 s and 0.51 s: its velocity changes by 1 "),
    "sets off in a step": (lambda t: max(0.0, t - 0.505), "t = 0.5 s and 0.51 s: its velocity changes by 1 "),
    "stops": (lambda t: 0.1 * np.sin(min(t, 0.602)) ** 2, "t = 0.6 s and 0.61 s: its velocity changes by 0.09"),
    "leaps": (lambda t: 1e-3 * (t > 0.503), "t = 0.5 s and 0.51 s: it changes by 0.001 "),
}


@pytest.mark.parametrize("group", ["SE3", "R3xSO3"])
@pytest.mark.parametrize("joint", [PrismaticJoint, RevoluteJoint])
@pytest.mark.parametrize("name", JUMPS)
def test_a_jump_is_told(name: str, joint: type, group: str, caplog: pytest.LogCaptureFixture) -> None:
    law, words = JUMPS[name]
    run(law, joint, group)
    assert f"Joint 'drive': the drive jumps between {words}" in caplog.text


SMOOTH: dict[str, Callable[[float], float]] = {
    "acceleration that jumps": lambda t: 0.5 * max(0.0, t - 0.503) ** 2,
    "eight steps a turn": lambda t: 0.1 * (1.0 - np.cos(2.0 * np.pi * t / 0.08)),
    "to and fro": lambda t: (1.0 - np.cos(9.0 * t)) ** 2,
    "three steps": lambda t: (
        0.01 * np.clip((t - 0.503) / 0.03, 0.0, 1.0) ** 2 * (3 - 2 * np.clip((t - 0.503) / 0.03, 0, 1))
    ),
    "rests": lambda t: 0.0,
}


@pytest.mark.parametrize("joint", [PrismaticJoint, RevoluteJoint])
@pytest.mark.parametrize("name", SMOOTH)
def test_what_steps_resolve_is_none(name: str, joint: type, caplog: pytest.LogCaptureFixture) -> None:
    run(SMOOTH[name], joint, "SE3")
    assert "jumps" not in caplog.text
