"""Inertia forces of a displacement field that is linear in its coordinates, exact, seen from a frame that moves.

With ``Y = sum_j q_j Psi_j``, ``q_0 = 1``, ``Psi_0 = X`` in the axes of the frame, a point has the acceleration

    a + sum_j G_j Psi_j,   G_j = q_j (skew(alpha) + skew(Omega)^2) + 2 q_j' skew(Omega) + q_j'' I,

so that all the forces need of a mesh is the matrix of second moments of the functions ``1, Psi_ja`` over its mass,
``int Psi_ja dm`` and ``int Psi_ja Psi_kb dm`` (the invariants of Shabana, Dynamics of Multibody Systems, section 5.3,
all of them). Coriolis, centrifugal and Euler forces on every mode follow without further approximation. Below stand the
moments of a mesh, and the mean frame that they settle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import block_array, csr_array, kron

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import so3
from fem_mbs.elements.flexible.floating_frame import carried
from fem_mbs.errors import ModelError

AXES = so3.skew(so3.IDENTITY)
_TURNS = AXES.reshape(3, 9).T
_PLACED = -AXES.swapaxes(1, 2).reshape(9, 3)
"""The permutation symbol as ``(a c, b)``: moments of forces ``c`` at places ``b``."""
SINGULAR = 1e-10
"""Smallest inertia, against the largest, in units of mass and size, that settles a mean frame."""
EQUAL = 1e-6
"""Difference of squares of frequencies, relative, that are equal by symmetry."""


class Moved(NamedTuple):
    """The frame and the coordinates: components in the axes of the frame, ``(n, 3)`` and ``(n, K)``."""

    a: Array
    """Acceleration of the point of the frame less that of gravity."""
    alpha: Array
    Omega: Array
    q: Array
    q_dot: Array
    q_ddot: Array


class InertiaForces(NamedTuple):
    """On the frame ``(n, 6)`` and on the modes ``(n, K)``, and what derivatives need of them."""

    frame: Array
    modes: Array
    rest: Any


class InertiaDerivatives(NamedTuple):
    """Of the forces on frame and modes."""

    frame: Array
    """Against ``a`` and ``alpha``, ``(n, 6 + K, 6)``."""
    spin: Array
    """Against ``Omega``, ``(n, 6 + K, 3)``."""
    coordinates: Array
    """Against ``q``, ``q'`` and ``q''``, ``(n, 6 + K, 3, K)``."""


def _with(first: float, q: Array) -> Array:
    return np.concatenate([np.full((len(q), 1), first), q], axis=1)


def _times(x: Array, constant: Array) -> Array:
    """``x`` (n, a, b) times ``constant`` (n, b, c), or (1, b, c) of all cells, by which they are one matrix."""
    if len(constant) > 1:
        return x @ constant
    return (x.reshape(-1, x.shape[2]) @ constant[0]).reshape(*x.shape[:2], -1)


class LinearField:
    """Moments ``(n, 4 + 3K, 4 + 3K)`` of ``1, Psi_0x, Psi_0y, ... Psi_Kz`` over the mass; n is 1 if all are equal.

    ``rest`` (n, K, K) is mass of the modes that no displacement has.
    """

    def __init__(self, moments: Array, rest: Array) -> None:
        self._moments, n = moments, len(moments)
        self._J = J = moments.shape[-1] // 3
        K = J - 1
        self.mass, self.first = moments[:, 0, 0], np.ascontiguousarray(moments[:, 0, 1:]).reshape(n, J, 3)
        second = moments[:, 1:, 1:].reshape(n, J, 3, J, 3)
        # W_kj as (k, b j d), by which coordinates become products with places, and as (c d, k j) of two modes
        self._by_mode = np.ascontiguousarray(second).reshape(n, J, 9 * J)
        products = second[:, 1:, :, 1:].transpose(0, 2, 4, 1, 3)
        self._products = np.ascontiguousarray(products).reshape(n, 9, K * K)
        self._rest = rest if rest.any() else None
        self._mass = np.trace(products, axis1=1, axis2=2) + rest

    def first_moment(self, q: Array) -> Array:
        """``int Y dm``, ``(n, 3)``."""
        return np.vecmat(_with(1.0, q), self.first)

    def forces(self, moved: Moved) -> InertiaForces:
        """On the frame and on the modes; ``rest`` are moments ``(n, 3, J, 3)`` of the acceleration with all places."""
        factors = np.stack([_with(1.0, moved.q), _with(0.0, moved.q_dot), _with(0.0, moved.q_ddot)], axis=2)
        return self._forces(moved, factors, np.stack(self._second_rates(moved), axis=2))

    def rate_forces(self, moved: Moved, change: Moved) -> InertiaForces:
        """How the forces change with accelerations and rates, those of ``change``, at the same coordinates."""
        rates = moved.q_dot, change.q_dot, change.q_ddot
        factors = np.stack([_with(1.0, moved.q), *(_with(0.0, own) for own in rates)], axis=2)
        spin, more = so3.skew(moved.Omega), so3.skew(change.Omega)
        turning = so3.skew(change.alpha) + spin @ more + more @ spin
        one = np.broadcast_to(so3.IDENTITY, spin.shape)
        return self._forces(change, factors, np.stack([turning, 2.0 * more, 2.0 * spin, one], axis=2))

    def _forces(self, moved: Moved, factors: Array, second_rates: Array) -> InertiaForces:
        """Of accelerations ``a + sum_j G_j Psi_j``, ``G_j`` of ``factors`` (n, J, i) times ``second_rates``."""
        n, J = len(moved.a), self._J
        # G_j (n, c, j, d)
        G = factors[:, None] @ second_rates
        there = _times(np.concatenate([moved.a[:, :, None], G.reshape(n, 3, 3 * J)], axis=2), self._moments)
        by_place = there[:, :, 1:].reshape(n, 3, J, 3)
        moment = np.vecmat(factors[:, None, :, 0], by_place)
        frame = np.concatenate([there[:, :, 0], 2.0 * so3.axial(moment)], axis=1)
        modes = by_place[:, 0, 1:, 0] + by_place[:, 1, 1:, 1] + by_place[:, 2, 1:, 2]
        if self._rest is not None:
            modes += np.matvec(self._rest, moved.q_ddot)
        return InertiaForces(frame, modes, by_place)

    def _second_rates(self, moved: Moved) -> tuple[Array, Array, Array]:
        """What ``q``, ``q'`` and ``q''`` are multiplied with in ``G_j``."""
        spin = so3.skew(moved.Omega)
        return so3.skew(moved.alpha) + spin @ spin, 2.0 * spin, np.broadcast_to(so3.IDENTITY, spin.shape)

    def derivatives(self, moved: Moved, there: Array) -> InertiaDerivatives:
        """Of the forces, with the ``rest`` of these."""
        n, J, K = len(moved.q), self._J, self._J - 1
        q = np.stack([_with(1.0, moved.q), _with(0.0, moved.q_dot)], axis=1)
        # sum_k q_k W_kj,bd (n, 2, b, j, d): the place by all functions, and its rate by all
        products = _times(q, self._by_mode).reshape(n, 2, 3, J, 3)
        # forces of second rates (c, d) that are alike for all q_j, and q'_j, on rows
        units = np.zeros((n, 2, 6 + K, 3, 3))
        units[:, :, [0, 1, 2], [0, 1, 2]] = (q @ self.first)[:, :, None]
        by_place = q[:, None] @ products[:, 0]
        units[:, :, 3:6] = (_PLACED @ by_place.reshape(n, 3, 6)).reshape(n, 3, 3, 2, 3).transpose(0, 3, 1, 2, 4)
        units[:, :, 6:] = products[:, :, :, 1:].transpose(0, 1, 3, 4, 2)
        rows = units.reshape(n, 2, 6 + K, 9)
        turning, twice, _ = self._second_rates(moved)
        turns = rows @ _TURNS
        # skew(e) skew(Omega) and its transpose
        half = AXES @ twice[:, None]
        spun = 0.5 * (half + half.swapaxes(-1, -2)).reshape(n, 3, 9).mT
        frame = np.zeros((n, 6 + K, 6))
        frame[:, [0, 1, 2], [0, 1, 2]] = self.mass[:, None]
        frame[:, 6:, :3], frame[:, :, 3:], frame[:, 3:6, :3] = self.first[:, 1:], turns[:, 0], turns[:, 0, :3].mT
        result = np.empty((n, 6 + K, 3, K))
        result[:, :6, 2], result[:, 6:, 2] = frame[:, 6:].mT, self._mass
        kinds = np.stack([turning, twice], axis=1)
        # (n, place b, j, kind, c): forces, and their products with places, whose turning part is the moment
        places = np.concatenate([np.broadcast_to(self.first, (n, J, 3))[:, None], products[:, 0]], axis=1)
        forces = (places[:, :, 1:] @ kinds.reshape(n, 1, 6, 3).mT).reshape(n, 4, K, 2, 3)
        moments = -2.0 * so3.axial(forces[:, 1:].transpose(0, 2, 3, 1, 4))
        moments[:, :, 0] += 2.0 * so3.axial(there[:, :, 1:].swapaxes(1, 2))
        result[:, :3, :2], result[:, 3:6, :2] = forces[:, 0].transpose(0, 3, 2, 1), moments.transpose(0, 3, 2, 1)
        both = _times(kinds.reshape(n, 2, 9), self._products).reshape(n, 2, K, K)
        result[:, 6:, 0], result[:, 6:, 1] = both[:, 0], both[:, 1]
        return InertiaDerivatives(frame, rows[:, 0] @ spun + 2.0 * turns[:, 1], result)

    def kinetic(self, V: Array, q: Array, q_dot: Array) -> Array:
        """Energies ``(n,)`` with velocities ``V`` (n, 6) of the frame."""
        Y = _with(1.0, q)[..., None, None] * so3.skew(V[:, 3:])[:, None]
        rates = Y + _with(0.0, q_dot)[..., None, None] * so3.IDENTITY
        velocity = np.concatenate([V[:, :3, None], rates.swapaxes(1, 2).reshape(len(V), 3, -1)], axis=2)
        energy: Array = 0.5 * (velocity * (velocity @ self._moments)).sum(axis=(1, 2))
        return energy if self._rest is None else energy + 0.5 * np.vecdot(q_dot, np.matvec(self._rest, q_dot))


def fields(T: Array, dofs: IntArray, n: int) -> tuple[Array, Array | None]:
    """Displacements and rotations of nodes, ``(n, 3, K)`` each."""
    every = np.zeros((n, 6, T.shape[1]))
    every[dofs[:, 0], dofs[:, 1]] = T
    return every[:, :3], every[:, 3:] if (dofs[:, 1] > 2).any() else None


def masses(M: csr_array, dofs: IntArray, n: int) -> csr_array:
    """Masses between ``n`` nodes; and, where they turn, of triads there, (4n, 4n).

    A mass off its node, at ``s`` of the triad ``N``, has the moment ``m N s``, which couples displacements and
    rotations by ``-m skew(s)``; ``tr J/2 I - J`` of rotary inertia is that between two triads.
    """
    rows = np.full((n, 6), -1)
    rows[dofs[:, 0], dofs[:, 1]] = np.arange(len(dofs))
    if (incomplete := np.flatnonzero((rows[:, :3] < 0).any(axis=1))).size:
        raise ModelError(
            f"Reduction: node {incomplete[0]} has not all of its three displacements in dofs: give the free body"
        )
    m = csr_array(sum(M[rows[:, a]][:, rows[:, a]] for a in range(3)) / 3.0)
    if not m.sum() > 0.0:
        raise ModelError(f"Reduction: mass must be positive in sum, received {m.sum():.6g} kg")
    turning = np.flatnonzero((rows[:, 3:] >= 0).all(axis=1))
    if not len(turning):
        return m
    of_turns = M[:, rows[turning, 3:].ravel()]
    J, B = of_turns[rows[turning, 3:].ravel()], of_turns[rows[:, :3].ravel()]
    trace = sum(J[a::3][:, a::3] for a in range(3))
    spread = csr_array((np.ones(len(turning)), (np.arange(len(turning)), turning)), (len(turning), n))
    wide, E = kron(spread, np.eye(3)), kron(0.5 * trace, np.eye(3)) - J
    C = sum(
        kron(0.5 * (B[b::3][:, c::3] - B[c::3][:, b::3]), so3.IDENTITY[a : a + 1])
        for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    )
    return csr_array(block_array([[m, C @ wide], [(C @ wide).T, wide.T @ E @ wide]]))


def moments_of(mass: csr_array, X: Array, Y: Array, theta: Array | None) -> Array:
    """Of ``1`` and all ``Psi_ja``, ``(4 + 3K, 4 + 3K)``."""
    n, K = len(X), Y.shape[2]
    F = np.concatenate([np.ones((n, 1)), X, Y.swapaxes(1, 2).reshape(n, 3 * K)], axis=1)
    if len(F) < mass.shape[0] and theta is not None:
        # a triad at each node: N_0 = I, N_j = skew(theta_j)
        N = np.concatenate([np.broadcast_to(np.eye(3), (n, 1, 3, 3)), so3.skew(theta.swapaxes(1, 2))], axis=1)
        flat = N.transpose(0, 3, 1, 2).reshape(3 * n, 3 * (K + 1))
        F = np.concatenate([F, np.pad(flat, ((0, 0), (1, 0)))])
    return symmetric(F.T @ (mass @ F))


def with_momenta(moments: Array, momenta: Array) -> Array:
    """Moments of which rigid motions and all ``Psi_j`` have these ``momenta`` (6, 6 + K) about the mass centre.

    Mass between displacements and rotations, as of consistent beams, belongs to no field, but has momentum.
    """
    result, J, K = moments.copy(), momenta[3:, 3:6], momenta.shape[1] - 6
    result[0, 1:4], result[0, 4:] = 0.0, momenta[:3, 6:].T.ravel()
    result[1:4, 1:4] = 0.5 * np.trace(J) * np.eye(3) - J
    places = result[4:, 1:4].reshape(K, 3, 3)  # int Psi_j X^T, whose axial vectors are half the moments of momentum
    places += so3.skew(0.5 * momenta[3:, 6:].T - so3.axial(places))
    result[1:, 0], result[1:4, 4:] = result[0, 1:], result[4:, 1:4].T
    return symmetric(result)


def symmetric(matrix: Array) -> Array:
    """Its symmetric part."""
    return 0.5 * (matrix + matrix.T)


def mass_of(moments: Array) -> Array:
    """``int Psi_j . Psi_k dm``, ``(K, K)``."""
    K = len(moments) // 3 - 1
    W = moments[4:, 4:].reshape(K, 3, K, 3)
    return np.einsum("jaka->jk", W)


def turned_amplitudes(stiffness: Array, moments: Array, rest: Array, m: int, spin: Array) -> Array:
    """``G`` (m, m), with which amplitudes go round, ``eta' = G eta``, as the body turns about the line of interfaces.

    Coordinates turn by ``q' = P q``. Of a body that is alike all round, all that its mass does as it turns steadily
    stays: ``P^T T + T P = 0`` for ``T_jk`` of ``int Psi_j . Psi_k``, ``int e . Psi_j x Psi_k`` and ``int e . Psi_j e .
    Psi_k``. That settles ``G`` of modes of one frequency, which alone turn into each other; others do not turn, ``G =
    0``. Whether the body is alike all round is not asked here.
    """
    K, speed = len(stiffness), float(np.linalg.norm(spin))
    e, masses = spin / speed, np.diag(mass_of(moments) + rest)
    squares, free = np.diag(stiffness) / masses, range(K - m, K)
    pairs = [(j, k) for k in free for j in free[: k - K + m] if abs(squares[j] - squares[k]) < EQUAL * squares[k]]
    if not pairs:
        return np.zeros((m, m))
    ends = np.pad(np.kron(np.eye((K - m) // 3), so3.skew(e)), (0, m))
    units = np.zeros((len(pairs), K, K))
    for unit, (j, k) in zip(units, pairs, strict=True):
        unit[k, j] = np.sqrt(masses[j] / masses[k])
        unit[j, k] = -1.0 / unit[k, j]
    tensors = np.array([np.eye(3), so3.skew(e), np.outer(e, e)])
    T = np.einsum("jakb,tab->tjk", moments[4:, 4:].reshape(K, 3, K, 3), tensors)

    def change(P: Array) -> Array:
        return (P.T @ T + T @ P).ravel()

    turns = np.linalg.lstsq(np.stack([change(unit) for unit in units], axis=1), -change(ends))[0]
    return speed * np.tensordot(turns, units, 1)[K - m :, K - m :]


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
        raise ModelError("Reduction: nothing of its mass turns with it about a line; give rotary inertia to all nodes")
    return np.linalg.solve(whole, momenta)
