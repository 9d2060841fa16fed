"""A model as data: its nodes, and its elements and joints as the arguments with which they were made.

A model that is made again from its description is the same to the bit: parts are made by their constructors, on nodes
where these were then (:meth:`Model.assemble` may have moved them since). Two descriptions are compared, and what
differs is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.contracts import Constraint, ControlElement, Node, Public, attributes_of
from fem_mbs.errors import ModelError
from fem_mbs.files.store.build import rebuild
from fem_mbs.files.store.functions import RecordedFunction, recorded
from fem_mbs.files.store.values import Reader, UnstorableError, Writer, packed
from fem_mbs.system.system import System

PASSED_OVER = ("constructor_arguments", "name")
LIBRARY = "fem_mbs"


def difference(one: Any, other: Any, name: str = "", seen: set[int] | None = None) -> str:
    """The first public attribute that differs; empty if none does. Functions are passed over."""
    seen = set() if seen is None else seen
    if id(one) in seen or isinstance(one, Node | RecordedFunction):
        return ""
    if isinstance(one, np.ndarray | float | int | str | np.generic | None):
        return "" if _equal(one, other) else name or "its value"
    seen.add(id(one))
    if isinstance(one, list | tuple):
        if type(one) is not type(other) or len(one) != len(other):
            return name
        pairs = (difference(a, b, name, seen) for a, b in zip(one, other, strict=True))
        return next(filter(None, pairs), "")
    if isinstance(one, Mapping):
        if not isinstance(other, Mapping) or len(one) != len(other):
            return name
        pairs = (difference(a, b, name, seen) for a, b in zip(one.values(), other.values(), strict=True))
        return next(filter(None, pairs), "")
    if type(one) is not type(other) or not (isinstance(one, Public) or type(one).__module__.split(".")[0] == LIBRARY):
        return ""
    own, others = attributes_of(one), attributes_of(other)
    pairs = (
        difference(value, others[key], key if not name else name, seen)
        for key, value in own.items()
        if key not in PASSED_OVER and not key.startswith("_") and key in others
    )
    return next(filter(None, pairs), "")


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        if not isinstance(other, np.ndarray) or one.shape != other.shape:
            return False
        return bool((one == other).all() or ((one == other) | ((one != one) & (other != other))).all())
    return bool(one == other or (one != one and other != other))


def check_same(model: dict[str, Any], other: dict[str, Any], label: str) -> None:
    """Refuse another model than that of a file."""
    if packed(model) == packed(other):
        return
    try:
        what = next(_differing(model, other), "it has other parts")
    except ModelError as error:
        raise ModelError(f"{label}: {error}") from None
    raise ModelError(f"{label}: the model is not the one of the file: {what}")


def _differing(here: dict[str, Any], there: dict[str, Any]) -> Iterator[str]:
    """What differs between two descriptions, in words."""
    names = here["nodes"]["names"], there["nodes"]["names"]
    if names[0] != names[1]:
        yield f"its nodes are {', '.join(names[0][:8])} ..., those of the file {', '.join(names[1][:8])} ..."
    for what in here["nodes"]:
        values = (Reader().value(side["nodes"][what]) for side in (here, there))
        rows = zip(names[0], *values, strict=False)
        yield from (f"{what} of node '{name}'" for name, one, other in rows if np.any(one != other))
    parts = [_named(side["parts"]) for side in (here, there)]
    for name in dict.fromkeys((*parts[1], *parts[0])):
        own, other = (side.get(name) for side in parts)
        if own is None or other is None:
            yield f"'{name}' is only in the {'model' if other is None else 'file'}"
        elif own != other:
            yield f"'{name}' was made of {_brief(own)}, that of the file of {_brief(other)}"
    if here["gravity"] != there["gravity"]:
        yield f"its gravity is {here['gravity']}, that of the file {there['gravity']}"


def _named(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Parts by their names, with names in place of the numbers of others."""

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(own) for own in value]
        if not isinstance(value, dict):
            return value
        return {key: parts[own]["name"] if key == "part" else named(own) for key, own in value.items()}

    return {part["name"]: named(part) for part in parts}


def _brief(part: dict[str, Any]) -> str:
    text = json.dumps([part.get("class"), part.get("arguments"), part.get("named")])
    return text if len(text) < 300 else f"{text[:300]} ..."


Function = Callable[..., Any]
START = ("x0", "R0", "velocities", "u0", "udot0", "gravity", "free")


class Description(NamedTuple):
    """A model as data, and what functions of its script returned."""

    model: dict[str, Any]
    functions: list[RecordedFunction]
    system: System
    """The same model made from the data, whose functions remember what they returned."""


def describe(system: System) -> Description:
    """The description of the model that a system was made of, as it was then.

    Raises
    ------
    ModelError
        If a part of it was changed so that it would not be the same when made again.
    """
    with system.as_frozen():
        return _describe(system)


def _describe(system: System) -> Description:
    nodes, parts = system.nodes, system.number.parts
    writer = Writer(nodes, parts)
    places: dict[Node, list[Any]] = {
        node: [*(own for own in node.before if own.until < system.frozen_as), node] for node in nodes
    }
    cuts = sorted({place.until for own in places.values() for place in own[:-1]})
    groups: dict[Any, int] = {}
    text = {
        "group": nodes[0].group,
        "gravity": writer.value(system.gravity),
        "nodes": _nodes(writer, system, [own[0] for own in places.values()]),
        "moved": [
            [node.name, cuts.index(place.until), writer.value(moved.position), writer.value(moved.rotation)]
            for node, own in places.items()
            for place, moved in pairwise(own)
        ],
        "parts": (described := []),
        "added": len(parts),
    }
    for part in writer.parts:  # which grows by those that others are built on, without being in the model
        described.append(_part(writer, system, part, cuts, groups))
    functions = [recorded(own) for own in writer.functions]
    again = System(rebuild(text, functions, whole=False), *([system.end] if np.isfinite(system.end) else []))
    _check(system, again)
    return Description(text, functions, again)


def _nodes(writer: Writer, system: System, first: Sequence[Any]) -> dict[str, Any]:
    nodes = system.nodes
    return {
        "names": [node.name for node in nodes],
        "groups": [node.group for node in nodes],
        "positions": writer.value(np.array([place.position for place in first])),
        "rotations": writer.value(np.array([place.rotation for place in first])),
        "velocities": writer.value(system.velocities),
        "held": [[node.fixed_translation, node.fixed_rotation] for node in nodes],
    }


def _part(writer: Writer, system: System, part: Any, cuts: list[int], groups: dict[Any, int]) -> dict[str, Any]:
    made = part.constructor_arguments
    own: dict[str, Any] = {"name": part.name, "stage": sum(cut < made.moment for cut in cuts) if made else len(cuts)}
    known = len(writer.outside)
    try:
        own |= writer.arguments(part)
        if isinstance(part, ControlElement) and part.connected is not None:
            own["connect"] = writer.value(part.connected)
    except UnstorableError:
        own = {"name": part.name, "stage": len(cuts), "unavailable": _unavailable(writer, system, part, groups)}
    else:
        if outside := writer.outside[known:]:
            own |= {"outside": outside, "unavailable": _unavailable(writer, system, part, groups)}
    return own


def _unavailable(writer: Writer, system: System, part: Any, groups: dict[Any, int]) -> dict[str, Any]:
    """What stands for a part whose class is not at hand."""
    own = {name: getattr(part, name) for name in ("nodes", "rotation_dependent", "rotation_free", "internal_variables")}
    own |= {"kind": type(part).__name__, "group": groups.setdefault((type(part), part.batch_key()), len(groups))}
    if isinstance(part, Constraint):
        own |= {name: getattr(part, name) for name in ("equations", "coordinates", "offset")}
        added = part in system.number.equations
        own["length"] = system.of_length[system.number.equations[part]].tolist() if added else []
    return {name: writer.value(value) for name, value in own.items()}


def _check(system: System, again: System) -> None:
    """Refuse a model that is not the same when it is made again."""
    for one, other in zip(system.number.parts, again.number.parts, strict=True):
        if what := difference(one, other):
            raise ModelError(
                f"{one}: a file cannot hold it: {what} is not as it was given to {type(one).__name__}, with which it "
                "is made again from a file; make a new one in place of changing it"
            )
    for name in START:
        if not np.array_equal(getattr(system, name), getattr(again, name)):
            raise ModelError(
                f"a file cannot hold the model: it was changed after the run ({name}); save a solution before its "
                "model is changed"
            )
    if system.source != again.source:
        raise ModelError("a file cannot hold the model: its equations are not the same when it is made again")
