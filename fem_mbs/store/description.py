"""A model as data: its nodes, and its elements and joints as the arguments with which they were made.

A model that is made again from its description is the same to the bit: parts are made by their constructors, on nodes
where these were then (:meth:`Model.assemble` may have moved them since).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.model import Constraint, Node
from fem_mbs.store.build import rebuild
from fem_mbs.store.functions import Asked, asked
from fem_mbs.store.same import difference
from fem_mbs.store.values import Data, classes
from fem_mbs.store.writer import UnstorableError, Writer
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
