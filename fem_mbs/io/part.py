"""What a picture is made of: parts, each with points that move and cells that stay."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, Protocol

from fem_mbs.arrays import Array, IntArray
from fem_mbs.model import Motion


class Kind(IntEnum):
    """What a cell shows: the values of the cell data ``part``."""

    LINE = 0
    SURFACE = 1
    NODE = 2
    BODY = 3
    JOINT = 4


class Cells(NamedTuple):
    """Cells of one type: its name in meshio, the points ``(n, p)`` of each cell, and named numbers ``(n,)``."""

    type: str
    points: IntArray
    numbers: dict[str, IntArray]


class Part(Protocol):
    """One beam, all nodes, or the joints of one batch.

    ``cells`` count the points of the part from 0.
    """

    cells: list[Cells]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Positions ``"points"`` and point data of the part at an instant, each ``(n, 3)``, always the same names."""
        ...
