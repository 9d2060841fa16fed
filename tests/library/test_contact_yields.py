"""Contacts that yield: what comes back, Hertz's closed forms, friction, for several methods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Shape
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamContact,
    BeamSection,
    Box,
    Capsule,
    Contact,
    Force,
    Plane,
    PrismaticJoint,
    RigidBody,
    hertz_stiffness,
)
from fem_mbs.elements.contact.yielding import damping_number

R = 0.02
M = 7800 * 4 / 3 * np.pi * R**3
K = hertz_stiffness(R, 210e9, 0.3)


def steel_ball(restitution: float, stiffness: float = K, exponent: float = 1.5) -> mbs.Model:
    """It meets a steel half space at 1 m/s after 10 us."""
    model = mbs.Model()
    ball = model.add_node((0, 0, R + 1e-5), velocity=(0, 0, -1), name="ball")
    model.add(RigidBody(ball, M, np.full(3, 0.4 * M * R**2)))
    hit = Contact(model.ground, ball, Plane(), Ball(R), stiffness=stiffness, exponent=exponent, restitution=restitution)
    model.add(hit, name="hit")
    return model


def test_hertz_stiffness() -> None:
    """contact of a steel ball with a steel half space, and of two like balls."""
    assert pytest.approx(2.175713e10, rel=1e-6) == K
    assert hertz_stiffness(R, 210e9, 0.3, R) == pytest.approx(K / np.sqrt(2))
    assert hertz_stiffness(R, 210e9, 0.3, np.inf) == K
    assert hertz_stiffness(R, 210e9, -0.3, -2 * R) == pytest.approx(K * np.sqrt(2))
    for wrong in ((R, 210e9, 0.6), (R, 210e9, 0.3, 0.0), (R, 210e9, 0.3, -0.5 * R), (R, 210e9, 0.3, -R)):
        with pytest.raises(mbs.ModelError, match="hertz_stiffness: (poisson|other_radius) must be"):
            hertz_stiffness(*wrong)


@pytest.mark.ci
def test_a_steel_ball() -> None:
    """Depth, force and time of Hertz: 46.8417 um, 6975.10 N, 0.137868 ms."""
    solution = mbs.simulate(steel_ball(1.0), 1.5e-4, 1e-6, mbs.RadauIIA())
    force, t = solution.contact_force("hit")[:, 0, 2], solution.t
    assert -solution.gap("hit").min() == pytest.approx(46.8417e-6, rel=1e-4)
    assert force.max() == pytest.approx(6975.10, rel=1e-4)
    assert np.trapezoid((force > 0.0).astype(float), t) == pytest.approx(0.137868e-3, abs=1.5e-6)
    assert np.trapezoid(force, t) == pytest.approx(2 * M, rel=1e-4)
    assert solution.velocity("ball")[-1, 2] == pytest.approx(1.0, abs=1e-6)
    assert solution.impulses("hit") == []


@pytest.mark.one
@pytest.mark.parametrize(
    ("e", "law"),
    [
        pytest.param(e, law, marks=[] if k == j else [pytest.mark.slow])
        for k, e in enumerate((0.1, 0.5, 0.9))
        for j, law in enumerate(((K, 1.5), (1e7, 1.0), (1e12, 2.0)))
    ],
)
def test_what_comes_back(e: float, law: tuple[float, float]) -> None:
    """Exactly what is asked for, whatever the stiffness and the exponent."""
    model = steel_ball(e, *law)
    solution = mbs.simulate(model, 2e-3, 2e-5, mbs.RadauIIA())
    assert solution.velocity("ball")[-1, 2] == pytest.approx(e, abs=2e-3)


@pytest.mark.parametrize("e", [0.999001, 0.99909, 0.9999, 0.999999])
def test_what_comes_back_almost_whole(e: float) -> None:
    """``y (1 + e) = log((1 + y)/(1 - e y))``, whose digits cancel: its series is ``3/2 (1 - e) (1 + O(1 - e))``."""
    assert damping_number(e) == pytest.approx(1.5 * (1.0 - e), rel=1.1 * (1.0 - e))


@pytest.mark.slow
@pytest.mark.parametrize("e", np.arange(0.1, 0.95, 0.1).tolist())
@pytest.mark.parametrize(
    ("method", "off"), ((mbs.GeneralizedAlpha(), 1e-3), (mbs.RadauIIA(), 1e-5), (mbs.RungeKuttaMuntheKaas(), 1e-5))
)
def test_what_comes_back_by_each_method(e: float, method: mbs.Method, off: float) -> None:
    solution = mbs.simulate(steel_ball(e), 4e-4, 2e-6, method)
    assert solution.velocity("ball")[-1, 2] == pytest.approx(e, abs=off)


@pytest.mark.ci
@pytest.mark.parametrize("h", (1e-4, 1e-3))
def test_short_contacts_are_not_silent(h: float) -> None:
    """Steps as long as a contact, or seven times as long, are taken in parts."""
    solution = mbs.simulate(steel_ball(0.7), 10 * h, h)
    assert solution.velocity("ball")[-1, 2] == pytest.approx(0.7, abs=3e-3)


@pytest.mark.slow
def test_boxes_part_with_their_share() -> None:
    """They are apart, meet with faces on each other, and part: all their points push for as long."""
    model = mbs.Model()
    box = model.add_node((0, 0, 0.201), velocity=(0, 0, -1), name="box")
    model.add(RigidBody(box, 1.0, (0.01, 0.012, 0.014)))
    shapes = Box((0.3, 0.3, 0.2)), Box((0.2, 0.2, 0.2))
    model.add(Contact(model.ground, box, *shapes, stiffness=5e5, restitution=0.5), name="boxes")
    solution = mbs.simulate(model, 0.012, 1e-3)
    assert solution.velocity("box")[-1] == pytest.approx((0, 0, 0.5), abs=1e-2)
    assert (solution.contact_force("boxes")[[0, -1]] == 0.0).all()
    assert solution.gap("boxes").min() < -5e-4


def acting(shapes: tuple[Shape, Shape] | None, swapped: bool) -> tuple[Array, mbs.System]:
    """What bodies or beams that overlap and slip do to each other, ``(n, 2, 3)`` in world axes."""
    model, law = mbs.Model(), {"stiffness": 1e5, "restitution": 0.5, "friction": 0.3}
    if shapes is None:
        section = BeamSection.circle(0.01, E=1e9, nu=0.3, rho=1e3)
        ends = ((0.03, -0.5, 0.01), (-0.02, 0.5, 0.01)), ((-0.4, 0, 0.025), (0.6, 0.1, 0.025))
        parts = [Beam([model.add_node(x) for x in own], section) for own in ends]
        model.add(BeamContact(*parts[:: -1 if swapped else 1], **law))
    else:
        turns = Rotation.from_rotvec([[0.2, 0.1, 0.3], [-0.3, 0.4, 0.1]]).as_matrix()
        nodes = [model.add_node(x, rotation=R) for x, R in zip(((0, 0, 0), (0.05, 0.02, 0.18)), turns, strict=True)]
        both = list(zip(nodes, shapes, strict=True))[:: -1 if swapped else 1]
        model.add(Contact(*(node for node, _ in both), *(shape for _, shape in both), **law))
    system = mbs.System(model)
    motion = system.at_rest()
    V = np.random.default_rng(3).normal(size=(system.n, 6))
    V[:, :3] -= motion.x[:, 2:] * motion.R[:, 2] * 100  # what is above comes down
    motion = replace(motion, V=V)
    force = system.evaluate(motion, np.zeros(0), system.prescribe(0.0)).force[: 6 * system.n].reshape(-1, 2, 3)
    return force @ motion.R.mT, system


@pytest.mark.parametrize(
    "shapes",
    (
        (Ball(0.1), Ball(0.12)),
        (Ball(0.12), Capsule(0.1, 0.3, (1, 0.3, 0))),
        (Capsule(0.1, 0.2, (0, 1, 0)), Capsule(0.1, 0.3, (1, 0.3, 0))),
        (Capsule(0.1, 0.2, (0, 1, 0)), Capsule(0.1, 0.3, (0, 1, 0))),  # beside each other
        (Box((0.3, 0.25, 0.2)), Box((0.2, 0.2, 0.2))),
        None,
    ),
    ids=str,
)
def test_it_does_not_matter_which_body_is_a(shapes: tuple[Shape, Shape] | None) -> None:
    """Friction acts in the middle of the overlap, on both bodies: their angular momentum is kept."""
    (force, system), (other, _) = (acting(shapes, swapped) for swapped in (False, True))
    size = np.abs(force).max()
    assert size > 1.0
    np.testing.assert_allclose(other, force, rtol=0, atol=1e-12 * size)
    about = np.cross(system.x0, force[:, 0]) + force[:, 1]
    np.testing.assert_allclose([force[:, 0].sum(axis=0), about.sum(axis=0)], 0.0, atol=1e-12 * size)


@pytest.mark.ci
def test_units_change_nothing() -> None:
    """A steel ball in m, kg, s and, to rounding, in mm, t, s."""
    found = []
    for length, mass in ((1.0, 1.0), (1e3, 1e-3)):
        model = mbs.Model()
        ball = model.add_node((0, 0, length * (R + 1e-5)), velocity=(0, 0, -length), name="ball")
        model.add(RigidBody(ball, mass * M, np.full(3, 0.4 * mass * M * (length * R) ** 2)))
        stiffness = K * mass / length**0.5
        model.add(Contact(model.ground, ball, Plane(), Ball(length * R), stiffness=stiffness, restitution=0.7))
        found.append(mbs.simulate(model, 2e-3, 1e-4).position("ball") / length)
    assert found[0] == pytest.approx(found[1], abs=1e-12)


@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on_to_the_bit(tmp_path: Path) -> None:
    """A ball that spins, cut off before it meets the floor: whether it has met is known from the file."""

    def thrown() -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -9.81))
        ball = model.add_node((0, 0, 0.15), velocity=(1, 0.2, -1), name="ball")
        ball.angular_velocity = (1, 0.5, 0.2)
        model.add(RigidBody(ball, 1.0, (0.004, 0.005, 0.006)))
        model.add(Contact(model.ground, ball, Plane(), Ball(0.1), stiffness=1e6, restitution=0.5, friction=0.3))
        return model

    def cut(state: mbs.State) -> None:
        if state.t > 0.025:
            raise KeyboardInterrupt

    mbs.simulate(thrown(), 0.06, 0.01, store=tmp_path / "cut.run", callback=cut)
    whole, on = mbs.simulate(thrown(), 0.06, 0.01), mbs.resume(tmp_path / "cut.run")
    np.testing.assert_array_equal(on.t, whole.t)
    np.testing.assert_array_equal(on.v, whole.v)


def sliding_block(friction: float, v: float) -> mbs.Model:
    """On a yielding floor, at the depth at which it rests."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    depth = 9.81 / 4e5
    block = model.add_node((0, 0, 0.05 - depth), velocity=(v, 0, 0), name="block")
    model.add(RigidBody(block, 1.0, (1, 1, 1)))
    own = Contact(
        model.ground,
        block,
        Plane(),
        Box((0.2, 0.2, 0.1)),
        stiffness=1e5,
        exponent=1,
        restitution=0.3,
        friction=friction,
    )
    model.add(own, name="floor")
    return model


@pytest.mark.slow
def test_a_block_slides_to_rest() -> None:
    """After v^2/(2 mu g); it creeps where it would stick."""
    solution = mbs.simulate(sliding_block(0.3, 2.0), 0.75, 3e-3)
    assert solution.position("block")[-1, 0] == pytest.approx(4.0 / (2 * 0.3 * 9.81), abs=1e-3)
    assert abs(solution.velocity("block")[-1, 0]) < 1e-4
    k = int(np.searchsorted(solution.t, 0.3))
    assert solution.contact_force("floor")[k].sum(axis=0) == pytest.approx((-0.3 * 9.81, 0, 9.81), abs=0.05)


def test_statics_finds_the_depth() -> None:
    model = sliding_block(0.0, 0.0)
    model.add(PrismaticJoint(model.ground, model["block"], (0, 0, 1)))
    model.add(Force(model["block"], (0, 0, -20.0)))
    place = mbs.statics(model).position("block")
    assert place[-1, 2] == pytest.approx(0.05 - 29.81 / 4e5, abs=1e-9)


@pytest.mark.parametrize(
    ("given", "words"), (({"restitution": 0.0}, "at least 0.01"), ({"restitution": 0.5, "exponent": 0.5}, "exponent"))
)
def test_what_is_refused(given: dict[str, float], words: str) -> None:
    model = mbs.Model()
    with pytest.raises(mbs.ModelError, match=words):
        Contact(model.ground, model.add_node((0, 0, 1)), Plane(), Ball(0.1), stiffness=1e5, **given)
