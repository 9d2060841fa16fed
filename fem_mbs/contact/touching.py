"""Contacts that touch where a step begins: what the equations of the step see of them.

Of those that do so in one place along one normal they see one. Edges and corners of boxes that lie on each other say
the same, as do an end of a capsule on an edge of a box and that edge, or two triangles where a ball is on their common
edge. Gaps are those of all: where these say different things at the end of a part, it is made anew with all
(``smooth.py``).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fem_mbs.arrays import BoolArray
from fem_mbs.contact.contacts import ContactForces, Contacts, Selection
from fem_mbs.contracts import State
from fem_mbs.contracts.unilateral import FORCES
from fem_mbs.linear.solvers import LinearSolver
from fem_mbs.system.system import System

SAME = 1e-9
"""Difference of gradients, with levers over the extent of the model, of contacts that are one."""
KEPT = 64
"""Sets of contacts whose numbering is kept for when the same touch again."""


class Touching(Selection):
    """Contacts that touch, or none, in a model whose other contacts are not there."""

    def __init__(self, contacts: Contacts, touches: BoolArray) -> None:
        super().__init__(contacts, touches, held=True)
        self.system: System = contacts.open

    @cached_property
    def solver(self) -> LinearSolver:
        """Of the iteration matrix, with the blocks of the elements behind its other entries."""
        return self.system.solver_beside([part.elements for part in self.parts])

    def inner(self, state: State) -> State:
        """A state of the steps: without contacts, their forces ``(3k,)`` behind the multipliers of the joints."""
        s = self.contacts.without(state)
        if not self.k:
            return s
        P = self.contacts.remembered(state, self.numbers)[:, FORCES]
        multipliers = np.concatenate([s.multipliers[: self.system.m], P.ravel()])
        return State(s.t, s.x, s.R, s.v, s.vdot, multipliers, s.u, s.udot, s.uddot)

    def outer(self, last: State, state: State) -> State:
        """The state of the model that such a one is, after the last."""
        P = state.multipliers[self.system.m :].reshape(-1, 3)
        return self.contacts.carry_on(last, state, ContactForces(self.numbers, P))


def once(contacts: Contacts, state: State, touches: BoolArray) -> BoolArray:
    """Of contacts ``(C,)`` that touch one in each place: one that pushes, if any does, and of pairs of edges rather."""
    per_element = np.bincount(contacts.element_of[touches], minlength=contacts.elements)
    beside = touches & (per_element > 1)[contacts.element_of]
    if not beside.any():
        return touches
    result, pushes, own = touches.copy(), contacts.pushing(state), Selection(contacts, beside)
    levers = np.array([[1.0], [1.0 / contacts.system.length]])
    for part, gaps in own.here(state).parts:
        numbers = own.numbers[part.own]
        order = np.lexsort((-numbers, ~pushes[numbers], part.cell))  # edges are the last of their pair of bodies
        cell, again = part.cell[order], np.zeros(len(order), np.bool_)
        G = gaps.gradient[order].reshape(len(order), -1, 2, 3) * levers
        for k in range(1, int(np.bincount(cell).max())):
            again[k:] |= (cell[k:] == cell[:-k]) & (np.abs(G[k:] - G[:-k]) < SAME).all(axis=(1, 2, 3))
        result[numbers[order[again]]] = False
    return result


def touching_of(contacts: Contacts, touches: BoolArray) -> Touching:
    """Those contacts, numbered once."""
    key = touches.tobytes()
    if (known := contacts.numbered.get(key)) is None:
        if len(contacts.numbered) >= KEPT:
            del contacts.numbered[next(iter(contacts.numbered))]
        known = contacts.numbered[key] = Touching(contacts, touches)
    return known
