"""What elements and constraints share: nodes, internal variables, and that all of one kind compute as one batch."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts.node import Node
from fem_mbs.contracts.numbering import InternalVariable, Numbering, node_rows, own_rows
from fem_mbs.contracts.picture import Picture, Placed
from fem_mbs.contracts.public import (
    MADE,
    ConstructorArguments,
    ModelPart,
    as_of,
    changes_since,
    moments,
    same,
    snapshot,
)
from fem_mbs.errors import ModelError

KEPT_UP = "_kept_up"
"""Where a part keeps the moment up to which it has followed those that it is built on."""


class Component(ModelPart):
    """Base of :class:`~fem_mbs.contracts.element.Element` and :class:`~fem_mbs.contracts.constraint.Constraint`.

    What its constructor takes may be set once it is made: all that follows from it changes along, and what the
    constructor refuses is refused.
    """

    _internal: ClassVar[tuple[str, ...]] = (
        "batch_key",
        "batch",
        "picture",
        "shapes",
        "rotation_dependent",
        "rotation_free",
        "internal_variables",
        "keep_up",
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

    def _made_with(self, name: str, value: Any) -> dict[str, Any]:
        made = self.constructor_arguments
        if made is None or name.startswith("_"):
            return {}
        bound = inspect.signature(type(self).__init__).bind(self, *made.arguments, **made.named)
        if name not in bound.signature.parameters:
            if name in vars(self):
                taken = ", ".join(list(bound.signature.parameters)[1:])
                raise ModelError(
                    f"{self}: {name} cannot be set, as it follows from what the constructor takes, which can: {taken}"
                )
            return {}
        bound.arguments[name] = snapshot(value)
        return self._made_again(ConstructorArguments(bound.args[1:], bound.kwargs, made.moment))

    def _made_again(self, made: ConstructorArguments) -> dict[str, Any]:
        """What is otherwise if it is made of other arguments, on nodes where these were."""
        with as_of(frozenset(map(id, self.nodes)), made.moment):
            again = type(self)(*made.arguments, **made.named)
        own = vars(self)
        follows = {name: value for name, value in vars(again).items() if not same(value, own.get(name, self))}
        return {name: value for name, value in {**follows, MADE: made}.items() if name != "name"}

    def keep_up(self) -> None:
        """Be made again if a part on which it is built was changed since."""
        made, kept_up = self.constructor_arguments, vars(self).get(KEPT_UP, -1)
        if made is None or kept_up > moments.now:
            return
        bases = list(_components((*made.arguments, *made.named.values())))
        for base in bases:
            base.keep_up()
        if any(changes_since(base, max(kept_up, made.moment)) for base in bases):
            self._change(self._made_again(made))
        vars(self)[KEPT_UP] = moments.now + 1

    def __str__(self) -> str:
        kind = type(self).__name__
        return f"{kind} '{self.name}'" if self.name else f"{kind} on {', '.join(map(str, self.nodes[:2]))}"

    __repr__ = __str__


def _components(values: Iterable[Any]) -> Iterator[Component]:
    for value in values:
        if isinstance(value, Component):
            yield value
        elif type(value) in (list, tuple):
            yield from _components(value)


def keep_up(parts: Iterable[Component]) -> None:
    """Before a model is frozen: parts that are built on others, such as friction in a joint, are as these are now."""
    with moments.lock:
        if any(isinstance(part, Component) for part in moments.changed):
            for part in parts:
                part.keep_up()


class Batch:
    """All components of one kind as arrays: ``class MyBatch(ElementBatch, of=MyElement)`` computes for all of these.

    Several classes may share a batch, ``of=(MyElement, Another)``. Where the batch depends on the components, write
    their ``batch(components, number)`` instead of ``of``. The constructor takes ``nodes`` and ``own`` from components
    that have as many each; where a cell is something else, set them.
    """

    nodes: IntArray
    own: IntArray | None = None

    def __init__(self, components: Sequence[Any], number: Numbering) -> None:
        self.owners = components
        self.nodes = node_rows(components, number)
        own = own_rows(components, number)
        self.own = own if own.size else None

    def __init_subclass__(cls, of: type[Component] | tuple[type[Component], ...] = (), **options: Any) -> None:
        super().__init_subclass__(**options)
        batch = classmethod(lambda _, components, number: cls(components, number))
        for kind in of if isinstance(of, tuple) else (of,):
            kind.batch = batch  # type: ignore
