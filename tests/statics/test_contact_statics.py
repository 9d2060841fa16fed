"""Equilibria with contacts, stops and ropes that close and open along the load, against exact solutions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamSection,
    Box,
    Contact,
    Cylinder,
    FixedJoint,
    Force,
    JointSpring,
    JointStop,
    Moment,
    OrientationJoint,
    PlanarJoint,
    Plane,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    Rope,
    SpringDamper,
)
from fem_mbs.errors import ConvergenceError

E, R = 2e11, 0.01
EI = E * np.pi * R**4 / 4


@pytest.mark.ci
def test_a_cantilever_that_meets_a_support() -> None:
    """Pressed at half its length: free until the tip has gone by the gap, then propped, with a kink between.

    Of a force P at L/2 the tip goes down by 5 P L^3/(48 EI); beyond, the support takes 5/16 of what is more.
    """
    gap, L, P = 1e-4, 1.0, 40.0
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (L, 0, 0), BeamSection.circle(R, E, 0.3, 7800), 2, order=3)
    model.fix(beam.nodes[0])
    model.add(Force(beam.nodes[3], (0, 0, -P)))
    tip = Ball(1e-3, center=(L, 0, 1e-3))
    contact = model.add(Contact(model.ground, beam.nodes[-1], Plane((0, 0, 1), (0, 0, -gap)), tip))
    solution = mbs.statics(model)
    meets = gap * 48 * EI / (5 * L**3) / P
    forces = solution.contact_force(contact)[:, 0, 2]
    expected = 5 / 16 * P * np.maximum(solution.t - meets, 0.0)
    np.testing.assert_allclose(forces, expected, rtol=0, atol=2e-3 * P)
    assert solution.gap(contact).min() > -1e-10

    # what vibrates there is the propped beam, and it stays where it is
    modes = mbs.modes(model, 2, solution.state(-1))
    at_rest = np.sqrt(EI / (7800 * np.pi * R**2))
    assert np.abs(modes.angular / at_rest / 15.418 - 1.0).min() < 5e-3
    run = mbs.simulate(model, 1.01, 1e-3, initial=solution.state(-1))
    np.testing.assert_allclose(run.contact_force(contact)[:, 0, 2], forces[-1], rtol=1e-6)


def pushed(load: float, unit: float = 1.0) -> tuple[mbs.Model, JointStop]:
    """A slide on a spring of 1000 N/m that is pushed against its stop at 0.02 m, as load factors go in a unit."""
    model = mbs.Model()
    body = model.add_node((0, 0, 0))
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    slide = model.add(PrismaticJoint(model.ground, body, (1, 0, 0)))
    model.add(JointSpring(slide, 1000.0))
    model.add(Force(body, lambda t: (load * np.sin(np.pi * t / unit), 0, 0)))
    return model, model.add(JointStop(slide, -0.02, 0.02, restitution=0.0))


@pytest.mark.ci
def test_a_stop_closes_and_opens(unit: float = 1e-12) -> None:
    """50 sin(pi t) N, on and back, in any unit: exact at every load, closed where sin(pi t) is beyond 0.4 in size."""
    model, stop = pushed(50.0, unit)
    assert mbs.statics(model, 0.0, ramp=False).unstable.tolist() == [0]
    solution = mbs.statics(model, 2.0 * unit, step=0.1 * unit)
    back = mbs.statics(model, 0.4 * unit, step=0.1 * unit, initial=solution.state(-1))
    below = mbs.statics(model, -0.5 * unit).state(-1)
    within = mbs.statics(model, 0.5 * unit, loads=unit * np.linspace(-0.5, 0.5, 11), initial=below)
    for path in (solution, back, within):
        np.testing.assert_allclose(np.abs(np.diff(path.t)), 0.1 * unit)
        load = 50.0 * np.sin(np.pi * path.t / unit)
        np.testing.assert_allclose(path.position("node 1")[:, 0], np.clip(load / 1000.0, -0.02, 0.02), atol=1e-10)
        force = np.abs(path.history.u).max(axis=1)
        np.testing.assert_allclose(force, np.maximum(np.abs(load) - 20.0, 0.0), rtol=0, atol=1e-6)


def test_a_ladder_without_friction_is_held_by_a_rope() -> None:
    """Weight W in the middle, angle a: the wall pushes by W/(2 tan a), the rope at the foot pulls as much."""
    a, L, W = np.radians(60.0), 2.0, 98.1
    model = mbs.Model(gravity=(0, 0, -9.81))
    ladder = model.add_node(
        (0.5 * L * np.cos(a), 0, 0.5 * L * np.sin(a)),
        rotation=[[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]],
    )
    model.add(RigidBody(ladder, 10.0, (3.3, 3.3, 0.1)))
    foot, top = (L * np.cos(a), 0, 0), (0, 0, L * np.sin(a))
    r = 1e-3
    floor = model.add(Contact(model.ground, ladder, Plane((0, 0, 1)), Ball(r, center=(foot[0], 0, r))))
    wall = model.add(Contact(model.ground, ladder, Plane((1, 0, 0)), Ball(r, center=(r, 0, top[2]))))
    rope = model.add(Rope(model.ground, ladder, foot[0], (0, 0, r), (foot[0], 0, r)))
    model.add(PlanarJoint(model.ground, ladder, (0, 1, 0)))
    solution = mbs.statics(model, ramp=False)
    push = W / (2 * np.tan(a))
    assert solution.contact_force(floor)[-1, 0, 2] == pytest.approx(W, rel=1e-6)
    assert solution.contact_force(wall)[-1, 0, 0] == pytest.approx(push, rel=2e-3)
    assert np.linalg.norm(solution.contact_force(rope)[-1, 0]) == pytest.approx(push, rel=2e-3)


def block_on_a_spring(shape: Any, force: Any) -> tuple[mbs.Model, Contact]:
    """10 kg on a floor with friction 0.3, between a spring of 1000 N/m and a force along it."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    block = model.add_node((0, 0, 0.1), name="block")
    model.add(RigidBody(block, 10.0, (0.1, 0.1, 0.1)))
    floor = model.add(Contact(model.ground, block, Plane(), shape, friction=0.3))
    model.add(SpringDamper(model.ground, block, 1000.0, 0.0, point_a=(-1, 0, 0.1), point_b=(0, 0, 0.1)))
    model.add(Force(block, force))
    return model, floor


@pytest.mark.ci
@pytest.mark.parametrize("shape", (Box((0.2, 0.2, 0.2)), Cylinder(0.2, 0.2)))
def test_friction_keeps_where_it_has_slid(shape: Any) -> None:
    """60 sin(2 pi t) N: the block follows the play operator, friction over stiffness wide to either side."""
    model, floor = block_on_a_spring(shape, lambda t: (60 * np.sin(2 * np.pi * t), 0, 0))
    solution = mbs.statics(model, 1.0, step=0.05, ramp=False)
    play, place = 0.3 * 98.1 / 1000, [0.0]
    for force in 60 * np.sin(2 * np.pi * solution.t[1:]):
        place.append(min(max(place[-1], force / 1000 - play), force / 1000 + play))
    np.testing.assert_allclose(solution.position("block")[:, 0], place, rtol=0, atol=1e-9)
    total = solution.contact_force(floor).sum(axis=1)
    np.testing.assert_allclose(total[:, 2], 98.1, rtol=1e-8)
    assert (np.hypot(*total[:, :2].T) <= 0.3 * 98.1 * (1 + 1e-7)).all()
    assert (solution.unstable == -1).all()


@pytest.mark.one
@pytest.mark.parametrize("shape", (Box((0.2, 0.2, 0.2)), Cylinder(0.2, 0.2)))
def test_loads_that_vanish_on_the_way(shape: Any) -> None:
    """Springs hold a block that a force presses to the floor and along it, from nothing to nothing, over and over."""
    model, floor = block_on_a_spring(shape, lambda t: (20 * np.sin(np.pi * t), 0, -60 * abs(np.sin(np.pi * t))))
    model.gravity = (0, 0, 0)
    for x in (-0.1, 0.1):
        model.add(SpringDamper(model.ground, "block", 1000.0, 0.0, point_a=(x, 0, 1.1), point_b=(x, 0, 0.1)))
    model.add(PlanarJoint(model.ground, "block", (0, 1, 0)))
    solution = mbs.statics(model, 2.0, step=0.1)
    assert solution.contact_force(floor)[[0, 10, 20]] == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(solution.contact_force(floor)[5].sum(axis=0)[2], 60.0, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("mu", (0.3, pytest.param(0.5, marks=pytest.mark.slow)))
def test_a_block_on_a_board_that_tilts(mu: float) -> None:
    """It rests up to the angle whose tangent is the coefficient, to 1e-5 rad; beyond, what slides is named."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    board, block = model.add_node((0, 0, 0)), model.add_node((0.3, 0, 0.1), name="block")
    model.add(RigidBody(board, 5.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, board, (0, 1, 0), drive=lambda t: t))
    model.add(RigidBody(block, 10.0, (0.1, 0.1, 0.1)))
    model.add(Contact(board, block, Plane(), Box((0.4, 0.3, 0.2)), friction=mu), name="top")
    with pytest.raises(ConvergenceError, match=r"edge of their cones of friction are Contact 'top' \(corner") as failed:
        mbs.statics(model, 1.0, ramp=False)
    solution: Any = failed.value.solution
    assert solution.t[-1] == pytest.approx(np.arctan(mu), abs=1e-5)
    rests = np.linalg.norm(solution.position("block"), axis=1)
    assert np.ptp(rests[solution.t < np.arctan(mu) - 1e-4]) < 1e-9


@pytest.mark.parametrize("ramp", (True, False))
def test_what_hangs_over_a_floor_with_friction_falls_on_it(ramp: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing holds it before it touches: it is said how far it falls."""
    model, floor = block_on_a_spring(Box((0.2, 0.2, 0.1)), lambda t: (0, 0, 0))
    solution = mbs.statics(model, ramp=ramp)
    assert solution.position("block")[-1, 2] == pytest.approx(0.05, abs=1e-9)
    assert solution.contact_force(floor)[-1].sum(axis=0)[2] == pytest.approx(98.1, rel=2e-3)
    assert (
        "no equilibrium near: the model snaps, slides or falls to another one, in which node 'block' is 0.05 m away"
        in (caplog.text)
    )


def test_what_nothing_holds_is_named() -> None:
    """A body that floats beside a floor with friction, which no load presses to it."""
    model = mbs.Model(gravity=(0, 0, 0))
    body = model.add_node((0, 0, 0.2), name="floats")
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    model.add(Contact(model.ground, body, Plane(), Ball(0.1), friction=0.3))
    model.add(Force(body, (0, 0, 1.0)))
    with pytest.raises(ConvergenceError, match="node 'floats' can move.*touch as built"):
        mbs.statics(model)


def test_what_a_taut_rope_leaves_loose_is_named() -> None:
    """A load below it sways back, but may turn."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    load = model.add_node((0, 0, -1), name="load")
    model.add(RigidBody(load, 2.0, (0.1, 0.1, 0.1)))
    rope = model.add(Rope(model.ground, load, length=1.0))
    with pytest.raises(ConvergenceError, match="that touch is not unique: node 'load' can turn without resistance"):
        mbs.statics(model)
    model.fix(load, translation=False, rotation=True)
    assert mbs.statics(model).contact_force(rope)[-1, 0, 2] == pytest.approx(19.62)


def leaning(mu: float) -> mbs.Model:
    """A ladder at 60 degrees, on a floor with friction, against a wall without."""
    a, L, r = np.radians(60.0), 2.0, 1e-3
    model = mbs.Model(gravity=(0, 0, -9.81))
    turned = [[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]]
    ladder = model.add_node((0.5 * L * np.cos(a), 0, 0.5 * L * np.sin(a)), rotation=turned)
    model.add(RigidBody(ladder, 10.0, (3.3, 3.3, 0.1)))
    foot, top = Ball(r, center=(L * np.cos(a), 0, r)), Ball(r, center=(r, 0, L * np.sin(a)))
    model.add(Contact(model.ground, ladder, Plane(), foot, friction=mu), name="floor")
    model.add(Contact(model.ground, ladder, Plane((1, 0, 0)), top), name="wall")
    model.add(PlanarJoint(model.ground, ladder, (0, 1, 0)))
    return model


@pytest.mark.ci
@pytest.mark.parametrize("ramp", (False, True))
def test_a_ladder_is_held_by_friction(ramp: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The floor holds ``W/(2 tan a)``, if ``mu`` is at least that over ``W``: 0.2887; else its foot slides away.

    There is no floor under its top: it is said that it falls, and hangs down at last.
    """
    solution = mbs.statics(leaning(0.29), ramp=ramp)
    push = 98.1 / (2 * np.tan(np.radians(60.0)))
    assert solution.contact_force("floor")[-1, 0] == pytest.approx((-push, 0, 98.1), rel=1e-6, abs=1e-6)
    assert solution.contact_force("wall")[-1, 0] == pytest.approx((push, 0, 0), rel=1e-6, abs=1e-6)
    assert not caplog.text
    fallen = mbs.statics(leaning(0.288), ramp=ramp)
    assert re.search(r"load factor \S+ there is no equilibrium near.*node 1' is 2\.\d+ m away", caplog.text)
    assert fallen.position("node 1")[-1, 2] < -0.99 and fallen.contact_force("wall")[-1] == pytest.approx(0.0, abs=1e-9)


def snapping(mu: float) -> tuple[mbs.Model, Contact]:
    """A truss of two springs that is pressed down, and beside which a wall rubs."""
    model = mbs.Model(gravity=(0, 0, 0))
    apex = model.add_node((0, 0, 0.3), name="apex")
    model.add(RigidBody(apex, 1.0, (1, 1, 1)))
    model.add(PlanarJoint(model.ground, apex, (0, 1, 0)))
    for x, z, k, c, at in (
        (-1, 0, 1e3, 20.0, 0),
        (1, 0, 1e3, 20.0, 0),
        (-1, 0.4, 1e2, 1.0, -0.1),
        (-1, 0.2, 1e2, 1, -0.1),
    ):
        model.add(SpringDamper(model.ground, apex, k, c, point_a=(x, 0, z), point_b=(at, 0, z or 0.3)))
    model.add(Force(apex, lambda t: (10.0, 0, -60.0 * t)))
    return model, model.add(
        Contact(model.ground, apex, Plane((-1, 0, 0), (0.1, 0, 0)), Box((0.2, 0.2, 0.2)), friction=mu)
    )


@pytest.mark.slow
def test_a_snap_goes_over_to_where_a_damped_run_leads(caplog: pytest.LogCaptureFixture) -> None:
    """Beyond the limit of the load, with the friction that the way down leaves."""
    model, wall = snapping(0.3)
    before = mbs.statics(model, 0.2, ramp=False)
    assert not caplog.text and before.position("apex")[-1, 2] > 0.18
    snapped = mbs.statics(model, 0.6, ramp=False, initial=before.state(-1))
    assert "load factor 0.21111" in caplog.text and "the model snaps, slides or falls" in caplog.text
    run = mbs.simulate(model, 0.5, 4e-3, initial=before.state(-1))
    rests = mbs.statics(model, 0.6, ramp=False, initial=run.state(-1))
    np.testing.assert_allclose(rests.position("apex")[-1], snapped.position("apex")[-1], atol=1e-6)
    forces = (own.contact_force(wall)[-1].sum(axis=0) for own in (rests, snapped))
    np.testing.assert_allclose(*forces, atol=1e-4)


@pytest.mark.ci
def test_a_path_with_friction_goes_on_from_its_state() -> None:
    """What sticks does so at the same place; steps by motion are refused by name."""
    model, floor = block_on_a_spring(Box((0.2, 0.2, 0.2)), lambda t: (60 * np.sin(2 * np.pi * t), 0, 0))
    whole = mbs.statics(model, 0.5, step=0.05, ramp=False)
    first = mbs.statics(model, 0.3, step=0.05, ramp=False)
    rest = mbs.statics(model, 0.5, step=0.05, ramp=False, initial=first.state(-1))
    np.testing.assert_allclose(rest.position("block")[-1], whole.position("block")[-1], rtol=0, atol=1e-11)
    with pytest.raises(mbs.ModelError, match="has no speeds"):
        rest.contact_losses(floor)
    with pytest.raises(mbs.ModelError, match="leave arc_length out"):
        mbs.statics(model, arc_length=True)


def test_a_door_on_two_hinges_sinks_above_a_floor() -> None:
    """Joints that repeat each other, beside a contact that stays open."""
    model = mbs.Model(gravity=(0, 0, -10.0))
    door = model.add_node((1, 0, 0))
    model.add(RigidBody(door, 2.0, (1, 1, 1)))
    hinge, _ = (model.add(RevoluteJoint(model.ground, door, (0, 1, 0), (0, y, 0))) for y in (-1, 1))
    model.add(JointSpring(hinge, 100.0))
    model.add(Contact(model.ground, door, Plane((0, 0, 1), (0, 0, -2)), Ball(0.1), restitution=0.0))
    angle = mbs.statics(model).coordinate(hinge)[-1]
    np.testing.assert_allclose(100.0 * angle, 20.0 * np.cos(angle), rtol=1e-9)


def test_a_hinge_falls_on_its_stop() -> None:
    """A pendulum from the side, whose stop holds it at 0.5 rad: under the full weight at once."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((1, 0, 0))
    model.add(RigidBody(bob, 2.0, (0.01, 0.01, 0.01)))
    hinge = model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), (0, 0, 0)))
    model.add(JointStop(hinge, -0.5, 0.5, restitution=0.0))
    solution = mbs.statics(model, ramp=False)
    assert solution.position(bob)[-1] == pytest.approx([np.cos(0.5), 0, -np.sin(0.5)], abs=1e-9)


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_a_column_buckles_against_a_wall(far: float) -> None:
    """Pressed against it: ``20.19 EI/L^2`` across the wall, as clamped and pinned, Euler's ``pi^2/4 EI/L^2`` along it.

    Timoshenko's column is softer, by 0.2 %. As built nothing is closed yet: a state is asked for. Wherever it stands.
    """
    L = 1.0
    model = mbs.Model()
    column = Beam.line(model, (far, 0, 0), (far, 0, L), BeamSection.circle(R, E, 0.3, 7800), 4, order=3)
    model.fix(column.nodes[0])
    model.add(Force(column.nodes[-1], (1, 0, -1000.0)))
    wall = Plane((-1, 0, 0), (far + 0.01, 0, L))
    model.add(Contact(model.ground, column.nodes[-1], wall, Ball(0.01)), name="wall")
    pressed = mbs.statics(model).state(-1)
    buckled = mbs.buckling(model, 2, initial=pressed)
    np.testing.assert_allclose(buckled.linear.state.x, pressed.x, rtol=0, atol=1e-6)
    along, across = buckled.factors
    assert along == pytest.approx(np.pi**2 / 4 * EI / L**2 / 1000, rel=1e-3)
    assert across == pytest.approx(20.1907 * EI / L**2 / 1000, rel=3e-3)
    with pytest.raises(mbs.ModelError, match="'wall' may open and close.*give initial="):
        mbs.buckling(model)


@pytest.mark.parametrize("mu", (0.0, 0.3))
def test_a_ball_falls_into_a_groove(mu: float) -> None:
    """Of two planes at 45 degrees: radius times root 2 above its bottom, each plane carries its share of the weight."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    ball = model.add_node((0.02, 0, 0.2))
    model.add(RigidBody(ball, 1.0, (1, 1, 1)))
    sides = [
        model.add(Contact(model.ground, ball, Plane((s, 0, 1.0)), Ball(0.1), friction=mu), name=f"side {s}")
        for s in (1, -1)
    ]
    model.add(SpringDamper(model.ground, ball, 10.0, 0.0, point_a=(0, -1, 0.1), point_b=(0.02, 0, 0.2)))
    model.add(OrientationJoint(model.ground, ball))
    solution = mbs.statics(model, ramp=False)
    x, _, z = solution.position(ball)[-1]
    assert (x, z) == pytest.approx((0.0, 0.1 * np.sqrt(2.0)), abs=1e-9)
    total = sum(solution.contact_force(side)[-1, 0] for side in sides)
    assert total[2] == pytest.approx(9.81, rel=0.05) and abs(total[0]) < 1e-6


def test_what_ropes_hold_sinks_until_they_are_taut() -> None:
    """Four slack ones: those that pull carry the weight together, and none is too long."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = model.add_node((0, 0, 0))
    model.add(RigidBody(body, 2.0, (0.1, 0.1, 0.1)))
    ends = np.array([(1, 0, 1), (-1, 0.2, 1), (0, -1, 1.2), (0.3, 1, 0.9)])
    ropes = [model.add(Rope(model.ground, body, 1.05 * np.linalg.norm(end), end, (0, 0, 0))) for end in ends]
    model.add(OrientationJoint(model.ground, body))
    solution = mbs.statics(model, ramp=False)
    total = sum(solution.contact_force(rope)[-1, 0] for rope in ropes)
    np.testing.assert_allclose(total, (0, 0, 2 * 9.81), atol=1e-6)
    lengths = np.linalg.norm(ends - solution.position(body)[-1], axis=1)
    assert (lengths <= 1.05 * np.linalg.norm(ends, axis=1) + 1e-9).all()


@pytest.mark.ci
@pytest.mark.parametrize("mu", (0.0, 0.3))
def test_a_rod_lies_down_on_a_floor(mu: float) -> None:
    """Many nodes touch in one step. Clamped a little above the floor, it is free over a length ``s``,

    ``s^4 = 72 EI h/q``, where its clamp carries ``2 q s/3`` and the floor the rest.
    """
    h, q, L, n = 0.005, 7800 * np.pi * 0.005**2 * 9.81, 2.0, 24
    model = mbs.Model(gravity=(0, 0, -9.81))
    rod = Beam.line(model, (0, 0, 0.005 + h), (L, 0, 0.005 + h), BeamSection.circle(0.005, 2e10, 0.3, 7800), n)
    clamp = model.add(FixedJoint(model.ground, rod.nodes[0]))
    floor = [
        model.add(
            Contact(model.ground, node, Plane(), Ball(0.005, center=tuple(node.position)), friction=mu), name=f"at {k}"
        )
        for k, node in enumerate(rod.nodes[1:], 1)
    ]
    solution = mbs.statics(model)
    assert solution.stats.steps < 30
    force = solution.reaction(clamp)[0][-1]
    carried = sum(solution.contact_force(contact)[-1, 0] for contact in floor)
    np.testing.assert_allclose(carried + force, (0, 0, q * L), rtol=0, atol=1e-5)
    free = (72 * 2e10 * np.pi * 0.005**4 / 4 * h / q) ** 0.25
    assert force[2] == pytest.approx(2 / 3 * q * free, rel=0.01)
    lies = [solution.contact_force(contact)[-1, 0, 2] > 0.0 for contact in floor]
    assert abs(lies.index(True) + 1 - free / L * n) < 1.0
    assert solution.position(rod.nodes[-1])[-1, 2] == pytest.approx(0.005, abs=1e-9)


@pytest.mark.slow
def test_a_rope_slides_round_a_drum() -> None:
    """Friction acts on the skin of a rope, tension in its middle, farther out by its radius r: mu phi R/(R + r).

    Moments about the axis, ``dT (R + r) = mu T R dphi``; Euler's rope has no thickness. What is left, 0.3 % of the
    exponent, is of the ends, where the moment of friction lifts a node; it is the same with twice as many nodes.
    """
    radius, thick, mu, angle, pull, count = 0.15, 0.006, 0.3, np.pi, 10.0, 7
    model, barrel, side = mbs.Model(), Cylinder(radius, 0.1, (0, 1, 0), center=(0, 0, 0)), radius + thick
    around = np.linspace(0.0, angle, count)
    nodes = [model.add_node((side * np.cos(a), 0, side * np.sin(a))) for a in around]
    model.add(Beam(nodes, BeamSection.circle(thick, 4e8, 0.3, 1200.0), y_axis=(0, 1, 0)))
    touch = [model.add(Contact(model.ground, node, barrel, Ball(thick), friction=mu)) for node in nodes]
    for node in nodes:
        model.add(PlanarJoint(model.ground, node, (0, 1, 0)))
    model.add(Force(nodes[0], (0, 0, -pull)))
    model.add(Force(nodes[-1], lambda t: (0, 0, -pull * (1 + 2 * t))))
    with pytest.raises(ConvergenceError, match="cones of friction") as failed:
        mbs.statics(model, 1.0, step=0.1, ramp=False)
    path = failed.value.solution
    assert path is not None
    ratio = 1 + 2 * path.t[-1]
    for node, own in zip(nodes, touch, strict=True):
        out, force = path.position(node)[-1] / np.linalg.norm(path.position(node)[-1]), path.contact_force(own)[-1, 0]
        assert np.linalg.norm(np.cross(out, force)) == pytest.approx(mu * (out @ force), rel=1e-2, abs=1e-2)
    assert np.log(ratio) == pytest.approx(mu * angle * radius / side, rel=4e-3)


@pytest.mark.ci
def test_a_drive_turns_farther_than_it_may_in_a_step() -> None:
    """A crank that gets a rope taut on its way, which pulls a slider from its spring: where the length of it says."""
    model = mbs.Model()
    crank, slider = model.add_node((0.3, 0, 0)), model.add_node((1, 0, 0))
    for node in (crank, slider):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, crank, (0, 0, 1), (0, 0, 0), drive=lambda t: 3.0 * t))
    model.add(JointSpring(model.add(PrismaticJoint(model.ground, slider, (1, 0, 0))), 10.0))
    rope = model.add(Rope(crank, slider, 0.9))
    solution = mbs.statics(model)
    place = 0.3 * np.cos(3.0) + np.sqrt(0.9**2 - (0.3 * np.sin(3.0)) ** 2)
    assert solution.position(slider)[-1, 0] == pytest.approx(place, abs=1e-9)
    pull = 10.0 * (1.0 - place) / np.cos(np.arcsin(0.3 * np.sin(3.0) / 0.9))
    assert np.linalg.norm(solution.contact_force(rope)[-1]) == pytest.approx(pull, rel=1e-6)
    assert solution.stats.failed_steps > 0


@pytest.mark.slow
def test_a_stop_is_met_after_many_turns() -> None:
    """A spring in a hinge is wound up until the stop takes what more there is."""
    model, upper = mbs.Model(), 10.0
    wheel = model.add_node((0, 0, 0))
    hinge = model.add(RevoluteJoint(model.ground, wheel, (0, 0, 1)))
    model.add(JointSpring(hinge, 1.0))
    model.add(Moment(wheel, (0, 0, 12.0)))
    stop = model.add(JointStop(hinge, None, upper, restitution=0.0))
    solution = mbs.statics(model)
    np.testing.assert_allclose(solution.coordinate(hinge), np.minimum(12.0 * solution.t, upper), atol=1e-9)
    assert solution.gap(stop)[-1, 0] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("mu", [0.37, 0.5, 2.0])
def test_corners_of_a_box_on_an_incline_share_its_weight(mu: float) -> None:
    """Friction along the slope acts below the mass centre: those uphill bear less."""
    angle, length, height, weight = np.radians(20.0), 0.3, 0.2, 2.0 * 9.81
    cosine, sine = np.cos(angle), np.sin(angle)
    normal = np.array([sine, 0.0, cosine])
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = model.add_node(0.5 * height * normal, [[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]])
    model.add(RigidBody(body, 2.0, (0.02, 0.03, 0.04)))
    contact = model.add(Contact(model.ground, body, Plane(normal), Box((length, 0.2, height)), friction=mu))
    forces = mbs.statics(model).contact_force(contact)[-1]
    loads = np.sort(forces @ normal)[-4:]
    more = weight * sine * height / (4.0 * length)
    np.testing.assert_allclose(loads, 0.25 * weight * cosine + more * np.array([-1, -1, 1, 1]), rtol=1e-8)
    np.testing.assert_allclose(forces.sum(axis=0), [0, 0, weight], atol=1e-8)


@pytest.mark.parametrize("hinges", [(0.0,), (-0.2, 0.2)])
@pytest.mark.parametrize("away", [0.0, 5.0])
@pytest.mark.parametrize("ramp", [True, False])
def test_what_stands_on_a_hinge_and_leans_on_a_contact(hinges: tuple[float, ...], away: float, ramp: bool) -> None:
    """A gate on its stop carries a post that would fall over: it stays, and the stop bears what moments say."""
    W, P = 9.81, 0.4
    model = mbs.Model(gravity=(0, 0, -9.81))
    gate, post = (model.add_node((away + 0.5, 0, z)) for z in (0.0, 0.5))
    for node in (gate, post):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    for y in hinges:
        model.add(RevoluteJoint(model.ground, gate, (0, 1, 0), point=(away, y, 0)))
        model.add(RevoluteJoint(gate, post, (0, 1, 0), point=(away + 0.5, y, 0)))
    tip, side = Ball(1e-3, center=(away + 1.0, 0, 1e-3)), Ball(1e-3, center=(away + 0.451, 0, 0.5))
    stop = model.add(Contact(model.ground, gate, Plane(), tip))
    model.add(Contact(gate, post, Plane((1, 0, 0), (away + 0.45, 0, 0)), side))
    model.add(Force(gate, (0, 0, P)))
    model.add(Force(post, (-0.3 * W, 0, 0)))
    solution = mbs.statics(model, ramp=ramp)
    assert solution.contact_force(stop)[-1, 0, 2] == pytest.approx(0.5 * (2 * W - P) - 0.5 * 0.3 * W, rel=1e-8)
    assert np.abs([solution.displacement(node)[-1] for node in (gate, post)]).max() < 1e-9
