"""What is to become small, or large: numbers that follow from what a run says over time, and their derivatives.

A signal is a function of a solution with one number, or as many as there are, at each instant; or the name of a
channel, of a joint (its coordinate), a sensor or a block. Peaks are the smooth means of Kreisselmeier and Steinhauser,
``ln(mean exp(rho y))/rho``, or of powers: larger ``rho`` and ``p`` are closer to the largest value, and the
optimisation gets harder.

How a goal follows from the states at some instants, whatever its signal is: states that are displaced in one component
each stand beside each other in a solution, as if they were instants, and the signal is asked once. Components on which
it depends are found node by node, and a displacement of all of them tells whether there are more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import ARRAYS, Constraint, Positive, Public, array, checked, number, real, shown
from fem_mbs.derivatives.parameters import AGREED, FINER, Variation, extrapolated, refined
from fem_mbs.derivatives.step import displaced
from fem_mbs.errors import LOG, MissingMethodError, ModelError
from fem_mbs.solution.history import History, Outcome
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import principal
from fem_mbs.system.system import System

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
    sigma : float or array, optional
        Standard deviations of the data, in its shape, one for all, or one for each of several signals. Without it they
        are not known: the sum is that of ``(signal - data)^2``, and :func:`fit` takes them from what the model misses.
    """

    signal: Signal
    times: Annotated[Array, _series]
    data: Annotated[Array, _series]
    sigma: Annotated[Array, _sigma] | None = None

    def __post_init__(self) -> None:
        if self.times.ndim != 1 or self.data.ndim > 2 or len(self.data) != len(self.times):
            raise ModelError(
                f"Misfit of {shown(self.signal)}: data must have an entry for each of the {len(self.times)} times, "
                f"received {shown(self.data)}"
            )
        if np.shape(self._unit) not in ((), self.data.shape, self.data.shape[1:]):
            raise ModelError(
                f"Misfit of {shown(self.signal)}: sigma must be a number, or have the shape of data, "
                f"{self.data.shape}, received {shown(self.sigma)}"
            )

    @property
    def _unit(self) -> Array | float:
        return 1.0 if self.sigma is None else self.sigma

    def value(self, t: Array, y: Array) -> float:
        r = self.residuals(t, y)
        return 0.5 * float(np.sum(r * r))

    def slope(self, t: Array, y: Array) -> Array:
        weighted = self.residuals(t, y) / self._unit
        return np.asarray(self._shares(t).T @ weighted.reshape(len(weighted), -1)).reshape(y.shape)

    def residuals(self, t: Array, y: Array) -> Array:
        """``(signal - data)/sigma`` at the times; without ``sigma`` it is left out."""
        between = np.asarray(self._shares(t) @ y.reshape(len(y), -1)).reshape(-1, *y.shape[1:])
        if between.shape != self.data.shape:
            raise ModelError(
                f"Misfit: data has the shape {self.data.shape}, the signal at its times {between.shape}; expected is "
                "the same"
            )
        return (between - self.data) / self._unit

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


STEP = 4e-5
"""Of a component, over what it is usually as large as: over less, strains of stiff parts are those of rounding."""
DEEPEST = 10
"""How often the step of a component shrinks; what a signal is curved over may be small beside the model."""
LINE, LITTLE = 1e-8, 1e-9
"""Share by which halves of a difference differ where a signal follows a line; of the largest change, what is none."""
SAMPLES, FEW, TOGETHER = 50, 9, 2_000_000
"""Instants that tell how large components are, and what a signal depends on; numbers that are changed together."""
UNTOLD, ROUNDING = 1e-6, 1e-13
"""Share of a change that is not told by components, and rounding of a signal, above which it depends on more."""
POINTWISE = 1e-9
SLOW = 1e-3
"""Least speed that is varied, in units of places over the time of the run, and likewise of accelerations."""


class GoalSlopes:
    """Derivatives of a goal against the states of a solution: body increments, velocities, accelerations, multipliers.

    These stand one after the other, ``S = 3 N + m`` components.
    """

    def __init__(self, solution: Solution, goal: Goal) -> None:
        self.solution, self.goal, self.system = solution, goal, solution.system
        count = len(solution.t)
        self._arrays = {name: getattr(solution.history, name) for name in ARRAYS}
        self._angles: dict[int, Array] = {}
        """Coordinates of joints over the run, with whole turns, where they are asked for."""
        width = max(1, TOGETHER // sum(int(np.prod(own.shape[1:])) for own in self._arrays.values()))
        pieces = (np.arange(first, min(first + width, count)) for first in range(0, count, width))
        self.y = np.concatenate([self._values(self.system, own, self._states(own)) for own in pieces])
        self.value, self._slope = goal.value(solution.t, self.y), goal.slope(solution.t, self.y)
        system, some = self.system, np.unique(np.linspace(0, count - 1, SAMPLES).astype(int))
        n, k, sizes = system.n, system.k, {name: np.abs(own) for name, own in self._states(some).items()}

        units, rate = 1.0 / system.weight, 1.0 / (float(solution.t[-1] - solution.t[0]) or 1.0)

        def size(nodes: str, own: str, least: float) -> Array:
            largest = sizes[nodes].reshape(-1, 2, 3).max(axis=(0, 2), initial=0.0)
            moves = np.append(np.tile(np.repeat(largest, 3), n), sizes[own].max(axis=0, initial=0.0))
            return np.asarray(moves + SLOW * least * units)

        push = np.full(system.m, sizes["multipliers"].max(initial=0.0) or 1.0)
        self._steps = STEP * np.concatenate([units, size("v", "udot", rate), size("vdot", "uddot", rate**2), push])
        nodes, rest = np.repeat(np.arange(n), 6), n + np.arange(k)
        blocks = [np.concatenate([nodes, rest]) + (n + k) * kind for kind in range(3)]
        self._blocks = np.concatenate([*blocks, 3 * (n + k) + np.arange(system.m)])
        """Which node, variable or multiplier each component belongs to, in which rate."""
        self._known: IntArray = np.empty(0, np.intp)
        """Components on which the signal depends."""

    def at(self, times: IntArray) -> Array:
        """The derivatives ``(times, S)`` at some instants."""
        result, slope = np.zeros((len(times), len(self._steps))), self._slope[times]
        look = times[slope.reshape(len(times), -1).any(axis=1)]
        while len(look):
            known, found = len(self._known), self._gradients(times)
            result[:, self._known] = found
            look = self._unexplained(look, found[np.isin(times, look)])[:FEW]
            self._known = np.union1d(self._known, self._support(look)).astype(np.intp)
            if len(self._known) == known:
                break
        return result

    def explicit(self, variations: Sequence[Variation], times: IntArray) -> Array:
        """Derivatives ``(P,)`` against the parameters with the states of some instants held."""
        arrays = self._states(times)

        def of(other: System) -> Array:
            moved = {**arrays, "x": arrays["x"] + (self.system.origin - other.origin)}
            return self._values(other, times, moved)

        slope, result = self._slope[times], np.zeros(len(variations))
        if not slope.any():
            return result

        def difference(own: Variation) -> Any:
            return np.sum(slope * own.difference(map(of, own.systems)))

        for k, own in enumerate(variations):
            result[k] = change = difference(own)
            if np.abs(change) * own.step > ROUNDING * np.abs(slope * self.y[times]).sum():
                # strains of stiff parts whose states are held are large, and cancel against what states make of them
                wide = difference(own.again(own.step / FINER))
                result[k], apart = refined(chain([wide, change], map(difference, own.finer())))
                if apart > AGREED:
                    result[k] = self._doubted(change, own.label)
        return result

    def _gradients(self, times: IntArray) -> Array:
        """Derivatives ``(times, known)``."""
        own = self._known
        first, bent, changes = self._differences(times, own, self._steps[own])
        found, kept = first.copy(), self._steps.copy()
        open_ = np.flatnonzero(bent)
        for _ in range(DEEPEST):
            if not len(open_):
                break
            steps, before = FINER * self._steps[own[open_]], found[:, open_]
            fine, _, _ = self._differences(times, own[open_], steps)
            apart, sizes = (np.abs(part).max(axis=0, initial=0.0) * steps for part in (fine - before, fine))
            agreed = apart <= AGREED * sizes + LITTLE * changes
            found[:, open_] = np.where(agreed, extrapolated(before, fine), fine)
            open_ = open_[~agreed]
            self._steps[own[open_]] *= FINER
        if len(open_):
            self._steps[own[open_]] = kept[own[open_]]
            found[:, open_] = self._doubted(first[:, open_], "the motion")
        return found

    def _differences(self, times: IntArray, own: IntArray, steps: Array) -> tuple[Array, BoolArray, float]:
        """Against some components ``(times, c)``; along which the signal bends; and its largest change."""
        changes, slope = np.zeros((2 * len(own) + 1, len(self._steps))), self._slope[times]
        changes[np.arange(len(own)), own], changes[np.arange(len(own), 2 * len(own)), own] = steps, -steps
        answers = self._asked(times, changes)
        here = answers[:, -1]
        self._check_pointwise(here, self.y[times])
        ahead, back = np.split((answers[:, :-1] - here[:, None]) * slope[:, None], 2, axis=1)
        inner = 0, *range(2, ahead.ndim)
        half, bend = (np.abs(part).max(axis=inner, initial=0.0) for part in (ahead - back, ahead + back))
        rounding = ROUNDING * np.abs(here * slope).max(initial=0.0)
        found = (ahead - back).sum(axis=inner[1:]) / (2.0 * steps)
        return found, bend > LINE * half + rounding, float(half.max(initial=0.0))

    def _doubted(self, derivative: Any, against: str) -> Any:
        LOG.warning(
            "objective: differences of the signal of %s against %s over smaller and smaller steps do not agree: it "
            "jumps, or is not exact enough",
            type(self.goal).__name__,
            against,
        )
        return derivative

    def _unexplained(self, times: IntArray, found: Array) -> IntArray:
        """Instants at which the signal follows a displacement of all components more than the known ones tell."""
        way, slope = np.random.default_rng(2).uniform(0.5, 1.0, len(self._steps)) * self._steps, self._slope[times]
        ahead, back = self._asked(times, np.stack([way, -way])).swapaxes(0, 1)
        change = ((ahead - back) * slope).reshape(len(times), -1).sum(axis=1)
        noise = np.abs(ahead * slope).reshape(len(times), -1).sum(axis=1)
        told = 2.0 * found * way[self._known]
        beyond = np.abs(change - told.sum(axis=1)) > UNTOLD * np.abs(told).sum(axis=1) + ROUNDING * noise
        return times[beyond]

    def _support(self, times: IntArray) -> IntArray:
        """Components on which the signal depends at any of some instants."""
        if not len(times):
            return times
        ways = np.random.default_rng(1).uniform(0.5, 1.0, len(self._steps)) * self._steps * 10.0
        count = int(self._blocks.max()) + 1
        found = np.zeros(count, np.bool_)
        size = max(1, TOGETHER // (len(times) * len(self._steps)))
        for first in range(0, count, size):
            names = np.arange(first, min(first + size, count))
            changes = np.where(self._blocks == names[:, None], ways, 0.0)
            answers = self._asked(times, np.vstack([changes, np.zeros_like(ways)]))
            differs = answers[:, :-1] != answers[:, -1:]
            found[names] = differs.reshape(len(times), len(names), -1).any(axis=(0, 2))
        return np.flatnonzero(found[self._blocks])

    def _asked(self, times: IntArray, changes: Array) -> Array:
        """The signal at some instants with each of the changes ``(c, S)`` of the states, ``(times, c, ...)``."""
        system, count = self.system, len(changes)
        parts = [np.tile(own, (len(times), 1)) for own in np.split(changes, np.cumsum(3 * [system.N]), axis=1)]
        every = np.repeat(times, count)
        history = History(system, self.solution.t[every], self._states(every))
        answers = self._values(system, every, displaced(system, system, history, parts))
        return answers.reshape(len(times), count, *answers.shape[1:])

    def _states(self, times: IntArray) -> dict[str, Array]:
        return {name: own[times] for name, own in self._arrays.items()}

    def _values(self, system: System, times: IntArray, arrays: dict[str, Array]) -> Array:
        """The signal of states of a system, near those of the run at some instants."""
        run = self.solution
        history = History(system, run.t[times], arrays)
        turns = _Turns(history, lambda joint: self._coordinates(system.number.parts.index(joint))[times])
        return self.goal.values(Solution(system, history, Outcome.FINISHED, run.stats, turns=turns, method=run.method))

    def _coordinates(self, k: int) -> Array:
        """Those of a joint, by its number, ``(nt, c)`` over the run."""
        if k not in self._angles:
            joint: Any = self.system.number.parts[k]
            self._angles[k] = self.solution.coordinate(joint).reshape(len(self.solution.t), -1)
        return self._angles[k]

    def _check_pointwise(self, again: Array, y: Array) -> None:
        """Refuse a signal that looks at several instants."""
        if (np.abs(again - y) > POINTWISE * (np.abs(self.y).max() + 1e-30)).any():
            raise ModelError(
                f"{type(self.goal).__name__}: how='adjoint' asks what a signal says of single instants, and this one "
                "says something else of them than of the run: it must not look from one instant to another; "
                "how='direct' takes any function of a solution"
            )


class _Turns(dict[Constraint, Array]):
    """Whole turns of single instants: those of a joint, when it is asked for, that lead next to its coordinates."""

    def __init__(self, history: History, near: Callable[[Constraint], Array]) -> None:
        super().__init__()
        self._history, self._near = history, near

    def get(self, joint: Constraint, default: Any = None) -> Array:
        """Turns ``(s, c)``."""
        missing = self._near(joint) - principal(self._history, joint)[0]
        angles = [coordinate.angle for coordinate in joint.coordinates]
        return np.where(angles, np.round(missing / (2.0 * np.pi)), 0.0)
