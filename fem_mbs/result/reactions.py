"""Forces and moments of joints from their multipliers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.model import Constraint, ConstraintBatch, Motion
from fem_mbs.result.history import History
from fem_mbs.result.over_time import over_time


def reactions(batch: ConstraintBatch, motion: Motion, multipliers: Array) -> tuple[Array, Array]:
    """Force and moment ``(n, 3)`` that each joint of a batch puts on its last node.

    In the world frame, at the joint's point on that node; ``multipliers`` (m,) are those of the batch.
    """
    offsets = np.array([joint.offset for joint in batch.owners])
    wrenches = _wrenches(offsets, batch, motion, batch.at(motion.t), multipliers)
    return wrenches[:, :3], wrenches[:, 3:]


def reactions_over_time(history: History, joint: Constraint) -> tuple[Array, Array]:
    """The same of one joint at all times, ``(nt, 3)``."""
    wrenches = over_time(history, [joint], partial(_wrenches, joint.offset))[:, 0]
    return wrenches[:, :3], wrenches[:, 3:]


def _wrenches(offset: Array, batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> Array:
    """Forces and moments ``(n, 6)`` at points in the frames of the last nodes."""
    _, gradient, _ = batch.evaluate(motion, prescribed)
    last = 6 * batch.nodes.shape[1]
    terms = multipliers[:, None] * gradient[:, last - 6 : last]
    wrench = -np.add.reduceat(terms, np.searchsorted(batch.cell, np.arange(len(batch.nodes))))
    R = motion.R[batch.nodes[:, -1]]
    force, moment = wrench[:, :3], wrench[:, 3:] - so3.cross(offset, wrench[:, :3])
    return np.concatenate([np.matvec(R, force), np.matvec(R, moment)], axis=-1)
