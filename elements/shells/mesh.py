"""The quads of a mesh that meshio reads, all on one side, and triangles as three quads each."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.beams.line_mesh import read_mesh
from fem_mbs.errors import ModelError

LABEL = "Shell.from_mesh"


def quads_of(mesh: Any, split_triangles: bool) -> tuple[Array, IntArray]:
    """Points ``(n, 3)`` and quads ``(k, 4)`` of a mesh or a file; neighbours go round the same way."""
    mesh = read_mesh(mesh)
    points = np.pad(mesh.points, ((0, 0), (0, 3 - mesh.points.shape[1])))
    quads = [block.data for block in mesh.cells if block.type == "quad"]
    triangles = [block.data for block in mesh.cells if block.type == "triangle"]
    count = sum(map(len, triangles))
    if count and not split_triangles:
        raise ModelError(
            f"{LABEL}: the mesh has {count} triangles, the first of the points {triangles[0][0].tolist()}; "
            "split_triangles=True makes three quads of each, and with them halves all edges"
        )
    if not quads and not count:
        kinds = ", ".join(sorted({block.type for block in mesh.cells})) or "none"
        raise ModelError(f"{LABEL}: the mesh has no cells of the type quad; it has {kinds}")
    cells = np.concatenate([*quads, np.zeros((0, 4), np.intp)]).astype(np.intp)
    if count:
        points, cells = _split(points, cells, np.concatenate(triangles).astype(np.intp))
    return points, _one_side(cells)


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
    at: dict[tuple[int, int], list[int]] = defaultdict(list)
    for k, cell in enumerate(cells.tolist()):
        for a, b in zip(cell, [*cell[1:], cell[0]], strict=True):
            at[min(a, b), max(a, b)].append(k)
    turned, result = np.zeros(len(cells), dtype=np.intp), cells.copy()
    for start in range(len(cells)):
        waiting = [] if turned[start] else [start]
        turned[start] = turned[start] or 1
        while waiting:
            k = waiting.pop()
            cell = result[k].tolist()
            for a, b in zip(cell, [*cell[1:], cell[0]], strict=True):
                others = at[min(a, b), max(a, b)]
                if len(others) != 2:
                    continue
                other = others[0] if others[1] == k else others[1]
                if turned[other]:
                    continue
                ring = result[other].tolist()
                if (a, b) in zip(ring, [*ring[1:], ring[0]], strict=True):
                    result[other] = result[other, ::-1]
                turned[other] = 1
                waiting.append(other)
    return result
