"""The contract of what pushes and never pulls: rigid contacts, stops and ropes.

Each has ``r`` contacts with a gap that may not become negative, ``0 <= lambda_N, gap >= 0``. Forces are no function of
the motion: a method with complementarity finds them (``fem_mbs/contact``) and keeps them as internal variables of kind
"history", so that at any stored instant the contact is an element with known forces. Steps are made without these
elements: where their contacts are closed, with equations of the gaps in their place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts.component import InternalVariable, Numbering, node_rows, own_rows
from fem_mbs.contracts.element import ElementBatch
from fem_mbs.contracts.motion import Motion
from fem_mbs.errors import MissingMethodError

CARRIED = (
    *(("normal force", "N"), ("friction 1", "N"), ("friction 2", "N")),
    *(("impulse", "N s"), ("impulse of friction 1", "N s"), ("impulse of friction 2", "N s")),
    *(("time of the last impact", "s"), ("energy of impacts", "J")),
)
"""What a contact carries from step to step: forces, impulses so far, when the last was, and what they took."""
FORCES, IMPULSES, TIME, WORK = slice(0, 3), slice(3, 6), 6, 7
FARTHEST, NEVER, ENDLESS = 1e300, 1e-9, 1e90
"""Numbers in place of a length without end, of a rate with which gaps close that never do, and of paths without end."""
TOUCHING = 1e-9
"""Gap that counts as closed, over the extent of the model."""


@cache
def carried_variables(contacts: tuple[str, ...]) -> tuple[InternalVariable, ...]:
    """What contacts of these names carry."""
    several = len(contacts) > 1
    return tuple(
        InternalVariable(f"{name} of {contact}" if several else name, "history", unit=unit)
        for contact in contacts
        for name, unit in CARRIED
    )


class Gaps(NamedTuple):
    """Some contacts of a batch at a motion."""

    gap: Array
    """``(k,)`` in m or rad."""
    gradient: Array
    """Against body increments: of the gap, and of the slip along two tangents, ``(k, 3, 6p)``."""
    context: Any


class UnilateralBatch(ElementBatch):
    """Contacts as arrays: ``n`` elements with ``r`` contacts each.

    To write one: ``friction`` and ``restitution``, ``(n, r)`` each; ``gaps(motion)``, likewise; ``measure(motion, rows,
    places)`` returns :class:`Gaps` of some; ``second(gaps)`` the derivatives ``(k, 3, 6p, 6p)`` of their gradients.
    Where the points of contact are in known parts of the bodies, ``reach`` spares gaps that are far from closed, and
    where ``sifts``, ``some(rows)`` is of those that are not. A batch is also made in the numbering of a system in
    which its elements' closed contacts are equations: its gaps are those near zero then.
    """

    unilateral = True
    sifts: bool = False
    friction: Array
    restitution: Array
    reach: Array = np.full((1, 2), FARTHEST)
    """Of points that turns of the first and of the last node move: largest distance in m from it, ``(n, 2)``;
    ``FARTHEST`` where not known."""
    told, within = math.inf, ENDLESS
    """Largest change of a gap that is told from smaller ones, and how far nodes may move and turn, over the extent of
    the model and in rad, while gaps close by no more than ``closing`` of today says."""
    carried: IntArray
    """Rows ``(n, r, 8)`` in ``motion.u`` of what contacts carry; of those that take turns, ``(s, 8)``."""
    losses: IntArray
    """Rows in ``motion.u`` of what all impacts have taken."""
    follows: IntArray
    """Rows ``(n, s)`` of what follows each step beside, such as angles that count turns."""

    def __init__(self, elements: Sequence[Any], number: Numbering) -> None:
        self.owners, self.nodes = elements, node_rows(elements, number)
        self.closed = elements[0] not in number
        """Whether their contacts are closed throughout a step, in a system of which they are no elements."""
        self.follows = np.empty((len(elements), 0), np.intp)
        if not self.closed and not elements[0].slots:
            own, r = own_rows(elements, number), len(elements[0].contacts)
            self.carried = own[:, -len(CARRIED) * r :].reshape(-1, r, len(CARRIED))
            self.losses = self.carried[..., WORK].ravel()
            self.follows = own[:, : -len(CARRIED) * r]

    @property
    def whole(self) -> UnilateralBatch:
        """The batch of all pairs of bodies, where these are no cells of the model."""
        return self

    def part(self, row: int) -> Any:
        """The element of a row, to be named."""
        return self.owners[row]

    def carrying(self, u: Array) -> tuple[IntArray, IntArray]:
        """Numbers ``(s,)``, row by row, of the contacts that carry something, and where in ``u``: ``(s, 8)``."""
        rows = self.carried.reshape(-1, len(CARRIED))
        return np.arange(len(rows)), rows

    def taken(self, u: Array, numbers: IntArray) -> IntArray:
        """Rows ``(k, 8)`` in ``u`` for what contacts of these numbers carry from now on."""
        return self.carried.reshape(-1, len(CARRIED))[numbers]

    def closing(self, motion: Motion, linear: Array, turn: Array) -> Array:
        """By how much gaps may close ``(2, n)`` as nodes move by ``linear`` (N,) m, and turn by ``turn`` (N,) rad."""
        nodes, reach = self.nodes.T, self.reach.T
        apart, ways, turns = motion.x[nodes[-1]] - motion.x[nodes[0]], linear[nodes], turn[nodes]
        arms = np.minimum(reach, np.sqrt(np.vecdot(apart, apart)) + reach[::-1])
        if len(nodes) > 2:
            turns = np.maximum.reduce(turns)
        moved = np.minimum(np.add.reduce(ways), 2.0 * np.maximum.reduce(ways))
        return np.array([moved, np.add.reduce(turns * arms)])

    def moved_by(self, moving: Array) -> None:
        """Take which nodes ``(N,)`` move: 1 of each, 0 of those that are held."""
        own = moving[self.nodes]
        ends = own if own.shape[1] == 2 else own.max(axis=1)[:, None]
        self._moving, self.turns = moving, bool((ends * self.reach).any())
        self._ways = min(2.0, own.sum(axis=1).max(initial=0.0))
        self._grows = float((ends * (self.reach == FARTHEST)).any())

    def opening(self, motion: Motion) -> tuple[Array, Array | None, Array | float]:
        """Gaps ``(n, r)``; of the least ones, the rate ``b`` and ``c``: they get less by ``c T^2/2 - b T`` at most.

        In a time ``T`` ahead or, with ``-b``, back, without turns and accelerations; ``b`` (n,) in m/s is None where
        that is not known.
        """
        return self.gaps(motion), None, 0.0

    def open_for(self, motion: Motion, limits: Sequence[float], length: float) -> tuple[Array, Array]:
        """Gaps ``(n, r)``, and for how long none of an element closes, in s, ahead and back: ``(2, n)``.

        That a gap opens is not counted on. Of nodes that move, speeds, angular velocities and accelerations stay
        within ``limits``; ``length`` is the extent of the model.
        """
        speed, turn, push = limits
        gaps, b, c = self.opening(motion)
        gap = np.maximum(np.minimum.reduce(gaps, axis=1), 0.0)
        ways, turns = self.closing(motion, self._moving, self._moving) if self.turns else (self._ways, 0.0)
        turned = turn * turns + NEVER
        closing = speed * ways + turned
        if b is not None:
            b = np.maximum(np.array([-b, b]), 0.0) + turned
            # where turns count by the way to the other body, that grows
            c = c + (push * ways + 2.0 * speed * turn * self._grows)
            closing = np.minimum(closing, 0.5 * (b + np.sqrt(b * b + 2.0 * c * gap)))
        if self.told < math.inf:
            gap = np.minimum(gap, self.told)
        times = np.minimum(gap / closing, self.within * length / (speed + length * turn + NEVER))
        return gaps, times if b is not None else np.array([times, times])

    def some(self, rows: IntArray) -> UnilateralBatch:
        """The contacts of some of the elements; of a kind of which there are few, of all."""
        return self

    def followed(self, motion: Motion, before: Motion) -> Array:
        """What ``follows`` is after a step, or a part of one, that began with another motion."""
        return motion.u[self.follows]

    def gaps(self, motion: Motion) -> Array:
        """Gaps ``(n, r)`` alone."""
        raise MissingMethodError(f"{type(self).__name__} must define gaps(motion)")

    def measure(self, motion: Motion, rows: IntArray, places: IntArray) -> Gaps:
        """Some contacts, ``places`` of ``rows``: their gaps, and the gradients of gap and slip."""
        raise MissingMethodError(f"{type(self).__name__} must define measure(motion, rows, places)")

    def second(self, gaps: Gaps) -> Array:
        """Derivatives of the gradients."""
        raise MissingMethodError(f"{type(self).__name__} must define second(gaps)")

    def points(self, motion: Motion) -> Array | None:
        """Where contacts are, on the surface of b, ``(n, r, 3)``, world; None where forces act along a coordinate."""
        return None

    def pushing(self, motion: Motion) -> Pushing | None:
        """The contacts with a force; None for none."""
        forces = motion.u[self.carried[..., FORCES]]
        rows, places = np.nonzero(forces.any(axis=-1))
        return Pushing(rows, places, forces[rows, places], self.measure(motion, rows, places)) if len(rows) else None

    def forces_on_b(self, motion: Motion) -> Array:
        """Forces on node b, the last, in the world, ``(n, r, 3)``."""
        result = np.zeros((*self.friction.shape, 3))
        if at := self.pushing(motion):
            result[at.rows, at.places] = self.on_b(motion, at.rows, np.vecmat(at.forces, at.gaps.gradient))
        return result

    def on_b(self, motion: Motion, rows: IntArray, forces: Array) -> Array:
        """Forces ``(k, 3)`` on node b in the world of those on all nodes of ``rows``, ``(k, 6p)``."""
        return np.asarray(np.matvec(motion.R[self.nodes[rows, -1]], forces[:, -6:-3]))

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Pushing | None]:
        """What the forces that it carries put on the nodes."""
        result = np.zeros((len(self.nodes), 6 * self.nodes.shape[1]))
        if at := self.pushing(motion):
            np.subtract.at(result, at.rows, np.vecmat(at.forces, at.gaps.gradient))
        return result, at

    def stiffness(self, context: Pushing | None) -> Array:
        """How the directions of these forces change."""
        b = 6 * self.nodes.shape[1]
        result = np.zeros((len(self.nodes), b, b))
        if at := context:
            np.subtract.at(result, at.rows, np.einsum("kd,kdbc->kbc", at.forces, self.second(at.gaps)))
        return result


class Pushing(NamedTuple):
    """Contacts of a batch with a force: ``places`` of ``rows``."""

    rows: IntArray
    places: IntArray
    forces: Array
    """Along gap and slip, ``(k, 3)``."""
    gaps: Gaps
