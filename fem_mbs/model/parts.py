"""The parts of a model: which are built on which, and what is counted and measured of them as built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint, Element, Node, Part, attributes_of

ENDS = (str, bytes, int, float, complex, np.ndarray, np.generic, type, FunctionType, MethodType, ModuleType)
"""What holds no part, or is not looked into."""
TOGETHER = (list, tuple, set, frozenset)


def summary(group: str, gravity: Array, nodes: Sequence[Node], parts: Sequence[Element | Constraint]) -> str:
    """Nodes, parts by their classes, and degrees of freedom, as ``print(model)`` shows them."""
    groups = " and ".join(dict.fromkeys(node.group for node in nodes[1:])) or group
    fixed = sum(node.fixed_translation and node.fixed_rotation for node in nodes)
    idle = idle_rotations(parts)
    free = sum(6 - 3 * node.fixed_translation - 3 * (node.fixed_rotation or node in idle) for node in nodes)
    equations = sum(len(part.equations) for part in parts if isinstance(part, Constraint))
    acting = ", ".join(f"{g:g}" for g in gravity)
    lines = [f"Model on {groups}" + (f" with gravity ({acting})" if gravity.any() else "")]
    lines.append(
        f"  {counted(len(nodes), 'node')}, {fixed} of them fixed: "
        f"{counted(free, 'degree')} of freedom before constraints"
    )
    kinds = Counter(type(part).__name__ for part in parts)
    lines.extend(f"  {kind}: {count}" for kind, count in kinds.items())
    own = Counter(variable.kind for part in parts for variable in part.internal_variables)
    if own:
        lines.append(f"  internal variables: {', '.join(f'{count} of kind {kind!r}' for kind, count in own.items())}")
        free += own["coordinate"]
    if rigid := sum(len(part.contacts) for part in parts if isinstance(part, Element) and not part.yields):
        lines.append(f"  {counted(rigid, 'point')} of rigid contact: NonsmoothAlpha integrates it")
    left = f"{counted(free - equations, 'degree')} of freedom left"
    if equations > free:
        left = f"{equations - free} more than degrees of freedom"
    lines.append(f"  {counted(equations, 'constraint equation')}: {left}")
    return "\n".join(lines)


def idle_rotations(parts: Iterable[Element | Constraint]) -> set[Node]:
    """Nodes of trusses and released ends whose rotation nothing acts on: it is held."""
    parts = list(parts)
    pinned = {node for part in parts for node in part.rotation_free}
    if not pinned:
        return pinned
    turned = {node for part in parts for node in part.rotation_dependent}
    return {node for node in pinned - turned if not node.angular_velocity.any()}


def extent(nodes: list[Node]) -> float:
    """Largest extent of the initial node positions, a length to compare small lengths with; 0 for one node."""
    positions = np.array([node.position for node in nodes])
    return float(np.ptp(positions, axis=0).max())


def counted(number: int, what: str) -> str:
    """A number of things: "1 node", "2 nodes"."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def users(owner: object, parts: Sequence[Part], wanted: Iterable[Part]) -> dict[Part, list[Part]]:
    """Which ``parts`` of a model, the ``owner``, hold each of the ``wanted``, if any do."""
    ends = {id(own) for own in (owner, *parts)}
    found: dict[Part, list[Part]] = {own: [] for own in wanted}
    for part in parts:
        held = [own for value in vars(part).values() for own in held_by(value, ends, set())]
        for own in {id(own): own for own in held if isinstance(own, Part) and own is not part}.values():
            if own in found:
                found[own].append(part)
    return {own: using for own, using in found.items() if using}


def held_by(value: Any, ends: set[int], seen: set[int]) -> Iterator[Any]:
    """A value and all that it holds, in turn; not what those hold that are ``ends``."""
    if value is None or isinstance(value, ENDS) or id(value) in seen:
        return
    seen.add(id(value))
    yield value
    if id(value) in ends:
        return
    if isinstance(value, Mapping):
        inner: Iterable[Any] = [*value.keys(), *value.values()]
    else:
        inner = value if isinstance(value, TOGETHER) else attributes_of(value).values()
    for own in inner:
        yield from held_by(own, ends, seen)
