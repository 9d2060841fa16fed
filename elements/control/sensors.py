"""Sensors of joints, lines and multipliers, of functions of the motion, and of a point and the turning of a node.

In body components, with the direction ``e`` there, a point at ``c`` has the velocity ``w = U + Omega x c`` and the
acceleration ``s = a + alpha x c + Omega x (Omega x c)``; a direction of the world follows ``delta e = e x delta theta``
(docs/theory.md, "Control").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Motion, Node, Numbering, Picture, Sensor, SensorBatch, answer, checked, lever
from fem_mbs.contracts.arguments import LARGEST, Direction, Vector3, choice, function, shown
from fem_mbs.contracts.constraint import Constraint, Measured, NodeLike, continued
from fem_mbs.elements.forces.coordinate_law import ANGLE, CoordinateElement, JointLike
from fem_mbs.elements.forces.line import LineElement
from fem_mbs.elements.forces.loads import Frame
from fem_mbs.elements.forces.user_laws import slope
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3

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
        def moved(motion: Motion, d: Array) -> Motion:
            x, R = motion.x + np.matvec(motion.R, d[:, :3]), motion.R @ so3.exp(d[:, 3:])
            return replace(motion, x=x, R=R)

        return self._gradient(context, moved)

    def by_velocity(self, context: list[Motion]) -> Array:
        return self._gradient(context, lambda m, d: replace(m, V=m.V + d))

    def by_acceleration(self, context: list[Motion]) -> Array:
        return self._gradient(context, lambda m, d: replace(m, A=m.A + d))

    def _gradient(self, motions: list[Motion], changed: Callable[[Motion, Array], Motion]) -> Array:
        p = self.nodes.shape[1]
        ways = np.eye(6 * p).reshape(-1, p, 6)

        def along(sensor: FunctionSensor, motion: Motion, d: Array) -> float:
            return slope(lambda way: _asked(sensor, changed(motion, way * d)), None, 0.0)

        pairs = zip(self._sensors, motions, strict=True)
        return np.array([[along(sensor, motion, d) for d in ways] for sensor, motion in pairs])


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

    _instead = ""

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
        return np.vecmat(context.V, self._coordinates.second(measured.context))

    def by_velocity(self, context: CoordinateSensorContext) -> Array | None:
        """``G`` of rates."""
        return context.measured.gradient if self._rate else None

    def accept(self, context: CoordinateSensorContext) -> Array:
        """Angles with their turns."""
        return np.append(np.zeros((len(self.own), self.own.shape[1] - 1)), context.value[:, None], axis=1)

    def history_rates(self, context: CoordinateSensorContext) -> Array:
        return self.accept(context._replace(value=np.vecdot(context.measured.gradient, context.V)))


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
            raise ModelError(
                f"NodeSensor on {node}: a {quantity} is measured along a direction of the world frame; leave frame out"
            )

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
        if self._quantity == "position":
            return self._moving(context.e)
        turned = so3.cross(context.along, context.e) if self._world else np.zeros_like(context.e)
        if self._quantity == "rotation_vector":
            turned = np.vecmat(context.e, so3.inverse_tangent_operator(context.w))
        return np.concatenate([np.zeros_like(turned), turned], axis=-1)

    def by_velocity(self, context: NodeSensorContext) -> Array | None:
        if self._quantity != "acceleration":
            return self._moving(context.e) if "velocity" in self._quantity else None
        e, c, Omega = context.e, self._c, context.Omega
        round_ = so3.cross(so3.cross(Omega, c), e) + so3.cross(c, so3.cross(e, Omega))
        return np.concatenate([np.zeros_like(e), round_], axis=-1)

    def by_acceleration(self, context: NodeSensorContext) -> Array | None:
        return self._moving(context.e) if "acceleration" in self._quantity else None

    def _moving(self, e: Array) -> Array:
        """How fast the point moves along ``e`` (n, 3), or the node turns about it, by the motion of the node."""
        if self._quantity.startswith("angular"):
            return np.concatenate([np.zeros_like(e), e], axis=-1)
        return np.concatenate([e, so3.cross(self._c, e)], axis=-1)
