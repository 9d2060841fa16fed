"""Runs from files: opened, and gone on with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path as FilePath

from fem_mbs.compiled import accelerate
from fem_mbs.contracts import EventLike, Method, Path, checked
from fem_mbs.errors import ModelError
from fem_mbs.files.store.database import Database, guarded
from fem_mbs.files.store.recorder import FileRecorder
from fem_mbs.files.store.run_file import RunFile
from fem_mbs.files.store.save import RowWriter, Steps
from fem_mbs.files.store.values import Writer
from fem_mbs.linear.direct import one_thread
from fem_mbs.model.model import Model
from fem_mbs.run.events import Events
from fem_mbs.run.interfaces import Callback, check_checkpoint
from fem_mbs.run.recorder import AtTimes, EveryNth, progress_bar
from fem_mbs.run.time_loop import TimeIntegration, run_to_end
from fem_mbs.solution.outcome import Outcome
from fem_mbs.solution.solution import Solution
from fem_mbs.system.states import from_user
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
        The model of the script, if it has functions that a query needs, or classes that are not imported: it must be
        the same.

    Raises
    ------
    StoreError
        If it is no such file, one of a newer version, or was cut short or tampered with.
    ModelError
        If the model is another one.
    """
    with guarded(FilePath(path), own=False):
        return RunFile(FilePath(path)).loaded(model)


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
        file = RunFile(FilePath(path))
        if file.outcome in ENDED:
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
    if model is None:
        _check_complete(file)
    method = _method(file, given)
    method.check(system)
    accelerate(system)
    integration = _integration(file, model, system, method)
    between = partial(method.between, system)
    watched = None if events is None else Events(events, system, integration.state, between, "resume")
    count = 0 if watched is None else len(watched.states)
    if count != file.run["events"]:
        raise ModelError(
            f"resume: '{path}': the run watched {file.run['events']} events, received {count}; functions do not "
            "travel in files, give those of the run as events"
        )
    with guarded(path):
        times, channels, shapes = file.run["times"], file.channels(system), file.rows(system).shapes
        selection = EveryNth(file.run["every"], integration.t_end) if times is None else AtTimes(times, between)
        steps = Steps(Database(path, write=True), file.stands["go_on"])
        writer = RowWriter(shapes, channels)
        recorder = FileRecorder(integration, steps, writer, channels, selection, watched, started)
        recorder.resume(file)
        return recorder


def _integration(file: RunFile, model: Model | None, system: System, method: Method) -> TimeIntegration:
    """The run where it stands."""
    with guarded(file.path):
        checkpoint, control = file.checkpoint(method), file.run["control"]
        from_user(system, file.run["first"], "its first state")
        if checkpoint is not None:
            check_checkpoint(checkpoint, system, method)
    if checkpoint is None:
        raise ModelError(f"resume: '{file.path}': {type(method).__name__} has not made the run; give its method")
    with guarded(file.path, own=model is None):
        integration = TimeIntegration(system, method, control, file.end, checkpoint)
        integration.resume(file.stands["tally"], file.run["first"])
    return integration


def _check_complete(file: RunFile) -> None:
    """Refuse a file whose model has not travelled as a whole."""
    if missing := [f"the function '{own.__name__}'" for own in file.functions.values()]:
        raise ModelError(
            f"resume: '{file.path}' lacks {', '.join(missing[:5])}{' and more' if len(missing) > 5 else ''}: functions "
            "of a script do not travel in files. Give the model of the script: mbs.resume(path, model)"
        )


def _method(file: RunFile, given: Method | None) -> Method:
    """The method of the run."""
    with guarded(file.path):
        own = file.method
    if given is None:
        if own is None:
            raise ModelError(
                f"resume: '{file.path}' was made with {file.run['method_name']}, a method of the script, which "
                "does not travel in files; give it as method"
            )
        return own
    same = own is None or Writer().value(given) == file.run.text["method"]
    if not same:
        raise ModelError(f"resume: '{file.path}' was made with another method, {own}, received {given}")
    return given
