"""What sensors share: one algebraic unknown ``y`` each, with the equation ``y - s = 0``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.control.signal import ControlElement
from fem_mbs.model import ElementBatch, Motion, Numbering, Unknown, node_rows, own_rows

ONE = (Unknown("value", "algebraic"),)


class Sensor(ControlElement):
    """Base of sensors; ``solution.signal(sensor)`` has what it measured."""

    unknowns = ONE


class SensorBatch(ElementBatch):
    """Sensors on ``p`` nodes each as arrays.

    A subclass defines ``measure(motion, prescribed)``, which returns the values ``(n,)`` and a context, and the
    gradients ``(n, 6p)`` of the values against increments, velocities and accelerations of the nodes.
    """

    terms = 2

    def __init__(self, sensors: Sequence[Sensor], number: Numbering) -> None:
        self.owners = sensors
        self.nodes = node_rows(sensors, number)
        self.own = own_rows(sensors, number)

    def measure(self, motion: Motion, prescribed: Any) -> tuple[Array, Any]:
        """Values and context."""
        raise NotImplementedError(f"{type(self).__name__} must define measure(motion, prescribed)")

    def by_place(self, context: Any) -> Array:
        """Gradients against increments."""
        raise NotImplementedError(f"{type(self).__name__} must define by_place(context)")

    def by_velocity(self, context: Any) -> Array | None:
        """Gradients against velocities; None for zero."""
        return None

    def by_acceleration(self, context: Any) -> Array | None:
        """Gradients against accelerations; None for zero."""
        return None

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Any]:
        """``y`` and ``-s``."""
        value, context = self.measure(motion, prescribed)
        b = 6 * self.nodes.shape[1]
        terms = np.zeros((len(value), 2, b + self.own.shape[1]))  # type: ignore[union-attr]
        terms[:, 0, b] = motion.u[self.own[:, 0]]  # type: ignore[index]
        terms[:, 1, b] = -value
        return terms, context

    def stiffness(self, context: Any) -> Array:
        """``1`` and minus the gradient."""
        K = self._row(self.by_place(context))
        b = 6 * self.nodes.shape[1]
        K[:, b, b] += 1.0
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
        b = 6 * self.nodes.shape[1]
        size = b + self.own.shape[1]  # type: ignore[union-attr]
        result = np.zeros((len(gradient), size, size))
        result[:, b, : gradient.shape[1]] = -gradient
        return result
