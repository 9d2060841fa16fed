"""The estimated error of a run: near the true one, never silent about a run that is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.alpha import local_error
from fem_mbs.alpha.local_error import FIRST, looked_at, unresolved
from fem_mbs.alpha.newmark import AccelerationHistory
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import tops
from fem_mbs.elements import (
    PID,
    Ball,
    Beam,
    BeamSection,
    Box,
    Contact,
    FixedJoint,
    Force,
    FrictionSpring,
    Harmonic,
    JointActuator,
    JointFriction,
    JointSensor,
    JointSpring,
    JointStop,
    Plane,
    PointMass,
    PointToPoint,
    PositionMotor,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
    SampledController,
    SampledStateSpace,
    SmoothStep,
    SpringDamper,
    Table,
    TorqueMotor,
)
from fem_mbs.lie import so3
from fem_mbs.solution.history import Accuracy

BLOW_UPS = [
    (0.9, 0.1, 10.0),
    pytest.param(0.9, 0.03, 30.0, marks=pytest.mark.slow),
    (0.8, 0.1, 10.0),
    (0.99, 0.01, 8.0),
    pytest.param(1.0, 0.001, 10.0, marks=pytest.mark.slow),
]
"""``rho_inf``, step and end of runs that gain energy without bound with index 3 on R3xSO3."""


def pendulum(group: str = "R3xSO3") -> mbs.Model:
    """A body on a horizontal arm of 1 m."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    body = model.add_node((1, 0, 0), name="body")
    model.add(RigidBody(body, 1.0, (0.01,) * 3))
    model.add(RevoluteJoint(model.ground, body, (0, 1, 0), point=(0, 0, 0)))
    return model


def fall(times: Array) -> Array:
    """Angle of the pendulum, from its equation ``(m l^2 + J) a = m g l cos(angle)``."""

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], 9.81 / 1.01 * np.cos(y[0])]

    return np.asarray(solve_ivp(rates, (0, times[-1]), [0.0, 0.0], "DOP853", times, rtol=1e-11, atol=1e-11).y[0])


@pytest.mark.ci
@pytest.mark.parametrize(
    ("group", "formulation", "rho_inf"), [("R3xSO3", "index2", 0.0), ("SE3", "index3", 0.9), ("R3xSO3", "index2", 1.0)]
)
def test_estimate_is_near_the_error(group: str, formulation: str, rho_inf: float) -> None:
    """Within a factor of 3 of the error against the equation of the pendulum, and of second order like that."""
    method = mbs.GeneralizedAlpha(rho_inf, formulation)
    estimates = []
    for h in (0.02, 0.01):
        solution = mbs.simulate(pendulum(group), 2.5, h, method)
        R = solution.rotation(solution.system.nodes[-1])
        off = np.unwrap(np.arctan2(R[:, 0, 2], R[:, 0, 0])) - fall(solution.t)
        told = solution.stats.error
        assert told is not None
        assert 1 / 3 < told.angle / np.abs(off).max() < 3
        assert told.length == pytest.approx(told.angle, rel=0.1)  # the arm is 1 m long
        assert told.displacement == pytest.approx(2.0, rel=0.05) and told.rotation == pytest.approx(np.pi, rel=0.1)
        assert not told.warning and "estimated error" in str(solution)
        estimates.append(told.angle)
    assert np.log2(estimates[0] / estimates[1]) == pytest.approx(2.0, abs=0.3)


@pytest.mark.slow
@pytest.mark.parametrize(("rho_inf", "h", "t_end"), BLOW_UPS)
def test_a_run_that_blows_up_warns(rho_inf: float, h: float, t_end: float, caplog: pytest.LogCaptureFixture) -> None:
    """Energies of a million times the swing do not pass in silence."""
    with caplog.at_level(logging.WARNING, "fem_mbs"):
        solution = mbs.simulate(pendulum(), t_end, h, mbs.GeneralizedAlpha(rho_inf, "index3"))
    assert np.ptp(solution.energy.total) > 1e6
    assert "of the order of the motion" in solution.message and solution.message.split(". ")[1][:20] in caplog.text


@pytest.mark.slow
def test_a_run_of_many_coarse_swings_warns() -> None:
    """The phase is lost, though the energy is kept."""
    solution = mbs.simulate(pendulum("SE3"), 60.0, 0.1)
    assert np.ptp(solution.energy.total) < 0.5
    assert "of the order of the motion" in solution.message


def test_motions_that_are_exact_have_no_error() -> None:
    """A free body that flies and spins about its axis, and one at rest; neither is doubtful."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((0, 0, 0), velocity=(3, 0, 4), angular_velocity=(0, 0, 50.0))
    model.add(RigidBody(node, 1.0, (1.0, 1.0, 2.0)))
    told = mbs.simulate(model, 1.0, 0.05).stats.error
    assert told is not None and not told.warning
    assert max(told.length, told.angle) < 1e-9
    assert told.turn == pytest.approx(2.5)


def test_methods_without_an_estimate_say_so() -> None:
    """None, and in words."""
    model = mbs.Model()
    model.add(RigidBody(model.add_node((0, 0, 0), angular_velocity=(1, 2, 3)), 1.0, (1, 2, 3)))
    solution = mbs.simulate(model, 0.1, 0.01, mbs.RungeKuttaMuntheKaas())
    told = solution.stats.error
    assert not told.estimated and not told.warning and np.isnan([*told, told.relative]).all()
    assert "error not estimated" in str(solution) and "nan" not in str(solution)


@pytest.mark.parametrize(("group", "steps", "kernels"), [("R3xSO3", 120, "1"), ("SE3", 120, "0"), ("SE3", 60, "1")])
def test_what_a_short_passage_leaves_behind(
    group: str, steps: int, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comet of eccentricity 0.5, after a turn: the sum of local errors is a hundredth of the error."""
    monkeypatch.setenv("FEM_MBS_FAST", kernels)
    model, strength = mbs.Model(group), 4.0 * np.pi**2
    comet = model.add_node((0.5, 0, 0), velocity=(0, np.sqrt(3.0 * strength), 0))
    model.add(RigidBody(comet, 1.0, (0.1,) * 3))
    model.add(SpringDamper(model.ground, comet, force=lambda t, length, rate: strength / length**2))
    solution = mbs.simulate(model, 1.0, 1.0 / steps)
    told, error = solution.stats.error, np.linalg.norm(solution.x[-1, 1] - (0.5, 0, 0))
    assert told is not None and 0.5 < told.length / error < 2.0
    assert bool(told.warning) == (steps == 60)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("eccentricity", "turns", "steps"),
    [
        (0.7, 2, 314),
        pytest.param(0.5, 5, 240, marks=pytest.mark.slow),
        pytest.param(0.9, 1, 3000, marks=pytest.mark.slow),
    ],
)
def test_errors_over_many_turns_in_fine_steps(eccentricity: float, turns: int, steps: int) -> None:
    """A comet, from where it is fastest: local errors alone are a hundredth and less of the error, blocks are long."""
    model = mbs.Model()
    comet = model.add_node(
        (1.0 - eccentricity, 0, 0), velocity=(0, ((1 + eccentricity) / (1 - eccentricity)) ** 0.5, 0)
    )
    model.add(RigidBody(comet, 1.0, (0.1,) * 3))
    model.add(SpringDamper(model.ground, comet, force=lambda t, length, rate: length**-2))
    solution = mbs.simulate(model, 2.0 * np.pi * turns, 2.0 * np.pi / steps)
    told, error = solution.stats.error, np.linalg.norm(solution.x[-1, 1] - solution.x[0, 1])
    assert told is not None and 0.4 < told.length / error < 2.5


@pytest.mark.slow
@pytest.mark.parametrize(("h", "t_end"), [(0.005, 15.0), pytest.param(0.0025, 10.0, marks=pytest.mark.slow)])
def test_runs_that_are_late_say_so(h: float, t_end: float) -> None:
    """A pendulum that comes to rest nearly upright, twice, and falls a second or two too late: 1.3 m off in the end."""
    model, angle = mbs.Model(gravity=(0, 0, -9.81)), 3.141 if h == 0.005 else 3.1415
    body = model.add_node((np.sin(angle), 0, -np.cos(angle)))
    model.add(RigidBody(body, 1.0, (0.01,) * 3))
    model.add(RevoluteJoint(model.ground, body, (0, 1, 0), point=(0, 0, 0)))
    solution = mbs.simulate(model, t_end, h)
    rates = lambda t, y: [y[1], -9.81 / 1.01 * np.sin(y[0])]  # noqa: E731
    true = solve_ivp(rates, (0.0, t_end), [angle, 0.0], "DOP853", rtol=1e-12, atol=1e-13).y[0, -1]
    assert np.linalg.norm(solution.x[-1, 1] - (np.sin(true), 0, -np.cos(true))) > 1.0
    assert solution.stats.error.warning


@pytest.mark.one
@pytest.mark.parametrize(("group", "kernels"), [("R3xSO3", "1"), ("R3xSO3", "0"), ("SE3", "1")])
def test_errors_grow_as_motions_part(group: str, kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pendulum that stands on its head and falls over, at an exponential rate, as its equation says."""
    monkeypatch.setenv("FEM_MBS_FAST", kernels)
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    body = model.add_node((0, 0, 1), velocity=(1e-3, 0, 0), angular_velocity=(0, 1e-3, 0))
    model.add(RigidBody(body, 1.0, (0.01,) * 3))
    model.add(RevoluteJoint(model.ground, body, (0, 1, 0), point=(0, 0, 0)))
    solution = mbs.simulate(model, 3.0, 0.02)

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], 9.81 / 1.01 * np.sin(y[0])]

    angle = solve_ivp(rates, (0.0, 3.0), [0.0, 1e-3], "DOP853", rtol=1e-12, atol=1e-13).y[0, -1]
    told, error = solution.stats.error, abs(np.arctan2(solution.x[-1, 1, 0], solution.x[-1, 1, 2]) - angle)
    assert told is not None and 0.8 < told.angle / error < 1.25


@pytest.mark.ci
@pytest.mark.parametrize("speed", [7.0, 6.2, 6.3, pytest.param(5.5, marks=pytest.mark.slow)])
def test_errors_of_rounds_that_cancel(speed: float) -> None:
    """A pendulum that nearly turns over, or does, slowly above and fast below: 0.24 to 0.46 of the error if late."""
    model, t_end = mbs.Model(gravity=(0, 0, -9.81)), 8.0
    body = model.add_node((0, 0, -1), velocity=(speed, 0, 0), angular_velocity=(0, -speed, 0))
    model.add(RigidBody(body, 1.0, (0.01,) * 3))
    model.add(RevoluteJoint(model.ground, body, (0, 1, 0), point=(0, 0, 0)))
    solution = mbs.simulate(model, t_end, 0.01)
    rates = lambda t, y: [y[1], -9.81 / 1.01 * np.sin(y[0])]  # noqa: E731
    true = solve_ivp(rates, (0.0, t_end), [0.0, speed], "DOP853", solution.t, rtol=1e-12, atol=1e-13).y[0]
    off = np.linalg.norm(solution.x[:, 1] - np.column_stack([np.sin(true), 0.0 * true, -np.cos(true)]), axis=1)
    told = solution.stats.error
    assert told is not None and 0.7 < told.length / off[len(off) // 2 :].max() < 2.5


@pytest.mark.ci
@pytest.mark.parametrize(("group", "angle", "rate", "t_end"), [("R3xSO3", 3.1, 0.0, 12.0), ("SE3", np.pi, 0.1, 20.0)])
def test_errors_of_what_stands_still_for_a_while_again_and_again(
    group: str, angle: float, rate: float, t_end: float
) -> None:
    """A pendulum that comes close to standing upright: what it is late by makes no error of its energy, nor grows."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    arm, along = np.array([np.sin(angle), 0, -np.cos(angle)]), np.array([np.cos(angle), 0, np.sin(angle)])
    body = model.add_node(arm, velocity=rate * along, angular_velocity=(0, -rate, 0))
    model.add(RigidBody(body, 1.0, (0.01,) * 3))
    model.add(RevoluteJoint(model.ground, body, (0, 1, 0), point=(0, 0, 0)))
    solution = mbs.simulate(model, t_end, 0.02)
    rates = lambda t, y: [y[1], -9.81 / 1.01 * np.sin(y[0])]  # noqa: E731
    true = solve_ivp(rates, (0.0, t_end), [angle, rate], "DOP853", solution.t, rtol=1e-12, atol=1e-13).y[0]
    off = np.linalg.norm(solution.x[:, 1] - np.column_stack([np.sin(true), 0.0 * true, -np.cos(true)]), axis=1)
    assert 0.7 < solution.stats.error.length / off[len(off) // 2 :].max() < 20.0


def on_a_rail(speed: float = 0.0) -> tuple[mbs.Model, PrismaticJoint]:
    """A mass of 1 kg that moves along x."""
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((0, 0, 0), velocity=(speed, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    return model, model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))


@pytest.mark.slow
@pytest.mark.parametrize("gain", [20.0, 400.0])
def test_errors_that_a_drive_takes_back(gain: float) -> None:
    """A mass that a motor leads, by its linear equation: the sum over steps is up to some hundred times the error."""
    (model, rail), P, I, D, t_end = on_a_rail(), gain, 0.5 * gain, 0.5 * gain**0.5, 4.0  # noqa: E741
    model.add(PositionMotor(rail, lambda t: np.sin(2.0 * t), P, I, D))
    solution = mbs.simulate(model, t_end, 0.01)

    def rates(t: float, y: Array) -> list[float]:
        missed = np.sin(2.0 * t) - y[0]
        return [y[1], P * missed + I * y[2] + D * (2.0 * np.cos(2.0 * t) - y[1]), missed]

    true = solve_ivp(rates, (0.0, t_end), [0.0] * 3, "DOP853", solution.t, rtol=1e-12, atol=1e-13).y[0]
    off, told = np.abs(solution.x[:, 1, 0] - true), solution.stats.error
    assert told is not None and 0.8 * off[len(off) // 2 :].max() < told.length < 12.0 * off.max()


@pytest.mark.ci
def test_errors_between_stops() -> None:
    """A mass that goes to and fro between springs which hold it for half of their period."""
    (model, rail), stiffness = on_a_rail(1.0), 1e4
    model.add(JointStop(rail, -0.5, 0.5, stiffness))
    solution = mbs.simulate(model, 2.5, 0.02)
    held = np.pi / stiffness**0.5
    t = solution.t % (2.0 + 2.0 * held)
    late = np.abs(t - 0.5) < held, np.abs(t - 1.5 - held) < held
    ways = np.interp(
        t, [0.0, 0.5, 0.5 + held, 1.5 + held, 1.5 + 2 * held, 2.0 + 2 * held], [0, 0.5, 0.5, -0.5, -0.5, 0]
    )
    off = np.abs(solution.x[:, 1, 0] - ways)[~(late[0] | late[1])]
    told = solution.stats.error
    assert told is not None and 0.5 < told.length / off[len(off) // 2 :].max() < 30.0


@pytest.mark.ci
def test_errors_of_what_bounces_on_a_rigid_stop() -> None:
    """A pendulum, between its impacts by its own equation; that it swings to and fro is no reason to forget errors."""
    back, lowest, t_end = 0.7, -0.3, 3.0
    model = mbs.Model(gravity=(0, 0, -9.81))
    place = np.array([np.sin(1.2), 0, -np.cos(1.2)])
    bob = model.add_node(place)
    model.add(RigidBody(bob, 1.0, (1e-3,) * 3))
    hinge = model.add(RevoluteJoint(model.ground, bob, (0, -1, 0), point=(0, 0, 0)))
    model.add(JointStop(hinge, lowest - 1.2, None, restitution=back))
    run = mbs.simulate(model, t_end, 0.01)

    def meets(_: float, y: Array) -> float:
        return float(y[0] - lowest)

    meets.terminal, meets.direction = True, -1  # type: ignore[attr-defined]
    t, y = 0.0, np.array([1.2, 0.0])
    while t < t_end:
        part = solve_ivp(
            lambda _, y: [y[1], -9.81 / 1.001 * np.sin(y[0])], (t, t_end), y, events=meets, rtol=1e-11, atol=1e-12
        )
        t, y = part.t[-1], part.y[:, -1] * (1.0, -back if part.status else 1.0)
    off = np.linalg.norm(run.x[-1, 1] - [np.sin(y[0]), 0, -np.cos(y[0])])
    told = run.stats.error
    assert told is not None and 0.5 < told.length / off < 2.5


@pytest.mark.ci
@pytest.mark.parametrize("mass", [1e-3, 10.0])
def test_errors_of_what_has_come_to_rest_on_a_floor(mass: float) -> None:
    """Rounding is what is left of velocities then, and no lateness follows from it."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    box = model.add_node((0, 0, 0.1), rotation=Rotation.from_rotvec((0.1, 0, 0)))
    model.add(RigidBody(box, mass, mass * np.array([0.01, 0.012, 0.014])))
    model.add(Contact(model.ground, box, Plane(), Box((0.2, 0.3, 0.1)), friction=0.4))
    solution = mbs.simulate(model, 0.6, 0.01)
    assert np.abs(solution.velocity(box)[-1]).max() < 1e-12
    assert solution.stats.error.length < 1e-4


@pytest.mark.ci
@pytest.mark.parametrize("spin", [(0.1, 0.1, 10.0), (0.1, 10.0, 0.1)])
def test_errors_of_what_spins(spin: Array) -> None:
    """A free body about its largest and its middle axis: steps hardly err, and errors turn with the body."""
    inertia, model = np.array([1.0, 2.0, 3.0]), mbs.Model()
    model.add(RigidBody(model.add_node((0, 0, 0), angular_velocity=spin), 1.0, inertia))
    run = mbs.simulate(model, 2.5, 0.005)

    def rates(_: float, y: Array) -> Array:
        return np.append(np.cross(y[:9].reshape(3, 3), y[9:]), np.cross(inertia * y[9:], y[9:]) / inertia)

    exact = solve_ivp(rates, (0.0, 2.5), np.append(np.eye(3), spin), "DOP853", rtol=1e-11, atol=1e-11).y[:9, -1]
    told, off = run.stats.error, np.linalg.norm(so3.log(exact.reshape(3, 3).T @ run.R[-1, 1]))
    assert told is not None and 0.7 < told.angle / off < 2.5


@pytest.mark.ci
@pytest.mark.parametrize(("friction", "height"), [(0.0, 0.1), (0.3, 0.0)])
def test_what_is_carried_in_contact_and_through_impacts_is_the_error(friction: float, height: float) -> None:
    """A ball that spins and slides, slowed by a steady force, and one that bounces: on SE(3), where it goes astray."""
    radius, t_end, back = 0.1, 0.3, 0.6
    v, spin = np.array([3.0, 1.0, 0.0]), np.array([4.0, -3.0, 25.0])
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    ball = model.add_node((0, 0, radius + height), velocity=v, angular_velocity=spin)
    model.add(RigidBody(ball, 1.0, (0.4 * radius**2,) * 3))
    law = {"friction": friction, "restitution": back}
    model.add(Contact(model.ground, ball, Plane((0, 0, 1), (0, 0, 0)), Ball(radius), **law))
    run = mbs.simulate(model, t_end, 1e-3)
    slip = v - radius * np.cross(spin, (0, 0, 1))
    exact = v * t_end - 0.5 * friction * 9.81 * t_end**2 * slip / np.linalg.norm(slip) + [0, 0, radius]
    if height:
        t = t_end - (2.0 * height / 9.81) ** 0.5
        exact[2] += back * (2.0 * 9.81 * height) ** 0.5 * t - 0.5 * 9.81 * t**2
    off, told = run.x[-1, 1] - exact, run.R[-1, 1] @ run.checkpoint.memory.alpha.errors.values[0, -6:-3]
    assert np.linalg.norm(off) > 1e-4 and np.linalg.norm(told - off) < 0.25 * np.linalg.norm(off)
    assert run.stats.error is not None and 0.5 < run.stats.error.length / np.linalg.norm(off) < 3.0


@pytest.mark.ci
@pytest.mark.parametrize("formulation", ["stabilized", pytest.param("index3", marks=pytest.mark.slow)])
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_what_is_carried_along_is_the_error(group: str, formulation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a heavy top, where it is and by which way, to leading order: the rest is a share that goes with the step."""
    monkeypatch.setattr(local_error, "BLOCK", 0.0)  # from step to step
    shares, t_end = [], 0.1
    for h in (1e-3, 5e-4):
        run = mbs.simulate(tops.top_on_joint(group), t_end, h, mbs.GeneralizedAlpha(formulation=formulation))
        off = run.x[-1, 1] - tops.exact(np.array([0.0, t_end])).x[-1]
        errors = run.checkpoint.memory.errors
        told = (errors.values[0] + errors.late * run.checkpoint.state.rates)[-6:-3]  # beside and along the motion
        told = run.R[-1, 1] @ told if group == "SE3" else told
        shares.append(np.linalg.norm(told - off) / np.linalg.norm(off))
    assert shares[0] < 0.2 and shares[1] < 0.7 * shares[0]


@pytest.mark.parametrize(("gain", "h"), [(60.0, 0.03), (60.0, 0.1), (20.0, 0.1)])
def test_errors_of_a_loop_with_states(gain: float, h: float) -> None:
    """A mass whose PID controller does not hold it, as its integral is too large for its rate, or does."""
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((0, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    place, rate = model.add(JointSensor(rail)), model.add(JointSensor(rail, "coordinate_rate"))
    model.add(JointActuator(rail, model.add(PID(1.0 - 1.0 * place, 10.0, gain, 2.0, rate=-1.0 * rate))))
    solution = mbs.simulate(model, 3.0, h)
    A = np.array([[0, 1, 0, 0], [-10, -2, gain, 10], [-1, 0, 0, 1], [0, 0, 0, 0]], float)
    told, error = solution.stats.error, abs(solution.x[-1, 1, 0] - expm(3.0 * A)[0, 3])
    assert told is not None and told.length > 0.5 * error
    assert gain < 50.0 or told.length < 2.0 * error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gain", "delay", "h"), [(2.0, 0.04, 0.05), pytest.param(3.0, 0.0, 0.02, marks=pytest.mark.slow)]
)
def test_errors_of_what_a_sampled_controller_holds(gain: float, delay: float, h: float) -> None:
    """A mass on a spring that a filter with two inputs shakes up, from sample to sample by matrix exponentials."""
    model, period, calls = mbs.Model(gravity=(0, 0, 0)), 0.1, list[float]()
    node = model.add_node((0, 0, 0), velocity=(1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(JointSpring(rail, 25.0))
    inputs = [model.add(JointSensor(rail)), model.add(JointSensor(rail, "coordinate_rate"))]

    def output(t: float, x: Array, u: Array) -> float:
        calls.append(t)
        return float(-2.0 * x[0] - 3.0 * u[0] + gain * u[1])

    update = lambda t, x, u: 0.5 * x + u[:1]  # noqa: E731
    law = SampledController(inputs, period, output, update=update, initial=[0.0], delay=delay)
    model.add(JointActuator(rail, model.add(law)))
    solution = mbs.simulate(model, 4.0, h)
    assert len(calls) == 41  # once a sample
    F, y, x = np.array([[0, 1, 0], [-25, 0, 1], [0, 0, 0]], float), np.array([0.0, 1.0, 0.0]), np.zeros(1)
    for t in period * np.arange(40):
        new, x = output(t, x, y[:2]), update(t, x, y[:2])
        y = expm(F * delay) @ y
        y = expm(F * (period - delay)) @ [y[0], y[1], new]
    told, error = solution.stats.error, abs(solution.x[-1, 1, 0] - y[0])
    assert told is not None and 0.6 < told.length / error < 1.5


@pytest.mark.ci
@pytest.mark.parametrize("known", [False, True])
def test_slopes_of_sampled_controllers_do_not_overshoot(known: bool) -> None:
    """Carts in a row that differences of their places brake, against half the step."""

    def run(h: float) -> mbs.Solution:
        model, before = mbs.Model("SE3", gravity=(0, 0, 0)), None
        for k in range(3):
            node = model.add_node((k, 0, 0), velocity=(0.3 - 0.5 * k, 0, 0))
            model.add(RigidBody(node, 1.0, (1, 1, 1)))
            rail = model.add(PrismaticJoint(before or model.ground, node, (1, 0, 0)))
            model.add(JointSpring(rail, 3.0))
            error, T, P, D = 0.3 - model.add(JointSensor(rail)), 0.05, 9.0 / (k + 1), 4.0 / (k + 1)
            A, B, C = np.array([[0.0, -1 / T], [0.0, 0.0]]), np.array([[1 / T], [1.0]]), np.array([[D / 2, -D / 2 / T]])
            E = np.array([[P + D / 2 / T]])
            if known:
                law: SampledController = SampledStateSpace(error, T, A, B, C, E, initial=[0.0, 0.3], delay=0.5 * T)
            else:
                output, update = lambda t, x, u, C=C, E=E: C @ x + E @ u, lambda t, x, u, A=A, B=B: A @ x + B @ u
                law = SampledController(error, T, output, update=update, initial=[0.0, 0.3], delay=0.5 * T)
            model.add(JointActuator(rail, model.add(law)))
            before = node
        return mbs.simulate(model, 0.6, h)

    coarse, fine = run(0.025), run(0.0125)
    error = 4 / 3 * np.abs(coarse.x - fine.x[::2]).max()
    assert 0.5 < coarse.stats.error.length / error < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("reference", [lambda t: 0.5 * min(t, 2.0), SmoothStep(1.0, 2.0)])
def test_what_a_reference_does_is_no_answer_of_a_sampled_controller(reference: Callable[[float], float]) -> None:
    """A trolley that carries a hanging load along, against half the step."""

    def run(h: float) -> mbs.Solution:
        model = mbs.Model(gravity=(0, 0, -9.81))
        trolley, load = model.add_node((0, 0, 0)), model.add_node((0, 0, -1.5))
        model.add(RigidBody(trolley, 5.0, (1, 1, 1)))
        model.add(RigidBody(load, 3.0, (0.6, 0.6, 0.6)))
        rail = model.add(PrismaticJoint(model.ground, trolley, (1, 0, 0)))
        pin = model.add(RevoluteJoint(trolley, load, (0, 1, 0), point=(0, 0, 0)))
        model.add(JointSpring(pin, 0.0, 0.3))
        seen = [
            model.add(sensor) for sensor in (JointSensor(rail), JointSensor(rail, "coordinate_rate"), JointSensor(pin))
        ]
        output = lambda t, x, u: 200.0 * (reference(t) - u[0]) - 70.0 * u[1] + 60.0 * u[2]  # noqa: E731
        model.add(JointActuator(rail, model.add(SampledController(seen, 0.05, output))))
        return mbs.simulate(model, 2.0, h)

    coarse, fine = run(0.025), run(0.0125)
    error = 4 / 3 * np.abs(coarse.x - fine.x[::2]).max()
    assert 0.6 < coarse.stats.error.length / error < 2.0  # 7 and more if the reference counts as an answer


@pytest.mark.ci
def test_kernels_carry_the_same_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As NumPy, of copies side by side, too; a run that is gone on with carries them on."""
    told = []
    for kernels in "10":
        monkeypatch.setenv("FEM_MBS_FAST", kernels)
        half = mbs.simulate(pendulum("SE3"), 2.0, 0.1)
        runs = [
            mbs.simulate(pendulum("SE3"), 4.0, 0.1),
            *mbs.simulate_many([pendulum("SE3"), pendulum("SE3")], 4.0, 0.1),
        ]
        runs.append(mbs.simulate(pendulum("SE3"), 4.0, 0.1, initial=half.checkpoint))
        errors = [run.checkpoint.memory.errors.values for run in runs[::3]]
        assert errors[0].any()
        np.testing.assert_allclose(errors[0], errors[1], rtol=0, atol=1e-12)
        told.append([run.stats.error.length for run in runs[:3]])
    np.testing.assert_allclose(told, told[0][0], rtol=1e-6)


@pytest.mark.ci
def test_errors_are_carried_by_the_tangent_at_the_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a pendulum that turns over at another rate, in steps of 0.07 rad with one correction each, for a second."""
    monkeypatch.setattr(local_error, "BLOCK", 0.0)  # from step to step
    for kernels in "10":
        monkeypatch.setenv("FEM_MBS_FAST", kernels)
        ends, h, shift = [], 0.01, 1e-6
        for rate, planted in ((7.0, 0.0), (7.0, 1.0), (7.0 + shift, 0.0)):
            model, method = mbs.Model(gravity=(0, 0, -9.81)), mbs.GeneralizedAlpha()
            bob = model.add_node((0, 0, -1), velocity=(rate, 0, 0), angular_velocity=(0, -rate, 0))
            model.add(RigidBody(bob, 1.0, (0.01,) * 3))
            model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)))
            system = mbs.System(model)
            state = mbs.start(system)
            memory = method.carrying(system, state, method.init(system, state, h))
            values = memory.errors.values
            values[1, -6:] += planted * np.array([1, 0, 0, 0, -1, 0])
            values[2:4, -4] += planted * 2.0 * rate
            for _ in range(100):
                state, memory, *_ = method.step(system, state, h, memory)
            values, late = memory.errors.values, memory.errors.late
            ends.append((state.R[-1], (values[0] + late * state.rates)[-2]))
        (one, of_steps), (_, carried), (other, _) = ends
        assert carried - of_steps == pytest.approx(
            so3.log(one.T @ other)[1] / shift, rel=3e-3
        )  # 2e-2 without a guess of Z


@pytest.mark.one
@pytest.mark.parametrize("step", [1e-3, 2e-4])
def test_kernels_carry_the_same_errors_over_blocks(step: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """As NumPy, of blocks of several steps, too; velocities are closed in them."""
    told = []
    for kernels in "10":
        monkeypatch.setenv("FEM_MBS_FAST", kernels)
        told.append(mbs.simulate(tops.top_on_joint(), 100 * step, step).checkpoint.memory.errors.values)
    for compiled, plain in zip(*told, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-6 * np.abs(plain).max())


def test_curvature_of_a_parabola() -> None:
    """Of rates of internal variables at three instants as far apart as they may be, whenever that is."""
    every: Any = SimpleNamespace(own_of=np.asarray)
    for old, last, t in np.sort(np.random.default_rng(0).uniform(0.0, 9.0, (8, 3)), axis=1):
        at_old, at_last, now = (np.array([s * (s - 4.0)]) for s in (old, last, t))
        recent = AccelerationHistory(at_last, old, at_old, old, at_old)
        assert local_error._curvature(every, now, recent, t, t - last, 1) == pytest.approx(2.0, rel=1e-9)


def test_few_steps_are_looked_at() -> None:
    """One in 6, 12 and then 24 steps, the first ones always, and not all at one phase of an oscillation."""
    looked = np.array([k for k in range(19_200) if looked_at(k)])
    assert looked[:FIRST].tolist() == list(range(FIRST)) and np.diff(looked).max() < 48
    assert len(looked) == FIRST - 1 + 10 + 15 + (19_200 - 240) // 24
    for period in np.linspace(3.0, 60.0, 115):
        assert abs(np.exp(2j * np.pi * looked / period).mean()) < 0.3


@pytest.mark.parametrize("period", [0.1, 0.0999, 0.05])
def test_loads_that_are_the_same_at_the_ends_of_all_steps(period: float) -> None:
    """Newton's method has nothing to solve there: 6 N half of the time, and -4 N, lead as far as 6 N throughout."""
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    model.add(Force(node, lambda t: (6.0 if t / period % 1.0 < 0.5 else -4.0, 0, 0)))
    solution = mbs.simulate(model, 5.0, 0.1)
    error = solution.stats.error
    assert solution.x[-1, -1, 0] > 60.0 and error.length > 12.5 and error.warning


@pytest.mark.parametrize("periods", [1, 5, 10])
def test_loads_whose_periods_fit_into_a_step_are_seen(periods: int) -> None:
    """At the ends of steps, in their middles and at fifths they are zero; what moves is their impulse at the start."""
    h, w = 0.1, 2.0 * np.pi * periods / 0.1
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    model.add(Force(node, lambda t: (np.sin(w * t), 0, 0)))
    error = mbs.simulate(model, 2.0, h).stats.error
    assert error.length > 2.0 / w and error.warning


@pytest.mark.parametrize("turn", [2.0, 3.0])
def test_what_a_start_sets_off_and_is_soon_gone_is_seen(turn: float) -> None:
    """A damped spring that is let go, ``turn`` rad a step: its worst error comes in the first steps, and is seen."""
    h, size, damping = 0.01, 0.01, 0.6
    rate, model = turn / h, mbs.Model()
    body = model.add_node((1, 0, 0))
    model.add(RigidBody(body, 1.0, (0.1,) * 3))
    spring = {"stiffness": rate**2, "damping": 2.0 * damping * rate, "free_length": 1.0 - size}
    model.add(SpringDamper(model.ground, body, **spring))
    solution = mbs.simulate(model, 30 * h, h)
    t, damped = solution.t, rate * (1.0 - damping**2) ** 0.5
    swing = np.cos(damped * t) + damping * rate / damped * np.sin(damped * t)
    exact = 1.0 - size + size * np.exp(-damping * rate * t) * swing
    off, error = np.abs(solution.x[:, -1, 0] - exact).max(), solution.stats.error
    assert off > 0.2 * size and 0.65 * off < error.length < 2.0 * off


@pytest.mark.ci
@pytest.mark.parametrize(
    ("turn", "size"),
    [(2.0, 0.1), pytest.param(2.7, 0.1, marks=pytest.mark.slow), pytest.param(2.0, 0.05, marks=pytest.mark.slow)],
)
def test_steps_that_take_many_iterations_are_doubted(turn: float, size: float) -> None:
    """An arm on an arm that is shaken by ``turn`` rad a step: its estimated error is small, and of no use."""
    rate, model = 20.0, mbs.Model(gravity=(0, 0, -9.81))
    arms = [model.add_node((x, 0, 0)) for x in (0.5, 1.2)]
    for arm in arms:
        model.add(RigidBody(arm, 1.0, (0.02,) * 3))
    drive = lambda t: size * (1.0 - np.cos(rate * t))  # noqa: E731
    model.add(RevoluteJoint(model.ground, arms[0], (0, 1, 0), point=(0, 0, 0), drive=drive))
    model.add(RevoluteJoint(*arms, (0, 1, 0), point=(0.9, 0, 0)))
    error = mbs.simulate(model, 20.0 * turn / rate, turn / rate).stats.error
    assert error.rounds > 7.0 and "iterations in the mean" in error.warning
    fine = mbs.simulate(model, 20.0 * turn / rate, turn / rate / 10.0).stats.error
    assert fine is not None and fine.rounds < 4.0 and not fine.warning


def test_no_oscillation_is_larger_than_velocities_change() -> None:
    """Shells that are let go have accelerations at the start that say 0.15 rad, of vibrations that never come."""
    run, h = mbs.simulate(pendulum(), 0.2, 0.1), 0.1
    scheme, before, after = mbs.GeneralizedAlpha().scheme(run.system), run.state(0), run.state(1)
    change = np.linalg.norm((after.v - before.v).reshape(-1, 2, 3), axis=-1).max(axis=0)
    none, resolved = np.zeros_like(before.v), (after.v - before.v) * 2.0 / h
    for ends, size in ((none, h * change), (none + 1e9, h * change), (resolved, 0.0 * change)):
        told = unresolved(scheme, h, replace(before, vdot=ends), replace(after, vdot=none))
        np.testing.assert_allclose(told, size, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("at", [0.33, 0.35, 0.66, 0.95])
def test_load_that_sets_in_at_rest(at: float) -> None:
    """A load within a step that nothing was moved by before: up to half a step early or late, as the estimate says."""
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(Force(node, lambda t: (1.0 if t > at else 0.0, 0, 0)))
    solution = mbs.simulate(model, 1.0, 0.1)
    off, error = abs(solution.coordinate(rail)[-1] - 0.5 * (1.0 - at) ** 2), solution.stats.error
    assert off < 2.0 * error.length


@pytest.mark.parametrize("speed", [0.0, 1.0])
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("end", [0.05, 0.1037, 0.2037])
def test_what_coasts_after_a_load_is_neither_late_nor_early(end: float, held: bool, speed: float) -> None:
    """Its accelerations are rounding: nothing is told by what errors are beside them."""
    model, h, load = mbs.Model(), 0.01, 5.0
    node = model.add_node((0, 0, 0), velocity=(speed, 0, 0))
    model.add(PointMass(node, 1.0))
    if held:
        model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(Force(node, lambda t: (load if t < end else 0.0, 0, 0)))
    solution = mbs.simulate(model, 0.3, h)
    error = abs(solution.position(node)[-1, 0] - (speed * 0.3 + load * end * (0.3 - 0.5 * end)))
    assert 0.25 * error < solution.stats.error.length < 4 * error + 0.5 * load * h * (0.3 - end)


@pytest.mark.parametrize("order", [2, 3])
def test_what_no_step_resolves_is_no_motion_that_is_late(order: int) -> None:
    """Light nodes of a damped bar start at rest beside one that moves; it was 1e17 to 1e20 m of a way of 1 mm."""
    model = mbs.Model()
    section = BeamSection(1e4, 1e4, 1.0, (1.0, 1.0), 1e-6, (1e-9, 1e-9, 1e-9)).with_damping(2e-3)
    bar = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=1, order=order)
    model.add(FixedJoint(model.ground, bar.nodes[0]))
    model.add(RigidBody(bar.nodes[-1], 1.0, (1.0, 1.0, 1.0)))
    bar.nodes[-1].velocity = (0.1, 0, 0)
    assert mbs.simulate(model, 0.015, 2.5e-4).stats.error.length < 1.0


@pytest.mark.parametrize("turn", [0.3, 1.0, 3.0, 6.0, 10.0, 30.0])
def test_oscillation_that_velocities_set_off_is_in_the_estimate_of_the_first_step(turn: float) -> None:
    """A mass on a spring that is hit: before, estimates were too small by a factor of 3 at 10 rad a step."""
    speed, h = 0.01, 0.1
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((1, 0, 0), velocity=(speed, 0, 0))
    model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(SpringDamper(model.ground, node, (turn / h) ** 2, free_length=1.0))
    solution = mbs.simulate(model, h, h)
    off, error = abs(solution.x[-1, -1, 0] - 1.0 - speed * h / turn * np.sin(turn)), solution.stats.error
    assert off < 1.5 * error.length
    assert error.length < 2.0 * speed * h / max(turn, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_what_rolls_is_led_astray_by_angles_that_are_wrong(group: str) -> None:
    """A ball on a turning table, whose velocity turns by ``2/7`` of the table's (Weltner, 1979).

    No step errs in length.
    """
    rate, radius, speed, h = 2.0, 0.05, 0.8, 0.01
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    table = model.add_node((0, 0, 0), angular_velocity=(0, 0, rate))
    ball = model.add_node(
        (0.5, 0, radius), velocity=(0, 0.5 * rate + speed, 0), angular_velocity=(-speed / radius, 0, 0)
    )
    model.add(RigidBody(table, 1.0, (1.0, 1.0, 1.0)))
    model.add(RigidBody(ball, 1.0, (0.4 * radius**2,) * 3))
    model.add(RevoluteJoint(model.ground, table, (0, 0, 1), drive=lambda t: rate * t))
    model.add(Contact(table, ball, Plane((0, 0, 1), (0, 0, 0)), Ball(radius), friction=0.8))
    solution = mbs.simulate(model, 1.0, h)
    turn, way = 2.0 / 7.0 * rate, (0.5 * rate + speed) / (2.0 / 7.0 * rate)
    exact = np.array([0.5 - way * (1.0 - np.cos(turn)), way * np.sin(turn), radius])
    error, told = np.linalg.norm(solution.position(ball)[-1] - exact), solution.stats.error
    assert told is not None and 5e-4 < error < 0.1
    assert 0.5 < told.length / error < 12.0


@pytest.mark.ci
def test_what_sticks_on_a_turning_table_creeps() -> None:
    """A block that friction holds by its velocity alone: no force sees where on its circle it is, whenever that is."""
    rate, radius, half, lengths = 2.0, 0.4, 0.05, []
    model = mbs.Model("R3xSO3", gravity=(0, 0, -9.81))
    table = model.add_node((0, 0, 0), angular_velocity=(0, 0, rate))
    block = model.add_node((radius, 0, half), velocity=(0, rate * radius, 0), angular_velocity=(0, 0, rate))
    model.add(RigidBody(table, 1.0, (1.0, 1.0, 1.0)))
    model.add(RigidBody(block, 1.0, (0.01, 0.01, 0.01)))
    model.add(RevoluteJoint(model.ground, table, (0, 0, 1)))
    for x in (radius - half, radius + half):
        for y in (-half, half):
            model.add(Contact(table, block, Plane((0, 0, 1), (0, 0, 0)), Ball(0.01, center=(x, y, 0.01)), friction=0.8))
    for begin in (0.0, 8.0):
        first = replace(mbs.start(mbs.System(model)), t=begin)
        solution = mbs.simulate(model, begin + 1.0, 0.04, initial=first)
        error = np.linalg.norm(solution.position(block)[-1] - [radius * np.cos(rate), radius * np.sin(rate), half])
        lengths.append(solution.stats.error.length)
        assert 2e-4 < error < 1e-3
        assert 1.0 < lengths[-1] / error < 2.5
    assert lengths[1] == pytest.approx(lengths[0], rel=1e-9)


@pytest.mark.ci
def test_a_disc_rolls_where_it_heads() -> None:
    """Against half of the step; local errors alone are a twelfth of what is wrong."""
    ends = []
    for h in (0.01, 0.005):
        model = mbs.Model(gravity=(0, 0, -9.81))
        axis = np.array([0.0, np.cos(0.2), np.sin(0.2)])
        center = np.cross(axis, (-0.1, 0, 0))
        disc = model.add_node(center, angular_velocity=12.0 * axis, name="disc")
        model.add(RigidBody(disc, 1.0, (2.5e-3, 5e-3, 2.5e-3)))
        model.add(RollingDisc(model.ground, disc, (0, 0, 1), axis, 0.1))
        mbs.project_velocities(model)
        solution = mbs.simulate(model, 1.0, h)
        ends.append((solution.position(disc)[-1], solution.stats.error))
    (coarse, told), (fine, _) = ends
    assert told is not None
    assert 0.5 < told.length / (4 / 3 * np.linalg.norm(coarse - fine)) < 8.5


@pytest.mark.slow
def test_forces_that_change_by_chance_within_steps() -> None:
    """Ten values of a table in each step: what steps miss of them has another sign each time."""
    ratios = []
    for seed in range(6):
        law = Table(np.linspace(0.0, 1.0, 1001), np.random.default_rng(seed).normal(size=1001), spline="linear")
        model = mbs.Model()
        wheel = model.add_node((0, 0, 0))
        model.add(RigidBody(wheel, 1.0, (1.0, 1.0, 1.0)))
        hinge = model.add(RevoluteJoint(model.ground, wheel, (0, 0, 1)))
        model.add(TorqueMotor(hinge, law))
        solution = mbs.simulate(model, 1.0, 0.01)
        speeds = np.append(0.0, np.cumsum(0.5e-3 * (law.values[1:] + law.values[:-1])))
        exact = 1e-3 * (speeds[:-1] + 1e-3 * (2.0 * law.values[:-1] + law.values[1:]) / 6.0).sum()
        ratios.append(abs(solution.coordinate(hinge)[-1] - exact) / solution.stats.error.angle)
    assert 0.3 < float(np.sqrt(np.mean(np.square(ratios)))) < 3.0


@pytest.mark.parametrize("unit", [1.0, 1e3])
@pytest.mark.parametrize(("turn", "rounds", "weight"), [
    (0.0, 0.0, 1.0), (0.5, 5.5, 1.5), (1.0, 0.0, 3.0), (9.0, 0.0, 3.0),
    (0.0, 5.75, 2.0), (0.0, 7.0, 3.0), (0.0, 7.5, 7.0), (0.0, 8.0, 11.0), (9.0, 99.0, 11.0),
])  # fmt: skip
def test_a_warning_comes_at_a_quarter_of_the_motion(unit: float, turn: float, rounds: float, weight: float) -> None:
    """Sooner where nodes turn far in a step or steps take many iterations: eleven times as soon at most."""
    for share, warns in ((0.999, False), (1.001, True)):
        error = share * 0.25 / weight
        of_length = Accuracy(0.2 * unit * error, 0.0, 0.2 * unit, 0.1, turn, 3.0 * unit, rounds)
        of_angle = Accuracy(0.0, 0.1 * error, 0.2 * unit, 0.1, turn, 3.0 * unit, rounds)
        still = Accuracy(0.0, 0.01 * 0.1 * error, 0.3 * unit, 0.0, turn, 3.0 * unit, rounds)
        assert [bool(own.warning) for own in (of_length, of_angle, still)] == 3 * [warns]


@pytest.mark.slow
def test_estimates_end_where_motions_cannot_part_further():
    """A free body that turns by 1 rad a step beside its mass centre: steps gain energy, and what is carried grows."""
    rng = np.random.default_rng(14)
    model, spin = mbs.Model(), rng.normal(size=3)
    node = model.add_node((0, 0, 0), so3.exp(rng.normal(size=3)), rng.normal(size=3), 10 * spin / np.linalg.norm(spin))
    squares = rng.uniform(0.1, 0.5, 3) ** 2
    model.add(RigidBody(node, 1.0, np.diag(squares.sum() - squares), 0.5 * rng.normal(size=3)))
    run = mbs.simulate(model, 100.0, 0.1)
    way = 100.0 * np.linalg.norm(run.velocity(node), axis=1).max()
    assert way < run.stats.error.length < 2.5 * way and "of the order of the motion" in run.stats.error.warning


@pytest.mark.ci
@pytest.mark.parametrize("stiffness", [5e5, 1e6])
def test_what_is_wound_up_and_follows_has_missed_nothing(stiffness: float) -> None:
    """A rope that only pulls, wound up: on a motion that stood still it would go slack within steps, or be torn."""
    hoist = PointToPoint(0, 3.0, 4.0, begin=0.5)

    def pull(t: float, length: float, speed: float) -> float:
        stretched = length - 10.0 + hoist(t)
        return max(0.0, stiffness * stretched + 1e-3 * stiffness * (speed + hoist.velocity(t)))

    model = mbs.Model(gravity=(0, 0, -9.81))
    load = model.add_node((0.5, 0, -10.0), velocity=(0.5, 0, 0))
    model.add(PointMass(load, 2000.0))
    model.fix(load, translation=False, rotation=True)
    model.add(SpringDamper(model.ground, load, force=pull))
    coarse, fine = (mbs.simulate(model, 6.0, h, times=np.linspace(3.0, 6.0, 16)) for h in (0.04, 0.02))
    true = 4 / 3 * np.linalg.norm(coarse.position(load) - fine.position(load), axis=1).max()
    told = coarse.stats.error
    assert told is not None and 1.0 < told.length / true < 8.0


@pytest.mark.slow
def test_errors_of_what_slips_and_sticks_are_taken_back() -> None:
    """A spring that has slipped is as long as the way was wrong; where it sticks again it pulls from there."""
    model = mbs.Model()
    block = model.add_node((0, 0, 0))
    model.add(PointMass(block, 38.0))
    model.fix(block, translation=(False, True, True), rotation=True)
    model.add(SpringDamper(model.ground, block, 12e3, 5.0, point_a=(-1.0, 0, 0)))
    model.add(FrictionSpring(model.ground, block, 2e5, 40.0, point_a=(-1.0, 0, 0)))
    model.add(Force(block, Harmonic(200.0, 3.0) * (1, 0, 0)))
    ends = [mbs.simulate(model, 1.0, h) for h in (0.004, 0.002)]
    true = 4 / 3 * np.linalg.norm(ends[0].position(block)[-1] - ends[1].position(block)[-1])
    told = ends[0].stats.error
    assert told is not None and 0.3 < told.length / true < 15.0 and not told.warning


@pytest.mark.ci
@pytest.mark.parametrize(("reach", "push"), [(0.9, 6.0), (1.0, 8.0), (1.2, 10.0)])
def test_starts_at_the_speeds_at_which_friction_creeps_tell_what_velocities_miss(reach, push):
    """A drawer that is pushed beside its guide: what resists grows from nothing to its whole within the first step."""

    def run(step):
        model = mbs.Model()
        drawer = model.add_node((reach, 0, 0))
        model.add(RigidBody(drawer, 2.0, (0.01, 0.01, 0.01)))
        guide = model.add(PrismaticJoint(model.ground, drawer, (0, 0, 1), point=(0, 0, 0)))
        model.add(JointFriction(guide, 0.3, length=0.1, preload=1.0))
        model.add(Force(drawer, (0, 0, push), point=(0, 0, 0)))
        return mbs.simulate(model, 0.02, step)

    coarse, fine = run(2e-3), run(2e-3 / 16)
    way, off = np.linalg.norm(fine.x[-1] - fine.x[0]), np.linalg.norm(coarse.x[-1] - fine.x[-1])
    assert off > 0.03 * way
    assert 0.5 < coarse.stats.error.length / off < 2.0


@pytest.mark.ci
def test_velocities_that_loads_within_steps_would_have_made_are_taken_back_by_springs():
    """A load whose sign a function changes every 35 ms, on a body on a spring with a damper."""

    model = mbs.Model()
    body = model.add_node((0, 0, 0))
    model.add(RigidBody(body, 1.0, (0.1, 0.1, 0.1)))
    rail = model.add(PrismaticJoint(model.ground, body, (1, 0, 0)))
    model.add(JointSpring(rail, stiffness=100.0, damping=0.5))
    model.add(Force(body, lambda t: (2.0 - 4.0 * (int(t / 0.035 + 0.3) % 2), 0, 0)))
    run, off = mbs.simulate(model, 3.0, 0.01), 0.0
    F, y, last = np.array([[0, 1, 0], [-100.0, -0.5, 1.0], [0, 0, 0]]), np.zeros(2), 0.0
    ends = [*(0.035 * (np.arange(1, 87) - 0.3)), 3.0]
    for k, end in enumerate(ends):
        load = 2.0 - 4.0 * (k % 2)
        inside = (run.t > last + 1e-9) & (run.t < end + 1e-9)
        for t, x in zip(run.t[inside], run.x[inside, 1, 0], strict=True):
            off = max(off, abs(x - (expm((t - last) * F) @ [*y, load])[0]))
        y, last = (expm((end - last) * F) @ [*y, load])[:2], end
    assert 0.5 < run.stats.error.length / off < 20.0


def test_a_load_that_a_function_switches_is_told():
    """A mass that rests is pushed from an instant on: its velocity is off by half a step of that, from there on."""
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((0, 0, 0))
    model.add(PointMass(node, 1.0))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(JointActuator(rail, lambda t: 5.0 * (t >= 0.31 - 1e-9)))
    run = mbs.simulate(model, 1.5, 0.01)
    error = abs(run.x[-1, run.system.number(node), 0] - 0.5 * 5.0 * (1.5 - 0.31) ** 2)
    assert 0.7 < run.stats.error.length / error < 1.5
