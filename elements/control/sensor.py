"""Sensors of reactions: the multiplier of an equation of a joint.

What sensors share: one algebraic unknown ``y`` each, with the equation ``y - s = 0``.

Sensors that a user writes: a function of the motion of some nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import (
    Constraint,
    ElementBatch,
    Motion,
    Node,
    Numbering,
    Unknown,
    checked,
    function,
    node_rows,
    own_rows,
    real,
    shown,
)
from fem_mbs.elements.control.signal import ControlElement
from fem_mbs.errors import LawError, ModelError
from fem_mbs.lie import so3

VALUE = Unknown("value", "algebraic")


class Sensor(ControlElement):
    """Base of sensors; ``solution.signal(sensor)`` has what it measured."""

    unknowns: tuple[Unknown, ...] = (VALUE,)


class SensorBatch(ElementBatch):
    """Sensors as arrays, on ``b`` components each: those of nodes, and of unknowns of others.

    A subclass defines ``measure(motion, prescribed)``, which returns the values ``(n,)`` and a context, and the
    gradients ``(n, b)`` of the values against increments, velocities and accelerations.

    Parameters
    ----------
    nodes : (n, p), optional
        Rows of the nodes, if they are not those of the sensors.
    others : (n, s), optional
        Rows of the unknowns of others that the values depend on.
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
        Returns a number. The :class:`~fem_mbs.contracts.Motion` has these nodes alone, in their order: ``x`` (p, 3) world,
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
