"""The file of a run that begins, for :func:`fem_mbs.simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fem_mbs.contracts import ARRAYS
from fem_mbs.errors import ModelError
from fem_mbs.files.store.create import create, new_file
from fem_mbs.files.store.description import Description, describe
from fem_mbs.files.store.functions import write_samples
from fem_mbs.files.store.recorder import StoredRun, is_sparse
from fem_mbs.files.store.records import method_record, state_record
from fem_mbs.files.store.rows import RowWriter, asked_in_time, row_type, turning_joints
from fem_mbs.files.store.table import StepTable
from fem_mbs.files.store.values import Data, Writer
from fem_mbs.run.events import Events
from fem_mbs.run.march import TimeIntegration
from fem_mbs.run.recorder import AtTimes, EveryFew, Store, Wanted
from fem_mbs.solution.channels import parse

ROOM, STATES, MATRICES = 65536, 40, 2
"""Size of a checkpoint in bytes, in states and in factorised matrices, for which there is room."""


def begin_stored(march: TimeIntegration, store: Store, wanted: Wanted | None, watch: Events, begun: float) -> StoredRun:
    """Make the file of a run that begins, with its first state: at once, in place of a file that is there.

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
    with new_file(store.file) as new:
        _create(new, dtype, description, options, march)
        table = StepTable(new, dtype.itemsize)
        table.path = store.file
        run = StoredRun(
            march, store, table, RowWriter(dtype, description.functions, channels, 1), channels, wanted, watch, begun
        )
        run.begin()
        table.close()
    table.open(store.file)
    return run


def _type(description: Description, march: TimeIntegration, store: Store, wanted: Any, channels: Any) -> Any:
    functions = asked_in_time(description.functions, description.system, march.state.t)
    turning = sum(len(joint.coordinates) for joint in turning_joints(march.system)) if is_sparse(store, wanted) else 0
    return row_type(march.system, channels, turning, functions)


def _options(march: TimeIntegration, store: Store, wanted: Any, events: int) -> Data:
    """What a run was asked for."""
    writer = Writer()
    text = {
        "begin": march.state.t,
        "t_end": march.t_end,
        "control": writer.value(march.control),
        "method": method_record(writer, march.method),
        "method_name": type(march.method).__name__,
        "times": writer.value(wanted.times) if isinstance(wanted, AtTimes) else None,
        "every": store.every,
        "channels": None if store.channels is None else list(store.channels),
        "events": events,
        "names": list(march.checkpoint().names),
        "first": state_record(writer, march.state),
        "loading": None,
    }
    return writer.data(text)


def _create(path: Path, dtype: Any, description: Description, options: Data, march: TimeIntegration) -> None:
    state = sum(getattr(march.state, name).nbytes for name in ARRAYS)
    parts = {"model": description.model, "run": options, "functions": write_samples(description.functions)}
    capacity = ROOM + STATES * state + MATRICES * 8 * march.system.solver.storage
    create(path, dtype, capacity, parts, march.system.origin)
