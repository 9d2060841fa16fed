"""Laws with kinks: a run with defaults is right to its estimate, or says that it is not."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pytest
from kinked import LAWS, case, judged
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.elements import (
    FirstOrderActuator,
    Force,
    Harmonic,
    JointActuator,
    JointForce,
    JointFriction,
    JointSensor,
    JointSpring,
    JointStop,
    PointMass,
    PositionMotor,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SampledController,
    SpringDamper,
    Vector,
)
from fem_mbs.run import fixed_step


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 4 * len(LAWS), len(LAWS)))
def test_campaign(first: int) -> None:
    """The same for every kind of law, four times, in parts that end; what became of each is printed (``-s``)."""
    verdicts = [judged(seed) for seed in range(first, first + len(LAWS))]
    print("", *verdicts, sep="\n")
    silent = [str(verdict) for verdict in verdicts if verdict.word == "silent"]
    assert not silent, "\n".join(silent)
    assert np.mean([verdict.word == "right" for verdict in verdicts]) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("seed", [49, 5, 32, 184])
def test_equations_hold_beyond_kinks(seed: int) -> None:
    """At each state of a run, also where the one correction of a step has led to another side of a kink."""
    own = case(seed)
    solution = mbs.simulate(own.machine.model, own.end, own.step)
    states = [solution.state(k) for k in range(1, len(solution.t))]
    assert max(solution.system.evaluate_at(state).relative for state in states) < 1e-8


@pytest.mark.one
@pytest.mark.parametrize(
    "law",
    [
        lambda hinge: JointStop(hinge, -9.0, 9.0, 1e4, 0.1),
        lambda hinge: JointFriction(hinge, 0.01, radius=0.02),
        lambda hinge: PositionMotor(hinge, 0.0, 1.0, 0.0, 0.1, limit=1e3),
        lambda hinge: JointForce(hinge, lambda t, q, v: -0.1 * v - 1e4 * max(q - 9.0, 0.0)),
    ],
)
def test_kinks_that_are_not_crossed_cost_no_evaluations(law: Callable[[mbs.Joint], object]) -> None:
    """Of most steps of a pendulum nothing is looked at but the way of their only correction."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((1, 0, 0), angular_velocity=(0, 5, 0), velocity=(0, 0, -5))
    model.add(RigidBody(bob, 1.0, (0.1, 0.1, 0.1)))
    model.add(law(model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)))))
    stats = mbs.simulate(model, 0.1, 2e-3).stats
    assert stats.residual_evaluations < 1.3 * stats.steps


def test_a_first_step_is_not_cut_for_what_functions_do_beside_no_force() -> None:
    """At the start nothing acts: the rounding of differences counted as a bend, down to steps of 5 ns."""
    model = mbs.Model()
    node = model.add_node((1, 0, 0), velocity=(1, 0, 0))
    model.add(PointMass(node, 1.0))
    model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(FirstOrderActuator(model.ground, node, lambda t, l, v: min(max(50.0 * (l - 1.0), -3.0), 3.0), 1e-8))
    assert mbs.simulate(model, 0.05, 0.01).stats.steps == 5


def stopped(add: Callable[[mbs.Model, mbs.Joint], object]) -> mbs.Solution:
    """A mass of 1 kg that comes with 1 m/s, and what stops it at 0.2 m, in steps of 10 ms."""
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((1, 0, 0), velocity=(1, 0, 0))
    model.add(PointMass(node, 1.0))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)), name="rail")
    add(model, rail)
    return mbs.simulate(model, 0.4, 0.01)


@pytest.mark.parametrize(
    "add",
    [
        lambda model, rail: model.add(JointStop(rail, None, 0.2, 1e6)),
        lambda model, rail: model.add(JointForce(rail, lambda t, q, v: -1e6 * max(q - 0.2, 0.0))),
    ],
    ids=["stop", "law of a user"],
)
def test_a_contact_that_is_shorter_than_a_step_gives_back_what_it_took(add: Callable[..., object]) -> None:
    """The contact lasts pi ms, and the mass comes back with the energy that it had, to 1 %."""
    solution = stopped(add)
    speed = np.asarray(solution.coordinate_rate("rail")).reshape(-1)
    assert abs(speed[-1] ** 2 - 1.0) < 0.01 and speed[-1] < 0.0
    assert solution.stats.steps < 400


@pytest.mark.parametrize(
    ("stiffness", "start", "speed"),
    [
        (1e5, 0.2, 1.0),
        (1e6, 0.195, 1.0),
        (1e6, 0.1999, 1.0),
        (1.1e8, 0.165, 0.1),
        (2e4, 0.1995, 1.0),
        (8e4, 0.197, 1.0),
    ],
)
def test_a_wall_that_is_a_function_takes_no_energy_wherever_a_run_begins(
    stiffness: float, start: float, speed: float
) -> None:
    """Before it, in the first step, or so hard that steps after it are a thousand times as long as those in it.

    Or such that the errors of half a first step and of the whole one are as far apart as if the motion were smooth.
    """
    solution = walled(stiffness, start, speed)
    assert np.ravel(solution.coordinate_rate("rail"))[-1] == pytest.approx(-speed, rel=5e-3)


@pytest.mark.parametrize(("stiffness", "start"), [(1e5, 0.1671), (1e5, 0.1634), (1e6, 0.1671)])
def test_a_short_step_into_a_wall_after_a_long_one_knows_its_error(stiffness: float, start: float) -> None:
    """How accelerations change over both says little: speeds were off by up to 1.4e-3; 0.1 to 0.4 of it was told."""
    solution = walled(stiffness, start, 1.0)
    assert np.ravel(solution.coordinate_rate("rail"))[-1] == pytest.approx(-1.0, rel=5e-4)
    begins = 0.2 - start + np.pi / stiffness**0.5
    missed = abs(
        solution.x[-1, solution.system.number(solution.system.model["body"]), 0] - (0.2 - (solution.t[-1] - begins))
    )
    assert missed < 3.0 * solution.stats.error.length < 1e-3


def walled(stiffness: float, start: float, speed: float) -> mbs.Solution:
    """A mass of 1 kg that meets a wall at 0.2 m, which is a function of a user, until 0.1 s after that."""
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((start, 0, 0), velocity=(speed, 0, 0), name="body")
    model.add(PointMass(node, 1.0))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)), name="rail")
    model.add(JointForce(rail, lambda t, q, v: -stiffness * max(start + q - 0.2, 0.0)))
    return mbs.simulate(model, 0.1 + (0.2 - start) / speed, 0.01)


def test_smooth_functions_of_users_do_not_stay_cut() -> None:
    """A load and a law whose errors almost cancel at first: steps are whole again when they do no longer."""

    def add(model: mbs.Model, rail: mbs.Joint) -> None:
        model.add(JointSpring(rail, 100.0, 1.0))
        model.add(JointForce(rail, lambda t, q, v: -1e3 * q**3))
        model.add(Force(rail.nodes[1], lambda t: (5.0 * np.sin(20.0 * t), 0.0, 0.0)))

    assert np.allclose(stopped(add).stats.step_sizes[-20:], 0.01)


def double_pendulum(*add: Callable[[mbs.Joint], mbs.Element]) -> mbs.Solution:
    """It falls for 2 s in coarse steps of 50 ms, with something on its first hinge."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    above, hinges = model.ground, []
    for k in range(2):
        node = model.add_node((1.0 + k, 0, 0))
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        hinges.append(model.add(RevoluteJoint(above, node, (0, 1, 0), point=(1.5 * k, 0, 0))))
        above = node
    for make in add:
        model.add(make(hinges[0]))
    return mbs.simulate(model, 2.0, 0.05)


def test_a_stop_that_is_never_met_costs_no_steps() -> None:
    """However coarse the steps are: they are those of the same model without it."""
    solution = double_pendulum(lambda hinge: JointStop(hinge, -50.0, 50.0, 1e4, 0.1))
    assert solution.stats.steps == 40 and not solution.stats.rejected_steps
    assert np.allclose(solution.x, double_pendulum().x, atol=1e-6)


@pytest.mark.ci
def test_steps_are_whole_again_after_kinks() -> None:
    """A coarse motion is as coarse as before once its friction has reversed."""
    solution = double_pendulum(
        lambda hinge: JointFriction(hinge, 0.1, radius=0.1, preload=5.0, reactions=False, creep=0.01)
    )
    sizes = solution.stats.step_sizes
    assert 2.0 * solution.stats.steps > np.count_nonzero(np.isclose(sizes, 0.05)) > 20
    assert solution.stats.steps < 120


def shaken(turn: float, add: Callable[[mbs.Node, float], mbs.Element]) -> tuple[mbs.Solution, float]:
    """A free mass under 10 N that turns by so much in a step of 0.1 s, and its error at 4 s."""
    rate = turn / 0.1
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((1, 0, 0))
    model.add(PointMass(node, 1.0))
    model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(add(node, rate))
    solution = mbs.simulate(model, 4.0, 0.1)
    exact = 10.0 * (solution.t / rate - np.sin(rate * solution.t) / rate**2)
    return solution, float(np.abs(solution.x[:, 1, 0] - 1.0 - exact).max())


@pytest.mark.parametrize("seed", range(3))
def test_a_body_at_one_place_but_for_rounding_has_no_extent(seed: int) -> None:
    """A block slides up a slope, with friction, and back: as fast in whichever direction the slope is."""
    turn, slope, mu, v = Rotation.random(random_state=seed), np.radians(35.0), 0.3, 4.0
    up = turn.apply((np.cos(slope), 0, np.sin(slope)))
    model = mbs.Model(gravity=turn.apply((0, 0, -9.81)))
    block = model.add_node(turn.apply((-0.05 * np.sin(slope), 0, 0.05 * np.cos(slope))), velocity=v * up)
    model.add(RigidBody(block, 2.0, (0.01, 0.01, 0.01)))
    rail = model.add(PrismaticJoint(model.ground, block, up))
    model.add(JointFriction(rail, mu))
    solution = mbs.simulate(model, 1.0, 0.01)
    slows, speeds = (9.81 * (np.sin(slope) + sign * mu * np.cos(slope)) for sign in (1, -1))
    exact = v * v / (2 * slows) - 0.5 * speeds * (1.0 - v / slows) ** 2
    assert solution.coordinate(rail)[-1] == pytest.approx(exact, abs=5e-3)
    assert len(solution.t) < 130


@pytest.mark.parametrize(
    "add",
    [
        lambda node, rate: Force(node, lambda t: (10.0 * np.sin(rate * t), 0.0, 0.0)),
        lambda node, rate: Force(node, Vector(Harmonic(10.0, rate / (2.0 * np.pi)), 0.0, 0.0)),
    ],
    ids=["function", "law of time"],
)
@pytest.mark.parametrize("turn", [4.7, 6.1, 6.4, 9.0])
def test_loads_that_turn_more_than_once_in_two_steps_are_said(
    add: Callable[[mbs.Node, float], mbs.Element], turn: float
) -> None:
    """At the ends of steps they look like slow ones."""
    solution, error = shaken(turn, add)
    assert "estimated error" in solution.message
    assert solution.stats.error.length > error / 4.0


@pytest.mark.parametrize("turn", [0.1, 0.5, 1.0])
def test_loads_that_are_resolved_are_not(turn: float) -> None:
    """The estimate is that of the steps."""
    solution, error = shaken(turn, lambda node, rate: Force(node, lambda t: (10.0 * np.sin(rate * t), 0.0, 0.0)))
    assert "estimated error" not in solution.message
    assert error < 3.0 * solution.stats.error.length < 60.0 * error


@pytest.mark.parametrize("share", [0.05, 0.28, 0.4, 0.7, 0.95])
def test_loads_that_jump_within_a_step_are_in_the_estimate(share: float) -> None:
    """Wherever in the step, of a mass on a spring that hardly moves before; `jumps` are not told."""
    model, h, rate, slow = mbs.Model(gravity=(0, 0, 0)), 0.01, 7.0, 0.01
    node = model.add_node((1, 0, 0), velocity=(slow, 0, 0))
    model.add(PointMass(node, 1.0))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(JointSpring(rail, rate**2))
    begins = (30.0 + share) * h
    model.add(Force(node, lambda t: (float(t >= begins), 0.0, 0.0)))
    solution = mbs.simulate(model, 0.8, h)
    since = np.maximum(solution.t - begins, 0.0)
    exact = slow * np.sin(rate * solution.t) / rate + (1.0 - np.cos(rate * since)) / rate**2
    error = np.abs(solution.x[:, 1, 0] - 1.0 - exact).max()
    assert error < solution.stats.error.length < 20.0 * error


def _braked(law: Callable[[float, float, float], float]) -> mbs.Model:
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((1, 0, 0), velocity=(1, 0, 0))
    model.add(PointMass(node, 1.0))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(JointForce(rail, law), name="brake")
    return model


@pytest.mark.slow
def test_forces_that_hold_a_body_where_they_jump_are_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Friction by the sign of a velocity, on a spring: once, by the name of the law, while the run goes on."""
    monkeypatch.setattr(fixed_step, "CREPT", 40)  # every part takes many attempts
    model, counted = _braked(lambda t, q, v: -4.0 * np.sign(v) - 30.0 * q), []
    with caplog.at_level(logging.WARNING, logger="fem_mbs"):
        mbs.simulate(model, 1.0, 0.01, callback=lambda state: counted.append(state.t) or len(counted) > 80)
    assert caplog.text.count("may hold bodies where it jumps") == 1 and "JointForce 'brake'" in caplog.text
    assert max(counted) == pytest.approx(0.17, abs=0.02)


@pytest.mark.ci
def test_a_run_that_ends_where_a_force_jumps_names_the_force() -> None:
    """Friction by the sign of a velocity, where a body comes to rest: neither side of the jump has the solution."""
    with pytest.raises(
        mbs.ConvergenceError, match=r"functions that may jump: JointForce 'brake'; let them change"
    ) as told:
        mbs.simulate(_braked(lambda t, q, v: -4.0 * np.sign(v)), 1.0, 0.01)
    assert told.value.solution.t[-1] == pytest.approx(0.25, abs=0.02)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("stop", "named"),
    [
        (lambda rail: JointStop(rail, None, 0.05, 1e6), "JointStop 'stop' (2)"),
        (lambda rail: JointForce(rail, lambda t, q, v: -1e6 * max(q - 0.05, 0.0)), "may jump: JointForce 'stop'"),
    ],
)
def test_steps_in_many_parts_are_told(
    caplog: pytest.LogCaptureFixture, stop: Callable[..., object], named: str
) -> None:
    """Two masses on a stiff spring, which a stop sets off: by how many parts, and by the name of the law."""
    model = mbs.Model(gravity=(0, 0, 0))
    nodes = [model.add_node((x, 0, 0), velocity=(1, 0, 0)) for x in (0.0, 0.2)]
    rails = [model.add(PrismaticJoint(model.ground, node, (1, 0, 0))) for node in nodes]
    for node in nodes:
        model.add(PointMass(node, 1.0))
    model.add(SpringDamper(*nodes, 2e6))
    model.add(stop(rails[1]), name="stop")
    with caplog.at_level(logging.WARNING, logger="fem_mbs"):
        mbs.simulate(model, 0.04, 0.01)
        assert "taken in" not in caplog.text  # not met yet
        solution = mbs.simulate(model, 0.06, 0.01)
    assert caplog.text.count("6 steps of 0.01 s were taken in") == 1 and named in caplog.text
    assert solution.stats.steps > 100


def test_a_wall_that_is_harder_than_the_shortest_part_resolves() -> None:
    """The shortest part is as short as that, but for rounding: the run goes on."""
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((0, 0, 0), velocity=(1, 0, 0))
    model.add(PointMass(node, 1.0))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(JointStop(rail, -0.5, 0.5, 1e8))
    solution = mbs.simulate(model, 1.0, 0.1)
    assert solution.coordinate_rate(rail).ravel()[-1] == pytest.approx(-1.0, abs=0.03)


@pytest.mark.slow
def test_steps_that_end_at_samples_are_no_parts(caplog: pytest.LogCaptureFixture) -> None:
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((0, 0, 0), velocity=(1, 0, 0))
    model.add(PointMass(node, 1.0))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    place = model.add(JointSensor(rail))
    model.add(JointActuator(rail, model.add(SampledController(place, 0.01, lambda t, x, u: -u))))
    model.add(JointStop(rail, -2.0, 2.0, 100.0))
    mbs.simulate(model, 1.0, 0.1)
    assert not caplog.records
