"""Events: where they are, which of them count, which end a run, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.contracts import Event
from fem_mbs.elements import (
    Force,
    JointSensor,
    Moment,
    NodeSensor,
    RevoluteJoint,
    RigidBody,
    SampledController,
    SpringDamper,
)

GROUPS = ("R3xSO3", "SE3")
G = 9.81
STEPS: dict[str, float | mbs.VariableStep] = {"fixed": 0.03, "variable": mbs.VariableStep(1e-2)}
Function = Callable[[mbs.State], Any]


@pytest.fixture(params=GROUPS)
def group(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=STEPS)
def step(request: pytest.FixtureRequest) -> float | mbs.VariableStep:
    return STEPS[request.param]


def ball(group: str = "R3xSO3", height: float = 2.0, up: float = 0.0) -> mbs.Model:
    """A body that is thrown and turns; Newmark's formulas and the cubic in between have no error here."""
    model = mbs.Model(group, gravity=(0, 0, -G))
    node = model.add_node((0, 0, height), velocity=(0.3, 0, up), angular_velocity=(0, 0, 2), name="ball")
    model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    return model


def pendulum(group: str = "R3xSO3") -> mbs.Model:
    """Let go from 60 degrees below the horizontal."""
    model = mbs.Model(group, gravity=(0, 0, -G))
    node = model.add_node((0.5, 0, -np.sqrt(0.75)), name="bob")
    model.add(RigidBody(node, 1.0, (0.01, 0.01, 0.01)))
    model.add(RevoluteJoint(model.ground, node, (0, 1, 0), point=(0, 0, 0)), name="hinge")
    return model


def event(function: Function, **attributes: Any) -> Function:
    """A function with attributes."""

    def own(state: mbs.State) -> Any:
        return function(state)

    vars(own).update(attributes)
    return own


def level(z: float, **attributes: Any) -> Function:
    """The ball passes a height."""
    return event(lambda state: state.x[1, 2] - z, **attributes)


def rate(state: mbs.State) -> float:
    """Of the pendulum."""
    return float(state.v[1, 4])


def fall(z: float, height: float = 2.0, up: float = 0.0) -> float:
    """Instant at which the falling ball passes a height."""
    return float((up + np.sqrt(up * up + 2 * G * (height - z))) / G)


# Where events are


def test_events_have_their_exact_instants(group: str, step: float | mbs.VariableStep) -> None:
    solution = mbs.simulate(ball(group), 1.0, step, events=[level(1.0), level(0.3), lambda state: state.t - 0.7])
    times = [times.item() for times in solution.event_times]
    np.testing.assert_allclose(times, [fall(1.0), fall(0.3), 0.7], rtol=1e-10)
    assert solution.success and solution.status is mbs.Outcome.FINISHED and solution.t[-1] == 1.0


def test_states_at_events_are_on_them(group: str, step: float | mbs.VariableStep) -> None:
    """The function is zero there, and the state is that of the solution."""
    solution = mbs.simulate(pendulum(group), 4.0, step, events=rate)
    (states,), (times,) = solution.event_states, solution.event_times
    assert len(states) == 3
    for state, t in zip(states, times, strict=True):
        assert state.t == t
        assert abs(rate(state)) < 1e-10  # of some 5 rad/s
        for name in ("x", "R", "v", "vdot", "multipliers"):
            np.testing.assert_allclose(getattr(state, name), getattr(solution(t), name), atol=1e-12)


def test_turning_points_are_where_energy_says(group: str) -> None:
    """As high as the start, on both sides, one half period apart; errors as the square of the step, (omega h)^2/12."""
    left = event(rate, direction=-1)
    right = event(rate, direction=1)
    errors = []
    for h in (0.02, 0.01):
        solution = mbs.simulate(pendulum(group), 4.0, h, events=[rate, left, right])
        every, one, other = solution.event_times
        np.testing.assert_array_equal(np.sort([*one, *other]), every)
        places = np.array([state.x[1] for state in solution.event_states[0]])
        np.testing.assert_array_equal(np.sign(places[:, 0]), [(-1) ** (k + 1) for k in range(len(every))])
        np.testing.assert_allclose(places[:, 2], -np.sqrt(0.75), atol=20 * h**2)
        errors.append(np.abs(np.diff(every, prepend=0.0) / half_period() - 1).max())
    assert errors[0] < 1e-2 and errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def half_period() -> float:
    """Of the pendulum, by the arithmetic-geometric mean."""
    a, b = 1.0, np.cos(np.radians(30) / 2)
    for _ in range(6):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return float(np.pi * np.sqrt(1.01 / G) / a)


def test_events_within_one_step_come_in_the_order_of_time() -> None:
    """Whatever the order of their functions; what lies behind the one that ends the run does not happen."""
    heights = [0.5, 1.9, 1.2, 1.5, 0.1]
    events = [level(z, terminal=(z == 0.5), optional=True) for z in heights]
    solution = mbs.simulate(ball(), 1.0, 1.0, events=events)
    expected = [[fall(z)] if z >= 0.5 else [] for z in heights]
    for found, exact in zip(solution.event_times, expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-10)
    np.testing.assert_allclose(solution.t, [0.0, fall(0.5)], rtol=1e-10)


def test_output_times_do_not_move_events() -> None:
    times = [0.25, 0.5, 0.75]
    solution = mbs.simulate(ball(), 1.0, 0.03, events=level(1.0), times=times)
    np.testing.assert_array_equal(solution.t, times)
    np.testing.assert_allclose(solution.event_times[0], [fall(1.0)], rtol=1e-10)


# Which of them count


def test_direction_counts_one_way_only(step: float | mbs.VariableStep) -> None:
    model = ball(height=0.0, up=5.0)
    attributes: list[dict[str, Any]] = [{}, {"direction": 1}, {"direction": -1.0}, {"direction": 0}]
    solution = mbs.simulate(model, 1.05, step, events=[level(1.0, **own) for own in attributes])
    up, down = fall(1.0, 0.0, 5.0) - 2 * np.sqrt(25 - 2 * G) / G, fall(1.0, 0.0, 5.0)
    for found, expected in zip(solution.event_times, ([up, down], [up], [down], [up, down]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_zero_at_the_start_is_no_event(step: float | mbs.VariableStep) -> None:
    """The ball leaves the ground; it comes back."""
    solution = mbs.simulate(ball(height=0.0, up=5.0), 1.05, step, events=level(0.0))
    np.testing.assert_allclose(solution.event_times[0], [10 / G], rtol=1e-10)


def test_zero_at_the_end_of_a_step_is_one_event() -> None:
    solution = mbs.simulate(ball(), 1.0, 0.125, events=lambda state: state.t - 0.5)
    np.testing.assert_array_equal(solution.event_times[0], [0.5])


def test_a_single_function_is_a_list_of_one() -> None:
    one, many = (mbs.simulate(ball(), 1.0, 0.1, events=events) for events in (level(1.0), (level(1.0),)))
    np.testing.assert_array_equal(one.event_times, many.event_times)
    assert mbs.simulate(ball(), 1.0, 0.1).event_times == mbs.simulate(ball(), 1.0, 0.1, events=[]).event_times == []


# The end of a run


def test_a_terminal_event_ends_the_run(group: str, step: float | mbs.VariableStep) -> None:
    seen: list[float] = []
    ground = level(0.0, terminal=True)
    solution = mbs.simulate(ball(group), 1.0, step, events=[ground], callback=lambda state: seen.append(state.t))
    assert solution.success and solution.status is mbs.Outcome.EVENT and "event" in solution.message
    assert solution.t[-1] == solution.event_times[0][0] == pytest.approx(fall(0.0), rel=1e-10) == seen[-1]
    last, hit = solution.state(-1), solution.event_states[0][0]
    for name in ("x", "R", "v", "vdot", "multipliers"):
        np.testing.assert_array_equal(getattr(last, name), getattr(hit, name))
    assert abs(last.x[1, 2]) < 1e-10
    assert len(solution.stats.step_sizes) == len(solution.t) - 1
    assert solution.stats.step_sizes.sum() == pytest.approx(fall(0.0))


def test_a_run_goes_on_from_the_event_that_ended_it(group: str, tmp_path: Path) -> None:
    """Joints are closed there, as between steps; both runs are one, whose error is that of the run without an end."""
    model, file, step = pendulum(group), tmp_path / "run.db", 0.03
    whole = mbs.simulate(model, 0.7, step)
    below = Event("bob.position.x", terminal=True)
    first = mbs.simulate(model, 0.7, step, events=below, store=file)
    assert abs(first.position("bob")[-1, 0]) < 1e-7 and first.constraint_residual.position[-1] < 1e-8
    np.testing.assert_array_equal(first.event_states[0][-1].x, first.x[-1])
    stored = mbs.load(file, model)
    for initial in (first.checkpoint, stored.checkpoint, first.state(-1), whole(first.t[-1])):
        rest = mbs.simulate(model, 0.7, step, initial=initial)
        assert rest.t[0] == pytest.approx(first.t[-1], abs=1e-12)
        assert abs(rest.angle("hinge")[-1] - whole.angle("hinge")[-1]) < 2 * whole.stats.error.angle
        if initial is first.checkpoint:
            np.testing.assert_array_equal(mbs.join([first, rest]).x, mbs.join([stored, rest]).x)
            np.testing.assert_array_equal(rest.x[0], first.x[-1])
    off = replace(first.state(-1), x=first.x[-1] + [[0, 0, 0], [0, 2e-3, 0]])
    with pytest.raises(mbs.ModelError, match="'hinge' is open at t .* begin with a state in which it is there"):
        mbs.simulate(model, 0.7, step, initial=off)


def test_runs_join_at_a_state() -> None:
    """What starts there closes velocities, and asks sensors anew."""
    model = pendulum()
    model.add(JointSensor("hinge", "coordinate_rate"))  # what it says of a start is not what it said in a step
    method = mbs.GeneralizedAlpha(formulation="index3")  # whose velocities are off the joints
    half = mbs.simulate(model, 0.3, 0.03, method)
    assert mbs.join([half, mbs.simulate(model, 0.6, 0.03, method, initial=half.state(-1))]).t[-1] == 0.6
    moved = replace(half.state(-1), v=1.1 * half.v[-1])
    with pytest.raises(mbs.ModelError, match=r"at different states \(v\)"):
        mbs.join([half, mbs.simulate(model, 0.6, 0.03, method, initial=moved)])


@pytest.mark.parametrize("count", [1, 3])
def test_a_number_of_events_ends_the_run(count: int) -> None:
    solution = mbs.simulate(pendulum(), 20.0, 0.02, events=[rate, event(rate, terminal=count, direction=-1)])
    assert solution.status is mbs.Outcome.EVENT
    assert [len(times) for times in solution.event_times] == [2 * count - 1, count]  # the first is one of them
    assert solution.t[-1] == solution.event_times[1][-1]


def test_output_ends_with_the_run() -> None:
    solution = mbs.simulate(ball(), 1.0, 0.1, events=level(1.0, terminal=True), times=[0.1, 0.3, 0.9])
    np.testing.assert_array_equal(solution.t, [0.1, 0.3, solution.event_times[0][0]])


# What is refused


@pytest.mark.parametrize(
    ("missing", "sign"),
    [
        (level(-5.0), "positive"),
        (level(5.0), "negative"),
        (lambda state: 0, "zero"),
        (lambda state: state.t, "positive"),  # after the zero at the start
    ],
)
def test_an_event_that_never_happens_is_an_error_with_the_whole_run(
    missing: Function, sign: str, step: float | mbs.VariableStep
) -> None:
    with pytest.raises(mbs.ModelError, match=f"never changed its sign: it was {sign} .*optional = True") as failure:
        mbs.simulate(ball(), 0.7, step, events=[level(1.0), missing])
    solution = failure.value.solution
    assert solution is not None and solution.t[-1] == 0.7 and solution.status is mbs.Outcome.FINISHED
    assert [len(times) for times in solution.event_times] == [1, 0]


def test_events_may_be_optional() -> None:
    solution = mbs.simulate(ball(), 0.5, 0.1, events=level(-5.0, optional=True))
    assert solution.success and not len(solution.event_times[0])


def test_a_run_that_ends_early_has_no_missing_events() -> None:
    solution = mbs.simulate(ball(), 1.0, 0.1, events=[level(1.0, terminal=True), level(0.5)])
    assert [len(times) for times in solution.event_times] == [1, 0]
    stopped = mbs.simulate(ball(), 1.0, 0.1, events=level(0.5), callback=lambda state: state.t > 0.3)
    assert stopped.status is mbs.Outcome.STOPPED


@pytest.mark.parametrize("value", ["1", None, np.nan, np.inf, np.zeros(3), 1j])
def test_an_event_that_is_no_number_is_named(value: object) -> None:
    def height(state: mbs.State) -> Any:
        return value

    with pytest.raises(mbs.ModelError, match="event 'height' must return a number that changes its sign"):
        mbs.simulate(ball(), 1.0, 0.1, events=height)


def test_an_event_that_fails_is_named_and_keeps_the_steps() -> None:
    def height(state: mbs.State) -> float:
        return 1.0 if state.t < 0.45 else dict[str, float]()["z"]

    with pytest.raises(mbs.FemMbsError, match="event 'height' at t = 0.5 s failed: KeyError") as failure:
        mbs.simulate(ball(), 1.0, 0.1, events=height)
    solution = failure.value.solution
    assert solution is not None and solution.status is mbs.Outcome.FAILED
    np.testing.assert_allclose(solution.t, 0.1 * np.arange(5))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"terminal": "yes"}, "terminal must be True, False or a number of events, received 'yes'"),
        ({"terminal": -1}, "terminal must be True, False or a number of events, received -1"),
        ({"terminal": 1.5}, "terminal must be True, False or a number of events, received 1.5"),
        ({"direction": "up"}, "direction must be a number, received 'up'"),
        ({"direction": None}, "direction must be a number, received None"),
        ({"direction": [1, 2]}, "direction must be a number"),
        ({"direction": np.nan}, "direction must be a finite number"),
    ],
)
def test_bad_attributes_are_refused(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(mbs.ModelError, match=f"Event 'own': {message}"):
        mbs.simulate(ball(), 1.0, 0.1, events=level(1.0, **attributes))


@pytest.mark.parametrize("events", [[level(1.0), 3.0], [None], 3.0, {"height": level(1.0)}])
def test_events_are_functions_or_names(events: Any) -> None:
    with pytest.raises(
        mbs.ModelError, match="simulate: events must be a function of a State, the name of a channel, or"
    ):
        mbs.simulate(ball(), 1.0, 0.1, events=events)


# By name


def test_channels_are_events_by_name(group: str, step: float | mbs.VariableStep) -> None:
    """Beside functions; where the channel of the solution passes zero."""
    solution = mbs.simulate(ball(group), 1.0, step, events=["ball.position.z", level(1.0)])
    np.testing.assert_allclose([times.item() for times in solution.event_times], [fall(0.0), fall(1.0)], rtol=1e-10)
    solution = mbs.simulate(pendulum(group), 4.0, step, events=["hinge.coordinate_rate", rate])
    by_name, by_function = solution.event_times
    np.testing.assert_allclose(by_name, by_function, rtol=1e-10)
    assert len(by_name) == 3


def whirl(speed: float) -> mbs.Model:
    """A disc on a hinge, half a turn before zero; held back by a moment, it turns back after more than a turn."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), angular_velocity=(0, 0, speed), name="disc")
    model.add(RigidBody(node, 1.0, (1.0, 1.0, 1.0)))
    model.add(RevoluteJoint(model.ground, node, (0, 0, 1)), name="hinge")
    model.add(Moment(node, (0, 0, -2.0)))
    return model


@pytest.mark.parametrize("h", [0.05, 0.3, 0.7, 1.1])
def test_angles_pass_zero_once_however_often_they_turn(h: float, tmp_path: Path) -> None:
    """angle = 10 t - t^2: four turns there and back, zero at 10 s; also where a run is gone on with in between."""
    solution = mbs.simulate(whirl(10.0), 11.0, h, events=["hinge.coordinate", "hinge.angle"])
    for times in solution.event_times:
        np.testing.assert_allclose(times, [10.0], rtol=1e-9)
    file = tmp_path / "run.db"
    mbs.simulate(whirl(10.0), 11.0, h, events="hinge.angle", store=file, callback=lambda state: cut(state, file))
    (times,) = mbs.resume(file.with_name("cut.db"), events="hinge.angle").event_times
    np.testing.assert_allclose(times, [10.0], rtol=1e-9)


def cut(state: mbs.State, file: Path) -> None:
    """Copy the file of a run that is under way."""
    copy = file.with_name("cut.db")
    if state.t >= 5.0 and not copy.exists():
        shutil.copy(file, copy)


def test_jumps_of_a_rotation_vector_are_no_zeros() -> None:
    """It goes from pi to -pi at half a turn, and passes zero after a whole one."""
    solution = mbs.simulate(whirl(10.0), 1.0, 0.01, events="disc.rotation_vector.z")
    np.testing.assert_allclose(solution.event_times[0], [5.0 - np.sqrt(25.0 - 2.0 * np.pi)], rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("height", "event 'height' begins with no name of a node"),
        ("ball.height", "event 'ball.height': node 'ball' has no 'height'; it has position,"),
        ("ball.position", "event 'ball.position' is 3 numbers; .*: ball.position.x, ball.position.y, ball.position.z"),
        ("ball.position.w", "event 'ball.position.w': ball.position has no 'w'"),
    ],
)
def test_names_of_one_number_alone_are_events(name: str, message: str) -> None:
    with pytest.raises(mbs.ModelError, match=f"simulate: {message}"):
        mbs.simulate(ball(), 1.0, 0.1, events=name)


def test_a_channel_that_keeps_its_sign_is_refused() -> None:
    message = r"'ball.position.z' never changed its sign: it was positive.*Event\('ball.position.z', optional=True\)"
    with pytest.raises(mbs.ModelError, match=message) as error:
        mbs.simulate(ball(), 0.5, 0.1, events="ball.position.z")
    assert error.value.solution is not None and error.value.solution.t[-1] == 0.5
    assert mbs.simulate(ball(), 0.5, 0.1, events=Event("ball.position.z", optional=True)).success


def test_an_event_says_of_a_name_what_attributes_say_of_a_function() -> None:
    model = ball(height=0.0, up=5.0)
    watched = [Event(level(1.0), direction=-1), Event("ball.velocity.z", terminal=True)]
    solution = mbs.simulate(model, 2.0, 0.03, events=watched)
    assert solution.status is mbs.Outcome.EVENT and not len(solution.event_times[0])
    np.testing.assert_allclose([solution.t[-1], *solution.event_times[1]], 5.0 / G, rtol=1e-10)
    with pytest.raises(mbs.ModelError, match="Event: terminal must be True, False or a number of events, received -1"):
        Event("ball.velocity.z", terminal=-1)


def test_channels_of_a_path_of_equilibria(group: str) -> None:
    """A load compresses a spring: z = -0.1 m + 20 N/100 N/m times its factor."""
    model = mbs.Model(group)
    node = model.add_node((0, 0, -0.1), name="tip")
    model.fix(node, translation=(True, True, False), rotation=True)
    model.add(SpringDamper(model.ground, node, 100.0, point_a=(0, 0, 2)))
    model.add(Force(node, (0, 0, 20.0)))
    solution = mbs.statics(model, step=0.3, events="tip.position.z")
    np.testing.assert_allclose(solution.event_times[0], [0.5], rtol=1e-10)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0.3, 0.2], "times must increase"),
        ([0.2, 0.2], "times must increase"),
        ([-0.1, 0.2], "from 0 s at least"),
        ([0.5, 1.1], "to t_end = 1 s at most"),
        ([], "times must be a list of times"),
        (0.5, "times must be a list of times"),
        ("now", "times must be a list of times"),
        (["a", "b"], "times must be a list of times"),
        ([0.1, np.nan], "times must be finite"),
        ([[0.1, 0.2]], "times must be a list of times"),
    ],
)
def test_bad_output_times_are_refused(times: Any, message: str) -> None:
    with pytest.raises(mbs.ModelError, match=f"simulate: .*{message}"):
        mbs.simulate(ball(), 1.0, 0.1, times=times)


@pytest.mark.parametrize("name", ["tolerance", "first", "largest", "smallest"])
@pytest.mark.parametrize("value", [0, 0.0, -1e-3, np.nan, np.inf, "1e-3", True, [1e-3]])
def test_steps_have_positive_tolerances_and_limits(name: str, value: Any) -> None:
    with pytest.raises(mbs.ModelError, match=f"VariableStep: {name} must be a (positive )?number"):
        mbs.VariableStep(**{name: value})


@pytest.mark.parametrize(
    "limits",
    [
        {"first": 0.2, "largest": 0.1},
        {"first": 1e-4, "smallest": 1e-3},
        {"smallest": 0.1, "largest": 0.05},
        {"smallest": 2.0},
        {"first": 2.0},
    ],
)
def test_limits_of_steps_are_in_order(limits: dict[str, float]) -> None:
    with pytest.raises(mbs.ModelError, match="VariableStep: smallest <= first <= largest is expected, received"):
        mbs.simulate(ball(), 1.0, mbs.VariableStep(1e-2, **limits))


@pytest.mark.parametrize("method", [mbs.GeneralizedAlpha(), mbs.RadauIIA()], ids=str)
def test_what_jumps_is_seen_at_its_time(method: mbs.contracts.Method, step: float | mbs.VariableStep) -> None:
    """Accelerations and signals go up to a jump as before it; an event of them is at its time, once."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), name="stone")
    model.add(RigidBody(node, 2.0, (1, 1, 1)))
    sensor = model.add(NodeSensor(node, "acceleration", (1, 0, 0)))
    control = model.add(SampledController(sensor, 0.1, lambda t, x, u: 8.0 * (t > 0.15)))

    def blow(t: float) -> tuple[float, float, float]:
        return (20.0 if 0.1 <= t < 0.15 else 0.0, 0.0, 0.0)

    blow.jumps = [0.1, 0.15]  # type: ignore[attr-defined]
    model.add(Force(node, blow))

    def signal(state: mbs.State) -> float:
        return float(state.vdot[-1, 0]) - 1.0

    run = mbs.simulate(model, 0.3, step, method=method, events=signal)
    assert np.allclose(run.event_times[0], [0.1, 0.15], atol=1e-14)
    assert np.allclose([own.vdot[-1, 0] for own in run.event_states[0]], [10.0, 0.0], atol=1e-12)
    assert np.allclose([own.v[-1, 0] for own in run.event_states[0]], [0.0, 0.5], atol=1e-12)
    signal.terminal = True  # type: ignore[attr-defined]
    assert mbs.simulate(model, 0.3, step, method=method, events=signal).t[-1] == run.event_times[0][0]
    times = [0.085, 0.0999, 0.1, 0.1499, 0.15, 0.1999, 0.2]
    some = mbs.simulate(model, 0.3, step, method=method, times=times)
    for values in (some.acceleration("stone")[:, 0], some.signal(sensor), [run(t).vdot[-1, 0] for t in times]):
        assert np.allclose(values, [0, 0, 10, 10, 0, 0, 0], atol=1e-12)
    assert np.allclose(some.signal(control), [0, 0, 0, 0, 0, 0, 8])
