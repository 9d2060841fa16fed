"""Forces whose size is a signal: on nodes, and along coordinates of joints and of lines between points.

In body components a unit force along ``e`` at the point ``c`` is ``g = (e, c x e)``, a unit moment ``(0, e)``; a
direction of the world follows ``delta e = e x delta theta`` (docs/theory.md, "Control").
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Input, Measured, ModelContext, Motion, NodeLike, Numbering, WiredBatch, checked
from fem_mbs.contracts.arguments import Direction, Vector3
from fem_mbs.contracts.signal import sources
from fem_mbs.elements.control.controllers import PID
from fem_mbs.elements.control.sensors import JointSensor
from fem_mbs.elements.forces.coordinate_law import CoordinateElement, JointLike
from fem_mbs.elements.forces.line import LineElement
from fem_mbs.elements.forces.loads import FORCE, MOMENT, BodyLoads, Frame, NodeLoad, WorldLoads


@checked
class JointActuator(CoordinateElement):
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

    def __init__(self, joint: JointLike, input: Input, *, coordinate: str | None = None) -> None:
        super().__init__(joint, coordinate, counts_turns=False)
        self.inputs = (input,)

    def doubts(self, around: ModelContext) -> Iterator[str]:
        """A controller whose error grows with the coordinate, and drives it on."""
        here = self.joint, self.coordinate
        for (control, _), factor in self.inputs[0].terms.items():
            for (sensor, _), sign in control.inputs[0].terms.items() if isinstance(control, PID) else ():
                if isinstance(sensor, JointSensor) and (sensor.joint, sensor.coordinate) == here:
                    if factor * sign * (control.matrices.D[0, 0] or control.matrices.B[:1, 0].sum()) > 0.0:
                        yield (
                            f"the error of {control} grows with {sensor}, and so does its force, which drives it away: "
                            "the error is reference minus measured, as 0 - angle"
                        )

    def batch_key(self) -> Hashable:
        """Coordinates that are measured in one way, with inputs that read as many internal variables."""
        return super().batch_key(), len(sources(self.inputs))


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
        Points of a and of b, world frame, as built; the nodes themselves by default.
    """

    active = True
    sign = -1.0

    def __init__(
        self, a: NodeLike, b: NodeLike, input: Input, *, point_a: Vector3 | None = None, point_b: Vector3 | None = None
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        self.inputs = (input,)

    def batch_key(self) -> Hashable:
        return None, len(sources(self.inputs))


class CoordinateActuatorBatch(WiredBatch, of=(JointActuator, LineActuator)):
    """Forces along coordinates that are measured in one way."""

    def __init__(self, actuators: Sequence[Any], number: Numbering) -> None:
        super().__init__(actuators, number)
        self._coordinates = coordinates = type(actuators[0]).measured_by(actuators, number)
        self.nodes, rows = coordinates.nodes, self.rows
        self.own = rows if coordinates.own is None else np.concatenate([coordinates.own, rows], axis=-1)
        self._sign = actuators[0].sign
        self._size = 6 * self.nodes.shape[1] + self.own.shape[1]
        self._b = self._size - rows.shape[1]

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, tuple[Measured, Array]]:
        measured = self._coordinates.evaluate(motion)
        resists = -self._sign * self.inputs(motion.u, prescribed)
        force = np.zeros((len(resists), self._size))
        force[:, : self._b] = resists * measured.gradient
        return force, (measured, resists)

    def stiffness(self, context: tuple[Measured, Array]) -> Array:
        """``N H``, and the signal."""
        measured, resists = context
        K = np.zeros((len(resists), self._size, self._size))
        K[:, : self._b, : self._b] = resists[..., None] * self._coordinates.second(measured.context)
        K[:, : self._b, self._b :] = -self._sign * measured.gradient[:, :, None] * self.W
        return K


@checked
class NodeActuator(NodeLoad):
    """A force or a moment on a node; see :class:`ForceActuator` and :class:`MomentActuator`."""

    _internal = "value"

    def __init__(
        self,
        node: NodeLike,
        input: Input,
        direction: Direction,
        *,
        frame: Frame = "world",
        point: Vector3 | None = None,
    ) -> None:
        super().__init__(node, direction, frame, point)
        self.inputs, self.direction = (input,), np.asarray(direction)

    def batch_key(self) -> Hashable:
        return self.frame, len(sources(self.inputs))


class ForceActuator(NodeActuator):
    """A force on a node along a direction.

    Parameters
    ----------
    node : Node
        Where it acts.
    input : signal
        Its size in N.
    direction : (3,)
        Only its direction counts.
    frame : {"world", "body"}
        Frame of ``direction``: one of the world stays in space, one of the node frame turns with the node.
    point : (3,), optional
        Point of application, world frame, as built, which then moves with the node; by default the node itself.
    """

    part = FORCE


@checked
class MomentActuator(NodeActuator):
    """A moment on a node about a direction.

    Parameters
    ----------
    node : Node
        Where it acts.
    input : signal
        Its size in N m.
    direction : (3,)
        Only its direction counts.
    frame : {"world", "body"}
        Frame of ``direction``: one of the world stays in space, one of the node frame turns with the node.
    """

    part = MOMENT

    def __init__(self, node: NodeLike, input: Input, direction: Direction, *, frame: Frame = "world") -> None:
        super().__init__(node, input, direction, frame=frame)


class NodeActuatorBatch(WiredBatch, of=NodeActuator):
    """Forces and moments on nodes as arrays: signals times loads of size one."""

    def __init__(self, actuators: Sequence[NodeActuator], number: Numbering) -> None:
        super().__init__(actuators, number)
        self._loads = (WorldLoads if actuators[0].frame == "world" else BodyLoads)(actuators, number)
        self.nodes, self._ones = self._loads.nodes, self._loads.at(0.0)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, tuple[Array, Array, Any]]:
        one, context = self._loads.force(motion, self._ones)
        value = self.inputs(motion.u, prescribed)
        return np.concatenate([value * one, np.zeros(self.own.shape)], axis=-1), (one, value, context)

    def stiffness(self, context: tuple[Array, Array, Any]) -> Array:
        """By the signal, and by directions of the world, which turn against the node."""
        one, value, of_loads = context
        size = 6 + self.own.shape[1]
        K = np.zeros((len(one), size, size))
        K[:, :6, :6] = value[..., None] * self._loads.stiffness(of_loads)
        K[:, :6, 6:] = one[..., None] * self.W
        return K
