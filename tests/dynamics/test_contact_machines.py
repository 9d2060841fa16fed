"""Belts, wedges, vices and billiards against laws by hand: in any frame, in any units, on both groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Ball,
    Box,
    Contact,
    JointForce,
    Plane,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    ScrewJoint,
)

G = 9.81
CASES = [("R3xSO3", 1.0, 1.0, 0), ("SE3", 1.0, 1.0, 1), ("R3xSO3", 1e3, 1e-3, 2)]
"""Group, lengths and masses of SI in those of the model (m and kg, or mm and t), and the frame."""


class Bench:
    """A model in a frame and in units, which is told in those of SI."""

    def __init__(self, group: str, length: float, mass: float, seed: int, gravity: float = G) -> None:
        self.length, self.mass = length, mass
        self.Q = Rotation.random(None, np.random.default_rng(seed)).as_matrix() if seed else np.eye(3)
        self.model = mbs.Model(group, gravity=-gravity * length * self.Q[:, 2])

    def at(self, *place: float) -> Array:
        return self.length * self.Q @ place

    def body(self, place: tuple[float, ...], mass: float, size: float, turned: Array | None = None) -> mbs.Node:
        """One with the inertia of a cube."""
        R = self.Q if turned is None else self.Q @ turned
        node = self.model.add_node(self.at(*place), R)
        self.model.add(RigidBody(node, mass * self.mass, [mass * self.mass * (size * self.length) ** 2 / 6] * 3))
        return node

    def ball(self, x: float, radius: float, speed: float) -> mbs.Node:
        """One of 0.2 kg that rolls on a floor."""
        node = self.body((x, 0, radius), 0.2, np.sqrt(2.4) * radius)
        node.velocity = self.at(speed, 0, 0)
        node.angular_velocity = (0, speed / radius, 0)
        return node

    def found(self, vectors: Array) -> Array:
        return vectors @ self.Q / self.length

    def force(self, size: float) -> float:
        return size * self.mass * self.length


@pytest.mark.ci
@pytest.mark.parametrize("case", CASES)
def test_a_box_on_a_belt_slides_until_it_is_as_fast(case: tuple[str, float, float, int]) -> None:
    """For ``v/(mu g)``, half as far as the belt; the step within which that ends may be off by ``mu g h^2/8``."""
    bench, v, mu, t, h = Bench(*case), 1.0, 0.25, 0.6, 0.01
    belt, box = bench.body((0, 0, -0.1), 5.0, 0.2), bench.body((0, 0, 0.05), 2.0, 0.1)
    belt.velocity = bench.at(v, 0, 0)
    drive = {"drive": lambda t: bench.length * v * t}
    bench.model.add(PrismaticJoint(bench.model.ground, belt, bench.Q[:, 0], **drive))
    shapes = Plane(bench.Q[:, 2], (0, 0, 0)), Box(bench.length * np.array([0.3, 0.2, 0.1]))
    bench.model.add(Contact(belt, box, *shapes, friction=mu))
    end = mbs.simulate(bench.model, t, h)
    np.testing.assert_allclose(bench.found(end.velocity(box))[-1], [v, 0, 0], rtol=0, atol=1e-6)
    there = v * (t - 0.5 * v / (mu * G))
    np.testing.assert_allclose(bench.found(end.position(box))[-1], [there, 0, 0.05], rtol=0, atol=mu * G * h * h / 8)


@pytest.mark.one
@pytest.mark.parametrize("share", [0.98, 1.02])
@pytest.mark.parametrize("case", CASES)
def test_a_wedge_holds_up_to_twice_the_angle_of_friction(case: tuple[str, float, float, int], share: float) -> None:
    """Two jaws press its faces, each ``a`` off its axis: beyond ``tan(a) = mu`` they squeeze it out."""
    bench, mu, push, m, jaw, t = Bench(*case, 0.0), 0.3, 50.0, 0.4, 1.5, 0.2
    a = np.arctan(share * mu)
    wedge = bench.body((0, 0, 0), m, 0.1)
    for side in (1.0, -1.0):
        face = np.array([side * np.cos(a), 0, -np.sin(a)])
        on_it = np.array([side * 0.05, 0, 0])
        R = Rotation.from_euler("y", side * a).as_matrix()
        node = bench.body(tuple(on_it + 0.03 * face), jaw, 0.06, R)
        slide = bench.model.add(PrismaticJoint(bench.model.ground, node, bench.Q[:, 0]))
        bench.model.add(JointForce(slide, lambda t, q, v, side=side: -side * bench.force(push)))
        shapes = Plane(bench.Q @ face, bench.at(*on_it)), Box(bench.length * np.full(3, 0.06))
        bench.model.add(Contact(wedge, node, *shapes, friction=mu))
    end = mbs.simulate(bench.model, t, 0.01)
    along = np.tan(max(a - np.arctan(mu), 0.0))
    out = 2.0 * push * along / (m + 2.0 * jaw * np.tan(a) * along)
    np.testing.assert_allclose(bench.found(end.position(wedge))[-1], [0, 0, 0.5 * out * t * t], rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_what_is_held_in_a_vice_gains_nothing(
    case: tuple[str, float, float, int], caplog: pytest.LogCaptureFixture
) -> None:
    """A screw presses 600 N on what does not move at all: its rounding is no energy, and no step is damped."""
    bench, press, lead = Bench(*case), 600.0, 0.005
    block, jaw, spindle = (bench.body((x, 0, 0), m, 0.1) for x, m in ((0.0, 2.0), (0.1, 1.0), (0.2, 0.5)))
    axis, ground = bench.Q[:, 0], bench.model.ground
    bench.model.add(PrismaticJoint(ground, jaw, axis))
    screw = bench.model.add(ScrewJoint(ground, spindle, axis, bench.length * lead))
    bench.model.add(RevoluteJoint(jaw, spindle, axis))
    torque = bench.force(press * lead / (2.0 * np.pi)) * bench.length
    bench.model.add(JointForce(screw, lambda t, q, v: -torque))
    cube = Box(bench.length * np.full(3, 0.1))
    fixed = Box(cube.size, center=bench.at(-0.1, 0, 0), rotation=bench.Q)
    bench.model.add(Contact(ground, block, fixed, cube, friction=0.3))
    grip = bench.model.add(Contact(jaw, block, cube, cube, friction=0.3))
    end = mbs.simulate(bench.model, 0.1, 0.02)
    np.testing.assert_allclose(bench.found(end.position(block))[-1], 0.0, rtol=0, atol=1e-9)
    pressed = (end.contact_force(grip)[-1] @ bench.Q)[:, 0].sum()
    assert pressed == pytest.approx(-bench.force(press), rel=1e-6)
    assert end.checkpoint.memory.damped == 0 and "gained" not in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_ball_that_rolls_hits_another(case: tuple[str, float, float, int]) -> None:
    """Head on, with friction ``b`` between both: it lifts, the other is pressed on the cloth, which slows it, too.

    So the impulse is ``P = 2 m v/(2 - mu b)``, and ``b P`` takes of its spin what it gives to the other as a backspin;
    then both slide until they roll, with 5/7 of their speed and 2/7 of that of their skin. On SE(3), whose velocities
    turn with the ball, that is of order 2 in its turn in a step, 0.17 rad here.
    """
    bench, v, r, mu, b = Bench(*case), 2.0, 0.03, 0.2, 0.1
    cue, other = bench.ball(0.0, r, v), bench.ball(0.061, r, 0.0)
    skin = Ball(bench.length * r)
    for node in (cue, other):
        bench.model.add(Contact(bench.model.ground, node, Plane(bench.Q[:, 2], (0, 0, 0)), skin, friction=mu))
    bench.model.add(Contact(cue, other, skin, skin, restitution=1.0, friction=b))
    end = mbs.simulate(bench.model, 0.6, 0.0025)
    P = 2.0 / (2.0 - mu * b)
    speeds = [5 / 7 * (1 - P) + 2 / 7 * (1 - 2.5 * b * P), 5 / 7 * P - 2 / 7 * 2.5 * b * P]
    found = [bench.found(end.velocity(node))[-1, 0] / v for node in (cue, other)]
    np.testing.assert_allclose(found, speeds, rtol=0, atol=1e-3 if case[0] == "SE3" else 1e-9)
