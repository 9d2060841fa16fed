"""The states of a run as arrays over time, the motions that elements see of them, how it ended and how good it is.

Between two steps states go along the group (docs/theory.md, "Between the steps").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray, read_only
from fem_mbs.contracts import ARRAYS, Motion, Node, Public, State
from fem_mbs.errors import ModelError
from fem_mbs.system.kinematics import make_kinematics
from fem_mbs.system.system import System

Instant: TypeAlias = Callable[[float], tuple[float, float]]
"""What a load factor means: the time of loads and drives that are functions of time, and the factor of constant loads
and of gravity."""


def proportional(load: float) -> tuple[float, float]:
    """Constant loads and gravity grow with the load factor."""
    return load, load


def constant(load: float) -> tuple[float, float]:
    """Constant loads and gravity act in full."""
    return load, 1.0


@dataclass(frozen=True)
class Held:
    """What depends on time stays as it is at ``time``, and loads act in full."""

    time: float

    def __call__(self, load: float) -> tuple[float, float]:
        """At all states."""
        return self.time, 1.0


class History:
    """Times ``t`` (nt,) and the arrays of states ``(nt, ...)`` by their names in a :class:`fem_mbs.State`.

    Positions count from the origin of the system. The arrays may be in a file, of which what is asked for is read.
    ``before`` are states just before those, by their numbers, at which something jumps.
    ``instant(t)`` says at what time loads are asked and which share of them acts, where that varies from state to state
    as on a path of statics.
    """

    columns: Mapping[str, Array] = MappingProxyType({})
    """Columns of channels ``(nt,)`` by their names, where a file has these in place of states."""

    def __init__(
        self,
        system: System,
        t: Array,
        arrays: Mapping[str, Array],
        instant: Instant | None = None,
        before: Mapping[int, State] = MappingProxyType({}),
    ) -> None:
        self.system, self.t, self.instant, self.before = system, read_only(np.asarray(t)), instant, before or {}
        self._arrays = {
            name: read_only(array) if isinstance(array, np.ndarray) else array for name, array in arrays.items()
        }

    @classmethod
    def of(cls, system: System, states: Sequence[State], instant: Instant | None = None) -> History:
        """States that are in memory."""
        arrays = {name: np.array([getattr(state, name) for state in states]) for name in ARRAYS}
        before = {k: state.before for k, state in enumerate(states) if state.before is not None}
        return cls(system, np.array([state.t for state in states]), arrays, instant, before)

    def __getattr__(self, name: str) -> Any:
        if name not in ARRAYS:
            raise AttributeError(name)
        return self._arrays[name]

    def at(self, x: Array) -> History:
        """The same with the nodes at other positions."""
        return History(self.system, self.t, {**self._arrays, "x": x}, self.instant)

    @property
    def times(self) -> Array:
        """At which functions of time are asked, ``(nt,)``."""
        return self.t if self.instant is None else np.array([self.instant(float(t))[0] for t in self.t])

    def state(self, k: int) -> State:
        """The state number ``k``."""
        arrays: dict[str, Any] = {name: getattr(self, name)[k] for name in ARRAYS}
        return State(float(self.t[k]), **arrays, before=self.before.get(k))

    def motion(self, k: int) -> Motion:
        """What elements see of a state."""
        return self.motion_at(self.state(k))

    def motion_at(self, state: State) -> Motion:
        """What they see of a state between these."""
        return self._as_loaded(self.system.motion(state))

    def of_nodes(self, nodes: Sequence[Node], times: IntArray) -> Motion:
        """What they see at several instants, of some nodes: one instant after the other, without the time."""
        rows = np.array([self.system.number(node) for node in nodes], np.intp)
        x, R, v, vdot = (array[times[:, None], rows] for array in (self.x, self.R, self.v, self.vdot))
        R = R.reshape(-1, 3, 3)
        rates = np.stack([v.reshape(-1, 6), vdot.reshape(-1, 6)])
        if len(R):
            rates = make_kinematics([node.group for node in nodes] * len(times)).motion(R, rates)
        V, A = rates
        u, udot, uddot = (array[times].ravel() for array in (self.u, self.udot, self.uddot))
        multipliers = self.multipliers[times][:, : self.system.m if self.system.readers else 0].ravel()
        motion = Motion(np.nan, x.reshape(-1, 3), R, V, A, self.system.gravity, u, udot, uddot, multipliers)
        if len(times) == 1:
            motion.t = float(self.t[times[0]])
            return self._as_loaded(motion)
        return motion

    def _as_loaded(self, motion: Motion) -> Motion:
        if self.instant is not None:
            motion.t, factor = self.instant(motion.t)
            motion.gravity = factor * self.system.gravity
        return motion


class ChannelHistory(History):
    """Channels of a run that has stored no states."""

    def __init__(self, system: System, t: Array, columns: Mapping[str, Array], path: Any) -> None:
        super().__init__(system, t, {})
        self.columns, self._path = dict(columns), path

    def __getattr__(self, name: str) -> Any:
        if name not in ARRAYS:
            raise AttributeError(name)
        raise ModelError(
            f"'{self._path}' holds no states but the channels {', '.join(self.columns)}; ask for them with "
            "solution.channel(name), or store a run without channels"
        )


DOUBTFUL = 0.25
"""From this share of the motion on, an error is of its order; estimates of coarse steps are too small."""
MINOR = 0.01
"""Rotations (rad) and displacements (over the extent of the model) count as at least this share of the other."""
TURNING = 0.05
"""Rotations (rad) of a node in a step that are worth a word."""
MANY, TOO_MANY = 5.5, 7.0
"""Iterations of Newton's method a step, in the mean, above which steps are coarse, and above which many fail; smooth
motions take 1 to 3."""
ROUNDING = 1e-9


class Accuracy(NamedTuple):
    """Estimated error of a run in time at its end, and the motion it stands beside (docs/accuracy.md).

    All numbers are nan where the method does not estimate its error.

    Attributes
    ----------
    length, angle : float
        Estimated errors in m and rad of the nodes that are furthest off.
    displacement, rotation : float
        Largest displacement in m and rotation in rad of a node from where it began, as far as it was looked at.
    turn : float
        Largest rotation in rad of a node in one step, likewise.
    extent : float
        Extent of the model in m.
    rounds : float
        Matrices that a step factorised, in the mean over time: as many as Newton's method took iterations. Those of
        attempts without a solution count by the share of their length that the step had that came of them.
    """

    length: float
    angle: float
    displacement: float
    rotation: float
    turn: float
    extent: float
    rounds: float = 0.0

    @property
    def estimated(self) -> bool:
        """Whether the method has estimated its error."""
        return self.length == self.length

    @property
    def relative(self) -> float:
        """The larger of the errors in m and in rad, each over the motion of its kind."""
        if not self.estimated:
            return math.nan
        errors = self.length / self.extent, self.angle
        motions = self.displacement / self.extent, self.rotation
        least = max(MINOR * min(max(motions), 1.0), ROUNDING)
        return max(error / max(motion, least) for error, motion in zip(errors, motions, strict=True))

    @property
    def warning(self) -> str:
        """What is to be said of a result whose error is of the order of the motion; empty for nothing."""
        # what local errors of order h^3 leave out grows with the turn of a step, and where what is first guessed of a
        # step is so far off that equations are not linear up to its solution
        slow = np.clip([2.0 * (self.rounds - MANY), self.rounds - TOO_MANY], 0.0, 1.0)
        coarse = max(min(self.turn, 1.0) ** 2, slow[0]) + 4.0 * slow[1]
        if not self.relative * (1.0 + 2.0 * coarse) > DOUBTFUL:
            return ""
        causes = [f"a node turned by up to {self.turn:.2g} rad a step"] if self.turn > TURNING else []
        causes += [f"a step took {self.rounds:.2g} iterations in the mean"] if self.rounds > MANY else []
        return (
            f"The estimated error, {self.length:.2g} m and {self.angle:.2g} rad, is of the order of the motion, "
            f"{self.displacement:.2g} m and {self.rotation:.2g} rad: try a smaller step"
            + (f" ({', '.join(causes)})" if causes else "")
        )

    def __str__(self) -> str:
        if not self.estimated:
            return "error not estimated"
        return (
            f"estimated error {self.length:.2g} m and {self.angle:.2g} rad, in a motion of {self.displacement:.2g} m "
            f"and {self.rotation:.2g} rad"
        )


NOT_ESTIMATED = Accuracy(*7 * (math.nan,))


ROUNDED = 1e-9
"""Share of a run by which times are rounding."""


def snapped(t: float | Array, first: float, last: float) -> Array:
    """Times, those that rounding puts beyond an end of a run at it."""
    slack, inside = ROUNDED * (last - first), np.clip(t, first, last)
    return np.where(np.abs(inside - t) <= slack, inside, t)


class Outcome(Enum):
    """How a run ended, as a sentence."""

    FINISHED = "The run reached its end."
    STOPPED = "The callback ended the run."
    EVENT = "A terminal event ended the run."
    INTERRUPTED = "The run was interrupted from the keyboard."
    FAILED = "A step failed; the error that was raised says why."
    CUT = "The run has not ended, or was cut off; mbs.resume goes on with it."


@dataclass(frozen=True)
class Stats(Public):
    """Counts of a run.

    Attributes
    ----------
    newton_iterations : (steps,)
        Newton iterations of each accepted step.
    residual_evaluations, factorizations : int
        Counts over the accepted steps.
    failed_steps : int
        Attempts without a solution that were repeated with a shorter step.
    rejected_steps : int
        Attempts with too large an error that were repeated with a shorter step.
    step_sizes : (steps,)
        Accepted steps in s.
    wall_time : float
        Seconds, the building of the system included.
    error : Accuracy
        Estimated error of the result, beside the motion; of nan from a method without an estimate.
    steps : int
        Accepted steps. A run that is stored with fewer states than steps has ``newton_iterations`` and ``step_sizes``
        of all steps from one stored state to the next.
    compiled : tuple of str
        Classes of elements and joints whose compiled kernels ran; those of all others were NumPy's.
    solver : str
        How the matrix of the model was factorised: "dense", "banded, half width 11" or "sparse".
    """

    newton_iterations: IntArray = field(repr=False)
    residual_evaluations: int
    factorizations: int
    failed_steps: int
    rejected_steps: int
    step_sizes: Array = field(repr=False)
    wall_time: float
    error: Accuracy = NOT_ESTIMATED
    steps: int = -1
    compiled: tuple[str, ...] = ()
    solver: str = ""

    def __post_init__(self) -> None:
        if self.steps < 0:
            object.__setattr__(self, "steps", len(self.step_sizes))

    @property
    def mean_newton_iterations(self) -> float:
        """Newton iterations a step; 0 without steps."""
        return float(self.newton_iterations.sum()) / self.steps if self.steps else 0.0

    def __str__(self) -> str:
        steps = f"{self.steps} steps"
        if len(self.step_sizes):
            shortest, longest = (f"{size:.3g}" for size in (self.step_sizes.min(), self.step_sizes.max()))
            steps += f" of {longest} s" if shortest == longest else f" of {shortest} to {longest} s"
        repeated = self.failed_steps + self.rejected_steps
        return (
            f"{steps}, {repeated} repeated shorter; {self.mean_newton_iterations:.2f} Newton iterations a step, "
            f"{self.wall_time:.3g} s" + (f"; {self.error}" if self.error.estimated else "")
        )
