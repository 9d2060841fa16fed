"""A run that has ended, written to a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from fem_mbs.errors import ModelError
from fem_mbs.integrate.method import Method
from fem_mbs.result import ChannelHistory, Solution
from fem_mbs.store import file as files
from fem_mbs.store.answers import write_answers
from fem_mbs.store.description import describe
from fem_mbs.store.recorder import redundant, standing
from fem_mbs.store.rows import NO_COUNTS, NO_EVENT, RowWriter, asked_in_time, flat_turns, row_type, turning_joints
from fem_mbs.store.table import SLOT_HEAD, StepTable, create
from fem_mbs.store.values import UnstorableError, Writer, packed
from fem_mbs.system import ARRAYS, State


def save(solution: Solution, path: FilePath) -> FilePath:
    """Write a solution to a file; see :meth:`fem_mbs.Solution.save`."""
    if type(solution) is not Solution or isinstance(solution.history, ChannelHistory):
        raise ModelError(
            f"Solution.save: {type(solution).__name__} cannot be saved; states of a run in time can"
            if type(solution) is not Solution
            else "Solution.save: the run has kept channels alone, in its own file, which can be copied"
        )
    system = solution.system
    description = describe(system)
    joints = turning_joints(system) if solution._turns else []
    turning = sum(len(joint.coordinates) for joint in joints)
    functions = asked_in_time(description.functions, description.system, float(solution.t[0]))
    dtype = row_type(system, None, turning, functions)
    parts = {
        "model": description.model,
        "run": _options(solution),
        "functions": write_answers(description.functions),
    }
    ended = _ended(solution, len(solution.t) + sum(map(len, solution.event_states)))
    create(path, dtype, SLOT_HEAD.size + len(ended), partial(files.fill, parts, system.origin))
    table, writer = StepTable(path, dtype.itemsize), RowWriter(dtype, description.functions, None, 1)
    for k in range(len(solution.t)):
        turns = flat_turns(solution._turns, joints, k)
        table.add(writer.fill(solution.history.state(k), NO_COUNTS, turns, NO_EVENT, None))
    for event, states in enumerate(solution.event_states):
        for state in states:
            table.add(writer.fill(state, NO_COUNTS, None, event, None))
    table.flush(ended)
    table.close()
    return path


def _options(solution: Solution) -> Any:
    """What the run was asked for, as far as it is known."""
    writer, first, system = Writer(), solution.history.state(0), solution.system
    checkpoint = solution.checkpoint
    text = {
        "begin": float(solution.t[0]),
        "t_end": system.end if np.isfinite(system.end) else float(solution.t[-1]),
        "control": None if checkpoint is None else writer.value(checkpoint.control),
        "method": _method(writer, solution),
        "method_name": "a method that is not in the file",
        "times": None,
        "every": 1,
        "channels": None,
        "events": len(solution.event_states),
        "names": [] if checkpoint is None else list(checkpoint.names),
        "first": {name: writer.value(getattr(first, name)) for name in ("t", *ARRAYS)},
    }
    return writer.data(text)


def _method(writer: Writer, solution: Solution) -> Any:
    """The method, which the solution has where it goes from one state to the next as the method does."""
    method = getattr(getattr(solution._between, "func", None), "__self__", None)
    try:
        value = writer.value(method)
    except UnstorableError:
        return None
    return value if isinstance(method, Method) and "class" in value else None


def _ended(solution: Solution, rows: int) -> bytes:
    """How the run has ended, and where it stands."""
    writer, stats, checkpoint = Writer(), solution.stats, solution.checkpoint
    last: State = solution.history.state(-1)
    text = {
        "outcome": solution.status.name,
        "rows": rows,
        "go_on": rows,
        "state": {name: writer.value(getattr(last, name)) for name in ("t", *ARRAYS)},
        "memory": {},
        "memory_name": None,
        "pace": {},
        **({} if checkpoint is None else standing(writer, checkpoint)),
        "tally": [stats.steps, stats.failed_steps, stats.rejected_steps],
        "error": None if stats.error is None else [float(own) for own in stats.error],
        "totals": [stats.steps, int(stats.newton_iterations.sum()), stats.residual_evaluations, stats.factorizations],
        "since": [0, 0, 0, 0],
        "wall": stats.wall_time,
        "turns": [],
        "done": 0,
        "session": 1,
        "redundant": redundant(solution.system),
        "listed": [writer.value(np.asarray(own)) for own in (stats.newton_iterations, stats.step_sizes)],
    }
    return packed(writer.data(text))
