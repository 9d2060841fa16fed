"""The solution of a stored run, of which is read from the file what is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fem_mbs.arrays import Array
from fem_mbs.contracts import ARRAYS, State
from fem_mbs.errors import StoreError
from fem_mbs.files.store.file import RunFile
from fem_mbs.files.store.guard import guarded
from fem_mbs.files.store.records import LOADINGS
from fem_mbs.files.store.rows import column, history, turning_joints, turns_of
from fem_mbs.linear.least_norm import Redundant
from fem_mbs.model.model import Model
from fem_mbs.run.checkpoint import Checkpoint
from fem_mbs.solution.outcome import Accuracy, Outcome, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.static.statics import StaticSolution
from fem_mbs.system.system import System


class Ended(NamedTuple):
    """How a run has ended, and its counts."""

    outcome: Outcome
    failed: int
    rejected: int
    error: Accuracy | None
    t: float
    """Time of its last step."""
    totals: Sequence[int]
    """Steps, iterations, evaluations and factorisations."""
    since: Sequence[int]
    """The same since the last row."""
    wall: float


def loaded(file: RunFile, model: Model | None) -> Solution:
    """The run as another process has it, with the model of the script or one made of the file."""
    system = file.system(model)
    with guarded(file.path):
        names = set(file.checkpoint["redundant"])
        if names:
            joints = tuple(part for part in system.number.parts if part.name in names)  # type: ignore[attr-defined]
            system.redundant = Redundant(joints, 0, np.empty(0, np.intp), np.empty((0, 0)), "")  # type: ignore[arg-type]
        error = None if (given := file.checkpoint["error"]) is None else Accuracy(*given)
        tally, last = file.kept("tally"), file.state("last").t
        counts = [file.kept(name) for name in ("totals", "since", "wall")]
        ended = Ended(file.outcome, tally[1], tally[2], error, last, *counts)
        return solution_of(file, system, file.stands(), None, ended)


def solution_of(
    file: RunFile, system: System, checkpoint: Checkpoint | None, events: Sequence[list[State]] | None, ended: Ended
) -> Solution:
    """The run of a file; ``events`` are those that are known, None to read them."""
    rows = file.rows(system)
    t = column(file.path, file.head.begin, rows, "t")
    if not len(t):
        raise StoreError(f"'{file.path}' was cut off before its run had a state")
    found = _events(rows, file.options["events"]) if events is None else events
    for k, function in enumerate(file.functions):
        if f"function {k}" in (rows.dtype.names or ()):
            function.over_time(t, rows[f"function {k}"])
    if file.options["events"]:
        kept = rows["event"] < 0
        t, rows = t[kept], rows[kept]
    instant = LOADINGS.get(file.options["loading"])
    states = history(t, rows, system, file.channels(system), file.path, instant)
    turns, stats = turns_of(rows, turning_joints(system)), _stats(file, t, rows, ended)
    if instant is not None:
        return StaticSolution(system, states, ended.outcome, stats, found, instant, rows["unstable"], turns)
    sparse = file.options["every"] > 1 or file.options["times"] is not None
    method = None if sparse else file.method
    return Solution(system, states, ended.outcome, stats, found, checkpoint, turns, method)


def event_state(row: Any) -> State:
    """The state of an event."""
    arrays: dict[str, Any] = {name: row[name] if name in row.dtype.names else np.zeros(0) for name in ARRAYS}
    return State(float(row["t"]), **arrays)


def _stats(file: RunFile, t: Array, rows: NDArray[Any], ended: Ended) -> Stats:
    """Counts from one row to the next, of the first one from the start, and after the last one."""
    iterations, since = rows["iterations"], ended.since
    sizes = np.diff(t, prepend=file.options["begin"])
    begins = 0 if len(rows) and rows["steps"][0] else 1
    iterations, sizes = iterations[begins:], sizes[begins:]
    if since[0]:
        iterations, sizes = np.append(iterations, since[1]), np.append(sizes, ended.t - t[-1:])
    if "listed" in file.checkpoint:
        iterations, sizes = file.kept("listed")
    steps, _, evaluations, factorizations = ended.totals
    counts = evaluations, factorizations, ended.failed, ended.rejected
    return Stats(iterations, *counts, sizes, ended.wall, ended.error, steps)


def _events(rows: NDArray[Any], count: int) -> list[list[State]]:
    """States of events, which are in the world."""
    return [[event_state(row) for row in rows[rows["event"] == event]] for event in range(count)]
