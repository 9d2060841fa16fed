"""What was changed of the parts of a model: results are of parts as they were, and parts of nodes where these were.

Queries of a result make batches again from elements and joints. A part whose attribute is set, or a node that is moved,
keeps the value before, once for each moment at which something was made of it; :func:`as_of` gives it back for as long
as batches are made, or a part is made again. What is never changed keeps nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, NamedTuple
from weakref import WeakSet

PAST = "_past"
"""Where a part keeps its changes."""
MADE = "constructor_arguments"
"""Where a part keeps what it was made of."""


class Change(NamedTuple):
    """A value that an attribute had up to a moment."""

    until: int
    name: str
    value: Any


class Moments:
    """Counts the moments at which models were frozen and nodes moved, and how often parts were changed."""

    def __init__(self) -> None:
        self.now = self.changes = 0
        self.changed: WeakSet[Any] = WeakSet()
        self.lock = RLock()

    def next(self) -> int:
        """What is changed from now on is changed after this moment."""
        self.now += 1
        return self.now


moments = Moments()


def remember(part: Any, name: str) -> None:
    """Keep the value of an attribute that is about to change, for what was made of the part at this moment."""
    own = vars(part)
    if name not in own:
        return
    with moments.lock:
        moments.changes += 1
        past = own.setdefault(PAST, [])
        if not any(change.until == moments.now and change.name == name for change in past):
            past.append(Change(moments.now, name, own[name]))
            moments.changed.add(part)


def earlier(part: Any, name: str) -> list[Change]:
    """The values that an attribute has had before, first to last."""
    return [change for change in vars(part).get(PAST, ()) if change.name == name]


def changes_since(part: Any, moment: int) -> dict[str, Any]:
    """Attributes of a part that were changed since a moment, with their values then."""
    values: dict[str, Any] = {}
    for change in vars(part).get(PAST, ()):
        if change.until >= moment:
            values.setdefault(change.name, change.value)
    return values


def changed_since(parts: Iterable[Any], moment: int) -> str:
    """The parts that were changed since, each with the names of its attributes; empty if none was."""
    changed = ((part, changes_since(part, moment)) for part in parts if part in moments.changed)
    names = ((part, ", ".join(name for name in values if name != MADE)) for part, values in changed)
    return "; ".join(f"{part}: {text}" for part, text in names if text)


@contextmanager
def as_of(parts: Container[int], moment: int) -> Iterator[None]:
    """Within it, parts of these identities are as they were at a moment."""
    if not moments.changed:
        yield
        return
    with moments.lock:
        own = [part for part in moments.changed if id(part) in parts]
        then = [(part, changes_since(part, moment)) for part in own]
        now = [(part, {name: vars(part)[name] for name in values}) for part, values in then]
        try:
            for part, values in then:
                vars(part).update(values)
            yield
        finally:
            for part, values in now:
                vars(part).update(values)
