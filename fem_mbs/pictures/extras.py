"""Packages that pictures need, and that are not installed with the library."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CDLL
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fem_mbs.errors import MissingPackageError, ModelError

EXTRAS = {"matplotlib": "plot", "pyvista": "look", "imageio": "look", "imageio_ffmpeg": "look"}
"""The extra of the library that brings each."""
WINDOW = "VTK_DEFAULT_OPENGL_WINDOW"
"""The variable by which VTK is told which kind of window to make; by default it tries one after the other, aloud."""


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


def there_is_a_screen() -> bool:
    """Whether a window can be opened; only Linux runs without."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY"))


@contextmanager
def quiet_window() -> Iterator[None]:
    """Windows that VTK makes within are those of EGL where there is no screen, unless the user has chosen a kind."""
    if there_is_a_screen() or WINDOW in os.environ or not _there_is_egl():
        yield
        return
    os.environ[WINDOW] = "vtkEGLRenderWindow"
    try:
        yield
    finally:
        del os.environ[WINDOW]


@cache
def _there_is_egl() -> bool:
    try:
        CDLL("libEGL.so.1")
    except OSError:
        return False
    return True
