"""The run: its grid, what stops it, how a failed step is repaired, and what is left when it cannot be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Force, RevoluteJoint, RigidBody, SphericalJoint
from fem_mbs.solution.history import MINOR, ROUNDING, Accuracy, Stats, snapped


def falling(value: object = (0.0, 0.0, -1.0)) -> mbs.Model:
    """A body under a force."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), name="bob")
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(Force(node, value), name="pull")  # type: ignore[arg-type]
    return model


def struck(newton: mbs.Newton | None = None) -> tuple[mbs.Model, mbs.GeneralizedAlpha]:
    """A damped cantilever struck so hard after t = 0.29 s that steps of 0.1 s cannot be solved."""
    model = mbs.Model()
    section = BeamSection(1e4, 5e3, 10.0, 10.0, 1.0, (1e-2, 1e-2, 1e-2)).with_damping(0.1)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 4, start_node=model.ground, name="blade")
    model.add(Force(beam.nodes[-1], lambda t: (0, 0, 300.0 if 0.29 < t < 0.41 else 0.0)))
    return model, mbs.GeneralizedAlpha(rho_inf=0.5, newton=newton or mbs.Newton())


def swinging() -> mbs.Model:
    """A pendulum."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((1, 0, 0))
    model.add(RigidBody(bob, 1.0, (0.1, 0.2, 0.3)))
    model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)))
    return model


def test_the_grid_has_the_step_and_ends_at_the_end() -> None:
    solution = mbs.simulate(falling(), 1.0, 0.1)
    np.testing.assert_allclose(solution.t, 0.1 * np.arange(11), rtol=1e-15)
    assert solution.t[-1] == 1.0
    assert solution.success and solution.status is mbs.Outcome.FINISHED and "reached its end" in solution.message


def test_the_last_step_is_cut() -> None:
    solution = mbs.simulate(falling(), 1.0, 0.3)
    np.testing.assert_allclose(solution.t, [0.0, 0.3, 0.6, 0.9, 1.0], rtol=1e-15)
    np.testing.assert_allclose(solution.position(solution.system.nodes[1])[-1], [0, 0, -0.5], atol=1e-12)
    np.testing.assert_allclose(mbs.simulate(falling(), 0.2, 0.2).t, [0.0, 0.2])


def test_a_run_that_ended_within_a_step_goes_on_with_the_rest_of_it() -> None:
    """Also where that is the last step, or the last one before a jump."""

    def pull(t: float) -> tuple[float, float, float]:
        return (0.0, 0.0, -1.0 if t < 0.7 else -3.0)

    pull.jumps = [0.7]  # type: ignore[attr-defined]
    model = falling(pull)
    cut = mbs.simulate(model, 0.5, 0.3)
    for t_end in (0.6, 1.0):
        rest = mbs.simulate(model, t_end, 0.3, initial=cut.checkpoint)
        assert rest.t[-1] == t_end
        fallen = 0.5 * t_end**2 + max(t_end - 0.7, 0.0) ** 2
        np.testing.assert_allclose(rest.position("bob")[-1], [0, 0, -fallen], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "times"), [("t_end", (0, 0.1)), ("t_end", ("1", 0.1)), ("step", (1.0, np.nan)), ("step", (1.0, -0.1))]
)
def test_impossible_times_are_refused(name: str, times: tuple[float, float]) -> None:
    with pytest.raises(mbs.ModelError, match=f"simulate: {name} must be a positive number of seconds"):
        mbs.simulate(falling(), *times)


def test_stats_count_the_run() -> None:
    solution = mbs.simulate(swinging(), 1.0, 0.1)
    stats = solution.stats
    assert stats.newton_iterations.shape == (10,)
    assert stats.residual_evaluations >= stats.newton_iterations.sum()
    assert 1 <= stats.factorizations <= stats.newton_iterations.sum()
    assert stats.failed_steps == 0
    np.testing.assert_allclose(stats.mean_newton_iterations, stats.newton_iterations.mean())
    assert Stats(np.empty(0), 0, 0, 0, 0, np.empty(0), 0.0).mean_newton_iterations == 0.0


@pytest.mark.parametrize(
    "run",
    [
        lambda _: mbs.simulate(falling(), 0.1, 0.1),
        mbs.statics,
        lambda model: mbs.steady_rotation(model, (0, 0, 1)),
    ],
)
def test_what_a_run_took_has_passed(run: Callable[[mbs.Model], mbs.Solution]) -> None:
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.circle(0.1, 1e9, 0.3, 1e3), 1)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1), drive=lambda t: t))
    begun = perf_counter()
    assert 0.0 < run(model).stats.wall_time <= perf_counter() - begun


def test_stats_read_in_a_line() -> None:
    stats = mbs.simulate(swinging(), t_end=0.1, step=0.01).stats
    assert str(stats).startswith("10 steps of 0.01 s, 0 repeated shorter; ")
    assert "estimated error" in str(stats)
    assert "array" not in repr(stats)


def test_an_error_is_told_over_the_motion_of_its_kind() -> None:
    """The larger of the two; motions far smaller than those of the other kind count as a share of these."""

    def relative(length: float, angle: float, displacement: float, rotation: float) -> float:
        return Accuracy(length, angle, displacement, rotation, 0.0, 4.0).relative

    assert relative(1e-3, 1e-5, 0.5, 0.1) == pytest.approx(2e-3)
    assert relative(1e-5, 1e-3, 0.5, 0.1) == pytest.approx(1e-2)
    assert relative(1e-3, 0.0, 0.0, 0.1) == pytest.approx(0.25e-3 / (MINOR * 0.1))
    assert relative(0.0, 1e-3, 0.5, 0.0) == pytest.approx(1e-3 / (MINOR * 0.125))
    assert relative(0.0, 1e-3, 400.0, 0.0) == pytest.approx(1e-3 / MINOR)
    assert relative(0.0, 1e-3, 0.0, 0.0) == pytest.approx(1e-3 / ROUNDING)


def test_times_are_of_the_run_but_for_rounding() -> None:
    """Of 2 s from t = 3 s: what is beyond an end by a billionth of them is there; others stay."""
    slack = 2.0 * 1e-9
    given = np.array([3.0 - 2.0 * slack, 3.0 - 0.9 * slack, 3.0, 4.0, 5.0 + 0.9 * slack, 5.0 + 2.0 * slack])
    expected = np.where(np.arange(6) == 1, 3.0, np.where(np.arange(6) == 4, 5.0, given))
    assert (snapped(given, 3.0, 5.0) == expected).all()


def test_simulate_is_start_and_steps() -> None:
    """The loop written by hand gives the same states, but for the rounding of ``h``."""
    model, method = swinging(), mbs.GeneralizedAlpha(rho_inf=0.8)
    solution = mbs.simulate(model, 0.2, 0.05, method)
    system = mbs.System(model)
    state = mbs.start(system, method)
    memory = method.init(system, state, 0.05)
    for k in range(1, 5):
        state, memory, *_ = method.step(system, state, solution.t[k] - state.t, memory)
        state = replace(state, t=solution.t[k])
        for name in ("x", "R", "v", "vdot"):
            np.testing.assert_allclose(getattr(state, name), getattr(solution, name)[k], atol=1e-13)


def test_callback_sees_every_step_and_ends_the_run() -> None:
    seen: list[float] = []

    def callback(state: mbs.State) -> bool:
        seen.append(state.t)
        return state.t > 0.45

    solution = mbs.simulate(falling(), 1.0, 0.1, callback=callback)
    np.testing.assert_allclose(seen, [0.1, 0.2, 0.3, 0.4, 0.5])
    np.testing.assert_allclose(solution.t, [0.0, *seen])
    assert solution.success and solution.status is mbs.Outcome.STOPPED


def test_interrupting_keeps_the_steps_done() -> None:
    def callback(state: mbs.State) -> None:
        if state.t > 0.35:
            raise KeyboardInterrupt

    solution = mbs.simulate(falling(), 1.0, 0.1, callback=callback)
    np.testing.assert_allclose(solution.t, [0.0, 0.1, 0.2, 0.3, 0.4])
    assert not solution.success and solution.status is mbs.Outcome.INTERRUPTED and "interrupted" in solution.message


def test_failing_steps_are_halved_and_the_step_is_restored() -> None:
    model, method = struck()
    solution = mbs.simulate(model, 1.0, 0.1, method)
    steps = np.diff(solution.t)
    assert solution.success and solution.stats.failed_steps > 0
    np.testing.assert_allclose(steps[[0, 1, -1]], 0.1, rtol=1e-12)
    halvings = np.log2(0.1 / steps)
    np.testing.assert_allclose(halvings, np.round(halvings), atol=1e-9)
    assert 1 <= round(halvings.max()) <= 8
    grid = np.isclose(solution.t[:, None], 0.1 * np.arange(11), rtol=0, atol=1e-12)
    assert grid.any(axis=0).all()
    fine = mbs.simulate(model, 0.4, 2e-3, method)
    tip, k = model.nodes[-1], int(np.flatnonzero(grid[:, 4])[0])
    np.testing.assert_allclose(solution.displacement(tip)[k], fine.displacement(tip)[-1], atol=0.1)


def test_a_run_that_fails_says_all_and_carries_its_steps() -> None:
    """Without iterations nothing but rest can be solved."""
    model, method = struck(mbs.Newton(max_iterations=1))
    with pytest.raises(mbs.ConvergenceError) as failure:
        mbs.simulate(model, 1.0, 0.1, method)
    error = failure.value
    assert isinstance(error, mbs.FemMbsError)
    solution = error.solution
    assert solution is not None and not solution.success and solution.status is mbs.Outcome.FAILED
    np.testing.assert_allclose(solution.t[:3], [0.0, 0.1, 0.2])
    assert 0.28 < solution.t[-1] < error.t < 0.3
    assert len(error.residual_history) == 2 and solution.stats.failed_steps >= 9
    message = str(error)
    for part in (
        "no solution at t = 0.29",
        "no convergence in 1 iterations",
        "relative residuals 1.0e+00",
        "worst equations",
    ):
        assert part in message
    assert "Beam 'blade'" in message or "node 'blade[" in message
    assert "the step was halved 8 times, down to 0.000391 s" in message


def test_functions_of_time_that_fail_are_named_and_leave_the_steps_before() -> None:
    model = falling(lambda t: (0, 0, 1) if t < 0.55 else (0, 0, np.nan))
    with pytest.raises(
        mbs.MotionError, match=r"no solution at t = .*Force 'pull': its function of time must return"
    ) as failure:
        mbs.simulate(model, 1.0, 0.1)
    solution = failure.value.solution
    assert solution is not None
    np.testing.assert_allclose(solution.t[:6], 0.1 * np.arange(6))
    assert 0.5 <= solution.t[-1] < 0.55
    with pytest.raises(
        mbs.MotionError, match="Force 'pull': its function of time failed at t = 0 s: ZeroDivisionError"
    ):
        mbs.simulate(falling(lambda t: (1 / t, 0, 0)), 1.0, 0.1)


def test_an_element_turned_too_far_is_named() -> None:
    model = mbs.Model()
    tip = model.add_node((1, 0, 0), angular_velocity=(9.0, 0, 0))
    model.add(Beam([model.ground, tip], BeamSection(1e4, 1e4, 1.0, 1.0, 1.0, (1, 1, 1))), name="spring")
    with pytest.raises(mbs.MotionError, match="Beam 'spring': element 1 of 1 .*refine the mesh") as failure:
        mbs.simulate(model, 3.0, 0.02)
    assert failure.value.solution is not None and len(failure.value.solution.t) > 5


def test_methods_refuse_impossible_parameters() -> None:
    with pytest.raises(mbs.ModelError, match=r"rho_inf must be in \[0, 1\], received 1.5"):
        mbs.GeneralizedAlpha(rho_inf=1.5)
    with pytest.raises(mbs.ModelError, match=r"alpha must be in \[0, 1/3\], received 0.5"):
        mbs.GeneralizedAlpha.hht(0.5)
    with pytest.raises(mbs.ModelError, match="formulation must be one of 'stabilized'.*received 'index9'"):
        mbs.GeneralizedAlpha(formulation="index9")


def test_hht_is_a_member_of_the_family() -> None:
    """Without damping both are the trapezoidal rule in the linear case: one step of a body under constant force."""
    ends = []
    for method in (mbs.GeneralizedAlpha(1.0), mbs.GeneralizedAlpha.hht(0.0)):
        ends.append(mbs.simulate(falling(), 1.0, 0.5, method).x[-1])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-14)
    alpha_m, alpha_f, beta, gamma = mbs.GeneralizedAlpha.hht(0.05).coefficients
    assert (alpha_m, alpha_f, beta, gamma) == (0.0, 0.05, 0.25 * 1.05**2, 0.55)


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_a_run_can_go_on_from_a_state(group: str) -> None:
    """Loads, drives and velocities go on; only the algorithmic accelerations begin anew, an error of second order."""

    def driven() -> mbs.Model:
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        arm, bob = model.add_node((1, 0, 0)), model.add_node((2, 0, 0))
        for node in (arm, bob):
            model.add(RigidBody(node, 1.0, (0.1, 0.2, 0.3)))
        model.add(RevoluteJoint(model.ground, arm, (0, 0, 1), point=(0, 0, 0), drive=lambda t: t**2))
        model.add(SphericalJoint(arm, bob, point=(1.5, 0, 0)))
        model.add(Force(bob, lambda t: (0, 0, t)))
        return model

    differences = []
    for h in (0.02, 0.01):
        whole = mbs.simulate(driven(), 1.0, h)
        half = mbs.simulate(driven(), 0.5, h)
        rest = mbs.simulate(driven(), 1.0, h, initial=half.state(-1))
        assert rest.t[0] == 0.5 and rest.t[-1] == 1.0
        np.testing.assert_allclose(rest.t, whole.t[-len(rest.t) :], rtol=1e-12)
        differences.append(np.abs(rest.x[-1] - whole.x[-1]).max())
    assert differences[1] < 1e-3 and differences[1] < differences[0] / 3.0


def test_a_state_of_another_model_is_refused() -> None:
    state = mbs.simulate(falling(), 0.1, 0.1).state(-1)
    with pytest.raises(mbs.ModelError, match="t_end = 0.1 s must come after the initial state at t = 0.1 s"):
        mbs.simulate(falling(), 0.1, 0.1, initial=state)
    with pytest.raises(
        mbs.ModelError, match="simulate: initial is not one of this model: it has node 'bob' on R3xSO3 where"
    ):
        mbs.simulate(struck()[0], 1.0, 0.1, initial=state)


def test_a_run_from_an_equilibrium_says_from_when() -> None:
    """The state of an equilibrium is at its load factor."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((0, 0, -1))
    model.add(RigidBody(bob, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)))
    rest = mbs.statics(model, ramp=False).state(-1)
    assert "10 steps from t = 1 s to t = 2 s" in str(mbs.simulate(model, 2.0, 0.1, initial=rest))
    assert "10 steps to t = 1 s" in str(mbs.simulate(model, 1.0, 0.1))
