"""Places along beams and curves: unknowns of joints, coordinates without mass, on which forces and drives act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.model import Constraint, CoordinateBatch, Measured, Motion, Node, Numbering


class OwnCoordinate(CoordinateBatch):
    """By how much one own unknown of each joint has changed since the model was built.

    It depends on no node; the last one of each joint stands for all.
    """

    def __init__(self, joints: Sequence[Constraint], place: int, number: Numbering) -> None:
        rows = [int(number.own(joint)[place]) for joint in joints]
        self.nodes = np.array([[number(joint.nodes[-1])] for joint in joints])
        self.own = np.array(rows)[:, None]
        self._built = np.array([number.unknowns[row][1].initial for row in rows])
        self._gradient = np.zeros((1, 7))
        self._gradient[:, 6] = 1.0

    def measure(self, x: Array, R: Array, u: Array) -> Measured:
        """The change of the unknown, whose gradient is constant."""
        return Measured(u[:, 0] - self._built, np.broadcast_to(self._gradient, (len(u), 7)), len(u))

    def second(self, context: int) -> Array:
        """Zero."""
        return np.zeros((context, 7, 7))


class Alone:
    """Rows of the nodes and of the ``k`` own unknowns of a joint, of which nothing else is known yet."""

    def __init__(self, joint: Constraint, k: int) -> None:
        self.joint, self.k = joint, k

    def __call__(self, node: Node) -> int:
        """Its first place among the nodes of the joint."""
        return self.joint.nodes.index(node)

    def own(self, part: Any) -> IntArray:
        """All."""
        return np.arange(self.k)


def consistent_rates(joint: Constraint, own: Array) -> Array:
    """Rates ``(k,)`` of the own unknowns of a joint, with values ``own`` (k,), that initial velocities of nodes make.

    The best ones where the velocities violate the joint.
    """
    nodes = joint.nodes
    x, R = (np.array([getattr(node, name) for node in nodes]) for name in ("position", "rotation"))
    V = np.array([[*(node.rotation.T @ node.velocity), *node.angular_velocity] for node in nodes])
    motion = Motion(0.0, x, R, V, np.zeros_like(V), np.zeros(3), own, 0.0 * own, 0.0 * own)
    batch = type(joint).batch([joint], Alone(joint, len(own)))  # type: ignore[arg-type]
    _, B, _ = batch.evaluate(motion, batch.at(0.0))
    moving = V[batch.nodes[0]].ravel()
    rates: Array = np.linalg.lstsq(B[:, -len(own) :], -B[:, : -len(own)] @ moving, rcond=None)[0]
    return rates
