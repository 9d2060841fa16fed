"""Forces that users give as functions of the time, a length or an angle, and its rate, with their derivatives.

Exact ones if a law has them as attributes; else by a complex step (Squire, Trapp, *Using complex variables to estimate
derivatives of real functions*, SIAM Review 40, 1998) where that agrees with central differences, and by these where it
does not: a law with ``abs``, ``max`` or a table may fail on complex numbers, or return something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import ByCoordinate, ByLength, ByRate, BySpeed, function, real, shown
from fem_mbs.errors import LawError

DIFFERENCE_SHARE = 1e-6
"""Of what is large, the step of differences."""
COMPLEX_STEP = 1e-30
AGREE, ROUNDING = 1e-4, 1e-15
"""Derivatives that differ by less, against them and the value, are the same but for the errors of differences."""

UserLaw = Callable[[float, float, float], float]


class LawKind(NamedTuple):
    """What a law is of: names and units of its second and third argument, and attributes with its derivatives."""

    names: tuple[str, str]
    units: tuple[str, str]
    attributes: tuple[str, str]
    exact: tuple[type, type]
    """Protocols of laws that have these."""

    def where(self, t: float, value: float, rate: float) -> str:
        """The arguments in words."""
        (a, b), (m, s) = self.names, self.units
        return f"t = {t:.6g} s, {a} {value:.6g} {m}, {b} {rate:.6g} {s}"


OF_LENGTH = LawKind(("length", "speed"), ("m", "m/s"), ("by_length", "by_speed"), (ByLength, BySpeed))
OF_TRAVEL = LawKind(("coordinate", "rate"), ("m", "m/s"), ("by_coordinate", "by_rate"), (ByCoordinate, ByRate))
OF_ANGLE = LawKind(("coordinate", "rate"), ("rad", "rad/s"), ("by_coordinate", "by_rate"), (ByCoordinate, ByRate))

PullLaw = Annotated[UserLaw, partial(function, of=" of t, length and speed")]
CoordinateLaw = Annotated[UserLaw, partial(function, of=" of t, coordinate and rate")]


def ask(
    laws: Sequence[UserLaw], owners: Sequence[Any], kinds: Sequence[LawKind], t: float, value: Array, rate: Array
) -> Array:
    """Values of laws and their derivatives against the second and third argument, ``(3, n)``; one law after another."""
    each = zip(laws, owners, kinds, value.tolist(), rate.tolist(), strict=True)
    return np.array([partial_derivatives(law, t, q, v, owner, kind) for law, owner, kind, q, v in each]).T


def partial_derivatives(
    law: UserLaw, t: float, value: float, rate: float, owner: object, kind: LawKind
) -> tuple[float, float, float]:
    """A law, with its derivatives against the second and third argument; an error names the object that owns it."""

    def number(q: float, v: float) -> float:
        return _number(law, t, q, v, owner, kind)

    def derivative(name: str, of: int, step: float) -> float:
        if isinstance(law, kind.exact[of]):
            return _number(getattr(law, name), t, value, rate, owner, kind)
        if of == 0:
            return float(slope(lambda q: number(q, rate), lambda q: law(t, q, rate), value, step))
        return float(slope(lambda v: number(value, v), lambda v: law(t, value, v), rate, step))

    here, size = number(value, rate), abs(value) + (0.0 if kind is OF_LENGTH else 1.0)
    steps = DIFFERENCE_SHARE * size, DIFFERENCE_SHARE * (abs(rate) + size)
    first, second = (
        derivative(name, k, step) for k, (name, step) in enumerate(zip(kind.attributes, steps, strict=True))
    )
    return here, first, second


def slope(law: Callable[[Any], Any], free: Callable[[Any], Any], x: Any, step: float, unit: Any = 1.0) -> Any:
    """Derivative at ``x`` along ``unit``, numbers or arrays, of a law; ``free`` is the same unchecked."""
    ahead, behind = law(x + step * unit), law(x - step * unit)
    difference = (ahead - behind) / (2.0 * step)
    noise = ROUNDING * (abs(ahead) + abs(behind)) / step
    try:
        if isinstance(difference, float):  # several times faster than arrays
            exact = float(free(complex(x, COMPLEX_STEP)).imag) / COMPLEX_STEP
            return exact if abs(exact - difference) <= AGREE * abs(difference) + noise else difference
        exact = np.imag(free(x + 1j * COMPLEX_STEP * unit)) / COMPLEX_STEP
        return np.where(abs(exact - difference) <= AGREE * np.max(abs(difference)) + noise, exact, difference)
    except Exception:  # whatever a user's function makes of complex numbers
        return difference


def _number(law: UserLaw, t: float, value: float, rate: float, owner: object, kind: LawKind) -> float:
    """The finite number that a law returns."""
    try:
        given = law(t, value, rate)
    except Exception as error:
        text = f"{owner}: its law failed at {kind.where(t, value, rate)}: {error!r}"
        raise LawError(text, of_motion=True) from error
    if type(given) is float and abs(given) < np.inf:
        return given
    result = real(given)
    if result is None or result.shape != () or not np.isfinite(result):
        where = kind.where(t, value, rate)
        text = f"{owner}: its law must return one finite number, received {shown(given)} at {where}"
        raise LawError(text, of_motion=True)
    return float(result)
