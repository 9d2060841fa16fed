"""A spring and a damper in series.

``N = k (l - l_0 - z)``, ``z' = N/eta`` (docs/theory.md, "Lines").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.coordinate_law import Law
from fem_mbs.elements.line import LineBatch, LineElement
from fem_mbs.model import ElementBatch, Energy, Motion, Node, Numbering, Positive, Unknown, Vector3, checked


@checked
class Maxwell(LineElement):
    """A spring and a damper one behind the other, between points of two nodes: stiff against blows, it creeps.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    stiffness : float
        Of the spring, N/m.
    viscosity : float
        Force of the damper over its speed, N s/m. A force relaxes in ``viscosity/stiffness`` seconds.
    free_length : float, optional
        Length without force and with the damper as built, m; by default the distance of the points as built.
    point_a, point_b : (3,), optional
        Points in the node frames; the nodes themselves by default.

    Notes
    -----
    The elongation ``z`` of the damper is a state of the element: ``N = k (length - free_length - z)``, ``z' = N/eta``.
    ``solution.unknowns(element, "damper")`` has it. The force is a pull.
    """

    def __init__(
        self,
        a: Node,
        b: Node,
        stiffness: Positive,
        viscosity: Positive,
        free_length: Positive | None = None,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        self.stiffness, self.viscosity = stiffness, viscosity
        self.free_length = self.built if free_length is None else free_length
        self.unknowns = (Unknown("damper", "state", size=self.built, unit="m"),)

    @classmethod
    def batch(cls, elements: Sequence[Maxwell], number: Numbering) -> ElementBatch:
        """All Maxwell elements of a model."""
        return MaxwellBatch(elements, number)


class MaxwellBatch(LineBatch):
    """Maxwell elements as arrays."""

    def __init__(self, elements: Sequence[Maxwell], number: Numbering) -> None:
        super().__init__(elements, number)
        self.k, eta, self.free = np.array([[e.stiffness, e.viscosity, e.free_length] for e in elements]).T
        shares = np.stack([np.ones_like(eta), -1.0 / eta], axis=-1)
        """Pull, and minus the rate of the state, per unit of the force of the spring."""
        self._shares = shares
        self._slopes = self.k[:, None] * shares

    def law(self, length: Array, speed: Array, state: Array, prescribed: None) -> Law:
        """``N`` and ``-N/eta``."""
        pull = self.k * (length - self.free - state[:, 0])
        slopes = self._slopes
        return Law(pull[:, None] * self._shares, slopes, np.zeros_like(slopes), -slopes[..., None])

    def energy(self, motion: Motion) -> Energy:
        """What the springs store."""
        elongation = self.values(motion) - self.free - motion.u[self.own][:, 0]
        return Energy(strain=0.5 * self.k * elongation**2)
