"""One ``.vtu`` file, with VTK's own cell names; meshes that are read are the business of the elements."""

from __future__ import annotations

from pathlib import Path

import meshio
import numpy as np
from numpy.typing import NDArray

from fem_mbs.arrays import Array


def write_vtu(
    file: Path,
    points: Array,
    cells: list[tuple[str, NDArray[np.int32]]],
    point_data: dict[str, Array],
    cell_data: dict[str, list[NDArray[np.int32]]],
) -> None:
    """Write a mesh: points ``(n, 3)``, blocks of cells, data ``(n, 3)`` per point and numbers per block.

    Without compression: an eighth of the time, but files four times as large (a beam of 1000 elements).
    """
    # the writer replaces arrays in the dictionaries and lists that it is given
    own = {name: list(blocks) for name, blocks in cell_data.items()}
    meshio.vtu.write(file, meshio.Mesh(points, list(cells), dict(point_data), own), compression=None)
