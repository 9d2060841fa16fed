"""A run that goes to a file: the recorder of :func:`fem_mbs.simulate`, which keeps little in memory, and going on."""

from __future__ import annotations

import contextlib
import math
import sqlite3
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from types import MappingProxyType

from fem_mbs.compiled import accelerate
from fem_mbs.contracts import EventLike, Method, Path, State, checked
from fem_mbs.contracts.arguments import listed
from fem_mbs.errors import LOG, ModelError, StoreError, progress_bar
from fem_mbs.files.store.database import Database, guarded, new_file
from fem_mbs.files.store.run_file import RunFile
from fem_mbs.files.store.save import STANDS, RowWriter, Steps, asked, flat_turns, stands
from fem_mbs.files.store.values import Writer, record
from fem_mbs.linear.direct import one_thread
from fem_mbs.model.model import Model
from fem_mbs.run.events import NO_STATS, Events
from fem_mbs.run.interfaces import AcceptedStep, Callback, StepSequence, check_checkpoint
from fem_mbs.run.recorder import AtTimes, EveryNth, Store
from fem_mbs.run.time_loop import TimeIntegration, run_to_end
from fem_mbs.solution.channels import parse
from fem_mbs.solution.history import Outcome
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import TurnCounter, begun, turning_joints
from fem_mbs.system.states import from_user

INTERVAL = 1.0
"""Seconds between checkpoints, with which all steps before are written."""


class FileRecorder:
    """A run under way whose states go to a file; ``started`` is when it began, ``time.perf_counter()``."""

    def __init__(
        self,
        integration: TimeIntegration,
        steps: Steps,
        writer: RowWriter,
        selection: EveryNth | AtTimes,
        events: Events | None,
        started: float,
    ) -> None:
        self.system, self.last = integration.system, integration.state
        self.events, self.integration, self.steps = events, integration, steps
        self._writer, self._selection = writer, selection
        self._joints = turning_joints(integration.system)
        counted = self._joints and (writer.channels is not None or "turns" in writer.shapes)
        self._turns = TurnCounter(integration.system, integration.state) if counted else None
        self._started, self._flushed, self._wall = started, time.perf_counter(), 0.0
        self._since, self._evaluated, self._hits = 0, [0, 0], 0
        self._seen: list[int] = []
        self._kept_last = self._lost = False

    def begin(self, contents: dict[tuple[str, int], bytes]) -> None:
        """Write what never changes, and the first state."""
        self._keep(list(self._selection(None, self.last)), self.last)
        self.steps.write({**contents, STANDS: self._stands(None)})

    def resume(self, file: RunFile) -> None:
        """Count on from the checkpoint of a file; rows and events beyond it are taken out."""
        known = file.stands
        self._since, self._evaluated, self._wall = known["since"], list(known["evaluated"]), known["wall"]
        self._selection.done, self._hits = known["done"], known["hits"]
        self._kept_last = not self._since  # nothing was counted since the last row
        if self.events is not None:
            for states, found in zip(self.events.states, file.events(), strict=True):
                states += found
            self.events.values = [float(value) for value in known["event_values"]]
            self._seen = [len(states) for states in self.events.states]
        if self._turns is not None:
            self._turns.resume(dict(zip(self._joints, known["turns"], strict=True)), self.last)
        self._flush(None, beyond={"steps": self.steps.rows, "checkpoints": self._hits + 1})

    def add(self, step: AcceptedStep) -> None:
        """Store what is selected of a step."""
        state, report, _ = step
        self._lost = True  # until all of it is at hand: not if the disk is full, or on Ctrl-C in between
        self._since += report.iterations
        self._evaluated[0] += report.evaluations
        self._evaluated[1] += report.factorizations
        before, self.last = self.last, state
        self._keep(list(self._selection(before, state)), state)
        if self.steps.many or time.perf_counter() - self._flushed > INTERVAL:
            self._flush(None)
        self._lost = False

    def _flush(
        self,
        outcome: Outcome | None,
        rows: int | None = None,
        since: int | None = None,
        beyond: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Write the rows since, and where the run stands: ``rows`` and iterations ``since`` of before its last row."""
        contents = {("checkpoints", self._hits + k): own for k, own in enumerate(self._new_events(), 1)}
        self._hits += len(contents)
        try:
            self.steps.write({**contents, STANDS: self._stands(outcome, rows, since)}, beyond)
        except sqlite3.Error as error:
            raise StoreError(
                f"store: cannot write '{self.steps.database.path}': {error}. Its {self.steps.rows} rows so far are in "
                "it, and mbs.load opens it; with more space, mbs.resume goes on"
            ) from error
        self._flushed = time.perf_counter()

    def solution(self, outcome: Outcome, steps: StepSequence, events: Sequence[list[State]]) -> Solution:
        """The solution so far, read from the file where it is asked for."""
        self._wall, self._started = self._time(), math.nan
        # where a step is not in the file, the last checkpoint stays
        lost = self._lost or (outcome is Outcome.INTERRUPTED and self.integration.state.t != self.last.t)
        trouble: StoreError | None = None
        if lost:
            with contextlib.suppress(sqlite3.Error):
                self.steps.write()
        else:
            try:
                rows = since = None
                if not self._kept_last and outcome is not Outcome.FINISHED:  # its last state, selected or not
                    self._flush(None)
                    rows, since = self.steps.rows, self._since
                    self._keep([self.last], self.last)
                self._flush(outcome, rows, since)
            except StoreError as error:
                trouble, outcome = None if outcome is Outcome.FAILED else error, Outcome.FAILED
        self.steps.database.close()
        file = RunFile(self.steps.database.path)
        with guarded(file.path):
            file.stand(self._stands(outcome))
            result = file.solution(self.system, self.integration.checkpoint(ended=True), events)
        if trouble is not None:
            trouble.solution = result
            raise trouble
        return result

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
            if self._writer.channels is not None:
                here = None if turns is None else {joint: turns[joint][k : k + 1] for joint in self._joints}
                one = Solution(self.system, [own], Outcome.CUT, NO_STATS, turns=here)
            states = self._writer.channels is None
            before = self._writer.fill(own.before) if states and own.before is not None else None
            self.steps.add(self._writer.fill(own, self._since, flat, one), before)
            self._since = 0

    def _new_events(self) -> list[bytes]:
        """States of events that were found since."""
        found = []
        for event, states in enumerate(() if self.events is None else self.events.states):
            if event == len(self._seen):
                self._seen.append(0)
            found += [record(event=event, state=state) for state in states[self._seen[event] :]]
            self._seen[event] = len(states)
        return found

    def _stands(self, outcome: Outcome | None, rows: int | None = None, since: int | None = None) -> bytes:
        """Where the run stands."""
        error = self.integration.error
        checkpoint = self.integration.checkpoint()
        return stands(
            self.system,
            checkpoint.state,
            checkpoint,
            outcome=None if outcome is None else outcome.name,
            rows=self.steps.rows,
            go_on=self.steps.rows if rows is None else rows,
            tally=[*self.integration.counts()],
            error=[float(own) for own in error] if error.estimated else None,
            evaluated=self._evaluated,
            compiled=list(self.system.compiled),
            solver=self.system.solver.kind,
            since=self._since if since is None else since,
            wall=self._time(),
            turns=[] if self._turns is None else list(self._turns.last().values()),
            done=self._selection.done,
            hits=self._hits,
            event_values=[] if self.events is None else list(self.events.values),
        )


def in_file(
    integration: TimeIntegration, store: Store, times: AtTimes | None, events: Events | None, started: float
) -> FileRecorder:
    """Make the file of a run that begins, with its first state: at once, in place of a file that is there.

    Raises
    ------
    ModelError
        If the model cannot be stored as it is, or channels are of something that it does not have.
    StoreError
        If the file cannot be written.
    """
    system = integration.system
    channels = None if store.channels is None else [parse(system, name) for name in store.channels]
    if channels is not None and events is not None:
        raise ModelError("simulate: events have states, and the store keeps channels alone; leave channels or events")
    if channels is not None and not channels:
        raise ModelError("simulate: store: channels must name one channel at least, received none")
    if store.every > 1 and times is not None:
        raise ModelError(f"simulate: store: every = {store.every} and times exclude each other; give one of them")
    selection = times or EveryNth(store.every, integration.t_end)
    # of fewer states in the file than steps, turns have to be counted on the way
    sparse = channels is not None or times is not None or store.every > 1
    contents, writer = asked(
        system,
        integration.method,
        channels,
        turning_joints(system) if sparse or begun(system, integration.state) else [],
        begin=integration.state.t,
        t_end=integration.t_end,
        control=integration.control,
        times=None if times is None else times.times,
        every=store.every,
        events=0 if events is None else len(events.states),
        names=list(integration.checkpoint().names),
        first=integration.state,
        loading=None,
    )
    with new_file(store.file, "store", keep=True) as database:
        steps = Steps(database)
        recorder = FileRecorder(integration, steps, writer, selection, events, started)
        recorder.begin(contents)
    return recorder


ENDED = (Outcome.FINISHED, Outcome.STOPPED, Outcome.EVENT)


@checked
@one_thread
def resume(
    path: Path,
    model: Model | None = None,
    *,
    method: Method | None = None,
    events: EventLike | Sequence[EventLike] | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Solution:
    """Go on with a stored run that was cut off, to its end, as if that had never happened: the same to the bit.

    Parameters
    ----------
    path : str or Path
        The file of :func:`simulate`; it receives the rest. A run that has reached its end, or was ended by a callback
        or an event, is returned as it is.
    model : Model, optional
        The model of the script, where it has functions or classes of the script, which do not travel in files; it must
        be the same.
    method : Method, optional
        The method of the run, if that is one of the script.
    events, callback, progress
        As in :func:`simulate`; ``events`` must be those of the run.

    Raises
    ------
    StoreError
        If the file cannot be read or written.
    ModelError
        If something is missing that does not travel in files, or the model or the method is another one.
    """
    with guarded(FilePath(path), own=False):
        file = RunFile(FilePath(path))
        if file.outcome in ENDED:
            if file.outcome is not Outcome.FINISHED:
                LOG.warning(
                    "resume: %s It is returned as it is, to t = %g s of %g s; simulate(model, ..., "
                    "initial=solution.checkpoint) goes on from there",
                    *(file.outcome.value, file.stands["state"].t, file.end),
                )
            return file.loaded(model)
        recorder = _resumed(file, model, method, events)
        integration = recorder.integration
        show = progress_bar(progress, integration.state.t, integration.t_end, "resume", "s")
        return run_to_end(integration, recorder, recorder.events, callback, show)


def _resumed(
    file: RunFile, model: Model | None, given: Method | None, events: EventLike | Sequence[EventLike] | None
) -> FileRecorder:
    """The rest of a run, and where it goes."""
    path, started = file.path, time.perf_counter()
    if file.run["loading"] is not None:
        raise ModelError(
            f"resume: '{path}' is a load path; go on with it by mbs.statics(model, initial=mbs.load(path).state(-1))"
        )
    system = file.system(model)
    if missing := [f"the function '{own.__name__}'" for own in file.functions.values()]:
        raise ModelError(
            f"resume: '{path}' lacks {listed(missing, most=5)}: functions of a script do not travel in files. Give the "
            "model of the script: mbs.resume(path, model)"
        )
    method = _method(file, given)
    method.check(system)
    accelerate(system)
    with guarded(path):
        from_user(system, file.run["first"], "its first state")
        if (checkpoint := file.checkpoint(method)) is not None:
            check_checkpoint(checkpoint, system, method)
    if checkpoint is None:
        raise ModelError(f"resume: '{path}': {type(method).__name__} has not made the run; give its method")
    with guarded(path, own=model is None):
        integration = TimeIntegration(system, method, file.run["control"], file.end, checkpoint)
        integration.resume(file.stands["tally"], file.run["first"])
    between = partial(method.between, system)
    watched = None if events is None else Events(events, system, integration.state, between, "resume")
    count = 0 if watched is None else len(watched.states)
    if count != file.run["events"]:
        raise ModelError(
            f"resume: '{path}': the run watched {file.run['events']} events, received {count}; functions do not "
            "travel in files, give those of the run as events"
        )
    with guarded(path):
        times, writer = file.run["times"], RowWriter(file.rows(system).shapes, file.channels(system))
        selection = EveryNth(file.run["every"], integration.t_end) if times is None else AtTimes(times, between)
        steps = Steps(Database(path, write=True), file.stands["go_on"])
        recorder = FileRecorder(integration, steps, writer, selection, watched, started)
        recorder.resume(file)
        return recorder


def _method(file: RunFile, given: Method | None) -> Method:
    """The method of the run."""
    with guarded(file.path):
        own = file.method
    if own is None and given is None:
        raise ModelError(
            f"resume: '{file.path}' was made with {file.run['method_name']}, a method of the script, which "
            "does not travel in files; give it as method"
        )
    if own is not None and given is not None and Writer().value(given) != file.run.text["method"]:
        raise ModelError(f"resume: '{file.path}' was made with another method, {own}, received {given}")
    return own or given  # type: ignore[return-value]
