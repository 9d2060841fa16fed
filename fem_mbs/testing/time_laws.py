"""The laws of laws of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.contracts import Differentiable, Jumping, TimeLaw, checked, evaluate, name_of, real, shaped
from fem_mbs.errors import FemMbsError
from fem_mbs.testing.differences import ContractError, DoesNotApplyError, LawReport, derivative, hold, laws, near

WHILE = 1e-3
"""Time in s over which derivatives are taken."""
TIMES = (0.21, 0.5, 0.83, 1.7, 3.1)


class TimeLawTrial(NamedTuple):
    """A law and the times at which it is looked at, which are none of its jumps."""

    law: Callable[[float], Any]
    times: Sequence[float]

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
            first = real(self.law(0.0))
        except Exception as error:
            raise ContractError(f"{self.name}: failed at t = 0 s: {error!r}") from error
        return len(first) if first is not None and first.ndim and first.size else None

    def value(self, function: Callable[[float], Any], t: float) -> Array:
        """A value, as elements ask for it."""
        try:
            return evaluate(function, t, self.name, self.size)
        except FemMbsError as error:
            raise ContractError(str(error)) from error


def values_are_finite_and_of_one_shape(trial: TimeLawTrial) -> None:
    """A number, or a vector of ``size``, at each time from 0 on, and the same again."""
    for t in (0.0, *trial.times):
        first, second = (trial.value(trial.law, t) for _ in range(2))
        near(f"{trial.name} at t = {t:g} s, asked twice", second, first, 0.0)


def derivatives_are_those_of_the_value(trial: TimeLawTrial) -> None:
    """``velocity`` and ``acceleration`` against differences."""
    law = trial.law
    if not isinstance(law, Differentiable):
        raise DoesNotApplyError("it has no derivatives, which follow from differences")
    for name, function, of in (("velocity", law.velocity, law), ("acceleration", law.acceleration, law.velocity)):
        for t in trial.times:
            expected = derivative(lambda s, of=of, t=t: trial.value(of, t + s), WHILE)
            size = 1e-5 * (np.abs(expected).max() + np.abs(trial.value(of, t)).max()) + 1e-9
            what = f"{trial.name}: {name} at t = {t:g} s, against differences"
            near(what, trial.value(function, t), expected, float(size))


def jumps_are_instants(trial: TimeLawTrial) -> None:
    """``jumps`` are finite times."""
    law = trial.law
    if not isinstance(law, Jumping) or not len(law.jumps):
        raise DoesNotApplyError("it says of no instant that it jumps there")
    if not np.isfinite(np.asarray(law.jumps, dtype=float)).all():
        raise ContractError(f"{trial.name}: jumps must be finite times in s, received {law.jumps}")


TIME_LAWS = laws(values_are_finite_and_of_one_shape, derivatives_are_those_of_the_value, jumps_are_instants)
"""All laws by name."""


@checked
def check_law(law: Callable[[float], Any], times: Annotated[ArrayLike, shaped((None,))] = TIMES) -> LawReport:
    """Hold a law of time to the laws of its contract; says which of them were checked.

    Parameters
    ----------
    law : TimeLaw or function of t
        The law.
    times : sequence of float
        In s; the law is to be smooth there.

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
    return hold(name_of(law), TIME_LAWS, TimeLawTrial(law, np.asarray(times).tolist()))
