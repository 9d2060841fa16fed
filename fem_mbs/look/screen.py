"""Whether there is a screen, and what VTK is told where there is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL
from functools import cache

WINDOW = "VTK_DEFAULT_OPENGL_WINDOW"
"""The variable by which VTK is told which kind of window to make; by default it tries one after the other, aloud."""


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
