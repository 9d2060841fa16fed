"""Contact of two bodies, rigid or yielding, with restitution and Coulomb friction."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from functools import partial
from typing import ClassVar

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Element, Gaps, Motion, NodeLike, Numbering, UnilateralBatch, carried_variables, checked
from fem_mbs.contracts.arguments import NotNegative, Positive, UnitInterval
from fem_mbs.contracts.picture import Placed, Shape
from fem_mbs.elements.contact.boxes import boxes
from fem_mbs.elements.contact.pairs import NearestBatch, Pairs, picked, stacked
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

    _internal: ClassVar[str] = "pair closed_pair solids swapped reach geometry passes convex per_pair pairs"

    geometry: ClassVar[type[Pairs | Tubes]] = Pairs
    """What finds where they are nearest: of elements, as arrays."""
    passes = True
    """Whether bodies may come out on the other side of each other."""
    convex = False
    """Whether both bodies are."""
    placed: tuple[Placed, ...]
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
        self.placed, label = (Placed(a, shape_a.on(a)), Placed(b, shape_b.on(b))), f"Contact on {a}, {b}"
        self.contacts = self._pairs_of([[own] for own in self.placed], np.zeros((2, 1), np.intp), label)
        self.nodes = (b, a) if self.swapped else (a, b)
        self.pairs = np.arange(2)[None]
        self._obeys(label, restitution, friction, stiffness, exponent, creep)

    def _pairs_of(self, sides: Sequence[Sequence[Placed]], which: IntArray, label: str) -> tuple[str, ...]:
        """Take pairs ``which`` (2, n) of the bodies of two sides, each with one kind of shapes; names of contacts."""
        a, b = (side[0].shape for side in sides)
        self.swapped = pair_of(a, b) is None
        if self.swapped:
            a, b, sides, which = b, a, sides[::-1], which[::-1]
        if (kind := pair_of(a, b)) is None:
            raise ModelError(
                f"{label}: there is no closed form for {type(b).__name__} and {type(a).__name__}; there is for "
                f"{PAIRS}. Put several of these on a body, each in a Contact of its own"
            )
        solids = [pair_of(own.shape, b).a for own in sides[0]], [pair_of(a, own.shape).b for own in sides[1]]  # type: ignore[union-attr]
        self.solids = [picked(stacked(own, np.stack), rows) for own, rows in zip(solids, which, strict=True)]
        reaches = (np.array([reach(own.shape) for own in side]) for side in sides)
        self.reach = np.stack([own[rows] for own, rows in zip(reaches, which, strict=True)], axis=1)
        self.pair = kind.pair
        self.closed_pair = partial(boxes, continued=True) if kind.pair is boxes else kind.pair
        self.passes = not any(isinstance(shape, Plane | Bush) for shape in (a, b))
        self.convex = not any(isinstance(shape, Surface | Bush) for shape in (a, b))
        return kind.names

    def _obeys(
        self, label: str, restitution: float, friction: float, stiffness: float | None, exponent: float, creep: float
    ) -> None:
        """Take the numbers of the laws."""
        self.yields = stiffness is not None
        if exponent < 1.0:
            raise ModelError(f"{label}: exponent must be at least 1, received {exponent:g}")
        if self.yields and restitution < LEAST:
            raise ModelError(
                f"{label}: with stiffness, give a restitution of at least {LEAST:g}, it is {restitution:g}: less takes "
                "a force without bounds; without stiffness nothing may come back"
            )
        self.internal_variables = (approach_variables if self.yields else carried_variables)(self.contacts)
        self.restitution, self.friction = restitution, friction
        self.stiffness, self.exponent, self.creep = stiffness, exponent, creep

    @property
    def per_pair(self) -> int:
        """Number of the contacts of a pair of bodies."""
        return len(self.contacts)

    def batch_key(self) -> Hashable:
        return self.pair, len(self.contacts), self.yields

    @classmethod
    def batch(cls, elements: Sequence[Contact], number: Numbering) -> ContactBatch | YieldingBatch:
        return (YieldingBatch if elements[0].yields else ContactBatch)(elements, number)

    def shapes(self, size: float) -> tuple[Placed, ...]:
        return self.placed


class ContactBatch(NearestBatch, UnilateralBatch):
    """Rigid contacts of one kind of pair."""

    owners: Sequence[Contact]
    sifts = True

    def __init__(self, elements: Sequence[Contact], number: Numbering) -> None:
        super().__init__(elements, number)
        self.measures(elements, self.nodes, closed=self.closed)
        laws = [np.broadcast_to([[e.friction, e.restitution]], (len(e.reach), 2)) for e in elements]
        shape = 2, len(self.nodes), elements[0].per_pair
        self.friction, self.restitution = np.broadcast_to(np.concatenate(laws).T[..., None], shape)

    def some(self, rows: IntArray) -> ContactBatch:
        result = copy(self)
        result._pairs, result.nodes, result.reach = self._pairs.some(rows), self.nodes[rows], self.reach[rows]
        return result

    def gaps(self, motion: Motion) -> Array:
        return self.opening(motion)[0]

    def opening(self, motion: Motion) -> tuple[Array, Array | None, float]:
        """Convex bodies that translate come no nearer than their distance and its rate say."""
        n, most = len(self.nodes), MANY // self.friction.shape[1]
        if n > most:
            parts = (self.some(np.arange(k, min(k + most, n))).opening(motion) for k in range(0, n, most))
            gaps, rates, _ = zip(*parts, strict=True)
            return np.concatenate(gaps), np.concatenate(rates) if self.convex else None, 0.0
        place = self._pairs.at(motion, self.nodes)
        near = place.near
        if not self.convex:
            return near.gap, None, 0.0
        v = np.matvec(place.R, motion.V[self.nodes][..., :3])
        normal = near.normal[np.arange(n), near.gap.argmin(axis=1)]
        return near.gap, np.vecdot(normal, v[:, 1] - v[:, 0]), 0.0

    def measure(self, motion: Motion, rows: IntArray, places: IntArray) -> Gaps:
        place = self._pairs.at(motion, self.nodes)
        return Gaps(place.near.gap[rows, places], place.gradients(rows, places), (place, rows, places))

    def second(self, gaps: Gaps) -> Array:
        place, rows, places = gaps.context
        return np.asarray(place.bent(rows, places))
