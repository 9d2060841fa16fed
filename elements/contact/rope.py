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
        self._points = np.array([rope.offsets for rope in ropes])
        self.reach = np.linalg.norm(self._points, axis=-1)
        self.friction = np.zeros((len(ropes), 1))
        self.restitution = np.array([[rope.restitution] for rope in ropes])

    def _ends(self, motion: Motion) -> Array:
        ends: Array = motion.x[self.nodes] + np.matvec(motion.R[self.nodes], self._points)
        return ends

    def gaps(self, motion: Motion) -> Array:
        """What ropes are longer than their ends are apart, which may meet while they are slack."""
        apart = np.linalg.norm(np.diff(self._ends(motion), axis=1), axis=-1)
        return np.asarray(self._length[:, None] - apart)

    def closing(self, motion: Motion, linear: Array, turn: Array) -> Array:
        return np.asarray((linear[self.nodes] + turn[self.nodes] * self.reach).sum(axis=1))

    def points(self, motion: Motion) -> Array:
        return self._ends(motion)[:, 1:]

    def measure(self, motion: Motion, rows: IntArray, places: IntArray) -> Gaps:
        owners = [self.owners[k] for k in rows]
        lines = LineLengths(self.nodes[rows], self._points[rows], 1e-12 * self._length[rows], owners)
        measured = lines.evaluate(motion)
        G = np.zeros((len(rows), 3, 12))
        G[:, 0] = -measured.gradient
        return Gaps(self._length[rows] - measured.value, G, (lines, measured.context))

    def second(self, gaps: Gaps) -> Array:
        lines, context = gaps.context
        H = np.zeros((len(gaps.gap), 3, 12, 12))
        H[:, 0] = -lines.second(context)
        return H
