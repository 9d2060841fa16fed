"""The hidden constraints: what joints say of accelerations, and how that changes with the configuration.

With ``Phi(q, t) = 0`` come ``B v + Phi_t = 0`` and its derivative (Arnold, Cardona, Bruels 2015, eqs. 16-19, here with
the terms of drives). Equations of velocities ``B v - b = 0`` stand beside the first from the outset.

``c = B V' + Z(V, V) + 2 Phi_tq V + Phi_tt`` is the time derivative of the residual ``B V + Phi_t``, whose derivatives
against increments at constant body velocities are ``w``. With ``D/Dt`` the derivative along the motion at constant body
velocities,

    dc = (H V') d + B dV' + (w + DB/Dt) dV + (Dw/Dt - w ad(V)) d.

The last term has third derivatives of the constraints, but along the motion alone: it is taken by a difference of
second order, over a small share of the step that has led here. The bracket ``ad(V)`` is there because increments do not
commute with the motion.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import ConstraintBatch, Motion, RateSensitivities
from fem_mbs.lie import se3, so3
from fem_mbs.linear.solvers import sums
from fem_mbs.system.matrices import (
    given_rate,
    given_rate_gradient,
    gradient_product,
    gradients_after,
    velocity_gradients,
)
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import Evaluation, System


def body_velocity(motion: Motion) -> Array:
    """Body velocities of all nodes and rates of internal variables, ``(N,)``."""
    return np.append(motion.V, motion.udot) if len(motion.udot) else motion.V.ravel()


def gradients(system: System, motion: Motion) -> list[Array]:
    """``B`` (m, b) of all batches, without the other equations."""
    return [joints.evaluate(motion, joints.at(motion.t))[1] for joints in system.constraint_batches]


def positions(system: System, motion: Motion) -> Array:
    """``Phi`` (m,), zero for equations of velocities, without the other equations."""
    values = flat([joints.evaluate(motion, joints.at(motion.t))[0] for joints in system.constraint_batches])
    return np.where(system.velocity_level, 0.0, values)


def gradient_transpose_product(system: System, gradients: list[Array], multipliers: Array) -> Array:
    """``B^T multipliers`` (N,) with gradients of all batches, zero where held."""
    values = flat([multipliers[s, None] * g for g, s in zip(gradients, system.constraint_slices, strict=True)])
    force = sums(system.force_slots[len(system.force_slots) - len(values) :], values, system.N)
    return system.spread(force[system.free_rows])


def rate(joints: ConstraintBatch, motion: Motion, phi: Array, gradient: Array, context: Any) -> Array:
    """``B V + Phi_t`` (m,) of one batch, from its evaluation, see ``velocity_residual``."""
    V = motion.V[joints.nodes].reshape(len(joints.nodes), -1)
    if joints.own is not None:
        V = np.concatenate([V, motion.udot[joints.own]], axis=-1)
    return np.vecdot(gradient, V[joints.cell]) + given_rate(joints, phi, context)


def acceleration_residual(system: System, evaluation: Evaluation) -> Array:
    """Time derivative of ``velocity_residual`` for vanishing accelerations ``A`` and ``uddot``, ``(m,)``.

    That is ``B V' + V H V + 2 B_t V + Phi_tt`` with ``V' = (-Omega x U, 0)``.
    """
    motion = evaluation.motion
    V, rate = body_velocity(motion), np.zeros(system.N)
    system.nodes_of(rate)[:, :3] = -np.cross(motion.V[:, 3:], motion.V[:, :3])
    residual = gradient_product(system, evaluation.gradients, rate)
    for (joints, context, _, rows), own in zip(_joints(system, evaluation), system.constraint_components, strict=True):
        here = V[own]
        residual[rows] += np.vecdot(joints.rate_gradient(context, here), here[joints.cell])
        if (rates := joints.rates(context)) is not None:
            turning = np.vecdot(rates.gradient, here[joints.cell])
            both = 2.0 * turning + rates.second
            residual[rows] += both if joints.velocity is None else np.where(joints.velocity, turning + rates.phi, both)
    return residual


def acceleration(system: System, evaluation: Evaluation) -> Array:
    """Time derivative (m,) of ``velocity_residual`` with the accelerations of the motion."""
    motion = evaluation.motion
    A = np.append(motion.A, motion.uddot)
    return acceleration_residual(system, evaluation) + gradient_product(system, evaluation.gradients, A)


def _joints(system: System, evaluation: Evaluation):  # type: ignore[no-untyped-def]
    """Batches of constraints with their contexts, what they returned as ``Phi``, and their rows."""
    return zip(
        system.constraint_batches, evaluation.constraint_contexts, evaluation.phi, system.constraint_slices, strict=True
    )


BACK = 1e-4
"""Share of a step over which derivatives along the motion are taken."""


class AccelerationLevel:
    """Derivatives (m, b) of ``c`` for each batch, at the end of a step of ``h``."""

    def __init__(self, system: System, evaluation: Evaluation, h: float) -> None:
        self.system, self.evaluation = system, evaluation
        self.w = velocity_gradients(system, evaluation)
        before = [self._before(share * BACK * h) for share in (1.0, 2.0)]
        self.B_rate, self.w_rate = (
            [(3.0 * a - 4.0 * b + c) / (2.0 * BACK * h) for a, b, c in zip(here, *there, strict=True)]
            for here, *there in zip((evaluation.gradients, self.w), *before, strict=True)
        )

    def by_rates(self, dV: RateSensitivities, dA: RateSensitivities) -> list[Array]:
        """Where velocities and accelerations change and nodes stay where they are."""
        system, V = self.system, self.evaluation.motion.V
        # V' has -Omega x U beside the acceleration of the point
        rate = dA.nodes.copy()
        rate[:, :3] += so3.skew(V[:, :3]) @ dV.nodes[:, 3:] - so3.skew(V[:, 3:]) @ dV.nodes[:, :3]
        both = [w + B_rate for w, B_rate in zip(self.w, self.B_rate, strict=True)]
        pairs = zip(
            gradients_after(system, self.evaluation.gradients, RateSensitivities(rate, dA.own)),
            gradients_after(system, both, dV),
            strict=True,
        )
        return [a + b for a, b in pairs]

    def gradients(self, dV: RateSensitivities, dA: RateSensitivities) -> list[Array]:
        """Where nodes move, and velocities and accelerations follow."""
        system, motion = self.system, self.evaluation.motion
        rate = np.append(motion.A, motion.uddot)
        system.nodes_of(rate)[:, :3] -= np.cross(motion.V[:, 3:], motion.V[:, :3])
        turned = gradients_after(system, self.w, RateSensitivities(se3.bracket(motion.V), np.zeros(system.k)))
        joints = zip(
            system.constraint_batches, self.evaluation.constraint_contexts, system.constraint_components, strict=True
        )
        bent = [batch.rate_gradient(context, rate[rows]) for batch, context, rows in joints]
        return [sum(parts) - t for *parts, t in zip(bent, self.by_rates(dV, dA), self.w_rate, turned, strict=True)]

    def _before(self, s: float) -> tuple[list[Array], list[Array]]:
        """``B`` and ``w`` a time ``s`` before, for the same body velocities."""
        system, motion = self.system, self.evaluation.motion
        R, x = se3.compose(motion.R, motion.x, *se3.exp(-s * motion.V))
        moved = replace(motion, t=motion.t - s, x=x, R=R, u=motion.u - s * motion.udot)
        V, gradients, rates = body_velocity(motion), [], []
        for joints, rows in zip(system.constraint_batches, system.constraint_components, strict=True):
            _, B, context = joints.evaluate(moved, joints.at(moved.t))
            gradients.append(B)
            rates.append(joints.rate_gradient(context, V[rows]) + given_rate_gradient(joints, context))
        return gradients, rates
