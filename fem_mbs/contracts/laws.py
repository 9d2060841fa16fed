"""What functions of a script may bring along: exact derivatives, and instants at which they jump.

Loads, drives and springs take any function. What it has of the below, as methods of a class or as attributes that were
given to a plain function (``law.jumps = [0.1]``), is used; the rest follows from differences. Laws of time that derive
from :class:`~fem_mbs.contracts.time_law.TimeLaw` have derivatives, and ``jumps`` if they define them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from fem_mbs.arrays import Array


@runtime_checkable
class Differentiable(Protocol):
    """A function of time with its derivatives, in the units of its value per s and s^2, of the shape of its value."""

    def velocity(self, t: float) -> Any:
        """First derivative."""
        ...

    def acceleration(self, t: float) -> Any:
        """Second derivative."""
        ...


@runtime_checkable
class Jumping(Protocol):
    """A function of time that jumps, or whose slope does, at known instants in s: steps end there."""

    jumps: Sequence[float]


@runtime_checkable
class ByLength(Protocol):
    """A pull ``law(t, length, speed)`` with its derivative against the length, N/m."""

    def by_length(self, t: float, length: float, speed: float) -> float:
        """The derivative."""
        ...


@runtime_checkable
class BySpeed(Protocol):
    """A pull ``law(t, length, speed)`` with its derivative against the speed, N s/m."""

    def by_speed(self, t: float, length: float, speed: float) -> float:
        """The derivative."""
        ...


@runtime_checkable
class ByCoordinate(Protocol):
    """A force ``law(t, q, q_dot)`` on a joint coordinate with its derivative against the coordinate."""

    def by_coordinate(self, t: float, q: float, q_dot: float) -> float:
        """The derivative."""
        ...


@runtime_checkable
class ByRate(Protocol):
    """A force ``law(t, q, q_dot)`` on a joint coordinate with its derivative against the rate."""

    def by_rate(self, t: float, q: float, q_dot: float) -> float:
        """The derivative."""
        ...


@runtime_checkable
class ByVelocity(Protocol):
    """A drag ``law(velocity, s)`` of ``(n, 3)`` velocities, section frame, with its derivatives ``(n, 3, 3)``."""

    def by_velocity(self, velocity: Array, s: Array) -> Array:
        """The derivatives."""
        ...


OPTIONAL: dict[type, tuple[str, ...]] = {
    Differentiable: ("velocity", "acceleration"),
    Jumping: ("jumps",),
    ByLength: ("by_length",),
    BySpeed: ("by_speed",),
    ByCoordinate: ("by_coordinate",),
    ByRate: ("by_rate",),
    ByVelocity: ("by_velocity",),
}
"""What a function may bring along, and the names of it."""
