"""Matrices of other programs as text: Abaqus, CalculiX, Ansys; and a mesh as any source gives it.

Abaqus, ``*MATRIX GENERATE``, writes a line for each entry, ``node, dof, node, dof, value`` (``FORMAT=MATRIX INPUT``),
or ``row, column, value`` with rows counted over the unknowns that are active (``FORMAT=COORDINATE``); CalculiX,
``*FREQUENCY, SOLVER=MATRIXSTORAGE``, the latter, and ``node.dof`` of every row in a file of its own. Of symmetric
matrices a triangle may be given. Nodes stand in the input file, ``*NODE`` and, by name, ``*NSET``.

Ansys, ``HBMAT``, writes the format of Harwell and Boeing: a title, numbers of lines, ``kind, rows, columns, entries``,
the formats of Fortran of what follows, and, if there are right sides, one line of these; then where columns begin,
rows, values (Duff, Grimes, Lewis, ACM TOMS 15, 1989). A symmetric matrix, ``RSA``, has one triangle. The file
``.mapping`` has node and direction of each row. Nodes stand in what ``CDWRITE`` wrote, ``NBLOCK``, and sets of them in
``CMBLOCK``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy.sparse import block_diag, coo_array, csc_array, csr_array

from fem_mbs.arrays import Array, BoolArray, IntArray, places_in
from fem_mbs.contracts import State, shown
from fem_mbs.errors import ModelError


class Facets(NamedTuple):
    """Faces of a mesh: their nodes ``(f, k)``, and the area of each that belongs to them."""

    nodes: IntArray
    areas: Array
    normals: Array
    """Forces of a unit pressure from within, ``(f, k, 3)``."""

    def gathered(self, values: Array, chosen: IntArray, n: int) -> Array:
        """Sums ``(n, ...)`` at nodes of what is at faces ``(f, k, ...)``, of those whose nodes are all ``chosen``."""
        inside, result = np.zeros(n, np.bool_), np.zeros((n, *values.shape[2:]))
        inside[chosen] = True
        whole = inside[self.nodes].all(axis=1)
        np.add.at(result, self.nodes[whole], values[whole])
        return result


def with_middles(inside: BoolArray, faces: IntArray) -> BoolArray:
    """Nodes ``(n,)`` that are inside, and those within faces ``(f, 6)`` or ``(f, 9)`` all of whose corners are."""
    inside = inside.copy()
    inside[faces[inside[faces[:, : 3 if faces.shape[1] == 6 else 4]].all(axis=1)]] = True
    return inside


class SourceMesh(NamedTuple):
    """A mesh with its matrices, and what its source knows beside them."""

    points: Array
    K: Any
    M: Any
    dofs: IntArray | None = None
    """Node and axis, both from 0, of each row ``(N, 2)``; by default x, y, z of one node after the other."""
    sets: Mapping[str, IntArray] = {}
    facets: Facets | None = None
    triangles: IntArray = np.zeros((0, 3), np.intp)
    stress: Any = None
    """Function of displacements ``(3n, K)`` and nodes ``(k,)``: stresses ``(k, 6, K)``."""
    geometric: Any = None
    """Function of displacements ``(N, L)`` and shapes ``(N, K)``: ``T^T K_G T`` (L, K, K) under each one's stress."""
    constraints: csr_array | None = None
    """``B`` (m, N) of equations ``B u = 0`` between unknowns."""
    damping: Any = None
    """A damping matrix ``(N, N)``, where there is one."""
    numbers: IntArray | None = None
    """Nodes ``(p,)`` of the points of the mesh that was given, -1 for none; by default they are these points."""
    sound: Array = np.zeros(0)
    """Speeds of sound in its materials, ``sqrt(E / rho)``, as far as they are known."""


@runtime_checkable
class LinearEquations(Protocol):
    """What ``mbs.linearize`` returns, as far as a body needs it."""

    M: Any
    C: Any
    K: Any
    B: Any
    state: State
    system: Any


def _linear(value: Any, label: object) -> Any:
    if not isinstance(value, LinearEquations):
        raise ModelError(f"{label} must be what mbs.linearize returns of a part, received {shown(value)}")
    return value


Linear = Annotated[Any, _linear]


def of_model(linear: LinearEquations) -> SourceMesh:
    """A mesh of the free nodes of a model, whose unknowns are turned to the axes of the world."""
    label, system, x, R = "Reduction.model", linear.system, linear.state.x, linear.state.R
    node, axis = np.divmod(system.free_rows, 6)
    if node.max(initial=0) >= system.n or system.velocity_level.any():
        raise ModelError(
            f"{label}: bodies with modes, elements with states and joints that act on velocities are no mesh: leave "
            "them to the model that has the body"
        )
    free, numbers = np.unique(node, return_inverse=True)
    if len(node) != 6 * len(free):
        held = system.nodes[int(free[np.argmin(np.bincount(numbers))])]
        raise ModelError(f"{label}: {held} is held; give the free part, and hold the interface of the body")
    turned = csr_array(block_diag([own for k in free for own in (R[k], R[k])]))
    K, M, C = (csr_array(turned @ matrix @ turned.T) for matrix in (linear.K, linear.M, linear.C))
    sets = {system.nodes[k].name: np.array([row]) for row, k in enumerate(free)}
    dofs = np.stack([numbers, axis], axis=1)
    B = csr_array(linear.B @ turned.T) if linear.B.shape[0] else None
    return SourceMesh(x[free], K, M, dofs, sets, constraints=B, damping=C if C.nnz else None)


class Deck(NamedTuple):
    """Nodes of an input file: labels ``(n,)``, places ``(n, 3)`` and sets by their names, as labels."""

    labels: IntArray
    points: Array
    sets: dict[str, IntArray] = {}

    def mesh(self, unknowns: IntArray, K: csr_array, M: csr_array, strange: str) -> SourceMesh:
        """A mesh with matrices whose rows are ``unknowns`` (N, 2), labels and axes from 1."""
        rows = places_in(self.labels)
        nodes = rows(unknowns[:, 0])
        if (nodes < 0).any():
            raise ModelError(strange.format(node=unknowns[np.argmin(nodes), 0]))
        sets = {name: own[own >= 0] for name, own in ((name, rows(own)) for name, own in self.sets.items())}
        return SourceMesh(self.points, K, M, np.stack([nodes, unknowns[:, 1] - 1], axis=1), sets)

    def mesh_of_entries(self, entries: Sequence[tuple[IntArray, Array]], strange: str) -> SourceMesh:
        """A mesh of entries ``node, axis, node, axis`` (m, 4) of both matrices, and their values."""
        coded = np.concatenate([(8 * places[:, ::2] + places[:, 1::2]).ravel() for places, _ in entries])
        known, place = np.unique(coded, return_inverse=True)
        pairs = np.split(place.reshape(-1, 2), [len(entries[0][0])])
        K, M = (whole(own, values, len(known)) for own, (_, values) in zip(pairs, entries, strict=True))
        return self.mesh(np.stack([known // 8, known % 8], axis=1), K, M, strange)


def lines_of(path: Path, label: str) -> list[str]:
    """Lines of a text, or a :class:`ModelError`."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ModelError(f"{label}: '{path}' cannot be read: {error.strerror or error}") from error


def read_deck(path: Path, label: str) -> Deck:
    """Nodes and their sets of an input file of Abaqus or CalculiX without parts."""
    keyword = ""
    labels: list[int] = []
    points: list[list[float]] = []
    sets: dict[str, list[int]] = {}
    name, generate = "", False
    for k, line in enumerate(lines_of(path, label), start=1):
        line = line.strip()
        if not line or line.startswith("**"):
            continue
        if line.startswith("*"):
            keyword, *options = [part.strip() for part in line[1:].split(",")]
            keyword = keyword.upper()
            named = dict(part.upper().replace(" ", "").split("=", 1) for part in options if "=" in part)
            name, generate = named.get("NSET", ""), "GENERATE" in (part.upper() for part in options)
            if keyword == "INCLUDE":
                raise ModelError(f"{label}: '{path}', line {k}: *INCLUDE is not followed; give one file")
            continue
        cells = [cell.strip() for cell in line.split(",") if cell.strip()]
        try:
            if keyword == "NODE":
                labels.append(int(cells[0]))
                points.append([*map(float, cells[1:4]), 0.0, 0.0, 0.0][:3])
                if name:
                    sets.setdefault(name, []).append(labels[-1])
            elif keyword == "NSET" and name:
                own = sets.setdefault(name, [])
                if generate:
                    first, last, *by = map(int, cells)
                    own += range(first, last + 1, *by)
                else:
                    for cell in cells:
                        own += [int(cell)] if cell.isdigit() else sets.get(cell.upper(), [])
        except ValueError:
            raise ModelError(f"{label}: '{path}', line {k}: *{keyword} cannot be read: {line[:60]!r}") from None
    if not labels:
        raise ModelError(f"{label}: '{path}' has no *NODE")
    every = {name: np.unique(own) for name, own in sets.items()}
    return Deck(np.array(labels), np.array(points), every)


def read_entries(path: Path, label: str) -> tuple[IntArray, Array]:
    """Entries of a matrix: four columns ``node, dof, node, dof`` or two ``row, column``, and values."""
    lines = [line for line in lines_of(path, label) if line.strip() and not line.lstrip().startswith("*")]
    try:
        numbers = np.array([line.replace(",", " ").split() for line in lines], dtype=float)
        if numbers.ndim != 2 or numbers.shape[1] not in (3, 5):
            raise ValueError("lines must have 3 or 5 numbers")
    except ValueError as error:
        raise ModelError(f"{label}: '{path}' is no matrix as text: {error}") from None
    return numbers[:, :-1].astype(np.intp), numbers[:, -1]


def whole(places: IntArray, values: Array, size: int) -> csr_array:
    """A symmetric matrix of both or one of its triangles; rows and columns of entries are ``places`` (m, 2)."""
    rows, columns = places.T
    matrix = csr_array(coo_array((values, (rows, columns)), (size, size)))
    lower, upper = ((columns < rows).any(), (columns > rows).any())
    if lower and upper:
        return matrix
    result = matrix + matrix.T
    result.setdiag(matrix.diagonal())
    return csr_array(result)


INTERNAL = "; nodes with negative labels are internal ones, which are to be condensed first"


def abaqus(stiffness: Path, mass: Path, deck: Path) -> SourceMesh:
    """A mesh of two files of ``*MATRIX GENERATE`` and the input file."""
    label = "Reduction.abaqus"
    nodes, entries = read_deck(deck, label), [read_entries(path, label) for path in (stiffness, mass)]
    strange = f"{label}: node {{node}} of '{stiffness}' is not in '{deck}'{INTERNAL}"
    width = {places.shape[1] for places, _ in entries}
    if len(width) != 1:
        raise ModelError(f"{label}: '{stiffness}' and '{mass}' are of two formats; write both as one")
    if width == {4}:
        return nodes.mesh_of_entries(entries, strange)
    size, n = max(int(places.max()) for places, _ in entries), len(nodes.labels)
    if size not in (3 * n, 6 * n):
        raise ModelError(
            f"{label}: {size} rows do not belong to {n} nodes with 3 or 6 unknowns each; write "
            "FORMAT=MATRIX INPUT, which names nodes"
        )
    K, M = (whole(places - 1, values, size) for places, values in entries)
    return nodes.mesh(all_of(nodes.labels, size), K, M, strange)


def all_of(labels: IntArray, size: int) -> IntArray:
    """Labels and axes from 1 of ``size`` rows, as many of each node, in the order of labels."""
    each = size // len(labels)
    return np.stack([np.repeat(np.sort(labels), each), np.tile(np.arange(1, each + 1), len(labels))], axis=1)


def calculix(stiffness: Path, mass: Path, unknowns: Path, deck: Path) -> SourceMesh:
    """A mesh of files ``.sti``, ``.mas`` and ``.dof``, and the input file."""
    label = "Reduction.calculix"
    nodes, entries = read_deck(deck, label), [read_entries(path, label) for path in (stiffness, mass)]
    try:
        rows = np.array([line.split(".") for line in lines_of(unknowns, label) if line.strip()], dtype=np.intp)
        K, M = (whole(places - 1, values, len(rows)) for places, values in entries)
        if rows.ndim != 2 or not ((rows[:, 1] >= 1) & (rows[:, 1] <= 3)).all():
            raise ValueError("lines must be node.1, node.2 or node.3")
    except (ValueError, TypeError) as error:
        raise ModelError(f"{label}: '{unknowns}' does not tell the rows of '{stiffness}': {error}") from None
    return nodes.mesh(rows, K, M, f"{label}: node {{node}} of '{unknowns}' is not in '{deck}'")


ANSYS = "Reduction.ansys"
DIRECTIONS = ("UX", "UY", "UZ", "ROTX", "ROTY", "ROTZ")


def ansys(stiffness: Path, mass: Path, mapping: Path, nodes: Path) -> SourceMesh:
    """A mesh of two matrices, the mapping of their rows, and the nodes."""
    unknowns = _mapping(mapping)
    K, M = _harwell_boeing(stiffness), _harwell_boeing(mass)
    for path, matrix in ((stiffness, K), (mass, M)):
        if matrix.shape[0] != len(unknowns):
            raise ModelError(f"{ANSYS}: '{path}' has {matrix.shape[0]} rows, '{mapping}' {len(unknowns)}")
    return _deck(nodes).mesh(unknowns, K, M, f"{ANSYS}: node {{node}} of '{mapping}' is not in '{nodes}'")


def _harwell_boeing(path: Path) -> csr_array:
    lines = lines_of(path, ANSYS)
    try:
        counts, (kind, *sizes) = [int(part) for part in lines[1].split()], lines[2].split()
        rows, columns, entries = map(int, sizes[:3])
        if kind[0].upper() != "R" or kind[2].upper() != "A" or rows != columns:
            raise ValueError(f"its kind is {kind}, {rows} x {columns}; a real square assembled one is wanted")
        at, parts = 5 if len(counts) > 4 and counts[4] else 4, []
        # widths of the numbers of three formats of Fortran, as of (I14) or (1P,3D25.15)
        widths = map(int, re.findall(r"[IDEFG](\d+)", lines[3].upper())[:3])
        for count, size, width in zip(counts[1:4], (columns + 1, entries, entries), widths, strict=True):
            parts.append(_numbers(lines[at : at + count], width, size))
            at += count
        starts, places, values = (parts[0] - 1).astype(np.intp), (parts[1] - 1).astype(np.intp), parts[2]
        matrix = csc_array((values, places, starts), (rows, columns)).tocoo()
    except (ValueError, IndexError) as error:
        raise ModelError(f"{ANSYS}: '{path}' is no matrix of HBMAT as text: {error}") from None
    return whole(np.stack(matrix.coords, axis=1), matrix.data, rows)


def _numbers(lines: list[str], width: int, size: int) -> Array:
    text = [line[k : k + width] for line in lines for k in range(0, len(line.rstrip()), width)]
    result = np.array([part.upper().replace("D", "E") for part in text], dtype=float)
    if len(result) != size:
        raise ValueError(f"it ends after {len(result)} of {size} numbers")
    return result


def _mapping(path: Path) -> IntArray:
    """Label and axis from 1 of each row."""
    rows: list[tuple[int, int]] = []
    for k, line in enumerate(lines_of(path, ANSYS)[1:], start=2):
        if not line.strip():
            continue
        try:
            row, node, way = line.split()
            if int(row) != len(rows) + 1:
                raise ValueError
            rows.append((int(node), DIRECTIONS.index(way.upper()) + 1))
        except ValueError:
            raise ModelError(
                f"{ANSYS}: '{path}', line {k}: row {len(rows) + 1}, node and one of {', '.join(DIRECTIONS)} wanted, "
                f"received {line[:60]!r}"
            ) from None
    return np.array(rows, np.intp).reshape(-1, 2)


def _deck(path: Path) -> Deck:
    """Nodes of ``NBLOCK`` and their sets of ``CMBLOCK``."""
    lines = iter(enumerate(lines_of(path, ANSYS), start=1))
    labels: list[int] = []
    points: list[list[float]] = []
    sets: dict[str, IntArray] = {}
    k, line = 0, ""
    try:
        for k, line in lines:
            name, *options = (part.strip() for part in line.upper().split(","))
            if name == "NBLOCK":
                k, layout = next(lines)
                whole_numbers, wide, each = map(int, re.findall(r"(\d+)I(\d+),\d+E(\d+)", layout.upper())[0])
                for k, line in lines:
                    if line.startswith("N,") or line.split()[0].startswith("-1"):
                        break
                    start = whole_numbers * wide
                    cells = [float(line[j : j + each]) for j in range(start, len(line.rstrip()), each)]
                    if any(cells[3:]):
                        raise ModelError(f"{ANSYS}: '{path}', line {k}: the node has axes of its own; rotate it back")
                    labels.append(int(line[:wide]))
                    points.append([*cells, 0.0, 0.0, 0.0][:3])
            elif name == "CMBLOCK" and options[1].startswith("NODE"):
                k, layout = next(lines)
                wide, count = int(re.findall(r"I(\d+)", layout.upper())[0]), int(options[2])
                found: list[int] = []
                while len(found) < count:
                    k, line = next(lines)
                    found += [int(line[j : j + wide]) for j in range(0, len(line.rstrip()), wide)]
                sets[options[0]] = _ranges(found)
    except (ValueError, IndexError, StopIteration):
        raise ModelError(f"{ANSYS}: '{path}', line {k}: no node or set of CDWRITE: {line[:60]!r}") from None
    if not labels:
        raise ModelError(f"{ANSYS}: '{path}' has no NBLOCK")
    return Deck(np.array(labels), np.array(points), sets)


def _ranges(found: list[int]) -> IntArray:
    """Numbers, where a negative one ends a range."""
    parts = [
        np.arange(before + 1, 1 - own) if own < 0 else [own]
        for before, own in zip([0, *found[:-1]], found, strict=True)
    ]
    return np.unique(np.concatenate(parts).astype(np.intp))
