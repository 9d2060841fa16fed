"""Runs from files: opened, gone on with, and written after they have ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Any

from fem_mbs.contracts import EventFunction, Method, Path, checked
from fem_mbs.errors import ModelError
from fem_mbs.files.store.build import Unavailable
from fem_mbs.files.store.file import RunFile, open_run
from fem_mbs.files.store.guard import guarded
from fem_mbs.files.store.reading import event_state, loaded
from fem_mbs.files.store.recorder import StoredRun
from fem_mbs.files.store.rows import RowWriter
from fem_mbs.files.store.table import StepTable
from fem_mbs.files.store.values import UnstorableError, Writer
from fem_mbs.model.model import Model
from fem_mbs.run.events import Events
from fem_mbs.run.loop import Callback, drive
from fem_mbs.run.march import Tally, TimeIntegration
from fem_mbs.run.recorder import AtTimes, EveryFew, Store, Wanted, progress_bar
from fem_mbs.solution.outcome import Outcome
from fem_mbs.solution.solution import Solution
from fem_mbs.system.states import from_user, to_user
from fem_mbs.system.system import System

ENDED = (Outcome.FINISHED, Outcome.STOPPED, Outcome.EVENT)


@checked
def load(path: Path, model: Model | None = None) -> Solution:
    """A run from a file, with all its queries by name; what is asked for is read from the file.

    Parameters
    ----------
    path : str or Path
        What ``simulate(..., store=path)`` or ``solution.save(path)`` has written; also of a run that is under way.
    model : Model, optional
        The model of the script, if the file lacks functions or classes of the script that a query needs: it must be the
        same.

    Raises
    ------
    StoreError
        If it is no such file, one of a newer version, or was cut short or tampered with.
    ModelError
        If the model is another one.
    """
    with guarded(FilePath(path), own=False):
        return loaded(open_run(FilePath(path)), model)


@checked
def resume(
    path: Path,
    model: Model | None = None,
    *,
    method: Method | None = None,
    events: EventFunction | Sequence[EventFunction] | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Solution:
    """Go on with a stored run that was cut off, to its end, as if that had never happened: the same to the bit.

    Parameters
    ----------
    path : str or Path
        The file of :func:`simulate`; it receives the rest. A run that has reached its end is returned as it is.
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
        file = open_run(FilePath(path))
        if file.outcome in ENDED:
            return loaded(file, model)
        run = _going_on(file, model, method, events)
        show = progress_bar(progress, run.last.t, run.march.t_end, "resume", "s")
        return drive(run.march, run, run.watch, callback, show)


def _going_on(
    file: RunFile,
    model: Model | None,
    given: Method | None,
    events: EventFunction | Sequence[EventFunction] | None,
) -> StoredRun:
    """The rest of a run, and where it goes."""
    path, begun = file.path, time.perf_counter()
    if file.options["loading"] is not None:
        raise ModelError(
            f"resume: '{path}' is a load path; go on with it by mbs.statics(model, initial=mbs.load(path).state(-1))"
        )
    system = file.system(model)
    if model is None:
        _check_complete(file, system)
    method = _method(file, given)
    method.check(system)
    march = _march(file, model, system, method)
    between = partial(method.between, system)
    watch = Events(events, march.state, between, partial(to_user, system), "resume")
    if len(watch.functions) != file.options["events"]:
        raise ModelError(
            f"resume: '{path}': the run watched {file.options['events']} events, received {len(watch.functions)}; "
            "functions do not travel in files, give those of the run as events"
        )
    with guarded(path):
        return _recorder(file, march, watch, between, begun)


def _march(file: RunFile, model: Model | None, system: System, method: Method) -> TimeIntegration:
    """The run where it stands."""
    with guarded(file.path):
        checkpoint = file.stands(method)
        tally, first = Tally(*file.kept("tally")), file.state("first")
        from_user(system, first, "its first state")
        if checkpoint is not None:
            checkpoint.check(system, method)
    if file.checkpoint["memory_name"] is None:
        raise ModelError(
            f"resume: '{file.path}' does not say what {type(method).__name__} remembers of the run; start a new one "
            "from its last state, mbs.simulate(model, ..., initial=mbs.load(path).state(-1)), and join both by mbs.join"
        )
    if checkpoint is None:
        raise ModelError(f"resume: '{file.path}': {type(method).__name__} has not made the run; give its method")
    with guarded(file.path, own=model is None):
        march = TimeIntegration(system, method, file.control, file.options["t_end"], checkpoint)
        march.go_on(tally, first)
    return march


def _recorder(file: RunFile, march: TimeIntegration, watch: Events, between: Any, begun: float) -> StoredRun:
    """The recorder of the rest of a run."""
    rows, keep = file.rows(march.system), file.checkpoint["go_on"]
    times, every = file.option("times"), file.options["every"]
    wanted: Wanted = EveryFew(every, march.t_end) if times is None else AtTimes(times, between)
    channels = file.channels(march.system)
    table = StepTable(file.path, rows.dtype.itemsize, keep, file.number)
    functions = file.functions_of(march.system)
    writer = RowWriter(rows.dtype, functions, channels, 0)
    store = Store(str(file.path), file.options["channels"], every)
    hits = [int((rows["event"][:keep] == event).sum()) for event in range(len(watch.functions))]
    for event, count in enumerate(hits):
        kept = rows[:keep][rows["event"][:keep] == event]
        watch.hits[event] = [event_state(row) for row in kept[:count]]
    run = StoredRun(march, store, table, writer, channels, wanted, watch, begun)
    run.go_on(file, hits)
    return run


def _check_complete(file: RunFile, system: System) -> None:
    """Refuse a file whose model has not travelled as a whole."""
    missing = [f"the function '{own.__name__}'" for own in file.functions if own.needed]
    missing += [f"the {part}" for part in system.number.parts if isinstance(part, Unavailable)]
    if missing:
        raise ModelError(
            f"resume: '{file.path}' lacks {', '.join(missing[:5])}{' and more' if len(missing) > 5 else ''}: functions "
            "and classes of a script do not travel in files. Give the model of the script: mbs.resume(path, model)"
        )


def _method(file: RunFile, given: Method | None) -> Method:
    """The method of the run."""
    with guarded(file.path):
        own = file.method
    if given is None:
        if own is None:
            raise ModelError(
                f"resume: '{file.path}' was made with {file.options['method_name']}, a method of the script, which "
                "does not travel in files; give it as method"
            )
        return own
    try:
        same = own is None or Writer().value(given) == file.options["method"]
    except UnstorableError:
        same = False
    if not same:
        raise ModelError(f"resume: '{file.path}' was made with another method, {own}, received {given}")
    return given
