"""One thread for linear algebra where several cases run at once; otherwise every worker starts one for each core."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@contextmanager
def one_thread_each() -> Iterator[None]:
    """For workers that start within, by the environment that they inherit, and for threads of this process."""
    missing = [name for name in VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(missing, "1"))
    try:
        with _limits():
            yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


@cache
def one_thread_here() -> Any:
    """For a worker that ran before, from now on."""
    return _limits()


def _limits() -> Any:
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # an extra; the environment is enough for processes that are new
        return nullcontext()
    return threadpool_limits(1)
