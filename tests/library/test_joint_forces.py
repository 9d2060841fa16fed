"""Forces along coordinates of joints against minimal coordinates: a bead that slides on an arm that turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from minimal import solved
from motions import fitted_order

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint, Element
from fem_mbs.elements import (
    JointForce,
    JointFriction,
    JointSpring,
    JointStop,
    PositionMotor,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpeedMotor,
    SphericalJoint,
    TorqueMotor,
)

GROUPS = ("SE3", pytest.param("R3xSO3", marks=pytest.mark.slow))
MASS, ARM, BEAD, START, SPIN, SPEED = 2.0, 0.7, 0.3, 0.5, 3.0, 1.0


class Machine(NamedTuple):
    """The model, and its joints by name."""

    model: mbs.Model
    arm: mbs.Node
    bead: mbs.Node
    hinge: Constraint
    slider: Constraint


def machine(group: str) -> Machine:
    """An arm on a hinge about z, along whose x axis a bead slides."""
    model = mbs.Model(group)
    arm = model.add_node((0, 0, 0), angular_velocity=(0, 0, SPIN))
    bead = model.add_node((START, 0, 0), velocity=(SPEED, SPIN * START, 0), angular_velocity=(0, 0, SPIN))
    model.add(RigidBody(arm, 1.0, (0.4, 0.5, ARM)))
    model.add(RigidBody(bead, MASS, (0.1, 0.2, BEAD)))
    hinge = model.add(RevoluteJoint(model.ground, arm, (0, 0, 1)), name="hinge")
    slider = model.add(PrismaticJoint(arm, bead, (1, 0, 0)), name="slider")
    return Machine(model, arm, bead, hinge, slider)


class Force(NamedTuple):
    """Elements, and what they do by hand: forces on travel and angle, and rates of states."""

    make: Callable[[Machine], list[Element]]
    by_hand: Callable[[float, Array], tuple[float, float, Sequence[float]]]
    states: int = 0


def spring(t: float, y: Array) -> tuple[float, float, Sequence[float]]:
    return -90.0 * (y[0] - 0.1) - 1.5 * y[2], 0.0, ()


def torsion(t: float, y: Array) -> tuple[float, float, Sequence[float]]:
    return -90.0 * y[0], -4.0 * (y[1] - 0.5) - 0.3 * y[3], ()


def stop(t: float, y: Array) -> tuple[float, float, Sequence[float]]:
    beyond = max(y[0] - 0.2, 0.0) + min(y[0] + 0.1, 0.0)
    rise = max(1.0 + 0.3 * np.sign(beyond) * y[2], 0.0)
    return -400.0 * beyond * rise - 20.0 * y[0], 0.0, ()


def driven(t: float, y: Array) -> tuple[float, float, Sequence[float]]:
    return -90.0 * y[0], 2.0 * np.sin(5.0 * t), ()


def at_speed(t: float, y: Array) -> tuple[float, float, Sequence[float]]:
    error = np.cos(t) - y[3]
    asked = 2.0 * error + 9.0 * y[4]
    torque = np.clip(asked, -4.4, 4.4)  # reached in the middle of the run
    return -90.0 * y[0], torque, [error - (asked - torque) / 2.0]


def at_place(t: float, y: Array) -> tuple[float, float, Sequence[float]]:
    error = 0.2 * np.sin(3.0 * t) - y[0]
    return 90.0 * error + 5.0 * (0.6 * np.cos(3.0 * t) - y[2]) + 40.0 * y[4], 0.0, [error]


def coefficient(v: float) -> float:
    return 0.3 + 0.2 * np.exp(-((v / 0.5) ** 2))


def dry(t: float, y: Array) -> tuple[float, float, Sequence[float]]:
    x = np.clip(y[2] / 0.2, -1.0, 1.0)
    mu = coefficient(max(abs(y[2]) - 0.2, 0.0)) * x * (15.0 - 10.0 * x**2 + 3.0 * x**4) / 8.0
    return -90.0 * y[0] - 9.0 * mu - 0.4 * y[2], 0.0, ()


def bristles(t: float, y: Array) -> tuple[float, float, Sequence[float]]:
    z, v, sigma, tau = y[4], y[2], 0.5 / 0.02, 0.02 / 0.5
    z_dot = v - sigma * abs(v) * z / coefficient(v)
    return -90.0 * y[0] - 9.0 * (sigma * z + tau * sigma * np.exp(-((v / 0.5) ** 2)) * z_dot) - 0.4 * v, 0.0, [z_dot]


FRICTION = {"preload": 9.0, "reactions": False, "viscous": 0.4, "stribeck": 0.5}


FORCES: dict[str, Force] = {
    "spring in the slider": Force(lambda m: [JointSpring(m.slider, 90.0, 1.5, free=0.1)], spring),
    "law in the slider": Force(lambda m: [JointForce(m.slider, lambda t, q, v: -90.0 * (q - 0.1) - 1.5 * v)], spring),
    "spring in the hinge": Force(
        lambda m: [JointSpring(m.slider, 90.0), JointSpring(m.hinge, 4.0, 0.3, free=0.5)], torsion
    ),
    "law in the hinge": Force(
        lambda m: [JointSpring(m.slider, 90.0), JointForce(m.hinge, lambda t, q, v: -4.0 * (q - 0.5) - 0.3 * v)],
        torsion,
    ),
    "stops": Force(lambda m: [JointSpring(m.slider, 20.0), JointStop(m.slider, -0.1, 0.2, 400.0, 0.3)], stop),
    "torque motor": Force(
        lambda m: [JointSpring(m.slider, 90.0), TorqueMotor(m.hinge, lambda t: 2.0 * np.sin(5.0 * t))], driven
    ),
    "speed motor, limited": Force(
        lambda m: [JointSpring(m.slider, 90.0), SpeedMotor(m.hinge, np.cos, 2.0, 9.0, limit=4.4)], at_speed, states=1
    ),
    "position motor": Force(
        lambda m: [PositionMotor(m.slider, lambda t: 0.2 * np.sin(3.0 * t), 90.0, 40.0, 5.0)], at_place, states=1
    ),
    "friction": Force(
        lambda m: [JointSpring(m.slider, 90.0), JointFriction(m.slider, 0.3, 0.5, creep=0.2, **FRICTION)], dry
    ),
    "bristles": Force(
        lambda m: [JointSpring(m.slider, 90.0), JointFriction(m.slider, 0.3, 0.5, bristle=0.02, **FRICTION)],
        bristles,
        states=1,
    ),
}


KINKED = ("stops", "friction", "bristles", "speed motor, limited")


def by_hand(force: Force) -> Callable[[float, Array], Array]:
    """Equations of travel and angle, their rates, and states."""

    def rhs(t: float, y: Array) -> Array:
        along, about, states = force.by_hand(t, y)
        r = START + y[0]
        rates = [y[3] ** 2 * r + along / MASS, (about - 2 * MASS * r * y[2] * y[3]) / (ARM + BEAD + MASS * r**2)]
        return np.array([y[2], y[3], *rates, *states])

    return rhs


def errors(name: str, group: str, h: float) -> tuple[float, float]:
    """Of coordinates, and of the reactions in the slider: across its axis, and the moment about z."""
    force, m = FORCES[name], machine(group)
    for element in force.make(m):
        m.model.add(element)
    solution = mbs.simulate(m.model, 1.0, h)
    rhs = by_hand(force)
    exact = solved(rhs, [0.0, 0.0, SPEED, SPIN, *[0.0] * force.states], solution.t)
    found = np.stack([solution.coordinate(m.slider), solution.coordinate(m.hinge)], axis=-1)
    reaction, moment = solution.reaction(m.slider)
    rates = np.array([rhs(t, y) for t, y in zip(solution.t, exact, strict=True)])
    across = MASS * ((START + exact[:, 0]) * rates[:, 3] + 2.0 * exact[:, 2] * exact[:, 3])
    angle = exact[:, 1]
    force_y = np.vecdot(reaction, np.stack([-np.sin(angle), np.cos(angle), 0 * angle], axis=-1))
    # without the first steps, in which what the start has excited dies out
    off = np.abs(np.stack([force_y - across, moment[:, 2] - BEAD * rates[:, 3]]))[:, solution.t > 0.2]
    return float(np.abs(found - exact[:, :2]).max()), float(off.max())


@pytest.mark.ci(every_case=True)
@pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FORCES)
def test_coordinates_and_reactions_as_by_hand(name: str, group: str) -> None:
    """Errors fall with the square of the step; where a force has kinks, at least so, as long steps are cut there."""
    steps = np.array([0.02, 0.01])
    coordinates, reactions = np.array([errors(name, group, h) for h in steps]).T
    if name in KINKED:
        assert (coordinates < 16.0 * steps**2).all()
        assert (reactions < 400.0 * steps**2).all()
        return
    assert (coordinates < 12.0 * steps**2).all()
    assert (reactions < 400.0 * steps**2).all()
    assert abs(fitted_order(steps, coordinates) - 2.0) < 0.15
    assert abs(fitted_order(steps, reactions) - 2.0) < 0.15


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_springs_in_hinges_count_turns(group: str) -> None:
    """A wound up spring turns a wheel back by many turns: ``q = q_0 (1 - cos omega t)``."""
    model = mbs.Model(group)
    wheel = model.add_node((0, 0, 0))
    model.add(RigidBody(wheel, 1.0, (1.0, 1.0, 2.0)))
    hinge = model.add(RevoluteJoint(model.ground, wheel, (0, 0, 1)))
    model.add(JointSpring(hinge, 0.5, free=20.0))
    solution = mbs.simulate(model, 5.0, 0.04, mbs.GeneralizedAlpha(1.0))
    expected = 20.0 * (1.0 - np.cos(0.5 * solution.t))
    np.testing.assert_allclose(solution.coordinate(hinge), expected, rtol=0, atol=5e-3)
    np.testing.assert_allclose(solution.energy.total, 100.0, rtol=1e-4)


@pytest.mark.slow
def test_a_motor_holds_a_weight_by_its_integral_and_stays_below_its_limit() -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    cage = model.add_node((0, 0, 0))
    model.add(RigidBody(cage, 10.0, (1, 1, 1)))
    shaft = model.add(PrismaticJoint(model.ground, cage, (0, 0, 1)))
    motor = model.add(SpeedMotor(shaft, lambda t: 0.5 * min(t, 1.0), 200.0, 400.0, limit=105.0))
    solution = mbs.simulate(model, 8.0, 0.01)
    assert solution.velocity(cage)[-1, 2] == pytest.approx(0.5, abs=1e-4)
    assert 400.0 * solution.internal_variables(motor, "integral")[-1] == pytest.approx(98.1, rel=1e-4)
    lifts = np.diff(solution.velocity(cage)[:, 2]) / 0.01
    assert lifts.max() < (105.0 - 98.1) / 10.0 + 1e-3


def test_statics_finds_where_springs_and_motors_hold() -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    nodes = [model.add_node((x, 0, 0)) for x in (0, 1)]
    for node in nodes:
        model.add(RigidBody(node, 2.0, (1, 1, 1)))
    held, driven = (model.add(PrismaticJoint(model.ground, node, (0, 0, 1))) for node in nodes)
    model.add(JointSpring(held, 100.0))
    motor = model.add(PositionMotor(driven, 0.3, 50.0, 20.0))
    solution = mbs.statics(model, ramp=False)
    assert solution.coordinate(held)[-1] == pytest.approx(-0.1962, rel=1e-7)
    assert solution.coordinate(driven)[-1] == pytest.approx(0.3, rel=1e-7)
    assert 20.0 * solution.internal_variables(motor, "integral")[-1] == pytest.approx(2 * 9.81, rel=1e-7)


@pytest.mark.parametrize("value", [np.ones(3), np.nan, 1j, None, "2"])
def test_laws_that_return_no_number_are_refused_by_name(value: object) -> None:
    m = machine("R3xSO3")
    m.model.add(JointForce(m.hinge, lambda t, q, v: value), name="muscle")  # type: ignore[arg-type,return-value]
    message = "JointForce 'muscle': its law must return one finite number, received .* coordinate 0 rad, rate 3 rad/s"
    with pytest.raises(mbs.LawError, match=message):
        mbs.simulate(m.model, 0.1, 0.01)


def test_bad_input_is_refused_by_name() -> None:
    m = machine("R3xSO3")
    ball = SphericalJoint(m.arm, m.bead)
    for call, message in (
        (lambda: JointStop(m.slider, 0.2, 0.1, 1.0), "JointStop on PrismaticJoint 'slider': lower must be below upper"),
        (lambda: JointStop(m.slider, 0.1, 0.1, 1.0), "lower must be below upper, received 0.1 and 0.1"),
        (lambda: JointStop(m.slider, None, None, 1.0), "neither lower nor upper"),
        (lambda: JointStop(m.slider, -np.inf, 1.0, 1.0), "lower must be a finite number"),
        (lambda: JointStop(m.slider, -1.0, 1.0, 0.0), "stiffness must be a positive number"),
        (lambda: JointStop(m.slider, -1.0, 1.0, 1.0, -0.1), "damping must be at least 0"),
        (
            lambda: JointStop(m.slider, -0.1, lambda t: 0.1, restitution=0.5),
            "a rigid stop has neither damping nor ends",
        ),
        (lambda: JointStop(m.slider, lambda t: -0.1, None, restitution=0.5), "a rigid stop has neither damping nor"),
        (lambda: JointSpring(m.hinge, -1.0), "JointSpring on RevoluteJoint 'hinge': stiffness must be at least 0"),
        (lambda: JointSpring(ball, 1.0), "has the coordinates 'rotation x', .*; say which"),
        (lambda: JointSpring(m.hinge, 1.0, coordinate="translation x"), "there is no 'translation x'"),
        (lambda: JointSpring(m.arm, 1.0), "JointSpring: joint must be a joint"),
        (lambda: JointForce(m.hinge, 3.0), "law must be a function of t, coordinate and rate, received 3.0"),
        (lambda: TorqueMotor(m.hinge, "fast"), "torque must be a number"),
        (lambda: SpeedMotor(m.hinge, 1.0, 0.0), "proportional must be a positive number"),
        (lambda: PositionMotor(m.hinge, 1.0, 1.0, -1.0), "integral must be at least 0"),
        (lambda: PositionMotor(m.hinge, 1.0, 1.0, limit=0.0), "limit must be a positive number"),
    ):
        with pytest.raises(mbs.ModelError, match=message):
            call()


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_a_stop_that_moves_pushes_what_it_meets(group: str) -> None:
    """``m q'' = k d max(0, 1 + c (p' - q'))`` with the depth ``d = p(t) - q`` in the end ``p``."""
    mass, k, c = 2.0, 500.0, 0.4

    def end(t: float) -> float:
        return -0.01 + 0.2 * t * t

    def rates(t: float, y: Array) -> list[float]:
        depth = max(0.0, end(t) - y[0])
        return [y[1], k * depth * max(0.0, 1.0 + c * (0.4 * t - y[1])) / mass]

    exact = solved(rates, [0.0, 0.0], np.array([0.0, 1.0]))[-1]
    errors = []
    for h in (0.01, 0.005):
        model = mbs.Model(group)
        node = model.add_node((0, 0, 0))
        model.add(RigidBody(node, mass, (1, 1, 1)))
        slide = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
        model.add(JointStop(slide, end, None, k, c))
        errors.append(abs(mbs.simulate(model, 1.0, h).coordinate(slide)[-1] - exact[0]))
    assert max(errors) < 2e-5 * abs(exact[0])


def test_ends_that_pass_each_other_are_refused() -> None:
    m = machine("SE3")
    m.model.add(JointStop(m.slider, lambda t: 0.1 * t - 0.2, lambda t: 0.2 - 10.0 * t, 100.0))
    with pytest.raises(mbs.ModelError, match="lower must be below upper, .* at t = 0.0"):
        mbs.simulate(m.model, 1.0, 0.01)
