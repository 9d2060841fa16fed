"""Springs as coils whose pitch follows the length, actuators as cylinders whose rods do, bars as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array, IntArray
from fem_mbs.model import Cells, Kind, Motion, Node, Numbering, Polyline

if TYPE_CHECKING:
    from fem_mbs.elements.line import LineElement

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


class LinePicture:
    """A spring or an actuator.

    Its points are at ``along = (d, f)`` (n, 2) and ``across`` (n, 2): ``d + f length`` from point a along the line, and
    beside it along two directions that turn with node a.
    """

    def __init__(self, element: LineElement, rows: IntArray, stations: int) -> None:
        self._rows, self._points = rows, np.array(element.points)
        sides = 2 * (stations - 1)
        if sides < 3:
            shape = _line()
        else:
            shape = _cylinder(element.built, sides) if element.active else _coil(element.built, sides)
        self._along, self._across, cells = shape
        self.cells = [
            Cells(
                kind, points, {"part": np.full(len(points), Kind.SPRING), "element_id": np.zeros(len(points), np.intp)}
            )
            for kind, points in cells
        ]
        a, b = (node.position + node.rotation @ c for node, c in zip(element.nodes, element.points, strict=True))
        e = element.nodes[0].rotation.T @ (b - a)
        self._sides = np.eye(3)[np.argsort(np.abs(e))[:2]]
        """Two directions in the frame of node a, of which the line turns to one at most."""

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """The points."""
        R = motion.R[self._rows]
        a, b = motion.x[self._rows] + np.matvec(R, self._points)
        length = np.linalg.norm(b - a)
        e = (b - a) / length
        first, second = R[0] @ self._sides[0], R[0] @ self._sides[1]
        across = first - (first @ e) * e
        if across @ across < 0.1:
            across = second - (second @ e) * e
        across /= np.linalg.norm(across)
        along = self._along @ np.array([1.0, length])
        return {"points": a + along[:, None] * e + self._across @ np.stack([across, np.cross(e, across)])}


def _line() -> tuple[Array, Array, list[tuple[str, IntArray]]]:
    return np.array([[0.0, 0.0], [0.0, 1.0]]), np.zeros((2, 2)), [("line", np.array([[0, 1]]))]


def _coil(built: float, sides: int) -> tuple[Array, Array, list[tuple[str, IntArray]]]:
    """A helix of lines with straight ends, ``sides`` a turn."""
    n = TURNS * sides + 1
    helix = WIDE * built * _circle(sides)[np.arange(n) % sides]
    share = np.array([0.0, ENDS, *np.linspace(ENDS, 1.0 - ENDS, n), 1.0 - ENDS, 1.0])
    across = np.zeros((n + 4, 2))
    across[2:-2] = helix
    k = np.arange(n + 3)
    return np.stack([0.0 * share, share], axis=-1), across, [("line", np.stack([k, k + 1], axis=-1))]


def _cylinder(built: float, sides: int) -> tuple[Array, Array, list[tuple[str, IntArray]]]:
    """A barrel from point a on, of constant length, and a rod from its end to point b."""
    barrel = BARREL * built
    along = np.repeat([[0.0, 0.0], [barrel, 0.0], [barrel, 0.0], [0.0, 1.0]], sides, axis=0)
    across = built * np.concatenate([own * _circle(sides) for own in (WIDE, WIDE, THIN, THIN)])
    k, turned = np.arange(sides), np.roll(np.arange(sides), -1)
    tube = np.stack([k, turned, turned + sides, k + sides], axis=-1)
    caps = np.stack([k[::-1], k + sides])
    return along, across, [("quad", np.concatenate([tube, tube + 2 * sides])), ("polygon", caps)]


def _circle(sides: int) -> Array:
    angle = 2.0 * np.pi * np.arange(sides) / sides
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)
