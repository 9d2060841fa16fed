"""Forces and moments of joints from their multipliers."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.model import ConstraintBatch, Motion


def reactions(batch: ConstraintBatch, motion: Motion, multipliers: Array) -> tuple[Array, Array]:
    """Force and moment ``(n, 3)`` that each joint of a batch puts on its last node.

    In the world frame, at the joint's point on that node; ``multipliers`` (m,) are those of the batch.
    """
    _, gradient, _ = batch.evaluate(motion, batch.at(motion.t))
    wrench = np.zeros((len(batch.owners), 6))
    last = 6 * batch.nodes.shape[1]
    np.subtract.at(wrench, batch.cell, multipliers[:, None] * gradient[:, last - 6 : last])
    offset = np.array([joint.offset for joint in batch.owners])
    R = motion.R[batch.nodes[:, -1]]
    return np.matvec(R, wrench[:, :3]), np.matvec(R, wrench[:, 3:] - np.cross(offset, wrench[:, :3]))
