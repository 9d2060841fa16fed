"""Collects the states of a run.

What a run stores.

The progress bar of a run, or of many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.contracts import Path, PositiveInt, Public, State, checked, named_file, real, shown
from fem_mbs.errors import ModelError
from fem_mbs.solution.outcome import Accuracy, Outcome, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import TurnCounter, Turns
from fem_mbs.system.states import read_only, to_user
from fem_mbs.system.system import System

if TYPE_CHECKING:
    from fem_mbs.run.loop import Accepted


@checked
@dataclass(frozen=True)
class Store(Public):
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
    every: PositiveInt = 1

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


Between = Callable[[State, State, float], State]
"""The state at a share of the way from one state to the next."""


class Wanted(Protocol):
    """Says which states to keep of a step from one state to another; of the start, which has none before it."""

    done: int
    """How far it has counted."""

    def __call__(self, before: State | None, state: State, /) -> Iterable[State]:
        """The states."""
        ...


class AtTimes:
    """States at given times, interpolated."""

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


class Recorder:
    """The states and counts of a run under way.

    Parameters
    ----------
    label, where : str
        What messages begin with, the function that was called, and how they name a place: "t = {:.6g} s".
    begun : float
        When the run began, ``time.perf_counter()``.
    first : State
        Where the run begins.
    make : function
        Makes the solution of the states, their marks, the outcome, the counts and the events.
    wanted : function, optional
        The states to keep; by default that after each step.
    mark : int
        The mark of the first state.
    warns : bool
        Whether failed steps are worth a warning.

    Attributes
    ----------
    last : State
        The last state so far; users see it through ``to_user``.
    """

    def __init__(
        self,
        label: str,
        where: str,
        begun: float,
        system: System,
        first: State,
        make: Callable[[list[State], list[int], Outcome, Stats, Sequence[list[State]], Turns | None], Solution],
        wanted: Callable[[State | None, State], Iterable[State]] | None = None,
        mark: int = 0,
        warns: bool = True,
    ) -> None:
        self.label, self.where, self.last, self.warns = label, where, first, warns
        self._make, self._wanted = make, wanted
        self._mark = mark
        self.to_user: Callable[[State], State] = partial(to_user, system)
        self._turns = None if wanted is None else TurnCounter(system)
        self._kept: list[tuple[State, int]] = []
        self._keep([first] if wanted is None else list(wanted(None, first)), first, mark)
        self._steps: list[float] = []
        self._reports: list[Any] = []
        self._begun = begun

    def add(self, accepted: Accepted) -> None:
        """Keep what is wanted of a step."""
        state, report, mark = accepted
        self._steps.append(state.t - self.last.t)
        self._reports.append((report.iterations, report.evaluations, report.factorizations))
        self._keep([state] if self._wanted is None else list(self._wanted(self.last, state)), state, mark)
        self.last, self._mark = state, mark

    def _keep(self, kept: list[State], state: State, mark: int) -> None:
        self._kept += [(own, mark) for own in kept]
        if self._turns is not None:
            self._turns.add(kept, state)

    def solution(
        self,
        outcome: Outcome,
        failed: int,
        rejected: int,
        events: Sequence[list[State]],
        error: Accuracy | None = None,
    ) -> Solution:
        """The solution so far; a run that ended before it should has its last state, wanted or not."""
        if outcome is not Outcome.FINISHED and not (self._kept and self._kept[-1][0] is self.last):
            self._kept.append((self.last, self._mark))
            if self._turns is not None:
                self._turns.keep_last()
        counts = np.array(self._reports, dtype=np.intp).reshape(-1, 3)
        evaluations, factorizations = (int(count) for count in counts[:, 1:].sum(axis=0))
        wall_time = time.perf_counter() - self._begun
        iterations, sizes = read_only(counts[:, 0]), read_only(np.array(self._steps))
        stats = Stats(iterations, evaluations, factorizations, failed, rejected, sizes, wall_time, error)
        states, marks = map(list, zip(*self._kept, strict=True))
        turns = None if self._turns is None else self._turns.counted()
        return self._make(states, marks, outcome, stats, events, turns)


def output_times(values: ArrayLike, label: str, what: str = "times") -> Array:
    """A list of times or of load factors, or a :class:`ModelError`."""
    result = real(values)
    if result is None or result.ndim != 1 or not len(result) or not np.isfinite(result).all():
        raise ModelError(f"{label} must be a list of {what}, received {shown(values)}")
    return result
