"""Friction in joints: exact motions under reactions, sticking, stick-slip, energy, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from minimal import assert_second_order, solved, stick_and_slip
from scipy.optimize import brentq
from units import Units

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import joints
from fem_mbs.elements import (
    Ball,
    Contact,
    Force,
    GeneralJoint,
    JointFriction,
    Plane,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.newton import solve

GROUPS = ("SE3", pytest.param("R3xSO3", marks=pytest.mark.slow))
KINDS: tuple[dict[str, Any], ...] = ({}, {"bristle": 1e-5})
MASS, INERTIA, MU = 2.0, 0.3, 0.25


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS, ids=("regularised", "bristles"))
@pytest.mark.parametrize("group", GROUPS)
def test_a_rotor_slows_down_under_the_load_of_its_bearing(group: str, kind: dict[str, Any]) -> None:
    """A constant moment of radial force, thrust and the moment that two supports carry; then it stands."""
    model = mbs.Model(group, gravity=(3.0, 0, -8.0))
    rotor = model.add_node((0, 0, 0), angular_velocity=(0, 0, 5.0))
    model.add(RigidBody(rotor, MASS, (0.2, 0.2, INERTIA), (0, 0, 0.1)))
    hinge = model.add(RevoluteJoint(model.ground, rotor, (0, 0, 1)))
    model.add(JointFriction(hinge, MU, preload=1.5, radius=0.2, thrust_radius=0.1, length=0.4, **kind))
    solution = mbs.simulate(model, 1.8, 0.01)
    load = 0.2 * (1.5 + MASS * 3.0 + 2 * 0.1 * MASS * 3.0 / 0.4) + 0.1 * MASS * 8.0
    slows = MU * load / INERTIA
    t = solution.t
    expected = np.where(t < 5.0 / slows, 5.0 * t - 0.5 * slows * t**2, 5.0**2 / (2 * slows))
    np.testing.assert_allclose(solution.coordinate(hinge), expected, rtol=0, atol=3e-4)
    rate = solution.angular_velocity(rotor)[:, 2]
    if not kind:  # bristles ring a little after the start
        np.testing.assert_allclose(np.diff(rate[t < 4.9 / slows]), -0.01 * slows, rtol=1e-6)
    assert np.abs(rate[t > 5.1 / slows]).max() < 2e-3  # on its bristles it rocks a little


def test_bristles_that_bend_little_are_a_spring() -> None:
    """A body swings on them with ``sqrt(sigma/m)`` and passes all of its energy to them."""
    model, sigma = mbs.Model(), 9.0 * 0.5 / 0.02
    omega = np.sqrt(sigma / MASS)
    body = model.add_node((0, 0, 0), velocity=(2e-5 * omega, 0, 0))
    model.add(RigidBody(body, MASS, (1, 1, 1)))
    guide = model.add(PrismaticJoint(model.ground, body, (1, 0, 0)))
    model.add(JointFriction(guide, 0.5, preload=9.0, reactions=False, bristle=0.02, stribeck=1e3))
    solution = mbs.simulate(model, np.pi / omega, 0.05 / omega)
    np.testing.assert_allclose(solution.coordinate(guide), 2e-5 * np.sin(omega * solution.t), rtol=0, atol=1e-7)
    np.testing.assert_allclose(solution.energy.total, 0.5 * sigma * 2e-5**2, rtol=5e-3)
    assert solution.energy.strain.max() == pytest.approx(0.5 * sigma * 2e-5**2, rel=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_a_block_slides_or_sticks_on_a_slope(group: str) -> None:
    """``g (sin - mu_k cos)`` on the steep one; on the other it creeps, or bends its bristles by their share."""
    for slope, kind in ((0.6, {}), (0.2, {}), (0.2, {"bristle": 1e-4})):
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        block = model.add_node((0, 0, 0), velocity=(0.1 * np.cos(slope), 0, -0.1 * np.sin(slope)))
        model.add(RigidBody(block, MASS, (1, 1, 1)))
        guide = model.add(PrismaticJoint(model.ground, block, (np.cos(slope), 0, -np.sin(slope))))
        friction = model.add(JointFriction(guide, MU, 0.4, **kind))
        solution = mbs.simulate(model, 0.5, 0.01)
        q, t = solution.coordinate(guide), solution.t
        if slope == 0.6:
            slides = 9.81 * (np.sin(slope) - MU * np.cos(slope))
            np.testing.assert_allclose(q, 0.1 * t + 0.5 * slides * t**2, rtol=0, atol=1e-5)
            continue
        late = t > 0.4
        if kind:
            np.testing.assert_allclose(
                solution.internal_variables(friction, "bristle")[-1], 1e-4 / 0.4 * np.tan(slope), rtol=1e-3
            )
            np.testing.assert_allclose(q[late], q[-1], rtol=0, atol=1e-8)
        else:
            x = brentq(lambda x: 0.4 * x * (15 - 10 * x**2 + 3 * x**4) / 8 - np.tan(0.2), 0, 1)
            np.testing.assert_allclose(np.diff(q[late]) / 0.01, 1e-3 * x, rtol=1e-6)


LENGTH, RADIUS, CREEP = 0.7, 0.3, 0.4


def pendulum(t: float, y: Array) -> list[float]:
    """The reaction, and with it friction, depends on the acceleration."""
    angle, rate = y
    along = MASS * (LENGTH * rate**2 + 9.81 * np.cos(angle))
    x = min(abs(rate) / CREEP, 1.0)
    mu = MU * np.sign(rate) * x * (15 - 10 * x**2 + 3 * x**4) / 8

    def balance(a: float) -> float:
        force = np.hypot(along, MASS * (LENGTH * a + 9.81 * np.sin(angle)))
        return (INERTIA + MASS * LENGTH**2) * a + MASS * 9.81 * LENGTH * np.sin(angle) + mu * RADIUS * force

    return [rate, float(brentq(balance, -200.0, 200.0, xtol=1e-14))]


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_friction_of_a_pendulum_follows_the_force_in_its_hinge(group: str) -> None:
    def error(h: float) -> float:
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        turn = np.array([[np.cos(1.2), 0, -np.sin(1.2)], [0, 1, 0], [np.sin(1.2), 0, np.cos(1.2)]])
        place = LENGTH * np.array([np.sin(1.2), 0, -np.cos(1.2)])
        body = model.add_node(place, turn)
        model.add(RigidBody(body, MASS, (0.2, INERTIA, 0.3)))
        hinge = model.add(RevoluteJoint(model.ground, body, (0, -1, 0), (0, 0, 0)))
        model.add(JointFriction(hinge, MU, radius=RADIUS, creep=CREEP))
        solution = mbs.simulate(model, 1.5, h)
        exact = solved(pendulum, [1.2, 0.0], solution.t)
        return float(np.abs(1.2 + solution.coordinate(hinge) - exact[:, 0]).max())

    assert_second_order(error, 0.01, 2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("law", joints.LAWS)
def test_stick_and_slip_on_a_belt(group: str, law: str) -> None:
    """Coulomb's law."""
    model, block = joints.belt(group, **joints.LAWS[law])
    solution = mbs.simulate(model, 2.2, 2e-3)
    turns = joints.turning_back(solution.t, solution.velocity(block)[:, 0])
    period, furthest = stick_and_slip()
    np.testing.assert_allclose(np.diff(turns), period, rtol=1e-2)
    np.testing.assert_allclose(solution.displacement(block)[:, 0].max(), furthest, rtol=1e-2)


def test_below_the_static_limit_it_sticks_to_the_belt() -> None:
    """Until the spring pulls with ``mu_s m g``; on a slow belt it would not slip before 0.5 s."""
    model, block = joints.belt(**joints.LAWS["bristles"])
    solution = mbs.simulate(model, 0.45, 5e-3)
    np.testing.assert_allclose(solution.displacement(block)[:, 0], 0.1 * solution.t, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_bristles_that_slip_steadily_leave_rounding() -> None:
    """Their rate is what is left of two that cancel: beside itself, its rounding would be a residual of 1."""
    model, h = mbs.Model(gravity=(0, 0, -9.81)), 1e-3
    block = model.add_node((0, 0, 0), velocity=(1.2, 0, 0))
    model.add(RigidBody(block, MASS, (1, 1, 1)))
    guide = model.add(PrismaticJoint(model.ground, block, (1, 0, 0)))
    model.add(JointFriction(guide, MU, bristle=1e-5))
    state, system, method = mbs.simulate(model, 0.4, h).state(-1), mbs.System(model), mbs.GeneralizedAlpha()
    equations = method.equations(system, state, h, method.init(system, state, h))
    unknown = equations.predict(equations.formulas.guess, state.multipliers)
    unknown = solve(equations, unknown, method.newton).unknown
    unknown.D[-1] += 1e-14 * 1e-5
    assert max(equations.size(equations.evaluate(unknown))) < 1e-8


def test_what_friction_has_brought_to_rest_rests_beside_what_moves() -> None:
    """Without any other force all that is left is rounding of the rate, and no step fails of it."""
    model = mbs.Model()
    shaft, wheel = (model.add_node((x, 0, 0), angular_velocity=(0, 0, w)) for x, w in ((0, 2.0), (0.1, 0.2)))
    hinges = []
    for node, drive in ((shaft, lambda t: 2 * t), (wheel, None)):
        model.add(RigidBody(node, 0.5, (2e-4, 2e-4, 4e-4)))
        hinges.append(model.add(RevoluteJoint(model.ground, node, (0, 0, 1), drive=drive)))
    model.add(JointFriction(hinges[1], kinetic=1.0, radius=0.001, preload=5.0))
    model.add(Contact(wheel, shaft, Ball(0.02, center=(0.1, 0, 0)), Ball(0.02)))
    solution = mbs.simulate(model, 0.6, 0.02)
    assert solution.stats.failed_steps == 0
    assert abs(solution.angular_velocity(wheel)[-1, 2]) < 1e-12


def test_bad_input_is_refused_by_name() -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0), name="end")
    hinge = model.add(RevoluteJoint(model.ground, node, (0, 0, 1)), name="hinge")
    slider = PrismaticJoint(model.ground, node, (1, 0, 0))
    ball = SphericalJoint(model.ground, node)
    for joint, arguments, message in (
        (hinge, {"kinetic": -0.1, "radius": 1}, "RevoluteJoint 'hinge': kinetic must be at least 0"),
        (
            hinge,
            {"kinetic": 0.3, "static": 0.2, "radius": 1},
            "'hinge': static must be at least kinetic, 0.3, received",
        ),
        (hinge, {"kinetic": 0.3}, "'rotation z' is an angle, so that friction needs radius, received None"),
        (slider, {"kinetic": 0.3, "radius": 0.1}, "'translation z' is a travel, so that friction has no radius"),
        (hinge, {"kinetic": 0.3, "radius": 0.0}, "radius must be a positive number"),
        (hinge, {"kinetic": 0.3, "radius": 1, "preload": -1.0}, "preload must be at least 0"),
        (hinge, {"kinetic": 0.3, "radius": 1, "creep": 0.0}, "creep must be a positive number"),
        (slider, {"kinetic": 0.01, "static": 0.3, "bristle": 1e-5}, "static must be at most 9 times kinetic"),
        (slider, {"kinetic": 0.1, "reactions": False}, "nothing presses; give a preload"),
        (ball, {"kinetic": 0.1, "radius": 1}, "SphericalJoint .* has the coordinates .*; say which"),
        (ball, {"kinetic": 0.1, "radius": 1, "coordinate": "rotation x"}, "how its reactions press on it is not known"),
        (node, {"kinetic": 0.1}, "JointFriction: joint must be a joint"),
    ):
        with pytest.raises(mbs.ModelError, match=message):
            JointFriction(joint, **arguments)
    model.add(JointFriction(slider, 0.3))
    with pytest.raises(
        mbs.ModelError, match="PrismaticJoint on node 'ground', node 'end' is not part of this model; add it"
    ):
        mbs.System(model)


@pytest.mark.parametrize("preload", [0.1, 1.0])
@pytest.mark.parametrize("share", [2.4, 6.0])
def test_a_slider_that_jams_sticks(preload: float, share: float) -> None:
    """With ``2 mu e/l > 1`` friction presses more than it takes: a joint creeps where ``mu L r(v) = m g``."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = model.add_node((share / 12.0, 0, 0))
    model.add(RigidBody(body, 1.0, (0.01, 0.01, 0.01)))
    guide = model.add(PrismaticJoint(model.ground, body, (0, 0, 1), point=(0, 0, 0)))
    model.add(JointFriction(guide, kinetic=0.3, length=0.05, preload=preload, creep=1e-3))
    solution = mbs.simulate(model, 0.02, 1e-3)
    x = brentq(lambda x: x * (15 - 10 * x**2 + 3 * x**4) / 8 - 9.81 / (0.3 * preload + share * 9.81), 0, 1)
    np.testing.assert_allclose(solution.velocity(body)[-1, 2], -1e-3 * x, rtol=5e-3)
    assert len(solution.t) < 40


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "push", "until", "step", "bristle"),
    [
        (1.08, 10, 0.01, 2e-3, None),
        (3.0, 10, 0.05, 5e-3, None),
        (1.2, 10, 0.02, 1e-3, 1e-5),
        (8.0, 2, 0.05, 1e-3, 1e-5),
    ],
)
def test_a_motion_that_jams_stops_at_once(
    ratio: float, push: float, until: float, step: float, bristle: float | None
) -> None:
    """A push on the guide ends, and its own reactions press more than it takes to make them (Painleve).

    Bristles that have not slipped fast have no force to offer at once that does so, and the run says that it jams.
    """
    model = mbs.Model(gravity=(0, 0, 0))
    body = model.add_node((ratio * 0.05 / 0.6, 0, 0))
    model.add(RigidBody(body, 1.0, (0.01, 0.01, 0.01)))
    guide = model.add(PrismaticJoint(model.ground, body, (0, 0, 1), point=(0, 0, 0)))
    model.add(JointFriction(guide, kinetic=0.3, length=0.05, preload=1.0, bristle=bristle), name="rubs")
    model.add(Force(body, lambda t: (0, 0, push if t < until else 0.0), point=(0, 0, 0)))
    if ratio > 5.0:
        with pytest.raises(
            mbs.ConvergenceError, match="JointFriction 'rubs' on PrismaticJoint .*: reactions that friction"
        ):
            mbs.simulate(model, until + 0.05, step)
        return
    solution = mbs.simulate(model, until + 0.01, step)
    system = mbs.System(model)
    left = [system.evaluate_at(solution.state(k)).relative for k in range(len(solution.t))]
    way = solution.position(body)[:, 2][solution.t >= until - 1e-9]
    speed = (push - 0.3) / (1.0 + ratio) * until
    yields = 3.0 * bristle if bristle else 0.02 * speed * step
    assert np.abs(way - way[0]).max() < yields and max(left) < 1e-4
    assert solution.stats.error.length < 1e-5  # what the blow has stopped errs no more


def test_a_hinge_that_jams_at_the_start_is_told_by_its_reactions() -> None:
    """Its angle, which counts turns, has no equation that could fail."""
    model = mbs.Model(gravity=(0, 0, 0))
    body = model.add_node((0.1, 0, 0), velocity=(0, 0.5, 0), angular_velocity=(0, 0, 5))
    model.add(RigidBody(body, 1.0, (0.001, 0.001, 0.001)))
    hinge = model.add(RevoluteJoint(model.ground, body, (0, 0, 1), point=(0, 0, 0)))
    model.add(JointFriction(hinge, kinetic=0.5, radius=1.0))
    with pytest.raises(
        mbs.MotionError,
        match="JointFriction 1' on RevoluteJoint 'RevoluteJoint 1': reactions that friction makes press",
    ):
        mbs.start(mbs.System(model))


def rubbing(units: Units, bristle: float | None, **given: float) -> mbs.Model:
    """A block on a belt of 0.1 m/s, held by a spring from where it slips back; 1 s."""
    m, kg = units.m, units.kg
    model = mbs.Model(gravity=tuple(units.g))
    speed = 0.1 * m / units.s
    block, far = (model.add_node((x * m, 0, 0), name=name) for x, name in ((0, "block"), (-1, "far")))
    belt = model.add_node((0, 0, 0), velocity=(speed, 0, 0))
    model.fix(far)
    for node in (block, belt):
        model.add(RigidBody(node, kg, (0.01 * kg * m**2,) * 3))
    model.add(PrismaticJoint(model.ground, belt, (1, 0, 0), drive=lambda t: speed * t))
    guide = model.add(PrismaticJoint(belt, block, (1, 0, 0)))
    own = {} if bristle is None else {"bristle": bristle * m}
    model.add(JointFriction(guide, 0.3, 0.5, **own, **{name: v * m / units.s for name, v in given.items()}))
    model.add(SpringDamper(far, block, 50.0 * units.N / m, 0.0))
    return model


@pytest.mark.parametrize("bristle", [None, 1e-4])
def test_a_run_says_that_friction_creeps_in_its_units(bristle: float | None, caplog: pytest.LogCaptureFixture) -> None:
    """In m and ms defaults are 1 and 10 m/s: nothing sticks, or all of the belt is below the Stribeck speed."""
    ends = []
    for units, given, told in (
        (Units(), {}, False),
        (Units(s=1000.0), {}, True),
        (Units(s=1000.0), {"creep": 1e-3, "stribeck": 1e-2}, False),
    ):
        caplog.clear()
        model = rubbing(units, bristle, **given)
        # with bristles from where it slips, after 1 s
        solution = mbs.simulate(model, (1.0 if bristle is None else 1.4) * units.s, 0.005 * units.s)
        assert ("JointFriction 1' by" in caplog.text and "slower than it is made for" in caplog.text) is told
        ends.append(solution.position("block")[-1, 0])
    assert ends[2] == pytest.approx(ends[0], rel=1e-3)
    assert abs(ends[1] - ends[0]) > 0.05 * ends[0]


@pytest.mark.one
@pytest.mark.parametrize("bristle", [None, 1e-4])
def test_a_run_says_that_a_rate_not_given_is_of_other_units(
    bristle: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    """In mm the default is 0.01 mm/s, and the motion another one."""
    ends = []
    for m, given, told in ((1.0, {}, False), (1e3, {}, True), (1e3, {"creep": 1e-3, "stribeck": 1e-2}, False)):
        caplog.clear()
        solution = mbs.simulate(rubbing(Units(m=m), bristle, **given), 1.4, 0.005)
        assert ("a rate that was not given" in caplog.text and "JointFriction 1'" in caplog.text) is told
        ends.append(solution.position("block")[-1, 0] / m)
    assert ends[2] == pytest.approx(ends[0], rel=2e-3)
    assert abs(ends[1] - ends[0]) > 0.005 * abs(ends[0])


def test_a_run_says_that_what_yields_creeps(caplog: pytest.LogCaptureFixture) -> None:
    """A box on a slope that should hold it, in m and in mm a second: 1 mm/s, or 1 m/s in place of it."""
    law = {"friction": 0.5, "stiffness": 1e5, "restitution": 0.5}
    for creep, told in ((1e-3, False), (1.0, True)):
        caplog.clear()
        model = mbs.Model(gravity=(2.0, 0, -9.6))
        box = model.add_node((0, 0, 0.1))
        model.add(RigidBody(box, 1.0, (0.01, 0.01, 0.01)))
        model.add(Contact(model.ground, box, Plane((0, 0, 1)), Ball(0.1), **law, creep=creep))
        model.add(GeneralJoint(model.ground, box, (False, False, False), (True, True, True)))
        solution = mbs.simulate(model, 0.5, 0.01)
        assert ("Contact 1' by" in caplog.text) is told
        assert bool(solution.position(box)[-1, 0] > 0.01) is told
