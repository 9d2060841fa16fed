"""What elements and constraints share: nodes, internal variables, and that all of one kind compute as one batch."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts.internal_variable import InternalVariable
from fem_mbs.contracts.node import Node
from fem_mbs.contracts.numbering import Numbering
from fem_mbs.contracts.picture import Picture, Placed
from fem_mbs.contracts.public import ModelPart


class Component(ModelPart):
    """Base of :class:`~fem_mbs.contracts.element.Element` and :class:`~fem_mbs.contracts.constraint.Constraint`."""

    _internal: ClassVar[tuple[str, ...]] = (
        "batch_key",
        "batch",
        "picture",
        "shapes",
        "rotation_dependent",
        "rotation_free",
        "internal_variables",
    )
    name: str | None = None
    nodes: tuple[Node, ...] = ()
    internal_variables: tuple[InternalVariable, ...] = ()
    offset: Array = np.zeros(3)
    """An element's point on its one node, a joint's on its last one, in the frame of that node."""

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Nodes whose rotation it acts on or depends on."""
        return self.nodes

    @property
    def rotation_free(self) -> tuple[Node, ...]:
        """Nodes that turn with nothing as far as it is concerned; held there if nothing else acts on their rotation."""
        return ()

    def batch_key(self) -> Hashable:
        """Those of one class with equal keys share a batch."""
        return None

    @classmethod
    def batch(cls, components: Sequence[Any], number: Numbering) -> Any:
        """One batch of all ``components``, which have equal keys."""
        raise NotImplementedError(
            f"{cls.__name__} must define batch(components, number), or a batch be of={cls.__name__}"
        )

    def picture(self, number: Numbering, stations: int) -> Picture | None:
        """What is drawn of it, in at least ``stations`` points along each of its lines; None for nothing."""
        return None

    def shapes(self, size: float) -> Sequence[Placed]:
        """What it looks like, fixed to nodes; ``size`` in m is right for symbols in this model."""
        return ()

    def __str__(self) -> str:
        kind = type(self).__name__
        return f"{kind} '{self.name}'" if self.name else f"{kind} on {', '.join(map(str, self.nodes[:2]))}"

    __repr__ = __str__


class Batch:
    """All components of one kind as arrays: ``class MyBatch(ElementBatch, of=MyElement)`` computes for all of these.

    Where the batch depends on the components, write their ``batch(components, number)`` instead of ``of``.
    """

    nodes: IntArray
    own: IntArray | None = None

    def __init_subclass__(cls, of: type[Component] | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if of is not None:
            of.batch = classmethod(lambda _, components, number: cls(components, number))  # type: ignore
