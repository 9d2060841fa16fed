"""A rope: two points at most as far apart as it is long."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import (
    Element,
    Gaps,
    Kind,
    Motion,
    NodeLike,
    Numbering,
    Picture,
    Positive,
    UnilateralBatch,
    UnitInterval,
    Vector3,
    carried_variables,
    checked,
    lever,
    node_rows,
)
from fem_mbs.elements.forces.line import LineLengths, bar
from fem_mbs.errors import ModelError

TOO_SHORT = 1e-9


@checked
class Rope(Element):
    """A rope without mass that does not stretch: it pulls when it is taut.

    Parameters
    ----------
    a, b : Node
        Two nodes.
    length : float
        Of the rope, m.
    point_a, point_b : (3,), optional
        Points of a and of b, world frame, as built; the nodes themselves by default.
    restitution : float
        Share of the speed that comes back when it becomes taut.
    """

    contacts = ("rope",)
    internal_variables = carried_variables(contacts)

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        length: Positive,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
        *,
        restitution: UnitInterval = 0.0,
    ) -> None:
        self.nodes, self.length, self.restitution = (a, b), length, restitution
        self.offsets = lever(a, point_a), lever(b, point_b)
        built = float(np.linalg.norm(b.at(self.offsets[1]) - a.at(self.offsets[0])))
        if built > (1.0 + TOO_SHORT) * length:
            raise ModelError(f"Rope on {a}, {b}: length {length:g} m is shorter than the {built:g} m between its ends")

    def picture(self, number: Numbering, stations: int) -> Picture:
        return bar(self.nodes, self.offsets, number, Kind.LINE)


class RopeBatch(UnilateralBatch, of=Rope):
    """Ropes as arrays."""

    owners: Sequence[Rope]

    def __init__(self, ropes: Sequence[Rope], number: Numbering) -> None:
        super().__init__(ropes, number)
        self._length = np.array([rope.length for rope in ropes])
        points = np.array([rope.offsets for rope in ropes])
        self._ends = points[:, 1]
        self._lines = LineLengths(node_rows(ropes, number), points, 1e-12 * self._length, ropes)
        self._levers = np.linalg.norm(points, axis=-1)
        self.friction = np.zeros((len(ropes), 1))
        self.restitution = np.array([[rope.restitution] for rope in ropes])

    def gaps(self, motion: Motion) -> Array:
        return (self._length - self._lines.evaluate(motion).value)[:, None]

    def closing(self, motion: Motion, linear: Array, turn: Array) -> Array:
        return np.asarray((linear[self.nodes] + turn[self.nodes] * self._levers).sum(axis=1))

    def points(self, motion: Motion) -> Array:
        b = self.nodes[:, 1]
        return (motion.x[b] + np.matvec(motion.R[b], self._ends))[:, None]

    def measure(self, motion: Motion, rows: IntArray, places: IntArray) -> Gaps:
        measured = self._lines.evaluate(motion)
        G = np.zeros((len(rows), 3, 12))
        G[:, 0] = -measured.gradient[rows]
        return Gaps((self._length - measured.value)[rows], G, (measured.context, rows))

    def second(self, gaps: Gaps) -> Array:
        context, rows = gaps.context
        H = np.zeros((len(rows), 3, 12, 12))
        H[:, 0] = -self._lines.second(context)[rows]
        return H
