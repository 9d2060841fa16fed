"""Matrices of Nastran: ``DMIG`` of a punch file, ``PARAM,EXTOUT,DMIGPCH`` (or ``MATRIXPCH``), and ``GRID`` of the bulk.

Each column of ``KAAX`` and ``MAAX`` begins with its node and component in a line ``DMIG*``, lines ``*`` with node,
component and value follow, in fields of 16 characters; of symmetric matrices there is one triangle. ``GRID`` may stand
in fields of 8 or 16 characters or between commas. Files ``.op4`` name no nodes: their rows are those of all of them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from fem_mbs.elements.flexible.matrices import Deck, SourceMesh, all_of, lines_of
from fem_mbs.elements.flexible.op4 import read_op4
from fem_mbs.errors import ModelError

LABEL = "Reduction.nastran"
Entries = dict[str, list[tuple[int, int, int, int, float]]]


def nastran(matrices: Path, bulk: Path, dofs: Any = None) -> SourceMesh:
    """A mesh of a punch file, or a file of ``OUTPUT4`` whose rows are ``dofs`` or all, and of the bulk."""
    deck = _grids(bulk)
    if matrices.suffix.lower() == ".op4":
        return _of_op4(matrices, bulk, deck, dofs)
    entries = _columns(matrices)
    if missing := [name for name in ("KAAX", "MAAX") if name not in entries]:
        raise ModelError(f"{LABEL}: '{matrices}' has no DMIG {missing[0]}, but {', '.join(entries) or 'none'}")
    both = []
    for name in ("KAAX", "MAAX"):
        *places, values = zip(*entries[name], strict=True) if entries[name] else ((),) * 5
        both.append((np.array(places, np.intp).T, np.array(values)))
    strange = f"{LABEL}: node {{node}} of '{matrices}' is no GRID of '{bulk}'; is it a scalar or modal point?"
    return deck.mesh_of_entries(both, strange)


def _of_op4(path: Path, bulk: Path, deck: Deck, dofs: Any) -> SourceMesh:
    every, n = read_op4(path, LABEL), len(deck.labels)
    found = [[name for name in every if name.upper().startswith(letter)] for letter in "KM"]
    for letter, names in zip("KM", found, strict=True):
        if len(names) != 1:
            raise ModelError(
                f"{LABEL}: '{path}' must have one matrix whose name begins with {letter}, it has "
                f"{', '.join(names or every) or 'none'}"
            )
    K, M = (every[names[0]] for names in found)
    if dofs is None and K.shape[0] in (3 * n, 6 * n):
        return deck.mesh(all_of(deck.labels, K.shape[0]), K, M, "")
    if dofs is None:
        raise ModelError(
            f"{LABEL}: {K.shape[0]} rows of '{path}' do not belong to {n} GRIDs of '{bulk}' with 3 or 6 unknowns each; "
            "name node and 1 to 6 of each row by dofs="
        )
    return SourceMesh(deck.points, K, M)


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


def _grids(path: Path) -> Deck:
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
    return Deck(np.array(labels), np.array(points))


def _number(text: str) -> float:
    """A number of Nastran, which may have D for E, or none: ``7.+10``."""
    return float(re.sub(r"(?<=[0-9.])([+-])", r"E\1", text.upper().replace("D", "E")))
