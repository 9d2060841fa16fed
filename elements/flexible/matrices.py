"""Matrices of other programs: Matrix Market, and Abaqus ``*MATRIX GENERATE`` as text.

Abaqus writes a line for each entry, ``node, dof, node, dof, value`` (``FORMAT=MATRIX INPUT``), or ``row, column,
value`` with rows counted over the unknowns that are active (``FORMAT=COORDINATE``); of symmetric matrices a triangle
may be given. Nodes stand in the input file, ``*NODE`` and, by name, ``*NSET``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.errors import ModelError


class Deck(NamedTuple):
    """Nodes of an input file: labels ``(n,)``, places ``(n, 3)`` and sets by their names, as labels."""

    labels: IntArray
    points: Array
    sets: dict[str, IntArray]


def lines_of(path: Path, label: str) -> list[str]:
    """Lines of a text, or a :class:`ModelError`."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ModelError(f"{label}: '{path}' cannot be read: {error.strerror or error}") from error


def matrix_market(path: Path) -> csr_array:
    """A matrix of a file ``.mtx`` of Matrix Market, whose symmetry is followed."""
    from scipy.io import mmread  # which takes long to import

    try:
        return csr_array(mmread(path))
    except (OSError, ValueError) as error:
        raise ModelError(f"Reduction.matrix_market: '{path}' cannot be read: {error}") from error


def read_deck(path: Path) -> Deck:
    """Nodes and their sets of an Abaqus input file without parts."""
    label, keyword = "Reduction.abaqus", ""
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


def read_abaqus(path: Path) -> tuple[IntArray, Array]:
    """Entries of a matrix: four columns ``node, dof, node, dof`` or two ``row, column``, and values."""
    label = "Reduction.abaqus"
    lines = [line for line in lines_of(path, label) if line.strip() and not line.lstrip().startswith("*")]
    try:
        numbers = np.array([line.replace(",", " ").split() for line in lines], dtype=float)
        if numbers.ndim != 2 or numbers.shape[1] not in (3, 5):
            raise ValueError("lines must have 3 or 5 numbers")
    except ValueError as error:
        raise ModelError(f"{label}: '{path}' is no matrix of *MATRIX GENERATE as text: {error}") from None
    return numbers[:, :-1].astype(np.intp), numbers[:, -1]


def whole(rows: IntArray, columns: IntArray, values: Array, size: int) -> csr_array:
    """A symmetric matrix of both or one of its triangles."""
    matrix = csr_array(coo_array((values, (rows, columns)), (size, size)))
    lower, upper = ((columns < rows).any(), (columns > rows).any())
    if lower and upper:
        return matrix
    result = matrix + matrix.T
    result.setdiag(matrix.diagonal())
    return csr_array(result)


def abaqus(
    stiffness: Path, mass: Path, deck: Path
) -> tuple[Array, csr_array, csr_array, IntArray, dict[str, IntArray]]:
    """Points, ``K``, ``M``, the node and axis of each unknown, and sets of nodes."""
    label, nodes = "Reduction.abaqus", read_deck(deck)
    row = {int(own): k for k, own in enumerate(nodes.labels)}
    entries = [read_abaqus(path) for path in (stiffness, mass)]
    width = {places.shape[1] for places, _ in entries}
    if len(width) != 1:
        raise ModelError(f"{label}: '{stiffness}' and '{mass}' are of two formats; write both as one")
    if width == {2}:
        size = max(int(places.max()) for places, _ in entries)
        if size % len(row) or size // len(row) not in (3, 6):
            raise ModelError(
                f"{label}: {size} rows do not belong to {len(row)} nodes with 3 or 6 unknowns each; write "
                "FORMAT=MATRIX INPUT, which names nodes"
            )
        each = size // len(row)
        ordered = np.argsort(nodes.labels)
        dofs = np.stack([np.repeat(ordered, each), np.tile(np.arange(each), len(row))], axis=1)
        matrices = [whole(places[:, 0] - 1, places[:, 1] - 1, values, size) for places, values in entries]
    else:
        keys = np.unique(
            np.concatenate([part for places, _ in entries for part in (places[:, :2], places[:, 2:])]), axis=0
        )
        strange = [int(node) for node in np.unique(keys[:, 0]) if int(node) not in row]
        if strange:
            raise ModelError(
                f"{label}: node {strange[0]} of '{stiffness}' is not in '{deck}'; nodes with negative labels are "
                "internal ones, which are to be condensed first"
            )
        place = {(int(node), int(axis)): k for k, (node, axis) in enumerate(keys)}
        dofs = np.array([[row[int(node)], int(axis) - 1] for node, axis in keys])
        matrices = []
        for places, values in entries:
            rows, columns = (
                np.array([place[int(a), int(b)] for a, b in part]) for part in (places[:, :2], places[:, 2:])
            )
            matrices.append(whole(rows, columns, values, len(keys)))
    sets = {
        name: np.array([row[int(own)] for own in members if int(own) in row]) for name, members in nodes.sets.items()
    }
    return nodes.points, matrices[0], matrices[1], dofs, sets
