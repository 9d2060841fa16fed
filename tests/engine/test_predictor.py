"""The first guess of a step: exact for what it extrapolates, never worse than the plain one for long."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import GROUPS
from models import machine

import fem_mbs as mbs
from fem_mbs.elements import RevoluteJoint, RigidBody
from fem_mbs.integrate.predictor import CONSTANT, LINEAR, PLAIN, Missed, first_guess, what_was_missed
from fem_mbs.solve.newton import UNSEEN, Experience, experienced

SIZES = (0.01, 0.02, 0.015, 0.005, 0.012, 0.02)


def followed(jerk: object, force: object, sizes: tuple[float, ...]) -> tuple[list[float], Missed]:
    """How far guesses are off where the plain one misses ``h^3 jerk`` and ``h force``, seen in the middle of steps."""
    missed, t, off = None, 0.0, []
    for h in sizes:
        middle = t + h / 2
        D, multipliers = h**3 * jerk(middle), h * force(middle)  # type: ignore[operator]
        guess = first_guess(np.zeros(2), np.zeros(1), h, missed)
        off.append(max(np.abs(guess.D - D).max() / h**3, np.abs(guess.multipliers - multipliers).max() / h))
        missed = what_was_missed(D, multipliers, h, guess, missed)
        t += h
    assert missed is not None
    return off, missed


def test_constant_slopes_are_met_after_one_step_whatever_the_steps() -> None:
    off, _ = followed(lambda t: np.array([1.0, -2.0]), lambda t: np.array([3.0]), SIZES)
    assert off[0] == pytest.approx(3.0)
    assert max(off[1:]) < 1e-12


def test_linear_slopes_are_met_once_they_are_seen() -> None:
    off, missed = followed(lambda t: np.array([1.0, 50.0 * t]), lambda t: np.array([30.0 * t]), SIZES)
    assert missed.best == LINEAR
    assert max(off[3:]) < 1e-12


def test_what_changes_its_sign_from_step_to_step_is_not_extrapolated() -> None:
    """A sawtooth: the plain guess is the best, and taken."""
    sign = iter(np.resize([1.0, -1.0], 20))
    off, missed = followed(lambda t: np.array([next(sign), 0.0]), lambda t: np.zeros(1), 6 * (0.01,))
    assert missed.best == PLAIN
    assert max(off[3:]) == pytest.approx(1.0)


def test_the_first_step_has_nothing_to_extrapolate() -> None:
    guess = first_guess(np.ones(3), np.ones(2), 0.1, None)
    assert (guess.D == 1.0).all() and (guess.multipliers == 1.0).all()
    assert what_was_missed(np.ones(3), np.ones(2), 0.1, guess, None).best == CONSTANT


def test_a_first_correction_is_taken_for_granted_only_by_ample_experience() -> None:
    tolerances = (1e-8, 1e-11)
    seen = experienced((1e-3, 1e-4), (1e-10, 1e-14), None)
    assert seen == Experience(pytest.approx(1e-4), pytest.approx(1e-8), 1e-3, 0)
    assert seen.suffices((1e-3, 1e-5), tolerances)
    assert not seen.suffices((2.1e-3, 0.0), tolerances)  # further off than it has seen
    assert not seen.suffices((1e-3, 0.0), (1e-10, 1e-11))  # ten times over is asked for
    assert not seen.suffices((1e-3, 0.0), (1e-8, 1e-14))
    assert not seen._replace(unseen=UNSEEN).suffices((1e-3, 0.0), tolerances)  # from time to time it looks


def test_worse_experience_counts_at_once_and_is_forgotten_slowly() -> None:
    good, bad = experienced((1e-3, 0.0), (1e-10, 0.0), None), experienced((1e-3, 0.0), (1e-7, 0.0), None)
    assert experienced((1e-3, 0.0), (1e-7, 0.0), good).force == bad.force
    assert experienced((1e-3, 0.0), (1e-10, 0.0), bad).force == pytest.approx(0.5 * bad.force)


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_not_looked_at_is_below_the_tolerance(group: str) -> None:
    """After every step of a run with joints, beams and a drive, however it was accepted."""
    system = mbs.System(machine(group))
    method = mbs.GeneralizedAlpha(0.8)
    state = mbs.start(system, method)
    memory, unseen = method.init(system, state, 0.002), 0
    for _ in range(150):
        state, memory, report, _ = method.step(system, state, 0.002, memory)
        unseen += report.evaluations == report.iterations
        evaluation = system.evaluate(system.motion(state), state.multipliers, system.prescribe(state.t))
        force, constraint = system.relative_residual(evaluation)
        assert force < 1e-8 and constraint < 1e-11
    assert unseen > 100  # nearly all: the last residual was predicted


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_a_blow_is_seen_at_once(group: str) -> None:
    """After a hundred steps of smooth motion a force jumps: the step in which it does is solved like any other."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    bar = model.add_node((0.5, 0, 0))
    model.add(RigidBody(bar, 2.0, (1e-3, 1 / 6, 1 / 6)))
    model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), point=(0, 0, 0)))
    model.add(mbs.elements.Force(bar, lambda t: (0, 0, 1e4 if t > 0.1005 else 0.0)))
    system, method = mbs.System(model), mbs.GeneralizedAlpha(0.9)
    state = mbs.start(system, method)
    memory = method.init(system, state, 1e-3)
    for _ in range(110):
        state, memory, *_ = method.step(system, state, 1e-3, memory)
        evaluation = system.evaluate(system.motion(state), state.multipliers, system.prescribe(state.t))
        assert system.relative_residual(evaluation)[0] < 1e-8
