"""Sensors of coordinates, of joints and of lines between points: their values, angles with turns, and their rates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    SENSOR_VALUE,
    CoordinateBatch,
    ElementBatch,
    Measured,
    Motion,
    NodeLike,
    Numbering,
    Picture,
    Sensor,
    SensorBatch,
    Vector3,
    checked,
    choice,
    continued,
)
from fem_mbs.elements.forces.coordinate_law import ANGLE, JointLike, chosen, coordinates_of, is_angle
from fem_mbs.elements.forces.line import LineElement, lengths_of

OF_JOINT = ("coordinate", "coordinate_rate")
OF_LINE = ("length", "speed")


@checked
class JointSensor(Sensor):
    """A coordinate of a joint, or its rate.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    quantity : {"coordinate", "coordinate_rate"}
        The coordinate in m or rad, zero as built, angles with their turns; or its rate.
    coordinate : str, optional
        Which coordinate, by its name, where the joint has several.
    """

    def __init__(
        self,
        joint: JointLike,
        quantity: Annotated[str, choice(OF_JOINT)] = "coordinate",
        *,
        coordinate: str | None = None,
    ) -> None:
        self.joint, self.nodes, self.quantity = joint, joint.nodes, quantity
        self.coordinate = chosen(joint, coordinate, type(self).__name__)
        counts = quantity == "coordinate" and is_angle(joint, self.coordinate)
        self.internal_variables = (SENSOR_VALUE, ANGLE) if counts else (SENSOR_VALUE,)

    def batch_key(self) -> Hashable:
        """Coordinates that are measured in one way."""
        return self.quantity, self.joint.coordinate_key(self.coordinate)

    @classmethod
    def batch(cls, elements: Sequence[JointSensor], number: Numbering) -> ElementBatch:
        """All sensors of one kind."""
        return CoordinateSensorBatch(elements, number, coordinates_of(elements, number))


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
        Points of a and of b, world frame, as built; the nodes themselves by default.
    """

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        quantity: Annotated[str, choice(OF_LINE)] = "length",
        *,
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
        return CoordinateSensorBatch(elements, number, lengths_of(elements, number))

    def picture(self, number: Numbering, stations: int) -> Picture | None:  # type: ignore[override]
        """Nothing is drawn."""
        return None


class CoordinateSensorContext(NamedTuple):
    """What gradients are made of."""

    measured: Measured
    value: Array
    V: Array


class CoordinateSensorBatch(SensorBatch):
    """Sensors of coordinates that are measured in one way, or of their rates."""

    def __init__(self, sensors: Sequence[Any], number: Numbering, coordinates: CoordinateBatch) -> None:
        super().__init__(sensors, number, coordinates.nodes, coordinates.own)
        self._coordinates = coordinates
        self._rate = sensors[0].quantity in ("coordinate_rate", "speed")
        self._counts = ANGLE in sensors[0].internal_variables

    def measure(self, motion: Motion, prescribed: None) -> tuple[Array, CoordinateSensorContext]:
        """Values or rates."""
        measured, V = self._coordinates.evaluate(motion), self._coordinates.velocities(motion)
        value = np.vecdot(measured.gradient, V) if self._rate else measured.value
        if self._counts:
            value = continued(value, motion.u[self._own[:, 1]])
        return value, CoordinateSensorContext(measured, value, V)

    def by_place(self, context: CoordinateSensorContext) -> Array:
        """``G``, or ``V^T H`` of rates."""
        measured = context.measured
        if not self._rate:
            return measured.gradient
        gradient: Array = np.vecmat(context.V, self._coordinates.second(measured.context))
        return gradient

    def by_velocity(self, context: CoordinateSensorContext) -> Array | None:
        """``G`` of rates."""
        return context.measured.gradient if self._rate else None

    def accept(self, context: CoordinateSensorContext) -> Array:
        """Angles with their turns."""
        result = np.zeros(self.own.shape)
        result[:, -1] = context.value
        return result
