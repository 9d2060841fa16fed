"""A value that comes from outside while a run goes on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fem_mbs.contracts import TimeLaw, checked


@checked
class ExternalInput(TimeLaw):
    """A law of time whose value another program sets, an input of :func:`mbs.export_fmu` or :class:`mbs.CoSimulation`.

    It goes to a new value linearly, over the communication step that begins when the value is set: without a jump, so
    that motors have a velocity to follow, and late by that step. In runs of :func:`mbs.simulate` it does not change.

    Parameters
    ----------
    value : float
        What it begins with. The attribute ``value`` sets a new one.
    """

    def __init__(self, value: float = 0.0) -> None:
        self.value = value
        self._t: Sequence[float] = ()
        self._x: Sequence[float] = ()

    @contextmanager
    def leading(self, t: Sequence[float], x: Sequence[float]) -> Iterator[None]:
        """Within it, the law goes linearly through values ``x`` at the times ``t``; elsewhere it is ``value``."""
        self._t, self._x = t, x
        try:
            yield
        finally:
            self._t = self._x = ()

    def __call__(self, t: float) -> float:
        if not self._t:
            return self.value
        return self._x[k := self._before(t)] + self.velocity(t) * (t - self._t[k])

    def velocity(self, t: float) -> float:
        if not self._t:
            return 0.0
        k = self._before(t)
        return (self._x[k + 1] - self._x[k]) / (self._t[k + 1] - self._t[k])

    def _before(self, t: float) -> int:
        """The way that it is on: the first one before, the last one after all others."""
        return min(max(bisect_right(self._t, t) - 1, 0), len(self._t) - 2)

    def acceleration(self, t: float) -> float:
        return 0.0

    def __repr__(self) -> str:
        return f"ExternalInput({self.value})"
