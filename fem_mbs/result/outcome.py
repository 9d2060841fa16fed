"""How a run ended, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fem_mbs.arrays import Array, IntArray
from fem_mbs.model import Public
from fem_mbs.result.accuracy import Accuracy


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
    """

    newton_iterations: IntArray
    residual_evaluations: int
    factorizations: int
    failed_steps: int
    rejected_steps: int
    step_sizes: Array
    wall_time: float
    error: Accuracy | None = None
    steps: int = -1

    def __post_init__(self) -> None:
        if self.steps < 0:
            object.__setattr__(self, "steps", len(self.step_sizes))

    @property
    def mean_newton_iterations(self) -> float:
        """Newton iterations a step; 0 without steps."""
        return float(self.newton_iterations.sum()) / self.steps if self.steps else 0.0
