"""The file of a run that begins, for :func:`fem_mbs.simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fem_mbs.contracts import ARRAYS
from fem_mbs.errors import ModelError
from fem_mbs.files.store.create import create, new_file
from fem_mbs.files.store.description import Description, describe
from fem_mbs.files.store.functions import write_samples
from fem_mbs.files.store.recorder import FileRecorder, is_sparse
from fem_mbs.files.store.records import method_record, state_record
from fem_mbs.files.store.rows import RowWriter, asked_in_time, row_type, turning_joints
from fem_mbs.files.store.table import StepTable
from fem_mbs.files.store.values import Data, Writer
from fem_mbs.run.events import Events
from fem_mbs.run.output import AtTimes, EveryNth, Store
from fem_mbs.run.time_loop import TimeIntegration
from fem_mbs.solution.channels import parse

ROOM, STATES, MATRICES = 65536, 40, 2
"""Size of a checkpoint in bytes, in states and in factorised matrices, for which there is room."""


def in_file(
    integration: TimeIntegration, store: Store, selection: AtTimes | None, events: Events | None, started: float
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
    if store.every > 1 and selection is not None:
        raise ModelError(f"simulate: store: every = {store.every} and times exclude each other; give one of them")
    kept = selection or EveryNth(store.every, integration.t_end)
    description = describe(system)
    dtype = _type(description, integration, store, kept, channels)
    options = _options(integration, store, kept, 0 if events is None else len(events.states))
    with new_file(store.file) as new:
        _create(new, dtype, description, options, integration)
        table = StepTable(new, dtype.itemsize)
        table.path = store.file
        writer = RowWriter(dtype, description.functions, channels, 1)
        recorder = FileRecorder(integration, store, table, writer, channels, kept, events, started)
        recorder.begin()
        table.close()
    table.open(store.file)
    return recorder


def _type(description: Description, integration: TimeIntegration, store: Store, selection: Any, channels: Any) -> Any:
    functions = asked_in_time(description.functions, description.system, integration.state.t)
    turning = (
        sum(len(joint.coordinates) for joint in turning_joints(integration.system))
        if is_sparse(store, selection)
        else 0
    )
    return row_type(integration.system, channels, turning, functions)


def _options(integration: TimeIntegration, store: Store, selection: Any, events: int) -> Data:
    """What a run was asked for."""
    writer = Writer()
    text = {
        "begin": integration.state.t,
        "t_end": integration.t_end,
        "control": writer.value(integration.control),
        "method": method_record(writer, integration.method),
        "method_name": type(integration.method).__name__,
        "times": writer.value(selection.times) if isinstance(selection, AtTimes) else None,
        "every": store.every,
        "channels": None if store.channels is None else list(store.channels),
        "events": events,
        "names": list(integration.checkpoint().names),
        "first": state_record(writer, integration.state),
        "loading": None,
    }
    return writer.data(text)


def _create(path: Path, dtype: Any, description: Description, options: Data, integration: TimeIntegration) -> None:
    state = sum(getattr(integration.state, name).nbytes for name in ARRAYS)
    parts = {"model": description.model, "run": options, "functions": write_samples(description.functions)}
    capacity = ROOM + STATES * state + MATRICES * 8 * integration.system.solver.storage
    create(path, dtype, capacity, parts, integration.system.origin)
