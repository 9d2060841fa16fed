"""The contract of an event: what a run watches, and what its passing through zero means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Annotated, Any, TypeAlias

import numpy as np

from fem_mbs.contracts.arguments import LARGEST, function, name_of, shown
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.motion import State
from fem_mbs.errors import ModelError

EventFunction = Annotated[
    Callable[[State], float], partial(function, of=" of a State, the name of a channel, or a list of these")
]


def _count(value: object, label: object) -> int:
    if not isinstance(value, int | np.integer | np.bool_) or not 0 <= value <= LARGEST:
        raise ModelError(f"{label} must be True, False or a number of events, received {shown(value)}")
    return int(value)


@checked
@dataclass(frozen=True)
class Event:
    """What a run watches, in the style of :func:`scipy.integrate.solve_ivp`.

    A plain function becomes one with the attributes ``terminal``, ``direction`` and ``optional`` that it was given.

    Parameters
    ----------
    function : function of a State, or str
        An event is where it passes through zero, or the channel of the solution of this name, as "tip.position.z".
    terminal : bool or int
        Whether the run ends there, or the number of events after which it does.
    direction : float
        Positive: only from negative to positive; negative: the other way.
    optional : bool
        Whether the run may end without a change of sign.
    name : str
        How messages call it.
    """

    function: EventFunction | str
    terminal: Annotated[bool | int, _count] = False
    direction: float = 0.0
    optional: bool = False
    name: str = ""

    @classmethod
    def of(cls, given: EventLike, number_: int, label: str) -> tuple[Event, str]:
        """What a user gave, the ``number_``-th, as an event, and what messages about it begin with."""
        if isinstance(given, Event):
            event = given
        elif isinstance(given, str):
            event = cls(given)
        else:
            marks = {key: value for key, value in _attributes(given).items() if key in MARKS}
            event = cls(given, **marks, name=name_of(given))
        called = event.name or (event.function if isinstance(event.function, str) else number_)
        return event, f"{label}: event {called!r}"


EventLike: TypeAlias = Event | EventFunction | str
MARKS = ("terminal", "direction", "optional")


def _attributes(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Attributes that a function was given, or that an object that can be called has, with those of its class."""
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType | partial):
        return vars(function)
    of_class = {name: value for kind in reversed(type(function).__mro__) for name, value in vars(kind).items()}
    return of_class | (vars(function) if type(function).__dictoffset__ else {})
