"""What an element sees: how its nodes move in body components, on whatever group, and internal variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray


def none() -> Array:
    """No internal variables."""
    return np.empty(0)


@dataclass(slots=True)
class Motion:
    """Motion of all nodes and internal variables at one instant.

    Attributes
    ----------
    t : float
        Time in s.
    x : (n, 3)
        Positions, world frame; from a point of the model, the ground included, where the world's origin is far away.
    R : (n, 3, 3)
        Rotations, body to world.
    V : (n, 6)
        Velocity of the node point, then angular velocity, both in the body frame.
    A : (n, 6)
        Acceleration of the node point, then angular acceleration, both in the body frame.
    gravity : (3,)
        Acceleration of gravity, world frame.
    u, udot, uddot : (k,)
        Internal variables of elements and joints, and their time derivatives as far as they have any.
    multipliers : (m,)
        Multipliers of all joints, for elements that depend on them (``ElementBatch.reads``).
    momentum : Motion or None
        Within a step of the default formulation, the motion with the velocities of the equation of momentum: ``V`` and
        ``udot`` are then the rates of the configuration, which forces other than those of inertia go by
        (docs/theory.md, "Constraints on velocities"); inertia forces and joints by ``motion.momentum or motion``.
    """

    t: float
    x: Array
    R: Array
    V: Array
    A: Array
    gravity: Array
    u: Array = field(default_factory=none)
    udot: Array = field(default_factory=none)
    uddot: Array = field(default_factory=none)
    multipliers: Array = field(default_factory=none)
    momentum: Motion | None = None


class RateSensitivities(NamedTuple):
    """How rates follow increments: ``nodes`` (n, 6, 6) of body velocities or accelerations, ``own`` (k,) of variables.

    The lower left blocks of ``nodes`` are zero: angular velocities depend on rotation increments alone.
    """

    nodes: Array
    own: Array = np.empty(0)

    def after(self, matrix: Array, nodes: IntArray, own: IntArray | None = None) -> Array:
        """``matrix`` (n, r, 6p + s) times the derivatives of ``nodes`` (n, p) and internal variables ``own`` (n, s)."""
        n, p = nodes.shape
        blocks = matrix[..., : 6 * p].reshape(n, matrix.shape[-2], p, 6).swapaxes(1, 2) @ self.nodes[nodes]
        result = blocks.swapaxes(1, 2).reshape(n, matrix.shape[-2], 6 * p)
        if own is None:
            return result
        return np.concatenate([result, matrix[..., 6 * p :] * self.own[own][:, None]], axis=-1)
