"""The library of the IFToMM committee for multibody dynamics (Gonzalez, Dopico, Lugris, Cuadrado 2006): A01 to A05.

The series of the library are not public; the references are solutions of the same data in minimal coordinates. A03,
Andrews' squeezing mechanism, is as in the test set of initial value problems (Mazzia, Magherini 2008): seven bodies in
a plane; three rods and a triangle meet at E. Angles ``q`` and lengths are named as in the test set.
A05 is the flyball governor: rods with balls turn about a shaft and lift a slider by stiff spring-dampers.

The spatial rigid slider-crank (Haug 1989, Masarati): a crank about x, whose mass centre is at its middle as in the
published series, drives a slider along x.

And Bennett's linkage (1903): four hinges in space, in a ring that should not move by the count of its equations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import BenchmarkProblem, case, known, refined, rows, solve, twice_extrapolated
from fem_mbs.contracts import Node
from fem_mbs.elements import (
    FixedJoint,
    Harmonic,
    Moment,
    PointMass,
    PrismaticJoint,
    Ramp,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
    UniversalJoint,
)
from fem_mbs.initial.given_velocities import project_velocities
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution

GRAVITY = 9.81


def pendulum(group: str = "R3xSO3") -> Model:
    """A01: a point mass "bob" on a massless rod of 1 m, let go from the side."""
    model = Model(group, gravity=(0, -GRAVITY, 0))
    bob = model.add_node((-1, 0, 0), name="bob")
    model.add(PointMass(bob, 1.0))
    model.add(RevoluteJoint(model.ground, bob, axis=(0, 0, 1), point=(0, 0, 0)))
    return model


def windows(count: int, group: str = "R3xSO3") -> Model:
    """A02: parallelograms side by side; "post 1" has the point B0 at its head."""
    model = Model(group, gravity=(0, -GRAVITY, 0))
    upright = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    inertia, z = (1e-3, 1 / 12, 1 / 12), (0, 0, 1)
    posts = []
    for k in range(count + 1):
        post = model.add_node(
            (k, 0.5, 0), upright, velocity=(0.5, 0, 0), angular_velocity=(0, 0, -1), name=f"post {k + 1}"
        )
        model.add(RigidBody(post, 1.0, inertia))
        model.add(RevoluteJoint(model.ground, post, z, point=(k, 0, 0)))
        posts.append(post)
    for k in range(count):
        bar = model.add_node((k + 0.5, 1, 0), velocity=(1, 0, 0))
        model.add(RigidBody(bar, 1.0, inertia))
        model.add(RevoluteJoint(posts[k], bar, z, point=(k, 1, 0)))
        model.add(RevoluteJoint(bar, posts[k + 1], z, point=(k + 1, 1, 0)))
    return model


def _point(node: str, place: Sequence[float], solution: Solution) -> Array:
    """A point ``(nt, 3)`` of a body."""
    return solution.position(node) + solution.rotation(node) @ np.array(place)


def _windows(count: int, case: str) -> BenchmarkProblem:
    return BenchmarkProblem(
        case, partial(windows, count), lambda solution: _point("post 1", (0.5, 0, 0), solution)[:, :2], (1, 5, 10)
    )


CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)


def bricard(group: str = "R3xSO3") -> Model:
    """A04: "rod 1" to "rod 5" and six hinges in a ring that should not move by the count of its equations, and does."""
    model = Model(group, gravity=(0, -GRAVITY, 0))
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    last = model.ground
    for k, (begin, end, axis) in enumerate(zip(CORNERS[:-1], CORNERS[1:], axes[:-1], strict=True), 1):
        rod = model.add_node((begin + end) / 2, name=f"rod {k}")
        side = 0.1
        inertia = np.where(end == begin, (1 + side**2) / 12, side**2 / 6)
        model.add(RigidBody(rod, 1.0, inertia))
        model.add(RevoluteJoint(last, rod, axis, point=begin))
        last = rod
    model.add(RevoluteJoint(last, model.ground, axes[-1], point=CORNERS[-1]))
    return model


PENDULUM = BenchmarkProblem(
    "IFToMM A01, simple pendulum", pendulum, lambda solution: solution.position("bob")[:, :2], (1, 5, 10)
)
TWO_WINDOWS = _windows(2, "IFToMM A02, N-four-bar")
FORTY_WINDOWS = _windows(40, "IFToMM A02 with 40 windows")
LINKAGE = BenchmarkProblem(
    "IFToMM A04, Bricard's linkage", bricard, partial(_point, "rod 2", (0, -0.5, 0)), (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
)


def _check(problem: BenchmarkProblem, *steps: int) -> Array:
    return refined(lambda count: solve(problem, count)[1], steps)


def _drift(problem: BenchmarkProblem, steps: int) -> float:
    """The criterion of the library: the largest change of energy, judged by what weight exchanges with motion."""
    total = solve(problem, steps)[0].energy.total
    return float(np.abs(total - total[0]).max())


@case("IFToMM A01, simple pendulum", "machines")
def simple_pendulum() -> Array:
    """A point mass of 1 kg on a massless rod of 1 m, let go from the side."""
    return _check(PENDULUM, 1000, 2000, 4000)


@case("IFToMM A02, N-four-bar", "machines", slow=True)
def two_windows() -> Array:
    """Two parallelograms side by side turn over and pass ten positions with all bars in line."""
    return np.append(_check(TWO_WINDOWS, 2000, 4000, 8000), _drift(TWO_WINDOWS, 4000))


@case("IFToMM A02 with 40 windows", "machines", slow=True)
def forty_windows() -> Array:
    """Forty parallelograms side by side: 81 bars, 121 hinges, at positions in line 41 ways to go on."""
    return np.append(_check(FORTY_WINDOWS, 1000, 2000, 4000), _drift(FORTY_WINDOWS, 2000))


@case("IFToMM A04, Bricard's linkage", "machines")
def bricard_case() -> Array:
    """Five rods and six hinges in a ring that should not move by the count of its equations, and does."""
    return _check(LINKAGE, 250, 500, 1000)


# Bennett's linkage

TWISTS = np.radians((40.0, 75.0))
LENGTHS = 0.3 * np.sin(TWISTS) / np.sin(TWISTS[0])
"""Of neighbours: angles between the axes of the hinges, and lengths in m, which are as the sines of the angles."""
RATIO = np.sin(TWISTS.sum() / 2) / np.sin((TWISTS[1] - TWISTS[0]) / 2)
BENNETT_START, MASS, INERTIA = np.radians(50.0), 1.5, np.array((2e-3, 1.2e-2, 1.1e-2))
DRIVE = Ramp(1.2) + Harmonic(0.4, 1.5 / np.pi)
"""Angle of the first hinge from the start on, in rad: ``1.2 t + 0.4 sin(3 t)``."""


def second(u: float) -> float:
    """Angle of the second hinge for that of the first: ``tan(u/2) tan(v/2)`` is constant."""
    return float(2 * np.arctan2(RATIO * np.cos(u / 2), np.sin(u / 2)))


def links(u: float) -> list[tuple[Array, Rotation]]:
    """Places of the four hinges, and how their links lie, x along the link and z along the axis."""
    result, x, R = [], np.zeros(3), Rotation.identity()
    for angle, length, twist in zip(
        (u, second(u), -u, -second(u)), (*LENGTHS, *LENGTHS), (*TWISTS, *TWISTS), strict=True
    ):
        R = R * Rotation.from_rotvec((0, 0, angle))
        result.append((x, R))
        x, R = x + R.apply((length, 0, 0)), R * Rotation.from_rotvec((twist, 0, 0))
    return result


def bennett(group: str = "R3xSO3") -> Model:
    """Three bodies and the ground on hinges "1" to "4"; the first is driven."""
    model, ring = Model(group, gravity=(0, 0, -GRAVITY)), links(BENNETT_START)
    last = model.ground
    for k, ((x, R), length) in enumerate(zip(ring[:3], (*LENGTHS, LENGTHS[0]), strict=True), 1):
        node = model.add_node(x + R.apply((length / 2, 0, 0)), R.as_matrix())
        model.add(RigidBody(node, MASS, INERTIA))
        axis = R.apply((0, 0, 1))
        model.add(RevoluteJoint(last, node, axis, point=x, drive=DRIVE if k == 1 else None), name=f"{k}")
        last = node
    model.add(RevoluteJoint(model.ground, last, ring[3][1].apply((0, 0, 1)), point=ring[3][0]), name="4")
    project_velocities(model)
    return model


@case("Bennett's linkage", "machines")
def bennett_case() -> Iterator[Array]:
    """Three bodies on four skew hinges move by one drive: angle of the second hinge, and the torque that it takes."""
    solution = simulate(bennett(), 1.5, 0.01, RadauIIA())
    at = rows(solution.t, (0.5, 1.0, 1.5))
    yield solution.coordinate("2")[at]
    yield solution.reaction("1")[1][at, 2]


NAMES = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
START = (
    *(-0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885),
    *(0.487364979543842551, -0.222668390165885885, 1.23054744454982119),
)
ANGLES = known("IFToMM A03, Andrews' squeezer")[:7]
"""At the start, and after 30 ms."""
AT_E = ("E 1", "E 2", "E 3")


def _along(angle: float, x: float, y: float) -> Array:
    """A place that is given along a line at an angle from x, and across it to the left."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * x - s * y, s * x + c * y, 0.0])


def squeezer(group: str = "R3xSO3") -> Model:
    """Bodies by the points of the test set, the hinges of its angles by name, and hinges "E 1" to "E 3" at E."""
    beta, Theta, gamma, Phi, delta, Omega, epsilon = START
    A, B = np.array([-0.06934, -0.00227, 0]), np.array([-0.03635, 0.03273, 0])
    F = _along(beta, 0.007, 0)
    E = F - _along(beta + Theta, 0.028, 0)
    G, H = A + _along(delta, 0.04, 0), A + _along(epsilon, 0, -0.04)
    model = Model(group)

    def body(name: str, mass: float, inertia: float, place: Array) -> Node:
        node = model.add_node(place, name=name)
        model.add(RigidBody(node, mass, (inertia, inertia, inertia)))
        return node

    crank = body("OF", 0.04325, 2.194e-6, _along(beta, 0.00092, 0))
    fe = body("FE", 0.00365, 4.41e-7, F - _along(beta + Theta, 0.0115, 0))
    triangle = body("BDE", 0.02373, 5.255e-6, B + _along(gamma, 0.01043, -0.01874))
    ge = body("GE", 0.00706, 5.667e-7, G + _along(Phi + delta, 0, 0.01421 - 0.02))
    ag = body("AG", 0.0705, 1.169e-5, A + _along(delta, 0.02308, 0.00916))
    he = body("HE", 0.00706, 5.667e-7, H + _along(Omega + epsilon, 0.02 - 0.01421, 0))
    ah = body("AH", 0.05498, 1.912e-5, A + _along(epsilon, -0.00449, -0.01228))

    def hinge(name: str, a: Node, b: Node, point: Array) -> None:
        model.add(RevoluteJoint(a, b, axis=(0, 0, 1), point=point), name=name)

    ground = model.ground
    hinge("beta", ground, crank, np.zeros(3))
    hinge("Theta", crank, fe, F)
    hinge("gamma", ground, triangle, B)
    hinge("Phi", ag, ge, G)
    hinge("delta", ground, ag, A)
    hinge("Omega", ah, he, H)
    hinge("epsilon", ground, ah, A)
    for name, other in zip(AT_E, (triangle, ge, he), strict=True):
        hinge(name, fe, other, E)
    model.add(Moment(crank, (0, 0, 0.033)))
    D, C = B + _along(gamma, 0.02, -0.018), np.array([0.014, 0.072, 0])
    model.add(SpringDamper(ground, triangle, 4530.0, free_length=0.07785, point_a=C, point_b=D))
    return model


def read_squeezer(solution: Solution) -> Array:
    """Angles, rates and forces at E ``(nt, 20)``."""
    angles = np.array(START) + np.stack([solution.angle(name) for name in NAMES], axis=-1)
    rates = np.stack([solution.coordinate_rate(name) for name in NAMES], axis=-1)
    forces = np.concatenate([solution.reaction(name)[0][:, :2] for name in AT_E], axis=-1)
    return np.concatenate([angles, rates, forces], axis=-1)


SQUEEZER = BenchmarkProblem("IFToMM A03, Andrews' squeezer", squeezer, read_squeezer, (0.03,))


@case("IFToMM A03, Andrews' squeezer", "machines")
def squeezer_case() -> Array:
    """Andrews' squeezing mechanism after 30 ms: angles, rates, and the forces at the joint of four bodies."""
    return _check(SQUEEZER, 250, 500, 1000)


# The spatial slider-crank

CRANK_CENTER = np.array([0.0, 0.1, 0.12])
CRANK, ROD = 0.08, 0.3
CRANK_MASSES = 0.12, 0.5, 2.0
CRANK_INERTIA, ROD_AXIAL, ROD_TRANSVERSE = 1e-4, 4e-4, 4e-3
CRANK_TIMES = (1.0, 2.0, 3.0, 4.0, 5.0)


def slider_crank(group: str = "R3xSO3") -> Model:
    """Bodies "crank", "rod" and "slider" and the hinge "shaft".

    All nodes start with the axes of the world, so that no Tait-Bryan angle comes near its singular position.
    """
    model = Model(group, gravity=(0, 0, -GRAVITY))
    pin, end = CRANK_CENTER + (0, 0, CRANK), np.array([0.2, 0, 0])
    along = (end - pin) / ROD
    inertia = ROD_TRANSVERSE * np.eye(3) - (ROD_TRANSVERSE - ROD_AXIAL) * np.outer(along, along)
    crank = model.add_node((CRANK_CENTER + pin) / 2, velocity=(0, -0.24, 0), angular_velocity=(6, 0, 0), name="crank")
    turning = (1.92, -0.96, 0.48)
    rod = model.add_node((pin + end) / 2, velocity=(0.12, -0.24, 0), angular_velocity=turning, name="rod")
    slider = model.add_node(end, velocity=(0.24, 0, 0), name="slider")
    model.add(RigidBody(crank, CRANK_MASSES[0], (CRANK_INERTIA, CRANK_INERTIA, 1e-5)))
    model.add(RigidBody(rod, CRANK_MASSES[1], inertia))
    model.add(RigidBody(slider, CRANK_MASSES[2], (1e-4, 1e-4, 1e-4)))
    model.add(RevoluteJoint(model.ground, crank, (1, 0, 0), point=CRANK_CENTER), name="shaft")
    model.add(SphericalJoint(crank, rod, point=pin))
    model.add(UniversalJoint(rod, slider, np.cross(along, (1, 0, 0)), (1, 0, 0), point=end))
    model.add(PrismaticJoint(model.ground, slider, (1, 0, 0)))
    return model


def read_slider_crank(solution: Solution) -> Array:
    """Place of the slider in m and angle of the crank in rad ``(nt, 2)``."""
    return np.stack([solution.position("slider")[:, 0], solution.angle("shaft")], axis=-1)


SLIDER_CRANK = BenchmarkProblem("IFToMM spatial slider-crank", slider_crank, read_slider_crank, CRANK_TIMES)


@case("IFToMM spatial slider-crank", "machines", slow=True)
def spatial_slider_crank() -> Iterator[Array]:
    """Haug 1989: a crank that is let go with 6 rad/s moves a slider across over a rod in space."""
    runs = [solve(SLIDER_CRANK, steps)[1] for steps in (2500, 5000, 10000)]
    values = twice_extrapolated(*runs)
    yield values
    yield np.log2(np.linalg.norm(runs[1] - runs[0]) / np.linalg.norm(runs[2] - runs[1]))
    yield values[0]


# The flyball governor

STIFFNESS, DAMPING, FREE = 8e5, 4e4, 0.5
SPIN = 2 * np.pi
ANGLE = np.pi / 6
"""Of the rods below the horizontal at the start."""
OFFSET, SIDE, CUBE = 0.05, 0.01, 0.1
ROD_MASS, SLIDER_MASS, BALL_MASS = 0.3, 3.0, 5.0
AXIAL, ACROSS = ROD_MASS * SIDE**2 / 6, ROD_MASS * (1 + SIDE**2) / 12
UPRIGHT = SLIDER_MASS * CUBE**2 / 6


def governor(group: str = "R3xSO3") -> Model:
    """Bodies "shaft", "slider", "left", "right" and balls, and the joint "guide" of the slider."""
    model = Model(group, gravity=(0, -GRAVITY, 0))
    spin = np.array([0, SPIN, 0])
    shaft = model.add_node((0, 0.5, 0), angular_velocity=spin, name="shaft")
    slider = model.add_node((0, 0.5, 0), angular_velocity=spin, name="slider")
    model.add(RigidBody(shaft, ROD_MASS, (ACROSS, AXIAL, ACROSS)))
    model.add(RigidBody(slider, SLIDER_MASS, (UPRIGHT, UPRIGHT, UPRIGHT)))
    model.add(RevoluteJoint(model.ground, shaft, (0, 1, 0)))
    model.add(PrismaticJoint(shaft, slider, (0, 1, 0)), name="guide")
    for side, name in ((1, "right"), (-1, "left")):
        hinge = np.array([side * OFFSET, 1, 0])
        along = np.array([side * np.cos(ANGLE), -np.sin(ANGLE), 0])
        triad = np.stack([along, np.cross((0, 0, side), along), (0, 0, side)], axis=-1)
        middle, end = hinge + along / 2, hinge + along
        rod = model.add_node(middle, triad, velocity=np.cross(spin, middle), angular_velocity=spin @ triad, name=name)
        ball = model.add_node(end, velocity=np.cross(spin, end), angular_velocity=spin, name=f"{name} ball")
        model.add(RigidBody(rod, ROD_MASS, (AXIAL, ACROSS, ACROSS)))
        model.add(PointMass(ball, BALL_MASS))
        model.add(RevoluteJoint(shaft, rod, (0, 0, 1), point=hinge))
        model.add(FixedJoint(rod, ball))
        model.add(
            SpringDamper(slider, rod, STIFFNESS, DAMPING, free_length=FREE, point_a=slider.at((side * OFFSET, 0, 0)))
        )
    return model


GOVERNOR = BenchmarkProblem(
    "IFToMM A05, flyball governor",
    governor,
    lambda s: np.stack([s.coordinate("guide") + 0.5, s.angular_velocity("shaft")[:, 1]], axis=-1),
    (0.5, 1.0, 2.0, 5.0, 10.0),
)
"""Height of the slider and speed of the shaft."""


@case("IFToMM A05, flyball governor", "machines", slow=True, refine=(500, 1000, 2000))
def governor_case(steps: int) -> Array:
    """A governor swings up and down; the longest steps are 160 times as long as its couplers take to come to rest."""
    return solve(GOVERNOR, steps)[1]
