"""How a signal at one instant follows from the state there, whatever the signal is.

States that are displaced in one component each stand beside each other in a solution, as if they were instants, and the
signal is asked once. Components on which it depends are found node by node at some instants, and a displacement of all
of them tells at which others there are more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ARRAYS
from fem_mbs.derivatives.goals import Goal
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.solution.history import History, Outcome
from fem_mbs.solution.solution import Solution

STEP = 1e-6
"""Of a component, over what it is usually as large as."""
FEW, TOGETHER = 9, 20_000
"""Instants that tell what a signal depends on, at first; states that are asked together."""
UNTOLD, ROUNDING = 1e-6, 1e-13
"""Share of a change that is not told by components, and rounding of a signal, above which it depends on more."""
KINDS = ("q", "v", "lead", "multipliers")
POINTWISE = 1e-9


class Seeds(NamedTuple):
    """Derivatives of a goal against all states, where they are not zero."""

    rows: dict[str, IntArray]
    """Components of each of ``KINDS``."""
    values: dict[str, Array]
    """``(nt, rows)``."""


class SignalSlopes:
    """Derivatives of goals against the states of a solution."""

    def __init__(self, solution: Solution) -> None:
        self.solution, self.system, history = solution, solution.system, solution.history
        self.arrays = {name: np.asarray(getattr(history, name)) for name in ARRAYS}
        system, n = self.system, self.system.n
        units = np.append(np.tile(np.repeat([system.length, 1.0], 3), n), 1.0 / system.weight[6 * n :])

        def size(nodes: Array, own: Array) -> Array:
            largest = np.abs(nodes).reshape(-1, 2, 3).max(axis=(0, 2), initial=0.0) + 1e-3
            return np.append(np.tile(np.repeat(largest, 3), n), np.abs(own).max(axis=0, initial=0.0) + 1e-3)

        multipliers = np.abs(self.arrays["multipliers"]).max(initial=0.0) or 1.0
        self.steps = {
            "q": STEP * units,
            "v": STEP * size(self.arrays["v"], self.arrays["udot"]),
            "lead": STEP * size(self.arrays["vdot"], self.arrays["uddot"]),
            "multipliers": np.full(system.m, STEP * multipliers),
        }

    def of(self, goal: Goal, y: Array, slope: Array) -> Seeds:
        """Of a goal whose signal has the values ``y`` and whose derivatives against them are ``slope``."""
        rows, values = {}, {}
        times = np.flatnonzero(slope.reshape(len(slope), -1).any(axis=1))
        for kind, steps in self.steps.items():
            own, known, look = np.empty(0, np.intp), -1, times[:: -(-len(times) // FEW) or 1]
            rows[kind], values[kind] = own, np.zeros((len(y), 0))
            while len(look) and len(steps):
                own = np.union1d(own, self._support(goal, kind, look)).astype(np.intp)
                if len(own) == known:
                    break
                found, known = self._gradients(goal, kind, own, times, y, slope), len(own)
                rows[kind], values[kind] = own, np.zeros((len(y), known))
                values[kind][times] = found
                look = self._unexplained(goal, kind, own, times, y, slope, found)[:FEW]
        return Seeds(rows, values)

    def _gradients(self, goal: Goal, kind: str, own: IntArray, times: IntArray, y: Array, slope: Array) -> Array:
        """Derivatives ``(times, own)`` of the goal against components of states."""
        steps = self.steps[kind][own]
        changes = np.concatenate([np.diag(steps), -np.diag(steps), np.zeros((1, len(own)))])
        result = []
        for some in self._parts(times, len(changes)):
            answers = self._asked(goal, kind, own, some, changes)
            self._check_pointwise(goal, answers[:, -1], y[some], y)
            along = (answers[:, : len(own)] - answers[:, len(own) : -1]) * slope[some][:, None]
            result.append(along.sum(axis=tuple(range(2, along.ndim))) / (2.0 * steps))
        return np.concatenate(result)

    def _unexplained(
        self, goal: Goal, kind: str, own: IntArray, times: IntArray, y: Array, slope: Array, found: Array
    ) -> IntArray:
        """Instants at which the signal follows a displacement of all components more than these tell."""
        way = np.random.default_rng(2).uniform(0.5, 1.0, len(self.steps[kind])) * self.steps[kind]
        changes, result = np.stack([way, -way]), []
        for some, gradients in zip(self._parts(times, 2), self._parts(found, 2), strict=True):
            answers = self._asked(goal, kind, np.arange(len(way)), some, changes)
            along = ((answers[:, 0] - answers[:, 1]) * slope[some]).reshape(len(some), -1).sum(axis=1)
            noise = np.abs(answers[:, 0] * slope[some]).reshape(len(some), -1).sum(axis=1)
            told = 2.0 * gradients * way[own]
            beyond = np.abs(along - told.sum(axis=1)) > UNTOLD * np.abs(told).sum(axis=1) + ROUNDING * noise
            result.append(some[beyond])
        return np.concatenate(result)

    @staticmethod
    def _parts(values: Any, changes: int) -> list[Any]:
        """Of the instants, or of rows that belong to them, as many as are asked together."""
        size = max(1, TOGETHER // changes)
        return [values[first : first + size] for first in range(0, len(values), size)]

    def _support(self, goal: Goal, kind: str, times: IntArray) -> IntArray:
        """Components of a kind on which a signal depends at any of some instants."""
        count, own = len(self.steps[kind]), np.arange(len(self.steps[kind]))
        blocks = np.minimum(own // 6, self.system.n) if kind != "multipliers" else own
        blocks = np.where(own >= 6 * self.system.n, own, blocks) if kind != "multipliers" else blocks
        names, place = np.unique(blocks, return_inverse=True)
        ways = np.random.default_rng(1).uniform(0.5, 1.0, count) * self.steps[kind] * 10.0
        changes = np.zeros((len(names) + 1, count))
        changes[place, own] = ways
        found = np.zeros(len(names), np.bool_)
        for some in self._parts(times, len(changes)):
            answers = self._asked(goal, kind, own, some, changes)
            differs = answers[:, :-1] != answers[:, -1:]
            found |= differs.reshape(len(some), len(names), -1).any(axis=(0, 2))
        return own[found[place]]

    def _asked(self, goal: Goal, kind: str, own: IntArray, times: IntArray, changes: Array) -> Array:
        """The signal at some instants with each of the changes ``(c, rows)``, ``(times, c, ...)``."""
        system, count, n = self.system, len(changes), 6 * self.system.n
        arrays = {name: np.repeat(array[times], count, axis=0) for name, array in self.arrays.items()}
        whole = np.zeros((len(changes), len(self.steps[kind])))
        whole[:, own] = changes
        whole = np.tile(whole, (len(times), 1))
        if kind == "multipliers":
            arrays["multipliers"] += whole
        elif kind == "q":
            moved = np.flatnonzero(whole[:count, :n].reshape(count, -1, 6).any(axis=(0, 2)))
            d, R = whole[:, :n].reshape(-1, system.n, 6)[:, moved], arrays["R"][:, moved]
            # to first order the same on both groups
            arrays["x"][:, moved] += np.matvec(R, d[..., :3])
            arrays["R"][:, moved] = R @ so3.exp(d[..., 3:])
            arrays["u"] += whole[:, n:]
        else:
            names = ("v", "udot") if kind == "v" else ("vdot", "uddot")
            arrays[names[0]] += whole[:, :n].reshape(-1, system.n, 6)
            arrays[names[1]] += whole[:, n:]
        t = np.repeat(self.solution.t[times], count)
        solution = Solution(
            system, History(system, t, arrays), Outcome.FINISHED, self.solution.stats, method=self.solution.method
        )
        answers = goal.values(solution)
        return answers.reshape(len(times), count, *answers.shape[1:])

    def _check_pointwise(self, goal: Goal, again: Array, y: Array, all_values: Array) -> None:
        """Refuse a signal that looks at several instants; turns that were counted before may differ."""
        change = np.abs(again - y)
        turns = np.abs(change - 2.0 * np.pi * np.round(change / (2.0 * np.pi)))
        if (np.minimum(change, turns) > POINTWISE * (np.abs(all_values).max() + 1e-30)).any():
            raise ModelError(
                f"{type(goal).__name__}: how='adjoint' asks what a signal says of single instants, and this one says "
                "something else of them than of the run: it must not look from one instant to another; how='direct' "
                "takes any function of a solution"
            )
