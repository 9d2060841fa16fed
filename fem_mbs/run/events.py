"""Places on the way of a run at which a function of the state, or a channel of the solution, passes through zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.contracts import Element, Event, EventLike, State, UnilateralBatch, real, returned, shown
from fem_mbs.contracts.unilateral import TIME, TOUCHING
from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.run.interfaces import Between
from fem_mbs.solution.channels import parse
from fem_mbs.solution.history import Instant, Outcome, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import begun
from fem_mbs.system.system import System

PRECISION = 1e-12
"""Of an instant within its step."""
NO_STATS = Stats(np.zeros(0, np.intp), 0, 0, 0, 0, np.zeros(0), 0.0)
Measure = Callable[[State, State, float | None], Any]
"""The value of an event at a state; beside it, the last state and the value there, None at the start."""


class Watched(NamedTuple):
    """An event of a run."""

    event: Event
    label: str
    measure: Measure
    wraps: bool = False
    """Whether its value jumps at half a turn."""
    hit: Callable[[State], float] | None = None
    """Of the gap of a rigid contact, when it was hit last."""

    def value(self, state: State, last: State, before: float | None) -> float:
        """The value at a state, if it is a number."""
        value = returned(f"{self.label} at t = {state.t:.6g} s", self.measure, state, last, before, kind=FemMbsError)
        result = real(value)
        if result is None or result.shape != () or not np.isfinite(result):
            raise ModelError(f"{self.label} must return a number that changes its sign, received {shown(value)}")
        return float(result)


class Events:
    """The events of a run; what they may say is in :class:`~fem_mbs.contracts.motion.Event`.

    ``instant`` is that of a path of equilibria, for channels.

    Attributes
    ----------
    states : list of list of State
        Of each event, the states at its zeros.
    values : list of float
        Of each event, the value at the last state; angles of joints count whole turns.
    """

    def __init__(
        self,
        events: EventLike | Sequence[EventLike],
        system: System,
        first: State,
        between: Between,
        label: str = "simulate",
        instant: Instant | None = None,
    ) -> None:
        self._system, self._between, self._last = system, between, first
        given = [events] if callable(events) or isinstance(events, str | Event) else events
        self._watched = [
            _watched(event, name, system, label, instant) for event, name in (Event.of(own, label) for own in given)
        ]
        self.states: list[list[State]] = [[] for _ in self._watched]
        self.values = [own.value(first, first, None) for own in self._watched]
        self._signs = [{np.sign(value)} for value in self.values]

    def until(self, state: State, end_at: Callable[[State], State]) -> State | None:
        """Find the events on the way to a state; the state that the run has, by ``end_at``, if one of them ends it.

        Where something jumps, they are on the way to just before it, or at the jump.
        """
        if state.before is not None and (end := self.until(state.before, end_at)) is not None:
            return end
        last = self._last
        values = [own.value(state, last, before) for own, before in zip(self._watched, self.values, strict=True)]
        zeros = [(*found, k) for k, value in enumerate(values) if (found := self._zero(k, state, value)) is not None]
        self._last, self.values = state, values
        for _, zero, k in sorted(zeros, key=lambda one: one[0]):
            ends = 0 < self._watched[k].event.terminal <= len(self.states[k]) + 1
            self.states[k].append(self._system.to_user(zero := end_at(zero) if ends else zero))
            if ends:
                return zero
        return None

    def check(self, solution: Solution) -> None:
        """Refuse events that never changed their sign; the error carries the solution."""
        for (event, label, *_), signs, states in zip(self._watched, self._signs, self.states, strict=True):
            if len(signs - {0.0}) < 2 and not states and not event.optional:
                sign = "positive" if 1.0 in signs else "negative" if -1.0 in signs else "zero"
                hint = "set its attribute optional = True"
                if isinstance(event.function, str):
                    hint = f"give fem_mbs.contracts.Event({event.function!r}, optional=True)"
                error = ModelError(
                    f"{label} never changed its sign: it was {sign} during the whole run. An event is where a function "
                    f"of the state passes through zero; look at its sign and at the length of the run, or {hint} if it "
                    "need not happen. The error has the whole run as its solution"
                )
                error.solution = solution
                raise error

    def _zero(self, k: int, state: State, value: float) -> tuple[float, State] | None:
        """Which share of the way to a state an event is at, and the state there; None if there is none."""
        own, first, before = self._watched[k], self._last, self.values[k]
        self._signs[k].add(np.sign(value))
        if own.hit is not None and own.event.direction <= 0 and first.t < (t := own.hit(state)) <= state.t:
            share = (t - first.t) / (state.t - first.t)
            return share, self._between(first, state, share)
        up, down = before < 0.0 <= value, before > 0.0 >= value
        if not ((up and own.event.direction >= 0) or (down and own.event.direction <= 0)):
            return None
        if value == 0.0 or first.t == state.t:
            return 1.0, state

        from scipy.optimize import brentq  # which takes long to import

        def along(s: float) -> float:
            if s in (0.0, 1.0):
                return value if s else before
            return own.value(self._between(first, state, s), first, before)

        share = float(brentq(along, 0.0, 1.0, xtol=PRECISION))
        if own.wraps and abs(along(share)) > 0.5 * max(abs(before), abs(value)):
            return None
        return share, state if share == 1.0 else self._between(first, state, share)


def _hit(batch: UnilateralBatch, number: int, state: State) -> float:
    """When a contact was hit last; what carries nothing, never."""
    numbers, rows = batch.carrying(state.u)
    return max(state.u[rows[numbers == number, TIME]].tolist(), default=-np.inf)


def _watched(event: Event, name: str, system: System, label: str, instant: Instant | None) -> Watched:
    """How an event is evaluated: a channel from the last state on, as angles of joints count whole turns.

    A rigid contact is closed, and its gap zero, from where it touches on; where it is hit and parts within a step, too.
    """
    function = event.function
    if not isinstance(function, str):
        return Watched(event, name, lambda state, *_: function(system.to_user(state)))
    channel = parse(system, function, f"{label}: event")
    if len(channel.columns) > 1:
        raise ModelError(
            f"{label}: event {function!r} is {len(channel.columns)} numbers; an event is where one of them passes "
            f"through zero: {', '.join(channel.columns)}"
        )

    touching = 0.0
    hit: Callable[[State], float] | None = None
    if channel.quantity == "gap" and isinstance(part := channel.part, Element) and not part.yields:
        touching = TOUCHING * system.length
        batch = next(own for own in system.batches if isinstance(own, UnilateralBatch) and part in own.owners)
        hit = partial(_hit, batch, batch.owners.index(part) * batch.friction.shape[1] + channel.chosen[0])

    def measure(state: State, last: State, before: float | None) -> float:
        if before is None:
            one = Solution(system, [state], Outcome.CUT, NO_STATS, turns=begun(system, state), instant=instant)
            return float(channel.values(one)[0, 0]) - touching
        solution = Solution(system, [last, state], Outcome.CUT, NO_STATS, instant=instant)
        start, value = channel.values(solution)[:, 0].tolist()
        turns = round((before - start) / (2.0 * np.pi)) if channel.units == ("rad",) else 0
        return float(value + 2.0 * np.pi * turns - touching)

    return Watched(event, name, measure, channel.units == ("rad",), hit)
