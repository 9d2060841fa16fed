"""How long steps of an explicit method may be: the fastest small motions near a state, and what steps make of them.

A step multiplies a motion ``e^(s t)`` by the polynomial ``R(h s) = 1 + h s b.(I + h s A + ...) 1`` of its tableau
(Hairer, Wanner, *Solving Ordinary Differential Equations II*, IV.2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fem_mbs.arrays import Array, ComplexArray
from fem_mbs.methods.tableaus import Tableau

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
