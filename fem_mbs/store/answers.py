"""What functions of a script returned, as data."""

from __future__ import annotations

import json
from typing import Any

from fem_mbs.store.functions import Answers, Asked, answer_key
from fem_mbs.store.reader import Reader
from fem_mbs.store.values import Data
from fem_mbs.store.writer import UnstorableError, Writer

LONGEST = 200
"""Letters of the name of a function, which is only for reading."""


def write_answers(functions: list[Asked]) -> Data:
    """Functions by their names, and what they returned."""
    writer = Writer()
    return writer.data([_answers(writer, own) for own in functions])


def read_answers(data: Data) -> list[Asked]:
    """Functions of a script that is not at hand."""
    reader = Reader(data.numbers)
    functions: list[Asked] = []
    for own in json.loads(data.text):
        answers: Answers = {}
        for method, arguments, result in own["answers"]:
            given = tuple(reader.value(arguments))
            if (key := answer_key(given)) is not None:
                answers[str(method), key] = given, reader.value(result)
        options: dict[str, Any] = {"has": tuple(own["has"]), "answers": answers}
        name = str(own["name"])[:LONGEST]
        if "size" in own:
            from fem_mbs.store.laws import AskedLaw

            functions.append(AskedLaw(name, own["size"], **options))
        else:
            functions.append(Asked(name, **options))
    return functions


def _answers(writer: Writer, function: Asked) -> dict[str, Any]:
    answers = []
    for (method, _), (arguments, result) in function.answers.items():
        try:
            answers.append([method, writer.value([*arguments]), writer.value(result)])
        except UnstorableError:
            continue
    own = {"name": function.__name__, "has": list(function.has), "answers": answers}
    return own | ({"size": function.size} if hasattr(function, "size") else {})
