"""Functions of a script, which a file cannot hold: it holds what they returned where they were asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import OPTIONAL, TimeLaw, name_of, shown
from fem_mbs.errors import LawError
from fem_mbs.files.store.values import Reader, UnstorableError, Writer

LONGEST = 200
"""Letters of the name of a function, which is only for reading."""


def write_samples(functions: list[RecordedFunction]) -> list[Any]:
    """Functions by their names, and what they returned."""
    return [_samples(Writer(), own) for own in functions]


def read_samples(written: list[Any]) -> list[RecordedFunction]:
    """Functions of a script that is not at hand."""
    reader = Reader()
    functions: list[RecordedFunction] = []
    for own in written:
        samples: Samples = {}
        for method, arguments, result in own["samples"]:
            given = tuple(reader.value(arguments))
            if (key := sample_key(given)) is not None:
                samples[str(method), key] = given, reader.value(result)
        options: dict[str, Any] = {"has": tuple(own["has"]), "samples": samples}
        name = str(own["name"])[:LONGEST]
        if "size" in own:
            functions.append(RecordedLaw(name, own["size"], **options))
        else:
            functions.append(RecordedFunction(name, **options))
    return functions


def _samples(writer: Writer, function: RecordedFunction) -> dict[str, Any]:
    samples = []
    for (method, _), (arguments, result) in function.samples.items():
        try:
            samples.append([method, writer.value([*arguments]), writer.value(result)])
        except UnstorableError:
            continue
    own = {"name": function.__name__, "has": list(function.has), "samples": samples}
    return own | ({"size": function.size} if isinstance(function, RecordedLaw) else {})


Samples: TypeAlias = dict[tuple[str, bytes], tuple[tuple[Any, ...], Any]]
"""Arguments and results by the method that was asked, "" for the function itself, and the arguments."""


class RecordedFunction:
    """A function and what it has returned so far; in another process, where there is no function, that alone.

    Attributes
    ----------
    has : tuple of str
        Which attributes of ``contracts.functions`` it has.
    missing : bool
        Whether there is no function.
    needed : bool
        Whether a model has it.
    """

    def __init__(
        self,
        name: str,
        original: Callable[..., Any] | None = None,
        has: tuple[str, ...] = (),
        samples: Samples | None = None,
    ) -> None:
        self.__name__ = name
        self._original, self.missing, self.needed = original, original is None, False
        self._times, self._order = np.empty(0), np.empty(0, np.intp)
        self._values: Any = None
        self.has = has if original is None else brought_along(original)
        self.samples: Samples = {} if samples is None else samples
        for what in self.has:
            vars(self)[what] = self._ask(what, ()) if what == "jumps" else partial(self._asked, what)

    def __call__(self, *arguments: Any) -> Any:
        return self._ask("", arguments)

    def _asked(self, method: str, *arguments: Any) -> Any:
        return self._ask(method, arguments)

    def _ask(self, method: str, arguments: tuple[Any, ...]) -> Any:
        key = method, sample_key(arguments)
        if self._original is not None:
            own: Any = getattr(self._original, method) if method else self._original
            result = own(*arguments) if callable(own) else own
            if key[1] is not None:
                self.samples[method, key[1]] = arguments, result
            return result
        if key in self.samples:
            return self.samples[key][1]
        if not method and key[1] is not None and len(arguments) == 1:
            k = int(np.searchsorted(self._times, arguments[0]))
            if k < len(self._times) and self._times[k] == arguments[0]:
                value = self._values[int(self._order[k])]
                return value[0] if len(value) == 1 else value
        raise LawError(
            f"'{self.__name__}' is a function of the script that made the file, and functions do not travel in "
            f"files; it is asked for {', '.join(map(shown, arguments))}, where the file does not have its value. "
            "Give the model of the script as model"
        )

    @property
    def original(self) -> Callable[..., Any]:
        """The function, or what stands for it, without being remembered."""
        return self if self._original is None else self._original

    def over_time(self, times: Array, values: Any) -> None:
        """What the function returned at the times of a run, in any order; the values ``(nt, s)`` may be in a file."""
        self._order = np.argsort(times, kind="stable")
        self._times, self._values = times[self._order], values

    def __repr__(self) -> str:
        return f"<function '{self.__name__}' of another script>"


def sample_key(arguments: Sequence[Any]) -> bytes | None:
    """What tells arguments from others; None where they are not numbers."""
    try:
        return b"".join(np.asarray(own, dtype=float).tobytes() for own in arguments)
    except (TypeError, ValueError):
        return None


def recorded(function: Callable[..., Any]) -> RecordedFunction:
    """A function whose samples are kept."""
    name = name_of(function)
    if isinstance(function, TimeLaw):
        return RecordedLaw(name, function.size, original=function)
    return RecordedFunction(name, function)


def brought_along(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what a function has beside its value."""
    return tuple(name for kind, names in OPTIONAL.items() if isinstance(function, kind) for name in names)


class RecordedLaw(RecordedFunction, TimeLaw):
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
