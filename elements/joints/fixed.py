"""Fixed joint: closes all relative motions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.elements.joints.relative import RelativeJoint
from fem_mbs.model import Node


class FixedJoint(RelativeJoint):
    """Weld two nodes together as they stand at t = 0.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point : (3,), optional
        Where reactions are given, world frame at t = 0; by default the position of node b.
    """

    cosines = ((0, 2), (1, 2), (1, 0))

    def __init__(self, a: Node, b: Node, point: ArrayLike | None = None) -> None:
        super().__init__(a, b, point, np.eye(3))
