"""What looks wrong of a shell: bad shapes, neighbours that look the other way, thick ones, parts held by drilling.

And compression under which a sheet wrinkles in waves that its elements are too large for. A plate of the bending
stiffness ``D`` buckles under the compression ``N`` into waves ``sin(k s)`` across it where ``N = D k^2``; where it is
curved along their crests, by ``kappa``, they stretch it, and

    N(k) = D k^2 + C kappa^2/k^2

with the stiffness ``C`` against that stretch (Koiter; for a cylinder, of radius ``R``, the least is the classical
``E h^2/(R sqrt(3 (1 - nu^2)))``). An element of the length ``a`` buckles alone where half a wave fits in it, at ``k >=
pi/a``. From half of that load on waves of less than three elements grow, and the mesh shows its own in their place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import ModelContext, Node
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.joints.relative import RelativeJoint
from fem_mbs.elements.shells.geometry import corner_normals, shared_sides

if TYPE_CHECKING:
    from fem_mbs.elements.shells.shell import Shell

CORNERS = 20.0, 160.0
"""Angles in degrees that corners should be between."""
WARP, ASPECT, THICK = 15.0, 20.0, 1.0
"""Largest angle in degrees between normals of corners, longest edge over shortest, thickness over shortest edge."""
LEAST = 0.1
"""Of a normal that is off the free axes of a joint: by more, the joint turns what it holds along."""


def doubts(shell: Shell, around: ModelContext) -> Iterator[str]:
    """What looks wrong, a sentence each."""
    yield from shapes(shell)
    yield from _against_others(shell, around)
    for node, part in _held_by_drilling(shell, around):
        yield (
            f"{part} joins its {node} to what nothing else holds: only the weak stiffness of one node against drilling "
            "keeps this from turning about the normal; join it to more nodes of the shell, or hold it elsewhere"
        )


def _against_others(shell: Shell, around: ModelContext) -> Iterator[str]:
    """Shells before it with which it has edges in common, along which both go in the same direction."""
    shells: list[Shell] = [part for part in around.number.parts if isinstance(part, type(shell))]
    number = around.number
    rows = [np.array([number(node) for node in own.nodes])[own.cells] for own in shells]
    owner = np.repeat(np.arange(len(shells)), [len(own) for own in rows])
    here, there = opposite(np.concatenate(rows))
    first, second = np.sort([owner[here], owner[there]], axis=0)
    for k in np.unique(first[(first != second) & (second == shells.index(shell))]):
        yield (
            f"goes round an edge that it has in common with {shells[k]} the same way, so that their normals are "
            "opposite; list the nodes of both counter-clockwise about one side, or swap u and v of one"
        )


def _turns_with(part: object, node: Node, normal: Array) -> bool:
    """Whether what a part joins to a node turns with it about a direction: a beam, and a joint with no such axis."""
    if not isinstance(part, RelativeJoint):
        return isinstance(part, Beam)
    axes = node.rotation @ part.axes[0 if node is part.nodes[0] else -1]
    turning = [own.name for own in part.coordinates if own.angle and own.name not in part.driven]
    free = axes[:, ["xyz".index(name[-1]) for name in turning]]
    return bool(np.linalg.norm(normal - free @ (normal @ free)) > LEAST)


def _held_by_drilling(shell: Shell, around: ModelContext) -> Iterator[tuple[Node, Beam | RelativeJoint]]:
    """Beams and joints from a node of the shell to what has no other way to a shell, the ground or a held node."""
    links = defaultdict(list)
    shells: set[Node] = set()
    for part in around.number.parts:
        if isinstance(part, type(shell)):
            shells.update(part.nodes)
        else:
            for node in part.nodes:
                links[node].append(part)
    normals = dict(zip(shell.cells.ravel().tolist(), shell.frames[..., 2].reshape(-1, 3), strict=True))
    for k, node in enumerate(shell.nodes):
        for part in links[node]:
            if not _turns_with(part, node, node.rotation @ normals[k]):
                continue
            reached, waiting, held = {node}, [node], False
            while waiting and not held:
                found = {other for link in links[waiting.pop()] for other in link.nodes} - reached
                held = any(other in shells or other.fixed_rotation or around.number(other) == 0 for other in found)
                reached |= found
                waiting += found
            if not held:
                yield node, part


def shapes(shell: Shell) -> Iterator[str]:
    """Of its elements."""
    x = np.array([node.position for node in shell.nodes])[shell.cells]
    edges = np.roll(x, -1, axis=1) - x
    lengths = np.linalg.norm(edges, axis=-1)
    before = -np.roll(edges, 1, axis=1)
    cosine = np.vecdot(edges, before) / (lengths * np.roll(lengths, 1, axis=1))
    angles = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    normals = corner_normals(x)
    warp = np.degrees(np.arccos(np.clip(np.vecdot(normals[:, None], normals[:, :, None]), -1.0, 1.0))).max(axis=(1, 2))
    aspect = lengths.max(axis=1) / lengths.min(axis=1)
    bad = (angles < CORNERS[0]) | (angles > CORNERS[1])
    sharpest = np.where(90.0 - angles > angles - 90.0, angles, 180.0 - angles).min(axis=1)
    where = angles[np.arange(len(angles)), np.abs(angles - 90.0).argmax(axis=1)]
    yield from _worst(
        shell, bad.any(axis=1), -sharpest, where, "has a corner of {:.0f} degrees, where 20 to 160 are good"
    )
    yield from _worst(shell, warp > WARP, warp, warp, "is warped by {:.0f} degrees, more than 15; use smaller ones")
    yield from _worst(shell, aspect > ASPECT, aspect, aspect, "has sides of 1 to {:.0f}, more than 20")
    h, shortest = shell.section.thickness, lengths.min(axis=1)
    thick = h / shortest
    yield from _worst(
        shell,
        thick > THICK,
        thick,
        shortest,
        f"has an edge of {{:.3g}}, shorter than the thickness {h:.3g}; look at units",
    )
    here, there = opposite(shell.cells)
    if len(here):
        yield (
            f"its elements {here[0] + 1} and {there[0] + 1} go round their common edge the same way, so that their "
            f"normals are opposite{_more(len(here))}; list the nodes of all elements counter-clockwise about one side"
        )


def _worst(shell: Shell, which: BoolArray, measure: Array, value: Array, text: str) -> Iterator[str]:
    """A sentence on the worst element of those that are bad."""
    if which.any():
        element = int(np.argmax(np.where(which, measure, -np.inf)))
        corners = ", ".join(str(shell.nodes[k]) for k in shell.cells[element])
        yield f"its element {element + 1} with {corners} {text.format(value[element])}{_more(int(which.sum()))}"


def _more(count: int) -> str:
    return f" ({count} in all)" if count > 1 else ""


def opposite(cells: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of elements that have an edge to themselves, and go along it in the same direction."""
    here, there, alone = shared_sides(cells)
    start = cells.ravel()
    same = alone & (start[here] == start[there])
    return here[same] // 4, there[same] // 4


SHARE = 0.5
"""Of the compression that buckles an element, which its mesh can follow."""
WRINKLES = (
    "is compressed by {:.2g} times what its size allows, which is half of what buckles it alone: the sheet wrinkles in "
    "waves of less than three elements, and what is shown in their place depends on the mesh. Take smaller elements or "
    "a thicker sheet"
)


def sides(d: Array) -> Array:
    """From one edge to the opposite one, in both directions ``(n, 2, 2)``, of coordinates ``d`` (n, 4, 6)."""
    a, b, c, e = np.moveaxis(d[..., :2], 1, 0)
    return 0.5 * np.stack([b + c - a - e, c + e - a - b], axis=1)


def compression(force: Array, curvature: Array, law: Array, sides: Array) -> Array:
    """The largest compression over what elements can follow, ``(n,)``; negative in tension.

    Forces per length ``(n, 3)`` and curvatures ``(n, 3)`` come in the order 11, 22, 12, with twice the twist; ``law``
    (n, 6, 6) is that of a section, membrane first, ``sides`` (n, 2, 2) lead from one edge to the opposite one.
    """
    n11, n22, n12 = force.T
    least = 0.5 * (n11 + n22) - np.hypot(0.5 * (n11 - n22), n12)
    angle = 0.5 * np.arctan2(-2.0 * n12, n22 - n11)
    c, s = np.cos(angle), np.sin(angle)
    along, crest = np.stack([c * c, s * s, 2.0 * c * s], axis=-1), np.stack([s * s, c * c, -c * s], axis=-1)
    soft = np.linalg.inv(law[:, :3, :3])
    B = law[:, :3, 3:]
    D = np.vecdot(along, np.matvec(law[:, 3:, 3:] - B.mT @ soft @ B, along))
    stretch = np.vecdot(crest, curvature) ** 2 / np.vecdot(crest, np.matvec(soft, crest))
    length = np.linalg.norm(np.matvec(sides, np.stack([c, s], axis=-1)), axis=-1)
    squared = np.maximum((np.pi / length) ** 2, np.sqrt(stretch / D))
    return -least / (SHARE * (D * squared + stretch / squared))
