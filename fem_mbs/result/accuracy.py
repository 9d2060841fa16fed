"""How good a run is, beside how far it went."""

from __future__ import annotations

from typing import NamedTuple

DOUBTFUL = 0.25
"""From this share of the motion on, an error is of its order; estimates of coarse steps are too small."""
MINOR = 0.01
"""Rotations (rad) and displacements (over the extent of the model) count as at least this share of the other."""
ROUNDING = 1e-9


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
    """

    length: float
    angle: float
    displacement: float
    rotation: float
    turn: float
    extent: float

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
        # what local errors of order h^3 leave out grows with the turn of a step
        if self.relative * (1.0 + 2.0 * min(self.turn, 1.0) ** 2) <= DOUBTFUL:
            return ""
        return (
            f"The estimated error, {self.length:.2g} m and {self.angle:.2g} rad, is of the order of the motion, "
            f"{self.displacement:.2g} m and {self.rotation:.2g} rad: try a smaller step (a node turned by up to "
            f"{self.turn:.2g} rad a step)"
        )

    def __str__(self) -> str:
        return (
            f"estimated error {self.length:.2g} m and {self.angle:.2g} rad, in a motion of {self.displacement:.2g} m "
            f"and {self.rotation:.2g} rad"
        )
