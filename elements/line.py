"""Elements that pull two points of two nodes together: the geometry of the line, and what any law of it makes.

The points ``p_i = x_i + R_i c_i`` are at the distance ``length``, which body increments change by ``G`` and whose
gradient they change by ``H``: with the unit vector ``e`` from a to b and ``F = d(p_b - p_a)``, ``G = e^T F`` and
``H = F^T (I - e e^T) F/length + (d F^T) e``. The pull ``N`` puts ``G^T N`` on the nodes (docs/theory.md, "Lines").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.lie import so3
from fem_mbs.model import (
    Element,
    ElementBatch,
    Motion,
    Node,
    Numbering,
    Picture,
    Polyline,
    Vector3,
    checked,
    node_rows,
    own_rows,
)

COINCIDE = 1e-12
"""Points nearer than this share of the line as built are one point."""


@checked
class LineElement(Element):
    """Base of elements along the line from a point of node a to a point of node b.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point_a, point_b : (3,), optional
        The points in the node frames; the nodes themselves by default.

    Attributes
    ----------
    built : float
        Distance of the points as built.
    """

    def __init__(self, a: Node, b: Node, point_a: Vector3 | None, point_b: Vector3 | None) -> None:
        kind = type(self).__name__
        self.nodes = (a, b)
        self.points = tuple(np.zeros(3) if point is None else np.asarray(point) for point in (point_a, point_b))
        start, end = (node.position + node.rotation @ c for node, c in zip(self.nodes, self.points, strict=True))
        self.built = float(np.linalg.norm(end - start))
        if self.built <= COINCIDE * max(np.abs(start).max(), np.abs(end).max()):
            raise ModelError(
                f"{kind} on {a}, {b}: its two points are at the same place, {start}; the line has no length"
            )

    def picture(self, number: Numbering, stations: int) -> Picture:
        """The line."""
        rows, points = [number(node) for node in self.nodes], np.array(self.points)
        return Polyline(lambda motion: motion.x[rows] + np.matvec(motion.R[rows], points), 2)


class Line(NamedTuple):
    """The lines of ``n`` elements in a motion."""

    R: Array
    """Rotations of the nodes, ``(n, 2, 3, 3)``."""
    e: Array
    """Unit vectors from point a to point b, world frame, ``(n, 3)``."""
    length: Array
    F: Array
    """Derivatives of the vectors from a to b against body increments, ``(n, 3, 12)``."""
    G: Array
    """Derivatives of the lengths, ``(n, 12)``."""
    V: Array
    """Body velocities of the nodes, ``(n, 12)``."""
    speed: Array
    """Rates of the lengths."""


class Law(NamedTuple):
    """What a law makes of lengths, speeds and ``s`` states: the pull, then minus the rates that states should have.

    All have shape ``(n, 1 + s)``, ``by_state`` ``(n, 1 + s, s)``.
    """

    value: Array
    by_length: Array
    by_speed: Array
    by_state: Array


class LineBatch(ElementBatch):
    """Elements between two points each whose pull and states follow from length, speed and states.

    A subclass defines ``law(length, speed, state, prescribed)``, all ``(n,)`` but ``state``, which is ``(n, s)``.
    """

    def __init__(self, elements: Sequence[LineElement], number: Numbering) -> None:
        self.owners = elements
        self.nodes = node_rows(elements, number)
        self.own = own_rows(elements, number) if elements[0].unknowns else None
        self.points = np.array([element.points for element in elements])
        self._lever = so3.skew(self.points)
        self._shortest = COINCIDE * np.array([element.built for element in elements])
        self.states = len(elements[0].unknowns)

    def law(self, length: Array, speed: Array, state: Array, prescribed: Any) -> Law:
        """Pull and states."""
        raise NotImplementedError(f"{type(self).__name__} must define law(length, speed, state, prescribed)")

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, tuple[Line, Law]]:
        """``G^T N``, then ``u' - f`` of each state."""
        line = self.line(motion)
        law = self.law(line.length, line.speed, self._state(motion.u), prescribed)
        own = self._state(motion.udot) + law.value[:, 1:]
        return np.concatenate([law.value[:, :1] * line.G, own], axis=-1), (line, law)

    def stiffness(self, context: tuple[Line, Law]) -> Array:
        """``N H + G^T (dN/dlength G + dN/dspeed V^T H)``, and the same of each state."""
        line, law = context
        H = self.second(line)
        by_length, by_speed = law.by_length[..., None] * line.G[:, None], law.by_speed[..., None]
        changes = np.concatenate([by_length + by_speed * np.vecmat(line.V, H)[:, None], law.by_state], axis=-1)
        K = self._rows(line, changes)
        K[:, :12, :12] += law.value[:, :1, None] * H
        return K

    def damping(self, context: tuple[Line, Law]) -> Array:
        """``G^T dN/dspeed G``, and ``u'`` of each state."""
        line, law = context
        changes = np.concatenate([law.by_speed[..., None] * line.G[:, None], np.zeros_like(law.by_state)], axis=-1)
        C = self._rows(line, changes)
        C[:, 12:, 12:] += np.eye(self.states)
        return C

    def line(self, motion: Motion) -> Line:
        """Where the lines are and how they move."""
        R = motion.R[self.nodes]
        ends = motion.x[self.nodes] + np.matvec(R, self.points)
        along = ends[:, 1] - ends[:, 0]
        length = np.linalg.norm(along, axis=-1)
        if (length <= self._shortest).any():
            row = int(np.argmin(length - self._shortest))
            raise MotionError(
                f"{self.owners[row]}: its two points meet at t = {motion.t:.6g} s, where the line between them has no "
                "direction; shorten the step, or keep the points apart"
            )
        e = along / length[:, None]
        moved = np.concatenate([R, -R @ self._lever], axis=-1)
        F = np.concatenate([-moved[:, 0], moved[:, 1]], axis=-1)
        V, G = motion.V[self.nodes].reshape(-1, 12), np.vecmat(e, F)
        return Line(R, e, length, F, G, V, np.vecdot(G, V))

    def second(self, line: Line) -> Array:
        """``H`` (n, 12, 12)."""
        across = (line.F - line.e[:, :, None] * line.G[:, None]) / line.length[:, None, None]
        H = line.F.mT @ across
        turned = so3.skew(np.vecmat(line.e[:, None], line.R))
        for k, (sign, rotation) in enumerate(((-1.0, slice(3, 6)), (1.0, slice(9, 12)))):
            H[:, 6 * k : 6 * k + 3, rotation] += sign * turned[:, k]
            H[:, 6 * k + 3 : 6 * k + 6, rotation] += sign * self._lever[:, k] @ turned[:, k]
        return H

    def _state(self, values: Array) -> Array:
        return np.empty((len(self.nodes), 0)) if self.own is None else values[self.own]

    def _rows(self, line: Line, changes: Array) -> Array:
        """Rows of the nodes and of the states from changes ``(n, 1 + s, 12 + s)`` of a law."""
        return np.concatenate([line.G[:, :, None] * changes[:, :1], changes[:, 1:]], axis=1)
