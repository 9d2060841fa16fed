"""Quadrilaterals as built: those of a mesh, all on one side, and section frames of their corners.

Normals are shared where the surface is smooth; a triangle of a mesh is three quads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from scipy.sparse import coo_matrix

from fem_mbs.arrays import Array, ArrayLike, BoolArray, IntArray
from fem_mbs.contracts import real, shown
from fem_mbs.elements.beams.line_mesh import read_mesh
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3


def _normals(value: Any, label: object) -> Any:
    """One direction for each node ``(m, 3)``, or a function of the position, as it is."""
    if callable(value):
        return value
    values = real(value)
    size = None if values is None or values.shape[1:] != (3,) else np.linalg.norm(values, axis=1, keepdims=True)
    if values is None or size is None or not ((size > 0.0) & np.isfinite(size)).all():
        raise ModelError(f"{label} must be a direction (3,) for each node, or a function, received {shown(value)}")
    return values / size


Normals = Annotated[ArrayLike | Callable[[Array], ArrayLike], _normals]
"""World directions, one at each node, or a function that gives one for a position."""


def corner_normals(x: Array) -> Array:
    """Unit normals ``(n, 4, 3)`` at the corners ``x`` (n, 4, 3) of quadrilaterals; zero where there is no corner."""
    normals = np.cross(np.roll(x, -1, axis=1) - x, np.roll(x, 1, axis=1) - x)
    size = np.linalg.norm(normals, axis=-1, keepdims=True)
    return np.asarray(normals / np.where(size > 0.0, size, 1.0))


def shared_sides(cells: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Pairs of sides, the ``i``-th of element ``k`` is ``4k + i``, with the same nodes, and whether these are all."""
    ends = np.sort(np.stack([cells, np.roll(cells, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
    edge = np.unique(ends[:, 0] * (cells.max() + 1) + ends[:, 1], return_inverse=True)[1].ravel()
    order = np.argsort(edge, kind="stable")
    same = np.flatnonzero(edge[order[:-1]] == edge[order[1:]])
    here = order[same]
    return here, order[same + 1], np.bincount(edge)[edge[here]] == 2


def shared_normals(x: Array, cells: IntArray, fold: float) -> Array:
    """Normals ``(n, 4, 3)`` at the corners of quadrilaterals ``cells`` (n, 4) of points ``x`` (m, 3).

    The mean of those of all corners at a point that elements connect without a fold of more than ``fold`` degrees. At
    the rim, where elements are on one side alone, the normal of an inner neighbour is carried on along a circle.
    """
    own = corner_normals(x[cells])
    patch, rim = _patches(cells, own, fold)
    flat, count = own.reshape(-1, 3), patch.max() + 1
    mean = np.zeros((count, 3))
    np.add.at(mean, patch, flat)
    mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    _carry_to_the_rim(mean, x, cells.ravel(), patch.reshape(-1, 4), rim)
    return mean[patch].reshape(own.shape)


def _patches(cells: IntArray, normals: Array, fold: float) -> tuple[IntArray, BoolArray]:
    """Which corners ``(4n,)`` share a normal, and which of these patches are at a rim or a fold."""
    n, start = len(cells), cells.ravel()
    here, there, _ = shared_sides(cells)
    first, second = np.arange(4 * n), np.roll(np.arange(4 * n).reshape(n, 4), -1, axis=1).ravel()
    swap = start[first] > start[second]
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    flat, least = normals.reshape(-1, 3), np.cos(np.radians(fold) * (1 + 1e-9))
    pairs = [(ends[here], ends[there]) for ends in (first, second)]
    smooth = [np.vecdot(flat[p], flat[q]) >= least for p, q in pairs]
    rows, columns = (np.concatenate([pair[k][on] for pair, on in zip(pairs, smooth, strict=True)]) for k in range(2))
    from scipy.sparse.csgraph import connected_components  # which takes long to import

    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(4 * n, 4 * n))
    _, patch = connected_components(graph, directed=False)
    open_ = np.ones(4 * n, dtype=bool)
    open_[here[smooth[0] & smooth[1]]] = open_[there[smooth[0] & smooth[1]]] = False
    rim = np.zeros(patch.max() + 1, dtype=bool)
    rim[patch[first[open_]]] = rim[patch[second[open_]]] = True
    return np.asarray(patch, dtype=np.intp), rim


def _carry_to_the_rim(mean: Array, x: Array, node: IntArray, patch: IntArray, rim: BoolArray) -> None:
    """Replace the normals ``mean`` of patches at a rim by those of inner neighbours, turned about the chord."""
    place = np.empty((len(mean), 3))
    place[patch.ravel()] = x[node]
    edges = np.concatenate([np.stack([patch, np.roll(patch, s, axis=1)], axis=-1).reshape(-1, 2) for s in (1, -1)])
    known = ~rim
    while True:
        to, of = edges[~known[edges[:, 0]] & known[edges[:, 1]]].T
        if not len(to):
            return
        chord = place[to] - place[of]
        along = np.vecdot(mean[of], chord) / np.vecdot(chord, chord)
        carried = np.zeros_like(mean)
        np.add.at(carried, to, mean[of] - 2.0 * along[:, None] * chord)
        new = np.unique(to)
        mean[new] = carried[new] / np.linalg.norm(carried[new], axis=1, keepdims=True)
        known[new] = True


def section_frames(x: Array, normals: Array, label: str) -> Array:
    """Section frames ``(n, 4, 3, 3)`` at corners ``x`` (n, 4, 3) of quadrilaterals with ``normals`` (n, 4, 3).

    That of the element, with its first axis along the first parameter at the centre, turned by the smallest rotation to
    each normal.
    """
    e3 = np.cross(x[:, 2] - x[:, 0], x[:, 3] - x[:, 1])
    e3 /= np.linalg.norm(e3, axis=1, keepdims=True)
    e1 = x[:, 1] + x[:, 2] - x[:, 0] - x[:, 3]
    e1 -= np.vecdot(e1, e3)[:, None] * e3
    e1 /= np.linalg.norm(e1, axis=1, keepdims=True)
    cosine = np.vecdot(normals, e3[:, None])
    if (cosine < 0.2).any():
        element = int(np.argwhere(cosine < 0.2)[0, 0])
        raise ModelError(
            f"{label}: a normal at element {element + 1} is {np.degrees(np.arccos(cosine[element].min())):.0f} degrees "
            "from that of the element; the nodes of elements go round their normals counter-clockwise, the same way in "
            "neighbours"
        )
    axis = so3.skew(np.cross(np.broadcast_to(e3[:, None], normals.shape), normals))
    turn = so3.IDENTITY + axis + axis @ axis / (1.0 + cosine)[..., None, None]
    return turn @ np.stack([e1, np.cross(e3, e1), e3], axis=-1)[:, None]


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
    quads, triangles = (
        np.concatenate([np.zeros((0, corners), np.intp), *(own.data for own in mesh.cells if own.type == kind)]).astype(
            np.intp
        )
        for kind, corners in KINDS.items()
    )
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
