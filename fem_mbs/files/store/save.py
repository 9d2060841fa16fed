"""What a file says of a run beside its rows, and runs and load paths that have ended, written to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.errors import ModelError
from fem_mbs.files.store.database import new_file
from fem_mbs.files.store.description import describe
from fem_mbs.files.store.rows import RowWriter, Steps, flat_turns, row_shapes
from fem_mbs.files.store.values import packed, record
from fem_mbs.solution.channels import Channel
from fem_mbs.solution.history import ChannelHistory, Instant, constant, proportional
from fem_mbs.solution.queries import Queries
from fem_mbs.solution.turns import turning_joints
from fem_mbs.system.system import System
from fem_mbs.version import __version__

MODEL, RUN, STANDS = ("model", 0), ("model", 1), ("checkpoints", 0)
"""Places of the model, of what a run was asked for, and of where it stands."""
LOADINGS: dict[str, Instant] = {"proportional": proportional, "constant": constant}
"""What load factors of a path mean, by name."""


def stands(checkpoint: Any, system: System, **values: Any) -> bytes:
    """Where a run stands: its last state, what method and step control remember, and more."""
    return record(
        state=checkpoint.state,
        memory=checkpoint.memory._asdict(),
        memory_name=type(checkpoint.memory).__name__,
        pace=checkpoint.control_memory._asdict(),
        redundant=redundant_equations(system),
        compiled=list(system.compiled),
        solver=system.solver.kind,
        **values,
    )


def redundant_equations(system: System) -> list[int]:
    """Numbers of the equations of joints that repeat each other."""
    return [] if system.redundant is None else system.redundant.sharing.tolist()


class Asked(NamedTuple):
    """What both a run that begins and one that has ended write first."""

    contents: dict[tuple[str, int], bytes]
    writer: RowWriter


def asked(
    system: System, method: Any, channels: Sequence[Channel] | None, joints: Sequence[Any], **values: Any
) -> Asked:
    """The model, and what a run was asked for; rows with whole turns of ``joints``.

    Raises
    ------
    ModelError
        If the model cannot be stored as it is.
    """
    writer = RowWriter(row_shapes(system, channels, joints), channels)
    run = record(
        version=__version__,
        method=method,
        method_name=type(method).__name__,
        channels=None if channels is None else [own.name for own in channels],
        shapes=[[name, list(shape)] for name, shape in writer.shapes.items()],
        origin=system.origin,
        **values,
    )
    return Asked({MODEL: packed(describe(system)), RUN: run}, writer)


def save(solution: Queries, path: FilePath) -> FilePath:
    """Write a solution to a file, in place of one that is there; see :meth:`fem_mbs.Solution.save`."""
    if isinstance(solution.history, ChannelHistory):
        raise ModelError("Solution.save: the run has kept channels alone, in its own file, which can be copied")
    system, checkpoint, history = solution.system, solution.checkpoint, solution.history
    joints = turning_joints(system) if solution._turns else []
    contents, writer = asked(
        system,
        solution.method,
        None,
        joints,
        begin=float(solution.t[0]),
        t_end=system.end if np.isfinite(system.end) else float(solution.t[-1]),
        control=None if checkpoint is None else checkpoint.control,
        times=None,
        every=1,
        events=len(solution.event_states),
        names=[] if checkpoint is None else list(checkpoint.names),
        first=history.state(0),
        loading=next((name for name, own in LOADINGS.items() if own is history.instant), None),
    )
    events = [(event, state) for event, states in enumerate(solution.event_states) for state in states]
    for number, (event, state) in enumerate(events, 1):
        contents["checkpoints", number] = record(event=event, state=state)
    contents[STANDS] = _ended(solution, len(events))
    with new_file(path, "Solution.save") as database:
        steps = Steps(database)
        for k in range(len(solution.t)):
            turns, unstable = flat_turns(solution._turns, joints, k), solution._unstable
            steps.add(writer.fill(history.state(k), 0, turns, None, int(unstable[k]) if len(unstable) else 0))
            if steps.many:
                steps.write()
        steps.write(contents)
    return path


def _ended(solution: Queries, hits: int) -> bytes:
    """How the run has ended, and where it stands."""
    stats, checkpoint, rows = solution.stats, solution.checkpoint, len(solution.t)
    values: dict[str, Any] = {
        "outcome": solution.status.name,
        "rows": rows,
        "go_on": rows,
        "tally": [stats.steps, stats.failed_steps, stats.rejected_steps],
        "error": None if stats.error is None else [float(own) for own in stats.error],
        "evaluated": [stats.residual_evaluations, stats.factorizations],
        "since": 0,
        "wall": stats.wall_time,
        "hits": hits,
        "listed": [np.asarray(stats.newton_iterations), np.asarray(stats.step_sizes)],
    }
    if checkpoint is not None:
        return stands(checkpoint, solution.system, **values)
    values |= {
        "compiled": list(stats.compiled),
        "solver": stats.solver,
        "memory": {},
        "memory_name": None,
        "pace": {},
        "redundant": redundant_equations(solution.system),
    }
    return record(state=solution.history.state(-1), **values)
