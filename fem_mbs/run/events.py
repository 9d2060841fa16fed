"""Places on the way of a run at which a function of the state passes through zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from fem_mbs.contracts import State, number, real, shown
from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.run.recorder import Between
from fem_mbs.solution.solution import Solution

EventFunction = Callable[[State], float]
PRECISION = 1e-12
"""Of an instant within its step."""


class Hit(NamedTuple):
    """An event: its number among the functions, where it is in the step, and the state there."""

    event: int
    share: float
    state: State


class Events:
    """Functions of the state that a run watches, in the style of :func:`scipy.integrate.solve_ivp`.

    A function may have the attributes ``terminal`` (True, or the number of events after which the run ends),
    ``direction`` (positive: only from negative to positive, negative: the other way) and ``optional`` (True: the run
    may end without a change of sign).
    """

    def __init__(
        self,
        functions: EventFunction | Sequence[EventFunction] | None,
        first: State,
        between: Between,
        to_user: Callable[[State], State],
        label: str = "simulate",
    ) -> None:
        self._given_out = to_user
        self.functions = _listed(functions, label)
        self.between = between
        self.hits: list[list[State]] = [[] for _ in self.functions]
        self._labels = [f"{label}: event {getattr(g, '__name__', k)!r}" for k, g in enumerate(self.functions)]
        for function, label in zip(self.functions, self._labels, strict=True):
            _check(function, label)
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
            terminal = getattr(self.functions[hit.event], "terminal", False)
            if terminal and len(self.hits[hit.event]) >= terminal:
                return hit.state
        return None

    def check(self, solution: Solution) -> None:
        """Refuse events that never changed their sign; the error carries the solution."""
        for k, (function, label) in enumerate(zip(self.functions, self._labels, strict=True)):
            signs = self._seen[k] - {0.0}
            if len(signs) < 2 and not self.hits[k] and not getattr(function, "optional", False):
                kept = {1.0: "positive", -1.0: "negative"}[signs.pop()] if signs else "zero"
                error = ModelError(
                    f"{label} never changed its sign: it was {kept} during the whole run. An event is where a function "
                    "of the state passes through zero; look at its sign and at the length of the run, or set its "
                    "attribute optional = True if it need not happen. The error has the whole run as its solution"
                )
                error.solution = solution
                raise error

    def _passed(self, k: int, value: float) -> bool:
        before, direction = self._values[k], getattr(self.functions[k], "direction", 0)
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


def _check(function: object, label: str) -> None:
    if not callable(function):
        raise ModelError(f"{label} must be a function of a State, received {shown(function)}")
    terminal = getattr(function, "terminal", False)
    if not isinstance(terminal, int | np.integer | np.bool_) or terminal < 0:
        raise ModelError(f"{label}: terminal must be True, False or a number of events, received {shown(terminal)}")
    number(getattr(function, "direction", 0), f"{label}: direction")
