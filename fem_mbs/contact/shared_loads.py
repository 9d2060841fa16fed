"""Whether friction, and with it the motion, depends on how contacts share loads that are not unique.

Loads ``y`` of contacts that touch close the rates ``E^T a`` of their gaps, and of slips that stick, by accelerations
``a = A D y``: along ``D`` acts the normal force of what slides with its friction, of what sticks each force for itself,
along ``E`` the same without friction. What ``E^T A D`` maps to nothing is free. Without friction it moves nothing
(``D = E``); what slides in different directions, as corners of a box that spins, moves bodies by ``A D y``.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.contact.contacts import Contacts, Selection
from fem_mbs.contact.impact import mobility_by_mass
from fem_mbs.contact.many import diagonal, free_part
from fem_mbs.contracts import State
from fem_mbs.contracts.arguments import listed

SHARES, LEANS = 1e-3, 1e-3
"""Part in free loads of a contact that has one, and what these do to accelerations, over what all friction does."""


def leaning_contacts(contacts: Contacts, state: State) -> dict[object, list[str]]:
    """By elements, the names of contacts whose friction reads loads that are not unique, where these move bodies."""
    which, found = Selection(contacts, contacts.pushing(state)), dict[object, list[str]]()
    P, slides = contacts.forces(state)[which.numbers], contacts.at_edge(state)[which.numbers]
    if which.k < 2 or not slides.any():
        return found
    mobility = mobility_by_mass(contacts, state, which.here(state))
    slides |= which.friction == 0.0
    E = np.where(slides[:, None, None], np.diag([1.0, 0.0, 0.0]), np.eye(3))
    D = E.copy()
    D[slides, 1:, 0] = P[slides, 1:] / P[slides, :1]
    columns = np.flatnonzero(E.any(axis=1))
    E, D = (diagonal(blocks).tocsr()[:, columns] for blocks in (E, D))
    free = free_part(csr_array(E.T @ mobility.delassus @ D))
    if not free.any():
        return found
    free *= np.linalg.norm(P[:, 0]) / np.linalg.norm(free)
    friction, weight = P * [0.0, 1.0, 1.0], contacts.open.weight
    moved, usual = (np.abs(weight * (mobility.moves @ own)).max() for own in (D @ free, friction.ravel()))
    if moved > LEANS * usual:
        shares = np.unique(columns[np.abs(free) > SHARES * np.abs(free).max()] // 3)
        for part, place in map(contacts.named, which.numbers[shares[which.friction[shares] > 0.0]].tolist()):
            found.setdefault(part, []).append(part.contacts[place])
    return found


def describe(leaning: dict[object, list[str]]) -> str:
    """Words for these contacts, and what to do."""
    names = listed([f"{part} ({listed(own)})" for part, own in leaning.items()], "; ")
    return (
        f"friction leans on loads that are not unique, and so does the motion: {names}. They are shared as supports of "
        "equal compliance do; if these are not alike, let bodies stand on three points, or give their contacts a "
        "stiffness"
    )
