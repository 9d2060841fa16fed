"""What a picture has beside the scene: nodes that are held, and lines from bodies to joints away from their shapes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.io.shapes import symbol_size
from fem_mbs.model import Kind
from fem_mbs.system import System

CORNERS = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3, indexing="ij")).reshape(3, 8).T
FACES = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
SIDES = 8
NO_FACES, NO_LINES = np.empty((0, 4), np.intp), np.empty((0, 2), np.intp)


class Fixed(NamedTuple):
    """Points ``(n, 3)`` in the frames of nodes ``rows`` (n,), and quads ``(m, 4)`` and lines ``(m, 2)`` of them."""

    kind: Kind
    rows: IntArray
    offsets: Array
    quads: IntArray = NO_FACES
    lines: IntArray = NO_LINES


def skeleton(system: System, built: Array) -> list[Fixed]:
    """All of it, in a model that has the points ``built`` (m, 3)."""
    held = [node for node in system.nodes[1:] if node.fixed_translation and node.fixed_rotation]
    rows = np.array([system.number(node) for node in held], np.intp)
    size = symbol_size(built, system.x0[rows])
    return [own for own in (_held(rows, size), _links(system, size)) if len(own.rows)]


def _held(rows: IntArray, size: float) -> Fixed:
    """A cube on each node, other than the ground, that is fixed in all directions."""
    cubes = np.tile(size * CORNERS, (len(rows), 1))
    faces = (8 * np.arange(len(rows))[:, None, None] + FACES).reshape(-1, 4)
    return Fixed(Kind.JOINT_SHAPE, np.repeat(rows, 8), cubes, quads=faces)


def _links(system: System, size: float) -> Fixed:
    """Lines from mass centres to points of joints that are outside the shapes of the bodies."""
    bodies = {element.nodes[0]: element for element in system.elements if hasattr(element, "center_of_mass")}
    rows, ends = [], []
    for joint in system.number.equations:
        for node, offset in zip(joint.nodes, getattr(joint, "offsets", ()), strict=False):
            if node in bodies and not _inside(bodies[node], offset, size):
                rows += 2 * [system.number(node)]
                ends += [bodies[node].center_of_mass, offset]
    lines = np.arange(len(rows)).reshape(-1, 2)
    return Fixed(Kind.BODY_SHAPE, np.array(rows, np.intp), np.reshape(ends, (-1, 3)), lines=lines)


def _inside(body: Any, point: Array, size: float) -> bool:
    """Whether a point is in the box around the shapes of a body."""
    corners = np.concatenate([placed.shape.faces(SIDES).points for placed in body.shapes(size)])
    return bool((corners.min(axis=0) - 0.5 * size <= point).all() and (point <= corners.max(axis=0) + 0.5 * size).all())
