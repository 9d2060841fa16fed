"""What tab completion shows: what a user may use, and nothing that a class needs for itself."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple


class ConstructorArguments(NamedTuple):
    """What an object was made of: from this it can be made again, in another process."""

    arguments: tuple[Any, ...]
    named: dict[str, Any]
    placed: int
    """How many nodes of any model had been moved by then: an object is built on nodes where they were."""


class Public:
    """Base of what users hold in their hands: ``dir`` leaves out what begins with "_" and what is ``_internal``.

    A class whose constructor is :func:`~fem_mbs.contracts.checked.checked` keeps what it was made of, as
    ``constructor_arguments``, unless it says ``remembers = False``.
    """

    __slots__ = ()
    _internal: ClassVar[tuple[str, ...]] = ("called", "constructor_arguments", "remembers")
    """Names that whoever writes a class of this kind needs, and no one who uses it."""
    called: ClassVar[str] = ""
    """What messages call an object of the class; "a" and the name of the class if it is empty."""
    remembers: ClassVar[bool] = True
    constructor_arguments: ConstructorArguments | None = None

    def __dir__(self) -> list[str]:
        hidden = {name for kind in type(self).__mro__ for name in vars(kind).get("_internal", ())}
        return [name for name in object.__dir__(self) if not name.startswith("_") and name not in hidden]


def attributes_of(value: object) -> dict[str, Any]:
    """The attributes of an object; none of those that Python keeps without a dict, such as numbers."""
    return vars(value) if type(value).__dictoffset__ else {}


def public(module: dict[str, Any], *more: str) -> Any:
    """A ``__dir__`` of a module: its ``__all__`` and ``more``."""
    return lambda: sorted([*module["__all__"], *more])
