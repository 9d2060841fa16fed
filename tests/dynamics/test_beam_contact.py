"""Balls on beams: derivatives, balance, and runs against closed forms and contact at a station."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, Node, UnilateralBatch
from fem_mbs.elements import Ball, Beam, BeamContact, BeamSection, Contact, FixedJoint, RigidBody, contacts_between
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3

THICK, RADIUS = 0.02, 0.05
SECTION = BeamSection.circle(THICK, 5e8, 0.3, 1000.0)


def moved(motion: Motion, step: Array) -> Motion:
    """After body increments ``(n, 6)`` of the nodes."""
    x = motion.x + np.matvec(motion.R, step[:, :3])
    return replace(motion, x=x, R=motion.R @ so3.exp(step[:, 3:]))


def helix(order: int, seed: int, ring: bool = False, deformed: float = 0.01) -> tuple[UnilateralBatch, Motion, Beam]:
    """A ball somewhere at a bent beam that is deformed at random: along it, at a node, or beyond an end."""
    rng = np.random.default_rng(seed)
    model = mbs.Model(group=("R3xSO3", "SE3")[seed % 2])
    angles = np.linspace(0.0, 2 * np.pi, 25)[:-1] if ring else np.linspace(0.0, 1.4, 6 * order + 1)
    line = np.stack([np.cos(angles), np.sin(angles), (0.0 if ring else 0.1) * angles], axis=1)
    nodes: list[Any] = [model.add_node(p, rotation=Rotation.random(rng=rng)) for p in line]
    beam = model.add(Beam([*nodes, nodes[0]] if ring else nodes, SECTION, order=order))
    at = angles[3] if seed % 3 == 0 else rng.uniform(-0.6, 2.0)
    away = 0.2 * (v := rng.normal(size=3)) / np.linalg.norm(v)
    place = np.array([np.cos(at), np.sin(at), 0.0 if ring else 0.1 * at]) + away
    node = model.add_node(place, rotation=Rotation.random(rng=rng))
    ball = Ball(0.1, center=place + 0.02 * rng.normal(size=3))
    model.add(BeamContact(beam, node, ball, friction=0.3))
    system = mbs.System(model)
    (batch,) = (b for b in system.batches if isinstance(b, UnilateralBatch))
    motion = system.at_rest()
    return batch, moved(motion, deformed * rng.normal(size=(len(motion.x), 6))), beam


@pytest.mark.parametrize(("order", "ring"), [(1, False), (2, False), (3, False), (1, True)])
def test_derivatives_and_balance(order: int, ring: bool) -> None:
    """Gradients and their derivatives against differences; rigid motions of all nodes close no gap and slip nowhere."""
    ends = 0
    for seed in range(20):
        batch, motion, _ = helix(order, seed, ring)
        gaps = batch.measure(motion)
        H, nodes = batch.second(gaps)[0, 0], batch.nodes[0]
        ends += bool(gaps.context.pieces.held[0])
        rng = np.random.default_rng(seed)
        step = rng.normal(size=(len(motion.x), 6))
        row = step[nodes].ravel()
        before, after = (batch.measure(moved(motion, s * step)) for s in (-2e-6, 2e-6))
        slope, bend = (after.gap - before.gap) / 4e-6, (after.gradient - before.gradient) / 4e-6
        np.testing.assert_allclose(gaps.gradient[0, 0, 0] @ row, slope[0, 0], rtol=0, atol=1e-6)
        np.testing.assert_allclose(H @ row, bend[0, 0], rtol=0, atol=1e-4 * np.abs(H).max())
        v, w = rng.normal(size=(2, 3))
        x, R = motion.x[nodes], motion.R[nodes]
        rigid = np.concatenate([np.vecmat(v + np.cross(w, x), R), np.vecmat(w, R)], axis=1).ravel()
        np.testing.assert_allclose(gaps.gradient[0, 0] @ rigid, 0.0, rtol=0, atol=1e-12)
    assert ring or ends >= 3


@pytest.mark.parametrize("order", (1, 2, 3))
def test_gaps_are_those_of_the_beam(order: int) -> None:
    """As built, the tube is as near as the line of the beam: with elements that turn by 13 degrees to 2e-4 of these."""
    for seed in range(10):
        batch, motion, beam = helix(order, seed, deformed=0.0)
        x, R = motion.x[batch.nodes[0]], motion.R[batch.nodes[0]]
        line, _ = beam.line_at(x[:-1], R[:-1], np.linspace(0.0, 1.0, 400))
        contact: Any = batch.owners[0]
        distance = np.linalg.norm(line - x[-1] - R[-1] @ contact.center, axis=-1).min() - sum(contact.radii)
        assert batch.gaps(motion)[0, 0] == pytest.approx(distance, abs=2e-4 * 1.4 / 6)


def arch(group: str, held: bool) -> tuple[mbs.Model, Beam, Node]:
    """A bowl of a beam in which a ball lies off the middle."""
    model = mbs.Model(group=group, gravity=(0, 0, -9.81))
    angles = np.linspace(-2.6, -0.54, 9)
    nodes = [model.add_node((np.cos(a), 0, np.sin(a))) for a in angles]
    beam = model.add(Beam(nodes, SECTION), name="bowl")
    for node in nodes if held else (nodes[0], nodes[-1]):
        model.add(FixedJoint(model.ground, node))
    r = 1.0 - THICK - RADIUS - 1e-4
    ball = model.add_node((r * np.cos(-2.2), 0, r * np.sin(-2.2)), name="ball")
    model.add(RigidBody(ball, 0.3, [0.3 * 0.4 * RADIUS**2] * 3))
    return model, beam, ball


@pytest.mark.parametrize("group", ("R3xSO3", "SE3"))
def test_a_ball_slides_over_the_nodes_of_a_bent_beam(group: str) -> None:
    """Without friction: the contact stays closed, and energy changes with the square of the step."""
    changes = []
    for h in (0.016, 0.008):
        model, beam, ball = arch(group, held=True)
        touch = model.add(BeamContact(beam, ball, Ball(RADIUS)))
        solution = mbs.simulate(model, 0.64, h)
        after = solution.t > 0.1
        assert solution.position(ball)[-1, 0] > 0.25  # over the lowest point and three nodes
        assert np.abs(solution.gap(touch)[after]).max() < 1e-12
        changes.append(np.ptp(solution.energy.total[after]))
    assert changes[-1] < 5e-5
    assert np.log2(changes[0] / changes[1]) == pytest.approx(2.0, abs=0.05)


def dropped(station: bool, x: float = 0.5, fall: float = 0.05, held: bool = False, **law: Any) -> mbs.Model:
    """A ball above a beam that is clamped at both ends, which it meets, or of which it meets the node in the middle."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 4)
    for node in beam.nodes if held else (beam.nodes[0], beam.nodes[-1]):
        model.add(FixedJoint(model.ground, node))
    ball = model.add_node((x, 0, THICK + RADIUS + fall), name="ball")
    model.add(RigidBody(ball, 0.3, [0.3 * 0.4 * RADIUS**2] * 3))
    if station:
        model.add(Contact(beam.nodes[2], ball, Ball(THICK), Ball(RADIUS), **law), name="touch")
    else:
        model.add(BeamContact(beam, ball, Ball(RADIUS), **law), name="touch")
    return model


@pytest.mark.parametrize(
    ("law", "method"),
    [
        ({"restitution": 0.5}, None),
        ({"restitution": 0.5, "stiffness": 1e5, "exponent": 1.5}, None),
        pytest.param({"restitution": 0.5, "stiffness": 1e5, "exponent": 1.5}, mbs.RadauIIA(), marks=pytest.mark.slow),
    ],
)
def test_a_ball_in_the_middle_meets_the_node_there(law: Any, method: Any) -> None:
    """By symmetry the nearest point stays at that node, and a contact with a ball there is the same, blow by blow."""
    tube, station = (mbs.simulate(dropped(s, fall=0.01, **law), 0.055, 1e-3, method=method) for s in (False, True))
    np.testing.assert_allclose(tube.position("ball"), station.position("ball"), rtol=0, atol=1e-8)
    assert tube.gap("touch").min() < -1e-5 if "stiffness" in law else len(tube.impulses("touch")) > 0


def test_a_ball_bounces_on_a_held_beam_and_off_its_end() -> None:
    """Between nodes as on a floor, with 0.5 of its speed; beyond the end along a line from the end of the axis."""
    solution = mbs.simulate(dropped(False, x=0.43, held=True, restitution=0.5), 0.25, 0.01)
    first, second = solution.impulses("touch")[:2]
    t = np.sqrt(2 * 0.05 / 9.81)
    assert (first.t, second.t) == pytest.approx((t, 2 * t), abs=1e-9)
    assert first.normal == pytest.approx(0.3 * 1.5 * 9.81 * t, rel=1e-9)
    over = 0.03
    model = dropped(False, x=1.0 + over, held=True, restitution=0.5)
    solution = mbs.simulate(model, 0.2, 0.01)
    hit = solution.impulses("touch")[0]
    height = np.sqrt((THICK + RADIUS) ** 2 - over**2)
    t = np.sqrt(2 * (THICK + RADIUS + 0.05 - height) / 9.81)
    assert hit.t == pytest.approx(t, abs=1e-9)
    assert solution.velocity("ball")[-1, 0] == pytest.approx(
        1.5 * 9.81 * t * height * over / (THICK + RADIUS) ** 2, rel=1e-6
    )


def test_pairs_of_beams_and_balls() -> None:
    """``contacts_between`` makes them; a node of the beam, corners and sections that change are refused by name."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 4)
    ball = model.add_node((0.4, 0, 0.1))
    body = RigidBody(ball, 0.3, [1e-3] * 3, shape=Ball(RADIUS))
    (made,) = contacts_between([body, beam], friction=0.2)
    assert isinstance(made, BeamContact) and made.radii == pytest.approx((THICK, RADIUS), rel=1e-2)
    with pytest.raises(ModelError, match="is a node of the beam"):
        BeamContact(beam, beam.nodes[1], Ball(0.1))
    corner = Beam([model.add_node(p) for p in ((0, 0, 0), (1, 0, 0), (1, 1, 0))], SECTION)
    with pytest.raises(ModelError, match="has a corner"):
        BeamContact(corner, ball, Ball(0.1))
    taper = Beam.line(model, (0, 1, 0), (1, 1, 0), (SECTION, BeamSection.circle(0.03, 5e8, 0.3, 1000.0)), 4)
    with pytest.raises(ModelError, match="give the radius="):
        BeamContact(taper, ball, Ball(0.1))
    assert BeamContact(taper, ball, Ball(0.1), radius=0.03).radii == (0.03, 0.1)


def test_a_ball_begins_to_roll_along_a_beam() -> None:
    """Friction: a ball that slides rolls with 5/7 of its speed from ``2 v / (7 mu g)`` on."""
    v, mu, g = 1.0, 0.3, 9.81
    model = mbs.Model(gravity=(0, 0, -g))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 4)
    for node in beam.nodes:
        model.add(FixedJoint(model.ground, node))
    ball = model.add_node((0.1, 0, THICK + RADIUS), velocity=(v, 0, 0), name="ball")
    model.add(RigidBody(ball, 0.3, [0.3 * 0.4 * RADIUS**2] * 3))
    model.add(BeamContact(beam, ball, Ball(RADIUS), friction=mu), name="touch")
    solution = mbs.simulate(model, 0.3, 0.01)
    t = 2 * v / (7 * mu * g)
    assert solution.velocity(ball)[-1] == pytest.approx((5 / 7 * v, 0, 0), abs=1e-3)
    gone = v * t - 0.5 * mu * g * t * t + 5 / 7 * v * (0.3 - t)
    assert solution.position(ball)[-1, 0] == pytest.approx(0.1 + gone, abs=1e-3)
    assert solution.contact_force("touch")[5, 0] == pytest.approx((-0.3 * mu * g, 0, 0.3 * g), rel=1e-6)
