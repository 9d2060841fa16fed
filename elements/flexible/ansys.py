"""Matrices that Ansys wrote by ``HBMAT``, in the format of Harwell and Boeing as text, with the mapping of their rows.

A title, numbers of lines, ``kind, rows, columns, entries``, the formats of Fortran of what follows, and, if there are
right sides, one line of these; then where columns begin, rows, values (Duff, Grimes, Lewis, ACM TOMS 15, 1989). A
symmetric matrix, ``RSA``, has one triangle. The file ``.mapping`` has node and direction of each row. Nodes stand in
what ``CDWRITE`` wrote, ``NBLOCK``, and sets of them in ``CMBLOCK``.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from scipy.sparse import csc_array, csr_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.flexible.matrices import Deck, SourceMesh, lines_of, whole
from fem_mbs.errors import ModelError

LABEL = "Reduction.ansys"
DIRECTIONS = ("UX", "UY", "UZ", "ROTX", "ROTY", "ROTZ")


def ansys(stiffness: Path, mass: Path, mapping: Path, nodes: Path) -> SourceMesh:
    """A mesh of two matrices, the mapping of their rows, and the nodes."""
    unknowns = _mapping(mapping)
    K, M = _harwell_boeing(stiffness), _harwell_boeing(mass)
    for path, matrix in ((stiffness, K), (mass, M)):
        if matrix.shape[0] != len(unknowns):
            raise ModelError(f"{LABEL}: '{path}' has {matrix.shape[0]} rows, '{mapping}' {len(unknowns)}")
    return _deck(nodes).mesh(unknowns, K, M, f"{LABEL}: node {{node}} of '{mapping}' is not in '{nodes}'")


def _harwell_boeing(path: Path) -> csr_array:
    lines = lines_of(path, LABEL)
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
        raise ModelError(f"{LABEL}: '{path}' is no matrix of HBMAT as text: {error}") from None
    if kind[1].upper() == "S":
        return whole(np.stack(matrix.coords, axis=1), matrix.data, rows)
    return csr_array(matrix)


def _numbers(lines: list[str], width: int, size: int) -> Array:
    text = [line[k : k + width] for line in lines for k in range(0, len(line.rstrip()), width)]
    result = np.array([part.upper().replace("D", "E") for part in text], dtype=float)
    if len(result) != size:
        raise ValueError(f"it ends after {len(result)} of {size} numbers")
    return result


def _mapping(path: Path) -> IntArray:
    """Label and axis from 1 of each row."""
    rows: list[tuple[int, int]] = []
    for k, line in enumerate(lines_of(path, LABEL)[1:], start=2):
        if not line.strip():
            continue
        try:
            row, node, way = line.split()
            if int(row) != len(rows) + 1:
                raise ValueError
            rows.append((int(node), DIRECTIONS.index(way.upper()) + 1))
        except ValueError:
            raise ModelError(
                f"{LABEL}: '{path}', line {k}: row {len(rows) + 1}, node and one of {', '.join(DIRECTIONS)} wanted, "
                f"received {line[:60]!r}"
            ) from None
    return np.array(rows, np.intp).reshape(-1, 2)


def _deck(path: Path) -> Deck:
    """Nodes of ``NBLOCK`` and their sets of ``CMBLOCK``."""
    lines = iter(enumerate(lines_of(path, LABEL), start=1))
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
                        raise ModelError(f"{LABEL}: '{path}', line {k}: the node has axes of its own; rotate it back")
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
        raise ModelError(f"{LABEL}: '{path}', line {k}: no node or set of CDWRITE: {line[:60]!r}") from None
    if not labels:
        raise ModelError(f"{LABEL}: '{path}' has no NBLOCK")
    return Deck(np.array(labels), np.array(points), sets)


def _ranges(found: list[int]) -> IntArray:
    """Numbers, where a negative one ends a range."""
    parts = [
        np.arange(before + 1, 1 - own) if own < 0 else [own]
        for before, own in zip([0, *found[:-1]], found, strict=True)
    ]
    return np.unique(np.concatenate(parts).astype(np.intp))
