"""The progress bar of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fem_mbs.errors import ModelError
from fem_mbs.system import State


def progress_bar(wanted: bool, begin: float, end: float, label: str, unit: str) -> Callable[[State | None], None]:
    """Function that shows a state of the run, or closes the bar."""
    if not wanted:
        return lambda state: None
    try:
        from tqdm import tqdm
    except ImportError:
        raise ModelError(f"{label}: progress=True needs tqdm; install it with pip install fem_mbs[progress]") from None
    bar: Any = tqdm(desc="fem_mbs", initial=begin, total=end, unit=unit, unit_scale=True)

    def show(state: State | None) -> None:
        if state is None:
            bar.close()
        else:
            bar.update(state.t - bar.n)

    return show
