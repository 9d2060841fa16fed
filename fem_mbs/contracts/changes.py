"""What was changed of the parts of a model since it was frozen: a result is of the parts as they were.

Queries of a result make batches again from elements and joints. A part whose attribute is set keeps the value before,
once for each time that models were frozen since; :func:`as_frozen` gives it back for as long as batches are made. What
is never changed keeps nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, NamedTuple
from weakref import WeakSet

PAST = "_past"
"""Where a part keeps its changes."""


class Change(NamedTuple):
    """A value that an attribute had until so many models had been frozen."""

    until: int
    name: str
    value: Any


class Freezes:
    """Counts how often models were frozen and parts were changed, and knows which were."""

    def __init__(self) -> None:
        self.models = self.changes = 0
        self.changed: WeakSet[Any] = WeakSet()
        self.lock = RLock()

    def model(self) -> int:
        """Another model is frozen: its number."""
        self.models += 1
        return self.models


freezes = Freezes()


def remember(part: Any, name: str) -> None:
    """Keep the value of an attribute that is about to change, if a model was frozen with it."""
    own = vars(part)
    if not freezes.models or name not in own:
        return
    with freezes.lock:
        freezes.changes += 1
        past = own.setdefault(PAST, [])
        if not any(change.until == freezes.models and change.name == name for change in past):
            past.append(Change(freezes.models, name, own[name]))
            freezes.changed.add(part)


def changes_since(part: Any, model: int) -> dict[str, Any]:
    """Attributes of a part that were changed since the model of a number was frozen, with their values then."""
    values: dict[str, Any] = {}
    for change in vars(part).get(PAST, ()):
        if change.until >= model:
            values.setdefault(change.name, change.value)
    return values


def changed_since(parts: Iterable[Any], model: int) -> str:
    """The parts that were changed since, each with the names of its attributes; empty if none was."""
    names = ((part, ", ".join(changes_since(part, model))) for part in parts if part in freezes.changed)
    return "; ".join(f"{part}: {text}" for part, text in names if text)


@contextmanager
def as_frozen(parts: Container[int], model: int) -> Iterator[None]:
    """Within it, parts of these identities are as they were when the model of a number was frozen."""
    if not freezes.changed:
        yield
        return
    with freezes.lock:
        own = [part for part in freezes.changed if id(part) in parts]
        then = [(part, changes_since(part, model)) for part in own]
        now = [(part, {name: vars(part)[name] for name in values}) for part, values in then]
        try:
            for part, values in then:
                vars(part).update(values)
            yield
        finally:
            for part, values in now:
                vars(part).update(values)
