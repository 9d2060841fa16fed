"""How good a run is, beside how far it went."""

from __future__ import annotations

from typing import NamedTuple

DOUBTFUL = 0.25
"""An error of this share of the motion is of its order."""
MINOR = 0.01
"""Rotations below this share of the displacements, in rad and m over the extent of the model, are no motion to judge by;
nor are displacements below this share of the rotations."""
ROUNDING = 1e-9


class Accuracy(NamedTuple):
    """Estimated error of a run in time, and the motion it stands beside (docs/accuracy.md).

    Attributes
    ----------
    length, angle : float
        Estimated errors in m and rad of the nodes that are furthest off, at the end of the run.
    displacement, rotation : float
        Largest displacement in m and rotation in rad of a node from where it began, as far as it was looked at.
    turn : float
        Largest rotation in rad of a node in one step, likewise.
    extent : float
        Extent of the model in m.
    """

    length: float
    angle: float
    displacement: float
    rotation: float
    turn: float
    extent: float

    @property
    def doubtful(self) -> bool:
        """Whether an error is of the order of the motion."""
        errors = self.length / self.extent, self.angle
        motions = self.displacement / self.extent, self.rotation
        least = MINOR * min(max(motions), 1.0)
        return any(
            error > max(DOUBTFUL * max(motion, least), ROUNDING) for error, motion in zip(errors, motions, strict=True)
        )

    @property
    def warning(self) -> str:
        """What is to be said of a doubtful result."""
        return (
            f"The estimated error, {self.length:.2g} m and {self.angle:.2g} rad, is of the order of the motion, "
            f"{self.displacement:.2g} m and {self.rotation:.2g} rad; a node turned by up to {self.turn:.2g} rad a step. "
            "Try a smaller step."
        )

    def __str__(self) -> str:
        return (
            f"estimated error {self.length:.2g} m and {self.angle:.2g} rad, in a motion of {self.displacement:.2g} m "
            f"and {self.rotation:.2g} rad"
        )
