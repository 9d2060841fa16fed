"""What is to become small, or large: numbers that follow from what a run says over time, and their derivatives.

A signal is a function of a solution with one number, or as many as there are, at each instant; or the name of a
channel, of a joint (its coordinate), a sensor or a block. Peaks are the smooth means of Kreisselmeier and Steinhauser,
``ln(mean exp(rho y))/rho``, or of powers: larger ``rho`` and ``p`` are closer to the largest value, and the
optimisation gets harder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.arrays import Array
from fem_mbs.contracts import Positive, Public, array, checked, number, real, shown
from fem_mbs.errors import MissingMethodError, ModelError
from fem_mbs.solution.solution import Solution

Signal: TypeAlias = Callable[[Any], Any] | str


class Goal(Public):
    """A number that follows from a signal ``y(t)``; to write one, define ``value`` and ``slope``."""

    signal: Signal

    def value(self, t: Array, y: Array) -> float:
        """The number, of values ``y`` (nt,) or (nt, ...) at the times ``t`` (nt,)."""
        raise MissingMethodError(f"{type(self).__name__} must define value(t, y)")

    def slope(self, t: Array, y: Array) -> Array:
        """Its derivatives against all values, in their shape."""
        raise MissingMethodError(f"{type(self).__name__} must define slope(t, y)")

    def values(self, solution: Solution) -> Array:
        """The signal over a solution, ``(nt, ...)``."""
        y = real(solution.channel(self.signal) if isinstance(self.signal, str) else self.signal(solution))
        if y is None or y.ndim == 0 or len(y) != len(solution.t):
            raise ModelError(
                f"{type(self).__name__}: signal must return one number, or as many, for each of the {len(solution.t)} "
                f"instants of a solution, received {shown(y)}"
            )
        if not np.isfinite(y).all():
            raise ModelError(f"{type(self).__name__}: signal returned numbers that are not finite")
        return y


@checked
@dataclass(frozen=True)
class Final(Goal):
    """The signal at the end of the run; the sum, if it has several numbers."""

    signal: Signal

    def value(self, t: Array, y: Array) -> float:
        return float(np.sum(y[-1]))

    def slope(self, t: Array, y: Array) -> Array:
        result = np.zeros_like(y)
        result[-1] = 1.0
        return result


@checked
@dataclass(frozen=True)
class Integral(Goal):
    """The integral of the signal over time, by the trapezoidal rule; the sum of these, if it has several numbers.

    Values at a jump are those just after it, also in the step that leads there: of signals that jump, as accelerations
    and what a sampled controller holds do, it is of first order in the step. That of places is of second order.
    """

    signal: Signal

    def value(self, t: Array, y: Array) -> float:
        return float(np.sum(_shares(t, y) * y))

    def slope(self, t: Array, y: Array) -> Array:
        return _shares(t, y)


@checked
@dataclass(frozen=True)
class KS(Goal):
    """A smooth peak: ``ln(mean over time of exp(rho y))/rho``, below the largest value by about ``ln(T/width)/rho``."""

    signal: Signal
    rho: Positive

    def value(self, t: Array, y: Array) -> float:
        """The mean, with the largest exponent taken out."""
        return float(y.max() + np.log(self._terms(t, y).sum()) / self.rho)

    def slope(self, t: Array, y: Array) -> Array:
        """Shares of the mean."""
        terms = self._terms(t, y)
        return terms / terms.sum()

    def _terms(self, t: Array, y: Array) -> Array:
        shares = _shares(t, y)
        return shares / shares.sum() * np.exp(self.rho * (y - y.max()))


@checked
@dataclass(frozen=True)
class PNorm(Goal):
    """A smooth largest size: ``(mean over time of |y|^p)^(1/p)``."""

    signal: Signal
    p: Positive

    def value(self, t: Array, y: Array) -> float:
        largest, shares = np.abs(y).max() or 1.0, _shares(t, y)
        mean = np.sum(shares / shares.sum() * np.abs(y / largest) ** self.p)
        return float(largest * mean ** (1.0 / self.p))

    def slope(self, t: Array, y: Array) -> Array:
        norm = self.value(t, y)
        if norm == 0.0:
            raise ModelError("PNorm: the signal is zero at all times, where the norm has no derivative")
        shares = _shares(t, y)
        return shares / shares.sum() * np.sign(y) * (np.abs(y) / norm) ** (self.p - 1.0)


def _series(value: Any, label: object) -> Array:
    result = array(value, label)
    if not result.ndim or not result.size:
        raise ModelError(f"{label} must be a list of numbers, received {shown(value)}")
    return result


def _sigma(value: Any, label: object) -> Array:
    read = real(value)
    several = isinstance(value, list | tuple) if read is None else read.ndim > 0
    result = _series(value, label) if several else np.array(number(value, label))
    if not (result > 0.0).all():
        raise ModelError(f"{label} must be positive, received {shown(value)}")
    return result


@checked
@dataclass(frozen=True)
class Misfit(Goal):
    """Half the sum of squares of ``(signal - data)/sigma`` at measured times, linear between steps.

    Parameters
    ----------
    signal : function or str
    times : (k,)
        Within the run, s.
    data : (k,) or (k, ...)
        What was measured, as the signal gives it.
    sigma : float or array
        Standard deviations of the data, in its shape, one for all, or one for each of several signals.
    """

    signal: Signal
    times: Annotated[Array, _series]
    data: Annotated[Array, _series]
    sigma: Annotated[Array, _sigma] = 1.0  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.times.ndim != 1 or self.data.ndim > 2 or len(self.data) != len(self.times):
            raise ModelError(
                f"Misfit: data must have an entry for each of the {len(self.times)} times, received {shown(self.data)}"
            )
        if self.sigma.shape not in ((), self.data.shape, self.data.shape[1:]):
            raise ModelError(
                f"Misfit: sigma must be a number, or have the shape of data, {self.data.shape}, received "
                f"{shown(self.sigma)}"
            )

    def value(self, t: Array, y: Array) -> float:
        r = self.residuals(t, y)
        return 0.5 * float(np.sum(r * r))

    def slope(self, t: Array, y: Array) -> Array:
        weighted = self.residuals(t, y) / self.sigma
        return np.asarray(self._shares(t).T @ weighted.reshape(len(weighted), -1)).reshape(y.shape)

    def residuals(self, t: Array, y: Array) -> Array:
        """``(signal - data)/sigma`` at the times."""
        between = np.asarray(self._shares(t) @ y.reshape(len(y), -1)).reshape(-1, *y.shape[1:])
        if between.shape != self.data.shape:
            raise ModelError(
                f"Misfit: data has the shape {self.data.shape}, the signal at its times {between.shape}; expected is "
                "the same"
            )
        return (between - self.data) / self.sigma

    def _shares(self, t: Array) -> csr_array:
        """Of the steps at the times, ``(k, nt)``."""
        times = np.asarray(self.times)
        slack = 1e-9 * (t[-1] - t[0])
        if times.min() < t[0] - slack or times.max() > t[-1] + slack:
            raise ModelError(
                f"Misfit: times must be a list of instants within the run, {t[0]:g} s to {t[-1]:g} s, received "
                f"{shown(self.times)}"
            )
        first = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
        share, rows = (times - t[first]) / (t[first + 1] - t[first]), np.tile(np.arange(len(times)), 2)
        values, columns = np.concatenate([1.0 - share, share]), np.concatenate([first, first + 1])
        return csr_array((values, (rows, columns)), (len(times), len(t)))


def _shares(t: Array, y: Array) -> Array:
    """The time that each value stands for, by the trapezoidal rule, in the shape of ``y``."""
    steps = np.diff(t)
    shares = 0.5 * (np.append(steps, 0.0) + np.append(0.0, steps))
    return np.broadcast_to(shares.reshape((-1,) + (1,) * (y.ndim - 1)), y.shape)
