"""The contract of a sensor: one algebraic variable ``y`` each, with the equation ``y - s = 0``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts.component import InternalVariable, Numbering, node_rows, own_rows
from fem_mbs.contracts.element import ElementBatch
from fem_mbs.contracts.motion import Motion
from fem_mbs.contracts.signal import ControlElement
from fem_mbs.errors import MissingMethodError

SENSOR_VALUE = InternalVariable("value", "algebraic")


class Sensor(ControlElement):
    """Base of sensors; ``solution.signal(sensor)`` has what it measured."""

    internal_variables: tuple[InternalVariable, ...] = (SENSOR_VALUE,)


class SensorBatch(ElementBatch):
    """Sensors as arrays, on ``b`` components each: those of nodes, and of internal variables of others.

    A subclass defines ``measure(motion, prescribed)``, which returns the values ``(n,)`` and a context, and the
    gradients ``(n, b)`` of the values against increments, velocities and accelerations.

    Parameters
    ----------
    nodes : (n, p), optional
        Rows of the nodes, if they are not those of the sensors.
    others : (n, s), optional
        Rows of the internal variables of others that the values depend on.
    """

    own: IntArray
    terms = 2

    def __init__(
        self,
        sensors: Sequence[Sensor],
        number: Numbering,
        nodes: IntArray | None = None,
        others: IntArray | None = None,
    ) -> None:
        self.owners = sensors
        self.nodes = node_rows(sensors, number) if nodes is None else nodes
        self._own = own = own_rows(sensors, number)
        self.own = own if others is None else np.concatenate([others, own], axis=-1)
        self.b = 6 * self.nodes.shape[1] + self.own.shape[1] - own.shape[1]
        self._size = self.b + own.shape[1]

    def measure(self, motion: Motion, prescribed: Any) -> tuple[Array, Any]:
        """Values and context."""
        raise MissingMethodError(f"{type(self).__name__} must define measure(motion, prescribed)")

    def by_place(self, context: Any) -> Array:
        """Gradients against increments."""
        raise MissingMethodError(f"{type(self).__name__} must define by_place(context)")

    def by_velocity(self, context: Any) -> Array | None:
        """Gradients against velocities; None for zero."""
        return None

    def by_acceleration(self, context: Any) -> Array | None:
        """Gradients against accelerations; None for zero."""
        return None

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Any]:
        """``y`` and ``-s``."""
        value, context = self.measure(motion, prescribed)
        terms = np.zeros((len(value), 2, self._size))
        terms[:, 0, self.b] = motion.u[self._own[:, 0]]
        terms[:, 1, self.b] = -value
        return terms, context

    def stiffness(self, context: Any) -> Array:
        """``1`` and minus the gradient."""
        K = self._row(self.by_place(context))
        K[:, self.b, self.b] += 1.0
        return K

    def damping(self, context: Any) -> Array | None:
        """Of sensors of velocities and accelerations."""
        gradient = self.by_velocity(context)
        return None if gradient is None else self._row(gradient)

    def mass(self, context: Any) -> Array | None:
        """Of sensors of accelerations."""
        gradient = self.by_acceleration(context)
        return None if gradient is None else self._row(gradient)

    def _row(self, gradient: Array) -> Array:
        """Matrices with minus a gradient in the row of the sensor."""
        result = np.zeros((len(gradient), self._size, self._size))
        result[:, self.b, : self.b] = -gradient
        return result
