"""Matrices of Nastran: ``DMIG`` of a punch file, ``PARAM,EXTOUT,DMIGPCH`` (or ``MATRIXPCH``), and ``GRID`` of the bulk.

Each column of ``KAAX`` and ``MAAX`` begins with its node and component in a line ``DMIG*``, lines ``*`` with node,
component and value follow, in fields of 16 characters; of symmetric matrices there is one triangle. ``GRID`` may stand
in fields of 8 or 16 characters or between commas.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.flexible.matrices import lines_of, whole
from fem_mbs.errors import ModelError

LABEL = "Reduction.nastran"
Entries = dict[str, list[tuple[int, int, int, int, float]]]


def nastran(punch: Path, bulk: Path) -> tuple[Array, csr_array, csr_array, IntArray, dict[str, IntArray]]:
    """Points in the order of the bulk, ``K``, ``M``, the node and axis of each unknown, and no sets."""
    labels, points = _grids(bulk)
    row = {label: k for k, label in enumerate(labels)}
    entries = _columns(punch)
    if missing := [name for name in ("KAAX", "MAAX") if name not in entries]:
        raise ModelError(f"{LABEL}: '{punch}' has no DMIG {missing[0]}, but {', '.join(entries) or 'none'}")
    keys = sorted({key for name in ("KAAX", "MAAX") for a, i, b, j, _ in entries[name] for key in ((a, i), (b, j))})
    strange = next((node for node, _ in keys if node not in row), None)
    if strange is not None:
        raise ModelError(f"{LABEL}: node {strange} of '{punch}' is no GRID of '{bulk}'; is it a scalar or modal point?")
    place = {key: k for k, key in enumerate(keys)}
    matrices = []
    for name in ("KAAX", "MAAX"):
        rows = np.array([place[a, i] for a, i, *_ in entries[name]])
        columns = np.array([place[b, j] for *_, b, j, _ in entries[name]])
        matrices.append(whole(rows, columns, np.array([own[4] for own in entries[name]]), len(keys)))
    dofs = np.array([[row[node], axis - 1] for node, axis in keys])
    return points, matrices[0], matrices[1], dofs, {}


def _columns(path: Path) -> Entries:
    """Entries ``(node, component, node, component, value)`` of all matrices by name."""
    result: Entries = {}
    name, column = "", (0, 0)
    for k, line in enumerate(lines_of(path, LABEL), start=1):
        wide = [line[start : start + 16].strip() for start in (8, 24, 40)]
        try:
            if line.startswith("DMIG*"):
                name, column = wide[0], (int(wide[1]), int(wide[2]))
            elif line.startswith("DMIG"):
                result[name] = [] if (name := line[8:16].strip()) not in result else result[name]
            elif line.startswith("*"):
                result[name].append((int(wide[0]), int(wide[1]), *column, _number(wide[2])))
        except (ValueError, KeyError):
            raise ModelError(f"{LABEL}: '{path}', line {k}: no entry of a DMIG: {line[:72]!r}") from None
    return result


def _grids(path: Path) -> tuple[list[int], Array]:
    """Labels and places of nodes."""
    labels: list[int] = []
    points: list[list[float]] = []
    lines = lines_of(path, LABEL)
    for k, line in enumerate(lines):
        if not line.upper().startswith("GRID") or line[4:5] not in (" ", "*", ",", ""):
            continue
        if "," in line:
            fields = [part.strip() for part in line.split(",")][1:]
        elif line[4:5] == "*":
            every = line.ljust(72)[8:72] + lines[k + 1 : k + 2][0].ljust(72)[8:72] if k + 1 < len(lines) else line[8:]
            fields = [every[start : start + 16].strip() for start in range(0, len(every), 16)]
        else:
            fields = [line[start : start + 8].strip() for start in range(8, 56, 8)]
        fields += [""] * 6
        if fields[1] not in ("", "0") or fields[5] not in ("", "0"):
            raise ModelError(f"{LABEL}: '{path}', line {k + 1}: GRID {fields[0]} has a coordinate system of its own")
        try:
            labels.append(int(fields[0]))
            points.append([_number(part or "0") for part in fields[2:5]])
        except ValueError:
            raise ModelError(f"{LABEL}: '{path}', line {k + 1}: no GRID: {line[:72]!r}") from None
    if not labels:
        raise ModelError(f"{LABEL}: '{path}' has no GRID")
    return labels, np.array(points)


def _number(text: str) -> float:
    """A number of Nastran, which may have D for E, or none: ``7.+10``."""
    return float(re.sub(r"(?<=[0-9.])([+-])", r"E\1", text.upper().replace("D", "E")))
