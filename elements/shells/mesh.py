"""The quads of a mesh that meshio reads, all on one side, and triangles as three quads each."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.beams.line_mesh import read_mesh
from fem_mbs.elements.shells.geometry import shared_sides
from fem_mbs.errors import ModelError

LABEL = "Shell.from_mesh"
KINDS = {"quad": 4, "triangle": 3}
"""Corners of the cells of surfaces that are taken; those of lines and volumes are left out."""


def quads_of(mesh: Any, split_triangles: bool) -> tuple[Array, IntArray]:
    """Points ``(n, 3)`` and quads ``(k, 4)`` of a mesh or a file; neighbours go round the same way."""
    mesh = read_mesh(mesh, LABEL)
    points = np.pad(mesh.points, ((0, 0), (0, 3 - mesh.points.shape[1])))
    for block in mesh.cells:
        if block.dim == 2 and block.type not in KINDS and len(block.data):
            raise ModelError(
                f"{LABEL}: the mesh has {len(block.data)} cells of the type {block.type}, the first of the points "
                f"{np.asarray(block.data[0]).tolist()}; shells are made of quad, and of triangle with "
                "split_triangles=True: mesh with elements of first order"
            )
    quads, triangles = (_cells_of(mesh, kind, corners) for kind, corners in KINDS.items())
    collapsed = (quads == np.roll(quads, -1, axis=1)).sum(axis=1) == 1
    ordered = [list(dict.fromkeys(corners)) for corners in quads[collapsed].tolist()]
    triangles = np.concatenate([triangles, np.array(ordered, np.intp).reshape(-1, 3)])
    quads = quads[~collapsed]
    if len(triangles) and not split_triangles:
        raise ModelError(
            f"{LABEL}: the mesh has {len(triangles)} triangles, the first of the points {triangles[0].tolist()} (a "
            "quad with a point twice is one); split_triangles=True makes three quads of each, and with them halves all "
            "edges"
        )
    if not len(quads) and not len(triangles):
        kinds = ", ".join(sorted({block.type for block in mesh.cells})) or "none"
        raise ModelError(f"{LABEL}: the mesh has no cells of the type quad; it has {kinds}")
    if len(triangles):
        points, quads = _split(points, quads, triangles)
    return points, _one_side(quads)


def _cells_of(mesh: Any, kind: str, corners: int) -> IntArray:
    blocks = [block.data for block in mesh.cells if block.type == kind]
    return np.concatenate([np.zeros((0, corners), np.intp), *blocks]).astype(np.intp)


def _split(points: Array, quads: IntArray, triangles: IntArray) -> tuple[Array, IntArray]:
    """Three quads of each triangle and four of each quad, about points in the middles of cells and edges."""
    cells = [*quads.tolist(), *triangles.tolist()]
    places, middles, made = list(points), dict[tuple[int, int], int](), []

    def middle(a: int, b: int) -> int:
        key = min(a, b), max(a, b)
        if key not in middles:
            middles[key] = len(places)
            places.append(0.5 * (points[a] + points[b]))
        return middles[key]

    for corners in cells:
        center = len(places)
        places.append(points[corners].mean(axis=0))
        for before, corner, after in zip(
            [corners[-1], *corners[:-1]], corners, [*corners[1:], corners[0]], strict=True
        ):
            made.append([corner, middle(corner, after), center, middle(before, corner)])
    return np.array(places), np.array(made, dtype=np.intp)


def _one_side(cells: IntArray) -> IntArray:
    """The same quads, each turned over where it goes round the other way than those before it."""
    here, there, alone = shared_sides(cells)
    start, near = cells.ravel(), defaultdict[int, list[tuple[int, bool]]](list)
    turn = start[here] == start[there]
    for a, b, over in np.stack([here // 4, there // 4, turn], axis=-1)[alone].tolist():
        near[a].append((b, over))
        near[b].append((a, over))
    turned: dict[int, bool] = {}
    for first in range(len(cells)):
        waiting = [] if first in turned else [first]
        turned.setdefault(first, False)
        while waiting:
            k = waiting.pop()
            for other, over in near[k]:
                if other not in turned:
                    turned[other] = turned[k] ^ bool(over)
                    waiting.append(other)
    over = np.array([turned[k] for k in range(len(cells))])
    return np.where(over[:, None], cells[:, ::-1], cells)
