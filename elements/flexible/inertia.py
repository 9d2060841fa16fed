"""Inertia forces of a displacement field that is linear in its coordinates, exact, seen from a frame that moves.

With ``Y = sum_j q_j Psi_j``, ``q_0 = 1``, ``Psi_0 = X`` in the axes of the frame, a point has the acceleration

    a + sum_j G_j Psi_j,   G_j = q_j (skew(alpha) + skew(Omega)^2) + 2 q_j' skew(Omega) + q_j'' I,

so that all the forces need of a mesh is the matrix of second moments of the functions ``1, Psi_ja`` over its mass,
``int Psi_ja dm`` and ``int Psi_ja Psi_kb dm`` (the invariants of Shabana, Dynamics of Multibody Systems, section 5.3,
all of them). Coriolis, centrifugal and Euler forces on every mode follow without further approximation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import so3

AXES = so3.skew(so3.IDENTITY)
_TURNS = AXES.reshape(3, 9).T


class Moved(NamedTuple):
    """The frame and the coordinates: components in the axes of the frame, ``(n, 3)`` and ``(n, K)``."""

    a: Array
    """Acceleration of the point of the frame less that of gravity."""
    alpha: Array
    Omega: Array
    q: Array
    q_dot: Array
    q_ddot: Array


def _with(first: float, q: Array) -> Array:
    return np.concatenate([np.full((len(q), 1), first), q], axis=1)


class LinearField:
    """Bodies with moments ``(n, 4 + 3K, 4 + 3K)`` of ``1, Psi_0x, Psi_0y, ... Psi_Kz`` over their mass."""

    def __init__(self, moments: Array) -> None:
        self._moments, n = moments, len(moments)
        self._J = J = moments.shape[-1] // 3
        self.mass, self.first = moments[:, 0, 0], moments[:, 0, 1:].reshape(n, J, 3)
        self._second = moments[:, 1:, 1:].reshape(n, J, 3, J, 3)
        # (row, j, components of G_j): forces of unit accelerations G_j on translations, rotations, modes
        self._project = np.zeros((n, 5 + J, J, 3, 3))
        self._project[:, [0, 1, 2], :, [0, 1, 2]] = self.first
        self._project[:, 6:] = self._second[:, 1:].swapaxes(2, 3)

    def first_moment(self, q: Array) -> Array:
        """``int Y dm``, ``(n, 3)``."""
        return by_place_first(_with(1.0, q), self.first)

    def forces(self, moved: Moved) -> tuple[Array, Array]:
        """On the frame ``(n, 6)`` and on the modes ``(n, K)``."""
        there = self._accelerations(moved)
        return self._resultant(there, moved.q), np.einsum(
            "nckc->nk", there[..., 1:].reshape(len(there), 3, -1, 3)[:, :, 1:]
        )

    def _accelerations(self, moved: Moved) -> Array:
        """Moments ``(n, 3, 4 + 3K)`` of the components of the acceleration with all functions."""
        G = self._second_rates(moved)
        acceleration = np.concatenate([moved.a[:, :, None], G.swapaxes(1, 2).reshape(len(G), 3, -1)], axis=2)
        result: Array = acceleration @ self._moments
        return result

    def _second_rates(self, moved: Moved) -> Array:
        spin = so3.skew(moved.Omega)[:, None]
        turning = so3.skew(moved.alpha)[:, None] + spin @ spin
        q, q_dot, q_ddot = (
            _with(first, part)[..., None, None]
            for first, part in ((1.0, moved.q), (0.0, moved.q_dot), (0.0, moved.q_ddot))
        )
        G: Array = q * turning + 2.0 * q_dot * spin + q_ddot * so3.IDENTITY
        return G

    def _resultant(self, there: Array, q: Array) -> Array:
        by_place = np.einsum("nckb,nk->ncb", there[..., 1:].reshape(len(there), 3, -1, 3), _with(1.0, q))
        return np.concatenate([there[..., 0], 2.0 * so3.axial(by_place)], axis=1)

    def derivatives(self, moved: Moved) -> Array:
        """Of the forces ``(n, 6 + K)`` against ``(a, alpha, Omega, q, q', q'')``, ``(n, 6 + K, 9 + 3K)``."""
        n, J, K = len(moved.q), self._J, self._J - 1
        q, q_dot = _with(1.0, moved.q), _with(0.0, moved.q_dot)
        # moments by place (n, b, j, d) turn forces at places into moments
        by_place = np.einsum("nkbjd,nk->nbjd", self._second, q)
        project = self._project.copy()
        project[:, 3:6] = np.einsum("abc,nbjd->najcd", _PERMUTATION, by_place)
        flat = project.reshape(n, 6 + K, J, 9)
        spin = so3.skew(moved.Omega)
        turning = so3.skew(moved.alpha) + spin @ spin
        kinds = np.stack([turning, 2.0 * spin, np.broadcast_to(so3.IDENTITY, spin.shape)], axis=-1).reshape(n, 1, 9, 3)
        by_coordinates = (flat @ kinds)[:, :, 1:]
        there = self._accelerations(moved)[..., 1:].reshape(n, 3, J, 3)
        by_coordinates[:, 3:6, :, 0] += 2.0 * so3.axial(there[:, :, 1:].swapaxes(1, 2)).swapaxes(1, 2)
        whole = flat.swapaxes(2, 3) @ np.stack([q, q_dot], axis=-1)[:, None]
        spun = AXES @ spin[:, None] + spin[:, None] @ AXES
        s = by_place_first(q, self.first)
        result = np.zeros((n, 6 + K, 9 + 3 * K))
        result[:, [0, 1, 2], [0, 1, 2]] = self.mass[:, None]
        result[:, 3:6, :3], result[:, 6:, :3] = so3.skew(s), self.first[:, 1:]
        result[:, :, 3:6] = whole[..., 0] @ _TURNS
        result[:, :, 6:9] = whole[..., 0] @ spun.reshape(n, 3, 9).mT + 2.0 * whole[..., 1] @ _TURNS
        result[:, :, 9:] = by_coordinates.swapaxes(2, 3).reshape(n, 6 + K, 3 * K)
        return result

    def kinetic(self, V: Array, q: Array, q_dot: Array) -> Array:
        """Energies ``(n,)`` with velocities ``V`` (n, 6) of the frame."""
        Y = _with(1.0, q)[..., None, None] * so3.skew(V[:, 3:])[:, None]
        rates = Y + _with(0.0, q_dot)[..., None, None] * so3.IDENTITY
        velocity = np.concatenate([V[:, :3, None], rates.swapaxes(1, 2).reshape(len(V), 3, -1)], axis=2)
        energy: Array = 0.5 * (velocity * (velocity @ self._moments)).sum(axis=(1, 2))
        return energy


_PERMUTATION = -AXES


def by_place_first(q: Array, first: Array) -> Array:
    """``int Y dm`` (n, 3) with ``q_0`` among ``q``."""
    result: Array = np.einsum("nj,nja->na", q, first)
    return result
