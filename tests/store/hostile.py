"""Files of stored runs that were changed by chance, in hundreds of ways: ``attack(source, target, seed)``."""

from __future__ import annotations

import contextlib
import copy
import json
import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from forge import PLACES, contents, execute, forge, put

HUGE = 10**15
PLAIN = [0, -1, 3, 2**31, 2**63, 2**64, HUGE, -HUGE, 1e308, -1e308, 1e-320, float("nan"), float("inf"), None, True]
WORDS = ["", "x", "../../x", "/etc/passwd", "os.system", "__class__", "\0", "x" * 5_000_000, "9" * 5000]
LISTS = [[], {}, [[]], [None] * 3, [1.0] * 100_000, {"": 1}]
SHAPES = [[10**12], [HUGE, 0], [0, HUGE], [-1, -1], [3], [1] * 65, [2**32, 2**32], [True], [None], ["3"], [[3]], []]
ARRAYS = [{"array": ["f", shape, content]} for shape in SHAPES for content in ([], "", [0.0], "AAAAAAAA8D8=")] + [
    {"array": own}
    for own in ([], ["O", [1], [0.0]], ["f", 0.5, [1.0]], ["f", [1], "no numbers"], ["f", [1], [HUGE**9]])
]
MEMBERS = [{kind: k} for kind in ("node", "part", "of script") for k in (0, 1, -1, HUGE, None, "0", "ground", "tip")]
CLASSES = [
    {"class": "Popen", "arguments": ["true"]},
    {"class": "builtins.eval", "arguments": ["1"]},
    {"class": "object", "arguments": []},
    {"class": [], "arguments": []},
    {"class": "RigidBody", "arguments": []},
    {"class": "Table", "arguments": [[0], [0]]},
    {"class": "Newton", "arguments": [], "named": {"max_iterations": HUGE}},
    {"class": "RadauIIA", "arguments": [HUGE]},
    {"class": "VariableStep", "arguments": [1e-300]},
]
OTHERS = [
    {"section": [["__init__", []]]},
    {"section": [["circle", [1, 1, 1, 1]]]},
    {"section": []},
    {"tuple": 3},
    {"dict": [[[], 1]]},
    {"dict": [["a"]]},
    {"eval": "1"},
]
VALUES: list[Any] = [*PLAIN, *WORDS, *LISTS, *ARRAYS, *MEMBERS, *CLASSES, *OTHERS]
NUMBERS = np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e15, 1e-300


def attack(source: Path, target: Path, seed: int) -> str:
    """Write a file that was changed; returns how."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice([*KINDS], p=np.array([*SHARES]) / sum(SHARES)))
    return f"{kind}: {KINDS[kind](source, target, rng)}"


def _text(source: Path, target: Path, rng: np.random.Generator) -> str:
    """One place, or a few, of one text."""
    part = str(rng.choice([*PLACES], p=[0.5, 0.25, 0.25]))
    done: list[str] = []

    def edit(text: Any) -> Any:
        for _ in range(int(rng.integers(1, 3))):
            text = _changed(text, rng, done)
        return text

    forge(source, target, {part: edit})
    return f"{part} {', '.join(done)}"


def _changed(text: Any, rng: np.random.Generator, done: list[str]) -> Any:
    """A text in which one place is another; places near the top as often as those deep down."""
    owner, key, way = None, None, ""
    value = text
    for _ in range(int(rng.integers(1, 9))):
        keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
        if not keys:
            break
        owner, key = value, keys[int(rng.integers(len(keys)))]
        value, way = owner[key], f"{way}/{key}"
    new = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
    action = int(rng.integers(8))
    done.append(f"{way} -> {json.dumps(new)[:60] if action else 'gone'}")
    if owner is None:
        return new
    if action == 0:
        del owner[key]
    elif action == 1 and isinstance(value, list):
        value *= 2
    elif action == 2 and isinstance(value, int | float):
        owner[key] = value * float(rng.choice([-1, 1e3, 1e9, 1e15])) if isinstance(value, float) else value + HUGE
    else:
        owner[key] = new
    return text


def _arrays(text: Any) -> list[Any]:
    """All that stands for arrays in a text."""
    if isinstance(text, list):
        return [own for value in text for own in _arrays(value)]
    if not isinstance(text, dict):
        return []
    here = [text] if isinstance(text.get("array"), list) and len(text["array"]) == 3 else []
    return here + [own for value in text.values() for own in _arrays(value)]


def _numbers(source: Path, target: Path, rng: np.random.Generator) -> str:
    """Numbers of one array, or fewer of them."""
    part = str(rng.choice(["model", "run", "checkpoint"]))

    def edit(text: Any) -> Any:
        arrays = _arrays(text)
        own = arrays[int(rng.integers(len(arrays)))]["array"]
        values = np.frombuffer(b64decode(own[2])).copy() if isinstance(own[2], str) else np.array(own[2], float)
        for _ in range(int(rng.integers(1, 4)) if values.size else 0):
            values[int(rng.integers(len(values)))] = rng.choice(NUMBERS)
        if values.size and rng.random() < 0.3:
            values = values[: int(rng.integers(len(values)))]
        own[2] = b64encode(values).decode() if rng.random() < 0.5 else values.tolist()
        return text

    forge(source, target, {part: edit})
    return f"numbers of {part}"


def _nested(source: Path, target: Path, rng: np.random.Generator) -> str:
    part, depth = str(rng.choice([*PLACES])), int(rng.choice([500, 5_000, 1_000_000]))
    forge(source, target, {part: lambda text: b"[" * depth + b"]" * depth})
    return f"{part} {depth} deep"


def _not_json(source: Path, target: Path, rng: np.random.Generator) -> str:
    part = str(rng.choice([*PLACES]))
    forge(source, target, {part: lambda text: rng.bytes(int(rng.integers(200)))})
    return part


def _flipped(source: Path, target: Path, rng: np.random.Generator) -> str:
    data = bytearray(source.read_bytes())
    for place in rng.integers(len(data) if rng.random() < 0.5 else 6000, size=int(rng.integers(1, 9))):
        data[place] = int(rng.integers(256))
    target.write_bytes(data)
    return "bytes"


def _cut(source: Path, target: Path, rng: np.random.Generator) -> str:
    data = source.read_bytes()
    size = int(rng.integers(len(data)))
    target.write_bytes(data[:size])
    return f"after {size}"


def _grown(source: Path, target: Path, rng: np.random.Generator) -> str:
    data, size = source.read_bytes(), int(rng.choice([1, 1000, 100_000]))
    target.write_bytes(data + (rng.bytes(size) if rng.random() < 0.5 else bytes(size)))
    return f"by {size}"


def _rows(source: Path, target: Path, rng: np.random.Generator) -> str:
    """Numbers of states, blocks that are missing or cut, twice, empty or no bytes."""
    target.write_bytes(source.read_bytes())
    blocks = [own for own in contents(source).items() if own[0][0] == "steps"]
    place, content = blocks[int(rng.integers(len(blocks)))]
    kind = int(rng.integers(6))
    if kind == 0:
        execute(target, "DELETE FROM steps WHERE number = ?", place[1])
    elif kind == 1:
        put(target, place, content[: int(rng.integers(len(content)))])
    elif kind == 2:
        put(target, (place[0], int(rng.choice([-1, 2**62, place[1] + 1]))), content)
    elif kind == 3:
        put(target, place, str(rng.choice(["x" * 1000, "", "1"])))
    else:
        values = np.frombuffer(content).copy()
        values[int(rng.integers(len(values)))] = rng.choice(NUMBERS)
        put(target, place, values.tobytes())
    return f"{place} kind {kind}"


SCHEMAS = [
    "CREATE TRIGGER x AFTER DELETE ON steps BEGIN DELETE FROM model; END",
    "CREATE VIEW y AS SELECT * FROM model",
    "CREATE TABLE z (a)",
    "CREATE INDEX i ON steps (length(content))",
    "DROP TABLE checkpoints",
    "DELETE FROM sqlite_master WHERE name = 'steps'",
    "UPDATE sqlite_master SET sql = replace(sql, 'BLOB', 'TEXT')",
    "UPDATE sqlite_master SET sql = 'CREATE TABLE steps (number, content AS (zeroblob(1000000000)), crc32)' "
    "WHERE name = 'steps'",
    "UPDATE sqlite_master SET rootpage = 1 WHERE name = 'steps'",
    "UPDATE sqlite_master SET rootpage = 1000000 WHERE name = 'model'",
    "PRAGMA application_id = 7",
    "PRAGMA user_version = 99",
    "UPDATE steps SET number = 1e300",
    "UPDATE steps SET crc32 = 'x'",
    "UPDATE model SET content = zeroblob(50000000)",
    "INSERT INTO model VALUES (9, zeroblob(50000000), 0)",
]


def _schema(source: Path, target: Path, rng: np.random.Generator) -> str:
    """Other tables, views and triggers than those of a run."""
    target.write_bytes(source.read_bytes())
    question = str(rng.choice(SCHEMAS))
    with contextlib.suppress(sqlite3.Error):
        execute(target, question)
    return question


KINDS: dict[str, Callable[[Path, Path, np.random.Generator], str]] = {
    "text": _text,
    "numbers": _numbers,
    "nested": _nested,
    "no text": _not_json,
    "flipped": _flipped,
    "cut": _cut,
    "grown": _grown,
    "rows": _rows,
    "tables": _schema,
}
SHARES = 12, 2, 0.5, 0.5, 2, 1, 0.5, 2, 2
