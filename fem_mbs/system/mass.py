"""The mass matrix with the constraints, and what it does: the matrix of the accelerations at an instant."""

from __future__ import annotations

from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.model import ElementBatch
from fem_mbs.system.evaluation import Evaluation
from fem_mbs.system.linear import Factors
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import System
from fem_mbs.system.tangent import assemble, mass_entries


def leading_matrix(system: System, evaluation: Evaluation) -> Array:
    """Stored values of ``[[L, B^T], [B, 0]]``: the derivative against what the equations determine at an instant.

    That is the acceleration of nodes and coordinates, the rate of states, and algebraic unknowns themselves. Without
    own unknowns it is the mass matrix, in body components (Arnold, Cardona, Bruels 2015, eq. 19).
    """
    return assemble(system, leading_entries(system, evaluation))


def leading_entries(system: System, evaluation: Evaluation) -> Array:
    """Entries of this matrix, see :func:`fem_mbs.system.tangent.entries`."""
    values = mass_entries(system, evaluation)
    if (system.order < 2).any():
        values[: system.pattern.force_entries] += flat(
            [
                _own_columns(system, batch, context)
                for batch, context in zip(system.batches, evaluation.contexts, strict=True)
            ]
            + [np.zeros(rows.size * rows.shape[1]) for rows in system.bending_components]
        )
    return values


def _own_columns(system: System, batch: ElementBatch, context: Any) -> Array:
    """Columns of states in the damping and of algebraic unknowns in the stiffness of a batch, zero elsewhere."""
    b = 6 * batch.nodes.shape[1] + (0 if batch.own is None else batch.own.shape[1])
    result = np.zeros((len(batch.nodes), b, b))
    if batch.own is None:
        return result
    order = system.order[batch.own][:, None]
    for own_order, matrix in ((1, batch.damping(context)), (0, batch.stiffness(context))):
        if matrix is not None:
            first = 6 * batch.nodes.shape[1]
            result[..., first:] += np.where(order == own_order, matrix[..., first:], 0.0)
    return result


def mass_product(system: System, evaluation: Evaluation, d: Array) -> Array:
    """``M d`` (N,) of components ``(N,)``: inertia forces of accelerations, momenta of velocities."""
    result = np.zeros(system.N)
    for batch, context, rows in zip(system.batches, evaluation.contexts, system.components, strict=True):
        if (mass := batch.mass(context)) is not None:
            result += np.bincount(rows.ravel(), np.matvec(mass, d[rows]).ravel(), system.N)
    return result


def rate_product(system: System, evaluation: Evaluation, dV: Array, dA: Array) -> Array:
    """``C dV + M dA`` (N,) of changes ``(N,)`` of body velocities and accelerations."""
    result = np.zeros(system.N)
    for batch, context, rows in zip(system.batches, evaluation.contexts, system.components, strict=True):
        for matrix, change in ((batch.damping, dV), (batch.mass, dA)):
            if (own := matrix(context)) is not None:
                result += np.bincount(rows.ravel(), np.matvec(own, change[rows]).ravel(), system.N)
    return result


def solve_with_constraints(system: System, factors: Factors, force: Array, constraint: Array) -> tuple[Array, Array]:
    """Components ``(N,)`` and multipliers ``(m,)`` from forces ``(N,)`` and the right-hand side of the constraints."""
    solution = factors.solve(np.concatenate([force[system.free_rows], constraint]))
    return system.spread(solution[: system.n_free]), solution[system.n_free :]
