"""Explicit Runge-Kutta methods by their coefficients (Butcher's tableaus).

Hairer, Norsett, Wanner, *Solving Ordinary Differential Equations I*, 1993, table II.1.2 (RK4) and II.5.2 (DOPRI5);
Bogacki, Shampine, *A 3(2) pair of Runge-Kutta formulas*, 1989 (ODE23); Butcher, *On Runge-Kutta processes of high
order*, 1964 (RK6, seven stages: RK67 of Holzinger, Arnold, Gerstmayr 2024).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array

S = 5.0**0.5


class Tableau(NamedTuple):
    """Coefficients of an explicit method of ``s`` stages.

    Attributes
    ----------
    order : int
        Order ``p`` of the errors in the step.
    A : ndarray
        ``a_ij`` (s, s), lower triangular: weights of the stages before each stage.
    b : ndarray
        Weights (s,) of the stages in the result.
    estimate : ndarray or None
        Weights ``b_i - b^_i`` (s,) of the stages in the estimate of the local error, the difference from a second
        result of order ``p - 1``; None without one.
    """

    order: int
    A: Array
    b: Array
    estimate: Array | None = None

    @property
    def c(self) -> Array:
        """Shares (s,) of the step at which the stages are, the sums of the rows of ``A``."""
        shares: Array = self.A.sum(axis=1)
        return shares

    @property
    def first_same_as_last(self) -> bool:
        """Whether the last stage is the result, so that it serves as the first of the next step."""
        return np.array_equal(self.A[-1], self.b)


def _tableau(order: int, rows: list[list[float]], b: list[float], second: list[float] | None = None) -> Tableau:
    """From the rows of stages before each stage, the weights, and those of a second result."""
    A = np.zeros((len(b), len(b)))
    for i, row in enumerate(rows):
        A[i, : len(row)] = row
    weights = np.array(b)
    return Tableau(order, A, weights, None if second is None else weights - second)


TABLEAUS = {
    "RK4": _tableau(4, [[], [1 / 2], [0, 1 / 2], [0, 0, 1]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    "DOPRI5": _tableau(
        5,
        [
            [],
            [1 / 5],
            [3 / 40, 9 / 40],
            [44 / 45, -56 / 15, 32 / 9],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
            [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
        ],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
        [5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40],
    ),
    "ODE23": _tableau(
        3,
        [[], [1 / 2], [0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]],
        [2 / 9, 1 / 3, 4 / 9, 0],
        [7 / 24, 1 / 4, 1 / 3, 1 / 8],
    ),
    "RK6": _tableau(
        6,
        [
            [],
            [1 / 2 - S / 10],
            [-S / 10, 1 / 2 + S / 5],
            [7 * S / 20 - 3 / 4, S / 4 - 1 / 4, 3 / 2 - 7 * S / 10],
            [1 / 12 - S / 60, 0, 1 / 6, 7 * S / 60 + 1 / 4],
            [S / 60 + 1 / 12, 0, 3 / 4 - 5 * S / 12, 1 / 6, 3 * S / 10 - 1 / 2],
            [1 / 6, 0, 25 * S / 12 - 55 / 12, -7 * S / 12 - 25 / 12, 5 - 2 * S, 5 / 2 + S / 2],
        ],
        [1 / 12, 0, 0, 0, 5 / 12, 5 / 12, 1 / 12],
    ),
}
"""By name."""
WITH_ESTIMATE = [name for name, tableau in TABLEAUS.items() if tableau.estimate is not None]
"""Those that estimate their error."""
