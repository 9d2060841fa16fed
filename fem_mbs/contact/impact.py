"""What contacts do at an instant: impulses, corrections of places, and forces, by one matrix.

With the KKT matrix of the mass and the joints, ``[[M, B^T], [B, 0]]``, whose inverse has ``A`` in its upper left,
impulses ``P`` of contacts with the gradients ``G`` change velocities by ``A G^T P`` and the rates of gaps and slips by
``G A G^T P`` (the matrix of Delassus). The same matrix tells what pushes along contacts do to places, and what forces
do to accelerations.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.alpha.starting_values import StepMatrix
from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contact.closed import ClosedSystems
from fem_mbs.contact.complementarity import push
from fem_mbs.contracts import Gaps, Motion, Report, State, UnilateralBatch
from fem_mbs.contracts.unilateral import FORCES, IMPULSES, TIME, WORK
from fem_mbs.initial.consistent_start import accelerations
from fem_mbs.initial.state_point import place_of, without_accelerations
from fem_mbs.linear.solvers import Factors
from fem_mbs.system.matrices import leading_matrix, solve_with_constraints
from fem_mbs.system.system import System

CORRECTIONS = 12
PLACED = 1e-13
"""Largest gap that is left of corrections, over the extent of the model."""


class Contacts:
    """All contacts of a system, numbered through."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.batches = [b for b in system.batches if isinstance(b, UnilateralBatch)]
        shapes = [b.friction.shape for b in self.batches]
        sizes = [n * r for n, r in shapes]
        self.count = sum(sizes)
        ends = np.cumsum([0, *sizes])
        self.slices = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        counts = [n for n, _ in shapes]
        firsts = np.cumsum([0, *counts])
        self._elements = [slice(a, b) for a, b in zip(firsts[:-1], firsts[1:], strict=True)]
        self.elements = int(firsts[-1])
        """Number of elements with contacts."""
        first = [a + np.arange(n).repeat(r) for a, (n, r) in zip(firsts, shapes, strict=False)]
        self.element_of: IntArray = np.concatenate(first) if first else np.zeros(0, np.intp)
        """The element of each contact, ``(C,)``."""
        self.friction = _flat([b.friction for b in self.batches])
        self.restitution = _flat([b.restitution for b in self.batches])
        self.carried: IntArray = (
            np.concatenate([b.carried.reshape(-1, b.carried.shape[-1]) for b in self.batches])
            if self.batches
            else np.zeros((0, 8), np.intp)
        )
        self.names = [(own, j) for b in self.batches for own in b.owners for j in range(b.friction.shape[1])]
        self.closed = ClosedSystems(system, self.names, self.friction)
        self.open = self.closed.open.system
        """The model without contacts."""
        owners = {id(own) for b in self.batches for own in b.owners}
        self._kept: IntArray = np.flatnonzero([id(own) not in owners for own, _ in system.internal_variables])
        self._following = [b for b in self.batches if b.follows.size]
        self.stepped = copy(self.open)
        """The same for steps that are not compiled as a whole: contacts may touch in them."""
        self.stepped.whole = None
        with system.as_frozen():
            self._held = [type(b.owners[0]).batch(b.owners, self.open.number) for b in self.batches]
        self.numbered: dict[bytes, Any] = {}
        """Those that have touched in a step (``touching.py``)."""

    def of(self, near: BoolArray | None, held: bool = False) -> list[ContactPart]:
        """Batches with the numbers of their contacts: of all elements, or of those near ``(E,)``.

        If ``held``, batches as they are while contacts are closed: these go on beyond the end of a face.
        """
        parts = []
        for b, elements, rows in zip(self._held if held else self.batches, self._elements, self.slices, strict=True):
            n, r = b.friction.shape
            numbers = np.arange(rows.start, rows.stop).reshape(n, r)
            if near is None or not b.sifts:
                parts.append(ContactPart(b, elements.start + np.arange(n), numbers))
            elif len(own := np.flatnonzero(near[elements])):
                parts.append(ContactPart(b.some(own), elements.start + own, numbers[own]))
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

    def clearance(self, motion: Motion, gap: Array, near: BoolArray, before: Array) -> Array:
        """Paths ``(E,)`` of the fastest point of the model that close no gap, after those of elements not near."""
        clear, length = before.copy(), self.system.length
        for part in self.of(near):
            clear[part.elements] = part.batch.clearance(motion, gap[part.numbers], length)
        return clear

    def without(self, state: State) -> State:
        """A state of the model without contacts."""
        own = state.u[self._kept], state.udot[self._kept], state.uddot[self._kept]
        return State(state.t, state.x, state.R, state.v, state.vdot, state.multipliers, *own)

    def carry_on(self, last: State, state: State, forces: Array | None = None) -> State:
        """A state of the model of one without contacts, which carry what they did in the last, or other forces."""
        u, udot, uddot = last.u, last.udot, last.uddot
        if self.open.k:
            pairs = (u, state.u), (udot, state.udot), (uddot, state.uddot)
            u, udot, uddot = (self._put(*pair) for pair in pairs)
        if forces is not None:
            u = u.copy()
            u[self.carried[:, FORCES]] = forces
        multipliers = state.multipliers[: self.system.m]
        result = State(state.t, state.x, state.R, state.v, state.vdot, multipliers, u, udot, uddot)
        if self._following:
            motion, u = self.system.motion(result), u.copy()
            for b in self._following:
                u[b.follows] = b.followed(motion)
            result = replace(result, u=u)
        return result

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

    def at(self, state: State, near: BoolArray | None = None) -> Instant:
        """Gaps and gradients at a state, of all elements or of those near."""
        motion = self.system.motion(state)
        parts = self.of(near)
        return Instant(self, motion, parts, [part.batch.measure(motion) for part in parts])


class ContactPart(NamedTuple):
    """Some of the contacts of one kind."""

    batch: UnilateralBatch
    elements: IntArray
    """``(n,)``."""
    numbers: IntArray
    """Of the contacts, ``(n, r)``."""


class Instant(NamedTuple):
    """Contacts at an instant."""

    contacts: Contacts
    motion: Motion
    parts: list[ContactPart]
    measured: list[Gaps]

    @property
    def gap(self) -> Array:
        """``(C,)``, without end of those that are not near."""
        gap = np.full(self.contacts.count, np.inf)
        for part, g in zip(self.parts, self.measured, strict=True):
            gap[part.numbers] = g.gap
        return gap

    def rates(self) -> Array:
        """Rates of gaps and slips, ``(C, 3)``."""
        result = np.zeros((self.contacts.count, 3))
        for part, g in zip(self.parts, self.measured, strict=True):
            V = self.motion.V[part.batch.nodes].reshape(len(part.elements), -1)
            result[part.numbers] = (g.gradient @ V[:, None, :, None])[..., 0]
        return result

    def gradients(self, which: IntArray) -> Array:
        """``G`` (3k, N)."""
        place = np.full(self.contacts.count, -1)
        place[which] = np.arange(len(which))
        result = np.zeros((len(which), 3, self.contacts.open.N))
        for part, g in zip(self.parts, self.measured, strict=True):
            own, j = np.nonzero(place[part.numbers] >= 0)
            columns = (6 * part.batch.nodes[..., None] + np.arange(6)).reshape(len(part.elements), -1)[own]
            result[place[part.numbers[own, j]][:, None, None], np.arange(3)[:, None], columns[:, None]] = g.gradient[
                own, j
            ]
        return result.reshape(-1, self.contacts.open.N)

    def accelerations(self, which: IntArray) -> Array:
        """``V^T H V + G V'`` (k, 3), of gaps and slips."""
        motion, result = self.motion, np.zeros((self.contacts.count, 3))
        rate = motion.A.copy()
        rate[:, :3] -= np.cross(motion.V[:, 3:], motion.V[:, :3])
        for part, g in zip(self.parts, self.measured, strict=True):
            b = part.batch
            V, turn = (own[b.nodes].reshape(len(b.nodes), -1) for own in (motion.V, rate))
            value = np.einsum("nb,nrdbc,nc->nrd", V, b.second(g), V) + np.einsum("nrdb,nb->nrd", g.gradient, turn)
            result[part.numbers] = value
        return result[which]


class Mobility:
    """What pushes along some contacts do, the joints closed."""

    def __init__(self, instant: Instant, state: State, which: IntArray, factors: Factors | None = None) -> None:
        contacts = instant.contacts
        system = self.system = contacts.open
        self.which, self.G = which, instant.gradients(which)
        if factors is None:
            place = place_of(contacts.without(state))
            factors = system.solver.factor(leading_matrix(system, without_accelerations(system, place)))
        none = np.zeros(system.m)
        columns = [solve_with_constraints(system, factors, row, none)[0] for row in self.G]
        self.moves: Array = np.array(columns).T if columns else np.zeros((system.N, 0))
        """``A G^T`` (N, 3k)."""
        self.moves[6 * system.n :][system.order < 2] = 0.0
        delassus = self.G @ self.moves
        self.delassus: Array = 0.5 * (delassus + delassus.T)


def strike(
    contacts: Contacts, state: State, before: Array, touching: BoolArray, restitution: Array
) -> tuple[State, Array, bool]:
    """The state after an impact of all that touch, with its impulses ``(C, 3)``; ``before`` (C, 3) are rates.

    Newton's law, ``0 <= P_N, gap'+ + e gap'- >= 0``, and Coulomb's.
    """
    which, instant = np.flatnonzero(touching), contacts.at(state, contacts.touched(touching))
    mobility, now = Mobility(instant, state, which), instant.rates()[which]
    c = now.copy()
    c[:, 0] += restitution[which] * np.minimum(before[which, 0], 0.0)
    P, solved = push(mobility.delassus, c, contacts.friction[which])
    system = contacts.open
    V = system.from_body(state.R, mobility.moves @ P.ravel())
    after = now + (mobility.delassus @ P.ravel()).reshape(-1, 3)
    u = state.u.copy()
    rows = contacts.carried[which]
    u[rows[:, IMPULSES]] += P
    u[rows[:, TIME]] = np.where((P != 0.0).any(axis=1), state.t, u[rows[:, TIME]])
    u[rows[:, WORK]] -= 0.5 * (P * (now + after)).sum(axis=1)
    impulses = np.zeros((contacts.count, 3))
    impulses[which] = P
    udot = contacts.added(state.udot, system.own_of(V))
    return replace(state, v=state.v + system.nodes_of(V), u=u, udot=udot), impulses, solved


def placed(
    contacts: Contacts, state: State, closed: BoolArray, allowed: float, near: BoolArray, metric: StepMatrix
) -> tuple[State, BoolArray]:
    """The nearest place without depth of elements that are near, and which contacts pushed.

    In the metric of a step, mass over its square and stiffness: in that of the mass alone, what is stiff would be
    deformed where one of its nodes is pushed.
    """
    system, pushed = contacts.open, np.zeros(contacts.count, np.bool_)
    for _ in range(CORRECTIONS):
        instant = contacts.at(state, near)
        gap = instant.gap
        evaluation = system.joints(system.motion(contacts.without(state)), system.prescribe(state.t))
        off = float(np.abs(evaluation.constraint * system.constraint_weight).max(initial=0.0))
        if gap.min(initial=0.0) >= -PLACED * system.length and off <= PLACED:
            break
        which = np.flatnonzero((gap <= allowed) | closed | pushed)
        mobility = Mobility(instant, state, which, metric.factors)
        d = solve_with_constraints(system, metric.factors, np.zeros(system.N), -evaluation.constraint)[0]
        c = np.zeros((len(which), 3))
        c[:, 0] = gap[which] + (mobility.G @ d)[::3]
        P = push(mobility.delassus, c, np.zeros(len(which))).P
        d += mobility.moves @ P.ravel()
        pushed[which] |= P[:, 0] > 0.0
        d = system.from_body(state.R, d)
        x, R = system.kinematics.retract(state.x, state.R, system.nodes_of(d))
        state = replace(state, x=x, R=R, u=contacts.added(state.u, system.own_of(d)))
    return state, pushed


def settled(contacts: Contacts, state: State, resting: BoolArray, still: float) -> State:
    """Accelerations and forces of contacts that touch and do not part: the laws on the level of accelerations.

    Where no forces obey them (Painleve), there are none.
    """
    system, place = contacts.open, place_of(contacts.without(state))
    forces = np.zeros((contacts.count, 3))
    free = State(*place[:4], *accelerations(system, place))
    which = np.flatnonzero(resting)
    if not len(which):
        return contacts.carry_on(state, free, forces)
    instant = contacts.at(contacts.carry_on(state, free), contacts.touched(resting))
    mobility = Mobility(instant, state, which)
    slip, mu = instant.rates()[which, 1:], contacts.friction[which]
    speed = np.linalg.norm(slip, axis=1)
    moves = (speed > still) & (mu > 0.0)
    direction = np.full((len(which), 2), np.nan)
    direction[moves] = slip[moves] / speed[moves, None]
    P, solved = push(mobility.delassus, instant.accelerations(which), mu, direction)
    if not solved:
        return contacts.carry_on(state, free, forces)
    forces[which] = P
    held = State(*place[:4], *accelerations(system, place, beside=P.ravel() @ mobility.G))
    return contacts.carry_on(state, held, forces)


def _flat(parts: list[Array]) -> Array:
    return np.concatenate([part.ravel() for part in parts]) if parts else np.zeros(0)
