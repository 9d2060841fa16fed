"""A run or a load path that has ended, written to a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from fem_mbs.errors import ModelError, StoreError
from fem_mbs.files.replacing import reason
from fem_mbs.files.store.create import create, new_file
from fem_mbs.files.store.description import describe
from fem_mbs.files.store.functions import write_samples
from fem_mbs.files.store.records import LOADINGS, checkpoint_record, method_record, redundant_names, state_record
from fem_mbs.files.store.rows import RowWriter, asked_in_time, flat_turns, row_type, turning_joints
from fem_mbs.files.store.table import SLOT_HEAD, StepTable
from fem_mbs.files.store.values import Writer, packed
from fem_mbs.solution.history import ChannelHistory
from fem_mbs.solution.queries import Queries


def save(solution: Queries, path: FilePath) -> FilePath:
    """Write a solution to a file, in place of one that is there; see :meth:`fem_mbs.Solution.save`."""
    if isinstance(solution.history, ChannelHistory):
        raise ModelError("Solution.save: the run has kept channels alone, in its own file, which can be copied")
    system, path_of_loads = solution.system, solution.history.instant is not None
    description = describe(system)
    joints = turning_joints(system) if solution._turns else []
    turning = sum(len(joint.coordinates) for joint in joints)
    functions = asked_in_time(description.functions, description.system, float(solution.t[0]))
    dtype = row_type(system, None, turning, functions, path_of_loads)
    parts = {
        "model": description.model,
        "run": _options(solution),
        "functions": write_samples(description.functions),
    }
    ended = _ended(solution, len(solution.t) + sum(map(len, solution.event_states)))
    with _errors_named(path), new_file(path) as new:
        create(new, dtype, SLOT_HEAD.size + len(ended), parts, system.origin)
        table, writer = StepTable(new, dtype.itemsize), RowWriter(dtype, description.functions, None, 1)
        for k in range(len(solution.t)):
            turns, unstable = flat_turns(solution._turns, joints, k), int(solution._unstable[k]) if path_of_loads else 0
            table.add(writer.fill(solution.history.state(k), turns=turns, unstable=unstable))
        for event, states in enumerate(solution.event_states):
            for state in states:
                table.add(writer.fill(state, event=event))
        table.flush(ended)
        table.close()
    return path


@contextmanager
def _errors_named(path: FilePath) -> Iterator[None]:
    """Errors name the file that is asked for, and not the new one that is to take its place."""
    try:
        yield
    except StoreError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        raise StoreError(
            f"Solution.save: cannot write '{path}': {reason(error.__cause__)}; what was there stays"
        ) from error


def _options(solution: Queries) -> Any:
    """What the run was asked for, as far as it is known."""
    writer, system, checkpoint = Writer(), solution.system, solution.checkpoint
    text = {
        "begin": float(solution.t[0]),
        "t_end": system.end if np.isfinite(system.end) else float(solution.t[-1]),
        "control": None if checkpoint is None else writer.value(checkpoint.control),
        "method": None if solution.method is None else method_record(writer, solution.method),
        "method_name": "a method that is not in the file",
        "times": None,
        "every": 1,
        "channels": None,
        "events": len(solution.event_states),
        "names": [] if checkpoint is None else list(checkpoint.names),
        "first": state_record(writer, solution.history.state(0)),
        "loading": next((name for name, own in LOADINGS.items() if own is solution.history.instant), None),
    }
    return writer.data(text)


def _ended(solution: Queries, rows: int) -> bytes:
    """How the run has ended, and where it stands."""
    writer, stats, checkpoint = Writer(), solution.stats, solution.checkpoint
    text = {
        "outcome": solution.status.name,
        "rows": rows,
        "go_on": rows,
        "state": state_record(writer, solution.history.state(-1)),
        "memory": {},
        "memory_name": None,
        "pace": {},
        **({} if checkpoint is None else checkpoint_record(writer, checkpoint)),
        "tally": [stats.steps, stats.failed_steps, stats.rejected_steps],
        "error": None if stats.error is None else [float(own) for own in stats.error],
        "totals": [stats.steps, int(stats.newton_iterations.sum()), stats.residual_evaluations, stats.factorizations],
        "since": [0, 0, 0, 0],
        "wall": stats.wall_time,
        "turns": [],
        "done": 0,
        "session": 1,
        "redundant": redundant_names(solution.system),
        "listed": [writer.value(np.asarray(own)) for own in (stats.newton_iterations, stats.step_sizes)],
    }
    return packed(writer.data(text))
