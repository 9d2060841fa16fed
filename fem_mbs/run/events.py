"""Places on the way of a run at which a function of the state, or a channel of the solution, passes through zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import brentq

from fem_mbs.contracts import State, function, number, real, shown
from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.run.interfaces import Between
from fem_mbs.solution.channels import parse
from fem_mbs.solution.history import Instant
from fem_mbs.solution.outcome import Outcome, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.system.states import to_user
from fem_mbs.system.system import System

EventFunction = Annotated[
    Callable[[State], float], partial(function, of=" of a State, the name of a channel, or a list of these")
]
Event: TypeAlias = EventFunction | str
"""A function of the state, or the name of a channel, such as "tip.position.z"."""
PRECISION = 1e-12
"""Of an instant within its step."""
NO_STATS = Stats(np.zeros(0, np.intp), 0, 0, 0, 0, np.zeros(0), 0.0)


class Watched(NamedTuple):
    """An event: what is to pass through zero, and which of the zeros count."""

    label: str
    measure: Callable[[State, State, float | None], Any]
    """The value at a state; beside it, the last state and the value there, None at the start."""
    terminal: int
    direction: float
    optional: bool
    jumps: bool = False
    """Whether the sign may change in a jump, which is no zero."""

    def value(self, state: State, last: State, before: float | None) -> float:
        """The value at a state, if it is a number."""
        try:
            value = self.measure(state, last, before)
        except Exception as error:
            raise FemMbsError(f"{self.label} failed at t = {state.t:.6g} s: {error!r}") from error
        result = real(value)
        if result is None or result.shape != () or not np.isfinite(result):
            raise ModelError(f"{self.label} must return a number that changes its sign, received {shown(value)}")
        return float(result)


class Events:
    """The events of a run, in the style of :func:`scipy.integrate.solve_ivp`.

    A function may have the attributes ``terminal`` (True, or the number of events after which the run ends),
    ``direction`` (positive: only from negative to positive, negative: the other way) and ``optional`` (True: the run
    may end without a change of sign). ``instant`` is that of a path of equilibria, for channels.

    Attributes
    ----------
    states : list of list of State
        Of each event, the states at its zeros.
    values : list of float
        Of each event, the value at the last state; angles of joints count whole turns.
    """

    def __init__(
        self,
        events: Event | Sequence[Event],
        system: System,
        first: State,
        between: Between,
        label: str = "simulate",
        instant: Instant | None = None,
    ) -> None:
        self._system, self._between, self._last = system, between, first
        self._watched = [
            _of_channel(event, system, label, instant)
            if isinstance(event, str)
            else _of_function(event, k, system, label)
            for k, event in enumerate(_listed(events))
        ]
        self.states: list[list[State]] = [[] for _ in self._watched]
        self.values = [event.value(first, first, None) for event in self._watched]
        self._signs = [{np.sign(value)} for value in self.values]

    def until(self, state: State) -> State | None:
        """Find the events on the way to a state; the state of the one that ends the run, if there is one."""
        values = [
            event.value(state, self._last, before) for event, before in zip(self._watched, self.values, strict=True)
        ]
        zeros = [(*found, k) for k, value in enumerate(values) if (found := self._zero(k, state, value)) is not None]
        self._last, self.values = state, values
        for _, zero, k in sorted(zeros, key=lambda one: one[0]):
            self.states[k].append(to_user(self._system, zero))
            if (terminal := self._watched[k].terminal) and len(self.states[k]) >= terminal:
                return zero
        return None

    def check(self, solution: Solution) -> None:
        """Refuse events that never changed their sign; the error carries the solution."""
        for event, signs, states in zip(self._watched, self._signs, self.states, strict=True):
            if len(signs - {0.0}) < 2 and not states and not event.optional:
                sign = "positive" if 1.0 in signs else "negative" if -1.0 in signs else "zero"
                hint = "take a function of the state with the" if event.jumps else "set its"
                error = ModelError(
                    f"{event.label} never changed its sign: it was {sign} during the whole run. An event is where a "
                    "function of the state passes through zero; look at its sign and at the length of the run, or "
                    f"{hint} attribute optional = True if it need not happen. The error has the whole run as its "
                    "solution"
                )
                error.solution = solution
                raise error

    def _zero(self, k: int, state: State, value: float) -> tuple[float, State] | None:
        """Which share of the way to a state an event is at, and the state there; None if there is none."""
        event, first, before = self._watched[k], self._last, self.values[k]
        self._signs[k].add(np.sign(value))
        up, down = before < 0.0 <= value, before > 0.0 >= value
        if not ((up and event.direction >= 0) or (down and event.direction <= 0)):
            return None
        if value == 0.0:
            return 1.0, state

        def along(s: float) -> float:
            if s in (0.0, 1.0):
                return value if s else before
            return event.value(self._between(first, state, s), first, before)

        share = float(brentq(along, 0.0, 1.0, xtol=PRECISION))
        if event.jumps and abs(along(share)) > 0.5 * max(abs(before), abs(value)):
            return None
        return share, state if share == 1.0 else self._between(first, state, share)


def _listed(events: Any) -> list[Any]:
    return [events] if callable(events) or isinstance(events, str) else list(events)


def _of_function(event: Any, k: int, system: System, label: str) -> Watched:
    """The event of a function and its attributes."""
    label = f"{label}: event {_attribute(event, '__name__', k)!r}"
    terminal, direction = _attribute(event, "terminal", False), _attribute(event, "direction", 0)
    if not isinstance(terminal, int | np.integer | np.bool_) or terminal < 0:
        raise ModelError(f"{label}: terminal must be True, False or a number of events, received {shown(terminal)}")
    direction, optional = number(direction, f"{label}: direction"), _attribute(event, "optional", False)
    return Watched(label, lambda state, *_: event(to_user(system, state)), int(terminal), direction, bool(optional))


def _attribute(event: object, name: str, default: Any) -> Any:
    """What a user may have set on a function."""
    try:
        return getattr(event, name)
    except AttributeError:
        return default


def _of_channel(name: str, system: System, label: str, instant: Instant | None) -> Watched:
    """The event of a channel: it goes on from the last state, as angles of joints count whole turns."""
    channel = parse(system, name, f"{label}: event")
    if len(channel.columns) > 1:
        raise ModelError(
            f"{label}: event {name!r} is {len(channel.columns)} numbers; an event is where one of them passes through "
            f"zero: {', '.join(channel.columns)}"
        )

    def measure(state: State, last: State, before: float | None) -> float:
        solution = Solution(system, [last, state], Outcome.CUT, NO_STATS, instant=instant)
        start, value = channel.values(solution)[:, 0].tolist()
        turns = 0 if before is None or channel.units != ("rad",) else round((before - start) / (2.0 * np.pi))
        return float(value + 2.0 * np.pi * turns)

    return Watched(f"{label}: event {name!r}", measure, 0, 0.0, False, jumps=True)
