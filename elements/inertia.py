"""Inertia of mass centres that move with nodes, with gravity: shared by bodies, point masses and beams.

Written once for all groups: forces are expressed in body components by the acceleration ``A`` of the node point and the
angular velocity, which every group provides. A cell has ``p`` nodes; its mass centres are coupled by a ``p x p`` mass
matrix (one number for a body, the consistent matrix of linear interpolation for a beam), its rotational inertia is
lumped at the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.lie import so3
from fem_mbs.model import Motion


class InertiaContext(NamedTuple):
    """What the tangent needs of the last force."""

    R: Array
    acceleration: Array
    force: Array
    spin: Array
    moment_of_momentum: Array


@dataclass(frozen=True)
class Inertia:
    """Inertia of ``n`` cells with ``p`` nodes.

    Attributes
    ----------
    nodes : (n, p)
        Rows of the nodes.
    mass : (n, p, p)
        Mass matrix of the mass centres.
    center : (n, p, 3)
        Mass centres in the node frames.
    J : (n, p, 3, 3)
        Rotational inertia about the mass centres in the node frames.
    """

    nodes: IntArray
    mass: Array
    center: Array
    J: Array

    def force(self, motion: Motion) -> tuple[Array, InertiaContext]:
        """Inertia minus gravity forces, ``(n, p, 6)`` in body components."""
        R, A, Omega = (values.take(self.nodes, 0) for values in (motion.R, motion.A, motion.V[:, 3:]))
        acceleration, Omega_dot = A[..., :3], A[..., 3:]
        spin = so3.skew(Omega)
        if self.eccentric:
            acceleration = (
                acceleration - np.matvec(self.skew_center, Omega_dot) + np.matvec(spin, np.matvec(spin, self.center))
            )
        force = np.vecmat(self.mass @ (np.matvec(R, acceleration) - motion.gravity), R)
        L = np.matvec(self.J, Omega)
        moment = np.matvec(self.J, Omega_dot) + np.matvec(spin, L)
        if self.eccentric:
            moment = moment + np.matvec(self.skew_center, force)
        context = InertiaContext(R, acceleration, force, spin, L)
        return np.concatenate([force, moment], axis=-1), context

    def tangent(self, context: InertiaContext, dV: Array, dA: Array) -> Array:
        """Derivative of the forces, ``(n, 6p, 6p)``; see :class:`~fem_mbs.model.ElementBatch`."""
        R, acceleration, force, spin, L = context
        n, p = self.nodes.shape
        dV, dA = dV.take(self.nodes, 0), dA.take(self.nodes, 0)
        # angular velocities and accelerations depend on the rotation increments alone
        d_Omega, d_Omega_dot = dV[..., 3:, 3:], dA[..., 3:, 3:]
        d_moment = self.J @ d_Omega_dot + (spin @ self.J - so3.skew(L)) @ d_Omega
        # derivative of each mass centre's acceleration in its node frame
        d_acceleration = dA[..., :3, :]
        d_rotation = d_acceleration[..., 3:]
        d_rotation -= so3.skew(acceleration)
        if self.eccentric:
            centrifugal = so3.skew(np.matvec(spin, self.center)) + spin @ self.skew_center
            d_rotation -= self.skew_center @ d_Omega_dot + centrifugal @ d_Omega
        # R_i^T m_ij R_j times that, rows (n, i, 3), columns (j, 6)
        world = np.swapaxes(R @ d_acceleration, 1, 2)[:, None]
        weighted = (self.mass[:, :, None, :, None] * world).reshape(n, p, 3, 6 * p)
        result = np.zeros((n, p, 6, 6 * p))
        np.matmul(R.mT, weighted, out=result[:, :, :3])
        own = np.einsum("nirij->nirj", result.reshape(n, p, 6, p, 6))[..., 3:]
        own[:, :, :3] += so3.skew(force)
        if self.eccentric:
            np.matmul(self.skew_center, result[:, :, :3], out=result[:, :, 3:])
        own[:, :, 3:] += d_moment
        return result.reshape(n, 6 * p, 6 * p)

    def kinetic_energy(self, motion: Motion) -> float:
        """Kinetic energy in J."""
        velocity, Omega = self._world_velocity(motion), motion.V[self.nodes][..., 3:]
        translation = np.vecdot(velocity, self.mass @ velocity).sum()
        return float(0.5 * (translation + np.vecdot(Omega, np.matvec(self.J, Omega)).sum()))

    def gravity_energy(self, motion: Motion) -> float:
        """Potential energy of gravity in J, zero at the origin."""
        centers = motion.x[self.nodes] + np.matvec(motion.R[self.nodes], self.center)
        return float(-((self.mass @ centers) @ motion.gravity).sum())

    def _world_velocity(self, motion: Motion) -> Array:
        V = motion.V[self.nodes]
        velocity: Array = np.matvec(motion.R[self.nodes], V[..., :3] + np.cross(V[..., 3:], self.center))
        return velocity

    @cached_property
    def eccentric(self) -> bool:
        """Whether any mass centre is off its node."""
        return bool(self.center.any())

    @cached_property
    def skew_center(self) -> Array:
        """Skew matrices of the mass centres, ``(n, p, 3, 3)``."""
        return so3.skew(self.center)
