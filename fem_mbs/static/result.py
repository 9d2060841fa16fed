"""What statics returns."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3
from fem_mbs.model import Motion, number
from fem_mbs.result import ConstraintResidual, Outcome, Solution, Stats
from fem_mbs.solve import Report
from fem_mbs.static.equations import Instant
from fem_mbs.static.stability import UNKNOWN
from fem_mbs.system import State, System


class StaticSolution(Solution):
    """Equilibria over the load factor, with the queries of a :class:`Solution`; ``t`` (nt,) is the load factor.

    Along a path that is followed by its length, the load factor may also fall.

    Attributes
    ----------
    unstable : (nt,)
        Number of independent motions against which each equilibrium is unstable: 0 where it is stable, -1 where the
        stiffness does not tell, as where loads follow; :func:`modes` at the state does.
    """

    def __init__(
        self,
        system: System,
        states: Sequence[State],
        status: Outcome,
        stats: Stats,
        instant: Instant,
        unstable: Sequence[int],
    ) -> None:
        super().__init__(system, list(states), status, stats)
        self.unstable = np.array(unstable, dtype=np.intp)
        self._load_factor = self.t
        self._instant = instant

    def motion(self, k: int) -> Motion:
        """State ``k`` in body components, as elements see it, with gravity as it was there."""
        motion = super().motion(k)
        motion.t, factor = self._instant(float(self._load_factor[k]))
        motion.gravity = factor * self.system.gravity
        return motion

    @cached_property
    def constraint_residual(self) -> ConstraintResidual:
        """Constraint violations; nothing moves, so those of velocities are zero."""
        position = super().constraint_residual.position
        return ConstraintResidual(position, np.zeros_like(position))

    def __call__(self, t: float) -> State:
        """State at any load factor, where the path first reaches it.

        Interpolated along the screw of each node, with an error of second order in the step; ``statics(loads=...)``
        has equilibria at the load factors asked for.
        """
        t = number(t, "Solution: t")
        ahead = self.t - t
        passed = np.flatnonzero(ahead[:-1] * ahead[1:] <= 0.0)
        if not len(passed):
            if t in self.t:
                return self.state(int(np.flatnonzero(self.t == t)[0]))
            raise ModelError(f"load factor {t} is outside the path, which covers {self.t.min()} to {self.t.max()}")
        first, second = self.state(int(passed[0])), self.state(int(passed[0]) + 1)
        s = (t - first.t) / (second.t - first.t) if second.t != first.t else 0.0
        way = se3.log(first.R.mT @ second.R, np.vecmat(second.x - first.x, first.R))
        R, x = se3.compose(first.R, first.x, *se3.exp(s * way))
        multipliers = (1.0 - s) * first.multipliers + s * second.multipliers
        return State(t, x, R, first.v, first.vdot, first.a, multipliers)

    def to_paraview(self, path: str | Path, **options: Any) -> Path:
        """Write ``path.pvd`` and one ``.vtu`` a state over the load factor, or over the states where that falls.

        See :func:`fem_mbs.io.write_paraview` for the options.
        """
        shown = copy.copy(self)
        if (np.diff(self.t) <= 0.0).any():
            shown.t = np.arange(float(len(self.t)))
        return Solution.to_paraview(shown, path, **options)

    def __str__(self) -> str:
        failed = self.stats.failed_steps
        return (
            f"{self.message} {len(self.stats.step_sizes)} steps to load factor {self.t[-1]:g}, "
            + (f"{failed} more failed and were repeated with shorter ones, " if failed else "")
            + f"{self.stats.mean_newton_iterations:.2f} Newton iterations a step, {self.stats.wall_time:.3g} s"
        )


class StaticRecorder:
    """The equilibria and counts of a run under way, at the load factors ``output`` if these are given."""

    def __init__(
        self, system: System, instant: Instant, first: State, unstable: int, output: Array | None, begun: float
    ) -> None:
        self.system, self.instant, self.output, self.begun = system, instant, output, begun
        self.last = first
        self._kept = [(first, unstable)]
        if not self._wanted(first):
            self._kept = []
        self._steps: list[float] = []
        self._reports: list[tuple[int, int, int]] = []

    def add(self, state: State, unstable: int, report: Report[Any]) -> None:
        """Keep an equilibrium."""
        self._steps.append(state.t - self.last.t)
        self._reports.append((report.iterations, report.evaluations, report.factorizations))
        self.last = state
        if self._wanted(state):
            self._kept.append((state, unstable))

    def solution(self, outcome: Outcome, failed: int = 0) -> StaticSolution:
        """The solution so far."""
        counts = np.array(self._reports, dtype=np.intp).reshape(-1, 3)
        evaluations, factorizations = (int(count) for count in counts[:, 1:].sum(axis=0))
        wall_time = time.perf_counter() - self.begun
        stats = Stats(counts[:, 0], evaluations, factorizations, failed, 0, np.array(self._steps), wall_time)
        states, unstable = zip(*(self._kept or [(self.last, UNKNOWN)]), strict=True)
        return StaticSolution(self.system, states, outcome, stats, self.instant, unstable)

    def _wanted(self, state: State) -> bool:
        return self.output is None or bool((self.output == state.t).any())
