"""How a run ended, what it took, and how good it is beside how far it went."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Public

DOUBTFUL = 0.25
"""From this share of the motion on, an error is of its order; estimates of coarse steps are too small."""
MINOR = 0.01
"""Rotations (rad) and displacements (over the extent of the model) count as at least this share of the other."""
MANY, TOO_MANY = 5.5, 7.0
"""Iterations of Newton's method a step, in the mean, above which steps are coarse, and above which many fail; smooth
motions take 1 to 3."""
ROUNDING = 1e-9


def _from_0_to_1(x: float) -> float:
    return min(max(x, 0.0), 1.0)


class Accuracy(NamedTuple):
    """Estimated error of a run in time at its end, and the motion it stands beside (docs/accuracy.md).

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
        Matrices that a step factorised, in the mean over time, with those of attempts without a solution: as many as
        Newton's method took iterations.
    """

    length: float
    angle: float
    displacement: float
    rotation: float
    turn: float
    extent: float
    rounds: float = 0.0

    @property
    def relative(self) -> float:
        """The larger of the errors in m and in rad, each over the motion of its kind."""
        errors = self.length / self.extent, self.angle
        motions = self.displacement / self.extent, self.rotation
        least = max(MINOR * min(max(motions), 1.0), ROUNDING)
        return max(error / max(motion, least) for error, motion in zip(errors, motions, strict=True))

    @property
    def warning(self) -> str:
        """What is to be said of a result whose error is of the order of the motion; empty for nothing."""
        # what local errors of order h^3 leave out grows with the turn of a step, and where what is first guessed of a
        # step is so far off that equations are not linear up to its solution
        coarse = max(min(self.turn, 1.0) ** 2, _from_0_to_1(2.0 * (self.rounds - MANY)))
        coarse += 4.0 * _from_0_to_1(self.rounds - TOO_MANY)
        if self.relative * (1.0 + 2.0 * coarse) <= DOUBTFUL:
            return ""
        rounds = f", which took {self.rounds:.2g} iterations in the mean" if self.rounds > MANY else ""
        return (
            f"The estimated error, {self.length:.2g} m and {self.angle:.2g} rad, is of the order of the motion, "
            f"{self.displacement:.2g} m and {self.rotation:.2g} rad: try a smaller step (a node turned by up to "
            f"{self.turn:.2g} rad a step{rounds})"
        )

    def __str__(self) -> str:
        return (
            f"estimated error {self.length:.2g} m and {self.angle:.2g} rad, in a motion of {self.displacement:.2g} m "
            f"and {self.rotation:.2g} rad"
        )


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
    error : Accuracy or None
        Estimated error of the result, beside the motion; None from a method without an estimate.
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
    error: Accuracy | None = None
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
            f"{self.wall_time:.3g} s" + (f"; {self.error}" if self.error else "")
        )
