"""What statics returns."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import IntArray
from fem_mbs.contracts import Path, State, checked
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3
from fem_mbs.solution.balance import ConstraintResidual
from fem_mbs.solution.history import History, Instant
from fem_mbs.solution.outcome import Outcome, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import Turns
from fem_mbs.system.states import read_only
from fem_mbs.system.system import System


class StaticSolution(Solution):
    """Equilibria over the load factor, with the queries of a :class:`Solution`; ``t`` (nt,) is the load factor.

    Along a path that is followed by its length, the load factor may also fall.

    Attributes
    ----------
    unstable : (nt,)
        Number of independent motions against which each equilibrium is unstable: 0 where it is stable, -1 where the
        stiffness does not tell, as where loads follow; :func:`modes` at the state does.
    """

    _abscissa = "load factor"

    def __init__(
        self,
        system: System,
        states: Sequence[State] | History,
        status: Outcome,
        stats: Stats,
        events: Sequence[list[State]],
        instant: Instant,
        unstable: ArrayLike,
        turns: Turns | None = None,
    ) -> None:
        super().__init__(system, states, status, stats, events, turns=turns, instant=instant)
        self._unstable = read_only(np.array(unstable, dtype=np.intp))

    @property
    def unstable(self) -> IntArray:
        """Number of independent motions against which each equilibrium is unstable ``(nt,)``; -1 where not known."""
        return self._unstable

    @cached_property
    def constraint_residual(self) -> ConstraintResidual:
        """Constraint violations; nothing moves, so those of velocities are zero."""
        position = super().constraint_residual.position
        return ConstraintResidual(position, read_only(np.zeros_like(position)))

    def _at(self, t: float) -> State:
        """State at any load factor, where the path first reaches it.

        Interpolated along the screw of each node, with an error of second order in the step; ``statics(loads=...)``
        has equilibria at the load factors asked for.
        """
        ahead = self.t - t
        passed = np.flatnonzero(ahead[:-1] * ahead[1:] <= 0.0)
        if not len(passed):
            if t in self.t:
                return self.history.state(int(np.flatnonzero(self.t == t)[0]))
            raise ModelError(f"load factor {t} is outside the path, which covers {self.t.min()} to {self.t.max()}")
        first, second = self.history.state(int(passed[0])), self.history.state(int(passed[0]) + 1)
        share = (t - first.t) / (second.t - first.t) if second.t != first.t else 0.0
        return replace(between(first, second, share), t=t)

    def _along(self, count: int) -> list[State]:
        """Along the path, which may turn back in its load factor."""
        last, states = len(self.t) - 1, []
        for place in np.linspace(0.0, last, count):
            k = min(int(place), max(last - 1, 0))
            states.append(between(self.history.state(k), self.history.state(min(k + 1, last)), float(place - k)))
        return states

    @checked
    def to_paraview(self, path: Path, **options: Any) -> FilePath:
        """Write ``path.pvd`` and one ``.vtu`` a state over the load factor, or over the states where that falls.

        See :func:`fem_mbs.files.paraview.write_paraview` for the options.
        """
        shown = copy.copy(self)
        if (np.diff(self.t) <= 0.0).any():
            shown.t = np.arange(float(len(self.t)))
        return Solution.to_paraview(shown, path, **options)

    def __str__(self) -> str:
        failed = self.stats.failed_steps
        return (
            f"{self.message} {self.stats.steps} steps to load factor {self.t[-1]:g}, "
            + (f"{failed} more failed and were repeated with shorter ones, " if failed else "")
            + f"{self.stats.mean_newton_iterations:.2f} Newton iterations a step, {self.stats.wall_time:.3g} s"
        )


def between(first: State, second: State, share: float) -> State:
    """State on the way from one equilibrium to the next, along the screw of each node."""
    twist = se3.log(first.R.mT @ second.R, np.vecmat(second.x - first.x, first.R))
    R, x = se3.compose(first.R, first.x, *se3.exp(share * twist))
    t, multipliers, u = (
        (1.0 - share) * getattr(first, name) + share * getattr(second, name) for name in ("t", "multipliers", "u")
    )
    return replace(first, t=t, x=x, R=R, multipliers=multipliers, u=u)
