"""Matrices that Nastran wrote by ``OUTPUT4``, as text or binary, dense or sparse.

A matrix has a head, ``columns, rows, form, type``, a name and, of text, a format; then its columns that are not zero:
``column, first row, words`` and values from the first row on. Where the first row is 0 the column is sparse, strings of
values: each begins with ``words, row``, in one word as ``65536 (words + 1) + row`` if the matrix has fewer than 65536
rows, in two with ``words + 1`` if the head has minus the number of rows. Types 1 and 2 are real, with one and two words
for a number, 3 and 4 complex. Binary files are records of Fortran, of either order of bytes, with words of four or
eight bytes (MSC Nastran, DMAP Programmer's Guide, "OUTPUT4").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, csr_array

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError

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
