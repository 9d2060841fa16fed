"""Steps whose length follows the local error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fem_mbs.errors import LawError, ModelError
from fem_mbs.integrate.march import LOG, Accepted, March
from fem_mbs.model import number
from fem_mbs.solve import FAILURES

SHARE = 0.01
"""Allowed defect of a step over ``tolerance^(3/2)``."""
ORDER = 3
"""The defect grows with this power of the step."""
AIM, SAFETY = 0.7, 0.9
"""The defect that the controller aims at, over the allowed one; what a rejected step is shortened by beyond that."""
DEADBAND = 1.2
"""The step stays for smaller factors: every change costs an evaluation and disturbs stiff parts a little."""
SHRINK, GROW = 0.2, 2.0
AFTER_FAILURE = 0.25
TINY = 1e-6


@dataclass(frozen=True)
class VariableStep:
    """Steps of the length that a tolerance asks for, given to :func:`simulate` in place of a fixed step.

    The defect that Newmark's formulas leave in a step is kept below ``0.01 tolerance^(3/2)``. As it grows with the
    third power of the step and errors with the second, errors of the result are proportional to the tolerance; the
    factor depends on the model and on the length of the run.

    Parameters
    ----------
    tolerance : float
        Accuracy to ask for: positions over the extent of the model, rotations in rad.
    first : float, optional
        First step in s; a thousandth of the run by default.
    largest : float, optional
        No step is longer, in s; a hundredth of the run by default. Loads that last shorter can be missed.
    smallest : float, optional
        Steps of this length in s are accepted whatever their defect; ``1e-7`` of the run by default.
    """

    tolerance: float = 1e-2
    first: float | None = None
    largest: float | None = None
    smallest: float | None = None

    def __post_init__(self) -> None:
        for name in ("tolerance", "first", "largest", "smallest"):
            if name == "tolerance" or getattr(self, name) is not None:
                number(getattr(self, name), f"VariableStep: {name}", positive=True)

    @property
    def allowed(self) -> float:
        """Largest defect of a step."""
        return float(SHARE * self.tolerance**1.5)

    def limits(self, time: float) -> tuple[float, float, float]:
        """Smallest, first and largest step of a run that takes a time."""
        smallest = 1e-7 * time if self.smallest is None else self.smallest
        largest = min(max(1e-2 * time, self.first or 0.0) if self.largest is None else self.largest, time)
        first = min(1e-3 * time, largest) if self.first is None else self.first
        if not smallest <= first <= largest:
            raise ModelError(
                f"VariableStep: smallest <= first <= largest is expected, received {smallest:g}, {first:g} and "
                f"{largest:g} s for a run of {time:g} s"
            )
        return smallest, first, largest


def variable_steps(march: March, t_end: float, control: VariableStep) -> Iterator[Accepted]:
    """Step to the end of the run; a step with too large a defect, or without a solution, is repeated."""
    time = t_end - march.state.t
    smallest, h, largest = control.limits(time)
    weight = march.system.increment_weight
    # what Newton's method leaves after a correction of the allowed size is far smaller
    newton = march.method.newton
    newton = replace(newton, correction_tolerance=max(newton.correction_tolerance, control.allowed))
    march.method = replace(march.method, newton=newton)
    before, excess = 1.0, 0
    while (rest := t_end - march.state.t) > 1e-9 * time:
        own = _cut(h, rest)
        shortest = own <= 1.001 * smallest
        try:
            state, report = march.attempt(own)
        except FAILURES as failure:
            if shortest or isinstance(failure, LawError):
                tried = f"; the step was shortened to {own:.3g} s" if shortest else ""
                raise march.give_up(own, failure, tried) from failure.__cause__
            h = max(AFTER_FAILURE * own, smallest)
            continue
        error = max(float(np.abs(march.defect(state, report) * weight).max()) / control.allowed, TINY)
        if error > 1.0 and not shortest:
            march.rejected += 1
            h = max(own * max(SAFETY * error ** (-1.0 / ORDER), SHRINK), smallest)
            continue
        excess += error > 1.0
        ratio = own / march.h if march.steps else 1.0
        if own == rest:
            state.t = t_end
        yield march.accept(state, report)
        # the digital filter H211b with b = 4 of Soederlind (2003): smooth sequences of steps
        factor = (AIM**2 / (error * before)) ** (0.25 / ORDER) * ratio**-0.25
        before = error
        if not 1.0 / DEADBAND < factor < DEADBAND:
            h = min(max(own * min(max(factor, SHRINK), GROW), smallest), largest)
    if excess:
        LOG.warning("%d steps of the smallest length, %g s, have errors above the tolerance", excess, smallest)


def _cut(h: float, rest: float) -> float:
    """The step within the rest of the run, without a tiny one at the end."""
    if rest <= 1.0001 * h:
        return rest
    return min(h, 0.5 * rest)
