"""Nodes, elements and joints by their names; and which names of an object a user may use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from fem_mbs.contracts.arguments import shown
from fem_mbs.contracts.constraint import Constraint
from fem_mbs.contracts.element import Element
from fem_mbs.contracts.node import Node
from fem_mbs.errors import ModelError

Part: TypeAlias = Node | Element | Constraint
Kind = TypeVar("Kind", bound=Part)

CALLED: dict[Any, str] = {
    Node: "a node made by model.add_node",
    Element: "an element that was added to the model",
    Constraint: "a joint that was added to the model",
}


def of_kind(part: Any, kind: type[Kind], label: str, hint: str = "") -> Kind:
    """A part, if it is of a kind, or a :class:`ModelError`."""
    if not isinstance(part, kind):
        raise ModelError(f"{label} must be {CALLED[kind]}, or its name, received {shown(part)}{hint}")
    return part


def _rule(kind: type[Part]) -> Callable[[Any, Any], Any]:
    return lambda value, label: value if isinstance(value, str) else of_kind(value, kind, label)


NodeOrName = Annotated[Node | str, _rule(Node)]
ElementOrName = Annotated[Element | str, _rule(Element)]
JointOrName: TypeAlias = Constraint | str

if TYPE_CHECKING:
    NodeLike: TypeAlias = Any
else:
    NodeLike = Node
"""A node of a model or its name, where a constructor takes it: the name is looked up before the constructor runs, which
so gets a node; a type checker lets both pass."""
