"""Values as text, and back: what a file holds in place of Python objects, and nothing else can be in it.

Text is JSON. Numbers, texts, truth values and None stand for themselves, anything else is an object with one key that
says what it is: arrays, by their kind, their shape and their numbers; tuples and dicts; nodes by their names, parts of
the model by their numbers; objects of classes of the library by the name of the class and the arguments of its
constructor; functions of a script, and what else no file can hold, by a name that is for reading alone. Reading makes
objects by their constructors, which check their arguments, of these classes and no others: those of the library, and
those of a script that derive from a contract and whose module is imported. No file makes Python import a module.
"""

from __future__ import annotations

import inspect
import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from types import ModuleType
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import ARRAYS, Constraint, Element, Method, Node, Public, Shape, State, TimeLaw, shown
from fem_mbs.contracts.arguments import is_of, is_rotation, name_of
from fem_mbs.elements.beams.section import BeamSection
from fem_mbs.elements.flexible.reduction import Reduction
from fem_mbs.errors import ModelError

CLASSES: dict[str, type] = {}
"""Classes of which a file may hold objects, by name; the library registers its own when it is imported."""


def register(kinds: Iterable[Any]) -> None:
    """Let files hold objects of classes; whatever else is among them is passed over."""
    CLASSES.update({kind.__name__: kind for kind in kinds if isinstance(kind, type)})


OUTSIDE = (Element, Constraint, TimeLaw, Method, Shape)
"""Contracts whose classes may be of a script."""


def class_name(kind: type) -> str | None:
    """What a file calls a class: those of a script by module and name; None if that does not lead back to the class."""
    name = kind.__name__ if CLASSES.get(kind.__name__) is kind else f"{kind.__module__}:{kind.__qualname__}"
    return name if find_class(name) is kind else None


def find_class(name: str) -> type | None:
    """The class that a file calls so: of the library, or of a contract and of a module that is imported by now.

    A file never makes Python import a module; what is missing is None.
    """
    if ":" not in name:
        return CLASSES.get(name)
    module, _, own = name.partition(":")
    if module.split(".")[0] == "fem_mbs" or not isinstance(there := sys.modules.get(module), ModuleType):
        return None
    kind = vars(there).get(own)
    return kind if isinstance(kind, type) and issubclass(kind, OUTSIDE) and kind.__module__ == module else None


def packed(value: Any) -> bytes:
    """Text, of what :class:`Writer` returned."""
    return json.dumps(value, separators=(",", ":")).encode()


def record(**values: Any) -> bytes:
    """Values by name, as a text."""
    return packed({name: Writer().value(value) for name, value in values.items()})


class Record:
    """What a text has, by name, as ``values``; of a ``method``, whose class may be missing, when it is asked for."""

    def __init__(self, content: bytes) -> None:
        self.text: dict[str, Any] = dict(json.loads(content))
        self.values = {name: Reader().value(own) for name, own in self.text.items() if name != "method"}

    def __getitem__(self, name: str) -> Any:
        return Reader().value(self.text[name]) if name == "method" else self.values[name]


EXACT = 2**53
"""Whole numbers below this one are exact as floating-point numbers."""
FEW = 36
"""Arrays of up to so many numbers can be read by people."""
KINDS = {"f": "<f8", "i": "<i8", "u": "<i8", "b": "?"}
"""Kinds of arrays, and how their numbers are in a file."""


class Writer:
    """Makes what JSON can hold of values.

    Attributes
    ----------
    parts : list
        The given parts, and those that values contain beside them.
    reductions : list of dict
        Arrays of reductions, each once, whichever parts share it.
    of_script : list
        Functions and objects that no file can hold; they are written as their numbers here and their names.
    """

    def __init__(self, nodes: Sequence[Node] = (), parts: Sequence[Element | Constraint] = ()) -> None:
        self._nodes = set(nodes)
        self.parts: list[Any] = list(parts)
        self._parts = {id(part): k for k, part in enumerate(parts)}
        self.of_script: list[Any] = []
        self.reductions: list[dict[str, Any]] = []
        self._reductions: dict[int, int] = {}

    def value(self, value: Any) -> Any:
        """What JSON can hold of a value."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int | float | np.bool_ | np.integer | np.floating):
            return value.item() if isinstance(value, np.generic) else value
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, list):
            return [self.value(own) for own in value]
        if isinstance(value, tuple) and CLASSES.get(type(value).__name__) is not type(value):
            return {"tuple": [self.value(own) for own in value]}
        if isinstance(value, Mapping):
            return {"dict": [[self.value(key), self.value(own)] for key, own in value.items()]}
        if isinstance(value, Node):
            return {"node": value.name} if value in self._nodes else self._of_script(value)
        if isinstance(value, Element | Constraint):
            if id(value) not in self._parts:
                self._parts[id(value)] = len(self.parts)
                self.parts.append(value)
            return {"part": self._parts[id(value)]}
        if isinstance(value, State):
            return {"state": [self.value(getattr(value, name)) for name in ("t", *ARRAYS)]}
        if isinstance(value, BeamSection):
            return {"section": [[step, self.value(list(values))] for step, values in value.recipe]}
        if isinstance(value, Reduction):
            if id(value) not in self._reductions:
                self._reductions[id(value)] = len(self.reductions)
                self.reductions.append({name: self.value(own) for name, own in value.arrays().items()})
            return {"reduction": self._reductions[id(value)]}
        if is_of(value, "meshio", "Mesh"):
            return {"mesh": [self.value(value.points), [[own.type, self.value(own.data)] for own in value.cells]]}
        if is_rotation(value):
            return self._array(np.asarray(value.as_matrix()))
        return self.object(value)

    def object(self, value: Any) -> dict[str, Any]:
        """An object as its class and the arguments of its constructor; what belongs to a script as its name."""
        name = class_name(type(value))
        arguments = None if name is None else _arguments(value)
        if arguments is None:
            return self._of_script(value)
        given, named = arguments
        result = {"class": name, "arguments": [self.value(own) for own in given]}
        return result | ({"named": {name: self.value(own) for name, own in named.items()}} if named else {})

    def _of_script(self, value: Any) -> dict[str, Any]:
        if not any(own is value for own in self.of_script):
            self.of_script.append(value)
        number = next(k for k, own in enumerate(self.of_script) if own is value)
        return {"of script": [number, name_of(value)]}

    def _array(self, value: Array) -> Any:
        kind = value.dtype.kind
        if kind not in KINDS or (kind in "iu" and value.size and int(abs(value).max()) >= EXACT):
            return self.value(value.tolist())
        numbers = np.ascontiguousarray(value, KINDS[kind])
        content = numbers.ravel().tolist() if value.size <= FEW else b64encode(numbers.tobytes()).decode()
        return {"array": ["i" if kind == "u" else kind, list(value.shape), content]}


def _arguments(value: Any) -> tuple[Sequence[Any], dict[str, Any]] | None:
    """What the constructor of an object is called with, by position and by name; None if it is not known."""
    if isinstance(value, Public) and (made := value.constructor_arguments):
        return made.arguments, made.named
    if not isinstance(value, tuple) and not is_dataclass(value) and type(value).__init__ is not object.__init__:
        return None
    given, named = [], {}
    for name, parameter in inspect.signature(type(value)).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = getattr(value, name)
        else:
            given.append(getattr(value, name))
    return given, named


SECTION_STEPS = ("rectangle", "circle", "tube", "general", "with_damping", "shifted", "turned")


def missing(name: str) -> str:
    """What to do about a class that is not there."""
    module, of_script, _ = name.partition(":")
    if not of_script:
        return "which fem_mbs does not have"
    if module == "__main__":
        return "of the script that made the file; give its model as model"
    return (
        f"of a script; import {shown(module)[1:-1]} before mbs.load, if you trust it, or give the model of the script"
    )


class Reader:
    """Makes values of what JSON holds; functions find what it has by a name or a number."""

    def __init__(
        self,
        node: Callable[[str], Node] | None = None,
        part: Callable[[int], Any] | None = None,
        of_script: Callable[[Any], Any] | None = None,
        reduction: Callable[[int], Reduction] | None = None,
    ) -> None:
        self._of_number = {"node": node, "part": part, "of script": of_script, "reduction": reduction}

    def value(self, value: Any) -> Any:
        """The value that JSON holds.

        Raises
        ------
        ModelError
            If it is of an unknown kind.
        """
        if isinstance(value, list):
            return [self.value(own) for own in value]
        if not isinstance(value, dict):
            return value
        if "class" in value:
            kind = find_class(value["class"])
            if kind is None:
                raise ModelError(f"it holds an object of the class {shown(value['class'])}, {missing(value['class'])}")
            named = {str(name): self.value(own) for name, own in value.get("named", {}).items()}
            return kind(*map(self.value, value["arguments"]), **named)
        if len(value) == 1:
            ((name, content),) = value.items()
            if name == "tuple":
                return tuple(map(self.value, content))
            if name == "dict":
                return {self.value(key): self.value(own) for key, own in content}
            if name == "array":
                return _array(*content)
            if name == "state":
                return State(*map(self.value, content))
            if name == "section":
                return self._section(content)
            if name == "reduction" and isinstance(content, dict):
                return Reduction.of_arrays({name: np.asarray(self.value(own)) for name, own in content.items()})
            if name == "mesh":
                import meshio  # which takes long to import

                points, cells = content
                return meshio.Mesh(self.value(points), [(own, self.value(data)) for own, data in cells])
            if (find := self._of_number.get(name)) is not None:
                return find(content)
        raise ModelError(f"it holds a value of an unknown kind, {shown(value)}")

    def _section(self, steps: Sequence[Any]) -> Any:
        made: Any = BeamSection
        for step, values in steps:
            if step != "BeamSection" and step not in SECTION_STEPS:
                raise ModelError(f"it holds a section that is made by {shown(step)}, which BeamSection does not have")
            made = (BeamSection if step == "BeamSection" else getattr(made, step))(*self.value(values))
        return made


def _array(kind: str, shape: Sequence[int], content: Any) -> Array:
    """An array as large as what there is of it."""
    try:
        flat = np.frombuffer(b64decode(content), KINDS[kind]) if isinstance(content, str) else np.array(content)
        return flat.astype(np.intp if kind == "i" else KINDS[kind]).reshape([*map(abs, shape)])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ModelError(f"it holds an array of the shape {shown(shape)}, which its numbers do not have") from None
