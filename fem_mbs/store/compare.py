"""Whether two descriptions are of one model, and if not, what differs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.store.values import Data


def check_same(model: Data, other: Data, label: str) -> None:
    """Refuse another model than that of a file."""
    if model.text == other.text and np.array_equal(model.numbers, other.numbers, equal_nan=True):
        return
    here, there = (json.loads(own.text) for own in (model, other))
    inlined = [
        _inlined(text, own.numbers, {"node": text["nodes"]["names"], "part": [part["name"] for part in text["parts"]]})
        for text, own in ((here, model), (there, other))
    ]
    what = next(_differing(*inlined), "it has other parts")
    raise ModelError(f"{label}: the model is not the one of the file: {what}")


def _inlined(value: Any, numbers: Array, names: dict[str, list[str]]) -> Any:
    """A description with its arrays in place, and names in place of numbers."""
    if isinstance(value, list):
        return [_inlined(own, numbers, names) for own in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        first, _, *shape = value["array"]
        return numbers[first : first + int(np.prod(shape))].tolist()
    if len(value) == 1 and (kind := next(iter(value))) in names:
        return {kind: names[kind][value[kind]]}
    return {name: _inlined(own, numbers, names) for name, own in value.items()}


def _differing(here: dict[str, Any], there: dict[str, Any]) -> Iterator[str]:
    """What differs between two descriptions, in words."""
    names = here["nodes"]["names"], there["nodes"]["names"]
    if names[0] != names[1]:
        yield f"its nodes are {', '.join(names[0][:8])} ..., those of the file {', '.join(names[1][:8])} ..."
    for what in here["nodes"]:
        pairs = zip(names[0], here["nodes"][what], there["nodes"][what], strict=False)
        yield from (f"{what} of node '{name}'" for name, own, other in pairs if own != other)
    parts = [{part["name"]: part for part in text["parts"]} for text in (here, there)]
    for name in dict.fromkeys((*parts[1], *parts[0])):
        own, other = (side.get(name) for side in parts)
        if own is None or other is None:
            yield f"'{name}' is only in the {'model' if other is None else 'file'}"
        elif own != other:
            yield f"'{name}' was made of {_brief(own)}, that of the file of {_brief(other)}"
    if here["gravity"] != there["gravity"]:
        yield f"its gravity is {here['gravity']}, that of the file {there['gravity']}"


def _brief(part: dict[str, Any]) -> str:
    text = json.dumps([part.get("class"), part.get("arguments"), part.get("named")])
    return text if len(text) < 300 else f"{text[:300]} ..."
