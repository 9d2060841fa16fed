"""Fixed joint: closes all relative motions."""

from __future__ import annotations

import numpy as np

from fem_mbs.elements.joints.drives import Displacement
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS, RelativeJoint
from fem_mbs.model import Node, Vector3, checked


@checked
class FixedJoint(RelativeJoint):
    """Weld two nodes together as they stand at t = 0.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point : (3,), optional
        Where reactions are given, world frame at t = 0; by default the position of node b.
    displacement : function of t, optional
        How far the point of b is from that of a, (3,): world directions at t = 0, which then turn with a; 0 at the
        start. Derivatives as for a drive, see :class:`RevoluteJoint`.
    point_b : (3,), optional
        The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings them together.
    """

    closes = TRANSLATIONS + ROTATIONS

    def __init__(
        self,
        a: Node,
        b: Node,
        point: Vector3 | None = None,
        displacement: Displacement | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point, np.eye(3), displacement, point_b=point_b)
