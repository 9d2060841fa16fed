"""The law of drag of slender bodies.

``1/2 density width (coefficient |v_n| v_n + tangential |v_t| v_t)`` (Morison, O'Brien, Johnson, Schaaf, *Petroleum
Transactions* 189, 1950; docs/forces.md, "Drag").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.model import NotNegative, Positive, checked, number

Width = float | Callable[[Array], ArrayLike]


def width(value: Any, label: object) -> Any:
    """A positive number, or a function."""
    return value if callable(value) else number(value, label, positive=True)


@checked
@dataclass(frozen=True)
class CrossFlow:
    """Drag that grows with the square of the velocity across a section, and of that along it.

    The cross-flow principle for slender bodies, the drag of Morison's equation.

    Parameters
    ----------
    density : float
        Of the fluid, kg/m^3.
    width : float or function of s
        Of the section across the flow, its diameter, in m; a function takes shares of the arc length of the beam from 0
        to 1, (n,), and returns as many.
    coefficient, tangential : float
        Drag coefficients of the flow across and along the beam, both with the width as their length.
    """

    density: Positive
    width: Annotated[Width, width]
    coefficient: NotNegative = 1.0
    tangential: NotNegative = 0.0

    def __call__(self, velocity: Array, s: Array) -> Array:
        """Force per length ``(n, 3)`` in N/m of velocities ``(n, 3)`` against the section, both in its frame."""
        factors, speeds = self._factors(s), self._speeds(velocity)
        return factors * speeds * velocity

    def by_velocity(self, velocity: Array, s: Array) -> Array:
        """Its derivative ``(n, 3, 3)``."""
        factors, speeds = self._factors(s), self._speeds(velocity)
        result = (factors * speeds)[..., None] * np.eye(3)
        across = velocity * (0.0, 1.0, 1.0)
        along = velocity - across
        # v v^T/|v| of both parts; zero where there is no flow
        result += (factors / np.where(speeds > 0.0, speeds, 1.0))[..., None] * (_outer(across) + _outer(along))
        return result

    def _factors(self, s: Array) -> Array:
        size = np.asarray(self.width(s) if callable(self.width) else self.width + 0.0 * s)
        factors: Array = np.array([self.tangential, self.coefficient, self.coefficient])
        result: Array = 0.5 * self.density * size[:, None] * factors
        return result

    def _speeds(self, velocity: Array) -> Array:
        across, along = np.linalg.norm(velocity[:, 1:], axis=-1), np.abs(velocity[:, 0])
        return np.stack([along, across, across], axis=-1)


def _outer(v: Array) -> Array:
    return v[:, :, None] * v[:, None, :]
