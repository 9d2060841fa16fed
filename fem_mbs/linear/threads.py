"""One thread for linear algebra while a run is under way.

The matrices of a step are too small for several threads of OpenBLAS: these wait for one another actively, and a banded
factorisation of half width 65 takes hundreds of times as long where other programs run. PARDISO keeps its threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def one_thread(function: Function) -> Function:
    """A function within which OpenBLAS has one thread, where threadpoolctl is installed."""

    @wraps(function)
    def limited(*given: Any, **named: Any) -> Any:
        libraries = _libraries()
        if libraries is None:
            return function(*given, **named)
        with libraries.limit(limits=1):
            return function(*given, **named)

    return limited  # type: ignore[return-value]


@cache
def _libraries() -> Any:
    """OpenBLAS of NumPy and SciPy; None where nothing can be limited."""
    if find_spec("threadpoolctl") is None:
        return None
    import scipy.linalg  # noqa: F401  its library has to be there
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(internal_api="openblas")
