"""Contacts bring no energy: random bodies that fall on a floor, and what tells a gain from work."""

from __future__ import annotations

import numpy as np
import pytest
from contact_campaign import MODELS, judged
from piles import pile

import fem_mbs as mbs
from fem_mbs.contact import smooth
from fem_mbs.contact.energy import EnergyAt, Gain, gained
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamSection,
    Box,
    Contact,
    Force,
    Plane,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
)
from fem_mbs.newton import NotConvergedError

H = 5e-3


@pytest.mark.ci
def test_what_rests_gains_nothing_but_rounding(caplog: pytest.LogCaptureFixture) -> None:
    """A heavy box on a light one: the rounding of its energy is more than all motion."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    low, high = model.add_node((0, 0, 0.05)), model.add_node((0, 0, 0.15))
    model.add(RigidBody(low, 1.0, [1e-2] * 3))
    model.add(RigidBody(high, 1e3, [10.0] * 3))
    box = Box((0.1, 0.1, 0.1))
    model.add(Contact(model.ground, low, Plane(), box))
    model.add(Contact(low, high, box, box))
    mbs.simulate(model, 0.2, 0.01)
    assert "gained" not in caplog.text


@pytest.mark.ci
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
    """No step gains more than passes: a share of what its parts exchange in it.

    These seeds were chosen because they ran to their end before steps without a solution were made anew: they are no
    sample of all. Of that, ``tests/contact_campaign.py`` tells.
    """
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


@pytest.mark.one
@pytest.mark.parametrize("make", [tumbling, driven, swinging])
def test_work_is_no_gain(make: object) -> None:
    """Drives, loads, fast turns, and vibrations that steps do not resolve."""
    model = make()  # type: ignore[operator]
    solution = mbs.simulate(model, 0.5, H)
    history = solution.history
    states = [history.state(k) for k in range(len(solution.t))]
    assert max(gained(history.system, a, b).more for a, b in zip(states[1:-1], states[2:], strict=True)) == 0.0


def sliding() -> tuple[mbs.Model, mbs.Node]:
    """A body that slides on a floor with 2 m/s until it rolls, with 2e-8 m/s: its inertia is that of a wall."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = model.add_node((0, 0, 0.1), velocity=(2, 0, 0))
    model.add(RigidBody(body, 1.0, (1e6, 1e6, 1e6)))
    model.add(Contact(model.ground, body, Plane(), Ball(0.1), friction=0.3))
    return model, body


@pytest.mark.slow
@pytest.mark.parametrize("fails", [(False, False), (True, False)], ids=["smooth steps", "Euler's steps, too"])
def test_steps_without_a_solution_are_made_anew(
    fails: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Euler's implicit method, and impulses alone, bring what slides to rest after v^2 / (2 mu g), of order 1."""
    solved = smooth.part_of

    def refused(*args: object, damped: bool = False, impulsive: bool = False) -> object:
        if (damped, impulsive) in ((False, False), fails):
            raise NotConvergedError("no solution")
        return solved(*args, damped=damped, impulsive=impulsive)  # type: ignore[arg-type]

    monkeypatch.setattr(smooth, "part_of", refused)
    mu_g, v0 = 0.3 * 9.81, 2.0
    h = 0.04
    model, body = sliding()
    solution = mbs.simulate(model, 0.72, h)
    error = abs(solution.position(body)[-1, 0] - v0**2 / (2.0 * mu_g))
    assert error < 0.5 * h * v0 + mu_g * h**2  # that of Euler's implicit method
    assert solution.velocity(body)[-1, 0] == pytest.approx(2e-8, abs=1e-9)
    assert "had no solution, and were made anew" in caplog.text


def test_gains_that_pass_add_up(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Each of 50 steps gains 3e-5 of the motion: no step is made anew, and the run says what became of them."""
    moves = EnergyAt(np.array([[1.0, 0.0, 0.0]]), 0.0, 0.0)
    monkeypatch.setattr(smooth, "gained", lambda *_: Gain(0.0, 3e-5, moves))
    model, _ = sliding()
    mbs.simulate(model, 0.1, 2e-3)
    assert "steps in contact have gained 0.0015 J that no force brought" in caplog.text
    assert "made anew" not in caplog.text


@pytest.mark.slow
def test_a_drive_whose_power_jumps_brings_what_it_brings() -> None:
    """A board that is shaken catches up with a block: friction jumps, and with it the power of the drive."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    board, block = model.add_node((0, 0, 0)), model.add_node((0, 0, 0.05))
    for node, mass in ((board, 5.0), (block, 1.0)):
        model.add(RigidBody(node, mass, (0.01, 0.01, 0.01)))
    model.add(PrismaticJoint(model.ground, board, (1, 0, 0), drive=lambda t: 0.05 * (1.0 - np.cos(10.0 * t))))
    model.add(Contact(board, block, Plane(), Box((0.2, 0.2, 0.1)), friction=0.3))
    run = mbs.simulate(model, 1.2, 0.01)
    memory = run.checkpoint.memory
    assert memory.balance.most == 0.0 and memory.damped == 0
    # slides where the board is faster than friction makes the block, else sticks
    place, speed, h = 0.0, 0.0, 1e-4
    for t in h * np.arange(12000):
        board_speed = 0.5 * np.sin(10.0 * (t + h))
        faster = np.clip(board_speed - speed, -0.3 * 9.81 * h, 0.3 * 9.81 * h)
        place, speed = place + h * (speed + 0.5 * faster), speed + faster
    np.testing.assert_allclose(run.position(block)[-1, 0], place, atol=2e-4)


@pytest.mark.ci
@pytest.mark.parametrize(("seed", "duration"), [(294, 0.4), (305, 0.1)])
def test_errors_that_are_carried_through_impacts_stay_within_the_motion(seed: int, duration: float) -> None:
    """What is hit in one motion and not in that beside it differs by a jump, and parts may be of no length."""
    error = mbs.simulate(pile(seed, 8), duration, 5e-3).stats.error
    assert 0.0 < error.length < error.displacement
