"""Where everything stands: free components, constraint equations and the entries of the iteration matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import BoolArray, IntArray
from fem_mbs.model import Constraint, ConstraintBatch, ElementBatch, Node

_NONE = np.empty(0, np.intp)


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


class Triplets(NamedTuple):
    """Entries of ``[[K, B^T], [B, 0]]`` in the order in which they are computed; -1 where a component is fixed.

    First come the blocks of elements and constraints, ``force_entries`` in all, then those of ``B`` and of ``B^T``.
    """

    rows: IntArray
    columns: IntArray
    force_entries: int
    force_slots: IntArray
    """Body component of each computed force: those of elements, then the gradient of each constraint equation."""


def free_components(nodes: Sequence[Node]) -> BoolArray:
    """True for the body components ``(n, 6)`` that may move."""
    fixed = np.array([[node.fixed_translation, node.fixed_rotation] for node in nodes])
    free: BoolArray = ~np.repeat(fixed, 3, axis=1)
    return free


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
    length = np.concatenate([np.empty(0, np.bool_), *(batch.length for batch in batches)])
    return ConstraintNumbers(m, slices, rows, owner, length)


def triplets(
    batches: Sequence[ElementBatch],
    constraint_batches: Sequence[ConstraintBatch],
    equation: IntArray,
    first_multiplier: int,
) -> Triplets:
    """Places of all entries, from the equation number ``(6 n,)`` of each body component."""
    elements = [_components(batch.nodes) for batch in batches]
    constraints = [_components(batch.nodes) for batch in constraint_batches]
    gradients = [own[batch.cell] for own, batch in zip(constraints, constraint_batches, strict=True)]
    blocks = [equation[components] for components in (*elements, *constraints)]
    rows = [np.repeat(own, own.shape[1], axis=1).ravel() for own in blocks]
    columns = [np.tile(own, (1, own.shape[1])).ravel() for own in blocks]
    B_columns = [equation[own].ravel() for own in gradients]
    m = np.cumsum([first_multiplier, *(len(own) for own in gradients)])
    B_rows = [
        np.repeat(start + np.arange(len(own)), own.shape[1]) for start, own in zip(m[:-1], gradients, strict=True)
    ]
    return Triplets(
        np.concatenate([_NONE, *rows, *B_rows, *B_columns]),
        np.concatenate([_NONE, *columns, *B_columns, *B_rows]),
        sum(len(own) for own in rows),
        np.concatenate([_NONE, *(own.ravel() for own in (*elements, *gradients))]),
    )


def _components(nodes: IntArray) -> IntArray:
    """Body components ``(n, 6p)`` of the nodes of each cell."""
    return (6 * nodes[:, :, None] + np.arange(6)).reshape(len(nodes), -1)
