"""Explicit Runge-Kutta methods by their coefficients (Butcher's tableaus), and how long their steps may be.

Hairer, Norsett, Wanner, *Solving Ordinary Differential Equations I*, 1993, table II.1.2 (RK4) and II.5.2 (DOPRI5);
Bogacki, Shampine, *A 3(2) pair of Runge-Kutta formulas*, 1989 (ODE23); Butcher, *On Runge-Kutta processes of high
order*, 1964 (RK6, seven stages: RK67 of Holzinger, Arnold, Gerstmayr 2024).

A step multiplies a motion ``e^(s t)`` by the polynomial ``R(h s) = 1 + h s b.(I + h s A + ...) 1`` of its tableau
(Hairer, Wanner, *Solving Ordinary Differential Equations II*, IV.2). The fastest small motions near a state say how
long a step may be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ComplexArray

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


VECTORS = 12
"""Of Arnoldi's method: its largest value is right to a few per cent, which costs as much as a few steps."""
SMALL = 1e-6
"""Small motions that derivatives are taken from, against the extent of the model and 1 rad."""
GROWTH = 1e-3
"""Growth in a step from which on a motion is unstable: some methods of high order never damp."""
RADII = np.arange(1, 600) / 100.0


def growth(tableau: Tableau, z: ComplexArray) -> Array:
    """By how much a step multiplies motions ``e^(s t)`` with ``z = h s``, ``|R(z)|``."""
    powers, weights = [1.0], np.ones_like(tableau.b)
    for _ in tableau.b:
        powers.append(float(tableau.b @ weights))
        weights = tableau.A @ weights
    return np.abs(np.polynomial.polynomial.polyval(z, powers))


def fastest(change: Callable[[Array], Array], size: int) -> complex:
    """Of the values of a linear map of vectors (size,) that do not grow, about the largest (Arnoldi's method)."""
    Q = np.zeros((VECTORS + 1, size))
    H = np.zeros((VECTORS + 1, VECTORS))
    start = np.random.default_rng(0).normal(size=size)
    Q[0] = start / np.linalg.norm(start)
    for k in range(VECTORS):
        w = change(Q[k])
        if not np.isfinite(w).all():
            return 0.0
        for _ in range(2):  # once more for what rounding leaves
            shares = Q[: k + 1] @ w
            H[: k + 1, k] += shares
            w -= shares @ Q[: k + 1]
        length = np.linalg.norm(w)
        if length <= 1e-10 * np.abs(H).max():
            break
        H[k + 1, k], Q[k + 1] = length, w / length
    values = np.linalg.eigvals(H[: k + 1, : k + 1])
    values = np.minimum(values.real, 0.0) + 1j * values.imag
    return complex(values[np.argmax(np.abs(values))])


def stable_step(tableau: Tableau, z: complex, h: float) -> float:
    """Longest step for the motion to which ``z = h s`` belongs."""
    if not abs(z) > 0.0:
        return np.inf
    ray: ComplexArray = RADII * np.complex128(z / abs(z))
    grows = growth(tableau, ray) > 1.0 + GROWTH
    return h * float(RADII[np.argmax(grows)]) / abs(z) if grows.any() else np.inf
