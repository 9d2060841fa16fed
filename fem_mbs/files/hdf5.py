"""HDF5 files for other programs, made by h5py."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from io import SEEK_CUR, FileIO
from pathlib import Path
from typing import Any

import numpy as np

from fem_mbs.contracts import ARRAYS
from fem_mbs.errors import MissingPackageError, StoreError
from fem_mbs.files.replacing import reason, replacing
from fem_mbs.solution.queries import Queries
from fem_mbs.system.states import in_world
from fem_mbs.version import __version__

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
def hdf5_file(path: Path, label: str) -> Iterator[Any]:
    """An ``h5py.File`` to write to, which takes the place of another file once it is complete.

    Raises
    ------
    MissingPackageError
        If h5py is not installed.
    OSError
        If it cannot be written; what was there stays.
    """
    try:
        import h5py
    except ImportError:
        raise MissingPackageError(f"{label} needs h5py; install it with pip install fem_mbs[hdf5]") from None
    with replacing(path) as new:
        with OutputFile(new, "w+") as output:
            with h5py.File(output, "w") as file:
                yield file
            if output.error is not None:
                raise output.error


def to_hdf5(solution: Queries, path: Path) -> Path:
    """Write the states of a run as plain datasets; see :meth:`fem_mbs.Solution.to_hdf5`."""
    history, system, count = solution.history, solution.system, len(solution.t)
    try:
        with hdf5_file(path, "to_hdf5") as file:
            file.attrs.update({"format": "fem_mbs states", "fem_mbs_version": __version__})
            file.attrs["nodes"] = [str(node.name) for node in system.nodes]
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
