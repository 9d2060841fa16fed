"""The matrices of the equations, and what they do: stiffness, damping and mass of all elements, gradients of joints.

``h^2 (K + C dV + M dA)`` beside ``B`` (Arnold, Cardona, Bruels 2015, eqs. 57-60, in body increments; docs/theory.md,
"Both groups, one set of equations" and "Scaling").
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ConstraintBatch, ElementBatch, RateSensitivities
from fem_mbs.errors import of_library
from fem_mbs.linear.solvers import Factors
from fem_mbs.system.pattern import Workspace, flat
from fem_mbs.system.system import Evaluation, System

TOGETHER = 1024
"""Cells whose tangents are computed together: arrays of about a MB, as of beams, stay near."""


def entries(
    system: System,
    evaluation: Evaluation,
    dV: RateSensitivities,
    dA: RateSensitivities,
    force_factor: float = 1.0,
    *,
    rows: list[Array] | None = None,
    workspace: Workspace | None = None,
) -> Array:
    """Entries of ``[[force_factor (K + C dV + M dA), B^T], [B, 0]]``, those of the forces first.

    Parameters
    ----------
    dV, dA : RateSensitivities
        Derivatives of body velocities and accelerations against body increments, of rates of internal variables against
        these.
    rows : list of (m, b), optional
        What stands in the rows of the constraints, if not ``B``.
    workspace : Workspace, optional
        Where to write them; in new arrays by default.
    """
    work = workspace or system.make_workspace()
    first = len(system.batches)
    for batch, context, block in zip(system.batches, evaluation.contexts, work.blocks[:first], strict=True):
        if batch.divides and len(block) > TOGETHER:
            _part_by_part(batch, context, (dV, dA), force_factor, block)
        else:
            np.multiply(batch.tangent(context, dV, dA), force_factor, out=block)
    joints = zip(system.constraint_batches, evaluation.constraint_contexts, system.constraint_slices, strict=True)
    for (joint, context, own), block in zip(joints, work.blocks[first:], strict=True):
        np.multiply(joint.stiffness(context, evaluation.multipliers[own]), force_factor, out=block)
    for k, gradient in enumerate(evaluation.gradients):
        work.rows[k][...] = gradient if rows is None else rows[k]
        work.columns[k][...] = gradient
    for k, place in zip(system.readers, work.readings, strict=True):
        place[...] = system.batches[k].by_multipliers(evaluation.contexts[k])
    return work.values


def _part_by_part(
    batch: ElementBatch, context: Any, follow: tuple[RateSensitivities, RateSensitivities], factor: float, block: Array
) -> None:
    """A factor times the tangent of many cells, some after the others: what is computed in between stays near then."""
    n = len(block)
    for rows in map(slice, range(0, n, TOGETHER), range(TOGETHER, n + TOGETHER, TOGETHER)):
        own = _cells_of(batch, rows, n)
        np.multiply(own.tangent(_cells_of(context, rows, n), *follow), factor, out=block[rows])


def _cells_of(thing: Any, rows: slice, n: int) -> Any:
    """A batch of ``n`` cells, or what it holds, for some of them."""
    if isinstance(thing, np.ndarray):
        return thing[rows] if thing.shape[:1] == (n,) else thing
    if isinstance(thing, tuple):
        parts = (_cells_of(part, rows, n) for part in thing)
        return tuple(parts) if type(thing) is tuple else type(thing)(*parts)
    if not of_library(type(thing)):
        return thing
    result = copy(thing)
    vars(result).update({name: _cells_of(value, rows, n) for name, value in vars(thing).items()})
    return result


def applied_entries(
    system: System,
    evaluation: Evaluation,
    dV: RateSensitivities,
    dA: RateSensitivities,
    turned: Array,
    *,
    force_factor: float = 1.0,
    rows: list[Array] | None = None,
) -> Array:
    """As :func:`entries`, without the geometric stiffness of joints and ``turned`` (n, 6, 6) of the nodes."""
    parts = zip(system.batches, evaluation.contexts, strict=True)
    blocks = [batch.tangent(context, dV, dA) for batch, context in parts]
    left = np.ones(system.n, np.bool_)
    for k, batch in enumerate(system.batches):
        # each from the first cell that has the node
        nodes, first = np.unique(batch.nodes, return_index=True)
        nodes, first = nodes[left[nodes]], first[left[nodes]]
        left[nodes] = False
        cell, place = np.divmod(first, batch.nodes.shape[1])
        own = 6 * place[:, None] + np.arange(6)
        blocks[k] = blocks[k].copy()
        blocks[k][cell[:, None, None], own[:, :, None], own[:, None]] -= turned[nodes]
    return _with_constraints(system, evaluation, [*blocks, *_nothing(system)], force_factor, rows)


def stiffness_entries(system: System, evaluation: Evaluation, force_factor: float = 1.0) -> Array:
    """Entries of ``[[force_factor K, B^T], [B, 0]]``."""
    blocks = [batch.stiffness(context) for batch, context in zip(system.batches, evaluation.contexts, strict=True)]
    triples = zip(system.constraint_batches, evaluation.constraint_contexts, system.constraint_slices, strict=True)
    blocks += [joints.stiffness(context, evaluation.multipliers[rows]) for joints, context, rows in triples]
    return _with_constraints(system, evaluation, blocks, force_factor)


def rate_entries(
    system: System,
    evaluation: Evaluation,
    dV: RateSensitivities | None,
    dA: RateSensitivities | None,
    force_factor: float = 1.0,
) -> Array:
    """Entries of ``[[force_factor (C dV + M dA), B^T], [B, 0]]``; None leaves a term out."""
    blocks = []
    for batch, context, rows in zip(system.batches, evaluation.contexts, system.components, strict=True):
        block = np.zeros((*rows.shape, rows.shape[1]))
        for matrix, follow in ((batch.damping, dV), (batch.mass, dA)):
            if follow is not None and (own := matrix(context)) is not None:
                block += follow.after(own, batch.nodes, batch.own)
        blocks.append(block)
    return _with_constraints(system, evaluation, [*blocks, *_nothing(system)], force_factor)


def mass_entries(system: System, evaluation: Evaluation, force_factor: float = 1.0) -> Array:
    """Entries of ``[[force_factor M, B^T], [B, 0]]``."""
    return rate_entries(system, evaluation, None, unit(system.n, system.k), force_factor)


def force_matrix(system: System, values: Array) -> csc_array:
    """Sparse matrix ``(n_free, n_free)`` on the forces of these entries."""
    matrix = system.solver.matrix(system.solver.stored(values))
    return csc_array(matrix[: system.n_free, : system.n_free])


def scattered(parts: Sequence[tuple[Array, IntArray]], size: int) -> csr_array:
    """Sum of matrices ``(n, b, b)`` of each part with rows and columns at its places ``(n, b)`` of a square one."""
    rows = flat([np.repeat(places, places.shape[1]) for _, places in parts])
    columns = flat([np.tile(places, (1, places.shape[1])) for _, places in parts])
    places = rows.astype(np.intp), columns.astype(np.intp)
    return csr_array((flat([values for values, _ in parts]), places), (size, size))


def gradient_matrix(system: System, gradients: list[Array]) -> csc_array:
    """Sparse matrix ``(m, n_free)`` of gradients of all batches."""
    values = system.pattern.of_gradients(flat(gradients))
    return csc_array(system.solver.matrix(system.solver.stored(values))[system.n_free :, : system.n_free])


@cache
def unit(n: int, k: int) -> RateSensitivities:
    """Rates that follow increments one to one."""
    return RateSensitivities(np.broadcast_to(np.eye(6), (n, 6, 6)), np.ones(k))


def _nothing(system: System) -> list[Array]:
    return [np.zeros((*rows.shape, rows.shape[1])) for rows in system.bending_components]


def _with_constraints(
    system: System, evaluation: Evaluation, blocks: list[Array], force_factor: float, rows: list[Array] | None = None
) -> Array:
    columns = evaluation.gradients
    readings = [system.batches[k].by_multipliers(evaluation.contexts[k]) for k in system.readers]
    values = flat([*blocks, *(columns if rows is None else rows), *columns, *readings])
    if force_factor != 1.0:
        values[: system.pattern.force_entries] *= force_factor
    return values


def gradient_product(system: System, gradients: list[Array], d: Array) -> Array:
    """``B d`` (m,) of gradients of all batches and components ``(N,)``."""
    result = np.empty(system.m)
    for gradient, own, rows in zip(gradients, system.equation_components, system.constraint_slices, strict=True):
        cells = gradient.reshape(len(own), -1, own.shape[1])
        np.matvec(cells, d.take(own), out=result[rows].reshape(len(own), -1))
    return result


def velocity_residual(system: System, evaluation: Evaluation) -> Array:
    """``B V + Phi_t``, or ``B V - b`` of equations of velocities, ``(m,)``.

    Arnold, Cardona, Bruels (2015), eq. 16, here with the terms of drives.
    """
    result = gradient_product(system, evaluation.gradients, evaluation.velocity)
    for k in system.given_rates:
        phi, context = evaluation.phi[k], evaluation.constraint_contexts[k]
        result[system.constraint_slices[k]] += given_rate(system.constraint_batches[k], phi, context)
    return result


def given_rate(joints: ConstraintBatch, phi: Array, context: Any) -> Array:
    """``Phi_t`` of drives, ``-b`` of equations of velocities, ``(m,)``."""
    rates = joints.rates(context) if joints.driven else None
    given = np.zeros(len(phi)) if rates is None else rates.phi
    return given if joints.velocity is None else np.where(joints.velocity, phi, given)


def gradients_after(system: System, gradients: list[Array], follow: RateSensitivities) -> list[Array]:
    """Gradients of all batches times derivatives of the nodes and internal variables."""
    result = []
    for gradient, nodes, own in zip(gradients, system.equation_nodes, system.equation_own, strict=True):
        (n, p), (m, b) = nodes.shape, gradient.shape
        rows = gradient.reshape(n, m // n, b)
        moved = rows[..., : 6 * p].reshape(n, m // n, p, 6).swapaxes(1, 2) @ follow.nodes.take(nodes, 0)
        moved = moved.swapaxes(1, 2).reshape(m, 6 * p)
        if own is not None:
            moved = np.append(moved, (rows[..., 6 * p :] * follow.own[own][:, None]).reshape(m, -1), 1)
        result.append(moved)
    return result


def velocity_derivatives(system: System, evaluation: Evaluation, dV: RateSensitivities, factor: float) -> list[Array]:
    """A factor times derivatives (m, b) of :func:`velocity_residual`, where body velocities follow by ``dV``."""
    result = []
    joints = zip(system.constraint_batches, evaluation.constraint_contexts, system.constraint_components, strict=True)
    moved = gradients_after(system, evaluation.gradients, dV)
    for (batch, context, rows), gradient in zip(joints, moved, strict=True):
        derivative = gradient + batch.rate_gradient(context, evaluation.velocity.take(rows))
        if batch.driven:
            derivative += given_rate_gradient(batch, context)
        result.append(factor * derivative)
    return result


def velocity_gradients(system: System, evaluation: Evaluation) -> list[Array]:
    """Derivatives (m, b) of :func:`velocity_residual` at constant body velocities, for each batch."""
    V = evaluation.velocity
    parts = zip(system.constraint_batches, evaluation.constraint_contexts, system.constraint_components, strict=True)
    return [joints.rate_gradient(own, V[rows]) + given_rate_gradient(joints, own) for joints, own, rows in parts]


def given_rate_gradient(joints: ConstraintBatch, context: Any) -> Array | float:
    """``B_t`` (m, b) of drives, which is that of ``Phi_t`` against positions; 0 where there are none."""
    if not joints.driven or (rates := joints.rates(context)) is None:
        return 0.0
    return rates.gradient if joints.velocity is None else rates.gradient * ~joints.velocity[:, None]


def whole(batch: ConstraintBatch, blocks: Array, count: int = 1) -> Array:
    """Geometric stiffness of ``count`` copies of joints against all of their components, ``(count n, b, b)``."""
    if batch.geometric_blocks is None:
        return blocks
    cells, columns = batch.geometric_blocks
    n, b = len(batch.nodes), 6 * batch.nodes.shape[1] + (0 if batch.own is None else batch.own.shape[1])
    result = np.zeros((count, n, b, b))
    places: Any = (slice(None), cells[:, None, None], columns[:, :, None], columns[:, None])
    np.add.at(result, places, blocks.reshape(count, *columns.shape, -1))
    return result.reshape(-1, b, b)


def leading_matrix(system: System, evaluation: Evaluation) -> Array:
    """Stored values of ``[[L, B^T], [B, 0]]``: the derivative against what the equations determine at an instant.

    That is the acceleration of nodes and coordinates, the rate of states, and algebraic variables themselves. Without
    internal variables it is the mass matrix, in body components (Arnold, Cardona, Bruels 2015, eq. 19).
    """
    return system.solver.stored(leading_entries(system, evaluation))


def leading_entries(system: System, evaluation: Evaluation) -> Array:
    """Entries of this matrix: columns of the mass, the damping or the stiffness, as the order of each unknown says."""
    if not (system.order < 2).any():
        return mass_entries(system, evaluation)
    blocks = []
    for batch, context, rows in zip(system.batches, evaluation.contexts, system.components, strict=True):
        order, block = system.orders[rows][:, None], np.zeros((*rows.shape, rows.shape[1]))
        for own, matrix in ((2, batch.mass), (1, batch.damping), (0, batch.stiffness)):
            if (order == own).any() and (part := matrix(context)) is not None:
                block += np.where(order == own, part, 0.0)
        blocks.append(block)
    return _with_constraints(system, evaluation, [*blocks, *_nothing(system)], 1.0)


def mass_product(system: System, evaluation: Evaluation, d: Array) -> Array:
    """``M d`` (N,) of components ``(N,)``: inertia forces of accelerations, momenta of velocities."""
    return rate_product(system, evaluation, np.zeros(system.N), d)


def rate_product(system: System, evaluation: Evaluation, dV: Array, dA: Array, inertial: Array | None = None) -> Array:
    """``C dV + M dA`` (N,) of changes ``(N,)`` of body velocities and accelerations.

    ``inertial`` (N,) are the changes of the velocities of inertia forces, if they are others.
    """
    inertial = dV if inertial is None else inertial
    result = np.zeros(system.N)
    for batch, context, rows in zip(system.batches, evaluation.contexts, system.components, strict=True):
        if (force := batch.rate_force(context, dV[rows], dA[rows], inertial[rows])) is not None:
            result += np.bincount(rows.ravel(), force.ravel(), system.N)
    return result


def solve_with_constraints(
    system: System, factors: Factors, force: Array | None, constraint: Array | None
) -> tuple[Array, Array]:
    """Components ``(N,)`` and multipliers ``(m,)`` from forces ``(N,)`` and gaps ``(m,)``, each None for zero."""
    forces = system.no_forces if force is None else force[system.free_index]
    solution = factors.solve(np.concatenate([forces, system.no_gaps if constraint is None else constraint]))
    d, n = np.zeros(system.N), system.n_free
    d[system.free_index] = solution[:n]
    return d, solution[n:]
