"""The laws of laws of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Differentiable, Jumping, TimeLaw, checked, evaluate, real
from fem_mbs.contracts.arguments import name_of, shaped
from fem_mbs.elements.laws.table import Table
from fem_mbs.errors import FemMbsError
from fem_mbs.testing.differences import ContractError, DoesNotApplyError, LawReport, derivative, hold, laws, near

WHILE = 1e-3
"""Time in s over which derivatives are taken."""
TIMES = np.array([0.21, 0.5, 0.83, 1.7, 3.1])
SHARES = np.array([0.21, 0.5, 0.83])
"""Of the times of a table, where it is asked."""
ONE_SIDED = (-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25)
"""Weights of a derivative of fourth order, from a place and those after it."""


class TimeLawTrial(NamedTuple):
    """A law and the times at which it is looked at, which are none of its jumps; the first is that where it begins."""

    law: Callable[[float], Any]
    times: Sequence[float]
    step: float = WHILE
    """Over which differences are taken."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return name_of(self.law)

    @property
    def size(self) -> int | None:
        """Length of its vectors."""
        if isinstance(self.law, TimeLaw):
            return self.law.size
        try:
            first = real(self.law(self.times[0]))
        except Exception as error:
            raise ContractError(f"failed at t = {self.times[0]:g} s: {error!r}") from error
        return len(first) if first is not None and first.ndim and first.size else None

    def value(self, function: Callable[[float], Any], t: float) -> Array:
        """A value, as elements ask for it."""
        try:
            return evaluate(function, t, self.name, self.size)
        except FemMbsError as error:
            raise ContractError(str(error)) from error


def values_are_finite_and_of_one_shape(trial: TimeLawTrial) -> None:
    """A number, or a vector of ``size``, at each time, and the same again."""
    for t in trial.times:
        first, second = (trial.value(trial.law, t) for _ in range(2))
        near(f"at t = {t:g} s, asked twice", second, first, 0.0)


def derivatives_are_those_of_the_value(trial: TimeLawTrial) -> None:
    """``velocity`` and ``acceleration`` against differences."""
    law = trial.law
    if not isinstance(law, Differentiable):
        raise DoesNotApplyError("it has no derivatives, which follow from differences")
    for name, function, of in (("velocity", law.velocity, law), ("acceleration", law.acceleration, law.velocity)):
        rates = [_rates(partial(trial.value, of), t, trial.step) for t in trial.times[1:]]
        values = [trial.value(function, t) for t in trial.times[1:]]
        size = 1e-5 * max(np.abs([value, *own]).max() for value, own in zip(values, rates, strict=True)) + 1e-9
        for t, value, (expected, *sides) in zip(trial.times[1:], values, rates, strict=True):
            if all(np.abs(value - own).max() > size for own in sides):
                near(f"{name} at t = {t:g} s, against differences", value, expected, float(size))


def _rates(function: Callable[[float], Array], t: float, step: float) -> list[Array]:
    """The derivative at a time from both sides, and from each alone, which a law may return where it has a corner."""
    sides = [
        sum(weight * function(t + k * way * step) for k, weight in enumerate(ONE_SIDED)) / (way * step)
        for way in (1.0, -1.0)
    ]
    return [derivative(lambda s: function(t + s), step), *map(np.asarray, sides)]


def jumps_are_instants(trial: TimeLawTrial) -> None:
    """``jumps`` are finite times."""
    law = trial.law
    if not isinstance(law, Jumping) or not len(law.jumps):
        raise DoesNotApplyError("it says of no instant that it jumps there")
    if not np.isfinite(np.asarray(law.jumps, dtype=float)).all():
        raise ContractError(f"jumps must be finite times in s, received {law.jumps}")


TIME_LAWS = laws(values_are_finite_and_of_one_shape, derivatives_are_those_of_the_value, jumps_are_instants)
"""All laws by name."""


@checked
def check_law(law: Callable[[float], Any], times: Annotated[Any, shaped((None,))] | None = None) -> LawReport:
    """Hold a law of time to the laws of its contract; says which of them were checked.

    Parameters
    ----------
    law : TimeLaw or function of t
        The law.
    times : sequence of float, optional
        In s; by default some from 0 to 3 s, those of a table from its first to its last time.

    Raises
    ------
    ContractError
        If a law does not hold; says which, and how.

    Examples
    --------
    >>> from fem_mbs.elements import Harmonic
    >>> from fem_mbs.testing import check_law
    >>> print(check_law(Harmonic(2.0, frequency=3.0)))
    Harmonic: 2 laws hold
      values_are_finite_and_of_one_shape: checked
      derivatives_are_those_of_the_value: checked
      jumps_are_instants: does not apply, it says of no instant that it jumps there
    """
    first, last = (law.times[0], law.times[-1]) if isinstance(law, Table) else (0.0, np.inf)
    inside = TIMES if last == np.inf else first + SHARES * (last - first)
    given = np.append(first, inside) if times is None else np.append(times[0], times)
    trial = TimeLawTrial(law, given.tolist(), min(WHILE, 1e-2 * float(last - first)))
    return hold(name_of(law), TIME_LAWS, trial)
