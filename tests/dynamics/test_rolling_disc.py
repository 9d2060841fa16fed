"""Discs that roll without slipping against their exact steady motions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import Force, PrismaticJoint, RevoluteJoint, RigidBody, RollingDisc
from fem_mbs.lie import so3

MASS, RADIUS, GRAVITY = 2.0, 0.4, 9.81
AXIAL, DIAMETRAL = 0.5 * MASS * RADIUS**2, 0.25 * MASS * RADIUS**2
GROUPS = ("R3xSO3", pytest.param("SE3", marks=pytest.mark.slow))
UP = np.array([0.0, 0.0, 1.0])


class Steady(NamedTuple):
    """The axis of the disc at the angle ``tilt`` to the vertical, about which it turns at the rate ``yaw``."""

    tilt: float
    yaw: float
    spin: float
    """Component of the angular velocity along the axis."""

    @property
    def axis(self) -> np.ndarray:
        """At t = 0, when the disc moves along x."""
        return np.array([0.0, np.sin(self.tilt), np.cos(self.tilt)])

    @property
    def omega(self) -> np.ndarray:
        """Angular velocity at t = 0."""
        return self.yaw * UP + (self.spin - self.yaw * np.cos(self.tilt)) * self.axis

    def center(self, t: float) -> np.ndarray:
        """On a circle of the radius ``RADIUS spin/yaw``."""
        speed, angle = RADIUS * self.spin, self.yaw * t
        around = np.array([np.sinc(angle / np.pi), 0.5 * angle * np.sinc(0.5 * angle / np.pi) ** 2, 0.0])
        return speed * t * around + RADIUS * np.sin(self.tilt) * UP

    def rotation(self, t: float) -> np.ndarray:
        """About the vertical, then about the axis."""
        own = self.spin - self.yaw * np.cos(self.tilt)
        return so3.exp(self.yaw * t * UP) @ so3.exp(own * t * self.axis)


def circle(tilt: float, yaw: float) -> Steady:
    """Moments of the contact force change the moment of momentum as the motion does: this gives the spin."""
    turned = DIAMETRAL * yaw**2 * np.sin(tilt) * np.cos(tilt) - MASS * GRAVITY * RADIUS * np.cos(tilt)
    return Steady(tilt, yaw, turned / ((AXIAL + MASS * RADIUS**2) * yaw * np.sin(tilt)))


STEADY = {
    "upright, straight on": Steady(np.pi / 2, 0.0, 5.0),
    "upright, turning on the spot": Steady(np.pi / 2, 3.0, 0.0),
    "tilted by 30 degrees": circle(np.radians(60), 3.0),
    "tilted by 50 degrees": circle(np.radians(40), -5.0),
}
TILTED = [name for name in STEADY if name.startswith("tilted")]


def disc(steady: Steady, group: str, Q: np.ndarray = so3.IDENTITY) -> tuple[mbs.Model, mbs.Node, RollingDisc]:
    """A disc on a plane; all of space turned by ``Q``."""
    model = mbs.Model(group, gravity=-GRAVITY * Q @ UP)
    node = model.add_node(
        Q @ steady.center(0.0), Q, velocity=Q @ [RADIUS * steady.spin, 0, 0], angular_velocity=steady.omega
    )
    m = steady.axis
    model.add(RigidBody(node, MASS, DIAMETRAL * np.eye(3) + (AXIAL - DIAMETRAL) * np.outer(m, m)))
    return model, node, model.add(RollingDisc(model.ground, node, Q @ UP, Q @ m, RADIUS))


def errors(steady: Steady, group: str, h: float, method: mbs.Method, t_end: float = 1.0) -> tuple[float, float]:
    """Largest errors of position and rotation."""
    model, node, _ = disc(steady, group)
    solution = mbs.simulate(model, t_end, h, method)
    x, R = solution.position(node), solution.rotation(node)
    return (
        np.abs(x - [steady.center(t) for t in solution.t]).max(),
        np.abs(R - [steady.rotation(t) for t in solution.t]).max(),
    )


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(
    "formulation", ["stabilized", *(pytest.param(name, marks=pytest.mark.slow) for name in ("index3", "index2"))]
)
@pytest.mark.parametrize("name", STEADY)
def test_steady_motions_are_met(name: str, formulation: str, group: str) -> None:
    """With at least the second order of the method, or exactly."""
    method = mbs.GeneralizedAlpha(0.9, formulation=formulation)
    coarse, fine = (errors(STEADY[name], group, h, method) for h in (0.01, 0.005))
    print(name, group, formulation, coarse, fine)
    assert max(fine) < 5e-3
    for one, half in zip(coarse, fine, strict=True):
        assert half < 1e-8 or np.log2(one / half) > 1.9


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_wobbling_disc_converges_and_keeps_its_energy(group: str) -> None:
    """Beside the steady motion the disc nods; contact forces do no work."""
    steady = STEADY["tilted by 30 degrees"]._replace(spin=1.2 * STEADY["tilted by 30 degrees"].spin)
    found, drift = [], []
    for h in (0.02, 0.01, 0.005):
        model, node, _ = disc(steady, group)
        solution = mbs.simulate(model, 0.6, h, mbs.GeneralizedAlpha(0.9))
        found.append(solution.position(node)[:: round(0.02 / h)])
        total = solution.energy.total
        drift.append(np.abs(total - total[0]).max() / total[0])
    apart = [np.abs(a - b).max() for a, b in zip(found, found[1:], strict=False)]
    assert np.ptp(found[-1][:, 2]) > 0.01  # it does nod
    assert np.log2(apart[0] / apart[1]) == pytest.approx(2.0, abs=0.1)
    assert drift[-1] < 1e-3
    assert drift[1] < 0.3 * drift[0]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", TILTED)
def test_contact_force_is_exact(name: str, group: str) -> None:
    """The ground carries the weight, and gives the centre its acceleration towards the middle of the circle."""
    steady = STEADY[name]
    model, _, joint = disc(steady, group)
    solution = mbs.simulate(model, 0.5, 0.0025, mbs.GeneralizedAlpha(0.9))
    height, *slip = solution.multipliers(joint)[-1]
    assert abs(height) == pytest.approx(MASS * GRAVITY, rel=1e-3)
    assert np.hypot(*slip) == pytest.approx(abs(MASS * RADIUS * steady.spin * steady.yaw), rel=1e-3)


def test_plane_may_stand_anywhere() -> None:
    """With gravity and plane turned, everything turns."""
    steady, Q = STEADY["tilted by 30 degrees"], so3.exp(np.array([0.7, -1.1, 0.4]))
    paths = []
    for turn in (np.eye(3), Q):
        model, node, _ = disc(steady, "SE3", turn)
        paths.append(mbs.simulate(model, 0.5, 0.01).position(node) @ turn)
    assert np.allclose(*paths, atol=1e-9)


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", STEADY)
def test_coordinates_are_the_angles_of_the_steady_motion(name: str, group: str) -> None:
    steady = STEADY[name]
    model, _, joint = disc(steady, group)
    solution = mbs.simulate(model, 1.0, 0.0025)
    own = steady.spin - steady.yaw * np.cos(steady.tilt)
    expected = np.outer(solution.t, [steady.yaw, 0.0, own])
    np.testing.assert_allclose(solution.coordinate(joint), expected, atol=2e-3)
    np.testing.assert_allclose(solution.coordinate_rate(joint), expected[-1:] + 0.0 * expected, atol=2e-2)
    force, moment = solution.reaction(joint)
    np.testing.assert_allclose(force[-1, 2], MASS * GRAVITY, rtol=1e-3)
    # about the centre, the contact force has the lever to the lowest point
    lowest = solution.rotation(model.nodes[1])[-1] @ -steady.axis
    arm = -RADIUS * (UP - (UP @ lowest) * lowest) / np.sin(steady.tilt)
    np.testing.assert_allclose(moment[-1], np.cross(arm, force[-1]), atol=1e-4)


def upright(model: mbs.Model, plane: mbs.Node, spin: float, velocity: np.ndarray, at: tuple) -> mbs.Node:
    """A disc on a plane at the height 0, its axis along -y, at an angular velocity about it."""
    node = model.add_node(at, velocity=velocity, angular_velocity=(0, spin, 0))
    model.add(RigidBody(node, MASS, (DIAMETRAL, AXIAL, DIAMETRAL)))
    model.add(RollingDisc(plane, node, UP, (0, 1, 0), RADIUS))
    return node


@pytest.mark.parametrize("group", GROUPS)
def test_a_disc_on_a_plank_that_slides(group: str) -> None:
    """``m x'' = F - f``, ``J theta'' = -f r``, ``M X'' = f``, ``x'' - r theta'' = X''``: constant accelerations."""
    pull, plank_mass = 3.0, 5.0
    model = mbs.Model(group, gravity=(0, 0, -GRAVITY))
    plank = model.add_node((0, 0, -0.1))
    model.add(RigidBody(plank, plank_mass, (1, 1, 1)))
    rail = model.add(PrismaticJoint(model.ground, plank, (1, 0, 0)))
    node = upright(model, plank, 0.0, np.zeros(3), (0, 0, RADIUS))
    model.add(Force(node, (pull, 0, 0)))
    solution = mbs.simulate(model, 1.0, 0.02)
    f = pull / MASS / (1 / MASS + RADIUS**2 / AXIAL + 1 / plank_mass)
    t = solution.t
    # exact, but for a frame that turns and moves at growing speeds along its screws
    close = {"rtol": 1e-9, "atol": 1e-9} if group == "R3xSO3" else {"rtol": 4e-4, "atol": 1e-6}
    np.testing.assert_allclose(solution.position(node)[:, 0], 0.5 * (pull - f) / MASS * t**2, **close)
    np.testing.assert_allclose(solution.coordinate(rail), 0.5 * f / plank_mass * t**2, **close)
    force, moment = solution.reaction(rail)
    np.testing.assert_allclose(force[:, 2], (MASS + plank_mass) * GRAVITY, rtol=close["rtol"])
    np.testing.assert_allclose(force[:, 0], 0.0, atol=1e-9)


@pytest.mark.parametrize("group", GROUPS)
def test_a_disc_spins_in_its_place_on_a_turntable(group: str) -> None:
    """The plane passes below it at its own speed: nothing but the disc's spin and the table moves."""
    far, rate = 0.7, 2.0
    model = mbs.Model(group, gravity=(0, 0, -GRAVITY))
    table = model.add_node((0, 0, 0), angular_velocity=(0, 0, rate))
    model.add(RigidBody(table, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, table, UP, drive=lambda t: rate * t))
    node = upright(model, table, -rate * far / RADIUS, np.zeros(3), (0, -far, RADIUS))
    solution = mbs.simulate(model, 1.0, 0.02)
    np.testing.assert_allclose(solution.position(node), np.tile([0, -far, RADIUS], (51, 1)), atol=1e-9)
    heading, tilt, roll = solution.coordinate(model.constraints[1]).T
    np.testing.assert_allclose(heading, -rate * solution.t, atol=1e-9)
    np.testing.assert_allclose(tilt, 0.0, atol=1e-9)
    np.testing.assert_allclose(roll, -rate * far / RADIUS * solution.t, atol=1e-9)


def test_velocity_that_slips_is_refused_and_projected() -> None:
    steady = STEADY["upright, straight on"]
    model, node, _ = disc(steady, "R3xSO3")
    node.velocity = (1.0, 0.5, 0)
    with pytest.raises(mbs.ModelError, match="RollingDisc.*rolling"):
        mbs.simulate(model, 0.1, 0.01)
    mbs.project_velocities(model)
    assert mbs.simulate(model, 0.1, 0.01).constraint_residual.velocity[0] < 1e-12


def test_disc_that_falls_flat_is_named() -> None:
    model, _, joint = disc(Steady(np.radians(60), 0.0, 0.0), "R3xSO3")
    with pytest.raises(mbs.MotionError, match=f"{joint}: the disc has fallen flat") as caught:
        mbs.simulate(model, 2.0, 0.005)
    assert len(caught.value.solution.t) > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0, 0, 1), (0, 0, 1), 0.4), "lies flat on the plane"),
        (((0, 0, 1), (0, 1, 0), -0.4), "radius must be a positive number, received -0.4"),
        (((0, 0, 0), (0, 1, 0), 0.4), "normal"),
    ],
)
def test_bad_input_is_refused(arguments: tuple, message: str) -> None:
    model = mbs.Model()
    node = model.add_node((0, 0, 0.4))
    with pytest.raises(mbs.ModelError, match=message):
        RollingDisc(model.ground, node, *arguments)


BICYCLE = {
    0.0: (3.131643247906656, 5.530943717653931),
    5.0: (-0.32286642900409, -0.77534188219585 + 4.46486771378823j, -14.07838969279822),
}
"""Eigenvalues that are not zero, in 1/s, at speeds in m/s, of the benchmark of Meijaard, Papadopoulos, Ruina, Schwab,
Linearized dynamics equations for the balance and steer of a bicycle, Proc. R. Soc. A 463 (2007), table 2."""


@pytest.mark.parametrize("speed", BICYCLE)
@pytest.mark.parametrize("group", GROUPS)
def test_eigenvalues_of_the_benchmark_bicycle(group: str, speed: float) -> None:
    """What rolls without slipping can stand in seven ways and move in three; weave and capsize are among its modes."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    nodes = {}
    for name, mass, place, spin, inertia in (
        ("rear", 2.0, (0, 0, 0.3), speed / 0.3, np.diag((0.0603, 0.12, 0.0603))),
        ("frame", 85.0, (0.3, 0, 0.9), 0.0, [(9.2, 0, -2.4), (0, 11, 0), (-2.4, 0, 2.8)]),
        ("fork", 4.0, (0.9, 0, 0.7), 0.0, [(0.05892, 0, 0.00756), (0, 0.06, 0), (0.00756, 0, 0.00708)]),
        ("front", 3.0, (1.02, 0, 0.35), speed / 0.35, np.diag((0.1405, 0.28, 0.1405))),
    ):
        nodes[name] = model.add_node(place, velocity=(speed, 0, 0), angular_velocity=(0, spin, 0), name=name)
        model.add(RigidBody(nodes[name], mass, inertia))
    lean = np.pi / 10
    model.add(RevoluteJoint("frame", "fork", (-np.sin(lean), 0, np.cos(lean)), point=(1.1, 0, 0)))
    for wheel, carrier, radius in (("rear", "frame", 0.3), ("front", "fork", 0.35)):
        model.add(RevoluteJoint(carrier, wheel, (0, 1, 0), point=nodes[wheel].position))
        model.add(RollingDisc(model.ground, wheel, normal=(0, 0, 1), axis=(0, 1, 0), radius=radius))
    found = mbs.modes(model).eigenvalues
    np.testing.assert_allclose(found[np.abs(found) > 1e-3], BICYCLE[speed], rtol=1e-9)


@pytest.mark.parametrize("group", GROUPS)
def test_two_wheels_on_an_axle(group: str) -> None:
    """Neither slips along the axle, which is one equation too many; at two speeds the axle goes round in a circle.

    Newton's method took ten iterations a step, and one step of four failed, as the matrix was nearly singular.
    """
    r, half, rates = 0.2, 0.5, np.array([5.0, 3.0])
    left, right = rates * r
    speed, turn = (left + right) / 2, (right - left) / (2 * half)
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    axle = model.add_node((0, 0, r), velocity=(speed, 0, 0), angular_velocity=(0, 0, turn))
    model.add(RigidBody(axle, 5.0, (0.3, 0.1, 0.3)))
    for y, rate in zip((half, -half), rates, strict=True):
        wheel = model.add_node((0, y, r), velocity=(rate * r, 0, 0), angular_velocity=(0, rate, turn))
        model.add(RigidBody(wheel, 1.0, (0.01, 0.02, 0.01)))
        model.add(RevoluteJoint(axle, wheel, (0, 1, 0)))
        model.add(RollingDisc(model.ground, wheel, (0, 0, 1), (0, 1, 0), r))
    solution = mbs.simulate(model, 0.5, 0.01)
    angle = turn * solution.t
    circle = speed / turn * np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1)
    np.testing.assert_allclose(solution.displacement(axle), circle, atol=1e-4)
    assert len(solution.redundant) == 4 and not solution.stats.failed_steps
    assert solution.stats.newton_iterations.max() <= 3
    assert solution.constraint_residual.velocity.max() < 1e-9
