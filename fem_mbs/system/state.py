"""The state of a system at one instant."""

from __future__ import annotations

from dataclasses import dataclass

from fem_mbs.arrays import Array


@dataclass(slots=True)
class State:
    """State of a system of ``n`` nodes and ``m`` constraint equations.

    Attributes
    ----------
    t : float
        Time in s.
    x : (n, 3)
        Positions, world frame.
    R : (n, 3, 3)
        Rotations, body to world.
    v : (n, 6)
        Left-trivialised velocities, translation first: world frame on R3xSO3, body frame on SE(3); the angular
        velocity is in the body frame on both.
    vdot : (n, 6)
        Their time derivatives.
    a : (n, 6)
        Algorithmic accelerations of the generalised-alpha method.
    multipliers : (m,)
        Lagrange multipliers, with ``M vdot + g + B^T multipliers = 0``.
    """

    t: float
    x: Array
    R: Array
    v: Array
    vdot: Array
    a: Array
    multipliers: Array
