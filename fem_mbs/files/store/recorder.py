"""A run that goes to a file: the recorder of :func:`fem_mbs.simulate`, which keeps nothing in memory."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from fem_mbs.contracts import State
from fem_mbs.errors import StoreError
from fem_mbs.files.store.file import RunFile, open_run
from fem_mbs.files.store.reading import Ended, solution_of
from fem_mbs.files.store.records import checkpoint_record, redundant_names
from fem_mbs.files.store.rows import NO_COUNTS, RowWriter, flat_turns, turning_joints
from fem_mbs.files.store.table import StepTable
from fem_mbs.files.store.values import Writer, packed
from fem_mbs.run.events import NO_STATS, Events
from fem_mbs.run.interfaces import AcceptedStep
from fem_mbs.run.output import AtTimes, EveryNth, Store
from fem_mbs.run.time_loop import TimeIntegration
from fem_mbs.solution.outcome import Accuracy, Outcome
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import TurnCounter

LOG = logging.getLogger("fem_mbs")
INTERVAL = 1.0
"""Seconds between checkpoints."""


class Totals(NamedTuple):
    """Counts over a run."""

    steps: int = 0
    iterations: int = 0
    evaluations: int = 0
    factorizations: int = 0


class FileRecorder:
    """A run under way whose states go to a file.

    Parameters
    ----------
    integration : TimeIntegration
        The run.
    store : Store
        Where it goes, and how much of it.
    table : StepTable
        The file.
    writer : RowWriter
        Makes rows.
    channels : list of Channel, or None
        What is kept in place of states.
    selection : function
        The states to keep, of a step.
    events : Events, optional
        What the run watches.
    started : float
        When the run began, ``time.perf_counter()``.
    """

    def __init__(
        self,
        integration: TimeIntegration,
        store: Store,
        table: StepTable,
        writer: RowWriter,
        channels: Any,
        selection: EveryNth | AtTimes,
        events: Events | None,
        started: float,
    ) -> None:
        self.system, self.last = integration.system, integration.state
        self.events, self.integration = events, integration
        self._table, self._writer, self._selection = table, writer, selection
        self._channels = channels
        self._joints = turning_joints(integration.system)
        self._turns = TurnCounter(integration.system) if self._joints and is_sparse(store, selection) else None
        self._started, self._flushed, self._wall = started, time.perf_counter(), 0.0
        self._since, self.totals = [*NO_COUNTS], Totals()
        self._hits: list[int] = []
        self._kept_last = self._lost = False
        self.session = 1

    def begin(self) -> None:
        """Keep the first state."""
        self._keep(list(self._selection(None, self.last)), self.last)
        self.flush()

    def resume(self, file: RunFile, hits: list[int]) -> None:
        """Count on from the checkpoint of a file."""
        self._since, self.totals = file.kept("since"), Totals(*file.kept("totals"))
        self._wall, self._hits, self.session = file.kept("wall"), hits, file.kept("session") + 1
        self._selection.done = file.kept("done")
        if self._turns is not None:
            turns = dict(zip(self._joints, file.kept("turns"), strict=True))
            self._turns.resume(turns, self.last)
        self._writer.session(self.session)
        self.flush()

    def add(self, step: AcceptedStep) -> None:
        """Store what is selected of a step."""
        state, report, _ = step
        counts = 1, report.iterations, report.evaluations, report.factorizations
        self._since = [own + more for own, more in zip(self._since, counts, strict=True)]
        self.totals = Totals(*(own + more for own, more in zip(self.totals, counts, strict=True)))
        before, self.last = self.last, state
        self._lost = True  # until it is in the file: not if the disk is full, or on Ctrl-C in between
        self._add_events()
        self._keep(list(self._selection(before, state)), state)
        self._lost = False
        if time.perf_counter() - self._flushed > INTERVAL:
            self.flush()

    def flush(self, outcome: Outcome | None = None, rows: int | None = None, since: list[int] | None = None) -> None:
        """Let other programs see the rows, and keep where the run stands: after how many, with what counts since."""
        if not self._table.flush(self._checkpoint(outcome, rows, since)):
            self._table.flush(self._checkpoint(outcome, rows, since, whole=False))
            LOG.warning(
                "'%s' has no room for where the run stands, so that mbs.resume cannot go on with it; %s remembers much",
                self._table.path,
                type(self.integration.method).__name__,
            )
        self._flushed = time.perf_counter()

    def solution(
        self, outcome: Outcome, failed: int, rejected: int, events: Sequence[list[State]], error: Accuracy | None = None
    ) -> Solution:
        """The solution so far, read from the file where it is asked for."""
        self._wall, self._started = self._time(), math.nan
        # where a step is not in the file, the last checkpoint stays
        if not self._lost and (outcome is not Outcome.INTERRUPTED or self.integration.state is self.last):
            with contextlib.suppress(StoreError):
                stands = self._table.rows, self._since
                if not self._kept_last and outcome is not Outcome.FINISHED:
                    self._keep([self.last], self.last)
                self.flush(outcome, *stands)
        self._table.close()
        ended = Ended(outcome, failed, rejected, error, self.last.t, self.totals, self._since, self._time())
        return solution_of(open_run(self._table.path), self.system, self.integration.checkpoint(), events, ended)

    def _time(self) -> float:
        return self._wall if math.isnan(self._started) else self._wall + time.perf_counter() - self._started

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
            self._table.add(self._writer.fill(own, self._since, flat, one=one))
            self._since = [*NO_COUNTS]

    def _add_events(self) -> None:
        """Store the states of events that were found since."""
        for event, states in enumerate(() if self.events is None else self.events.states):
            if event == len(self._hits):
                self._hits.append(0)
            for state in states[self._hits[event] :]:
                self._table.add(self._writer.fill(state, event=event))
            self._hits[event] = len(states)

    def _checkpoint(
        self, outcome: Outcome | None, rows: int | None, since: list[int] | None, whole: bool = True
    ) -> bytes:
        """Where the run stands, as bytes; how much of it is known if it is not ``whole``."""
        writer, error = Writer(), self.integration.error
        text = {
            "outcome": None if outcome is None else outcome.name,
            "rows": self._table.rows,
            "go_on": self._table.rows if rows is None else rows,
            **checkpoint_record(writer, self.integration.checkpoint(), whole),
            "tally": writer.value([*self.integration.counts()]),
            "error": None if error is None else [float(own) for own in error],
            "totals": list(self.totals),
            "since": self._since if since is None else since,
            "wall": self._time(),
            "turns": [] if self._turns is None else [writer.value(own) for own in self._turns.last().values()],
            "done": self._selection.done,
            "event_values": [] if self.events is None else list(self.events.values),
            "session": self.session,
            "redundant": redundant_names(self.system),
        }
        return packed(writer.data(text))


def is_sparse(store: Store, selection: EveryNth | AtTimes) -> bool:
    """Whether there are fewer states in the file than steps, so that turns have to be counted on the way."""
    return store.every > 1 or isinstance(selection, AtTimes) or store.channels is not None
