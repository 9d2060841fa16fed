"""Whether friction, and with it the motion, depends on how contacts share loads that are not unique.

Loads ``y`` of contacts that touch close the rates ``E^T a`` of their gaps, and of slips that stick, by accelerations
``a = A D y``: along ``D`` acts the normal force of what slides with its friction, of what sticks each force for itself,
along ``E`` the same without friction. What ``E^T A D`` maps to nothing is free. Without friction it moves nothing
(``D = E``); what slides in different directions, as corners of a box that spins, moves bodies by ``A D y``.
"""

from __future__ import annotations

import logging

import numpy as np
from scipy.linalg import null_space

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contact.contacts import Contacts, Selection, contacts_of
from fem_mbs.contact.impact import mobility_by_mass
from fem_mbs.contact.many import MANY, dense
from fem_mbs.contracts import State
from fem_mbs.initial.redundant import listed
from fem_mbs.system.system import System

LOG = logging.getLogger("fem_mbs")
EVERY = 10
"""Steps from one look to the next."""
FREE = 1e-9
"""Singular value, over the largest, of loads that are free."""
SHARES, LEANS = 1e-3, 1e-3
"""Part in free loads of a contact that has one, and what these do to accelerations, over what all friction does."""


def leaning_contacts(contacts: Contacts, state: State) -> IntArray:
    """Numbers of the contacts whose friction reads loads that are not unique, where these move bodies."""
    which, none = Selection(contacts, contacts.pushing(state)), np.zeros(0, np.intp)
    if not 2 <= which.k <= MANY or not which.friction.any():
        return none
    P, slides = contacts.forces(state)[which.numbers], contacts.at_edge(state)[which.numbers]
    if not slides.any():
        return none
    mobility = mobility_by_mass(contacts, state, which.here(state))
    slides |= which.friction == 0.0
    E = np.where(slides[:, None, None], np.diag([1.0, 0.0, 0.0]), np.eye(3))
    D = E.copy()
    D[slides, 1:, 0] = P[slides, 1:] / P[slides, :1]
    columns = np.flatnonzero(E.any(axis=1))
    E, D = (_diagonal(blocks)[:, columns] for blocks in (E, D))
    free = null_space(E.T @ dense(mobility.delassus) @ D, rcond=FREE)
    if not free.shape[1]:
        return none
    friction, loads = P.copy(), float(np.linalg.norm(P[:, 0]))
    friction[:, 0] = 0.0
    weight = contacts.open.weight
    moved = np.abs(weight[:, None] * (mobility.moves @ (D @ free))).max(initial=0.0) * loads
    if moved <= LEANS * np.abs(weight * (mobility.moves @ friction.ravel())).max(initial=0.0):
        return none
    shares = np.zeros(which.k, np.bool_)
    shares[columns[np.abs(free).max(axis=1) > SHARES] // 3] = True
    return which.numbers[shares & (which.friction > 0.0)]


def _diagonal(blocks: Array) -> Array:
    """The matrix ``(3k, 3k)`` of blocks ``(k, 3, 3)``."""
    k = len(blocks)
    result = np.zeros((k, 3, k, 3))
    result[np.arange(k), :, np.arange(k)] = blocks
    return result.reshape(3 * k, 3 * k)


class SharedLoads:
    """Says, once for each contact of a run, that its friction leans on loads that are not unique."""

    def __init__(self, system: System, where: str, state: State) -> None:
        self._contacts, self._where, self._count = contacts_of(system), where, 0
        self._told: set[object] = set()
        self._look(state)

    def after_step(self, state: State) -> None:
        """Look after every so many steps."""
        self._count += 1
        if self._count % EVERY == 0 and len(self._told) < self._contacts.elements:
            self._look(state)

    def warning(self) -> str:
        """What there is to say was said at once."""
        return ""

    def _look(self, state: State) -> None:
        places: dict[object, list[str]] = {}
        for part, place in map(self._contacts.named, leaning_contacts(self._contacts, state).tolist()):
            places.setdefault(part, []).append(part.contacts[place])
        new = {part: own for part, own in places.items() if part not in self._told}
        self._told |= new.keys()
        if new:
            names = listed([f"{part} ({listed(own, ', ')})" for part, own in new.items()], "; ")
            LOG.warning(
                "%s: friction leans on loads that are not unique, and so does the motion: %s. They are shared as "
                "supports of equal compliance do; if these are not alike, let bodies stand on three points, or give "
                "their contacts a stiffness",
                self._where.format(state.t), names,
            )  # fmt: skip
