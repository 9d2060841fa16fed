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

Of several interfaces each bears what acts on others, and stress that goes from one to another stiffens the body, too:
that of unit motions of interfaces, without loads. The same equation then says by how much interfaces come nearer,
without strain, as the body bends: ``K e2 = 1/2 q^T Z q`` with a matrix ``Z`` for each of their ``6p`` motions, and
the energy is that of ``q - e2``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import so3
from fem_mbs.elements.flexible.bases import HeldMesh
from fem_mbs.elements.flexible.inertia import InertiaDerivatives, InertiaForces, LinearField, Moved
from fem_mbs.elements.flexible.interfaces import AttachedInterface

Geometric = Callable[[Array, Array], Array]
"""Of displacements ``(N, L)`` and shapes ``(N, K)``: ``T^T K_G T`` under the stress of each displacement."""
CASES = 12
RIGID = 1e-9
"""Stiffness against rigid motions, beside that of each motion of an interface, that is rounding."""


class SecondOrderField:
    """Forces of inertia as :class:`LinearField` has, with second-order displacements ``Z`` (n, 12, K, K)."""

    def __init__(self, moments: Array, rest: Array, Z: Array) -> None:
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
        more = (0, self._L)
        self._field, self.mass = LinearField(wide, np.pad(rest, ((0, 0), more, more))), moments[:, 0, 0]

    def _along(self, q: Array) -> Array:
        """``Z q``, by which ``p`` changes with ``q``, ``(n, L, K)``."""
        return np.matvec(self._Z, q[:, None])

    def _with_second(self, q: Array) -> Array:
        return np.concatenate([q, 0.5 * np.matvec(self._along(q), q)], axis=1)

    def _rates(self, q: Array, q_dot: Array, change: Moved, factor: float) -> Moved:
        """``change`` with the rates of ``p``: ``Z q q'``, and ``Z q q''`` beside so many times ``Z q' q'``."""
        along = self._along(q)
        p_dot = np.matvec(along, change.q_dot)
        p_ddot = np.matvec(along, change.q_ddot) + factor * np.matvec(self._along(q_dot), change.q_dot)
        rates, accelerations = np.append(change.q_dot, p_dot, 1), np.append(change.q_ddot, p_ddot, 1)
        return change._replace(q_dot=rates, q_ddot=accelerations)

    def _moved(self, moved: Moved) -> Moved:
        return self._rates(moved.q, moved.q_dot, moved, 1.0)._replace(q=self._with_second(moved.q))

    def first_moment(self, q: Array) -> Array:
        """``int Y dm``, ``(n, 3)``."""
        return self._field.first_moment(self._with_second(q))

    def forces(self, moved: Moved) -> InertiaForces:
        """On the frame and on the modes; ``rest`` are those of the wide field."""
        every = self._moved(moved)
        wide = self._field.forces(every)
        return InertiaForces(wide.frame, self._on_own(wide, moved.q), (every, wide))

    def rate_forces(self, moved: Moved, change: Moved) -> InertiaForces:
        """How the forces change with accelerations and rates, those of ``change``, at the same coordinates."""
        wide = self._field.rate_forces(self._moved(moved), self._rates(moved.q, moved.q_dot, change, 2.0))
        return InertiaForces(wide.frame, self._on_own(wide, moved.q), None)

    def _on_own(self, wide: InertiaForces, q: Array) -> Array:
        """Forces ``(n, K)`` on the coordinates, with those on what follows them."""
        return wide.modes[:, : self._K] + np.vecmat(wide.modes[:, self._K :], self._along(q))

    def derivatives(self, moved: Moved, rest: tuple[Moved, InertiaForces]) -> InertiaDerivatives:
        """Of the forces, with the ``rest`` of these."""
        K = self._K
        every, forces = rest
        z, z_dot, z_ddot = (self._along(part) for part in (moved.q, moved.q_dot, moved.q_ddot))

        def on_own(X: Array) -> Array:
            """Rows of forces on frame and modes."""
            result: Array = X[:, : 6 + K].copy()
            result[:, 6:] += (z.mT @ X[:, 6 + K :].reshape(len(X), self._L, -1)).reshape(len(X), K, *X.shape[2:])
            return result

        frame, spin, by = map(on_own, self._field.derivatives(every, forces.rest))
        result, second = by[..., :K], by[..., K:]
        result[:, :, 2] += second[:, :, 2] @ z
        result[:, :, 1] += second[:, :, 1] @ z + second[:, :, 2] @ (2.0 * z_dot)
        result[:, :, 0] += second[:, :, 0] @ z + second[:, :, 1] @ z_dot + second[:, :, 2] @ z_ddot
        loads = forces.modes[:, None, K:]
        result[:, 6:, 0] += (loads @ self._Z.reshape(-1, self._L, K * K)).reshape(-1, K, K)
        return InertiaDerivatives(frame, spin, result)

    def kinetic(self, V: Array, q: Array, q_dot: Array) -> Array:
        """Energies ``(n,)`` with velocities ``V`` (n, 6) of the frame."""
        p_dot = np.matvec(self._along(q), q_dot)
        return self._field.kinetic(V, self._with_second(q), np.concatenate([q_dot, p_dot], axis=1))


class ShortenedElasticity:
    """Of ``1/2 (q - e2)^T K (q - e2)``, with the matrices ``Z`` (n, 6p, K, K) of ``K e2 = 1/2 q^T Z q``."""

    def __init__(self, K: Array, Z: Array) -> None:
        self._K, self._Z, self._ends = K, Z, Z.shape[1]
        ends = K[:, : self._ends, : self._ends]
        # in units of each motion, in which rigid motions alone are soft
        units = np.diagonal(ends, axis1=1, axis2=2) ** -0.5
        both = units[:, :, None] * units[:, None]
        self._flexibility = both * np.linalg.pinv(both * ends, rcond=RIGID, hermitian=True)

    def strained(self, q: Array) -> Array:
        """``q - e2``."""
        result = q.copy()
        result[:, : self._ends] -= np.matvec(self._flexibility, 0.5 * np.matvec(self._along(q), q))
        return result

    def gradient(self, q: Array) -> Array:
        """Of ``q - e2`` against ``q``, ``(n, K, K)``."""
        _, J, K, _ = self._Z.shape
        return np.eye(K) - np.pad(self._flexibility @ self._along(q), ((0, 0), (0, K - J), (0, 0)))

    def forces(self, q: Array, strained: Array) -> Array:
        """``(n, K)``."""
        return np.matvec(self._K, strained) - np.vecmat(strained[:, : self._ends], self._along(q))

    def stiffness(self, q: Array, strained: Array) -> Array:
        """``(n, K, K)``."""
        n, J, K, _ = self._Z.shape
        by_q = self.gradient(q)
        bent = (strained[:, None, :J] @ self._Z.reshape(n, J, K * K)).reshape(-1, K, K)
        return by_q.mT @ self._K @ by_q - bent

    def _along(self, q: Array) -> Array:
        return np.matvec(self._Z, q[:, None])


def second_order_forms(
    held: HeldMesh, center: Array, T: Array, interfaces: Sequence[AttachedInterface], geometric: Geometric
) -> Array:
    """``Z`` of shapes ``T`` (N, K) of a mesh.

    Twelve (K, K) of loads, and of several interfaces one for each of their motions.
    """
    mesh, rest = held.mesh, held.rest
    X, dofs = mesh.points - center, mesh.dofs
    fields = np.zeros((CASES, len(X), 6))
    fields[[0, 1, 2], :, [0, 1, 2]] = 1.0
    for a in range(3):
        fields[3 + 3 * a + np.arange(3), :, np.arange(3)] = X[:, a]
    f = mesh.M @ fields[:, dofs[:, 0], dofs[:, 1]].T
    u = rest @ held.response_held(rest.T @ f)
    if len(interfaces) > 1:
        n = held.G.shape[0]
        u, f = np.concatenate([u, T[:, :n]], axis=1), np.pad(f, ((0, 0), (0, n)))
    Z = -geometric(u, T)
    on_nodes = np.zeros((len(Z), len(X), 6))
    on_nodes[:, dofs[:, 0], dofs[:, 1]] = (f - mesh.K @ u).T
    for i, own in enumerate(interfaces):
        force = on_nodes[:, own.nodes, :3]
        arms = mesh.points[own.nodes] - own.point
        move, turn = slice(6 * i, 6 * i + 3), slice(6 * i + 3, 6 * i + 6)
        half = 0.5 * so3.skew(force.sum(axis=1))
        Z[:, move, turn] += half
        Z[:, turn, move] -= half
        spread = np.einsum("lka,kb->lab", force, arms)
        trace = np.trace(spread, axis1=1, axis2=2)[:, None, None]
        Z[:, turn, turn] += 0.5 * (spread + spread.mT) - trace * np.eye(3)
    return Z
