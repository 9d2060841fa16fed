"""The woodpecker toy of Glocker: a sleeve with play on a pole, and a bird on a spring that pecks it on its way down.

Coordinates are the height y of the sleeve, its angle and that of the bird; the geometry is linear in them, as in all
that is published of it: an element and contacts of its own, on a node whose place is the three of them. Glocker,
Studer, Multibody System Dynamics 13 (2005) 447; Leine, Glocker, Van Campen, J. Vibration and Control 9 (2003) 25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, compared
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
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution

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

    def measure(self, motion: Motion) -> Gaps:
        gradient = np.zeros((1, 3, 3, 6))
        gradient[0, :, 0, :3], gradient[0, :, 1, :3] = NORMAL, SLIP
        return Gaps((GAP_0 + NORMAL @ motion.x[self.nodes[0, 0]])[None], gradient, None)

    def second(self, gaps: Gaps) -> Array:
        return np.zeros((1, 3, 3, 6, 6))


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
def pecks() -> list[Quantity]:
    """Glocker: sleeve and beak hit the pole five times a period, stick and slide; the bird comes down step by step."""
    solution = simulate(woodpecker(), 0.2, 1e-4)
    q, impulses = solution.position("toy"), solution.impulses("pole")
    t = np.array([own.t for own in impulses if own.normal > 0.0])
    hits = t[np.append(True, np.diff(t) > 1e-4)]
    furthest, height = swings(solution)
    schemes = "computed: two other schemes, which agree"
    siconos = "computed: siconos, of first order, at 20 us"
    k = int(np.abs(solution.t - 0.15).argmin())
    return [
        *compared(
            [f"impact {n + 1} (s)" for n in range(5)],
            hits[:5],
            (0.07788, 0.08099, 0.08157, 0.11868, 0.12133),
            1e-3,
            schemes,
        ),
        Quantity("least angle of the bird", q[solution.t <= 0.15, 2].min(), -0.53006, 1e-3, schemes),
        Quantity("largest angle of the bird", q[solution.t <= 0.15, 2].max(), 0.11990, 1e-3, schemes),
        Quantity("largest angle of the sleeve", q[:, 1].max(), GAP_0[1] / HALF, 1e-8, "exact: the play of the sleeve"),
        Quantity("height at 0.15 s (mm)", 1e3 * q[k, 0], -20.687, 2e-3, schemes),
        Quantity("the same", 1e3 * q[k, 0], -20.768, 1e-2, siconos),
        Quantity("period (s)", furthest[1] - furthest[0], 0.17888 - 0.03282, 1e-2, siconos),
        Quantity("way down in a period (mm)", 1e3 * (height[0] - height[1]), 19.48, 1e-2, siconos),
    ]
