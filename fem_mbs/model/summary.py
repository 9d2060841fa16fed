"""What is counted and measured of a model as built."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.model.constraint import Constraint
from fem_mbs.model.element import Element
from fem_mbs.model.node import Node

if TYPE_CHECKING:
    from fem_mbs.model.model import Model


def summary(model: Model) -> str:
    """Nodes, parts by their classes, and degrees of freedom, as ``print(model)`` shows them."""
    groups = " and ".join(dict.fromkeys(node.group for node in model.nodes[1:])) or model.group
    fixed = sum(node.fixed_translation and node.fixed_rotation for node in model.nodes)
    idle = idle_rotations(model)
    free = sum(6 - 3 * node.fixed_translation - 3 * (node.fixed_rotation or node in idle) for node in model.nodes)
    equations = sum(len(constraint.equations) for constraint in model.constraints)
    gravity = ", ".join(f"{g:g}" for g in model.gravity)
    lines = [f"Model on {groups}" + (f" with gravity ({gravity})" if model.gravity.any() else "")]
    lines.append(
        f"  {counted(len(model.nodes), 'node')}, {fixed} of them fixed: "
        f"{counted(free, 'degree')} of freedom before constraints"
    )
    parts: list[Element | Constraint] = [*model.elements, *model.constraints]
    kinds = Counter(type(part).__name__ for part in parts)
    lines.extend(f"  {kind}: {count}" for kind, count in kinds.items())
    own = Counter(unknown.kind for part in parts for unknown in part.unknowns)
    if own:
        lines.append(f"  own unknowns: {', '.join(f'{count} of kind {kind!r}' for kind, count in own.items())}")
        free += own["coordinate"]
    left = f"{counted(free - equations, 'degree')} of freedom left"
    if equations > free:
        left = f"{equations - free} more than degrees of freedom"
    lines.append(f"  {counted(equations, 'constraint equation')}: {left}")
    return "\n".join(lines)


def idle_rotations(model: Model) -> set[Node]:
    """Nodes of trusses and released ends whose rotation nothing acts on: it is held."""
    parts: list[Element | Constraint] = [*model.elements, *model.constraints]
    pinned = {node for part in parts for node in part.pinned}
    if not pinned:
        return pinned
    turned = {node for part in parts for node in part.turned}
    return {node for node in pinned - turned if not node.angular_velocity.any()}


def extent(nodes: list[Node]) -> float:
    """Largest extent of the initial node positions, a length to compare small lengths with; 0 for one node."""
    positions = np.array([node.position for node in nodes])
    return float(np.ptp(positions, axis=0).max())


def counted(number: int, what: str) -> str:
    """A number of things: "1 node", "2 nodes"."""
    return f"{number} {what}" + ("" if number == 1 else "s")
