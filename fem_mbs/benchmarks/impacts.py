"""Rigid contact: impacts behind a joint and against a stop, closed contact, bounces to rest, machines with play.

Exact motions between impacts come from an explicit method of eighth order that stops at each, or from closed forms.

Machines with play have published ones: the slider of Flores, Leine, Glocker (Multibody System Dynamics 23 (2010) 61) is
a block in a guide that is 1 mm wider on either side, and knocks on it with its corners. Gravity acts across the guide.
The woodpecker toy of Glocker is a sleeve with play on a pole, and a bird on a spring that pecks it on its way down.
Coordinates are the height y of the sleeve, its angle and that of the bird; the geometry is linear in them, as in all
that is published of it: an element and contacts of its own, on a node whose place is the three of them. Glocker,
Studer, Multibody System Dynamics 13 (2005) 447; Leine, Glocker, Van Campen, J. Vibration and Control 9 (2003) 25.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.arrays import Array, IntArray
from fem_mbs.benchmarks.case import case, known, rows
from fem_mbs.contracts import Element, ElementBatch, Energy, Gaps, Motion, Node, UnilateralBatch, carried_variables
from fem_mbs.contracts.component import Numbering, node_rows
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamSection,
    Box,
    Bush,
    Contact,
    Cylinder,
    JointForce,
    JointSpring,
    JointStop,
    Plane,
    PointMass,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    Rope,
)
from fem_mbs.lie import so3
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution

G = 9.81
STEPS = 0.02, 0.01, 0.005, 0.0025


class ContactProblem(NamedTuple):
    """A problem with contacts whose motion is known."""

    name: str
    t_end: float
    build: Callable[[], Model]
    read: Callable[[Solution], Array]
    """Quantities ``(nt, k)``."""
    exact: Callable[[Array], Array]
    """The same at some times."""


def errors(problem: ContactProblem, h: float) -> Array:
    """Mean errors ``(k,)`` over all steps of length ``h``."""
    solution = simulate(problem.build(), problem.t_end, h)
    return np.abs(problem.read(solution) - problem.exact(solution.t)).mean(axis=0)


def fitted(problem: ContactProblem, steps: Sequence[float] = STEPS) -> tuple[Array, Array]:
    """Mean errors ``(steps, k)``, and the orders ``(k,)`` fitted to them."""
    found = np.array([errors(problem, h) for h in steps])
    return found, np.polyfit(np.log(steps), np.log(found), 1)[0]


def bouncing(
    rates: Callable[[float, Array], Sequence[float]], start: Sequence[float], wall: float, e: float, t: Array
) -> Array:
    """Coordinate and rate ``(nt, 2)`` of one coordinate that comes back from a wall."""

    def gap(_: float, y: Array) -> float:
        return float(y[0] - wall)

    gap.terminal, gap.direction = True, np.sign(wall - start[0])  # type: ignore[attr-defined]
    y, begin, result = np.asarray(start, float), 0.0, np.zeros((len(t), 2))
    while True:
        run = solve_ivp(rates, (begin, t[-1]), y, "DOP853", events=gap, dense_output=True, rtol=1e-12, atol=1e-13)
        there = (t >= begin) & (t <= run.t[-1])
        result[there] = run.sol(t[there]).T
        if run.status == 0:
            return result
        begin, y = run.t[-1], np.array([wall, -e * run.y[1, -1]])


def pendulum() -> Model:
    """A mass on a rod of 1 m, from 60 degrees, and a wall at x = -0.3 m."""
    model, a = Model(gravity=(0, 0, -G)), np.pi / 3
    bob = model.add_node((np.sin(a), 0, -np.cos(a)), name="bob")
    model.add(RigidBody(bob, 1.0, [1e-9] * 3))
    model.add(RevoluteJoint(model.ground, bob, (0, -1, 0), point=(0, 0, 0)))
    wall = Plane((1, 0, 0), (-0.31, 0, 0))
    model.add(Contact(model.ground, bob, wall, Ball(0.01), restitution=0.8), name="contact")
    return model


def _swing(t: Array) -> Array:
    found = bouncing(lambda _, y: (y[1], -G * np.sin(y[0])), (np.pi / 3, 0.0), np.arcsin(-0.3), 0.8, t)
    return np.sin(found[:, :1])


OMEGA, ZETA = 2.0 * np.pi, 0.02


def oscillator() -> Model:
    """A mass of 1 kg on a spring and a damper, driven by ``10 cos(4 t)``, and a stop at 0.05 m."""
    model = Model()
    body = model.add_node((0, 0, 0))
    model.add(RigidBody(body, 1.0, [1.0] * 3))
    rail = model.add(PrismaticJoint(model.ground, body, (1, 0, 0)), name="rail")
    model.add(JointSpring(rail, OMEGA**2, 2.0 * ZETA * OMEGA))
    model.add(JointForce(rail, lambda t, q, rate: 10.0 * np.cos(4.0 * t)))
    model.add(JointStop(rail, None, 0.05, restitution=0.8), name="contact")
    return model


def _driven(t: Array) -> Array:
    def rates(t: float, y: Array) -> tuple[float, float]:
        return y[1], 10.0 * np.cos(4.0 * t) - 2.0 * ZETA * OMEGA * y[1] - OMEGA**2 * y[0]

    return bouncing(rates, (0.0, 0.0), 0.05, 0.8, t)[:, :1]


def bowl() -> Model:
    """A bead of 1 kg that slides in a bowl of 1 m without friction, from 60 degrees."""
    model, a, r = Model(gravity=(0, 0, -G)), np.pi / 3, 0.01
    bead = model.add_node((np.sin(a), 0, -np.cos(a)), name="bead")
    model.add(RigidBody(bead, 1.0, [1e-4] * 3))
    model.add(Contact(model.ground, bead, Bush(1.0 + r, (0, 1, 0)), Ball(r)), name="contact")
    return model


def _slide(t: Array) -> Array:
    found = bouncing(lambda _, y: (y[1], -G * np.sin(y[0])), (np.pi / 3, 0.0), 2.0, 0.0, t)
    return np.stack([np.sin(found[:, 0]), G * np.cos(found[:, 0]) + found[:, 1] ** 2], axis=-1)


def ball() -> Model:
    """A ball that falls 1 m and comes back with 0.8 of its speed."""
    model, r = Model(gravity=(0, 0, -G)), 0.1
    node = model.add_node((0, 0, 1.0 + r), name="ball")
    model.add(RigidBody(node, 1.0, [0.4 * r * r] * 3))
    model.add(Contact(model.ground, node, Plane(), Ball(r), restitution=0.8), name="contact")
    return model


def _height(t: Array) -> Array:
    e, first = 0.8, np.sqrt(2.0 / G)
    hits = first * np.append(1.0, 1.0 + 2.0 * np.cumsum(e ** np.arange(1, 200)))
    k = np.searchsorted(hits, t)
    since = t - hits[np.maximum(k, 1) - 1]
    speed = e ** np.maximum(k, 1) * np.sqrt(2.0 * G)
    later = np.maximum(speed * since - 0.5 * G * since**2, 0.0)
    return np.where(k == 0, 1.0 - 0.5 * G * t**2, np.where(t < first * (1 + e) / (1 - e), later, 0.0))[:, None]


PENDULUM = ContactProblem("mass on a rod and a wall", 3.0, pendulum, lambda s: s.position("bob")[:, :1], _swing)
OSCILLATOR = ContactProblem(
    "driven oscillator with a stop", 5.0, oscillator, lambda s: s.coordinate("rail")[:, None], _driven
)
BOWL = ContactProblem(
    "bead in a bowl",
    3.0,
    bowl,
    lambda s: np.stack([s.position("bead")[:, 0], np.linalg.norm(s.contact_force("contact")[:, 0], axis=-1)], axis=-1),
    _slide,
)
BALL = ContactProblem("ball past all its bounces", 5.0, ball, lambda s: s.position("ball")[:, 2:] - 0.1, _height)

HALF_WIDTH, HALF_HEIGHT = 0.2, 0.6
UPRIGHT = known("rocking block")


def rocking_block() -> Model:
    """Housner's block of 0.4 m by 1.2 m that rocks on its corners, from 0.2 rad."""
    model, (b, h), R = Model(gravity=(0, 0, -G)), (HALF_WIDTH, HALF_HEIGHT), so3.exp(np.array([0, 0.2, 0]))
    node = model.add_node(-R @ [b, 0, -h], rotation=R, name="block")
    shape = Box((2 * b, 0.4, 2 * h), rotation=R)
    model.add(RigidBody(node, 1.0, [(b * b + h * h) / 3] * 3, shape=shape))
    model.add(Contact(model.ground, node, Plane(), shape, friction=2.0), name="floor")
    return model


def upright(solution: Solution) -> Array:
    """Times at which the block is upright, where it is hit."""
    t = np.array([impulse.t for impulse in solution.impulses("floor")])
    return t[np.append(True, np.diff(t) > 1e-3)]


def cradle(gap: float) -> Model:
    """Three balls of radius 0.1 m in a row with gaps, of which the first comes with 1 m/s; nothing is lost."""
    model, r = Model(), 0.1
    balls = [model.add_node((k * (2 * r + gap), 0, 0), velocity=(k == 0, 0, 0), name=f"ball {k}") for k in range(3)]
    for node in balls:
        model.add(RigidBody(node, 1.0, [0.004] * 3))
    for a, b in pairwise(balls):
        model.add(Contact(a, b, Ball(r), Ball(r), restitution=1.0))
    return model


YOUNG, RHO, AREA, LENGTH, SPEED, GAP = 210e9, 7800.0, 3.14e-4, 1.0, 0.1, 5e-5
WAVE = np.sqrt(YOUNG / RHO)


def _ordered(problem: ContactProblem) -> Array:
    """Mean error at the smallest step, and the order, of each quantity."""
    found, orders = fitted(problem)
    return np.stack([found[-1], orders], axis=-1)


@case("impacts behind a joint and on a stop", "contact", slow=True)
def impacts() -> list[Array]:
    """A mass on a rod hits a wall, a driven oscillator its stop nine times: of order 2 through all impacts."""
    return [_ordered(PENDULUM), _ordered(OSCILLATOR)]


@case("bead in a bowl", "contact", slow=True)
def bead() -> Array:
    """Contact that stays closed: a bead slides in a bowl, its place and the force on it are of order 2."""
    return _ordered(BOWL)


@case("bouncing ball", "contact")
def bounces() -> list[float]:
    """A ball bounces ever less, past all bounces to rest, in steps that know nothing of them."""
    solution = simulate(ball(), 5.0, 0.02)
    hits = [impulse.t for impulse in solution.impulses("contact")[:5]]
    off = np.abs(BALL.read(solution) - BALL.exact(solution.t))
    return [*hits, off.max(), solution.contact_force("contact")[-1, 0, 2]]


@case("sliding, rolling, three balls", "contact")
def friction() -> list[float]:
    """A block slides to rest, a bowling ball begins to roll; three balls that touch, and three that do not."""
    model = Model(gravity=(0, 0, -G))
    node = model.add_node((0, 0, 0.1), velocity=(2, 0, 0), name="block")
    model.add(RigidBody(node, 1.0, [0.01] * 3))
    model.add(Contact(model.ground, node, Plane(), Box((0.4, 0.4, 0.2)), friction=0.3), name="contact")
    stopped = simulate(model, 0.8, 0.02)
    model, r = Model(gravity=(0, 0, -G)), 0.1
    node = model.add_node((0, 0, r), velocity=(3, 0, 0), name="ball")
    model.add(RigidBody(node, 1.0, [0.4 * r * r] * 3))
    model.add(Contact(model.ground, node, Plane(), Ball(r), friction=0.2), name="floor")
    rolls = simulate(model, 1.0, 0.02)
    apart, touching = (simulate(cradle(gap), 0.05, 0.01) for gap in (1e-3, 0.0))
    speeds = [run.velocity(f"ball {k}")[-1, 0] for run in (apart, touching) for k in range(3)]
    return [stopped.position("block")[-1, 0], rolls.velocity("ball")[-1, 0], rolls.position("ball")[-1, 0], *speeds]


@case("rocking block", "contact", slow=True)
def rocks() -> list[Array]:
    """Housner 1963: a block rocks on its corners; each time it is upright it loses 0.15 of its speed."""
    runs = [upright(simulate(rocking_block(), 2.0, h)) for h in STEPS[:3]]
    off = [float(np.linalg.norm(run - UPRIGHT)) for run in runs]
    return [(4.0 * runs[2] - runs[1]) / 3.0, np.log2(off[1] / off[2])]


@case("bar hits a wall", "contact", slow=True)
def bar_and_wall() -> list[float]:
    """Doyen, Ern, Piperno 2011: a bar stays at the wall while its wave runs there and back, its force constant."""
    model, elements, side = Model(), 100, np.sqrt(AREA)
    section = BeamSection.rectangle(width=side, height=side, E=YOUNG, nu=0.0, rho=RHO)
    line = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, elements)
    for node in line.nodes:
        node.velocity = np.array([-SPEED, 0, 0])
    wall, end = Plane((1, 0, 0), (-GAP, 0, 0)), Ball(1e-9, center=(1e-9, 0, 0))
    model.add(Contact(model.ground, line.nodes[0], wall, end), name="wall")
    solution = simulate(model, 1.2e-3, 0.5 * LENGTH / elements / WAVE)
    force, t = solution.contact_force("wall")[:, 0, 0], solution.t
    impulse = float(np.trapezoid(force, t)) + sum(own.normal for own in solution.impulses("wall"))
    plateau = force[(t > 6e-4) & (t < 8e-4)]
    left = solution.energy.total[-1] / solution.energy.total[0]
    return [plateau.mean(), plateau.std(), 1e3 * t[force > 0.0].max(), impulse, left]


GRAVITY, CRANK, ROD, CLEARANCE = 9.81, 0.153, 0.306, 0.001
SLIDER_HALF = 0.05, 0.025
LINK_MASSES, LINK_INERTIAS = (0.038, 0.038, 0.076), (7.4e-5, 5.9e-4, 2.7e-6)
SPINS = 150.0, -75.0, -0.01
KNOCK_RESTITUTION, GUIDE_FRICTION = 0.4, 0.01
CORNERS = (-1, 1), (1, 1), (-1, -1), (1, -1)
"""Above and below, back and front."""
EDGE = 1e-6
"""Radius of the corners, m."""


def slider_crank() -> Model:
    """Bodies "crank", "rod" and "slider" in the plane x, z; hinge "shaft"; contacts "corner 1" to "corner 4"."""
    model = Model(gravity=(0, 0, -GRAVITY))
    ends = np.cumsum([0.0, CRANK, ROD])
    spins = [(0, -rate, 0) for rate in SPINS]
    middles = ends[0] + CRANK / 2, ends[1] + ROD / 2, ends[2]
    speeds = SPINS[0] * CRANK / 2, SPINS[0] * CRANK + SPINS[1] * ROD / 2, SPINS[0] * CRANK + SPINS[1] * ROD
    crank, rod, slider = (
        model.add_node((x, 0, 0), velocity=(0, 0, speed), angular_velocity=spin, name=name)
        for x, speed, spin, name in zip(middles, speeds, spins, ("crank", "rod", "slider"), strict=True)
    )
    a, b = SLIDER_HALF
    shapes = Cylinder(0.008, CRANK, (1, 0, 0)), Cylinder(0.006, ROD, (1, 0, 0)), Box((2 * a, 0.03, 2 * b))
    for node, mass, J, shape in zip((crank, rod, slider), LINK_MASSES, LINK_INERTIAS, shapes, strict=True):
        model.add(RigidBody(node, mass, [J] * 3, shape=shape))
    model.add(RevoluteJoint(model.ground, crank, (0, -1, 0), point=(0, 0, 0)), name="shaft")
    model.add(RevoluteJoint(crank, rod, (0, -1, 0), point=(ends[1], 0, 0)))
    model.add(RevoluteJoint(rod, slider, (0, -1, 0), point=(ends[2], 0, 0)))
    for k, (x, z) in enumerate(CORNERS):
        wall = Plane((0, 0, -z), (ends[2] - CRANK, 0, z * (b + CLEARANCE)), side=0.5)
        corner = Ball(EDGE, center=(ends[2] + x * (a - EDGE), 0, z * (b - EDGE)))
        own = Contact(model.ground, slider, wall, corner, restitution=KNOCK_RESTITUTION, friction=GUIDE_FRICTION)
        model.add(own, name=f"corner {k + 1}")
    return model


@case("slider-crank with play", "contact", slow=True)
def play() -> list[Array]:
    """Flores, Leine, Glocker 2010: a slider knocks on its guide, in whose play it turns."""
    solution = simulate(slider_crank(), 0.04, 2e-5)
    k = rows(solution.t, (0.01, 0.02, 0.03, 0.04))
    first = simulate(slider_crank(), 0.002692, 0.002692 / 269).impulses("corner 1")[0]
    return [np.array(first.t), solution.angle("shaft")[k] / (2.0 * np.pi), solution.coordinate_rate("shaft")[k]]


SLEEVE, BIRD, J_SLEEVE, J_BIRD = 3e-4, 4.5e-3, 5e-9, 7e-7
SPRING, POLE, HOLE, HALF = 0.0056, 0.0025, 0.0031, 0.0058
"""Stiffness; radii of the pole and of the hole; half the height of the sleeve."""
ARM, BODY, BEAK_UP, BEAK_BACK = 0.010, 0.015, 0.02, 0.0201
"""From the pole to the spring, from there to the mass centre of the bird; from there to its beak, up and back."""
FRICTION, RESTITUTION = 0.3, (0.5, 0.0, 0.0)
M = np.array(
    [
        [SLEEVE + BIRD, BIRD * ARM, BIRD * BODY],
        [BIRD * ARM, J_SLEEVE + BIRD * ARM**2, BIRD * ARM * BODY],
        [BIRD * BODY, BIRD * ARM * BODY, J_BIRD + BIRD * BODY**2],
    ]
)
K = SPRING * np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, -1.0, 1.0]])
WEIGHT = G * np.array([SLEEVE + BIRD, BIRD * ARM, BIRD * BODY])
GAP_0 = np.array([ARM + BODY - BEAK_BACK - POLE, HOLE - POLE, HOLE - POLE])
NORMAL = np.array([[0.0, 0.0, -BEAK_UP], [0.0, HALF, 0.0], [0.0, -HALF, 0.0]])
SLIP = np.array([[1.0, ARM, BODY - BEAK_BACK], [1.0, HOLE, 0.0], [1.0, HOLE, 0.0]])
START, RATES = (0.0, -GAP_0[1] / HALF, -0.2788), (-0.3411, 0.0, -7.4583)
"""Just after an impact of the periodic motion; published with -0.1036 of the sleeve, 0.9 um deep."""


class Mechanism(Element):
    """Masses, spring and weight."""

    def __init__(self, node: Node) -> None:
        self.nodes = (node,)


class MechanismBatch(ElementBatch, of=Mechanism):
    """``M q'' + K q + w``."""

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, None]:
        result = np.zeros((1, 6))
        q, acceleration = motion.x[self.nodes[0, 0]], motion.A[self.nodes[0, 0], :3]
        result[0, :3] = M @ acceleration + K @ q + WEIGHT
        result[0, 3:] = 1e-6 * motion.A[self.nodes[0, 0], 3:]
        return result, None

    def stiffness(self, context: None) -> Array:
        return _of_place(K)

    def mass(self, context: None) -> Array:
        """Some for rotations, which are held."""
        result = _of_place(M)
        result[0, 3:, 3:] = 1e-6 * np.eye(3)
        return result

    def energy(self, motion: Motion) -> Energy:
        row = self.nodes[0, 0]
        q, v = motion.x[row], motion.V[row, :3]
        return Energy(*(np.array([part]) for part in (0.5 * v @ M @ v, 0.5 * q @ K @ q, WEIGHT @ q)))


class PoleContacts(Element):
    """The beak, and the lower and the upper edge of the sleeve, at the pole."""

    contacts = ("beak", "lower edge", "upper edge")
    internal_variables = carried_variables(contacts)

    def __init__(self, node: Node) -> None:
        self.nodes = (node,)


class PoleContactsBatch(UnilateralBatch, of=PoleContacts):
    """Gaps and slips that are linear."""

    def __init__(self, elements: Sequence[PoleContacts], number: Numbering) -> None:
        super().__init__(elements, number)
        self.nodes = node_rows(elements, number)
        self.friction, self.restitution = np.full((1, 3), FRICTION), np.array([RESTITUTION])

    def gaps(self, motion: Motion) -> Array:
        return np.asarray((GAP_0 + NORMAL @ motion.x[self.nodes[0, 0]])[None])

    def measure(self, motion: Motion, rows: IntArray, places: IntArray) -> Gaps:
        gradient = np.zeros((len(rows), 3, 6))
        gradient[:, 0, :3], gradient[:, 1, :3] = NORMAL[places], SLIP[places]
        return Gaps(self.gaps(motion)[rows, places], gradient, None)

    def second(self, gaps: Gaps) -> Array:
        return np.zeros((len(gaps.gap), 3, 6, 6))


def _of_place(matrix: Array) -> Array:
    result = np.zeros((1, 6, 6))
    result[0, :3, :3] = matrix
    return result


def woodpecker() -> Model:
    """Node "toy" with the three coordinates, and the contacts "pole"."""
    model = Model()
    toy = model.add_node(START, velocity=RATES, name="toy")
    model.fix(toy, False, True)
    model.add(Mechanism(toy))
    model.add(PoleContacts(toy), name="pole")
    return model


def swings(solution: Solution) -> tuple[Array, Array]:
    """Instants at which the bird is furthest from the pole, and the heights of the sleeve there."""
    rate, t, height = solution.velocity("toy")[:, 2], solution.t, solution.position("toy")[:, 0]
    k = np.flatnonzero((rate[:-1] < 0.0) & (rate[1:] >= 0.0) & (solution.position("toy")[:-1, 2] < -0.4))
    share = rate[k] / (rate[k] - rate[k + 1])
    return t[k] + share * (t[k + 1] - t[k]), height[k] + share * (height[k + 1] - height[k])


@case("woodpecker toy", "contact", slow=True)
def pecks() -> list[float]:
    """Glocker: sleeve and beak hit the pole five times a period, stick and slide; the bird comes down step by step."""
    solution = simulate(woodpecker(), 0.2, 1e-4)
    q, impulses = solution.position("toy"), solution.impulses("pole")
    t = np.array([own.t for own in impulses if own.normal > 0.0])
    hits = t[np.append(True, np.diff(t) > 1e-4)]
    furthest, height = swings(solution)
    early, low = solution.t <= 0.15, 1e3 * q[rows(solution.t, (0.15,))[0], 0]
    angles = q[early, 2].min(), q[early, 2].max(), q[:, 1].max()
    return [*hits[:5], *angles, low, low, furthest[1] - furthest[0], 1e3 * (height[0] - height[1])]


@case("ball on a turntable", "contact", refine=(75, 150, 300))
def turntable(steps: int) -> Array:
    """A ball rolls on a table that turns, in circles, at 2/7 of its speed: where it is after 3 s, and the friction."""
    model, speed, r = Model(gravity=(0, 0, -G)), 2.0, 0.25
    table = model.add_node((0, 0, 0), angular_velocity=(0, 0, speed))
    model.add(RigidBody(table, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, table, (0, 0, 1), drive=lambda t: speed * t))
    ball = model.add_node((1, 0, r), velocity=(0, 0.5, 0), angular_velocity=((speed - 0.5) / r, 0, 0))
    model.add(RigidBody(ball, 1.0, [0.4 * r * r] * 3))
    contact = model.add(Contact(table, ball, Plane(), Ball(r), friction=0.5))
    solution = simulate(model, 3.0, 3.0 / steps)
    return np.concatenate([solution.position(ball)[-1, :2], solution.contact_force(contact)[-1, 0, :2]])


@case("rope that goes slack", "contact", refine=(200, 400, 800))
def slack_rope(steps: int) -> Array:
    """A bob on a rope, too slow for its loop, flies until the rope pulls it up again: where it is after 2 s."""
    model = Model(gravity=(0, 0, -G))
    bob = model.add_node((0, 0, -1), velocity=(np.sqrt(3.5 * G), 0, 0))
    model.add(PointMass(bob, 1.0))
    model.add(Rope(model.ground, bob, 1.0, point_a=(0, 0, 0)))
    return simulate(model, 2.0, 2.0 / steps).position(bob)[-1, ::2]
