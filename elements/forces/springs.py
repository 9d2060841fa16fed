"""Springs between two points and on joints: with a damper beside them or in series, by a law of a user, or that slip.

Side by side ``N = k (q - q_0) + c q'`` of a length or a coordinate of a joint, or any law; in series (Maxwell)
``N = k (l - l_0 - z)``, ``z' = N/eta``. A spring that slips is dry friction, a rope on a drum, a bar that yields: ideal
plasticity in one dimension by return mapping (Simo, Hughes, *Computational Inelasticity*, 1998, section 1.4).
docs/theory.md, "Lines".
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import ElementBatch, Energy, InternalVariable, Motion, NodeLike, Numbering, checked
from fem_mbs.contracts.arguments import NotNegative, Positive, Vector3
from fem_mbs.elements.forces.coordinate_law import Acting, CoordinateElement, CoordinateLawBatch, JointLike, Law
from fem_mbs.elements.forces.line import LineBatch, LineElement
from fem_mbs.elements.forces.user_laws import PullLaw, UserLawBatch
from fem_mbs.errors import ModelError


@checked
class SpringDamper(LineElement):
    """A spring and a damper side by side, between points of two nodes; its force is a pull.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    stiffness : float
        Of the spring, N/m.
    damping : float
        Of the damper, N s/m.
    free_length : float, optional
        Length without force, m; by default the distance of the points as built.
    point_a, point_b : (3,), optional
        Points of a and of b, world frame, as built; the nodes themselves by default.
    force : function of ``t, length, speed``, optional
        In place of all this, any law: the pull in N of the time in s, the distance of the points in m and its rate in
        m/s. Functions ``by_length`` and ``by_speed`` of the same arguments, if it has these attributes, are its
        derivatives; else they come from a complex step or from differences.

    Raises
    ------
    ModelError
        If a number is negative, the points are at one place, or both a stiffness and a law are given, or neither.
    LawError
        In a run, if a law returns anything but one finite number.
    """

    strengths = "stiffness", "damping", "force"

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        stiffness: NotNegative | None = None,
        damping: NotNegative = 0.0,
        *,
        free_length: NotNegative | None = None,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
        force: PullLaw | None = None,
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        label = f"SpringDamper on {a}, {b}"
        if stiffness is None and force is None:
            raise ModelError(f"{label}: has no force; give a stiffness, or a law as force")
        if force is not None and (stiffness or damping or free_length is not None):
            raise ModelError(
                f"{label}: force is a law in place of stiffness, damping and free_length, received both; "
                "add them in the law, or give a second SpringDamper"
            )
        self.stiffness, self.damping, self.force = stiffness or 0.0, damping, force
        self.free_length = self.built if free_length is None else free_length
        self.active = force is not None

    def batch_key(self) -> Hashable:
        return self.force is None

    @classmethod
    def batch(cls, elements: Sequence[SpringDamper], number: Numbering) -> ElementBatch:
        return (SpringBatch if elements[0].force is None else PullBatch)(elements, number)


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

    strengths = "stiffness", "damping"
    places = ("free",)

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
    """Linear springs and dampers, along coordinates or between points, as arrays."""

    def __init__(self, elements: Sequence[Any], number: Numbering) -> None:
        super().__init__(elements, number)
        names = ("stiffness", "damping", "free_length" if isinstance(elements[0], SpringDamper) else "free")
        self.k, self.c, self.free = (np.array([getattr(element, name) for element in elements]) for name in names)

    def law(self, q: Array, rate: Array, state: Array, prescribed: None) -> Law:
        """``k (q - q_0) + c q'``."""
        return Law.without_states(self.k * (q - self.free) + self.c * rate, self.k, self.c)

    def energy(self, motion: Motion) -> Energy:
        return Energy(strain=0.5 * self.k * (self.values(motion) - self.free) ** 2)


class PullBatch(UserLawBatch):
    """Pulls by laws of users."""

    attribute = "force"

    def law(self, q: Array, rate: Array, state: Array, prescribed: float) -> Law:
        return Law.without_states(*self.asked(prescribed, q, rate))


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
        Points of a and of b, world frame, as built; the nodes themselves by default.

    Notes
    -----
    The elongation ``z`` of the damper is a state of the element: ``N = k (length - free_length - z)``, ``z' = N/eta``.
    ``solution.internal_variables(element, "damper")`` has it. The force is a pull.
    """

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        stiffness: Positive,
        viscosity: Positive,
        *,
        free_length: Positive | None = None,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        self.stiffness, self.viscosity = stiffness, viscosity
        self.free_length = self.built if free_length is None else free_length
        self.internal_variables = (InternalVariable("damper", "state", size=self.built, unit="m"),)


class MaxwellBatch(LineBatch, of=Maxwell):
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
        elongation = self.values(motion) - self.free - motion.u[self.own][:, 0]
        return Energy(strain=0.5 * self.k * elongation**2)


@checked
class FrictionSpring(LineElement):
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
        Points of a and of b, world frame, as built; the nodes themselves by default.

    Notes
    -----
    The length without force has a history: it stays during a step, and follows afterwards if the spring has slipped
    (elasticity and ideal plasticity, by return mapping). ``solution.internal_variables(spring, "free length")`` has it.
    """

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        stiffness: Positive,
        limit: Positive,
        *,
        free_length: Positive | None = None,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        self.stiffness, self.limit = stiffness, limit
        self.free_length = self.built if free_length is None else free_length
        variable = InternalVariable("free length", "history", self.free_length, size=self.built, unit="m")
        self.internal_variables = (variable,)


class SlipBatch(LineBatch, of=FrictionSpring):
    """Springs that slip as arrays."""

    kinked = True

    def __init__(self, elements: Sequence[FrictionSpring], number: Numbering) -> None:
        super().__init__(elements, number)
        self.k, self.limit = np.array([[element.stiffness, element.limit] for element in elements]).T

    def law(self, length: Array, speed: Array, state: Array, prescribed: None) -> Law:
        """The force of the spring, cut at the limit; history has no equation."""
        tried = self.k * (length - state[:, 0])
        holds = np.abs(tried) <= self.limit
        value, by_length, none = np.zeros((3, len(tried), 2))
        value[:, 0], by_length[:, 0] = np.clip(tried, -self.limit, self.limit), np.where(holds, self.k, 0.0)
        kinks = np.array([self.limit - tried, self.limit + tried])
        return Law(value, by_length, none, -by_length[..., None], kinks)

    def towards_kinks(self, q: Array, rate: Array, state: Array) -> Array:
        return self.k * q

    def accept(self, context: Acting) -> Array:
        """The length without force that leaves the force as it is."""
        free: Array = context.q - context.law.value[:, 0] / self.k
        return free[:, None]

    def accept_change(self, context: Acting, d: Array) -> Array:
        way = np.vecdot(context.measured.gradient, d[:, :-1])
        free: Array = way - context.law.by_length[:, 0] * (way - d[:, -1]) / self.k
        return free[:, None]

    def energy(self, motion: Motion) -> Energy:
        law = self.acting(motion, None).law
        return Energy(strain=0.5 * law.value[:, 0] ** 2 / self.k)
