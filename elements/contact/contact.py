"""Rigid contact of two bodies with restitution and Coulomb friction."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Element,
    Gaps,
    Motion,
    NodeLike,
    NotNegative,
    Numbering,
    Placed,
    Shape,
    UnilateralBatch,
    UnitInterval,
    carried_variables,
    checked,
)
from fem_mbs.elements.contact.pairs import Nearest, Pair, bent, gradients
from fem_mbs.elements.contact.shapes import pair_of, reach
from fem_mbs.errors import ModelError

PAIRS = (
    "a Plane with a Ball, a Capsule, a Box or a Cylinder; a Ball or a Capsule with another; a Box with a Ball, a "
    "Capsule or a Box; a Ball with a Cylinder or a Surface; a Bush with a Ball or a Capsule as its pin"
)


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
        Newton's: the share of the speed of approach that comes back at an impact, in [0, 1].
    friction : float
        Coulomb's coefficient, of impacts, too.

    Raises
    ------
    ModelError
        If there is no closed form for the pair.

    Notes
    -----
    For ``NonsmoothAlpha`` alone. ``solution.gap``, ``solution.contact_force`` and ``solution.impulses`` have what
    happens. Each body rests on as many points as its pair has: a box on eight corners, a capsule on two ends.
    """

    _internal = ("pair", "data", "swapped", "reach")

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        shape_a: Shape,
        shape_b: Shape,
        *,
        restitution: UnitInterval = 0.0,
        friction: NotNegative = 0.0,
    ) -> None:
        if a is b:
            raise ModelError(f"Contact: {a} and {b} are one node, whose shapes keep their places")
        placed = shape_a.on(a), shape_b.on(b)
        found, self.swapped = pair_of(*placed), False
        if found is None:
            found, self.swapped = pair_of(*placed[::-1]), True
        if found is None:
            kinds = " and ".join(type(shape).__name__ for shape in placed)
            raise ModelError(
                f"Contact on {a}, {b}: there is no closed form for {kinds}; there is for {PAIRS}. Put several of these "
                "on a body, each in a Contact of its own"
            )
        self.nodes = (b, a) if self.swapped else (a, b)
        self.pair, self.contacts, self.data = found
        self.internal_variables = carried_variables(self.contacts)
        self.reach = min(map(reach, placed))
        self.placed = tuple(Placed(n, s) for n, s in zip((a, b), placed, strict=True))
        self.restitution, self.friction = restitution, friction

    def batch_key(self) -> Hashable:
        return self.pair, len(self.contacts)

    def shapes(self, size: float) -> tuple[Placed, ...]:
        """Those of both bodies."""
        return self.placed


class ContactBatch(UnilateralBatch, of=Contact):
    """Contacts of one kind of pair."""

    owners: Sequence[Contact]
    _bent: tuple[Gaps, Array] | None = None

    def __init__(self, elements: Sequence[Contact], number: Numbering) -> None:
        super().__init__(elements, number)
        self._pair: Pair = elements[0].pair
        self._data = type(elements[0].data)(*(np.array(part) for part in zip(*(e.data for e in elements), strict=True)))
        self.reach = np.array([e.reach for e in elements])
        r = len(elements[0].contacts)
        self.friction = np.repeat([[e.friction] for e in elements], r, axis=1)
        self.restitution = np.repeat([[e.restitution] for e in elements], r, axis=1)

    def nearest(self, motion: Motion) -> tuple[Nearest, Array, Array]:
        """Nearest points, and where the nodes are."""
        x, R = motion.x[self.nodes], motion.R[self.nodes]
        return self._pair(x[:, 1] - x[:, 0], R[:, 0], R[:, 1], self._data), x, R

    def gaps(self, motion: Motion) -> Array:
        return self.nearest(motion)[0].gap

    def measure(self, motion: Motion) -> Gaps:
        near, x, R = self.nearest(motion)
        return Gaps(near.gap, gradients(near, x[:, 1] - x[:, 0], R[:, 0], R[:, 1]), (x, R))

    def second(self, gaps: Gaps) -> Array:
        if self._bent is None or self._bent[0] is not gaps:
            self._bent = gaps, bent(self._pair, self._data, *gaps.context)
        return self._bent[1]

    def forces_on_b(self, motion: Motion, carried: Array) -> Array:
        sides = np.array([-1.0 if own.swapped else 1.0 for own in self.owners])
        return sides[:, None, None] * super().forces_on_b(motion, carried)
