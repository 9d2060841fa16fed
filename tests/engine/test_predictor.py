"""The first guess of a step: exact for what it extrapolates, never worse than the plain one for long."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from catalogue import GROUPS
from models import machine

import fem_mbs as mbs
from fem_mbs.alpha.newmark import CONSTANT, LINEAR, PLAIN, PredictorHistory, first_guess
from fem_mbs.benchmarks.flexible import four_bar, right_angle_cantilever
from fem_mbs.benchmarks.tops import top_on_joint
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint, RigidBody
from fem_mbs.newton import UNSEEN, ConvergenceHistory

SIZES = (0.01, 0.02, 0.015, 0.005, 0.012, 0.02)


def followed(jerk: object, force: object, sizes: tuple[float, ...]) -> tuple[list[float], PredictorHistory]:
    """How far guesses are off where the plain one misses ``h^3 jerk`` and ``h force``, seen in the middle of steps."""
    missed, t, off = None, 0.0, []
    for h in sizes:
        middle = t + h / 2
        D, multipliers = h**3 * jerk(middle), h * force(middle)  # type: ignore[operator]
        guess = first_guess(np.zeros(2), np.zeros(1), h, missed)
        off.append(max(np.abs(guess.D - D).max() / h**3, np.abs(guess.multipliers - multipliers).max() / h))
        missed = guess.missed(D, np.empty(0), multipliers, np.ones(2))
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
    assert guess.missed(np.ones(3), np.empty(0), np.ones(2), np.ones(3)).best == CONSTANT


def test_iterations_do_not_depend_on_the_unit_of_length() -> None:
    """A steel strip with a body at its end is let go, in metres and in millimetres: every step takes the same guess."""
    runs = []
    for u in (1.0, 1e3):
        model = mbs.Model(gravity=(0, 0, -9.81 * u))
        section = BeamSection.rectangle(0.03 * u, 0.002 * u, E=210e9 / u, nu=0.3, rho=7850 / u**3)
        strip = Beam.line(model, (0, 0, 0), (u, 0, 0), section, elements=6)
        model.fix(strip.nodes[0])
        model.add(RigidBody(strip.nodes[-1], 0.5, [1e-4 * u**2] * 3))
        runs.append(mbs.simulate(model, 0.12, 0.01))
    np.testing.assert_array_equal(*(run.stats.newton_iterations for run in runs))
    np.testing.assert_allclose(runs[1].x, 1e3 * runs[0].x, rtol=0, atol=1e-7)


def test_a_first_correction_is_taken_for_granted_only_by_ample_experience() -> None:
    tolerances = (1e-8, 1e-11)
    seen = ConvergenceHistory().after(1e-5, 1e-3, (1e-12, 1e-15))
    assert seen == ConvergenceHistory(pytest.approx(1e-4), pytest.approx(1e-5), 1e-5, 1e-3, 0)
    assert seen.suffices(1e-5, 1e-3, tolerances)
    assert not seen.suffices(2.1e-5, 1e-3, tolerances)  # a longer correction than it has seen
    assert not seen.suffices(1e-5, 2.1e-3, tolerances)  # a larger residual
    assert not seen.suffices(1e-5, 1e-3, (9e-12, 1e-11))  # ten times over is asked for
    assert not seen.suffices(1e-5, 1e-3, (1e-8, 9e-15))
    assert not seen._replace(unseen=UNSEEN).suffices(1e-5, 1e-3, tolerances)  # from time to time it looks


def test_worse_experience_counts_at_once_and_is_forgotten_slowly() -> None:
    good, bad = (ConvergenceHistory().after(1e-5, 1e-3, (left, 0.0)) for left in (1e-12, 1e-9))
    assert good.after(1e-5, 1e-3, (1e-9, 0.0)).force == bad.force
    assert bad.after(1e-5, 1e-3, (1e-12, 0.0)).force == pytest.approx(0.5 * bad.force)


def test_a_residual_of_the_multipliers_says_nothing_of_a_long_correction() -> None:
    """They stand in the forces linearly: what such a correction leaves is small, however large the residual was."""
    seen = ConvergenceHistory().after(1e-9, 1e-1, (1e-16, 1e-18))
    assert not seen.suffices(1e-5, 1e-2, (1e-8, 1e-11))


def chain(group: str) -> mbs.Model:
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    last = model.ground
    for k in range(5):
        node = model.add_node((k + 0.5, 0, 0))
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        model.add(RevoluteJoint(last, node, axis=(0, 1, 0), point=(k, 0, 0)))
        last = node
    return model


MODELS = {
    "machine": (machine, (1e-2, 5e-3, 2e-3)),
    "heavy top": (top_on_joint, (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4)),
    "chain": (chain, (1e-2, 5e-3, 2e-3)),
    "cantilever": (lambda group: right_angle_cantilever(group)[0], (0.2, 0.1, 0.05, 0.02)),
    "four-bar": (lambda group: four_bar(group)[0], (2e-2, 1e-2, 5e-3)),
}
STEPS = 150


def worst_unseen(model: mbs.Model, method: mbs.GeneralizedAlpha, h: float) -> tuple[float, int]:
    """Largest residual after steps whose last residual was not looked at, over its tolerance, and their number.

    Where nodes hardly move, forces are rounding of stiff beams: a next correction of 1e-12 does not count.
    """
    system, method = mbs.System(model), replace(method, start="consistent")
    state = mbs.start(system)
    memory, worst, unseen = method.init(system, state, h), 0.0, 0
    for _ in range(STEPS):
        after, following, report, _ = method.step(system, state, h, memory)
        if report.evaluations == report.iterations:
            unseen += 1
            problem = method.equations(system, state, h, memory)
            D = system.kinematics.relative(state.x, state.R, after.x, after.R).ravel()
            unknown = problem.predict(D, after.multipliers)
            if len(unknown.Z):
                formulas = problem.formulas
                newmark_increment = (after.v.ravel() - formulas.constants[0]) / formulas.factors[0]
                unknown = unknown._replace(Z=D - newmark_increment)
            trial = problem.evaluate(unknown)
            force, constraint = problem.size(trial)
            left = problem.length(problem.correction(unknown, trial, problem.linearize(unknown, trial)))
            worst = max(worst, force / 1e-8, constraint / 1e-11) if left > 1e-12 else worst
        state, memory = after, following
    return worst, unseen


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_what_is_not_looked_at_is_below_the_tolerance(group: str) -> None:
    """A run with joints, beams and a drive; a good part of the last residuals are predicted."""
    worst, unseen = worst_unseen(machine(group), mbs.GeneralizedAlpha(0.8), 5e-3)
    assert unseen > 30
    assert worst < 1.0


@pytest.mark.parametrize("h", [1e-3, 5e-4])
def test_it_holds_while_multipliers_oscillate(h: float) -> None:
    """From a consistent start those of the top swing with ``h`` at first: residuals of forces without a motion."""
    worst, unseen = worst_unseen(top_on_joint(), mbs.GeneralizedAlpha(0.9, start="consistent"), h)
    assert unseen > 20
    assert worst < 1.0


@pytest.mark.ci
def test_nor_is_it_after_second_corrections() -> None:
    """A clamped beam that falls: two corrections a step, of which the second is far shorter, and no third residual."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection(1e6, (4e5, 4e5), 1e3, (1e3, 1e3), 1.0, (2e-3, 1e-3, 1e-3))
    model.fix(Beam.line(model, (0, 0, 0), (10, 0, 0), section, elements=30).nodes[0])
    worst, unseen = worst_unseen(model, mbs.GeneralizedAlpha(0.9), 5e-3)
    assert unseen > 100
    assert worst < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("rho_inf", [0.9, 0.5])
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("name", MODELS)
def test_it_holds_in_all_models(name: str, group: str, rho_inf: float) -> None:
    build, sizes = MODELS[name]
    for h in sizes:
        try:
            worst, _ = worst_unseen(build(group), mbs.GeneralizedAlpha(rho_inf), h)
        except mbs.FemMbsError:  # too long a step says so
            continue
        assert worst < 1.0, h


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
        evaluation = system.evaluate_at(state)
        assert system.relative_residual(evaluation)[0] < 1e-8
