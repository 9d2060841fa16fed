"""Machines with play: the slider-crank of Flores, Leine, Glocker, and the woodpecker toy of Glocker.

The slider (Multibody System Dynamics 23 (2010) 61) is a block in a guide that is 1 mm wider on either side, and knocks
on it with its corners. Gravity acts across the guide.

The toy is a sleeve with play on a pole, and a bird on a spring that pecks it on its way down. Coordinates are the
height y of the sleeve, its angle and that of the bird; the geometry is linear in them, as in all that is published of
it: an element and contacts of its own, on a node whose place is the three of them. Glocker, Studer, Multibody System
Dynamics 13 (2005) 447; Leine, Glocker, Van Campen, J. Vibration and Control 9 (2003) 25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.benchmarks.case import case, rows
from fem_mbs.contracts import (
    Element,
    ElementBatch,
    Energy,
    Gaps,
    Motion,
    Node,
    Numbering,
    UnilateralBatch,
    carried_variables,
    node_rows,
)
from fem_mbs.elements import Ball, Box, Contact, Cylinder, Plane, RevoluteJoint, RigidBody
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution

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
SPRING, G, POLE, HOLE, HALF = 0.0056, 9.81, 0.0025, 0.0031, 0.0058
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
        """Of the spring."""
        return _of_place(K)

    def mass(self, context: None) -> Array:
        """Some for rotations, which are held."""
        result = _of_place(M)
        result[0, 3:, 3:] = 1e-6 * np.eye(3)
        return result

    def energy(self, motion: Motion) -> Energy:
        """Kinetic, of the spring, and of the weight."""
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
