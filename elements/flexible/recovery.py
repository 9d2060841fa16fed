"""The mesh of a flexible body as deformed: where its points are."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Cells, Kind, Motion
from fem_mbs.elements.flexible.floating_frame import FloatingFrame
from fem_mbs.elements.flexible.reduction import Skin


class Bodies(Protocol):
    """A batch of flexible bodies."""

    nodes: IntArray

    def configuration(self, motion: Motion) -> tuple[FloatingFrame, Array]:
        """The floating frames, and coordinates ``(n, K)``."""
        ...


class BodyPicture:
    """The surface of the one body of a batch, or lines from its middle to its interfaces where none is known."""

    def __init__(self, batch: Bodies, skin: Skin) -> None:
        self._batch, self._skin, p = batch, skin, batch.nodes.shape[1]
        if len(skin.triangles):
            kind, cells, shape = Kind.SURFACE, skin.triangles, "triangle"
        else:
            kind, shape = Kind.LINE, "line"
            cells = np.stack([np.zeros(p, np.intp), np.arange(1, p + 1)], axis=1)
        numbers = {"part": np.full(len(cells), kind), "element_id": np.arange(len(cells))}
        self.cells = [Cells(shape, cells, numbers)]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points where they are."""
        frame, q = self._batch.configuration(motion)
        if not len(self._skin.triangles):
            return {"points": np.concatenate([frame.x, motion.x[self._batch.nodes[0]]])}
        seen = self._skin.points + self._skin.shapes @ q[0]
        return {"points": frame.x[0] + seen @ frame.R[0].T}
