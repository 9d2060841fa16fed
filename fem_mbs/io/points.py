"""Nodes, bodies and joints as points with axes."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.model import Cells, Constraint, ConstraintBatch, Kind, Motion
from fem_mbs.result.reactions import reactions


class NodePicture:
    """The nodes of some ``rows`` (n,), and of which ``kind`` (n,) each is: node or body."""

    def __init__(self, rows: IntArray, kind: IntArray) -> None:
        self.rows = rows
        self.cells = [_vertices({"part": kind, "node_id": rows})]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Nodes, their axes and velocities."""
        R = motion.R[self.rows]
        return _attached(motion, self.rows, np.zeros((len(R), 3)), R)


class JointPicture:
    """The joints of one batch at their points on node b, numbered from ``first``; ``rows`` their multipliers."""

    def __init__(self, batch: ConstraintBatch, rows: slice, first: int) -> None:
        self.batch, self.rows = batch, rows
        self.b = batch.nodes[:, -1]
        self.offset = np.array([joint.offset for joint in batch.owners])
        self.axes = np.array([_axes(joint) for joint in batch.owners])
        n = len(self.b)
        self.cells = [_vertices({"part": np.full(n, Kind.JOINT), "joint_id": first + np.arange(n)})]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Joints, their axes on node b, velocities and reactions."""
        force, moment = reactions(self.batch, motion, multipliers[self.rows])
        fields = _attached(motion, self.b, self.offset, motion.R[self.b] @ self.axes)
        return fields | {"reaction_force": force, "reaction_moment": moment}


def _attached(motion: Motion, rows: IntArray, offset: Array, axes: Array) -> dict[str, Array]:
    """Points that move with nodes at ``offset`` (n, 3) in the node frame; ``axes`` (n, 3, 3) in the world frame."""
    R, V = motion.R[rows], motion.V[rows]
    fields = {
        "points": motion.x[rows] + np.matvec(R, offset),
        "velocity": np.matvec(R, V[:, :3] + np.cross(V[:, 3:], offset)),
        "angular_velocity": np.matvec(R, V[:, 3:]),
    }
    return fields | {f"e{i + 1}": axes[:, :, i] for i in range(3)}


def _axes(joint: Constraint) -> Array:
    """Axes (3, 3) of a joint in the frame of node b, as columns; those of the node for a joint without axes."""
    axes: tuple[Array, ...] = getattr(joint, "axes", (np.eye(3),))
    return axes[-1]


def _vertices(numbers: dict[str, IntArray]) -> Cells:
    return Cells("vertex", np.arange(len(numbers["part"]))[:, None], numbers)
