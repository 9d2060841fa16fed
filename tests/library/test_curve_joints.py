"""Points on curves and cams against exact solutions and independent ones."""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import pytest
from catalogue import outline
from scipy.integrate import solve_ivp
from scipy.interpolate import PPoly
from scipy.optimize import brentq

import fem_mbs as mbs
from fem_mbs.elements import (
    CamJoint,
    CurveJoint,
    JointDrive,
    JointStop,
    PointMass,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
)
from fem_mbs.elements.joints.curve import Spline, Splines, nearest
from fem_mbs.elements.joints.relative import RelativeJoint

GROUPS = ("R3xSO3", pytest.param("SE3", marks=pytest.mark.slow))
G = 9.81


def ring(radius: float, points: int) -> np.ndarray:
    """In the plane of x and z, from the bottom."""
    angle = np.linspace(0, 2 * np.pi, points + 1)
    return radius * np.stack([np.sin(angle), 0 * angle, -np.cos(angle)], axis=1)


def test_spline_is_of_fourth_order_and_measured_by_its_arc_length() -> None:
    errors, lengths = [], []
    for points in (12, 24, 48):
        curve = Spline(ring(0.5, points), "ring")
        s = np.linspace(0, curve.length, 500)
        P, P1, _, _ = Splines([curve]).at(np.zeros(500, int), s)
        errors.append(np.abs(np.linalg.norm(P, axis=1) - 0.5).max())
        lengths.append(abs(curve.length - np.pi))
        assert np.abs(np.linalg.norm(P1, axis=1) - 1.0).max() < 10.0 / points**3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.2)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.2)
    assert errors[2] < 1e-6 and lengths[2] < 1e-5


@pytest.mark.parametrize("closed", [False, True])
def test_pieces_of_a_spline_are_as_long_as_its_knots_are_apart(closed: bool) -> None:
    """Of points at unequal distances, by Gauss's formula of another order; what is across a place is nearest to it."""
    turns = np.array([0.0, 0.3, 0.9, 1.3, 2.2, 2.9, 3.3, 4.1, 5.0, 5.9, 2.0 * np.pi][: None if closed else -1])
    curve = Spline(np.stack([2.0 * np.cos(turns), np.sin(turns), 0.2 * np.sin(2.0 * turns)], axis=1), "ring")
    places, weights = np.polynomial.legendre.leggauss(12)
    sizes = np.diff(curve.knots)
    s = curve.knots[:-1, None] + 0.5 * sizes[:, None] * (1.0 + places)
    points, along = Splines([curve]).at(np.zeros(s.size, int), s.ravel())[:2]
    for k in (20, 60):
        assert nearest(curve, points[k] + 0.1 * np.cross(along[k], (0.2, 0.3, 1.0))) == pytest.approx(s.ravel()[k])
    along = along.reshape(*s.shape, 3)
    assert 0.5 * sizes * (np.linalg.norm(along, axis=-1) @ weights) == pytest.approx(sizes, rel=1e-6)


def test_splines_side_by_side_are_as_each_alone() -> None:
    """Also somewhat off their ends, where open ones go on as their last pieces do."""
    turns = np.linspace(0.0, 5.0, 9)[:, None]
    curves = [Spline(k * np.hstack([np.cos(turns), np.sin(turns), turns]), "helix") for k in (1.0, 3.0, 0.5)]
    curves.insert(1, Spline(ring(0.5, 12), "ring"))
    s = np.linspace(-0.1, 1.1, 50)
    for k, curve in enumerate(curves):
        alone = PPoly(curve.coefficients, curve.knots, "periodic" if curve.closed else True)
        for order, own in enumerate(Splines(curves).at(np.full(50, k), s * curve.length)):
            np.testing.assert_allclose(own, alone(s * curve.length, order), rtol=0, atol=1e-12)


def test_open_spline_is_exact_on_a_cubic() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0])
    curve = Spline(np.stack([x, 0 * x, 2.0 * x], axis=1), "line")
    P, P1, P2, _ = Splines([curve]).at(np.zeros(3, int), np.array([0.0, 1.0, 5.0]))
    assert curve.length == pytest.approx(3 * np.sqrt(5))
    np.testing.assert_allclose(P1, np.tile([1, 0, 2] / np.sqrt(5), (3, 1)), atol=1e-14)
    np.testing.assert_allclose(P, np.outer([0.0, 1.0, 5.0], [1, 0, 2] / np.sqrt(5)), atol=1e-14)
    assert np.abs(P2).max() < 1e-13


def bead_on_a_ring(group: str, h: float, turning: float = 0.0) -> mbs.Solution:
    """A bead on a ring of radius 0.5 m about a horizontal axis, which turns about the vertical."""
    model = mbs.Model(group, gravity=(0, 0, -G))
    points = ring(0.5, 60)
    wire = model.ground
    if turning:
        wire = model.add_node((0.1, 0, 0), velocity=(0, 0.1 * turning, 0), angular_velocity=(0, 0, turning))
        model.add(RigidBody(wire, 1.0, (0.1, 0.1, 0.1)))
        model.add(
            RevoluteJoint(model.ground, wire, (0, 0, 1), point=(0, 0, 0), drive=lambda t: turning * t), name="motor"
        )
    start = points[11]
    bead = model.add_node(start, velocity=np.cross((0, 0, turning), start), name="bead")
    model.add(PointMass(bead, 0.3))
    model.fix(bead, translation=False, rotation=True)
    model.add(CurveJoint(wire, bead, points), name="wire")
    return mbs.simulate(model, 1.0, h)


def swing(t: np.ndarray, turning: float) -> tuple[np.ndarray, np.ndarray]:
    """Angle from the bottom and its rate."""
    start = 2 * np.pi * 11 / 60

    def rate(_: float, y: np.ndarray) -> list[float]:
        return [y[1], turning**2 * np.sin(y[0]) * np.cos(y[0]) - G / 0.5 * np.sin(y[0])]

    return solve_ivp(rate, (0, t[-1]), [start, 0.0], "DOP853", t, rtol=1e-11, atol=1e-12).y


@pytest.mark.one
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("turning", [0.0, 4.0])
def test_bead_on_a_ring(group: str, turning: float) -> None:
    errors, of_force = [], []
    for h in (0.02, 0.01):
        solution = bead_on_a_ring(group, h, turning)
        angle, rate = swing(solution.t, turning)
        joint = solution.system.constraint_batches[-1].owners[0]
        assert joint.name == "wire"
        errors.append(np.abs(solution.coordinate(joint) / 0.5 - angle + angle[0]).max())
        # along the ring's radius, and across its plane
        inward = 0.5 * rate**2 + 0.5 * turning**2 * np.sin(angle) ** 2 + G * np.cos(angle)
        across = 2 * 0.5 * turning * rate * np.cos(angle)
        exact = 0.3 * np.hypot(inward, across)
        force = np.linalg.norm(solution.reaction(joint)[0], axis=1)
        of_force.append(np.abs(force - exact).max() / exact.max())
    assert errors[1] < 2e-3 and of_force[1] < 3e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)


class Lift(NamedTuple):
    """A cam and its follower."""

    model: mbs.Model
    disc: mbs.Node
    follower: mbs.Node
    joint: CamJoint


class Slide(RelativeJoint):
    """Free along z."""

    closes = ("translation x", "translation y", "rotation x", "rotation y", "rotation z")

    def __init__(self, a: mbs.Node, b: mbs.Node) -> None:
        super().__init__(a, b, None, np.eye(3))


DISC, OFF, ROLLER, MASS = 0.2, 0.05, 0.08, 1.5


def cam(group: str, flat: bool, rate: float, pulls: bool = False, points: int = 72, gap: float = 0.0) -> Lift:
    """An eccentric disc about the y axis, and a follower above that is guided along z."""
    model = mbs.Model(group, gravity=(0, 0, -G))
    disc = model.add_node((0, 0, 0), angular_velocity=(0, rate, 0), name="disc")
    model.add(RigidBody(disc, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, disc, (0, 1, 0), drive=lambda t: rate * t))
    profile = ring(DISC, points) + (OFF, 0, 0)
    z = exact_lift(np.zeros(1), flat, rate)[0] + gap
    follower = model.add_node((0, 0, z), velocity=(0, 0, -rate * OFF if flat else 0.0), name="follower")
    model.add(RigidBody(follower, MASS, (0.01, 0.01, 0.01)))
    model.add(Slide(model.ground, follower))
    shape = [(-0.3, 0, z), (0.3, 0, z)] if flat else ring(ROLLER, points) + (0, 0, z)
    return Lift(
        model, disc, follower, model.add(CamJoint(disc, follower, (0, 1, 0), profile, shape, pulls=pulls), name="cam")
    )


def exact_lift(t: np.ndarray, flat: bool, rate: float) -> np.ndarray:
    """Of the plate, or of the middle of the roller: the middle of the disc is at OFF (cos, -sin)."""
    c, s = np.cos(rate * t), -np.sin(rate * t)
    return DISC + OFF * s if flat else OFF * s + np.sqrt((DISC + ROLLER) ** 2 - (OFF * c) ** 2)


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("flat", [True, False])
def test_eccentric_disc_lifts_its_follower(group: str, flat: bool) -> None:
    model, _, follower, joint = cam(group, flat, 6.0)
    if not flat:
        model.assemble()
        mbs.project_velocities(model)
    solution = mbs.simulate(model, 1.05, 0.01)
    exact = exact_lift(solution.t, flat, 6.0)
    # that is the error of the splines
    np.testing.assert_allclose(solution.position(follower)[:, 2], exact, rtol=0, atol=2e-7)
    force, _ = solution.reaction(joint)
    h = 1e-4
    up = (exact_lift(solution.t + h, flat, 6.0) - 2 * exact + exact_lift(solution.t - h, flat, 6.0)) / h**2
    assert np.abs(force[:, 2] - MASS * (G + up)).max() < 0.01 * MASS * G
    # without friction: across the plate, or through the middle of the roller
    center = OFF * np.stack([np.cos(6 * solution.t), -np.sin(6 * solution.t)], axis=1)
    normal = np.stack([0 * exact, np.ones_like(exact)]) if flat else np.stack([-center[:, 0], exact - center[:, 1]])
    across = force[:, 0] * normal[1] - force[:, 2] * normal[0]
    assert np.abs(across).max() < 2e-3 * np.linalg.norm(force, axis=1).max()


@pytest.mark.slow
def test_follower_that_would_lift_off_ends_the_run() -> None:
    rate = 20.0  # OFF rate^2 = 20 m/s^2 is above G, so that the disc falls faster than the follower
    separates = (np.pi + np.arcsin(G / OFF / rate**2)) / rate
    with pytest.raises(mbs.MotionError, match=r"'cam': its profiles separate at t = 0\.\d+ s, where .* pull") as hit:
        mbs.simulate(cam("SE3", True, rate).model, 0.4, 0.002)
    assert hit.value.solution.t[-1] == pytest.approx(separates, abs=0.004)
    model, _, _, joint = cam("SE3", True, rate, pulls=True)
    force, _ = mbs.simulate(model, 0.4, 0.004).reaction(joint)
    assert force[:, 2].min() == pytest.approx(MASS * (G - OFF * rate**2), rel=1e-2)


@pytest.mark.slow
def test_follower_on_a_shoe_lifts_and_lands() -> None:
    """A spring of 400 N/m presses with 10 N: it lifts where the cam falls faster, and flies as a vibration of its own.

    Just below the speed of the cam at which the force vanishes once a turn it does not.
    """
    stiffness, preload, restitution = 400.0, 10.0, 0.5
    limit = np.sqrt((MASS * G + preload + stiffness * OFF) / (MASS * OFF))

    def run(rate: float, end: float, h: float) -> mbs.Solution:
        model = mbs.Model(gravity=(0, 0, -G))
        disc = model.add_node((0, 0, 0), angular_velocity=(0, rate, 0))
        model.add(RigidBody(disc, 1.0, (0.1, 0.1, 0.1)))
        model.add(RevoluteJoint(model.ground, disc, (0, 1, 0), drive=lambda t: rate * t))
        shoe, follower = (model.add_node((0, 0, DISC), velocity=(0, 0, -rate * OFF)) for _ in range(2))
        for node, mass in ((shoe, 0.1), (follower, MASS)):
            model.add(RigidBody(node, mass, (0.01, 0.01, 0.01)))
        model.add(PrismaticJoint(model.ground, shoe, (0, 0, 1)))
        flat = [(-0.3, 0, DISC), (0.3, 0, DISC)]
        model.add(CamJoint(disc, shoe, (0, 1, 0), ring(DISC, 72) + (OFF, 0, 0), flat, pulls=True))
        way = model.add(PrismaticJoint(shoe, follower, (0, 0, 1)))
        model.add(JointStop(way, 0.0, None, restitution=restitution), name="lash")
        spring = {"free_length": 1 + preload / stiffness, "point_a": (0, 0, DISC + 1)}
        model.add(SpringDamper(model.ground, follower, stiffness, **spring))
        return mbs.simulate(model, end, h)

    for share, lifts in ((0.995, False), (1.005, True)):
        assert (run(share * limit, 0.24, 0.004).gap("lash").max() > 1e-6) == lifts
    rate, own, rest = 1.3 * limit, np.sqrt(stiffness / MASS), -(MASS * G + preload) / stiffness
    # M g + F0 + (M rate^2 - k) OFF sin(rate t) = 0
    off = (np.pi + np.arcsin((MASS * G + preload) / (MASS * rate**2 - stiffness) / OFF)) / rate

    def apart(t: float) -> float:
        place, speed = -OFF * np.sin(rate * off), -OFF * rate * np.cos(rate * off)
        flown = own * (t - off)
        return rest + (place - rest) * np.cos(flown) + speed / own * np.sin(flown) + OFF * np.sin(rate * t)

    lands = brentq(apart, off + 0.05, off + 0.2)
    hit = next(impulse for impulse in run(rate, 0.26, 0.002).impulses("lash") if impulse.normal > 1e-9)
    assert hit.t == pytest.approx(lands, abs=5e-5)
    closing = (apart(lands - 1e-6) - apart(lands)) / 1e-6
    assert hit.normal == pytest.approx(MASS * (1 + restitution) * closing, rel=2e-3)


@pytest.mark.ci
def test_cam_is_assembled() -> None:
    model, disc, follower, _ = cam("SE3", False, 0.0, gap=1e-3)
    with pytest.raises(mbs.ModelError, match=r"CamJoint 'cam' is open at t = 0.*assemble"):
        mbs.simulate(model, 0.1, 0.01)
    model.assemble(hold=[disc])
    assert follower.position[2] == pytest.approx(exact_lift(np.zeros(1), False, 0.0)[0], abs=1e-6)
    mbs.simulate(model, 0.02, 0.01)


@pytest.mark.ci
def test_point_is_driven_along_a_curve() -> None:
    """Along a spiral, at a prescribed speed: then the length of the path is known."""
    model = mbs.Model("R3xSO3")
    u = np.linspace(0, 4, 60)
    points = np.stack([np.cos(u), np.sin(u), 0.3 * u], axis=1)
    node = model.add_node(points[0], velocity=(0, 0, 0), name="pin")
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    joint = model.add(CurveJoint(model.ground, node, points))
    model.add(JointDrive(joint, lambda t: 0.8 * t**2))
    solution = mbs.simulate(model, 2.0, 0.01)
    assert solution.coordinate(joint)[-1] == pytest.approx(3.2, abs=1e-9)
    angle = 0.8 * solution.t**2 / np.hypot(1.0, 0.3)
    exact = np.stack([np.cos(angle), np.sin(angle), 0.3 * angle], axis=1)
    np.testing.assert_allclose(solution.position(node), exact, rtol=0, atol=2e-5)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_disc_lies_in_a_hollow(swapped: bool) -> None:
    """It presses on the ring around it under its weight, and comes off if that acts upwards."""
    for weight in (G, -G):
        model = mbs.Model(gravity=(0, 0, -weight))
        disc = model.add_node((0, 0, -0.7))
        model.add(RigidBody(disc, 1.0, (1, 1, 1)))
        sides = [(model.ground, ring(1.0, 48)), (disc, ring(0.3, 24) - (0, 0, 0.7))]
        (a, around), (b, within) = sides[::-1] if swapped else sides
        model.add(CamJoint(a, b, (0, 1, 0), around, within))
        with pytest.raises(mbs.MotionError, match="its profiles separate") if weight < 0.0 else nullcontext():
            mbs.simulate(model, 0.02, 0.01)


def test_off_the_end_the_run_ends() -> None:
    model = mbs.Model("SE3", gravity=(0, 0, -G))
    node = model.add_node((0, 0, 1), name="car")
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(CurveJoint(model.ground, node, [(0, 0, 1), (0.2, 0, 0.5), (1, 0, 0.1)]), name="slide")
    with pytest.raises(mbs.MotionError, match=r"CurveJoint 'slide': node 'car' runs off the end of its curve"):
        mbs.simulate(model, 2.0, 0.01)


def test_bad_input_is_refused() -> None:
    model = mbs.Model("SE3")
    a, b = model.add_node((0, 0, 0), name="a"), model.add_node((0.5, 0.1, 0), name="b")
    line, disc = [(0, 0, 0), (1, 0, 0)], outline(np.array([0.5, 0.3, 0]), (0.2, 0.2))
    with pytest.raises(mbs.ModelError, match=r"CurveJoint on node 'a', node 'b': the point .* is 0.1 m from the curve"):
        CurveJoint(a, b, line)
    with pytest.raises(mbs.ModelError, match="connects node 'a' with itself"):
        CurveJoint(a, a, line)
    with pytest.raises(mbs.ModelError, match="points needs at least two points, received 1"):
        CurveJoint(a, b, [(0.5, 0.1, 0)])
    with pytest.raises(mbs.ModelError, match="points 1 and 2 are at the same place"):
        CurveJoint(a, b, [(0, 0, 0), (1, 0, 0), (1, 0, 0), (2, 0, 0)])
    with pytest.raises(mbs.ModelError, match="points must be three numbers for each point"):
        CurveJoint(a, b, "line")
    with pytest.raises(mbs.ModelError, match="profiles do not touch: the gap is 0.1 m"):
        CamJoint(a, b, (0, 0, 1), line, disc)
    with pytest.raises(mbs.ModelError, match=r"profile_b: point 1, .* is 0.01 m out of the plane"):
        CamJoint(a, b, (0, 0, 1), line, [(0, 0.1, 0), (1, 0.1, 0.01)])
    bow = [(0, 0.2, 0), (0.5, 0, 0), (1, 0.2, 0)]
    for own in (line, bow):
        with pytest.raises(mbs.ModelError, match="equally curved where they touch"):
            CamJoint(a, b, (0, 0, 1), own, own)
    CamJoint(a, b, (0, 0, 1), bow, -np.array(bow) + (1, 0, 0), pulls=True)  # on the other side
    with pytest.raises(mbs.ModelError, match="both profiles are open"):
        CamJoint(a, b, (0, 0, 1), line, bow)
    assert CamJoint(a, b, (0, 0, 1), line, bow, pulls=True).equations == ("contact x", "contact y", "tangent")
