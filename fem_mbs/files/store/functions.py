"""Functions of a script, which a file cannot hold: it holds what they returned where they were asked.

What functions of a script returned, as data.

Laws of time of a script's own classes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import shown
from fem_mbs.elements.laws import TimeLaw
from fem_mbs.errors import LawError
from fem_mbs.files.store.values import Data, Reader, UnstorableError, Writer

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


Answers: TypeAlias = dict[tuple[str, bytes], tuple[tuple[Any, ...], Any]]
"""Arguments and results by the method that was asked, "" for the function itself, and the arguments."""
OTHERS = ("velocity", "acceleration", "by_length", "by_speed", "by_coordinate", "by_rate", "jumps")
"""What functions may have beside being callable."""


class Asked:
    """A function and what it has returned so far; in another process, where there is no function, that alone.

    Attributes
    ----------
    has : tuple of str
        Which attributes of the contracts it has.
    missing : bool
        Whether there is no function.
    """

    def __init__(
        self,
        name: str,
        original: Callable[..., Any] | None = None,
        has: tuple[str, ...] = (),
        answers: Answers | None = None,
    ) -> None:
        self.__name__ = name
        self._original, self.missing = original, original is None
        self._times: Array | None = None
        self._values: Array | None = None
        self.has = has if original is None else tuple(own for own in OTHERS if hasattr(original, own))
        self.answers: Answers = {} if answers is None else answers

    def __call__(self, *arguments: Any) -> Any:
        return self._ask("", arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in vars(self).get("has", ()):
            raise AttributeError(name)
        return self._ask(name, ()) if name == "jumps" else partial(self._asked, name)

    def _asked(self, method: str, *arguments: Any) -> Any:
        return self._ask(method, arguments)

    def _ask(self, method: str, arguments: tuple[Any, ...]) -> Any:
        key = method, answer_key(arguments)
        if self._original is not None:
            own = getattr(self._original, method) if method else self._original
            result = own(*arguments) if callable(own) else own
            if key[1] is not None:
                self.answers[method, key[1]] = arguments, result
            return result
        if key in self.answers:
            return self.answers[key][1]
        if (
            not method
            and key[1] is not None
            and len(arguments) == 1
            and self._times is not None
            and self._values is not None
        ):
            k = int(np.searchsorted(self._times, arguments[0]))
            if k < len(self._times) and self._times[k] == arguments[0]:
                return self._values[k]
        raise LawError(
            f"'{self.__name__}' is a function of the script that made the file, and functions do not travel in "
            f"files; it is asked for {', '.join(map(shown, arguments))}, where the file does not have its value. "
            "Give the model of the script as model"
        )

    @property
    def original(self) -> Callable[..., Any]:
        """The function, or what stands for it, without being remembered."""
        return self if self._original is None else self._original

    def over_time(self, times: Array, values: Array) -> None:
        """What the function returned at the times of a run, in any order."""
        order = np.argsort(times, kind="stable")
        self._times, self._values = times[order], (values[:, 0] if values.shape[1] == 1 else values)[order]

    def __repr__(self) -> str:
        return f"<function '{self.__name__}' of another script>"


def answer_key(arguments: Sequence[Any]) -> bytes | None:
    """What tells arguments from others; None where they are not numbers."""
    try:
        return b"".join(np.asarray(own, dtype=float).tobytes() for own in arguments)
    except (TypeError, ValueError):
        return None


def asked(function: Callable[..., Any]) -> Asked:
    """A function whose answers are kept."""
    name = getattr(function, "__name__", type(function).__name__)
    if isinstance(function, TimeLaw):
        return AskedLaw(name, function.size, original=function)
    return Asked(name, function)


class AskedLaw(Asked, TimeLaw):
    """A law of time of a class of the script."""

    def __init__(self, name: str, size: int | None, **options: Any) -> None:
        super().__init__(name, **options)
        self.size = size

    def velocity(self, t: float) -> Any:
        """First derivative."""
        return self._ask("velocity", (t,))

    def acceleration(self, t: float) -> Any:
        """Second derivative."""
        return self._ask("acceleration", (t,))
