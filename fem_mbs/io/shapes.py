"""Shapes that move with nodes: what bodies and joints look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.model import Cells, Kind, Motion, Shape

FINENESS = ((20, 24), (100, 12), (500, 6))
"""Up to how many shapes a circle has how many sides; the more there are, the smaller each is on the screen."""
COARSEST = 4

SHARE, NEAR = 0.04, 0.4
"""Symbols against the diagonal of the model, and against the usual distance to the next one."""


class Item(NamedTuple):
    """A shape, the row of the node that it moves with, and the number that its cells have."""

    shape: Shape
    row: int
    number: int


class ShapePicture:
    """Shapes of one kind; the number of each is called ``numbered``."""

    def __init__(self, items: Sequence[Item], kind: Kind, numbered: str) -> None:
        sides = next((sides for most, sides in FINENESS if len(items) <= most), COARSEST)
        faces = [item.shape.faces(sides) for item in items]
        sizes = [len(own.points) for own in faces]
        self._points = np.concatenate([own.points for own in faces])
        self._rows = np.repeat([item.row for item in items], sizes)
        blocks: dict[tuple[str, int], list[tuple[IntArray, int]]] = {}
        for own, item, first in zip(faces, items, np.cumsum([0, *sizes[:-1]]), strict=True):
            for cell, points in own.cells:
                blocks.setdefault((cell, points.shape[1]), []).append((points + first, item.number))
        self.cells = [_cells(cell, parts, kind, numbered) for (cell, _), parts in blocks.items()]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points and their velocities."""
        R, V = motion.R[self._rows], motion.V[self._rows]
        return {
            "points": motion.x[self._rows] + np.matvec(R, self._points),
            "velocity": np.matvec(R, V[:, :3] + np.cross(V[:, 3:], self._points)),
            "angular_velocity": np.matvec(R, V[:, 3:]),
        }


def _cells(cell: str, parts: list[tuple[IntArray, int]], kind: Kind, numbered: str) -> Cells:
    counts = [len(points) for points, _ in parts]
    numbers = np.repeat([number for _, number in parts], counts)
    return Cells(
        cell, np.concatenate([points for points, _ in parts]), {"part": np.full(len(numbers), kind), numbered: numbers}
    )


def symbol_size(points: Array, joints: Array) -> float:
    """How large symbols may be that are at ``joints`` (n, 3) of a model that has ``points`` (m, 3)."""
    from scipy.spatial import cKDTree  # which takes long to import

    extent = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    places = np.unique(np.round(joints / (1e-6 * extent)), axis=0)
    if len(places) < 2:
        return SHARE * extent
    usual = float(np.median(cKDTree(places).query(places, 2)[0][:, 1])) * 1e-6 * extent
    return min(SHARE * extent, NEAR * usual)
