"""Sensors that a user writes: a function of the motion of some nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.control.sensor import Sensor, SensorBatch
from fem_mbs.errors import LawError, ModelError
from fem_mbs.lie import so3
from fem_mbs.model import ElementBatch, Motion, Node, Numbering, checked, function, real, shown

STEP = 1e-5
"""Differences over this step of quantities of order one are exact to about ten digits."""

Measure = Annotated[Callable[[Motion], float], partial(function, of=" of a Motion")]


@checked
class FunctionSensor(Sensor):
    """What a function says of the motion of some nodes.

    Parameters
    ----------
    nodes : list of Node
        The nodes that it looks at.
    measure : function of a Motion
        Returns a number. The :class:`~fem_mbs.model.Motion` has these nodes alone, in their order: ``x`` (p, 3) world,
        ``R`` (p, 3, 3), ``V`` and ``A`` (p, 6) in body components, ``t`` and ``gravity``. Derivatives come from
        differences.
    """

    def __init__(self, nodes: Sequence[Node], measure: Measure) -> None:
        self.nodes, self.measure = tuple(nodes), measure
        if not self.nodes:
            raise ModelError("FunctionSensor: nodes must be one node at least, received none")

    def batch_key(self) -> int:
        """Sensors on as many nodes share a batch."""
        return len(self.nodes)

    @classmethod
    def batch(cls, elements: Sequence[FunctionSensor], number: Numbering) -> ElementBatch:
        """All such sensors on as many nodes."""
        return FunctionSensorBatch(elements, number)


class FunctionSensorBatch(SensorBatch):
    """Functions are asked one after the other."""

    def __init__(self, sensors: Sequence[FunctionSensor], number: Numbering) -> None:
        super().__init__(sensors, number)
        self._sensors, self._origin = sensors, number.origin

    def measure(self, motion: Motion, prescribed: None) -> tuple[Array, list[Motion]]:
        """What the functions return."""
        x = motion.x + self._origin
        motions = [
            Motion(motion.t, x[rows], motion.R[rows], motion.V[rows], motion.A[rows], motion.gravity)
            for rows in self.nodes
        ]
        return np.array([_asked(own, m) for own, m in zip(self._sensors, motions, strict=True)]), motions

    def by_place(self, context: list[Motion]) -> Array:
        """By differences."""
        return self._gradient(context, _moved)

    def by_velocity(self, context: list[Motion]) -> Array:
        """By differences."""
        return self._gradient(context, lambda m, d: replace(m, V=m.V + d))

    def by_acceleration(self, context: list[Motion]) -> Array:
        """By differences."""
        return self._gradient(context, lambda m, d: replace(m, A=m.A + d))

    def _gradient(self, motions: list[Motion], changed: Callable[[Motion, Array], Motion]) -> Array:
        p = self.nodes.shape[1]
        ways = STEP * np.eye(6 * p).reshape(-1, p, 6)

        def slope(sensor: FunctionSensor, motion: Motion, d: Array) -> float:
            return (_asked(sensor, changed(motion, d)) - _asked(sensor, changed(motion, -d))) / (2.0 * STEP)

        pairs = zip(self._sensors, motions, strict=True)
        return np.array([[slope(sensor, motion, d) for d in ways] for sensor, motion in pairs])


def _moved(motion: Motion, d: Array) -> Motion:
    """A motion after body increments ``(p, 6)``."""
    x, R = motion.x + np.matvec(motion.R, d[:, :3]), motion.R @ so3.exp(d[:, 3:])
    return replace(motion, x=x, R=R)


def _asked(sensor: FunctionSensor, motion: Motion) -> float:
    """The number that the function of a sensor returns."""
    try:
        given = sensor.measure(motion)
    except Exception as error:
        raise LawError(f"{sensor}: its function failed at t = {motion.t:.6g} s: {error!r}") from error
    value = real(given)
    if value is None or value.shape != () or not np.isfinite(value):
        raise LawError(
            f"{sensor}: its function must return one finite number, received {shown(given)} at t = {motion.t:.6g} s"
        )
    return float(value)
