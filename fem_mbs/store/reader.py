"""Values of text and numbers: see :mod:`fem_mbs.store.values`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.model import Node, shown
from fem_mbs.store.values import classes

SECTION_STEPS = ("rectangle", "circle", "tube", "general", "with_damping", "shifted", "turned")


class Reader:
    """Makes values of text and numbers.

    Parameters
    ----------
    numbers : (n,)
        Those of all arrays.
    node, part, function : functions
        What has a number.
    """

    def __init__(
        self,
        numbers: Array,
        node: Callable[[int], Node] | None = None,
        part: Callable[[int], Any] | None = None,
        function: Callable[[int], Any] | None = None,
    ) -> None:
        self._numbers = numbers
        self._of_number = {"node": node, "part": part, "function": function}

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
            return self._made(value)
        if len(value) == 1:
            ((kind, content),) = value.items()
            if kind == "tuple":
                return tuple(map(self.value, content))
            if kind == "dict":
                return {self.value(key): self.value(own) for key, own in content}
            if kind == "array":
                return self._array(*content)
            if kind == "section":
                return self._section(content)
            if (find := self._of_number.get(kind)) is not None:
                return find(content)
        raise ModelError(f"it holds a value of an unknown kind, {shown(value)}")

    def _made(self, value: dict[str, Any]) -> Any:
        kind = classes().get(value["class"])
        if kind is None:
            raise ModelError(f"it holds an object of the class {shown(value['class'])}, which fem_mbs does not have")
        named = {str(name): self.value(own) for name, own in value.get("named", {}).items()}
        return kind(*map(self.value, value["arguments"]), **named)

    def _section(self, steps: Sequence[Any]) -> Any:
        from fem_mbs.elements import BeamSection

        made: Any = BeamSection
        for step, values in steps:
            if step != "BeamSection" and step not in SECTION_STEPS:
                raise ModelError(f"it holds a section that is made by {shown(step)}, which BeamSection does not have")
            made = (BeamSection if step == "BeamSection" else getattr(made, step))(*self.value(values))
        return made

    def _array(self, first: int, kind: str, *shape: int) -> Array:
        size = math.prod(shape)
        if not (0 <= first <= first + size <= len(self._numbers) and min(shape, default=0) >= 0):
            raise ModelError(f"it holds an array of the shape {shape}, which has more numbers than there are")
        dtype = {"f": float, "i": np.intp, "b": np.bool_}[kind]
        return self._numbers[first : first + size].astype(dtype).reshape(shape)
