"""Places on the way of a run at which a function of the state passes through zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from fem_mbs.contracts import Event, EventFunction, State, name_of, real, shown
from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.run.recorder import Between
from fem_mbs.solution.solution import Solution

PRECISION = 1e-12
"""Of an instant within its step."""


class Hit(NamedTuple):
    """An event: its number among the functions, where it is in the step, and the state there."""

    event: int
    share: float
    state: State


class Events:
    """Functions of the state that a run watches; what they may say is in :class:`~fem_mbs.contracts.event.Event`."""

    def __init__(
        self,
        functions: EventFunction | Sequence[EventFunction] | None,
        first: State,
        between: Between,
        to_user: Callable[[State], State],
        label: str = "simulate",
    ) -> None:
        self._given_out = to_user
        given = _listed(functions, label)
        self.between = between
        self.hits: list[list[State]] = [[] for _ in given]
        self.functions = [Event.of(own, f"{label}: event {_called(own, k)!r}") for k, own in enumerate(given)]
        self._labels = [f"{label}: event {_called(own, k)!r}" for k, own in enumerate(self.functions)]
        self._last = first
        self._values = [self._value(k, first) for k in range(len(self.functions))]
        self._seen = [{np.sign(value)} for value in self._values]

    def until(self, state: State) -> State | None:
        """Find the events on the way to a state; the state of the one that ends the run, if there is one."""
        if not self.functions:
            return None
        values = [self._value(k, state) for k in range(len(self.functions))]
        found = [self._find(k, state, value) for k, value in enumerate(values) if self._passed(k, value)]
        self._last, self._values = state, values
        for hit in sorted(found, key=lambda hit: hit.share):
            self.hits[hit.event].append(self._given_out(hit.state))
            terminal = self.functions[hit.event].terminal
            if terminal and len(self.hits[hit.event]) >= terminal:
                return hit.state
        return None

    def check(self, solution: Solution) -> None:
        """Refuse events that never changed their sign; the error carries the solution."""
        for k, (function, label) in enumerate(zip(self.functions, self._labels, strict=True)):
            signs = self._seen[k] - {0.0}
            if len(signs) < 2 and not self.hits[k] and not function.optional:
                kept = {1.0: "positive", -1.0: "negative"}[signs.pop()] if signs else "zero"
                error = ModelError(
                    f"{label} never changed its sign: it was {kept} during the whole run. An event is where a function "
                    "of the state passes through zero; look at its sign and at the length of the run, or set its "
                    "attribute optional = True if it need not happen. The error has the whole run as its solution"
                )
                error.solution = solution
                raise error

    def _passed(self, k: int, value: float) -> bool:
        before, direction = self._values[k], self.functions[k].direction
        self._seen[k].add(np.sign(value))
        up, down = before < 0.0 <= value, before > 0.0 >= value
        return (up and direction >= 0) or (down and direction <= 0)

    def _find(self, k: int, state: State, value: float) -> Hit:
        first, before = self._last, self._values[k]

        def at(s: float) -> State:
            return state if s == 1.0 else self.between(first, state, s)

        def along(s: float) -> float:
            return before if s == 0.0 else value if s == 1.0 else self._value(k, at(s))

        share = 1.0 if value == 0.0 else float(brentq(along, 0.0, 1.0, xtol=PRECISION))
        return Hit(k, share, at(share))

    def _value(self, k: int, state: State) -> float:
        label = self._labels[k]
        try:
            value = self.functions[k](self._given_out(state))
        except Exception as error:
            raise FemMbsError(f"{label} failed at t = {state.t:.6g} s: {error!r}") from error
        result = real(value)
        if result is None or result.shape != () or not np.isfinite(result):
            raise ModelError(f"{label} must return a number that changes its sign, received {shown(value)}")
        return float(result)


def _listed(functions: object, label: str) -> list[EventFunction]:
    if functions is None:
        return []
    if callable(functions):
        return [functions]
    if not isinstance(functions, Sequence) or isinstance(functions, str):
        raise ModelError(
            f"{label}: events must be a function of a State or a list of them, received {shown(functions)}"
        )
    return list(functions)


def _called(event: object, k: int) -> str | int:
    """The name of an event, or its number."""
    if isinstance(event, Event):
        return event.name or k
    return name_of(event) if callable(event) else k
