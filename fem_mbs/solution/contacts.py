"""Gaps, forces and impulses of contacts over time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, Motion
from fem_mbs.contracts.unilateral import CARRIED, IMPULSES, TIME
from fem_mbs.solution.copies import over_time
from fem_mbs.solution.history import History


class Impulse(NamedTuple):
    """What a contact has given in a step at once."""

    t: float
    """When, or of several in a step, when the last."""
    point: int
    """Number of the point of the contact."""
    normal: float
    """N s (N m s of an angle)."""
    friction: Array
    """Along two tangents, ``(2,)``."""


def contacts_over_time(history: History, part: Element) -> tuple[Array, Array]:
    """Gaps ``(nt, k)`` and forces ``(nt, k, 3)`` on node b."""
    with history.system.as_frozen():
        values: Array = over_time(history, [part], _gaps_and_forces)[:, 0]
    return values[..., 0], values[..., 1:]


def impulses(history: History, part: Element) -> list[Impulse]:
    """Where the sums of impulses grow; of contacts that yield there are none."""
    if part.yields:
        return []
    rows = history.system.number.own(part)[-len(CARRIED) * len(part.contacts) :].reshape(-1, len(CARRIED))
    carried = np.asarray(history.u)[:, rows]
    grown = np.diff(carried[..., IMPULSES], axis=0, prepend=0.0)
    found = [
        Impulse(float(carried[k, j, TIME]), int(j), float(grown[k, j, 0]), grown[k, j, 1:])
        for k, j in zip(*np.nonzero(grown.any(axis=-1)), strict=True)
    ]
    return sorted(found, key=lambda impulse: impulse.t)


def _gaps_and_forces(batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> Array:
    """Of each cell ``(n, r, 4)``."""
    return np.concatenate([batch.gaps(motion)[..., None], batch.forces_on_b(motion)], axis=-1)
