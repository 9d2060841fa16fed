"""The first guess of a step, from what the last guesses missed.

Constant acceleration, ``D = h v + h^2 a/2`` with the last multipliers (Arnold, Cardona, Bruels 2015, section 3.5),
misses an increment that grows with ``h^3`` and multipliers that grow with ``h``, both slowly changing in smooth motion.
What two guesses missed tells, constant or linear, what the next one will; which of the two is taken, or neither, is
what would have been best for the last step.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array

PLAIN, CONSTANT, LINEAR = range(3)


class PredictorHistory(NamedTuple):
    """What the guesses of the last two steps, of ``h`` and ``h_before``, missed, the last one first."""

    h: float
    h_before: float
    D: Array
    """``(2, N)``."""
    multipliers: Array
    """``(2, m)``."""
    best: int
    """The extrapolation that would have been best for the last step."""


class Guess(NamedTuple):
    """Increment and multipliers to begin with, and what the plain increment will miss, constant and linear."""

    D: Array
    multipliers: Array
    expected: Array
    """``(2, N)``."""


def first_guess(D: Array, multipliers: Array, h: float, missed: PredictorHistory | None) -> Guess:
    """The plain guess, corrected by what it is expected to miss."""
    if missed is None:
        return Guess(D, multipliers, np.zeros((2, len(D))))
    of_D, of_multipliers = _weights(h, missed.h, missed.h_before)
    expected = of_D @ missed.D
    if missed.best == PLAIN:
        return Guess(D, multipliers, expected)
    k = missed.best - 1
    return Guess(D + expected[k], multipliers + of_multipliers[k] @ missed.multipliers, expected)


@lru_cache(maxsize=64)
def _weights(h: float, last: float, before: float) -> tuple[Array, Array]:
    """Weights of what was missed in the last step and in that before it, constant and linear, ``(2, 2)`` each."""
    # the middles of steps are that far apart
    ahead = (h + last) / (last + before)
    shares = np.array([[1.0, 0.0], [1.0 + ahead, -ahead]])
    ratios = h / np.array([last, before])
    return shares * ratios**3, shares * ratios


def what_was_missed(
    D: Array, multipliers: Array, h: float, guess: Guess, missed: PredictorHistory | None
) -> PredictorHistory:
    """From what the plain guess has missed in a step, and what it had been expected to."""
    if missed is None:
        return PredictorHistory(h, h, np.stack([D, D]), np.stack([multipliers, multipliers]), CONSTANT)
    wrong = guess.expected - D
    errors = [float(D @ D), *np.vecdot(wrong, wrong).tolist()]
    both = np.concatenate([D, missed.D[0]]), np.concatenate([multipliers, missed.multipliers[0]])
    return PredictorHistory(h, missed.h, both[0].reshape(2, -1), both[1].reshape(2, -1), errors.index(min(errors)))
