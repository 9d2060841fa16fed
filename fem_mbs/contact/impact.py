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

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contact.closed import ClosedSystems
from fem_mbs.contact.complementarity import Pushes, push
from fem_mbs.contracts import Gaps, Motion, State, UnilateralBatch
from fem_mbs.contracts.unilateral import FORCES, IMPULSES, TIME, WORK
from fem_mbs.initial.consistent_start import accelerations
from fem_mbs.initial.projection import from_body
from fem_mbs.initial.state_point import place_of, without_accelerations
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
        self.friction = _flat([b.friction for b in self.batches])
        self.restitution = _flat([b.restitution for b in self.batches])
        self.carried: IntArray = (
            np.concatenate([b.carried.reshape(-1, b.carried.shape[-1]) for b in self.batches])
            if self.batches
            else np.zeros((0, 8), np.intp)
        )
        self.names = [(own, j) for b in self.batches for own in b.owners for j in range(b.friction.shape[1])]
        self.closed = ClosedSystems(system, self.names, self.friction)
        self._components = [
            (6 * b.nodes[:, :, None] + np.arange(6)).reshape(len(b.nodes), -1).repeat(r, axis=0)
            for b, (_, r) in zip(self.batches, shapes, strict=True)
        ]

    def gaps(self, motion: Motion) -> Array:
        """All gaps ``(C,)``."""
        return _flat([b.gaps(motion) for b in self.batches])

    def at(self, state: State) -> Instant:
        """Gaps and gradients at a state."""
        motion = self.system.motion(state)
        return Instant(self, motion, [b.measure(motion) for b in self.batches])

    def dense(self, parts: list[Array], which: IntArray) -> Array:
        """Gradients ``(3k, N)`` of some contacts, of arrays ``(n, r, 3, b)`` of all batches."""
        result = np.zeros((len(which), 3, self.system.N))
        for part, own, rows in zip(parts, self._components, self.slices, strict=True):
            here = np.flatnonzero((which >= rows.start) & (which < rows.stop))
            number = which[here] - rows.start
            flat = part.reshape(-1, *part.shape[2:])
            result[here[:, None, None], np.arange(3)[:, None], own[number][:, None]] = flat[number]
        return result.reshape(-1, self.system.N)


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

    def bending(self, which: IntArray) -> Array:
        """``V^T H V + G V'`` (k, 3): accelerations of gaps and slips without those of the nodes."""
        motion, bent = self.motion, []
        rate = np.zeros_like(motion.V)
        rate[:, :3] = -np.cross(motion.V[:, 3:], motion.V[:, :3])
        for g, b in zip(self.parts, self.contacts.batches, strict=True):
            V, turn = (part[b.nodes].reshape(len(b.nodes), -1) for part in (motion.V, rate))
            value = np.einsum("nb,nrdbc,nc->nrd", V, b.second(g), V) + np.einsum("nrdb,nb->nrd", g.gradient, turn)
            bent.append(value.reshape(-1, 3))
        return np.concatenate(bent)[which]


class Mobility:
    """What pushes along some contacts do, the joints closed."""

    def __init__(self, instant: Instant, state: State, which: IntArray) -> None:
        system = self.system = instant.contacts.system
        self.which, self.G = which, instant.gradients(which)
        self.factors = system.solver.factor(leading_matrix(system, without_accelerations(system, place_of(state))))
        none = np.zeros(system.m)
        columns = [solve_with_constraints(system, self.factors, row, none)[0] for row in self.G]
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
    system = contacts.system
    V = from_body(system, state.R, mobility.moves @ P.ravel())
    after = now + (mobility.delassus @ P.ravel()).reshape(-1, 3)
    u = state.u.copy()
    rows = contacts.carried[which]
    u[rows[:, IMPULSES]] += P
    u[rows[:, TIME]] = np.where((P != 0.0).any(axis=1), state.t, u[rows[:, TIME]])
    u[rows[:, WORK]] -= 0.5 * (P * (now + after)).sum(axis=1)
    impulses = np.zeros((contacts.count, 3))
    impulses[which] = P
    udot = state.udot + system.own_of(V)
    return replace(state, v=state.v + system.nodes_of(V), u=u, udot=udot), impulses, solved


def placed(contacts: Contacts, state: State, closed: BoolArray, allowed: float) -> tuple[State, BoolArray]:
    """The nearest place without depth, in the metric of the mass, and which contacts pushed."""
    system, pushed = contacts.system, np.zeros(contacts.count, np.bool_)
    for _ in range(CORRECTIONS):
        instant = contacts.at(state)
        gap = instant.gap
        evaluation = system.joints(instant.motion, system.prescribe(state.t))
        off = float(np.abs(evaluation.constraint * system.constraint_weight).max(initial=0.0))
        if gap.min(initial=0.0) >= -PLACED * system.length and off <= PLACED:
            break
        which = np.flatnonzero((gap <= allowed) | closed | pushed)
        mobility = Mobility(instant, state, which)
        d = solve_with_constraints(system, mobility.factors, np.zeros(system.N), -evaluation.constraint)[0]
        c = np.zeros((len(which), 3))
        c[:, 0] = gap[which] + (mobility.G @ d)[::3]
        P = push(mobility.delassus, c, np.zeros(len(which))).P
        d += mobility.moves @ P.ravel()
        pushed[which] |= P[:, 0] > 0.0
        d = from_body(system, state.R, d)
        x, R = system.kinematics.retract(state.x, state.R, system.nodes_of(d))
        state = replace(state, x=x, R=R, u=state.u + system.own_of(d))
    return state, pushed


class Settled(NamedTuple):
    """Forces of contacts at an instant."""

    state: State
    slides: Array
    """Directions of slip ``(C, 2)``, NaN of contacts that do not slide."""
    solved: bool


def settled(contacts: Contacts, state: State, resting: BoolArray, still: float) -> Settled:
    """Accelerations and forces of contacts that touch and do not part: the laws on the level of accelerations."""
    system, u = contacts.system, state.u.copy()
    u[contacts.carried[:, FORCES]] = 0.0
    state = replace(state, u=u)
    slides = np.full((contacts.count, 2), np.nan)
    free = accelerations(system, place_of(state))
    state = replace(state, vdot=free.vdot, multipliers=free.multipliers, u=free.u, udot=free.udot, uddot=free.uddot)
    which = np.flatnonzero(resting)
    if not len(which):
        return Settled(state, slides, True)
    instant = contacts.at(state)
    A = np.append(instant.motion.A, state.uddot)
    mobility = Mobility(instant, state, which)
    c = (mobility.G @ A).reshape(-1, 3) + instant.bending(which)
    slip = instant.rates()[which, 1:]
    speed, mu = np.linalg.norm(slip, axis=1), contacts.friction[which]
    moves = (speed > still) & (mu > 0.0)
    direction = np.full((len(which), 2), np.nan)
    direction[moves] = slip[moves] / speed[moves, None]
    found: Pushes = push(mobility.delassus, c, mu, direction)
    if not found.solved:
        return Settled(state, slides, False)
    P = found.P
    # on the rim of its cone a contact begins to slide
    size = np.linalg.norm(P[:, 1:], axis=1)
    begins = ~moves & (mu > 0.0) & (P[:, 0] > 0.0) & (size >= (1.0 - 1e-9) * mu * P[:, 0])
    direction[begins] = -P[begins, 1:] / size[begins, None]
    u = state.u.copy()
    u[contacts.carried[which, FORCES]] = P
    state = replace(state, u=u)
    held = accelerations(system, place_of(state))
    slides[which] = direction
    return Settled(
        replace(state, vdot=held.vdot, multipliers=held.multipliers, u=held.u, udot=held.udot, uddot=held.uddot),
        slides,
        True,
    )


def surplus(contacts: Contacts, state: State, status: IntArray) -> bool:
    """Whether closed contacts repeat each other, or joints."""
    which = np.flatnonzero(status)
    if contacts.system.redundant is not None:
        return True
    if len(which) < 2 and not contacts.system.m:
        return False
    rows = np.column_stack([np.ones(len(which), bool), *(2 * [status[which] == 1])]).ravel()
    G = Mobility(contacts.at(state), state, which).delassus[np.ix_(rows, rows)]
    scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
    return int(np.linalg.matrix_rank(G / np.outer(scale, scale), tol=1e-9)) < len(G)


def _flat(parts: list[Array]) -> Array:
    return np.concatenate([part.ravel() for part in parts]) if parts else np.zeros(0)
