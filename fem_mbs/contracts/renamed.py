"""Names that have changed since version 0.1, and what a call is told that does not fit a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from fem_mbs.errors import ModelError

ARGUMENTS = {
    "drives": ("drive",),
    "free": ("release",),
    "end": ("side", "final"),
    "start": ("initial_output", "initial"),
    "size": ("nominal",),
    "offset": ("begin",),
    "unknown": ("variable",),
}
"""Former names of arguments, and those of today; told where a call has the former and the function has the new one."""
CLASSES = {"Actuator": "FirstOrderActuator", "SlipSpring": "FrictionSpring", "Unknown": "InternalVariable"}
"""Former names of classes and functions, and those of today."""
ATTRIBUTES = {"unknowns": "internal_variables"}
"""Former names of attributes and queries, and those of today."""


def misfit(function: Callable[..., Any], given: Iterable[Any], named: Mapping[str, Any], method: bool) -> str:
    """Why a function cannot be called like this, to follow its name; empty if it can.

    ``method`` is whether the first of the ``given`` arguments is the object or the class that it is called on.
    """
    given = list(given)
    own = list(inspect.signature(function).parameters.values())
    places = [each.name for each in own if each.kind is each.POSITIONAL_OR_KEYWORD]
    known = [*places, *(each.name for each in own if each.kind is each.KEYWORD_ONLY)]
    if all(each.kind is not each.VAR_POSITIONAL for each in own) and len(given) > len(places):
        byname = known[len(places) :]
        rest = f"; give the others by name: {', '.join(f'{name}=' for name in byname)}" if byname else ""
        taken = ", ".join(places[method:]) or "none"
        return f"takes {taken} by position, received {len(given) - method} arguments{rest}"
    if all(each.kind is not each.VAR_KEYWORD for each in own):
        for name in named:
            if name not in known:
                new = next((each for each in ARGUMENTS.get(name, ()) if each in known), None)
                near = [new] if new in known else get_close_matches(name, known[method:], 3, 0.5)
                what = f"'{name}' is called '{new}' now" if new in known else f"has no argument '{name}'"
                hint = f"is it {' or '.join(map(repr, near))}?" if near else f"it takes {', '.join(known[method:])}"
                return what if new in known else f"{what}; {hint}"
    for name in places[: len(given)]:
        if name in named:
            return f"'{name}' is given twice, by position and by name"
    missing = [each.name for each in own if each.name in known[len(given) :] and each.default is each.empty]
    missing = [name for name in missing if name not in named]
    return f"needs {', '.join(map(repr, missing))}" if missing else ""


def former(module: dict[str, Any]) -> Callable[[str], Any]:
    """A ``__getattr__`` of a module, which tells how what is looked for is called now."""

    def look_up(name: str) -> Any:
        if CLASSES.get(name) in module["__all__"]:
            raise ModelError(f"{module['__name__']}: '{name}' is called '{CLASSES[name]}' now")
        raise AttributeError(f"module '{module['__name__']}' has no attribute '{name}'")

    return look_up
