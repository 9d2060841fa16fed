"""Where everything stands: components, constraint equations and the entries of the iteration matrix.

And the arrays that a step fills, over and over: made once, so that nothing is joined together or allocated for it. A
kernel's result is written to its place in them at once: single forces before they are summed to the residual, and the
entries of the iteration matrix before they are summed to what the solver stores. They hold nothing from call to call.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import Constraint, ConstraintBatch, CoordinateBatch, ElementBatch, Node

TINY = 1e-200
"""A force, or a term, that counts as none: nothing overflows that is divided by it."""


class ConstraintRows(NamedTuple):
    """Where the equations of a constraint stand: ``own`` rows in its batch, ``rows`` in all multipliers."""

    batch: ConstraintBatch
    own: slice
    rows: slice


class ConstraintNumbers(NamedTuple):
    """Numbers of ``m`` constraint equations, batch after batch."""

    m: int
    slices: list[slice]
    """Rows of each batch."""
    rows: dict[Constraint, ConstraintRows]
    owner: list[tuple[Constraint, str]]
    """The constraint each equation belongs to, and the name of the equation."""
    length: BoolArray
    """True for equations in units of length, ``(m,)``."""
    velocity: BoolArray
    """True for equations of velocities, ``(m,)``."""


class Triplets(NamedTuple):
    """Entries of ``[[K, B^T], [B, 0]]`` in the order in which they are computed; -1 where a component is held.

    First come the blocks of elements and constraints, ``force_entries`` in all, then those of ``B`` and of ``B^T``,
    ``gradient_entries`` each, then those of elements that depend on multipliers, which stand beside ``B^T``.
    """

    rows: IntArray
    columns: IntArray
    force_entries: int
    gradient_entries: int

    def of_gradients(self, gradients: Array) -> Array:
        """Entries of ``[[0, B^T], [B, 0]]`` from flat gradients."""
        rest = len(self.rows) - self.force_entries - 2 * self.gradient_entries
        return np.concatenate([np.zeros(self.force_entries), gradients, gradients, np.zeros(rest)])


def free_components(nodes: Sequence[Node], idle: Collection[Node]) -> BoolArray:
    """True for the body components ``(n, 6)`` that may move: neither fixed nor idle rotations."""
    fixed = np.array([[node.fixed_translation, node.fixed_rotation or node in idle] for node in nodes])
    return ~np.repeat(fixed, 3, axis=1)


def components(batch: ElementBatch | ConstraintBatch | CoordinateBatch, n: int) -> IntArray:
    """Components ``(cells, b)`` of each cell: six of each node, then internal variables, which follow ``n`` nodes."""
    of_nodes = (6 * batch.nodes[:, :, None] + np.arange(6)).reshape(len(batch.nodes), 6 * batch.nodes.shape[1])
    return of_nodes if batch.own is None else np.concatenate([of_nodes, 6 * n + batch.own], axis=1)


def number_constraints(batches: Sequence[ConstraintBatch]) -> ConstraintNumbers:
    """Number the constraint equations."""
    m = 0
    slices: list[slice] = []
    rows: dict[Constraint, ConstraintRows] = {}
    owner: list[tuple[Constraint, str]] = []
    for batch in batches:
        for index, constraint in enumerate(batch.owners):
            first, last = np.searchsorted(batch.cell, [index, index + 1])
            rows[constraint] = ConstraintRows(batch, slice(first, last), slice(m + first, m + last))
            owner.extend((constraint, equation) for equation in constraint.equations)
        slices.append(slice(m, m + len(batch.cell)))
        m += len(batch.cell)
    none = np.empty(0, np.bool_)
    length = np.concatenate([none, *(batch.length for batch in batches)])
    velocity = np.concatenate([none, *(np.zeros_like(b.length) if b.velocity is None else b.velocity for b in batches)])
    return ConstraintNumbers(m, slices, rows, owner, length, velocity)


def triplets(
    cells: Sequence[IntArray],
    gradients: Sequence[IntArray],
    readings: Sequence[tuple[IntArray, IntArray]],
    equation: IntArray,
    size: int,
) -> Triplets:
    """Places of all entries.

    Parameters
    ----------
    cells : list of (n, b)
        Components of the cells of all elements and constraints.
    gradients : list of (m, b)
        Components of the constraint equations.
    readings : list of ((n, b), (n, r))
        Components of the cells of elements that depend on multipliers, and these.
    equation : (N,)
        Equation of each component, -1 where it is held.
    size : int
        Number of the first constraint equation.
    """
    equation = equation.astype(np.int32)  # there are many entries
    blocks = [equation[own] for own in cells]
    m = size + np.cumsum([0, *(len(own) for own in gradients)], dtype=np.int32)
    B_rows = [np.arange(*ends, dtype=np.int32)[:, None] for ends in pairwise(m)]
    B_columns = [equation[own] for own in gradients]
    pairs = [(own[:, :, None], own[:, None]) for own in blocks]
    pairs += [*zip(B_rows, B_columns, strict=True), *zip(B_columns, B_rows, strict=True)]
    pairs += [(equation[own][:, :, None], size + read[:, None]) for own, read in readings]
    counts = [math.prod(np.broadcast_shapes(a.shape, b.shape)) for a, b in pairs]
    places: Any = np.empty((2, sum(counts)), np.int32)
    rows, columns = places
    for (a, b), last, count in zip(pairs, np.cumsum(counts).tolist(), counts, strict=True):
        shape, own = np.broadcast_shapes(a.shape, b.shape), slice(last - count, last)
        rows[own].reshape(shape)[...] = a
        columns[own].reshape(shape)[...] = b
    return Triplets(rows, columns, sum(own.size * own.shape[1] for own in blocks), sum(own.size for own in B_columns))


def flat(parts: Sequence[Array]) -> Array:
    """All numbers of arrays in a row."""
    return np.concatenate(parts, axis=None) if parts else np.empty(0)


class Workspace:
    """Flat arrays, and views of them for each batch.

    Parameters
    ----------
    batches : list of ElementBatch
    components, joint_components, gradient_components : list of arrays
        Components of the cells of elements, of the blocks of constraints, and of constraint equations.
    reads : list of (int, array)
        Batches that depend on multipliers, and on which.

    Attributes
    ----------
    forces : (F,)
        All contributions to the residual: those of elements, then ``B^T lambda`` of each constraint equation.
    element_forces, reactions : list of arrays
        Views of these for each batch of elements and of constraints.
    values : (E,)
        Entries of ``[[K, B^T], [B, 0]]`` in the order of ``system.pattern``.
    blocks : list of (n, b, b)
        Views for each batch of elements, then of constraints.
    rows, columns : list of (m, b)
        Views of ``B`` and of ``B^T`` for each batch of constraints.
    readings : list of (n, b, r)
        Views for each batch that depends on multipliers.
    """

    def __init__(
        self,
        batches: Sequence[ElementBatch],
        components: Sequence[IntArray],
        joint_components: Sequence[IntArray],
        gradient_components: Sequence[IntArray],
        reads: Sequence[tuple[int, IntArray]],
    ) -> None:
        elements = [
            (len(rows), batch.terms, rows.shape[1]) if batch.terms > 1 else rows.shape
            for rows, batch in zip(components, batches, strict=True)
        ]
        gradients = [rows.shape for rows in gradient_components]
        self.forces, views = _views([*elements, *gradients])
        self.element_forces, self.reactions = views[: len(elements)], views[len(elements) :]
        cells = [(*rows.shape, rows.shape[1]) for rows in (*components, *joint_components)]
        readings = [(*components[k].shape, rows.shape[1]) for k, rows in reads]
        self.values, views = _views([*cells, *gradients, *gradients, *readings])
        ends = np.cumsum([len(cells), len(gradients), len(gradients)])
        self.blocks, self.rows, self.columns, self.readings = (
            views[first:last] for first, last in zip([0, *ends], [*ends, len(views)], strict=True)
        )


def _views(shapes: list[tuple[int, ...]]) -> tuple[Array, list[Array]]:
    """A flat array, and views of it with these shapes, one after the other."""
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    whole = np.zeros(ends[-1])
    return whole, [whole[a:b].reshape(shape) for a, b, shape in zip(ends[:-1], ends[1:], shapes, strict=True)]
