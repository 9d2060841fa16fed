"""Springs, dampers, stops and laws of users along a coordinate of a joint.

A spring and a damper resist by ``N = k (q - q_0) + c q'``; a law of a user acts along the coordinate, on b against a
(docs/forces.md). Stops at the ends of the way resist by ``N = k d max(0, 1 + c d')`` for the depth ``d`` in them (Hunt,
Crossley, *Journal of Applied Mechanics* 42, 1975, with exponent one): continuous where it meets, never a pull, and what
it gives back is at most ``k d^2/2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Energy,
    Motion,
    NotNegative,
    Numbering,
    Positive,
    checked,
    derivatives,
    evaluate,
)
from fem_mbs.elements.forces.coordinate_law import CoordinateElement, CoordinateLawBatch, JointLike, Law, is_angle
from fem_mbs.elements.forces.motors import OverTime
from fem_mbs.elements.forces.user_laws import OF_ANGLE, OF_TRAVEL, CoordinateLaw, ask
from fem_mbs.errors import ModelError


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
        joint: JointLike,
        stiffness: NotNegative,
        damping: NotNegative = 0.0,
        *,
        free: float = 0.0,
        coordinate: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate)
        self.stiffness, self.damping, self.free = stiffness, damping, free


class SpringBatch(CoordinateLawBatch, of=JointSpring):
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

    def __init__(self, joint: JointLike, law: CoordinateLaw, *, coordinate: str | None = None) -> None:
        super().__init__(joint, coordinate)
        self.law = law


class ForceBatch(CoordinateLawBatch, of=JointForce):
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


@checked
class JointStop(CoordinateElement):
    """Stops at one or both ends of the way of a joint.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    lower, upper : float, function of t, or None
        Ends of the free way, m or rad; coordinates are zero as built, and angles count turns. None for no end. Ends
        that move over time push what they meet, and bring energy.
    stiffness : float
        Of the stops, N/m or N m/rad.
    damping : float
        UnitInterval of the force more, per speed into the stop, s/m or s/rad. Of the speed ``v`` of a hit about
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
        joint: JointLike,
        lower: OverTime | None,
        upper: OverTime | None,
        stiffness: Positive,
        damping: NotNegative = 0.0,
        *,
        coordinate: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate)
        if lower is None and upper is None:
            raise ModelError(f"JointStop on {joint}: neither lower nor upper; give one end of the way, or both")
        self.lower, self.upper, self.active = lower, upper, callable(lower) or callable(upper)
        if not callable(lower) and not callable(upper):
            check_ends(self, -inf if lower is None else lower, inf if upper is None else upper, "")
        self.stiffness, self.damping = stiffness, damping


def check_ends(stop: JointStop, lower: float, upper: float, when: str) -> None:
    """Refuse ends that are not in order."""
    if not lower < upper:
        raise ModelError(
            f"JointStop on {stop.joint}: lower must be below upper, received {lower:g} and {upper:g}{when}"
        )


class Ends(NamedTuple):
    """Where the ends of the ways are, and how fast they move; each ``(2, n)``, lower ends first."""

    place: Array
    rate: Array


class StopBatch(CoordinateLawBatch, of=JointStop):
    """Stops as arrays."""

    owners: Sequence[JointStop]
    kinked = True

    def __init__(self, elements: Sequence[JointStop], number: Numbering) -> None:
        super().__init__(elements, number)
        self.k, self.c = np.array([[e.stiffness, e.damping] for e in elements]).T
        given = [[e.lower for e in elements], [e.upper for e in elements]]
        none = -inf, inf
        constant = [
            [0.0 if callable(own) else away if own is None else own for own in row]
            for row, away in zip(given, none, strict=True)
        ]
        self._constant = np.array(constant, float)
        self._laws = [(side, k, own) for side, row in enumerate(given) for k, own in enumerate(row) if callable(own)]
        self._end = number.end

    def at(self, t: float) -> Ends:
        """The ends."""
        ends = Ends(self._constant.copy(), np.zeros_like(self._constant))
        for side, k, law in self._laws:
            owner = self.owners[k]
            ends.place[side, k] = evaluate(law, t, owner, None)
            ends.rate[side, k] = derivatives(law, t, owner, None, self._end)[0]
            lower, upper = ends.place[:, k]
            check_ends(owner, lower, upper, f" at t = {t:.6g} s")
        return ends

    def law(self, q: Array, rate: Array, state: Array, prescribed: Ends) -> Law:
        """What the stops resist; positive in the upper one."""
        beyond = _beyond(q, prescribed)
        side = np.sign(beyond)
        # side times the rate against the end is the speed into the stop
        rise = 1.0 + self.c * side * (rate - np.where(side < 0.0, *prescribed.rate))
        pushes = (rise > 0.0) & (side != 0.0)
        value = np.where(pushes, self.k * beyond * rise, 0.0)
        by_q = np.where(pushes, self.k * rise, 0.0)
        by_rate = np.where(pushes, self.k * self.c * np.abs(beyond), 0.0)
        return Law(value[:, None], by_q[:, None], by_rate[:, None], np.zeros((len(q), 1, 0)), side * pushes)

    def energy(self, motion: Motion) -> Energy:
        """What the stops store."""
        return Energy(strain=0.5 * self.k * _beyond(self.values(motion), self.at(motion.t)) ** 2)


def _beyond(q: Array, ends: Ends) -> Array:
    """How far a coordinate is beyond the upper end, or, negative, the lower one."""
    lower, upper = ends.place
    beyond: Array = np.maximum(q - upper, 0.0) + np.minimum(q - lower, 0.0)
    return beyond
