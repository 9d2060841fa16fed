"""Balls and beams on beams: derivatives, balance, and runs against closed forms and contact at a station."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from motions import momentum
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, Node, UnilateralBatch
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamContact,
    BeamSection,
    Capsule,
    Contact,
    FixedJoint,
    Force,
    RigidBody,
    contacts_between,
)
from fem_mbs.elements.contact.pairs import every
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
    nodes: list[Any] = [model.add_node(p, rotation=Rotation.random(None, rng)) for p in line]
    beam = model.add(Beam([*nodes, nodes[0]] if ring else nodes, SECTION, order=order))
    at = angles[3] if seed % 3 == 0 else rng.uniform(-0.6, 2.0)
    away = 0.2 * (v := rng.normal(size=3)) / np.linalg.norm(v)
    place = np.array([np.cos(at), np.sin(at), 0.0 if ring else 0.1 * at]) + away
    node = model.add_node(place, rotation=Rotation.random(None, rng))
    ball = Ball(0.1, center=place + 0.02 * rng.normal(size=3))
    model.add(BeamContact(beam, node, ball, friction=0.3))
    system = mbs.System(model)
    (batch,) = (b for b in system.batches if isinstance(b, UnilateralBatch))
    motion = system.at_rest()
    return batch, moved(motion, deformed * rng.normal(size=(len(motion.x), 6))), beam


@pytest.mark.one
@pytest.mark.parametrize(("order", "ring"), [(1, False), (2, False), (3, False), (1, True)])
def test_derivatives_and_balance(order: int, ring: bool) -> None:
    """Gradients and their derivatives against differences; rigid motions of all nodes close no gap and slip nowhere."""
    ends = 0
    for seed in range(10):
        batch, motion, _ = helix(order, seed, ring)
        one = every((1, 1))
        gaps = batch.measure(motion, *one)
        H, nodes = batch.second(gaps)[0], batch.nodes[0]
        ends += bool(gaps.context[0].pieces.held[0, 0, 0])
        rng = np.random.default_rng(seed)
        step = rng.normal(size=(len(motion.x), 6))
        row = step[nodes].ravel()
        before, after = (batch.measure(moved(motion, s * step), *one) for s in (-2e-6, 2e-6))
        slope, bend = (after.gap - before.gap) / 4e-6, (after.gradient - before.gradient) / 4e-6
        np.testing.assert_allclose(gaps.gradient[0, 0] @ row, slope[0], rtol=0, atol=1e-6)
        np.testing.assert_allclose(H @ row, bend[0], rtol=0, atol=1e-4 * np.abs(H).max())
        v, w = rng.normal(size=(2, 3))
        x, R = motion.x[nodes], motion.R[nodes]
        rigid = np.concatenate([np.vecmat(v + np.cross(w, x), R), np.vecmat(w, R)], axis=1).ravel()
        np.testing.assert_allclose(gaps.gradient[0] @ rigid, 0.0, rtol=0, atol=1e-12)
    assert ring or ends >= 3


@pytest.mark.one
@pytest.mark.parametrize("order", (1, 2, 3))
def test_gaps_are_those_of_the_beam(order: int) -> None:
    """As built, the tube is as near as the line of the beam: with elements that turn by 13 degrees to 2e-4 of these."""
    for seed in range(10):
        batch, motion, beam = helix(order, seed, deformed=0.0)
        x, R = motion.x[batch.nodes[0]], motion.R[batch.nodes[0]]
        line, _ = beam.line_at(x[:-1], R[:-1], np.linspace(0.0, 1.0, 400))
        contact: Any = batch.owners[0]
        distance = np.linalg.norm(line - x[-1] - R[-1] @ contact.curves[1].offsets[0, 0], axis=-1).min() - sum(
            contact.radii
        )
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


@pytest.mark.slow
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


@pytest.mark.ci
@pytest.mark.parametrize(
    ("law", "method"),
    [
        ({"restitution": 0.5}, None),
        pytest.param({"restitution": 0.5, "stiffness": 1e5, "exponent": 1.5}, None, marks=pytest.mark.slow),
        pytest.param({"restitution": 0.5, "stiffness": 1e5, "exponent": 1.5}, mbs.RadauIIA(), marks=pytest.mark.slow),
    ],
)
def test_a_ball_in_the_middle_meets_the_node_there(law: Any, method: Any) -> None:
    """By symmetry the nearest point stays at that node, and a contact with a ball there is the same, blow by blow."""
    tube, station = (mbs.simulate(dropped(s, fall=0.01, **law), 0.055, 1e-3, method=method) for s in (False, True))
    np.testing.assert_allclose(tube.position("ball"), station.position("ball"), rtol=0, atol=1e-8)
    assert tube.gap("touch").min() < -1e-5 if "stiffness" in law else len(tube.impulses("touch")) > 0


@pytest.mark.ci
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


@pytest.mark.ci
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


def crossed(order: int, elements: int, gap: float, load: float) -> tuple[mbs.Model, BeamContact]:
    """A cantilever across another one, 0.613 m from the roots of both, and a force that presses its tip down."""
    r, at = 0.01, 0.613
    model = mbs.Model()
    section = BeamSection.circle(r, 2e11, 0.3, 7800)
    low = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements, order=order)
    up = Beam.line(model, (at, -at, 2 * r + gap), (at, 1 - at, 2 * r + gap), section, elements, order=order)
    for beam in (low, up):
        model.fix(beam.nodes[0])
    model.add(Force(up.nodes[-1], (0, 0, -load)))
    return model, model.add(BeamContact(low, up, radius=r, other_radius=r))


@pytest.mark.slow
def test_crossed_cantilevers_are_pressed_together() -> None:
    """Against Timoshenko's beams: with the compliance ``a = x^3/3EI + x/kGA`` of both, ``2 a N = w_P(x) - gap``.

    Of second order in the size of elements of order 1, and nearer with those of order 3.
    """
    load, gap, x = 0.2, 1e-6, 0.613
    EI, kGA = 2e11 * np.pi * 0.01**4 / 4, BeamSection.circle(0.01, 2e11, 0.3, 7800).stiffness[2, 2]
    compliance = x**3 / (3 * EI) + x / kGA
    free = load * (x * x * (3 - x) / (6 * EI) + x / kGA)
    misses = {}
    for order, elements in ((1, 8), (1, 16), (3, 1), (3, 4)):
        model, contact = crossed(order, elements, gap, load)
        solution = mbs.statics(model)
        force = solution.contact_force(contact)[-1, 0]
        misses[order, elements] = force[2] / ((free - gap) / (2 * compliance)) - 1.0
        assert np.abs(force[:2]).max() < 1e-3 * force[2]
    assert abs(misses[1, 8]) < 5e-3
    assert misses[1, 8] / misses[1, 16] == pytest.approx(4.0, rel=0.1)
    assert abs(misses[3, 1]) < 1e-2 and abs(misses[3, 4]) < 2e-4


def crossing(kind: str, mu: float = 0.0) -> tuple[mbs.Model, BeamContact, Beam]:
    """A beam that slides along a held one, at an angle, balanced on its middle; over nodes of both."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.circle(THICK, 5e9, 0.3, 1000.0)
    rail = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 8)
    for node in rail.nodes:
        model.add(FixedJoint(model.ground, node))
    way, middle = np.array([0.4 * np.cos(1.0), 0.4 * np.sin(1.0), 0.0]), np.array([0.3, 0.0, 2 * THICK])
    nodes = [model.add_node(middle + s * way, velocity=(1.0, 0.2, 0.0)) for s in np.linspace(-1, 1, 9)]
    beam = model.add(Beam(nodes, section))
    law: Any = {"friction": mu, "radius": THICK, "other_radius": THICK}
    contact = BeamContact(rail, beam, **law) if kind == "rail first" else BeamContact(beam, rail, **law)
    return model, model.add(contact), beam


@pytest.mark.slow
def test_a_beam_slides_over_the_nodes_of_another() -> None:
    """Closed all the time; energy changes with the step squared, and friction takes what is lost, whoever is first."""
    changes = []
    for h in (4e-3, 2e-3):
        model, contact, beam = crossing("rail first")
        solution = mbs.simulate(model, 0.1, h)
        assert solution.position(beam.nodes[4])[-1, 0] > 0.39 and np.abs(solution.gap(contact)).max() < 1e-14
        changes.append(np.ptp(solution.energy.total))
    assert changes[1] < 5e-5 and changes[0] / changes[1] > 3.0
    ends = []
    for kind in ("rail first", "rail last"):
        model, contact, beam = crossing(kind, 0.2)
        solution = mbs.simulate(model, 0.08, 2e-3)
        energy = solution.energy.total
        assert energy[0] - energy[-1] == pytest.approx(solution.contact_losses(contact).friction[-1], rel=1e-3)
        ends.append(solution.position(beam.nodes[4])[-1])
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-7)


@pytest.mark.ci
@pytest.mark.parametrize("group", ("R3xSO3", "SE3"))
def test_beams_that_collide_keep_their_momenta(group: str) -> None:
    """Two free beams, with friction and restitution; the linear one as far as Newton's method is carried on.

    On SE(3), where it is that of frames which turn, up to what falls with the step.
    """
    model = mbs.Model(group=group)
    beams = [Beam.line(model, (-0.5, 0.07, 0), (0.5, 0.03, 0.1), SECTION, 3)]
    points = np.linspace((0.1, -0.4, 0.13), (0.2, 0.5, 0.11), 5)
    beams.append(model.add(Beam([model.add_node(p, velocity=(0.3, 0, -1.0)) for p in points], SECTION)))
    contact = model.add(BeamContact(*beams, friction=0.3, restitution=0.5))
    method = mbs.NonsmoothAlpha(newton=mbs.Newton(force_tolerance=1e-11))
    solution = mbs.simulate(model, 0.03, 2e-3 if group == "R3xSO3" else 1e-3, method)
    assert len(solution.impulses(contact)) > 0
    values = np.array([momentum(solution.system, solution.motion(k)) for k in range(len(solution.t))])
    linear, angular = (np.ptp(part, axis=0).max() / np.abs(part).max() for part in (values[:, :3], values[:, 3:]))
    assert linear < (1e-12 if group == "R3xSO3" else 1e-3) and angular < 5e-3


@pytest.mark.slow
def test_a_rod_in_a_bowl_rests_on_both_its_ends() -> None:
    """One point in each half of the bowl: each carries ``W/2`` upwards and pushes by ``W/2 tan a``."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    angles = np.linspace(-2.8, -0.34, 25)
    nodes = [model.add_node((np.cos(a), 0, np.sin(a))) for a in angles]
    bowl = model.add(Beam(nodes, SECTION))
    for node in nodes:
        model.add(FixedJoint(model.ground, node))
    thick, half, inner = 0.03, 0.5, 1.0 - THICK - 0.03
    rod = model.add_node((0, 0, 1e-6 - np.sqrt(inner**2 - half**2)), name="rod")
    model.add(RigidBody(rod, 1.0, (2e-3, 0.09, 0.09)))
    contact = model.add(BeamContact(bowl, rod, Capsule(thick, 2 * half, (1, 0, 0)), radius=THICK, points=2))
    solution = mbs.simulate(model, 0.02, 1e-3)
    tangent = half / np.sqrt(inner**2 - half**2)
    sides = 0.5 * 9.81 * np.array([(tangent, 0, 1), (-tangent, 0, 1)])
    np.testing.assert_allclose(solution.contact_force(contact)[-1], sides, rtol=0, atol=1e-4)


def test_beams_along_each_other_are_doubted() -> None:
    """And what is not a tube and a tube is refused by name."""
    model = mbs.Model()
    first = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 4)
    along, across = (Beam.line(model, (0, 0, 0.1), end, SECTION, 4) for end in ((1, 0.05, 0.1), (0.5, 0.5, 0.1)))
    for other, words in ((along, "lies along"), (across, "")):
        (contact,) = contacts_between([first, other])
        model.add(contact)
        found = [text for text in map(str, model.check().findings) if "one point" in text]
        assert len(found) == 1 and "lies along" in found[0], words
    with pytest.raises(ModelError, match="a tube of its own"):
        BeamContact(first, across, Ball(0.1))
    with pytest.raises(ModelError, match="give the Ball or Capsule"):
        BeamContact(first, model.add_node((0, 1, 0)))
    with pytest.raises(ModelError, match="points must be at most 4"):
        BeamContact(first, across, points=5)
