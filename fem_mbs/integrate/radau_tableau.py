"""The three-stage Radau IIA method: its coefficients, and the polynomial through its stages.

Hairer, Wanner, *Solving Ordinary Differential Equations II* (1996), IV.5 (Table 5.6) and IV.8. Stage values ``z`` after
the start have the rates ``W z/h`` with ``W = A^-1``. Its eigenvectors part a linear system of all stages into one real
and two conjugate complex ones.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fem_mbs.arrays import Array

ROOT = 6.0**0.5
NODES = np.array([0.4 - 0.1 * ROOT, 0.4 + 0.1 * ROOT, 1.0])
"""Instants of the stages, over the step; the last one is its end."""
WEIGHTS = np.array(
    [
        [(88.0 - 7.0 * ROOT) / 360.0, (296.0 - 169.0 * ROOT) / 1800.0, (-2.0 + 3.0 * ROOT) / 225.0],
        [(296.0 + 169.0 * ROOT) / 1800.0, (88.0 + 7.0 * ROOT) / 360.0, (-2.0 - 3.0 * ROOT) / 225.0],
        [(16.0 - ROOT) / 36.0, (16.0 + ROOT) / 36.0, 1.0 / 9.0],
    ]
)
"""``A``: stage values from stage rates."""
RATES = np.linalg.inv(WEIGHTS)
"""``W``."""
_values, _vectors = np.linalg.eig(RATES)
_order = [int(np.argmin(np.abs(_values.imag))), int(np.argmax(_values.imag))]
REAL, COMPLEX = float(_values[_order[0]].real), complex(_values[_order[1]])
"""Eigenvalues of ``W``, of the conjugate ones that with the positive imaginary part."""
RIGHT, LEFT = _vectors[:, _order], np.linalg.inv(_vectors)[_order]
"""Their right eigenvectors (columns) and left ones (rows)."""
ERROR = np.array([-13.0 - 7.0 * ROOT, -13.0 + 7.0 * ROOT, -1.0]) / (3.0 * REAL)
"""Weights of stage values in the difference from the embedded formula, beside ``h/REAL`` of the rate at the start."""


@lru_cache(maxsize=64)
def ahead(ratio: float) -> Array:
    """Weights ``(3, 5)`` of the stages of a step that is ``ratio`` times as long as the last one.

    They extrapolate the polynomial through the values at the start and at the stages of the last step, which has the
    given derivative, times that step, at its end.
    """
    places = np.append(0.0, NODES) - 1.0
    powers = np.arange(5)
    conditions = np.vstack([places[:, None] ** powers, powers == 1])
    return np.asarray((ratio * NODES[:, None]) ** powers @ np.linalg.inv(conditions))


@lru_cache(maxsize=64)
def following(ratio: float) -> Array:
    """The same weights ``(3, 3)`` for the polynomial through the stages alone."""
    powers = np.arange(3)
    return np.asarray((1.0 + ratio * NODES[:, None]) ** powers @ np.linalg.inv(NODES[:, None] ** powers))
