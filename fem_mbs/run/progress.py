"""The progress bar of a run, or of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fem_mbs.errors import ModelError


def progress_bar(wanted: bool, begin: float, end: float, label: str, unit: str) -> Callable[[float | None], None]:
    """Function that shows how far the run has come, or closes the bar."""
    if not wanted:
        return lambda reached: None
    try:
        from tqdm import tqdm
    except ImportError:
        raise ModelError(f"{label}: progress=True needs tqdm; install it with pip install fem_mbs[progress]") from None
    bar: Any = tqdm(desc="fem_mbs", initial=begin, total=end, unit=unit, unit_scale=True)

    def show(reached: float | None) -> None:
        if reached is None:
            bar.close()
        else:
            bar.update(reached - bar.n)

    return show
