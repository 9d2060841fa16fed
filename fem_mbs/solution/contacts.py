"""Gaps, forces and impulses of contacts over time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, Motion
from fem_mbs.contracts.unilateral import CARRIED, FORCES, IMPULSES, TIME, WORK
from fem_mbs.errors import ModelError
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


class ContactLosses(NamedTuple):
    """What a contact has taken from the energy so far, in J, ``(nt,)`` each."""

    impacts: Array
    """By impulses, those of friction too; negative where they have brought energy."""
    friction: Array
    """By friction in closed contact, between stored states by the trapezoidal rule."""


def contacts_over_time(history: History, part: Element) -> tuple[Array, Array]:
    """Gaps ``(nt, k)`` and forces ``(nt, k, 3)`` on node b."""
    values: Array = over_time(history, [part], _gaps_and_forces)[:, 0]
    return values[..., 0], values[..., 1:]


def impulses(history: History, part: Element) -> list[Impulse]:
    """Where the sums of impulses grow; of contacts that yield there are none."""
    if part.yields:
        return []
    carried = _carried(history, part)
    grown = np.diff(carried[..., IMPULSES], axis=0, prepend=0.0)
    found = [
        Impulse(float(carried[k, j, TIME]), int(j), float(grown[k, j, 0]), grown[k, j, 1:])
        for k, j in zip(*np.nonzero(grown.any(axis=-1)), strict=True)
    ]
    return sorted(found, key=lambda impulse: impulse.t)


def losses(history: History, part: Element) -> ContactLosses:
    """Of a rigid contact."""
    if part.yields:
        raise ModelError(
            f"contact_losses: {part} yields: what it stores is strain energy, and what energy.total loses goes into "
            "damping and friction"
        )
    power = over_time(history, [part], _friction_power)[:, 0]
    friction = np.append(0.0, np.cumsum(0.5 * np.diff(history.t) * (power[1:] + power[:-1])))
    return ContactLosses(_carried(history, part)[..., WORK].sum(axis=1), friction)


def _carried(history: History, part: Element) -> Array:
    """What each of its contacts carries, ``(nt, k, 8)``."""
    rows = history.system.number.own(part)[-len(CARRIED) * len(part.contacts) :].reshape(-1, len(CARRIED))
    carried: Array = np.asarray(history.u)[:, rows]
    return carried


def _friction_power(batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> Array:
    """What friction takes in each cell, ``(n,)``."""
    V = motion.V[batch.nodes].reshape(len(batch.nodes), -1)
    slip = np.einsum("nrdb,nb->nrd", batch.measure(motion).gradient[:, :, 1:], V)
    power: Array = -(motion.u[batch.carried[..., FORCES]][..., 1:] * slip).sum(axis=(1, 2))
    return power


def _gaps_and_forces(batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> Array:
    """Of each cell ``(n, r, 4)``."""
    return np.concatenate([batch.gaps(motion)[..., None], batch.forces_on_b(motion)], axis=-1)
