"""Sensors of reactions: the multiplier of an equation of a joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.control.sensor import Sensor, SensorBatch
from fem_mbs.errors import ModelError
from fem_mbs.model import Constraint, ElementBatch, Motion, Numbering, checked, shown


@checked
class MultiplierSensor(Sensor):
    """The multiplier of an equation of a joint: a force sensor in it, or what a drive takes.

    Parameters
    ----------
    joint : Constraint
        A joint of the model.
    equation : str, optional
        Which equation, one of ``joint.equations``, where it has several: "translation x" has the force along that axis
        of the joint, on a; that on b is opposite.

    Notes
    -----
    Reactions jump where loads do, and so do the accelerations of what they act on: a loop through them is algebraic.
    """

    def __init__(self, joint: Constraint, equation: str | None = None) -> None:
        self.joint, names = joint, joint.equations
        if equation is None and len(names) == 1:
            equation = names[0]
        if equation not in names:
            said = "say which by equation=" if equation is None else f"there is no {shown(equation)}"
            raise ModelError(f"MultiplierSensor: {joint} closes {', '.join(map(repr, names))}; {said}")
        self.equation = equation

    @classmethod
    def batch(cls, elements: Sequence[MultiplierSensor], number: Numbering) -> ElementBatch:
        """All such sensors."""
        return MultiplierSensorBatch(elements, number)


class MultiplierSensorBatch(SensorBatch):
    """Sensors of multipliers as arrays."""

    reads: IntArray

    def __init__(self, sensors: Sequence[MultiplierSensor], number: Numbering) -> None:
        super().__init__(sensors, number)
        rows = [number.multipliers(own.joint)[own.joint.equations.index(own.equation)] for own in sensors]
        self.reads = np.array(rows, np.intp)[:, None]

    def measure(self, motion: Motion, prescribed: None) -> tuple[Array, None]:
        """Multipliers."""
        return motion.multipliers[self.reads[:, 0]], None

    def by_place(self, context: None) -> Array:
        """Nothing."""
        return np.zeros((len(self.reads), 0))

    def by_multipliers(self, context: None) -> Array:
        """Minus one."""
        return np.full((len(self.reads), 1, 1), -1.0)
