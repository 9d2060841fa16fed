"""Displacements of second order within a body: what bends gets shorter, and stress stiffens it.

A point is at ``X + u + x2`` with ``u = sum_j q_j Psi_j`` and ``x2`` quadratic in ``q``, by which the material follows a
rotation without strain. Of ``x2`` all that forces of inertia need, to this order, are its moments

    p = 1/2 q^T Z q:   int x2 dm,   int X_a x2_b dm,

three and nine matrices ``Z`` (K, K). They enter as coordinates of their own of the fields ``1`` and ``X_a``, so that
energy and momentum are kept and masses positive. Each is the work of ``x2`` under a load ``rho b``, ``b = e_a`` and
``X_a e_b``: with the stress of that load, interfaces held, and the forces ``f`` on these,

    int rho b . x2 dV = -1/2 q^T K_G[stress] q + sum f . x2

(Wallrapp, Schwertassek, IJNME 32, 1991, 1833, whose load cases these are). Nodes of an interface at ``r`` move by ``x2
= theta x u/2 + theta x (theta x r)/2``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import so3
from fem_mbs.elements.flexible.bases import HeldMesh
from fem_mbs.elements.flexible.inertia import LinearField, Moved
from fem_mbs.elements.flexible.interfaces import AttachedInterface

Geometric = Callable[[Array, Array], Array]
"""Of displacements ``(N, L)`` and shapes ``(N, K)``: ``T^T K_G T`` under the stress of each displacement."""
CASES = 12


class SecondOrderField:
    """Forces of inertia as :class:`LinearField` has, with second-order displacements ``Z`` (n, 12, K, K)."""

    def __init__(self, moments: Array, Z: Array) -> None:
        self._Z, (n, self._L, self._K, _) = Z, Z.shape
        size = moments.shape[1]
        rows, axes = np.array([(case // 3, case % 3) for case in range(self._L)]).T
        columns = size + 3 * np.arange(self._L) + axes
        # of 1 and X, the scalar functions that have one moment with these; a line has none across
        dual = np.linalg.pinv(moments[:, :4, :4], hermitian=True)
        wide = np.zeros((n, size + 3 * self._L, size + 3 * self._L))
        wide[:, :size, :size] = moments
        wide[:, columns, :size] = dual[:, rows] @ moments[:, :4]
        wide[:, :size, columns] = wide[:, columns, :size].mT
        wide[:, columns[:, None], columns] = dual[:, rows[:, None], rows]
        self._field, self.mass = LinearField(wide), moments[:, 0, 0]

    def _along(self, q: Array) -> Array:
        """``Z q``, by which ``p`` changes with ``q``, ``(n, L, K)``."""
        return np.matvec(self._Z, q[:, None])

    def _with_second(self, q: Array) -> Array:
        return np.concatenate([q, 0.5 * np.matvec(self._along(q), q)], axis=1)

    def _moved(self, moved: Moved) -> Moved:
        along, rate = self._along(moved.q), self._along(moved.q_dot)
        p_dot = np.matvec(along, moved.q_dot)
        p_ddot = np.matvec(along, moved.q_ddot) + np.matvec(rate, moved.q_dot)
        return moved._replace(
            q=self._with_second(moved.q),
            q_dot=np.concatenate([moved.q_dot, p_dot], axis=1),
            q_ddot=np.concatenate([moved.q_ddot, p_ddot], axis=1),
        )

    def first_moment(self, q: Array) -> Array:
        """``int Y dm``, ``(n, 3)``."""
        return self._field.first_moment(self._with_second(q))

    def forces(self, moved: Moved) -> tuple[Array, Array]:
        """On the frame ``(n, 6)`` and on the modes ``(n, K)``."""
        w, r = self._field.forces(self._moved(moved))
        return w, r[:, : self._K] + np.vecmat(r[:, self._K :], self._along(moved.q))

    def derivatives(self, moved: Moved) -> Array:
        """Of the forces ``(n, 6 + K)`` against ``(a, alpha, Omega, q, q', q'')``, ``(n, 6 + K, 9 + 3K)``."""
        K, L, n = self._K, self._L, len(moved.q)
        every = self._moved(moved)
        loads = self._field.forces(every)[1][:, K:]
        wide = self._field.derivatives(every)
        z, z_dot, z_ddot = (self._along(part) for part in (moved.q, moved.q_dot, moved.q_ddot))
        wide = np.concatenate([wide[:, :6], wide[:, 6 : 6 + K] + z.mT @ wide[:, 6 + K :]], axis=1)
        of_q, of_qd, of_qdd = np.split(wide[:, :, 9:], 3, axis=2)
        chains = ((of_q, z), (of_qd, z_dot), (of_qdd, z_ddot)), ((of_qd, z), (of_qdd, 2.0 * z_dot)), ((of_qdd, z),)
        result = np.empty((n, 6 + K, 9 + 3 * K))
        result[:, :, :9] = wide[:, :, :9]
        for k, terms in enumerate(chains):
            own = (of_q, of_qd, of_qdd)[k][:, :, :K] + sum(part[:, :, K:] @ by for part, by in terms)
            result[:, :, 9 + k * K : 9 + (k + 1) * K] = own
        result[:, 6:, 9 : 9 + K] += (loads[:, None] @ self._Z.reshape(n, L, K * K)).reshape(n, K, K)
        return result

    def kinetic(self, V: Array, q: Array, q_dot: Array) -> Array:
        """Energies ``(n,)`` with velocities ``V`` (n, 6) of the frame."""
        p_dot = np.matvec(self._along(q), q_dot)
        return self._field.kinetic(V, self._with_second(q), np.concatenate([q_dot, p_dot], axis=1))


def second_order_forms(
    held: HeldMesh,
    K: csr_array,
    M: csr_array,
    rest: csr_array,
    points: Array,
    center: Array,
    dofs: IntArray,
    T: Array,
    interfaces: Sequence[AttachedInterface],
    geometric: Geometric,
) -> Array:
    """``Z`` (12, K, K) of shapes ``T`` (N, K) of a mesh whose nodes are at ``points`` (n, 3)."""
    X = points - center
    fields = np.zeros((CASES, len(X), 6))
    fields[[0, 1, 2], :, [0, 1, 2]] = 1.0
    for a in range(3):
        fields[3 + 3 * a + np.arange(3), :, np.arange(3)] = X[:, a]
    f = M @ fields[:, dofs[:, 0], dofs[:, 1]].T
    n = held.G.shape[0]
    u = rest @ held.answer(rest.T @ f, n, np.zeros((n, CASES)))
    Z = -geometric(u, T)
    on_nodes = np.zeros((CASES, len(X), 6))
    on_nodes[:, dofs[:, 0], dofs[:, 1]] = (f - K @ u).T
    for i, own in enumerate(interfaces):
        force = on_nodes[:, own.nodes, :3]
        arms = points[own.nodes] - own.point
        move, turn = slice(6 * i, 6 * i + 3), slice(6 * i + 3, 6 * i + 6)
        half = 0.5 * so3.skew(force.sum(axis=1))
        Z[:, move, turn] += half
        Z[:, turn, move] -= half
        spread = np.einsum("lka,kb->lab", force, arms)
        trace = np.trace(spread, axis1=1, axis2=2)[:, None, None]
        Z[:, turn, turn] += 0.5 * (spread + spread.mT) - trace * np.eye(3)
    return Z
