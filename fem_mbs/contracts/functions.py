"""Functions of time that users give for drives and loads: values, derivatives, jumps, or an error that names the owner.

Loads, drives and springs take any function. What it brings along of the protocols below, as methods of a class or as
attributes that were given to a plain function (``law.jumps = [0.1]``), is used; the rest follows from differences. Laws
of time that derive from :class:`~fem_mbs.contracts.time_law.TimeLaw` have derivatives, and ``jumps`` if they define
them.

Derivatives that a function does not have itself are one-sided differences of six values, back in time where there is
any, over ever shorter steps, extrapolated (Ridders, *Accurate computation of F'(x) and F'(x)F''(x)*, Advances in
Engineering Software 4, 1982): the entry of the table is taken that agrees best with its neighbours. They begin with a
hundredth of the time of a run, or of 1 s where none is under way, and up to 1e6 rad in that time are resolved. Steps
have no common measure, lest a vibration looks as if it stood still. Plain numbers are several times faster here than
arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, inf, log, nextafter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts.arguments import LARGEST, real, shown
from fem_mbs.errors import FemMbsError, LawError, ModelError


@runtime_checkable
class Differentiable(Protocol):
    """A function of time with its derivatives, in the units of its value per s and s^2, of the shape of its value."""

    velocity: Callable[[float], Any]
    acceleration: Callable[[float], Any]


@runtime_checkable
class Jumping(Protocol):
    """A function of time that jumps, or whose slope does, at known instants in s: steps end there."""

    jumps: Sequence[float]


Slope = Callable[[float, float, float], float]
"""Of the arguments of a force law."""


@runtime_checkable
class ByLength(Protocol):
    """A pull ``law(t, length, speed)`` with its derivative against the length, N/m."""

    by_length: Slope


@runtime_checkable
class BySpeed(Protocol):
    """A pull ``law(t, length, speed)`` with its derivative against the speed, N s/m."""

    by_speed: Slope


@runtime_checkable
class ByCoordinate(Protocol):
    """A force ``law(t, q, q_dot)`` on a joint coordinate with its derivative against the coordinate."""

    by_coordinate: Slope


@runtime_checkable
class ByRate(Protocol):
    """A force ``law(t, q, q_dot)`` on a joint coordinate with its derivative against the rate."""

    by_rate: Slope


@runtime_checkable
class ByVelocity(Protocol):
    """A drag ``law(velocity, s)`` of ``(n, 3)`` velocities, section frame, with its derivatives ``(n, 3, 3)``."""

    by_velocity: Callable[[Array, Array], Array]


def next_jump(law: object, t: float) -> float:
    """The first time after ``t`` at which a law says that it jumps; infinity if it does not."""
    return min((float(own) for own in law.jumps if own > t), default=inf) if isinstance(law, Jumping) else inf


class GivenValues:
    """What owners were given, numbers or functions of time, as one array: ``constant``, but where functions stand."""

    def __init__(self, *shape: int) -> None:
        self.constant = np.zeros(shape)
        self.laws: list[tuple[Any, Any, object, int | None, int | None, Any]] = []
        self._known: tuple[float, Array] | None = None
        """Differences at one instant, for which they are asked several times."""
        self._keeps = True
        """Laws with derivatives of their own may be led by another program, and say another thing at the same time."""

    def put(
        self,
        place: Any,
        value: Any,
        owner: object,
        size: int | None = None,
        rows: int | None = None,
        *,
        spread: Any = None,
    ) -> None:
        """Have a value of an owner stand at a place, as ``spread`` makes it; ``size``, ``rows`` as :func:`evaluate`."""
        spread = np.asarray if spread is None else spread
        if callable(value):
            self._keeps &= not isinstance(value, Differentiable)
            self.laws.append((place, value, owner, size, rows, spread))
        else:
            self.constant[place] = spread(value)

    def at(self, t: float) -> Array:
        """The values at a time."""
        values = self.constant.copy()
        for place, law, owner, size, rows, spread in self.laws:
            values[place] = spread(evaluate(law, t, owner, size, rows))
        return values

    def rates(self, t: float, end: float) -> Array:
        """Their first and second derivatives ``(2, ...)``; functions are not asked after ``end``."""
        if self._known is None or self._known[0] != t or not self._keeps:
            rates = np.zeros((2, *self.constant.shape))
            for place, law, owner, size, _, spread in self.laws:
                for own, value in zip(rates, derivatives(law, t, owner, size, end), strict=True):
                    own[place] = spread(value)
            self._known = t, rates
        return self._known[1]

    def next_jump(self, t: float) -> float:
        """When one of the functions jumps next."""
        return min((next_jump(law, t) for _, law, *_ in self.laws), default=inf)


LONGEST, SHORTEST, RATIO = 0.0137193, 5e-8, 0.3137
"""The longest step, and about the shortest one, against the end of a run; and each next one against that before."""
LEVELS = 24
AGREE = (1e-10, 1e-8)
"""Differences of neighbours in the table, against the derivatives, that are small enough."""
ROUNDING = 1e-15
"""Of values of the function, against the largest."""
DOUBT = 1e-3
"""Errors of two derivatives that differ, against their difference, from which the shorter steps are right."""
FEWEST = 3
"""Steps that have to agree."""


WEIGHTS = [
    [w / 12.0 for w in own]
    for own in ([-27.4, 60.0, -60.0, 40.0, -15.0, 2.4], [45.0, -154.0, 214.0, -156.0, 61.0, -10.0])
]
"""Of values at a place and on one side of it, a step apart, in their first and second derivative."""
LOWEST = (5, 4)
"""Powers of the step in the errors that extrapolation removes first, and so on."""


def unit_of(end: float) -> float:
    """In which steps count of a run: its end, but for a part, lest one that goes on further sees other roundings.

    Where nothing ends, 1 s.
    """
    return RATIO ** ceil(log(end) / log(RATIO)) if 0.0 < end < inf else 1.0


def differences(
    function: Callable[[float], Array], t: float, begin: float, end: float, unit: float = 1.0
) -> tuple[Array, Array]:
    """First and second derivative at ``t`` of a function that is smooth, and known, from ``begin`` to ``end``."""
    here = function(t)
    zero, refusal, used = here.ravel().tolist(), None, -1
    tables = [[DifferenceTable(kind) for _ in zero] for kind in (0, 1)]
    h = LONGEST * unit
    for _ in range(LEVELS):
        # back if possible, lest a result depends on when its run ends
        side = -1 if t - 5.0 * h >= begin else 1 if t + 5.0 * h <= end else 0
        if side:
            if side != used:  # errors of both sides fall in different ways
                tables, used = [[DifferenceTable(kind) for _ in zero] for kind in (0, 1)], side
            try:
                values = [zero, *(function(t + side * k * h).ravel().tolist() for k in range(1, 6))]
            except LawError as error:  # known over a shorter time than was thought
                refusal = error
            else:
                own = list(zip(*values, strict=True))
                settled = [table.add(value, side * h) for row in tables for table, value in zip(row, own, strict=True)]
                if all(settled) or (h < SHORTEST * unit and len(tables[0][0].row) > FEWEST):
                    break
        h *= RATIO
    if refusal is not None and not tables[0][0].row:
        raise refusal
    first, second = (np.array([table.best for table in row]).reshape(here.shape) for row in tables)
    return first, second


class DifferenceTable:
    """Differences of one number for ever shorter steps, extrapolated to none: its derivative of order ``kind + 1``."""

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.row: list[float] = []
        self.best, self.error, self.against = 0.0, inf, 0

    def add(self, values: Sequence[float], h: float) -> bool:
        """Add that of a step, back or ahead; whether the table has settled."""
        weights, scale = WEIGHTS[self.kind], h ** (self.kind + 1)
        row = [sum(w * f for w, f in zip(weights, values, strict=True)) / scale]
        noise = ROUNDING * sum(map(abs, weights)) * max(map(abs, values)) / abs(scale)
        found, error = row[0], inf
        for order, before in enumerate(self.row, LOWEST[self.kind]):
            share = RATIO**order
            row.append((row[-1] - share * before) / (1.0 - share))
            apart = max(abs(row[-1] - row[-2]), abs(row[-1] - before)) + noise
            if apart < error:
                found, error = row[-1], apart
        # two shorter steps tell together whether longer ones saw a fast vibration as a slow one
        sure = any(values) and error + self.error < DOUBT * abs(found - self.best)
        self.against = self.against + 1 if sure else 0
        if not self.row or error < self.error or self.against == 2:
            self.best, self.error, self.against = found, error, 0
        self.row = row
        return len(row) >= FEWEST and self.error <= max(AGREE[self.kind] * abs(self.best), 4.0 * noise)


def derivatives(
    law: Callable[[float], Any], t: float, owner: object = "law", size: int | None = None, end: float = inf
) -> tuple[Array, Array]:
    """First and second derivative of a law at ``t``; an error names the object that owns it.

    From its methods ``velocity`` and ``acceleration`` if it has them, else from differences, which do not ask it before
    t = 0, after ``end``, or beyond instants at which it says that it jumps.
    """
    try:  # to ask for the protocol takes ten times as long, in every step
        first, second = law.velocity, law.acceleration  # type: ignore[attr-defined]
    except AttributeError:
        jumps: Sequence[float] = law.jumps if isinstance(law, Jumping) else ()
        begin = max((float(own) for own in jumps if own <= t), default=0.0)
        smooth = min(end, nextafter(next_jump(law, t), 0.0))
        return differences(lambda s: evaluate(law, s, owner, size), t, begin, smooth, unit_of(end))
    return evaluate(first, t, owner, size), evaluate(second, t, owner, size)


def returned(what: str, function: Callable[..., Any], *given: Any, kind: type[FemMbsError] = ModelError) -> Any:
    """What a user's function returns; an error of a kind that says ``what`` failed."""
    try:
        return function(*given)
    except FemMbsError:
        raise
    except Exception as error:
        raise kind(f"{what} failed: {error!r}") from error


def evaluate(law: Callable[[float], Any], t: float, owner: object, size: int | None, rows: int | None = None) -> Array:
    """Value of a user's function of time; an error names the object that owns it.

    ``size`` is the expected number of components, None for a single number. With ``rows``, as many such values are
    welcome too.
    """
    try:
        given = law(t)
    except LawError as error:  # of a law that knows what is wrong
        raise LawError(f"{owner}: {error}") from None
    except Exception as error:
        raise LawError(f"{owner}: its function of time failed at t = {t:.6g} s: {error!r}") from error
    if size is None and type(given) is float and abs(given) <= LARGEST:
        return np.asarray(given)
    value = real(given)
    one = () if size is None else (size,)
    expected = (one,) if rows is None else (one, (rows, *one))
    if value is None or value.shape not in expected or not np.abs(value).max(initial=0.0) <= LARGEST:
        wanted = "one finite number" if size is None else f"{size} finite numbers"
        wanted += "" if rows is None else f", or {rows} times as many"
        received = shown(given) if value is None else value
        raise LawError(f"{owner}: its function of time must return {wanted}, received {received} at t = {t:.6g} s")
    return value


def answer(
    owner: object,
    what: str,
    law: Callable[..., Any],
    given: Sequence[Any],
    shapes: Sequence[tuple[int, ...]] = ((),),
    *,
    where: Callable[[], str] = str,
    largest: float = float(np.finfo(float).max),
) -> Array:
    """What a user's function of the motion returns: finite numbers of one of ``shapes``, up to the ``largest``.

    An error says whose function it is, ``what`` it is, and ``where`` it was asked.
    """
    try:
        returned = law(*given)
    except Exception as error:
        told = error if isinstance(error, LawError) else repr(error)  # of a law that knows what is wrong
        raise LawError(f"{owner}: {what} failed{where()}: {told}", of_motion=True) from error
    value = real(returned)
    if value is None or value.shape not in shapes or not (np.abs(value) <= largest).all():
        first = shapes[0]
        wanted = f"finite numbers of shape {' or '.join(map(str, shapes))}"
        if len(first) < 2:
            wanted = f"{first[0]} finite numbers" if first not in ((), (1,)) else "one finite number"
        shape = f" of shape {value.shape}" if value is not None and len(first) > 1 else ""
        text = f"{owner}: {what} must return {wanted}, received {shown(returned)}{shape}{where()}"
        raise LawError(text, of_motion=True)
    return value
