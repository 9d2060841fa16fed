"""What sensors share, one algebraic variable ``y`` each, ``y - s = 0``; multipliers, and users' own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import (
    LARGEST,
    Constraint,
    Motion,
    NodeLike,
    Numbering,
    Sensor,
    SensorBatch,
    checked,
    function,
    real,
    shown,
)
from fem_mbs.errors import LawError, ModelError
from fem_mbs.lie import so3

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
        Returns a number. The :class:`~fem_mbs.contracts.Motion` has these nodes alone, in their order: ``x`` (p, 3)
        world, ``R`` (p, 3, 3), ``V`` and ``A`` (p, 6) in body components, ``t`` and ``gravity``. Derivatives come from
        differences.
    """

    def __init__(self, nodes: Sequence[NodeLike], measure: Measure) -> None:
        self.nodes, self.measure = tuple(nodes), measure
        if not self.nodes:
            raise ModelError("FunctionSensor: nodes must be one node at least, received none")

    def batch_key(self) -> int:
        """Sensors on as many nodes share a batch."""
        return len(self.nodes)


class FunctionSensorBatch(SensorBatch, of=FunctionSensor):
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
        text = f"{sensor}: its function failed at t = {motion.t:.6g} s: {error!r}"
        raise LawError(text, of_motion=True) from error
    value = real(given)
    if value is None or value.shape != () or not np.abs(value) <= LARGEST:
        raise LawError(
            f"{sensor}: its function must return one finite number, received {shown(given)} at t = {motion.t:.6g} s",
            of_motion=True,
        )
    return float(value)


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


class MultiplierSensorBatch(SensorBatch, of=MultiplierSensor):
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
