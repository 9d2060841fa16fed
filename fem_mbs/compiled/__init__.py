"""Kernels of elements and joints compiled from their own NumPy code, where llvmlite is installed (extra ``fast``)."""

from __future__ import annotations

import os
from importlib.util import find_spec

from fem_mbs.linear.solvers import DENSE_SIZE
from fem_mbs.system.system import System


def in_use() -> bool:
    """Whether there is llvmlite to compile with, and ``FEM_MBS_FAST`` is not 0."""
    return os.environ.get("FEM_MBS_FAST") != "0" and find_spec("llvmlite") is not None


def accelerate(system: System) -> None:
    """Have a system run compiled kernels, if these are in use, and anything can move."""
    if system.size and in_use():
        from fem_mbs.compiled import band, batches
        from fem_mbs.compiled.whole import whole

        band.compiled(system)
        system.whole = whole(system)
        if system.whole is None or system.size > DENSE_SIZE:
            batches.compiled(system)
