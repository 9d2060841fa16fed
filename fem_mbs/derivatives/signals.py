"""How a signal at one instant follows from the state there, whatever the signal is.

States that are displaced in one component each stand beside each other in a solution, as if they were instants, and the
signal is asked once. Components on which it does not depend are found first, node by node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ARRAYS
from fem_mbs.derivatives.goals import Goal
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.solution.history import History
from fem_mbs.solution.outcome import Outcome
from fem_mbs.solution.solution import Solution

STEP = 1e-6
"""Of a component, over what it is usually as large as."""
PROBED, TOGETHER = 100_000, 20_000
"""States that tell what a signal depends on, at most; states that are asked together."""
KINDS = ("q", "v", "vdot", "multipliers")
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
            "vdot": STEP * size(self.arrays["vdot"], self.arrays["uddot"]),
            "multipliers": np.full(system.m, STEP * multipliers),
        }

    def of(self, goal: Goal, y: Array, slope: Array) -> Seeds:
        """Of a goal whose signal has the values ``y`` and whose derivatives against them are ``slope``."""
        rows, values = {}, {}
        times = np.flatnonzero(slope.reshape(len(slope), -1).any(axis=1))
        for kind, steps in self.steps.items():
            own = self._support(goal, kind, times)
            rows[kind], values[kind] = own, np.zeros((len(y), len(own)))
            for first in range(0, len(times), max(1, TOGETHER // (2 * len(own) + 1))):
                some = times[first : first + max(1, TOGETHER // (2 * len(own) + 1))]
                if not len(own):
                    break
                changes = np.concatenate([np.diag(steps[own]), -np.diag(steps[own]), np.zeros((1, len(own)))])
                answers = self._asked(goal, kind, own, some, changes)
                self._check_pointwise(goal, answers[:, -1], y[some], y)
                ahead, back = answers[:, : len(own)], answers[:, len(own) : -1]
                gradient = (ahead - back) / (2.0 * steps[own]).reshape((1, -1) + (1,) * (y.ndim - 1))
                values[kind][some] = np.sum((gradient * slope[some][:, None]).reshape(len(some), len(own), -1), axis=2)
        return Seeds(rows, values)

    def _support(self, goal: Goal, kind: str, times: IntArray) -> IntArray:
        """Components of a kind on which a signal depends at any of the instants that are looked at."""
        count, own = len(self.steps[kind]), np.arange(len(self.steps[kind]))
        if not count or not len(times):
            return own[:0]
        blocks = np.minimum(own // 6, self.system.n) if kind != "multipliers" else own
        blocks = np.where(own >= 6 * self.system.n, own, blocks) if kind != "multipliers" else blocks
        names, place = np.unique(blocks, return_inverse=True)
        kept = times[np.unique(np.linspace(0, len(times) - 1, max(3, PROBED // len(names))).astype(int))]
        ways = np.random.default_rng(1).uniform(0.5, 1.0, count) * self.steps[kind] * 10.0
        changes = np.zeros((len(names) + 1, count))
        changes[place, own] = ways
        found = np.zeros(len(names), np.bool_)
        for first in range(0, len(kept), max(1, TOGETHER // len(changes))):
            some = kept[first : first + max(1, TOGETHER // len(changes))]
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
