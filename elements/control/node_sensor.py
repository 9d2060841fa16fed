"""Sensors on a node: place, velocity and acceleration of a point, and how the node turns.

In body components, with the direction ``e`` there, a point at ``c`` has the velocity ``w = U + Omega x c`` and the
acceleration ``s = a + alpha x c + Omega x (Omega x c)``; a direction of the world follows ``delta e = e x delta theta``
(docs/theory.md, "Control").
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Direction,
    Motion,
    Node,
    NodeLike,
    Numbering,
    Sensor,
    SensorBatch,
    Vector3,
    checked,
    choice,
    lever,
)
from fem_mbs.elements.forces.loads import Frame
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3

QUANTITIES: dict[str, str] = {
    "position": "m",
    "velocity": "m/s",
    "acceleration": "m/s^2",
    "rotation_vector": "rad",
    "angular_velocity": "rad/s",
    "angular_acceleration": "rad/s^2",
}
"""What a node can be asked for, and its unit."""


@checked
class NodeSensor(Sensor):
    """A component of the motion of a node.

    Parameters
    ----------
    node : Node
        Where it is fixed.
    quantity : {"position", "velocity", "acceleration", "rotation_vector", "angular_velocity", "angular_acceleration"}
        What it measures. "position" is that of ``point`` from ``origin``; "rotation_vector" is that of the rotation
        since t = 0, at most half a turn; a sensor on a joint counts turns.
    direction : (3,)
        Along which, or about which; only its direction counts.
    frame : {"world", "body"}
        Frame of ``direction``: one of the world stays in space, one of the node frame turns with the node. "position"
        and "rotation_vector" are measured along directions of the world.
    point : (3,), optional
        Point that is measured, world frame, as built, which then moves with the node; by default the node itself.
    origin : (3,)
        From where positions count, world frame; it stays in space.
    """

    def __init__(
        self,
        node: NodeLike,
        quantity: Annotated[str, choice(QUANTITIES)],
        direction: Direction,
        *,
        frame: Frame = "world",
        point: Vector3 | None = None,
        origin: Vector3 = (0.0, 0.0, 0.0),
    ) -> None:
        self.nodes = (node,)
        self.quantity, self.frame = quantity, frame
        self.direction, self.origin, self.offset = np.asarray(direction), np.asarray(origin), lever(node, point)
        if frame == "body" and quantity in ("position", "rotation_vector"):
            raise ModelError(f"NodeSensor on {node}: a {quantity} is measured along a direction of the world frame")

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """The node, unless its place alone matters."""
        translation = self.quantity in ("position", "velocity", "acceleration")
        return () if translation and self.frame == "world" and not self.offset.any() else self.nodes

    def batch_key(self) -> Hashable:
        return self.quantity, self.frame


class NodeSensorContext(NamedTuple):
    """What gradients are made of, each ``(n, 3)`` in body components."""

    e: Array
    Omega: Array
    along: Array
    """The vector that is measured."""
    w: Array
    """Rotation vector, of sensors of rotations."""


class NodeSensorBatch(SensorBatch, of=NodeSensor):
    """Sensors of one quantity on one node each."""

    def __init__(self, sensors: Sequence[NodeSensor], number: Numbering) -> None:
        super().__init__(sensors, number)
        self._quantity, self._world = sensors[0].quantity, sensors[0].frame == "world"
        self._direction = np.array([sensor.direction for sensor in sensors])
        self._c = np.array([sensor.offset for sensor in sensors])
        self._origin = np.array([sensor.origin for sensor in sensors]) - number.origin
        self._R0 = np.array([sensor.nodes[0].rotation for sensor in sensors])

    def measure(self, motion: Motion, prescribed: None) -> tuple[Array, NodeSensorContext]:
        rows, c = self.nodes[:, 0], self._c
        R = motion.R[rows]
        (U, Omega), (a, alpha) = (np.split(rates[rows], 2, axis=1) for rates in (motion.V, motion.A))
        e = np.vecmat(self._direction, R) if self._world else self._direction
        w = none = np.zeros_like(c)
        if self._quantity == "position":
            along = motion.x[rows] + np.matvec(R, c) - self._origin
            return np.vecdot(self._direction, along), NodeSensorContext(e, Omega, none, none)
        if self._quantity == "rotation_vector":
            w = so3.log(self._R0.mT @ R)
            e = np.vecmat(self._direction, self._R0)
            return np.vecdot(e, w), NodeSensorContext(e, Omega, none, w)
        if self._quantity == "velocity":
            along = U + so3.cross(Omega, c)
        elif self._quantity == "acceleration":
            along = a + so3.cross(alpha, c) + so3.cross(Omega, so3.cross(Omega, c))
        else:
            along = Omega if self._quantity == "angular_velocity" else alpha
        return np.vecdot(e, along), NodeSensorContext(e, Omega, along, none)

    def by_place(self, context: NodeSensorContext) -> Array:
        """Of positions and rotations, and by directions of the world that turn against the node."""
        e = context.e
        if self._quantity == "position":
            return np.concatenate([e, so3.cross(self._c, e)], axis=-1)
        none = np.zeros_like(e)
        if self._quantity == "rotation_vector":
            return np.concatenate([none, np.vecmat(e, so3.inverse_tangent_operator(context.w))], axis=-1)
        return np.concatenate([none, so3.cross(context.along, e) if self._world else none], axis=-1)

    def by_velocity(self, context: NodeSensorContext) -> Array | None:
        """Of velocities, and of accelerations of points that go round."""
        e, c, Omega, none = context.e, self._c, context.Omega, np.zeros_like(context.e)
        if self._quantity == "velocity":
            return np.concatenate([e, so3.cross(c, e)], axis=-1)
        if self._quantity == "angular_velocity":
            return np.concatenate([none, e], axis=-1)
        if self._quantity == "acceleration":
            round_ = so3.cross(so3.cross(Omega, c), e) + so3.cross(c, so3.cross(e, Omega))
            return np.concatenate([none, round_], axis=-1)
        return None

    def by_acceleration(self, context: NodeSensorContext) -> Array | None:
        e = context.e
        if self._quantity == "acceleration":
            return np.concatenate([e, so3.cross(self._c, e)], axis=-1)
        if self._quantity == "angular_acceleration":
            return np.concatenate([np.zeros_like(e), e], axis=-1)
        return None
