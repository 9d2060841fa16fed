"""Contacts that touch where a step begins: what the equations of the step see of them.

Each has a pressure and two forces of friction, ``P = (P_N, P_T)``, along the gradients ``G`` of its gap and its slip:
the nodes get ``G^T P``. Which of them push, stick or slide at the end of the step is found with the motion; none is a
joint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contact.impact import Contacts
from fem_mbs.contracts import Gaps, Motion, RateSensitivities, State, UnilateralBatch
from fem_mbs.contracts.unilateral import FORCES
from fem_mbs.system.system import System

KEPT = 64
"""Sets of contacts whose numbering is kept for when the same touch again."""


class TouchingPart(NamedTuple):
    """Those of one kind: contact ``place`` of element ``cell`` of the batch is number ``own`` of all that touch."""

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


class Touching:
    """Contacts that touch, ``k`` of them, in a model whose other contacts are not there."""

    def __init__(self, contacts: Contacts, touches: BoolArray) -> None:
        self.system: System = contacts.stepped
        self.numbers: IntArray = np.flatnonzero(touches)
        """Of all contacts of the model, ``(k,)``."""
        self.k = len(self.numbers)
        self.friction = contacts.friction[self.numbers]
        self._forces = contacts.carried[self.numbers, FORCES]
        place = np.full(contacts.count, -1)
        place[self.numbers] = np.arange(self.k)
        self.parts: list[TouchingPart] = []
        """By kinds."""
        for part in contacts.of(contacts.touched(touches), held=True):
            own = place[part.numbers]
            cell, number = np.nonzero(own >= 0)
            if len(cell):
                elements = (6 * part.batch.nodes[..., None] + np.arange(6)).reshape(len(own), -1)
                self.parts.append(TouchingPart(part.batch, cell, number, own[cell, number], elements))
        self.solver = self.system.solver_beside([part.elements for part in self.parts])
        """Of the iteration matrix, with the blocks of the elements behind its other entries."""

    def inner(self, contacts: Contacts, state: State) -> State:
        """A state of the steps: without contacts, their forces ``(3k,)`` behind the multipliers of the joints."""
        result = contacts.without(state)
        multipliers = np.concatenate([result.multipliers[: self.system.m], state.u[self._forces].ravel()])
        return State(
            result.t, result.x, result.R, result.v, result.vdot, multipliers, result.u, result.udot, result.uddot
        )

    def outer(self, contacts: Contacts, last: State, state: State) -> State:
        """The state of the model that such a one is, after the last."""
        forces = np.zeros((contacts.count, 3))
        forces[self.numbers] = state.multipliers[self.system.m :].reshape(-1, 3)
        return contacts.carry_on(last, state, forces)

    def at(self, motion: Motion) -> Touched:
        """Gaps and gradients at a motion."""
        return Touched(self, motion, [part.batch.measure(motion) for part in self.parts])

    def spread(self, values: list[Array]) -> Array:
        """Rows ``(3k, N)`` of what each part has of its contacts, ``(n, 3, b)``."""
        result = np.zeros((self.k, 3, self.system.N))
        for part, own in zip(self.parts, values, strict=True):
            result[part.own[:, None, None], np.arange(3)[:, None], part.components[:, None]] = own
        return result.reshape(-1, self.system.N)


class Touched(NamedTuple):
    """Contacts that touch, at a motion."""

    touching: Touching
    motion: Motion
    measured: list[Gaps]

    @property
    def gap(self) -> Array:
        """``(k,)``."""
        result = np.empty(self.touching.k)
        for part, gaps in zip(self.touching.parts, self.measured, strict=True):
            result[part.own] = gaps.gap[part.cell, part.place]
        return result

    def gradients(self) -> Array:
        """``G`` (3k, N)."""
        parts = zip(self.touching.parts, self.measured, strict=True)
        return self.touching.spread([gaps.gradient[part.cell, part.place] for part, gaps in parts])

    def slip(self) -> Array:
        """Rates ``(k, 2)`` of slip."""
        result = np.empty((self.touching.k, 2))
        for part, gaps in zip(self.touching.parts, self.measured, strict=True):
            V = self.motion.V[part.batch.nodes[part.cell]].reshape(len(part.cell), -1)
            result[part.own] = np.matvec(gaps.gradient[part.cell, part.place, 1:], V)
        return result

    def rate_gradients(self, dV: RateSensitivities) -> Array:
        """Derivatives ``(3k, N)`` of ``G V`` against body increments, where body velocities follow by ``dV``."""
        values = []
        for part, gaps in zip(self.touching.parts, self.measured, strict=True):
            nodes = part.batch.nodes[part.cell]
            V = self.motion.V[nodes].reshape(len(nodes), -1)
            bent = np.einsum("nb,ndbc->ndc", V, self._second(part, gaps))
            values.append(dV.after(gaps.gradient[part.cell, part.place], nodes) + bent)
        return self.touching.spread(values)

    def stiffness(self, forces: Array) -> Array:
        """Entries of ``-P H`` behind those of the iteration matrix, for ``forces`` (k, 3)."""
        blocks = [np.empty(0)]
        for part, gaps in zip(self.touching.parts, self.measured, strict=True):
            n, b = part.elements.shape
            block = np.zeros((n, b, b))
            np.subtract.at(block, part.cell, np.einsum("nd,ndbc->nbc", forces[part.own], self._second(part, gaps)))
            blocks.append(block.ravel())
        return np.concatenate(blocks)

    def squares(self) -> Array:
        """Entries of ``G^T G`` behind those of the iteration matrix."""
        blocks = [np.empty(0)]
        for part, gaps in zip(self.touching.parts, self.measured, strict=True):
            n, b = part.elements.shape
            block, G = np.zeros((n, b, b)), gaps.gradient[part.cell, part.place]
            np.add.at(block, part.cell, G.mT @ G)
            blocks.append(block.ravel())
        return np.concatenate(blocks)

    @staticmethod
    def _second(part: TouchingPart, gaps: Gaps) -> Array:
        return part.batch.second(gaps)[part.cell, part.place]


def touching_of(contacts: Contacts, touches: BoolArray) -> Touching:
    """Those contacts, numbered once."""
    key = touches.tobytes()
    if key not in contacts.numbered:
        if len(contacts.numbered) >= KEPT:
            del contacts.numbered[next(iter(contacts.numbered))]
        contacts.numbered[key] = Touching(contacts, touches)
    known: Touching = contacts.numbered[key]
    return known
