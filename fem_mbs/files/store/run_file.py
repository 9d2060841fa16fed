"""What the file of a run holds, and the solution of it, of which is read from the file what is asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fem_mbs.contracts import Method, State, number, shown
from fem_mbs.errors import StoreError
from fem_mbs.files.store.build import rebuild
from fem_mbs.files.store.database import Database, guarded
from fem_mbs.files.store.functions import RecordedFunction, read_samples
from fem_mbs.files.store.recipe import check_same, describe
from fem_mbs.files.store.rows import StoredRows, history, row_shapes, turns_of
from fem_mbs.files.store.save import FUNCTIONS, LOADINGS, MODEL, RUN, STANDS
from fem_mbs.files.store.values import CLASSES, Record
from fem_mbs.linear.constrained import Redundant
from fem_mbs.model.model import Model
from fem_mbs.run.checkpoint import Checkpoint
from fem_mbs.solution.channels import parse
from fem_mbs.solution.outcome import Accuracy, Outcome, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import turning_joints
from fem_mbs.static.statics import StaticSolution
from fem_mbs.system.system import System

MANY = 2**16
"""More events than a script has."""


class RunFile:
    """A file of a run that is opened.

    Raises
    ------
    StoreError
        If it is not one, is of a newer version, was cut short or tampered with.
    """

    def __init__(self, path: Path) -> None:
        self.path = path if path.exists() or path.suffix else path.with_suffix(".db")
        with guarded(self.path):
            self._database = Database(self.path)
            self.run = Record(self._content(RUN))
            self.end = number(self.run["t_end"], "its end")
            self.model, self._functions = (json.loads(self._content(own)) for own in (MODEL, FUNCTIONS))
            self.stand(self._content(STANDS))

    def stand(self, content: bytes) -> None:
        """Stand where a content says."""
        self.stands = Record(content)
        name = self.stands["outcome"]
        self.outcome = Outcome.CUT if name is None else Outcome[name]

    def _content(self, place: tuple[str, int]) -> bytes:
        self._database.sizes(place[0])
        return self._database.content(*place)

    @cached_property
    def functions(self) -> list[RecordedFunction]:
        """Functions of the script."""
        return read_samples(self._functions)

    def system(self, model: Model | None) -> System:
        """The system of the model, that of the script, which must be the same, or the one in the file."""
        if model is None:
            with guarded(self.path):
                return System(rebuild(self.model, self.functions), self.end)
        system = System(model, self.end)
        check_same(describe(system).model, self.model, f"'{self.path}'")
        return system

    def rows(self, system: System) -> StoredRows:
        """The rows: all that are there, at least those that it had where it stands."""
        shapes = {name: tuple(shape) for name, shape in self.run["shapes"]}
        functions = {name: shape for name, shape in shapes.items() if name.startswith("function ")}
        turning = turning_joints(system) if "turns" in shapes else []
        if any(type(n) is not int or n < 1 for own in functions.values() for n in own) or shapes != row_shapes(
            system, self.channels(system), turning, functions
        ):
            raise StoreError(f"'{self.path}': its rows are not those of its model")
        rows, least = StoredRows(self._database, shapes, self.run["loading"] is None), self.stands["rows"]
        if not 0 < least <= rows.count:
            raise StoreError(f"'{self.path}' is damaged: of {shown(least)} rows it has {rows.count}")
        return rows

    def channels(self, system: System) -> Any:
        """The channels that it has in place of states, or None."""
        names = self.run["channels"]
        return None if names is None else [parse(system, name) for name in names]

    def events(self) -> list[list[State]]:
        """States of events, up to where the run stands, which are in the world."""
        count, known = self.run["events"], self.stands["hits"]
        if not 0 <= count < MANY:
            raise StoreError(f"'{self.path}': its 'events' is {shown(count)}")
        self._database.sizes("checkpoints")
        found: list[list[State]] = [[] for _ in range(count)]
        for k in range(known):
            record = Record(self._database.content("checkpoints", k + 1))
            found[record["event"]].append(record["state"])
        return found

    @cached_property
    def method(self) -> Method | None:
        """The method of the run; None for one of a class of the script."""
        return self.run["method"]  # type: ignore[no-any-return]

    def checkpoint(self, method: Method | None = None) -> Checkpoint | None:
        """Where the run stands; None if it is not known, or what the method of a script remembers."""
        name, method = self.stands["memory_name"], method or self.method
        methods = [kind for kind in CLASSES.values() if issubclass(kind, Method) and kind is not Method]
        known = {kind.Memory.__name__: kind.Memory for kind in (type(method) if method else methods[0], *methods)}
        if name not in known:
            return None
        memory, control = dict(self.stands["memory"]), self.run["control"]
        kind, pace, names = type(control).Memory, dict(self.stands["pace"]), tuple(self.run["names"])
        return Checkpoint(self.stands["state"], known[name](**memory), control, kind(**pace), names)

    def solution(
        self, system: System, checkpoint: Checkpoint | None = None, events: Sequence[list[State]] | None = None
    ) -> Solution:
        """The run; of a script, with its system, its checkpoint and the states of its events."""
        rows = self.rows(system)
        for k, function in enumerate(self.functions):
            if f"function {k}" in rows.shapes:
                function.over_time(rows.t, rows.array(f"function {k}"))
        instant, states = LOADINGS.get(self.run["loading"]), history(rows, system, self.channels(system))
        states.instant = instant
        turns, stats = turns_of(rows, turning_joints(system)), self._stats(rows)
        found = self.events() if events is None else events
        if instant is not None:
            return StaticSolution(system, states, self.outcome, stats, found, instant, rows.unstable, turns)
        sparse = self.run["every"] > 1 or self.run["times"] is not None
        own = self.checkpoint() if checkpoint is None else checkpoint
        return Solution(system, states, self.outcome, stats, found, own, turns, None if sparse else self.method)

    def loaded(self, model: Model | None) -> Solution:
        """The run as another process has it, with the model of the script or one made of the file."""
        system = self.system(model)
        with guarded(self.path):
            if sharing := self.stands["redundant"]:
                system.redundant = Redundant(0, np.array(sharing, np.intp), np.empty((0, 0)), "")
            return self.solution(system)

    def _stats(self, rows: StoredRows) -> Stats:
        """Counts from one row to the next, of the first one from the start, and after the last one."""
        steps, failed, rejected, *_ = self.stands["tally"]
        sizes = np.diff(rows.t, prepend=self.run["begin"])
        begins = 0 if rows.t[0] > self.run["begin"] else 1
        iterations, sizes = rows.iterations[begins:], sizes[begins:]
        last, error = self.stands["state"].t, self.stands["error"]
        if last > rows.t[-1]:
            iterations, sizes = np.append(iterations, self.stands["since"]), np.append(sizes, last - rows.t[-1])
        if "listed" in self.stands.text:
            iterations, sizes = self.stands["listed"]
        evaluations, factorizations = self.stands["evaluated"]
        accuracy, wall = None if error is None else Accuracy(*error), self.stands["wall"]
        counts = iterations, evaluations, factorizations, failed, rejected, sizes, wall, accuracy, steps
        solver = self.stands["solver"] if "solver" in self.stands.text else ""  # not in files of 0.2.0
        return Stats(*counts, tuple(self.stands["compiled"]), solver)
