"""A law of time with its derivatives, and what laws are put together by: sums, products, delays, vectors.

What is put together keeps exact derivatives, by the rules of sum and product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import ArrayLike
from fem_mbs.contracts.arguments import array, divisor, real, shown
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.public import Arithmetic
from fem_mbs.contracts.signal import Combines
from fem_mbs.errors import MissingMethodError, ModelError


class TimeLaw(Arithmetic):
    """Base of laws of time: a value with its first and second derivative.

    ``law(t)`` is the value, ``law.velocity(t)`` and ``law.acceleration(t)`` are the derivatives, ``t`` in s; of an
    array of times ``(...)`` arrays ``(...)``, or ``(..., 3)``. To write one, define these three, or
    ``derivative(k, t)`` of order ``k`` from 0 to 2 where all have one form; and ``size = 3`` if they return vectors.
    Laws, numbers and vectors of three numbers are put together by ``+``, ``-`` and ``*``, and divided by numbers;
    signals of controllers know how to add a law. ``law.after(2.0)`` begins two seconds later.

    Attributes
    ----------
    size : int or None
        Length of the vectors that it returns, None for single numbers.
    jumps : sequence of float
        Instants in s at which it jumps: steps end there.
    """

    size: int | None = None
    jumps: Sequence[float] = ()
    _last: float = 1e6
    """When it has come to its end, s."""
    _arithmetic = (
        "can be added, subtracted, multiplied, and divided by numbers; any other function of time is given as it is, "
        "as lambda t: np.sin(law(t)) ** 2"
    )

    def __call__(self, t: ArrayLike) -> Any:
        """The value."""
        return self.derivative(0, t) if isinstance(t, float) else _at(self, 0, t)

    def velocity(self, t: ArrayLike) -> Any:
        """First derivative."""
        return self.derivative(1, t) if isinstance(t, float) else _at(self, 1, t)

    def acceleration(self, t: ArrayLike) -> Any:
        """Second derivative."""
        return self.derivative(2, t) if isinstance(t, float) else _at(self, 2, t)

    def derivative(self, k: int, t: float) -> Any:
        """The derivative of order ``k``, 0 for the value."""
        raise MissingMethodError(f"{type(self).__name__} must define {('__call__', 'velocity', 'acceleration')[k]}(t)")

    @checked
    def after(self, delay: float) -> TimeLaw:
        """The same law, ``delay`` seconds later; until then it holds its value at t = 0."""
        return Delayed(self, delay)

    def __add__(self, other: TimeLaw | ArrayLike) -> TimeLaw:
        return NotImplemented if isinstance(other, Combines) else Sum(self, _law(other, f"{self} + other"))

    def __radd__(self, other: ArrayLike) -> TimeLaw:
        return Sum(_law(other, f"other + {self}"), self)

    def __sub__(self, other: TimeLaw | ArrayLike) -> TimeLaw:
        return NotImplemented if isinstance(other, Combines) else Sum(self, -_law(other, f"{self} - other"))

    def __rsub__(self, other: ArrayLike) -> TimeLaw:
        return Sum(_law(other, f"other - {self}"), -self)

    def __mul__(self, other: TimeLaw | ArrayLike) -> TimeLaw:
        return NotImplemented if isinstance(other, Combines) else Product(self, _law(other, f"{self} * other"))

    def __rmul__(self, other: ArrayLike) -> TimeLaw:
        return Product(_law(other, f"other * {self}"), self)

    def __truediv__(self, other: float) -> TimeLaw:
        return Product(self, Constant(1.0 / divisor(other, self)))

    def __neg__(self) -> TimeLaw:
        return Product(Constant(-1.0), self)


def _at(law: TimeLaw, k: int, t: ArrayLike) -> Any:
    """The derivative of order ``k`` at a time that is no float, or at each of an array."""
    times = real(t)
    if times is None:
        raise ModelError(f"{law}: t must be a time in s, or an array of times, received {shown(t)}")
    values = [law.derivative(k, each) for each in times.ravel().tolist()]
    if not times.shape:
        return values[0]
    return np.reshape(values, times.shape if law.size is None else (*times.shape, law.size))


def _of(law: TimeLaw, k: int, t: float) -> Any:
    """The derivative of order ``k`` of a law, however that is written."""
    return (law, law.velocity, law.acceleration)[k](t)


def _still(law: TimeLaw) -> Any:
    """A derivative of a law that does not change."""
    return 0.0 if law.size is None else np.zeros(law.size)


def _number_or_vector(value: Any, label: object) -> Any:
    """One finite number as a float, or three as an array."""
    result = array(value, label, (), (3,), what="a finite number or three")
    return float(result) if result.shape == () else result


def _law(value: Any, label: object) -> TimeLaw:
    """A law, or a constant one of numbers."""
    if isinstance(value, TimeLaw):
        return value
    if callable(value):
        raise ModelError(
            f"{label} must be a law of time, a number or three numbers, received {shown(value)}; derive a class of "
            "TimeLaw for a function of your own, which gives its derivatives too"
        )
    return Constant(_number_or_vector(value, label))


Operand = Annotated[Any, _law]


@checked
class Constant(TimeLaw):
    """A law that does not change.

    Parameters
    ----------
    value : float or (3,)
        Its value.
    """

    def __init__(self, value: Annotated[ArrayLike, _number_or_vector]) -> None:
        self.value = value
        self.size = np.size(value) if np.ndim(value) else None

    def derivative(self, k: int, t: float) -> Any:
        return self.value if k == 0 else _still(self)

    def __repr__(self) -> str:
        return f"Constant({self.value if self.size is None else np.asarray(self.value).tolist()})"


@checked
class Vector(TimeLaw):
    """Three laws as a vector: a force, a displacement, a place.

    Parameters
    ----------
    x, y, z : law of time or float
        The components.
    """

    size = 3

    def __init__(self, x: Operand, y: Operand, z: Operand) -> None:
        self.components = (x, y, z)
        self.jumps = (*x.jumps, *y.jumps, *z.jumps)
        for name, law in zip("xyz", self.components, strict=True):
            if law.size is not None:
                raise ModelError(f"Vector: {name} must be a law of single numbers, received {law}, which is a vector")

    def derivative(self, k: int, t: float) -> Any:
        return np.array([_of(law, k, t) for law in self.components])

    def __repr__(self) -> str:
        return f"Vector{self.components}"


@dataclass(frozen=True, repr=False)
class Sum(TimeLaw):
    """Sum of two laws."""

    first: TimeLaw
    second: TimeLaw

    def __post_init__(self) -> None:
        if self.first.size != self.second.size:
            raise ModelError(f"cannot add a number and a vector: {self.first} and {self.second}")
        object.__setattr__(self, "size", self.first.size)
        object.__setattr__(self, "jumps", (*self.first.jumps, *self.second.jumps))

    def derivative(self, k: int, t: float) -> Any:
        return _of(self.first, k, t) + _of(self.second, k, t)

    def __repr__(self) -> str:
        return f"({self.first} + {self.second})"


@dataclass(frozen=True, repr=False)
class Product(TimeLaw):
    """Product of two laws, one of which may be a vector."""

    first: TimeLaw
    second: TimeLaw

    def __post_init__(self) -> None:
        if None not in (self.first.size, self.second.size):
            raise ModelError(f"cannot multiply two vectors: {self.first} and {self.second}")
        object.__setattr__(self, "size", self.first.size or self.second.size)
        object.__setattr__(self, "jumps", (*self.first.jumps, *self.second.jumps))

    def derivative(self, k: int, t: float) -> Any:
        """By the rule of Leibniz."""
        return sum(comb(k, i) * _of(self.first, k - i, t) * _of(self.second, i, t) for i in range(k + 1))

    def __repr__(self) -> str:
        return f"({self.first} * {self.second})"


@dataclass(frozen=True, repr=False)
class Delayed(TimeLaw):
    """A law that begins later."""

    law: TimeLaw
    delay: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.law.size)
        object.__setattr__(self, "jumps", tuple(own + self.delay for own in self.law.jumps))

    def derivative(self, k: int, t: float) -> Any:
        return _of(self.law, k, max(t - self.delay, 0.0)) if k == 0 or t >= self.delay else _still(self)

    def __repr__(self) -> str:
        return f"{self.law}.after({self.delay})"


DEGREES = 30.0, 45.0, 60.0, 90.0, 120.0, 135.0, 180.0, 270.0, 360.0
"""Angles that are hardly meant in rad."""


def in_degrees(value: Any, what: str) -> str:
    """What to say of an angle, or a law of one, that ends at what looks like degrees."""
    if callable(value):
        try:
            value, what = value(value._last if isinstance(value, TimeLaw) else TimeLaw._last), f"{what}, at its end,"
        except Exception:  # whatever a function of a user raises so late
            return ""
    if not isinstance(value, int | float) or abs(value) not in DEGREES:
        return ""
    return f"{what} is {value:g} rad: is it in degrees? np.radians(...) makes rad of them"
