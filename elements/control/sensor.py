"""Sensors of coordinates of joints and of lines, of multipliers, and of functions of the motion that users give."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import (
    LARGEST,
    Constraint,
    Measured,
    Motion,
    NodeLike,
    Numbering,
    Picture,
    Sensor,
    SensorBatch,
    Vector3,
    answer,
    checked,
    choice,
    continued,
    function,
    shown,
)
from fem_mbs.elements.forces.coordinate_law import ANGLE, CoordinateElement, JointLike
from fem_mbs.elements.forces.line import LineElement
from fem_mbs.errors import ModelError
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

    def batch_key(self) -> Hashable:
        return len(self.nodes)


class FunctionSensorBatch(SensorBatch, of=FunctionSensor):
    """Functions are asked one after the other."""

    asks = True

    def __init__(self, sensors: Sequence[FunctionSensor], number: Numbering) -> None:
        super().__init__(sensors, number)
        self._sensors, self._origin = sensors, number.origin

    def measure(self, motion: Motion, prescribed: None) -> tuple[Array, list[Motion]]:
        x = motion.x + self._origin
        motions = [
            Motion(motion.t, x[rows], motion.R[rows], motion.V[rows], motion.A[rows], motion.gravity)
            for rows in self.nodes
        ]
        return np.array([_asked(own, m) for own, m in zip(self._sensors, motions, strict=True)]), motions

    def by_place(self, context: list[Motion]) -> Array:
        return self._gradient(context, _moved)

    def by_velocity(self, context: list[Motion]) -> Array:
        return self._gradient(context, lambda m, d: replace(m, V=m.V + d))

    def by_acceleration(self, context: list[Motion]) -> Array:
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
    where = partial(" at t = {:.6g} s".format, motion.t)
    return float(answer(sensor, "its function", sensor.measure, (motion,), where=where, largest=LARGEST))


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
        return motion.multipliers[self.reads[:, 0]], None

    def by_place(self, context: None) -> Array:
        return np.zeros((len(self.reads), 0))

    def by_multipliers(self, context: None) -> Array:
        return np.full((len(self.reads), 1, 1), -1.0)


OF_JOINT = ("coordinate", "coordinate_rate")
OF_LINE = ("length", "speed")


@checked
class JointSensor(Sensor, CoordinateElement):
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
        CoordinateElement.__init__(self, joint, coordinate, counts_turns=quantity == "coordinate")
        self.quantity = quantity

    def batch_key(self) -> Hashable:
        return self.quantity, CoordinateElement.batch_key(self)


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
        return self.quantity

    def picture(self, number: Numbering, stations: int) -> Picture | None:
        return None


class CoordinateSensorContext(NamedTuple):
    """What gradients are made of."""

    measured: Measured
    value: Array
    V: Array


class CoordinateSensorBatch(SensorBatch, of=(JointSensor, LineSensor)):
    """Sensors of coordinates that are measured in one way, or of their rates."""

    def __init__(self, sensors: Sequence[Any], number: Numbering) -> None:
        coordinates = type(sensors[0]).measured_by(sensors, number)
        super().__init__(sensors, number, coordinates.nodes, coordinates.own)
        self._coordinates = coordinates
        self._rate = sensors[0].quantity in ("coordinate_rate", "speed")
        self._counts = ANGLE in sensors[0].internal_variables

    def measure(self, motion: Motion, prescribed: None) -> tuple[Array, CoordinateSensorContext]:
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
