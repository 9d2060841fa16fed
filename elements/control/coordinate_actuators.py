"""Forces along coordinates, of joints and of lines between points, whose size is a signal."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.control.signal import Input, Wires, sources
from fem_mbs.elements.coordinate_law import Joint, chosen, coordinates_of
from fem_mbs.elements.line import LineElement, lengths_of
from fem_mbs.model import CoordinateBatch, Element, ElementBatch, Measured, Motion, Node, Numbering, Vector3, checked


@checked
class JointActuator(Element):
    """A motor or a cylinder in a joint: a force or a torque along a coordinate, of b against a.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    input : signal
        The force in N, or the torque in N m, positive where the coordinate grows.
    coordinate : str, optional
        Which coordinate, by its name, where the joint has several.
    """

    active = True
    sign = 1.0

    def __init__(self, joint: Joint, input: Input, coordinate: str | None = None) -> None:
        self.joint, self.nodes, self.inputs = joint, joint.nodes, (input,)
        self.coordinate = chosen(joint, coordinate, type(self).__name__)

    def batch_key(self) -> Hashable:
        """Coordinates that are measured in one way, with inputs that read as many unknowns."""
        return self.joint.coordinate_key(self.coordinate), len(sources(self.inputs))

    @classmethod
    def batch(cls, elements: Sequence[JointActuator], number: Numbering) -> ElementBatch:
        """All actuators on such coordinates."""
        return CoordinateActuatorBatch(elements, number, coordinates_of(elements, number))


@checked
class LineActuator(LineElement):
    """A cylinder, a winch, a voice coil along the line between points of two nodes.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    input : signal
        The force in N, a pull.
    point_a, point_b : (3,), optional
        The points in the node frames; the nodes themselves by default.
    """

    active = True
    sign = -1.0

    def __init__(
        self,
        a: Node,
        b: Node,
        input: Input,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        self.inputs = (input,)

    def batch_key(self) -> Hashable:
        """Inputs that read as many unknowns."""
        return len(sources(self.inputs))

    @classmethod
    def batch(cls, elements: Sequence[LineActuator], number: Numbering) -> ElementBatch:
        """All actuators along lines."""
        return CoordinateActuatorBatch(elements, number, lengths_of(elements, number))


class Context(NamedTuple):
    """What matrices are made of."""

    measured: Measured
    resists: Array
    """What acts against the coordinates, ``(n, 1)``."""


class CoordinateActuatorBatch(ElementBatch):
    """Forces along coordinates that are measured in one way."""

    def __init__(self, actuators: Sequence[Any], number: Numbering, coordinates: CoordinateBatch) -> None:
        self.owners, self._coordinates = actuators, coordinates
        self.nodes = coordinates.nodes
        self._wires = Wires(actuators, [actuator.inputs for actuator in actuators], number)
        rows = self._wires.rows
        self.own = rows if coordinates.own is None else np.concatenate([coordinates.own, rows], axis=-1)
        self._sign = actuators[0].sign
        self._size = 6 * self.nodes.shape[1] + self.own.shape[1]
        self._b = self._size - rows.shape[1]

    def at(self, t: float) -> Array:
        """What functions of time put in, ``(n, 1)``."""
        return self._wires.at(t)

    def next_jump(self, t: float, u: Array) -> float:
        """When the input jumps next."""
        return self._wires.next_jump(t)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, Context]:
        """``G^T N``, where ``N`` resists the coordinate."""
        measured = self._coordinates.evaluate(motion)
        resists = -self._sign * self._wires.values(motion.u, prescribed)
        force = np.zeros((len(resists), self._size))
        force[:, : self._b] = resists * measured.gradient
        return force, Context(measured, resists)

    def stiffness(self, context: Context) -> Array:
        """``N H``, and the signal."""
        measured, resists = context
        K = np.zeros((len(resists), self._size, self._size))
        K[:, : self._b, : self._b] = resists[..., None] * self._coordinates.second(measured.context)
        K[:, : self._b, self._b :] = -self._sign * measured.gradient[:, :, None] * self._wires.W
        return K
