"""Springs, dampers and laws of users along a coordinate of a joint.

``N = k (q - q_0) + c q'`` resists; a law of a user acts along the coordinate, on b against a (docs/forces.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.coordinate_law import CoordinateElement, CoordinateLawBatch, Joint, Law, is_angle
from fem_mbs.elements.user_laws import OF_ANGLE, OF_TRAVEL, CoordinateLaw, ask
from fem_mbs.model import ElementBatch, Energy, Motion, NotNegative, Numbering, checked


@checked
class JointSpring(CoordinateElement):
    """A spring and a damper side by side along a coordinate of a joint.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    stiffness : float
        N/m or N m/rad.
    damping : float
        N s/m or N m s/rad.
    free : float
        The coordinate without force, m or rad; coordinates are zero as built, and angles count turns.
    coordinate : str, optional
        Which one, where the joint has several.
    """

    def __init__(
        self,
        joint: Joint,
        stiffness: NotNegative,
        damping: NotNegative = 0.0,
        free: float = 0.0,
        coordinate: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate)
        self.stiffness, self.damping, self.free = stiffness, damping, free

    @classmethod
    def batch(cls, elements: Sequence[JointSpring], number: Numbering) -> ElementBatch:
        """All that act on coordinates of one kind."""
        return SpringBatch(elements, number)


class SpringBatch(CoordinateLawBatch):
    """Springs along coordinates as arrays."""

    def __init__(self, elements: Sequence[JointSpring], number: Numbering) -> None:
        super().__init__(elements, number)
        self.k, self.c, self.free = np.array([[e.stiffness, e.damping, e.free] for e in elements]).T

    def law(self, q: Array, rate: Array, state: Array, prescribed: None) -> Law:
        """``k (q - q_0) + c q'``."""
        resists = self.k * (q - self.free) + self.c * rate
        return Law(resists[:, None], self.k[:, None], self.c[:, None], np.zeros((len(q), 1, 0)))

    def energy(self, motion: Motion) -> Energy:
        """What the springs store."""
        return Energy(strain=0.5 * self.k * (self.values(motion) - self.free) ** 2)


@checked
class JointForce(CoordinateElement):
    """A force or a moment along a coordinate of a joint, by any law.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    law : function of t, q, q_dot
        The force in N, or moment in N m, on b against a, positive along the coordinate: of the time in s, the
        coordinate in m or rad, with its turns, and its rate. Functions ``by_coordinate`` and ``by_rate`` of the same
        arguments, if it has these attributes, are its derivatives; else they come from a complex step or from
        differences.
    coordinate : str, optional
        Which one, where the joint has several.

    Raises
    ------
    LawError
        In a run, if the law returns anything but one finite number.
    """

    active = True

    def __init__(self, joint: Joint, law: CoordinateLaw, coordinate: str | None = None) -> None:
        super().__init__(joint, coordinate)
        self.law = law

    @classmethod
    def batch(cls, elements: Sequence[JointForce], number: Numbering) -> ElementBatch:
        """All that act on coordinates of one kind."""
        return ForceBatch(elements, number)


class ForceBatch(CoordinateLawBatch):
    """Laws of users, asked one after the other."""

    def __init__(self, elements: Sequence[JointForce], number: Numbering) -> None:
        super().__init__(elements, number)
        self._laws = [element.law for element in elements]
        self._kinds = [OF_ANGLE if is_angle(e.joint, e.coordinate) else OF_TRAVEL for e in elements]

    def at(self, t: float) -> float:
        """The time, which laws depend on."""
        return t

    def law(self, q: Array, rate: Array, state: Array, prescribed: float) -> Law:
        """Minus what the laws return, which act and do not resist."""
        value, by_q, by_rate = -ask(self._laws, self.owners, self._kinds, prescribed, q, rate)[..., None]
        return Law(value, by_q, by_rate, np.zeros((len(q), 1, 0)))
