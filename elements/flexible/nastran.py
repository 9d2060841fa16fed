"""Matrices of Nastran: ``DMIG`` of a punch file, ``PARAM,EXTOUT,DMIGPCH`` (or ``MATRIXPCH``), and ``GRID`` of the bulk.

Each column of ``KAAX`` and ``MAAX`` begins with its node and component in a line ``DMIG*``, lines ``*`` with node,
component and value follow, in fields of 16 characters; of symmetric matrices there is one triangle. ``GRID`` may stand
in fields of 8 or 16 characters or between commas. Files ``.op4`` name no nodes: their rows are those of all of them.

``OUTPUT4`` writes matrices as text or binary, dense or sparse. A matrix has a head, ``columns, rows, form, type``, a
name and, of text, a format; then its columns that are not zero: ``column, first row, words`` and values from the
first row on. Where the first row is 0 the column is sparse, strings of values: each begins with ``words, row``, in
one word as ``65536 (words + 1) + row`` if the matrix has fewer than 65536 rows, in two with ``words + 1`` if the head
has minus the number of rows. Types 1 and 2 are real, with one and two words for a number, 3 and 4 complex. Binary
files are records of Fortran, of either order of bytes, with words of four or eight bytes (MSC Nastran, DMAP
Programmer's Guide, "OUTPUT4").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from fem_mbs.arrays import Array
from fem_mbs.elements.flexible.matrices import Deck, SourceMesh, all_of, lines_of
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


SHORT = 65536
Part = tuple[int, int, Array]
"""Column and first row, from 1, and values; of complex ones real and imaginary parts in turn."""


def _matrix(name: str, shape: tuple[int, int], kind: int, parts: list[Part]) -> csr_array:
    if kind not in (1, 2, 3, 4):
        raise ValueError(f"matrix {name} has the type {kind}, not 1 to 4")
    parts = [(c, r, v if kind < 3 else v[::2] + 1j * v[1::2]) for c, r, v in parts] or [(1, 1, np.zeros(0))]
    rows, columns, values = (
        np.concatenate(every)
        for every in zip(*((r + np.arange(len(v)), np.full(len(v), c), v) for c, r, v in parts), strict=True)
    )
    return csr_array(coo_array((values, (rows - 1, columns - 1)), shape))


def _string(words: int, row: int | None) -> tuple[int, int]:
    """How many words the numbers of a string take, and its first row; ``row`` is the second word of two."""
    return (words // SHORT - 1, words % SHORT) if row is None else (words - 1, row)


def read_op4(path: Path, label: str) -> dict[str, csr_array]:
    """All matrices of a file by name, or a :class:`ModelError`."""
    try:
        content = path.read_bytes()
        every = _of_text(content.decode("ascii")) if content[:32].isascii() and b"\0" not in content[:32] else None
        return every or _of_records(content)
    except OSError as error:
        raise ModelError(f"{label}: '{path}' cannot be read: {error.strerror or error}") from error
    except (ValueError, IndexError, StopIteration) as error:
        raise ModelError(
            f"{label}: '{path}' has no matrices of OUTPUT4: {str(error) or 'it ends within one'}"
        ) from error


def _of_text(content: str) -> dict[str, csr_array]:
    lines, result = iter(content.splitlines()), dict[str, csr_array]()
    for line in lines:
        if not line.strip():
            continue
        width = 16 if line.rstrip().endswith("I16") else 8
        columns, rows, kind = int(line[:width]), int(line[width : 2 * width]), int(line[2 * width + 8 : 2 * width + 16])
        name, layout = line[2 * width + 16 : 2 * width + 24].strip(), line[2 * width + 24 :]
        found = re.search(r"[ED](\d+)\.", layout.upper())
        wide = int(found[1]) if found else 16
        parts: list[Part] = []

        def numbers(count: int, wide: int = wide) -> Array:
            texts: list[str] = []
            while len(texts) < count:
                row = next(lines).rstrip().upper().replace("D", "E")
                texts += [row[k : k + wide] for k in range(0, len(row), wide)]
            return np.array(texts[:count], dtype=float)

        while True:
            column, first, words = map(int, next(lines).split())
            if column > columns:
                next(lines)
                break
            if first:
                parts.append((column, first, numbers(words)))
                continue
            while words > 0:
                string = [int(part) for part in next(lines).split()]
                size, row = _string(string[0], string[1] if rows < 0 else None)
                parts.append((column, row, numbers(size // (2 - kind % 2))))
                words -= size + len(string)
        result[name] = _matrix(name, (abs(rows), columns), kind, parts)
    return result


def _of_records(content: bytes) -> dict[str, csr_array]:
    order = "<" if int.from_bytes(content[:4], "little") < int.from_bytes(content[:4], "big") else ">"
    records, result = _records(content, order), dict[str, csr_array]()
    for head in records:
        word = len(head) // 6  # four numbers and a name of two words
        integer = f"{order}i{word}"
        columns, rows, _, kind = np.frombuffer(head, integer, 4).tolist()
        name = (head[4 * word : 4 * word + 4] + head[5 * word : 5 * word + 4]).decode("ascii").strip(" \0")
        parts: list[Part] = []
        size = 8 if word == 8 else 8 - 4 * (kind % 2)
        while True:
            record = next(records)
            column, first, _ = np.frombuffer(record, integer, 3).tolist()
            at = 3 * word
            if column > columns:
                break
            while at < len(record):
                end, row = len(record), first
                if not first:
                    words, second = [*np.frombuffer(record[at : at + 2 * word], integer).tolist(), 0][:2]
                    length, row = _string(words, second if rows < 0 else None)
                    at += word * (2 if rows < 0 else 1)
                    end = at + length * word
                parts.append((column, row, np.frombuffer(record[at:end], f"{order}f{size}").astype(float)))
                at = end
        result[name] = _matrix(name, (abs(rows), columns), kind, parts)
    return result


def _records(content: bytes, order: str) -> Iterator[bytes]:
    """Of Fortran, each between two numbers that tell its length."""
    at = 0
    while at < len(content):
        size = int(np.frombuffer(content, f"{order}i4", 1, at)[0])
        if size < 0 or content[at : at + 4] != content[at + 4 + size : at + 8 + size]:
            raise ValueError("records of Fortran are broken")
        yield content[at + 4 : at + 4 + size]
        at += 8 + size
