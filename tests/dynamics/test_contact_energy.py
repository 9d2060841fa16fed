"""Contacts bring no energy: random bodies that fall on a floor, and what tells a gain from work."""

from __future__ import annotations

import numpy as np
import pytest
from contact_campaign import MODELS, judged

import fem_mbs as mbs
from fem_mbs.contact.energy import gained
from fem_mbs.elements import Beam, BeamSection, Force, RevoluteJoint, RigidBody, SpringDamper

H = 5e-3


@pytest.mark.parametrize(("kind", "seed", "t_end"), [("beams", 8, 0.26), ("chains", 7, 0.4), ("chains", 10, 0.4)])
def test_what_opens_while_it_is_pressed_gains_nothing(kind: str, seed: int, t_end: float) -> None:
    """Contacts that open within a step with what is stiff behind them: they gained 0.26, 0.012 and 0.011."""
    verdict = judged(MODELS[kind](seed), H, t_end)
    assert not verdict.failure
    assert verdict.step_gain < 2e-3 and verdict.depth < 1e-10


SEEDS = {"chains": (1, 2, 4, 6), "beams": (1, 3, 5, 7), "plates": (1,), "piles": (100, 102, 103, 104, 105, 106)}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind, seeds in SEEDS.items() for seed in seeds])
def test_campaign(kind: str, seed: int) -> None:
    """No step gains more than passes: a share of what its parts exchange in it. Some other seeds end early."""
    verdict = judged(MODELS[kind](seed), H, 0.4)
    assert not verdict.failure
    assert verdict.step_gain < 5e-3 and verdict.depth < 1e-10


def driven() -> mbs.Model:
    """A crank that is driven, with a load over time at its end."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    crank = model.add_node((0.3, 0, 0))
    model.add(RigidBody(crank, 2.0, (0.01, 0.02, 0.02)))
    model.add(RevoluteJoint(model.ground, crank, (0, 1, 0), (0, 0, 0), drive=lambda t: 1.0 - np.cos(8.0 * t)))
    bob = model.add_node((0.5, 0, 0))
    model.add(RigidBody(bob, 1.0, (0.01, 0.01, 0.01)))
    model.add(SpringDamper(crank, bob, stiffness=300.0, damping=2.0))
    model.add(Force(bob, lambda t: (30.0 * np.sin(7.0 * t), 0.0, 10.0)))
    return model


def tumbling() -> mbs.Model:
    """A body that turns by 0.3 rad a step about no axis of its own."""
    model = mbs.Model()
    body = model.add_node((0, 0, 0), angular_velocity=(40, 40, 20))
    model.add(RigidBody(body, 1.0, (0.01, 0.02, 0.025)))
    return model


def swinging() -> mbs.Model:
    """A cantilever whose higher modes no step resolves."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.circle(0.01, 2e9, 0.3, 1000), 6)
    model.fix(beam.nodes[0])
    return model


@pytest.mark.parametrize("make", [driven, tumbling, swinging])
def test_work_is_no_gain(make: object) -> None:
    """Drives, loads, fast turns, and vibrations that steps do not resolve."""
    model = make()  # type: ignore[operator]
    solution = mbs.simulate(model, 0.5, H)
    history = solution.history
    states = [history.state(k) for k in range(len(solution.t))]
    assert max(gained(history.system, a, b)[0] for a, b in zip(states[1:-1], states[2:], strict=True)) == 0.0
