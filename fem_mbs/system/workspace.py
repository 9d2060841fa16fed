"""The arrays that a step fills, over and over: made once, so that nothing is joined together or allocated for it.

A kernel's result is written to its place in them at once: single forces before they are summed to the residual, and the
entries of the iteration matrix before they are summed to what the solver stores. They hold nothing from call to call.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ElementBatch


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
