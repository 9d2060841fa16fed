"""What an element sees of its nodes: their motion in body components, whatever group they carry."""

from dataclasses import dataclass

from fem_mbs.arrays import Array


@dataclass(slots=True)
class Motion:
    """Motion of all nodes at one instant.

    Attributes
    ----------
    t : float
        Time in s.
    x : (n, 3)
        Positions, world frame.
    R : (n, 3, 3)
        Rotations, body to world.
    V : (n, 6)
        Velocity of the node point, then angular velocity, both in the body frame.
    A : (n, 6)
        Acceleration of the node point, then angular acceleration, both in the body frame.
    gravity : (3,)
        Acceleration of gravity, world frame.
    """

    t: float
    x: Array
    R: Array
    V: Array
    A: Array
    gravity: Array
