"""Spherical joint: closes the relative translation."""

from __future__ import annotations

from fem_mbs.elements.joints.drives import Displacement
from fem_mbs.elements.joints.relative import TRANSLATIONS, RelativeJoint, levers
from fem_mbs.model import Node, Vector3, checked


@checked
class SphericalJoint(RelativeJoint):
    """Keep a point of node a and a point of node b together; all rotations are free.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    point : (3,), optional
        The common point at t = 0, world frame; by default the position of node b.
    displacement : function of t, optional
        How far the point of b is from that of a, (3,): world directions at t = 0, which then turn with a; 0 at the
        start. Derivatives as for a drive, see :class:`RevoluteJoint`.
    point_b : (3,), optional
        The point on node b, if it is not yet at ``point``: :meth:`Model.assemble` brings them together.

    Notes
    -----
    The three multipliers are the force of the joint on node a along its axes, minus that on node b. Its coordinates are
    the components of the rotation vector of b against a along the axes of node a, for rotations below half a turn.
    """

    closes = TRANSLATIONS

    def __init__(
        self,
        a: Node,
        b: Node,
        point: Vector3 | None = None,
        displacement: Displacement | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point, displacement=displacement, point_b=point_b)

    @property
    def turned(self) -> tuple[Node, ...]:
        """Nodes that its point is not at; both if the point moves along axes of node a."""
        if self.drives.acts:
            return self.nodes
        return levers(self.nodes, self.offsets)
