"""The first guess of a step, from what the last guess missed.

Constant acceleration, ``D = h v + h^2 a/2`` with the last multipliers (Arnold, Cardona, Bruels 2015, section 3.5), has
an error that grows with ``h^3`` for the increment and with ``h`` for the multipliers. In smooth motion it is the same
from step to step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array


class Missed(NamedTuple):
    """What a guess missed in a step of ``h``, and whether what had been missed before would have told."""

    h: float
    D: Array
    multipliers: Array
    told: bool


def first_guess(D: Array, multipliers: Array, h: float, missed: Missed | None) -> tuple[Array, Array]:
    """Increment and multipliers, corrected by what the last guess missed if that can be relied on."""
    if missed is None or not missed.told:
        return D, multipliers
    ratio = h / missed.h
    return D + ratio**3 * missed.D, multipliers + ratio * missed.multipliers


def what_was_missed(D: Array, multipliers: Array, h: float, before: Missed | None) -> Missed:
    """From the errors of the plain guess in a step, and those in the step before."""
    told = before is None or bool(np.linalg.norm((h / before.h) ** 3 * before.D - D) <= np.linalg.norm(D))
    return Missed(h, D, multipliers, told)
