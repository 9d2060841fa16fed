"""What tab completion shows: what a user may use, and nothing that a class needs for itself."""

from __future__ import annotations

from typing import Any, ClassVar


class Public:
    """Base of what users hold in their hands: ``dir`` leaves out what begins with "_" and what is ``_internal``."""

    __slots__ = ()
    _internal: ClassVar[tuple[str, ...]] = ("made",)
    """Names that whoever writes a class of this kind needs, and no one who uses it."""

    def __dir__(self) -> list[str]:
        hidden = {name for kind in type(self).__mro__ for name in vars(kind).get("_internal", ())}
        return [name for name in object.__dir__(self) if not name.startswith("_") and name not in hidden]


def public(module: dict[str, Any], *more: str) -> Any:
    """A ``__dir__`` of a module: its ``__all__`` and ``more``."""
    return lambda: sorted([*module["__all__"], *more])
