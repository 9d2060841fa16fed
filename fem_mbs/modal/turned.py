"""The matrices of every element and joint as a model turns on, seen from axes that turn or stand still.

Seen from axes with the angular velocity ``w``, a deviation ``d`` in body axes is ``y = N d``, ``N' = N S``, with ``S``
the skew matrix of ``Omega - R^T w``, and

    M_y = N M N^T,   C_y = N (C - 2 M S) N^T,   K_y = N (K - C S + M S S) N^T.

Amplitudes of shapes of a body turn into each other, by no orthogonal ``N``: there ``N^-T`` stands for ``N``.
The stiffness of an element is that of its force as a vector in space: that body components turn with the node adds
nothing in sum, but to each element.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import block_diag, csr_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ConstraintBatch, ElementBatch, Motion, RateSensitivities
from fem_mbs.lie import se3, so3
from fem_mbs.system import matrices as tangent
from fem_mbs.system.matrices import unit
from fem_mbs.system.system import System

REPEATED = 1e-10
"""Singular values of the equations of one joint, against the largest, that are zero."""
CARRIED = 1e-3
"""Changes of angular velocities, against their squares, and what a precession leaves of them, that are none."""
STILL = np.zeros(3)


class Deviations(NamedTuple):
    """Derivatives of ``V`` against ``d`` and of ``A`` against ``d`` and ``d'``; ``V_,d'`` and ``A_,d''`` are 1."""

    V: RateSensitivities
    A: RateSensitivities
    A_rate: RateSensitivities


class TurnedMatrices(NamedTuple):
    """Of all elements, then of all joints, at one instant."""

    of_cells: list[Array]
    """``(3, n, b, b)`` of each batch: stiffness, damping and mass."""
    spaces: list[Array]
    """Of the joints, which directions their equations hold: projectors ``(n, c, c)``."""
    gradients: list[Array]
    """Of the joints ``(n, r, b)``, in units that make their columns comparable."""
    equations: list[Array]
    """The size of their entries, with those of rates."""
    forces: list[Array]
    """Of the elements ``(n, terms, b)``."""
    readings: list[csr_array]
    """Of elements that depend on multipliers, the derivatives ``(n b, m)`` against those at the start, or given."""


class TurnedModel:
    """A model as it turns on; each node is seen from axes with the angular velocity ``w`` (n, 3), world frame."""

    def __init__(self, system: System, motion: Motion, w: Array) -> None:
        self.system, self.motion, self.w = system, motion, w
        self.batches: list[ElementBatch | ConstraintBatch] = [*system.batches, *system.constraint_batches]
        self.rows: list[IntArray] = [*system.components, *system.constraint_components]
        free = np.append(system.free.ravel(), system.order >= 0)
        self._free = [free[rows] for rows in self.rows]
        self._rate = float(np.abs([np.matvec(motion.R, motion.V[:, 3:]), w]).max()) or 1.0
        self._precession = steady_precession(system, motion)
        first = [batch.nodes[:, :1].ravel() for batch in system.batches]
        relative = motion.V[:, 3:] - np.vecmat(w, motion.R)
        self.own = [batch.turning(relative[own]) for batch, own in zip(system.batches, first, strict=True)]
        """How fast internal variables of elements go round, as they are seen."""
        self._start = [joint.padded for joint in self._joints(motion, *self._seen(motion, 0.0))]

    def at(self, s: float, reactions: Array | None = None) -> TurnedMatrices:
        """What is seen a time ``s`` later, with multipliers ``(m,)``; without, reactions turn with the axes."""
        system, motion = self.system, self.ahead(s)
        N, S = self._seen(motion, s)
        joints = self._joints(motion, N, S)
        multipliers, changes = self._carried(joints) if reactions is None else (reactions, None)
        motion = replace(motion, multipliers=multipliers)
        follow, prescribed = deviations(motion), system.prescribe(motion.t)
        cells: list[Array] = []
        forces: list[Array] = []
        readings: list[csr_array] = []
        for k, element in enumerate(system.batches):
            force, context = element.force(motion, prescribed.elements[k])
            force = force.reshape(len(element.nodes), -1, force.shape[-1])
            turn = self._turn(k, N, s)
            forces.append(np.matvec(turn[:, None], force))
            cells.append(self._turned(k, turn, S, _of_elements(system, element, context, follow)))
            if k in system.readers:
                readings.append(self._reading(k, turn, context, changes))
        for joint, batch, own in zip(joints, system.constraint_batches, system.constraint_slices, strict=True):
            shape = self.rows[k := len(cells)].shape
            K = np.zeros((3, *shape, shape[1]))
            K[0] = tangent.whole(batch, batch.stiffness(joint.context, multipliers[own]))
            cells.append(self._turned(k, self._turn(k, N, s), S, K))
        return TurnedMatrices(
            cells,
            [joint.space for joint in joints],
            [joint.padded for joint in joints],
            [joint.sizes for joint in joints],
            forces,
            readings,
        )

    def _carried(self, joints: list[_Joints]) -> tuple[Array, list[Array]]:
        """Multipliers ``(m,)`` of reactions that turn with the axes; of each joint how those at the start act."""
        multipliers, changes = np.empty(self.system.m), []
        batches = zip(self.system.constraint_batches, self.system.constraint_slices, strict=True)
        for joint, start, (batch, own) in zip(joints, self._start, batches, strict=True):
            back = np.linalg.pinv(joint.padded, rtol=REPEATED)
            force = np.vecmat(_padded(batch, self.motion.multipliers[own]), start)
            multipliers[own] = np.vecmat(force, back)[batch.cell, _places(batch)]
            changes.append(start @ back)
        return multipliers, changes

    def gradient(self, there: TurnedMatrices) -> Array:
        """Of all equations of joints against all components, ``(m, N)``."""
        system, result = self.system, np.zeros((self.system.m, self.system.N))
        batches = zip(system.constraint_batches, system.constraint_slices, strict=True)
        rows = self.rows[len(system.batches) :]
        for (batch, own), padded, places in zip(batches, there.gradients, rows, strict=True):
            np.add.at(
                result[own],
                (np.arange(len(batch.cell))[:, None], places[batch.cell]),
                padded[batch.cell, _places(batch)],
            )
        return result

    def ahead(self, s: float) -> Motion:
        """The motion a time ``s`` later: nodes turn on, and their points go on along circles or straight lines.

        A precession carries round the axes about which nodes turn. Amplitudes of a body that is bent in space go round.
        """
        motion, precession = self.motion, self._precession
        v, a = (np.matvec(motion.R, part[:, :3]) for part in (motion.V, motion.A))
        V, A, axes, turning = motion.V.copy(), motion.A.copy(), motion.R, motion.V[:, 3:]
        if precession.any():
            axes, turning = so3.exp(s * precession) @ axes, turning - np.vecmat(precession, axes)
            V[:, 3:], A[:, 3:] = (np.vecmat(part[:, 3:], so3.exp(s * turning)) for part in (V, A))
        R = axes @ so3.exp(s * turning)
        turned, moved = se3.exp(s * np.concatenate([v, circling(v, a)], axis=1))
        V[:, :3], A[:, :3] = (np.vecmat(np.matvec(turned, part), R) for part in (v, a))
        own = motion.u.copy(), motion.udot.copy(), motion.uddot.copy()
        for batch in self.system.batches if motion.udot.any() else []:
            G = batch.turning(-motion.V[batch.nodes[:, :1].ravel(), 3:])
            if G is None:
                continue
            left = np.matvec(G, own[0][batch.own]) - own[1][batch.own]
            if np.abs(left).max() <= CARRIED * np.abs(own[1]).max():
                for values in own:
                    values[batch.own] = np.matvec(_exponential(s * G), values[batch.own])
        u, udot, uddot = own
        return replace(motion, t=motion.t + s, x=motion.x + moved, R=R, V=V, A=A, u=u, udot=udot, uddot=uddot)

    def _seen(self, motion: Motion, s: float) -> tuple[Array, Array]:
        """``N`` and ``S`` (n, 3, 3) of all nodes."""
        S = so3.skew(motion.V[:, 3:] - np.vecmat(self.w, motion.R))
        return (so3.exp(s * self.w) @ self.motion.R).mT @ motion.R, S

    def _joints(self, motion: Motion, N: Array, S: Array) -> list[_Joints]:
        """The equations of all joints, in units that make their columns comparable."""
        system, result = self.system, []
        evaluation = system.joints(motion, system.prescribe(motion.t))
        velocity: list[Array] = []
        if system.has_velocity_level:
            velocity = tangent.velocity_derivatives(system, evaluation, deviations(motion).V, 1.0)
        first = len(system.batches)
        for k, batch in enumerate(system.constraint_batches):
            rows = self.rows[first + k]
            turn = _diagonal(N, batch.nodes, rows.shape[1])
            units = self._free[first + k] / system.weight[rows]
            B = evaluation.gradients[k]
            padded = (_padded(batch, B) @ turn.mT) * units[:, None]
            every, sizes = padded, np.abs(padded)
            if system.has_velocity_level:
                G = velocity[k] - np.vecmat(B, _diagonal(S, batch.nodes, rows.shape[1], 0.0)[batch.cell])
                own = system.velocity_level[system.constraint_slices[k], None]
                G = _padded(batch, np.where(own, G, 0.0) / self._rate) @ turn.mT * units[:, None]
                every, sizes = np.concatenate([padded, G], axis=2), sizes + np.abs(G)
            space = np.linalg.pinv(every, rtol=REPEATED) @ every
            result.append(_Joints(evaluation.constraint_contexts[k], padded, sizes, space))
        return result

    def _turned(self, k: int, turn: Array, S: Array, matrices: Array) -> Array:
        """Matrices ``(3, n, b, b)`` of a batch as they are seen; zero where the model holds nodes.

        What a rotation makes of the components of its forces is left out: all forces on a node are in balance.
        """
        nodes, b = self.batches[k].nodes, matrices.shape[-1]
        K, C, M = matrices
        S = _diagonal(S, nodes, b, 0.0)
        if k < len(self.own) and (own := self.own[k]) is not None:
            S[:, 6 * nodes.shape[1] :, 6 * nodes.shape[1] :] = own
        MS = M @ S
        return turn @ np.stack([K - C @ S + MS @ S, C - 2.0 * MS, M]) @ turn.mT

    def _turn(self, k: int, N: Array, s: float) -> Array:
        """``N^-T`` (n, b, b) of the cells of a batch, zero where the model holds nodes."""
        nodes = self.batches[k].nodes
        result = _diagonal(N, nodes, self.rows[k].shape[1])
        if k < len(self.own) and (own := self.own[k]) is not None:
            result[:, 6 * nodes.shape[1] :, 6 * nodes.shape[1] :] = _exponential(-s * own.mT)
        return result * self._free[k][:, :, None]

    def _reading(self, k: int, turn: Array, context: object, changes: list[Array] | None) -> csr_array:
        """How forces of a batch depend on multipliers, or on those that are such and such at the start."""
        system, batch, rows = self.system, self.system.batches[k], self.rows[k]
        assert batch.reads is not None
        values = turn @ batch.by_multipliers(context)
        places = np.arange(rows.size).reshape(*rows.shape, 1), batch.reads[:, None]
        columns = np.broadcast_arrays(*places)
        read = csr_array((values.ravel(), tuple(part.ravel() for part in columns)), (rows.size, system.m))
        if changes is None:
            return read
        blocks = []
        for joints, change in zip(system.constraint_batches, changes, strict=True):
            count = np.bincount(joints.cell, minlength=len(joints.nodes))
            blocks += [block[:n, :n].T for block, n in zip(change, count, strict=True)]
        return csr_array(read @ block_diag(blocks, format="csr"))


class _Joints(NamedTuple):
    context: object
    padded: Array
    """The gradients of each joint as they are seen ``(n, r, b)``, with rows of zeros."""
    sizes: Array
    space: Array


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


def steady_precession(system: System, motion: Motion) -> Array:
    """The angular velocity (3,) that carries round the axes about which nodes turn; zero where none is carried round.

    That is ``P`` with ``omega' = P x omega`` and ``a = P x v`` of all nodes. Where a single axis turns about a point
    that rests, these leave the part along it open: ``P`` is then upright, or along the angular momentum.
    """
    v, omega, a, gain = np.matvec(motion.R[:, None], np.hstack([motion.V, motion.A]).reshape(-1, 4, 3)).swapaxes(0, 1)
    fastest = float(np.abs(omega).max())
    if np.abs(gain).max() <= CARRIED * fastest**2:
        return STILL
    radius = float(np.abs(v).max()) / (fastest or 1.0) or 1.0
    vectors, changes = np.concatenate([omega, v / radius]), np.concatenate([gain, a / radius])
    equations = -so3.skew(vectors).reshape(-1, 3)
    P, _, rank, _ = np.linalg.lstsq(equations, changes.ravel(), rcond=CARRIED)
    if np.abs(np.cross(P, vectors) - changes).max() > CARRIED * np.abs(changes).max():
        return STILL
    if rank < 3:
        mass = system.nodes_of(system.diagonal_mass)[:, 3:]
        up = motion.gravity if motion.gravity.any() else np.matvec(motion.R, mass * motion.V[:, 3:]).sum(axis=0)
        along = np.linalg.svd(equations, full_matrices=False)[2][-1]
        across = np.cross(up, along)
        P = P - along * (np.cross(up, P) @ across) / ((across @ across) or 1.0)
    return P


def _exponential(A: Array) -> Array:
    from scipy.linalg import expm  # which takes long to import

    return expm(A)


def circling(v: Array, a: Array) -> Array:
    """Angular velocities ``(n, 3)`` with which velocities turn; zero where nothing moves."""
    squares, result = np.vecdot(v, v)[:, None], np.zeros_like(v)
    np.divide(np.cross(v, a), squares, out=result, where=squares > 0.0)
    return result


def _of_elements(system: System, batch: ElementBatch, context: object, follow: Deviations) -> Array:
    """Stiffness, damping and mass ``(3, n, b, b)`` of deviations in body axes."""
    K = batch.tangent(context, follow.V, follow.A)
    C, M = np.zeros_like(K), np.zeros_like(K)
    if (damping := batch.damping(context)) is not None:
        C += unit(system.n, system.k).after(damping, batch.nodes, batch.own)
    if (mass := batch.mass(context)) is not None:
        M += mass
        C += follow.A_rate.after(mass, batch.nodes, batch.own)
    return np.stack([K, C, M])


def _diagonal(blocks: Array, nodes: IntArray, b: int, own: float = 1.0) -> Array:
    """Matrices ``(n, b, b)`` with the block ``(3, 3)`` of each node for its displacement and for its rotation."""
    n, p = nodes.shape
    result = np.zeros((n, b, b))
    of_nodes = result[:, : 6 * p, : 6 * p].reshape(n, 2 * p, 3, 2 * p, 3)
    for k in range(2 * p):
        of_nodes[:, k, :, k] = blocks[nodes[:, k // 2]]
    result[:, range(6 * p, b), range(6 * p, b)] = own
    return result


def _places(batch: ConstraintBatch) -> IntArray:
    """Which of the equations of its joint each one is, ``(m,)``."""
    return np.arange(len(batch.cell)) - np.searchsorted(batch.cell, batch.cell)


def _padded(batch: ConstraintBatch, values: Array) -> Array:
    """Values ``(m, ...)`` of equations as ``(n, r, ...)`` of joints."""
    places = _places(batch)
    result = np.zeros((len(batch.nodes), places.max(initial=0) + 1, *values.shape[1:]))
    result[batch.cell, places] = values
    return result


def _blocks(upper_left: Array, upper_right: Array, lower_right: Array) -> Array:
    """Matrices ``(n, 6, 6)`` with a lower left block of zeros."""
    result = np.zeros((len(upper_left), 6, 6))
    result[:, :3, :3], result[:, :3, 3:], result[:, 3:, 3:] = upper_left, upper_right, lower_right
    return result
