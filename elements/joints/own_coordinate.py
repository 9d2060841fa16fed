"""Coordinates of joints that are unknowns of the joints: an arc length along a beam or a curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.model import Constraint, CoordinateBatch, Measured, Numbering


class OwnCoordinate(CoordinateBatch):
    """By how much one own unknown of each joint has changed since the model was built.

    It depends on no node; the last one of each joint stands for all.
    """

    def __init__(self, joints: Sequence[Constraint], unknown: str, number: Numbering) -> None:
        places = [[own.name for own in joint.unknowns].index(unknown) for joint in joints]
        rows = [int(number.own(joint)[place]) for joint, place in zip(joints, places, strict=True)]
        self.nodes = np.array([[number(joint.nodes[-1])] for joint in joints])
        self.own = np.array(rows)[:, None]
        self._built = np.array([number.unknowns[row][1].initial for row in rows])
        self._gradient = np.zeros((len(joints), 7))
        self._gradient[:, 6] = 1.0

    def measure(self, x: Array, R: Array, u: Array) -> Measured:
        """The change of the unknown, whose gradient is constant."""
        return Measured(u[:, 0] - self._built, np.broadcast_to(self._gradient[:1], (len(u), 7)), len(u))

    def second(self, context: int) -> Array:
        """Zero."""
        return np.zeros((context, 7, 7))
