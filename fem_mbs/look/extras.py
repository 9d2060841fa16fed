"""Packages that pictures need, and that are not installed with the library."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fem_mbs.errors import MissingPackageError, ModelError

EXTRAS = {"matplotlib": "plot", "pyvista": "look", "imageio": "look", "imageio_ffmpeg": "look"}
"""The extra of the library that brings each."""


def need(module: str, what: str) -> Any:
    """A module of an optional package, or an error that says how to install it, for ``what`` is asked for."""
    package = module.split(".")[0]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "IProgress not found")  # of tqdm, which PyVista imports in a notebook
            return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"{what} needs the package {package}, which is not installed: pip install 'fem_mbs[{EXTRAS[package]}]'"
        ) from error


def written(path: str | Path, write: Callable[[Path], Any]) -> Path:
    """A file that ``write`` writes, or an error that says why it cannot; missing folders are made."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot write '{path}': {error}; choose a place where you may write") from error
    return path


def there_is(module: str) -> bool:
    """Whether an optional package is installed."""
    return find_spec(module) is not None
