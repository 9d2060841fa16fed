"""A run that goes to a file: the recorder of :func:`fem_mbs.simulate`, which keeps nothing in memory."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fem_mbs.errors import ModelError, StoreError
from fem_mbs.result import Accuracy, Outcome, Solution, Stats, TurnCounter, parse
from fem_mbs.run import AtTimes, EveryFew, Store, Wanted
from fem_mbs.store import file as files
from fem_mbs.store.answers import write_answers
from fem_mbs.store.description import Description, describe
from fem_mbs.store.rows import NO_COUNTS, NO_EVENT, RowWriter, asked_in_time, flat_turns, row_type, turning_joints
from fem_mbs.store.table import StepTable, create
from fem_mbs.store.values import Data, UnstorableError, Writer, packed
from fem_mbs.system import ARRAYS, State, System, given_out

if TYPE_CHECKING:
    from fem_mbs.integrate import Checkpoint
    from fem_mbs.integrate.march import March
    from fem_mbs.run import Accepted, Events

LOG = logging.getLogger("fem_mbs")
INTERVAL = 1.0
"""Seconds between checkpoints."""
ROOM, STATES = 65536, 40
"""Size of a checkpoint in bytes, and in states, for which there is room."""


class Totals(NamedTuple):
    """Counts over a run."""

    steps: int = 0
    iterations: int = 0
    evaluations: int = 0
    factorizations: int = 0


class StoredRun:
    """A run under way whose states go to a file.

    Parameters
    ----------
    march : March
        The run.
    store : Store
        Where it goes, and how much of it.
    table : StepTable
        The file.
    writer : RowWriter
        Makes rows.
    wanted : function
        The states to keep, of a step.
    watch : Events
        What it watches.
    begun : float
        When the run began, ``time.perf_counter()``.
    """

    label, where, warns = "simulate", "t = {:.6g} s", True

    def __init__(
        self,
        march: March,
        store: Store,
        table: StepTable,
        writer: RowWriter,
        channels: Any,
        wanted: Wanted,
        watch: Events,
        begun: float,
    ) -> None:
        self.system, self.last = march.system, march.state
        self.given_out: Callable[[State], State] = partial(given_out, march.system)
        self._watch, self._march, self._table, self._writer, self._wanted = watch, march, table, writer, wanted
        self._channels = channels
        self._joints = turning_joints(march.system)
        self._turns = TurnCounter(march.system) if self._joints and is_sparse(store, wanted) else None
        self._begun, self._flushed, self._wall = begun, time.perf_counter(), 0.0
        self._since, self.totals = [*NO_COUNTS], Totals()
        self._hits: list[int] = []
        self._kept_last = self._lost = False
        self.session = 1

    def begin(self) -> None:
        """Keep the first state."""
        self._keep(list(self._wanted(None, self.last)), self.last)
        self.flush()

    def go_on(self, file: files.RunFile, hits: list[int]) -> None:
        """Count on from the checkpoint of a file."""
        self._since, self.totals = file.kept("since"), Totals(*file.kept("totals"))
        self._wall, self._hits, self.session = file.kept("wall"), hits, file.kept("session") + 1
        self._wanted.done = file.kept("done")  # type: ignore[attr-defined]
        if self._turns is not None:
            turns = dict(zip(self._joints, file.kept("turns"), strict=True))
            self._turns.go_on(turns, self.last)
        self._writer.session(self.session)
        self.flush()

    def add(self, accepted: Accepted) -> None:
        """Store what is wanted of a step."""
        state, report, _ = accepted
        counts = 1, report.iterations, report.evaluations, report.factorizations
        self._since = [own + more for own, more in zip(self._since, counts, strict=True)]
        self.totals = Totals(*(own + more for own, more in zip(self.totals, counts, strict=True)))
        before, self.last = self.last, state
        try:
            self._add_events()
            self._keep(list(self._wanted(before, state)), state)
            if time.perf_counter() - self._flushed > INTERVAL:
                self.flush()
        except StoreError:
            self._lost = True
            raise

    def flush(self, outcome: Outcome | None = None, rows: int | None = None, since: list[int] | None = None) -> None:
        """Let other programs see the rows, and keep where the run stands: after how many, with what counts since."""
        if not self._table.flush(self._checkpoint(outcome, rows, since)):
            LOG.warning(
                "'%s' has no room for where the run stands, so that mbs.resume cannot go on with it; %s remembers much",
                self._table.path,
                type(self._march.method).__name__,
            )
        self._flushed = time.perf_counter()

    def solution(
        self, outcome: Outcome, failed: int, rejected: int, events: Sequence[list[State]], error: Accuracy | None = None
    ) -> Solution:
        """The solution so far, read from the file where it is asked for."""
        # of a disk that is full the last checkpoint stays: what comes after it is not in the file
        if not self._lost:
            with contextlib.suppress(StoreError):
                stands = self._table.rows, self._since
                if not self._kept_last and outcome is not Outcome.FINISHED:
                    self._keep([self.last], self.last)
                self.flush(outcome, *stands)
        self._table.close()
        ended = files.Ended(outcome, failed, rejected, error, self.last.t, self.totals, self._since, self._time())
        file = files.open_run(self._table.path)
        return file.solution(self.system, self._march.checkpoint(), events, ended)

    def _time(self) -> float:
        return self._wall + time.perf_counter() - self._begun

    def _keep(self, kept: list[State], state: State) -> None:
        if self._turns is not None:
            self._turns.add(kept, state)
        self._kept_last = bool(kept) and kept[-1] is state
        if not kept:
            return
        turns = None if self._turns is None else self._turns.since()
        for k, own in enumerate(kept):
            flat = None if turns is None else flat_turns(turns, self._joints, k)
            one = None
            if self._channels is not None:
                here = None if turns is None else {joint: turns[joint][k : k + 1] for joint in self._joints}
                one = Solution(self.system, [own], Outcome.CUT, NO_STATS, turns=here)
            self._table.add(self._writer.fill(own, self._since, flat, NO_EVENT, one))
            self._since = [*NO_COUNTS]

    def _add_events(self) -> None:
        """Store the states of events that were found since."""
        for event, hits in enumerate(self._watch.hits):
            if event == len(self._hits):
                self._hits.append(0)
            for state in hits[self._hits[event] :]:
                self._table.add(self._writer.fill(state, NO_COUNTS, None, event, None))
            self._hits[event] = len(hits)

    def _checkpoint(self, outcome: Outcome | None, rows: int | None, since: list[int] | None) -> bytes:
        """Where the run stands, as bytes."""
        writer, error = Writer(), self._march.error
        text = {
            "outcome": None if outcome is None else outcome.name,
            "rows": self._table.rows,
            "go_on": self._table.rows if rows is None else rows,
            **standing(writer, self._march.checkpoint()),
            "tally": writer.value([*self._march.tally()]),
            "error": None if error is None else [float(own) for own in error],
            "totals": list(self.totals),
            "since": self._since if since is None else since,
            "wall": self._time(),
            "turns": [] if self._turns is None else [writer.value(own) for own in self._turns.last().values()],
            "done": getattr(self._wanted, "done", 0),
            "session": self.session,
            "redundant": redundant(self.system),
        }
        return packed(writer.data(text))


def standing(writer: Writer, checkpoint: Checkpoint) -> dict[str, Any]:
    """The state, the memory of the method and that of the steps."""
    return {
        "state": {name: writer.value(getattr(checkpoint.state, name)) for name in ("t", *ARRAYS)},
        "memory": {name: writer.value(own) for name, own in checkpoint.memory._asdict().items()},
        "memory_name": type(checkpoint.memory).__name__,
        "pace": {name: writer.value(own) for name, own in checkpoint.pace._asdict().items()},
    }


def redundant(system: System) -> list[str]:
    """Names of the joints that repeat each other."""
    return [] if system.redundant is None else [str(joint.name) for joint in system.redundant.joints]


NO_STATS = Stats(np.zeros(0, np.intp), 0, 0, 0, 0, np.zeros(0), 0.0)


def begin_stored(march: March, store: Store, wanted: Wanted | None, watch: Events, begun: float) -> StoredRun:
    """Make the file of a run that begins.

    Raises
    ------
    ModelError
        If the model cannot be stored as it is, or channels are of something that it does not have.
    StoreError
        If the file cannot be written.
    """
    system, events = march.system, len(watch.functions)
    channels = None if store.channels is None else [parse(system, name) for name in store.channels]
    if channels is not None and events:
        raise ModelError("simulate: events have states, and the store keeps channels alone; leave channels or events")
    if channels is not None and not channels:
        raise ModelError("simulate: store: channels must name one channel at least, received none")
    if store.every > 1 and wanted is not None:
        raise ModelError(f"simulate: store: every = {store.every} and times exclude each other; give one of them")
    if wanted is None:
        wanted = EveryFew(store.every, march.t_end)
    description = describe(system)
    dtype = _type(description, march, store, wanted, channels)
    options = _options(march, store, wanted, events)
    _create(store, dtype, description, options, march)
    table = StepTable(store.file, dtype.itemsize)
    run = StoredRun(
        march, store, table, RowWriter(dtype, description.functions, channels, 1), channels, wanted, watch, begun
    )
    run.begin()
    return run


def is_sparse(store: Store, wanted: Wanted) -> bool:
    """Whether there are fewer states in the file than steps, so that turns have to be counted on the way."""
    return store.every > 1 or isinstance(wanted, AtTimes) or store.channels is not None


def _type(description: Description, march: March, store: Store, wanted: Any, channels: Any) -> Any:
    functions = asked_in_time(description.functions, description.system, march.state.t)
    turning = sum(len(joint.coordinates) for joint in turning_joints(march.system)) if is_sparse(store, wanted) else 0
    return row_type(march.system, channels, turning, functions)


def _options(march: March, store: Store, wanted: Any, events: int) -> Data:
    """What a run was asked for."""
    writer = Writer()
    try:
        method = writer.value(march.method)
    except UnstorableError:
        method = None
    control = writer.value(march.control)
    text = {
        "begin": march.state.t,
        "t_end": march.t_end,
        "control": control,
        "method": method if isinstance(method, dict) and "class" in method else None,
        "method_name": type(march.method).__name__,
        "times": writer.value(wanted.times) if isinstance(wanted, AtTimes) else None,
        "every": store.every,
        "channels": None if store.channels is None else list(store.channels),
        "events": events,
        "names": list(march.checkpoint().names),
        "first": {name: writer.value(getattr(march.state, name)) for name in ("t", *ARRAYS)},
    }
    return writer.data(text)


def _create(store: Store, dtype: Any, description: Description, options: Data, march: March) -> None:
    state = sum(getattr(march.state, name).nbytes for name in ARRAYS)
    parts = {"model": description.model, "run": options, "functions": write_answers(description.functions)}
    create(store.file, dtype, ROOM + STATES * state, partial(files.fill, parts, march.system.origin))
