"""Distance joint: a rod without mass between two points.

With ``d = r + S c_b - c_a`` in the frame of node a and ``e = d/|d|``, ``Phi = |d| - l``, ``b = (S^T e, c_b x S^T e)``
against the relative motion, in which ``delta d = S (u - c_b x theta)`` and ``delta e = (I - e e^T) delta d/|d|``
(docs/theory.md, "Joints").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.joints.coordinates import Measure
from fem_mbs.elements.joints.drives import TOLERANCE, Drive
from fem_mbs.elements.joints.frames import Context, Frames, FramesBatch, adjoint_inverse, gradients, relative
from fem_mbs.elements.joints.relative import levers
from fem_mbs.elements.laws import derivatives, evaluate
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.lie import so3
from fem_mbs.model import (
    Constraint,
    ConstraintBatch,
    Coordinate,
    Motion,
    Node,
    Numbering,
    Rates,
    Vector3,
    checked,
    node_rows,
)

SHORT = 1e-6
"""Share of the length as built below which the points have met."""
LENGTH = "length"


@checked
class DistanceJoint(Constraint):
    """Keep two points at the distance in which they were built, or at one that a drive prescribes.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point_a, point_b : (3,), optional
        The points at t = 0, world frame; by default the positions of the nodes.
    drive : function of t, optional
        By how much the rod is longer than as built, in m, 0 at the start, for t >= 0. Derivatives, and where it starts
        elsewhere, as for :class:`RevoluteJoint`.

    Notes
    -----
    The multiplier is the pull in the rod. Its coordinate, "length", is there if it is driven.
    """

    equations = (LENGTH,)

    def __init__(
        self,
        a: Node,
        b: Node,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
        drive: Drive | None = None,
    ) -> None:
        self.nodes, self.drive = (a, b), drive
        label = f"DistanceJoint on {a}, {b}"
        if a is b:
            raise ModelError(f"DistanceJoint: connects {a} with itself; give two nodes")
        given = zip(self.nodes, (point_a, point_b), strict=True)
        places = [node.position if point is None else np.asarray(point) for node, point in given]
        self.offsets = tuple(node.rotation.T @ (x - node.position) for node, x in zip(self.nodes, places, strict=True))
        self.offset = self.offsets[1]
        self.built = float(np.linalg.norm(places[1] - places[0]))
        """Distance as built, m."""
        if self.built == 0.0:
            raise ModelError(
                f"{label}: its two points are at the same place, {places[0]}, and a rod has a length; "
                "a SphericalJoint keeps points together"
            )
        if drive is not None:
            self.coordinates, self.driven = (Coordinate(LENGTH, False),), (LENGTH,)

    @property
    def turned(self) -> tuple[Node, ...]:
        """Nodes that its points are not at."""
        return levers(self.nodes, self.offsets)

    @classmethod
    def batch(cls, constraints: Sequence[DistanceJoint], number: Numbering) -> ConstraintBatch:
        """All rods of a model."""
        return DistanceBatch(constraints, number)

    def measure(self, frames: Frames) -> Measure:
        """Change of the length with its derivatives against the relative motion."""
        place = frames._replace(r=frames.r - self.offsets[0])
        line = Line.of(place, self.offsets[1])
        return Measure(line.length - self.built, line.b, line.bend(place))

    def coordinate_values(self, x: Array, R: Array) -> Array:
        """Change of the length ``(..., 1)``, m."""
        return self.measure(relative(x, R)).value[..., None]

    def coordinate_gradients(self, x: Array, R: Array) -> Array:
        """Its gradient ``(..., 1, 12)``."""
        frames = relative(x, R)
        return gradients(self.measure(frames).gradient, adjoint_inverse(frames))[..., None, :]


class Line(NamedTuple):
    """Lines from points of a to points of b, with placements that count from the points of a."""

    length: Array
    b: Array
    """Gradients of the lengths against the relative motion, ``(n, 6)``."""
    point: Array
    """Points of b in its frame."""

    @classmethod
    def of(cls, place: Frames, point: Array) -> Line:
        """Lines of placements."""
        d = place.r + np.matvec(place.S, point)
        length = np.linalg.norm(d, axis=-1)
        e = np.vecmat(d, place.S) / length[..., None]
        return cls(length, np.concatenate([e, np.cross(point, e)], axis=-1), point)

    def bend(self, place: Frames) -> Array:
        """Derivatives ``(n, 6, 6)`` of ``b``."""
        e = self.b[..., :3]
        lever = so3.skew(np.broadcast_to(self.point, e.shape))
        across = (np.eye(3) - e[..., :, None] * e[..., None, :]) / self.length[..., None, None]
        # in frame b, e moves across by u - c x theta and turns with the frame
        by_theta = so3.skew(e) - across @ lever
        return np.concatenate(
            [
                np.concatenate([across, by_theta], axis=-1),
                np.concatenate([lever @ across, lever @ by_theta], axis=-1),
            ],
            axis=-2,
        )


class DistanceBatch(FramesBatch):
    """Rods as arrays."""

    def __init__(self, rods: Sequence[DistanceJoint], number: Numbering) -> None:
        self.owners, self._end = rods, number.end
        self.nodes, self.cell, self.length = node_rows(rods, number), np.arange(len(rods)), np.ones(len(rods), np.bool_)
        self.points_a, self._point = (np.array([rod.offsets[end] for rod in rods]) for end in (0, 1))
        self._built = np.array([rod.built for rod in rods])
        self._drives = [(k, rod.drive) for k, rod in enumerate(rods) if rod.drive is not None]

    def at(self, t: float) -> tuple[float, Array]:
        """The time and the lengths."""
        lengths = self._built.copy()
        for k, drive in self._drives:
            lengths[k] += evaluate(drive, t, self.owners[k], None)
            if lengths[k] < SHORT * self._built[k]:
                raise MotionError(f"{self.owners[k]}: its drive leaves the length {lengths[k]:.6g} m at t = {t:.6g} s")
        return t, lengths

    def check_start(self, motion: Motion) -> None:
        """Refuse drives that do not begin at the length that is there."""
        phi, _, _ = self.evaluate(motion, self.at(0.0))
        for k, _ in self._drives:
            if abs(phi[k]) > TOLERANCE:
                begins = self.at(0.0)[1][k] - self._built[k]
                raise ModelError(
                    f"{self.owners[k]}: its drive must be {begins + phi[k]:.6g} at t = 0, where the joint stands as it "
                    f"was built, received {begins:.6g} m; subtract what is too much, or let model.assemble() bring the "
                    "joint to where its drive begins"
                )

    def closed(self, frames: Frames, prescribed: tuple[float, Array]) -> tuple[Array, Array, Any]:
        """Distances less lengths."""
        t, lengths = prescribed
        line = Line.of(frames, self._point)
        if (short := line.length < SHORT * self._built).any():
            raise MotionError(
                f"{self.owners[int(short.argmax())]}: its two points have met, where a rod has no direction"
            )
        return line.length - lengths, line.b, (t, line, frames)

    def bend(self, context: Context) -> Array:
        """Rods turn."""
        _, line, place = context.own
        return line.bend(place)

    def rates(self, context: Context) -> Rates | None:
        """Lengths change."""
        if not self._drives:
            return None
        first, second = np.zeros((2, len(self.nodes)))
        for k, drive in self._drives:
            rate = derivatives(drive, context.own[0], self.owners[k], None, self._end)
            first[k], second[k] = -float(rate[0]), -float(rate[1])
        return Rates(first, np.zeros((len(self.nodes), 12)), second)
