"""Columns of numbers from a text file; an error names the line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.model import shown, text, whole_number

SEPARATORS = (";", ",", "\t")
"""Of which the first that a line has separates its cells; else it is white space."""


def _column(value: Any, label: object) -> int | str:
    """A column by number or by name."""
    return text(value, label) if isinstance(value, str) else whole_number(value, label, least=0)


Column = Annotated[int | str, _column]


def read_columns(path: str | FilePath, wanted: Sequence[int | str]) -> tuple[Array, list[int]]:
    """Numbers ``(n, k)`` in the wanted columns, and the number of the line of each row."""
    label = f"Table.from_file: '{path}'"
    rows = _rows(path, label)
    if not rows:
        raise ModelError(f"{label} has no numbers")
    header = rows[0][1] if any(_number(cell) is None for cell in rows[0][1]) else []
    columns = [_place(column, header, label) for column in wanted]
    body = rows[1:] if header else rows
    if not body:
        raise ModelError(f"{label} has a line of names, {shown(header)}, and no numbers")
    numbers = np.empty((len(body), len(columns)))
    for k, (line, cells) in enumerate(body):
        for i, (column, name) in enumerate(zip(columns, wanted, strict=True)):
            if column >= len(cells):
                raise ModelError(f"{label}, line {line}: column {name!r} is missing, received {shown(cells)}")
            value = _number(cells[column])
            if value is None or not np.isfinite(value):
                raise ModelError(
                    f"{label}, line {line}: column {name!r} must be a finite number, received {shown(cells[column])}"
                )
            numbers[k, i] = value
    return numbers, [line for line, _ in body]


def _rows(path: str | FilePath, label: str) -> list[tuple[int, list[str]]]:
    """Lines that have anything, with their numbers, as cells."""
    try:
        lines = FilePath(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ModelError(f"{label} cannot be read: {error.strerror or error}; look at the path") from error
    except ValueError as error:
        raise ModelError(f"{label} is no text file of numbers in columns: {error}") from error
    kept = [(k, line.strip()) for k, line in enumerate(lines, start=1)]
    kept = [(k, line) for k, line in kept if line and not line.startswith("#")]
    separator = next((own for own in SEPARATORS if kept and own in kept[0][1]), None)
    return [(k, [cell.strip(' "') for cell in line.split(separator)]) for k, line in kept]


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _place(column: int | str, header: list[str], label: str) -> int:
    """Where a column is."""
    if isinstance(column, int):
        return column
    if column not in header:
        there = f"its columns are {', '.join(map(repr, header))}" if header else "its first line has no names"
        raise ModelError(f"{label} has no column {column!r}: {there}")
    return header.index(column)
