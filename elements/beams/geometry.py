"""Section frames of a chain of beam elements, as built.

docs/beams.md, "How it is done".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, ArrayLike, IntArray
from fem_mbs.contracts import Node, direction, real, returned, shown
from fem_mbs.elements.beams.curve_strain import lagrange
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3

CORNER = np.radians(30.0) * (1 + 1e-9)
MOST_TURNED = np.radians(80.0)
"""Between the chord of an element and those between its nodes."""
ARC_ROUNDS = 20
PARALLEL = 1e-6
NO_LENGTH = 1e-12
"""Distances below this share of the coordinates are rounding."""


def y_direction(value: Any, label: str) -> Any:
    """One direction, one for each node, or a function, as it is; a :class:`ModelError` for anything else."""
    if not callable(value):
        values = real(value)
        if values is None or values.ndim != 2:
            direction(value, label)
        else:
            for k, own in enumerate(values):
                direction(own, f"{label}[{k}]")
    return value


YAxis = Annotated[ArrayLike | Callable[[Array], ArrayLike], y_direction]
"""A world direction, one at each node, or a function that gives one for a position."""


def section_frames(x: Array, y_axis: YAxis | None, nodes: Sequence[Node], label: str) -> Array:
    """Section frames ``(k, 2, 3, 3)`` at both ends of the ``k`` elements of a chain through ``x`` (k + 1, 3).

    They map section to world. Their x axes are tangent to the circle through three successive points, which is exact on
    a straight line and on an arc; where the chain turns by more than 30 degrees at a point it has a corner and each
    side keeps its own direction. Their y axes are the part of ``y_axis`` across the beam.
    """
    directions, lengths = _chords(x, nodes, label)
    fields = _directions(y_axis, x, label)
    return _frames(_tangents(directions, lengths), None if fields is None else fields[cells_of(len(x), 1)], label)


def higher_order_frames(
    x: Array, order: int, y_axis: YAxis | None, nodes: Sequence[Node], label: str
) -> tuple[Array, Array]:
    """Section frames ``(k, p, 3, 3)`` at the nodes of elements of order 2 or 3; their places ``(k, p)`` from 0 to 1.

    The direction of the tangent, a vector in the plane across the chord of the element, is the polynomial whose means
    over the intervals between the nodes are the directions of these chords; that is exact on an arc. Places are
    proportional to the arc length.
    """
    directions, lengths = _chords(x, nodes, label)
    k = len(lengths) // order
    directions, chords = directions.reshape(k, order, 3), lengths.reshape(k, order)
    cells = cells_of(len(x), order)
    axis = x[cells[:, -1]] - x[cells[:, 0]]
    size = np.linalg.norm(axis, axis=1, keepdims=True)
    turned = np.vecdot(directions, axis[:, None]) <= np.cos(MOST_TURNED) * size
    for element in map(int, np.flatnonzero(turned.any(axis=1))):
        raise ModelError(
            f"{label}: element {element + 1} of order {order}, from {nodes[cells[element, 0]]} to "
            f"{nodes[cells[element, -1]]}, turns too far; corners belong between elements, and an element of order "
            f"{order} goes through {order + 1} successive nodes"
        )
    axis = (axis / size)[:, None]
    # angles from the axis to the chords, as vectors across it
    cosine = np.vecdot(directions, axis)[..., None]
    across = directions - cosine * axis
    sine = np.linalg.norm(across, axis=-1, keepdims=True)
    angles, arcs = across * (np.arctan2(sine, cosine) / np.where(sine > 0.0, sine, 1.0)), chords
    for _ in range(ARC_ROUNDS):
        along = np.pad(np.cumsum(arcs, axis=1), ((0, 0), (1, 0)))
        places = along / along[:, -1:]
        _, slopes = lagrange(places, places)
        means = angles * (arcs / along[:, -1:])[..., None]
        at_nodes = slopes @ np.pad(np.cumsum(means, axis=1), ((0, 0), (1, 0), (0, 0)))
        half = 0.5 * np.linalg.norm(np.diff(at_nodes, axis=1), axis=-1)
        arcs = chords / np.sinc(half / np.pi)
    fields = _directions(y_axis, x, label)
    size = np.linalg.norm(at_nodes, axis=-1, keepdims=True)
    tangents = np.cos(size) * axis + np.sinc(size / np.pi) * at_nodes
    frames = _frames(tangents, None if fields is None else fields[cells], label)
    return frames, places


def cells_of(nodes: int, order: int) -> IntArray:
    """Which nodes of a chain each element has, ``(k, order + 1)``."""
    return order * np.arange((nodes - 1) // order)[:, None] + np.arange(order + 1)


def _chords(x: Array, nodes: Sequence[Node], label: str) -> tuple[Array, Array]:
    """Unit vectors from node to node, and distances."""
    chords = np.diff(x, axis=0)
    lengths = np.linalg.norm(chords, axis=1)
    for k in map(int, np.flatnonzero(lengths <= NO_LENGTH * np.abs(x).max())):
        raise ModelError(f"{label}: element {k + 1} has no length: {nodes[k]} and {nodes[k + 1]} are at the same place")
    return chords / lengths[:, None], lengths


def directions_at(places: Array, function: Callable[[Array], ArrayLike], what: str) -> Array:
    """Unit vectors that a user's function gives at places ``(n, 3)``."""
    names = [f"{what} at {place}" for place in places]
    return np.array([direction(returned(at, function, own.copy()), at) for at, own in zip(names, places, strict=True)])


def _directions(y_axis: YAxis | None, x: Array, label: str) -> Array | None:
    """Unit directions at the points of a chain ``(k + 1, 3)``; None if they are left to the beam."""
    if y_axis is None:
        return None
    if callable(y_axis):
        return directions_at(x, y_axis, f"{label}: y_axis")
    values = real(y_axis)
    if values is not None and values.ndim == 2:
        if values.shape != x.shape:
            raise ModelError(
                f"{label}: y_axis must be three numbers, or three for each of the {len(x)} nodes, received "
                f"{shown(y_axis)} of shape {values.shape}"
            )
        return np.array([direction(value, f"{label}: y_axis[{k}]") for k, value in enumerate(values)])
    return np.tile(direction(y_axis, f"{label}: y_axis"), (len(x), 1))


def _tangents(directions: Array, lengths: Array) -> Array:
    """Tangents ``(k, 2, 3)`` at both ends of every element."""
    tangents = np.repeat(directions[:, None], 2, axis=1)
    smooth = np.vecdot(directions[:-1], directions[1:]) > np.cos(CORNER)
    before, after = np.flatnonzero(smooth), np.flatnonzero(smooth) + 1
    middle = lengths[after, None] * directions[before] + lengths[before, None] * directions[after]
    tangents[before, 1] = tangents[after, 0] = middle / np.linalg.norm(middle, axis=1, keepdims=True)
    # at a free end or a corner the circle through the other end decides: reflect its tangent about the chord
    for end, has_neighbour in ((0, np.append(False, smooth)), (1, np.append(smooth, False))):
        chord, other = directions[~has_neighbour], tangents[~has_neighbour, 1 - end]
        tangents[~has_neighbour, end] = 2 * np.vecdot(other, chord)[:, None] * chord - other
    return tangents


def _frames(tangents: Array, directions: Array | None, label: str) -> Array:
    """Frames ``(k, p, 3, 3)`` from tangents ``(k, p, 3)``.

    Their y axes are the part of the directions across the beam, or are carried along it.
    """
    y = _carried(tangents) if directions is None else directions
    across = y - np.vecdot(y, tangents)[..., None] * tangents
    size = np.linalg.norm(across, axis=-1, keepdims=True)
    for k, end in zip(*np.nonzero(size[..., 0] < PARALLEL), strict=True):
        raise ModelError(
            f"{label}: y_axis {y[k, end]} is parallel to the beam in element {k + 1}; give a world direction across it"
        )
    e2 = across / size
    for k in np.flatnonzero((np.vecdot(e2[:, :-1], e2[:, 1:]) < 0.0).any(axis=1)):
        raise ModelError(
            f"{label}: the section would turn over within element {k + 1}, because y_axis {y[k, 0]} becomes parallel "
            "to the beam there, or because the directions at its ends differ by more than 90 degrees; give a world "
            "direction across the beam, or more elements"
        )
    return np.stack([tangents, e2, so3.cross(tangents, e2)], axis=-1)


def _carried(tangents: Array) -> Array:
    """The default y axis of the start, turned by the smallest rotation from each tangent to the next."""
    e1 = tangents.reshape(-1, 3)
    # horizontal, with z up, unless the beam is vertical; then the world's y
    size = float(np.hypot(*e1[0, :2]))
    x, y, z = (-e1[0, 1] / size, e1[0, 0] / size, 0.0) if size > 1e-3 else (0.0, 1.0, 0.0)
    carried = [(x, y, z)]
    # one after the other: plain numbers are faster here than arrays
    for (ax, ay, az), (bx, by, bz) in pairwise(e1.tolist()):
        cosine = ax * bx + ay * by + az * bz
        if cosine >= PARALLEL - 1.0:
            share = (bx * x + by * y + bz * z) / (1.0 + cosine)
            x, y, z = x - share * (ax + bx), y - share * (ay + by), z - share * (az + bz)
        carried.append((x, y, z))
    return np.reshape(carried, tangents.shape)
