"""Contact of two bodies, rigid or yielding, with restitution and Coulomb friction."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import (
    Element,
    Gaps,
    Motion,
    NodeLike,
    NotNegative,
    Numbering,
    Placed,
    Positive,
    Shape,
    UnilateralBatch,
    UnitInterval,
    carried_variables,
    checked,
)
from fem_mbs.elements.contact.pairs import Approach, Pairs, approach, on_b
from fem_mbs.elements.contact.shapes import Bush, Plane, pair_of, reach
from fem_mbs.elements.contact.tubes import Tubes
from fem_mbs.elements.contact.yielding import YieldingBatch, approach_variables
from fem_mbs.elements.shapes import Surface
from fem_mbs.errors import ModelError

PAIRS = (
    "a Plane with a Ball, a Capsule, a Box or a Cylinder; a Ball or a Capsule with another; a Box with a Ball, a "
    "Capsule or a Box; a Ball with a Cylinder or a Surface; a Bush with a Ball or a Capsule as its pin"
)


LEAST = 0.01
"""Restitution of bodies that yield."""
MANY = 100_000
"""Contacts whose gaps are measured at once."""


@checked
class Contact(Element):
    """Two bodies that may touch but not enter each other.

    Parameters
    ----------
    a, b : Node
        Two nodes; shapes are placed as built and move with them.
    shape_a, shape_b : Shape
        ``Plane``, ``Ball``, ``Capsule``, ``Box``, ``Cylinder``, ``Surface`` or ``Bush``, in either order.
    restitution : float
        Newton's: the share of the speed of approach that comes back at an impact, in [0, 1]; less where with friction,
        or in several points at once, that would bring energy.
    friction : float
        Coulomb's coefficient, of impacts, too.
    stiffness : float, optional
        With it bodies yield: the normal force is ``stiffness depth^exponent``, N/m^exponent, and what damping
        ``restitution`` takes; for any method. :func:`hertz_stiffness` has that of balls.
    exponent : float
        1.5 as of Hertz; 1 is a linear spring.
    creep : float
        Of bodies that yield: speed of slip in m/s up to which friction rises to its coefficient, and speed of approach
        from which on its share of restitution comes back.

    Raises
    ------
    ModelError
        If there is no closed form for the pair, or bodies yield and nothing shall come back.

    Notes
    -----
    Without a stiffness, for ``NonsmoothAlpha`` alone. ``solution.gap``, ``solution.contact_force`` and
    ``solution.impulses`` have what happens. Each body rests on as many points as its pair has: a box on eight corners,
    a capsule on two ends. Those of beams and shells are made by :func:`contacts_between` and :class:`BeamContact`.
    """

    _internal: ClassVar[str] = "pair data swapped reach geometry passes convex per_pair pairs"

    passes = True
    """Whether bodies may come out on the other side of each other."""
    convex = False
    """Whether both bodies are."""
    pairs: IntArray
    """Which of its nodes each pair of bodies has, ``(n, p)``."""

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        shape_a: Shape,
        shape_b: Shape,
        *,
        restitution: UnitInterval = 0.0,
        friction: NotNegative = 0.0,
        stiffness: Positive | None = None,
        exponent: Positive = 1.5,
        creep: Positive = 1e-3,
    ) -> None:
        if a is b:
            raise ModelError(f"Contact: {a} and {b} are one node, whose shapes keep their places")
        placed = shape_a.on(a), shape_b.on(b)
        found, self.swapped = pair_of(*placed), False
        if found is None:
            found, self.swapped = pair_of(*placed[::-1]), True
        if found is None:
            raise ModelError(f"Contact on {a}, {b}: {no_closed_form(*placed)}")
        self.nodes = (b, a) if self.swapped else (a, b)
        self.pairs = np.arange(len(self.nodes))[None]
        self.pair, self.contacts = found.pair, found.names
        self.data = found.data(*(np.asarray(own)[None] for own in (*found.a, *found.b)))
        known = [reach(shape) for shape in placed]
        self.reach = np.array([known[::-1] if self.swapped else known])
        self.passes = not any(isinstance(shape, Plane | Bush) for shape in placed)
        self.convex = not any(isinstance(shape, Surface) for shape in placed)
        self.placed = tuple(Placed(n, s) for n, s in zip((a, b), placed, strict=True))
        self._obeys(f"Contact on {a}, {b}", restitution, friction, stiffness, exponent, creep)

    def _obeys(
        self,
        label: str,
        restitution: float,
        friction: float,
        stiffness: float | None,
        exponent: float,
        creep: float,
    ) -> None:
        """Take the numbers of the laws."""
        self.yields = stiffness is not None
        if exponent < 1.0:
            raise ModelError(f"{label}: exponent must be at least 1, received {exponent:g}")
        if self.yields and restitution < LEAST:
            raise ModelError(
                f"{label}: with stiffness, restitution must be at least {LEAST:g}, received "
                f"{restitution:g}: less takes a force without bounds; without stiffness nothing may come back"
            )
        self.internal_variables = (approach_variables if self.yields else carried_variables)(self.contacts)
        self.restitution, self.friction = restitution, friction
        self.stiffness, self.exponent, self.creep = stiffness, exponent, creep

    @property
    def per_pair(self) -> int:
        """Number of the contacts of a pair of bodies."""
        return len(self.contacts)

    @classmethod
    def geometry(cls, elements: Sequence[Any], closed: bool = False) -> Pairs | Tubes:
        """Where they are nearest, as arrays; ``closed`` if they are closed throughout a step."""
        return Pairs(elements, closed)

    def batch_key(self) -> Hashable:
        return self.pair, len(self.contacts), self.yields

    @classmethod
    def batch(cls, elements: Sequence[Contact], number: Numbering) -> ContactBatch | YieldingBatch:
        return (YieldingBatch if elements[0].yields else ContactBatch)(elements, number)

    def shapes(self, size: float) -> tuple[Placed, ...]:
        """Those of both bodies."""
        return self.placed


def no_closed_form(a: Shape, b: Shape) -> str:
    """Words for two shapes of which there is no pair."""
    return (
        f"there is no closed form for {type(a).__name__} and {type(b).__name__}; there is for {PAIRS}. Put several of "
        "these on a body, each in a Contact of its own"
    )


class ContactBatch(UnilateralBatch):
    """Rigid contacts of one kind of pair."""

    owners: Sequence[Contact]
    sifts = True
    reach: Array

    def __init__(self, elements: Sequence[Contact], number: Numbering) -> None:
        super().__init__(elements, number)
        self.nodes = np.concatenate([own[e.pairs] for own, e in zip(self.nodes, elements, strict=True)])
        self._pairs = elements[0].geometry(elements, self.closed)
        self.reach = np.concatenate([e.reach for e in elements])
        self.passes, self.convex, r = elements[0].passes, elements[0].convex, elements[0].per_pair
        laws = [np.broadcast_to([[e.friction, e.restitution]], (len(e.reach), 2)) for e in elements]
        self.friction, self.restitution = np.broadcast_to(np.concatenate(laws).T[..., None], (2, len(self.nodes), r))

    def some(self, rows: IntArray) -> ContactBatch:
        result = copy(self)
        result._pairs, result.nodes, result.reach = self._pairs.some(rows), self.nodes[rows], self.reach[rows]
        return result

    def gaps(self, motion: Motion) -> Array:
        n, most = len(self.nodes), MANY // self.friction.shape[1]
        if n > most:
            parts = (self.some(np.arange(k, min(k + most, n))) for k in range(0, n, most))
            return np.concatenate([part.gaps(motion) for part in parts])
        return self._pairs.at(motion, self.nodes).near.gap

    def approach(self, motion: Motion) -> Approach:
        near = self._pairs.at(motion, self.nodes).near
        return approach(near, motion, self.nodes, self._pairs.of_b, self.reach, convex=self.convex)

    def measure(self, motion: Motion, rows: IntArray, places: IntArray) -> Gaps:
        place = self._pairs.at(motion, self.nodes)
        return Gaps(place.near.gap[rows, places], place.gradients(rows, places), (place, rows, places))

    def second(self, gaps: Gaps) -> Array:
        place, rows, places = gaps.context
        return np.asarray(place.bent(rows, places))

    def points(self, motion: Motion) -> Array:
        return self._pairs.at(motion, self.nodes).points()

    def on_b(self, motion: Motion, rows: IntArray, forces: Array) -> Array:
        return self._pairs.sides[rows, None] * on_b(forces, motion.R[self.nodes[rows]], self._pairs.of_b)
