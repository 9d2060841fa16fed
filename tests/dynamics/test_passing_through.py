"""What is thin or fast meets even where a step would lead it to the other side, against exact times and velocities."""

from types import SimpleNamespace

import meshio
import numpy as np
import pytest
from units import Units

import fem_mbs as mbs
from fem_mbs.contact.passed import deep_between
from fem_mbs.contact.watch import _ways
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamContact,
    BeamSection,
    Box,
    Contact,
    Cylinder,
    RevoluteJoint,
    RigidBody,
    Surface,
)

GRAVITY = 9.81


def ball(model, x, mass, radius, velocity=(0.0, 0.0, 0.0)):
    node = model.add_node(x, velocity=velocity)
    model.add(RigidBody(node, mass, 3 * [0.4 * mass * radius**2]))
    return node


def plate(kind, thick, m=1.0):
    """A tray of that thickness and half a metre, the top at half of it."""
    if kind == "box":
        return Box((0.5 * m, 0.5 * m, thick))
    if kind == "cylinder":
        return Cylinder(0.25 * m, thick, axis=(0, 0, 1))
    x = 0.3 * m
    points = [[-x, -x, 0.5 * thick], [x, -x, 0.5 * thick], [x, x, 0.5 * thick], [-x, x, 0.5 * thick]]
    return Surface(meshio.Mesh(np.array(points), [("quad", np.array([[0, 1, 2, 3]]))]))


def marble(rng, kind, o):
    """Dropped on a thin tray."""
    radius, thick, height = rng.uniform(1e-3, 5e-3) * o.m, rng.uniform(2e-4, 2e-3) * o.m, rng.uniform(0.3, 3.0) * o.m
    # what comes back is away for longer than a step, over which impulses add up
    mass, e, h = 10.0 ** rng.uniform(-4, 0) * o.kg, max(0.05, rng.uniform()), 10.0 ** rng.uniform(-3, -1.7) * o.s
    model = mbs.Model(gravity=o.g)
    node = ball(model, (0.013 * o.m, 0.02 * o.m, height + radius + 0.5 * thick), mass, radius)
    tray = model.add_node((0, 0, 0))
    model.fix(tray)
    model.add(Contact(tray, node, plate(kind, thick, o.m), Ball(radius), restitution=e), name="c")
    t, g = np.sqrt(2.0 * height / -o.g[2]), -o.g[2]
    hit = mbs.simulate(model, t + 2.5 * h, h).impulses("c")[0]
    assert hit.t == pytest.approx(t, rel=1e-9)
    assert np.linalg.norm(hit.normal) == pytest.approx(mass * (1.0 + e) * g * t, rel=1e-7)


def pool(rng, o):
    """Two balls, off their centres: Newton's law along the line of centres."""
    radii, masses = rng.uniform(0.01, 0.05, 2) * o.m, 10.0 ** rng.uniform(-2, 1, 2) * o.kg
    apart, far, speed = radii.sum(), rng.uniform(0.3, 1.0) * o.m, 10.0 ** rng.uniform(0.5, 2.0) * o.m / o.s
    off, e, h = rng.uniform(-0.95, 0.95) * apart, rng.uniform(0.0, 1.0), 10.0 ** rng.uniform(-3, -1.5) * o.s
    model = mbs.Model()
    a, b = ball(model, (-far, off, 0), masses[0], radii[0], (speed, 0, 0)), ball(model, (0, 0, 0), masses[1], radii[1])
    model.add(Contact(a, b, *map(Ball, radii), restitution=e), name="c")
    along = np.sqrt(apart**2 - off**2)
    t, n = (far - along) / speed, np.array([along, -off, 0.0]) / apart
    solution = mbs.simulate(model, t + 2.5 * h, h)
    impulse = (1.0 + e) * speed * n[0] / (1.0 / masses).sum()
    assert solution.impulses("c")[0].t == pytest.approx(t, rel=1e-9)
    assert np.allclose(solution.velocity(b)[-1], impulse / masses[1] * n, rtol=0.0, atol=1e-7 * speed)


def blade(rng, o):
    """A driven blade meets a ball at rest."""
    thick, radius, arm = rng.uniform(5e-4, 3e-3) * o.m, rng.uniform(5e-3, 0.02) * o.m, rng.uniform(0.2, 0.8) * o.m
    omega, h = rng.uniform(5.0, 25.0) / o.s, 10.0 ** rng.uniform(-3, -1.8) * o.s
    model = mbs.Model()
    hub = model.add_node((0, 0, 0), angular_velocity=(0, 0, omega))
    model.add(RigidBody(hub, o.kg, 3 * [o.kg * o.m**2]))
    model.add(RevoluteJoint(model.ground, hub, (0, 0, 1), drive=lambda t: omega * t))
    node = ball(model, (0, arm, 0), 1e-3 * o.kg, radius)
    shape = Box((o.m, thick, 0.1 * o.m), center=(0.5 * o.m, 0, 0))
    model.add(Contact(hub, node, shape, Ball(radius), restitution=1.0), name="c")
    gone = np.arcsin((radius + 0.5 * thick) / arm)
    t, speed = (0.5 * np.pi - gone) / omega, 2.0 * omega * arm * np.cos(gone)
    solution = mbs.simulate(model, t + 1.5 * h, h)
    assert solution.impulses("c")[0].t == pytest.approx(t, rel=1e-6)
    assert np.linalg.norm(solution.velocity(node)[-1]) == pytest.approx(speed, rel=1e-5)


CASES = {
    "box": lambda rng, o: marble(rng, "box", o),
    "cylinder": lambda rng, o: marble(rng, "cylinder", o),
    "mesh": lambda rng, o: marble(rng, "mesh", o),
    "pool": pool,
    "blade": blade,
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
def test_thin_or_fast_bodies_meet_where_they_must(case, seed):
    """In any units."""
    met(case, seed)


def met(case, seed):
    rng = np.random.default_rng([seed, len(case)])
    CASES[case](rng, Units(*(2.0 ** rng.integers(-20, 21, 3))))


@pytest.mark.parametrize("method", [None, mbs.GeneralizedAlpha(), mbs.RadauIIA()])
def test_yielding_bodies_that_pass_through_each_other_are_named(method, caplog):
    model = mbs.Model()
    a, b = ball(model, (-0.53, 0.01, 0), 0.17, 0.03, (20.0, 0, 0)), ball(model, (0, 0, 0), 0.17, 0.03)
    model.add(Contact(a, b, Ball(0.03), Ball(0.03), stiffness=1e7, restitution=0.9), name="c")
    solution = mbs.simulate(model, 0.1, 0.01, method)
    assert ("'c'" in caplog.text and "passed through" in caplog.text) or solution.velocity(b)[-1, 0] > 5.0


@pytest.mark.parametrize("end", [-0.0003, -0.003, -0.008])
def test_what_ends_a_step_beyond_the_middle_is_named(end, caplog):
    """It is in the tray, leaves by the other side, and no force has stopped it."""
    model = mbs.Model()
    tray, node = model.add_node((0, 0, 0)), ball(model, (0.01, 0.02, end + 0.2), 1.0, 0.01, (0, 0, -5.0))
    model.fix(tray)
    model.add(Contact(tray, node, Box((0.5, 0.5, 0.01)), Ball(0.01), stiffness=1e7, restitution=0.3), name="c")
    solution = mbs.simulate(model, 0.08, 0.01)
    assert solution.velocity(node)[-1, 2] == pytest.approx(-5.0)
    assert "'c'" in caplog.text and "passed through" in caplog.text


@pytest.mark.ci
def test_more_impacts_than_a_step_locates_let_nothing_through():
    rng = np.random.default_rng(3)
    model = mbs.Model(gravity=(0, 0, -GRAVITY))
    tray = model.add_node((0, 0, 0))
    model.fix(tray)
    nodes = [ball(model, (-0.2 + 0.035 * k, 0, 1.0 + rng.uniform(0.0, 0.1)), 1e-3, 0.003) for k in range(12)]
    for node in nodes:
        model.add(Contact(tray, node, plate("box", 1e-3), Ball(0.003), restitution=0.5))
    solution = mbs.simulate(model, 0.55, 0.01)
    assert all(solution.position(node)[-1, 2] > 0.0 for node in nodes)


def test_a_ball_passes_through_no_beam():
    model = mbs.Model()
    nodes = [model.add_node((0, y, 0)) for y in np.linspace(-1, 1, 5)]
    beam = model.add(Beam(nodes, BeamSection.circle(0.01, 2.1e9, 0.3, 7800.0)))
    node = ball(model, (-0.53, 0.0, 0), 1e-3, 0.01, (20.0, 0, 0))
    model.add(BeamContact(beam, node, Ball(0.01)), name="c")
    solution = mbs.simulate(model, 0.04, 0.01)
    assert solution.impulses("c")[0].t == pytest.approx((0.53 - 0.02) / 20.0, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_many_thin_or_fast_bodies_meet_where_they_must(case):
    for seed in range(100, 160):
        met(case, seed)


@pytest.mark.parametrize("place", [0.03, 0.31, 0.8, 0.97, 1.05])
def test_what_passes_is_found_within_the_step_alone(place):
    """Of gaps that are parabolas, negative for a short while about a place of the step, or beyond its end."""

    def approach(share):
        rate = np.array([200.0 * (share - place)])
        return SimpleNamespace(
            gap=100.0 * (share - place) ** 2 - np.array([[0.02]]),
            fastest=np.array([220.0]),
            velocity=rate[:, None] * [[0.0, 0.0, 1.0]],
            spin=np.zeros(1),
            opening=rate[:, None].repeat(2, axis=1),
        )

    (found,) = deep_between(SimpleNamespace(approach=approach), lambda share: share, 1.0, 0.0)
    if place < 1.0:
        assert 0.0 < found[0] < 1.0 and approach(found[0]).gap < 0.0
    else:
        assert found[0] == np.inf


@pytest.mark.parametrize(("turn", "found_at"), [(0.0, np.inf), (3.2, 1.3 / 3.2)])
def test_rates_at_both_ends_tell_where_bodies_are_if_they_turn_little(turn, found_at):
    """A blade turns past a point in a step, behind which it begins and ends; or flies by, seen at the ends alone."""
    shares = []

    def approach(share):
        shares.append(share)
        off = turn * share - 1.3
        beside, rate = (abs(np.sin(off)), turn * np.sign(off) * np.cos(off)) if np.cos(off) > 0.0 else (1.0, 0.0)
        rate = np.array([[rate if turn else 0.0] * 2])
        gap = np.array([[beside - 0.02]])
        return SimpleNamespace(
            gap=gap, fastest=np.array([turn or 4.0]), velocity=np.zeros((1, 3)), spin=np.array([turn]), opening=rate
        )

    ((found,),) = deep_between(SimpleNamespace(approach=approach), lambda share: share, 1.0, 0.0)
    assert found == pytest.approx(found_at, abs=0.02 / 3.2)
    assert turn or shares == [0.0, 1.0]


@pytest.mark.parametrize("share", [0.6, 1.0, 1.7])
def test_what_two_parts_tell_is_enough_where_gaps_are_parabolas(share: float) -> None:
    """Also where parts of other lengths end in gaps that differ by a share of what rates say."""
    rates = np.array([-1.0, -0.5, 0.2])
    gaps = [share * (rates * (t - 0.3) - 0.7 * (t - 0.3) ** 2) for t in (0.1, 0.5)]
    changes = [rates - 1.4 * (t - 0.3) for t in (0.1, 0.5)]
    ways = _ways(0.5, gaps[1], changes[1], (0.1, gaps[0], changes[0]))
    np.testing.assert_allclose(0.5 + ways, [0.3, 0.3, 0.3 + 0.2 / 0.7], rtol=0, atol=1e-15)
    assert np.isinf(_ways(0.1, gaps[0], changes[0], None)).tolist() == [False, False, True]
