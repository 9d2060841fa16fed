"""Section frames of a chain of beam elements, as built."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.model import Node

CORNER = np.radians(30.0)
PARALLEL = 1e-6
NO_LENGTH = 1e-12
"""Distances below this share of the coordinates are rounding."""


def section_frames(nodes: Sequence[Node], y_axis: Array | None, label: str) -> Array:
    """Section frames ``(k, 2, 3, 3)`` at both ends of the ``k`` elements of a chain, section to world.

    Their x axes are tangent to the circle through three successive nodes, which is exact on a straight line and on an
    arc; where the chain turns by more than 30 degrees at a node it has a corner and each side keeps its own direction.
    """
    x = np.array([node.position for node in nodes])
    chords = np.diff(x, axis=0)
    lengths = np.linalg.norm(chords, axis=1)
    for k in map(int, np.flatnonzero(lengths <= NO_LENGTH * np.abs(x).max())):
        raise ModelError(f"{label}: element {k + 1} has no length: {nodes[k]} and {nodes[k + 1]} are at the same place")
    tangents = _tangents(chords / lengths[:, None], lengths)
    return _frames(tangents, y_axis, label)


def _tangents(directions: Array, lengths: Array) -> Array:
    """Tangents ``(k, 2, 3)`` at both ends of every element."""
    tangents = np.repeat(directions[:, None], 2, axis=1)
    smooth = np.vecdot(directions[:-1], directions[1:]) > np.cos(CORNER)
    for k in map(int, np.flatnonzero(smooth)):
        before, after = lengths[k], lengths[k + 1]
        middle = after * directions[k] + before * directions[k + 1]
        tangents[k, 1] = tangents[k + 1, 0] = middle / np.linalg.norm(middle)
    # at a free end or a corner the circle through the other end decides: reflect its tangent about the chord
    for k, chord in enumerate(directions):
        for end, other in ((0, 1), (1, 0)):
            neighbour = k - 1 + end
            has_neighbour = 0 <= neighbour < len(smooth) and smooth[neighbour]
            if not has_neighbour:
                tangents[k, end] = 2 * (tangents[k, other] @ chord) * chord - tangents[k, other]
    return tangents


def _frames(tangents: Array, y_axis: Array | None, label: str) -> Array:
    """Frames from tangents: their y axes are the part of ``y_axis`` across the beam, or are carried along it."""
    y = _carried(tangents) if y_axis is None else y_axis
    across = y - np.vecdot(y, tangents)[..., None] * tangents
    size = np.linalg.norm(across, axis=-1, keepdims=True)
    for k in np.flatnonzero((size < PARALLEL).any(axis=(1, 2))):
        raise ModelError(
            f"{label}: y_axis {y_axis} is parallel to the beam in element {k + 1}; give a world direction across it"
        )
    e2 = across / size
    for k in np.flatnonzero(np.vecdot(e2[:, 0], e2[:, 1]) < 0.0):
        raise ModelError(
            f"{label}: the section would turn over within element {k + 1}, because y_axis {y_axis} becomes parallel to "
            "the beam there; give a world direction across it"
        )
    return np.stack([tangents, e2, np.cross(tangents, e2)], axis=-1)


def _carried(tangents: Array) -> Array:
    """The default y axis of the start, turned by the smallest rotation from each tangent to the next."""
    e1 = tangents.reshape(-1, 3)
    y = np.empty_like(e1)
    y[0] = _default_y(e1[0])
    for k, (a, b) in enumerate(pairwise(e1)):
        cosine = a @ b
        y[k + 1] = y[k] if cosine < PARALLEL - 1.0 else y[k] - (b @ y[k]) / (1.0 + cosine) * (a + b)
    return y.reshape(tangents.shape)


def _default_y(e1: Array) -> Array:
    """Horizontal, with z up, unless the beam is vertical; then the world's y."""
    across = np.array([-e1[1], e1[0], 0.0])
    size = np.linalg.norm(across)
    return across / size if size > 1e-3 else np.array([0.0, 1.0, 0.0])
