"""The lines of a mesh: read with meshio, checked, and parted into those that one beam each follows."""

from __future__ import annotations

import contextlib
import io
from collections import defaultdict
from collections.abc import Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import real, shown
from fem_mbs.contracts.arguments import LARGEST, is_of
from fem_mbs.contracts.arguments import listed as of_many
from fem_mbs.elements.beams.geometry import CORNER
from fem_mbs.errors import ModelError


def chains_of(found: LineMesh, group: IntArray) -> dict[int, list[int]]:
    """Points along each beam, by its first line."""
    points, lines = found.points, found.lines.tolist()
    at = defaultdict(list)
    for line, ends in enumerate(lines):
        for point in ends:
            at[point].append(line)

    def beyond(line: int, point: int) -> int:
        return int(sum(lines[line]) - point)

    def onward(line: int, point: int) -> int | None:
        """The line that goes on from another one at its end ``point``, if it does and is not part of a beam yet."""
        if len(at[point]) != 2:
            return None
        other = sum(at[point]) - line
        here, there = points[point] - points[beyond(line, point)], points[beyond(other, point)] - points[point]
        smooth = here @ there > np.cos(CORNER) * np.linalg.norm(here) * np.linalg.norm(there)
        return other if smooth and group[line] == group[other] and other not in done else None

    done: set[int] = set()

    def way(line: int, point: int) -> list[int]:
        """Points from ``point`` on, away from a line."""
        result = [point]
        done.add(line)
        while (other := onward(line, result[-1])) is not None:
            done.add(other)
            line = other
            result.append(beyond(line, result[-1]))
        return result

    result = {}
    for line, (start, end) in enumerate(lines):
        if line not in done:
            ahead = way(line, end)
            result[line] = way(line, start)[::-1] + ahead
    return result


LABEL = "beams_from_mesh"
ENDS = {"line": ((0, 1),), "line3": ((0, 2), (2, 1))}
"""Which points of a cell its lines join; a quadratic line has its ends first, then the point between them."""
listed = partial(of_many, most=5)
"""Points or lines in a message."""
SAME_PLACE = 1e-8
"""Points closer than this share of the extent of the lines are at the same place."""


class LineMesh(NamedTuple):
    """Lines between points.

    Attributes
    ----------
    points : (n, 3)
        All points of the mesh.
    lines : (k, 2)
        Points of each line, two lines for a quadratic cell.
    number : (k,)
        Number of each line's cell among the line cells of the mesh.
    block, row : (k,)
        Where the cell is in the mesh.
    """

    points: Array
    lines: IntArray
    number: IntArray
    block: IntArray
    row: IntArray

    def only(self, kept: BoolArray | IntArray) -> LineMesh:
        """Some of the lines."""
        return LineMesh(self.points, *(part[kept] for part in self[1:]))


def read_mesh(source: Any, label: object = LABEL) -> Any:
    """A mesh as it is given, or that of a file."""
    if is_of(source, "meshio", "Mesh"):
        return _sound(source, label)
    if not isinstance(source, str | Path):
        raise ModelError(f"{label}: mesh must be a meshio.Mesh or the path of a file, received {shown(source)}")
    import meshio  # takes long

    said = io.StringIO()
    try:
        # where a file cannot be read, meshio prints why and ends the program
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            mesh = meshio.read(source)
    except (SystemExit, Exception) as error:
        reason = " ".join(said.getvalue().split()) or error
        raise ModelError(f"{label}: meshio cannot read '{source}': {reason}") from error
    return _sound(mesh, label)


def _sound(mesh: Any, label: object) -> Any:
    """The mesh, if its points are numbers, and those of its cells are there."""
    points = np.asarray(mesh.points, dtype=float)
    if not np.isfinite(points).all():
        first = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise ModelError(f"{label}: point {first} of the mesh must be finite, received {points[first]}")
    for block in mesh.cells:
        cells = block.data if isinstance(block.data, np.ndarray) else np.zeros(0, np.intp)
        if len(wrong := cells[(cells < 0) | (cells >= len(points))]):
            raise ModelError(
                f"{label}: a cell of the type {block.type} has point {wrong[0]}, and the mesh {len(points)} points, "
                "counted from 0"
            )
    return mesh


def named_cells(mesh: Any) -> dict[str, list[IntArray]]:
    """Rows in each block of cells by the names of sets; of gmsh and MED, which name numbers of groups, too."""
    none = np.empty(0, np.intp)
    result = {
        name: [none if rows is None else np.asarray(rows, np.intp).ravel() for rows in blocks]
        for name, blocks in mesh.cell_sets.items()
        if not name.startswith("gmsh:")
    }
    tags: list[tuple[str, int, tuple[int, ...], str]] = []
    if "gmsh:physical" in mesh.cell_data:  # which numbers groups of each dimension anew
        tags += [("gmsh:physical", tag, (dimension,), name) for name, (tag, dimension) in mesh.field_data.items()]
    families = vars(mesh).get("cell_tags") or {}  # which have several names
    tags += [("cell_tags", tag, (1, 2, 3), name) for tag, names in families.items() for name in names]
    settled = set(result)
    for source, tag, dimensions, name in tags:
        for k, (cells, values) in enumerate(zip(mesh.cells, mesh.cell_data.get(source, ()), strict=False)):
            if name not in settled and cells.dim in dimensions:
                blocks = result.setdefault(name, len(mesh.cells) * [none])
                blocks[k] = np.append(blocks[k], np.flatnonzero(np.asarray(values) == tag))
    return result


def lines_of(mesh: Any) -> LineMesh:
    """All lines of a mesh."""
    points = real(mesh.points)
    if points is None or points.ndim != 2 or points.shape[1] not in (2, 3):
        raise ModelError(f"{LABEL}: points must have two or three coordinates, received {shown(mesh.points)}")
    parts: list[tuple[IntArray, ...]] = []
    count = 0
    for block, cells in enumerate(mesh.cells):
        if not cells.type.startswith("line"):
            continue
        if cells.type not in ENDS:
            raise ModelError(
                f"{LABEL}: the mesh has cells of the type '{cells.type}'; beams are made of {' and '.join(ENDS)}: mesh "
                "with elements of first or second order"
            )
        if np.asarray(cells.data).dtype.kind not in "iu":
            raise ModelError(f"{LABEL}: lines must join points by whole numbers, received {shown(cells.data)}")
        rows = np.arange(len(cells.data))
        for ends in ENDS[cells.type]:
            parts.append((np.asarray(cells.data)[:, ends], count + rows, np.full(len(rows), block), rows))
        count += len(rows)
    if not count:
        found = ", ".join(f"{len(cells.data)} of type '{cells.type}'" for cells in mesh.cells) or "none"
        raise ModelError(f"{LABEL}: the mesh has no line cells, of which beams are made; its cells are: {found}")
    lines, *place = (np.concatenate(part).astype(np.intp) for part in zip(*parts, strict=True))
    space = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
    return LineMesh(space, lines, *place).only(np.argsort(place[0], kind="stable"))


def line_groups(mesh: Any, found: LineMesh, keys: Sequence[Hashable], by: str | None) -> IntArray:
    """Place in ``keys`` of the group of each line: a value of the cell data ``by``, or the name of a set."""
    groups = _sets(mesh, found) if by is None else _values(mesh, found, by)
    there = f"{'named sets' if by is None else f'values of {by!r}'} with lines: {listed(map(repr, groups))}"
    for key in keys:
        if key not in groups:
            raise ModelError(f"{LABEL}: there is a section for {key!r}, but no line; {there}")
    members = np.array([groups[key] for key in keys])
    times = members.sum(axis=0)
    for wrong, where in ((times == 0, "none"), (times > 1, "more than one")):
        if wrong.any():
            raise ModelError(
                f"{LABEL}: in {where} of the groups with a section ({', '.join(map(repr, keys))}): lines "
                f"{listed(found.number[wrong])}; {there}. None as a section leaves the lines of a group out"
            )
    return members.argmax(axis=0)


def _values(mesh: Any, found: LineMesh, by: str) -> dict[Hashable, BoolArray]:
    """Lines with each value of a cell data."""
    if by not in mesh.cell_data:
        raise ModelError(f"{LABEL}: the mesh has no cell data {by!r}; it has {listed(map(repr, mesh.cell_data))}")
    data = [np.asarray(block) for block in mesh.cell_data[by]]
    values = np.array([data[block][row] for block, row in zip(found.block, found.row, strict=True)])
    if values.ndim != 1:
        raise ModelError(f"{LABEL}: cell data {by!r} must be one number a cell, received {shown(values[0])}")
    return {value.item(): values == value for value in np.unique(values)}


def _sets(mesh: Any, found: LineMesh) -> dict[Hashable, BoolArray]:
    """Lines of each named set."""
    sets: dict[Hashable, BoolArray] = {
        name: np.any([np.isin(found.row, rows) & (found.block == k) for k, rows in enumerate(blocks)], axis=0)
        for name, blocks in named_cells(mesh).items()
    }
    return {name: lines for name, lines in sets.items() if lines.any()}


def merged(found: LineMesh, merge: float | None) -> LineMesh:
    """Lines between the first of the points at each place; without a distance to merge, such points are refused."""
    points, lines = found.points, found.lines
    used = np.unique(lines)
    for point in used[~np.isfinite(points[used]).all(axis=1)]:
        raise ModelError(f"{LABEL}: point {point} must be finite, received {points[point]}")
    if np.abs(points[used]).max() > LARGEST:
        raise ModelError(f"{LABEL}: points must not be larger than {LARGEST:g}; look at the units")
    near = SAME_PLACE * float(np.ptp(points[used], axis=0).max())
    _check_lengths(found, np.linalg.norm(points[lines[:, 0]] - points[lines[:, 1]], axis=1) <= near)
    if merge != 0.0:
        pairs = _near(points, used, near if merge is None else merge)
        if merge is None and len(pairs):
            raise ModelError(
                f"{LABEL}: points at the same place: {listed(f'{a} and {b}' for a, b in pairs)}. merge=1e-6 (any "
                "distance) makes one node of such points, merge=0 keeps them apart, for a joint between them"
            )
        found = found._replace(lines=_first(pairs, len(points))[lines])
        hint = f"merge={merge} makes one of their ends, take less"
        _check_lengths(found, found.lines[:, 0] == found.lines[:, 1], hint)
    _, index, count = np.unique(np.sort(found.lines), axis=0, return_index=True, return_counts=True)
    for k in index[count > 1]:
        twins = (np.sort(found.lines) == np.sort(found.lines[k])).all(axis=1)
        raise ModelError(
            f"{LABEL}: lines {listed(found.number[twins])} join the same points {listed(found.lines[k])}; remove "
            "all but one"
        )
    return found


def _check_lengths(found: LineMesh, wrong: BoolArray, hint: str = "remove them from the mesh") -> None:
    if wrong.any():
        raise ModelError(f"{LABEL}: lines without length: {listed(found.number[wrong])}; {hint}")


def _near(points: Array, used: IntArray, distance: float) -> IntArray:
    """Pairs of points that are nearer than a distance."""
    from scipy.spatial import cKDTree  # takes long

    pairs: IntArray = used[np.sort(cKDTree(points[used]).query_pairs(distance, output_type="ndarray"))]
    return pairs[np.lexsort(pairs.T[::-1])]


def _first(pairs: IntArray, count: int) -> IntArray:
    """The first of the points that pairs connect with each of ``count`` points."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    labels = connected_components(links, directed=False)[1]
    return np.unique(labels, return_index=True)[1][labels]


def check_loose(mesh: Any, points: int) -> None:
    """Refuse points that no cell uses."""
    used = [np.ravel(cell) for cells in mesh.cells for cell in cells.data]
    loose = np.setdiff1d(np.arange(points), np.concatenate(used))
    if len(loose):
        raise ModelError(
            f"{LABEL}: loose points that no cell uses: {listed(loose)}; remove them, connect them by lines, or leave "
            "them out with ignore_loose=True"
        )
