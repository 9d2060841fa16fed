"""A value that comes from outside while a run goes on."""

from __future__ import annotations

from bisect import bisect_right

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
        self._t: list[float] = []
        self._x: list[float] = []

    def lead(self, begin: float, duration: float) -> None:
        """Go from where it is at the time ``begin`` to the value that is set, in ``duration`` seconds."""
        self._x += [self.value] if self._t else [self.value, self.value]
        self._t += [begin + duration] if self._t else [begin, begin + duration]

    def __call__(self, t: float) -> float:
        if not self._t:
            return self.value
        return self._x[k := self._before(t)] + self.velocity(t) * (t - self._t[k]) if t > self._t[0] else self._x[0]

    def velocity(self, t: float) -> float:
        if not self._t:
            return 0.0
        k = self._before(t)
        return (self._x[k + 1] - self._x[k]) / (self._t[k + 1] - self._t[k])

    def acceleration(self, t: float) -> float:
        return 0.0

    def _before(self, t: float) -> int:
        """The way that it is on: the first one before, the last one after all others."""
        return min(max(bisect_right(self._t, t) - 1, 0), len(self._t) - 2)

    def __repr__(self) -> str:
        return f"ExternalInput({self.value})"
