"""Moments over the mass of a mesh of the functions ``1, X, Psi_1 ... Psi_K``, and the mean frame that they settle."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import so3
from fem_mbs.elements.flexible.floating_frame import carried
from fem_mbs.errors import ModelError

SINGULAR = 1e-10
"""Smallest inertia, against the largest, in units of mass and size, that settles a mean frame."""


def fields(T: Array, dofs: IntArray, n: int) -> tuple[Array, Array | None]:
    """Displacements and rotations of nodes, ``(n, 3, K)`` each."""
    every = np.zeros((n, 6, T.shape[1]))
    every[dofs[:, 0], dofs[:, 1]] = T
    return every[:, :3], every[:, 3:] if (dofs[:, 1] > 2).any() else None


def masses(M: csr_array, dofs: IntArray, points: Array) -> tuple[csr_array, csr_array | None, Array]:
    """Masses between nodes, ``E = tr J/2 I - J`` of rotary inertia between nodes, and the mass centre."""
    n = len(points)
    rows = np.full((n, 6), -1)
    rows[dofs[:, 0], dofs[:, 1]] = np.arange(len(dofs))
    if (rows[:, :3] < 0).any() and (rows[:, :3] >= 0).any(axis=1).any():
        node = int(np.flatnonzero((rows[:, :3] < 0).any(axis=1))[0])
        raise ModelError(
            f"Reduction: node {node} has not all of its three displacements in dofs: it is held; give the free body"
        )
    m = csr_array(sum(M[rows[:, a]][:, rows[:, a]] for a in range(3)) / 3.0)
    mass = np.asarray(m.sum(axis=1)).ravel()
    if not mass.sum() > 0.0:
        raise ModelError(f"Reduction: mass must be positive in sum, received {mass.sum():.6g} kg")
    center = mass @ points / mass.sum()
    turning = np.flatnonzero((rows[:, 3:] >= 0).all(axis=1))
    if not len(turning):
        return m, None, center
    J = M[rows[turning, 3:].ravel()][:, rows[turning, 3:].ravel()]
    trace = sum(J[a::3][:, a::3] for a in range(3))
    spread = csr_array((len(turning), n)) + csr_array(
        (np.ones(len(turning)), (np.arange(len(turning)), turning)), (len(turning), n)
    )
    from scipy.sparse import kron

    E = kron(0.5 * trace, np.eye(3)) - J
    wide = kron(spread, np.eye(3))
    return m, csr_array(wide.T @ E @ wide), center


def moments_of(m: csr_array, E: csr_array | None, X: Array, Y: Array, theta: Array | None) -> Array:
    """Of ``1`` and all ``Psi_ja``, ``(4 + 3K, 4 + 3K)``."""
    n, K = len(X), Y.shape[2]
    F = np.concatenate([np.ones((n, 1)), X, Y.swapaxes(1, 2).reshape(n, 3 * K)], axis=1)
    result = F.T @ (m @ F)
    if E is not None and theta is not None:
        # a triad at each node, of which J is the inertia: N_0 = I, N_j = skew(theta_j)
        N = np.concatenate([np.broadcast_to(np.eye(3), (n, 1, 3, 3)), so3.skew(theta.swapaxes(1, 2))], axis=1)
        flat = N.transpose(0, 3, 1, 2).reshape(3 * n, 3 * (K + 1))
        result[1:, 1:] += flat.T @ (E @ flat)
    return symmetric(result)


def symmetric(matrix: Array) -> Array:
    """Its symmetric part."""
    return 0.5 * (matrix + matrix.T)


def mass_of(moments: Array) -> Array:
    """``int Psi_j . Psi_k dm``, ``(K, K)``."""
    K = len(moments) // 3 - 1
    W = moments[4:, 4:].reshape(K, 3, K, 3)
    result: Array = np.einsum("jaka->jk", W)
    return result


def rigid_coordinates(places: Array, K: int) -> Array:
    """Rigid motions ``(K, 6)`` about the reference point in coordinates."""
    result = np.zeros((K, 6))
    result[: 6 * len(places)] = carried(places).reshape(-1, 6)
    return result


def mean_frame(moments: Array, places: Array, size: float) -> Array:
    """``P`` (6, K): the frame from which the deformation has no momentum."""
    K = len(moments) // 3 - 1
    W0 = moments[1:4, 4:].reshape(3, K, 3)
    momenta = np.concatenate([moments[0, 4:].reshape(K, 3).T, 2.0 * so3.axial(W0.transpose(1, 2, 0)).T])
    R = rigid_coordinates(places, K)
    units = np.repeat((1.0, size), 3) * np.sqrt(moments[0, 0])
    whole = momenta @ R
    if np.linalg.eigvalsh(symmetric(whole / np.outer(units, units)))[0] < SINGULAR:
        # rods without rotary inertia: interfaces share in the mean, the inertia stays as it is
        share = moments[0, 0] / len(places) * np.diag((1.0, 1.0, 1.0, size**2, size**2, size**2))
        for i, own in enumerate(carried(places)):
            momenta[:, 6 * i : 6 * i + 6] += own.T @ share
        whole = momenta @ R
    result: Array = np.linalg.solve(whole, momenta)
    return result
