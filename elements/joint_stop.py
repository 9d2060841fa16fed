"""Stops at the ends of the way of a joint.

``N = k d max(0, 1 + c d')`` for the depth ``d`` in a stop (Hunt, Crossley, *Journal of Applied Mechanics* 42, 1975,
with exponent one): continuous where it meets, never a pull, and what it gives back is at most ``k d^2/2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.coordinate_law import CoordinateElement, CoordinateLawBatch, Joint, Law
from fem_mbs.errors import ModelError
from fem_mbs.model import ElementBatch, Energy, Motion, NotNegative, Numbering, Positive, checked


@checked
class JointStop(CoordinateElement):
    """Stops at one or both ends of the way of a joint.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    lower, upper : float or None
        Ends of the free way, m or rad; coordinates are zero as built, and angles count turns. None for no end.
    stiffness : float
        Of the stops, N/m or N m/rad.
    damping : float
        Share of the force more, per speed into the stop, s/m or s/rad. Of the speed ``v`` of a hit about
        ``1 - 2/3 damping v`` comes back, for hits that are not hard on it.
    coordinate : str, optional
        Which one, where the joint has several.

    Raises
    ------
    ModelError
        If lower is not below upper, or there is neither.

    Notes
    -----
    The force depends on depth and speed, never pulls, and takes energy as long as there is damping. Steps should
    resolve the time of contact, ``pi sqrt(m/stiffness)``, by ten or more (docs/forces.md, "Stops").
    """

    def __init__(
        self,
        joint: Joint,
        lower: float | None,
        upper: float | None,
        stiffness: Positive,
        damping: NotNegative = 0.0,
        coordinate: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate)
        if lower is None and upper is None:
            raise ModelError(f"JointStop on {joint}: neither lower nor upper; give one end of the way, or both")
        if lower is not None and upper is not None and not lower < upper:
            raise ModelError(f"JointStop on {joint}: lower must be below upper, received {lower:g} and {upper:g}")
        self.lower, self.upper = lower, upper
        self.stiffness, self.damping = stiffness, damping

    @classmethod
    def batch(cls, elements: Sequence[JointStop], number: Numbering) -> ElementBatch:
        """All that act on coordinates of one kind."""
        return StopBatch(elements, number)


class StopBatch(CoordinateLawBatch):
    """Stops as arrays."""

    def __init__(self, elements: Sequence[JointStop], number: Numbering) -> None:
        super().__init__(elements, number)
        self.k, self.c = np.array([[e.stiffness, e.damping] for e in elements]).T
        self.lower = np.array([-inf if e.lower is None else e.lower for e in elements])
        self.upper = np.array([inf if e.upper is None else e.upper for e in elements])

    def law(self, q: Array, rate: Array, state: Array, prescribed: None) -> Law:
        """What the stops resist; positive in the upper one."""
        beyond = self._beyond(q)
        side = np.sign(beyond)
        # side times the rate is the speed into the stop
        rise = 1.0 + self.c * side * rate
        pushes = (rise > 0.0) & (side != 0.0)
        value = np.where(pushes, self.k * beyond * rise, 0.0)
        by_q = np.where(pushes, self.k * rise, 0.0)
        by_rate = np.where(pushes, self.k * self.c * np.abs(beyond), 0.0)
        return Law(value[:, None], by_q[:, None], by_rate[:, None], np.zeros((len(q), 1, 0)))

    def energy(self, motion: Motion) -> Energy:
        """What the stops store."""
        return Energy(strain=float(0.5 * (self.k * self._beyond(self.values(motion)) ** 2).sum()))

    def _beyond(self, q: Array) -> Array:
        """How far a coordinate is beyond the upper end, or, negative, the lower one."""
        beyond: Array = np.maximum(q - self.upper, 0.0) + np.minimum(q - self.lower, 0.0)
        return beyond
