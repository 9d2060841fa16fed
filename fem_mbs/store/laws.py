"""Laws of time of a script's own classes."""

from __future__ import annotations

from typing import Any

from fem_mbs.elements.laws import TimeLaw
from fem_mbs.store.functions import Asked


class AskedLaw(Asked, TimeLaw):
    """A law of time of a class of the script."""

    def __init__(self, name: str, size: int | None, **options: Any) -> None:
        super().__init__(name, **options)
        self.size = size

    def velocity(self, t: float) -> Any:
        """First derivative."""
        return self._ask("velocity", (t,))

    def acceleration(self, t: float) -> Any:
        """Second derivative."""
        return self._ask("acceleration", (t,))
