"""Contacts that stay closed as equations of a model: for statics and for small motions.

As long as a contact is closed, ``gap = 0`` is an equation on positions like that of a joint, a contact that sticks has
two more, which hold it where it is, and one that slides puts ``mu lambda_N`` against its slip. One in which all are
open has nothing of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Constraint, ConstraintBatch, Element, ElementBatch, Gaps, Motion, UnilateralBatch
from fem_mbs.contracts.component import Numbering, node_rows
from fem_mbs.system.system import System

OPEN, STICKS, SLIDES = 0, 1, 2
"""What a contact does."""
STILL = 1e-12
"""Speed of slip in m/s below which its direction is that of the force against it."""


class ClosedContact(Constraint):
    """One contact of an element, closed."""

    _internal = "part place sticks"

    def __init__(self, part: Element, place: int, sticks: bool) -> None:
        self.part, self.place, self.sticks = part, place, sticks
        self.nodes = part.nodes
        self.name = f"{part.name}: {part.contacts[place]}"
        self.equations = ("gap", "slip 1", "slip 2") if sticks else ("gap",)

    def batch_key(self) -> Hashable:
        return type(self.part), self.part.batch_key(), self.sticks, len(self.nodes)


class _OfParts:
    """Gaps of single contacts of many elements, which share a batch."""

    def __init__(self, parts: Sequence[Any], number: Numbering) -> None:
        elements = list(dict.fromkeys(own.part for own in parts))
        self.batch: UnilateralBatch = type(elements[0]).batch(elements, number)
        rows = {element: k for k, element in enumerate(elements)}
        self.pick = np.array([rows[own.part] for own in parts]), np.array([own.place for own in parts])


class ClosedBatch(ConstraintBatch, of=ClosedContact):
    """Depths and slips of closed contacts."""

    def __init__(self, parts: Sequence[ClosedContact], number: Numbering) -> None:
        super().__init__(parts, number)
        self._of = _OfParts(parts, number)
        self._rows = len(parts[0].equations)

    def evaluate(self, motion: Motion, prescribed: Any) -> tuple[Array, Array, Gaps]:
        gaps = self._of.batch.measure(motion, *self._of.pick)
        phi = np.zeros((len(self.nodes), self._rows))
        phi[:, 0] = -gaps.gap
        G = gaps.gradient[:, : self._rows]
        return phi.ravel(), -G.reshape(phi.size, -1), gaps

    def second(self, context: Gaps) -> Array:
        H = self._of.batch.second(context)[:, : self._rows]
        return -H.reshape(-1, *H.shape[2:])


class SlidingFriction(Element):
    """The friction of one closed contact that slides."""

    _internal = "part place closed fallback"

    def __init__(self, closed: ClosedContact) -> None:
        self.closed, self.part, self.place, self.nodes = closed, closed.part, closed.place, closed.nodes
        self.name = f"{closed.name} slides"

    def batch_key(self) -> Hashable:
        return type(self.part), self.part.batch_key(), len(self.nodes)


class _Slip(NamedTuple):
    """Where friction acts."""

    gaps: Gaps
    G: Array
    """Gradients of the slip, ``(n, 2, b)``."""
    V: Array
    direction: Array
    """Of the slip, ``(n, 2)``."""
    turning: Array
    """Its derivative against the slip, ``(n, 2, 2)``."""
    size: Array
    """``mu lambda_N``."""


class SlidingFrictionBatch(ElementBatch, of=SlidingFriction):
    """``mu lambda_N G_T^T d`` against the slip of direction ``d``."""

    def __init__(self, parts: Sequence[SlidingFriction], number: Numbering) -> None:
        self.owners: Sequence[SlidingFriction] = parts
        self.nodes = node_rows(parts, number)
        self._of = _OfParts(parts, number)
        self._mu = self._of.batch.friction[self._of.pick]
        self.reads: IntArray = np.array([number.multipliers(own.closed)[:1] for own in parts])
        self.fallback = np.zeros((len(parts), 2))
        """Directions ``(n, 2)`` where there is no slip yet."""

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, _Slip]:
        gaps = self._of.batch.measure(motion, *self._of.pick)
        G = gaps.gradient[:, 1:]
        V = motion.V[self.nodes].reshape(len(self.nodes), -1)
        slip = np.matvec(G, V)
        speed = np.linalg.norm(slip, axis=-1)
        moves = speed > STILL
        d = np.where(moves[:, None], slip / np.where(moves, speed, 1.0)[:, None], self.fallback)
        turning = (np.eye(2) - d[:, :, None] * d[:, None]) * (moves / np.where(moves, speed, 1.0))[:, None, None]
        size = self._mu * motion.multipliers[self.reads[:, 0]]
        context = _Slip(gaps, G, V, d, turning, size)
        return size[:, None] * np.vecmat(d, G), context

    def stiffness(self, context: _Slip) -> Array:
        H = self._of.batch.second(context.gaps)[:, 1:]
        by_place = np.einsum("nd,ndbc->nbc", context.direction, H)
        bend = np.einsum("nb,ndbc->ndc", context.V, H)
        by_place += context.G.mT @ context.turning @ bend
        return context.size[:, None, None] * by_place

    def damping(self, context: _Slip) -> Array:
        return context.size[:, None, None] * (context.G.mT @ context.turning @ context.G)

    def by_multipliers(self, context: _Slip) -> Array:
        return self._mu[:, None, None] * np.vecmat(context.direction, context.G)[..., None]


class ClosedSystem(NamedTuple):
    """A system with closed contacts, and where their multipliers are."""

    system: System
    contacts: IntArray
    """Numbers of the closed contacts, ``(k,)``."""
    multipliers: IntArray
    """Rows ``(k, 3)`` of their multipliers, -1 where there is none."""
    sliding: list[tuple[SlidingFrictionBatch, IntArray]]
    """Batches of those that slide, and the numbers of their contacts."""


def without_contacts(system: System, elements: Iterable[Element] = (), joints: Iterable[Constraint] = ()) -> System:
    """A frozen model without what opens and closes, and with other parts in its place."""
    unilateral = {id(own) for batch in system.batches if batch.unilateral for own in batch.owners}
    left = [own for own in system.elements if id(own) not in unilateral]
    model = system.model.with_parts(system.nodes, [*left, *elements], [*system.number.equations, *joints])
    with system.as_frozen():
        made = System(model) if math.isinf(system.end) else System(model, system.end)
    if system.redundant:
        made.regularize(system.redundant)
    return made


def closed_system(
    system: System, named: Callable[[int], tuple[Any, int]], friction: Array, status: bytes
) -> ClosedSystem:
    """That of what all contacts do, ``(C,)``, which has a name and coefficients ``(C,)`` of each."""
    does = np.frombuffer(status, np.intp)
    closed = {c: ClosedContact(*named(c), bool(does[c] == STICKS)) for c in np.flatnonzero(does).tolist()}
    slides = {SlidingFriction(own): c for c, own in closed.items() if does[c] == SLIDES and friction[c]}
    made = without_contacts(system, slides, closed.values())
    rows = np.full((len(closed), 3), -1)
    for row, own in zip(rows, closed.values(), strict=True):
        found = made.number.multipliers(own)
        row[: len(found)] = found
    batches = [batch for batch in made.batches if isinstance(batch, SlidingFrictionBatch)]
    sliding = [(batch, np.array([slides[own] for own in batch.owners])) for batch in batches]
    return ClosedSystem(made, np.array(list(closed), np.intp), rows, sliding)
