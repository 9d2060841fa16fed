"""A spring that slips: dry friction, a rope on a drum, a bar that yields.

Ideal plasticity in one dimension by return mapping (Simo, Hughes, *Computational Inelasticity*, 1998, section 1.4;
docs/theory.md, "Lines").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.coordinate_law import Acting, Law
from fem_mbs.elements.line import LineBatch, LineElement
from fem_mbs.model import ElementBatch, Energy, Motion, Node, Numbering, Positive, Unknown, Vector3, checked


@checked
class SlipSpring(LineElement):
    """A spring between points of two nodes that slips where its force would exceed a limit.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    stiffness : float
        While it holds, N/m.
    limit : float
        Largest pull or push, N.
    free_length : float, optional
        Length without force at t = 0, m; by default the distance of the points as built.
    point_a, point_b : (3,), optional
        Points in the node frames; the nodes themselves by default.

    Notes
    -----
    The length without force has a history: it stays during a step, and follows afterwards if the spring has slipped
    (elasticity and ideal plasticity, by return mapping). ``solution.unknowns(spring, "free length")`` has it.
    """

    def __init__(
        self,
        a: Node,
        b: Node,
        stiffness: Positive,
        limit: Positive,
        free_length: Positive | None = None,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        self.stiffness, self.limit = stiffness, limit
        free = self.built if free_length is None else free_length
        self.unknowns = (Unknown("free length", "history", free, size=self.built, unit="m"),)

    @classmethod
    def batch(cls, elements: Sequence[SlipSpring], number: Numbering) -> ElementBatch:
        """All such springs of a model."""
        return SlipBatch(elements, number)


class SlipBatch(LineBatch):
    """Springs that slip as arrays."""

    def __init__(self, elements: Sequence[SlipSpring], number: Numbering) -> None:
        super().__init__(elements, number)
        self.k, self.limit = np.array([[element.stiffness, element.limit] for element in elements]).T

    def law(self, length: Array, speed: Array, state: Array, prescribed: None) -> Law:
        """The force of the spring, cut at the limit; history has no equation."""
        tried = self.k * (length - state[:, 0])
        holds = np.abs(tried) <= self.limit
        value, by_length, none = np.zeros((3, len(tried), 2))
        value[:, 0], by_length[:, 0] = np.clip(tried, -self.limit, self.limit), np.where(holds, self.k, 0.0)
        return Law(value, by_length, none, none[..., None])

    def accept(self, context: Acting) -> Array:
        """The length without force that leaves the force as it is."""
        free: Array = context.q - context.law.value[:, 0] / self.k
        return free[:, None]

    def energy(self, motion: Motion) -> Energy:
        """What the springs store."""
        law = self.acting(motion, None).law
        return Energy(strain=0.5 * law.value[:, 0] ** 2 / self.k)
