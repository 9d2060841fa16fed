"""The mesh of a flexible body as deformed: where its points are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Cells, Kind, Motion, Numbering

if TYPE_CHECKING:
    from fem_mbs.elements.flexible.flexible_body import FlexibleBatch, FlexibleBody


class BodyPicture:
    """The surface of a body, or lines from its middle to its interfaces where no surface is known."""

    def __init__(self, body: FlexibleBody, number: Numbering) -> None:
        self._batch: FlexibleBatch = type(body).batch([body], number)
        surface, p = body.reduction.surface, len(body.nodes)
        self._surface = surface
        if len(surface.triangles):
            kind, cells, type_ = Kind.SURFACE, surface.triangles, "triangle"
        else:
            kind, type_ = Kind.LINE, "line"
            cells = np.stack([np.zeros(p, np.intp), np.arange(1, p + 1)], axis=1)
        numbers = {"part": np.full(len(cells), kind), "element_id": np.arange(len(cells))}
        self.cells = [Cells(type_, cells, numbers)]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points where they are."""
        frame, _ = self._batch.frame(motion)
        if not len(self._surface.triangles):
            return {"points": np.concatenate([frame.x, motion.x[self._batch.nodes[0]]])}
        eta = np.zeros(0) if self._batch.own is None else motion.u[self._batch.own[0]]
        q = np.concatenate([frame.d.ravel(), eta])
        return {"points": frame.x[0] + (self._surface.points + self._surface.shapes @ q) @ frame.R[0].T}
