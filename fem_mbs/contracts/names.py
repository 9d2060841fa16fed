"""Names in place of nodes, elements and joints, before and after the model that knows them is there.

A function that has a model among its arguments looks names up at once. A constructor has none: what it makes is
:class:`Deferred` until ``model.add`` gets it, which calls the constructor with what the names stand for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, get_args, get_origin

from fem_mbs.contracts.public import ModelPart, Public
from fem_mbs.contracts.validate import shown
from fem_mbs.errors import ModelError


class PartNames(Public):
    """Base of what knows the nodes, elements and joints of a model by their names."""

    _parts: dict[str, Any]


def look_up(parts: Mapping[str, Any], name: str, label: str) -> Any:
    """The part of a name, or a :class:`ModelError` that begins with ``label`` and says which names are near."""
    if name in parts:
        return parts[name]
    near = get_close_matches(name, parts, 3, 0.5)
    hint = f"is it {' or '.join(map(repr, near))}?" if near else f"there are {_some(parts)}"
    raise ModelError(f"{label}: nothing in the model is called {shown(name)}; {hint}")


class Deferred(ModelPart):
    """An element, a load or a joint that was given names, or what waits for names; ``model.add`` makes it."""

    remembers = False
    _kind: type[ModelPart]
    _given: tuple[Any, ...]
    _named: dict[str, Any]
    _slots: frozenset[int | str]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise ModelError(f"{self} has no '{name}' yet: it was given names, and is made when model.add gets it")

    def __setattr__(self, name: str, value: Any) -> None:
        raise ModelError(f"{self} has no '{name}' yet: it was given names, and is made when model.add gets it")

    def __str__(self) -> str:
        about = [repr(value) for value in (*self._given, *self._named.values()) if isinstance(value, str)]
        return f"{self._kind.__name__} on {', '.join(about[:2])}"

    __repr__ = __str__


def defer(part: Any, given: tuple[Any, ...], named: dict[str, Any], slots: frozenset[int | str]) -> None:
    """Let an object whose constructor was called with names wait for a model."""
    vars(part).update(_kind=type(part), _given=given, _named=named, _slots=slots)
    object.__setattr__(part, "__class__", Deferred)


def make(part: Any, model: PartNames) -> None:
    """Call the constructor of an object that has waited, which stays as it is if that refuses."""
    if not isinstance(part, Deferred):
        return
    waiting = dict(vars(part))
    kind, label = part._kind, str(part)
    given = [resolved(value, k + 1 in part._slots, model, label) for k, value in enumerate(part._given)]
    named = {key: resolved(value, key in part._slots, model, label) for key, value in part._named.items()}
    vars(part).clear()
    object.__setattr__(part, "__class__", kind)
    try:
        kind.__init__(part, *given, **named)
    except BaseException:
        vars(part).clear()
        vars(part).update(waiting)
        object.__setattr__(part, "__class__", Deferred)
        raise


def resolved(value: Any, slot: bool, model: PartNames, label: str) -> Any:
    """An argument with parts in place of names, where it is one that takes parts."""
    if isinstance(value, list | tuple) and waits(value, slot):
        return type(value)([resolved(own, slot, model, label) for own in value])
    if slot and isinstance(value, str):
        return look_up(model._parts, value, label)
    make(value, model)
    return value


def waits(value: Any, slot: bool) -> bool:
    """Whether an argument has names in place of parts, or something that waits for such names."""
    if type(value) in (list, tuple):
        return any(waits(own, slot) for own in value)
    return isinstance(value, Deferred) or (slot and isinstance(value, str))


def takes_parts(hint: Any) -> bool:
    """Whether an annotation is of nodes, elements or joints, and not also of text."""
    inner = get_args(hint)
    if get_origin(hint) is Annotated:
        return takes_parts(inner[0])
    if inner:
        return str not in inner and any(map(takes_parts, inner))
    return isinstance(hint, type) and issubclass(hint, ModelPart)


def _some(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + rest
