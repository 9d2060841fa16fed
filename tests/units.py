"""Units of models, on which nothing depends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array


class Units(NamedTuple):
    """How many of the user's units a metre, a kilogram and a second are."""

    m: float = 1.0
    kg: float = 1.0
    s: float = 1.0

    @property
    def N(self) -> float:  # noqa: N802
        """A newton."""
        return self.kg * self.m / self.s**2

    @property
    def g(self) -> Array:
        """What falls accelerates by."""
        return np.array([0.0, 0.0, -9.81 * self.m / self.s**2])

    def of(self, unit: str) -> float:
        """That of a name, as ``N m`` or ``m/s^2``."""
        known = {"m": self.m, "kg": self.kg, "s": self.s, "rad": 1.0, "N": self.N, "J": self.N * self.m}
        return float(eval(unit.replace(" ", "*").replace("^", "**") or "1.0", {}, known))
