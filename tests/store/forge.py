"""Stored runs that say something else, with all check sums right: what someone can make who means harm."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from fem_mbs.files.store.database import check_sum
from fem_mbs.files.store.save import MODEL, RUN, STANDS

PLACES = {"model": MODEL, "run": RUN, "checkpoint": STANDS}
Edits = Mapping[str, Callable[[Any], Any]]


def contents(source: Path) -> dict[tuple[str, int], bytes]:
    """What is in a file."""
    with closing(sqlite3.connect(source)) as file:
        return {
            (table, number): content
            for table in ("model", "steps", "checkpoints")
            for number, content in file.execute(f"SELECT number, content FROM {table}")
        }


def put(target: Path, place: tuple[str, int], content: Any) -> None:
    """Another content, with its check sum."""
    table, number = place
    check = check_sum(table, number, content if isinstance(content, bytes) else b"")
    execute(target, f"REPLACE INTO {table} VALUES (?, ?, ?)", number, content, check)


def execute(target: Path, *questions: Any) -> None:
    """What SQLite is to do with a file."""
    with closing(sqlite3.connect(target, isolation_level=None)) as file:
        file.execute("PRAGMA writable_schema = ON")
        file.execute(questions[0], questions[1:])


def forge(source: Path, target: Path, edits: Edits) -> None:
    """Write a file in which contents are what functions return of them.

    "model", "run" and "checkpoint" are texts, given as what they say, and returned as such or as bytes.
    """
    shutil.copy(source, target)
    for part, edit in edits.items():
        made = edit(json.loads(contents(target)[PLACES[part]]))
        put(target, PLACES[part], made if isinstance(made, bytes) else json.dumps(made).encode())
