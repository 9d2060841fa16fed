"""Inertia of mass centres that move with the nodes of a beam, with gravity.

Written once for all groups: forces are expressed in body components by the acceleration ``A`` of the node point and the
angular velocity, which every group provides. The mass centres of a cell are coupled by the ``p x p`` mass matrix of
linear interpolation, its rotational inertia is lumped at the nodes. ``m u dot`` and ``J Omega dot + Omega x J Omega``
on R3xSO3 (Bruels, Cardona, Arnold 2012, eqs. 83, 84), ``M v dot - bracket(v)^T M v`` on SE(3), are the same in these
components; docs/theory.md, "Inertia".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ElementBatch, Energy, Motion, Numbering, RateSensitivities
from fem_mbs.lie import so3


class InertiaContext(NamedTuple):
    """What the matrices need of the last force."""

    R: Array
    acceleration: Array
    force: Array
    gyroscopic: Array
    """Derivative ``(n, p, 3, 3)`` of ``Omega x J Omega`` against ``Omega``."""
    centrifugal: Array | None
    """That of ``Omega x (Omega x c)``, of mass centres ``c`` off the nodes."""


class Inertia:
    """Inertia of ``n`` cells with ``p`` nodes.

    Parameters
    ----------
    nodes : (n, p)
        Rows of the nodes.
    masses : (n, p, p)
        Mass matrix of the mass centres.
    center : (n, p, 3)
        Mass centres in the node frames.
    J : (n, p, 3, 3)
        Rotational inertia about the mass centres in the node frames.
    """

    def __init__(self, nodes: IntArray, masses: Array, center: Array, J: Array) -> None:
        self.nodes, self.products = nodes, so3.products(len(nodes))
        self.masses, self.center, self.J = map(self.products.stored, (masses, center, J))
        self.eccentric = bool(center.any())
        """Whether any mass centre is off its node."""
        self._per_spin = self.products.stored(so3.quadratic(self.J))
        """Of ``Omega x J Omega``: its derivative is linear in ``Omega``, ``(n, p, 9, 3)``."""

    def force(self, motion: Motion) -> tuple[Array, InertiaContext]:
        """Inertia minus gravity forces, ``(n, p, 6)`` in body components."""
        matmul, matvec, vecmat, stored = self.products
        R, A = stored(motion.R.take(self.nodes, 0)), stored(motion.A.take(self.nodes, 0))
        Omega = stored((motion.momentum or motion).V[:, 3:].take(self.nodes, 0))
        acceleration, Omega_dot, centrifugal = A[..., :3], A[..., 3:], None
        # quadratic in Omega is half of its derivative, times Omega
        gyroscopic = matvec(self._per_spin, Omega).reshape(self.J.shape)
        if self.eccentric:
            spin = so3.skew(Omega)
            centrifugal = -so3.skew(matvec(spin, self.center)) - matmul(spin, self.skew_center)
            acceleration = acceleration - matvec(self.skew_center, Omega_dot) + 0.5 * matvec(centrifugal, Omega)
        force = vecmat(matmul(self.masses, matvec(R, acceleration) - motion.gravity), R)
        moment = matvec(self.J, Omega_dot) + matvec(gyroscopic, 0.5 * Omega)
        if self.eccentric:
            moment = moment + matvec(self.skew_center, force)
        context = InertiaContext(R, acceleration, force, gyroscopic, centrifugal)
        return np.concatenate([force, moment], axis=-1), context

    def rate_force(self, context: InertiaContext, dV: Array, dA: Array) -> Array:
        """Changes ``(n, p, 6)`` of the forces with velocities and accelerations ``(n, p, 6)``."""
        matmul, matvec, vecmat, stored = self.products
        d_Omega, dA = stored(dV[..., 3:]), stored(dA)
        acceleration, d_Omega_dot = dA[..., :3], dA[..., 3:]
        if context.centrifugal is not None:
            acceleration = acceleration - matvec(self.skew_center, d_Omega_dot) + matvec(context.centrifugal, d_Omega)
        force = vecmat(matmul(self.masses, matvec(context.R, acceleration)), context.R)
        moment = matvec(self.J, d_Omega_dot) + matvec(context.gyroscopic, d_Omega)
        if context.centrifugal is not None:
            moment = moment + matvec(self.skew_center, force)
        return np.concatenate([force, moment], axis=-1)

    def tangent(self, context: InertiaContext, dV: RateSensitivities, dA: RateSensitivities) -> Array:
        """``K + C dV + M dA``, ``(n, 6p, 6p)``."""
        matmul, stored = self.products.matmul, self.products.stored
        # angular velocities and accelerations depend on the rotation increments alone
        d_Omega = stored(dV.nodes.take(self.nodes, 0)[..., 3:, 3:])
        dA_nodes = stored(dA.nodes.take(self.nodes, 0))
        d_Omega_dot, d_acceleration = dA_nodes[..., 3:, 3:], dA_nodes[..., :3, :]
        d_moment = matmul(self.J, d_Omega_dot) + matmul(context.gyroscopic, d_Omega)
        d_rotation = d_acceleration[..., 3:]
        d_rotation -= so3.skew(context.acceleration)
        if context.centrifugal is not None:
            d_rotation += matmul(context.centrifugal, d_Omega) - matmul(self.skew_center, d_Omega_dot)
        return self._matrix(context, d_acceleration, d_moment, turns=True)

    def stiffness(self, context: InertiaContext) -> Array:
        """Derivative at constant body velocities and accelerations, ``(n, 6p, 6p)``: frames turn."""
        none = np.zeros(self.J.shape)
        d_acceleration = np.concatenate([none, -so3.skew(context.acceleration)], axis=-1)
        return self._matrix(context, d_acceleration, none, turns=True)

    def damping(self, context: InertiaContext) -> Array:
        """Derivative against body velocities, ``(n, 6p, 6p)``: gyroscopic and centrifugal terms."""
        none = np.zeros(self.J.shape)
        centrifugal = none if context.centrifugal is None else context.centrifugal
        return self._matrix(context, np.concatenate([none, centrifugal], axis=-1), context.gyroscopic, turns=False)

    def mass(self, context: InertiaContext) -> Array:
        """Derivative against body accelerations, ``(n, 6p, 6p)``."""
        one = np.broadcast_to(so3.IDENTITY, self.J.shape)
        return self._matrix(context, np.concatenate([one, -self.skew_center], axis=-1), self.J, turns=False)

    def _matrix(self, context: InertiaContext, d_acceleration: Array, d_moment: Array, turns: bool) -> Array:
        """Forces of changes ``(n, p, 3, 6)`` of accelerations and ``(n, p, 3, 3)`` of moments; frames may turn."""
        (n, p), matmul = self.nodes.shape, self.products.matmul
        # m_ij R_j times that, rows (n, i, 3), columns (j, 6)
        world = matmul(context.R, d_acceleration).swapaxes(1, 2)[:, None]
        weighted = self.masses[:, :, None, :, None] * world
        if matmul is np.matmul:
            forces = (context.R.mT @ weighted.reshape(n, p, 3, 6 * p)).reshape(n, p, 3, p, 6)
        else:
            forces = np.einsum("naki,nakbj->naibj", context.R, weighted)
        # what the rotation of each node does to itself
        if turns:
            turned = so3.skew(context.force)
            for k in range(p):
                own = forces[:, k, :, k, 3:]
                own += turned[:, k]
        result = np.zeros((n, p, 6, p, 6))
        result[:, :, :3] = forces
        if self.eccentric:
            rows = result.reshape(n, p, 6, 6 * p)
            np.matmul(self.skew_center, rows[:, :, :3], out=rows[:, :, 3:])
        for k in range(p):
            own = result[:, k, 3:, k, 3:]
            own += d_moment[:, k]
        return result.reshape(n, 6 * p, 6 * p)

    def kinetic_energy(self, motion: Motion) -> Array:
        """Kinetic energies ``(n,)`` in J."""
        V, R = motion.V[self.nodes], motion.R[self.nodes]
        velocity, Omega = np.matvec(R, V[..., :3] + np.cross(V[..., 3:], self.center)), V[..., 3:]
        energies = np.vecdot(velocity, self.masses @ velocity) + np.vecdot(Omega, np.matvec(self.J, Omega))
        return 0.5 * energies.sum(axis=-1)

    def gravity_energy(self, motion: Motion) -> Array:
        """Potential energies of gravity ``(n,)`` in J, zero at the origin."""
        centers = motion.x[self.nodes] + np.matvec(motion.R[self.nodes], self.center)
        return -((self.masses @ centers) @ motion.gravity).sum(axis=-1)

    @cached_property
    def skew_center(self) -> Array:
        """Skew matrices of the mass centres, ``(n, p, 3, 3)``."""
        return so3.skew(self.center)


def elements_of(
    meshes: Sequence[Any], number: Numbering, owners: Sequence[Any]
) -> tuple[IntArray, list[Any], list[tuple[Any, slice]]]:
    """All elements of beams or shells, each with its owner: rows ``(n, p)`` of nodes, owners, and which are whose."""
    rows = [np.array([number(node) for node in mesh.nodes])[mesh.cells] for mesh in meshes]
    ends = np.cumsum([len(cells) for cells in rows]).tolist()
    of_each = [owner for owner, cells in zip(owners, rows, strict=True) for _ in cells]
    parts = [(owner, slice(end - len(own), end)) for owner, own, end in zip(owners, rows, ends, strict=True)]
    return np.concatenate(rows), of_each, parts


class BeamElements(ElementBatch):
    """Base of elements of beams: internal forces, and the inertia of their sections.

    A subclass defines ``_elastic(context)``, the material and geometric stiffness, ``_viscous(context)``, material
    damping, and ``_stored(motion)``, strain energies; its contexts have ``inertia``, ``stress`` and, of damping,
    ``viscous``, section forces times quadrature weights.
    """

    divides = True
    _inertia: Inertia
    damping_matrix: Array | None
    _to_section: Array
    """Body increments of the section frames from those of the nodes, ``(n, p, 6, 6)``."""

    def __init__(self, beams: Sequence[Any], number: Numbering) -> None:
        self.nodes, self.owners, _ = elements_of(beams, number, beams)

    def _damped_by(self, damping: Array) -> None:
        self.damps = bool(damping.any())
        self.damping_matrix = damping if self.damps else None

    def _elastic(self, context: Any) -> Array:
        raise NotImplementedError(f"{type(self).__name__} must define _elastic(context)")

    def _viscous(self, context: Any) -> Array:
        raise NotImplementedError(f"{type(self).__name__} must define _viscous(context)")

    def _stored(self, motion: Motion) -> Array:
        raise NotImplementedError(f"{type(self).__name__} must define _stored(motion)")

    def tangent(self, context: Any, dV: RateSensitivities, dA: RateSensitivities) -> Array:
        total = self._elastic(context)
        total += self._inertia.tangent(context.inertia, dV, dA)
        return total if self.damping_matrix is None else total + dV.after(self._viscous(context), self.nodes)

    def rate_force(self, context: Any, dV: Array, dA: Array, inertial: Array) -> Array:
        n, p = self.nodes.shape
        force = self._inertia.rate_force(context.inertia, inertial.reshape(n, p, 6), dA.reshape(n, p, 6))
        force = force.reshape(n, 6 * p)
        return force if self.damping_matrix is None else force + np.matvec(self._viscous(context), dV)

    def _at_nodes(self, matrix: Array) -> Array:
        """A matrix ``(n, 6p, 6p)`` of the section frames as one of the nodes."""
        (n, p), size = self.nodes.shape, matrix.shape[1]
        right = (matrix.reshape(n, size, p, 6).swapaxes(1, 2) @ self._to_section).swapaxes(1, 2)
        result: Array = self._to_section.mT @ right.reshape(n, p, 6, size)
        return result.reshape(n, size, size)

    def _total(self, context: Any) -> Array:
        return context.stress if context.viscous is None else context.stress + context.viscous

    def with_stress(self, context: Any, stress: Array) -> Any:
        return context._replace(stress=stress)

    def stiffness(self, context: Any) -> Array:
        return self._elastic(context) + self._inertia.stiffness(context.inertia)

    def damping(self, context: Any) -> Array:
        """Material damping, gyroscopic and centrifugal terms, ``(n, 6p, 6p)``."""
        total = self._inertia.damping(context.inertia)
        return total if self.damping_matrix is None else total + self._viscous(context)

    def gyroscopic(self, context: Any) -> Array:
        return self._inertia.damping(context.inertia)

    def mass(self, context: Any) -> Array:
        """Consistent in translation, lumped in rotation, ``(n, 6p, 6p)``."""
        return self._inertia.mass(context.inertia)

    def waves(self, R: Array, turns: Array) -> Array:
        """How the sections turn in the nodes; what of it changes, from each to the next."""
        of_nodes = turns[self.nodes]
        means, changes = 0.5 * (of_nodes[:, 1:] + of_nodes[:, :-1]), 0.5 * np.diff(of_nodes, axis=1)
        steady, changing = ((np.abs(part) ** 2).sum(axis=2).mean(axis=1) for part in (means, changes))
        return np.stack([steady + changing, changing])

    def energy(self, motion: Motion) -> Energy:
        return Energy(self._inertia.kinetic_energy(motion), self._stored(motion), self._inertia.gravity_energy(motion))
