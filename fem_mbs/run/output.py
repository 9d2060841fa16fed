"""Which states of a run are kept, where they go, and how the run shows how far it has come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.contracts import Path, PositiveInt, Public, State, checked, named_file, real, shown
from fem_mbs.errors import ModelError
from fem_mbs.run.interfaces import Between, Progress


@checked
@dataclass(frozen=True)
class Store(Public):
    """A file that receives a run as it comes, where it is to hold less than all states: ``simulate(..., store=...)``.

    Parameters
    ----------
    path : str or Path
        The file, a database of SQLite; one that is there is replaced.
    channels : list of str, optional
        Names of channels, such as "tip.position" or "hinge.reaction.force": the file has these in place of states, and
        where the run stands, so that it can go on (docs/store.md).
    every : int
        Keep every so many steps, and the last one.
    """

    called: ClassVar[str] = "a path, or a Store"

    path: Path
    channels: Sequence[str] | None = None
    every: PositiveInt = 1

    @property
    def file(self) -> FilePath:
        """The path, with a suffix."""
        return named_file(FilePath(self.path), ".db", "simulate: store: path")


class EveryNth:
    """Selects the states after every so many steps, the first and the last."""

    def __init__(self, every: int, t_end: float, done: int = 0) -> None:
        self.every, self.t_end, self.done = every, t_end, done

    def __call__(self, before: State | None, state: State) -> list[State]:
        """That after a step, or none."""
        self.done += before is not None
        return [state] if self.done % self.every == 0 or state.t >= self.t_end else []


class AtTimes:
    """Selects states at given times, interpolated."""

    def __init__(self, times: Array, between: Between) -> None:
        self.times, self.between, self.done = times, between, 0

    def __call__(self, before: State | None, state: State) -> Iterable[State]:
        """Those that a step has passed."""
        while self.done < len(self.times) and self.times[self.done] <= state.t:
            t = float(self.times[self.done])
            self.done += 1
            if before is None or t == state.t:
                yield state
            else:
                yield self.between(before, state, (t - before.t) / (state.t - before.t))


def output_times(values: ArrayLike, label: str, what: str = "times") -> Array:
    """A list of times or of load factors, or a :class:`ModelError`."""
    result = real(values)
    if result is None or result.ndim != 1 or not len(result) or not np.isfinite(result).all():
        raise ModelError(f"{label} must be a list of {what}, received {shown(values)}")
    return result


def progress_bar(shown: bool, begin: float, end: float, label: str, unit: str) -> Progress | None:
    """Function that shows how far the run has come, or closes the bar; None if it is not wanted."""
    if not shown:
        return None
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
