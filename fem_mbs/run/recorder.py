"""What a run leaves behind: which states are kept, and where, counts, and the estimated error of the result."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import acos
from pathlib import Path as FilePath
from typing import Any, ClassVar

import numpy as np

from fem_mbs.arrays import Array, BoolArray, read_only
from fem_mbs.contracts import Path, PositiveInt, Public, State, StepErrorEstimate, UnilateralBatch, checked, named_file
from fem_mbs.contracts.unilateral import FORCES
from fem_mbs.run.interfaces import AcceptedStep, Between, Selection, StepSequence
from fem_mbs.solution.history import NOT_ESTIMATED, Accuracy, Outcome, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import TurnCounter, begun
from fem_mbs.system.system import System


@checked
@dataclass(frozen=True)
class Store(Public):
    """A file that receives a run as it comes, where it is to hold less than all states: ``simulate(..., store=...)``.

    Parameters
    ----------
    path : str or Path
        The file, a database of SQLite; one that is there is replaced.
    channels : list of str, optional
        Names of channels, such as "tip.position" or "hinge.reaction.force": the file has these in place of states, and
        where the run stands, so that it can go on (docs/store.md).
    every : int
        Keep every so many steps, and the last one.
    """

    called: ClassVar[str] = "a Store"

    path: Path
    channels: Sequence[str] | None = None
    every: PositiveInt = 1

    @property
    def file(self) -> FilePath:
        """The path, with a suffix."""
        return named_file(FilePath(self.path), ".db", "simulate: store: path")


class EveryNth:
    """Selects the states after every so many steps, the first and the last."""

    def __init__(self, every: int, t_end: float, done: int = 0) -> None:
        self.every, self.t_end, self.done = every, t_end, done

    def __call__(self, before: State | None, state: State) -> list[State]:
        """That after a step, or none."""
        self.done += before is not None
        return [state] if self.done % self.every == 0 or state.t >= self.t_end else []


class AtTimes:
    """Selects states at given times, interpolated."""

    def __init__(self, times: Array, between: Between) -> None:
        self.times, self.between, self.done = times, between, 0

    def __call__(self, before: State | None, state: State) -> Iterable[State]:
        """Those that a step has passed."""
        while self.done < len(self.times) and self.times[self.done] <= state.t:
            t = float(self.times[self.done])
            self.done += 1
            if before is None or t == state.t:
                yield state
            else:
                yield self.between(before, state.before or state, (t - before.t) / (state.t - before.t))


FORGOTTEN = 3.0
"""A sum of errors that is so many times those that are carried along has what the motion has forgotten."""
SUMS = (
    *("known", "sum", "rate", "drift", "unresolved", "displacement", "rotation", "turn", "looked", "rounds", "missed"),
    *("place", "led", "blows", "once"),
)


class MemoryRecorder:
    """Keeps the states of a run that began at ``started``, ``time.perf_counter()``, in memory, and counts.

    ``make`` makes the solution of the states, the outcome, the counts, the states of events and the turns of joints;
    ``unstable`` are the numbers of unstable motions of the states. ``selection`` says which states to keep of a step;
    by default that after it.
    """

    def __init__(
        self,
        make: Callable[..., Solution],
        started: float,
        system: System,
        first: State,
        selection: Selection | None = None,
        unstable: int = 0,
    ) -> None:
        self._make, self._started, self._selection, self._system = make, started, selection, system
        self._last, self._last_unstable = first, unstable
        self._states: list[State] = []
        self.unstable, self._iterations, self._sizes = array("q"), array("q"), array("d")
        self._evaluations = self._factorizations = 0
        self._turns = None if selection is None and not begun(system, first) else TurnCounter(system, first)
        self._keep([first] if selection is None else list(selection(None, first)), first, unstable)

    def add(self, step: AcceptedStep) -> None:
        """Keep what is selected of a step."""
        state, report, unstable = step
        self._sizes.append(state.t - self._last.t)
        self._iterations.append(report.iterations)
        self._evaluations += report.evaluations
        self._factorizations += report.factorizations
        if self._turns is None:
            self._states.append(state)
            self.unstable.append(unstable)
        else:
            selected = [state] if self._selection is None else list(self._selection(self._last, state))
            self._keep(selected, state, unstable)
        self._last, self._last_unstable = state, unstable

    def _keep(self, selected: list[State], state: State, unstable: int) -> None:
        self._states += selected
        self.unstable.extend([unstable] * len(selected))
        if self._turns is not None:
            self._turns.add(selected, state)

    def solution(self, outcome: Outcome, steps: StepSequence, events: Sequence[list[State]]) -> Solution:
        """The solution so far; a run that ended before it should has its last state, selected or not."""
        if outcome is not Outcome.FINISHED and not (self._states and self._states[-1] is self._last):
            self._states.append(self._last)
            self.unstable.append(self._last_unstable)
            if self._turns is not None:
                self._turns.keep_last()
        stats = Stats(
            read_only(np.array(self._iterations, np.intp)),
            self._evaluations,
            self._factorizations,
            steps.failed,
            steps.rejected,
            read_only(np.array(self._sizes)),
            time.perf_counter() - self._started,
            steps.error,
            compiled=self._system.compiled,
            solver=self._system.solver.kind,
        )
        turns = None if self._turns is None else self._turns.counted()
        return self._make(self._states, outcome, stats, events, turns)


class GlobalError:
    """The error of a run, estimated from those of its steps (docs/accuracy.md).

    That is the sum of what lasts of them, and the largest oscillation that they do not resolve. What velocities keep of
    kinks grows with time; signs are taken as those of chance, so that squares add up. What rolls goes where
    it heads: an angle that is wrong leads it astray by that share of its further way, though no step errs in length.

    Steps that were not looked at count like the last one that was.
    """

    def __init__(self, system: System, first: State) -> None:
        self.system, self.first = system, first
        self.known = first.t
        """Time up to which errors are summed."""
        self.sum = self.rate = self.unresolved = np.zeros(2)
        """Of what lasts: the sum, and the last one over its step."""
        self.once = np.zeros(2)
        """The largest of a step: what is forgotten later has been there."""
        self.missed = np.zeros((system.n, 2, 3))
        """What velocities missed in the last step that was looked at."""
        self.blows = np.zeros((2, system.n, 2, 3))
        """What they missed in all, times the powers 0 and 1 of when."""
        self.drift = np.zeros((3, 2))
        """Of kinks, and of forces that change by chance within steps, squares of the errors of velocities, times the
        powers 0 to 2 of when they came."""
        self.displacement = self.rotation = self.turn = 0.0
        self.looked = False
        self.rounds = 0.0
        """Matrices that were factorised for a step, times its length: short parts tell little of the others."""
        self.parts = 0
        """Steps across kinks, and parts of these, since one was looked at: each has its velocity wrong as well."""
        rolling = [
            joint for joint, equations in system.number.equations.items() if system.velocity_level[equations].any()
        ]
        self._apart = np.array([node.group == "R3xSO3" for node in system.nodes])
        self._rolling = np.zeros(system.n, np.bool_)
        self._rolling[[system.number(node) for joint in rolling for node in joint.nodes]] = True
        self._touching = [b for b in system.batches if isinstance(b, UnilateralBatch) and b.whole.friction.any()]
        self._may_roll = bool(self._apart.any() and (self._touching or self._rolling.any()))
        self.place = first.x
        """Of the nodes at the last look."""
        self.led = np.zeros((system.n, 3))
        """Ways ``(n, 3)`` of nodes that roll, each part times the angle that was wrong there."""

    def add(self, state: State, estimate: StepErrorEstimate, h: float) -> Array | None:
        """A step of ``h`` that was accepted, and how far it led the nodes astray; what velocities missed, if anything.

        That is of this step, and of those before that were not looked at.
        """
        self.looked = True
        since = state.t - self.known
        # a run that has become unstable may come close to infinity
        with np.errstate(over="ignore", invalid="ignore"):
            at, missed = state.t - self.first.t, estimate.missed
            self.once = np.maximum(self.once, estimate.lasting)
            if estimate.sudden:
                self.sum = self.sum + max(since - h, 0.0) * self.rate + estimate.lasting
                parts = 1
            else:
                self.rate = estimate.lasting / h
                self.sum = self.sum + since * self.rate
                parts = self.parts
                if missed is not None:
                    # steps between two looks missed what both have missed: a load that jumps once is none of them
                    both = np.clip(self.missed, np.minimum(missed, 0.0), np.maximum(missed, 0.0))
                    between = max(since / h - 1.0, 0.0)
                    # what has another sign each time adds up as chance does
                    last, now = (np.linalg.norm(own - both, axis=-1) for own in (self.missed, missed))
                    chance = np.minimum(last, now).max(axis=0)
                    self.drift = self.drift + np.outer((1.0, at, at * at), between * chance**2)
                    missed = missed + between * both
                self.missed = np.zeros_like(self.missed) if estimate.missed is None else estimate.missed
            if parts:
                self.drift = self.drift + np.outer((1.0, at, at * at), parts / h**2 * estimate.lasting**2)
            if missed is not None:
                self.blows = self.blows + np.multiply.outer((1.0, at), missed)
            self.parts = 0
            self.unresolved = np.maximum(self.unresolved, estimate.unresolved)
            self.known = state.t
            if self._may_roll:
                self.led = self.led + self.sum[1] * np.where(self._rolls(state)[:, None], state.x - self.place, 0.0)
                self.place = state.x
            moved, spin = state.x - self.first.x, state.v[:, 3:]
            self.displacement = max(self.displacement, float(np.vecdot(moved, moved).max()) ** 0.5)
            self.turn = max(self.turn, h * float(np.vecdot(spin, spin).max()) ** 0.5)
            trace = float(np.vecdot(self.first.R.reshape(-1, 9), state.R.reshape(-1, 9)).min())
            self.rotation = max(self.rotation, acos(min(max(0.5 * (trace - 1.0), -1.0), 1.0)))
        return missed

    def _rolls(self, state: State) -> BoolArray:
        """Nodes ``(n,)`` that roll, by joints or in contacts with friction that push.

        On SE(3) places turn with their nodes, and local errors know of it.
        """
        rolls = self._rolling.copy()
        for batch in self._touching:
            numbers, rows = batch.carrying(state.u)
            pushes = (batch.whole.friction.flat[numbers] > 0.0) & (state.u[rows[:, FORCES.start]] > 0.0)
            rolls[batch.whole.nodes[numbers[pushes] // batch.whole.friction.shape[1]]] = True
        return rolls & self._apart

    def at(self, t: float, carried: Array | None = None) -> Accuracy:
        """The estimate at a time, if any step was looked at; about what was ``carried`` (2,) along."""
        if not self.looked:
            return NOT_ESTIMATED
        since = t - self.first.t
        drifted = np.sqrt(np.maximum(np.array([since * since, -2.0 * since, 1.0]) @ self.drift, 0.0))
        blown = np.linalg.norm(since * self.blows[0] - self.blows[1], axis=-1).max(axis=0)
        summed = self.sum + max(t - self.known, 0.0) * self.rate + drifted + blown
        if carried is None:
            summed[0] += float(np.vecdot(self.led, self.led).max()) ** 0.5
        else:
            summed = np.minimum(summed, np.maximum(FORGOTTEN * carried, self.once))
        told = summed + self.unresolved
        length, angle = (told if carried is None else np.maximum(carried, told)).tolist()
        rounds = self.rounds / since
        return Accuracy(length, angle, self.displacement, self.rotation, self.turn, self.system.length, rounds)

    def sums(self) -> tuple[Any, ...]:
        """What was found so far, for :meth:`resume`."""
        return tuple(getattr(self, name) for name in SUMS)

    def resume(self, sums: tuple[Any, ...]) -> None:
        """Sum on; files of earlier versions have fewer sums, or others."""
        for name, value in zip(SUMS, sums, strict=False):
            if np.shape(value) == np.shape(getattr(self, name)):
                setattr(self, name, value)
