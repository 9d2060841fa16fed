"""Elements and joints of a script's own classes, in a model from a file: their names, nodes and unknowns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import LawError
from fem_mbs.model import (
    Constraint,
    ConstraintBatch,
    Coordinate,
    CoordinateBatch,
    Element,
    ElementBatch,
    Energy,
    Motion,
    Node,
    Numbering,
    Unknown,
    node_rows,
    own_rows,
)


class Foreign:
    """What foreign elements and joints share.

    Parameters
    ----------
    kind : str
        The class that they were of.
    group : int
        Those of one group shared a batch.
    """

    def __init__(
        self,
        kind: str,
        group: int,
        nodes: Sequence[Node],
        unknowns: Sequence[Unknown],
        turned: Sequence[Node],
        pinned: Sequence[Node],
    ) -> None:
        self.kind, self.group = kind, group
        self.nodes, self.unknowns = tuple(nodes), tuple(unknowns)
        self._turned, self._pinned = tuple(turned), tuple(pinned)

    @property
    def turned(self) -> tuple[Node, ...]:
        """As it was."""
        return self._turned

    @property
    def pinned(self) -> tuple[Node, ...]:
        """As it was."""
        return self._pinned

    def batch_key(self) -> Hashable:
        """As they shared batches."""
        return self.group


class ForeignElement(Foreign, Element):
    """An element of a class that is not at hand."""

    @classmethod
    def batch(cls, elements: Sequence[ForeignElement], number: Numbering) -> ElementBatch:
        """Elements that shared a batch."""
        return ForeignElements(elements, number)

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"

    __repr__ = __str__


class ForeignConstraint(Foreign, Constraint):
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
    def coordinate_batch(cls, joints: Sequence[ForeignConstraint], name: str, number: Numbering) -> CoordinateBatch:
        """Coordinates that nobody can measure."""
        return ForeignCoordinate(joints, number)

    @classmethod
    def batch(cls, constraints: Sequence[ForeignConstraint], number: Numbering) -> ConstraintBatch:
        """Joints that shared a batch."""
        return ForeignConstraints(constraints, number)

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"

    __repr__ = __str__


def refuse(part: Any) -> NoReturn:
    """What is asked of a class that is not at hand."""
    raise LawError(
        f"{part} is of a class of the script that made the file, or was given what no file can hold; classes do not "
        "travel in files. Give the model of the script as model"
    )


class ForeignElements(ElementBatch):
    """Foreign elements, which have places and nothing else."""

    def __init__(self, elements: Sequence[ForeignElement], number: Numbering) -> None:
        self.owners, self.nodes = elements, node_rows(elements, number)
        self.own = own_rows(elements, number) if elements[0].unknowns else None

    def force(self, motion: Motion, prescribed: Any) -> NoReturn:
        """Not known."""
        refuse(self.owners[0])

    def energy(self, motion: Motion) -> Energy:
        """Not known."""
        refuse(self.owners[0])


class ForeignConstraints(ConstraintBatch):
    """Foreign joints."""

    def __init__(self, joints: Sequence[ForeignConstraint], number: Numbering) -> None:
        self.owners, self.nodes = joints, node_rows(joints, number)
        self.own = own_rows(joints, number) if joints[0].unknowns else None
        self.cell = np.repeat(np.arange(len(joints)), [len(joint.equations) for joint in joints])
        self.length = np.concatenate([np.asarray(joint.length, np.bool_) for joint in joints])

    def evaluate(self, motion: Motion, prescribed: Any) -> NoReturn:
        """Not known."""
        refuse(self.owners[0])


class ForeignCoordinate(CoordinateBatch):
    """A coordinate of a foreign joint."""

    def __init__(self, joints: Sequence[ForeignConstraint], number: Numbering) -> None:
        self._joint, self.nodes = joints[0], node_rows(joints, number)
        self.own = own_rows(joints, number) if joints[0].unknowns else None

    def measure(self, x: Array, R: Array, u: Array) -> NoReturn:
        """Not known."""
        refuse(self._joint)
