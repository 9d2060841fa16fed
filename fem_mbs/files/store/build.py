"""A model made again from its description, with stand-ins for elements and joints of a script's own classes."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Constraint,
    ConstraintBatch,
    Coordinate,
    CoordinateBatch,
    Element,
    ElementBatch,
    Energy,
    InternalVariable,
    Motion,
    Node,
    Numbering,
    node_rows,
    own_rows,
)
from fem_mbs.errors import FemMbsError, LawError, ModelError
from fem_mbs.files.store.functions import RecordedFunction
from fem_mbs.files.store.values import Data, Reader, find_class
from fem_mbs.model.model import Model


class Unavailable:
    """What stand-ins of elements and joints share.

    Parameters
    ----------
    kind : str
        The class that they were of.
    group : int
        Those of one group shared a batch.
    outside : list of str
        Classes that would have to be imported.
    """

    def __init__(
        self,
        kind: str,
        group: int,
        nodes: Sequence[Node],
        internal_variables: Sequence[InternalVariable],
        turned: Sequence[Node],
        pinned: Sequence[Node],
        outside: Sequence[str] = (),
    ) -> None:
        self.kind, self.group, self.outside = kind, group, tuple(outside)
        self.nodes, self.internal_variables = tuple(nodes), tuple(internal_variables)
        self._turned, self._pinned = tuple(turned), tuple(pinned)

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """As it was."""
        return self._turned

    @property
    def rotation_free(self) -> tuple[Node, ...]:
        """As it was."""
        return self._pinned

    def batch_key(self) -> Hashable:
        """As they shared batches."""
        return self.group


class UnavailableElement(Unavailable, Element):
    """An element of a class that is not at hand."""

    @classmethod
    def batch(cls, elements: Sequence[UnavailableElement], number: Numbering) -> ElementBatch:
        """Elements that shared a batch."""
        return UnavailableElements(elements, number)

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"

    __repr__ = __str__


class UnavailableConstraint(Unavailable, Constraint):
    """A joint of a class that is not at hand."""

    def __init__(
        self,
        equations: Sequence[str],
        coordinates: Sequence[Coordinate],
        offset: Array,
        length: Sequence[bool],
        *rest: Any,
    ) -> None:
        super().__init__(*rest)
        self.equations, self.coordinates = tuple(equations), tuple(coordinates)
        self.offset, self.length = np.asarray(offset), tuple(length)

    def coordinate_key(self, name: str) -> Hashable:
        """Each alone."""
        return self, name

    @classmethod
    def coordinate_batch(cls, joints: Sequence[UnavailableConstraint], name: str, number: Numbering) -> CoordinateBatch:
        """Coordinates that nobody can measure."""
        return UnavailableCoordinate(joints, number)

    @classmethod
    def batch(cls, constraints: Sequence[UnavailableConstraint], number: Numbering) -> ConstraintBatch:
        """Joints that shared a batch."""
        return UnavailableConstraints(constraints, number)

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"

    __repr__ = __str__


def refuse(part: Any) -> NoReturn:
    """What is asked of a class that is not at hand."""
    modules = sorted({name.partition(":")[0] for name in part.outside} - {"__main__"})
    hint = f"Import {' and '.join(modules)} before mbs.load, or give" if modules else "Give"
    raise LawError(
        f"{part} is of a class of the script that made the file, or was given what no file can hold; classes do not "
        f"travel in files. {hint} the model of the script as model"
    )


class UnavailableElements(ElementBatch):
    """Elements whose class is not at hand, which have places and nothing else."""

    def __init__(self, elements: Sequence[UnavailableElement], number: Numbering) -> None:
        self.owners, self.nodes = elements, node_rows(elements, number)
        self.own = own_rows(elements, number) if elements[0].internal_variables else None

    def force(self, motion: Motion, prescribed: Any) -> NoReturn:
        """Not known."""
        refuse(self.owners[0])

    def energy(self, motion: Motion) -> Energy:
        """Not known."""
        refuse(self.owners[0])


class UnavailableConstraints(ConstraintBatch):
    """Joints whose class is not at hand."""

    def __init__(self, joints: Sequence[UnavailableConstraint], number: Numbering) -> None:
        self.owners, self.nodes = joints, node_rows(joints, number)
        self.own = own_rows(joints, number) if joints[0].internal_variables else None
        self.cell = np.repeat(np.arange(len(joints)), [len(joint.equations) for joint in joints])
        self.length = np.concatenate([np.asarray(joint.length, np.bool_) for joint in joints])

    def evaluate(self, motion: Motion, prescribed: Any) -> NoReturn:
        """Not known."""
        refuse(self.owners[0])


class UnavailableCoordinate(CoordinateBatch):
    """A coordinate of a joint whose class is not at hand."""

    def __init__(self, joints: Sequence[UnavailableConstraint], number: Numbering) -> None:
        self._joint, self.nodes = joints[0], node_rows(joints, number)
        self.own = own_rows(joints, number) if joints[0].internal_variables else None

    def measure(self, x: Array, R: Array, u: Array) -> NoReturn:
        """Not known."""
        refuse(self._joint)


def rebuild(data: Data, functions: list[RecordedFunction], whole: bool = True) -> Model:
    """The model of a description, with laws of the script made again if ``whole``, else by their samples.

    Raises
    ------
    FemMbsError
        If there is none.
    """
    return _Builder(data, functions, whole).model


class _Builder:
    """Makes a model: parts that others are built on first."""

    def __init__(self, data: Data, functions: list[RecordedFunction], whole: bool) -> None:
        text = json.loads(data.text)
        self._parts: list[dict[str, Any]] = text["parts"]
        self._made: dict[int, Any] = {}
        self._functions = functions
        self._reader = reader = Reader(data.numbers, self._node, self._part, self._function, whole)
        self.model = model = Model(text["group"], reader.value(text["gravity"]))
        self._add_nodes(text["nodes"])
        moved = [(cut, k, reader.value(x), reader.value(R)) for k, cut, x, R in text["moved"]]
        for stage in sorted({part["stage"] for part in self._parts}):
            moved = self._move(moved, stage)
            for k, part in enumerate(self._parts):
                if part["stage"] == stage:
                    self._part(k)
        self._move(moved, None)
        for k, own in enumerate(self._parts):
            if "connect" in own:
                self._part(k).connect(reader.value(own["connect"]))
        for k in range(text["added"]):
            model.add(self._part(k), name=self._parts[k]["name"])
        for node, (translation, rotation) in zip(model.nodes, text["nodes"]["held"], strict=True):
            if translation or rotation:
                model.fix(node, bool(translation), bool(rotation))

    def _add_nodes(self, text: dict[str, Any]) -> None:
        arrays = [self._reader.value(text[name]) for name in ("positions", "rotations", "velocities")]
        rows = zip(text["names"], text["groups"], *arrays, strict=True)
        next(rows)  # the ground is there
        for name, group, x, R, v in rows:
            node = self.model.add_node(x, R, v[:3], v[3:], group=group, name=name)
            vars(node)["rotation"] = _read_only(R)  # not freed of rounding again

    def _move(self, moved: list[Any], stage: int | None) -> list[Any]:
        """Make the moves before a stage; returns those after it."""
        for cut, k, x, R in sorted(moved, key=lambda own: own[0]):
            if stage is None or cut < stage:
                self._node(k).place(x, R)
        return [] if stage is None else [own for own in moved if own[0] >= stage]

    def _node(self, k: int) -> Node:
        return self.model.nodes[_number(k, len(self.model.nodes), "node")]

    def _function(self, k: int) -> RecordedFunction:
        function = self._functions[_number(k, len(self._functions), "function")]
        function.needed = True
        return function

    def _part(self, k: int) -> Any:
        k = _number(k, len(self._parts), "part")
        if k not in self._made:
            self._made[k] = None
            own = self._parts[k]
            try:
                at_hand = "class" in own and all(find_class(name) is not None for name in own.get("outside", ()))
                self._made[k] = self._reader.value(_call(own)) if at_hand else self._unavailable(own)
            except FemMbsError as error:
                raise type(error)(f"{own['name'] or own.get('class')}: {error}") from None
        if not isinstance(part := self._made[k], Element | Constraint):
            raise ModelError(f"{self._parts[k]['name']} is no element or joint, or one that is built on itself")
        return part

    def _unavailable(self, part: dict[str, Any]) -> Element | Constraint:
        own = part["unavailable"]
        nodes, turned, pinned, variables = (
            self._reader.value(own[n]) for n in ("nodes", "rotation_dependent", "rotation_free", "internal_variables")
        )
        shared = own["kind"], own["group"], nodes, variables, turned, pinned, part.get("outside", ())
        if "equations" not in own:
            return UnavailableElement(*shared)
        coordinates = [Coordinate(*given) for given in own["coordinates"]]
        return UnavailableConstraint(
            own["equations"], coordinates, self._reader.value(own["offset"]), own["length"], *shared
        )


def _call(own: dict[str, Any]) -> dict[str, Any]:
    return {name: own[name] for name in ("class", "arguments", "named") if name in own}


def _number(k: Any, count: int, what: str) -> int:
    if not isinstance(k, int) or not 0 <= k < count:
        raise ModelError(f"it speaks of {what} {k}, and has {count}")
    return k


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array
