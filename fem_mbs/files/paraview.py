"""A run as files for other programs: for ParaView, and plain HDF5.

ParaView gets a collection with the true times and one ``.vtu`` mesh a frame, or one ``.vtkhdf`` file. ``.vtu`` has
VTK's own cell names; meshes that are read are the business of the elements. ``.vtkhdf`` is an unstructured grid whose
points move and whose cells stay, in the format of VTK 9.3 and later, ParaView 5.12 and later (VTK File Formats,
"VTKHDF", versions 2.0 and 2.2).
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
from io import SEEK_CUR, FileIO
from pathlib import Path as FilePath
from typing import Annotated, Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import ARRAYS, Path, PositiveInt, checked, named_file, whole_number
from fem_mbs.errors import LOG, ModelError, StoreError, needed
from fem_mbs.files.scene import Scene
from fem_mbs.files.store.database import HDF5, reason, replaceable, replaced
from fem_mbs.solution.queries import Queries
from fem_mbs.system.states import in_world
from fem_mbs.version import __version__

Frames: TypeAlias = Iterable[tuple[Array, dict[str, Array]]]
"""Points ``(n, 3)`` and point data of one time after the other."""
Stations = Annotated[int, partial(whole_number, least=2)]
VERSION = 2, 2
CELL_TYPES = {"vertex": 1, "line": 3, "triangle": 5, "polygon": 7, "quad": 9}
"""Numbers that VTK has for types of cells, by their names in meshio."""


@checked
def to_paraview(
    solution: Queries, path: Path, *, stations: Stations = 5, every: PositiveInt = 1, shapes: bool = True
) -> FilePath:
    """Write a run for ParaView: ``path.pvd``, and one ``.vtu`` a frame in the folder ``path``; or all in one file.

    The cell data ``part`` tells lines of beams (0), beam surfaces (1), nodes (2), bodies (3), joints (4), springs (5),
    shapes of joints (6) and of bodies (7), points of contact (8) and links (9) apart. Point data are displacements,
    velocities, axes, section forces, reactions and contact forces; docs/paraview.md, "What the files contain".

    Parameters
    ----------
    solution : Solution
        What to write.
    path : str or Path
        The files to write, with or without ``.pvd``; missing folders are made. Frames of an earlier run that was
        written there are removed. With the suffix ``.vtkhdf``, one file of that kind, for ParaView 5.12 and later
        (needs h5py, ``pip install fem_mbs[hdf5]``).
    stations : int
        Points along each beam element, both ends included, at least 2; with 2, springs and actuators are lines.
    every : int
        Write every so many steps; the first and the last step are always written.
    shapes : bool
        Draw bodies and joints as solids, and not only as points with axes.

    Returns
    -------
    Path
        The ``.pvd`` or ``.vtkhdf`` file, to be opened in ParaView.

    Raises
    ------
    ModelError
        If an option is not valid, ``path`` is a folder or cannot be written.
    """
    begun, last = time.perf_counter(), len(solution.t) - 1
    steps = [*range(0, last, every), last]
    try:
        with solution.system.as_frozen():
            scene = Scene(solution.system, stations, shapes)
            frames = (scene.frame(solution.motion(k), solution.multipliers_all[k]) for k in steps)
            write = _write_one if FilePath(path).suffix == ".vtkhdf" else _write_many
            written, size = write(FilePath(path), solution.t[steps], scene, frames)
    except OSError as error:
        raise ModelError(
            f"to_paraview: cannot write '{path}': {error.strerror or error}: {error.filename or path}; choose a place "
            "where you may write and that has room"
        ) from error
    LOG.info("wrote %s: %d frames, %.3g MB, %.3g s", written, len(steps), size / 1e6, time.perf_counter() - begun)
    return written


def _write_many(path: FilePath, times: Array, scene: Scene, frames: Frames) -> tuple[FilePath, int]:
    """A collection and its frames; returns the collection and the size of the frames in bytes.

    Frames are not compressed: an eighth of the time, but files four times as large (a beam of 1000 elements).
    """
    import meshio  # which takes long to import

    collection, folder = _places(path)
    files = [folder / f"{folder.name}_{number:06d}.vtu" for number in range(len(times))]
    folder.mkdir(parents=True, exist_ok=True)
    collection.unlink(missing_ok=True)  # it never lists frames of two runs, whatever happens meanwhile
    for file, (points, data) in zip(files, frames, strict=True):
        # the writer replaces arrays in the dictionaries and lists that it is given
        numbers = {name: list(blocks) for name, blocks in scene.cell_data.items()}
        meshio.vtu.write(file, meshio.Mesh(points, list(scene.cells), dict(data), numbers), compression=None)
    for stale in set(_frames(folder)) - set(files):
        stale.unlink()
    collection.write_text(_collection(times, files, scene.legend), encoding="utf-8")
    return collection, sum(file.stat().st_size for file in files)


def _places(given: FilePath) -> tuple[FilePath, FilePath]:
    """The collection and the folder of its frames."""
    name = given.name.removesuffix(".pvd").removesuffix(".vtu")
    frames = given.with_name(name) if name else given
    if not name or (frames.is_dir() and not _frames(frames)) or given.with_name(f"{name}.pvd").is_dir():
        raise ModelError(
            f"to_paraview: path '{given}' is a folder; add the name of the files, such as '{given / 'run'}' for "
            f"{given / 'run.pvd'}"
        )
    return named_file(given, ".pvd", "to_paraview: path").with_name(f"{name}.pvd"), given.with_name(name)


def _frames(folder: FilePath) -> list[FilePath]:
    """The frames in a folder, by their names."""
    pattern = re.compile(re.escape(folder.name) + r"_\d{6,}\.vtu")
    return [file for file in folder.iterdir() if pattern.fullmatch(file.name)]


def _collection(times: Array, files: list[FilePath], legend: list[str]) -> str:
    lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1">', "<!--"]
    lines += [re.sub("-(?=-)", "- ", line) for line in legend]  # a comment must not contain two hyphens in a row
    lines += ["-->", "<Collection>"]
    for t, file in zip(times, files, strict=True):
        place = escape(f"{file.parent.name}/{file.name}")
        lines.append(f'<DataSet timestep="{float(t)!r}" group="" part="0" file="{place}"/>')
    return "\n".join([*lines, "</Collection>", "</VTKFile>", ""])


def _write_one(path: FilePath, times: Array, scene: Scene, frames: Frames) -> tuple[FilePath, int]:
    """One file, in place of one that is there, which stays if this cannot be written; returns it and its size."""
    h5py = needed("h5py", "to_paraview: a .vtkhdf file", "hdf5")
    with hdf5_file(path, h5py) as file:
        root = file.create_group("VTKHDF", track_order=True)
        root.attrs["Version"] = VERSION
        root.attrs.create("Type", np.bytes_("UnstructuredGrid"))
        root.attrs["legend"] = "\n".join(scene.legend)
        _write_cells(root, scene)
        names: list[str] = []
        for k, (points, data) in enumerate(frames):
            for name, values in [("Points", points), *((f"PointData/{name}", own) for name, own in data.items())]:
                if k == 0:
                    root.create_dataset(name, (len(times) * scene.points, *values.shape[1:]), "<f8")
                root[name][k * scene.points : (k + 1) * scene.points] = values
            names = list(data)
        _write_steps(root, times, scene, names)
    return path, path.stat().st_size


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


BLOCK = 256
"""States that are written together."""


class OutputFile(FileIO):
    """A file as the HDF5 library sees it, which never sees that it cannot be written.

    Where a disk is full, the library ends the process when it closes the file (seen with HDF5 2.0). So the first error
    is kept for whoever made the file, and from then on nothing is written.
    """

    error: OSError | None = None

    def write(self, content: Any) -> int:
        """All of it, or nothing any more."""
        view = memoryview(content).cast("B")
        size = len(view)
        try:
            while len(view) and self.error is None:
                view = view[super().write(view) :]
        except OSError as error:
            self.error = error
        self.seek(len(view), SEEK_CUR)
        return size

    def truncate(self, size: int | None = None) -> int:
        """To a size, which may be beyond the end."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0


@contextlib.contextmanager
def hdf5_file(path: FilePath, h5py: Any) -> Iterator[Any]:
    """An ``h5py.File`` to write to, which takes the place of another file once it is complete.

    If it cannot be written, what was there stays.
    """
    with replaced(replaceable(path, HDF5)) as new:
        with OutputFile(new, "w+") as output:
            with h5py.File(output, "w") as file:
                yield file
            if output.error is not None:
                raise output.error


def to_hdf5(solution: Queries, path: FilePath) -> FilePath:
    """Write the states of a run as plain datasets; see :meth:`fem_mbs.Solution.to_hdf5`."""
    history, system, count = solution.history, solution.system, len(solution.t)
    h5py = needed("h5py", "to_hdf5", "hdf5")
    try:
        with hdf5_file(path, h5py) as file:
            file.attrs.update({"format": "fem_mbs states", "fem_mbs_version": __version__})
            names: dict[str, Sequence[str]] = {"nodes": [str(node.name) for node in system.nodes]}
            names |= {"groups": [node.group for node in system.nodes]}
            names |= {"internal_variables": system.source.internal_variables, "multipliers": system.source.equations}
            for what, texts in names.items():  # of many nodes, attributes do not have the room
                encoded = [text.encode() for text in texts]
                # of a fixed length: others are read back, which ends the process where the disk is full
                kind = h5py.string_dtype("utf-8", max(map(len, encoded), default=1))
                file[f"names/{what}"] = np.array(encoded, kind)
            file["t"] = solution.t
            own = {name: getattr(history, name) for name in ARRAYS} if not history.columns else {}
            for name, values in own.items():
                data = file.create_dataset(name, values.shape, "<f8")
                for k in range(0, count, BLOCK):
                    block = np.asarray(values[k : k + BLOCK])
                    data[k : k + BLOCK] = in_world(system, block) if name == "x" else block
            for name, values in history.columns.items():
                file[f"channels/{name}"] = values
    except OSError as error:
        raise StoreError(f"to_hdf5: cannot write '{path}': {reason(error)}; what was there stays") from error
    return path
