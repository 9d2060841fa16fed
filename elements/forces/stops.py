"""Stops at the ends of the way of a joint.

They resist by ``N = k d max(0, 1 + c d')`` for the depth ``d`` in them (Hunt, Crossley, *Journal of Applied Mechanics*
42, 1975, with exponent one): continuous where it meets, never a pull, and what it gives back is at most ``k d^2/2``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import inf, pi

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Energy, GivenValues, Motion, Numbering, TimedBatch, checked, continued
from fem_mbs.contracts.arguments import NotNegative, Positive, UnitInterval
from fem_mbs.contracts.unilateral import FORCES, Gaps, UnilateralBatch, carried_variables
from fem_mbs.elements.forces.coordinate_law import CoordinateElement, CoordinateLawBatch, JointLike, Law
from fem_mbs.elements.forces.motors import OverTime
from fem_mbs.elements.joints.relative import RelativeJoint
from fem_mbs.errors import ModelError

UNSEEN, TURNED = 0.75 * pi, 0.15
"""Angle in rad that a joint with a rigid stop may turn by before its turns are counted again, and turn of a node about
an axis in a step, up to which that of both nodes of a hinge adds less to it than there is up to half a turn."""


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
    stiffness : float, optional
        Of the stops, N/m or N m/rad.
    damping : float
        Share of the force more, per speed into the stop, s/m or s/rad. Of the speed ``v`` of a hit about
        ``1 - 2/3 damping v`` comes back, for hits that are not hard on it.
    restitution : float, optional
        In place of a stiffness: the stops are rigid, and this share of the speed comes back, in [0, 1]. For
        ``NonsmoothAlpha`` alone; ends are numbers then.
    coordinate : str, optional
        Which one, where the joint has several.

    Raises
    ------
    ModelError
        If lower is not below upper, or there is neither, or both or neither of stiffness and restitution.

    Notes
    -----
    The force depends on depth and speed, never pulls, and takes energy as long as there is damping. Steps that do not
    resolve the time of contact, ``pi sqrt(m/stiffness)``, are taken in parts (docs/kinks.md).
    """

    places = ("lower", "upper")

    def __init__(
        self,
        joint: JointLike,
        lower: OverTime | None,
        upper: OverTime | None,
        stiffness: Positive | None = None,
        damping: NotNegative = 0.0,
        *,
        restitution: UnitInterval | None = None,
        coordinate: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate)
        if (stiffness is None) == (restitution is None):
            raise ModelError(
                f"JointStop on {joint}: give stiffness, for a stop that yields, or restitution, for a rigid one"
            )
        self.restitution = restitution
        if lower is None and upper is None:
            raise ModelError(f"JointStop on {joint}: neither lower nor upper; give one end of the way, or both")
        self.lower, self.upper, self.active = lower, upper, callable(lower) or callable(upper)
        if not callable(lower) and not callable(upper):
            check_ends(self, -inf if lower is None else lower, inf if upper is None else upper, "")
        self.stiffness, self.damping = stiffness, damping
        if restitution is not None:
            if self.active or damping:
                raise ModelError(
                    f"JointStop on {joint}: a rigid stop has neither damping nor ends that move; give a stiffness"
                )
            ends = ("lower", lower), ("upper", upper)
            self.contacts = tuple(f"{name} end" for name, end in ends if end is not None)
            self.internal_variables = (*self.internal_variables, *carried_variables(self.contacts))

    def batch_key(self) -> Hashable:
        return super().batch_key(), self.contacts

    @classmethod
    def batch(cls, components: Sequence[JointStop], number: Numbering) -> StopBatch | RigidStopBatch:
        return (RigidStopBatch if components[0].contacts else StopBatch)(components, number)


def check_ends(stop: JointStop, lower: float, upper: float, when: str) -> None:
    """Refuse ends that are not in order."""
    if not lower < upper:
        raise ModelError(
            f"JointStop on {stop.joint}: lower must be below upper, received {lower:g} and {upper:g}{when}"
        )


class StopBatch(TimedBatch, CoordinateLawBatch):
    """Stops as arrays."""

    owners: Sequence[JointStop]
    kinked = True

    def __init__(self, elements: Sequence[JointStop], number: Numbering) -> None:
        super().__init__(elements, number)
        self.k, self.c = np.array([[e.stiffness, e.damping] for e in elements], float).T
        self.given, self._end, self.angle = GivenValues(2, len(elements)), number.end, elements[0].is_angle
        for k, stop in enumerate(elements):
            self.given.put((0, k), -inf if stop.lower is None else stop.lower, stop)
            self.given.put((1, k), inf if stop.upper is None else stop.upper, stop)

    def at(self, t: float) -> tuple[Array, Array]:
        """Where the ends of the ways are, and how fast they move; each ``(2, n)``, lower ends first."""
        ends = self.given.at(t)
        for k in np.flatnonzero(ends[0] >= ends[1]).tolist():
            lower, upper = ends[:, k]
            check_ends(self.owners[k], lower, upper, f" at t = {t:.6g} s")
        return ends, self.given.rates(t, self._end)[0]

    def law(self, q: Array, rate: Array, state: Array, prescribed: tuple[Array, Array]) -> Law:
        """What the stops resist; positive in the upper one."""
        (lower, upper), rates = prescribed
        beyond = _beyond(q, lower, upper)
        side = np.sign(beyond)
        # side times the rate against the end is the speed into the stop
        rise = 1.0 + self.c * side * (rate - np.where(side < 0.0, *rates))
        pushes = (rise > 0.0) & (side != 0.0)
        value = np.where(pushes, self.k * beyond * rise, 0.0)
        by_q = np.where(pushes, self.k * rise, 0.0)
        by_rate = np.where(pushes, self.k * self.c * np.abs(beyond), 0.0)
        return Law.without_states(value, by_q, by_rate, np.array([q - lower, upper - q, rise]))

    def towards_kinks(self, q: Array, rate: Array, state: Array) -> Array:
        return np.array([q, q, self.c * rate])

    def gaps(self, motion: Motion) -> Array:
        """What is left of the way to the lower and to the upper end."""
        (lower, upper), _ = self.at(motion.t)
        q = self.values(motion)
        return np.stack([q - lower, upper - q], axis=1)

    def energy(self, motion: Motion) -> Energy:
        return Energy(strain=0.5 * self.k * _beyond(self.values(motion), *self.at(motion.t)[0]) ** 2)


def _beyond(q: Array, lower: Array, upper: Array) -> Array:
    """How far a coordinate is beyond the upper end, or, negative, the lower one."""
    return np.maximum(q - upper, 0.0) + np.minimum(q - lower, 0.0)


class RigidStopBatch(UnilateralBatch):
    """Rigid stops as arrays: gaps are what is left of the way to each end."""

    owners: Sequence[JointStop]

    def __init__(self, elements: Sequence[JointStop], number: Numbering) -> None:
        super().__init__(elements, number)
        self._coordinates = type(elements[0]).measured_by(elements, number)
        if self._coordinates.own is not None:
            raise ModelError(
                f"{elements[0]}: the coordinate of {elements[0].joint} depends on variables of its own, and a rigid "
                "stop acts on nodes alone; give it a stiffness"
            )
        self.nodes = self._coordinates.nodes
        lower = [name.startswith("lower") for name in elements[0].contacts]
        self._sign = np.where(lower, 1.0, -1.0)
        self._ends = np.array([[e.lower if low else e.upper for low in lower] for e in elements], float)
        self.angle = elements[0].is_angle
        # against the angle of a hinge both nodes turn about its axis, however far; else axes and levers change
        hinges = all(isinstance(e.joint, RelativeJoint) and len(e.joint.cosines) == 2 for e in elements)
        self._bends, self.within = (1.0, self.within) if hinges and self.angle else (2.0, 0.5)
        """By how much gradients grow within a path."""
        self.told = UNSEEN if self.angle else inf
        self.friction = np.zeros(self._ends.shape)
        self.restitution = np.array([[e.restitution] * len(lower) for e in elements], float)

    def gaps(self, motion: Motion) -> Array:
        """Angles count with their turns, near each end where contacts are closed."""
        value = self._coordinates.evaluate(motion).value[:, None]
        if self.angle:
            value = continued(value, self._ends if self.closed else motion.u[self.follows])
        return self._sign * (value - self._ends)

    def measure(self, motion: Motion, rows: IntArray, places: IntArray) -> Gaps:
        measured = self._coordinates.evaluate(motion)
        G = np.zeros((len(rows), 3, measured.gradient.shape[1]))
        G[:, 0] = self._sign[places, None] * measured.gradient[rows]
        return Gaps(self.gaps(motion)[rows, places], G, (measured.context, rows, places))

    def closing(self, motion: Motion, linear: Array, turn: Array) -> Array:
        """By the gradient of today, twice where that changes: within half an extent of the model by no more."""
        G = self._coordinates.evaluate(motion).gradient.reshape(len(self.nodes), -1, 2, 3)
        ways = np.array([linear, turn])[:, self.nodes.T]
        return np.asarray(self._bends * np.add.reduce(np.sqrt(np.vecdot(G, G)).T * ways, axis=1))

    def second(self, gaps: Gaps) -> Array:
        context, rows, places = gaps.context
        H = self._coordinates.second(context)
        result = np.zeros((len(rows), 3, *H.shape[1:]))
        result[:, 0] = self._sign[places, None, None] * H[rows]
        return result

    def forces_on_b(self, motion: Motion) -> Array:
        """Along the coordinate, in the first component."""
        return self._sign[:, None] * motion.u[self.carried[..., FORCES]]

    def followed(self, motion: Motion, before: Motion) -> Array:
        last, h = motion.u[self.follows], motion.t - before.t
        if self._bends > 1.0 or h * np.maximum.reduce(np.abs(before.V[:, 3:]), axis=None) > TURNED:
            measured = self._coordinates.evaluate(before)
            rate = np.vecdot(measured.gradient, self._coordinates.velocities(before))
            last = continued(measured.value[:, None], last) + h * rate[:, None]
        return continued(self._coordinates.evaluate(motion).value[:, None], last)
