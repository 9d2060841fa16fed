"""What steps before tell of a first correction, so that its residual need not be looked at.

docs/theory.md, "When Newton's method stops".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MARGIN = 10.0
"""A prediction has to be so many times below the tolerance."""
UNSEEN = 8
"""So many first corrections in a row may be taken for granted."""
FADING = 0.5
"""Share of worse experience that is left with each new one."""
_TINY = 1e-300


class Experience(NamedTuple):
    """How the first correction, with a new matrix, has lately taken away residuals.

    What a correction of the length ``d`` leaves is of second order: ``d^2`` of the constraints, ``d`` times the larger
    of ``d`` and the residual, to which the multipliers belong, of the forces.
    """

    force: float
    constraint: float
    """Largest residual that was left, over these products."""
    length: float
    residual: float
    """Correction and first residual when this was seen last."""
    rough: int
    """1 if the problem called that correction so, 0 if not: one kind tells nothing of the other."""
    unseen: int
    """Corrections since then of which it was taken for granted."""

    def suffices(self, length: float, residual: float, rough: int, tolerances: Sequence[float]) -> bool:
        """Whether a first correction will leave less than the tolerances, so surely that it need not be seen."""
        if rough != self.rough or self.unseen >= UNSEEN or length > 2.0 * self.length or residual > 2.0 * self.residual:
            return False
        limit = MARGIN * length
        return (
            limit * max(length, residual) * self.force <= tolerances[0]
            and limit * length * self.constraint <= tolerances[1]
        )


def experienced(
    length: float, residual: float, rough: int, left: Sequence[float], before: Experience | None
) -> Experience:
    """From a first correction and what it has left; what was seen earlier fades slowly."""
    force = left[0] / max(length * max(length, residual), _TINY)
    constraint = left[1] / max(length * length, _TINY)
    if before is not None and before.rough == rough:
        force, constraint = max(force, FADING * before.force), max(constraint, FADING * before.constraint)
    return Experience(force, constraint, length, residual, rough, 0)
