"""Nodes, elements and joints by their names; and which names of an object a user may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, TypeAlias, TypeVar

from fem_mbs.contracts.constraint import Constraint
from fem_mbs.contracts.element import Element
from fem_mbs.contracts.node import Node
from fem_mbs.contracts.validate import shown
from fem_mbs.errors import ModelError

Part: TypeAlias = Node | Element | Constraint
Kind = TypeVar("Kind", bound=Part)

CALLED: dict[Any, str] = {
    Node: "a node made by model.add_node",
    Element: "an element that was added to the model",
    Constraint: "a joint that was added to the model",
}


def look_up(parts: Mapping[str, Part], name: str, label: str) -> Part:
    """The part of a name, or a :class:`ModelError` that begins with ``label`` and says which names are near."""
    if name in parts:
        return parts[name]
    near = get_close_matches(name, parts, 3, 0.5)
    hint = f"is it {' or '.join(map(repr, near))}?" if near else f"there are {_some(parts)}"
    raise ModelError(f"{label}: nothing in the model is called {shown(name)}; {hint}")


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


def _some(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + rest
