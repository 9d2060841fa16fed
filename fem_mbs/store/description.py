"""A model as data: its nodes, and its elements and joints as the arguments with which they were made.

A model that is made again from its description is the same to the bit: parts are made by their constructors, on nodes
where these were then (:meth:`Model.assemble` may have moved them since).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.model import Constraint, Element, Model, Node
from fem_mbs.store.foreign import ForeignConstraint, ForeignElement
from fem_mbs.store.functions import Answers, Asked, answer_key, asked
from fem_mbs.store.same import difference
from fem_mbs.store.values import Data, Reader, UnstorableError, Writer, classes
from fem_mbs.system import System

Function = Callable[..., Any]
START = ("x0", "R0", "velocities", "u0", "udot0", "gravity", "free")


class Description(NamedTuple):
    """A model as data, and what functions of its script returned."""

    model: Data
    functions: list[Asked]
    system: System
    """The same model made from the data, whose functions remember what they returned."""


def describe(system: System) -> Description:
    """The description of the model that a system was made of.

    Raises
    ------
    ModelError
        If the model or a part of it was changed since it was made, so that it would not be the same when made again.
    """
    nodes, parts = system.nodes, system.number.parts
    writer = Writer(nodes, parts)  # type: ignore[arg-type]
    cuts = sorted({place.until for node in nodes for place in node.before})
    groups: dict[Any, int] = {}
    text = {
        "group": nodes[0].group,
        "gravity": writer.value(system.gravity),
        "nodes": _nodes(writer, system),
        "moved": [
            [k, cuts.index(place.until), writer.value(x), writer.value(R)]
            for k, node in enumerate(nodes)
            for place, (x, R) in zip(node.before, _later(node), strict=True)
        ],
        "parts": (described := []),
        "added": len(parts),
    }
    for part in writer.parts:  # which grows by those that others are built on, without being in the model
        described.append(_part(writer, system, part, cuts, groups))
    data = writer.data(text)
    functions = [asked(own) for own in writer.functions]
    again = System(rebuild(data, functions), *([system.end] if np.isfinite(system.end) else []))
    _check(system, again)
    return Description(data, functions, again)


def rebuild(data: Data, functions: list[Asked]) -> Model:
    """The model of a description.

    Raises
    ------
    FemMbsError
        If there is none.
    """
    return _Builder(data, functions).model


def write_answers(functions: list[Asked]) -> Data:
    """Functions by their names, and what they returned."""
    writer = Writer()
    return writer.data([_answers(writer, own) for own in functions])


def read_answers(data: Data) -> list[Asked]:
    """Functions of a script that is not at hand."""
    reader = Reader(data.numbers)
    functions: list[Asked] = []
    for own in json.loads(data.text):
        answers: Answers = {}
        for method, arguments, result in own["answers"]:
            given = tuple(reader.value(arguments))
            if (key := answer_key(given)) is not None:
                answers[str(method), key] = given, reader.value(result)
        options: dict[str, Any] = {"has": tuple(own["has"]), "answers": answers}
        if "size" in own:
            from fem_mbs.store.laws import AskedLaw

            functions.append(AskedLaw(own["name"], own["size"], **options))
        else:
            functions.append(Asked(own["name"], **options))
    return functions


def check_same(model: Data, other: Data, label: str) -> None:
    """Refuse another model than that of a file."""
    if model.text == other.text and np.array_equal(model.numbers, other.numbers, equal_nan=True):
        return
    here, there = (json.loads(own.text) for own in (model, other))
    inlined = [
        _inlined(text, own.numbers, {"node": text["nodes"]["names"], "part": [part["name"] for part in text["parts"]]})
        for text, own in ((here, model), (there, other))
    ]
    what = next(_differing(*inlined), "it has other parts")
    raise ModelError(f"{label}: the model is not the one of the file: {what}")


def _nodes(writer: Writer, system: System) -> dict[str, Any]:
    nodes = system.nodes
    first: list[Any] = [node.before[0] if node.before else node for node in nodes]
    return {
        "names": [node.name for node in nodes],
        "groups": [node.group for node in nodes],
        "positions": writer.value(np.array([place.position for place in first])),
        "rotations": writer.value(np.array([place.rotation for place in first])),
        "velocities": writer.value(system.velocities),
        "held": [[node.fixed_translation, node.fixed_rotation] for node in nodes],
    }


def _later(node: Node) -> Iterator[tuple[Array, Array]]:
    """Where a node was after each of its moves."""
    later: Sequence[Any] = (*node.before, node)[1:]
    return ((place.position, place.rotation) for place in later)


def _part(writer: Writer, system: System, part: Any, cuts: list[int], groups: dict[Any, int]) -> dict[str, Any]:
    made: Any = getattr(part, "made", None)
    own: dict[str, Any] = {"name": part.name, "stage": sum(cut < made.placed for cut in cuts) if made else len(cuts)}
    try:
        # a class of the library, made of what a file can hold
        if classes().get(type(part).__name__) is not type(part):
            raise UnstorableError
        own |= writer.arguments(part)
        inputs = getattr(part, "inputs", ()) if hasattr(part, "connect") else ()
        if inputs and not (made.arguments or made.named):
            own["connect"] = writer.value(inputs[0])
    except UnstorableError:
        own["stage"] = len(cuts)
        own["foreign"] = _foreign(writer, system, part, groups)
    return own


def _foreign(writer: Writer, system: System, part: Any, groups: dict[Any, int]) -> dict[str, Any]:
    group = groups.setdefault((type(part), part.batch_key()), len(groups))
    lists = {name: writer.value(list(getattr(part, name))) for name in ("nodes", "turned", "pinned")}
    lists["unknowns"] = [writer.arguments(unknown) for unknown in part.unknowns]
    own = {"kind": type(part).__name__, "group": group, **lists}
    if isinstance(part, Constraint):
        added = part in system.number.equations
        own |= {
            "equations": list(part.equations),
            "coordinates": [[c.name, bool(c.angle)] for c in part.coordinates],
            "offset": writer.value(np.asarray(part.offset, dtype=float)),
            "length": system.of_length[system.number.equations[part]].tolist() if added else [],
        }
    return own


def _answers(writer: Writer, function: Asked) -> dict[str, Any]:
    answers = []
    for (method, _), (arguments, result) in function.answers.items():
        try:
            answers.append([method, writer.value([*arguments]), writer.value(result)])
        except UnstorableError:
            continue
    own = {"name": function.__name__, "has": list(function.has), "answers": answers}
    return own | ({"size": function.size} if hasattr(function, "size") else {})


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


class _Builder:
    """Makes a model: parts that others are built on first."""

    def __init__(self, data: Data, functions: list[Asked]) -> None:
        text = json.loads(data.text)
        self._parts: list[dict[str, Any]] = text["parts"]
        self._made: dict[int, Any] = {}
        self._functions = functions
        self._reader = reader = Reader(data.numbers, self._node, self._part, self._function)
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
                model.fix(node, bool(translation), bool(rotation))

    def _add_nodes(self, text: dict[str, Any]) -> None:
        arrays = [self._reader.value(text[name]) for name in ("positions", "rotations", "velocities")]
        rows = zip(text["names"], text["groups"], *arrays, strict=True)
        next(rows)  # the ground is there
        for name, group, x, R, v in rows:
            node = self.model.add_node(x, R, v[:3], v[3:], group=group, name=name)
            vars(node)["rotation"] = _read_only(R)  # not freed of rounding again

    def _move(self, moved: list[Any], stage: int | None) -> list[Any]:
        """Make the moves before a stage; returns those after it."""
        for cut, k, x, R in sorted(moved, key=lambda own: own[0]):
            if stage is None or cut < stage:
                self._node(k).place(x, R)
        return [] if stage is None else [own for own in moved if own[0] >= stage]

    def _node(self, k: int) -> Node:
        return self.model.nodes[_number(k, len(self.model.nodes), "node")]

    def _function(self, k: int) -> Asked:
        return self._functions[_number(k, len(self._functions), "function")]

    def _part(self, k: int) -> Any:
        k = _number(k, len(self._parts), "part")
        if k not in self._made:
            self._made[k] = None
            own = self._parts[k]
            try:
                self._made[k] = self._foreign(own["foreign"]) if "foreign" in own else self._reader.value(_call(own))
            except FemMbsError as error:
                raise type(error)(f"{own['name'] or own.get('class')}: {error}") from None
        if not isinstance(part := self._made[k], Element | Constraint):
            raise ModelError(f"{self._parts[k]['name']} is no element or joint, or one that is built on itself")
        return part

    def _foreign(self, own: dict[str, Any]) -> Element | Constraint:
        nodes, turned, pinned, unknowns = (
            self._reader.value(own[n]) for n in ("nodes", "turned", "pinned", "unknowns")
        )
        shared = own["kind"], own["group"], nodes, unknowns, turned, pinned
        if "equations" not in own:
            return ForeignElement(*shared)
        from fem_mbs.model import Coordinate

        coordinates = [Coordinate(*given) for given in own["coordinates"]]
        return ForeignConstraint(
            own["equations"], coordinates, self._reader.value(own["offset"]), own["length"], *shared
        )


def _call(own: dict[str, Any]) -> dict[str, Any]:
    return {name: own[name] for name in ("class", "arguments", "named") if name in own}


def _number(k: Any, count: int, what: str) -> int:
    if not isinstance(k, int) or not 0 <= k < count:
        raise ModelError(f"it speaks of {what} {k}, and has {count}")
    return k


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _inlined(value: Any, numbers: Array, names: dict[str, list[str]]) -> Any:
    """A description with its arrays in place, and names in place of numbers."""
    if isinstance(value, list):
        return [_inlined(own, numbers, names) for own in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        first, _, *shape = value["array"]
        return numbers[first : first + int(np.prod(shape))].tolist()
    if len(value) == 1 and (kind := next(iter(value))) in names:
        return {kind: names[kind][value[kind]]}
    return {name: _inlined(own, numbers, names) for name, own in value.items()}


def _differing(here: dict[str, Any], there: dict[str, Any]) -> Iterator[str]:
    """What differs between two descriptions, in words."""
    names = here["nodes"]["names"], there["nodes"]["names"]
    if names[0] != names[1]:
        yield f"its nodes are {', '.join(names[0][:8])} ..., those of the file {', '.join(names[1][:8])} ..."
    for what in here["nodes"]:
        pairs = zip(names[0], here["nodes"][what], there["nodes"][what], strict=False)
        yield from (f"{what} of node '{name}'" for name, own, other in pairs if own != other)
    parts = [{part["name"]: part for part in text["parts"]} for text in (here, there)]
    for name in dict.fromkeys((*parts[1], *parts[0])):
        own, other = (side.get(name) for side in parts)
        if own is None or other is None:
            yield f"'{name}' is only in the {'model' if other is None else 'file'}"
        elif own != other:
            yield f"'{name}' was made of {_brief(own)}, that of the file of {_brief(other)}"
    if here["gravity"] != there["gravity"]:
        yield f"its gravity is {here['gravity']}, that of the file {there['gravity']}"


def _brief(part: dict[str, Any]) -> str:
    text = json.dumps([part.get("class"), part.get("arguments"), part.get("named")])
    return text if len(text) < 300 else f"{text[:300]} ..."
