"""What contacts do at an instant: impulses, corrections of places, and forces, by one matrix.

With the KKT matrix of the mass and the joints, ``[[M, B^T], [B, 0]]``, whose inverse has ``A`` in its upper left,
impulses ``P`` of contacts with the gradients ``G`` change velocities by ``A G^T P`` and the rates of gaps and slips by
``G A G^T P`` (the matrix of Delassus). The same matrix tells what pushes along contacts do to places, and what forces
do to accelerations.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fem_mbs.alpha.starting_values import StepMatrix
from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contact.closed import ClosedSystems
from fem_mbs.contact.complementarity import push
from fem_mbs.contracts import Gaps, Motion, Report, State, UnilateralBatch
from fem_mbs.contracts.unilateral import FORCES, IMPULSES, TIME, WORK
from fem_mbs.initial.consistent_start import accelerations
from fem_mbs.initial.projection import from_body
from fem_mbs.initial.state_point import place_of, without_accelerations
from fem_mbs.linear.solvers import Factors
from fem_mbs.system.matrices import leading_matrix, solve_with_constraints
from fem_mbs.system.system import System

LEFT = 1e-8
"""Share of the largest acceleration that is not met by forces."""
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
        self._skips = bool(self.batches) and all(np.isfinite(b.reach).all() for b in self.batches)
        self._components = [
            (6 * b.nodes[:, :, None] + np.arange(6)).reshape(len(b.nodes), -1).repeat(r, axis=0)
            for b, (_, r) in zip(self.batches, shapes, strict=True)
        ]

    def gaps(self, motion: Motion) -> Array:
        """All gaps ``(C,)``."""
        return _flat([b.gaps(motion) for b in self.batches])

    def clearance(self, motion: Motion, gap: Array) -> float:
        """The path of the fastest point of the model on which no gap closes, m."""
        if not self._skips:
            return 0.0
        length = self.system.length
        parts = zip(self.batches, self.slices, strict=True)
        return min(b.clearance(motion, gap[rows].reshape(len(b.nodes), -1), length) for b, rows in parts)

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

    def at(self, state: State) -> Instant:
        """Gaps and gradients at a state."""
        motion = self.system.motion(state)
        return Instant(self, motion, [b.measure(motion) for b in self.batches])

    def dense(self, parts: list[Array], which: IntArray) -> Array:
        """Gradients ``(3k, N)`` of some contacts, of arrays ``(n, r, 3, b)`` of all batches."""
        result = np.zeros((len(which), 3, self.open.N))
        for part, own, rows in zip(parts, self._components, self.slices, strict=True):
            here = np.flatnonzero((which >= rows.start) & (which < rows.stop))
            number = which[here] - rows.start
            flat = part.reshape(-1, *part.shape[2:])
            result[here[:, None, None], np.arange(3)[:, None], own[number][:, None]] = flat[number]
        return result.reshape(-1, self.open.N)


class Instant(NamedTuple):
    """Contacts at an instant."""

    contacts: Contacts
    motion: Motion
    parts: list[Gaps]

    @property
    def gap(self) -> Array:
        """``(C,)``."""
        return _flat([part.gap for part in self.parts])

    def rates(self) -> Array:
        """Rates of gaps and slips, ``(C, 3)``."""
        V = self.motion.V
        result = [
            np.einsum("nrdb,nb->nrd", g.gradient, V[b.nodes].reshape(len(b.nodes), -1)).reshape(-1, 3)
            for g, b in zip(self.parts, self.contacts.batches, strict=True)
        ]
        return np.concatenate(result) if result else np.zeros((0, 3))

    def gradients(self, which: IntArray) -> Array:
        """``G`` (3k, N)."""
        return self.contacts.dense([part.gradient for part in self.parts], which)

    def accelerations(self, which: IntArray) -> Array:
        """``V^T H V + G V'`` (k, 3), of gaps and slips."""
        motion, bent = self.motion, []
        rate = motion.A.copy()
        rate[:, :3] -= np.cross(motion.V[:, 3:], motion.V[:, :3])
        for g, b in zip(self.parts, self.contacts.batches, strict=True):
            V, turn = (part[b.nodes].reshape(len(b.nodes), -1) for part in (motion.V, rate))
            value = np.einsum("nb,nrdbc,nc->nrd", V, b.second(g), V) + np.einsum("nrdb,nb->nrd", g.gradient, turn)
            bent.append(value.reshape(-1, 3))
        return np.concatenate(bent)[which]


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
    which, instant = np.flatnonzero(touching), contacts.at(state)
    mobility, now = Mobility(instant, state, which), instant.rates()[which]
    c = now.copy()
    c[:, 0] += restitution[which] * np.minimum(before[which, 0], 0.0)
    P, solved = push(mobility.delassus, c, contacts.friction[which])
    system = contacts.open
    V = from_body(system, state.R, mobility.moves @ P.ravel())
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
    contacts: Contacts, state: State, closed: BoolArray, allowed: float, metric: StepMatrix
) -> tuple[State, BoolArray]:
    """The nearest place without depth, and which contacts pushed.

    In the metric of a step, mass over its square and stiffness: in that of the mass alone, what is stiff would be
    deformed where one of its nodes is pushed.
    """
    system, pushed = contacts.open, np.zeros(contacts.count, np.bool_)
    for _ in range(CORRECTIONS):
        instant = contacts.at(state)
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
        d = from_body(system, state.R, d)
        x, R = system.kinematics.retract(state.x, state.R, system.nodes_of(d))
        state = replace(state, x=x, R=R, u=contacts.added(state.u, system.own_of(d)))
    return state, pushed


class Settled(NamedTuple):
    """Forces of contacts at an instant."""

    state: State
    slides: Array
    """Directions of slip ``(C, 2)``, NaN of contacts that do not slide."""


def settled(contacts: Contacts, state: State, resting: BoolArray, still: float) -> Settled:
    """Accelerations and forces of contacts that touch and do not part: the laws on the level of accelerations.

    Where no forces obey them (Painleve), there are none.
    """
    system, place = contacts.open, place_of(contacts.without(state))
    forces, slides = np.zeros((contacts.count, 3)), np.full((contacts.count, 2), np.nan)
    free = State(*place[:4], *accelerations(system, place))
    which = np.flatnonzero(resting)
    if not len(which):
        return Settled(contacts.carry_on(state, free, forces), slides)
    instant = contacts.at(contacts.carry_on(state, free))
    mobility = Mobility(instant, state, which)
    slip, mu = instant.rates()[which, 1:], contacts.friction[which]
    speed = np.linalg.norm(slip, axis=1)
    moves = (speed > still) & (mu > 0.0)
    direction = np.full((len(which), 2), np.nan)
    direction[moves] = slip[moves] / speed[moves, None]
    c = instant.accelerations(which)
    P, solved = push(mobility.delassus, c, mu, direction)
    if not solved:
        return Settled(contacts.carry_on(state, free, forces), slides)
    rate = (mobility.delassus @ P.ravel()).reshape(-1, 3)[:, 1:] + c[:, 1:]
    speed = np.linalg.norm(rate, axis=1)
    begins = ~moves & (mu > 0.0) & (P[:, 0] > 0.0) & (speed > LEFT * np.abs(c).max())
    direction[begins] = rate[begins] / speed[begins, None]
    forces[which], slides[which] = P, direction
    held = State(*place[:4], *accelerations(system, place, beside=P.ravel() @ mobility.G))
    return Settled(contacts.carry_on(state, held, forces), slides)


def shared(contacts: Contacts, state: State, which: IntArray, forces: Array, slides: Array) -> tuple[Array, Array]:
    """Forces ``(k, 3)`` of closed contacts that repeat each other: such as do what these do, and obey the laws.

    Where there are none, those of the laws for accelerations, and what is left of these ``(k, 3)``, of 1 at most: gaps
    that open and slips that begin. ``slides`` (k, 2) are directions of slip, NaN of contacts that stick.
    """
    G = Mobility(contacts.at(state), state, which).delassus
    c = -(G @ forces.ravel()).reshape(-1, 3)
    P, solved = push(G, c, contacts.friction[which], slides, guess=forces)
    if not solved:
        return forces, np.zeros_like(c)
    return P, ((G @ P.ravel()).reshape(-1, 3) + c) / (np.abs(c).max() or 1.0)


def surplus(contacts: Contacts, state: State, status: IntArray) -> bool:
    """Whether closed contacts repeat each other, or joints."""
    which = np.flatnonzero(status)
    if contacts.open.redundant is not None:
        return True
    if len(which) < 2 and not contacts.open.m:
        return False
    rows = np.column_stack([np.ones(len(which), bool), *(2 * [status[which] == 1])]).ravel()
    G = Mobility(contacts.at(state), state, which).delassus[np.ix_(rows, rows)]
    scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
    return int(np.linalg.matrix_rank(G / np.outer(scale, scale), tol=1e-9)) < len(G)


def _flat(parts: list[Array]) -> Array:
    return np.concatenate([part.ravel() for part in parts]) if parts else np.zeros(0)
