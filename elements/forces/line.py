"""Elements that pull two points of two nodes together: the length of a line as a coordinate.

The points ``p_i = x_i + R_i c_i`` are at the distance ``length``, which body increments change by ``G`` and whose
gradient they change by ``H``: with the unit vector ``e`` from a to b and ``F = d(p_b - p_a)``, ``G = e^T F`` and
``H = F^T (I - e e^T) F/length + (d F^T) e`` (docs/theory.md, "Lines").

In pictures springs are coils whose pitch follows the length, actuators cylinders whose rods do, bars lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ArrayLike, IntArray
from fem_mbs.contracts import CoordinateBatch, Element, Measured, ModelContext, Motion, Node, NodeLike, checked, lever
from fem_mbs.contracts.arguments import Vector3
from fem_mbs.contracts.component import Numbering, node_rows
from fem_mbs.contracts.picture import Cells, Kind, Picture, Polyline
from fem_mbs.elements.forces.coordinate_law import CoordinateLawBatch
from fem_mbs.elements.joints.frames import OnPoints, two_nodes
from fem_mbs.elements.shapes import circle, tube
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.lie import so3

LONG = 10.0
"""Free length of a spring against its length as built that looks wrong."""
TURNS = 6
WIDE, THIN = 0.06, 0.025
"""Radii of coils and cylinders, and of rods, against the length as built."""
ENDS = 0.12
"""Share of a spring at each end that is straight."""
BARREL = 0.55
"""Length of a cylinder against the length as built."""


def bar(nodes: Sequence[Node], points: ArrayLike, number: Numbering, kind: Kind = Kind.LINE) -> Polyline:
    """A line between points in the frames of two nodes."""
    rows, ends = [number(node) for node in nodes], np.asarray(points)
    return Polyline(lambda motion: motion.x[rows] + np.matvec(motion.R[rows], ends), 2, kind)


Outline = tuple[Array, Array, list[tuple[str, IntArray]]]
"""Points along and across a line, and cells of these."""


class LinePicture:
    """A spring or an actuator.

    Its points are at ``along = (d, f)`` (n, 2) and ``across`` (n, 2): ``d + f length`` from point a along the line, and
    beside it along two directions that turn with node a.
    """

    def __init__(self, element: LineElement, rows: IntArray, stations: int) -> None:
        self._rows, self._points = rows, np.array(element.offsets)
        sides = 2 * (stations - 1)
        shape: Outline = np.array([[0.0, 0.0], [0.0, 1.0]]), np.zeros((2, 2)), [("line", np.array([[0, 1]]))]
        if sides > 2:
            shape = (_cylinder if element.active else _coil)(element.built, sides)
        self._along, self._across, cells = shape
        self.cells = []
        for kind, points in cells:
            numbers = {"part": np.full(len(points), Kind.SPRING), "element_id": np.zeros(len(points), np.intp)}
            self.cells.append(Cells(kind, points, numbers))
        a, b = (node.at(c) for node, c in zip(element.nodes, element.offsets, strict=True))
        e = element.nodes[0].rotation.T @ (b - a)
        self._sides = np.eye(3)[np.argsort(np.abs(e))[:2]]
        """Two directions in the frame of node a, of which the line turns to one at most."""

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """The points, and velocities of the line between its ends."""
        R, V = motion.R[self._rows], motion.V[self._rows]
        a, b = motion.x[self._rows] + np.matvec(R, self._points)
        length = np.linalg.norm(b - a)
        e = (b - a) / length
        side, second = R[0] @ self._sides[0], R[0] @ self._sides[1]
        if 1.0 - (side @ e) ** 2 < 0.1:
            side = second
        across = side - (side @ e) * e
        size = np.linalg.norm(across)
        across, beyond = across / size, np.cross(e, across) / size
        along = self._along @ np.array([1.0, length])
        beside = self._across @ np.stack([across, beyond])
        v_a, v_b = np.matvec(R, V[:, :3] + np.cross(V[:, 3:], self._points))
        longer = (v_b - v_a) @ e
        e_dot = (v_b - v_a - longer * e) / length
        # what is beside the line turns with it, and about it with node a
        twist = (np.cross(R[0] @ V[0, 3:], side) - (side @ e) * e_dot) @ beyond / size
        turning = np.cross(e, e_dot) + twist * e
        return {
            "points": a + along[:, None] * e + beside,
            "velocity": v_a
            + np.outer(along, e_dot)
            + np.outer(self._along[:, 1], longer * e)
            + np.cross(turning, beside),
            "angular_velocity": np.broadcast_to(turning, beside.shape),
        }


def _coil(built: float, sides: int) -> Outline:
    """A helix of lines with straight ends, ``sides`` a turn."""
    n = TURNS * sides + 1
    helix = WIDE * built * circle(sides)[np.arange(n) % sides]
    share = np.array([0.0, ENDS, *np.linspace(ENDS, 1.0 - ENDS, n), 1.0 - ENDS, 1.0])
    across = np.zeros((n + 4, 2))
    across[2:-2] = helix
    k = np.arange(n + 3)
    return np.stack([0.0 * share, share], axis=-1), across, [("line", np.stack([k, k + 1], axis=-1))]


def _cylinder(built: float, sides: int) -> Outline:
    """A barrel from point a on, of constant length, and a rod from its end to point b."""
    barrel = BARREL * built
    along = np.repeat([[0.0, 0.0], [barrel, 0.0], [barrel, 0.0], [0.0, 1.0]], sides, axis=0)
    across = built * np.concatenate([own * circle(sides) for own in (WIDE, WIDE, THIN, THIN)])
    quads, caps = tube(sides)
    return along, across, [("quad", np.concatenate([quads, quads + 2 * sides])), ("polygon", caps)]


COINCIDE = 1e-12
"""Points nearer than this share of the line as built are one point."""


@checked
class LineElement(OnPoints, Element):
    """Base of elements along the line from a point of node a to a point of node b.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point_a, point_b : (3,), optional
        Points of a and of b, world frame, as built; the nodes themselves by default.

    Attributes
    ----------
    offsets : tuple of (3,)
        The points in the frames of their nodes.
    built : float
        Distance of the points as built.
    """

    _internal: ClassVar[str] = "measured_by"
    _instead: ClassVar[str] = ", or take a Bushing, which acts in all directions"
    """What may stand between points at one place."""
    free_length: float = 0.0

    def __init__(self, a: NodeLike, b: NodeLike, point_a: Vector3 | None, point_b: Vector3 | None) -> None:
        kind = type(self).__name__
        self.nodes = two_nodes(type(self), a, b)
        self.offsets: tuple[Array, ...] = (lever(a, point_a), lever(b, point_b))
        start, end = (node.at(c) for node, c in zip(self.nodes, self.offsets, strict=True))
        self.built = float(np.linalg.norm(end - start))
        if self.built <= COINCIDE * max(np.abs(start).max(), np.abs(end).max()):
            raise ModelError(
                f"{kind} on {a}, {b}: its two points are at the same place, {start}; the line has no length and no "
                f"direction. Move one by point_a or point_b{self._instead}"
            )

    def doubts(self, around: ModelContext) -> Iterator[str]:
        if self.free_length > LONG * self.built:
            yield (
                f"its free length is {self.free_length:.3g}, and its points are {self.built:.3g} apart as built; look "
                "at their units"
            )

    @classmethod
    def measured_by(cls, elements: Sequence[LineElement], number: Numbering) -> LineLengths:
        """The lengths of the lines of elements."""
        offsets = np.array([element.offsets for element in elements])
        shortest = COINCIDE * np.array([element.built for element in elements])
        return LineLengths(node_rows(elements, number), offsets, shortest, elements)

    def picture(self, number: Numbering, stations: int) -> Picture | None:
        """A coil, or a cylinder if it is active; a line with ``stations = 2``."""
        return LinePicture(self, np.array([number(node) for node in self.nodes]), stations)


class Line(NamedTuple):
    """What the second derivatives of lengths follow from."""

    R: Array
    """Rotations of the nodes, ``(n, 2, 3, 3)``."""
    e: Array
    """Unit vectors from point a to point b, world frame, ``(n, 3)``."""
    length: Array
    F: Array
    """Derivatives of the vectors from a to b against body increments, ``(n, 3, 12)``."""
    G: Array
    """Derivatives of the lengths, ``(n, 12)``."""


class LineLengths(CoordinateBatch):
    """Distances of points of two nodes each.

    Parameters
    ----------
    nodes : (n, 2)
        Rows of the nodes.
    points : (n, 2, 3)
        Points in the node frames.
    shortest : (n,)
        Distances below which two points are one.
    owners : list
        Whose lines they are, for messages.
    built : (n,), optional
        Lengths that count as zero.
    """

    def __init__(
        self, nodes: IntArray, points: Array, shortest: Array, owners: Sequence[object], built: Array | None = None
    ) -> None:
        self.nodes, self.points, self.built = nodes, points, built
        self._lever, self._shortest, self._owners = so3.skew(points), shortest, owners

    def measure(self, x: Array, R: Array, u: Array) -> Measured:
        ends = x + np.matvec(R, self.points)
        along = ends[:, 1] - ends[:, 0]
        length = np.linalg.norm(along, axis=-1)
        if (length <= self._shortest).any():
            row = int(np.argmin(length - self._shortest))
            raise MotionError(
                f"{self._owners[row % len(self._owners)]}: its two points meet, where the line between them has no "
                "direction; shorten the step, or keep the points apart"
            )
        e = along / length[:, None]
        moved = np.concatenate([R, -R @ self._lever], axis=-1)
        F = np.concatenate([-moved[:, 0], moved[:, 1]], axis=-1)
        G = np.vecmat(e, F)
        return Measured(length if self.built is None else length - self.built, G, Line(R, e, length, F, G))

    def second(self, context: Line) -> Array:
        across = (context.F - context.e[:, :, None] * context.G[:, None]) / context.length[:, None, None]
        H = context.F.mT @ across
        turned = so3.skew(np.vecmat(context.e[:, None], context.R))
        for k, (sign, rotation) in enumerate(((-1.0, slice(3, 6)), (1.0, slice(9, 12)))):
            H[:, 6 * k : 6 * k + 3, rotation] += sign * turned[:, k]
            H[:, 6 * k + 3 : 6 * k + 6, rotation] += sign * self._lever[:, k] @ turned[:, k]
        return H


class LineBatch(CoordinateLawBatch):
    """Elements between two points each whose pull and states follow from length, speed and states.

    A subclass defines ``law(length, speed, state, prescribed)``, all ``(n,)`` but ``state``, which is ``(n, s)``.
    """
