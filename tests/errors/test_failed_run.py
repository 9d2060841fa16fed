"""A run that fails half-way: the error says when, why and what was tried, and keeps every step done."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.contracts import Report
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    JointActuator,
    JointForce,
    JointSensor,
    Moment,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
)
from fem_mbs.errors import LawError
from fem_mbs.initial.singular import explain_failure
from fem_mbs.lie import so3
from fem_mbs.newton import NotConvergedError

SECTION = BeamSection(1e4, 5e3, 10.0, 10.0, 1.0, (1e-2, 1e-2, 1e-2))


def double_pendulum(*loads: Any) -> mbs.Model:
    """Two bodies under named loads."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    upper, lower = model.add_node((1, 0, 0), name="upper"), model.add_node((2, 0, 0), name="lower")
    model.add(SphericalJoint(model.ground, upper, point=(0, 0, 0)), name="pivot")
    model.add(RevoluteJoint(upper, lower, (0, 1, 0), point=(1.5, 0, 0)), name="elbow")
    for node in (upper, lower):
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    for name, value in zip(("gust", "jerk"), loads, strict=False):
        model.add(Force(lower, value), name=name)
    return model


def blow(t: float) -> tuple[float, float, float]:
    return (0.0, 0.0, 1e20 if t > 0.35 else 0.0)


def fail(model: mbs.Model, kind: type[mbs.FemMbsError], **arguments: Any) -> Any:
    with pytest.raises(kind) as failure:
        mbs.simulate(model, **{"t_end": 1.0, "step": 0.1} | arguments)
    return failure.value


def test_steps_done_are_those_of_a_run_that_ends_before() -> None:
    error = fail(double_pendulum(blow), mbs.ConvergenceError)
    solution = error.solution
    assert not solution.success and solution.status is mbs.Outcome.FAILED and solution.stats.failed_steps >= 9
    whole = mbs.simulate(double_pendulum(), 3 * 0.1, 0.1)
    np.testing.assert_allclose(solution.t[:4], whole.t)
    for part in ("x", "R", "v", "multipliers_all"):
        np.testing.assert_array_equal(getattr(solution, part)[:4], getattr(whole, part))
    assert solution.energy.total.shape == solution.t.shape
    assert 0.3 < solution.t[-1] < error.t < 0.352
    assert len(solution.stats.newton_iterations) == len(solution.t) - 1


def test_the_message_says_when_how_far_and_what_was_tried() -> None:
    few = mbs.GeneralizedAlpha(newton=mbs.Newton(max_iterations=4))  # later iterates may or may not be finite
    error = fail(double_pendulum(blow), mbs.ConvergenceError, method=few)
    message = str(error)
    steps = len(error.solution.t) - 1
    for words in (
        f"no solution at t = {error.t:.6g} s: ",
        "relative residuals ",
        "worst equations: ",
        "try a smaller step",
        f"reached t = {error.solution.t[-1]:.6g} s in {steps} steps; the step was halved 8 times, down to 0.000391 s",
        "the error has the steps as its solution",
    ):
        assert words in message
    (worst,) = (line for line in message.splitlines() if "worst equations" in line)
    assert worst.count(";") == 2
    assert any(name in worst for name in ("node 'upper'", "node 'lower'", "'pivot'", "'elbow'"))
    assert f"{error.residual_history[-1]:.1e}" in message and len(error.residual_history) > 1


def test_what_control_acts_by_is_told_where_a_motion_runs_away() -> None:
    model = double_pendulum(blow)
    model.add(JointActuator(model["elbow"], -2.0 * model.add(JointSensor(model["elbow"]))), name="servo")
    assert "control acts by JointActuator 'servo': a loop that is unstable" in str(fail(model, mbs.FemMbsError))


def test_worst_equations_are_compared_without_units() -> None:
    """A gap of 1 m counts 0.5 in a model of 2 m; an angle of 0.7 rad counts as its sine."""
    model = double_pendulum()
    model.gravity = np.zeros(3)
    system = mbs.System(model)
    state = mbs.start(system, mbs.GeneralizedAlpha())
    x, R, zero = state.x.copy(), state.R.copy(), np.zeros((system.n, 6))
    R[2] = so3.exp(np.array([0, 0, 0.7]))
    x[1:] += (0, 1, 0)
    x[2] = x[1] + (0.5, 0, 0) + 0.5 * R[2][:, 0]
    moved = replace(state, x=x, R=R, v=zero, vdot=zero, multipliers=np.zeros(system.m))
    trial = SimpleNamespace(evaluation=system.evaluate(system.motion(moved), moved.multipliers, system.prescribe(0.0)))
    failure = NotConvergedError("no convergence in 1 iterations", Report(history=[1.0, 0.7]), trial)
    lines = [line.strip() for line in explain_failure(system, state, 0.0, failure, "try a smaller step").splitlines()]
    assert lines[:2] == ["no convergence in 1 iterations", "relative residuals 1.0e+00, 7.0e-01"]
    kind, worst = lines[2].split(": ")
    assert kind == "worst equations"
    expected = ["RevoluteJoint 'elbow' rotation y (6.4e-01)", "SphericalJoint 'pivot' translation y (5.0e-01)"]
    assert worst.split("; ")[:2] == expected


def test_a_broken_law_is_not_tried_again() -> None:
    error = fail(double_pendulum(lambda t: (0, 0, 1 / (t - 0.4) if t > 0.3999 else 0.0)), LawError)
    np.testing.assert_allclose(error.solution.t, [0.0, 0.1, 0.2, 0.3])
    assert isinstance(error, mbs.MotionError) and isinstance(error.__cause__, ZeroDivisionError)
    assert error.solution.stats.failed_steps == 1 and "halved" not in str(error)
    assert str(error).startswith(
        "no solution at t = 0.4 s: Force 'gust': its function of time failed at t = 0.4 s: Zero"
    )


def test_an_element_that_turns_too_far_is_named_with_the_advice_to_refine() -> None:
    """A moment that winds one element of a beam into a ring, which two elements can follow."""
    for elements in (1, 4):
        model = mbs.Model()
        damped = SECTION.with_damping(0.2)
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), damped, elements, start_node=model.ground, name="spiral")
        model.add(Moment(beam.nodes[-1], lambda t: (0, 0, 35.0 * min(t, 1.0)), frame="body"))
        if elements == 4:
            assert mbs.simulate(model, 1.2, 0.02).success
            continue
        error = fail(model, mbs.MotionError, t_end=1.2, step=0.02)
        assert "Beam 'spiral': element 1 of 1 between node 'ground' and node 'spiral[1]' turns by 17" in str(error)
        assert "refine the mesh there" in str(error) and "the step was halved 8 times" in str(error)
        turn = error.solution.rotation_vector(beam.nodes[-1])[-1]
        assert 0.5 < error.solution.t[-1] < 1.2 and 2.5 < np.linalg.norm(turn) <= 3.0


def test_a_callback_that_fails_keeps_the_steps_and_its_traceback() -> None:
    def callback(state: mbs.State) -> None:
        if state.t > 0.25:
            raise KeyError("plot")

    error = fail(double_pendulum(), mbs.FemMbsError, callback=callback)
    assert str(error).startswith("simulate: the callback failed at t = 0.3 s: KeyError('plot'); it is called with the")
    assert isinstance(error.__cause__, KeyError) and len(error.solution.t) == 4


def test_a_step_with_a_singular_matrix_ends_the_run() -> None:
    attempts = []

    class Singular(mbs.GeneralizedAlpha):
        def step(self, system: mbs.System, state: mbs.State, h: float, memory: Any) -> mbs.Step:
            if state.t < 0.15:
                return super().step(system, state, h, memory)
            attempts.append(h)
            raise mbs.SingularSystemError("the matrix is singular")

    error = fail(double_pendulum(), mbs.SingularSystemError, method=Singular())
    assert str(error).startswith(
        "no solution at t = 0.200391 s: the matrix is singular\n  reached t = 0.2 s in 2 steps"
    )
    assert len(error.solution.t) == 3 and len(attempts) == 10
    assert max(attempts) == pytest.approx(0.15)  # once beyond the end of the step


def test_a_singular_position_is_explained() -> None:
    """Two bars between two pivots, just when they are stretched: their pull is not unique."""
    model = mbs.Model()
    bars = [model.add_node((x, 0, 0)) for x in (0.5, 1.5)]
    for bar in bars:
        model.add(RigidBody(bar, 1.0, (0.1, 0.1, 0.1)))
    for name, a, b, x in (("P", model.ground, bars[0], 0), ("Q", *bars, 1), ("R", bars[1], model.ground, 2)):
        model.add(SphericalJoint(a, b, (x, 0, 0)), name=name)
    failure = mbs.SingularSystemError("the matrix is singular")
    text = explain_failure(*standing(model, 0.5), 0.6, failure, "")
    assert text.startswith("the matrix is singular\n  the joint forces at t = 0.5 s are not unique")
    assert "SphericalJoint 'P', SphericalJoint 'Q', SphericalJoint 'R': translation x (1 of these 3" in text
    assert explain_failure(*standing(double_pendulum(), 0.5), 0.6, failure, "") == "the matrix is singular"


def standing(model: mbs.Model, t: float) -> tuple[mbs.System, mbs.State]:
    system = mbs.System(model)
    zero = np.zeros((system.n, 6))
    return system, mbs.State(t, system.x0, system.R0, zero, zero, np.zeros(system.m))


def test_a_run_that_fails_gives_no_warnings() -> None:
    """Trials that overflow are part of the search."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 3, start_node=model.ground, interpolation="R3xSO3")
    model.add(Force(beam.nodes[-1], (1e60, 1e60, 0)))
    model.add(Moment(beam.nodes[-1], (1e60, 1e60, 0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fail(model, mbs.FemMbsError)


def test_errors_travel_between_processes() -> None:
    error = mbs.ConvergenceError("no solution", 0.5, [1.0, 0.1])
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.t, copy.residual_history) == ("no solution", 0.5, [1.0, 0.1])


def test_a_law_of_the_motion_that_fails_in_a_trial_is_asked_again_in_shorter_steps() -> None:
    """A cubic damper, to which a first guess of long steps leads far beyond any speed of the motion."""
    model, calls = mbs.Model(), list[float]()
    rotor = model.add_node((0, 0, 0), angular_velocity=(0, 0, 5.0))
    model.add(RigidBody(rotor, 1.0, (0.1, 0.1, 0.1)))
    hinge = model.add(RevoluteJoint(model.ground, rotor, (0, 0, 1)))

    def law(t: float, angle: float, rate: float) -> float:
        calls.append(abs(rate))
        if abs(rate) > 10.0:
            raise OverflowError("too fast")
        return -(rate**3)

    model.add(JointForce(hinge, law))
    solution = mbs.simulate(model, 0.1, 0.05)
    stats = solution.stats
    assert max(calls) > 10.0 and stats.failed_steps + stats.rejected_steps and solution.success


CHANGES: dict[str, Any] = {
    "its gravity": lambda model: setattr(model, "gravity", (0, 0, 0)),
    "Force 'Force 1': added": lambda model: model.add(Force("upper", (1, 0, 0))),
    "RevoluteJoint 'elbow': removed": lambda model: model.remove("elbow"),
    "node 'node 3': added": lambda model: model.add_node((0, 0, 0)),
    "RigidBody 'RigidBody 1': mass": lambda model: setattr(model.elements[0], "mass", 100.0),
    "node 'upper': fixed_translation, fixed_rotation": lambda model: model.fix("upper"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_model_that_a_callback_changes_ends_the_run(what: str) -> None:
    model, other = double_pendulum(), double_pendulum()
    with pytest.raises(mbs.ModelError, match=f"simulate: changed during the run, up to t = 0.1 s: {what}") as error:
        mbs.simulate(model, 1.0, 0.1, callback=lambda state: CHANGES[what](model) and None)
    assert error.value.solution is not None and len(error.value.solution.t) == 2
    assert mbs.simulate(double_pendulum(), 0.1, 0.1, callback=lambda state: CHANGES[what](other) and None).success
    last = double_pendulum()  # changed where the run ends, it is another model from there on
    assert len(mbs.simulate(last, 1.0, 0.1, callback=lambda state: (CHANGES[what](last), True)[1]).t) == 2
