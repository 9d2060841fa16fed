"""Contacts that touch where a step begins: what the equations of the step see of them.

Each has a pressure and two forces of friction, ``P = (P_N, P_T)``, along the gradients ``G`` of its gap and its slip:
the nodes get ``G^T P``. Which of them push, stick or slide at the end of the step is found with the motion; none is a
joint.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fem_mbs.arrays import BoolArray
from fem_mbs.contact.contacts import ContactForces, Contacts, Selection
from fem_mbs.contracts import State
from fem_mbs.linear.solvers import LinearSolver
from fem_mbs.system.system import System

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
        P = self.contacts.forces(state)[self.numbers]
        multipliers = np.concatenate([s.multipliers[: self.system.m], P.ravel()])
        return State(s.t, s.x, s.R, s.v, s.vdot, multipliers, s.u, s.udot, s.uddot)

    def outer(self, last: State, state: State) -> State:
        """The state of the model that such a one is, after the last."""
        P = state.multipliers[self.system.m :].reshape(-1, 3)
        return self.contacts.carry_on(last, state, ContactForces(self.numbers, P))


def touching_of(contacts: Contacts, touches: BoolArray) -> Touching:
    """Those contacts, numbered once."""
    key = touches.tobytes()
    if (known := contacts.numbered.get(key)) is None:
        if len(contacts.numbered) >= KEPT:
            del contacts.numbered[next(iter(contacts.numbered))]
        known = contacts.numbered[key] = Touching(contacts, touches)
    return known
