"""The contract of an event: a function of the state that a run watches, and what its passing through zero means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from fem_mbs.contracts.state import State
from fem_mbs.contracts.validate import name_of, number, shown
from fem_mbs.errors import ModelError

EventFunction = Callable[[State], float]


@dataclass(frozen=True)
class Event:
    """A function of the state that a run watches, in the style of :func:`scipy.integrate.solve_ivp`.

    A plain function becomes one with the attributes ``terminal``, ``direction`` and ``optional`` that it was given.

    Parameters
    ----------
    function : function of a State
        An event is where it passes through zero.
    terminal : bool or int
        Whether the run ends there, or the number of events after which it does.
    direction : float
        Positive: only from negative to positive; negative: the other way.
    optional : bool
        Whether the run may end without a change of sign.
    name : str
        How messages call it.
    """

    function: EventFunction
    terminal: int = False
    direction: float = 0.0
    optional: bool = False
    name: str = ""

    def __call__(self, state: State) -> float:
        """The function."""
        return self.function(state)

    @classmethod
    def of(cls, function: object, label: str) -> Event:
        """What a user gave, as an event, or a :class:`ModelError` that begins with ``label``."""
        if not callable(function):
            raise ModelError(f"{label} must be a function of a State, received {shown(function)}")
        if not isinstance(function, Event):
            given = _attributes(function)
            marks = {name: given[name] for name in ("terminal", "direction", "optional") if name in given}
            function = Event(function, **marks, name=name_of(function))
        if not isinstance(function.terminal, int | np.integer | np.bool_) or function.terminal < 0:
            received = shown(function.terminal)
            raise ModelError(f"{label}: terminal must be True, False or a number of events, received {received}")
        number(function.direction, f"{label}: direction")
        return function


def _attributes(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Attributes that a function was given, or that an object that can be called has, with those of its class."""
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType | partial):
        return vars(function)
    of_class = {name: value for kind in reversed(type(function).__mro__) for name, value in vars(kind).items()}
    return of_class | (vars(function) if type(function).__dictoffset__ else {})
