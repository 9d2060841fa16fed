"""Values as text and numbers: see :mod:`fem_mbs.store.values`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.model import Constraint, Element, Node, shown
from fem_mbs.store.values import Data, classes

EXACT = 2**53
"""Whole numbers below this one are exact as floating-point numbers."""


class UnstorableError(Exception):
    """A value that a file cannot hold."""


class Writer:
    """Makes text and numbers of values.

    Attributes
    ----------
    functions : list
        Functions that values contain; they are written as their numbers.
    parts : list
        The given parts, and those that values contain beside them.
    """

    def __init__(self, nodes: Sequence[Node] = (), parts: Sequence[Element | Constraint] = ()) -> None:
        self._nodes = {id(node): k for k, node in enumerate(nodes)}
        self.parts: list[Any] = list(parts)
        self._parts = {id(part): k for k, part in enumerate(parts)}
        self._arrays: list[Array] = []
        self._size = 0
        self.functions: list[Callable[..., Any]] = []

    def data(self, value: Any) -> Data:
        """The text of what :meth:`value` returned, and its numbers."""
        text = json.dumps(value, separators=(",", ":"))
        return Data(text, np.concatenate([np.empty(0), *self._arrays]))

    def value(self, value: Any) -> Any:
        """What JSON can hold of a value.

        Raises
        ------
        UnstorableError
            If it is none that a file can hold.
        """
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int | float | np.bool_ | np.integer | np.floating):
            return value.item() if isinstance(value, np.generic) else value
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, list):
            return [self.value(own) for own in value]
        if isinstance(value, tuple) and classes().get(type(value).__name__) is not type(value):
            return {"tuple": [self.value(own) for own in value]}
        if isinstance(value, Mapping):
            return {"dict": [[self.value(key), self.value(own)] for key, own in value.items()]}
        if isinstance(value, Node | Element | Constraint):
            return self._member(value)
        return self._object(value)

    def arguments(self, value: Any) -> dict[str, Any]:
        """An object as its class and the arguments of its constructor."""
        made = getattr(value, "made", None)
        given, named = (made.arguments, made.named) if made else (_attributes(value), {})
        result = {"class": type(value).__name__, "arguments": [self.value(own) for own in given]}
        return result | ({"named": {name: self.value(own) for name, own in named.items()}} if named else {})

    def _object(self, value: Any) -> Any:
        if hasattr(value, "recipe"):
            return {"section": [[step, self.value(list(values))] for step, values in value.recipe]}
        if classes().get(type(value).__name__) is type(value):
            return self.arguments(value)
        if hasattr(value, "as_matrix"):  # a rotation of scipy
            return self._array(np.asarray(value.as_matrix()))
        if callable(value) and not isinstance(value, type):
            if not any(value is own for own in self.functions):
                self.functions.append(value)
            return {"function": next(k for k, own in enumerate(self.functions) if own is value)}
        raise UnstorableError(shown(value))

    def _member(self, value: Any) -> dict[str, int]:
        if isinstance(value, Node):
            if id(value) not in self._nodes:
                raise UnstorableError(f"{value}, which is not in the model")
            return {"node": self._nodes[id(value)]}
        if id(value) not in self._parts:
            self._parts[id(value)] = len(self.parts)
            self.parts.append(value)
        return {"part": self._parts[id(value)]}

    def _array(self, value: Array) -> Any:
        kind = value.dtype.kind
        if kind not in "fiub" or (kind in "iu" and value.size and int(abs(value).max()) >= EXACT):
            return self.value(value.tolist())
        flat = np.ravel(value).astype(float)
        self._arrays.append(flat)
        self._size += flat.size
        return {"array": [self._size - flat.size, "i" if kind == "u" else kind, *value.shape]}


def _attributes(value: Any) -> list[Any]:
    """Arguments of an object that has them as attributes."""
    return [getattr(value, name) for name in inspect.signature(type(value)).parameters]
