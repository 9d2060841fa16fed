"""The hidden constraints: what the equations of joints say of velocities and accelerations.

With ``Phi(q, t) = 0`` come ``B v + Phi_t = 0`` and its derivative (Arnold, Cardona, Bruels 2015, eqs. 16-19, here with
the terms of drives). Equations of velocities ``B v - b = 0`` stand beside the first from the outset.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import MotionError
from fem_mbs.model import ConstraintBatch, Follow, Motion, StepEnd
from fem_mbs.system.evaluation import Evaluation
from fem_mbs.system.linear import sums
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import System


def body_velocity(motion: Motion) -> Array:
    """Body velocities of all nodes and rates of own unknowns, ``(N,)``."""
    return np.append(motion.V, motion.udot) if len(motion.udot) else motion.V.ravel()


def gradient_product(system: System, evaluation: Evaluation, d: Array) -> Array:
    """``B d`` (m,) of components ``(N,)``."""
    pairs = zip(evaluation.gradients, system.gradient_components, strict=True)
    return flat([np.vecdot(gradient, d[rows]) for gradient, rows in pairs])


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


def velocity_residual(system: System, evaluation: Evaluation) -> Array:
    """``B V + Phi_t``, or ``B V - b`` of equations of velocities, ``(m,)``."""
    V, result = body_velocity(evaluation.motion), np.empty(system.m)
    parts = zip(_joints(system, evaluation), evaluation.gradients, system.constraint_components, strict=True)
    for (joints, context, phi, rows), gradient, own in parts:
        result[rows] = _rate(joints, phi, gradient, context, V[own])
    return result


def rate(joints: ConstraintBatch, motion: Motion, phi: Array, gradient: Array, context: Any) -> Array:
    """The same of one batch ``(m,)``, from its evaluation."""
    V = motion.V[joints.nodes].reshape(len(joints.nodes), -1)
    if joints.own is not None:
        V = np.concatenate([V, motion.udot[joints.own]], axis=-1)
    return _rate(joints, phi, gradient, context, V)


def _rate(joints: ConstraintBatch, phi: Array, gradient: Array, context: Any, V: Array) -> Array:
    """For velocities ``V`` (n, b)."""
    residual: Array = np.vecdot(gradient, V[joints.cell])
    if (rates := joints.rates(context)) is not None:
        residual += rates.phi if joints.velocity is None else np.where(joints.velocity, 0.0, rates.phi)
    if joints.velocity is not None:
        residual += np.where(joints.velocity, phi, 0.0)
    return residual


def velocity_gradients(system: System, evaluation: Evaluation) -> list[Array]:
    """Derivatives (m, b) of :func:`velocity_residual` at constant body velocities, for each batch."""
    V = body_velocity(evaluation.motion)
    parts = zip(system.constraint_batches, evaluation.constraint_contexts, system.constraint_components, strict=True)
    return [rate_gradient_of(joints, context, V[rows]) for joints, context, rows in parts]


def rate_gradient_of(joints: ConstraintBatch, context: Any, V: Array) -> Array:
    """That of one batch, for the body velocities ``V`` (n, b) of its nodes."""
    gradient = joints.rate_gradient(context, V)
    if (rates := joints.rates(context)) is None:
        return gradient
    of_positions = rates.gradient if joints.velocity is None else rates.gradient * ~joints.velocity[:, None]
    return gradient + of_positions


def acceleration_residual(system: System, evaluation: Evaluation) -> Array:
    """Time derivative of :func:`velocity_residual` for vanishing accelerations ``A`` and ``uddot``, ``(m,)``.

    That is ``B V' + V H V + 2 B_t V + Phi_tt`` with ``V' = (-Omega x U, 0)``.
    """
    motion = evaluation.motion
    V, rate = body_velocity(motion), np.zeros(system.N)
    system.nodes_of(rate)[:, :3] = -np.cross(motion.V[:, 3:], motion.V[:, :3])
    residual = gradient_product(system, evaluation, rate)
    for (joints, context, _, rows), own in zip(_joints(system, evaluation), system.constraint_components, strict=True):
        here = V[own]
        residual[rows] += np.vecdot(joints.rate_gradient(context, here), here[joints.cell])
        if (rates := joints.rates(context)) is not None:
            turning = np.vecdot(rates.gradient, here[joints.cell])
            both = 2.0 * turning + rates.second
            residual[rows] += both if joints.velocity is None else np.where(joints.velocity, turning + rates.phi, both)
    return residual


def acceleration(system: System, evaluation: Evaluation) -> Array:
    """Time derivative (m,) of :func:`velocity_residual` with the accelerations of the motion."""
    motion = evaluation.motion
    A = np.append(motion.A, motion.uddot)
    return acceleration_residual(system, evaluation) + gradient_product(system, evaluation, A)


def gradients_after(system: System, gradients: list[Array], follow: Follow) -> list[Array]:
    """Gradients of all batches times derivatives of the nodes and own unknowns."""
    return [
        follow.after(g[:, None], b.nodes[b.cell], None if b.own is None else b.own[b.cell])[:, 0]
        for g, b in zip(gradients, system.constraint_batches, strict=True)
    ]


def _joints(system: System, evaluation: Evaluation):  # type: ignore[no-untyped-def]
    """Batches of constraints with their contexts, what they returned as ``Phi``, and their rows."""
    return zip(
        system.constraint_batches,
        evaluation.constraint_contexts,
        evaluation.phi,
        system.constraint_slices,
        strict=True,
    )


def check_step(system: System, before: float, t: float, R: Array, u: Array, multipliers: Array) -> None:
    """Refuse a step that ends where the equations hold, but joints do not stand as they are meant to."""
    for batch, rows in zip(system.constraint_batches, system.constraint_slices, strict=True):
        if text := batch.astray(StepEnd(before, t, R, u, multipliers, rows)):
            raise MotionError(text)
