"""A model made again from its description, with stand-ins for elements and joints of a script's own classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Constraint,
    ConstraintBatch,
    CoordinateBatch,
    Element,
    ElementBatch,
    Node,
    Numbering,
    check_node,
    node_rows,
    own_rows,
)
from fem_mbs.errors import FemMbsError, LawError, ModelError
from fem_mbs.files.store.functions import RecordedFunction
from fem_mbs.files.store.values import Reader, find_class
from fem_mbs.model.model import Model


class Unavailable:
    """What stand-ins of elements and joints share: all that the file says of them.

    Attributes
    ----------
    kind : str
        The class that they were of.
    group : int
        Those of one group shared a batch.
    outside : list of str
        Classes that would have to be imported.
    """

    kind: str
    group: int
    outside: Sequence[str]
    rotation_dependent: tuple[Node, ...]
    rotation_free: tuple[Node, ...]
    rotation_dependent = rotation_free = ()
    name: str | None

    def __init__(self, **own: Any) -> None:
        vars(self).update(own)

    def batch_key(self) -> Hashable:
        """As they shared batches."""
        return self.group

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"

    __repr__ = __str__


class UnavailableElement(Unavailable, Element):
    """An element of a class that is not at hand."""


class UnavailableConstraint(Unavailable, Constraint):
    """A joint of a class that is not at hand."""

    length: Sequence[bool]

    def coordinate_key(self, name: str) -> Hashable:
        """Each alone."""
        return self, name

    @classmethod
    def coordinate_batch(cls, joints: Sequence[UnavailableConstraint], name: str, number: Numbering) -> CoordinateBatch:
        """Coordinates that nobody can measure."""
        return UnavailableCoordinate(joints, number)


class _Batch:
    """Places, and nothing else."""

    def __init__(self, parts: Sequence[Any], number: Numbering) -> None:
        self.owners, self.nodes = parts, node_rows(parts, number)
        self.own = own_rows(parts, number) if parts[0].internal_variables else None

    def _refuse(self, *asked: Any, **named: Any) -> NoReturn:
        """Of what is asked of a class that is not at hand."""
        part = self.owners[0]
        modules = sorted({name.partition(":")[0] for name in part.outside} - {"__main__"})
        hint = f"Import {' and '.join(modules)} before mbs.load, or give" if modules else "Give"
        raise LawError(
            f"{part} is of a class of the script that made the file, or was given what no file can hold; classes do "
            f"not travel in files. {hint} the model of the script as model"
        )


class UnavailableElements(_Batch, ElementBatch, of=UnavailableElement):
    """Elements whose class is not at hand."""

    force = energy = _Batch._refuse


class UnavailableConstraints(_Batch, ConstraintBatch, of=UnavailableConstraint):
    """Joints whose class is not at hand."""

    evaluate = _Batch._refuse

    def __init__(self, joints: Sequence[UnavailableConstraint], number: Numbering) -> None:
        super().__init__(joints, number)
        self.cell = np.repeat(np.arange(len(joints)), [len(joint.equations) for joint in joints])
        self.length = np.concatenate([np.asarray(joint.length, np.bool_) for joint in joints])


class UnavailableCoordinate(_Batch, CoordinateBatch):
    """A coordinate of a joint whose class is not at hand."""

    measure = _Batch._refuse


def rebuild(text: dict[str, Any], functions: list[RecordedFunction], whole: bool = True) -> Model:
    """The model of a description, with laws of the script made again if ``whole``, else by their samples.

    Raises
    ------
    FemMbsError
        If there is none.
    """
    return _Builder(text, functions, whole).model


class _Builder:
    """Makes a model: parts that others are built on first."""

    def __init__(self, text: dict[str, Any], functions: list[RecordedFunction], whole: bool) -> None:
        self._parts: list[dict[str, Any]] = text["parts"]
        self._made: dict[int, Any] = {}
        self._functions = functions
        self._reader = reader = Reader(self._node, self._part, self._function, whole)
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
        x, R, v = (self._reader.value(text[name]) for name in ("positions", "rotations", "velocities"))
        names, groups = text["names"], text["groups"]
        plain = (R == np.eye(3)).all(axis=(1, 2)) & ~v.any(axis=1) & (np.array(groups) == self.model.group)
        ends = np.flatnonzero(np.diff(plain, prepend=~plain[:1], append=~plain[-1:]))
        for first, last in pairwise(ends.tolist()):
            rows = range(max(first, 1), last)  # the ground is there
            if plain[first]:
                self.model.add_nodes(x[rows], [names[k] for k in rows])
                continue
            for k in rows:
                node = self.model.add_node(x[k], R[k], v[k, :3], v[k, 3:], group=groups[k], name=names[k])
                vars(node)["rotation"] = _read_only(R[k])  # not freed of rounding again

    def _move(self, moved: list[Any], stage: int | None) -> list[Any]:
        """Make the moves before a stage; returns those after it."""
        for cut, k, x, R in sorted(moved, key=lambda own: own[0]):
            if stage is None or cut < stage:
                self._node(k).place(x, R)
        return [] if stage is None else [own for own in moved if own[0] >= stage]

    def _node(self, name: str) -> Node:
        return check_node(self.model[name], "it has a node that")

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
        own = {name: self._reader.value(value) for name, value in part["unavailable"].items()}
        kind = UnavailableConstraint if "equations" in own else UnavailableElement
        return kind(**own, outside=part.get("outside", ()))


def _call(own: dict[str, Any]) -> dict[str, Any]:
    return {name: own[name] for name in ("class", "arguments", "named") if name in own}


def _number(k: Any, count: int, what: str) -> int:
    if not isinstance(k, int) or not 0 <= k < count:
        raise ModelError(f"it speaks of {what} {k}, and has {count}")
    return k


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array
