"""What the file of a run says, and how it gets there: the model, what was asked for, rows of states, where it stands.

Runs and load paths that have ended are written at once, :func:`save`; ``recorder.py`` writes those under way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import ARRAYS, Constraint, State
from fem_mbs.errors import ModelError
from fem_mbs.files.store.database import BLOCK, Database, new_file
from fem_mbs.files.store.description import describe
from fem_mbs.files.store.values import packed, record
from fem_mbs.solution.channels import Channel
from fem_mbs.solution.history import ChannelHistory, Held, Instant, constant, proportional
from fem_mbs.solution.queries import Queries
from fem_mbs.solution.turns import Turns, turning_joints
from fem_mbs.system.system import System
from fem_mbs.version import __version__

MODEL, RUN, STANDS = ("model", 0), ("model", 1), ("checkpoints", 0)
"""Places of the model, of what a run was asked for, and of where it stands."""
LOADINGS: dict[str, Instant] = {"proportional": proportional, "constant": constant}
"""What load factors of a path mean, by name."""
Shapes: TypeAlias = dict[str, tuple[int, ...]]
Contents: TypeAlias = Mapping[tuple[str, int], bytes]
BUFFER = 2**24
"""Bytes of rows that wait in memory, at most."""


def row_shapes(system: System, channels: Sequence[Channel] | None, turning: Sequence[Constraint]) -> Shapes:
    """What is in a row: a state or channels, and whole turns of joints that are ``turning``.

    ``iterations`` are those since the row before; ``unstable`` belongs to load paths.
    """
    n, k, m = system.n, system.k, system.m
    turns = sum(len(joint.coordinates) for joint in turning)
    shapes: Shapes = {"t": (), "iterations": (), "unstable": ()}
    if channels is None:
        shapes |= {"x": (n, 3), "R": (n, 3, 3), "v": (n, 6), "vdot": (n, 6), "multipliers": (m,)}
        shapes |= {"u": (k,), "udot": (k,), "uddot": (k,), "turns": (turns,)}
    else:
        shapes["channels"] = (sum(len(own.columns) for own in channels),)
    return {name: shape for name, shape in shapes.items() if 0 not in shape}


def places(shapes: Shapes) -> dict[str, slice]:
    """Where in a row each stands."""
    ends = [*accumulate(map(prod, shapes.values()), initial=0)]
    return {name: slice(begin, end) for name, begin, end in zip(shapes, ends, ends[1:], strict=False)}


class RowWriter:
    """Fills one row after the other."""

    def __init__(self, shapes: Shapes, channels: Sequence[Channel] | None) -> None:
        self.shapes, self.channels, own = shapes, channels, places(shapes)
        self._row = np.zeros(sum(map(prod, shapes.values())))
        self._views = {name: self._row[place].reshape(shapes[name]) for name, place in own.items()}
        self._arrays = [(name, self._views[name]) for name in ARRAYS if name in own]

    def fill(
        self,
        state: State,
        iterations: int = 0,
        turns: Array | None = None,
        one: Queries | None = None,
        unstable: int = 0,
    ) -> bytes:
        """The row of a state; ``one`` is the solution of this state alone, which channels are taken of."""
        self._row[:3] = state.t, iterations, unstable
        for name, view in self._arrays:
            view[:] = getattr(state, name)
        if self.channels is not None and one is not None:
            self._views["channels"][:] = np.concatenate([own.values(one)[0] for own in self.channels])
        if turns is not None and "turns" in self._views:
            self._views["turns"][:] = turns
        return self._row.tobytes()


class Steps:
    """Rows on their way to a file: in memory until they are written together.

    Attributes
    ----------
    rows : int
        How many there are, those in the file included.
    """

    def __init__(self, database: Database, rows: int = 0) -> None:
        self.database, self.rows, self._first, self._size = database, rows, rows, 1
        self._buffer = bytearray()
        self._before: dict[tuple[str, int], bytes] = {}

    def add(self, row: bytes, before: bytes | None = None) -> None:
        """Another row, of a state ``before`` which there is one at the same time."""
        if before is not None:
            self._before["checkpoints", -1 - self.rows] = before
        self._size = len(row)
        self._buffer += row
        self.rows += 1

    @property
    def many(self) -> bool:
        """Whether they take so much memory that they should be written."""
        return len(self._buffer) > BUFFER

    def write(
        self, contents: Contents = MappingProxyType({}), beyond: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Write them with other contents; where there is no room for all, as many as there is room for.

        Raises
        ------
        sqlite3.Error
            If not all of it is in the file.
        """
        try:
            self._put(len(self._buffer), contents, beyond)
        except sqlite3.Error:
            count = len(self._buffer) // self._size
            while count:
                try:
                    self._put(count * self._size, {}, {})
                    count = min(count, len(self._buffer) // self._size)
                except sqlite3.Error:
                    count //= 2
            self._buffer.clear()
            self._before.clear()
            self.rows = self._first
            raise

    def _put(self, size: int, contents: Contents, beyond: Mapping[str, int]) -> None:
        step = max(BLOCK // self._size, 1) * self._size
        blocks = {
            ("steps", self._first + k // self._size): bytes(self._buffer[k : min(k + step, size)])
            for k in range(0, size, step)
        }
        end = self._first + size // self._size
        before = {place: row for place, row in self._before.items() if -1 - place[1] < end}
        self.database.write({**blocks, **before, **contents}, beyond)
        del self._buffer[:size]
        self._first = end
        for place in before:
            del self._before[place]


def flat_turns(turns: Turns, joints: Sequence[Any], k: int) -> Array | None:
    """Turns of one state."""
    return np.concatenate([turns[joint][k] for joint in joints]) if joints else None


def stands(system: System, state: State, checkpoint: Any, **values: Any) -> bytes:
    """Where a run stands: its last state, what method and step control remember where that is known, and more."""
    known = checkpoint is not None
    redundant = [] if system.redundant is None else system.redundant.sharing.tolist()
    own = {
        "memory": checkpoint.memory._asdict() if known else {},
        "memory_name": type(checkpoint.memory).__name__ if known else None,
        "pace": checkpoint.control_memory._asdict() if known else {},
        "redundant": redundant,
    }
    return record(state=state, **own, **values)


def asked(
    system: System, method: Any, channels: Sequence[Channel] | None, joints: Sequence[Any], **values: Any
) -> tuple[dict[tuple[str, int], bytes], RowWriter]:
    """What a run that begins and one that has ended write first: the model, and what was asked for; and its rows.

    These have whole turns of ``joints``.

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
    return {MODEL: packed(describe(system)), RUN: run}, writer


def save(solution: Queries, path: FilePath) -> FilePath:
    """Write a solution to a file, in place of one that is there; see :meth:`fem_mbs.Solution.save`."""
    if isinstance(solution.history, ChannelHistory):
        raise ModelError("Solution.save: the run has kept channels alone, in its own file, which can be copied")
    system, checkpoint, history = solution.system, solution._checkpoint, solution.history
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
        events=len(solution._hits),
        names=[] if checkpoint is None else list(checkpoint.names),
        first=history.state(0),
        loading=history.instant.time
        if isinstance(history.instant, Held)
        else next((name for name, own in LOADINGS.items() if own is history.instant), None),
    )
    events = [(event, state) for event, states in enumerate(solution._hits) for state in states]
    for number, (event, state) in enumerate(events, 1):
        contents["checkpoints", number] = record(event=event, state=state)
    contents[STANDS] = _ended(solution, len(events))
    with new_file(path, "Solution.save") as database:
        steps = Steps(database)
        for k in range(len(solution.t)):
            turns, unstable = flat_turns(solution._turns, joints, k), solution._unstable
            steps.add(
                writer.fill(state := history.state(k), 0, turns, None, int(unstable[k]) if len(unstable) else 0),
                None if state.before is None else writer.fill(state.before),
            )
            if steps.many:
                steps.write()
        steps.write(contents)
    return path


def _ended(solution: Queries, hits: int) -> bytes:
    """Where a run that has ended stands."""
    stats, rows, checkpoint = solution.stats, len(solution.t), solution._checkpoint
    return stands(
        solution.system,
        solution.history.state(-1) if checkpoint is None else checkpoint.state,
        checkpoint,
        outcome=solution.status.name,
        rows=rows,
        go_on=rows,
        tally=[stats.steps, stats.failed_steps, stats.rejected_steps],
        error=[float(own) for own in stats.error] if stats.error.estimated else None,
        evaluated=[stats.residual_evaluations, stats.factorizations],
        compiled=list(stats.compiled),
        solver=stats.solver,
        since=0,
        wall=stats.wall_time,
        turns=[own[-1] for own in solution._turns.values()],
        hits=hits,
        listed=[np.asarray(stats.newton_iterations), np.asarray(stats.step_sizes)],
    )
