"""The point from which a system measures positions, and the length that it judges small lengths by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.model import Constraint, Node, extent

FAR = 4.0
"""A model further away than so many times its extent measures positions from one of its own nodes."""


def origin_and_length(nodes: Sequence[Node], joints: Iterable[Constraint]) -> tuple[Array, float]:
    """The origin (3,), zero for a model near that of the world, and the extent; the ground is the first node.

    A rounding of positions is one of strains: at 10 km from the origin, a millionth of those of a ruler. The ground is
    where its joints are, and its own place plays no part.
    """
    points = [node.position + node.rotation @ offset for joint in joints for node, offset in _ends(joint)]
    places = np.array([*(node.position for node in nodes[1:]), *points])
    size = float(np.ptp(places, axis=0).max()) if len(places) else 0.0
    if size > 0.0 and np.abs(places).max() > FAR * size:
        return places[0], size
    return np.zeros(3), extent(list(nodes)) or 1.0


def _ends(joint: Constraint) -> list[tuple[Node, Array]]:
    """Points of a joint in the frames of their nodes: on both nodes, for one between two points."""
    offsets: tuple[Array, ...] = getattr(joint, "offsets", (joint.offset,))
    return list(zip(joint.nodes[-len(offsets) :], offsets, strict=True))
