"""How body velocities and accelerations follow a deviation that is seen from the moving body, ``H exp(d)``.

docs/modes.md, "Around a motion".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, RateSensitivities
from fem_mbs.lie import so3


class Deviations(NamedTuple):
    """Derivatives of ``V`` against ``d`` and of ``A`` against ``d`` and ``d'``; ``V_,d'`` and ``A_,d''`` are 1."""

    V: RateSensitivities
    A: RateSensitivities
    A_rate: RateSensitivities


def deviations(motion: Motion) -> Deviations:
    """Of a motion.

    ``V`` changes by its bracket ``(Omega x u + U x w, Omega x w)`` with ``d = (u, w)``. With ``x + R u``, the
    acceleration of the point gains ``u'' + 2 Omega x u' + Omega' x u + Omega x (Omega x u)`` and turns by ``a x w``;
    ``Omega' + (w' + Omega x w)'`` is the angular acceleration.
    """
    U, Omega, a, Omega_dot = so3.skew(np.concatenate([motion.V, motion.A], axis=1).reshape(-1, 4, 3)).swapaxes(0, 1)
    parts = (
        _blocks(Omega, U, Omega),
        _blocks(Omega_dot + Omega @ Omega, a, Omega_dot),
        _blocks(2.0 * Omega, np.zeros_like(Omega), Omega),
    )
    return Deviations(*(RateSensitivities(part, np.zeros_like(motion.u)) for part in parts))


def _blocks(upper_left: Array, upper_right: Array, lower_right: Array) -> Array:
    """Matrices ``(n, 6, 6)`` with a lower left block of zeros."""
    result = np.zeros((len(upper_left), 6, 6))
    result[:, :3, :3], result[:, :3, 3:], result[:, 3:, 3:] = upper_left, upper_right, lower_right
    return result
