"""How far a calculation has come, as a bar on the terminal (extra ``progress``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fem_mbs.errors import MissingPackageError, needed

AFTER = 2.0
"""Seconds from which on a bar that nobody asked for is shown."""

Progress = Callable[[float | None], None]
"""Takes how far it has come, and None at the end."""


def progress_bar(shown: bool | None, begin: float, end: float, label: str, unit: str) -> Progress | None:
    """Function that shows how far something has come, or closes the bar; None if it is not wanted.

    ``shown`` is None where nobody was asked: then there is a bar on a terminal, after ``AFTER`` seconds.
    """
    if shown is False:
        return None
    try:
        tqdm = needed("tqdm", f"{label}: progress=True", "progress").tqdm
    except MissingPackageError:
        if shown is None:
            return None
        raise
    how: dict[str, Any] = dict(disable=None, delay=AFTER, desc=label) if shown is None else dict(desc="fem_mbs")
    bar: Any = tqdm(initial=begin, total=end, unit=unit, unit_scale=True, **how)

    def show(reached: float | None) -> None:
        if reached is None:
            bar.close()
        else:
            bar.update(reached - bar.n)

    return show
