"""Turns count in whatever reads an angle, however many a step makes: a motor at 10 000 rpm in steps of 10 ms."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.contracts import Event
from fem_mbs.elements import (
    Coupling,
    CylindricalJoint,
    JointActuator,
    JointDrive,
    JointForce,
    JointSensor,
    JointSpring,
    JointStop,
    Moment,
    PointMass,
    PositionMotor,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
)

J, T_END, STEP = 0.01, 0.2, 0.01
SPEEDS = (100.0, 400.0, 1050.0)
"""In rad/s: 1, 4 and 10.5 rad a step."""


def rotor(model: mbs.Model, speed: float, inertia: float = J) -> RevoluteJoint:
    """The hinge of a body that spins."""
    node = model.add_node((0, 0, 0), angular_velocity=(0, 0, speed))
    model.add(RigidBody(node, 1.0, (inertia, inertia, inertia)))
    return model.add(RevoluteJoint(model.ground, node, (0, 0, 1)))


def angle(model: mbs.Model, joint: RevoluteJoint, method: mbs.Method | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the coordinate of a joint."""
    solution = mbs.simulate(model, T_END, STEP, method)
    return solution.t, np.ravel(solution.coordinate(joint))


def gear(model: mbs.Model, hinge: RevoluteJoint, speed: float) -> Callable[[np.ndarray], np.ndarray]:
    """Ten to one, with a moment on the fast shaft."""
    model.add(Coupling(rotor(model, -speed / 10, 1.0), hinge, 0.1))
    model.add(Moment(hinge.nodes[1], (0, 0, 1.0)))
    return lambda t: speed * t + 0.5 * t**2 / (J + 0.01)


def spring(model: mbs.Model, hinge: RevoluteJoint, speed: float) -> Callable[[np.ndarray], np.ndarray]:
    model.add(JointSpring(hinge, 0.05))
    return lambda t: speed / 5**0.5 * np.sin(5**0.5 * t)


def law(model: mbs.Model, hinge: RevoluteJoint, speed: float) -> Callable[[np.ndarray], np.ndarray]:
    model.add(JointForce(hinge, lambda t, q, v: -0.05 * q))
    return lambda t: speed / 5**0.5 * np.sin(5**0.5 * t)


def sensor(model: mbs.Model, hinge: RevoluteJoint, speed: float) -> Callable[[np.ndarray], np.ndarray]:
    model.add(JointActuator(hinge, -0.05 * model.add(JointSensor(hinge))))
    return lambda t: speed / 5**0.5 * np.sin(5**0.5 * t)


def servo(model: mbs.Model, hinge: RevoluteJoint, speed: float) -> Callable[[np.ndarray], np.ndarray]:
    model.add(PositionMotor(hinge, lambda t: speed * t, 100.0, 1.0))
    return lambda t: speed * t


def drive(model: mbs.Model, hinge: RevoluteJoint, speed: float) -> Callable[[np.ndarray], np.ndarray]:
    model.add(JointDrive(hinge, lambda t: speed * t))
    return lambda t: speed * t


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("add", [gear, spring, law, sensor, servo, drive])
def test_turns_count_in_whatever_reads_an_angle(add, speed, group, caplog):
    model = mbs.Model(group=group)
    hinge = rotor(model, speed)
    exact = add(model, hinge, speed)
    t, q = angle(model, hinge)
    assert len(t) == 21
    np.testing.assert_allclose(q, exact(t), rtol=0, atol=2e-4 * speed * T_END)
    assert not caplog.records


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("method", [mbs.RadauIIA(), mbs.RungeKuttaMuntheKaas("RK4")])
def test_so_they_do_at_stages(method, group):
    model = mbs.Model(group=group)
    hinge = rotor(model, 400.0)
    exact = spring(model, hinge, 400.0)
    t, q = angle(model, hinge, method)
    np.testing.assert_allclose(q, exact(t), rtol=0, atol=1e-6 * 400.0 * T_END)


def test_joints_that_are_more_than_steps_are_counted_together():
    model, speeds = mbs.Model(), np.linspace(-1050.0, 1050.0, 30)
    hinges = [rotor(model, speed) for speed in speeds]
    solution = mbs.simulate(model, T_END, STEP, times=[0.0, 0.1, T_END])
    turned = np.stack([solution.coordinate(hinge) for hinge in hinges], axis=1)
    np.testing.assert_allclose(turned, np.outer(solution.t, speeds), rtol=0, atol=1e-9)


def test_what_is_wound_up_falls_as_it_should():
    model = mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((0, 0, 0))
    model.add(RigidBody(node, 1.0, (J, J, J)))
    shaft = model.add(CylindricalJoint(model.ground, node, (0, 0, 1)))
    model.add(Coupling([shaft, shaft], [1.0, 0.1], coordinates=["translation z", "rotation z"]))
    solution = mbs.simulate(model, 3.0, 0.1)
    np.testing.assert_allclose(solution.coordinate(shaft)[-1], [-22.0725, 220.725], rtol=1e-12)


@pytest.mark.one
@pytest.mark.parametrize("restitution", [1.0, None])
def test_a_stop_is_met_after_many_turns(restitution):
    model = mbs.Model()
    hinge = rotor(model, 400.0)
    stiffness = 1e5 if restitution is None else None
    model.add(JointStop(hinge, -1.0, 50.0, stiffness, restitution=restitution))
    solution = mbs.simulate(model, 0.15, STEP)
    speed = solution.coordinate_rate(hinge).ravel()
    hit = 50.0 / 400.0
    np.testing.assert_allclose(speed[solution.t < hit - 1e-9], 400.0, rtol=1e-9)
    np.testing.assert_allclose(speed[solution.t > hit + 2e-3], -400.0, rtol=5e-3)


def test_drives_that_turn_far_in_a_step_do_not_jump(caplog):
    model = mbs.Model()
    node = model.add_node((0, 0, 0), angular_velocity=(0, 0, 400.0))
    model.add(RigidBody(node, 1.0, (J, J, J)))
    model.add(RevoluteJoint(model.ground, node, (0, 0, 1), drive=lambda t: 400.0 * t))
    mbs.simulate(model, T_END, STEP)
    assert not caplog.records


def test_a_run_that_goes_on_counts_on():
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    model.add(PointMass(node, 1.0))
    rail, hinge = model.add(PrismaticJoint(model.ground, node, (1, 0, 0))), rotor(model, 400.0)
    model.add(Coupling(rail, hinge, -1e-3))
    mbs.project_velocities(model)
    whole, first = mbs.simulate(model, 0.2, STEP), mbs.simulate(model, 0.1, STEP)
    turned = whole.coordinate(hinge).ravel()[-1]
    assert turned > 79.0
    for solution in (
        whole,
        *(mbs.simulate(model, 0.2, STEP, initial=at) for at in (first.checkpoint, first.state(-1))),
    ):
        assert solution.coordinate(rail).ravel()[-1] == pytest.approx(1e-3 * turned, rel=1e-9)


def _loaded(run: mbs.Solution, folder: Path) -> mbs.Solution:
    return mbs.load(run.save(folder / f"to_{run.t[-1]}.db"))


def few(begin, end, folder):
    return {"times": [begin, end - 0.03]}


def to_file(begin, end, folder):
    return {"store": folder / f"{end}.db"}


GOES_ON = {
    "checkpoint of a file": ({}, lambda run, folder: _loaded(run, folder).checkpoint),
    "between states": ({}, lambda run, folder: run(run.t[-1] - 0.002)),
    "state that travels": ({}, lambda run, folder: pickle.loads(pickle.dumps(run.state(-2)))),
    "event": ({}, lambda run, folder: run.event_states[0][0]),
    "checkpoint after few of a file": (few, lambda run, folder: _loaded(run, folder).checkpoint),
    "stored state": (to_file, lambda run, folder: run.state(-2)),
}


@pytest.mark.parametrize("how", GOES_ON)
def test_queries_and_events_of_a_run_that_goes_on_count_on(how, tmp_path):
    """A rotor is braked, and comes back after 40 rad: gone on with twice, its angle is ``w t - a t^2/2`` throughout."""
    model, speed, brake = mbs.Model(), 400.0, 2000.0
    hinge = rotor(model, speed)
    model.add(Moment(hinge.nodes[1], (0, 0, -J * brake)))
    kept, place = GOES_ON[how]
    initial, begin = None, 0.0
    for end in (0.1, 0.25, 0.5):
        options = kept(begin, end, tmp_path) if kept else {}
        events = [lambda state, end=end: state.t - end + 0.025, Event(f"{hinge.name}.angle", optional=True)]
        run = mbs.simulate(model, end, STEP / 2, initial=initial, events=events, **options)
        np.testing.assert_allclose(run.angle(hinge), speed * run.t - 0.5 * brake * run.t**2, rtol=0, atol=1e-6)
        initial = place(run, tmp_path)
        begin = getattr(initial, "state", initial).t
    assert run.event_times[1] == pytest.approx([0.4], abs=1e-6)


def test_rotation_vectors_have_no_turns():
    """A ball goes on from between two states with the components that it has there."""
    model = mbs.Model()
    ball = model.add_node((0, 0, 0), angular_velocity=(0, 0, 90.0))
    model.add(RigidBody(ball, 1.0, (1, 1, 1)))
    joint = model.add(SphericalJoint(model.ground, ball))
    run = mbs.simulate(model, 0.22, STEP, initial=mbs.simulate(model, 0.2, STEP)(0.2 - STEP / 3))
    np.testing.assert_allclose(run.coordinate(joint)[:, 2], 90.0 * run.t - 6.0 * np.pi, rtol=0, atol=1e-9)
