"""Sensors of the distance between points of two nodes, and of how it changes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.control.sensor import Sensor, SensorBatch
from fem_mbs.elements.line import Line, LineBatch, LineElement
from fem_mbs.model import ElementBatch, Motion, Node, Numbering, Picture, Vector3, checked, choice

QUANTITIES = {"length": "m", "speed": "m/s"}


@checked
class LineSensor(Sensor, LineElement):
    """The distance of points of two nodes, or its rate.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    quantity : {"length", "speed"}
        The distance in m, or its rate in m/s.
    point_a, point_b : (3,), optional
        The points in the node frames; the nodes themselves by default.
    """

    def __init__(
        self,
        a: Node,
        b: Node,
        quantity: Annotated[str, choice(QUANTITIES)] = "length",
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        LineElement.__init__(self, a, b, point_a, point_b)
        self.quantity = quantity

    def batch_key(self) -> Hashable:
        """Sensors of one quantity share a batch."""
        return self.quantity

    @classmethod
    def batch(cls, elements: Sequence[LineSensor], number: Numbering) -> ElementBatch:
        """All sensors of one quantity."""
        return LineSensorBatch(elements, number)

    def picture(self, number: Numbering, stations: int) -> Picture | None:
        """Nothing is drawn."""
        return None


class LineSensorBatch(SensorBatch, LineBatch):
    """Sensors of lengths, or of speeds."""

    def __init__(self, sensors: Sequence[LineSensor], number: Numbering) -> None:
        LineBatch.__init__(self, sensors, number)
        self._speed = sensors[0].quantity == "speed"

    def measure(self, motion: Motion, prescribed: None) -> tuple[Array, Line]:
        """Lengths or speeds."""
        line = self.line(motion)
        return line.speed if self._speed else line.length, line

    def by_place(self, context: Line) -> Array:
        """``G``, or ``V^T H``."""
        return np.vecmat(context.V, self.second(context)) if self._speed else context.G

    def by_velocity(self, context: Line) -> Array | None:
        """``G`` of speeds."""
        return context.G if self._speed else None
