"""Rigid contact against closed forms and solutions of the exact equations."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.arrays import Array, IntArray
from fem_mbs.benchmarks.impacts import OSCILLATOR, PENDULUM, fitted
from fem_mbs.contracts import Motion, UnilateralBatch
from fem_mbs.elements import (
    Ball,
    Box,
    Bush,
    Capsule,
    Contact,
    Cylinder,
    FixedJoint,
    Force,
    JointStop,
    PlanarJoint,
    Plane,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    Rope,
    SpringDamper,
    contacts_between,
)
from fem_mbs.elements.contact.contact import ContactBatch
from fem_mbs.elements.contact.pairs import PairPlace, Pairs, every
from fem_mbs.lie import so3

G = 9.81
GROUPS = ("R3xSO3", "SE3")


def model_with_ball(
    height: float = 1.0,
    e: float = 0.8,
    mu: float = 0.0,
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    group: str = "R3xSO3",
    r: float = 0.1,
) -> mbs.Model:
    """A ball above a floor."""
    model = mbs.Model(group=group, gravity=(0, 0, -G))
    ball = model.add_node((0, 0, height + r), velocity=velocity, name="ball")
    model.add(RigidBody(ball, 1.0, [0.4 * r * r] * 3))
    model.add(Contact(model.ground, ball, Plane(), Ball(r), restitution=e, friction=mu), name="floor")
    return model


@pytest.mark.parametrize(
    ("times", "locate", "ends"),
    ((np.linspace(0.203, 0.218, 6), 6, False), (np.linspace(0.203, 0.218, 6), 4, True), (np.full(6, 0.21), 4, False)),
)
def test_a_step_with_more_instants_of_impacts_than_are_located_is_not_cut(
    times: Array, locate: int, ends: bool
) -> None:
    """Balls that fall from rest for so long: all meet the floor then, or at the end of the step; six at once are one.

    Whoever meets it at the end has fallen at most a step too long: its speed there is that of the step's begin.
    """
    model = mbs.Model(gravity=(0, 0, -G))
    floors = []
    for k, t in enumerate(times):
        ball = model.add_node((k, 0, 0.1 + 0.5 * G * t**2))
        model.add(RigidBody(ball, 1.0, [4e-3] * 3))
        floors.append(model.add(Contact(model.ground, ball, Plane(), Ball(0.1))))
    solution = mbs.simulate(model, 0.24, 0.02, method=mbs.NonsmoothAlpha(locate=locate))
    hits = [solution.impulses(floor)[0] for floor in floors]
    np.testing.assert_allclose([hit.t for hit in hits], 0.22 if ends else times, rtol=0, atol=1e-9)
    np.testing.assert_allclose([hit.normal for hit in hits], G * (0.22 if ends else times), rtol=0, atol=1e-8)
    assert min(solution.gap(floor).min() for floor in floors) > -1e-12


@pytest.mark.one
@pytest.mark.parametrize("height", [3.0, 0.1])
def test_what_glides_along_a_floor_has_no_error(height: float) -> None:
    """Far above it or touching it, without weight: steps become as long as may be."""
    model = model_with_ball(height - 0.1, velocity=(1.0, 0, 0))
    model.gravity = np.zeros(3)
    solution = mbs.simulate(model, 1.0, mbs.VariableStep(1e-6, largest=0.2, max_steps=30))
    np.testing.assert_allclose(solution.position("ball")[-1], [1.0, 0.0, height], rtol=0, atol=1e-14)


@pytest.mark.parametrize("group", GROUPS)
def test_a_ball_bounces_to_rest(group: str) -> None:
    """Instants ``t_1 (1 + 2 sum e^i)``, heights by ``e^2k``, and rest at ``t_1 (1 + e)/(1 - e)``."""
    solution = mbs.simulate(model_with_ball(e=0.5, group=group), 1.6, 0.02)
    t1 = np.sqrt(2.0 / G)
    hits = [impulse.t for impulse in solution.impulses("floor")[:3]]
    np.testing.assert_allclose(hits, t1 * np.array([1.0, 2.0, 2.5]), rtol=0, atol=1e-9)
    after = solution.t > t1 * 3.0
    assert np.abs(solution.position("ball")[after, 2] - 0.1).max() < 1e-6
    np.testing.assert_allclose(solution.contact_force("floor")[-1, 0], [0.0, 0.0, G], rtol=0, atol=1e-9)
    assert solution.gap("floor").min() >= -1e-10
    took = solution.internal_variables("floor", "energy of impacts")[-1]
    # what is pushed out after the last, unlocated bounces rises by g h^2 at most
    lost = solution.energy.total[0] - solution.energy.total[-1]
    np.testing.assert_allclose(lost, took, rtol=0, atol=G * G * 0.02**2)


@pytest.mark.one
@pytest.mark.parametrize("mass", [1e-6, 1e6])
def test_what_slides_and_bounces_at_any_mass(mass: float) -> None:
    """A pendulum with friction at its wall: the same motion, whatever its weight."""
    paths = []
    for own in (1.0, mass):
        model = mbs.Model(gravity=(0, 0, -G))
        bob = model.add_node((0.3, 0, 0.1), velocity=(-0.5, 0, 0), name="bob")
        model.add(RigidBody(bob, own, [0.01 * own] * 3))
        model.add(SpringDamper(model.ground, bob, 40.0 * own, free_length=0.5, point_a=(1, 0, 0.1)))
        model.add(Contact(model.ground, bob, Plane(), Ball(0.1), restitution=0.5, friction=0.2))
        paths.append(mbs.simulate(model, 0.5, 0.02).position("bob"))
    np.testing.assert_allclose(paths[1], paths[0], rtol=0, atol=1e-9)


@pytest.mark.ci
def test_order_of_a_pendulum_that_hits_a_wall() -> None:
    """Order 2 through impacts of a mass behind a joint; hits at 0.637063628 and 1.929754608 s."""
    assert fitted(PENDULUM, (0.02, 0.01, 0.005))[1] == pytest.approx(2.0, abs=0.05)
    solution = mbs.simulate(PENDULUM.build(), 2.0, 0.005)
    assert solution.constraint_residual.position.max() < 1e-10
    hits = [impulse.t for impulse in solution.impulses("contact")[:2]]
    np.testing.assert_allclose(hits, [0.637063628, 1.929754608], rtol=0, atol=2e-4)


@pytest.mark.slow
def test_nine_impacts_of_a_driven_oscillator() -> None:
    """At 0.1029442 ... 4.8635141 s, and never beyond the stop."""
    solution = mbs.simulate(OSCILLATOR.build(), 5.0, 0.005)
    hits = [impulse.t for impulse in solution.impulses("contact")]
    known = 0.1029442, 0.3313276, 1.2857196, 1.6442369, 2.0754262, 2.8597937, 3.2339490, 4.4921695, 4.8635141
    np.testing.assert_allclose(hits, known, rtol=0, atol=5e-4)
    assert solution.gap("contact").min() >= -1e-10


def test_friction_ends_where_a_drum_stops_whose_brake_stays_in_its_place() -> None:
    """A hinged shoe: it is pressed by ``1000 N/(1 + mu r/l)``; from where the drum stands no friction is left."""
    model = mbs.Model()
    drum = model.add_node((0, 0, 0), angular_velocity=(0, 0, 0.33))
    model.add(RigidBody(drum, 20.0, [0.4] * 3))
    axle = model.add(RevoluteJoint(model.ground, drum, (0, 0, 1)))
    shoe = model.add_node((0.21, 0, 0))
    model.add(RigidBody(shoe, 1.0, [0.01] * 3))
    model.add(RevoluteJoint(model.ground, shoe, (0, 0, 1), point=(0.21, -0.2, 0)))
    model.add(Force(shoe, (-500, 0, 0), point=(0.21, 0.2, 0)))
    pad = model.add(Contact(drum, shoe, Cylinder(0.2, 0.1, axis=(0, 0, 1)), Ball(0.01), friction=0.3))
    solution, friction = mbs.simulate(model, 0.004, 1e-3), 0.3 * 1e3 / (1 + 0.3 * 0.01 / 0.2)
    force = np.where(solution.t > 0.33 * 0.4 / (0.2 * friction), 0.0, friction)
    np.testing.assert_allclose(solution.contact_force(pad)[:, 0, 1], force, rtol=0, atol=1e-9)
    np.testing.assert_allclose(solution.reaction(axle)[0][:, 1], force, rtol=0, atol=1e-9)


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_a_lever_on_a_held_node(mu: float) -> None:
    """What holds its node holds one way of slip, too: a contact repeats that."""
    model = mbs.Model(gravity=(0, 0, -G))
    lever = model.add_node((0, 0, 0.5))
    model.fix(lever, rotation=False)
    model.add(RigidBody(lever, 2.0, [0.5] * 3, (1.0, 0, 0)))
    model.add(Contact(model.ground, lever, Plane(), Ball(0.1, center=(1.0, 0, 0.5)), friction=mu), name="floor")
    solution = mbs.simulate(model, 0.6, 0.01)
    np.testing.assert_allclose(solution.rotation_vector(lever)[-1], [0, np.arcsin(0.4), 0], rtol=0, atol=1e-9)
    assert solution.contact_force("floor")[-1, 0, 2] == pytest.approx(2.0 * G, rel=1e-6) or mu


@pytest.mark.slow
def test_a_slider_goes_through_its_dead_centre() -> None:
    """Where its slip reverses and no friction can hold it: the crank goes on, and energy is lost to friction alone."""
    model = mbs.Model(gravity=(0, 0, -G))
    x = np.sqrt(0.03)
    crank, rod, slider = (model.add_node(p) for p in ((0, 0, 0), (x / 2, 0, 0.05), (x, 0, 0)))
    crank.angular_velocity = (0, 10, 0)
    for node, inertia in ((crank, 0.1), (rod, 1e-3), (slider, 1e-3)):
        model.add(RigidBody(node, 1.0, [inertia] * 3))
    for a, b, point in ((model.ground, crank, (0, 0, 0)), (crank, rod, (0, 0, 0.1)), (rod, slider, (x, 0, 0))):
        model.add(RevoluteJoint(a, b, (0, 1, 0), point=point))
    for side in (-0.03, 0.03):
        foot = Ball(0.01, center=(x + side, 0, -0.01))
        model.add(Contact(model.ground, slider, Plane((0, 0, 1), (0, 0, -0.02)), foot, friction=0.2))
    mbs.project_velocities(model)
    solution = mbs.simulate(model, 1.2, 0.01)
    assert solution.stats.failed_steps == 0
    assert solution.angle(model.constraints[0])[-1] > 2 * np.pi
    lost = sum(sum(solution.contact_losses(part)) for part in model.elements if part.contacts)
    total = solution.energy.total
    np.testing.assert_allclose(total + lost, total[0] + lost[0], rtol=0, atol=0.01 * total[0])
    assert lost[-1] - lost[0] > 0.1 * total[0]


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_a_block_slides_to_rest(group: str) -> None:
    """On four corners, which repeat each other; after ``v^2/(2 mu g)``."""
    model = mbs.Model(group=group, gravity=(0, 0, -G))
    block = model.add_node((0, 0, 0.1), velocity=(2, 0, 0))
    model.add(RigidBody(block, 1.0, [0.01] * 3))
    floor = model.add(Contact(model.ground, block, Plane(), Box((0.4, 0.4, 0.2)), friction=0.3))
    solution = mbs.simulate(model, 0.8, 0.02)
    np.testing.assert_allclose(solution.position(block)[-1], [0.679579, 0, 0.1], rtol=0, atol=2e-5)
    np.testing.assert_allclose(solution.contact_force(floor)[5].sum(axis=0), [-0.3 * G, 0, G], rtol=0, atol=1e-6)
    np.testing.assert_allclose(solution.contact_force(floor)[-1].sum(axis=0), [0, 0, G], rtol=0, atol=1e-6)


@pytest.mark.parametrize("group", GROUPS)
def test_loads_that_jump_begin_to_slide_and_to_lift(group: str) -> None:
    """A ball that may not turn sticks until it is pulled along, slides, is pulled up, and flies."""
    at, pull, model = (0.253, 0.601, 0.702), (12.0, 30.0), mbs.Model(group, gravity=(0, 0, -G))
    ball = model.add_node((0, 0, 0.1))
    model.fix(ball, translation=False)
    model.add(RigidBody(ball, 2.0, [0.01] * 3))
    floor = model.add(Contact(model.ground, ball, Plane(), Ball(0.1), friction=0.3))

    def load(t: float) -> tuple[float, float, float]:
        return (pull[0] if t >= at[0] else 0.0, 0.0, pull[1] if at[1] <= t < at[2] else 0.0)

    load.jumps = at  # type: ignore[attr-defined]
    model.add(Force(ball, load))
    solution = mbs.simulate(model, 0.78, 0.02)
    t = solution.t
    since = [np.maximum(t - own, 0.0) for own in at]
    slides, flies, rise = pull[0] / 2.0 - 0.3 * G, pull[0] / 2.0, pull[1] / 2.0 - G
    way = 0.5 * slides * since[0] ** 2 + 0.5 * (flies - slides) * since[1] ** 2
    height = 0.1 + 0.5 * rise * since[1] ** 2 - 0.5 * pull[1] / 2.0 * since[2] ** 2
    assert height[-1] > 0.1
    np.testing.assert_allclose(solution.position(ball)[:, [0, 2]], np.stack([way, height], axis=1), rtol=0, atol=1e-9)
    force = solution.contact_force(floor)[:, 0]
    held = 2.0 * G * np.stack([np.where(t >= at[0], -0.3, 0.0), 0.0 * t, 1.0 + 0.0 * t], axis=1)
    inside = np.abs(np.subtract.outer(t, at)).min(axis=1) > 1e-9
    np.testing.assert_allclose(force[inside], np.where(t[:, None] < at[1], held, 0.0)[inside], rtol=0, atol=1e-8)


@pytest.mark.ci
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_a_block_thrown_up_a_slope_slides_back(seed: int) -> None:
    """It stops within a step, which ends there, to rounding: up to it, and from it on, its way is a parabola."""
    rng = np.random.default_rng(seed)
    step, angle, mu, v = rng.uniform(0.004, 0.02), rng.uniform(0.4, 0.8), rng.uniform(0.1, 0.3), rng.uniform(1.0, 3.0)
    up, normal = np.array([np.cos(angle), 0, np.sin(angle)]), np.array([-np.sin(angle), 0, np.cos(angle)])
    model = mbs.Model(gravity=(0, 0, -G))
    block = model.add_node(0.05 * normal, velocity=v * up)
    model.add(RigidBody(block, 1.0, [0.01] * 3))
    shape = Box((0.4, 0.4, 0.1), rotation=np.column_stack([up, [0, 1, 0], normal]))
    model.add(Contact(model.ground, block, Plane(normal, (0, 0, 0)), shape, friction=mu))
    solution = mbs.simulate(model, 1.0, step)
    rise, fall = (G * (np.sin(angle) + sign * mu * np.cos(angle)) for sign in (1, -1))
    back = np.maximum(solution.t - v / rise, 0.0)
    way = np.where(back > 0.0, 0.5 * v * v / rise - 0.5 * fall * back**2, v * solution.t - 0.5 * rise * solution.t**2)
    np.testing.assert_allclose(solution.position(block) @ up, way, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_what_slides_to_and_fro_on_a_spring_keeps_order_two() -> None:
    """Coulomb's oscillator: each half swing loses twice ``mu m g / k``, until it sticks."""
    k, mu, x0 = 100.0, 0.2, 0.3
    omega, dead = np.sqrt(k), mu * G / k
    errors = []
    for step in (0.01, 0.005):
        model = mbs.Model(gravity=(0, 0, -G))
        block = model.add_node((x0, 0, 0.05))
        model.add(RigidBody(block, 1.0, [0.01] * 3))
        model.add(Contact(model.ground, block, Plane(point=(0, 0, 0)), Box((0.2, 0.2, 0.1)), friction=mu))
        model.add(SpringDamper(model.ground, block, k, free_length=1.0, point_a=(-1.0, 0, 0.05)))
        solution = mbs.simulate(model, 0.8, step)
        swings = int(0.8 * omega / np.pi)
        middle, side = dead * (-1) ** swings, (-1) ** swings * (x0 - 2 * swings * dead)
        exact = middle + (side - middle) * np.cos(omega * 0.8 - swings * np.pi)
        errors.append(abs(solution.position(block)[-1, 0] - exact))
        assert 0.5 * errors[-1] < solution.stats.error.length < 5.0 * errors[-1]
    assert errors[0] > 3.0 * errors[1]


@pytest.mark.ci
def test_a_bowling_ball_begins_to_roll() -> None:
    """With 5/7 of its speed, after 2 v/(7 mu g)."""
    solution = mbs.simulate(model_with_ball(0.0, 0.0, 0.2, (3, 0, 0)), 1.0, 0.02)
    np.testing.assert_allclose(solution.velocity("ball")[-1], [15.0 / 7.0, 0, 0], rtol=0, atol=1e-6)
    begins = 6.0 / (7 * 0.2 * G)
    there = 1.123385 + 15.0 / 7.0 * (1.0 - begins)
    np.testing.assert_allclose(solution.position("ball")[-1, 0], there, rtol=0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_a_spinning_ball_begins_to_roll(group: str, caplog: pytest.LogCaptureFixture) -> None:
    """The slip ``s`` ends after ``2 s/(7 mu g)``; with order 2, and no step made anew for what it gained."""
    v, w, r, mu, t = np.array([0.8, 3.6, 0.0]), np.array([0.3, -5.2, 5.8]), 0.27, 0.42, 0.6
    slip = v - r * np.cross(w, [0, 0, 1])
    begins = 2.0 * np.linalg.norm(slip) / (7 * mu * G)
    exact = v * t - 2 / 7 * slip * (t - 0.5 * begins)
    errors = []
    for h in (0.02, 0.01):
        model = mbs.Model(group, gravity=(0, 0, -G))
        ball = model.add_node((0, 0, r), velocity=v, angular_velocity=w)
        model.add(RigidBody(ball, 1.2, [0.4 * 1.2 * r * r] * 3))
        model.add(Contact(model.ground, ball, Plane(), Ball(r), friction=mu))
        run = mbs.simulate(model, t, h)
        errors.append(np.linalg.norm(run.position(ball)[-1] - [*exact[:2], r]))
        assert 0.5 * errors[-1] < run.stats.error.length < 2.0 * errors[-1]
    assert np.log2(np.divide(*errors)) == pytest.approx(2.0, abs=0.15)
    assert "made anew" not in caplog.text


@pytest.mark.parametrize("height", [0.85, 0.9, 0.932, 0.9324])
def test_a_slip_ends_just_after_another_impact(height: float) -> None:
    """A ball begins to roll within what is left of a step after another one has hit the floor."""
    model = model_with_ball(0.0, 0.0, 0.2, (3, 0, 0))
    other = model.add_node((0, 5, height + 0.1))
    model.add(RigidBody(other, 1.0, [0.004] * 3))
    model.add(Contact(model.ground, other, Plane(), Ball(0.1), restitution=0.5))
    solution = mbs.simulate(model, 0.5, 0.02)
    assert solution.stats.failed_steps == 0
    np.testing.assert_allclose(solution.velocity("ball")[-1], [15.0 / 7.0, 0, 0], rtol=0, atol=1e-3)


@pytest.mark.parametrize(("mu", "a"), [(0.3, 5.0 / 7.0), (0.05, None)])
def test_a_ball_on_an_incline(mu: float, a: float | None) -> None:
    """Rolls with 5/7 g sin(alpha) while tan(alpha) < 7/2 mu, else slides."""
    alpha, r = 0.5, 0.1
    normal = np.array([np.sin(alpha), 0, np.cos(alpha)])
    model = mbs.Model(gravity=(0, 0, -G))
    ball = model.add_node(r * normal)
    model.add(RigidBody(ball, 1.0, [0.4 * r * r] * 3))
    model.add(Contact(model.ground, ball, Plane(normal, (0, 0, 0)), Ball(r), friction=mu))
    solution = mbs.simulate(model, 0.5, 0.02)
    expected = a * G * np.sin(alpha) if a else G * (np.sin(alpha) - mu * np.cos(alpha))
    speed = solution.velocity(ball)[-1] @ [np.cos(alpha), 0, -np.sin(alpha)]
    assert speed == pytest.approx(0.5 * expected, rel=1e-9)


@pytest.mark.parametrize(("u", "after"), [(0.5, 0.0), (4.0, 4.0 - 0.2 * 1.5 * 3.0)])
def test_an_oblique_impact(u: float, after: float) -> None:
    """Sticks if the slip is at most 7/2 mu (1 + e) v; else friction takes mu (1 + e) v of it."""
    model = model_with_ball(3e-3, 0.5, 0.2, (u, 0, -3.0))
    model.gravity = (0, 0, 0)
    solution = mbs.simulate(model, 0.01, 0.002)
    slip = solution.velocity("ball")[-1, 0] - 0.1 * solution.angular_velocity("ball")[-1, 1]
    if after:
        assert solution.velocity("ball")[-1, 0] == pytest.approx(after, abs=1e-9)
    else:
        assert slip == pytest.approx(0.0, abs=1e-9)
    assert solution.velocity("ball")[-1, 2] == pytest.approx(1.5, abs=1e-9)


def test_a_rod_dropped_on_one_end() -> None:
    """``P = (1 + e) m v/(1 + 3 cos^2(theta))`` without friction."""
    theta, v, e = 0.7, 2.0, 0.6
    model = mbs.Model()
    axis = np.array([np.cos(theta), 0, np.sin(theta)])
    rod = model.add_node(axis * 0.5 + [0, 0, 0.011], velocity=(0, 0, -v))
    model.add(RigidBody(rod, 1.0, [1.0 / 12.0] * 3))
    end = Ball(0.01, center=(0, 0, 0.011))
    contact = model.add(Contact(model.ground, rod, Plane(), end, restitution=e))
    solution = mbs.simulate(model, 0.002, 0.001)
    expected = (1 + e) * v / (1 + 3 * np.cos(theta) ** 2)
    assert solution.impulses(contact)[0].normal == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("off", [0.0, 1e-16, 1e-13, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6])
def test_an_impact_where_a_step_ends(off: float) -> None:
    """Impulses do not depend on where in a step, or between two, bodies meet."""
    for sign in (-1.0, 1.0):
        model = mbs.Model()
        rod = model.add_node((0, 0, 0.05 + sign * off), velocity=(0, 0, -1.0))
        model.add(RigidBody(rod, 1.0, [1.0 / 12.0] * 3))
        end = Ball(0.01, center=rod.at((0.5, 0, 0)))
        contact = model.add(Contact(model.ground, rod, Plane(), end, restitution=1.0))
        solution = mbs.simulate(model, 0.1, 0.01)
        assert [impulse.normal for impulse in solution.impulses(contact)] == pytest.approx([0.5], abs=1e-9)
        np.testing.assert_allclose(solution.velocity(rod)[-1], (0, 0, -0.5), rtol=0, atol=1e-7)
        np.testing.assert_allclose(solution.angular_velocity(rod)[-1], (0, -3, 0), rtol=0, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stiffness", "h"),
    [
        pytest.param(*case, marks=[] if case in {(1e6, 0.01), (1e9, 0.003)} else [pytest.mark.slow])
        for case in product([1e6, 1e7, 1e8, 1e9], [0.01, 0.003])
    ],
)
def test_a_stiff_spring_gains_nothing_by_impacts(stiffness: float, h: float) -> None:
    """Impacts set off vibrations that no step resolves: they may be lost, but never grow.

    The first of them take half of the energy of the fall of the lower mass at least; the rest is dissipated.
    """
    model = mbs.Model(gravity=(0, 0, -G))
    low, high = (model.add_node((0, 0, z)) for z in (0.3, 0.8))
    for node in (low, high):
        model.add(RigidBody(node, 1.0, [0.01] * 3))
    model.add(SpringDamper(low, high, stiffness=stiffness))
    model.add(Contact(model.ground, low, Plane(), Ball(0.1), restitution=0.5))
    energy = mbs.simulate(model, 0.5, h).energy.total
    assert energy.max() < energy[0] * (1.0 + 1e-9)
    assert energy[-1] == pytest.approx(G * 0.7, rel=0.02)


@pytest.mark.parametrize(("gap", "speeds"), [(0.0, (-1 / 3, 2 / 3, 2 / 3)), (1e-3, (0, 0, 1))])
def test_three_balls(gap: float, speeds: tuple[float, ...]) -> None:
    """Newton's law for balls that touch, and the cradle for those that do not; momentum is kept to rounding."""
    model, r = mbs.Model(), 0.1
    balls = [model.add_node((k * (2 * r + gap), 0, 0), velocity=(float(k == 0), 0, 0)) for k in range(3)]
    for ball in balls:
        model.add(RigidBody(ball, 1.0, [0.004] * 3))
    for a, b in zip(balls[:-1], balls[1:], strict=True):
        model.add(Contact(a, b, Ball(r), Ball(r), restitution=1.0))
    solution = mbs.simulate(model, 0.05, 0.01)
    found = [solution.velocity(ball)[-1, 0] for ball in balls]
    np.testing.assert_allclose(found, speeds, rtol=0, atol=1e-12)


def painleve_rod(mu: float, angle: float = np.pi / 3, speed: float = 3.0) -> tuple[mbs.Model, mbs.Node]:
    """A rod of 2 m that slides on its end."""
    model = mbs.Model(gravity=(0, 0, -G))
    rod = model.add_node((np.cos(angle), 0, np.sin(angle)), velocity=(-speed, 0, 0))
    model.add(RigidBody(rod, 1.0, [1 / 3] * 3))
    model.add(Contact(model.ground, rod, Plane(), Ball(1e-9, center=(0, 0, 1e-9)), friction=mu), name="tip")
    model.add(PlanarJoint(model.ground, rod, (0, 1, 0)))
    return model, rod


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "left"), [(0.5, 8.3844), (1.2, 10.9375)])
def test_painleve_rod(mu: float, left: float) -> None:
    """A rod of 60 degrees that slides on its end at 3 m/s, 0.5 s: energies of two other schemes, which agree."""
    solution = mbs.simulate(painleve_rod(mu)[0], 0.5, 0.005)
    assert solution.energy.total[-1] == pytest.approx(left, rel=1e-4)


@pytest.mark.parametrize(("mu", "angle", "speed"), [(1.5, np.pi / 3, 3.0), (5.0, np.pi / 3, 3.0), (3.0, 1.0, 1.0)])
def test_what_no_force_lets_slide_stops_by_an_impulse(mu: float, angle: float, speed: float) -> None:
    """Where ``1 + 3 cos a (cos a - mu sin a) < 0`` a rod stops on its end: its angular momentum about that is kept."""
    model, rod = painleve_rod(mu, angle, speed)
    solution = mbs.simulate(model, 0.02, 0.005)
    turn = -speed * np.sin(angle) / (1 / 3 + 1)
    np.testing.assert_allclose(solution.angular_velocity(rod)[0], (0, turn, 0), atol=1e-8)
    np.testing.assert_allclose(solution.velocity(rod)[0], (turn * np.sin(angle), 0, -turn * np.cos(angle)), atol=1e-8)
    np.testing.assert_allclose(solution.energy.total, 2 / 3 * turn**2 + G * np.sin(angle), rtol=1e-5)
    assert len(solution.impulses("tip")) == 1


@pytest.mark.slow
def test_balls_in_a_box_only_lose_energy() -> None:
    """27 balls that wedge between walls and each other, with friction: no step fails, and none gains energy."""
    rng, model = np.random.default_rng(1), mbs.Model(gravity=(0, 0, -G))
    walls = [Plane(axis) for axis in np.eye(3)] + [Plane(-axis, 0.75 * axis) for axis in np.eye(3)[:2]]
    bodies: list[object] = [(model.ground, wall) for wall in walls]
    for cell in product(range(3), repeat=3):
        place = 0.125 + 0.25 * np.array(cell[::-1]) + rng.uniform(-0.02, 0.02, 3)
        node = model.add_node(place, velocity=rng.normal(size=3))
        bodies.append(model.add(RigidBody(node, 1.0, [0.004] * 3, shape=Ball(0.1))))
    model.add(contacts_between(bodies, restitution=0.3, friction=0.3))
    solution = mbs.simulate(model, 0.25, 5e-3)
    assert solution.stats.failed_steps == 0
    assert np.diff(solution.energy.total).max() < 1e-12 * solution.energy.kinetic.max()


def test_a_rope_becomes_taut() -> None:
    """Of a mass that falls beside its hook: never longer, and the pull at the lowest point is that of a pendulum."""
    model = mbs.Model(gravity=(0, 0, -G))
    bob = model.add_node((0.5, 0, 0))
    model.add(RigidBody(bob, 1.0, [0.1] * 3))
    rope = model.add(Rope(model.ground, bob, 1.0))
    solution = mbs.simulate(model, 1.0, 0.01)
    assert solution.gap(rope).min() >= -1e-10
    x, v = solution.position(bob), solution.velocity(bob)
    taut = np.flatnonzero(solution.gap(rope)[:, 0] < 1e-9)[3:]
    pull = np.linalg.norm(solution.contact_force(rope)[:, 0], axis=1)
    expected = (v[taut] ** 2).sum(axis=1) - G * x[taut, 2]
    np.testing.assert_allclose(pull[taut], expected, rtol=1e-3)


def test_a_rope_whose_ends_meet_is_slack() -> None:
    """A mass that falls from its hook, and comes by it again."""
    model = mbs.Model(gravity=(0, 0, -G))
    bob = model.add_node((0, 0, 0))
    model.add(RigidBody(bob, 1.0, [0.1] * 3))
    rope = model.add(Rope(model.ground, bob, 1.0, restitution=1.0))
    hits = mbs.simulate(model, 3.0, 0.01).impulses(rope)
    fall = np.sqrt(2.0 / G)
    np.testing.assert_allclose([hit.t for hit in hits], fall * np.array([1.0, 3.0, 5.0]), rtol=1e-9)


def test_a_rope_that_is_too_short_is_refused_wherever_its_ends_are() -> None:
    model = mbs.Model()
    a, b = model.add_node((1, 1, 1)), model.add_node((3, 1, 1))
    model.add(Rope(a, b, 2.0), "taut")
    with pytest.raises(mbs.ModelError, match=r"length 1.9 m is shorter than the 2 m between its ends"):
        Rope(a, b, 1.9)
    with pytest.raises(mbs.ModelError, match=r"length 1.9 m is shorter than the 4 m between its ends"):
        Rope(a, b, 1.9, point_a=(1, 1, 0), point_b=(1, 1, 4))


def test_closed_contact_has_order_two_in_velocities_and_forces() -> None:
    """A body that swings on a taut rope, against its energy and the force that its path needs."""
    errors = []
    for h in (0.02, 0.01):
        model = mbs.Model(gravity=(0, 0, -G))
        bob = model.add_node((1.0, 0, 0), velocity=(0, 2.0, 0))
        model.add(RigidBody(bob, 1.0, (0.01, 0.02, 0.03)))
        rope = model.add(Rope(model.ground, bob, 1.0, point_a=(0, 0, 0), point_b=(1.0, 0, 0)))
        end = mbs.simulate(model, 1.0, h)
        x, v, force = end.position(bob)[-1], end.velocity(bob)[-1], np.linalg.norm(end.contact_force(rope)[-1])
        errors.append([v @ v / 2 + G * x[2] - 2.0, force - (v @ v - G * x[2])])
    orders = np.log2(np.abs(errors[0]) / np.abs(errors[1]))
    assert (orders > 1.8).all(), (errors, orders)


@pytest.mark.one
@pytest.mark.parametrize(("seed", "driven"), tuple(product((1, 6), (False, True))))
def test_what_joints_hold_where_it_touches_pushes_nothing(seed: int, driven: bool) -> None:
    """A box that a slider leads along a floor which it just touches, with friction, as the slider alone moves it."""
    Q = Rotation.random(None, np.random.default_rng(seed)).as_matrix()
    model = mbs.Model(group=GROUPS[seed % 2], gravity=Q @ (0, 0, -G))
    box = model.add_node(Q @ (0.3, 0.2, 0.1), rotation=Q, velocity=Q[:, 0], name="box")
    model.add(RigidBody(box, 1.0, (0.004, 0.004, 0.004)))
    model.add(PrismaticJoint(model.ground, box, Q[:, 0], drive=np.sin if driven else None))
    floor = Plane(Q[:, 2], point=(0, 0, 0))
    model.add(Contact(model.ground, box, floor, Box((0.2, 0.2, 0.2)), friction=0.5), name="floor")
    solution = mbs.simulate(model, 0.3, 0.01)
    along = (solution.position("box") - solution.position("box")[0]) @ Q
    assert along[:, 0] == pytest.approx(np.sin(solution.t) if driven else solution.t, abs=1e-12)
    assert np.abs(solution.contact_force("floor")).max() == 0.0


def driven_into_the_floor(free: bool, mu: float) -> mbs.Model:
    """Two links, driven into a floor by both hinges or the first one; or a press on a ball."""
    model = mbs.Model(gravity=(0, 0, -G))
    first, second = model.add_node((0.25, 0, 0.6)), model.add_node((0.75, 0, 0.6))
    for node in (first, second):
        model.add(RigidBody(node, 1.0, (0.001, 0.02, 0.02)))
    model.add(
        RevoluteJoint(model.ground, first, (0, 1, 0), (0, 0, 0.6), drive=lambda t: t * t * (3 - 2 * t)), name="base"
    )
    drive = None if free else lambda t: 0.3 * t * t
    model.add(RevoluteJoint(first, second, (0, 1, 0), (0.5, 0, 0.6), drive=drive), name="elbow")
    tip = Ball(0.03, center=(1, 0, 0.6))
    model.add(Contact(model.ground, second, Plane(), tip, friction=mu), name="tip")
    return model


def pressed_ball() -> mbs.Model:
    """Between a floor and a plate that comes down."""
    model = mbs.Model(gravity=(0, 0, -G))
    plate, ball = model.add_node((0, 0, 0.22), velocity=(0, 0, -0.1)), model.add_node((0, 0, 0.1))
    for node in (plate, ball):
        model.add(RigidBody(node, 1.0, (0.004, 0.004, 0.004)))
    model.add(PrismaticJoint(model.ground, plate, (0, 0, 1), drive=lambda t: -0.1 * t), name="press")
    model.add(Contact(model.ground, ball, Plane(), Ball(0.1)), name="floor")
    model.add(Contact(plate, ball, Plane((0, 0, -1)), Ball(0.1)), name="plate")
    return model


@pytest.mark.one
@pytest.mark.parametrize(
    ("model", "names"),
    (
        (lambda: driven_into_the_floor(False, 0.3), ("tip", "base", "elbow")),
        (lambda: driven_into_the_floor(True, 0.8), ("tip", "base")),
        pytest.param(pressed_ball, ("press",), marks=pytest.mark.slow),
    ),
)
def test_what_drives_force_into_each_other_is_named(model: Callable[[], mbs.Model], names: tuple[str, ...]) -> None:
    """Both hinges, the one whose lever jams by friction, and what presses a ball from both sides."""
    with pytest.raises(mbs.ConvergenceError) as caught:
        mbs.simulate(model(), 1.5, 0.01)
    for name in names:
        assert f"'{name}'" in str(caught.value)
    assert "use motors" in str(caught.value)


def test_a_lever_whose_end_slides_is_driven_into_the_floor() -> None:
    """With little friction: it lies on its end, and nothing is deep."""
    solution = mbs.simulate(driven_into_the_floor(True, 0.2), 0.6, 0.02)
    assert solution.gap("tip").min() > -1e-10
    assert solution.contact_force("tip")[-1, 0, 2] > 1.0


def test_a_box_is_held_on_a_slope() -> None:
    """Forces of its four corners share what holds it: all in their cones, where ``tan(angle) < mu``; else it slides."""
    a, mu, t = np.radians(10.0), 0.2, 0.2
    for angle, sliding in ((a, 0.0), (2.0 * a, G * (np.sin(2.0 * a) - mu * np.cos(2.0 * a)))):
        model = mbs.Model(gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
        box = model.add_node((0, 0, 0.5))
        model.add(RigidBody(box, 1.0, [1 / 6] * 3))
        floor = model.add(Contact(model.ground, box, Plane(), Box((1, 1, 1)), friction=mu))
        solution = mbs.simulate(model, t, 0.01)
        np.testing.assert_allclose(solution.position(box)[-1], [0.5 * sliding * t * t, 0, 0.5], rtol=0, atol=1e-12)
        forces = solution.contact_force(floor)
        total = forces[-1].sum(axis=0)
        np.testing.assert_allclose(total[2], G * np.cos(angle), rtol=1e-9)
        np.testing.assert_allclose(total[0], sliding - G * np.sin(angle), rtol=1e-9)
        assert (np.linalg.norm(forces[..., :2], axis=-1) <= (1 + 1e-9) * mu * forces[..., 2] + 1e-9).all()


@pytest.mark.parametrize("seed", range(8))
def test_boxes_that_are_flush_push_across_the_faces_that_lie_on_each_other(seed: int) -> None:
    """A corner on an edge of the other belongs to the face that is outside, not to one that is flush with its own."""
    rng = np.random.default_rng(seed)
    lower, R = rng.uniform(0.2, 1.0, 3), Rotation.random(random_state=seed)
    upper = np.where(rng.random(3) < 0.7, lower, rng.uniform(0.2, 1.0, 3))
    place = np.where(rng.random(3) < 0.7, rng.choice([-0.5, 0.5]) * (lower - upper), 0.1 * rng.normal(size=3))
    place[2] = 0.5 * (lower[2] + upper[2])
    model = mbs.Model()
    body = model.add_node(R.apply(place), rotation=R)
    model.add(RigidBody(body, 1.0, [0.1] * 3))
    model.add(Force(body, R.apply((0, 0, -1.0))))
    model.add(Contact(model.ground, body, Box(lower, rotation=R), Box(upper)), name="faces")
    solution = mbs.simulate(model, 0.02, 0.01)
    forces = R.inv().apply(solution.contact_force("faces")[-1])
    np.testing.assert_allclose(forces[:, :2], 0.0, atol=1e-9)
    np.testing.assert_allclose(forces.sum(axis=0), (0, 0, 1.0), atol=1e-9)


@pytest.mark.slow
def test_dominoes_fall_over_each_other() -> None:
    """No step fails, however shortly before its end one of them stops to slide."""
    model, size, mass = mbs.Model(gravity=(0, 0, -G)), np.array([0.01, 0.03, 0.06]), 0.02
    parts: list[Any] = [(model.ground, Plane())]
    for k in range(4):
        node = model.add_node((0.03 * k, 0, 0.03))
        parts.append(model.add(RigidBody(node, mass, mass / 12 * (size @ size - size**2), shape=Box(tuple(size)))))
    first = model.nodes[1]
    first.velocity, first.angular_velocity = (0.75, 0, 0), (0, 25.0, 0)
    model.add(contacts_between(parts, friction=0.3))
    solution = mbs.simulate(model, 0.5, 5e-3)
    assert solution.stats.failed_steps == 0
    assert np.diff(solution.energy.total).max() < 1e-9
    assert min(solution.gap(own).min() for own in model.elements if isinstance(own, Contact)) > -1e-12


def test_an_error_that_an_impact_ends_is_told() -> None:
    """A rod falls on a stop, and rests: what it was off by before is the error of the run, however long it rests."""
    runs = []
    for h, end in ((0.01, 0.5), (0.0025, 0.2)):
        model = mbs.Model(gravity=(0, 0, -G))
        rod = model.add_node((0.25, 0, 0), angular_velocity=(0, -0.9, 0))
        rod.velocity = (0, 0, 0.9 * 0.25)
        model.add(RigidBody(rod, 1.0, [0.01, 0.02, 0.02]))
        hinge = model.add(RevoluteJoint(model.ground, rod, (0, 1, 0), point=(0, 0, 0)))
        model.add(JointStop(hinge, -1.0, 0.2, restitution=0.0))
        runs.append(mbs.simulate(model, end, h))
    rough, fine = (run.position(run.model.nodes[1]) for run in runs)
    off = np.linalg.norm(rough[:21] - fine[::4], axis=1)
    assert off[-1] < 1e-12 < off.max()
    assert off.max() < runs[0].stats.error.length < 3.0 * off.max()


def test_a_block_beyond_the_edge_of_a_flush_one_tips() -> None:
    """About the edge, as a pendulum upside down; flush sides do not hold it."""
    model, beyond, half = mbs.Model(gravity=(0, 0, -G)), 0.05, 0.1
    block, inertia = model.add_node((0.5 + beyond, 0, 0.3)), (1 + 0.04) / 12
    model.add(RigidBody(block, 1.0, [inertia] * 3))
    shape = (1, 0.5, 0.2)
    model.add(Contact(model.ground, block, Box(shape, center=(0, 0, 0.1)), Box(shape), friction=0.5))
    solution = mbs.simulate(model, 0.1, 0.01)
    angle = G * beyond / (inertia + beyond**2 + half**2) * 0.1**2 / 2
    assert solution.rotation_vector(block)[-1, 1] == pytest.approx(angle, rel=0.02)


@pytest.mark.ci
def test_a_gripper_lifts_a_box() -> None:
    """Two fingers hold it with 18 contacts that repeat each other, and take it off a table: no step is made anew."""
    model, mu = mbs.Model(gravity=(0, 0, -G)), 0.5
    box, hand = model.add_node((0, 0, 0.05), name="box"), model.add_node((0, 0, 0.2))
    model.add(RigidBody(box, 0.5, [8e-4] * 3))
    model.add(RigidBody(hand, 1.0, [1e-2] * 3))
    model.add(Contact(model.ground, box, Plane(), Box((0.1, 0.1, 0.1)), friction=mu))
    w = np.pi / 0.3
    model.add(PrismaticJoint(model.ground, hand, (0, 0, 1), drive=lambda t: 0.05 * (1.0 - np.cos(w * t))))
    grips = []
    for side in (-1.0, 1.0):
        finger = model.add_node((side * 0.06, 0, 0.05))
        model.add(RigidBody(finger, 0.1, [1e-4] * 3))
        model.add(PrismaticJoint(hand, finger, (1, 0, 0)))
        model.add(Force(finger, (-side * 20.0, 0, 0)))
        shapes = Box((0.02, 0.04, 0.06)), Box((0.1, 0.1, 0.1))
        grips.append(model.add(Contact(finger, box, *shapes, friction=mu)))
    h = 0.01
    solution = mbs.simulate(model, 0.3, h)
    assert solution.stats.failed_steps == 0
    # velocities are those of the fingers, which are driven: the trapezoidal rule errs by h^2/12 times the change of a
    drop = 0.15 - solution.position("box")[-1, 2]
    assert drop == pytest.approx(h**2 / 12.0 * 0.1 * w**2, rel=0.1)
    held = sum(solution.contact_force(grip)[:, :, 2].sum(axis=1) for grip in grips)
    needed = 0.5 * (G + 0.05 * w**2 * np.cos(w * solution.t))
    np.testing.assert_allclose(held[10:], needed[10:], rtol=0, atol=0.02 * needed[0])


def turned_frame(seed: int) -> tuple[Array, mbs.Model, mbs.Node]:
    """A model in a frame at random, under gravity against its z, and its ground."""
    R = so3.exp(np.random.default_rng(seed).normal(size=3)) if seed else np.eye(3)
    model = mbs.Model(gravity=-G * R[:, 2])
    ground = model.add_node((0, 0, 0), R)
    model.add(RigidBody(ground, 1.0, [1.0] * 3))
    model.add(FixedJoint(model.ground, ground))
    return R, model, ground


def cube(model: mbs.Model, R: Array, z: float) -> mbs.Node:
    """One of 1 kg and 0.1 m at a height."""
    node = model.add_node(z * R[:, 2], R)
    model.add(RigidBody(node, 1.0, [0.002] * 3))
    return node


@pytest.mark.parametrize("seed", range(3))
def test_a_box_that_slips_from_fingers_does_not_turn(seed: int) -> None:
    """Two hold 9.6 N of 9.81: Coulomb's law admits that it turns, as corners share what presses them."""
    R, model, ground = turned_frame(seed)
    box = cube(model, R, 0.0)
    for x in (-R[:, 0], R[:, 0]):
        finger = model.add_node(0.05 * x, R)
        model.add(RigidBody(finger, 1.0, [0.01] * 3))
        model.add(PrismaticJoint(ground, finger, x))
        model.add(Force(finger, -16.0 * x))
        model.add(Contact(finger, box, Plane(-x), Box((0.1,) * 3), friction=0.3))
    end = mbs.simulate(model, 0.2, 0.01)
    np.testing.assert_allclose(end.position(box)[-1] @ R, [0, 0, -0.5 * (G - 9.6) * 0.2**2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(end.rotation(box)[-1], R, rtol=0, atol=1e-9)


@pytest.mark.one
@pytest.mark.parametrize("h", [0.02, 0.005])
def test_a_box_slides_straight_between_two_plates(h: float) -> None:
    """Of 6.1 N friction takes 6: nothing is to be corrected while it slides, and a matrix is wanted all the same."""
    model = mbs.Model()
    box = cube(model, np.eye(3), 0.05)
    model.add(Contact(model.ground, box, Plane(), Box((0.1,) * 3), friction=0.3))
    plate = model.add_node((0, 0, 0.1))
    model.add(RigidBody(plate, 1.0, [0.01] * 3))
    model.add(PrismaticJoint(model.ground, plate, (0, 0, 1)))
    model.add(Contact(plate, box, Plane((0, 0, -1)), Box((0.1,) * 3), friction=0.3))
    model.add(Force(plate, (0, 0, -10.0)))
    model.add(Force(box, (6.1, 0, 0)))
    end = mbs.simulate(model, 0.2, h)
    np.testing.assert_allclose(end.position(box)[-1], [0.05 * 0.04, 0, 0.05], rtol=0, atol=1e-12)
    np.testing.assert_allclose(end.rotation_vector(box)[-1], 0.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("mu", "seed"), [(0.0, 1), (0.3, 0), (0.3, 2)])
def test_a_box_that_falls_on_its_face_bounces_without_turning(mu: float, seed: int) -> None:
    """Each corner gets a quarter, of the impulse and of the weight."""
    R, model, ground = turned_frame(seed)
    box = cube(model, R, 0.1)
    model.add(Contact(ground, box, Plane(R[:, 2]), Box((0.1,) * 3), friction=mu, restitution=0.3), name="floor")
    end = mbs.simulate(model, 0.25, 0.01)
    first = [impulse.normal for impulse in end.impulses("floor")[:4]]
    np.testing.assert_allclose(first, 0.25 * 1.3 * np.sqrt(2 * G * 0.05), rtol=1e-9)
    np.testing.assert_allclose(end.rotation(box)[-1], R, rtol=0, atol=1e-11)
    resting = end.contact_force("floor")[-1] @ R
    np.testing.assert_allclose(resting[resting[:, 2] > 0.0], [[0, 0, G / 4]] * 4, rtol=0, atol=1e-9)


def test_balls_in_a_corner_share_as_it_is_symmetric() -> None:
    """One in the corner, one beside it along each wall, pressed into it with friction: mirror images of each other."""
    for seed in range(2):
        R, model, ground = turned_frame(seed)
        model.gravity = R @ [-5.0, -5.0, -G]
        balls = []
        for place in ((0, 0, 0), (2, 0, 0), (0, 2, 0)):
            ball = model.add_node(0.1 * R @ (np.array(place) + 1.0), R)
            model.add(RigidBody(ball, 1.0, [0.004] * 3))
            for k in range(3):
                model.add(Contact(ground, ball, Plane(R[:, k]), Ball(0.1), friction=0.3), name=f"{len(balls)}{k}")
            if balls:
                name = f"pair {len(balls)}"
                model.add(Contact(balls[0], ball, Ball(0.1), Ball(0.1), friction=0.3), name=name)
            balls.append(ball)
        end = mbs.simulate(model, 0.05, 0.01)
        for one, other in (("00", "01"), ("12", "22"), ("11", "20"), ("pair 1", "pair 2")):
            a, b = (end.contact_force(name)[-1, 0] @ R for name in (one, other))
            np.testing.assert_allclose(a, b[[1, 0, 2]], rtol=0, atol=1e-6, err_msg=one)


SIDE, MU = np.array([0.3, 0.2]), 0.4


def sliding_box(start: Array, t: float) -> Array:
    """Place and angle of a box of 2 kg that slides on four corners, after ``start``: speeds along x and y, and turning.

    Plane motion, whose four loads balance and are no saddle, ``N_1 - N_2 - N_3 + N_4 = 0``.
    """
    signs, height, m, J = np.array(list(product((-1.0, 1.0), repeat=2))), 0.1, 2.0, 0.04

    def rate(_: float, q: Array) -> Array:
        cosine, sine = np.cos(q[2]), np.sin(q[2])
        x, y = (0.5 * SIDE * signs @ [[cosine, sine], [-sine, cosine]]).T
        slip = q[3:5, None] + q[5] * np.array([-y, x])
        along = -MU * slip / np.linalg.norm(slip, axis=0)
        balance = np.array([np.ones(4), y + height * along[1], x + height * along[0], signs.prod(axis=1)])
        push = along * np.linalg.solve(balance, [m * G, 0.0, 0.0, 0.0])
        return np.array([*q[3:], *push.sum(axis=1) / m, (x * push[1] - y * push[0]).sum() / J])

    return solve_ivp(rate, (0.0, t), [0, 0, 0, *start], method="DOP853", rtol=1e-10, atol=1e-12).y[:3, -1]


def errors_of_box(group: str, start: Array, t: float, steps: int, exact: Array) -> tuple[Array, Array]:
    """Of place and angle at the end of a run, and as estimated."""
    model = mbs.Model(group, gravity=(0, 0, -G))
    body = model.add_node((0, 0, 0.1), velocity=(*start[:2], 0), angular_velocity=(0, 0, start[2]))
    model.add(RigidBody(body, 2.0, (0.02, 0.03, 0.04)))
    model.add(Contact(model.ground, body, Plane(), Box((*SIDE, 0.2)), friction=MU))
    run = mbs.simulate(model, t, t / steps)
    off = so3.log(so3.exp(np.array([0, 0, exact[2]])).T @ run.rotation(body)[-1])
    errors = np.array([np.linalg.norm(run.position(body)[-1, :2] - exact[:2]), abs(off[2])])
    return errors, np.array([run.stats.error.length, run.stats.error.angle])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "sparse"),
    [*((group, False) for group in GROUPS), pytest.param("SE3", True, marks=pytest.mark.slow)],
)
def test_a_box_that_slides_and_spins_on_four_corners(group: str, sparse: bool, request: pytest.FixtureRequest) -> None:
    """Friction takes loads of equal springs, where they are not unique: the motion is one, of order 2, as estimated."""
    if sparse:
        request.getfixturevalue("many")
    start, t = np.array([2.0, 0.3, 8.0]), 0.4
    exact, errors = sliding_box(start, t), []
    for steps in (20, 40):
        off, told = errors_of_box(group, start, t, steps, exact)
        errors.append(off)
        assert ((told > 0.5 * off) & (told < 5.0 * off)).all()
    assert np.log2(np.divide(*errors)) == pytest.approx([2.0, 2.0], abs=0.05)


@pytest.mark.ci
@pytest.mark.parametrize("start", [(1.3, 0.4, 9.0), (1.5, 1.0, 14.0), (1.2, 1.8, 14.0)])
def test_corners_that_pass_close_by_where_a_box_turns_about(start: tuple[float, float, float]) -> None:
    """Their slip reverses within a step, and they do not stop: steps are cut before and after that."""
    t = 0.4
    off, told = errors_of_box("R3xSO3", np.array(start), t, 40, sliding_box(np.array(start), t))
    assert (off < 5e-4).all() and (told > 0.5 * off).all()


@pytest.mark.parametrize(
    ("feet", "spin", "mu", "told"),
    [(4, 5.0, 0.3, True), (4, 0.0, 0.9, False), (4, 5.0, 0.0, False), (3, 5.0, 0.3, False)],
)
def test_friction_that_leans_on_loads_that_are_not_unique_is_named(
    feet: int, spin: float, mu: float, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Where a table starts so; not where it slides straight until it rests, without friction, or on three legs."""
    model, angles = mbs.Model(gravity=(0, 0, -G)), 2 * np.pi * np.arange(feet) / feet
    table = model.add_node((0, 0, 0.1), velocity=(0.5, 0.2, 0), angular_velocity=(0, 0, spin))
    model.add(RigidBody(table, 2.0, (0.02, 0.03, 0.04)))
    for k, (x, y) in enumerate(np.transpose([0.3 * np.cos(angles), 0.3 * np.sin(angles)])):
        model.add(Contact(model.ground, table, Plane(), Ball(0.02, center=(x, y, 0.02)), friction=mu), name=f"leg {k}")
    leans = "friction leans on loads that are not unique"
    assert (leans in str(model.check())) == told and not caplog.messages
    mbs.simulate(model, 0.2, 0.01)
    says = [text for text in caplog.messages if leans in text]
    assert len(says) == told
    if told:
        assert says[0].startswith("t = 0 s: ")
        assert all(f"'leg {k}'" in says[0] for k in range(feet))


def test_a_pin_in_a_bush() -> None:
    """Falls by the clearance, and rests."""
    model = mbs.Model(gravity=(0, 0, -G))
    pin = model.add_node((0, 0, 0))
    model.add(RigidBody(pin, 1.0, [0.1] * 3))
    axis = (0, 1, 0)
    model.add(Contact(model.ground, pin, Bush(0.11, axis), Capsule(0.1, 0.3, axis)), name="bush")
    solution = mbs.simulate(model, 0.2, 0.01)
    np.testing.assert_allclose(solution.position(pin)[-1], [0, 0, -0.01], rtol=0, atol=1e-9)
    np.testing.assert_allclose(solution.contact_force("bush")[-1].sum(axis=0), [0, 0, G], rtol=0, atol=1e-6)


def test_what_a_drive_brings_in_a_blow_that_is_not_located_is_no_gain(caplog: pytest.LogCaptureFixture) -> None:
    """A plate that is driven hits a ball: the work of its impulse comes from the drive."""
    model, law = mbs.Model(), {"restitution": 0.5}
    plate, ball = model.add_node((0, 0, 0), velocity=(0, 0, 1)), model.add_node((0, 0, 0.125))
    for node in (plate, ball):
        model.add(RigidBody(node, 1.0, [0.1] * 3))
    model.add(PrismaticJoint(model.ground, plate, (0, 0, 1), drive=lambda t: t))
    model.add(Contact(plate, ball, Plane(), Ball(0.1), **law))
    solution = mbs.simulate(model, 0.06, 0.01, method=mbs.NonsmoothAlpha(locate=0))
    np.testing.assert_allclose(solution.velocity(ball)[-1], [0, 0, 1.5], rtol=0, atol=1e-12)
    assert solution.stats.rejected_steps == 0 and "gained" not in caplog.text


def test_a_pin_that_swings_in_a_bush_takes_few_iterations() -> None:
    """Both move along one axis each, the bush with ten times the mass: the normal turns by 0.15 rad a step."""
    model, axis, start = mbs.Model(gravity=(0, 0, -G)), (0, 1, 0), (0.01, 0, 0)
    bush, pin = model.add_node((0, 0, 0)), model.add_node(start, velocity=(0, 0, -0.3))
    for node, mass, along in ((bush, 10.0, (1, 0, 0)), (pin, 1.0, (0, 0, 1))):
        model.add(RigidBody(node, mass, [0.1] * 3))
        model.add(PrismaticJoint(model.ground, node, along))
    model.add(Contact(bush, pin, Bush(0.11, axis), Capsule(0.1, 0.3, axis, center=start)))
    stats = mbs.simulate(model, 0.03, 0.005).stats
    assert stats.newton_iterations.max() <= 4 and stats.rejected_steps == 0


PAIRS = {
    "ball, plane": (Plane((1, 2, -1), (3, 3, 3)), Ball(0.1)),
    "box, plane": (Plane((1, 2, -1), (3, 3, 3)), Box((0.1, 0.2, 0.3))),
    "plane, capsule": (Capsule(0.1, 0.3, (1, 1, 2)), Plane((1, 2, -1), (3, 3, 3))),
    "capsules": (Capsule(0.1, 2.3, (1, 1, 2)), Capsule(0.2, 2.1, (2, -1, 1))),
    "capsules by their ends": (Capsule(0.1, 0.3, (1, 0.1, 0)), Capsule(0.2, 0.2, (1, 0, 0.1))),
    "balls": (Ball(0.1), Ball(0.2)),
    "face of a box": (Box((0.5, 3.5, 3.5)), Ball(0.2)),
    "edge of a box": (Box((0.5, 0.6, 3.5)), Ball(0.2)),
    "corner of a box": (Box((0.5, 0.6, 0.2)), Ball(0.2)),
    "bush": (Bush(3.0, (0.1, 1, 0)), Capsule(0.1, 0.2, (0, 1, 0))),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("group", GROUPS)
def test_gradients_of_pairs(name: str, group: str) -> None:
    """Against differences: the gap's gradient, the derivative of all gradients; both sides; a common motion is none."""
    rng = np.random.default_rng(4)
    model = mbs.Model(group=group)
    nodes = [
        model.add_node(p, rotation=Rotation.random(random_state=k)) for k, p in enumerate(([0, 0, 0], [1, 0.8, 0.9]))
    ]
    contact = model.add(Contact(*nodes, *PAIRS[name], friction=0.3))
    system = mbs.System(model)
    (batch,) = (b for b in system.batches if isinstance(b, UnilateralBatch))
    motion = system.at_rest()
    all_of = every(batch.friction.shape)
    gaps = batch.measure(motion, *all_of)
    H = batch.second(gaps)
    for d in rng.normal(size=(3, 12)):
        ends = []
        for s in (-1e-5, 1e-5):
            step = np.zeros((3, 6))
            step[batch.nodes[0]] = s * d.reshape(2, 6)
            ends.append(batch.measure(_moved(motion, step), *all_of))
        slope = (ends[1].gap - ends[0].gap) / 2e-5
        np.testing.assert_allclose(gaps.gradient[:, 0] @ d, slope, rtol=0, atol=1e-8)
        bend = (ends[1].gradient - ends[0].gradient) / 2e-5
        np.testing.assert_allclose(H @ d, bend, rtol=0, atol=1e-7)
    assert len(contact.contacts) == len(gaps.gap)


def _moved(motion: Motion, step: Array) -> Motion:
    """After body increments ``(n, 6)`` of the nodes."""
    x = motion.x + np.matvec(motion.R, step[:, :3])
    return replace(motion, x=x, R=motion.R @ so3.exp(step[:, 3:]))


def bouncing() -> mbs.Model:
    """A spinning ball that bounces, and a pendulum that hits a stop."""
    model = model_with_ball(0.4, 0.6, 0.3, (1, 0, 0))
    arm = model.add_node((1, 1, 1))
    model.add(RigidBody(arm, 1.0, [0.1] * 3))
    hinge = model.add(RevoluteJoint(model.ground, arm, (0, 1, 0), point=(0, 1, 1)))
    model.add(JointStop(hinge, None, 0.7, restitution=0.5), name="stop")
    return model


@pytest.mark.ci
def test_a_run_goes_on_to_the_bit(tmp_path: Path) -> None:
    """In the middle of bounces, from memory and from a file; a stored run answers the same."""
    whole = mbs.simulate(bouncing(), 0.8, 0.01, store=tmp_path / "run.fmbs")
    half = mbs.simulate(bouncing(), 0.43, 0.01)
    for initial in (half.checkpoint, mbs.load(half.save(tmp_path / "half")).checkpoint):
        rest = mbs.simulate(bouncing(), 0.8, 0.01, initial=initial)
        for name in ("x", "R", "v", "u", "vdot"):
            assert (getattr(rest, name)[-1] == getattr(whole, name)[-1]).all(), name
    loaded = mbs.load(tmp_path / "run.fmbs")
    for part in ("floor", "stop"):
        assert (loaded.gap(part) == whole.gap(part)).all()
        assert (loaded.contact_force(part) == whole.contact_force(part)).all()
        assert [i.t for i in loaded.impulses(part)] == [i.t for i in whole.impulses(part)]


@pytest.mark.ci
def test_what_is_no_longer_used_is_freed() -> None:
    """Systems of runs and of small motions."""

    def count() -> int:
        gc.collect()
        return sum(isinstance(own, mbs.System) for own in gc.get_objects())

    before = count()
    mbs.simulate(model_with_ball(0.0), 0.02, 0.01)
    mbs.modes(model_with_ball(0.0))
    assert count() <= before


def test_states_between_steps_stay_outside() -> None:
    """Where an impact is within a step, states in between are on one side or the other of it."""
    solution = mbs.simulate(model_with_ball(), 1.0, 0.02, times=np.linspace(0.0, 1.0, 501))
    assert solution.gap("floor").min() > -1e-9


@pytest.mark.ci
def test_far_pairs_are_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not near is not measured, and a run is the same to the bit."""

    def run() -> tuple[Array, int]:
        rng, measured = np.random.default_rng(3), 0
        model = mbs.Model(gravity=(0, 0, -9.81))
        balls = [
            model.add_node(p, velocity=rng.normal(size=3)) for p in product((0.2, 0.5, 0.8), (0.2, 0.8), (0.2, 0.8))
        ]
        for ball in balls:
            model.add(RigidBody(ball, 1.0, (1e-3, 1e-3, 1e-3)))
            for axis in np.vstack([np.eye(3), -np.eye(3)]):
                wall = Plane(axis, np.full(3, 0.0 if axis.sum() > 0 else 1.0))
                model.add(Contact(model.ground, ball, wall, Ball(0.05), restitution=0.9, friction=0.2))
        for a, b in combinations(balls, 2):
            model.add(Contact(a, b, Ball(0.05), Ball(0.05), restitution=0.9, friction=0.2))
        at = Pairs.at

        def counted(self: Pairs, motion: Motion, nodes: IntArray) -> PairPlace:
            nonlocal measured
            measured += len(nodes)
            return at(self, motion, nodes)

        with monkeypatch.context() as patch:
            patch.setattr(Pairs, "at", counted)
            return mbs.simulate(model, 0.15, 5e-3).x, measured

    places, few = run()
    monkeypatch.setattr(ContactBatch, "sifts", False)
    others, many = run()
    np.testing.assert_array_equal(places, others)
    assert few < 0.5 * many


@pytest.mark.parametrize("length", (10.0, 0.1, 1e-3))
def test_a_stop_is_met_between_two_steps(length: float) -> None:
    """A pendulum turns back 7e-5 rad beyond it, outside at either end of the step: of a mechanism of any size."""
    model = mbs.Model(gravity=(0, 0, -G * length))
    bob = model.add_node((0, 0, -length), velocity=(3 * length, 0, 0))
    bob.angular_velocity = (0, -3, 0)
    model.add(RigidBody(bob, 1.0, [1e-3 * length**2] * 3))
    hinge = model.add(RevoluteJoint(model.ground, bob, (0, -1, 0), point=(0, 0, 0)))
    free = mbs.simulate(model, 0.6, 0.02, mbs.GeneralizedAlpha(0.8)).coordinate(hinge)
    k = int(free.argmax())
    before, highest, after = free[k - 1 : k + 2]
    beyond = (before - after) ** 2 / (8 * (2 * highest - before - after))
    stop = model.add(JointStop(hinge, None, highest + 0.2 * beyond, restitution=0.5))
    (hit,) = mbs.simulate(model, 0.6, 0.02).impulses(stop)
    assert 0.02 * (k - 1) < hit.t < 0.02 * (k + 1) and beyond == pytest.approx(8.7e-5, rel=0.1)


@pytest.mark.ci
def test_units_change_no_stop() -> None:
    """A swing between two stops in m and in um, as near as instants of impacts are found."""
    found = []
    for length, mass in ((1.0, 1.0), (1e6, 1.0)):
        model = mbs.Model(gravity=(0, 0, -G * length))
        bob = model.add_node((0.5 * length, 0, 0), name="bob")
        model.add(RigidBody(bob, mass, [0.004 * mass * length**2] * 3))
        hinge = model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), (0, 0, 0)))
        model.add(JointStop(hinge, -0.4, 0.7, restitution=0.5))
        found.append(mbs.simulate(model, 1.0, 0.02).position("bob") / length)
    assert found[0] == pytest.approx(found[1], abs=1e-8)


def refusals() -> dict[str, tuple[Callable[[], object], str]]:
    """What is refused, and what the message names."""
    model = bouncing()
    ball, ground = model["ball"], model.ground
    return {
        "method": (lambda: mbs.simulate(model, 1, 0.1, mbs.RadauIIA()), "'floor'.*NonsmoothAlpha"),
        "statics": (lambda: mbs.statics(model), "node 'ball' can move"),
        "many": (lambda: mbs.simulate_many([model], 1, 0.1), r"models\[0\].*'floor'"),
        "pair": (lambda: Contact(ground, ball, Box((1, 1, 1)), Cylinder(1, 1)), "Box and Cylinder"),
        "same node": (lambda: Contact(ball, ball, Ball(1), Ball(1)), "one node"),
        "restitution": (lambda: Contact(ground, ball, Plane(), Ball(1), restitution=1.5), "restitution"),
        "deep": (lambda: mbs.simulate(model_with_ball(-0.01), 1, 0.1), "'floor'.*-?0.01 m"),
        "rope": (lambda: Rope(ground, ball, 0.1), "length 0.1"),
        "both": (lambda: JointStop(model.constraints[0], 0, 1, 5.0, restitution=0.5), "stiffness.*restitution"),
        "query": (lambda: mbs.simulate(model_with_ball(), 0.01, 0.01).gap("RigidBody 1"), "no contacts"),
    }


@pytest.mark.parametrize("name", refusals())
def test_what_is_refused_by_name(name: str) -> None:
    call, words = refusals()[name]
    with pytest.raises(mbs.FemMbsError, match=words):
        call()


@pytest.mark.slow
def test_corners_of_a_box_between_turning_fingers_share_as_on_rest() -> None:
    """Where more corners hold than there are ways to move, what linearising misses is no force that grows with time."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    arm, hand = model.add_node((0.3, 0, 0.3)), model.add_node((0.6, 0, 0.3))
    model.add(RigidBody(arm, 5, [0.1] * 3))
    model.add(RigidBody(hand, 1.3, [0.003] * 3))
    lift = mbs.elements.PointToPoint(0, -0.3, 0.2, begin=0.15)
    turn = mbs.elements.PointToPoint(0, 0.5, 0.2, begin=0.35)
    model.add(mbs.elements.RevoluteJoint(model.ground, arm, (0, 1, 0), point=(0, 0, 0.3), drive=lift))
    model.add(mbs.elements.RevoluteJoint(arm, hand, (1, 0, 0), drive=turn))
    cube, pad = mbs.elements.Box((0.08, 0.08, 0.08)), mbs.elements.Box((0.04, 0.02, 0.12))
    box = model.add_node((0.6, 0, 0.14))
    model.add(RigidBody.solid(box, cube, density=1000))
    floor = mbs.elements.Plane((0, 0, 1), point=(0.6, 0, 0.1))
    model.add(mbs.elements.Contact(model.ground, box, floor, cube, friction=0.5))
    grips = []
    for side in (1.0, -1.0):
        finger = model.add_node((0.6, 0.06 * side, 0.16))
        model.add(RigidBody.solid(finger, pad, density=2700))
        slide = model.add(mbs.elements.PrismaticJoint(hand, finger, (0, -side, 0)))
        model.add(mbs.elements.TorqueMotor(slide, mbs.elements.SmoothStep(30, 0.1)))
        model.add(mbs.elements.JointSpring(slide, 0.0, 20.0))
        grips.append(model.add(mbs.elements.Contact(finger, box, pad, cube, friction=0.6)))
    solution = mbs.simulate(model, 0.5, 5e-3)
    across = solution.rotation(hand)[-1][:, 1]
    weight = 0.512 * (solution.acceleration(box)[-1] + [0, 0, 9.81])
    np.testing.assert_allclose(sum(solution.contact_force(own)[-1].sum(axis=0) for own in grips), weight, atol=1e-5)
    assert min(solution.gap(own).min() for own in grips) > -1e-10
    for own in grips:
        forces = solution.contact_force(own)[-1]
        normal = np.abs(forces @ across)
        friction = np.linalg.norm(forces - np.outer(forces @ across, across), axis=1)
        assert (friction <= 0.6 * normal * (1 + 1e-6) + 1e-9).all()
        pressed = normal[normal > 1e-6]
        assert len(pressed) == 4 and np.ptp(pressed) < 0.2 * pressed.mean()
    assert solution.stats.failed_steps <= 2
