"""Names in place of nodes, elements and joints, before and after the model that knows them is there.

A function that has a model among its arguments looks names up at once. A constructor has none: what it makes is
:class:`Deferred` until ``model.add`` gets it, which calls the constructor with what the names stand for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from fem_mbs.contracts.arguments import nearest, shown
from fem_mbs.contracts.public import ModelPart, Public
from fem_mbs.errors import ModelError


class PartNames(Public):
    """Base of what knows the nodes, elements and joints of a model by their names."""

    _parts: dict[str, Any]


def look_up(parts: Mapping[str, Any], name: str, label: str) -> Any:
    """The part of a name, or a :class:`ModelError` that begins with ``label`` and says which names are near."""
    if name in parts:
        return parts[name]
    raise ModelError(f"{label}: nothing in the model is called {shown(name)}; {nearest(name, parts)}")


class Slots(NamedTuple):
    """Arguments of a function: those that may be given by position, and those that take parts of models."""

    places: tuple[str, ...]
    parts: frozenset[str]


class Deferred(ModelPart):
    """An element, a load or a joint that was given names, or what waits for names; ``model.add`` makes it."""

    remembers = False
    _kind: type[ModelPart]
    _slots: Slots
    _given: tuple[Any, ...]
    _named: dict[str, Any]

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


def defer(part: Any, slots: Slots, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Let an object whose constructor was called with names wait for a model."""
    vars(part).update(_kind=type(part), _slots=slots, _given=given, _named=named)
    object.__setattr__(part, "__class__", Deferred)


def make(part: Any, model: PartNames) -> None:
    """Call the constructor of an object that has waited, which stays as it is if that refuses."""
    if not isinstance(part, Deferred):
        return
    waiting, kind = dict(vars(part)), part._kind
    given, named = by_model(model, str(part), part._slots, part._given, part._named)
    vars(part).clear()
    object.__setattr__(part, "__class__", kind)
    try:
        kind.__init__(part, *given, **named)
    except BaseException:
        vars(part).clear()
        vars(part).update(waiting)
        object.__setattr__(part, "__class__", Deferred)
        raise


def by_model(
    model: PartNames | None,
    label: str,
    slots: Slots,
    given: tuple[Any, ...],
    named: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with parts in place of names; as they are without a model."""
    if model is None:
        return given, named

    def part(value: Any, argument: str) -> Any:
        if isinstance(value, list | tuple) and waits(value, argument in slots.parts):
            return type(value)([part(own, argument) for own in value])
        if isinstance(value, dict) and waits(value, argument in slots.parts):
            return {key: part(own, argument) for key, own in value.items()}
        if argument in slots.parts and isinstance(value, str):
            return look_up(model._parts, value, f"{label}: {argument}")
        make(value, model)
        return value

    by_place = tuple(part(value, place) for value, place in zip(given, slots.places, strict=False))
    return by_place, {argument: part(value, argument) for argument, value in named.items()}


def waits(value: Any, slot: bool) -> bool:
    """Whether an argument has names in place of parts, or something that waits for such names."""
    if type(value) in (list, tuple):
        return any(waits(own, slot) for own in value)
    if type(value) is dict:
        return any(waits(own, slot) for own in value.values())
    return isinstance(value, Deferred) or (slot and isinstance(value, str))


def takes_parts(hint: Any) -> bool:
    """Whether an annotation is of nodes, elements or joints, and not also of text."""
    inner = get_args(hint)
    if get_origin(hint) is Annotated:
        return takes_parts(inner[0])
    if get_origin(hint) is Mapping:
        return takes_parts(inner[1])
    if inner:
        return str not in inner and any(map(takes_parts, inner))
    return isinstance(hint, type) and issubclass(hint, ModelPart)
