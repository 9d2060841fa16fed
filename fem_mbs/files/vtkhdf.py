"""A run as one file for ParaView: VTKHDF, an unstructured grid whose points move and whose cells stay.

The format is that of VTK 9.3 and later, ParaView 5.12 and later (VTK File Formats, "VTKHDF", versions 2.0 and 2.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.files.hdf5 import make
from fem_mbs.files.replacing import replacing
from fem_mbs.files.scene import Scene

VERSION = 2, 2
CELL_TYPES = {"vertex": 1, "line": 3, "triangle": 5, "polygon": 7, "quad": 9}
"""Numbers that VTK has for types of cells, by their names in meshio."""


def write_vtkhdf(file: Path, times: Array, scene: Scene, frames: Iterable[tuple[Array, dict[str, Array]]]) -> None:
    """Write frames of a scene at some times: points ``(n, 3)`` and point data, in the order of the times.

    In place of a file that is there, which stays if this one cannot be written.
    """
    rest = iter(frames)
    first = next(rest)
    shape = len(times) * scene.points, 3
    tables = {f"VTKHDF/{name}": (shape, "<f8") for name in _series(*first)}

    def fill(opened: Any) -> None:
        root = opened.create_group("VTKHDF")
        root.attrs["Version"] = VERSION
        root.attrs.create("Type", np.bytes_("UnstructuredGrid"))
        root.attrs["legend"] = "\n".join(scene.legend)
        _write_cells(root, scene)
        _write_steps(root, times, scene, list(first[1]))

    made = make("to_paraview: a .vtkhdf file", fill, tables)
    with replacing(file) as new, open(new, "wb") as raw:
        raw.write(made.content)
        for k, frame in enumerate(chain([first], rest)):
            for name, values in _series(*frame).items():
                content = np.ascontiguousarray(values, "<f8")
                raw.seek(made.tables[f"VTKHDF/{name}"].begin + k * content.nbytes)
                raw.write(content.data)
        raw.truncate(made.size)


def _series(points: Array, data: dict[str, Array]) -> dict[str, Array]:
    """What differs from one time to the next."""
    return {"Points": points, **{f"PointData/{name}": data[name] for name in data}}


def _write_cells(root: Any, scene: Scene) -> None:
    """Cells and what belongs to them, once for all times."""
    points = scene.points
    ids = [cells.ravel() for _, cells in scene.cells]
    sizes = [np.full(len(cells), cells.shape[1]) for _, cells in scene.cells]
    types = [np.full(len(cells), CELL_TYPES[kind], "u1") for kind, cells in scene.cells]
    offsets = np.cumsum(np.concatenate([[0], *sizes]))
    root["NumberOfPoints"] = np.array([points])
    root["NumberOfCells"] = np.array([len(offsets) - 1])
    root["NumberOfConnectivityIds"] = np.array([offsets[-1]])
    root["Connectivity"], root["Offsets"] = np.concatenate(ids).astype("i8"), offsets.astype("i8")
    root["Types"] = np.concatenate(types)
    for name, blocks in scene.cell_data.items():
        root[f"CellData/{name}"] = np.concatenate(blocks)


def _write_steps(root: Any, times: Array, scene: Scene, data: list[str]) -> None:
    """Where the values of each time begin."""
    count = len(times)
    steps = root.create_group("Steps")
    steps.attrs["NSteps"] = count
    steps["Values"] = np.asarray(times, dtype=float)
    steps["PartOffsets"], steps["NumberOfParts"] = np.zeros(count, "i8"), np.ones(count, "i8")
    moving = scene.points * np.arange(count, dtype="i8")
    steps["PointOffsets"] = moving
    steps["CellOffsets"] = steps["ConnectivityIdOffsets"] = np.zeros((count, 1), "i8")
    for name in data:
        steps[f"PointDataOffsets/{name}"] = moving
    for name in scene.cell_data:
        steps[f"CellDataOffsets/{name}"] = np.zeros(count, "i8")
