"""The contacts of a system, numbered through, and what some of them measure at a motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.arrays import Array, BoolArray, IntArray, places_in
from fem_mbs.compiled import accelerate
from fem_mbs.contact.closed import OPEN, ClosedSystem, closed_system, without_contacts
from fem_mbs.contact.many import FEW, MANY, Matrix
from fem_mbs.contact.memory import still
from fem_mbs.contracts import Gaps, Motion, RateSensitivities, Report, State, UnilateralBatch
from fem_mbs.contracts.unilateral import CARRIED, FORCES
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import System

KEPT = 64
"""Systems of closed contacts that are kept for when the same are closed again."""
EDGE = 1e-6
"""What is left of a cone of friction at its edge."""


class Contacts:
    """All contacts of a system, numbered through."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.batches = [b for b in system.batches if isinstance(b, UnilateralBatch)]
        self._wholes = [b.whole for b in self.batches]
        counts = np.cumsum([[0, 0], *((b.friction.size, len(b.friction)) for b in self._wholes)], axis=0)
        self.count, self.elements = counts[-1].tolist()
        """Number of contacts, and of elements, or pairs of bodies, with contacts."""
        self._starts, self._firsts = counts.T
        every = [np.arange(len(b.friction)).repeat(b.friction.shape[1]) for b in self._wholes]
        every = [first + own for first, own in zip(self._firsts, every, strict=False)]
        self.element_of: IntArray = np.concatenate([np.zeros(0, np.intp), *every])
        """The element of each contact, ``(C,)``."""
        sizes = [np.full(b.friction.shape, 1.0 if b.angle else system.length) for b in self._wholes]
        self.size = flat(sizes)
        """What is small is so against it, ``(C,)``: the extent for gaps that are lengths, 1 for angles."""
        self.friction = flat([b.friction for b in self._wholes])
        self.restitution = flat([b.restitution for b in self._wholes])
        self.open = system
        """The model without contacts."""
        if self.count:
            self.open = without_contacts(system)
            accelerate(self.open)
        self._closed = lru_cache(KEPT)(partial(closed_system, system, self.named, self.friction))
        owners = {id(own) for b in self.batches for own in b.owners}
        self._kept: IntArray = np.flatnonzero([id(own) not in owners for own, _ in system.internal_variables])
        self._none = np.zeros(0), np.zeros(0), np.zeros(0)
        self._last: tuple[State | None, Any] = None, None
        """The last state that is gone on with, and the same without contacts."""
        free = self.open.equation[: 6 * system.n].reshape(-1, 6) >= 0
        for whole in self._wholes:
            whole.moved_by(free.any(axis=1).astype(float))
        self.turns = any(whole.turns for whole in self._wholes)
        """Whether turns of nodes close any gap: not of balls."""
        self.coupled = any(group.coupled for group, _ in system.kinematics.parts)
        """Whether velocities are those of bodies, whose changes are others than in the world."""
        self._following = [b for b in self._wholes if b.follows.size]
        self.losses = np.concatenate([np.empty(0, np.intp), *(b.losses for b in self.batches)])
        """Rows in ``u`` of what impacts have taken."""
        with system.as_frozen():
            self._held = [type(b.owners[0]).batch(b.owners, self.open.number).whole for b in self.batches]
        self._asked: tuple[Any, list[ContactPart]] = self, []
        self._every = self.of(None)
        self.numbered: dict[bytes, Any] = {}
        """Those that have touched in a step (``touching.py``)."""
        self._fixed = self.carrying(system.u0) if all(b.whole is b for b in self.batches) else None

    @cached_property
    def of_many(self) -> bool:
        """Whether the model falls apart into many islands, of which each contact is of two."""
        return int(self.open.unknown_islands.max(initial=0)) > MANY

    def named(self, number: int) -> tuple[Any, int]:
        """The element of a contact, and its place there."""
        k = int(np.searchsorted(self._starts, number, side="right")) - 1
        row, place = divmod(int(number - self._starts[k]), self._wholes[k].friction.shape[1])
        return self.batches[k].part(row), place

    def closed(self, status: IntArray) -> ClosedSystem:
        """The model of what all contacts do, ``(C,)``: those that are not open are joints; made once."""
        if not (status != OPEN).any():
            return ClosedSystem(self.open, np.empty(0, np.intp), np.empty((0, 3), np.intp), [])
        return self._closed(status.tobytes())

    def carrying(self, u: Array) -> tuple[IntArray, IntArray]:
        """Numbers ``(s,)`` of the contacts that carry something, and where in ``u``: ``(s, 8)``."""
        own = [b.carrying(u) for b in self.batches]
        numbers = [first + part for first, (part, _) in zip(self._starts, own, strict=False)]
        none = np.zeros((0, len(CARRIED)), np.intp)
        return np.concatenate([none[:, 0], *numbers]), np.concatenate([none, *(rows for _, rows in own)])

    def carried(self, state: State) -> tuple[IntArray, Array]:
        """Numbers ``(s,)`` of the contacts that carry something, and what, ``(s, 8)``."""
        numbers, rows = self._fixed or self.carrying(state.u)
        return numbers, state.u[rows]

    def taken(self, u: Array, numbers: IntArray) -> IntArray:
        """Rows ``(k, 8)`` in ``u`` for what some contacts, in their order, carry from now on."""
        if self._fixed:
            return self._fixed[1][numbers]
        bounds = np.searchsorted(numbers, self._starts)
        own = zip(self.batches, self._starts, bounds, bounds[1:], strict=False)
        parts = [b.taken(u, numbers[low:high] - first) for b, first, low, high in own]
        return np.concatenate([np.zeros((0, len(CARRIED)), np.intp), *parts])

    def of(self, near: BoolArray | IntArray | None, held: bool = False) -> list[ContactPart]:
        """Batches with the numbers of their contacts: of all elements, or of those near ``(E,)``, or of these numbers.

        If ``held``, batches as they are while contacts are closed: these go on beyond the end of a face.
        """
        if near is self._asked[0] and not held:
            return self._asked[1]
        parts, elements = list[ContactPart](), near
        if near is not None and near.dtype == np.bool_:
            elements = np.flatnonzero(near)
        for b, start, first in zip(self._held if held else self._wholes, self._starts, self._firsts, strict=False):
            (n, r), rows = b.friction.shape, None
            if elements is not None and b.sifts:
                low, high = np.searchsorted(elements, [first, first + n])
                rows = elements[low:high] - first if high - low < n else None
            if rows is None or len(rows):
                batch, rows = (b, np.arange(n)) if rows is None else (b.some(rows), rows)
                parts.append(ContactPart(batch, first + rows, start + r * rows[:, None] + np.arange(r)))
        if not held:
            self._asked = near, parts
        return parts

    def touched(self, which: BoolArray | IntArray) -> BoolArray:
        """The elements ``(E,)`` of some contacts: marked ``(C,)``, or by their numbers."""
        return np.bincount(self.element_of[which], minlength=self.elements) > 0

    def gaps(self, motion: Motion, near: BoolArray | None = None) -> Array:
        """Gaps ``(C,)`` of elements that are near, and no end of others."""
        gap = np.full(self.count, np.inf)
        for part in self.of(near):
            gap[part.numbers] = part.batch.gaps(motion)
        return gap

    def within(self, gap: Array, share: float) -> IntArray:
        """Numbers of the contacts with gaps, of all ``(C,)``, of at most a share of what they are measured by."""
        numbers = np.flatnonzero(gap < np.inf)
        return numbers[gap[numbers] <= share * self.size[numbers]]

    def looked_at(
        self, motion: Motion, near: BoolArray, limits: Sequence[float], until: Array
    ) -> tuple[Array, Array, float]:
        """Gaps ``(C,)`` of elements that are near, no end of others, and ``until`` (E,) with new times of these.

        Last, for how long none of these has been closed.
        """
        gap, until, since = np.full(self.count, np.inf), until.copy(), np.inf
        for part in self._every if np.logical_and.reduce(near) else self.of(near):
            gap[part.numbers], times = part.batch.open_for(motion, limits, self.system.length)
            until[part.elements], since = motion.t + times[0], np.minimum.reduce(times[1], initial=since)
        return gap, until, since

    def largest(self, values: Array) -> Array:
        """Of values ``(N,)`` of nodes the largest of each element, ``(E,)``."""
        return np.concatenate([np.zeros(0), *(values[b.nodes].max(axis=1) for b in self._wholes)])

    def closing(self, first: State, last: State, near: BoolArray) -> Array:
        """By how much gaps ``(C,)`` of elements that are near may close in a part, by the speeds at its ends."""
        result, motion = np.zeros(self.count), self.system.motion(last)
        # half the change of a velocity is four times what a steady acceleration adds to the path
        v = np.array([first.v, last.v, last.v - first.v]).reshape(3, -1, 2, 3)
        before, after, change = np.sqrt(np.vecdot(v, v))
        ways = (last.t - first.t) * (np.maximum(before, after) + 0.5 * change)
        for part in self.of(near):
            result[part.numbers] = part.batch.closing(motion, *ways.T).sum(axis=0)[:, None]
        return result

    def without(self, state: State) -> State:
        """A state of the model without contacts."""
        if state is self._last[0]:
            return self._last[1]
        own = self._none
        if len(self._kept):
            own = state.u[self._kept], state.udot[self._kept], state.uddot[self._kept]
        return State(state.t, state.x, state.R, state.v, state.vdot, state.multipliers, *own)

    def carry_on(self, last: State, state: State, forces: ContactForces | None = None) -> State:
        """A state of the model of one without contacts: these carry what they did last, or these forces alone."""
        u, udot, uddot = last.u, last.udot, last.uddot
        if self.open.k:
            pairs = (u, state.u), (udot, state.udot), (uddot, state.uddot)
            u, udot, uddot = (self._put(*pair) for pair in pairs)
        if forces is not None:
            u = u.copy()
            u[(self._fixed or self.carrying(u))[1][:, FORCES]] = 0.0
            some = forces.P.any(axis=1)
            u[self.taken(u, forces.numbers[some])[:, FORCES]] = forces.P[some]
        multipliers = state.multipliers[: self.system.m]
        carried = State(state.t, state.x, state.R, state.v, state.vdot, multipliers, u, udot, uddot)
        if len(state.multipliers) == len(multipliers):
            self._last = carried, state
        return carried

    def followed(self, last: State, state: State) -> State:
        """A state with what follows the motion beside, such as turns that count, after one at which it was known."""
        if not self._following:
            return state
        motion, before, u = self.system.motion(state), self.system.motion(last), state.u.copy()
        for b in self._following:
            u[b.follows] = b.followed(motion, before)
        return replace(state, u=u)

    def _put(self, values: Array, own: Array) -> Array:
        """Internal variables ``(k,)`` with those that are not of contacts."""
        result = values.copy()
        result[self._kept] = own
        return result

    def report(self, report: Report) -> Report:
        """Of a step of the model without contacts: local errors of what they carry are none."""
        if report.local_error is None or not self.count:
            return report
        nodes = 6 * self.system.n
        own = self.added(np.zeros(self.system.k), report.local_error[nodes:])
        return replace(report, local_error=np.append(report.local_error[:nodes], own))

    def added(self, values: Array, own: Array) -> Array:
        """Values of internal variables ``(k,)`` with something added to those that are not of contacts."""
        return self._put(values, values[self._kept] + own)

    def remembered(self, state: State, own: IntArray) -> Array:
        """What some contacts carry, ``(k, 8)``."""
        numbers, values = self.carried(state)
        return np.append(values, np.zeros((1, len(CARRIED))), axis=0)[places_in(numbers)(own)]

    def forces(self, state: State) -> Array:
        """Of contact, normal and along two tangents, ``(C, 3)``."""
        (numbers, values), result = self.carried(state), np.zeros((self.count, 3))
        result[numbers] = values[:, FORCES]
        return result

    def pushing(self, state: State, light: float = 0.0) -> BoolArray:
        """Contacts ``(C,)`` with a force, or with more than what is ``light`` beside the largest."""
        numbers, values = self.carried(state)
        pressed = values[:, FORCES.start] * self.size[numbers]
        return self.marked(numbers[pressed > light * pressed.max(initial=0.0)])

    def at_edge(self, state: State) -> BoolArray:
        """Contacts ``(C,)`` that push and slide, or are about to: their friction is all that their cones allow."""
        numbers, values = self.carried(state)
        P = values[:, FORCES]
        limit = (1.0 - EDGE) * self.friction[numbers] * P[:, 0]
        return self.marked(numbers[(limit > 0.0) & (np.linalg.norm(P[:, 1:], axis=1) >= limit)])

    def marked(self, numbers: IntArray) -> BoolArray:
        """Contacts ``(C,)`` of these numbers."""
        result = np.zeros(self.count, np.bool_)
        result[numbers] = True
        return result

    def pressed(self, state: State) -> tuple[float, int]:
        """All that presses, by what gaps are measured by, J, and the contact that is pressed most."""
        numbers, values = self.carried(state)
        normal = values[:, FORCES.start]
        return float(normal @ self.size[numbers]), int(numbers[normal.argmax()]) if len(numbers) else 0


class ContactForces(NamedTuple):
    """Forces of some contacts, in their order; others have none."""

    numbers: IntArray
    """``(k,)``."""
    P: Array
    """``(k, 3)``."""


NO_FORCES = ContactForces(np.zeros(0, np.intp), np.zeros((0, 3)))


def contacts_of(system: System) -> Contacts:
    """The contacts of a system, numbered once."""
    if system.contacts is None:
        system.contacts = Contacts(system)
    return system.contacts


class ContactPart(NamedTuple):
    """Some of the contacts of one kind."""

    batch: UnilateralBatch
    elements: IntArray
    """``(n,)``."""
    numbers: IntArray
    """Of the contacts, ``(n, r)``."""


class SelectedPart(NamedTuple):
    """Those of one kind: contact ``place`` of element ``cell`` of the batch is number ``own`` of all selected."""

    batch: UnilateralBatch
    cell: IntArray
    place: IntArray
    own: IntArray
    elements: IntArray
    """Components ``(n, b)`` of the elements."""

    @property
    def components(self) -> IntArray:
        """Of each contact, ``(k, b)``."""
        return self.elements[self.cell]


class Selection:
    """Contacts that are marked ``(C,)``, ``k`` of them, or those of these numbers, which rise."""

    def __init__(self, contacts: Contacts, marked: BoolArray | IntArray, held: bool = False) -> None:
        self.contacts = contacts
        self.numbers: IntArray = np.flatnonzero(marked) if marked.dtype == np.bool_ else np.asarray(marked, np.intp)
        """Of all contacts of the model, ``(k,)``."""
        self.k = len(self.numbers)
        self.friction = contacts.friction[self.numbers]
        self._last: tuple[State, MeasuredContacts] | None = None
        place = places_in(self.numbers)
        self.parts: list[SelectedPart] = []
        """By kinds."""
        for part in contacts.of(np.unique(contacts.element_of[self.numbers]), held):
            own = place(part.numbers)
            cell, number = np.nonzero(own >= 0)
            if len(cell):
                elements = (6 * part.batch.nodes[..., None] + np.arange(6)).reshape(len(own), -1)
                self.parts.append(SelectedPart(part.batch, cell, number, own[cell, number], elements))

    def still(self, state: State, h: float) -> Array:
        """Rates of gaps that count as none, ``(k,)``."""
        system = self.contacts.system
        return still(system, state, h) / system.length * self.contacts.size[self.numbers]

    def at(self, motion: Motion) -> MeasuredContacts:
        """Gaps and gradients at a motion."""
        return MeasuredContacts(
            self, motion, [part.batch.measure(motion, part.cell, part.place) for part in self.parts]
        )

    def here(self, state: State) -> MeasuredContacts:
        """The same at a state of the model, measured once."""
        if self._last is None or self._last[0] is not state:
            self._last = state, self.at(self.contacts.system.motion(state))
        return self._last[1]

    def spread(self, values: list[Array]) -> Matrix:
        """Rows ``(dk, N)`` of what each part has of its contacts, ``(n, d, b)``; of many they are sparse."""
        N, d = self.contacts.open.N, values[0].shape[1] if values else 3
        if self.k > MANY or self.k > FEW and self.contacts.of_many:
            entries = []
            for part, own in zip(self.parts, values, strict=True):
                row, column = (d * part.own[:, None] + np.arange(d))[..., None], part.components[:, None]
                entries.append([np.broadcast_to(which, own.shape).ravel() for which in (own, row, column)])
            data, row, column = (np.concatenate(which) for which in zip(*entries, strict=True))
            return csr_array((data, (row, column)), (d * self.k, N))
        result = np.zeros((self.k, d, N))
        for part, own in zip(self.parts, values, strict=True):
            result[part.own[:, None, None], np.arange(d)[:, None], part.components[:, None]] = own
        return result.reshape(-1, N)


class MeasuredContacts:
    """Selected contacts at a motion."""

    def __init__(self, selection: Selection, motion: Motion, gaps: list[Gaps]) -> None:
        self.selection, self.motion = selection, motion
        self.parts = list(zip(selection.parts, gaps, strict=True))
        """Of each kind, and what it measures."""

    @property
    def gap(self) -> Array:
        """``(k,)``."""
        result = np.empty(self.selection.k)
        for part, gaps in self.parts:
            result[part.own] = gaps.gap
        return result

    @cached_property
    def gradients(self) -> Matrix:
        """``G`` (3k, N), of gaps and slips."""
        return self.selection.spread([gaps.gradient for _, gaps in self.parts])

    @cached_property
    def _bent(self) -> list[Array]:
        """Derivatives ``(n, 3, b, b)`` of the gradients of each part."""
        return [part.batch.second(gaps) for part, gaps in self.parts]

    def rates(self) -> Array:
        """Rates of gaps and slips, ``(k, 3)``."""
        result = np.empty((self.selection.k, 3))
        for part, gaps in self.parts:
            result[part.own] = np.matvec(gaps.gradient, self._of_nodes(self.motion.V, part))
        return result

    def rate_gradients(self, dV: RateSensitivities, h: float) -> tuple[Matrix, Matrix]:
        """Derivatives of gaps and of ``h`` times slips ``(3k, N)``, and of ``h`` times rates of gaps ``(k, N)``.

        Against body increments, where body velocities follow by ``dV``.
        """
        values, opening = [], []
        for (part, gaps), bent in zip(self.parts, self._bent, strict=True):
            nodes, V, G = part.batch.nodes[part.cell], self._of_nodes(self.motion.V, part), gaps.gradient
            rates = h * (dV.after(G, nodes) + (V[:, None, None] @ bent)[:, :, 0])
            opening.append(rates[:, :1])
            values.append(np.concatenate([G[:, :1], rates[:, 1:]], axis=1))
        return self.selection.spread(values), self.selection.spread(opening)

    def accelerations(self) -> Array:
        """``V^T H V + G V'`` (k, 3), of gaps and slips."""
        motion, result = self.motion, np.zeros((self.selection.k, 3))
        rate = motion.A.copy()
        rate[:, :3] -= np.cross(motion.V[:, 3:], motion.V[:, :3])
        for (part, gaps), bent in zip(self.parts, self._bent, strict=True):
            V, turn = self._of_nodes(motion.V, part), self._of_nodes(rate, part)
            result[part.own] = np.einsum("nb,ndbc,nc->nd", V, bent, V) + np.matvec(gaps.gradient, turn)
        return result

    def stiffness(self, forces: Array) -> Array:
        """Entries of ``-P H``, element by element, for ``forces`` (k, 3)."""
        pairs = zip(self.selection.parts, self._bent, strict=True)
        return self._blocks([-np.einsum("nd,ndbc->nbc", forces[part.own], bent) for part, bent in pairs])

    def squares(self) -> Array:
        """Entries of ``G^T G``."""
        return self._blocks([gaps.gradient.mT @ gaps.gradient for _, gaps in self.parts])

    def _blocks(self, values: list[Array]) -> Array:
        """What contacts of an element have together, ``(n, b, b)`` of each kind, one after the other."""
        blocks = [np.empty(0)]
        for part, own in zip(self.selection.parts, values, strict=True):
            n, b = part.elements.shape
            block = np.zeros((n, b, b))
            np.add.at(block, part.cell, own)
            blocks.append(block.ravel())
        return np.concatenate(blocks)

    @staticmethod
    def _of_nodes(values: Array, part: SelectedPart) -> Array:
        return values[part.batch.nodes[part.cell]].reshape(len(part.cell), -1)
