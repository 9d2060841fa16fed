"""A run as one file for ParaView: VTKHDF, an unstructured grid whose points move and whose cells stay.

The format is that of VTK 9.3 and later, ParaView 5.12 and later (VTK File Formats, "VTKHDF", versions 2.0 and 2.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.io.scene import Scene

VERSION = 2, 2
CELL_TYPES = {"vertex": 1, "line": 3, "triangle": 5, "polygon": 7, "quad": 9}
"""Numbers that VTK has for types of cells, by their names in meshio."""
BLOCK = 2**16
"""Points that are stored together."""


def write_vtkhdf(file: Path, times: Array, scene: Scene, frames: Iterable[tuple[Array, dict[str, Array]]]) -> None:
    """Write frames of a scene at some times: points ``(n, 3)`` and point data, in the order of the times."""
    try:
        import h5py
    except ImportError:
        raise ModelError(
            "to_paraview: a .vtkhdf file needs h5py; install it with pip install fem_mbs[hdf5], or leave the suffix "
            "away to write .vtu files"
        ) from None
    with h5py.File(file, "w", locking=False) as opened:
        root = opened.create_group("VTKHDF")
        root.attrs["Version"] = VERSION
        root.attrs.create("Type", np.bytes_("UnstructuredGrid"))
        root.attrs["legend"] = "\n".join(scene.legend)
        _write_cells(root, scene)
        series: dict[str, Any] = {}
        for k, (points, data) in enumerate(frames):
            for name, values in {"Points": points, **{f"PointData/{own}": data[own] for own in data}}.items():
                if k == 0:
                    chunk = max(1, min(BLOCK, len(values))), 3
                    series[name] = root.create_dataset(name, (0, 3), "f8", maxshape=(None, 3), chunks=chunk)
                series[name].resize((k + 1) * len(values), axis=0)
                series[name][k * len(values) :] = values
        _write_steps(root, times, scene, list(series))


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


def _write_steps(root: Any, times: Array, scene: Scene, series: list[str]) -> None:
    """Where the values of each time begin."""
    count = len(times)
    steps = root.create_group("Steps")
    steps.attrs["NSteps"] = count
    steps["Values"] = np.asarray(times, dtype=float)
    steps["PartOffsets"], steps["NumberOfParts"] = np.zeros(count, "i8"), np.ones(count, "i8")
    moving = scene.points * np.arange(count, dtype="i8")
    steps["PointOffsets"] = moving
    steps["CellOffsets"] = steps["ConnectivityIdOffsets"] = np.zeros((count, 1), "i8")
    for name in series:
        if name != "Points":
            steps[f"PointDataOffsets/{name.removeprefix('PointData/')}"] = moving
    for name in scene.cell_data:
        steps[f"CellDataOffsets/{name}"] = np.zeros(count, "i8")
