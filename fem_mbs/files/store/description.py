"""A model as data: its nodes, and its elements and joints as the arguments with which they were made.

A model that is made again from its description is the same to the bit: parts are made by their constructors, on nodes
where these were then (:meth:`Model.assemble` may have moved them since). Two descriptions are compared, and what
differs is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from fem_mbs.contracts import Constraint, ControlElement, Element, Node, Public, check_node, move_node
from fem_mbs.contracts.public import attributes_of
from fem_mbs.elements.flexible.reduction import Reduction
from fem_mbs.errors import FemMbsError, LawError, ModelError, of_library
from fem_mbs.files.store.values import Reader, Writer, packed
from fem_mbs.model.model import Model
from fem_mbs.system.system import System

PASSED_OVER = ("constructor_arguments", "name")
START = ("x0", "R0", "velocities", "u0", "udot0", "gravity", "free")


def describe(system: System) -> dict[str, Any]:
    """The model that a system was made of, as it was then, as data.

    Raises
    ------
    ModelError
        If a part of it was changed so that it would not be the same when made again.
    """
    with system.as_frozen():
        return _describe(system)


def _describe(system: System) -> dict[str, Any]:
    nodes, parts = system.nodes, system.number.parts
    writer = Writer(nodes, parts)
    places: dict[Node, list[Any]] = {
        node: [*(own for own in node.before if own.until < system.frozen_as), node] for node in nodes
    }
    cuts = sorted({place.until for own in places.values() for place in own[:-1]})
    first = [own[0] for own in places.values()]
    text = {
        "group": nodes[0].group,
        "gravity": writer.value(system.gravity),
        "nodes": {
            "names": [node.name for node in nodes],
            "groups": [node.group for node in nodes],
            "positions": writer.value(np.array([place.position for place in first])),
            "rotations": writer.value(np.array([place.rotation for place in first])),
            "velocities": writer.value(system.velocities),
            "held": [[node.fixed_translation, node.fixed_rotation] for node in nodes],
        },
        "moved": [
            [node.name, cuts.index(place.until), writer.value(moved.position), writer.value(moved.rotation)]
            for node, own in places.items()
            for place, moved in pairwise(own)
        ],
        "parts": (described := []),
        "added": len(parts),
    }
    for part in writer.parts:  # which grows by those that others are built on, without being in the model
        made = part.constructor_arguments
        stage = sum(cut < made.moment for cut in cuts) if made else len(cuts)
        described.append({"name": part.name, "stage": stage, **writer.object(part)})
        if isinstance(part, ControlElement) and part.connected is not None:
            described[-1]["connect"] = writer.value(part.connected)
    text["reductions"] = writer.reductions
    if all("class" in own for own in described):
        _check(system, rebuild(text, lambda named: writer.of_script[named[0]]))
    return text


def _check(system: System, model: Model) -> None:
    """Refuse a model that is not the same when it is made again."""
    again = System(model, system.end) if np.isfinite(system.end) else System(model)
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


def difference(one: Any, other: Any, name: str = "", seen: set[int] | None = None) -> str:
    """The first public attribute that differs; empty if none does. What belongs to a script is passed over."""
    seen = set() if seen is None else seen
    if id(one) in seen or isinstance(one, Node):
        return ""
    if isinstance(one, np.ndarray | float | int | str | np.generic | None):
        value = np.asarray(one)
        return "" if np.array_equal(value, other, equal_nan=value.dtype.kind == "f") else name or "its value"
    seen.add(id(one))
    pairs: list[tuple[Any, Any, str]]
    if isinstance(one, list | tuple | Mapping):
        if type(one) is not type(other) or len(one) != len(other):
            return name
        values = (own.values() if isinstance(own, Mapping) else own for own in (one, other))
        pairs = [(a, b, name) for a, b in zip(*values, strict=True)]
    elif type(one) is type(other) and (isinstance(one, Public) or of_library(type(one))):
        others = attributes_of(other)
        pairs = [
            (value, others[key], name or key)
            for key, value in attributes_of(one).items()
            if key not in PASSED_OVER and not key.startswith("_") and key in others
        ]
    else:
        return ""
    return next(filter(None, (difference(*pair, seen) for pair in pairs)), "")


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
    parts = [_named(side["parts"], side.get("reductions", [])) for side in (here, there)]
    for name in dict.fromkeys((*parts[1], *parts[0])):
        own, other = (side.get(name) for side in parts)
        if own is None or other is None:
            yield f"'{name}' is only in the {'model' if other is None else 'file'}"
        elif own != other:
            yield f"'{name}' was made of {_brief(own)}, that of the file of {_brief(other)}"
    if here["gravity"] != there["gravity"]:
        yield f"its gravity is {here['gravity']}, that of the file {there['gravity']}"


def _named(parts: list[dict[str, Any]], reductions: list[Any]) -> dict[str, Any]:
    """Parts by their names, with names in place of the numbers of others, and what reductions are."""

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(own) for own in value]
        if not isinstance(value, dict):
            return value
        if isinstance(number := value.get("reduction"), int):
            return {"reduction": reductions[number]}
        return {key: parts[own]["name"] if key == "part" else named(own) for key, own in value.items()}

    return {part["name"]: named(part) for part in parts}


def _brief(part: dict[str, Any]) -> str:
    text = json.dumps([part.get("class"), part.get("arguments"), part.get("named")])
    return text if len(text) < 300 else f"{text[:300]} ..."


def rebuild(text: dict[str, Any], of_script: Callable[[Any], Any]) -> Model:
    """The model of a description; ``of_script`` finds what it has of its script, by its number and its name.

    Raises
    ------
    FemMbsError
        If there is none.
    """
    return _Builder(text, of_script).model


class FunctionOfScript:
    """What stands for a function that is not at hand: it cannot be asked."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *arguments: Any) -> NoReturn:
        raise LawError(
            f"'{self.__name__}' is a function of the script that made the file, and functions do not travel in files. "
            "Give the model of the script: mbs.load(path, model)"
        )


class _Builder:
    """Makes a model: parts that others are built on first."""

    def __init__(self, text: dict[str, Any], of_script: Callable[[Any], Any]) -> None:
        self._parts: list[dict[str, Any]] = text["parts"]
        self._made: dict[int, Any] = {}
        self._reductions: dict[int, Reduction] = {}
        self._reader = reader = Reader(self._node, self._part, of_script, self._reduction)
        self._arrays = text.get("reductions", [])
        self.model = model = Model(text["group"], reader.value(text["gravity"]))
        self._add_nodes(text["nodes"])
        moved = [(cut, k, reader.value(x), reader.value(R)) for k, cut, x, R in text["moved"]]
        for stage in sorted({part["stage"] for part in self._parts}):
            moved = self._move(moved, stage)
            for k, part in enumerate(self._parts):
                if part["stage"] == stage:
                    self._part(k)
        self._move(moved, None)
        for k, own in enumerate(self._parts):
            if "connect" in own:
                self._part(k).connect(reader.value(own["connect"]))
        for k in range(text["added"]):
            model.add(self._part(k), name=self._parts[k]["name"])
        for node, (translation, rotation) in zip(model.nodes, text["nodes"]["held"], strict=True):
            if translation or rotation:
                model.hold(node, bool(translation), bool(rotation))

    def _add_nodes(self, text: dict[str, Any]) -> None:
        x, R, v = (self._reader.value(text[name]) for name in ("positions", "rotations", "velocities"))
        R.flags.writeable = False
        names, groups = text["names"], text["groups"]
        plain = (R == np.eye(3)).all(axis=(1, 2)) & ~v.any(axis=1) & (np.array(groups) == self.model.group)
        ends = np.flatnonzero(np.diff(plain, prepend=~plain[:1], append=~plain[-1:]))
        for first, last in pairwise(ends.tolist()):
            rows = range(max(first, 1), last)  # the ground is there
            if plain[first]:
                self.model.add_nodes(x[rows], [names[k] for k in rows])
                continue
            for k in rows:
                node = self.model.add_node(x[k], R[k], v[k, :3], v[k, 3:], group=groups[k], name=names[k])
                vars(node)["rotation"] = R[k]  # not freed of rounding again

    def _move(self, moved: list[Any], stage: int | None) -> list[Any]:
        """Make the moves before a stage; returns those after it."""
        for cut, k, x, R in sorted(moved, key=lambda own: own[0]):
            if stage is None or cut < stage:
                move_node(self._node(k), x, R)
        return [] if stage is None else [own for own in moved if own[0] >= stage]

    def _node(self, name: str) -> Node:
        return check_node(self.model[name], "it has a node that")

    def _reduction(self, k: int) -> Reduction:
        """The same of all parts that share it."""
        if not isinstance(k, int) or not 0 <= k < len(self._arrays):
            raise ModelError(f"it speaks of reduction {k}, and has {len(self._arrays)}")
        if k not in self._reductions:
            self._reductions[k] = self._reader.value({"reduction": self._arrays[k]})
        return self._reductions[k]

    def _part(self, k: int) -> Any:
        if not isinstance(k, int) or not 0 <= k < len(self._parts):
            raise ModelError(f"it speaks of part {k}, and has {len(self._parts)}")
        own = self._parts[k]
        if k not in self._made:
            self._made[k] = None
            try:
                call = {name: own[name] for name in ("class", "arguments", "named", "of script") if name in own}
                self._made[k] = self._reader.value(call)
            except FemMbsError as error:
                raise type(error)(f"{own['name'] or own.get('class')}: {error}") from None
        if not isinstance(part := self._made[k], Element | Constraint):
            kind = f"{own['of script'][1]} of the script" if "of script" in own else "no element or joint"
            raise ModelError(f"{own['name']} is {kind}, or is built on itself; give the model of the script as model")
        return part
