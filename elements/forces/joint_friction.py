"""Dry friction in joints: regularised Coulomb friction with Stribeck effect, and the LuGre model with its bristles.

With the coefficient ``g(v) = mu_k + (mu_s - mu_k) exp(-(v/v_s)^2)`` and the load ``L``::

    regularised   N = L g(|v| - v_c) v/|v| + c v   for |v| > v_c, below it a polynomial of v/v_c in place of g v/|v|,
    LuGre         N = L (sigma z + tau sigma exp(-(v/v_s)^2) z') + c v,   z' = v - sigma |v| z/g(v),

where ``z`` is how far bristles are bent, ``sigma = mu_s/bristle`` and ``tau = bristle/v_s`` (Canudas de Wit, Olsson,
Astrom, Lischinsky, *IEEE Transactions on Automatic Control* 40, 1995; docs/friction.md). The load is a preload, and
what the forces and moments that the joint carries add to it (docs/friction.md, "What presses").
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Constraint, ElementBatch, Energy, ModelContext, Motion, SmallChange, checked
from fem_mbs.contracts.arguments import NotNegative, Positive
from fem_mbs.contracts.component import InternalVariable, Numbering
from fem_mbs.elements.forces.coordinate_law import Acting, CoordinateElement, CoordinateLawBatch, JointLike, Law
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS
from fem_mbs.errors import MissingMethodError, ModelError

Pressing = tuple[tuple[int, ...], float]
"""Equations of a joint whose multipliers are components of one force or moment, and its weight in the load."""


def pressing(joint: Constraint, coordinate: str, weights: dict[str, float], label: str) -> tuple[Pressing, ...]:
    """How the reactions of a joint press on it, as one of its coordinates moves: along and about the joint's axes.

    The multipliers of a joint are its forces along axes of node a, and moments about them.
    """
    axis, turns = coordinate[-1], coordinate in ROTATIONS
    free = [own.name for own in joint.coordinates if own.name in ROTATIONS]
    known = set(joint.equations) <= {*TRANSLATIONS, *ROTATIONS} and coordinate in (*TRANSLATIONS, *ROTATIONS)
    if not known or len(free) > 1:
        raise ModelError(f"{label}: how its reactions press on it is not known; give a preload and reactions=False")
    kinds: dict[str, list[int]] = {"radial": [], "axial": [], "bending": []}
    for row, name in enumerate(joint.equations):
        if name == coordinate:  # of a drive
            continue
        if name in TRANSLATIONS:
            kinds["axial" if name[-1] == axis else "radial"].append(row)
        elif not turns or name[-1] != axis:
            kinds["bending"].append(row)
    return tuple((tuple(rows), weights[kind]) for kind, rows in kinds.items() if rows and weights[kind])


class FrictionLoad(NamedTuple):
    """What presses, ``(n,)``, and its derivatives ``(n, r)`` against multipliers."""

    value: Array
    by_multipliers: Array
    parts: Array
    """Sizes ``(n, p)`` of what presses by reactions."""


LARGE = 10.0
"""A radius or a length against the extent of the model that looks wrong."""
MOST = 9.0
"""Static over kinetic coefficient up to which bristles never bring energy."""

STRIBECK, FAST = 1e-2, 1e3
"""Rate of the Stribeck effect, unless it is given; so many times of it belong to a model in other units."""


@checked
class JointFriction(CoordinateElement):
    """Dry friction along a coordinate of a joint.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    kinetic : float
        Coefficient of friction while it slips.
    static : float, optional
        Coefficient from which it slips; by default the kinetic one.
    preload : float
        Normal force that is always there, N.
    radius : float, optional
        Of the pin on which forces across the axis rub, m; of a coordinate that is an angle.
    thrust_radius : float, optional
        At which forces along the axis rub, m; these make no friction by default.
    length : float, optional
        Distance of two supports, m, which carry a moment (across the axis of a hinge, any in a slider) by two opposite
        forces; moments make no friction by default.
    reactions : bool
        Whether the forces that the joint carries press on it, besides the preload.
    viscous : float
        Further resistance per rate, N s/m or N m s/rad.
    creep : float
        Rate at which regularised friction reaches the static coefficient, m/s or rad/s; below it a joint creeps, in
        place of sticking.
    stribeck : float, optional
        Rate over which the coefficient falls from the static to the kinetic one, m/s or rad/s; by default 0.01.
    bristle : float, optional
        With it, the LuGre model: how far bristles bend before they slip, m or rad. A joint then sticks elastically
        instead of creeping.
    coordinate : str, optional
        Which one, where the joint has several.

    Raises
    ------
    ModelError
        If a coefficient is negative or the static one below the kinetic one, a hinge has no radius, or the joint is
        none whose reactions say how it is pressed.

    Notes
    -----
    The load is ``preload + |F| + 2 |M|/length`` of a slider, and of a hinge ``radius`` times that, with the reactions
    across the axis, and ``thrust_radius |F|`` with that along the axis. ``solution.internal_variables(friction,
    "bristle")`` has how far bristles are bent.
    """

    strengths = "kinetic", "static", "viscous"

    def __init__(
        self,
        joint: JointLike,
        kinetic: NotNegative,
        static: NotNegative | None = None,
        *,
        preload: NotNegative = 0.0,
        radius: Positive | None = None,
        thrust_radius: NotNegative = 0.0,
        length: Positive | None = None,
        reactions: bool = True,
        viscous: NotNegative = 0.0,
        creep: Positive = 1e-3,
        stribeck: Positive | None = None,
        bristle: Positive | None = None,
        coordinate: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate)
        label = f"JointFriction on {joint}"
        turns = self.is_angle
        if turns != (radius is not None):
            raise ModelError(
                f"{label}: '{self.coordinate}' is {'an angle' if turns else 'a travel'}, so that friction "
                f"{'needs' if turns else 'has no'} radius, received {radius}"
            )
        self.kinetic, self.static = kinetic, kinetic if static is None else static
        if self.static < kinetic:
            raise ModelError(f"{label}: static must be at least kinetic, {kinetic:g}, received {static:g}")
        if bristle is not None and not self.static <= MOST * kinetic:
            raise ModelError(
                f"{label}: with bristles, static must be at most {MOST:g} times kinetic, received {self.static:g} and "
                f"{kinetic:g}"
            )
        self.preload, self.radius, self.reactions = preload, radius, reactions
        self.thrust_radius, self.length = thrust_radius, length
        self.arm = arm = 1.0 if radius is None else radius
        weights = {"radial": arm, "axial": thrust_radius, "bending": 2.0 * arm / length if length else 0.0}
        self.pressing = pressing(joint, self.coordinate, weights, label) if reactions else ()
        if not preload and not self.pressing:
            more = "length or thrust_radius, with which moments or thrust press" if reactions else "reactions=True"
            raise ModelError(f"{label}: nothing presses; give a preload, or {more}")
        self.viscous, self.creep, self.bristle = viscous, creep, bristle
        self.stribeck, self._usual = stribeck or STRIBECK, stribeck is None
        if bristle is not None:
            bristle_variable = InternalVariable("bristle", "state", size=bristle, unit="rad" if turns else "m")
            self.internal_variables = (*self.internal_variables, bristle_variable)
            self.active = True  # what bristles have stored they give back, whatever moved them

    def doubts(self, around: ModelContext) -> Iterator[str]:
        """Radii and lengths of other units."""
        yield from super().doubts(around)
        for name, size in (("radius", self.radius), ("thrust_radius", self.thrust_radius), ("length", self.length)):
            if size and size > LARGE * around.extent > 0.0:
                yield (
                    f"its {name} is {size:.3g} in a model that extends over {around.extent:.3g}; look at the units of "
                    f"its {name}"
                )

    @property
    def made_for(self) -> tuple[float, float]:
        """Between which rates it is made for: where it creeps ends, and where a Stribeck effect not given is of others.

        With bristles it creeps nowhere, but should not go through that effect alone.
        """
        guessed = self._usual and self.static > self.kinetic
        slow = self.creep if self.bristle is None else guessed * self.stribeck
        return slow, FAST * self.stribeck if guessed and not self.is_angle else np.inf

    def batch_key(self) -> Hashable:
        """Those with bristles, and those on which other reactions press, apart."""
        return super().batch_key(), self.bristle is None, tuple(rows for rows, _ in self.pressing)

    @classmethod
    def batch(cls, elements: Sequence[JointFriction], number: Numbering) -> ElementBatch:
        return (CoulombBatch if elements[0].bristle is None else LuGreBatch)(elements, number)


class FrictionBatch(CoordinateLawBatch):
    """Friction as arrays; a subclass says what its coefficient is."""

    kinked = True

    def __init__(self, elements: Sequence[JointFriction], number: Numbering) -> None:
        super().__init__(elements, number)
        names = ("kinetic", "static", "viscous", "creep", "stribeck")
        self.kinetic, self.static, self.viscous, self.creep, self.stribeck = (
            np.array([getattr(element, name) for element in elements]) for name in names
        )
        self.preload = np.array([element.arm * element.preload for element in elements])
        self._bends = np.minimum(self.creep, self.stribeck)
        self._slow, self._fast = np.array([own.made_for for own in elements]).T
        if parts := [rows for rows, _ in elements[0].pressing]:
            every = [row for rows in parts for row in rows]
            self.reads = np.array([number.multipliers(element.joint)[every] for element in elements])
            sizes = [len(rows) for rows in parts]
            self._starts, self._part = np.cumsum([0, *sizes[:-1]]), np.repeat(range(len(parts)), sizes)
            self._weights = np.array([[weight for _, weight in element.pressing] for element in elements])

    def coefficient(self, rate: Array, state: Array) -> Law:
        """Resistance per load, then minus the rate of bristles; kinks tell whether and to which side it slips."""
        raise MissingMethodError(f"{type(self).__name__} must define coefficient(rate, state)")

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Acting]:
        """What resists under the load of this motion: a preload, and what presses by reactions."""
        if self.reads is None:
            none = np.zeros((len(self.nodes), 0))
            return super().force(motion, FrictionLoad(self.preload, none, none))
        multipliers = motion.multipliers[self.reads]
        sizes = self._sizes(multipliers)
        weights = (self._weights / np.where(sizes > 0.0, sizes, 1.0))[:, self._part]
        load = self.preload + np.vecdot(self._weights, sizes)
        return super().force(motion, FrictionLoad(load, weights * multipliers, sizes))

    def _sizes(self, multipliers: Array) -> Array:
        """Of the forces and moments ``(n, p)`` whose components multipliers ``(n, r)`` are."""
        return np.sqrt(np.add.reduceat(multipliers**2, self._starts, axis=1))

    def law(self, q: Array, rate: Array, state: Array, prescribed: FrictionLoad) -> Law:
        """Load times coefficient, and viscous resistance."""
        load, law = prescribed.value, self.coefficient(rate, state)
        law.value[:, 0] = load * law.value[:, 0] + self.viscous * rate
        law.by_speed[:, 0] = load * law.by_speed[:, 0] + self.viscous
        law.by_state[:, 0] *= load[:, None]
        return law

    def towards_kinks(self, q: Array, rate: Array, state: Array) -> Array:
        return rate

    def crosses(self, context: Acting, change: SmallChange) -> bool:
        """Also where it bends: over the rates of creeping and of the Stribeck effect, and where reactions turn."""
        dv = change.per_increment * self.way(context, change)
        allowed = change.tolerance * change.scale[self._angle]
        bent = (context.law.by_speed[:, 0] - self.viscous) * dv**2 / self._bends
        if (np.abs(bent) > allowed).any() or super().crosses(context, change):
            return True
        if self.reads is None:
            return False
        d = self._sizes(change.multipliers[self.reads])
        return bool((self._weights * d**2 > allowed * (context.prescribed.parts + d)).any())

    def creeping(self, motion: Motion, length: float) -> tuple[Array, BoolArray]:
        V = self.coordinates.velocities(motion)
        rates = np.abs(np.vecdot(self.coordinates.evaluate(motion).gradient, V))
        return np.where(rates < self._slow, rates, 0.0) / (1.0 if self._angle else length), rates > self._fast

    def by_multipliers(self, context: Acting) -> Array:
        """The load, and nothing else, depends on the reactions."""
        G = context.measured.gradient
        resists = self.coefficient(np.vecdot(G, context.V), context.state).value[:, 0]
        changes = resists[:, None] * context.prescribed.by_multipliers
        result = np.zeros((len(G), self._width + self._angle + self.states, changes.shape[1]))
        result[:, : self._width] = G[:, :, None] * changes[:, None]
        return result

    def sliding(self, rate: Array) -> tuple[Array, Array, Array]:
        """The coefficient ``g``, its derivative, and the share of the Stribeck effect."""
        share = np.exp(-((rate / self.stribeck) ** 2))
        more = self.static - self.kinetic
        return self.kinetic + more * share, -2.0 * more * share * rate / self.stribeck**2, share


class CoulombBatch(FrictionBatch):
    """Regularised Coulomb friction."""

    def coefficient(self, rate: Array, state: Array) -> Law:
        """``g(|v| - v_c)`` with the sign of ``v``; while it creeps, what leads there smoothly from zero."""
        side, x = np.sign(rate), np.minimum(np.abs(rate) / self.creep, 1.0)
        g, dg, _ = self.sliding(np.maximum(np.abs(rate) - self.creep, 0.0))
        rise = x * (15.0 - 10.0 * x**2 + 3.0 * x**4) / 8.0
        slope = dg + g * 15.0 * (1.0 - x**2) ** 2 / (8.0 * self.creep)
        kinks = np.array([rate - self.creep, rate + self.creep])
        return Law.without_states(g * side * rise, np.zeros_like(rate), slope, kinks)


class LuGreBatch(FrictionBatch):
    """The LuGre model."""

    def __init__(self, elements: Sequence[JointFriction], number: Numbering) -> None:
        super().__init__(elements, number)
        self.bristle = np.array([element.bristle for element in elements], float)
        self.sigma, self.tau = self.static / self.bristle, self.bristle / self.stribeck

    def coefficient(self, rate: Array, state: Array) -> Law:
        """``sigma z + tau sigma exp(-(v/v_s)^2) z'``, and ``-z'``."""
        z, sigma = state[:, 0], self.sigma
        g, dg, share = self.sliding(rate)
        size, side = np.abs(rate), np.sign(rate)
        slip, slip_by_z = sigma * size * z / g, sigma * size / g
        slip_by_rate = sigma * z * (side / g - size * dg / g**2)
        damping = self.tau * sigma * share
        d_damping = -2.0 * damping * rate / self.stribeck**2
        value = np.stack([sigma * z + damping * (rate - slip), slip - rate], axis=-1)
        by_rate = np.stack([d_damping * (rate - slip) + damping * (1.0 - slip_by_rate), slip_by_rate - 1.0], axis=-1)
        by_state = np.stack([sigma - damping * slip_by_z, slip_by_z], axis=-1)
        kinks = np.array([rate - self.stribeck, rate + self.stribeck])
        return Law(value, np.zeros_like(value), by_rate, by_state[..., None], kinks)

    def energy(self, motion: Motion) -> Energy:
        """What the bristles store under a constant load; under that of reactions there is no such energy."""
        if self.reads is not None:
            return Energy()
        z = motion.u[self._own[:, -1]]
        return Energy(strain=0.5 * self.preload * self.sigma * z**2)
