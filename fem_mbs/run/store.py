"""What a run stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import ClassVar

from fem_mbs.model import Count, Path, checked, named_file
from fem_mbs.system import State


@checked
@dataclass(frozen=True)
class Store:
    """A file that receives a run as it comes, where it is to hold less than all states: ``simulate(..., store=...)``.

    Parameters
    ----------
    path : str or Path
        The file, HDF5; one that is there is replaced.
    channels : list of str, optional
        Names of channels, such as "tip.position" or "hinge.reaction.force": the file has these in place of states, and
        where the run stands, so that it can go on (docs/store.md).
    every : int
        Keep every so many steps, and the last one.
    """

    called: ClassVar[str] = "a path, or a Store"

    path: Path
    channels: Sequence[str] | None = None
    every: Count = 1

    @property
    def file(self) -> FilePath:
        """The path, with a suffix."""
        return named_file(FilePath(self.path), ".h5", "simulate: store: path")


class EveryFew:
    """The states after every so many steps, the first and the last."""

    def __init__(self, every: int, t_end: float, done: int = 0) -> None:
        self.every, self.t_end, self.done = every, t_end, done

    def __call__(self, before: State | None, state: State) -> list[State]:
        """That after a step, or none."""
        self.done += before is not None
        return [state] if self.done % self.every == 0 or state.t >= self.t_end else []
